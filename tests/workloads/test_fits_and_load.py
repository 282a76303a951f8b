"""Fit of a workload to a cluster, and the load that it offers."""

import math
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from simulator.errors import InputError
from simulator.model.cluster import Cluster, NodeType
from simulator.model.performance import FixedDuration, SpeedupCurve, TimeTable
from simulator.model.workload import Workload
from simulator.workloads.fits import check_fits, sized
from simulator.workloads.load import offered_load
from tests.core import jobs
from tests.errors import input_error
from tests.workloads.choices import choice_shares

INF, NAN = math.inf, math.nan
SERVER = NodeType("server", "V100", 4, cpus=16, memory_gb=100)
TYPES = (NodeType("small", "A", 1, price_per_hour=1.0), NodeType("big", "B", 2, price_per_hour=3.0))


def fixed(
    gpus: list[int], duration_s: float = 100.0, gap_s: float = 50.0, **columns: Any
) -> Workload:
    return jobs.fixed(gap_s * np.arange(len(gpus)), [duration_s] * len(gpus), gpus, **columns)


def elastic(times: list[list[list[float]]], due_s: float = INF) -> Workload:
    submit_s = 10.0 * np.arange(len(times))
    names = [f"j{i}" for i in range(len(times))]
    return Workload(names, submit_s, TimeTable(np.array(times)), due_s=submit_s + due_s)


ONE = NodeType("one", "T4", 1)
TWO_SERVERS, TWO_CONTROLLERS = Cluster.of_nodes(SERVER, 2), Cluster.of_nodes(SERVER, 2, 2)
UNEVEN = Cluster((SERVER, ONE), 2, (0, 1), 2)
MIXED = Cluster((SERVER, ONE), 3, (0, 1, 1))


@pytest.mark.parametrize(
    ("jobs", "cluster", "message"),
    [
        # A job may fill the cluster and no more; CPUs and memory must fit too.
        (fixed([1, 12]), Cluster.of_nodes(SERVER, 3), ""),
        (
            fixed([1, 13]), Cluster.of_nodes(SERVER, 3),
            "job 'j1': num_gpus is 13, expected at most 12, what the 3 nodes have together",
        ),
        (fixed([1, 2], num_cpus=[NAN, 32.0], memory_gb=[100.0, NAN]), TWO_SERVERS, ""),
        (fixed([1, 1], num_cpus=[1, 33]), TWO_SERVERS, "'j1': num_cpus is 33, expected at most 32"),
        (fixed([1, 1], memory_gb=[201, 1]), TWO_SERVERS, "memory_gb is 201, expected at most 200"),
        # 16 CPUs and 100 GB a node: a job of one GPU lies on one node, whatever the others have.
        (
            fixed([1, 1], num_cpus=[16, 17]), TWO_SERVERS,
            "job 'j1': 1 GPUs with its num_cpus and memory_gb do not",
        ),
        (fixed([3], num_cpus=[26]), TWO_SERVERS, "job 'j0': 3 GPUs with"),  # 2 x 8.67 and 8.67
        (fixed([3], num_cpus=[24]), TWO_SERVERS, ""),
        (fixed([1], memory_gb=[101]), TWO_SERVERS, "job 'j0': 1 GPUs with"),
        # The nodes of any controller count, of each type.
        (fixed([4]), TWO_CONTROLLERS, ""),
        (fixed([8]), TWO_CONTROLLERS, "8, expected at most 4, what the 1 nodes of a controller"),
        (fixed([2]), UNEVEN, "2, expected at most 1, what"),
        (fixed([6]), MIXED, ""),
        (fixed([7]), MIXED, "num_gpus is 7, expected at most 6"),
    ],
)  # fmt: skip
def test_jobs_that_fit_and_do_not(jobs, cluster, message):
    with input_error(message) if message else nullcontext():
        check_fits(jobs, cluster)


def test_elastic_jobs_need_one_finite_time():
    cluster = Cluster.of_vms(TYPES, 2)
    good = [[INF, 5.0, INF], [INF, INF, INF]]
    check_fits(elastic([good, good]), cluster)
    with pytest.raises(InputError, match="job 'j1': no node type can run it"):
        check_fits(elastic([good, [[INF] * 3] * 2]), cluster)


def test_times_for_another_catalogue():
    with pytest.raises(
        InputError, match="times for 1 node types of up to 2 GPUs, expected 2 and 2"
    ):
        check_fits(elastic([[[INF, 5.0, 3.0]]]), Cluster.of_vms(TYPES, 2))


def test_a_rental_pool_runs_everything():
    workload = Workload(
        job_id=["a"],
        submit_s=np.zeros(1),
        performance=SpeedupCurve(np.ones(1), np.zeros(1, dtype=np.int64), [lambda k: k**0.5]),
    )
    check_fits(workload, Cluster.rental_pool())
    check_fits(fixed([1000]), Cluster.rental_pool())


