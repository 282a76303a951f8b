"""Policies by name: registration, requirements, options of wrappers, names of before."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

import policies
from policies import (
    Wrapper,
    composed_names,
    describe,
    make_policy,
    policy_names,
    register,
    requirements_of,
    requirements_verdict,
    wrapper_names,
)
from policies.registry.naming import PolicyName
from policies.registry.registration import _DECORATOR, modules
from policies.registry.requirements import REQUIREMENTS
from simulator import Cluster, Decision, InputError, NodeType, View
from tests.core.jobs import fixed

SERVERS = Cluster.of_nodes(NodeType("server", "GPU", 4), 1)


@register("test-last-first", requires=("servers", "fixed-demand"))
@dataclass
class LastFirst:
    """The youngest job first."""

    name: str = "test-last-first"
    limit: int = 3

    def decide(self, view: View) -> Decision:
        return Decision()


@register("@test-slow", requires=("nodes",))
class Slow(Wrapper):
    """A wrapper with an option."""

    def __init__(self, policy: LastFirst, inner_name: str, factor: float = 2.0) -> None:
        super().__init__(policy, inner_name)
        self.factor = factor


def test_a_name_is_parsed_once():
    parsed = PolicyName.parse("srtf+tune@decision-trace@hysteresis")
    assert (parsed.base, parsed.key) == ("srtf+tune", "+tune")
    assert (parsed.ordering, parsed.mechanism) == ("srtf", "tune")
    assert parsed.inner == "srtf+tune@decision-trace"
    assert (PolicyName.parse("greedy").mechanism, PolicyName.parse("greedy").inner) == ("", "")
    assert PolicyName.parse("a+b.py:Mine@tune").mechanism == ""  # the file's name has no parts
    assert parsed.wrappers == ("@decision-trace", "@hysteresis")
    assert PolicyName.parse("ps").key == "weight-priority"


def test_what_the_decorator_registers_can_be_made():
    made = make_policy("test-last-first", limit=5)
    assert isinstance(made, LastFirst)
    assert made.limit == 5
    assert describe("test-last-first").summary == "The youngest job first."
    assert requirements_of("test-last-first@test-slow") == ("servers", "fixed-demand", "nodes")
    assert "test-last-first" not in policy_names()  # these are schedlab's, and those of packages


def test_options_of_a_wrapper_have_its_name():
    name = "test-last-first@test-slow@hysteresis"
    assert describe(name).options == {
        "name": "test-last-first", "limit": 3, "test-slow.factor": 2.0, "hysteresis.threshold": 1.0
    }  # fmt: skip
    made = make_policy(name, **{"test-slow.factor": 3, "limit": 4, "hysteresis.threshold": 0.5})
    assert (made.name, made.threshold) == (name, 0.5)
    assert (made.policy.factor, made.policy.policy.limit) == (3, 4)
    with pytest.raises(InputError, match=r"option 'hysteresis.treshold', did you mean 'hyst"):
        make_policy(name, **{"hysteresis.treshold": 1.0})
    with pytest.raises(InputError, match="unknown option 'iteratons', did you mean 'iterations'"):
        make_policy("randomised-greedy", iteratons=3)
    with pytest.raises(InputError, match=r"option 'limit' is 'few', expected int"):
        make_policy(name, limit="few")


def test_options_of_wrappers_and_the_names_of_papers():
    assert make_policy("srpt@hysteresis", **{"hysteresis.threshold": 0.25}).threshold == 0.25
    assert make_policy("ps").name == "ps"
    assert requirements_verdict("ps-shared", fixed([0], [1], [1]), SERVERS)[1] == []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("fifo@tune@tune", "policy 'fifo@tune@tune': @tune stands there twice, expected it once"),
        (
            "randomized-greedy",
            "unknown policy 'randomized-greedy'; did you mean 'randomised-greedy'?",
        ),
        ("heSRPT", "unknown policy 'heSRPT'; did you mean 'rental-hesrpt'?"),
        ("GREEDY", "unknown policy 'GREEDY'; did you mean 'greedy'?"),
        ("", "unknown policy ''; expected one of "),
        ("@tune", "unknown policy '@tune'; did you mean "),
        ("+tune", "unknown ordering ''; expected one of fifo, "),
    ],
)
def test_unknown_parts(name, line):
    with pytest.raises(InputError) as caught:
        make_policy(name)
    assert str(caught.value).startswith(line)


def test_each_name_stands_in_one_module_with_requirements_that_exist():
    root = Path(policies.__file__).parent
    found = [n for p in root.rglob("*.py") for n in _DECORATOR.findall(p.read_text("utf-8"))]
    assert [name for name, count in Counter(found).items() if count > 1] == []
    assert sorted(found) == sorted(modules())
    for name in (*policy_names(), *composed_names()):
        assert set(requirements_of(name)) <= set(REQUIREMENTS), name
        assert requirements_of(name), name
        assert describe(name).summary, name
    assert wrapper_names() == sorted(
        ["@decision-trace", "@fractional", "@hysteresis", "@qos-preemption", "@self-timed", "@tune"]
    )
