"""The hierarchical paper's numbers, and what came out here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from experiments.pages import AGAINST, Claim, NoRuns, Results
from experiments.papers.hierarchical.figures import (
    FASTEST_RULES,
    IN_SYSTEM,
    LABELS,
    PAPER_RATE_PER_S,
    STUDY_OF_LAW,
    WEIGHTS,
    authors_over_central,
    authors_savings,
    relative_costs,
    savings,
    variant_savings,
)
from experiments.papers.hierarchical.runs import (
    DUE_LAWS,
    FASTEST,
    FOLDER,
    HEURISTICS,
    JOBS_PER_CONTROLLER,
    MUS,
    NODES_PER_CONTROLLER,
    PAGE,
    SECTION_4,
    THROUGHPUT,
)
from simulator.laws import Exponential
from simulator.statistics import Estimate, mean_of_skewed
from simulator.theory import mg1_mean_response_s, size_servers

OTHER_MODEL = (
    "another formulation: the exact pattern form of the same objective, one thread of HiGHS; the "
    "paper's literal model had 32 cores, Gurobi 8 and a 5 % gap"
)
VARIANT = ("variant",)
EXACT = "it is worked out, without chance"
"""Reason why a number has no interval."""
SERVER_LIMIT_S = 50.0
"""Mean response time that counts as no delay; a limit of ours, which the row names."""


def by_seed(table: pd.DataFrame, value: str) -> Estimate:
    """Mean over seeds, of each the mean of its runs."""
    return mean_of_skewed(table.groupby("seed")[value].mean().to_numpy())


# -- costs -----------------------------------------------------------------------------------


@PAGE.rows
def saving(results: Results) -> Iterator[Claim]:
    """Over each rule and over all of them, under both laws of due dates."""
    for due, study in STUDY_OF_LAW.items():
        try:
            table = savings(results, study=study)
        except NoRuns:
            continue
        yield from _savings(results, table, study, f"mean over N, {DUE_LAWS[due]}", due)


def _savings(
    results: Results, table: pd.DataFrame, study: str, law: str, due: str = ""
) -> Iterator[Claim]:
    """A row for each rule and both printed ranges, under the printed law of due dates or another one."""
    labels = {"min-2max": (), "": VARIANT}.get(due, (AGAINST,))
    for method in HEURISTICS:
        ours = by_seed(table[table["method"] == method], "saving")
        why = _why_savings(results, method, study)
        for name in ("saving-abstract", "saving-conclusions"):
            yield PAGE.row(name, ours, why, labels=labels, method=LABELS[method], law=law)


@PAGE.rows
def saving_with_the_fastest(results: Results) -> Iterator[Claim]:
    """The same where the rules always take the fastest configuration: the paper does not print which one they take."""
    table, other = savings(results, rules=FASTEST), savings(results)
    law = f"mean over N, {DUE_LAWS['min-2max']}, {FASTEST_RULES}"
    cheapest = ", ".join(
        f"{LABELS[method]} {other.loc[other['method'] == method, 'saving'].mean():.1f} %"
        for method in HEURISTICS
    )
    for method, rule in zip(HEURISTICS, FASTEST, strict=True):
        ours = by_seed(table[table["method"] == method], "saving")
        why = (
            f"{_late(results, rule, 'size')}. The paper does not print which configuration a job gets under the rules; with the "
            f"cheapest one on time, as in the authors' later program, it saves over {cheapest}"
        )
        for name in ("saving-abstract", "saving-conclusions"):
            yield PAGE.row(name, ours, why, labels=VARIANT, method=LABELS[method], law=law)


@PAGE.rows
def on_the_authors_instances(_: Results) -> Iterator[Claim]:
    """Savings, and the cost over the central model, as `benchmarks.authors_instances` left them."""
    over = authors_over_central()
    for weights, told in WEIGHTS.items():
        labels = ("authors",) if weights == "printed" else ("authors", AGAINST)
        for rules, how in ((HEURISTICS, ""), (FASTEST, f", {FASTEST_RULES}")):
            table = authors_savings(rules)
            table = table[table["weights"] == weights]
            for method in HEURISTICS:
                part = table[table["method"] == method]
                law = f"the authors' own {len(part)} instances, {told}{how}"
                each = part.groupby("num_nodes")["saving"].mean()
                why = ", ".join(f"{saved:.1f} % at {n} nodes" for n, saved in each.items())
                ours = mean_of_skewed(part["saving"].to_numpy())
                for name in ("saving-abstract", "saving-conclusions"):
                    yield PAGE.row(name, ours, why, labels=labels, method=LABELS[method], law=law)
        of = over[over["weights"] == weights]
        why = ", ".join(
            f"{each['percent']:+.1f} % ({each['num_nodes']} nodes, seed {each['seed']})"
            for each in of.to_dict("records")
        )
        law = f"the authors' own {len(of)} instances, {told}"
        ours = mean_of_skewed(of["percent"].to_numpy())
        for name in ("over-central", "not-worse"):
            yield PAGE.row(name, ours, why, labels=labels, proof="authors_instances", law=law)


def _late(results: Results, method: str, study: str) -> str:
    """Tardiness of the heuristic, and the leasing that is left to pay."""
    runs = results.runs("run_scenario", study=study, method=method)
    late = 100 * float((runs["late_jobs"] / runs["jobs"]).mean())
    ours = results.runs("run_scenario", study=study, method="hierarchical")
    keys = ["num_nodes", "seed"]
    leasing = ours.set_index(keys)["leasing_cost"] / runs.set_index(keys)["total_cost"]
    return (
        f"{late:.1f} % of the jobs of {LABELS[method.removesuffix('-fastest')]} are late, and the leasing of the hierarchical method alone is "
        f"{100 * leasing.mean():.0f} % of its cost"
    )


def _why_savings(results: Results, method: str, study: str) -> str:
    """Tardiness of the heuristic, and the range over the readings of the setup."""
    reason = _late(results, method, study)
    try:
        variants = variant_savings(results)
    except NoRuns:
        return reason
    part = variants[variants["method"] == method].groupby("study")["saving"].mean()
    sizes = ", ".join(str(n) for n in sorted(set(variants["num_nodes"])))
    return (
        f"{reason}. Among {len(part)} readings at {sizes} nodes it goes from {part.min():.0f} % ({part.idxmin()}) to "
        f"{part.max():.0f} % ({part.idxmax()})"
    )


@PAGE.rows
def saving_by_throughput(results: Results) -> Iterator[Claim]:
    """The same where times follow the published throughput of the networks, not the authors' pool."""
    table = variant_savings(results)
    part = table[table["study"] == THROUGHPUT]
    law = f"{int(table['num_nodes'].iloc[0])} nodes, {DUE_LAWS['min-2max']}, {THROUGHPUT}"
    yield from _savings(results, part, THROUGHPUT, law)


