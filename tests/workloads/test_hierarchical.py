"""The paper's random scenario: its laws, its variants, its streams."""

import math

import numpy as np
import pytest
from scipy import stats

from simulator.errors import InputError
from simulator.model.workload import Workload
from simulator.workloads.catalogs import read_catalog
from simulator.workloads.hierarchical import SHORTEST_S, HierarchicalJobs, generate
from simulator.workloads.load import offered_load
from tests.errors import input_error
from tests.workloads.choices import choice_shares


def times(workload: Workload) -> np.ndarray:
    found = workload.performance.times_s
    return np.where(np.isfinite(found), found, np.nan).reshape(len(workload), -1)


def test_sizes_and_cluster():
    scenario = HierarchicalJobs(num_nodes=20, seed=1)
    workload = generate(scenario)
    cluster = scenario.cluster()
    assert len(workload) == 200
    assert workload.performance.times_s.shape == (200, 9, 9)
    assert cluster.num_nodes == 20
    assert cluster.num_controllers == 4
    assert cluster.is_configurable
    assert scenario.cluster(num_controllers=2).num_controllers == 2
    assert workload.is_elastic
    assert workload.submit_s[0] == 0


def test_numbers_that_must_not_change():
    """Results already published stay repeatable: three jobs of seed 1, as they were first drawn."""
    w = generate(HierarchicalJobs(num_nodes=5, seed=1))
    assert w.model[:3] == ("tensorflow_deepspeech", "pytorch_alexnet", "tensorflow_deepspeech")
    np.testing.assert_allclose(w.submit_s[:3], [0, 6011.38636033466, 32894.54908585466])
    due_s = [339575.7302253833, 922448.4276621467, 703009.8264199666]
    np.testing.assert_allclose(w.due_s[:3], due_s)


def test_variants_leave_the_other_streams_alone():
    variants = ({}, {"weights": "released"}, {"arrivals": "mixed"}, {"due": "min-max"})
    base, released, mixed, tight = (
        generate(HierarchicalJobs(num_nodes=5, seed=2, **options)) for options in variants
    )
    np.testing.assert_array_equal(base.submit_s, released.submit_s)
    np.testing.assert_array_equal(base.due_s, released.due_s)
    # The same uniform draw, so the weights are an affine image of each other.
    low, high = 0.36 / 3600, 1.08 / 3600
    u = (base.weight_per_s - low) / (high - low)
    np.testing.assert_allclose(released.weight_per_s, 0.003 + u * 0.012)
    for other in (mixed, tight):
        np.testing.assert_array_equal(times(base), times(other))
        np.testing.assert_array_equal(base.weight_per_s, other.weight_per_s)
    np.testing.assert_allclose(base.due_s - base.submit_s, mixed.due_s - mixed.submit_s)
    assert (tight.due_s <= base.due_s + 1e-6).all()


def test_same_jobs_in_every_catalogue():
    paper = generate(HierarchicalJobs(num_nodes=5, seed=7))
    thesis = generate(HierarchicalJobs(num_nodes=5, seed=7), read_catalog("thesis"))
    assert paper.model == thesis.model
    np.testing.assert_array_equal(paper.submit_s, thesis.submit_s)
    own = [t.name for t in read_catalog("hierarchical")]
    places = [[t.name for t in read_catalog("thesis")].index(n) for n in own]
    np.testing.assert_array_equal(paper.performance.times_s, thesis.performance.times_s[:, places])


def test_exponential_gaps():
    gaps = np.diff(generate(HierarchicalJobs(num_nodes=100, jobs_per_node=20, seed=1)).submit_s)
    assert stats.kstest(gaps, "expon", args=(0, 450)).pvalue > 0.01
    assert gaps.mean() == pytest.approx(450, rel=4 / math.sqrt(len(gaps)))


def test_poisson_distributed_gaps_are_nearly_constant():
    workload = generate(HierarchicalJobs(num_nodes=10, arrivals="poisson-distributed", seed=1))
    gaps = np.diff(workload.submit_s)
    assert (gaps == np.round(gaps)).all()
    assert gaps.mean() == pytest.approx(4500, rel=0.01)
    assert gaps.std() == pytest.approx(math.sqrt(4500), rel=0.3)


