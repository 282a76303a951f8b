"""The thesis's numbers, and what came out here."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from experiments.pages import AGAINST, Claim, NoRuns, Results
from experiments.papers.thesis.figures import (
    LABELS,
    SMALL_UP_TO,
    costs,
    decision_table,
    gains,
)
from experiments.papers.thesis.runs import (
    DUE_LAWS,
    FOLDER,
    GAP_S,
    MODELS,
    PAGE,
    RELEASED,
    RELEASED_RG,
)
from simulator.statistics import Estimate, mean_of_skewed

UNKNOWN = "the cause is not known"
LARGE_FROM = 55
"""Nodes from which the thesis sees RG improve on the greedy; its figure ends at 75."""
RG_OF_VERSION_1 = "RG of version 1 of the authors' program"
BOTH_OF_VERSION_1 = "RG and greedy both of version 1 of the authors' program"
OTHER_TIMES = "compiled Python on one thread here; C++ on an older machine there"


def _labels(due: str) -> tuple[str, ...]:
    """Rows under the second law are a variant: the thesis prints none, its group this one in 2021."""
    return () if due == "min-2max" else ("variant",)


def _by_trace(
    results: Results, study: str, over: str, method: str, due: str, sizes: range | None = None
) -> Estimate | None:
    """A gain, of each trace the mean over its settings and random seeds."""
    try:
        table = gains(results, study, over, (method,), due)
    except NoRuns:
        return None
    if sizes is not None:
        table = table[table["num_nodes"].isin(sizes)]
    if table.empty:
        return None
    return mean_of_skewed(table.groupby("trace")["gain"].mean().to_numpy())


# -- gains -----------------------------------------------------------------------------------


@PAGE.rows
def gain(results: Results) -> Iterator[Claim]:
    """Gains over EDF and over the greedy."""
    for due, law in DUE_LAWS.items():
        for name, study, over, method in (
            ("rg-over-edf", "gap", "edf", "randomised-greedy"),
            ("greedy-over-edf", "gap", "edf", "greedy"),
            ("rg-by-gap", "gap", "greedy", "randomised-greedy"),
            ("rg-by-size", "size", "greedy", "randomised-greedy"),
        ):
            ours = _by_trace(results, study, over, method, due)
            if ours is not None:
                of_edf = over == "edf"
                why = (
                    _over_edf(results, method, due) if of_edf else _over_greedy(results, study, due)
                )
                yield PAGE.row(f"gain.{name}", ours, why, labels=_labels(due), law=law)


@PAGE.rows
def over_the_released_greedy(results: Results) -> Iterator[Claim]:
    """The same gains where the greedy is the authors' own, which is exact on all their known instances."""
    for (due, law), greedy in itertools.product(DUE_LAWS.items(), RELEASED):
        for name, study, over, method, sizes in (
            ("greedy-over-edf", "gap", "edf", greedy, None),
            ("rg-by-gap", "gap", greedy, "randomised-greedy", None),
            ("rg-by-size", "size", greedy, "randomised-greedy", None),
            ("at-large-sizes", "size", greedy, "randomised-greedy", range(LARGE_FROM, 1000)),
        ):
            ours = _by_trace(results, study, over, method, due, sizes)
            if ours is not None:
                why = (
                    f"their program has five versions of the greedy, and the thesis does not print which it ran; its jobs are not "
                    f"public; {UNKNOWN}"
                )
                told = f"{law}, {LABELS[greedy]}"
                yield PAGE.row(f"gain.{name}", ours, why, labels=("authors",), proof="", law=told)


@PAGE.rows
def of_version_1(results: Results) -> Iterator[Claim]:
    """RG and greedy both of version 1 of the authors' program, with which both differ from those of version 4."""
    for due, law in DUE_LAWS.items():
        for name, study, over in (
            ("rg-over-edf", "gap", "edf"),
            ("rg-by-gap", "gap", RELEASED[1]),
            ("rg-by-size", "size", RELEASED[1]),
        ):
            ours = _by_trace(results, study, over, RELEASED_RG, due)
            if ours is None:
                continue
            by, unit = ("num_nodes", "nodes") if study == "size" else ("mean_gap_s", "s")
            table = gains(results, study, over, (RELEASED_RG,), due)
            why = ", ".join(
                f"{of.mean():.1f} % at {at:,.0f} {unit}" for at, of in table.groupby(by)["gain"]
            )
            told = RG_OF_VERSION_1 if over == "edf" else BOTH_OF_VERSION_1
            if study == "size":
                told += f", up to {table['num_nodes'].max()} nodes"
            yield PAGE.row(
                f"gain.{name}", ours, why, labels=("authors",), proof="", law=f"{law}, {told}"
            )


