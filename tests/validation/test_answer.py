"""The answer of a validation in words: a case for every branch."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from experiments.validation.agreement import Agreement, Side
from experiments.validation.answer import (
    Verdict,
    distance,
    factor_of,
    held_line,
    lines,
    record_lines,
    rule_lines,
    time_of,
    verdict,
)
from experiments.validation.calibrating import Calibration, HeldOut, Tried
from experiments.validation.rules import Rule
from simulator.metrics.waits import Waits
from simulator.statistics import Estimate

INF, NAN = math.inf, math.nan


def found(
    ratio=0.45, *, room=0.5, rank=0.25, jobs=28_481, at_once=0.39, ends=(0.4, 0.5)
) -> Agreement:
    one = Waits(jobs, 15_385.0, 300.0, 84_780.0, at_once)
    other = Waits(jobs, 15_385.0 * ratio, 0.0, 37_962.0, 0.55)
    return Agreement(one, other, room, 0.11, Estimate(ratio, *ends, 340), rank, 0.31, NAN)


def held(ratio=1.05, nodes=87, ends=(0.9, 1.2)) -> HeldOut:
    estimate = Estimate(ratio, *ends, 170)
    settings = () if nodes == 100 else (f"cluster.num_nodes={nodes}",)
    return HeldOut(nodes, 100, settings, 0.99, 9649 * ratio, 9649, estimate)


RULE = Rule("users stop", ("tenants.by=user",))


def ruled(ratio, rules, **more) -> HeldOut:
    fitted = held(ratio, **more)
    return replace(fitted, settings=(*fitted.settings, *RULE.settings), rules=(RULE,) * rules)


WHO = " Which jobs wait does not agree (rank correlation 0.25): take answers on means alone."
TODAY = " For `size` and `whatif`: --set cluster.num_nodes=87 as today's size."
ONLY = " Compare policies by their differences only."
CASES = [
    # nothing can be said, whatever was fitted
    (found(jobs=999), held(), Verdict("none", "No verdict: 999 jobs have a recorded wait, expected at least 1,000.")),
    (found(at_once=0.98), held(), Verdict("none", "No verdict: hardly any job waited (2 % of them for over a minute).")),
    # the second half did not wait
    (found(), held(NAN),
     Verdict("refused", "Waits are too short by half." + ONLY + " No job of the second half waited, so nothing that was fitted on the "
             "first half can be judged, and no size is recommended.")),
    (found(), replace(held(NAN), recorded_s=NAN),
     Verdict("refused", "Waits are too short by half." + ONLY + " No start of the second half is recorded, so nothing that was fitted "
             "on the first half can be judged, and no size is recommended.")),
    # room: more nodes would not help
    (found(0.03, room=0.995, ends=(0.02, 0.04)), held(),
     Verdict("refused", "Waits are too short by 97 %. Capacity is not what limits: 100 % of the recorded waiting passed "
             "while enough GPUs were free, so more nodes would not shorten these waits." + ONLY, factor=50.0)),
    (found(0.45, room=0.81), None,
     Verdict("refused", "Waits are too short by half. Capacity is not what limits: 81 % of the recorded waiting passed "
             "while enough GPUs were free, so more nodes would not shorten these waits." + ONLY, factor=2.5)),
    (found(room=0.81), replace(held(), rules=()),
     Verdict("refused", "Waits are too short by half. Capacity is not what limits: 81 % of the recorded waiting passed "
             "while enough GPUs were free, so more nodes would not shorten these waits." + ONLY, factor=2.5)),
    (found(room=0.8), held(), Verdict("recommended", "Waits are too short by half." + WHO + ONLY + TODAY, ("cluster.num_nodes=87",), 1.2)),
    # just enough jobs, of which just enough waited
    (found(jobs=1000), held(), Verdict("recommended", "Waits are too short by half." + WHO + ONLY + TODAY, ("cluster.num_nodes=87",), 1.2)),
    (found(at_once=0.95), held(), Verdict("recommended", "Waits are too short by half." + WHO + ONLY + TODAY, ("cluster.num_nodes=87",), 1.2)),
    (found(at_once=0.951), held(), Verdict("none", "No verdict: hardly any job waited (4.9 % of them for over a minute).")),
    # the same jobs wait, just so
    (found(rank=0.5), held(), Verdict("recommended", "Waits are too short by half." + ONLY + TODAY, ("cluster.num_nodes=87",), 1.2)),
    # nothing was fitted
    (found(1.0, rank=0.9, ends=(0.9, 1.1)), None,
     Verdict("recommended", "The mean wait agrees: it is 1.00 of the recorded one.", factor=1 / 0.9)),
    (found(1.0, ends=(0.9, 1.1)), None,
     Verdict("recommended", "The mean wait agrees: it is 1.00 of the recorded one." + WHO, factor=1 / 0.9)),
    (found(2.3, ends=(2.0, 2.5)), None,
     Verdict("refused", "Waits are too long: 2.3 times the recorded ones." + ONLY + " No size is recommended.", factor=2.5)),
    # the fit does not hold on the second half, however near the whole is
    (found(0.45), held(2.1, ends=(1.8, 2.4)),
     Verdict("refused", "Waits are too short by half." + ONLY + " The simulation that was fitted on the first half "
             "(87 nodes) has 2.1 times the recorded mean wait on the second: the number of nodes does not explain the "
             "waits, and no size is recommended.", factor=2.4)),
    (found(1.0), held(0.5, nodes=1, ends=(0.4, 0.6)),
     Verdict("refused", "The mean wait agrees: it is 1.00 of the recorded one. The simulation that was fitted on the "
             "first half (1 node) has 0.5 times the recorded mean wait on the second: the number of nodes does not "
             "explain the waits, and no size is recommended.", factor=2.5)),
    (found(), ruled(2.1, 1, ends=(1.8, 2.4)),
     Verdict("refused", "Waits are too short by half." + ONLY + " The simulation that was fitted on the first half "
             "(87 nodes, 1 rule) has 2.1 times the recorded mean wait on the second: they do not explain the waits, and no "
             "size is recommended.", factor=2.4)),
    # rules explain it, with room as well
    (found(room=0.9), ruled(1.0, 2),
     Verdict("recommended", "Waits are too short by half." + ONLY + " Rules of the site explain the waits; for `size` and "
             "`whatif`, calibrated.toml has them and 87 nodes as today's cluster.",
             ("cluster.num_nodes=87", "tenants.by=user"), 1.2)),
    (found(), ruled(1.0, 1, nodes=100),
     Verdict("recommended", "Waits are too short by half." + ONLY + " Rules of the site explain the waits; for `size` and "
             "`whatif`, calibrated.toml has them as today's cluster.", ("tenants.by=user",), 1.2)),
    # room where the waits agree: the rules of the scenario leave it
    (found(1.0, room=0.9, rank=0.9), held(1.0, nodes=100),
     Verdict("recommended", "The mean wait agrees: it is 1.00 of the recorded one. The documented size is today's size.",
             factor=1.2)),
    # it holds
    (found(), held(), Verdict("recommended", "Waits are too short by half." + WHO + ONLY + TODAY, ("cluster.num_nodes=87",), 1.2)),
    (found(rank=NAN), held(), Verdict("recommended", "Waits are too short by half." + ONLY + TODAY, ("cluster.num_nodes=87",), 1.2)),
    (found(0.9, rank=0.8), held(1.0, nodes=100),
     Verdict("recommended", "The mean wait agrees: it is 0.90 of the recorded one. The documented size is today's size.", factor=1.2)),
]  # fmt: skip


@pytest.mark.parametrize(("agreement", "fitted", "wanted"), CASES)
def test_verdict(agreement, fitted, wanted):
    given = verdict(agreement, fitted)
    assert given.words == wanted.words
    assert (given.kind, given.settings) == (wanted.kind, wanted.settings)
    assert given.factor == pytest.approx(wanted.factor)


@pytest.mark.parametrize(
    ("ratio", "sentence"),
    [
        (0.79, "Waits are too short by 21 %."),
        (0.8, "The mean wait agrees: it is 0.80 of the recorded one."),
        (1.25, "The mean wait agrees: it is 1.25 of the recorded one."),
        (1.26, "Waits are too long: 1.3 times the recorded ones."),
        (9.94, "Waits are too long: 9.9 times the recorded ones."),
        (12.3, "Waits are too long: 12 times the recorded ones."),
        (1234.5, "Waits are too long: 1,234 times the recorded ones."),
        (0.43, "Waits are too short by 57 %."),
        (0.45, "Waits are too short by half."),
        (0.55, "Waits are too short by half."),
        (0.57, "Waits are too short by 43 %."),
        (0.0, "Waits are too short by 100 %."),
    ],
)
def test_distance(ratio, sentence):
    assert distance(ratio) == sentence


@pytest.mark.parametrize(
    ("ratio", "ends", "factor"),
    [
        (1.0, (1.0, 1.0), 1.0),
        (0.5, (0.4, 0.8), 2.5),
        (1.1, (0.9, 1.5), 1.5),
        (1.02, (-INF, INF), INF),  # too few days
        (1.02, (0.9, INF), INF),
        (0.5, (0.0, 1.0), INF),
        (NAN, (-INF, INF), INF),
    ],
)
def test_factor(ratio, ends, factor):
    assert factor_of(Estimate(ratio, *ends, 5)) == factor


def test_lines():
    one = found()
    assert record_lines(one, "sjf") == [
        "recorded     28,481 waits: mean 4.27 h, median 5 min, p95 23.6 h, 39 % at most a minute",
        "not capacity 50 % of the waiting passed while the GPUs that the job needed were free (sjf: 11 %)",
    ]
    assert lines("sjf", one) == [
        "simulated    sjf: mean 1.92 h, median 0 s, p95 10.5 h",
        "agreement    0.45 of the recorded mean (0.40 to 0.50); rank correlation of waits 0.25; "
        "correlation of the hourly queue 0.31, of use unknown",
    ]
    assert held_line(held()) == (
        "held out     with 87 of 100 nodes, fitted on the first half: 2.81 h on the second (recorded 2.68 h)"
    )


def test_rules_that_cannot_be_tried():
    """One of partitions beside one of users, one of outages without a folder, and one of a table that the scenario has."""
    own = SimpleNamespace(features={"calendar": None}, cluster=None)
    fitting = Calibration(SimpleNamespace(scenario=own), SimpleNamespace(job_id=[]), None)
    users, partitions = (Rule(by, (f"tenants.by={by}",)) for by in ("user", "vc"))
    for rule, chosen, why in (
        (users, [users], ""),
        (
            partitions,
            [users],
            "a scenario limits users or partitions, and a rule of the other kind is kept",
        ),
        (Rule("", outages=((0.0, 1.0),)), [], "no folder for the file of its outages"),
        (Rule("", hours=((3600, "mon"),)), [], "the scenario has its own [calendar]"),
    ):
        assert fitting._hindrance(rule, chosen) == why
    skipped = Rule("", hours=((3600, "mon"),))
    fitting.first = fitting.second = slice(0)
    assert [rule for rule, _ in fitting.skipped] == []
    side = Side(*[np.zeros(0)] * 4)
    fitting._sides = SimpleNamespace(recorded=side, simulated=side, pool_gpus=[1.0])
    assert fitting.kept([skipped]) == []
    assert fitting.skipped == [(skipped, "the scenario has its own [calendar]")]


def test_lines_where_something_is_not_known():
    assert held_line(replace(held(NAN), recorded_s=NAN)).endswith(
        "on the first half: no start of the second is recorded"
    )
    assert "(" not in lines("sjf", found(ends=(-INF, INF)))[1].partition(";")[0]
    assert len(lines("sjf", found(NAN))) == 1
    assert len(record_lines(found(room=NAN), "sjf")) == 1


def test_lines_of_rules():
    tried = Tried(RULE, found(0.5, rank=0.2), found(1.0, rank=NAN), True)
    assert rule_lines([RULE], []) == ["rule         users stop; --calibrate tries it"]
    assert rule_lines([RULE], [], [(RULE, "why")]) == ["rule         users stop; not tried: why"]
    assert rule_lines([RULE], [tried], [(RULE, "why")])[1:] == [
        "rule         users stop; not tried: why"
    ]
    assert rule_lines([RULE], [tried, replace(tried, kept=False)]) == [
        "rule         users stop: on the first half 0.50 of the recorded mean becomes 1.00, rank correlation 0.20 becomes "
        f"unknown; {kept}"
        for kept in ("kept", "not kept")
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (5399, "90 min"),
        (5400, "1.5 h"),
        (110_000, "30.6 h"),
        (172_799, "48 h"),
        (172_800, "2 days"),
    ],
)
def test_time(seconds, text):
    assert time_of(seconds) == text
