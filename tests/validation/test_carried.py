"""A validation that answers carry: today's cluster, and wider answers."""

import json
import math
import os

import pandas as pd
import pytest

from experiments.comparison.answer import Comparison
from experiments.comparison.size import Size, Target
from experiments.comparison.whatif import WhatIf
from experiments.scenario.options import scenario_of
from experiments.sweep.codeversion import content_hash
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
    return Carried("log.csv", "", "sjf", settings, "recommended", WORDS, factor)


def hash_of(path, text):
    path.write_text(text)
    return content_hash(str(path))


def written(path, log="", **changes):
    """A validation of log.csv with this content."""
    verdict = {
        "kind": "recommended",
        "words": WORDS,
        "settings": ["cluster.num_nodes=2"],
        "factor": 2.0,
    }
    keys = {
        "format": "schedlab validation 1",
        "log": "log.csv",
        "log_sha256": hash_of(path.parent / "written.csv", log),
        "policy": "sjf",
        "verdict": verdict,
        "more": 1,
    }
    path.write_text(json.dumps(keys | changes))
    return path


@pytest.mark.parametrize(
    ("base", "other", "factor", "wide"),
    [
        (10.0, 100.0, 2, (30.0, 195.0)),  # 50 to 200 less 5 to 20
        (100.0, 10.0, 2, (-195.0, -30.0)),
        (10.0, 9.0, 2, (-15.5, 13.0)),  # 4.5 to 18 less 5 to 20: either may be shorter
        (10.0, 20.0, 1, (10.0, 10.0)),
        (0.0, 20.0, 2, (-math.inf, 40.0)),
        (20.0, 0.5, 2, (-40.0, math.inf)),
    ],
)
def test_widened(base, other, factor, wide):
    assert widened(base, other, factor) == wide


LINE = f"validation under sjf: {WORDS} Today's cluster: cluster.num_nodes=87."
UNKNOWN = "How far simulated waits are from those of the cluster is not known."
ERROR = "the error of the validation (a factor of 2 in the mean wait until the first start)"


def test_whatif_in_words():
    nan = math.nan
    rows = [
        ("mean_total_wait_s", 600.0, 3600.0, 3000.0, 2400.0, 3660.0),
        ("p95_total_wait_s", 36_000.0, 32_400.0, -3600.0, nan, nan),
        ("gpu_utilisation", 0.5, 0.4, -0.1, nan, nan),
    ]
    names = ["metric", "base", "whatif", "difference", "lower", "upper"]
    found = WhatIf(pd.DataFrame([dict(zip(names, row, strict=True)) for row in rows]), "USD", ())
    assert of_whatif(found, carried()) == [
        LINE,
        # 30 to 120 min less 5 to 20 min, and 10 min less and 11 min more of the draws
        f"With {ERROR} the difference in the mean total wait is 0 to 2.1 h.",
        # 4.5 to 18 h less 5 to 20 h
        f"With {ERROR} the difference in the p95 total wait is -15.5 to 13 h.",
    ]
    assert of_whatif(found, carried(math.inf, ())) == [f"validation under sjf: {WORDS}", UNKNOWN]
    found.table["whatif"] = 0.0
    assert of_whatif(found, carried())[1] == (
        f"Of the difference in the mean total wait nothing is known: {ERROR} says nothing of a wait of hardly 0."
    )


def test_whatif_and_compare_agree():
    """10 h against 9 h within a factor of 2: neither says which is shorter; 10 h against 41 h: both do."""
    for other, is_known in ((9.0, False), (39.0, False), (41.0, True), (2.4, True)):
        lower, upper = widened(10.0, other, 2.0)
        assert (lower > 0 or upper < 0) == is_known
        told = of_comparison(compared(("a", 10.0), ("b", other)), carried())[1]
        assert ("is longer than" in told) == is_known


