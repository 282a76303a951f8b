"""Own copies of jobs that are not shipped, in the folder of published results that SCHEDLAB_FACTS names."""

import os
from pathlib import Path

import pytest

COPIES = {
    "elasticflow-v1": "elasticflow/100jobs_1500lam.csv",
    "gavel-v1": "gavel/simulation_throughputs.json.gz",
    "mixed-v1": "pollux/workloads__6.csv",
    "pollux-v1": "pollux/workloads__6.csv",
    "shockwave-v1": "shockwave/trace_120.tsv",
}
"""Files of tasks whose jobs are not shipped, in the folder of published results."""


def facts():
    folder = Path(os.environ.get("SCHEDLAB_FACTS") or "/nowhere") / "peers"
    if not folder.is_dir():
        pytest.skip("SCHEDLAB_FACTS names no folder with the published results of other schedulers")
    return folder


def copy_of_task(name):
    return facts() / COPIES[name]
