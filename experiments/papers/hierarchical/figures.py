"""The figures of the hierarchical paper, its own values drawn beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd

from experiments.pages import Drawn, NoRuns, Results, plots
from experiments.papers.hierarchical.runs import (
    DUE_LAWS,
    FASTEST,
    FOLDER,
    HEURISTICS,
    LITERAL_LIMIT_S,
    METHODS,
    OTHER_LAW,
    PAGE,
    VARIANTS,
)
from simulator.laws import Deterministic, Exponential, LogNormal
from simulator.theory import mg1_mean_response_s, size_servers

LABELS = {
    "fifo": "FIFO",
    "edf": "EDF",
    "ps": "PS",
    "hierarchical": "hierarchical (K = N/5)",
    "central": "central, the paper's objective (exact)",
    "central-2019": "central, the 2019 model",
}
OVER = {method: f"over {LABELS[method]}" for method in HEURISTICS}
IN_SYSTEM = {
    "full hour": "whole system, H at the full hour",
    "last decision": "whole system, H since the last decision",
    "no H": "whole system, submissions and completions alone",
}
STUDY_OF_LAW = {"min-2max": "size", "min-3min": OTHER_LAW}
FASTEST_RULES = "rules that take the fastest configuration"
WEIGHTS = {
    "printed": "weights U[0.36, 1.08] $/h, as printed",
    "released": "weights U[0.003, 0.015] $/s, as released",
}
"""Of the authors' instances."""
PAPER_RATE_PER_S = 2 / 450
"""Requests per second at 100 nodes, Section V-B."""


def relative_costs(results: Results, rules: Sequence[str] = HEURISTICS) -> pd.DataFrame:
    """Cost of each method over the best heuristic on the same jobs; one row a run.

    ``rules`` : `HEURISTICS`, or `FASTEST`, which have the same names in the result.
    """
    runs = results.runs("run_scenario", study="size")
    others = {*HEURISTICS, *FASTEST}.difference(rules)
    runs = runs[~runs["method"].isin(others)]
    if not set(rules) <= set(runs["method"]):
        raise NoRuns(f"no run of {', '.join(rules)}")
    runs = runs.assign(method=runs["method"].str.removesuffix("-fastest"))
    best = (
        runs[runs["method"].isin(HEURISTICS)]
        .groupby(["num_nodes", "seed"])["total_cost"]
        .min()
        .rename("best_heuristic")
    )
    runs = runs.join(best, on=["num_nodes", "seed"])
    runs["relative"] = runs["total_cost"] / runs["best_heuristic"]
    return runs


def savings(
    results: Results, study: str = "size", rules: Sequence[str] = HEURISTICS
) -> pd.DataFrame:
    """Saving over each heuristic on the same jobs, %; one row a run and heuristic. ``rules`` as of `relative_costs`."""
    runs = results.runs("run_scenario", study=study)
    if not set(rules) <= set(runs["method"]):
        raise NoRuns(f"no run of {', '.join(rules)}")
    return _over_heuristics(runs, ["num_nodes", "seed"], rules)


def authors_runs() -> pd.DataFrame:
    """Runs on the authors' own instances, as `benchmarks.authors_instances` left them."""
    return pd.read_csv(FOLDER / "authors_instances.csv")


def authors_savings(rules: Sequence[str]) -> pd.DataFrame:
    """Saving over each heuristic on the authors' instances, %, like `savings`, under each law of weights."""
    return _over_heuristics(authors_runs(), ["weights", "num_nodes", "seed"], rules)


def authors_over_central() -> pd.DataFrame:
    """Cost of the hierarchical method over the central model of 2019 on the authors' instances, %."""
    keys = ["weights", "num_nodes", "seed"]
    wide = authors_runs().pivot(index=keys, columns="method", values="total_cost")
    over = 100 * (wide["hierarchical"] / wide["central-2019"] - 1)
    return over.dropna().rename("percent").reset_index()


def variant_savings(results: Results) -> pd.DataFrame:
    """The same under each reading of the paper."""
    runs = results.runs("run_scenario")
    runs = runs[runs["study"].isin(list(VARIANTS))]
    if runs.empty:
        raise NoRuns("no run of a reading")
    return _over_heuristics(runs, ["study", "num_nodes", "jobs", "seed"])


