"""`schedlab size`: the search, what it tries, and the answer in words, by hand."""

import math
from types import SimpleNamespace

import pandas as pd
import pytest

from experiments.comparison import size as module
from experiments.comparison.size import (
    MOST_STEPS,
    UNITS,
    VARIED,
    Size,
    Target,
    _bounds,
    _not_monotone,
    _Sizing,
    best_size,
    border,
    on_fewest,
    policies_that_meet,
    write_size,
)
from experiments.scenario import steps
from experiments.scenario.options import format_of, scenario_of
from simulator.arguments import MOST_GPUS, MOST_NODES
from simulator.errors import InputError
from tests.comparison.made import compared, drawn, runs_of
from tests.errors import input_error

WAIT, NONE = "mean_total_wait_s", math.nan
HOUR = Target("mean_total_wait < 1h", WAIT, True, 3600.0)


# -- targets ------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "x", "p95 < 1 week", "a < b", "a = 1", "a < 1e", "a < 1..2", "a < .", "a < 1 S", "a b < 1"])  # fmt: skip
def test_targets_that_are_none(text):
    with input_error(
        f"--target: got {text!r}, expected METRIC < NUMBER, such as 'p95_total_wait < 1h' (units: s, min, h, d, %)"
    ):
        Target.parse(text)


@pytest.mark.parametrize(
    ("text", "metric", "is_upper", "bound"),
    [
        ("p95_total_wait <= 1.5h", "p95_total_wait_s", True, 5400),
        ("p95_total_wait_s < 90 s", "p95_total_wait_s", True, 90),
        ("p95_total_wait < 2 min", "p95_total_wait_s", True, 120),
        (" p95_total_wait<2d ", "p95_total_wait_s", True, 172_800),
        ("p95_total_wait_s > 90", "p95_total_wait_s", False, 90),
        ("gpu_utilisation > 80%", "gpu_utilisation", False, 0.8),
        ("gpu_utilisation >= .8", "gpu_utilisation", False, 0.8),
        ("total_cost < 1e3", "total_cost", True, 1000),
        ("total_cost < 1.5e-1", "total_cost", True, 0.15),
        ("total_cost < 2", "total_cost", True, 2),
    ],
)
def test_targets(text, metric, is_upper, bound):
    assert Target.parse(text) == Target(text.strip(), metric, is_upper, pytest.approx(bound))


@pytest.mark.parametrize(
    ("is_upper", "values", "share"),
    [
        (True, [5400.0, 5400.1, 0.0, 1.0], 0.75),
        (False, [5400.0, 5400.1, 0.0, 1.0], 0.5),
        (True, [5401.0], 0.0),
        (False, [5401.0], 1.0),
    ],
)
def test_the_bound_itself_meets_the_target(is_upper, values, share):
    assert Target("", WAIT, is_upper, 5400.0).share(values) == share


def test_a_bound_times_a_factor():
    assert HOUR.times(1.5) == Target("mean_total_wait < 1h", WAIT, True, 5400.0)


@pytest.mark.parametrize(
    ("met", "asked", "meets"),
    [(38, 0.95, True), (37, 0.95, False), (39, 0.95, True), (40, 1.0, True), (39, 1.0, False), (1, 0.025, True), (0, 0.01, False)],
)  # fmt: skip
def test_so_large_a_share_of_the_drawn_traces(met, asked, meets):
    """Of 40; the file itself, which meets it, is not among them. 38 of 40 are 95 %."""
    runs = drawn({"5 nodes": [0.0, *[3600.0] * met, *[3601.0] * (40 - met), 3601.0]}, WAIT, 40)
    runs = runs[runs["draw"] <= 40]
    runs = runs.assign(makespan_s=1.0)
    measured = HOUR.measured(compared(runs, ["makespan_s", WAIT]), asked)
    assert list(measured) == ["policy", "mean", "lower", "upper", "replications", "share", "meets"]
    (row,) = measured.to_dict("records")
    assert (row["policy"], row["mean"], row["replications"]) == ("5 nodes", 0.0, 40)
    assert row["share"] == met / 40
    assert row["meets"] == meets


def test_a_share_of_seeds():
    runs = runs_of({"a": [3600.0, 3601.0], "b": [1.0, 3600.0]}, WAIT)
    measured = HOUR.measured(compared(runs, [WAIT], base="a"), 0.95).set_index("policy")
    assert measured["share"].to_dict() == {"a": 0.5, "b": 1.0}
    assert measured["meets"].to_dict() == {"a": False, "b": True}
    assert len(measured) == 2  # no row of differences


