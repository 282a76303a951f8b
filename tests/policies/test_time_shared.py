"""Jobs share GPUs in time where the policy requires it, whatever the policy's name is."""

import pytest

from experiments.analysis.compatibility import fits
from experiments.scenario.checks import ScenarioChecks
from experiments.scenario.formulas import formula_line
from experiments.scenario.run import run
from experiments.scenario.schema import Scenario
from policies import queue_of
from simulator import plugins

OWN = """
from policies import make_policy

class Mine:
    requires = ("servers", "time-shared")

    def __init__(self):
        self._policy = make_policy("processor-sharing")

    def decide(self, view):
        return self._policy.decide(view)
"""


def one_gpu(policy: str, **jobs: object) -> Scenario:
    workload = {"kind": "poisson", "num_jobs": 30, "arrival_rate_per_h": 0.5, **jobs}
    cluster = {"kind": "nodes", "num_nodes": 1, "gpus_per_node": 1}
    return Scenario.model_validate({"policy": policy, "workload": workload, "cluster": cluster})


@pytest.fixture
def own(tmp_path, monkeypatch) -> str:
    monkeypatch.setenv(plugins.CODE_ALLOWED, "1")
    (tmp_path / "mine.py").write_text(OWN)
    return f"{tmp_path}/mine.py:Mine"


def test_a_run_a_sweep_and_a_comparison(own):
    """A wrapper and a policy of one's own do as processor sharing does; in a sweep or comparison beside another policy, too."""
    sharing = run(one_gpu("processor-sharing")).completion_s.tolist()
    assert sharing != run(one_gpu("fifo")).completion_s.tolist()
    names = ["fifo", "processor-sharing@decision-trace", own, "las@decision-trace"]
    check = ScenarioChecks()
    for name in names:
        check(one_gpu(name))
    assert [fit.verdict for fit in fits(one_gpu("fifo"), names)] == ["runs"] * 4
    for name in names[1:3]:
        assert run(one_gpu(name)).completion_s.tolist() == sharing


@pytest.mark.parametrize(
    ("name", "queue"),
    [
        ("fifo", "blind"), ("random-order@decision-trace", "blind"), ("srpt@decision-trace", "srpt"),
        ("las@decision-trace", "least-attained"), ("sjf", "shortest-job"), ("processor-sharing", "processor-sharing"),
        ("fifo@qos-preemption", ""), ("sjf@decision-trace@hysteresis", ""), ("greedy", ""), ("srtf+tune", ""),
    ],
)  # fmt: skip
def test_the_queue_that_a_policy_is(name, queue):
    assert queue_of(name) == queue


def test_a_formula_belongs_to_the_queue():
    """With a decision trace, too: the decisions are the same."""
    for name, law in (
        ("las", "M/G/1, FB"),
        ("sjf", "M/G/1, shortest"),
        ("fifo", "M/G/1, Pollaczek"),
    ):
        made = one_gpu(f"{name}@decision-trace", duration_s="lognormal:3600,cv=2")
        assert formula_line(made, run(made)).startswith(f"formula ({law}")
    assert formula_line(one_gpu("fifo@qos-preemption"), run(one_gpu("fifo@qos-preemption"))) == ""