@PAGE.rows
def of_version_1_on_their_instances(_: Results) -> Iterator[Claim]:
    """The same on the authors' own instances, as `benchmarks.released_methods` left them."""
    for run in pd.read_csv(FOLDER / "released_versions.csv").to_dict("records"):
        law = f"the authors' instance {run['instance']}, {BOTH_OF_VERSION_1}"
        why = f"the greedy costs {run['greedy']:,.1f}; the instances of the thesis are not public"
        ours = Estimate(run["mean"], run["low"], run["high"], run["seeds"])
        yield PAGE.row("gain.rg-by-gap", ours, why, labels=("authors",), proof="", law=law)


@PAGE.rows
def superimposable(results: Results) -> Iterator[Claim]:
    """Distances of the curves of Figure 4.3: gains over EDF of RG and of the greedy, ours and the authors'."""
    for (due, law), greedy in itertools.product(DUE_LAWS.items(), ("greedy", *RELEASED)):
        try:
            table = gains(results, "gap", "edf", (greedy, "randomised-greedy"), due)
        except NoRuns:
            continue
        wide = table.pivot_table(index=["trace", "mean_gap_s"], columns="method", values="gain")
        if greedy not in wide or "randomised-greedy" not in wide:
            continue
        apart = (wide["randomised-greedy"] - wide[greedy]).abs().dropna()
        by_gap = ", ".join(
            f"{mean:.1f} at {gap:,.0f} s"
            for gap, mean in apart.groupby("mean_gap_s").mean().items()
        )
        own = greedy == "greedy"
        yield PAGE.row(
            "superimposable", mean_of_skewed(apart.groupby("trace").mean().to_numpy()), f"points: {by_gap}",
            labels=_labels(due) if own else ("authors",), law=law if own else f"{law}, {LABELS[greedy]}",
        )  # fmt: skip


@PAGE.rows
def by_model_of_times(_: Results) -> Iterator[Claim]:
    """The gains with ten nodes by model of times, as `benchmarks.models_of_times` left them."""
    yield from PAGE.rows_of(FOLDER / "models_of_times.csv", ("variant",), against="gaps of 20,000")


@PAGE.rows
def of_the_released_program(_: Results) -> Iterator[Claim]:
    """The same gains, of the authors' program on its own instances (released.csv has its costs)."""
    costs = pd.read_csv(FOLDER / "released.csv")
    law = f"the authors' program on its own {len(costs)} instances"
    for name, over, method in (
        ("rg-over-edf", "edf", "rg"), ("greedy-over-edf", "edf", "greedy"), ("rg-by-gap", "greedy", "rg"),
    ):  # fmt: skip
        each = 100 * (1 - costs[method] / costs[over])
        listed = ", ".join(f"{value:.0f}" for value in each)
        why = f"its runs give {listed} %, so the gain follows the instance; those of the thesis are not public"
        ours = mean_of_skewed(each.to_numpy())
        yield PAGE.row(f"gain.{name}", ours, why, labels=("authors",), proof="", law=law)


@PAGE.rows
def over_the_released_methods(_: Results) -> Iterator[Claim]:
    """Random methods over the authors' own, instance by instance, as `benchmarks.released_methods` left them."""
    for run in pd.read_csv(FOLDER / "released_methods.csv").to_dict("records"):
        method, instance = run["method"], run["instance"]
        text = f"cost of {method} over the authors' own, {run['iterations']} iterations, their instance {instance}"
        why = "" if "search" not in method else (
            "it gives GPUs that a node does not have" if "rebuilt" in method
            else "their seventh neighbourhood gives GPUs that a node does not have, and makes tight instances cheap"
        )  # fmt: skip
        ours = Estimate(run["mean"], run["low"], run["high"], 30)
        yield PAGE.new("Section 3.1.5, released program", text, ours, "x", why, goal="1")