# -- the search ---------------------------------------------------------------------------------


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("few", [1, 2, 5])
def test_the_border_is_found_wherever_it_is(near, few):
    """From the fewest to one above the most, and with each number to begin with; numbers are asked for once."""
    for most in range(few, few + 12):
        for found in range(few, most + 2):
            for begin in range(few, most + 1):
                asked = []

                def is_beyond(number, asked=asked, found=found):
                    asked.append(number)
                    return number >= found

                assert border(is_beyond, few, begin, most, near) == found
                assert asked[0] == begin
                assert len(asked) == len(set(asked)) <= 2 * math.log2(most - few + 2) + 3
                assert few <= min(asked) <= max(asked) <= most


@pytest.mark.parametrize(
    ("near", "begin", "found", "asked"),
    [
        # upwards the number doubles; near, the distance does
        (False, 3, 21, [3, 6, 12, 24, 18, 21, 19, 20]),
        (True, 3, 21, [3, 4, 6, 10, 18, 34, 26, 22, 20, 21]),
        # downwards halves; near, the distance doubles
        (False, 80, 77, [80, 40, 60, 70, 75, 77, 76]),
        (True, 80, 77, [80, 79, 77, 73, 75, 76]),
        (True, 3, 1, [3, 2, 1]),
        (False, 3, 1, [3, 1]),
        (False, 60, 101, [60, 100]),
        (True, 97, 101, [97, 98, 100]),
    ],
)
def test_few_numbers_are_asked_for(near, begin, found, asked):
    seen = []
    assert border(lambda n: seen.append(n) or n >= found, 1, begin, 100, near) == found
    assert seen == asked


# -- bounds of the search -----------------------------------------------------------------------


HEAD = "job_id,submit_time_s,duration_s,num_gpus,num_cpus,memory_gb\n"


@pytest.fixture
def scenario(tmp_path):
    def make(rows: str, *settings: str, nodes: int | None = None, gpus: int | None = 4):
        path = tmp_path / "jobs.csv"
        path.write_text(HEAD + rows)
        return scenario_of(path, format_of(path, None), settings=settings, nodes=nodes, gpus=gpus)[
            0
        ]

    return make


@pytest.mark.parametrize(
    ("rows", "vary", "settings", "bounds"),
    [
        # Ten GPUs need three nodes of 4. Apart, each has nodes of its own: 3 + 1.
        ("a,0,100,10,,\nb,0,100,1,,\n", "nodes", {}, (3, 3, 4)),
        ("a,0,100,8,,\nb,0,100,1,,\n", "nodes", {}, (2, 2, 3)),
        ("a,0,100,1,,\n", "nodes", {}, (1, 1, 1)),
        # 8 GPUs for 100 s and 1 for 100 s within 10 s: 90 GPUs at once, 23 nodes; no more than 3 can be used.
        ("a,0,100,8,,\nb,10,100,1,,\n", "nodes", {}, (2, 3, 3)),
        # 5 jobs of 2 GPUs for 30 s within 25 s: 12 GPUs, 3 nodes, and one more.
        ("".join(f"j{k},{k * 25 / 4},30,2,,\n" for k in range(5)), "nodes", {}, (1, 4, 5)),
        # CPUs and memory of the largest job, over those of a node
        ("a,0,100,1,33,\nb,0,100,1,,\n", "nodes", {"cpus_per_node": 8}, (5, 5, 5)),
        ("a,0,100,1,32,\nb,0,100,1,,\n", "nodes", {"cpus_per_node": 8}, (4, 4, 4)),
        ("a,0,100,1,,70\nb,0,100,1,,\n", "nodes", {"memory_gb_per_node": 10}, (7, 7, 7)),
        ("a,0,100,1,33,\nb,0,100,1,,\n", "nodes", {}, (1, 1, 2)),
        ("a,0,100,1,,\nb,0,100,1,,\n", "nodes", {"cpus_per_node": 8}, (1, 1, 2)),
        # GPUs of each of two nodes
        ("a,0,100,10,,\nb,0,100,1,,\n", "gpus", {"num_nodes": 2}, (5, 5, 6)),
        ("a,0,100,1,33,\nb,0,100,1,,\n", "gpus", {"num_nodes": 2, "cpus_per_node": 8}, (1, 1, 2)),
        # speeds and prices in steps of 0.05 and 0.01, from 1 on
        ("a,0,100,10,,\n", "speed", {"num_nodes": 3}, (1, 20, MOST_STEPS)),
        ("a,0,100,10,,\n", "price", {"num_nodes": 3}, (1, 100, MOST_STEPS)),
    ],
)  # fmt: skip
def test_what_is_tried(scenario, rows, vary, settings, bounds):
    settings = {"num_nodes": 1, **settings}
    keys = [f"cluster.{key}={value}" for key, value in settings.items()]
    made = scenario(rows, *keys, gpus=None if vary == "gpus" else 4)
    assert _bounds(made, vary) == bounds


