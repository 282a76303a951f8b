"""A validation that answers carry: today's cluster, and wider answers."""

import json
import math

import pandas as pd
import pytest

from experiments.comparison.answer import Comparison
from experiments.comparison.size import Size, Target
from experiments.comparison.whatif import WhatIf
from experiments.validation.carried import (
    Carried,
    of_comparison,
    of_run,
    of_size,
    of_whatif,
    read_carried,
    widened,
)
from tests.command import done, refused
from tests.errors import input_error

WORDS = "Waits are too short by half."


def carried(factor=2.0, settings=("cluster.num_nodes=87",)) -> Carried:
    return Carried("log.csv", settings, "recommended", WORDS, factor)


def written(path, **changes):
    verdict = {
        "kind": "recommended",
        "words": WORDS,
        "settings": ["cluster.num_nodes=2"],
        "factor": 2.0,
    }
    keys = {
        "format": "schedlab validation 1",
        "log": "log.csv",
        "policy": "sjf",
        "verdict": verdict,
        "more": 1,
    }
    path.write_text(json.dumps(keys | changes))
    return path


@pytest.mark.parametrize(
    ("ends", "factor", "wide"),
    [
        ((10.0, 20.0), 2, (5.0, 40.0)),
        ((-20.0, -10.0), 2, (-40.0, -5.0)),
        ((-10.0, 20.0), 2, (-20.0, 40.0)),
        ((10.0, 20.0), 1, (10.0, 20.0)),
    ],
)
def test_widened(ends, factor, wide):
    assert widened(*ends, factor) == wide


def test_whatif_in_words():
    nan = math.nan
    rows = [
        ("mean_total_wait_s", -600.0, -900.0, -300.0),
        ("p95_total_wait_s", -7200.0, nan, nan),
        ("gpu_utilisation", -0.1, nan, nan),
    ]
    names = ["metric", "difference", "lower", "upper"]
    found = WhatIf(pd.DataFrame([dict(zip(names, row, strict=True)) for row in rows]), "USD", ())
    assert of_whatif(found, carried()) == [
        f"validation: {WORDS} Today's cluster: cluster.num_nodes=87.",
        "With the error of the validation (a factor of 2) the difference in the mean total wait is -30 to -2.5 min.",
        "With the error of the validation (a factor of 2) the difference in the p95 total wait is -4 to -1 h.",
    ]
    assert of_whatif(found, carried(math.inf, ())) == [
        f"validation: {WORDS}",
        "How far simulated waits are from those of the cluster is not known.",
    ]


UNKNOWN = "How far simulated waits are from those of the cluster is not known."
LINE = f"validation: {WORDS} Today's cluster: cluster.num_nodes=87."


@pytest.mark.parametrize(
    ("wait_s", "factor", "told"),
    [
        (600.0, 2.0, ["With the error of the validation (a factor of 2) the mean wait until the first start is 5 to 20 min."]),
        (0.0, 2.0, ["With the error of the validation (a factor of 2) the mean wait until the first start is 0 to 0 s."]),
        (math.nan, 2.0, []),
        (600.0, math.inf, [UNKNOWN]),
    ],
)  # fmt: skip
def test_run_in_words(wait_s, factor, told):
    assert of_run(wait_s, carried(factor)) == [LINE, *told]


def compared(*rows, settings=()):
    """A comparison of mean waits: a row a setting, policy and mean."""
    names = [*settings, "policy", "mean"]
    table = pd.DataFrame([dict(zip(names, row, strict=True)) for row in rows])
    table = table.assign(metric="mean_total_wait_s", minus="")
    none = pd.DataFrame()
    metrics = ("makespan_s", "mean_total_wait_s")
    return Comparison("log", metrics, settings, "", table, table, none, none, none)


LESS = (
    "differs from that of a by less than the error of the validation (a factor of 2): which one is shorter on the cluster "
    "is not known."
)
MORE = "is longer than that of a by more than the error of the validation (a factor of 2)."


@pytest.mark.parametrize(
    ("means", "told"),
    [
        ({"a": 10}, []),
        ({"b": 20, "a": 10}, [f"The mean total wait of b {LESS}"]),
        ({"b": 20.1, "a": 10}, [f"The mean total wait of b {MORE}"]),
        ({"d": 15, "c": 40, "a": 10, "b": 30}, [f"The mean total wait of d {LESS} The mean total wait of b, c {MORE}"]),
        ({"a": 0, "b": 0, "c": 1}, [f"The mean total wait of b {LESS} The mean total wait of c {MORE}"]),
        ({"a": 10, "b": math.nan}, []),
    ],
)  # fmt: skip
def test_comparison_in_words(means, told):
    found = compared(*means.items())
    assert of_comparison(found, carried()) == [LINE, *told]
    assert of_comparison(found, carried(math.inf)) == [LINE, UNKNOWN]