def test_load_of_fixed_jobs_by_hand():
    # One job of 100 s every 50 s: 2 GPUs of 4 on one node is load 1, a node each is load 2.
    load = offered_load(fixed([2, 2, 2, 2, 2]), Cluster.of_nodes(SERVER, 1))
    assert load.packed == pytest.approx(1)
    assert load.alone == pytest.approx(2)
    assert load.arrivals_per_h == pytest.approx(72)
    # A job of 6 GPUs fills one and a half nodes of the three, and takes two.
    load = offered_load(fixed([6, 6]), Cluster.of_nodes(SERVER, 3))
    assert load.packed == pytest.approx(100 / 50 * 1.5 / 3)
    assert load.alone == pytest.approx(100 / 50 * 2 / 3)


def test_load_of_elastic_jobs_by_hand():
    # Packed: 8 s on half of the big node are 4 node-seconds, less than the 5 of the small one and
    # of the whole big one. Alone: 5 s.
    job = [[INF, 6.0, INF], [INF, 8.0, 5.0]]
    load = offered_load(elastic([job] * 11), Cluster.of_vms(TYPES, 2))
    assert load.packed == pytest.approx(4 / 10 / 2)
    assert load.alone == pytest.approx(5 / 10 / 2)


def test_load_needs_time_and_nodes():
    with pytest.raises(InputError, match="expected jobs submitted at two times"):
        offered_load(fixed([1]), Cluster.of_nodes(SERVER, 1))
    with pytest.raises(InputError, match="the pool has no limit"):
        offered_load(fixed([1, 1]), Cluster.rental_pool())


def test_choice_by_hand():
    jobs = [
        # node price: small 10, big 3 x 4 = 12; GPU share: big 1 x 6 x 3/2 = 9; fastest: big.
        [[INF, 10.0, INF], [INF, 6.0, 4.0]],
        # small by every rule.
        [[INF, 1.0, INF], [INF, 6.0, 4.0]],
    ]
    shares = choice_shares(elastic(jobs), Cluster.of_vms(TYPES, 2))
    assert list(shares.columns) == ["small", "big"]
    np.testing.assert_array_equal(shares.to_numpy(), [[1, 0], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])


def test_choice_in_time():
    # Due after 5 s: only 4 s on the whole big node make it, at 12 instead of 9.
    job = [[INF, 10.0, INF], [INF, 6.0, 4.0]]
    cheap = [[INF, 10.0, INF], [INF, 20.0, 20.0]]
    cluster = Cluster.of_vms(TYPES, 2)
    in_time = choice_shares(elastic([job, cheap], due_s=5.0), cluster).loc["cheapest in time"]
    # The second cannot make it and takes its fastest.
    np.testing.assert_array_equal(in_time, [0.5, 0.5])


@pytest.mark.parametrize(
    ("rule", "names", "gpus", "cpus"),
    [
        ("leave-out", ("small", "cpus"), [4, 2], [16, 8]),
        ("clip", ("large", "small", "cpus", "many"), [16, 4, 2, 16], [32, 16, 8, np.nan]),
    ],
)
def test_jobs_that_do_not_fit(rule, names, gpus, cpus):
    """Two nodes of 8 GPUs and 32 CPUs: 64 GPUs are 16 with a quarter of the CPUs; 100 CPUs on 16 GPUs are none's."""
    jobs = Workload(
        ["large", "small", "cpus", "many"],
        np.zeros(4),
        FixedDuration(np.full(4, 60.0), np.array([64, 4, 2, 16])),
        num_cpus=np.array([128.0, 16, 8, 100]),
    )
    cluster = Cluster.of_nodes(NodeType("n", "GPU", 8, cpus=32), 2)
    made = sized(jobs, cluster, rule)
    assert made.job_id == names
    assert made.num_gpus.tolist() == gpus
    np.testing.assert_array_equal(made.num_cpus, cpus)
    assert made.notes[0].startswith("workload: 2 jobs do not fit on the machines")
    check_fits(made, cluster)
    with input_error("job 'large': num_gpus is 64, expected at most 16"):
        check_fits(jobs, cluster)
    with input_error("none of the 1 jobs fits"):
        sized(jobs.head(1), cluster, "leave-out")


def test_elastic_jobs_without_a_time_are_left_out() -> None:
    """Of two types, the second job runs on the large one alone, the third on none."""
    never = [[INF, INF, INF]] * 2
    jobs = elastic([[[INF, 9.0, INF], [INF, 8.0, 5.0]], [never[0], [INF, INF, 7.0]], never])
    cluster = Cluster.of_vms(TYPES, 2)
    with input_error("job 'j2': no node type can run it"):
        check_fits(jobs, cluster)
    made = sized(jobs, cluster, "leave-out")
    assert made.job_id == ("j0", "j1")
    assert made.notes == ("workload: 1 jobs do not fit on the machines, left out",)
    assert sized(jobs, cluster, "clip") is jobs
