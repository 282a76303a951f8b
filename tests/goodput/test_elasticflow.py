"""ElasticFlow's format and Figure 10, of which ``SCHEDLAB_FACTS/peers/elasticflow`` has the published rows."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from experiments.config import validated
from experiments.scenario.run import run
from experiments.scenario.schema import Scenario
from simulator import Result
from simulator.errors import InputError
from simulator.workloads.elasticflow import ElasticflowJobs
from simulator.workloads.table import Setting

TRACE = """job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu,duration,best_effort
0,0,101,toy,1000,64,2,50,0
1,10,100,toy,2000,64,1,100,0
"""
TABLE = "global_batch_size,1,2,4\n64,1.0,2.0,0\n"


def write(folder: Path, trace: str = TRACE, table: str = TABLE) -> Path:
    """The trace with its table beside it."""
    (folder / "throughputs_A100").mkdir()
    (folder / "throughputs_A100" / "toy.csv").write_text(table)
    (folder / "trace.csv").write_text(trace)
    return folder / "trace.csv"


def scenario(path: Path, policy: str, elastic: bool, gpus: int) -> Result:
    """A run on one node, with decisions at least 240 s apart."""
    config = {
        "workload": {"kind": "elasticflow", "path": str(path), "elastic": elastic},
        "cluster": {"kind": "nodes", "num_nodes": 1, "gpus_per_node": gpus},
        "decisions": {"least_gap_s": 240.0},
        "reconfiguration_s": {} if elastic else {"first_s": 4.0, "doubling_s": 2.0},
        "policy": policy,
    }
    return run(validated(Scenario, config, "test"))


def test_elastic_jobs_end_at_whole_seconds(tmp_path: Path) -> None:
    """Job 0 takes 50.5 s on both GPUs, so 51; the next decision is at 240."""
    result = scenario(write(tmp_path), "edf-elastic", True, 2)
    assert result.completion_s.tolist() == [51.0, 290.0]


def test_a_start_takes_longer_on_more_gpus(tmp_path: Path) -> None:
    result = scenario(write(tmp_path), "tiresias", False, 3)
    assert result.completion_s.tolist() == [56.0, 240.0 + 4.0 + 100.0]


@pytest.mark.parametrize(
    ("trace", "table", "message"),
    [
        (TRACE.replace("toy,1000", "tox,1000"), TABLE, "line 2: model_name is 'tox', expected a network with a table"),
        (TRACE.replace("64,1,100", "65,1,100"), TABLE, "line 3: batch_size is '65', expected one of"),
        (TRACE.replace("2000", "5"), TABLE, "line 3: ddl is '5', expected"),
        (TRACE, TABLE.replace("1.0,2.0", "0,"), "line 2: global_batch_size is '64', expected a speed above 0"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(tmp_path: Path, trace: str, table: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        ElasticflowJobs(path=write(tmp_path, trace, table)).make(Setting())
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("policy", "file", "equal"),
    [("edf-elastic", "edf_job.csv", 100), ("tiresias", "dlas-gpu_job.csv", 70)],
)
def test_rows_of_figure_10(policy: str, file: str, equal: int) -> None:
    """Starts and ends. Of Tiresias' rows 30 differ by at most 224 s (docs/schedulers.md says why)."""
    folder = Path(os.environ.get("SCHEDLAB_FACTS", "")) / "peers" / "elasticflow"
    if "SCHEDLAB_FACTS" not in os.environ or not folder.is_dir():
        pytest.skip("SCHEDLAB_FACTS names no folder with peers/elasticflow")
    elastic = policy == "edf-elastic"
    result = scenario(folder / "100jobs_1500lam.csv", policy, elastic, 128)
    ours = dict(
        zip(
            result.workload.job_id,
            zip(result.first_start_s, result.completion_s, strict=True),
            strict=True,
        )
    )
    with (folder / "fig10" / file).open(newline="") as text:
        rows = list(csv.DictReader(text))
    ends = {row["job_id"]: (float(row["start_time"]), float(row["end_time"])) for row in rows}
    assert len(ends) == 100
    assert sum(ours[job] == pytest.approx(ends[job], abs=1e-6) for job in ends) == equal
    assert max(abs(ours[job][1] - ends[job][1]) for job in ends) <= 224
