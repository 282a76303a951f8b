"""The authors' public instances and the Philly table, where a folder with them is at hand.

Set ``SCHEDLAB_FACTS`` to the folder. Their lists print each job's extreme times, which must be
those of the table that the reader builds.
"""

import functools
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from policies import make_policy
from simulator import simulate
from simulator.model.cluster import Cluster, NodeType
from simulator.workloads import authors
from simulator.workloads.authors import Instance
from simulator.workloads.fits import check_fits
from simulator.workloads.plain_csv import CsvJobs
from tests.workloads.choices import choice_shares

FACTS = Path(os.environ.get("SCHEDLAB_FACTS") or "/nonexistent")
pytestmark = pytest.mark.skipif(
    not FACTS.is_dir(), reason="SCHEDLAB_FACTS names no folder with public data"
)


@functools.cache
def read_instance(folder: Path, **options: str) -> Instance:
    """Read once for all tests."""
    return authors.read_instance(folder, **options)


def instances(pattern: str) -> list[Path]:
    return sorted(FACTS.glob(f"*/instances/{pattern}"))


def extremes(folder: Path) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    instance = read_instance(folder)
    check_fits(instance.workload, instance.cluster)
    listed = pd.read_csv(next(folder.glob("Lof*.csv")))
    listed = listed.set_index("ID" if "ID" in listed else "UniqueJobsID")
    listed = listed.loc[list(instance.workload.job_id)]
    times = instance.workload.performance.times_s.reshape(len(listed), -1)
    return listed, times.min(axis=1), np.where(np.isfinite(times), times, 0).max(axis=1)


@pytest.mark.long
@pytest.mark.parametrize("pattern", ["v2021*", "andreas*"])
def test_extreme_times_are_the_printed_ones(pattern):
    folders = instances(pattern)
    assert folders
    for folder in folders:
        listed, low, high = extremes(folder)
        np.testing.assert_allclose(low, listed["MinExecTime"], rtol=1e-9)
        np.testing.assert_allclose(high, listed["MaxExecTime"], rtol=1e-9)


def test_2020_has_double_keys_and_mostly_the_printed_times():
    for folder in instances("v2020*"):
        listed, low, _ = extremes(folder)
        assert np.mean(np.isclose(low, listed["MinExecTime"])) > 0.94
        assert any(
            "further times of a configuration" in n for n in read_instance(folder).workload.notes
        )


def test_jobs_and_deadlines_as_printed():
    for folder in instances("*"):
        workload = read_instance(folder).workload
        listed = pd.read_csv(next(folder.glob("Lof*.csv")))
        assert len(workload) == len(listed)
        np.testing.assert_array_equal(np.sort(workload.due_s), np.sort(listed["Deadline"]))
        assert len(workload) % 10 == 1  # J + 1 rows


def test_andreas_costs_as_printed():
    for folder in instances("andreas*"):
        cluster = read_instance(folder).cluster
        for row in pd.read_csv(folder / "GPU-costs.csv").itertuples():
            for v, node_type in enumerate(cluster.node_types):
                if node_type.gpu_type == row.GPUtype and row.nGPUs <= node_type.gpus:
                    cost = cluster.rates(v, row.nGPUs).energy_per_hour
                    assert cost == pytest.approx(row.cost, rel=1e-12)


@pytest.mark.long
def test_first_principle_costs_of_the_released_program():
    """FIFO, EDF, PS through reader and engine: the authors' C++ to every digit that it prints."""
    policies = {"FIFO": "fifo", "EDF": "edf", "Priority": "ps"}
    released = pd.read_csv(FACTS / "gpuaas" / "baseline.csv")
    released = released[released["method"].isin(policies) & (released["completed"] == 1)]
    assert len(released) >= 18
    for row in released.itertuples():
        (folder,) = instances(row.instance)
        instance = read_instance(folder, duplicates="shortest")
        result = simulate(instance.workload, instance.cluster, make_policy(policies[row.method]))
        assert result.summary()["total_cost"] == pytest.approx(row.total_cost, rel=1e-5), row


def test_the_authors_choice_is_as_data_readme_says():
    (folder,) = instances("v2020_1-10-*")
    instance = read_instance(folder)
    shares = choice_shares(instance.workload, instance.cluster)
    custom2 = shares["In-house server 2"].to_numpy()
    np.testing.assert_allclose(custom2, [0.08, 0.77, 0.80, 0.77], atol=0.006)


def test_philly_table():
    workload = CsvJobs(path=FACTS / "philly" / "philly_jobs.csv.gz").read()
    assert len(workload) == 82_247
    quantiles = pd.read_csv(FACTS / "philly" / "philly_duration_quantiles.csv")
    ours = np.quantile(workload.performance.duration_s, quantiles["q"])
    np.testing.assert_allclose(ours, quantiles["philly_pollux_82k_s"], rtol=1e-3, atol=1)
    check_fits(workload, Cluster.of_nodes(NodeType("server", "P100", 8), 16))
