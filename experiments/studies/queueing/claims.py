"""The textbooks' formulas beside the simulator.

A formula counts as met where it lies inside the interval of every one of its settings, at a level
raised so that all of them together would miss in one of twenty reproductions (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from experiments.report.verdict import amount, at_most, judged
from experiments.studies.queueing.runs import (
    LAWS,
    ONE_RUN_LOAD,
    PAGE,
    QUANTILE_LOAD,
    QUANTILES,
    SERVICE_S,
    TAIL_S,
    WITH_CLASSES,
    WITHOUT_CLASSES,
)
from experiments.studies.queueing.theory import (
    approximation_errors,
    class_response_s,
    estimate_of,
    kingman_points,
    one_run,
    order_response_s,
    rate_per_s,
    study,
)
from simulator.laws import Deterministic, Exponential, Law, LogNormal
from simulator.statistics import Estimate, mean_of_skewed
from simulator.theory import (
    erlang_b,
    erlang_c,
    littles_law,
    mg1_mean_wait_s,
    mg1_wait_exceeds,
    mg1_wait_quantile_s,
    mginf_number_pmf,
    mmc_mean_response_s,
    mmc_mean_wait_s,
    size_servers,
)

if TYPE_CHECKING:
    from experiments.pages import Claim, Results

PAPER = "queueing"
Setting = dict[Hashable, float]
Theories = dict[str, Callable[[Setting], float]]
"""The formula of each column of the runs."""


def _met(place: str, text: str, runs: pd.DataFrame, by: list[str], cases: Theories) -> Claim:
    """Number of settings that agree with their formula."""
    groups = list(runs.groupby(by))
    total = len(groups) * len(cases)
    inside, worst = 0, ""
    for _, part in groups:
        setting = part.iloc[0].to_dict()
        for column, theory in cases.items():
            estimate = mean_of_skewed(part[column].to_numpy(dtype=float), 1 - 0.05 / total)
            if estimate.contains(theory(setting)):
                inside += 1
            else:
                named = ", ".join(f"{name} {setting[name]}" for name in by)
                worst = f"outside at {named}: {estimate} against {theory(setting):.6g}"
    claim = f"{text}: settings of {total} inside simultaneous 95 % intervals"
    return judged(PAPER, place, claim, amount(total, margin=0.0), float(inside), why=worst)


def _queue(s: Setting) -> tuple[float, int]:
    """Arrivals a second, and servers."""
    servers = int(s.get("servers", 1))
    return rate_per_s(s["load"], servers), servers


def _law(s: Setting) -> Law:
    return LAWS[str(s["service"])]


def _mmc(formula: Callable[[float, float, int], float], s: Setting) -> float:
    rate, servers = _queue(s)
    return formula(rate, SERVICE_S, servers)


@PAGE.rows
def memoryless(results: Results) -> Iterator[Claim]:
    """M/M/c: Erlang C and Little's law."""
    runs, by = study(results, "M/M/c"), ["servers", "load"]
    waiting: Theories = {
        "mean_wait_s": lambda s: _mmc(mmc_mean_wait_s, s),
        "waits": lambda s: erlang_c(s["load"] * s["servers"], int(s["servers"])),
    }
    yield _met("Erlang 1917", "M/M/c, mean wait and P(wait)", runs, by, waiting)
    little: Theories = {
        "mean_number": lambda s: littles_law(_queue(s)[0], _mmc(mmc_mean_response_s, s))
    }
    yield _met("Little 1961", "M/M/c, mean number in the system", runs, by, little)


@PAGE.rows
def general(results: Results) -> Iterator[Claim]:
    """M/G/1: the mean wait and its tail."""
    runs = study(results, "M/G/1")
    mean: Theories = {"mean_wait_s": lambda s: mg1_mean_wait_s(_queue(s)[0], _law(s))}
    yield _met("Pollaczek, Khinchine", "M/G/1, mean wait", runs, ["service", "load"], mean)
    tail: Theories = {
        f"exceeds_{t:g}": lambda s, t=t: mg1_wait_exceeds(_queue(s)[0], _law(s), t)  # type: ignore[misc]
        for t in TAIL_S[:3]  # of the others some laws have no such wait in a run
    }
    part, text = runs[runs["load"] == 0.7], "M/G/1, P(wait > 50, 200 and 500 s) at load 0.7"
    yield _met("Abate, Whitt 1995", text, part, ["service"], tail)


@PAGE.rows
def loss(results: Results) -> Iterator[Claim]:
    """M/M/c/c: Erlang B."""
    lost: Theories = {"lost": lambda s: erlang_b(s["load"] * s["servers"], int(s["servers"]))}
    text, runs = "M/M/c/c, part of the jobs lost", results.runs("run_loss")
    yield _met("Erlang 1917", text, runs, ["servers", "load"], lost)


