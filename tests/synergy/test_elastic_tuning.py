"""CPUs and memory of elastic jobs: the model, what tune gives out on a node, runs beside a policy."""

import math
from dataclasses import replace

import numpy as np
import pytest

from policies import check_requirements, make_policy, missing_requirements
from policies.synergy.demand import ServerSize, sensitive
from policies.synergy.elastic_tuning import give_out
from simulator import Cluster, InputError, NodeType, SensitivityMatrix, Workload, simulate
from simulator.adaptation import Rules, adapt
from simulator.features.predictions import PredictedWorkload, Predictions, predicted
from simulator.model.sensitive_table import SensitiveTable
from simulator.statistics import Streams
from simulator.workloads import synergy

SERVER = NodeType("server", "V100", 4, 4.0, cpus=12, memory_gb=250)
CLUSTER = Cluster.of_nodes(SERVER, 2)
RULES = Rules(speedup="calibrated", sensitivity="synergy", due="factor:1.5,4", weights="printed")
MEMORY = np.array([62.5])


def matrix(*rates: float) -> SensitivityMatrix:
    """Rates with 1, 3 and 6 CPUs per GPU; memory does not matter."""
    return SensitivityMatrix(np.array([1.0, 3.0, 6.0]), MEMORY, np.array(rates)[:, None])


MODEST, HUNGRY, LESS = matrix(1.0, 1.0, 1.0), matrix(0.4, 1.0, 1.6), matrix(0.8, 1.0, 1.2)


def two_jobs(first: SensitivityMatrix, second: SensitivityMatrix) -> Workload:
    """Two jobs that take 3600 s on one GPU and 1800 s on two, with 3 CPUs each."""
    times_s = np.array([[[math.inf, 3600.0, 1800.0, math.inf, math.inf]]] * 2)
    table = SensitiveTable(times_s, matrix_of=np.array([[0], [1]]), matrices=[first, second])
    return Workload(["a", "b"], [0.0, 0.0], table, due_s=[1e5, 1e5])


# -- the model -------------------------------------------------------------------------------


def test_times_by_hand():
    table = two_jobs(MODEST, HUNGRY).performance
    assert table.time_s(1, 0, 2, 0, 0) == 1800.0  # nothing stated: the proportional share
    assert table.time_s(1, 0, 2, 6, 125) == 1800.0
    assert table.time_s(1, 0, 2, 12, 125) == pytest.approx(1800.0 / 1.6)
    assert table.time_s(1, 0, 2, 9, 125) == pytest.approx(1800.0 / 1.3)  # half-way
    assert table.time_s(1, 0, 1, 1, 62.5) == pytest.approx(3600.0 / 0.4)
    assert table.time_s(1, 0, 3, 6, 125) == math.inf
    np.testing.assert_array_equal(table.table_s(np.array([1]), CLUSTER), table.times_s[[1]])


def test_a_job_gains_as_much_from_cpus_as_one_of_fixed_demand():
    """At each demand: as Synergy's own model has it; with its share it has the trace's duration."""
    jobs = synergy.derived_trace(60, Streams(3), jobs_per_hour=2, multi_gpu=True)
    own = adapt(jobs, CLUSTER, Rules(sensitivity="synergy"), Streams(3)).workload.performance
    made = adapt(jobs, CLUSTER, RULES, Streams(3)).workload.performance
    fits = np.flatnonzero(jobs.num_gpus <= 4)
    assert len(fits) > 30
    for j in fits.tolist():
        g = int(jobs.num_gpus[j])
        time_s = made.time_s(j, 0, g, 3.0 * g, 62.5 * g)
        assert time_s == pytest.approx(jobs.performance.duration_s[j], rel=1e-9)
        for cpus in (1.0, 2.0, 6.0, 12.0):
            share = (cpus * g, 62.5 * g)
            assert made.time_s(j, 0, g, *share) == pytest.approx(own.time_s(j, 0, g, *share))


def test_predictions_and_none_keep_what_they_are():
    jobs = synergy.derived_trace(5, Streams(3), jobs_per_hour=2)
    made = adapt(jobs, CLUSTER, RULES, Streams(3)).workload
    longer = predicted(made, Predictions(bias=1.0), Streams(1)).performance
    seconds = made.performance.time_s(0, 0, 1, 6, 62.5)
    assert longer.time_s(0, 0, 1, 6, 62.5) == pytest.approx(2 * seconds)
    plain = adapt(made, CLUSTER, Rules(sensitivity="none"), Streams(3)).workload.performance
    assert not isinstance(plain, SensitiveTable)


def test_mistakes_are_one_line():
    table = two_jobs(MODEST, HUNGRY).performance
    with pytest.raises(InputError, match=r"matrix_of: shape is \(2,\), expected \(2, 1\)"):
        replace(table, matrix_of=np.array([0, 1]))
    with pytest.raises(InputError, match="matrix_of: is 0 to 1, expected 0 to 0"):
        replace(table, matrices=[MODEST])
    no_cpus = Cluster.of_nodes(NodeType("server", "V100", 4, 4.0), 2)
    jobs = synergy.derived_trace(5, Streams(3), jobs_per_hour=2)
    with pytest.raises(InputError, match="sensitivity: node type 'server'"):
        adapt(jobs, no_cpus, RULES, Streams(3))


# -- what is given out -----------------------------------------------------------------------


