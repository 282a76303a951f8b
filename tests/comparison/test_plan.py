"""The plan of a comparison: its settings, what goes together, and how jobs of a file are drawn again."""

from pathlib import Path

import pytest

from experiments.comparison import plan as module
from experiments.comparison.entrants import Field
from experiments.comparison.plan import (
    MOST_EVER,
    Plan,
    _axis,
    _check_options,
    _label,
    _names,
    cell_of,
    cells_of,
    drawing,
    sources_of,
    without_policies,
)
from experiments.config import KeyedError
from experiments.scenario.options import scenario_of
from simulator.errors import InputError
from tests.errors import input_error

RANDOM = """policy = "fifo"
seed = 3
[workload]
kind = "poisson"
num_jobs = 5
arrival_rate_per_h = 1
[cluster]
kind = "nodes"
num_nodes = 2
"""
NOBODY = Field((), (), ())


@pytest.fixture
def random(tmp_path) -> Path:
    path = tmp_path / "random.toml"
    path.write_text(RANDOM)
    return path


@pytest.fixture
def trace(tmp_path) -> Path:
    """25 jobs, whose blocks are of 5."""
    path = tmp_path / "trace.csv"
    path.write_text(
        "job_id,submit_time_s,duration_s,num_gpus\n" + "".join(f"j{k},{k},9,1\n" for k in range(25))
    )
    return path


@pytest.fixture
def nobody(monkeypatch):
    """Settings without policies: which run is asked elsewhere."""
    monkeypatch.setattr(module, "field_of", lambda scenario, policies: NOBODY)


# -- what goes together -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "plan",
    [
        {}, {"policies": ["a", "b"], "metrics": ["x", "y"]}, {"draws": 1}, {"draws": MOST_EVER}, {"precision": 1e-6},
        {"precision": 0.999}, {"block_jobs": 1},
    ],
)  # fmt: skip
def test_plans(plan):
    Plan(**plan).check()


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        ({"policies": "edf"}, "--policy: got a text, expected a list of texts"),
        ({"metrics": "edf"}, "--metric: got a text, expected a list of texts"),
        ({"policies": ["a", "b", "a"]}, "--policy: got a, b, a, expected different ones"),
        ({"policies": ["x=a", "x=b"]}, "--policy: got x, x, expected different ones"),
        ({"metrics": ["a", "a"]}, "--metric: got a, a, expected different ones"),
        ({"metrics": ["a", ""]}, "--metric: got an empty name, expected names of summary.json"),
        ({"precision": 9e-7}, "--precision: got 9e-07, expected 1e-06 to below 1"),
        ({"precision": 1.0}, "--precision: got 1.0, expected 1e-06 to below 1"),
        ({"draws": 0}, "--draws: got 0, expected 1 to 10,000"),
        ({"draws": 10_001}, "--draws: got 10001, expected 1 to 10,000"),
        ({"block_jobs": 0}, "--block-jobs: got 0, expected a number >= 1"),
    ],
)
def test_plans_that_are_none(plan, told):
    with pytest.raises(InputError) as raised:
        Plan(**plan).check()
    assert str(raised.value) == told


def test_seeds_one_after_the_other_or_those_that_are_named():
    assert [Plan().seed_of(7, k) for k in range(3)] == [7, 8, 9]
    assert [Plan(seeds=(5, 1, 2)).seed_of(7, k) for k in range(3)] == [5, 1, 2]


# -- settings -----------------------------------------------------------------------------------


def test_what_is_compared(random):
    scenario = scenario_of(random)[0]
    assert sources_of("a.toml") == ["a.toml"]
    assert sources_of(random) == [random]
    assert sources_of(["a", "b"]) == ["a", "b"]
    assert sources_of(("a",)) == ["a"]
    assert sources_of(scenario) == ["scenario"]


