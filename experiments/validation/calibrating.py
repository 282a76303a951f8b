"""Rules and a number of nodes under which a log's waits come out, fitted on its first half and judged on the second."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.comparison.entrants import Entrant
from experiments.comparison.size import border
from experiments.validation.agreement import Agreement, Side, agreement_of, ratio_of_means
from experiments.validation.rules import Rule, suggested
from experiments.validation.simulating import Failed, Sides, Simulations
from simulator.errors import InputError
from simulator.statistics import Estimate
from simulator.workloads.machines import ServerGroup

if TYPE_CHECKING:
    from experiments.scenario.schema import Scenario

MOST_TIMES = 4
"""So many times the nodes that the log's machine has are tried at most."""

LEAST_GAIN = 0.1
"""A rule that brings the first half nearer by less is not kept."""

ENOUGH = 1.1
"""So near, the documented number of nodes stays."""

OUTAGES = "outages.csv"


@dataclass(frozen=True)
class HeldOut:
    """Rules and a number of nodes that were fitted on one half of the jobs, judged on the other.

    Attributes
    ----------
    nodes, of : fitted, and as documented.
    settings : ``KEY=VALUE`` each, which make a scenario the fitted one; empty where it is as documented.
    fit : simulated mean wait of the first half over the recorded one.
    simulated_s, recorded_s : mean waits of the second half; NaN where no start in it is known.
    ratio : of these, with its interval.
    rules : those that were kept.
    """

    nodes: int
    of: int
    settings: tuple[str, ...]
    fit: float
    simulated_s: float
    recorded_s: float
    ratio: Estimate
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True)
class Tried:
    """A rule on the first half of the jobs: how far the simulation was without and with it."""

    rule: Rule
    before: Agreement
    after: Agreement
    kept: bool