@pytest.mark.parametrize(("vary", "most"), [("nodes", MOST_NODES), ("gpus", MOST_GPUS)])
def test_no_more_than_a_cluster_may_have(scenario, monkeypatch, vary, most):
    monkeypatch.setattr(module, f"MOST_{vary.upper()}", 2)
    rows = "".join(f"{name},0,100,1,,\n" for name in "abcde")
    assert _bounds(scenario(rows, "cluster.num_nodes=1", gpus=1), vary)[2] == 2
    assert most > 1000


@pytest.mark.parametrize(
    ("jobs", "cluster"), [('kind = "poisson"\narrival_rate_per_h = 1', 'kind = "pool"'), ('kind = "hierarchical"', 'kind = "nodes"\nnum_nodes = 2')]
)  # fmt: skip
def test_only_of_equal_servers_and_fixed_demand(tmp_path, jobs, cluster):
    path = tmp_path / "other.toml"
    path.write_text(f'policy = "fifo"\n[workload]\n{jobs}\n[cluster]\n{cluster}\n')
    with input_error("size: expected jobs of fixed demand on a cluster of kind 'nodes'"):
        _bounds(scenario_of(path, format_of(path, None))[0], "nodes")


# -- words --------------------------------------------------------------------------------------


def answer(
    rows: list[tuple], best, vary: str = "nodes", target: Target = HOUR, share: float = 0.95, replications=None
) -> Size:  # fmt: skip
    """Rows of number, mean, lower, upper, share; they meet the target from the share on."""
    table = pd.DataFrame(rows, columns=[vary, "mean", "lower", "upper", "share"])
    runs = table["lower"].isna().map({True: 1, False: 40}) if replications is None else replications
    table = table.assign(replications=runs, meets=table["share"] >= share)
    return Size(vary, target, share, best, table, "title", "EUR", ())


ONE = "mean_total_wait < 1h in one run"
MANY = "mean_total_wait < 1h in at least 95 % of 40 draws"


@pytest.mark.parametrize(
    ("rows", "best", "sentence"),
    [
        ([(1, 9000.0, NONE, NONE, 0.0), (2, 5400.0, NONE, NONE, 0.0), (3, 1800.0, NONE, NONE, 1.0), (4, 0.0, NONE, NONE, 1.0)], 3,
         f"3 nodes meet {ONE}: the mean total wait is 0.5 h. At 2 nodes it is 1.5 h."),
        ([(1, 1800.0, NONE, NONE, 1.0), (2, 0.0, NONE, NONE, 1.0)], 1,
         f"1 node meets {ONE}: the mean total wait is 0.5 h. On fewer the jobs do not fit."),
        ([(1, 5400.0, NONE, NONE, 0.0), (2, 1800.0, NONE, NONE, 1.0)], 2,
         f"2 nodes meet {ONE}: the mean total wait is 0.5 h. At 1 node it is 1.5 h."),
        ([(1, 9000.0, NONE, NONE, 0.0), (1200, 5400.0, NONE, NONE, 0.0)], None,
         f"Nothing meets {ONE}: at 1,200 nodes the mean total wait is 1.5 h."),
        # drawn: what was tried on the file alone does not count
        ([(1, 5000.0, NONE, NONE, 0.0), (2, 3000.0, 2000.0, 6000.0, 0.9), (3, 1800.0, 900.0, 3600.0, 0.95),
          (4, 0.0, 0.0, 1.0, 1.0)], 3,
         f"3 nodes meet {MANY}: the mean total wait is 0.5 h (95 % interval 0.25 h to 1 h). "
         "At 2 nodes it is 0.8333 h, and 90 % of the draws meet it."),
        ([(2, 3000.0, NONE, NONE, 0.0), (3, 1800.0, 900.0, 3600.0, 0.95)], 3,
         f"3 nodes meet {MANY}: the mean total wait is 0.5 h (95 % interval 0.25 h to 1 h). On fewer the jobs do not fit."),
        ([(2, 3000.0, 2000.0, 4000.0, 0.9), (3, 1800.0, 900.0, 3700.0, 0.925), (4, 0.0, NONE, NONE, 1.0)], None,
         f"Nothing meets {MANY}: at 3 nodes the mean total wait is 0.5 h."),
        # a larger one that misses is not the next one
        ([(1, 5400.0, NONE, NONE, 0.0), (2, 1800.0, NONE, NONE, 1.0), (3, 9000.0, NONE, NONE, 0.0)], 2,
         f"2 nodes meet {ONE}: the mean total wait is 0.5 h. At 1 node it is 1.5 h."),
    ],
)  # fmt: skip
def test_the_answer_in_nodes(rows, best, sentence):
    assert answer(rows, best).words() == sentence


COST = Target("total_cost < 4", "total_cost", True, 4.0)


