"""Entrants of a comparison: who runs in which form of the jobs, and who does not."""

import pytest

from experiments.analysis.compatibility import PolicyFit
from experiments.comparison import entrants as module
from experiments.comparison.entrants import (
    GIVEN,
    VIEWS,
    Entrant,
    Excluded,
    _for_all,
    field_of,
    name_of,
    view_of,
    wants_all,
)
from experiments.scenario.options import scenario_of
from simulator.errors import InputError


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("job_id,submit_time_s,duration_s,num_gpus\na,0,9,1\n")
    return scenario_of(path, "csv", "easy-backfill:bf_window_s=3", nodes=2)[0]


class Mine:
    def decide(self, view):
        raise NotImplementedError


class Named(Mine):
    name = "my own"


def function(view):
    raise NotImplementedError


def test_names():
    assert [name_of(one) for one in ("fifo", "a:x=1", "label=a:x=1", Mine(), Named(), function)] == [
        "fifo", "a:x=1", "label", "Mine", "my own", "function",
    ]  # fmt: skip


def test_whether_all_are_asked_for():
    assert wants_all([])
    assert wants_all(["fifo", "all"])
    assert not wants_all(["fifo"])
    assert not wants_all([function])


def test_views_and_keys_for_all():
    plain, elastic = (
        PolicyFit("a", "runs", ""),
        PolicyFit("b", "with keys", "", None, {"due": "due = 1", "speedup": "speedup = 2"}),
    )
    assert (view_of(plain), view_of(elastic)) == (GIVEN, "elastic")
    assert [view_of(PolicyFit("a", "with keys", "", None, {key: ""})) for key in VIEWS] == [
        "elastic", "fixed demand", "shares of a pool",
    ]  # fmt: skip
    other = PolicyFit("c", "with keys", "", None, {"weights": "w", "due": "due = 3", "demand": "d"})
    assert _for_all([plain, elastic, other]) == ("due = 1", "w")
    assert _for_all([plain]) == ()


def test_named_policies_with_their_options(scenario):
    """The scenario's own policy has the scenario's options where none are given, the others none."""
    mine, own = Mine(), {"bf_window_s": 3}
    field = field_of(
        scenario, ["fifo", mine, "easy-backfill", "x=easy-backfill:bf_window_s=5", "srpt"]
    )
    assert [(e.policy, e.view) for e in field.entrants] == [
        ("fifo", GIVEN), ("Mine", GIVEN), ("easy-backfill", GIVEN), ("x", GIVEN), ("srpt", GIVEN),
    ]  # fmt: skip
    told = [(e.scenario.policy, e.scenario.policy_options) for e in field.entrants]
    assert told == [
        ("fifo", {}), ("easy-backfill", own), ("easy-backfill", own), ("easy-backfill", {"bf_window_s": 5}), ("srpt", {}),
    ]  # fmt: skip
    assert [e.agent for e in field.entrants] == [None, mine, None, None, None]
    assert (field.excluded, field.notes) == ((), ())


def test_who_cannot_run_has_the_reason(scenario):
    field = field_of(scenario, ["rental-equi", "fifo"])
    assert [e.policy for e in field.entrants] == ["fifo"]
    (out,) = field.excluded
    assert out.policy == "rental-equi"
    assert "the policy needs a rental pool" in out.reason


def test_what_one_needs_for_all_goes_to_all(scenario):
    field = field_of(scenario, ["fifo", "edf-backfill"])
    (note,) = field.notes
    assert note.startswith("added to the jobs of all policies: due = ")
    assert note.endswith(" ([adapt])")
    assert all(e.scenario.adapt is not None and e.scenario.adapt.due for e in field.entrants)
    assert [e.view for e in field.entrants] == [GIVEN, GIVEN]


def test_what_all_cannot_have_goes_to_nobody_else(scenario, monkeypatch):
    monkeypatch.setattr(module, "with_keys", lambda scenario, keys: None)
    field = field_of(scenario, ["fifo", "edf-backfill"])
    assert field.entrants[0].scenario.adapt is None
    assert field.entrants[1].scenario.adapt is not None


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ("edf:x=1", "--policy edf:x=1: policy 'edf': unknown option 'x'"),
        ("y=edf:x=1", "--policy y: policy 'edf': unknown option 'x'"),
        ("no-such", "--policy no-such: "),
    ],
)
def test_a_policy_that_is_none(scenario, policy, told):
    with pytest.raises(InputError) as raised:
        field_of(scenario, ["fifo", policy])
    assert str(raised.value).startswith(told)


@pytest.fixture
def few(monkeypatch):
    """Four policies that there are, of which one runs nowhere."""
    import policies

    monkeypatch.setattr(policies, "policy_names", lambda: ["fifo", "srpt", "conservative-backfill"])
    monkeypatch.setattr(policies, "composed_names", lambda: ["las+greedy"])
    asked = []

    def fits(scenario, names):
        asked.append([*names])
        return [
            PolicyFit(n, "makes no sense", f"no {n}")
            if n == "srpt"
            else PolicyFit(n, "runs", "", scenario)
            for n in dict.fromkeys(names)
        ]

    monkeypatch.setattr(module, "fits", fits)
    return asked


def test_all_that_there_are(scenario, few):
    """Also the scenario's own policy, with its options."""
    field = field_of(scenario, [])
    assert few == [["fifo", "srpt", "conservative-backfill", "las+greedy", "easy-backfill"]]
    assert [(e.policy, e.scenario.policy_options) for e in field.entrants] == [
        ("fifo", {}), ("conservative-backfill", {}), ("las+greedy", {}), ("easy-backfill", {"bf_window_s": 3}),
    ]  # fmt: skip
    assert field.excluded == (Excluded("srpt", "no srpt"),)


def test_all_beside_those_that_are_named(scenario, few):
    """These stand first, and nobody comes twice."""
    field = field_of(scenario, [function, "conservative-backfill:order=sjf", "all", "las+greedy"])
    assert [e.policy for e in field.entrants] == [
        "function", "conservative-backfill:order=sjf", "las+greedy", "conservative-backfill", "fifo", "easy-backfill",
    ]  # fmt: skip
    assert isinstance(field.entrants[0], Entrant)


def test_own_options_beside_all(scenario, few):
    """The scenario's own policy under other options is another one; without options it comes once."""
    field = field_of(scenario, ["easy-backfill:bf_window_s=9", "all"])
    assert [(e.policy, e.scenario.policy_options) for e in field.entrants] == [
        ("easy-backfill:bf_window_s=9", {"bf_window_s": 9}), ("easy-backfill", {"bf_window_s": 3}), ("fifo", {}),
        ("conservative-backfill", {}), ("las+greedy", {}),
    ]  # fmt: skip
    plain = scenario.model_copy(update={"policy_options": {}})
    field = field_of(plain, ["easy-backfill", "all"])
    assert [e.policy for e in field.entrants] == [
        "easy-backfill",
        "fifo",
        "conservative-backfill",
        "las+greedy",
    ]


def test_objects_alone_ask_for_no_policy(scenario, few):
    field = field_of(scenario, [function])
    assert few == []
    assert [(e.policy, e.agent) for e in field.entrants] == [("function", function)]
