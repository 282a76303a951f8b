"""Adaptation: what is added, that it is reversible where it should be, and what is refused."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import gpu_speeds
from simulator import Cluster, FixedDuration, InputError, NodeType, TimeTable, Workload
from simulator.adaptation import Rules, adapt
from simulator.files.bundled import read_table
from simulator.files.keys import KeyedError
from simulator.model.performance import Sensitivity, SpeedupCurve
from simulator.statistics import Streams
from simulator.workloads import networks
from simulator.workloads.catalogs import catalog_names, read_catalog
from simulator.workloads.hierarchical import HierarchicalJobs, generate
from simulator.workloads.load import offered_load
from simulator.workloads.networks import speeds
from simulator.workloads.philly_like import PhillyLikeJobs
from simulator.workloads.table import Setting
from tests.core.jobs import fixed
from tests.families import module

andreas = module("simulator.workloads.andreas")

NODES = Cluster.of_nodes(NodeType("8-GPU", "GPU", 8), 4)
SERVERS = networks.cluster(4)
VMS = Cluster.of_vms(read_catalog("hierarchical"), 5)
TYPES = [t.name for t in VMS.node_types]
POOL = Cluster.rental_pool()
K80 = Cluster.of_nodes(read_catalog("hierarchical")[2], 5)
ELASTIC = Rules(models="uniform", speedup="calibrated")


def trace(count: int = 40, seed: int = 1) -> Workload:
    jobs = PhillyLikeJobs(num_jobs=count, jobs_per_hour=2).make(Setting(seed))
    return replace(jobs, model=[""] * count)


def added(rules: Rules, cluster: Cluster = NODES, jobs: Workload | None = None, seed: int = 1):
    return adapt(jobs or trace(), cluster, rules, Streams(seed))


def changed(rules: Rules, **keys) -> Rules:
    return Rules(**{**rules.model_dump(), **keys})


# -- speed-up --------------------------------------------------------------------------------


@pytest.mark.parametrize("cluster", [NODES, SERVERS], ids=["GPU", "V100"])
def test_elastic_at_the_traces_demand_has_the_traces_duration(cluster):
    before = trace()
    after = added(ELASTIC, cluster).workload
    assert isinstance(after.performance, TimeTable)
    assert after.is_elastic
    jobs = np.flatnonzero(before.num_gpus <= 8)
    assert len(jobs) > 30
    own = after.performance.times_s[jobs, 0, before.num_gpus[jobs]]
    np.testing.assert_array_equal(own, before.performance.duration_s[jobs])


def test_reference_type_is_the_one_whose_times_are_the_traces():
    jobs, rules = trace(), changed(ELASTIC, gpu_type="M60")
    table = added(rules, VMS, jobs).workload.performance.times_s
    m60 = TYPES.index("NV24")
    small = np.flatnonzero(jobs.num_gpus <= 4)
    own = table[small, m60, jobs.num_gpus[small]]
    np.testing.assert_array_equal(own, jobs.performance.duration_s[small])
    assert (table[:, TYPES.index("Custom2"), 1] < table[:, m60, 1]).all()


def test_time_of_two_gpus_by_hand():
    """alexnet: 0.6 s an iteration and 2 (1/2) 0.233 GB over the fitted bus, by GPU twice the work."""
    jobs = fixed([0], [100], model=["alexnet"])
    times = added(Rules(speedup="calibrated"), jobs=jobs).workload.performance.times_s[0, 0]
    bus = 4.90797
    step = 0.6 + 0.233 / bus
    assert times[2] == pytest.approx(100.0 * (step / 2) / 0.6, rel=1e-6)


def test_networks_that_do_not_fit_on_a_gpu_have_no_time_there():
    jobs = fixed([0], [100], model=["gnmt"])
    table = added(Rules(speedup="calibrated"), VMS, jobs).workload.performance.times_s[0]
    assert np.isinf(table[TYPES.index("Custom1")]).all()  # 2 GB
    assert np.isfinite(table[TYPES.index("NC6"), 1])


def test_table_of_relative_speeds_is_what_the_published_points_give():
    committed, computed = read_table("gpu_speeds.csv"), gpu_speeds.speeds()
    assert list(committed.columns) == list(computed.columns)
    keys = ["network", "gpu_type", "gpus"]
    assert committed[keys].equals(computed[keys])
    np.testing.assert_allclose(committed["relative_speed"], computed["relative_speed"], rtol=1e-9)
    assert (committed["basis"] == computed["basis"]).all()


def test_step_from_v100_to_1080ti_agrees_with_the_pairs_that_were_measured():
    points = read_table("throughput_points.csv")
    pairs = points[points["use"] == "framework"].set_index(["gpu_type", "application", "software"])
    rate = pairs["samples_per_s"]
    measured = rate["GTX 1080Ti"] / rate["V100"].reindex(rate["GTX 1080Ti"].index)
    ours = speeds.trainings()["resnet18"].speed_of["GTX 1080Ti"]
    assert len(measured) == 4
    assert (np.abs(np.log(measured / ours)) < np.log(1.15)).all()


def test_every_gpu_type_of_every_catalogue_has_a_speed():
    types = {t.gpu_type for name in catalog_names() for t in read_catalog(name)} | {"V100", "T4"}
    assert all(types <= set(each.speed_of) for each in speeds.trainings().values())


# -- demand, curves, sensitivity -------------------------------------------------------------


def hierarchical_jobs() -> Workload:
    return generate(HierarchicalJobs(num_nodes=5, seed=3))


def test_elastic_jobs_get_the_cheapest_demand_on_time():
    jobs = hierarchical_jobs()
    after = adapt(jobs, K80, Rules(demand="cheapest"), Streams(1), own=VMS).workload
    table = jobs.performance.times_s[:, TYPES.index("NC24"), :5]
    for j in range(len(jobs)):
        g = int(after.num_gpus[j])
        slack = jobs.due_s[j] - jobs.submit_s[j]
        assert after.performance.duration_s[j] == table[j, g]
        on_time = [n for n in range(1, 5) if table[j, n] <= slack]
        score = {n: table[j, n] * (n if on_time else 1) for n in on_time or range(1, 5)}
        assert score[g] == min(score.values())


def test_efficient_demand_takes_the_fewest_gpu_seconds():
    jobs = hierarchical_jobs()
    after = adapt(jobs, K80, Rules(demand="efficient"), Streams(1), own=VMS).workload
    table = jobs.performance.times_s[:, TYPES.index("NC24"), :5]
    work = np.where(np.isfinite(table), table, np.inf)[:, 1:] * np.arange(1, 5)
    np.testing.assert_allclose(after.performance.duration_s * after.num_gpus, work.min(axis=1))


def test_demand_by_the_law_of_a_trace_is_mostly_one_gpu():
    jobs = generate(HierarchicalJobs(num_nodes=20, seed=3))
    after = adapt(jobs, K80, Rules(demand="law:philly"), Streams(1), own=VMS).workload
    runs_on_one = np.isfinite(jobs.performance.times_s[:, TYPES.index("NC24"), 1])
    assert (after.num_gpus[runs_on_one] == 1).mean() > 0.8
    assert after.num_gpus.max() <= 4


def test_fixed_demand_on_several_types_leaves_the_type_free():
    jobs, cluster = andreas.AndreasJobs(num_nodes=4).make(Setting(1))
    after = adapt(jobs, cluster, Rules(demand="efficient"), Streams(1)).workload
    finite = np.isfinite(after.performance.times_s)
    assert finite.any(axis=(1, 2)).all()
    assert (finite.any(axis=1).sum(axis=1) == 1).all()


def test_curves_have_the_traces_duration_at_its_demand_and_are_concave():
    jobs = fixed([0, 0], [100, 100], [4, 2], model=["resnet50", "gnmt"])
    after = added(Rules(speedup_curve="calibrated"), POOL, jobs).workload
    assert isinstance(after.performance, SpeedupCurve)
    # The hull may lift a point, by little where the speed-up is nearly straight.
    assert 99.5 < after.performance.time_s(0, 0, 4.0, 0, 0) <= 100.0
    # GNMT gains nothing from a second GPU: the hull lies far above its point there.
    assert after.performance.time_s(1, 0, 2.0, 0, 0) < 90.0
    for curve in after.performance.curves:
        s = np.array([float(curve(k)) for k in np.linspace(1, 16, 61)])
        assert (np.diff(s, 2) <= 1e-9).all()
        assert (s <= np.linspace(1, 16, 61) + 1e-9).all()


def test_curves_of_elastic_jobs_follow_their_own_times():
    jobs = hierarchical_jobs()
    after = adapt(jobs, POOL, Rules(speedup_curve="calibrated"), Streams(1), own=VMS).workload
    table = jobs.performance.times_s[:, TYPES.index("Custom2")]
    for j in range(len(jobs)):
        if np.isfinite(table[j, 1]):
            assert after.performance.time_s(j, 0, 1.0, 0, 0) == pytest.approx(table[j, 1])
        assert after.performance.time_s(j, 0, 8.0, 0, 0) <= table[j, 1:].min() * (1 + 1e-6)


def test_hierarchical_jobs_get_synergys_sensitivity():
    node = NodeType("K80", "K80", 4, cpus=12, memory_gb=250)
    rules = Rules(models=(20, 70, 10), demand="efficient", sensitivity="synergy")
    after = adapt(hierarchical_jobs(), Cluster.of_nodes(node, 5), rules, Streams(1), own=VMS)
    assert isinstance(after.workload.performance, Sensitivity)
    plain = adapt(after.workload, after.cluster, Rules(sensitivity="none"), Streams(1)).workload
    assert isinstance(plain.performance, FixedDuration)


# -- due dates, weights, load, prices --------------------------------------------------------


@pytest.mark.parametrize("law", ["min-2max", "min-3min", "min-max", "factor:1.5,4"])
def test_due_dates_lie_where_the_law_says(law):
    jobs = added(changed(ELASTIC, due=law)).workload
    times = jobs.performance.times_s[:, 0, 1:]
    least, most = times.min(axis=1), times.max(axis=1)
    own = trace().performance.duration_s
    slack = jobs.due_s - jobs.submit_s
    low, high = {
        "min-2max": (least, 2 * most),
        "min-3min": (least, 3 * least),
        "min-max": (least, most),
        "factor:1.5,4": (1.5 * own, 4 * own),
    }[law]
    tolerance = 1e-9 * jobs.due_s
    assert (slack >= low - tolerance).all()
    assert (slack <= high + tolerance).all()
    place = (slack - low) / (high - low)
    assert 0.3 < place.mean() < 0.7


def test_due_dates_of_a_curve_count_from_its_largest_speed():
    """100 s on one GPU, at most four times as fast: twice the least time is 50 s."""
    curve = SpeedupCurve(np.array([100.0]), np.array([0]), [lambda k: np.minimum(k, 4.0)])
    jobs = Workload(["a"], [10.0], curve)
    found = added(Rules(due="factor:2,2"), Cluster.rental_pool(), jobs).workload
    assert found.due_s.tolist() == pytest.approx([60.0])


def test_no_due_dates_and_no_weights():
    jobs = added(Rules(due="none", weights="none"), jobs=added(Rules(due="factor:2,2")).workload)
    assert np.isinf(jobs.workload.due_s).all()
    assert not jobs.workload.weight_per_s.any()


@pytest.mark.parametrize(("rule", "mean_per_h"), [("printed", 0.72), ("exponential:0.7", 0.7)])
def test_weights_are_drawn_by_their_law(rule, mean_per_h):
    jobs = added(Rules(weights=rule), jobs=trace(2000)).workload
    assert jobs.weight_per_s.mean() * 3600 == pytest.approx(mean_per_h, rel=0.1)


def test_weights_by_virtual_cluster():
    jobs = replace(trace(4), vc=["product", "research", "product", "research"])
    costs = {"product": 3.6, "research": 0.0, "unused": 1.0}
    found = added(Rules(weights=costs), jobs=jobs).workload
    assert found.weight_per_s.tolist() == pytest.approx([0.001, 0.0, 0.001, 0.0])
    assert "product:3.6" in found.notes[-1]
    with pytest.raises(KeyedError, match="no cost for virtual cluster 'research'"):
        added(Rules(weights={"product": 1.0}), jobs=jobs)
    with pytest.raises(KeyedError, match="the jobs name none"):
        added(Rules(weights=costs))


@pytest.mark.parametrize("load", [0.3, 0.9, 2.5])
@pytest.mark.parametrize("rules", [Rules(), ELASTIC], ids=["fixed", "elastic"])
def test_load_comes_out_and_gaps_keep_their_shape(rules, load):
    before = trace()
    after = adapt(before, NODES, changed(rules, load=load, due="factor:2,2"), Streams(1))
    assert offered_load(*after).packed == pytest.approx(load, rel=0.01)
    gaps = np.diff(after.workload.submit_s) / np.diff(before.submit_s)
    np.testing.assert_allclose(gaps, gaps[0], rtol=1e-6)
    plain = adapt(before, NODES, changed(rules, due="factor:2,2"), Streams(1)).workload
    slack = plain.due_s - plain.submit_s
    np.testing.assert_allclose(after.workload.due_s - after.workload.submit_s, slack, rtol=1e-9)


def test_prices_by_the_gpu_and_of_a_catalogue():
    assert added(Rules(prices=2.5)).cluster.node_types[0].price_per_hour == 20.0
    k80 = Cluster.of_nodes(NodeType("x", "K80", 8), 2)
    assert added(Rules(prices="hierarchical"), k80).cluster.node_types[0].price_per_hour == 4.5
    assert added(Rules(prices=2.5), POOL).cluster.node_types[0].price_per_gpu_hour == 2.5


def test_prices_are_those_of_the_nearest_size_and_of_two_of_them_the_cheaper_one(tmp_path):
    """Two K80 cost 1.5 each, four 1 each, and sixteen 0.5 each: three cost as two, 3 being less than 4."""
    catalog = tmp_path / "catalog.csv"
    rows = ("a,K80,4,4.0", "b,K80,2,3.0", "c,K80,16,8.0", "d,P100,3,1.0")
    catalog.write_text("\n".join(["name,gpu_type,gpus,price_per_hour", *rows, ""]))
    for gpus, price in ((1, 1.5), (2, 3.0), (3, 4.5), (4, 4.0), (9, 9.0), (11, 5.5)):
        machines = Cluster.of_nodes(NodeType("x", "K80", gpus), 2)
        found = added(Rules(prices=str(catalog)), machines).cluster.node_types[0]
        assert found.price_per_hour == price


def test_power_is_andreas_line():
    cluster = added(Rules(power="andreas"), SERVERS).cluster
    watt = cluster.node_types[0].power_w
    assert watt[:5] == (0.0, 530.0, 700.0, 870.0, 1040.0)
    assert watt[8] == pytest.approx(360 + 8 * 170)
    assert cluster.currency == "EUR"


def test_power_and_prices_of_the_gpus_alone():
    """H100: 700 W and 3.78 $/h each."""
    nodes = Cluster.of_nodes(NodeType("2-GPU", "H100", 2), 3)
    found = added(Rules(power="data-sheet", prices="on-demand"), nodes).cluster
    assert found.node_types[0].power_w == (0.0, 700.0, 1400.0)
    assert found.node_types[0].price_per_hour == 7.56
    assert (found.currency, found.energy_price_per_kwh) == (nodes.currency, 0.0)


# -- purity, chance, notes -------------------------------------------------------------------


def test_same_seed_same_bytes_and_nothing_given_is_changed():
    rules = changed(ELASTIC, due="min-2max", weights="printed", load=0.8)
    before = trace()
    copy = before.submit_s.copy(), before.performance.duration_s.copy(), before.model
    one, other = (added(rules, jobs=before).workload for _ in range(2))
    for column in ("submit_s", "due_s", "weight_per_s"):
        assert getattr(one, column).tobytes() == getattr(other, column).tobytes()
    assert one.performance.times_s.tobytes() == other.performance.times_s.tobytes()
    assert one.model == other.model
    np.testing.assert_array_equal(copy[0], before.submit_s)
    np.testing.assert_array_equal(copy[1], before.performance.duration_s)
    assert copy[2] == before.model
    assert added(rules, seed=2).workload.due_s.tobytes() != one.due_s.tobytes()


def test_one_rule_does_not_move_the_numbers_of_another():
    with_due = added(changed(ELASTIC, due="min-2max")).workload
    with_both = added(changed(ELASTIC, due="min-2max", weights="printed")).workload
    assert with_due.due_s.tobytes() == with_both.due_s.tobytes()


def test_no_rules_leave_the_jobs_alone():
    jobs = trace()
    after = adapt(jobs, NODES, Rules(), Streams(1))
    assert after.workload is jobs
    assert after.cluster is NODES


def test_each_rule_leaves_a_note():
    notes = added(changed(ELASTIC, due="min-max", weights="released", load=0.5)).workload.notes
    assert len(notes) == 5
    assert all(note.startswith("adapt: ") for note in notes)


@pytest.mark.parametrize("due", ["min-2max", "min-max", "factor:1.5,4", "none"])
@pytest.mark.parametrize(
    ("cluster", "rules"),
    [
        (NODES, Rules()),
        (NODES, ELASTIC),
        (SERVERS, Rules(models="uniform", sensitivity="synergy")),
        (SERVERS, changed(ELASTIC, sensitivity="synergy")),
        (POOL, Rules(models="uniform", speedup_curve="calibrated")),
    ],
)
def test_the_first_jobs_of_a_trace_are_a_trace(cluster, rules, due):
    """They keep the times of all jobs (`Workload.head`), and are as many as they are."""
    load = None if cluster.is_pool else 0.5
    jobs = added(changed(rules, due=due, load=load), cluster, trace().head(10)).workload
    assert jobs.due_s.shape == jobs.submit_s.shape == (10,)
    assert (jobs.due_s > jobs.submit_s).all()


def test_shares_of_models_come_out():
    jobs = added(Rules(models=(20.0, 70.0, 10.0)), jobs=trace(1000)).workload
    tasks = [networks.dnn_models()[name].task for name in jobs.model]
    assert [tasks.count(t) for t in ("image", "language", "speech")] == [200, 700, 100]
    names = set(added(Rules(models=("GNMT", "lstm")), jobs=trace(200)).workload.model)
    assert names == {"gnmt", "lstm"}


# -- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "line"),
    [
        ({"speedup": "linear"}, 'speedup: got "linear", expected "calibrated"'),
        ({"speedup_curve": "x"}, 'speedup_curve: got "x"'),
        ({"demand": "law:helios"}, 'demand: got "law:helios", expected one of stated, cheapest'),
        ({"sensitivity": "yes"}, 'sensitivity: got "yes"'),
        ({"power": "x"}, 'power: got "x"'),
        ({"due": "min2max"}, "due: got 'min2max'"),
        ({"due": "factor:0.5,2"}, "due: got 'factor:0.5,2'"),
        ({"due": "factor:2"}, "due: got 'factor:2'"),
        ({"due": "factor:1,1e308"}, "due: got 'factor:1,1e308'"),
        ({"weights": "heavy"}, "weights: law 'heavy'"),
        ({"weights": {"a": -1.0}}, "weights.a: got -1.0"),
        ({"load": 0.0}, "load: got 0.0"),
        ({"load": math.nan}, "load: got NaN"),
        ({"models": "all"}, 'models: got "all"'),
        ({"models": ("resnet",)}, "models: model is 'resnet'"),
        ({"models": (1.0, 2.0)}, "models: split is"),
        ({"models": ()}, "models: split is"),
        ({"speedup": "calibrated", "demand": "cheapest"}, "demand: given together with speedup"),
        ({"speedup": "calibrated", "speedup_curve": "calibrated"}, "speedup_curve: given together"),
        ({"speedup_curve": "calibrated", "sensitivity": "synergy"}, "sensitivity: given together with speedup_curve"),
        ({"prices": 1.0, "power": "andreas"}, "power: given together with prices"),
        ({"prices": -1.0}, "prices: got -1.0"),
        ({"gpu_type": "TPU"}, "gpu_type: got 'TPU', expected a GPU type of"),
    ],
)  # fmt: skip
def test_wrong_and_contradictory_rules_are_one_line(rules, line):
    with pytest.raises(InputError, match=rf"^.*{re.escape(line)}.*$"):
        Rules(**rules)


@pytest.mark.parametrize(
    ("rules", "cluster", "line"),
    [
        (Rules(speedup="calibrated"), NODES, "speedup: job '0' has no model"),
        (Rules(models="trace"), NODES, "models: job '0' has no model"),
        (ELASTIC, POOL, "speedup: the cluster is a rental pool"),
        (Rules(models="uniform", speedup_curve="calibrated"), NODES, "speedup_curve: the cluster"),
        (Rules(demand="cheapest"), NODES, "demand: the jobs have fixed demands"),
        (Rules(load=1.0), POOL, "load: offered load: the pool has no limit"),
        (Rules(prices="hierarchical"), NODES, "prices: catalogue 'hierarchical' has no GPU type"),
        (Rules(power="andreas"), NODES, "power: GPU type 'GPU' has no power figures"),
        (
            Rules(power="data-sheet"),
            NODES,
            "power: GPU type 'GPU' has no power, expected nodes of V100",
        ),
        (
            Rules(prices="on-demand"),
            SERVERS,
            "prices: GPU type 'V100' has no price, expected nodes of T4",
        ),
        (Rules(models="uniform", sensitivity="synergy"), NODES, "sensitivity: node type '8-GPU'"),
    ],
)
def test_rules_that_do_not_go_with_jobs_or_machines_are_one_line(rules, cluster, line):
    with pytest.raises(InputError, match=rf"^.*{re.escape(line)}.*$"):
        added(rules, cluster)


def test_a_model_without_throughput_on_a_type_is_one_line():
    tpu = Cluster.of_nodes(NodeType("tpu", "TPU", 4), 2)
    with pytest.raises(InputError, match=r"speedup: .*no throughput on GPU type 'TPU'"):
        added(changed(ELASTIC, gpu_type="V100"), tpu)
    tiny = Cluster.of_nodes(NodeType("tiny", "Quadro P600", 4), 2)
    with pytest.raises(InputError, match="speedup: model 'gnmt': fits on no GPU of Quadro P600"):
        added(Rules(models=("gnmt",), speedup="calibrated", gpu_type="V100"), tiny)


def test_elastic_jobs_are_not_made_elastic_again():
    with pytest.raises(InputError, match="speedup: the jobs are elastic already"):
        added(Rules(models="uniform", speedup="calibrated"), VMS, hierarchical_jobs())
