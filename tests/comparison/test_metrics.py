"""Metrics in words: units, directions, and how many digits a number has."""

import math
from pathlib import Path

import pytest

from experiments.comparison.metrics import (
    CPU,
    DEFAULTS,
    METRICS,
    OTHERS,
    Scale,
    _times,
    digits,
    metric_of,
)
from experiments.comparison.pictures import key_words
from experiments.scenario.run import run, summarise
from experiments.scenario.schema import Scenario, read_scenario

MORE = {
    "jain_slowdown", "goodput", "gpu_utilisation", "cpu_utilisation", "allocation_ratio", "effective_training_ratio",
}  # fmt: skip


def test_where_more_is_better():
    assert {name for name, metric in METRICS.items() if metric.better == "more"} == MORE
    assert [name for name, metric in METRICS.items() if metric.better not in ("more", "less")] == [
        CPU
    ]
    assert metric_of(CPU).better == ""
    assert metric_of("own").better == "less"


def test_names_and_words_of_times():
    """Completion, wait until the first start, and wait in all; of each the mean and quantiles, of completion times also the median."""
    assert _times() == {
        "mean_jct_s": "mean completion time", "p50_jct_s": "median completion time",
        "p95_jct_s": "p95 completion time", "p99_jct_s": "p99 completion time",
        "mean_wait_s": "mean wait until the first start",
        "p95_wait_s": "p95 wait until the first start", "p99_wait_s": "p99 wait until the first start",
        "mean_total_wait_s": "mean total wait",
        "p95_total_wait_s": "p95 total wait", "p99_total_wait_s": "p99 total wait",
    }  # fmt: skip
    for name, words in _times().items():
        assert (METRICS[name].words, METRICS[name].unit) == (words, "s")


@pytest.mark.parametrize(
    ("name", "unit", "words"),
    [
        ("own_s", "s", "own"),
        ("own_cost", "money", "own cost"),
        ("own", "", "own"),
        ("s_own", "", "s own"),
    ],
)
def test_a_metric_that_no_list_has(name, unit, words):
    found = metric_of(name)
    assert (found.name, found.unit, found.words, found.better) == (name, unit, words, "less")
    assert (found.never_0, found.several) == (False, False)


def test_units_of_all():
    """By the end of the name; shares are those that a schedule can fill to 100 %."""
    shares = {"goodput", "gpu_utilisation", "cpu_utilisation", "allocation_ratio", "fragmentation_ratio",
              "effective_training_ratio"}  # fmt: skip
    ends = {"_s": "s", "_cost": "money", "_kwh": "kWh", "_kg": "kg", "_gpu_h": "GPU h"}
    for name, metric in METRICS.items():
        by_end = next((unit for end, unit in ends.items() if name.endswith(end)), "")
        assert metric.unit == ("share" if name in shares else by_end), name
        assert metric.name == name
    assert set(DEFAULTS) < set(METRICS)


def test_words_that_are_a_plural():
    many = {"late_jobs", "rejected_jobs", "broken_promises", "allocation_ratio", "fragmentation_ratio", "preemptions",
            "reconfigurations"}  # fmt: skip
    assert {name for name, metric in METRICS.items() if metric.several} == many


def test_what_can_be_0():
    """A job takes time, and slows down by 1 at least; it may wait for nothing, and cost nothing apart."""
    assert {name for name, metric in METRICS.items() if metric.never_0} == {
        *(name for name in METRICS if "_jct_" in name), "makespan_s", "total_cost",
        *(name for name in METRICS if "slowdown" in name or "fairness" in name),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mean_jct_s", "mean completion time"),
        ("p50_jct_s", "median completion time"),
        ("p95_wait_s", "p95 wait until the first start"),
        ("p95_total_wait_s", "p95 total wait"),
        ("p99_jct_s", "p99 completion time"),
        ("my_own_s", "my own"),
        ("_s_of_it", " s of it"),
        ("own_cost", "own cost"),
    ],
)
def test_words(name, words):
    assert metric_of(name).words == words


