"""Operations of an outage, counted: it costs what the nodes that go cost, whatever the cluster and the jobs."""

import numpy as np
import pytest

from policies import make_policy
from policies.greedy import policy as greedy_policy
from simulator import Cluster, NodeType, simulate
from simulator.core.controller import Controller
from simulator.features.failures import Failures, Outages
from simulator.laws import Deterministic
from tests.core.jobs import fixed
from tests.families import module

SERVER = NodeType("server", "A", 4, 1.0)
JOBS = fixed(np.arange(40.0), [100.0] * 40, [2] * 40)


def outages(policy: str, num_nodes: int) -> int:
    """Node 0 fails every 30 s, for 10 s; how often until the jobs are done."""
    cause = Outages(Deterministic(30.0), Deterministic(10.0), [(0,)])
    cluster = Cluster.of_nodes(SERVER, num_nodes)
    result = simulate(JOBS, cluster, make_policy(policy), features=[Failures([cause])])
    return len(result.table("outages"))


class Counted(set[int]):
    """Nodes that are down, which count how often somebody asks for one."""

    asked = 0

    def __contains__(self, node: object) -> bool:
        Counted.asked += 1
        return super().__contains__(node)


@pytest.mark.parametrize("num_nodes", [50, 500])
def test_an_outage_looks_at_the_node_that_goes(num_nodes, monkeypatch):
    made = Controller.__init__

    def init(self, *arguments, **options):
        made(self, *arguments, **options)
        self.down = Counted()

    monkeypatch.setattr(Controller, "__init__", init)
    monkeypatch.setattr(Counted, "asked", 0)
    happened = outages("fifo-strict", num_nodes)
    assert happened >= 3
    assert Counted.asked <= 2 * happened + 2  # down and up; the last is perhaps still to come up


@pytest.mark.parametrize(
    ("policy", "module", "name"),
    [
        ("greedy", greedy_policy, "profile_of"),
        ("fifo+proportional", module("policies.synergy.policy"), "kinds_on_types"),
    ],
)
def test_the_jobs_are_read_once_and_not_at_each_outage(policy, module, name, monkeypatch):
    calls = []
    read = getattr(module, name)

    def counted(*arguments):
        calls.append(name)
        return read(*arguments)

    monkeypatch.setattr(module, name, counted)
    assert outages(policy, 12) >= 3
    assert len(calls) == 1