class Calibration:
    """The first half of a log, on which rules and nodes are fitted, and the second, on which they are judged.

    Parameters
    ----------
    sides : the log and its simulation with the documented nodes.
    folder : where a file of outages goes, if they are tried.
    """

    def __init__(
        self, entrant: Entrant, sides: Sides, simulations: Simulations, folder: Path | None = None
    ) -> None:
        self._entrant, self._sides, self._simulations = entrant, sides, simulations
        self._folder = folder
        self.skipped: list[tuple[Rule, str]] = []
        """Rules that `kept` did not try, and why."""
        half = len(sides.job_id) // 2
        self.first, self.second = np.arange(half), np.arange(half, len(sides.job_id))
        self.groups = _groups(entrant.scenario)

    def suggested(self) -> list[Rule]:
        """The rules that the record of the first half suggests."""
        sides = self._sides
        first = sides.recorded.take(self.first)
        return suggested(
            sides.log.take(self.first), sides.asked_s[self.first], sides.total_gpus, first.pool, sides.pool_gpus,
        )  # fmt: skip

    def kept(self, rules: Sequence[Rule]) -> list[Tried]:
        """Each rule on the first half, added to those before it; kept where it brings the simulation nearer."""
        one, other = (s.take(self.first) for s in (self._sides.recorded, self._sides.simulated))
        now = agreement_of(one, other, self._sides.pool_gpus)
        chosen: list[Rule] = []
        found: list[Tried] = []
        for rule in rules:
            if why := self._hindrance(rule, chosen):
                self.skipped.append((rule, why))
                continue
            scenario = self._first_jobs(self._with(self._entrant.scenario, [*chosen, rule]))
            try:
                ran = self._run(scenario, f"the first half of the jobs; {rule.words}")
            except InputError as error:  # some jobs cannot keep to the rule
                self.skipped.append((rule, str(error)))
                continue
            after = agreement_of(ran.recorded, ran.simulated, ran.pool_gpus)
            is_kept = distance_of(after) < distance_of(now) - LEAST_GAIN
            found.append(Tried(rule, now, after, is_kept))
            if is_kept:
                chosen.append(rule)
                now = after
        return found

    def _hindrance(self, rule: Rule, chosen: Sequence[Rule]) -> str:
        """The reason why a rule cannot be tried beside others; empty where it can."""
        if _is_other_tenant(rule, chosen):
            return "a scenario limits users or partitions, and a rule of the other kind is kept"
        if rule.outages and self._folder is None:
            return "no folder for the file of its outages"
        features = self._entrant.scenario.features
        own = _tables(rule) & {*features}
        if "tenants" in own and _has_room(features["tenants"], rule):
            own.remove("tenants")
        return f"the scenario has its own [{min(own)}]" if own else ""

    def held_out(self, rules: Sequence[Rule] = ()) -> HeldOut | None:
        """The fitted number of nodes under these rules, judged; None where the machine is not one of nodes.

        Raises
        ------
        InputError
            A run failed.
        """
        groups, sides = self.groups, self._sides
        is_known = np.isfinite(sides.recorded.take(self.first).wait_s)
        if not groups or is_known.sum() < 2:
            return None
        of = sum(groups.values())
        recorded_s = float(np.nanmean(sides.recorded.take(self.first).wait_s))
        scenario = self._with(self._entrant.scenario, rules)

        def mean_s(nodes: int) -> float:
            if nodes == of and not rules:  # known: what comes later hardly moves the first half
                return _mean_s(sides.simulated.take(self.first), sides.recorded.take(self.first))
            sized = self._first_jobs(_sized(scenario, groups, nodes))
            ran = self._run(sized, f"{nodes} of {of} nodes on the first half of the jobs")
            return _mean_s(ran.simulated, ran.recorded)

        nodes, fit_s = fitted(mean_s, recorded_s, of, self._fewest(of))
        judged = self._run(_sized(scenario, groups, nodes), f"{nodes} of {of} nodes on all jobs")
        one, other = judged.recorded.take(self.second), judged.simulated.take(self.second)
        known = np.isfinite(one.wait_s) & np.isfinite(other.wait_s)
        one, other = one.take(known), other.take(known)
        sizes = _shared(groups, nodes).items() if nodes != of else ()
        return HeldOut(
            nodes, of, (*self._settings(rules), *(f"{key}={n}" for key, n in sizes)),
            fit_s / recorded_s if recorded_s > 0 else math.nan, _mean(other), _mean(one),
            ratio_of_means(one, other), tuple(rules),
        )  # fmt: skip

    def _fewest(self, of: int) -> int:
        """As many nodes as the work of the first half fills: with fewer, the queue grows to the end of the log."""
        side = self._sides.simulated.take(self.first)
        work = float(np.nansum((side.end_s - side.start_s) * side.gpus))
        span_s = float(np.ptp(side.submit_s))
        share = work / (span_s * self._sides.total_gpus) if span_s > 0 else 0.0
        return min(of, max(len(self.groups), int(share * of)))

    def _with(self, scenario: Scenario, rules: Sequence[Rule]) -> Scenario:
        from experiments.scenario.options import with_settings

        return with_settings(scenario, self._settings(rules)) if rules else scenario

    def _settings(self, rules: Sequence[Rule]) -> tuple[str, ...]:
        from experiments.config import toml_value
        from experiments.files import write_whole

        settings = [setting for rule in rules for setting in rule.settings]
        if hours := [span for rule in rules for span in rule.hours]:
            given = [{"longer_than_s": longer_s, "start": start} for longer_s, start in hours]
            settings.append(f"calendar.rules={toml_value(given)}")
        down = [span for rule in rules for span in rule.outages]
        if down and self._folder is not None:
            path = (self._folder / OUTAGES).absolute()
            rows = ["node,from,to", *(f"all,{begin:.17g},{end:.17g}" for begin, end in down)]
            write_whole(path, "\n".join(rows) + "\n")
            settings.append(f"outages.path={toml_value(str(path))}")
        return tuple(dict.fromkeys(settings))

    def _first_jobs(self, scenario: Scenario) -> Scenario:
        jobs = scenario.workload.model_copy(update={"max_jobs": len(self.first)})
        return scenario.model_copy(update={"workload": jobs})

    def _run(self, scenario: Scenario, what: str) -> Sides:
        (found,) = self._simulations.of([replace(self._entrant, scenario=scenario)], what)
        if isinstance(found, Failed):
            raise InputError(found.reason)
        return found