@pytest.mark.parametrize(
    ("name", "most", "title"),
    [
        # seconds: ms below 0.1 s, min from 2 min, h from an hour, d from two days
        ("p95_jct_s", 0.0, "p95 completion time (s)"),
        ("p95_jct_s", 0.09, "p95 completion time (ms)"),
        ("p95_jct_s", 0.1, "p95 completion time (s)"),
        ("p95_jct_s", 119.0, "p95 completion time (s)"),
        ("p95_jct_s", 120.0, "p95 completion time (min)"),
        ("p95_jct_s", 3599.0, "p95 completion time (min)"),
        ("p95_jct_s", 3600.0, "p95 completion time (h)"),
        ("p95_jct_s", 172_799.0, "p95 completion time (h)"),
        ("p95_jct_s", 172_800.0, "p95 completion time (d)"),
        ("total_cost", 5.0, "total cost (EUR)"),
        ("own_cost", 5.0, "own cost (EUR)"),
        ("energy_kwh", 5.0, "energy (kWh)"),
        ("gpu_utilisation", 0.5, "GPU time in use (%)"),
        ("preemptions", 5.0, "preemptions"),
        ("my_own", 5.0, "my own"),
    ],
)
def test_titles(name, most, title):
    assert metric_of(name).title(most, "EUR") == title


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("mean_jct_s", 0.05, "50 ms"),
        ("mean_jct_s", 90.0, "90 s"),
        ("mean_jct_s", 150.0, "2.5 min"),
        ("mean_jct_s", 5400.0, "1.5 h"),
        ("mean_jct_s", 259_200.0, "3 d"),
        ("gpu_utilisation", 0.825, "82.5 %"),
        ("total_cost", 2.5, "2.5 EUR"),
        ("preemptions", 2.5, "2.5"),
    ],
)
def test_a_value_with_its_unit(name, value, text):
    assert metric_of(name).scaled(value, "EUR").text(value) == text


def test_without_a_currency_money_has_no_unit():
    assert metric_of("total_cost").title(5.0) == "total cost"
    assert metric_of("total_cost").scaled(5.0) == Scale(1.0, "")


def test_ends_of_an_interval():
    scale = Scale(3600.0, "h")
    assert scale.number(5400.0) == "1.5"
    assert scale.interval(3600.0, 7200.0) == "1 to 2"
    assert scale.interval(math.nan, math.nan) == ""


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [
        # two digits of the half width
        (3.14159, 0.2, "3.14"), (3.14159, 0.99, "3.14"), (3.14159, 1.0, "3.1"), (1234.5, 80.0, "1,234"),
        (1234.5, 9.9, "1,234.5"), (1234.5, 10.0, "1,234"), (1234.5, 100.0, "1,234"), (12345678.9, 1e6, "12,345,679"),
        # six places at most
        (0.123456789, 1e-9, "0.123457"), (0.123456789, 1e-5, "0.123457"), (0.123456789, 1e-4, "0.12346"),
        # without one: four digits, and whole numbers above
        (0.5, 0.0, "0.5"), (3.14159, 0.0, "3.142"), (9999.4, math.nan, "9,999"), (9999.5, math.nan, "10,000"), (999.96, math.nan, "1,000"),
        (10000.4, math.nan, "10,000"), (123456.7, math.inf, "123,457"), (-3.14159, -1.0, "-3.142"),
        (-123456.7, math.nan, "-123,457"),
        (math.nan, 1.0, "-"), (math.inf, 1.0, "-"),
    ],
)  # fmt: skip
def test_digits_of_a_number_are_those_that_its_interval_knows(value, half, text):
    assert digits(value, half) == text


def test_keys_in_words():
    assert key_words("cluster.gpus_per_node") == "GPUs per node"
    assert key_words("decisions.round_s") == "round (s)"
    assert key_words("cluster.groups.new.num_nodes") == "number of nodes, new"


FEATURES = {
    "policy": "fifo-backfill",
    "workload": {
        "kind": "poisson", "num_jobs": 30, "arrival_rate_per_h": 20, "duration_s": "exponential:3600",
        "num_gpus": [1, 2, 8, 16, 40, 130], "patience": "exponential:7200",
    },
    "cluster": {"kind": "nodes", "num_nodes": 20, "gpus_per_node": 8},
    "failures": {"time_to_failure": "exponential:86400", "repair": "exponential:600"},
    "server": {"service": "exponential:40"},
    "tenants": {"draw": {"a": 0.5, "b": 0.5}, "quota": {"a": 140, "b": 140}},
    "calendar": {"begins": "2024-01-01", "rules": [{"start": "00:20-24:00"}]},
    "admission": {},
    "adapt": {"due": "factor:1.5,4"},
}  # fmt: skip
TEXTS = {"policy", "version", "currency", "seed", "adaptation"}


@pytest.mark.parametrize("source", ["features", "examples/large_jobs.toml"])
def test_every_number_of_a_run_is_in_one_of_the_lists(source):
    """A name that is in neither is refused before there are runs."""
    made = (
        Scenario.model_validate(FEATURES) if source == "features" else read_scenario(Path(source))
    )
    found = {*summarise(run(made))} - TEXTS
    assert found <= {*METRICS} | OTHERS, found - {*METRICS} - OTHERS
    if source == "features":  # all but those of gangs, of logs, and of policies that look ahead
        others = "repairs selections systematic server_failures preempted retired killed informed over_128"
        assert all(any(part in name for part in others.split()) for name in OTHERS - found), (
            OTHERS - found
        )
    assert not METRICS.keys() & OTHERS
