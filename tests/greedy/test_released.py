"""Agreement with the authors' released program on the authors' own instances.

Wants the folder of facts in ``SCHEDLAB_FACTS``; the figures there are what that program printed,
to six digits.
"""

import csv
import os
from pathlib import Path

import pytest

from policies.registry import make_policy
from simulator import simulate
from simulator.workloads.authors import read_instance

FACTS = Path(os.environ.get("SCHEDLAB_FACTS", "nowhere"))
pytestmark = pytest.mark.skipif(
    not FACTS.is_dir(), reason="set SCHEDLAB_FACTS to the folder of the authors' instances"
)

FIRST_PRINCIPLES = {"FIFO": "fifo-shared", "EDF": "edf-shared", "Priority": "ps-shared"}
SMALL = [
    "andreas_s1_1-10-100-1000-high",
    "andreas_s1_1-10-100-1000-mixed",
    "andreas_s2_1-10-100-1000-high",
    "andreas_s2_1-10-100-1000-mixed",
    "andreas_s2_1-20-200-1000-high",
]
LATE = {"andreas_s1_1-10-100-1000-high"}
"""The greedy leaves jobs late here: see docs/papers.md."""


def released(family, instance, method):
    with open(FACTS / family / "baseline.csv", newline="", encoding="utf-8") as lines:
        rows = [r for r in csv.DictReader(lines) if r["instance"] == instance]
    return float(next(r["total_cost"] for r in rows if r["method"] == method))


def total_cost(family, instance, policy, **options):
    read = read_instance(FACTS / family / "instances" / instance)
    run = simulate(
        read.workload, read.cluster, make_policy(policy, **options), record_schedule=False
    )
    return run.total_cost


@pytest.mark.parametrize("instance", SMALL)
@pytest.mark.parametrize("method", FIRST_PRINCIPLES)
def test_first_principles_of_andreas_to_every_printed_digit(instance, method):
    ours = total_cost("andreas", instance, FIRST_PRINCIPLES[method])
    assert ours == pytest.approx(released("andreas", instance, method), rel=1e-5)


@pytest.mark.parametrize("instance", SMALL)
def test_greedy_of_andreas(instance):
    ours = total_cost("andreas", instance, "greedy", shrink=False, expand=False)
    tolerance = 0.03 if instance in LATE else 1e-5
    assert ours == pytest.approx(released("andreas", instance, "Greedy"), rel=tolerance)