@pytest.mark.parametrize(
    ("rows", "best", "sentence"),
    [
        ([(1.0, 2.0, NONE, NONE, 1.0), (1.5, 3.0, NONE, NONE, 1.0), (1.51, 4.1, NONE, NONE, 0.0), (2.0, 5.0, NONE, NONE, 0.0)], 1.5,
         "At most 1.5 EUR an hour and node meets total_cost < 4 in one run: the total cost is 3 EUR. "
         "At 1.51 EUR an hour and node it is 4.1 EUR."),
        ([(1.0, 2.0, NONE, NONE, 1.0), (3.0, 4.0, NONE, NONE, 1.0)], 3.0,
         "At most 3 EUR an hour and node meets total_cost < 4 in one run: the total cost is 4 EUR."),
        ([(0.01, 5.0, NONE, NONE, 0.0), (1.0, 9.0, NONE, NONE, 0.0)], None,
         "Nothing meets total_cost < 4 in one run: at 0.01 EUR an hour and node the total cost is 5 EUR."),
        ([(0.5, 9.0, NONE, NONE, 0.0), (1.5, 3.0, NONE, NONE, 1.0)], 1.5,
         "At most 1.5 EUR an hour and node meets total_cost < 4 in one run: the total cost is 3 EUR."),
    ],
)  # fmt: skip
def test_the_answer_of_a_price(rows, best, sentence):
    """More makes it worse: the largest is looked for, and what is above it misses."""
    assert answer(rows, best, "price", COST).words() == sentence


@pytest.mark.parametrize(
    ("vary", "best", "sentence"),
    [
        ("speed", 2.05, f"2.05 times the speed meets {ONE}: the mean total wait is 0.5 h. At 1 times the speed it is 1.5 h."),
        ("gpus", 2.0, f"2 GPUs a node meet {ONE}: the mean total wait is 0.5 h. At 1 GPU a node it is 1.5 h."),
    ],
)  # fmt: skip
def test_the_answer_of_speed_and_gpus(vary, best, sentence):
    rows = [(1.0, 5400.0, NONE, NONE, 0.0), (best, 1800.0, NONE, NONE, 1.0)]
    assert answer(rows, best, vary).words() == sentence


def test_the_slowest_that_was_tried_is_no_end():
    found = answer([(0.05, 1800.0, NONE, NONE, 1.0)], 0.05, "speed").words()
    assert found == f"0.05 times the speed meets {ONE}: the mean total wait is 0.5 h."
    found = answer([(1, 1800.0, NONE, NONE, 1.0)], 1, "gpus").words()
    assert found.endswith(" On fewer the jobs do not fit.")


def test_counts_are_a_plural():
    late = Target("late_jobs < 3", "late_jobs", True, 3.0)
    found = answer([(1, 9.0, NONE, NONE, 0.0), (2, 2.0, NONE, NONE, 1.0)], 2, target=late)
    assert found.words() == (
        "2 nodes meet late_jobs < 3 in one run: the jobs that end late are 2. At 1 node they are 9."
    )
    found = answer([(1, 9.0, NONE, NONE, 0.0)], None, target=late)
    assert (
        found.words()
        == "Nothing meets late_jobs < 3 in one run: at 1 node the jobs that end late are 9."
    )


@pytest.mark.parametrize(
    ("share", "percent"), [(0.95, "95"), (0.975, "97.5"), (1.0, "100"), (0.999, "99.9")]
)
def test_the_share_that_is_asked_for(share, percent):
    found = answer([(1, 1800.0, 1000.0, 2000.0, 1.0)], 1, share=share).words()
    assert f" in at least {percent} % of 40 draws: " in found


@pytest.mark.parametrize(
    ("rows", "best", "sentence"),
    [
        ([("a", 1800.0, NONE, NONE, 1.0), ("b", 3600.0, NONE, NONE, 1.0), ("c", 5400.0, NONE, NONE, 0.0), ("d", 7200.0, NONE, NONE, 0.0)],
         "a", f"These meet {ONE}: a (0.5 h), b (1 h). These do not: c (1.5 h), d (2 h)."),
        ([("a", 1800.0, NONE, NONE, 1.0)], "a", f"These meet {ONE}: a (0.5 h)."),
        ([("c", 5400.0, NONE, NONE, 0.0)], None, f"No policy meets {ONE}: c (1.5 h)."),
        ([("a", 1800.0, 900.0, 2700.0, 0.95), ("c", 1800.0, 900.0, 5400.0, 0.9)], "a", f"These meet {MANY}: a (0.5 h). These do not: c (0.5 h)."),
    ],
)  # fmt: skip
def test_the_answer_of_policies(rows, best, sentence):
    assert answer(rows, best, "policy").words() == sentence