@PAGE.rows
def at_large_sizes(results: Results) -> Iterator[Claim]:
    """RG over the greedy from 55 nodes on, where the thesis sees it improve."""
    for due, law in DUE_LAWS.items():
        table = gains(results, "size", "greedy", ("randomised-greedy",), due)
        large = table["num_nodes"] >= LARGE_FROM
        if not large.any():
            raise NoRuns("no run of that size")
        rest = table[~large].groupby("trace")["gain"].mean().mean()
        ours = mean_of_skewed(table[large].groupby("trace")["gain"].mean().to_numpy())
        why = f"below {LARGE_FROM} nodes it is {rest:.1f} %; {UNKNOWN}"
        yield PAGE.row("gain.at-large-sizes", ours, why, labels=_labels(due), law=law)


def _over_edf(results: Results, method: str, due: str) -> str:
    """Gains by gap under each law, how much is late, and the leasing that no method has saved."""
    runs = results.runs("run_scenario", study="gap", due=due)
    means: Any = runs.groupby(["mean_gap_s", "method"])[
        ["late_jobs", "leasing_cost", "total_cost"]
    ].mean()
    listed = _gain_by_gap(results, method, due)
    name = "the greedy" if method == "greedy" else "RG"
    gap_s = max(listed)
    edf, ours = (means.loc[(gap_s, m)] for m in ("edf", method))
    others = [
        f" Under {law}: {_by_gap(_gain_by_gap(results, method, other))}."
        for other, law in DUE_LAWS.items()
        if other != due
    ]
    return (
        f"the gain of {name} follows gap and due dates, of which the thesis prints no law: {_by_gap(listed)}."
        f"{''.join(others)} At {gap_s:,.0f} s EDF has {edf['late_jobs']:.1f} jobs late, and the leasing of {name} alone "
        f"is {100 * ours['leasing_cost'] / edf['total_cost']:.0f} % of EDF's cost"
    )


def _gain_by_gap(results: Results, method: str, due: str) -> dict[float, float]:
    """Mean gain of a method over EDF, %, by gap."""
    table = gains(results, "gap", "edf", (method,), due)
    by_gap: Any = table.groupby("mean_gap_s")["gain"].mean()
    return {float(gap): float(mean) for gap, mean in by_gap.items()}


def _by_gap(listed: dict[float, float]) -> str:
    return ", ".join(f"{gain:.0f} % at {gap_s:,.0f} s" for gap_s, gain in listed.items())


def _over_greedy(results: Results, study: str, due: str) -> str:
    """Gains by size or gap, and what shows where they come from."""
    by, unit = ("num_nodes", "nodes") if study == "size" else ("mean_gap_s", "s")
    table = gains(results, study, "greedy", ("randomised-greedy",), due)
    each = ", ".join(
        f"{of.mean():.1f} % at {at:,.0f} {unit}" for at, of in table.groupby(by)["gain"]
    )
    if study == "size":
        return f"{each}.{_better_by_proxy(results, due)}"
    runs = results.runs("run_scenario", study=study, due=due)
    late = runs.groupby("method")["late_jobs"].mean()
    other = pd.read_csv(FOLDER / "models_of_times.csv")
    mean = other.loc[other["published"] == "gain.rg-by-gap", "mean"]
    return (
        f"{each}; the greedy has {late['greedy']:.1f} jobs late, RG {late['randomised-greedy']:.1f}. The gain follows "
        f"times and due dates: with ten nodes other models of times and both laws give {mean.min():.0f} to {mean.max():.0f} %"
    )


def _better_by_proxy(results: Results, due: str) -> str:
    """Share of decisions at which RG's plan is better by its proxy; empty without such runs."""
    try:
        runs = results.runs("run_proxies", due=due, method="randomised-greedy")
    except NoRuns:
        return ""
    better = 100 * runs.groupby("num_nodes")["better_share"].mean()
    listed = ", ".join(f"{share:.0f} % with {n} nodes" for n, share in better.items())
    return (
        f" RG's plan has the better proxy at most decisions ({listed}, gaps of {GAP_S:,.0f} s), so the proxy of a "
        "decision is not the cost of the run"
    )


