"""Premises of an answer that a reader may not expect, a line each: free preemption, work lost at failures, weights of no effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.analysis.record_failures import NODE_FAILS, states_of
from simulator.features.reconfiguration import Delays

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from experiments.scenario.schema import Scenario


def premises(scenarios: Iterable[Scenario], runs: pd.DataFrame) -> list[str]:
    """Lines on some scenarios that were compared.

    Parameters
    ----------
    runs : of all of them, as those of `experiments.comparison.answer.Comparison`.
    """
    given = [*scenarios]
    lines = [*_of_preemption(given, runs), *_of_failures(given, runs)]
    return list(dict.fromkeys([*lines, *(line for each in given for line in _of_weights(each))]))


def _of_preemption(given: list[Scenario], runs: pd.DataFrame) -> Iterable[str]:
    """A stop that costs nothing."""
    if "preemptions" not in runs or not (runs["preemptions"] > 0).any():
        return
    if all(Delays.of(each.reconfiguration_s) == Delays() for each in given):
        yield "preemption takes no time here: reconfiguration_s says how long a job needs to go on"


def _of_failures(given: list[Scenario], runs: pd.DataFrame) -> Iterable[str]:
    """Work that is lost, and failures that the log has already."""
    if "lost_gpu_h" not in runs or not (runs["lost_gpu_h"] > 0).any():
        return
    if all("checkpoints" not in each.features for each in given):
        yield "a job loses all its work at a failure here: [checkpoints] saves it"
    from experiments.scenario.build import build

    record = build(given[0])[0].record
    failed = 0 if record is None else sum(state in NODE_FAILS for state in states_of(record))
    if failed:
        yield f"the log holds failures of nodes already, of {failed} jobs: those of the scenario come on top"


def _of_weights(scenario: Scenario) -> Iterable[str]:
    """Weights of tenants under a policy that does not share between them."""
    from policies import requirements_of

    tenants = scenario.features.get("tenants")
    if tenants is None or not getattr(tenants, "weight", None):
        return
    if ".py:" in scenario.policy:  # what code of a user reads is not known
        return
    shares = "tenants" in requirements_of(scenario.policy)
    if not shares and "weight_fairshare" not in scenario.policy_options:
        yield f"tenants.weight changes nothing under {scenario.policy}, which does not share between tenants"