def _mean_s(simulated: Side, recorded: Side) -> float:
    """Simulated mean wait of the jobs whose recorded wait is known, s."""
    return float(np.nanmean(simulated.wait_s[np.isfinite(recorded.wait_s)]))


def _mean(side: Side) -> float:
    """Mean wait, s; NaN of no job."""
    return float(side.wait_s.mean()) if len(side.wait_s) else math.nan


def _has_room(tenants: Any, rule: Rule) -> bool:
    """Whether tenants of a scenario, for example of fair shares, have no limits and are those whom the rule limits."""
    is_limited = tenants.quota or tenants.max_jobs or tenants.borrowing
    return not is_limited and f"tenants.by={tenants.by}" in rule.settings


def _tables(rule: Rule) -> set[str]:
    """Tables of a scenario that a rule sets."""
    tables = {s.partition(".")[0] for s in rule.settings}
    own = {"outages": rule.outages, "calendar": rule.hours}
    return tables | {name for name, given in own.items() if given}


def distance_of(found: Agreement) -> float:
    """Distance of a simulation from the record: by the logarithm of the ratio of the means, and by which jobs wait."""
    one, other = found.recorded.mean_s + 1, found.simulated.mean_s + 1
    rank = 0.0 if math.isnan(found.waits) else found.waits
    return abs(math.log(other / one)) + (1 - rank)


def fitted(mean_s: Callable[[int], float], wanted_s: float, of: int, few: int) -> tuple[int, float]:
    """The number of nodes whose mean wait is nearest to a wanted one, by its logarithm, and that wait.

    Parameters
    ----------
    mean_s : falls with the number of nodes; is asked of few of them, beginning with ``of``.
    few : the least that is tried; the most are `MOST_TIMES` ``of``.

    Where ``of`` is within a factor `ENOUGH`, it is the answer: a site knows its nodes better than a fit does.
    """
    known: dict[int, float] = {}

    def at(nodes: int) -> float:
        if nodes not in known:
            known[nodes] = mean_s(nodes)
        return known[nodes]

    if 1 / ENOUGH <= (at(of) + 1) / (wanted_s + 1) <= ENOUGH:
        return of, at(of)
    most = MOST_TIMES * of
    least = border(lambda nodes: at(nodes) <= wanted_s, few, of, most, near=True)
    tried = [nodes for nodes in (least - 1, least) if few <= nodes <= most]
    # One second more, so that waits of 0 have a distance as well.
    nearest = min(tried, key=lambda nodes: abs(np.log((at(nodes) + 1) / (wanted_s + 1))))
    return nearest, at(nearest)


def _is_other_tenant(rule: Rule, chosen: Sequence[Rule]) -> bool:
    """Whether the rule limits users where partitions are limited already, or the other way round."""
    own = {s for s in rule.settings if s.startswith("tenants.by=")}
    given = {s for each in chosen for s in each.settings if s.startswith("tenants.by=")}
    return bool(own and given and own != given)


def _groups(scenario: Scenario) -> dict[str, int]:
    """Numbers of nodes by their key."""
    by_key = getattr(scenario.cluster, "groups_by_key", None)
    found: dict[str, ServerGroup] = {} if by_key is None else by_key()
    return {f"{key}.num_nodes": group.num_nodes for key, group in found.items()}


def _shared(groups: dict[str, int], nodes: int) -> dict[str, int]:
    """So many nodes in the proportions of the groups, each at least one; the largest has the rest."""
    of, found = sum(groups.values()), {}
    for key, count in sorted(groups.items(), key=lambda each: each[1]):
        found[key] = max(1, round(count * nodes / of))
        nodes, of = nodes - found[key], of - count
    return {key: found[key] for key in groups}


def _sized(scenario: Scenario, groups: dict[str, int], nodes: int) -> Scenario:
    """The scenario with so many nodes; jobs that are larger than all of them get all."""
    from experiments.scenario.options import with_settings

    settings = [f"{key}={count}" for key, count in _shared(groups, nodes).items()]
    if getattr(scenario.workload, "oversized", None) == "refuse":
        settings.append("workload.oversized=clip")
    return with_settings(scenario, settings)