@PAGE.rows
def hierarchical(results: Results) -> Iterator[Claim]:
    """The hierarchical RG beside the central one, and RG beside the hierarchical model."""
    for due, law in DUE_LAWS.items():
        over, method = "randomised-greedy", "hierarchical-randomised"
        ours = _by_trace(results, "size", over, method, due)
        plain = _by_trace(results, "size", "greedy", "hierarchical-greedy", due)
        if ours is None or plain is None:
            continue
        by_size = gains(results, "size", over, (method,), due).groupby("num_nodes")["gain"].mean()
        listed = ", ".join(f"{gain:.1f} % at {n} nodes" for n, gain in by_size.items())
        why = (
            f"{listed}. The hierarchical greedy over the central one: {plain.mean:.1f} %; {UNKNOWN}"
        )
        base = "RG, as the text has it"
        yield PAGE.row("gain.hierarchical", ours, why, labels=_labels(due), base=base, law=law)
        caption = _by_trace(results, "size", "greedy", method, due)
        if caption is not None:
            words = {"base": "greedy, as the caption has it", "law": law}
            yield PAGE.row("gain.hierarchical", caption, UNKNOWN, labels=_labels(due), **words)
        small, large = range(SMALL_UP_TO + 1), range(SMALL_UP_TO + 1, 1000)
        part = _by_trace(results, "size", over, method, due, large)
        if part is not None:
            told = (
                f"gain of the hierarchical RG over the central RG, above {SMALL_UP_TO} nodes, {law}"
            )
            yield PAGE.new("Figure 4.6", told, part, "%")
        part = _by_trace(results, "size", over, method, due, small)
        if part is not None:
            told = (
                f"gain of the hierarchical RG over the central RG, up to {SMALL_UP_TO} nodes, {law}"
            )
            yield PAGE.new("Figure 4.6", told, part, "%")
        exact = _by_trace(results, "size", over, "hierarchical-milp", due)
        wide = costs(results, "gap", due)
        for model in (m for m in MODELS if m in wide and "randomised-all" in wide):
            words = {"law": f"{law}, RG from all configurations", "model": LABELS[model]}
            every = _geometric(wide["randomised-all"] / wide[model])
            why = "RG draws from a small subset of the configurations, and its size is not printed"
            yield PAGE.row("almost-equal", every, why, labels=(AGAINST,), proof="", **words)
        for model in (m for m in MODELS if m in wide):
            ratio = wide["randomised-greedy"] / wide[model]
            by_gap = ratio.dropna().groupby("mean_gap_s").mean()
            listed = ", ".join(f"{value:.2f} at {gap:,.0f} s" for gap, value in by_gap.items())
            parts = _parts_of_costs(results, due, by_gap.index[-1], (model, "randomised-greedy"))
            labels = _labels(due) if model == "hierarchical-milp-5" else ("variant",)
            words = {"law": law, "model": LABELS[model]}
            of_model = _geometric(ratio)
            why, proof = f"by gap: {listed}; {parts}; {UNKNOWN}", ""
            if exact is not None:
                why, proof = _not_the_split(f"by gap: {listed}; {parts}", of_model, ours, exact)
            yield PAGE.row("almost-equal", of_model, why, labels=labels, proof=proof, **words)
        wide = costs(results, "size", due)
        ratio = wide["hierarchical-randomised"] / wide["greedy"]
        by_size = ratio.dropna().groupby("num_nodes").mean()
        listed = ", ".join(f"{value:.2f} at {n} nodes" for n, value in by_size.items())
        rg = _by_trace(results, "size", "greedy", over, due)
        gained = "" if rg is None else f": central RG gains {rg.mean:.0f} % over the central greedy"
        why = f"{listed}{gained}, and hierarchical RG {ours.mean:.0f} % over central RG; {UNKNOWN}"
        yield PAGE.row("same-cost", _geometric(ratio), why, labels=_labels(due), law=law)
        central = _geometric(wide["randomised-greedy"] / wide["greedy"])
        yield PAGE.row("same-cost-as-greedy", central, UNKNOWN, labels=_labels(due), law=law)