@PAGE.rows
def quantiles(results: Results) -> Iterator[Claim]:
    """M/G/1: quantiles of the wait."""
    cases: Theories = {
        f"quantile_{q:g}_s": lambda s, q=q: mg1_wait_quantile_s(_queue(s)[0], _law(s), q)  # type: ignore[misc]
        for q in QUANTILES
    }
    text = f"M/G/1, quantiles of the wait at load {QUANTILE_LOAD:g}"
    runs = results.runs("run_waits", load=QUANTILE_LOAD)
    yield _met("Abate, Whitt 1995", text, runs, ["service"], cases)


@PAGE.rows
def orders(results: Results) -> Iterator[Claim]:
    """M/G/1 in other orders: mean response times."""
    runs = results.runs("run_order")
    sources = ("Pollaczek, Khinchine", "Kleinrock 1976", "Schrage, Miller 1966")
    for order, source in zip(WITHOUT_CLASSES, sources, strict=True):
        mean: Theories = {
            "mean_response_s": lambda s, order=order: order_response_s(order, s["load"])  # type: ignore[misc]
        }
        part = runs[runs["order"] == order]
        yield _met(source, f"M/G/1, {order}, mean response time", part, ["load"], mean)
    for order, source in zip(WITH_CLASSES, ("Cobham 1954", "Kleinrock 1976"), strict=True):
        by_class: Theories = {
            f"{jobs}_response_s": lambda s, order=order, k=k: float(  # type: ignore[misc]
                class_response_s(order, s["load"])[k]
            )
            for k, jobs in enumerate(("urgent", "normal"))
        }
        part = runs[runs["order"] == order]
        text = f"M/G/1, {order}, mean response time of both classes"
        yield _met(source, text, part, ["load"], by_class)


@PAGE.rows
def unlimited(results: Results) -> Iterator[Claim]:
    """M/G/inf: the law of the number of jobs."""
    pmf = mginf_number_pmf(rate_per_s(4.0), LAWS["exponential"], np.arange(10))
    cases: Theories = {f"at_{n}": lambda s, n=n: float(pmf[n]) for n in range(10)}  # type: ignore[misc]
    text, runs = "M/G/inf, part of time with n jobs", results.runs("run_unlimited")
    yield _met("Takács 1962", text, runs, ["service"], cases)


@PAGE.rows
def kingman(results: Results) -> Iterator[Claim]:
    """G/G/1: Kingman's bound."""
    points = kingman_points(results)
    yield judged(
        PAPER,
        "Kingman 1962",
        f"G/G/1: settings of {len(points)} whose mean wait is above the bound",
        at_most(0.0, text="0"),
        float((points["low"] > points["bound"]).sum()),
        why="the whole interval is above the bound",
    )


@PAGE.rows
def approximation(results: Results) -> Iterator[Claim]:
    """G/G/c: the largest error of Allen and Cunneen's approximation."""
    points = approximation_errors(results)
    for exact, text in ((True, "exponential gaps"), (False, "other gaps")):
        part = points[(points["gaps"] == "exponential") == exact]
        worst = part.iloc[int(part["error_percent"].abs().to_numpy().argmax())]
        low, high = (100 * (worst["theory"] / worst[end] - 1) for end in ("high", "low"))
        yield PAGE.new(
            "Allen, Cunneen",
            f"G/G/c, {text}: largest error of the approximate mean wait",
            Estimate(float(worst["error_percent"]), low, high, int(worst["n"])),
            "%",
            f"at {worst['servers']} server(s), load {worst['load']}, {worst['gaps']} gaps, "
            f"{worst['service']} service; the simulated wait is {worst['mean']:.3g} s",
        )


@PAGE.rows
def long_run(results: Results) -> Iterator[Claim]:
    """M/M/1: the mean wait from one run."""
    run = one_run(results)
    truth = mg1_mean_wait_s(rate_per_s(ONE_RUN_LOAD), LAWS["exponential"])
    yield judged(
        PAPER,
        "Pollaczek, Khinchine",
        f"M/M/1 at load {ONE_RUN_LOAD:g}, mean wait from one run of {run['all_jobs'][0]} jobs (the first "
        f"{run['warm_up'][0]} left out, 20 batch means)",
        amount(truth),
        estimate_of(run),
        unit="s",
        why="one run of a loaded queue is a small sample",
    )


@PAGE.rows
def sizing(_: Results) -> Iterator[Claim]:
    """The hierarchical paper's question beyond its largest setting, which is in that paper's claims."""
    laws = (Deterministic(40.0), Exponential(40.0), LogNormal(40.0, 2.0))
    for controllers in (200, 2000):
        fixed, memoryless, varied = (
            size_servers(controllers, 1 / 4500, law, 50.0).servers for law in laws
        )
        yield PAGE.new(
            "Hierarchical paper, Section V-B",
            f"optimization servers for {controllers} controllers, 40 s a decision, answers "
            "within 50 s on average (exponential service)",
            float(memoryless),
            "servers",
            f"{fixed} with deterministic service, {varied} with lognormal of cv 2",
        )