def test_comparison_of_several_settings_in_words():
    rows = [(4, "a", 10), (4, "b", 11), (8, "a", 1), (8, "b", 3)]
    assert of_comparison(compared(*rows, settings=("nodes",)), carried())[1:] == [
        f"With nodes 4: The mean total wait of b {LESS}",
        f"With nodes 8: The mean total wait of b {MORE}",
    ]


def size(best) -> Size:
    return Size("nodes", Target.parse("mean_wait < 1h"), 0.95, best, pd.DataFrame(), "", "", ())


@pytest.mark.parametrize(
    ("best", "looser", "stricter", "today", "told"),
    [
        (9, 8, 12, 7, ["between 8 and 12.", "9 are 2 more than today's 7."]),
        (1, 1, 2, 3, ["between 1 and 2.", "1 is 2 fewer than today's 3."]),
        (7, 7, None, 7, ["between 7 and more than were tried.", "7 are as many as today's 7."]),
        (7, 6, 8, None, ["between 6 and 8."]),
        (None, None, None, 7, ["between more than were tried and more than were tried."]),
    ],
)
def test_size_in_words(best, looser, stricter, today, told):
    found = of_size(size(best), size(stricter), size(looser), carried(), today)[1:]
    assert len(found) == len(told)
    assert all(line.endswith(end) for line, end in zip(found, told, strict=True))


def test_file_is_read_and_refused(tmp_path):
    path = tmp_path / "validation.json"
    found = read_carried(written(path))
    assert (found.settings, found.factor, found.kind) == (
        ("cluster.num_nodes=2",),
        2.0,
        "recommended",
    )
    verdict = {"kind": "none", "words": "No verdict: ..", "settings": [], "factor": None}
    assert read_carried(written(path, verdict=verdict)).factor == math.inf
    for text, told in (
        ("{", "is no JSON"),
        ("[]", "expected a validation.json"),
        ("{}", "expected a validation.json"),
    ):
        path.write_text(text)
        with input_error(told):
            read_carried(path)
    with input_error("kind"):
        read_carried(written(path, verdict=verdict | {"kind": "good"}))
    with input_error("cannot be read"):
        read_carried(tmp_path / "none.json")


LOG = "job_id,submit_time_s,start_time_s,duration_s,num_gpus\n" + "".join(
    f"j{k},{10 * k},{100 * k},100,1\n" for k in range(20)
)


@pytest.mark.long
def test_commands_start_from_it(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text(LOG)
    known = written(tmp_path / "validation.json")
    words = (log, "--gpus", 1, "--draws", 1, "--validation", known)
    ran = done(
        "whatif", *words, "--nodes", 1, "--set", "cluster.num_nodes=3", "--out", tmp_path / "w"
    )
    assert f"validation: {WORDS} Today's cluster: cluster.num_nodes=2." in ran.stdout
    # Jobs of 100 s every 10 s: on 2 nodes pairs run together, the second 10 s after the first.
    wait_s = sum(100 * (k // 2) + 10 * (k % 2) - 10 * k for k in range(20)) / 20
    assert f"falls from {wait_s / 60:.4g}" in ran.stdout
    ran = done("size", *words, "--target", "mean_wait < 60s", "--out", tmp_path / "s")
    assert "more than today's 2." in ran.stdout
    assert "(a factor of 2) the answer lies between" in ran.stdout
    told = refused("size", *words, "--target", "makespan < 1h", "--out", tmp_path / "s")
    assert "--validation: is of waits" in told
    other = written(tmp_path / "other.json", log="other.csv")
    told = refused(
        "whatif",
        log,
        "--nodes",
        1,
        "--set",
        "seed=1",
        "--validation",
        other,
        "--out",
        tmp_path / "o",
    )
    assert "is one of other.csv" in told


def test_run_and_compare_start_from_it(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text(LOG)
    known = written(tmp_path / "validation.json")
    words = (log, "--gpus", 1, "--nodes", 1, "--validation", known)
    ran = done("run", *words, "--policy", "fifo-strict", "--out", tmp_path / "r")
    wait_s = sum(100 * (k // 2) + 10 * (k % 2) - 10 * k for k in range(20)) / 20  # on 2 nodes
    ends = f"{wait_s / 2 / 60:.4g} to {2 * wait_s / 60:.4g} min"
    assert f"(a factor of 2) the mean wait until the first start is {ends}." in ran.stdout
    policies = ("--policy", "fifo-strict", "--policy", "sjf", "--draws", 1)
    ran = done("compare", *words, *policies, "--out", tmp_path / "c")
    assert "The mean total wait of sjf differs from that of fifo-strict by less" in ran.stdout
    other = written(tmp_path / "other.json", log="other.csv")
    for command in ("run", "compare"):
        told = refused(
            command,
            *words[:-1],
            other,
            *policies[: 2 if command == "run" else 6],
            "--out",
            tmp_path / "o",
        )
        assert "is one of other.csv" in told
