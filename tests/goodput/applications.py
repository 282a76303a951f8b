"""A small application, whose goodput can be computed by hand, as an object and as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from simulator.model.goodput import Application

FILES = {
    "toy_placements.csv": "placement,local_bsz,step_time,sync_time\n1,10,1.0,0.0\n1,20,2.0,0.0\n2,10,1.2,0.2\n"
    "2,20,2.2,0.2\n12,10,1.5,0.5\n12,20,2.5,0.5\n",
    "toy_scalability.csv": "num_nodes,num_replicas,local_bsz,step_time,sync_time\n4,4,10,2.0,1.0\n4,4,20,3.0,1.0\n",
    "toy_validation-10.csv": "progress,iteration,metric,grad_sqr,grad_var\n100,100,0.5,1,1\n200,200,0.6,1,3\n",
    "toy_validation-40.csv": "progress,iteration,metric,grad_sqr,grad_var\n101,60,0.5,1,1\n199,100,0.6,1,3\n",
}
WORKLOAD = "name,time,application,num_replicas,batch_size\na,10,toy,2,40\nb,5,toy,1,10\n"


def toy() -> Application:
    """Two epochs; gains of batch 40 are 1.6 and 16/7."""
    pair = np.array([10.0, 20.0])
    return Application(
        name="toy",
        batch_sizes=np.array([10, 40]),
        progress=np.array([[100.0, 200.0], [101.0, 199.0]]),
        iterations=np.array([[100.0, 200.0], [60.0, 100.0]]),
        grad_sqr=np.ones((2, 2)),
        grad_var=np.array([[1.0, 3.0], [1.0, 3.0]]),
        by_ring={
            (1,): (pair, np.array([[1.0, 0.0], [2.0, 0.0]])),
            (2,): (pair, np.array([[1.2, 0.2], [2.2, 0.2]])),
            (1, 2): (pair, np.array([[1.5, 0.5], [2.5, 0.5]])),
        },
        spread=np.array([[4, 4, 10, 2.0, 1.0], [4, 4, 20, 3.0, 1.0]]),
    )


def write(folder: Path, **changed: str) -> Path:
    """The files in a folder; ``changed`` replaces texts, with ``__`` for the dot and the dash."""
    for name, text in {**FILES, "jobs.csv": WORKLOAD}.items():
        key = name.replace(".", "__").replace("-", "__")
        (folder / name).write_text(changed.get(key, text))
    return folder / "jobs.csv"