def test_mixed_gaps_keep_the_mean_and_alternate_in_tens():
    scenario = HierarchicalJobs(num_nodes=50, jobs_per_node=40, arrivals="mixed", seed=3)
    gaps = np.diff(generate(scenario).submit_s)
    slow = np.arange(len(gaps)) // 10 % 2 == 1
    assert gaps.mean() == pytest.approx(900, rel=0.1)
    assert gaps[slow].mean() / gaps[~slow].mean() == pytest.approx(4, rel=0.2)


@pytest.mark.parametrize("due", ["min-2max", "min-3min", "min-max"])
def test_due_dates_follow_their_law(due):
    workload = generate(HierarchicalJobs(num_nodes=100, due=due, seed=5))
    t = times(workload)
    low, high = np.nanmin(t, axis=1), np.nanmax(t, axis=1)
    latest = {"min-2max": 2 * high, "min-3min": 3 * low, "min-max": high}[due]
    u = (workload.due_s - workload.submit_s - low) / (latest - low)
    assert stats.kstest(u, "uniform").pvalue > 0.01


def test_weights_follow_their_laws():
    printed = generate(HierarchicalJobs(num_nodes=100, seed=1)).weight_per_s * 3600
    assert stats.kstest(printed, "uniform", args=(0.36, 0.72)).pvalue > 0.01
    released = generate(HierarchicalJobs(num_nodes=100, seed=1, weights="released"))
    assert stats.kstest(released.weight_per_s, "uniform", args=(0.003, 0.012)).pvalue > 0.01


def test_job_mix_is_uniform_and_shortest_times_are_in_range():
    workload = generate(HierarchicalJobs(num_nodes=100, seed=1))
    names, counts = np.unique(workload.model, return_counts=True)
    assert len(names) == 8
    assert stats.chisquare(counts).pvalue > 0.01
    shortest = np.nanmin(times(workload), axis=1)
    assert shortest.min() >= SHORTEST_S[0]
    assert shortest.max() <= SHORTEST_S[1] * 1.02  # whole epochs


def test_no_vm_type_dominates():
    """The claim of data/README.md, with room: no type serves 80 % of the jobs by any rule."""
    scenario = HierarchicalJobs(num_nodes=100, seed=1)
    shares = choice_shares(generate(scenario), scenario.cluster())
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (shares.max(axis=1) < 0.8).all()
    assert ((shares > 0.03).sum(axis=1) >= [5, 4, 2, 4]).all()


def test_load_of_the_scenario():
    """One job a node is overloaded, sharing nodes is not, whatever N is."""
    for num_nodes in (5, 100):
        scenario = HierarchicalJobs(num_nodes=num_nodes, seed=1)
        load = offered_load(generate(scenario), scenario.cluster())
        assert 0.35 < load.packed < 0.7
        assert 1.2 < load.alone < 1.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_nodes": 0}, "num_nodes: got 0, expected an integer >= 1"),
        ({"num_nodes": 2.5}, "num_nodes: got 2.5, expected an integer"),
        ({"jobs_per_node": -1}, "jobs_per_node: got -1"),
        ({"mean_gap_s": 0}, "mean_gap_s: got 0, expected a number > 0"),
        ({"mean_gap_s": math.nan}, "mean_gap_s: got NaN"),
        ({"arrivals": "poisson"}, 'arrivals: got "poisson", expected one of exponential'),
        ({"due": "soon"}, 'due: got "soon", expected one of min-2max'),
        ({"weights": "heavy"}, 'weights: got "heavy"'),
        ({"seed": -1}, "seed: got -1"),
    ],
)
def test_bad_parameters(options, message):
    with input_error(message):
        HierarchicalJobs(**options)


def test_controllers_must_divide():
    with pytest.raises(InputError, match="num_nodes is 7, expected a multiple of 5"):
        HierarchicalJobs(num_nodes=7).cluster()
    assert HierarchicalJobs(num_nodes=7).cluster(7).num_controllers == 7
    with pytest.raises(InputError, match="3 controllers for 10 nodes"):
        HierarchicalJobs(num_nodes=10).cluster(3)


def test_catalogue_without_room_for_a_network():
    p600 = tuple(t for t in read_catalog("hierarchical") if t.gpu_type == "Quadro P600")
    with input_error("no VM type has the GPU memory to run"):
        generate(HierarchicalJobs(num_nodes=5), p600)