def _not_the_split(told: str, ratio: Estimate, split: Estimate, exact: Estimate) -> tuple[str, str]:
    """The reason of a ratio of RG to the model, and the figure that shows it; empty where none does.

    The hierarchical RG has the controllers and nodes of the model: what lies between the two is the plan.
    """
    beside = (
        f"With the model's controllers of five nodes RG gains {split.mean:.0f} % over central RG, the exact model "
        f"{exact.mean:.0f} %"
    )
    cheaper = ratio.upper < 1 and exact.upper < split.lower
    dearer = ratio.lower > 1 and exact.lower > split.upper
    if cheaper or dearer:
        return (
            f"{beside}: the plan of a controller is the cause, not the split; {told}",
            "figure_4_6",
        )
    return f"{beside}; {told}; {UNKNOWN}", ""


def _parts_of_costs(results: Results, due: str, gap_s: float, methods: tuple[str, ...]) -> str:
    """Leasing and tardiness of each method at one gap, mean over its runs."""
    runs = results.runs("run_scenario", study="gap", due=due, mean_gap_s=gap_s)
    of = []
    for method in methods:
        mean = runs[runs["method"] == method][["leasing_cost", "tardiness_cost"]].mean()
        of.append(
            f"{LABELS[method]} {mean['leasing_cost']:,.0f} and {mean['tardiness_cost']:,.0f} $"
        )
    return f"leasing and tardiness at {gap_s:,.0f} s: {', '.join(of)}"


def _geometric(ratio: pd.Series) -> Estimate:
    """Geometric mean over traces, of each that of its runs."""
    e = mean_of_skewed(ratio.dropna().map(math.log).groupby("trace").mean().to_numpy())
    mean, low, high = np.exp([e.mean, e.lower, e.upper]).tolist()
    return Estimate(mean, low, high, e.n)


# -- times -----------------------------------------------------------------------------------


@PAGE.rows
def call_times(results: Results) -> Iterator[Claim]:
    """CPU time of one decision of each method."""
    table = decision_table(results)
    size = int(table["num_nodes"].iloc[0])
    for method in ("greedy", "randomised-greedy", "local-search"):
        ours = mean_of_skewed(table[f"{method} cpu_s"].to_numpy())
        name = f"call-time.{method}"
        yield PAGE.row(name, ours, OTHER_TIMES, method=method, size=size, jobs=10 * size)
    plain, search = table["randomised-greedy cpu_s"], table["local-search cpu_s"]
    there = [PAGE[f"call-time.{m}"].low for m in ("randomised-greedy", "local-search")]
    yield PAGE.row(
        "search-time",
        mean_of_skewed(100 * (search / plain - 1).to_numpy()),
        f"RG takes {plain.mean():.4f} s here, local search {search.mean():.4f} s; "
        f"there {there[0]:g} and {there[1]:g} s",
    )


@PAGE.rows
def exact_times(results: Results) -> Iterator[Claim]:
    """The exact model on the same decisions, central and for one controller."""
    runs = results.runs("run_decision", homogeneous=False)
    if "exact cpu_s" not in runs or not runs["exact cpu_s"].notna().any():
        return
    timed = runs.dropna(subset=["exact cpu_s"])
    for name, size in (("central", int(timed["num_nodes"].max())), ("controller", 5)):
        part = timed[timed["num_nodes"] == size]
        if not part.empty:
            why = "another formulation, solved exactly by one thread of HiGHS"
            ours = mean_of_skewed(part["exact cpu_s"].to_numpy())
            yield PAGE.row(f"model-time.{name}", ours, why, size=size, jobs=10 * size)


@PAGE.rows
def speeds(results: Results) -> Iterator[Claim]:
    """Speed of the greedy methods relative to the hierarchical model, in the same runs."""
    runs = results.runs("run_scenario", study="size", due="min-2max")
    wide = runs.pivot_table(
        index=["num_nodes", "trace"], columns="method", values="mean_decision_cpu_s"
    )
    for name, method in (("rg", "randomised-greedy"), ("greedy", "greedy")):
        why = (
            "both are timed on this machine, but the hierarchical model is solved in its exact pattern form, in milliseconds; "
            "the thesis's literal model took 40 s"
        )
        yield PAGE.row(f"faster.{name}", _geometric(wide["hierarchical-milp"] / wide[method]), why)


