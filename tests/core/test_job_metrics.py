"""Metrics and tables derived from a result: recomputed by other ways, and by hand."""

import numpy as np
import pytest

from simulator import Cluster, FixedDuration, NodeType, Workload
from simulator.metrics.job_metrics import finish_time_fairness
from simulator.statistics import jain
from simulator.workloads.plain_csv import read_csv_jobs
from tests.core.jobs import fixed, nodes, run


def jobs(count=40, seed=1, **columns):
    rng = np.random.default_rng(seed)
    gpus = rng.choice([1, 2, 4, 12], count)
    return Workload(
        [f"j{j}" for j in range(count)],
        np.cumsum(rng.exponential(300, count)),
        FixedDuration(rng.uniform(100, 4000, count), gpus),
        num_gpus=gpus,
        **columns,
    )


SERVER = NodeType("server", "GPU", 8, 3.0, power_w=tuple(100.0 + 50 * g for g in range(9)))
CLUSTER = Cluster((SERVER,), 2, (0, 0), energy_price_per_kwh=0.2, pue=1.2)


def test_columns_of_jobs_by_hand():
    """Two jobs of 100 s on one GPU; the second waits, its wait is its slowdown."""
    columns = {"due_s": [150.0, np.inf], "user": ["ann", "bob"], "vc": ["x", "x"]}
    result = run(fixed([0, 0], [100, 100], **columns), nodes())
    table = result.jobs_table().set_index("job_id")
    found = table.loc["j1", ["gpus", "ideal_s", "slowdown", "total_wait_s"]].tolist()
    assert found == [1, 100, 2, 100]
    assert table["user"].tolist() == ["ann", "bob"]
    assert table["due_s"].tolist()[0] == 150.0
    summary = result.summary()
    assert summary["mean_slowdown"] == pytest.approx(1.5)
    assert summary["jain_slowdown"] == pytest.approx(1.5**2 / (2 * 1.25))
    # Both share with one other for 100 s; b then is alone for as long: 200 / (100 * 1.5).
    assert finish_time_fairness(result) == pytest.approx([100 / 200, 200 / 150])
    tenants = result.table("tenants")
    assert tenants["jobs"].tolist() == [2]
    assert tenants["mean_jct_s"].tolist() == [150.0]


def test_waits_of_preempted_jobs_and_jobs_over_nodes():
    work = jobs(30, 5)
    result = run(work, CLUSTER, "srtf+proportional")
    table = result.jobs_table()
    run_s = work.performance.duration_s
    np.testing.assert_allclose(table["total_wait_s"], result.jct_s - run_s, atol=1e-6)
    assert (table["slowdown"] >= 1 - 1e-9).all()


def test_without_a_schedule_and_on_a_pool_there_is_no_number():
    result = run(jobs(), CLUSTER, "fifo-backfill", record_schedule=False)
    assert result.jobs_table()["total_wait_s"].isna().all()
    assert result.table("timeline").empty
    assert np.isfinite(result.summary()["mean_slowdown"])


def test_jain():
    assert jain(np.array([2.0, 2.0, 2.0])) == pytest.approx(1)
    assert jain(np.array([1.0, 0.0, 0.0, 0.0])) == pytest.approx(0.25)


def test_tenants_of_a_plain_file(tmp_path):
    path = tmp_path / "jobs.csv"
    columns = "job_id,submit_time_s,duration_s,num_gpus,user,vc"
    path.write_text(f"{columns}\na,5,10,1,ann,x\nb,0,10,3,bob,y\n")
    work = read_csv_jobs(path)
    assert (work.user, work.vc) == (("bob", "ann"), ("y", "x"))
    result = run(work, CLUSTER)
    table = result.table("tenants").set_index("tenant")
    assert table.loc["y", "share"] == pytest.approx(0.75)
    assert work.head(1).vc == ("y",)