def _over_heuristics(
    runs: pd.DataFrame, keys: list[str], rules: Sequence[str] = HEURISTICS
) -> pd.DataFrame:
    wide = runs.pivot(index=keys, columns="method", values="total_cost")
    table = pd.DataFrame(
        {
            name: 100 * (1 - wide["hierarchical"] / wide[rule])
            for name, rule in zip(HEURISTICS, rules, strict=True)
        }
    )
    return table.reset_index().melt(keys, var_name="method", value_name="saving").dropna()


MODELS = (
    "literal model a controller (P2)",
    "literal 2019 central model",
    "exact patterns a controller",
    "exact patterns, central",
)


@PAGE.figure(
    "figure_2",
    "Figure 2: time and size of one decision",
    "The models as the paper wrote them (5 % gap, HiGHS, stopped at the time limit), and the "
    "exact pattern form of the same objective solved to 1e-6. Means over decisions, geometric over seeds. Literal models were "
    "solved for two decisions a run, of those with more jobs than nodes; their variables (right) are those of a job in these "
    "decisions, times the mean number of jobs at all decisions of the runs. A hollow arrow, drawn above the "
    "limit and on no line, stands for runs in which a decision was stopped at the limit: it would have taken longer. The limit "
    "is of wall time and does not include the time to build the model.",
)
def figure_2(results: Results) -> Drawn:
    runs = results.runs("run_scenario", study="size")
    literal = results.runs("run_literal")
    if "mean_columns" not in runs:
        raise NoRuns("no run of an exact method")
    runs, literal = (
        runs.assign(cpu_s=runs["mean_decision_cpu_s"]),
        literal.assign(cpu_s=literal["solve_cpu_s"], method=literal["model"]),
    )
    parts = [
        (literal, "hierarchical"),
        (literal, "central-2019"),
        (runs, "hierarchical"),
        (runs, "central"),
    ]
    table = pd.concat(
        part[part["method"] == method].assign(model=model)
        for model, (part, method) in zip(MODELS, parts, strict=True)
    )
    figure, (left, right) = plots.canvas(1, 2, width=5.6, height=4.2)
    sizes = pd.concat([*_at_all_decisions(literal, runs), table[table["model"].isin(MODELS[2:])]])
    names = dict(zip(MODELS, MODELS, strict=True))
    limit_s = LITERAL_LIMIT_S["paper" if results.scale == "paper" else "quick"]
    is_stopped = table["model"].isin(MODELS[:2]) & (table["solved_share"] < 1.0)
    drawn = [
        plots.lines(ax, part, "num_nodes", value, "model", names, geometric=True).assign(
            quantity=what
        )
        for ax, part, value, what in (
            (left, table[~is_stopped], "cpu_s", "CPU time, s"),
            (right, sizes, "mean_columns", "variables"),
        )
    ]
    for index, model in enumerate(MODELS[:2]):
        stopped = table[is_stopped & (table["model"] == model)]
        if not stopped.empty:
            numbers = plots.by_hue(stopped, "num_nodes", "cpu_s", "model", [model], geometric=True)
            drawn.append(numbers.assign(quantity="CPU time until stopped, s"))
            left.plot(
                numbers["num_nodes"], [(2.0 + index) * limit_s] * len(numbers), "^", markerfacecolor="none",
                color=plots.PALETTE[index], label=f"{model}: stopped, > {limit_s:g} s",
            )  # fmt: skip
    seconds, few, many = (PAGE[n].low for n in ("decision-time", "variables", "variables-central"))
    is_limit = "; also the limit here" if limit_s == seconds else ""
    if not is_limit:
        left.axhline(limit_s, color="#999999", linestyle=":", label=f"limit here, {limit_s:g} s")
    plots.paper_line(left, seconds, f"paper: {seconds:g} s a controller{is_limit}")
    right.plot(
        [5, 100], [few] * 2, "--", color=plots.PAPER, label=f"paper: {few:,.0f} a controller"
    )
    right.plot(
        [40],
        [many],
        "*",
        color=plots.PAPER,
        markersize=11,
        label=f"paper: > {many:,.0f}, out of memory",
    )
    for ax, what in ((left, "CPU time of a decision, s"), (right, "variables of the model")):
        ax.set(xlabel="nodes N", ylabel=what, xscale="log", yscale="log")
        ax.set_xticks([5, 10, 20, 40, 100], ["5", "10", "20", "40", "100"])
        ax.minorticks_off()
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, fontsize=8)
    numbers = pd.concat(drawn)
    order = numbers["model"].map(MODELS.index)
    return Drawn(figure, numbers.iloc[order.argsort(kind="stable")])


