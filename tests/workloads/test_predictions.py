"""Policies see predictions, the engine runs the truth."""

from dataclasses import replace

import numpy as np
import pytest

from policies import make_policy
from simulator import Decision, InputError, Placement, TimeTable, Workload
from simulator.features.predictions import PredictedWorkload, Predictions, predicted
from simulator.model.performance import DurationByType
from simulator.statistics import Streams
from simulator.workloads.hierarchical import HierarchicalJobs, generate
from tests.core.jobs import fixed, nodes, run

ONE = nodes()
WRONG = Predictions(bias=0.2, noise=0.4, configuration_noise=0.3)


def elastic() -> Workload:
    return generate(HierarchicalJobs(num_nodes=5, jobs_per_node=4, seed=1))


def shown(jobs: Workload, predictions: Predictions) -> PredictedWorkload:
    return PredictedWorkload(predicted(jobs, predictions, Streams(1)), predictions.learned)


# -- the numbers -----------------------------------------------------------------------------


def test_no_error_is_the_workload_itself():
    jobs = elastic()
    assert predicted(jobs, Predictions(), Streams(1)) is jobs


def test_bias_scales_all_times():
    jobs = elastic()
    seen = predicted(jobs, Predictions(bias=0.11), Streams(1))
    finite = np.isfinite(jobs.performance.times_s)
    ratio = seen.performance.times_s[finite] / jobs.performance.times_s[finite]
    np.testing.assert_allclose(ratio, 1.11)
    np.testing.assert_array_equal(np.isfinite(seen.performance.times_s), finite)


def test_noise_by_job_is_one_factor_of_mean_one():
    jobs = fixed([0] * 20_000, [100] * 20_000)
    ratio = predicted(jobs, Predictions(noise=0.3), Streams(1)).performance.duration_s / 100
    assert ratio.mean() == pytest.approx(1, abs=0.01)
    assert ratio.std() == pytest.approx(0.3, rel=0.03)
    wide = predicted(jobs, Predictions(noise=1.0), Streams(1)).performance.duration_s / 100
    assert wide.std() == pytest.approx(1.0, rel=0.1)
    table = elastic()
    by_job = predicted(table, Predictions(noise=0.3), Streams(1)).performance.times_s
    with np.errstate(invalid="ignore"):
        ratios = by_job / table.performance.times_s
    assert (np.nanmax(ratios, axis=(1, 2)) - np.nanmin(ratios, axis=(1, 2))).max() < 1e-12


def test_noise_by_configuration_differs_within_a_job():
    jobs = elastic()
    seen = predicted(jobs, Predictions(configuration_noise=0.3), Streams(1))
    with np.errstate(invalid="ignore"):
        ratios = seen.performance.times_s / jobs.performance.times_s
    assert (np.nanstd(ratios, axis=(1, 2)) > 0.05).all()


def test_same_seed_same_bytes():
    jobs = elastic()
    one, other = (predicted(jobs, WRONG, Streams(1)).performance.times_s for _ in range(2))
    assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("name", ["bias", "noise", "configuration_noise"])
@pytest.mark.parametrize("value", [-1.5, float("inf"), float("nan")])
def test_bad_errors_are_one_line(name, value):
    with pytest.raises(InputError, match=f"{name}: got"):
        Predictions(**{name: value})


# -- the engine ------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["fifo", "greedy", "milp"])
def test_zero_error_gives_the_bytes_of_none(policy):
    jobs = elastic()
    cluster = HierarchicalJobs(num_nodes=5).cluster()
    plain = run(jobs, cluster, policy, seed=1)
    with_none = run(jobs, cluster, policy, shown(jobs, Predictions()), seed=1)
    assert plain.completion_s.tobytes() == with_none.completion_s.tobytes()
    assert plain.schedule_table().equals(with_none.schedule_table())


def test_the_engine_runs_the_true_times():
    wrong = PredictedWorkload(fixed([0], [7]))
    assert run(fixed([0], [100]), ONE, "fifo", wrong).completion_s[0] == 100


