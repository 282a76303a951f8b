"""Whether decisions depend on jobs to come: the future is drawn anew, and all decisions before it have to stay the same."""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from experiments.scenario.schema import Scenario
    from simulator import Cluster, Decision, Result, View, Workload
    from simulator.model.cluster import IntArray

CUTS = (0.2, 0.5, 0.8)
"""Parts of the jobs that stay as they are."""
SEEDS = range(3)
"""Of the futures behind each cut: three times longer jobs and rarer ones, short and frequent ones, few different ones."""
GAPS = (3.0, 0.3, 1.0)
"""By seed, times between submissions over those that there were."""
FEW = 3
"""Different jobs of the third future."""
NAMES = ("user", "vc", "account")
"""Columns whose names are known beforehand, as in a list of accounts: each stands in every future."""


def looks_ahead(scenario: Scenario) -> str:
    """In words, how the decisions of a scenario's policy depend on jobs that are not submitted yet; empty where they do not.

    Behind three cuts the jobs are others, of other laws. Until the first of them is submitted, the decisions have to be
    the same to the last digit. So a policy is found too that only knows the law of all jobs.
    """
    from experiments.scenario.build import build, policy_of
    from experiments.scenario.run import run

    workload, cluster = build(scenario)
    policy = policy_of(scenario)

    def simulated(jobs: Workload, policy: RecordedPolicy) -> Result:
        return run(scenario, record_schedule=False, agent=policy, built=(jobs, cluster))

    # Errors of predictions are drawn for all jobs, so that other numbers of jobs have others.
    others = futures(workload, cluster, fewer="predictions" not in scenario.features)
    return depends_on(policy, simulated, workload, others)


def depends_on(
    policy: Any,
    simulated: Callable[[Workload, RecordedPolicy], Result],
    workload: Workload,
    others: Iterable[tuple[int, Workload]],
) -> str:
    """As `looks_ahead`, of any policy.

    Parameters
    ----------
    simulated : makes a run of some jobs by a policy.
    others : other jobs, and how many of the first ones are those of the workload.
    """
    made = RecordedPolicy(policy)
    if simulated(workload, made).informed:
        return "the policy asks for jobs that have not been submitted yet (view.all_jobs)"
    for kept, other in others:
        until_s = float(workload.submit_s[kept])
        again = RecordedPolicy(policy, until_s)
        with contextlib.suppress(_Over):
            simulated(other, again)
        if again.decisions != [each for each in made.decisions if each[0] < until_s]:
            return (
                f"if other jobs follow after {until_s:.9g} s, the policy decides differently before"
            )
    return ""


class _Over(Exception):
    """Raised when what is compared has been decided."""


class RecordedPolicy:
    """A policy whose decisions are kept until a time; then the run ends."""

    def __init__(self, policy: Any, until_s: float = math.inf) -> None:
        self.policy, self.until_s = policy, until_s
        self.decisions: list[tuple[Any, ...]] = []
        self.fractional_gpus = bool(getattr(policy, "fractional_gpus", False))

    def __deepcopy__(self, known: dict[int, Any]) -> RecordedPolicy:
        """The same for another controller; the decisions of all are kept together."""
        own = RecordedPolicy(copy.deepcopy(self.policy, known), self.until_s)
        own.decisions = self.decisions
        return own

    def decide(self, view: View) -> Decision:
        """The policy's decision."""
        if view.now_s >= self.until_s:
            raise _Over
        made: Decision = getattr(self.policy, "decide", self.policy)(view)
        self.decisions.append((
            view.now_s, view.controller, list(made.shares()), made.keep_running, made.again_s, list(made.stopped),
            dict(made.gpus_of or {}), dict(made.configuration_of or {}),
        ))  # fmt: skip
        return made


def futures(
    workload: Workload, cluster: Cluster, fewer: bool = True
) -> Iterator[tuple[int, Workload]]:
    """For each cut and seed, how many jobs stay, and the jobs; ``fewer``: in the third future half as many come."""
    size = np.argsort(workload.performance.work_gpu_s(cluster), kind="stable")
    for kept in dict.fromkeys(max(1, int(cut * len(workload))) for cut in CUTS):
        for seed in SEEDS if kept < len(workload) else ():
            rng = np.random.default_rng((kept, seed))
            half = len(size) // 2
            of = (size[half:], size[: max(1, half)], rng.permutation(size)[:FEW])[seed]
            count = len(workload) - kept
            if fewer and seed == SEEDS[-1]:
                names = max(len(set(getattr(workload, name))) for name in NAMES)
                count = min(count, max(count // 2, names))
            yield kept, _with_future(workload, kept, rng.choice(of, count), seed)


def _with_future(workload: Workload, kept: int, drawn: IntArray, seed: int) -> Workload:
    """The first jobs as they are; behind them others of the workload, the first when one came, or later."""
    rows = np.concatenate([np.arange(kept), drawn])
    columns: dict[str, Any] = workload.rows(rows)
    later = workload.submit_s[kept : len(rows)]
    begin_s = later[0] + max(0.0, GAPS[seed] - 1) * float(np.diff(workload.submit_s).mean())
    submit_s = np.concatenate([workload.submit_s[:kept], begin_s + GAPS[seed] * (later - later[0])])
    columns["due_s"] = columns["due_s"] - columns["submit_s"] + submit_s
    columns["submit_s"] = submit_s
    columns["job_id"] = [*workload.job_id[:kept], *(f"later {seed} {i}" for i in range(len(later)))]
    if workload.after:
        columns["after"] = [*workload.after[:kept], *((),) * len(later)]
    for name in NAMES:
        own = list(columns[name])
        missing = [each for each in dict.fromkeys(getattr(workload, name)) if each not in {*own}]
        columns[name] = [*own[: len(own) - len(missing)], *missing]
    return replace(workload, **columns)