def test_the_table_to_read():
    rows = [(1, 5400.0, NONE, NONE, 0.0), (2, 1800.0, 900.0, 3600.0, 0.975)]
    assert answer(rows, 2).sheet().to_dict("list") == {
        "nodes": [1, 2], "mean total wait (h)": ["1.5", "0.5"], "95 % interval": ["", "0.25 to 1"], "draws": [1, 40],
        "meet the target": ["0 %", "97.5 %"],
    }  # fmt: skip
    assert (
        list(answer([(1.0, 1.0, NONE, NONE, 1.0)], 1.0, "price", COST).sheet())[1]
        == "total cost (EUR)"
    )


def test_the_picture(tmp_path):
    rows = [(1, 5400.0, NONE, NONE, 0.0), (2, 1800.0, 900.0, 3600.0, 0.975)]
    found = answer(rows, 2)
    (ax,) = found.picture().axes
    assert ax.get_xlabel() == "nodes"
    assert ax.get_ylabel() == "mean total wait (h)"
    assert ax.get_title() == "title"
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["target: at most 1 h", "2 nodes", "estimate, 95 % interval"]
    curve, target, best = ax.lines[0], *ax.lines[-2:]
    assert curve.get_xydata().tolist() == [[1, 1.5], [2, 0.5]]
    assert set(target.get_ydata()) == {1.0}
    assert best.get_xydata().tolist() == [[2, 0.5]]
    (bars,) = ax.containers[0].lines[2]
    assert [s[:, 1].tolist() for s in bars.get_segments() if len(s)] == [[0.25, 1.0]]
    least = Target("gpu_utilisation > 50%", "gpu_utilisation", False, 0.5)
    (ax,) = answer([("a", 0.4, NONE, NONE, 0.0)], None, "policy", least).picture().axes
    assert ax.get_xlabel() == "policy"
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["target: at least 50 %", "estimate of one run"]
    (ax,) = answer([("a", 1.0, NONE, NONE, 1.0)], "a", "policy").picture().axes
    assert ax.get_legend().get_texts()[-2].get_text() == "a"
    (ax,) = answer([(1.0, 2.0, NONE, NONE, 1.0)], 1.0, "price", COST).picture().axes
    assert ax.get_xlabel() == "EUR an hour and node"
    told = write_size(found, tmp_path / "new" / "o")
    assert told == f"{tmp_path / 'new' / 'o' / 'size.csv'}, {tmp_path / 'new' / 'o' / 'size.png'}"
    write_size(found, tmp_path / "new" / "o")
    csv = (tmp_path / "new" / "o" / "size.csv").read_bytes()
    assert csv == (
        b"nodes,mean,lower,upper,share,replications,meets\n"
        b"1,5400.0,,,0.0,1,False\n2,1800.0,900.0,3600.0,0.975,40,True\n"
    )
    assert (tmp_path / "new" / "o" / "size.png").read_bytes().startswith(b"\x89PNG")


def test_numbers_of_steps():
    assert VARIED["nodes"].number(7) == 7
    assert VARIED["speed"].number(21) == 1.05
    assert (
        VARIED["price"].number(3) == 0.03
    )  # 3 * 0.01 is 0.030000000000000002 or so, were it not rounded
    assert [VARIED["gpus"].text(n) for n in (1, 1000)] == ["1 GPU a node", "1,000 GPUs a node"]
    assert {name for name, what in VARIED.items() if what.is_cost} == {"price"}
    assert [what.key for what in VARIED.values()] == [
        "cluster.num_nodes", "cluster.gpus_per_node", "cluster.speed", "cluster.price_per_hour",
    ]  # fmt: skip
    assert UNITS == {"": 1, "s": 1, "min": 60, "h": 3600, "d": 24 * 3600, "%": 0.01}


@pytest.mark.parametrize(
    ("means", "meets", "vary", "note"),
    [
        ([7.0, 5.0, 1.0], [0, 1, 1], "nodes", None),
        ([1.0, 5.0, 7.0], [1, 1, 0], "price", None),
        ([5.0, 5.0, 5.0], [1, 1, 1], "nodes", None),
        ([5.0, 7.0, 1.0], [0, 1, 1], "nodes",
         "the curve is not monotone: from 1 to 2 nodes it goes from 5 to 7; a smaller size that was not tried may meet the target"),
        ([7.0, 1.0, 1.5], [0, 1, 1], "nodes",
         "the curve is not monotone: from 2 to 4 nodes it goes from 1 to 1.5; a smaller size that was not tried may meet the target"),
        ([1.0, 0.5, 2.0], [1, 1, 0], "price",
         "the curve is not monotone: from 1 to 2 price it goes from 1 to 0.5; a smaller size that was not tried may meet the target"),
        ([7.0, 5.0, 1.0], [0, 1, 0], "nodes", "a larger number of nodes misses the target where a smaller one meets it"),
        ([1.0, 5.0, 7.0], [0, 1, 0], "price", "a larger number of price misses the target where a smaller one meets it"),
        ([5.0], [1], "nodes", None),
    ],
)  # fmt: skip
def test_a_larger_size_may_be_worse(means, meets, vary, note):
    """Curves that go up and down, or that meet the target and then miss it."""
    table = pd.DataFrame(
        {vary: [1, 2, 4][: len(means)], "mean": means, "meets": [*map(bool, meets)]}
    )
    assert _not_monotone(table, vary) == ([] if note is None else [note])


