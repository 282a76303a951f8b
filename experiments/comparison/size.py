"""`schedlab size`: the smallest cluster that meets a target, by bisection.

A number of the scenario is halved between one that misses the target and one that meets it: first on the jobs as
they are, then on all draws (`experiments.comparison.comparing.on_same_draws`), beginning where the first search ended.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.comparison.comparing import on_same_draws, said_of_jobs
from experiments.comparison.entrants import Field
from experiments.comparison.estimating import is_of_file
from experiments.comparison.metrics import Scale, metric_of
from experiments.comparison.plan import Plan, cell_of
from experiments.comparison.recorded import said_of_record
from experiments.comparison.runs import ComparedRuns
from experiments.estimates import INTERVAL
from simulator.arguments import MOST_GPUS, MOST_NODES
from simulator.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from experiments.comparison.answer import Comparison
    from experiments.scenario.schema import Scenario
    from experiments.sweep.store import Store

Number = int | float


@dataclass(frozen=True)
class Varied:
    """Key that is varied.

    Attributes
    ----------
    key : of the scenario.
    words : for one, and for several.
    step : distance of the numbers that are tried.
    is_cost : whether more of it makes the metric worse: the largest number is looked for.
    """

    key: str
    words: tuple[str, str]
    step: float = 1
    is_cost: bool = False

    def number(self, steps: int) -> Number:
        """So many steps."""
        return steps if self.step == 1 else round(steps * self.step, 9)

    def text(self, number: Number) -> str:
        """A number with its words."""
        return f"{number:,} {self.words[number != 1]}"


VARIED = {
    "nodes": Varied("cluster.num_nodes", ("node", "nodes")),
    "gpus": Varied("cluster.gpus_per_node", ("GPU a node", "GPUs a node")),
    "speed": Varied("cluster.speed", ("times the speed",) * 2, 0.05),
    "price": Varied("cluster.price_per_hour", ("currency an hour and node",) * 2, 0.01, True),
}

MOST_STEPS = 10_000_000
"""Of speeds and prices."""

UNITS = {"": 1.0, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0, "%": 0.01}

BEYOND = 2
"""Sizes above the answer that are looked at, too: whether the curve is monotone there."""

TARGET = re.compile(r"\s*(\w+?)\s*([<>])=?\s*([\d.]+(?:e[+-]?\d+)?)\s*([a-z%]*)\s*", re.I)


@dataclass(frozen=True)
class Target:
    """A bound on a metric of ``summary.json``; the bound itself meets it.

    Attributes
    ----------
    text : as it was given.
    is_upper : whether the metric must be at most the bound.
    """

    text: str
    metric: str
    is_upper: bool
    bound: float

    @classmethod
    def parse(cls, text: str) -> Target:
        """``p95_total_wait < 1h``: a metric with or without ``_s``, a bound in s, min, h, d, % or plain.

        Raises
        ------
        InputError
            It is none; one line.
        """
        found = TARGET.fullmatch(text)
        metric, sign, number, unit = found.groups() if found is not None else ("", "", "", "")
        if found is None or number.count(".") > 1 or number == "." or unit not in UNITS:
            raise InputError(
                f"--target: got {text!r}, expected METRIC < NUMBER, such as 'p95_total_wait < 1h' "
                f"(units: {', '.join(filter(None, UNITS))})"
            )
        is_time = unit in ("s", "min", "h", "d") and not metric.endswith("_s")
        metric = f"{metric}_s" if is_time else metric
        return cls(text.strip(), metric, sign == "<", float(number) * UNITS[unit])

    def times(self, factor: float) -> Target:
        """The target with its bound times a factor."""
        return replace(self, bound=self.bound * factor)

    def measured(self, found: Comparison, share: float) -> pd.DataFrame:
        """One row a scenario: ``policy``, its estimate, the ``share`` of its draws that meet the target.

        ``meets`` : whether that is the ``share`` that is asked for, or more.
        """
        table = found.table[(found.table["metric"] == self.metric) & (found.table["minus"] == "")]
        runs = found.runs[(found.runs["draw"] > 0) == is_of_file(found.runs)]
        shares = runs.groupby("policy")[self.metric].agg(self.share)
        table = table[["policy", "mean", "lower", "upper", "replications"]]
        table = table.assign(share=table["policy"].map(shares))
        return table.assign(meets=table["share"] >= share - 1e-12)

    def share(self, values: Sequence[float]) -> float:
        """Part of the values that meet it."""
        x = np.asarray(values)
        return float((x <= self.bound if self.is_upper else x >= self.bound).mean())


@dataclass(frozen=True)
class Size:
    """The answer.

    Attributes
    ----------
    vary : a name of `VARIED`, or policy.
    best : the smallest number that meets the target, of a cost the largest, of policies the best that does; None where
        none does.
    table : one row a number that was tried: ``mean``, ``lower``, ``upper`` (95 %), ``replications``, ``share`` of the
        draws that meet the target, ``meets``.
    title : of the picture.
    ends : what ``lower`` and ``upper`` are.
    """

    vary: str
    target: Target
    share: float
    best: Number | str | None
    table: pd.DataFrame
    title: str
    currency: str
    notes: tuple[str, ...]
    ends: str = INTERVAL

    def sheet(self) -> pd.DataFrame:
        """The table to read, in words and units."""
        import pandas as pd

        t, scale = self.table, self._scale()
        title = metric_of(self.target.metric).title(self.target.bound, self.currency)
        told = {
            self.vary: t[self.vary],
            title: t["mean"].map(scale.number),
            self.ends: [*map(scale.interval, t["lower"], t["upper"])],
            "draws": t["replications"].astype(int),
            "meet the target": t["share"].map(_percent),
        }
        return pd.DataFrame(told)

    def words(self) -> str:
        """The answer in a sentence or two."""
        said, runs = self._scale(), int(self.table["replications"].max())
        of = f"in at least {_percent(self.share)} of {runs} draws" if runs > 1 else "in one run"
        if self.vary == "policy":
            return self._of_policies(said, of)
        what, metric = VARIED[self.vary], metric_of(self.target.metric)
        subject = f"the {metric.words} {'are' if metric.several else 'is'}"
        whole = self.table[self.table["replications"] == runs]
        if self.best is None:
            last = whole.iloc[0 if what.is_cost else -1]
            at = self._text(last)
            return f"Nothing meets {self.target.text} {of}: at {at} {subject} {said.text(last['mean'])}."
        row = whole[whole[self.vary] == self.best].iloc[0]
        interval = ""
        if runs > 1:
            interval = f" ({self.ends} {said.text(row['lower'])} to {said.text(row['upper'])})"
        verb = "meets" if self.best == 1 or self.vary in ("speed", "price") else "meet"
        most = "At most " if what.is_cost else ""
        told = (
            f"{most}{self._text(row)} {verb} {self.target.text} {of}: {subject} "
            f"{said.text(row['mean'])}{interval}."
        )
        beyond = whole[~whole["meets"]]
        side = beyond[self.vary] > self.best if what.is_cost else beyond[self.vary] < self.best
        beyond = beyond[side]
        if beyond.empty:
            return (
                told
                if what.is_cost or self.vary == "speed"
                else f"{told} On fewer the jobs do not fit."
            )
        next_row = beyond.iloc[0 if what.is_cost else -1]
        share = f", and {_percent(next_row['share'])} of the draws meet it" if runs > 1 else ""
        return f"{told} At {self._text(next_row)} {'they are' if metric.several else 'it is'} {said.text(next_row['mean'])}{share}."

    def _of_policies(self, said: Scale, of: str) -> str:
        """Which of them meet the target."""
        told = {
            meets: ", ".join(
                f"{row['policy']} ({said.text(row['mean'])})" for _, row in rows.iterrows()
            )
            for meets, rows in self.table.groupby("meets")
        }
        if True not in told:
            return f"No policy meets {self.target.text} {of}: {told[False]}."
        first = f"These meet {self.target.text} {of}: {told[True]}."
        return f"{first} These do not: {told[False]}." if False in told else first

    def picture(self) -> Figure:
        """The curve: the metric at each number with its interval, and the target."""
        from experiments.pictures.plots import PALETTE, canvas, draw_estimates

        figure, axes = canvas(1, 1, width=6.0, height=3.8)
        ax, said, t = axes[0], self._scale(), self.table
        y, lower, upper = (t[name] / said.by for name in ("mean", "lower", "upper"))
        line = "none" if self.vary == "policy" else "-"
        known = f", {self.ends}" if lower.notna().any() else " of one run"
        draw_estimates(
            ax, t[self.vary], y, yerr=[y - lower, upper - y], marker="o", linestyle=line,
            label=f"estimate{known}",
        )  # fmt: skip
        ax.axhline(
            self.target.bound / said.by, color="0.4", linestyle="--", label=self._bound(said)
        )
        if self.best is not None:
            row = t[t[self.vary] == self.best].iloc[0]
            ax.plot(
                [self.best], [row["mean"] / said.by], "s", color=PALETTE[1], markersize=8,
                label=self._text(row),
            )  # fmt: skip
        ax.set_xlabel("policy" if self.vary == "policy" else self._unit(VARIED[self.vary].words[1]))
        ax.set_ylabel(metric_of(self.target.metric).title(self.target.bound, self.currency))
        ax.set_title(self.title, parse_math=False)
        ax.legend()
        return figure

    def _bound(self, said: Scale) -> str:
        """The target in words."""
        return f"target: at {'most' if self.target.is_upper else 'least'} {said.text(self.target.bound)}"

    def _scale(self) -> Scale:
        return metric_of(self.target.metric).scaled(self.target.bound, self.currency)

    def _text(self, row: Any) -> str:
        number = row[self.vary]
        if self.vary == "policy":
            return str(number)
        return self._unit(
            VARIED[self.vary].text(int(number) if number == int(number) else float(number))
        )

    def _unit(self, text: str) -> str:
        return text.replace("currency", self.currency)


def best_size(
    at: Callable[[Number], Scenario],
    target: Target,
    source: str,
    *,
    vary: str = "nodes",
    share: float = 0.95,
    draws: int = 40,
    today: int | None = None,
    store: Store | None = None,
    progress: bool = False,
    **options: Any,
) -> Size:
    """The smallest number (of a price the largest) at which so large a share of the draws meets the target.

    Parameters
    ----------
    at : the scenario with a number of what is varied.
    vary : a name of `VARIED`.
    draws : see `Plan`.
    today : nodes that the log's cluster has; None: not known. Its waits there are held against the recorded ones.
    store, progress, options : see `ComparedRuns`.

    Raises
    ------
    InputError
        The scenario, a metric or a number is wrong; one line.
    """
    import pandas as pd

    from experiments.scenario.build import build

    what = VARIED[vary]
    first = at(what.number(max(1, round(1 / what.step))))
    few, begin, most = _bounds(first, vary)
    cell_of(
        {}, first, Plan(draws=draws), Field((), (), ())
    )  # refuses a number of draws before the first run
    with closing(ComparedRuns(source, store, progress, **options)) as runs:
        search = _Sizing(at, target, share, vary, runs)
        answer = search.best(1, few, begin, most)
        if draws > 1:
            answer = search.best(draws, few, few if answer is None else answer, most, near=True)
        if answer is not None:
            for more in range(1, BEYOND + 1):
                if few <= (steps := answer - more if what.is_cost else answer + more) <= most:
                    search.row(steps, draws)
        told = search.beside_record(today, answer, few) if vary == "nodes" else []
    found = pd.DataFrame(
        [{vary: what.number(steps), **search.rows[steps]} for steps in sorted(search.rows)]
    )
    asked = found[found["replications"] == found["replications"].max()]
    best = None if answer is None else what.number(answer)
    scenario = at(what.number(few))
    title = f"{Path(source).name} under {scenario.called}"
    notes = (*search.notes, *_not_monotone(asked, vary), *said_of_jobs([scenario]), *told)
    return Size(
        vary, target, share, best, found, title, build(scenario)[1].currency, notes, search.ends
    )  # fmt: skip


def policies_that_meet(
    scenarios: dict[str, Scenario],
    target: Target,
    source: str,
    *,
    share: float = 0.95,
    draws: int = 40,
    store: Store | None = None,
    progress: bool = False,
    **options: Any,
) -> Size:
    """Policies under which so large a share of the draws meets the target, all on the same draws.

    Parameters
    ----------
    scenarios : one a policy, by its name; they differ in the policy alone.
    """
    from experiments.scenario.build import build

    first = next(iter(scenarios.values()))
    with closing(ComparedRuns(source, store, progress, **options)) as runs:
        found = on_same_draws(
            scenarios, Plan((), (target.metric,), draws, option="--target"), runs, ""
        )
    table = target.measured(found, share)
    table = table.sort_values("mean", ascending=target.is_upper, kind="stable")
    best = next(iter(table.loc[table["meets"], "policy"]), None)
    title = f"{Path(source).name}: policies"
    return Size(
        "policy", target, share, best, table, title, build(first)[1].currency,
        (*found.notes, *said_of_jobs(scenarios.values())), found.ends,
    )  # fmt: skip


class _Sizing:
    """The sizes that were tried, in steps of what is varied; a row is that of most draws."""

    def __init__(
        self, at: Callable[[Number], Scenario], target: Target, share: float, vary: str, runs: ComparedRuns
    ) -> None:  # fmt: skip
        self._at, self._target, self._share, self._vary = at, target, share, vary
        self._runs = runs
        self.rows: dict[int, dict[str, Any]] = {}
        self._draws: dict[int, int] = {}
        self.notes: dict[str, None] = {}
        self.ends = INTERVAL

    def row(self, steps: int, draws: int) -> dict[str, Any]:
        """Numbers of a size; simulated where it was not with so many draws."""
        known = self.rows.get(steps)
        if known is not None and self._draws[steps] >= draws:
            return known
        scenario = self._at(VARIED[self._vary].number(steps))
        text = VARIED[self._vary].text(VARIED[self._vary].number(steps))
        plan = Plan((), (self._target.metric,), draws, option="--target")
        found = on_same_draws({text: scenario}, plan, self._runs, text)
        if draws > 1:
            self.ends = found.ends
            self.notes.update((f"{text}: {note}", None) for note in found.notes)
        measured = self._target.measured(found, self._share).drop(columns="policy")
        row: dict[Any, Any] = measured.iloc[0].to_dict()
        self.rows[steps], self._draws[steps] = row, draws
        return row

    def beside_record(self, today: int | None, best: int | None, few: int) -> list[str]:
        """Lines on the waits of the log on its own nodes; none where its jobs have no record, or do not fit these nodes.

        Where no number of nodes is given, the cluster of the log has as many as its jobs held at once, and ``few`` on
        which each of them fits, or more.
        """
        from experiments.scenario.steps import read

        first = self._at(1)
        record = read(first).workload.record
        if record is None or not record.has_starts:
            return []
        gpus, _ = record.most_at_once()
        of_each = getattr(first.cluster, "gpus_per_node", 1)
        nodes = max(few, int(np.ceil(gpus / of_each - 1e-9))) if today is None else today
        scenario, text = self._at(nodes), VARIED["nodes"].text(nodes)
        plan = Plan((), (self._target.metric,), 1, option="--target")
        try:
            found = on_same_draws({text: scenario}, plan, self._runs, text)
            beside = said_of_record(scenario, found.runs, text)
        except InputError:  # the answer stands without this line
            beside = []
        return beside if today is not None else [on_fewest(gpus, nodes, best, beside)]

    def best(self, draws: int, few: int, begin: int, most: int, near: bool = False) -> int | None:
        """The smallest size that meets the target, of a cost the largest; None where none does; see `border`."""
        is_cost = VARIED[self._vary].is_cost
        found = border(
            lambda steps: bool(self.row(steps, draws)["meets"]) != is_cost, few, begin, most, near
        )
        found -= is_cost
        return found if few <= found <= most else None


def border(
    is_beyond: Callable[[int], bool], few: int, begin: int, most: int, near: bool = False
) -> int:
    """The least number of ``few`` to ``most`` from which on all are beyond; ``most + 1`` where none is.

    Parameters
    ----------
    is_beyond : asked of few numbers, one after the other.
    begin : the first of them.
    near : the border is expected near ``begin``: the distance from there doubles, not the number.
    """
    low, high, stride = few - 1, most + 1, 1
    if is_beyond(begin):
        high = begin
        while near and high - low > 1:
            number = max(few, high - stride)
            if not is_beyond(number):
                low = number
                break
            high, stride = number, 2 * stride
    else:
        low = begin
        while low < most:
            number = min(most, low + stride if near else 2 * low)
            if is_beyond(number):
                high = number
                break
            low, stride = number, 2 * stride
    while high - low > 1:
        number = (low + high) // 2
        low, high = (low, number) if is_beyond(number) else (number, high)
    return high


def _bounds(scenario: Scenario, vary: str) -> tuple[int, int, int]:
    """In steps: the fewest on which all jobs fit, a number to begin with, and so many that all jobs run at once."""
    from experiments.scenario.steps import read
    from simulator.workloads.reshaping import fixed_times

    jobs = read(scenario).workload
    if jobs.is_elastic or getattr(scenario.cluster, "kind", None) != "nodes":
        raise InputError("size: expected jobs of fixed demand on a cluster of kind 'nodes'")
    if VARIED[vary].step != 1:
        return 1, round(1 / VARIED[vary].step), MOST_STEPS
    keys = {"gpus_per_node": 1, **scenario.cluster.model_dump()}  # type: ignore[union-attr]
    of_each = keys["gpus_per_node" if vary == "nodes" else "num_nodes"]
    needs = [float(jobs.num_gpus.max()) / of_each]
    if vary == "nodes":
        for demand, has in (
            (jobs.num_cpus, "cpus_per_node"),
            (jobs.memory_gb, "memory_gb_per_node"),
        ):
            if keys.get(has) and not np.isnan(demand).all():
                needs.append(float(np.nanmax(demand)) / keys[has])
    few = max(1, int(np.ceil(max(needs) - 1e-9)))
    # On so many each job has nodes of its own.
    at_once = int(np.ceil(jobs.num_gpus / of_each).sum())
    most = max(few, min(at_once, MOST_NODES if vary == "nodes" else MOST_GPUS))
    work, span_s = (jobs.num_gpus * fixed_times(jobs)).sum(), np.ptp(jobs.submit_s)
    filled = int(work / span_s / of_each) + 1 if span_s > 0 else few
    return few, min(max(few, filled), most), most


def on_fewest(gpus: float, nodes: int, best: int | None, beside: Sequence[str]) -> str:
    """A line on the fewest nodes that the cluster of a log can have, where nobody says how many it has.

    Parameters
    ----------
    gpus : that its jobs held at once.
    best : the answer.
    beside : on the waits of the log on so many nodes; may be empty.
    """
    text = VARIED["nodes"].text(nodes)
    held = f"{gpus:,.6g} GPU{'' if gpus == 1 else 's'}"
    told = f"jobs of this log held {held} at once, and each of them fitted, so its cluster has {text} or more"
    if best is not None and best < nodes:
        told += f", and the answer has fewer ({best:,})"
    told += ". --nodes says how many it has"
    return f"{told}. With {text}, {beside[0]}" if beside else told


def _not_monotone(table: pd.DataFrame, vary: str) -> list[str]:
    """A note where the metric does not go one way from size to size, or a size misses beyond one that meets."""
    means, sizes = table["mean"].to_numpy(), table[vary].tolist()
    steps = np.diff(means)
    if not ((steps <= 0).all() or (steps >= 0).all()):
        step = int(np.flatnonzero(np.sign(steps) != np.sign(means[-1] - means[0]))[0])
        return [
            f"the curve is not monotone: from {sizes[step]} to {sizes[step + 1]} {vary} it goes from "
            f"{means[step]:.6g} to {means[step + 1]:.6g}; a smaller size that was not tried may meet the target"
        ]
    changes = np.diff(table["meets"].astype(int)) * (-1 if VARIED[vary].is_cost else 1)
    if (changes < 0).any():
        return [f"a larger number of {vary} misses the target where a smaller one meets it"]
    return []


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"


def write_size(size: Size, folder: Path) -> str:
    """size.csv and size.png in a folder; returns both names."""
    from experiments.files import write_whole
    from experiments.pictures.saving import save_picture

    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "size.csv", size.table.to_csv(index=False, lineterminator="\n"))
    save_picture(size.picture(), folder / "size.png")
    return f"{folder / 'size.csv'}, {folder / 'size.png'}"
