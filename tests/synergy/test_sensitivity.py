"""Matrices, traces and their errors."""

import numpy as np
import pytest

from policies.synergy import synergy
from simulator import InputError, SensitivityMatrix
from simulator.statistics import Streams
from simulator.workloads.networks import (
    TASKS,
    cluster,
    dnn_models,
    models_of_split,
    read_sensitivity,
    sensitivity_matrices,
    with_sensitivity,
)
from simulator.workloads.synergy import deployment_trace, derived_trace
from tests.core.jobs import fixed, nodes

HEAD = "model,cpus_per_gpu,memory_gb_per_gpu,relative_throughput\n"


def one(model="alexnet", gpus=1):
    return fixed([0], [100], [gpus], model=[model])


def test_interpolation_between_points():
    w = SensitivityMatrix(np.array([1.0, 3]), np.array([10.0, 30]), np.array([[1.0, 2], [3, 6]]))
    assert w(1, 10) == 1
    assert w(2, 20) == pytest.approx(3)
    assert w(9, 99) == 6
    assert w(0.5, 5) == 1


@pytest.mark.parametrize("cpus_per_gpu", [3, 4, 5, 6])
def test_duration_is_that_of_the_proportional_share_at_every_ratio(cpus_per_gpu):
    servers = cluster(1, cpus_per_gpu)
    for model in dnn_models():
        workload = with_sensitivity(one(model), servers)
        assert workload.performance.time_s(0, 0, 1, cpus_per_gpu, 62.5) == pytest.approx(100)


@pytest.mark.parametrize(
    ("model", "cpus", "memory_gb", "speedup"),
    [("AlexNet", 12, 125, 2.94), ("res18", 9, 62.5, 2.4), ("GNMT", 1, 20, 1)],
)
def test_speedups_of_section_2(model, cpus, memory_gb, speedup):
    performance = with_sensitivity(one(model), cluster(1)).performance
    assert 100 / performance.time_s(0, 0, 1, cpus, memory_gb) == pytest.approx(speedup)


@pytest.mark.parametrize(
    ("model", "gpus", "fastest"),
    [
        ("resnet18", 4, 1.7),
        ("m5", 4, 2.5),
        *(("alexnet", g, s) for g, s in ((4, 1.65), (8, 1), (16, 1))),
    ],
)
def test_released_speed_scales_with_the_cpus_of_a_server(model, gpus, fastest):
    performance = with_sensitivity(one(model, gpus), cluster(2), released=True).performance
    assert performance.matrices[0].relative.max() == pytest.approx(fastest, abs=0.005)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a,1,10,1\na,3,10,0.5\n", "falls with more CPUs after 1 CPUs and 10 GB"),
        ("a,1,10,1\na,1,20,0.9\n", "falls with more memory"),
        ("a,1,10,-1\n", "negative"),
        ("a,1,10,x\n", "line 2: relative_throughput is 'x', expected a number"),
        ("a,1,10,1\na,2,20,1\n", "no value at 1 CPUs and 20 GB"),
        ("a,1,10,1\na,1,10,1\n", "line 3: a at 1 CPUs and 10 GB occurs twice"),
        ("a,1,10\n", "line 2: relative_throughput is empty, expected a number"),
    ],
)
def test_bad_matrices(tmp_path, rows, message):
    path = tmp_path / "matrix.csv"
    path.write_text(HEAD + rows)
    with pytest.raises(InputError, match=message):
        read_sensitivity(path)


def test_a_model_without_throughput_at_its_share_is_refused():
    zero = SensitivityMatrix(np.array([1.0, 6]), np.array([62.5]), np.array([[0.0], [0.0]]))
    with pytest.raises(InputError, match="no throughput at the proportional share"):
        with_sensitivity(one("mine"), cluster(1), matrices={"mine": zero})


def test_a_zero_row_is_no_share_that_a_policy_offers(run):
    rows = SensitivityMatrix(np.array([1.0, 3, 6]), np.array([62.5]), np.array([[0.0], [1], [2]]))
    workload = with_sensitivity(one("mine"), cluster(1), matrices={"mine": rows})
    for mechanism in ("proportional", "greedy", "tune", "opt"):
        result = run(workload, cluster(1), synergy("fifo", mechanism))
        assert result.jct_s[0] <= 100 + 1e-9


def drawn(jobs=5, **options):
    return lambda: derived_trace(jobs, Streams(1), **options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: with_sensitivity(one("vgg"), cluster(1)), "'j0': model is 'vgg', expected one of"),
        (lambda: with_sensitivity(one(), nodes(8)), "expected three numbers"),
        (lambda: with_sensitivity(one(), cluster(1, 3.5), released=True), "3.5 CPUs per GPU, exp"),
        (drawn(0), "num_jobs is 0"),
        (drawn(jobs_per_hour=-1), "-1 jobs/h"),
        (drawn(split=(1, 2)), "three shares"),
        (drawn(multi_gpu=True, gpu_law="x"), "expected one of philly, gavel"),
        (lambda: deployment_trace("other"), "expected 'static' or 'dynamic'"),
    ],
)
def test_bad_input_is_told_in_one_line(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_split_is_kept_all_along():
    models = models_of_split(1000, (20, 70, 10))
    tasks = np.array([TASKS.index(dnn_models()[m].task) for m in models])
    share = np.array([0.2, 0.7, 0.1])
    for count in range(1, 1001):
        given = np.bincount(tasks[:count], minlength=3)
        assert np.abs(given - share * count).max() <= 1


def test_durations_follow_the_law():
    minutes = derived_trace(20_000, Streams(3)).performance.duration_s / 60
    assert minutes.min() >= 10**1.5
    assert minutes.max() <= 10**4
    assert (minutes > 1000).mean() == pytest.approx(0.2, abs=0.01)
    assert minutes.mean() / 60 == pytest.approx(16.77, rel=0.03)


def test_the_same_jobs_come_at_every_load():
    slow, fast = (derived_trace(50, Streams(1), jobs_per_hour=x) for x in (3, 9))
    assert slow.submit_s == pytest.approx(3 * fast.submit_s)
    assert (slow.performance.duration_s == fast.performance.duration_s).all()


def test_published_points():
    assert len(sensitivity_matrices()) == 10
    assert sensitivity_matrices()["m5"](6, 125) == 2.0