@PAGE.rows
def by_model_of_times(_: Results) -> Iterator[Claim]:
    """Ten nodes under each model of times, as `benchmarks.models_of_times` left them."""
    yield from PAGE.rows_of(FOLDER / "models_of_times.csv", VARIANT, against="U[min, 3 min]")


@PAGE.rows
def saving_over_the_best(results: Results) -> Iterator[Claim]:
    """Figure 3's own quantity, with either configuration of the rules."""
    for rules, told in ((HEURISTICS, "cheapest configuration on time"), (FASTEST, FASTEST_RULES)):
        runs = relative_costs(results, rules)
        best = runs[runs["relative"] == 1.0].groupby("method").size()
        shares = ", ".join(
            f"{LABELS[str(m)]} in {100 * n / best.sum():.0f} %" for m, n in best.items()
        )
        of = runs[runs["method"].isin(HEURISTICS)].groupby(["num_nodes", "seed"])["relative"]
        ours = runs[runs["method"] == "hierarchical"].groupby("seed")["relative"].mean()
        why = (
            f"the best heuristic is {shares} of the runs; the worst of the three costs {of.max().mean():.2f} times as much as the "
            "best on average"
        )
        saved = mean_of_skewed(100 * (1 - ours.to_numpy()))
        yield PAGE.row("saving-figure-3", saved, why, rules=told)