@pytest.mark.parametrize(
    ("nodes", "best", "beside", "told"),
    [
        (27, 20, ["waits are long"], "27 nodes or more, and the answer has fewer (20). --nodes says how many it has. With 27 nodes, waits are long"),
        (27, 27, ["waits are long"], "27 nodes or more. --nodes says how many it has. With 27 nodes, waits are long"),
        (1, None, [], "1 node or more. --nodes says how many it has"),
    ],
)  # fmt: skip
def test_the_fewest_nodes_of_a_log_in_words(nodes, best, beside, told):
    begin = "jobs of this log held 216 GPUs at once, and each of them fitted, so its cluster has "
    assert on_fewest(216.0, nodes, best, beside) == begin + told
    assert on_fewest(1.0, 1, None, []).startswith("jobs of this log held 1 GPU at once, and")


@pytest.mark.parametrize(
    ("today", "few", "of_each", "nodes", "told"),
    [
        # The jobs of the log held 9 GPUs at once: on nodes of 4 that are 3, of 3 as well.
        (None, 1, 4, 3, "3 nodes or more, and the answer has fewer (2). --nodes says how many it has. With 3 nodes, long"),
        (None, 1, 3, 3, "3 nodes or more, and the answer has fewer (2). --nodes says how many it has. With 3 nodes, long"),
        (None, 1, None, 9, "9 nodes or more, and the answer has fewer (2). --nodes says how many it has. With 9 nodes, long"),
        (None, 5, 4, 5, "5 nodes or more, and the answer has fewer (2). --nodes says how many it has. With 5 nodes, long"),
        (7, 5, 4, 7, "long"), (1, 5, 4, 1, "long"),
    ],
)  # fmt: skip
def test_waits_beside_those_of_the_log(monkeypatch, today, few, of_each, nodes, told):
    """On today's nodes, or on the fewest that the log's jobs need; one run under the metric of the target."""
    record = SimpleNamespace(has_starts=True, most_at_once=lambda: (9.0, 100.0))
    monkeypatch.setattr(
        steps, "read", lambda made: SimpleNamespace(workload=SimpleNamespace(record=record))
    )
    asked = []
    monkeypatch.setattr(
        module, "on_same_draws", lambda *given: asked.append(given) or SimpleNamespace(runs="runs")
    )
    monkeypatch.setattr(
        module, "said_of_record", lambda *given: asked.append(given) or ["long", "and more"]
    )

    def at(number):
        each = {} if of_each is None else {"gpus_per_node": of_each}
        return SimpleNamespace(number=number, cluster=SimpleNamespace(**each))

    search = _Sizing(at, HOUR, 0.95, "nodes", "made")
    lines = search.beside_record(today, 2, few)
    begin = "jobs of this log held 9 GPUs at once, and each of them fitted, so its cluster has "
    assert lines == ([begin + told] if today is None else ["long", "and more"])
    (given, plan, runs, base), (scenario, found, name) = asked
    assert (list(given), base, name, runs, found) == (
        [base], VARIED["nodes"].text(nodes), base, "made", "runs",
    )  # fmt: skip
    assert given[base] is scenario
    assert scenario.number == nodes
    assert (plan.metrics, plan.draws, plan.option) == ((WAIT,), 1, "--target")

    # Jobs that do not fit these nodes: the line is left out; where nobody says how many there are, the rest of it stands.
    def refused(*given):
        raise InputError("does not fit")

    monkeypatch.setattr(module, "on_same_draws", refused)
    lines = search.beside_record(today, 2, few)
    assert lines == ([(begin + told).partition(" With")[0].rstrip(".")] if today is None else [])


@pytest.mark.parametrize("record", [None, SimpleNamespace(has_starts=False)])
def test_a_log_without_recorded_starts_has_no_such_line(monkeypatch, record):
    monkeypatch.setattr(
        steps, "read", lambda made: SimpleNamespace(workload=SimpleNamespace(record=record))
    )
    assert _Sizing(lambda number: None, HOUR, 0.95, "nodes", None).beside_record(7, 2, 1) == []


# -- with runs ----------------------------------------------------------------------------------


THREE = "a,0,100,1,,\nb,0,100,1,,\nc,0,100,1,,\n"