def test_names_of_files():
    """Without folder and ending, as long as this tells them apart."""
    assert _names(["x/a.toml", "y/b.csv"]) == {"x/a.toml": "a", "y/b.csv": "b"}
    assert _names(["x/a.toml", "y/a.csv"]) == {"x/a.toml": "x/a.toml", "y/a.csv": "y/a.csv"}
    with input_error("compare: got a, b, a, expected different files"):
        _names(["a", "b", "a"])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a.b=1,2.5", [("a.b", "1", 1), ("a.b", "2.5", 2.5)]),
        (" a = x , true ", [("a", "x", "x"), ("a", "true", True)]),
        ("a=x=1,y", [("a", "x=1", "x=1"), ("a", "y", "y")]),
        ("a=5", [("a", "5", 5)]),
    ],
)
def test_a_swept_key(text, found):
    assert _axis(text) == found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a", "expected KEY=a,b,c, such as cluster.num_nodes=4,8,16"),
        ("=1,2", "expected KEY=a,b,c, such as cluster.num_nodes=4,8,16"),
        (" =1,2", "expected KEY=a,b,c, such as cluster.num_nodes=4,8,16"),
        ("a=", "expected KEY=a,b,c, such as cluster.num_nodes=4,8,16"),
        ("a=1,,2", "expected KEY=a,b,c, such as cluster.num_nodes=4,8,16"),
        ("a=1,1", "a value is given twice, expected different ones"),
        ("a=1,1.0", "a value is given twice, expected different ones"),
        (" seed =1,2", "each run has a seed of its own, expected --seed or --draws"),
    ],
)
def test_swept_keys_that_are_none(text, told):
    with pytest.raises(InputError) as raised:
        _axis(text)
    assert str(raised.value) == f"--over {text!r}: {told}"


def test_values_as_labels():
    assert _label(4) == 4
    assert _label("x") == "x"
    assert _label([1, 2]) == "[1,2]"


def test_policies_among_swept_keys():
    over = ["cluster.num_nodes=4,8", " policy =fifo, sjf", "policy_options.x=1"]
    assert without_policies(over) == ([over[0], over[2]], ["fifo", "sjf"])
    assert without_policies([]) == ([], [])


@pytest.mark.parametrize(
    ("settings", "policies", "is_wrong"),
    [
        (["policy_options.x=1"], ["srpt"], True),
        ([" policy_options.x=1"], ["srpt", "sjf"], True),
        (["policy_options.x=1"], ["fifo"], False),
        (["policy_options.x=1"], ["srpt", "fifo:y=2"], False),
        (["policy_options.x=1"], ["srpt", "all"], False),
        (["policy_options.x=1"], [], False),
        (["cluster.num_nodes=1"], ["srpt"], False),
        ([], ["srpt"], False),
        (["cluster.num_nodes=1", "policy_options.x=1"], [lambda view: None], True),
    ],
)
def test_options_of_a_policy_that_is_not_compared(settings, policies, is_wrong):
    if is_wrong:
        with pytest.raises(InputError) as raised:
            _check_options(settings, "fifo", Plan(policies))
        text = settings[-1]
        told = "is of fifo, which is not compared, expected --policy NAME:OPTION=VALUE"
        assert str(raised.value) == f"compare: {text} {told}"
    else:
        _check_options(settings, "fifo", Plan(policies))


@pytest.mark.parametrize(
    ("over", "settings"),
    [([], ["policy_options.order=sjf"]), (["policy_options.order=sjf,fifo"], [])],
)
def test_options_are_those_of_the_policy_of_the_file(nobody, trace, over, settings):
    """A file of jobs has easy-backfill, whose options are of use where it is compared."""
    settings = ["cluster.num_nodes=7", *settings]
    assert list(cells_of(trace, Plan(["easy-backfill"]), over, settings, None))
    with pytest.raises(InputError, match="order=sjf is of easy-backfill, which is not compared"):
        list(cells_of(trace, Plan(["fifo"]), over, settings, None))


def test_every_file_at_every_combination(nobody, random, trace):
    """Files first, the last key changes fastest; ``--set`` holds for all."""
    cells = list(cells_of(
        [random, trace], Plan(seed=9), ["cluster.gpus_per_node=2,4", "cluster.price_per_hour=1,2.5"],
        ["cluster.num_nodes=7"], None,
    ))  # fmt: skip
    assert [tuple(cell.labels.values()) for cell in cells] == [
        (name, gpus, price) for name in ("random", "trace") for gpus in (2, 4) for price in (1, 2.5)
    ]
    assert {tuple(cell.labels) for cell in cells} == {("file", "cluster.gpus_per_node", "cluster.price_per_hour")}  # fmt: skip
    for cell in cells:
        cluster = cell.scenario.cluster
        assert (cluster.num_nodes, cluster.gpus_per_node) == (7, cell.labels["cluster.gpus_per_node"])  # fmt: skip
        assert cluster.price_per_hour == cell.labels["cluster.price_per_hour"]
        assert cell.scenario.seed == 9
        assert cell.field is NOBODY
    assert [cell.of_file for cell in cells] == [False] * 4 + [True] * 4