@PAGE.rows
def over_central(results: Results) -> Iterator[Claim]:
    """Costs over those of the central models."""
    runs = results.runs("run_scenario", study="size")
    wide = runs.pivot(index=["num_nodes", "seed"], columns="method", values="total_cost")
    if "central-2019" in wide:
        ratio = (wide["hierarchical"] / wide["central-2019"]).dropna()
        sizes = ", ".join(
            f"{100 * (value - 1):.1f} % at {n} nodes"
            for n, value in ratio.groupby("num_nodes").mean().items()
        )
        by_model = pd.read_csv(FOLDER / "models_of_times.csv").set_index("published")["why"]
        why = (
            f"by size: {sizes}. In other runs with ten nodes {by_model['over-central'].iloc[0]}. The times of the paper's own jobs are "
            "not printed, and both models are solved to 1e-6 here, not to 5 %"
        )
        for name in ("over-central", "not-worse"):
            yield PAGE.row(name, _over(ratio), why, law="mean over N up to 40")
    if "central" in wide:
        yield PAGE.new(
            "beyond the paper",
            "hierarchical over its own objective solved centrally, cost",
            _over(wide["hierarchical"] / wide["central"]),
            "%",
            "the paper's objective could not be solved centrally with the literal model",
            figure="figure_3",
        )


def _over(ratio: pd.Series) -> Estimate:
    """A mean difference in percent, by seed."""
    return mean_of_skewed((100 * (ratio - 1)).dropna().groupby("seed").mean().to_numpy())


@PAGE.rows
def section_4(results: Results) -> Iterator[Claim]:
    """The second and third model of Section IV beside (P2)."""
    base = results.runs("run_scenario", study="as printed", method="hierarchical")
    for model in SECTION_4:
        runs = results.runs("run_scenario", study=model)
        ratio = runs.set_index("seed")["total_cost"] / base.set_index("seed")["total_cost"]
        why = (
            "the paper prints neither formula nor numbers: policies/solving/patterns.py has the reading. The cause is "
            "not known"
        )
        ours, num_nodes = mean_of_skewed(ratio.dropna().to_numpy()), int(runs["num_nodes"].iloc[0])
        yield PAGE.row(f"section-4.{model}", ours, why, num_nodes=num_nodes)


MEAN_WEIGHT_PER_H = {"as printed": 0.72, "weights as released": 0.009 * 3600}


@PAGE.rows
def dearness(results: Results) -> Iterator[Claim]:
    """An hour of delay over an hour of a job's execution, under printed and released weights."""
    for study, weight in MEAN_WEIGHT_PER_H.items():
        runs = results.runs("run_scenario", study=study, method="hierarchical")
        hours = runs["jobs"] * (runs["mean_jct_s"] - runs["mean_wait_s"]) / 3600
        execution = runs["leasing_cost"] / hours
        ours = mean_of_skewed((weight / execution).groupby(runs["seed"]).mean().to_numpy())
        why = (
            f"an hour of a job costs {execution.mean():.2f} $ of leasing; Table II has 0.11 to 2.48 $/h a "
            f"node, and the mean weight is {weight:g} $/h"
        )
        labels = (AGAINST,) if study != "as printed" else ()
        yield PAGE.row("delay-cost", ours, why, labels=labels, weights=study)


# -- models ----------------------------------------------------------------------------------