@pytest.mark.parametrize(
    ("wait_s", "factor", "told"),
    [
        (600.0, 2.0, [f"With {ERROR} the mean wait until the first start is 5 to 20 min."]),
        (0.0, 2.0, [f"Of the mean wait until the first start nothing is known: {ERROR} says nothing of a wait of hardly 0."]),
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


LESS = f"differs from that of a by less than {ERROR} allows: which one is shorter on the cluster is not known."
MORE = f"is longer than that of a, also with {ERROR} in each."


@pytest.mark.parametrize(
    ("means", "told"),
    [
        ({"a": 10}, []),
        ({"b": 40, "a": 10}, [f"The mean total wait of b {LESS}"]),  # both may be 20
        ({"b": 40.1, "a": 10}, [f"The mean total wait of b {MORE}"]),
        ({"d": 15, "c": 80, "a": 10, "b": 60}, [f"The mean total wait of d {LESS} The mean total wait of b, c {MORE}"]),
        ({"a": 0, "b": 0, "c": 1}, [f"The mean total wait of b, c {LESS}"]),
        ({"a": 10, "b": math.nan}, []),
    ],
)  # fmt: skip
def test_comparison_in_words(means, told):
    found = compared(*means.items())
    assert of_comparison(found, carried()) == [LINE, *told]
    assert of_comparison(found, carried(math.inf)) == [LINE, UNKNOWN]


def test_comparison_of_several_settings_in_words():
    rows = [(4, "a", 10), (4, "b", 11), (8, "a", 1), (8, "b", 5)]
    assert of_comparison(compared(*rows, settings=("nodes",)), carried())[1:] == [
        f"With nodes 4: The mean total wait of b {LESS}",
        f"With nodes 8: The mean total wait of b {MORE}",
    ]


def size(best) -> Size:
    return Size("nodes", Target.parse("mean_wait < 1h"), 0.95, best, pd.DataFrame(), "", "", ())


@pytest.mark.parametrize(
    ("best", "looser", "stricter", "today", "told"),
    [
        (9, 8, 12, 7, ["lies between 8 and 12.", "9 are 2 more than today's 7."]),
        (9, 12, 8, None, ["lies between 8 and 12."]),
        (1, 1, 2, 3, ["lies between 1 and 2.", "1 is 2 fewer than today's 3."]),
        (7, 7, None, 7, ["the answer is 7 or more.", "7 are as many as today's 7."]),
        (7, 6, 8, None, ["lies between 6 and 8."]),
        (None, None, None, 7, ["no number that was tried is known to suffice."]),
    ],
)
def test_size_in_words(best, looser, stricter, today, told):
    found = of_size(size(best), [size(stricter), size(looser)], carried(), today)[1:]
    assert len(found) == len(told)
    assert all(line.endswith(end) for line, end in zip(found, told, strict=True))


def test_size_whose_error_is_not_known():
    told = of_size(size(9), [], carried(math.inf), 7)
    assert told == [LINE, UNKNOWN, "9 are 2 more than today's 7."]


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
        ("{", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "expected a validation.json"),
        ("{}", "expected a validation.json"),
    ):
        path.write_text(text)
        with input_error(told):
            read_carried(path)
    with input_error("kind"):
        read_carried(written(path, verdict=verdict | {"kind": "good"}))
    with input_error("no such file, expected a validation.json"):
        read_carried(tmp_path / "none.json")
    os.mkfifo(tmp_path / "pipe")
    with input_error("is no regular file"):
        read_carried(tmp_path / "pipe")


def test_of_another_log_of_the_same_name(tmp_path):
    """Hash and not name: the log of another site is refused, the same one elsewhere is not."""
    known = read_carried(written(tmp_path / "validation.json", LOG))
    for site, text in (("a", LOG), ("b", LOG.replace("j0,0", "j0,1"))):
        (tmp_path / site).mkdir()
        (tmp_path / site / "log.csv").write_text(text)
    kept, other = (
        scenario_of(tmp_path / site / "log.csv", "csv", None, None, [], 1, 1)[0] for site in "ab"
    )
    known.expect_log(kept)
    with input_error("log.csv (another content); expected that of these jobs"):
        known.expect_log(other)


LOG = "job_id,submit_time_s,start_time_s,duration_s,num_gpus\n" + "".join(
    f"j{k},{10 * k},{100 * k},100,1\n" for k in range(20)
)


@pytest.mark.long
def test_commands_start_from_it(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text(LOG)
    known = written(tmp_path / "validation.json", LOG)
    words = (log, "--gpus", 1, "--draws", 1, "--validation", known)
    ran = done(
        "whatif", *words, "--nodes", 1, "--set", "cluster.num_nodes=3", "--out", tmp_path / "w"
    )
    assert f"validation under sjf: {WORDS} Today's cluster: cluster.num_nodes=2." in ran.stdout
    # Jobs of 100 s every 10 s: on 2 nodes pairs run together, the second 10 s after the first.
    wait_s = sum(100 * (k // 2) + 10 * (k % 2) - 10 * k for k in range(20)) / 20
    assert f"falls from {wait_s / 60:.4g}" in ran.stdout
    ran = done("size", *words, "--target", "mean_wait < 60s", "--out", tmp_path / "s")
    assert "more than today's 2." in ran.stdout
    assert f"With {ERROR} the answer lies between" in ran.stdout
    told = refused("size", *words, "--target", "makespan < 1h", "--out", tmp_path / "s")
    assert "--validation: is of waits" in told
    told = refused(
        "size", *words, "--target", "mean_wait < 1h", "--vary", "price", "--out", tmp_path
    )
    assert "expected a --target on a wait and --vary nodes, gpus or speed" in told
    other = written(tmp_path / "other.json", "other")
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
    assert "is one of log.csv, and" in told


@pytest.mark.long
def test_run_and_compare_start_from_it(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text(LOG)
    known = written(tmp_path / "validation.json", LOG)
    words = (log, "--gpus", 1, "--nodes", 1, "--validation", known)
    ran = done("run", *words, "--policy", "fifo-strict", "--out", tmp_path / "r")
    wait_s = sum(100 * (k // 2) + 10 * (k % 2) - 10 * k for k in range(20)) / 20  # on 2 nodes
    ends = f"{wait_s / 2 / 60:.4g} to {2 * wait_s / 60:.4g} min"
    assert f"With {ERROR} the mean wait until the first start is {ends}." in ran.stdout
    policies = ("--policy", "fifo-strict", "--policy", "sjf", "--draws", 1)
    ran = done("compare", *words, *policies, "--out", tmp_path / "c")
    assert "The mean total wait of sjf differs from that of fifo-strict by less" in ran.stdout
    other = written(tmp_path / "other.json", "other")
    for command in ("run", "compare"):
        told = refused(
            command,
            *words[:-1],
            other,
            *policies[: 2 if command == "run" else 6],
            "--out",
            tmp_path / "o",
        )
        assert "is one of log.csv, and" in told