@pytest.fixture
def three(scenario):
    """Three jobs at once, of one GPU and 100 s: on 1, 2, 3 nodes the waits are 0, 100, 200; 0, 0, 100; 0, 0, 0."""
    return lambda number: scenario(THREE, f"cluster.num_nodes={number}", gpus=1)


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("mean_total_wait < 101s", "1 node meets {}: the mean total wait is 100 s. On fewer the jobs do not fit."),
        ("mean_total_wait < 34 s", "2 nodes meet {}: the mean total wait is 33.33 s. At 1 node it is 100 s."),
        ("mean_total_wait_s<=33", "3 nodes meet {}: the mean total wait is 0 s. At 2 nodes it is 33.33 s."),
        ("gpu_utilisation > 100 %", "1 node meets {}: the GPU time in use is 100 %. On fewer the jobs do not fit."),
        ("mean_jct < 1.5 min", "Nothing meets {}: at 3 nodes the mean completion time is 100 s."),
    ],
)  # fmt: skip
def test_the_smallest_size_by_hand(three, target, sentence):
    found = best_size(three, Target.parse(target), "x/three.csv", draws=1)
    assert found.words() == sentence.format(f"{target} in one run")
    assert found.title == "three.csv under easy-backfill"
    assert found.currency == "USD"


def asked_for(monkeypatch, means, seen=None, note="") -> list:
    """Runs whose metric is what a function says of the text of a size and of a draw; with what was asked for."""
    seen = [] if seen is None else seen

    def on_same_draws(scenarios, plan, runs, base):
        seen.append(([*scenarios], plan.draws, plan.metrics, plan.option, base, vars(runs)))
        values = {
            name: [means(name, draw) for draw in range(plan.draws + (plan.draws > 1))]
            for name in scenarios
        }
        table = (
            runs_of(values, "makespan_s")
            if plan.draws == 1
            else drawn(values, "makespan_s", plan.draws)
        )
        found = compared(table, ["makespan_s"], base=base, notes=[note] if note else [])
        return found

    monkeypatch.setattr(module, "on_same_draws", on_same_draws)
    return seen


END = Target("makespan < 10", "makespan_s", True, 10.0)


def nodes_of(text: str) -> int:
    return int(text.split()[0].replace(",", ""))


def test_first_on_the_file_and_then_on_all_draws(monkeypatch, scenario):
    """20 jobs of a GPU on nodes of one: 60 over the nodes is at most 10 from 6 on. On drawn traces it takes 8."""
    rows = "".join(f"j{k},{k},5,1,,\n" for k in range(20))
    seen = asked_for(
        monkeypatch, lambda name, draw: (60 if draw == 0 else 80) / nodes_of(name), note="told"
    )
    found = best_size(
        lambda n: scenario(rows, f"cluster.num_nodes={n}", gpus=1), END, "x/y.csv",
        store="kept", progress=True, workers=2,
    )  # fmt: skip
    assert found.best == 8
    # It begins with the load: 100 GPU s in 19 s, and one more. Beyond the answer, two more sizes.
    assert [(nodes_of(names[0]), draws) for names, draws, *_ in seen] == [
        (6, 1), (3, 1), (4, 1), (5, 1), (6, 40), (7, 40), (9, 40), (8, 40), (10, 40),
    ]  # fmt: skip
    assert [(row["nodes"], row["replications"]) for row in found.table.to_dict("records")] == [
        (3, 1), (4, 1), (5, 1), (6, 40), (7, 40), (8, 40), (9, 40), (10, 40),
    ]  # fmt: skip
    names, _, metrics, option, base, runs = seen[0]
    assert (metrics, option, [base]) == (("makespan_s",), "--target", names)
    assert (runs["source"], runs["_store"], runs["_progress"]) == ("x/y.csv", "kept", True)
    assert runs["_options"] == {"workers": 2}
    assert found.notes == tuple(f"{n} nodes: told" for n in (6, 7, 9, 8, 10))
    assert (found.vary, found.share, found.target) == ("nodes", 0.95, END)
    best_size(lambda n: scenario(rows, f"cluster.num_nodes={n}", gpus=1), END, "y.csv")
    assert (seen[-1][5]["_store"], seen[-1][5]["_progress"]) == (None, False)


def test_a_note_of_a_curve_that_goes_up_and_down(monkeypatch, scenario):
    rows = "".join(f"j{k},{k},5,1,,\n" for k in range(20))
    asked_for(
        monkeypatch, lambda name, draw: {7: 1.0, 8: 2.0}.get(nodes_of(name), 60 / nodes_of(name))
    )
    found = best_size(
        lambda n: scenario(rows, f"cluster.num_nodes={n}", gpus=1), END, "y.csv", draws=1
    )
    assert [note.partition(":")[0] for note in found.notes] == ["the curve is not monotone"]
    assert "from 7 to 8 nodes" in found.notes[0]