def test_one_file_has_no_label(nobody, random):
    (cell,) = cells_of(random, Plan(), [], [], None)
    assert cell.labels == {}
    assert cell.scenario.seed == 3


def test_a_format_that_is_named(nobody, trace):
    other = trace.rename(trace.with_suffix(".txt"))
    (cell,) = cells_of(other, Plan(), [], ["cluster.num_nodes=7"], "csv")
    assert cell.scenario.workload.kind == "csv"


def test_a_scenario_itself(nobody, random):
    scenario = scenario_of(random)[0]
    (cell,) = cells_of(scenario, Plan(), [], [], None)
    assert cell.scenario == scenario
    assert cell.labels == {}
    for over, settings in ((["seed_s=1"], []), ([], ["cluster.num_nodes=1"])):
        with input_error("compare: --over and --set need a file, got a Scenario"):
            list(cells_of(scenario, Plan(), over, settings, None))


def test_a_wrong_key_is_that_of_its_file(monkeypatch, random):
    def wrong(labels, scenario, plan):
        raise KeyedError("x.y", "wrong")

    monkeypatch.setattr(module, "cell_of", wrong)
    for source, name in ((random, random), (scenario_of(random)[0], "scenario")):
        with pytest.raises(InputError) as raised:
            list(cells_of(source, Plan(), [], [], None))
        assert str(raised.value) == f"{name}: x.y: wrong"


def test_blocks_of_jobs_that_are_drawn_anew(nobody, random):
    with input_error(
        "--block-jobs: workload 'poisson' is drawn anew by each seed, expected jobs from a file"
    ):
        list(cells_of([random], Plan(block_jobs=2), [], [], None))


# -- jobs of a file -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "asked", "block"), [(None, None, 5), (7, None, 7), (None, 3, 3), (7, 3, 3)]
)
def test_blocks_of_a_file(nobody, trace, own, asked, block):
    """The root of their number, or what the scenario says, or what is asked for; the first run is on the file itself."""
    settings = ["cluster.num_nodes=1"] + ([f"workload.block_bootstrap={own}"] if own else [])
    scenario = scenario_of(trace, "csv", settings=settings)[0]
    cell = cell_of({"x": 1}, scenario, Plan(block_jobs=asked))
    assert (cell.labels, cell.of_file, cell.block) == ({"x": 1}, True, block)
    assert cell.scenario.workload.block_bootstrap is None
    again = drawing(cell.scenario, block)
    assert again.workload.block_bootstrap == block
    assert again.cluster == scenario.cluster
    assert drawing(again, None) == cell.scenario


def test_random_jobs_have_no_blocks(nobody, random):
    scenario = scenario_of(random)[0]
    cell = cell_of({}, scenario, Plan(precision=0.1))
    assert (cell.of_file, cell.block, cell.scenario) == (False, 0, scenario)
    own = Field((), (), ("own",))
    assert cell_of({}, scenario, Plan(), own).field is own


@pytest.mark.parametrize("draws", [None, 1, 39, 40])
def test_draws_of_a_file(nobody, trace, draws):
    scenario = scenario_of(trace, "csv", nodes=1)[0]
    assert cell_of({}, scenario, Plan(draws=draws)).of_file


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        ({"draws": 2}, "--draws: got 2, expected 1, or at least 39 for a 95 % interval"),
        ({"draws": 38}, "--draws: got 38, expected 1, or at least 39 for a 95 % interval"),
        ({"precision": 0.1}, "--precision: the jobs come from a file; expected --draws alone"),
    ],
)
def test_mistakes_about_traces(nobody, trace, plan, told):
    with pytest.raises(InputError) as raised:
        cell_of({}, scenario_of(trace, "csv", nodes=1)[0], Plan(**plan))
    assert str(raised.value) == told