@PAGE.rows
def variables(results: Results) -> Iterator[Claim]:
    """Variables of the literal models, mean over all decisions of whole runs.

    A literal model has about as many variables for each job, whatever the decision. How many that
    are is counted on the decisions that were built; how many jobs there are is known of all.
    """
    literal = results.runs("run_literal")
    runs = results.runs("run_scenario", study="size")
    for model, name in (("hierarchical", "variables"), ("central-2019", "variables-central")):
        built, of_model = literal[literal["model"] == model], runs[runs["method"] == model]
        if built.empty or of_model.empty:
            continue
        scaled, grows = ", mean over decisions", 1.0
        if model == "central-2019":
            num_nodes = int(min(built["num_nodes"].max(), of_model["num_nodes"].max()))
            built = built[built["num_nodes"] == num_nodes]
            of_model = of_model[of_model["num_nodes"] == num_nodes]
            # Nodes, and the jobs of all of them: the number of variables grows with N squared.
            grows = (40 / num_nodes) ** 2
            scaled = " at 40 nodes, mean over decisions"
            if num_nodes != 40:
                scaled += f", from {num_nodes} nodes by the square of the nodes"
        each = float(built["mean_columns"].sum() / built["jobs"].sum())
        jobs = of_model.groupby("seed")["mean_active"].mean()
        why = (
            f"the number follows the jobs, {each:.0f} variables for each: {jobs.mean():.1f} jobs "
            "at a decision here. Decisions with more jobs than nodes have "
            f"{grows * built['mean_columns'].mean():,.0f} on average ({len(built)} runs)"
        )
        yield PAGE.row(name, mean_of_skewed(grows * each * jobs.to_numpy()), why, scaled=scaled)
        most = of_model.groupby("seed")["max_active"].mean()
        told = scaled.replace("mean over decisions", "the largest decision of a run")
        why = f"{each:.0f} variables for each of {most.mean():.1f} jobs"
        # Of a controller's model the paper prints the average, of the central one what instances lead to.
        labels = (AGAINST,) if model == "hierarchical" else ()
        columns = mean_of_skewed(grows * each * most.to_numpy())
        yield PAGE.row(name, columns, why, labels=labels, scaled=told)


@PAGE.rows
def variables_of_27_jobs(results: Results) -> Iterator[Claim]:
    """Variables with the number of jobs that the paper's 5,000 imply, so these rows judge nothing."""
    for model, name in (("hierarchical", "a controller's"), ("central-2019", "the central")):
        built = results.runs("run_columns", model=model).iloc[0]
        said = f"{JOBS_PER_CONTROLLER} jobs a controller, {built['num_nodes']} nodes"
        why = (
            f"a job has {built['columns'] / built['jobs']:,.0f}, and there are {built['jobs']}: about as many jobs as the "
            "paper's 5,000 variables imply; no interval: a count"
        )
        text = f"variables of {name} model with {said}"
        yield PAGE.new("Section V-B", text, float(built["columns"]), "", why, figure="figure_2")


@PAGE.rows
def idle_by_mu(results: Results) -> Iterator[Claim]:
    """Idle GPUs in the optimum of the same decisions, by mu."""
    runs = results.runs("run_mu")
    said = ", ".join(f"{runs[f'idle {mu:g}'].mean():.1f} % at mu = {mu:g}" for mu in MUS)
    why = (
        f"GPUs idle on nodes in use: {said}. mu competes with the lease: a job that takes idle GPUs may "
        "pay more for its node than mu, because times do not fall with each GPU"
    )
    for mu in MUS:
        labels = () if mu == 1.0 else VARIANT
        yield PAGE.row(
            "mu", mean_of_skewed(runs[f"idle {mu:g}"].to_numpy()), why, labels=labels, mu=f"{mu:g}"
        )


@PAGE.rows
def times(results: Results) -> Iterator[Claim]:
    """CPU times of decisions."""
    runs = results.runs("run_scenario", study="size")
    num_nodes, spent = _at_largest(runs[runs["method"] == "hierarchical"])
    for name in ("decision-time", "decision-time-bound"):
        yield PAGE.row(name, spent, OTHER_MODEL, num_nodes=num_nodes)
    all_s = float((runs["mean_decision_cpu_s"] * runs["decisions"]).sum())
    yield PAGE.row("campaign-time", all_s / 86_400, OTHER_MODEL, exact="a sum over all runs")
    central = runs[runs["method"] == "central"]
    if not central.empty:
        num_nodes, spent = _at_largest(central)
        biggest = central[central["num_nodes"] == num_nodes]
        why = (
            "the pattern form has no index of the node, so the variables of a job do not grow with N, but the jobs do; "
            f"{int(biggest['not_optimal'].sum()) if 'not_optimal' in biggest else 0} decisions "
            "were not proven optimal"
        )
        yield PAGE.row("central-time", spent, why, num_nodes=num_nodes)


def _at_largest(runs: pd.DataFrame) -> tuple[int, Estimate]:
    """The largest size, and the CPU time of a decision there."""
    largest = runs[runs["num_nodes"] == runs["num_nodes"].max()]
    return int(largest["num_nodes"].iloc[0]), by_seed(largest, "mean_decision_cpu_s")