def _at_all_decisions(literal: pd.DataFrame, runs: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Runs with the variables that the literal models have for the mean number of jobs at a decision."""
    for model, method in zip(MODELS, ("hierarchical", "central-2019"), strict=False):
        built = (
            literal[literal["method"] == method]
            .groupby("num_nodes")[["mean_columns", "jobs"]]
            .sum()
        )
        each = (built["mean_columns"] / built["jobs"]).rename("of_a_job")
        found = runs[runs["method"] == method].join(each, on="num_nodes", how="inner")
        yield found.assign(model=model, mean_columns=found["of_a_job"] * found["mean_active"])


@PAGE.figure(
    "figure_3",
    "Figure 3: cost against the best heuristic, and against the central model",
    "Left and middle: leasing and tardiness cost of whole runs over that of the best of FIFO, EDF and PS on the "
    "same jobs; mean and 95 % interval over seeds. The paper does not print which configuration a job gets under these rules: "
    "the cheapest one on time, else the fastest (left), or always the fastest (middle), with which the three lie close together."
    + plots.FEWER.format(runs="seeds")
    + " The paper shows the first and third line, without numbers; its saving of {saved} % over the three is in the next "
    "figure. Right: "
    "what the hierarchical method costs more than the central model of 2019, which ends at 40 nodes.",
)
def figure_3(results: Results) -> Drawn:
    runs = relative_costs(results)
    figure, (left, middle, right) = plots.canvas(1, 3, height=4.2)
    names = {method: LABELS[method] for method in (*METHODS, *HEURISTICS)}
    tables = [
        plots.lines(
            ax, relative_costs(results, rules), "num_nodes", "relative", "method", names,
            dashed=HEURISTICS, pair="seed",
        ).assign(quantity=f"over the best heuristic, ratio; {told}")
        for ax, rules, told in (
            (left, HEURISTICS, "cheapest configuration on time"),
            (middle, FASTEST, "fastest configuration"),
        )
    ]  # fmt: skip
    wide = runs.pivot(index=["num_nodes", "seed"], columns="method", values="total_cost")
    over = 100 * (wide["hierarchical"] / wide["central-2019"] - 1).dropna()
    percent = over.rename("percent").reset_index().assign(method="hierarchical")
    above = plots.lines(right, percent, "num_nodes", "percent", "method", names)
    printed = PAGE["over-central"]
    plots.paper_line(right, printed.low, f"paper: {printed.low:g} %", printed.accepted)
    right.axhline(0.0, color=plots.PAPER, linewidth=0.8)
    for ax, table, told in zip(
        (left, middle), tables, ("cheapest on time", "fastest"), strict=True
    ):
        ax.set(ylabel="total cost / cost of the best heuristic", title=f"rules: {told}")
        ax.set_ylim(0, 1.1 * float(np.nanmax(table[["mean", "high"]])))
    right.set(ylabel="cost over the central 2019 model's\non the same jobs, %")
    per_node = (runs["jobs"] / runs["num_nodes"]).iloc[0]
    for ax, shown in ((left, runs), (middle, runs), (right, percent)):
        ax.set(xlabel=f"nodes N (J = {per_node:g} N jobs)", xticks=sorted(set(shown["num_nodes"])))
    plots.legends_below(figure, left, right, (2, 1))
    data = pd.concat([*tables, above.assign(quantity="over the central 2019 model, %")])
    return Drawn(figure, data, {"saved": PAGE["saving-abstract"].printed})


@PAGE.figure(
    "savings",
    "Saving over the first-principle methods",
    "What the hierarchical method saves of the cost of each heuristic on the same jobs; mean and 95 % interval over "
    "seeds. Left and middle: with the due dates that the paper prints; the rules take the cheapest configuration on time, or "
    "always the fastest, since the paper does not print which. Right: with the due dates of the authors' generator of 2021, under "
    "which EDF is late.",
)
def figure_savings(results: Results) -> Drawn:
    cheapest, other_law = (savings(results, study=study) for study in STUDY_OF_LAW.values())
    tables = {
        DUE_LAWS["min-2max"]: cheapest,
        f"printed due dates,\n{FASTEST_RULES}": savings(results, rules=FASTEST),
        DUE_LAWS["min-3min"]: other_law,
    }
    figure, axes = plots.canvas(1, 3, width=4.6, height=4.0, sharex=True, sharey=True)
    sizes = sorted({n for table in tables.values() for n in table["num_nodes"]})
    rows = []
    for ax, (told, table) in zip(axes, tables.items(), strict=True):
        drawn = plots.lines(ax, table, "num_nodes", "saving", "method", OVER)
        rows.append(drawn.assign(reading=told.replace("\n", " ")))
        inner, outer = PAGE["saving-abstract"], PAGE["saving-conclusions"]
        label = f"paper, abstract: {inner.low:g}-{inner.high:g} %"
        plots.paper_band(ax, inner.low, inner.high, label, alpha=0.3)
        label = f"paper, conclusions: {outer.low:g}-{outer.high:g} %"
        plots.paper_band(ax, outer.low, inner.low, label)
        plots.paper_band(ax, inner.high, outer.high, "")
        ax.set(xlabel="nodes N")
        ax.set_title(told, fontsize=9)
    least = min(float(table["saving"].min()) for table in tables.values())
    axes[0].set(ylim=(min(0.0, 1.1 * least), 102), xticks=sizes)
    axes[0].set(ylabel="saving of the hierarchical method, %")
    plots.legend_below(figure, axes[0], 3)
    return Drawn(figure, pd.concat(rows))


@PAGE.figure(
    "authors_instances",
    "The authors' own instances",
    "What the hierarchical method saves over the rules, and costs more than the central model of 2019, on the instances that the "
    "authors' repository has of this very setup, as far as they come with execution times: up to three for each N, J = 10 N + 1, nearly "
    "constant gaps, the due dates and times of the files. A mark is an instance. Weights: mapped to the range that the paper prints (left), and as in the files "
    "(middle), which are 30 to 50 times as large. Filled: rules that always take the fastest configuration; hollow: the cheapest on "
    "time. The band is the range of the abstract. Of 30 nodes and more one instance each "
    "was run, above 30 nodes without the central model and the weights of the files.",
)
def figure_authors(_: Results) -> Drawn:
    figure, axes = plots.canvas(1, 3, width=4.6, height=4.0)
    rows, saved = [], PAGE["saving-abstract"]
    for ax, (weights, told) in zip(axes, WEIGHTS.items(), strict=False):
        for rules in (HEURISTICS, FASTEST):
            part = authors_savings(rules)
            part = part[part["weights"] == weights]
            look: dict[str, Any] = {"markerfacecolor": "none"} if rules == HEURISTICS else {}
            for index, method in enumerate(HEURISTICS):
                of = part[part["method"] == method]
                label = OVER[method] if rules == FASTEST else None
                ax.plot(
                    of["num_nodes"] + 0.8 * (index - 1), of["saving"], plots.MARKERS[index],
                    color=plots.PALETTE[index], label=label, **look,
                )  # fmt: skip
            rows.append(part.assign(rules="fastest" if rules == FASTEST else "cheapest on time"))
        plots.paper_band(
            ax, saved.low, saved.high, f"paper, abstract: {saved.low:g}-{saved.high:g} %"
        )
        ax.set(ylabel="saving of the hierarchical method, %", ylim=(0, 102))
        ax.set_title(told, fontsize=9)
    over = authors_over_central()
    for index, weights in enumerate(WEIGHTS):
        of = over[over["weights"] == weights]
        axes[2].plot(
            of["num_nodes"] + 0.8 * (index - 0.5), of["percent"], plots.MARKERS[3 + index],
            color=plots.PALETTE[3 + index], label=f"weights as {weights}",
        )  # fmt: skip
    printed = PAGE["over-central"].low
    plots.paper_line(axes[2], printed, f"paper: {printed:g} %")
    axes[2].axhline(0.0, color=plots.PAPER, linewidth=0.8)
    axes[2].set(ylabel="cost over the central 2019 model's\non the same jobs, %")
    for told, face in (
        ("filled: rules: fastest machine", plots.PAPER),
        ("hollow: rules: cheapest on time", "none"),
    ):
        axes[0].plot([], [], "o", color=plots.PAPER, markerfacecolor=face, label=told)
    for ax in axes:
        ax.set(xlabel="nodes N", xticks=sorted(set(rows[0]["num_nodes"])), xlim=(7, 53))
    plots.legends_below(figure, axes[0], axes[2], (2, 1))
    saved_rows = (part.rename(columns={"saving": "percent"}) for part in rows)
    return Drawn(figure, pd.concat([*saved_rows, over.assign(method="central-2019")]))


@PAGE.figure(
    "variants",
    "What the readings of the setup change ({num_nodes} nodes, {jobs} jobs)",
    "The printed setup and the released data differ in the law of the arrival gaps, the size of "
    "the tardiness weights, the due dates and the periodic decisions. Each point changes one of these alone. 'All as "
    "released' has the released arrivals and weights and no H, with the printed due dates. Other points have times from "
    "published throughput, or wrong predictions of the execution times.",
)
def variants(results: Results) -> Drawn:
    table = variant_savings(results)
    figure, (ax,) = plots.canvas(width=10.0, height=4.2)
    plots.points(ax, table, "study", "saving", "method", OVER, order=VARIANTS)
    saved = PAGE["saving-abstract"]
    plots.paper_band(ax, saved.low, saved.high, f"paper, abstract: {saved.low:g}-{saved.high:g} %")
    # A number keeps its sign of per cent.
    ticks = [fill(name.replace(" %", "\N{NO-BREAK SPACE}%"), 12) for name in VARIANTS]
    ax.set_xticks(range(len(VARIANTS)), ticks, fontsize=8)
    ax.set(xlabel="reading of the setup", ylabel="saving of the hierarchical method, %")
    ax.set_ylim(min(0.0, ax.get_ylim()[0]), None)
    plots.legend_below(figure, ax, 4)
    numbers = plots.intervals(table, ["study", "method"], "saving")
    first = table.iloc[0]
    sizes = {"num_nodes": int(first["num_nodes"]), "jobs": int(first["jobs"])}
    return Drawn(figure, numbers, sizes)


SERVICES = {
    "exponential": "exponential, 40 s",
    "deterministic": "deterministic, 40 s",
    "measured": "our solver, measured",
}


@PAGE.figure(
    "server",
    "One optimization server",
    "Mean time from a controller's request to its decision: the formula, the queue simulated by "
    "itself at two requests every 450 s, and the server inside the whole system while jobs both "
    "come and finish. If H ends at each full hour, all controllers ask at once, so requests come in batches and wait "
    "longer than Poisson requests of the same rate. If H counts from a controller's last decision, as in the authors' "
    "program, the requests are spread over time. The whole system has three runs, so its intervals are only in the "
    "rows. The axes of the panels differ.",
)
def server(results: Results) -> Drawn:
    table = _response_times(results.runs("run_queue"), results.runs("run_server"))
    sources = list(table["source"].unique())
    given = [name for name in SERVICES if name != "measured"]
    panels = [p for p in (given, ["measured"]) if set(p) & set(table["service"])]
    widths = {"width_ratios": [len(p) for p in panels]}
    figure, axes = plots.canvas(
        1, len(panels), width=9.0 / len(panels), height=3.8, gridspec_kw=widths
    )
    for ax, services in zip(axes, panels, strict=True):
        for index, source in enumerate(sources):
            part = table[(table["source"] == source) & table["service"].isin(services)]
            x = np.array([services.index(s) for s in part["service"]]) + (index - 2) * 0.15
            plots.draw_line(ax, x, part, source, index, linestyle="none")
            for at, mean in zip(x, part["mean"], strict=True):
                ax.annotate(
                    f"{mean:.1f}" if mean >= 1 else f"{mean:.2g}", (at, mean), (5, 0), textcoords="offset points", va="center",
                    fontsize=8, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
                )  # fmt: skip
        ax.set_xticks(range(len(services)), [SERVICES[service] for service in services])
        ax.set(xlabel="time of a decision", ylabel="mean response time, s")
        ax.set_xlim(-0.5, len(services) - 0.4)
        plots.log_ticks(ax)
    paper_s = PAGE["response-time"]
    plots.paper_line(axes[0], paper_s.low, f"paper: {paper_s.low:g} s", paper_s.accepted)
    plots.legend_below(figure, axes[0], 3)
    return Drawn(figure, table)


def _response_times(alone: pd.DataFrame, system: pd.DataFrame) -> pd.DataFrame:
    """One row a law of service and source: the formula, the queue alone, the whole system."""
    rows: list[dict[str, object]] = []
    for law in (Exponential(40.0), Deterministic(40.0)):
        name = type(law).__name__.lower()
        theory = mg1_mean_response_s(PAPER_RATE_PER_S, law)
        rows.append({"service": name, "source": "Pollaczek-Khinchine", "mean": theory})
        of_law = alone[alone["service"] == f"{name}:40"]
        rows.append(_estimate_row(name, "simulated queue", of_law, "mean_response_s"))
    for name in SERVICES:
        of_service = system[system["service"].str.startswith(name)]
        for h, source in IN_SYSTEM.items():
            part = of_service[of_service["h"] == h]
            if not part.empty:
                rows.append(_estimate_row(name, source, part, "middle_mean_response_s"))
    return pd.DataFrame(rows)


def _estimate_row(service: str, source: str, runs: pd.DataFrame, value: str) -> dict[str, object]:
    """Mean and interval over the replications of one kind of run; one run gives no interval."""
    ours = plots.intervals(runs.assign(service=service), ["service"], value).iloc[0]
    return {"source": source, **ours.drop("n")}


@PAGE.figure(
    "servers_needed",
    "How many optimization servers K controllers need",
    "Least number with a mean response time of at most 50 s, a limit of ours, when every submission and "
    "every completion asks for a decision (2 N / 45,000 s). Exponential: exact (M/M/c); the others "
    "approximate (Allen-Cunneen), at the sizes marked.",
)
def servers_needed(_: Results) -> Drawn:
    laws = {
        "exponential, 40 s (the paper's)": Exponential(40.0),
        "deterministic, 40 s": Deterministic(40.0),
        "lognormal, 40 s, CV 2": LogNormal(40.0, 2.0),
    }
    table = pd.DataFrame(
        {"service": name, "num_nodes": n, "servers": size_servers(n // 5, 2 / 45_000 * 5, law, 50.0).servers}
        for name, law in laws.items()
        for n in (100, 200, 300, 500, 750, 1000, 1500, 2000)
    )  # fmt: skip
    alike: dict[tuple[int, ...], list[str]] = {}
    for name, part in table.groupby("service", sort=False):
        alike.setdefault(tuple(part["servers"]), []).append(str(name))
    figure, (ax,) = plots.canvas(width=7.0, height=3.8)
    for index, (servers, names) in enumerate(alike.items()):
        ax.plot(
            table["num_nodes"].unique(), servers, "o:", label=" and ".join(names),
            color=plots.PALETTE[index], linewidth=1, markersize=9 - 2 * index,
        )  # fmt: skip
    ax.plot(
        [100], [PAGE["servers"].low], "*", color=plots.PAPER, markerfacecolor="none",
        markersize=15, label="paper: 1 server at 100 nodes",
    )  # fmt: skip
    ax.set(
        xlabel="nodes N (K = N/5 controllers)", ylabel="optimization servers needed", ylim=(0, None)
    )
    ax.legend()
    return Drawn(figure, table)
