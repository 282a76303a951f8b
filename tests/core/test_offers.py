"""What performance models offer, and the requirements of policies that ask for it."""

import numpy as np
import pytest

from policies.registry.requirements import REQUIREMENTS
from simulator import Cluster, NodeType, Performance, Workload

ONE_NODE = Cluster.of_nodes(NodeType("n", "G", 4), 1)
ASKED = ("fixed-demand", "stated-demand", "elastic", "speeds", "curves", "time-shared", "elastic-sensitivity")  # fmt: skip


class Halves(Performance):
    """A model of a package: each GPU more makes a job as many times as fast."""

    def time_s(self, job, node_type, gpus, cpus, memory_gb):
        return 100.0 / gpus if gpus else np.inf


class Own(Halves):
    """It has a fixed demand."""

    num_gpus = np.array([2])

    @property
    def fixed_s(self):
        return np.array([50.0])


class Curves(Halves):
    @property
    def offers(self):
        return super().offers | {"curves"}


class Tables(Halves):
    @property
    def offers(self):
        return frozenset({"goodput"})


class Nothing(Halves):
    @property
    def offers(self):
        return frozenset()


@pytest.mark.parametrize(
    ("model", "met"),
    [
        (Halves, {"elastic", "speeds"}),
        (Curves, {"elastic", "speeds", "curves"}),
        (Own, {"fixed-demand", "stated-demand"}),
        (Tables, {"speeds", "stated-demand"}),
        (Nothing, set()),
    ],
)
def test_a_model_of_a_package_satisfies_what_it_offers(model, met):
    workload = Workload(["a"], [0.0], model())
    found = {name for name in ASKED if REQUIREMENTS[name](workload, ONE_NODE) is None}
    assert found == met


def test_types_are_asked_of_the_model():
    """Two types of node: equal ones are asked for, unless the model says that it knows both."""

    class OnTypes(Tables):
        @property
        def offers(self):
            return super().offers | {"types"}

    a, b = NodeType("a", "A", 4), NodeType("b", "B", 4)
    mixed = Cluster((a, b), 2, [0, 1])
    for model, is_met in ((Tables, False), (OnTypes, True)):
        lack = REQUIREMENTS["types-known"](Workload(["a"], [0.0], model()), mixed)
        assert (lack is None) == is_met