def test_no_policy_reaches_the_true_times():
    jobs = elastic()
    truth = jobs.performance.times_s
    seen = shown(jobs, WRONG)
    met = []

    def spy(view):
        table = view.workload.performance.table_s(view.jobs, view.cluster)
        finite = np.isfinite(table)
        assert not np.isclose(table[finite], truth[view.jobs][finite], rtol=1e-9).any()
        np.testing.assert_array_equal(view.times_s, table * view.remaining[:, None, None])
        met.append(len(view.jobs))
        job = int(view.jobs[0])
        v, g = divmod(int(np.argmin(table[0])), table.shape[2])
        return Decision([Placement(job, int(view.nodes[0]), g, v)])

    run(jobs, HierarchicalJobs(num_nodes=5).cluster(), spy, seen)
    assert met


def test_wrong_predictions_turn_the_order_of_srtf_round():
    """By hand: the short job is predicted longer than the long one, and so goes second."""
    cluster = nodes(cpus=3, memory_gb=62.5)
    jobs, wrong = fixed([0, 0], [300, 100]), fixed([0, 0], [80, 120])
    policy = make_policy("srtf+proportional")
    assert run(jobs, cluster, policy).completion_s.tolist() == [400.0, 100.0]
    told = run(jobs, cluster, policy, PredictedWorkload(wrong))
    assert told.completion_s.tolist() == [300.0, 400.0]


def test_dispatchers_see_predictions_too():
    jobs, wrong = fixed([0, 0, 1], [500, 10, 10]), fixed([0, 0, 1], [5, 1000, 10])
    true, misled = (
        run(jobs, nodes(1, 2, 2), "fifo", shown, dispatcher="least-work-left")
        for shown in (None, PredictedWorkload(wrong))
    )
    assert true.completion_s.tolist() == [500.0, 10.0, 20.0]
    assert misled.completion_s.tolist() == [500.0, 10.0, 510.0]


# -- learning --------------------------------------------------------------------------------


def times_seen(learned: bool) -> list[float]:
    """Remaining times shown of a job of 100 s that was predicted to take 400 s, at 0, 0.5, 10 and 50 s."""
    jobs = Workload([*"abcd"], [0.0, 0.5, 10.0, 50.0], TimeTable([[[9, 100.0]]] * 4))
    wrong = replace(jobs, performance=TimeTable([[[9, 400.0]]] * 4))
    seen = []

    def spy(view):
        if 0 in view.jobs:
            seen.append(float(view.times_s[0, 0, 1]))
        job = int(view.jobs[0])
        return Decision([Placement(job, 0, 1)])

    run(jobs, ONE, spy, PredictedWorkload(wrong, learned))
    return seen[:4]


def test_what_is_observed_of_a_job_corrects_its_predictions():
    """From a hundredth of its work on."""
    assert times_seen(learned=False) == pytest.approx([400.0, 398.0, 360.0, 200.0])
    assert times_seen(learned=True) == pytest.approx([400.0, 398.0, 90.0, 50.0])


def test_what_was_observed_is_kept_while_the_job_waits():
    jobs = Workload(["a", "b"], [0.0, 50.0], TimeTable([[[9, 100.0]]] * 2))
    wrong = replace(jobs, performance=TimeTable([[[9, 400.0]]] * 2))
    seen = []

    def newest_first(view):
        if 0 in view.jobs:
            seen.append((view.now_s, float(view.times_s[0, 0, 1])))
        return Decision([Placement(int(view.jobs[-1]), 0, 1)])

    run(jobs, ONE, newest_first, PredictedWorkload(wrong, learned=True))
    assert sum(seen, ()) == pytest.approx((0.0, 400.0, 50.0, 50.0, 150.0, 50.0))


def test_jobs_that_are_others_are_refused():
    with pytest.raises(InputError, match="its jobs are others"):
        run(elastic(), ONE, "fifo", PredictedWorkload(elastic().head(3)), check=False)


def test_durations_by_type_have_one_error():
    times = DurationByType(np.array([10.0]), np.array([1]), times_s=np.array([[10.0, 30.0]]))
    seen = predicted(Workload(["a"], [0.0], times), Predictions(bias=0.5), Streams(1)).performance
    assert (seen.duration_s.tolist(), seen.times_s.tolist()) == ([15], [[15, 45]])