def given(**jobs: tuple[int, SensitivityMatrix]) -> dict[str, float]:
    """CPUs of each job on one server, by its GPUs and matrix."""
    capacity = ServerSize.of(SERVER)
    names = list(jobs)
    gpus = {i: jobs[n][0] for i, n in enumerate(names)}
    kinds = {i: sensitive(jobs[n][1], jobs[n][0], capacity) for i, n in enumerate(names)}
    chosen = give_out(gpus, kinds, capacity)
    assert sum(o.share.memory_gb * gpus[i] for i, o in chosen.items()) <= 250.0 + 1e-6
    return {n: chosen[i].share.cpus * gpus[i] for i, n in enumerate(names)}


@pytest.mark.parametrize(
    ("jobs", "cpus"),
    [
        # 12 CPUs: A needs 1 for each of 2 GPUs. B asks for 6 for each of 2, and gets what 10 allow.
        ({"a": (2, MODEST), "b": (2, HUNGRY)}, {"a": 2.0, "b": 6.0}),
        # 3 for each, its share: 5 each is no point of the matrix. With one GPU it has 6.
        ({"a": (2, MODEST), "b": (1, HUNGRY)}, {"a": 2.0, "b": 6.0}),
        # Nobody falls below the proportional share.
        ({"a": (2, HUNGRY), "b": (2, HUNGRY)}, {"a": 6.0, "b": 6.0}),
        # 2 GPUs are idle, 6 CPUs over. B gains 60 %, C 20 %: B has 6, C what is left of 12.
        ({"c": (1, LESS), "b": (1, HUNGRY)}, {"c": 6.0, "b": 6.0}),
        ({"c": (2, LESS), "b": (1, HUNGRY)}, {"c": 6.0, "b": 6.0}),
    ],
)
def test_who_needs_less_leaves_the_rest(jobs, cpus):
    assert given(**jobs) == pytest.approx(cpus)


# -- runs ------------------------------------------------------------------------------------


def test_a_run_by_hand():
    """Each job has a node of 4 GPUs for itself and 2 GPUs: B has 12 CPUs, so it is 1.6 times as fast."""
    result = simulate(two_jobs(MODEST, HUNGRY), CLUSTER, make_policy("fifo@tune"))
    plain = simulate(two_jobs(MODEST, HUNGRY), CLUSTER, make_policy("fifo"))
    assert plain.completion_s[1] == plain.completion_s[0]
    assert result.completion_s[0] == plain.completion_s[0]
    assert result.completion_s[1] == pytest.approx(plain.completion_s[1] / 1.6)


@pytest.mark.parametrize("policy", ["greedy", "rental-on-nodes", "greedy@hysteresis"])
def test_nobody_is_slower_than_at_the_proportional_share(policy):
    """The engine checks the capacity of each node; each job runs at least at its proportional rate."""
    jobs = synergy.derived_trace(20, Streams(4), jobs_per_hour=1.5, multi_gpu=True)
    adapted = adapt(jobs, CLUSTER, RULES, Streams(4))
    made = make_policy(f"{policy}@tune")
    check_requirements(f"{policy}@tune", *adapted)
    seen = []

    class Spy:
        name = "spy"

        def decide(self, view):
            decision = made.decide(view)
            table = view.workload.performance
            for share in decision.placements:
                fair = table.times_s[share.job, 0, int(share.gpus)]
                seen.append(view.time_s_of(share.job, (share,)) / fair)
            return decision

    result = simulate(*adapted, Spy(), features=[PredictedWorkload(adapted.workload)])
    assert np.isfinite(result.completion_s).all()
    assert max(seen) <= 1 + 1e-9
    assert min(seen) < 0.9


def test_policies_see_proportional_shares():
    """A has 12 CPUs of its node by tune. `fifo-shared` still finds the 6 that go with 2 GPUs for C."""
    times_s = np.array([[[math.inf, math.inf, 1800.0, math.inf, math.inf]]] * 3)
    table = SensitiveTable(times_s, matrix_of=np.zeros((3, 1)), matrices=[HUNGRY])
    jobs = Workload(["a", "b", "c"], [0.0, 0.0, 60.0], table, due_s=[1e5] * 3)
    one = Cluster.of_nodes(SERVER, 1)
    result = simulate(jobs.head(1), one, make_policy("fifo-shared@tune"))
    assert result.completion_s[0] == pytest.approx(1800.0 / 1.6)
    jobs = replace(jobs, submit_s=np.array([0.0, 60.0, 5000.0]))
    result = simulate(jobs, one, make_policy("fifo-shared@tune"))
    assert result.first_start_s[1] == 60.0


def test_what_is_missing_is_one_line():
    jobs = synergy.derived_trace(5, Streams(3), jobs_per_hour=2)
    (lack,) = missing_requirements("greedy@tune", jobs, CLUSTER)
    assert lack.keys == ('speedup = "calibrated"', 'sensitivity = "synergy"')
    check_requirements("greedy@tune", *adapt(jobs, CLUSTER, RULES, Streams(3)))
    no_cpus = Cluster.of_nodes(NodeType("server", "V100", 4, 4.0), 2)
    with pytest.raises(InputError, match="the nodes have no CPUs and memory"):
        check_requirements("greedy@tune", jobs, no_cpus)
    with pytest.raises(InputError, match="expected elastic jobs with a sensitivity"):
        simulate(jobs, CLUSTER, make_policy("fifo@tune"))