# -- errors and the server -------------------------------------------------------------------


@PAGE.rows
def errors(results: Results) -> Iterator[Claim]:
    """Effect on the cost of errors of the size that the paper states."""
    base = results.runs("run_scenario", study="as printed", method="hierarchical")
    for study, name in (
        ("times predicted 11 % off", "prediction-error"),
        ("times predicted 7 % off", "cost-deviation"),
    ):
        runs = results.runs("run_scenario", study=study, method="hierarchical")
        both = runs.set_index("seed")["total_cost"] / base.set_index("seed")["total_cost"]
        yield PAGE.row(
            name,
            mean_of_skewed(100 * (both.dropna().to_numpy() - 1)),
            "an error of the authors' models, which are not public; its effect can be run",
            num_nodes=int(runs["num_nodes"].iloc[0]),
        )


@PAGE.rows
def server_formula(_: Results) -> Iterator[Claim]:
    """The response time of the paper's queue, worked out."""
    why = "exponential service; with deterministic service it would be 44.32 s"
    yield PAGE.row(
        "response-time", _response_s(), why, labels=("textbook",), exact=EXACT, how="formula"
    )


def _response_s() -> float:
    return mg1_mean_response_s(PAPER_RATE_PER_S, Exponential(40.0))


@PAGE.rows
def server_alone(results: Results) -> Iterator[Claim]:
    """The same, simulated."""
    alone = results.runs("run_queue", service="exponential:40")
    ours = mean_of_skewed(alone["mean_response_s"].to_numpy())
    yield PAGE.row(
        "response-time", ours, f"the formula gives {_response_s():.4g} s", how="simulated"
    )


@PAGE.rows
def server_in_system(results: Results) -> Iterator[Claim]:
    """The server inside whole runs, where requests are not Poisson, and how many they are."""
    for h, text in IN_SYSTEM.items():
        system = results.runs("run_server", service="exponential:40", h=h)
        num_nodes = int(system["num_nodes"].iloc[0])
        words: dict[str, Any] = {"system": text, "num_nodes": num_nodes}
        rate, expected = 1e3 * system["middle_rate_per_s"], 1e3 * num_nodes / 45_000
        controllers = num_nodes // NODES_PER_CONTROLLER
        why = (
            f"{controllers} controllers ask {rate.mean():.1f} times in 1,000 s, twice the submissions "
            f"would be {2 * expected:.1f}"
        )
        ours = mean_of_skewed(system["middle_mean_response_s"].to_numpy())
        yield PAGE.row(
            "response-time",
            ours,
            why,
            labels=VARIANT,
            how=f"in the {text}, {num_nodes} nodes, 40 s a decision",
        )
        ratio = mean_of_skewed((rate / expected).to_numpy())
        why = f"per 1,000 s {rate.mean():.2f} requests and {expected:.2f} submissions; {_by_h(results)}"
        labels = () if h == "no H" else VARIANT
        yield PAGE.row("requests", ratio, why, labels=labels, **words)
        if h == "no H":  # every request is a submission or a completion
            done = mean_of_skewed((rate / expected - 1).to_numpy())
            why = f"of 100 jobs that are submitted {100 * done.mean:.0f} end meanwhile"
            yield PAGE.row("completions", done, why, num_nodes=num_nodes)


def _by_h(results: Results) -> str:
    """Requests over submissions with and without periodic decisions."""
    said = []
    for h, text in IN_SYSTEM.items():
        try:
            runs = results.runs("run_server", service="exponential:40", h=h)
        except NoRuns:
            continue
        ratio = runs["middle_rate_per_s"] / (runs["num_nodes"] / 45_000)
        said.append(f"{ratio.mean():.2f} in the {text}")
    return ", ".join(said)


@PAGE.rows
def servers_needed(_: Results) -> Iterator[Claim]:
    """Number of servers for twenty controllers."""
    sizing = size_servers(20, 2 / 45_000 * 5, Exponential(40.0), SERVER_LIMIT_S)
    yield PAGE.row("servers", float(sizing.servers), "M/M/c", exact=EXACT)