@PAGE.rows
def growth_of_time(results: Results) -> Iterator[Claim]:
    """CPU time of a call of the hierarchical RG at the largest size over that at the smallest."""
    runs = results.runs(
        "run_scenario", study="size", due="min-2max", method="hierarchical-randomised"
    )
    wide = runs.pivot_table(index="trace", columns="num_nodes", values="mean_decision_cpu_s")
    small, large = wide.columns.min(), wide.columns.max()
    central = results.runs(
        "run_scenario", study="size", due="min-2max", method="randomised-greedy", num_nodes=large
    )
    faster = central.groupby("trace")["mean_decision_cpu_s"].mean() / wide[large]
    yield PAGE.row("faster-than-central", _geometric(faster), "another machine", size=large)
    ratio = (wide[large] / wide[small]).rename_axis("trace")
    listed = ", ".join(f"{1e3 * s:.2f} ms at {n} nodes" for n, s in wide.mean().items())
    why = f"{listed}, with five nodes a controller at every size"
    yield PAGE.row("constant-time", _geometric(ratio), why, small=small, large=large)


@PAGE.rows
def over_the_monolithic_model(results: Results) -> Iterator[Claim]:
    """Time of the exact central model over those of the methods."""
    runs = results.runs("run_decision", homogeneous=False).dropna(subset=["exact cpu_s"])
    part = runs[runs["num_nodes"] == runs["num_nodes"].max()].rename(columns={"seed": "trace"})
    there = PAGE["model-time.central"].low
    said = ", ".join(
        f"{LABELS[m]} {there / PAGE[f'call-time.{m}'].low:,.0f}"
        for m in ("greedy", "randomised-greedy")
    )
    for method in ("greedy", "randomised-greedy"):
        ratio = (part["exact cpu_s"] / part[f"{method} cpu_s"]).groupby(part["trace"]).mean()
        why = f"the thesis's own times give {said}; the exact model here is another formulation"
        words: dict[str, Any] = {"method": LABELS[method], "size": int(part["num_nodes"].iloc[0])}
        yield PAGE.row("orders", _geometric(ratio), why, **words)


@PAGE.rows
def largest(results: Results) -> Iterator[Claim]:
    """A decision at 600 nodes."""
    runs = results.runs("run_largest")
    spent = float(runs["randomised-greedy cpu_s"].iloc[0])
    ours = float(runs["num_nodes"].iloc[0]) if spent < 10 else 0.0
    why = f"a decision at 600 nodes takes {spent:.2f} s here"
    yield PAGE.row("promising-up-to", ours, why, exact="one decision", spent=spent)


@PAGE.rows
def errors(results: Results) -> Iterator[Claim]:
    """Effect of an error of the predicted times on the cost."""
    wrong = results.runs("run_scenario", study="error")
    right = results.runs("run_scenario", study="gap", method="randomised-greedy", due="min-2max")
    right = right[right["mean_gap_s"] == wrong["mean_gap_s"].iloc[0]]
    both = wrong.set_index("trace")["total_cost"] / right.groupby("trace")["total_cost"].mean()
    if both.notna().any():
        why = "the thesis's model is not public; its effect can be run"
        yield PAGE.row("model-error", mean_of_skewed(100 * (both.dropna().to_numpy() - 1)), why)


# -- beyond the thesis -----------------------------------------------------------------------


@PAGE.rows
def variants(results: Results) -> Iterator[Claim]:
    """Gains of variants of ours."""
    for method in (
        "randomised-all", "randomised-own", "randomised-no-h", "local-search", "path-relinking",
    ):  # fmt: skip
        ours = _by_trace(results, "gap", "greedy", method, "min-2max")
        if ours is not None:
            text = f"gain of {LABELS[method]} over the greedy, {DUE_LAWS['min-2max']}"
            yield PAGE.new("beyond the thesis", text, ours, "%", figure="figure_4_3")


@PAGE.rows
def better_plans(results: Results) -> Iterator[Claim]:
    """Share of decisions where the randomised greedy improves on the greedy's plan."""
    runs = results.runs("run_proxies")
    for (due, drawn, num_nodes), part in runs.groupby(["due", "method", "num_nodes"]):
        yield PAGE.new(
            "beyond the thesis",
            f"decisions at which {LABELS[str(drawn)]} finds a better proxy than the greedy, "
            f"{num_nodes} nodes, {DUE_LAWS[str(due)]}",
            mean_of_skewed(100 * part["better_share"].to_numpy()),
            "%",
            f"a job waits at {100 * part['queue_share'].mean():.0f} % of the decisions",
            figure="proxies",
        )