def test_what_meets_nothing_on_the_file_may_on_no_draw(monkeypatch, three):
    """Then the search on all draws begins with the fewest."""
    seen = asked_for(monkeypatch, lambda name, draw: 11.0)
    found = best_size(three, END, "y.csv")
    assert found.best is None
    assert [(nodes_of(names[0]), draws) for names, draws, *_ in seen] == [
        (1, 1), (2, 1), (3, 1), (1, 40), (2, 40), (3, 40),
    ]  # fmt: skip


def test_the_highest_price_is_looked_for_downwards(monkeypatch, scenario):
    """Three times the price an hour is at most 10 up to 3.33; beyond the answer, two lower ones."""
    seen = asked_for(monkeypatch, lambda name, draw: 3 * float(name.split()[0]))
    asked = []

    def at(number):
        asked.append(number)
        return scenario(THREE, "cluster.num_nodes=1", f"cluster.price_per_hour={number}", gpus=1)

    found = best_size(at, END, "y.csv", vary="price", draws=1)
    assert found.best == 3.33
    assert asked[0] == 1.0
    prices = [float(names[0].split()[0]) for names, *_ in seen]
    assert prices[:3] == [1.0, 2.0, 4.0]
    assert {3.31, 3.32, 3.34} < {*prices}
    assert found.table["price"].tolist() == sorted(prices)
    assert found.notes == ()
    assert (
        best_size(at, Target("", "makespan_s", True, 0.02), "y.csv", vary="price", draws=1).best
        is None
    )


def test_no_size_beyond_the_most_is_tried(monkeypatch, three):
    seen = asked_for(monkeypatch, lambda name, draw: 30 / nodes_of(name))
    assert best_size(three, END, "y.csv", draws=1).best == 3
    assert {nodes_of(names[0]) for names, *_ in seen} == {1, 2, 3}


def test_a_share_of_the_draws(monkeypatch, three):
    """Two nodes meet it on 30 of 40 traces, three on all."""
    asked_for(monkeypatch, lambda name, draw: 11.0 if draw > 30 and nodes_of(name) < 3 else 9.0)
    assert best_size(three, END, "y.csv").best == 3
    assert best_size(three, END, "y.csv", share=0.75).best == 1
    assert best_size(three, END, "y.csv", share=0.76).best == 3


def test_policies_that_meet_a_target(monkeypatch, three):
    """The best first: the least of an upper bound, the largest of a lower one."""
    times = {"a": 12.0, "b": 9.0, "c": 8.0, "d": 9.0}
    seen = asked_for(monkeypatch, lambda name, draw: times[name] + (draw > 30), note="told")
    scenarios = {name: three(1) for name in times}
    found = policies_that_meet(scenarios, END, "x/y.csv", store="kept", progress=True, workers=2)
    assert found.table["policy"].tolist() == ["c", "b", "d", "a"]
    assert found.table["meets"].tolist() == [True, True, True, False]
    assert (found.vary, found.best, found.share, found.title) == (
        "policy",
        "c",
        0.95,
        "y.csv: policies",
    )
    assert (found.currency, found.notes) == ("USD", ("told",))
    names, draws, metrics, option, base, runs = seen[0]
    assert (names, draws, metrics, option, base) == ([*times], 40, ("makespan_s",), "--target", "")
    assert (runs["source"], runs["_store"], runs["_progress"]) == ("x/y.csv", "kept", True)
    assert runs["_options"] == {"workers": 2}
    least = Target("makespan > 9.5", "makespan_s", False, 9.5)
    found = policies_that_meet(scenarios, least, "x/y.csv", share=0.25)
    assert found.table["policy"].tolist() == ["a", "b", "d", "c"]
    assert found.table["meets"].tolist() == [True, True, True, False]
    assert (found.best, found.share) == ("a", 0.25)
    assert (seen[1][5]["_store"], seen[1][5]["_progress"]) == (None, False)
    assert policies_that_meet(scenarios, least, "y", share=1.0, draws=1).best == "a"
    assert policies_that_meet({"b": three(1)}, least, "y", draws=1).best is None


def test_what_the_jobs_say_is_told(three, scenario, monkeypatch):
    """Keys without effect, of each of the scenarios once."""
    asked_for(monkeypatch, lambda name, draw: 9.0)
    made = scenario(THREE, "cluster.num_nodes=1", "cluster.gpu_type=H100", gpus=1)
    for found in (
        best_size(lambda n: made, END, "y.csv", draws=1),
        policies_that_meet({"a": three(1), "b": made}, END, "y.csv", draws=1),
    ):
        (note,) = found.notes
        assert "the jobs do not say on which GPUs" in note
