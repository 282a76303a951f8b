"""The textbooks' formulas beside the simulator.

A formula counts as met where it lies inside the interval of every one of its settings, at a level
raised so that all of them together would miss in one of twenty reproductions (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from experiments.report.contents import Claim
from experiments.report.verdict import amount, at_most, judged, measured
from experiments.studies.queueing.page import PAGE
from experiments.studies.queueing.runs import (
    LAWS,
    ONE_RUN_LOAD,
    QUANTILE_LOAD,
    QUANTILES,
    SERVICE_S,
    WITH_CLASSES,
    WITHOUT_CLASSES,
)
from experiments.studies.queueing.theory import (
    approximation_errors,
    class_response_s,
    kingman_points,
    one_run,
    order_response_s,
    rate_per_s,
    study,
)
from simulator.laws import Deterministic, Exponential, LogNormal
from simulator.statistics import student
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
    from experiments.sweep.results import Results

PAPER = "queueing"
Theory = Callable[[dict[Hashable, float]], float]


@PAGE.rows
def claims(results: Results) -> list[Claim]:
    """The table of claims."""
    return [
        *_queues(results),
        *_loss(results),
        *_quantiles(results),
        *_orders(results),
        *_unlimited(results),
        *_kingman(results),
        *_approximation(results),
        *_one_run(results),
        *_sizing(),
    ]


def _met(
    place: str, text: str, runs: pd.DataFrame, by: list[str], cases: dict[str, Theory]
) -> Claim:
    """Number of settings that agree with their formula."""
    groups = list(runs.groupby(by))
    level = 1 - 0.05 / (len(groups) * len(cases))
    inside, worst = 0, ""
    for _, part in groups:
        setting = part.iloc[0].to_dict()
        for column, theory in cases.items():
            estimate = student(part[column].to_numpy(dtype=float), level)
            if estimate.contains(theory(setting)):
                inside += 1
            else:
                named = ", ".join(f"{name} {setting[name]}" for name in by)
                worst = f"outside at {named}: {estimate} against {theory(setting):.6g}"
    total = len(groups) * len(cases)
    return judged(
        PAPER,
        place,
        f"{text}: settings of {total} inside their intervals",
        amount(total, margin=0.0),
        float(inside),
        why=worst,
    )


def _queues(results: Results) -> list[Claim]:
    made = []
    runs = study(results, "M/M/c")
    if not runs.empty:
        cases: dict[str, Theory] = {
            "mean_wait_s": lambda s: mmc_mean_wait_s(
                rate_per_s(s["load"], int(s["servers"])), SERVICE_S, int(s["servers"])
            ),
            "waits": lambda s: erlang_c(s["load"] * s["servers"], int(s["servers"])),
        }
        made.append(
            _met("Erlang 1917", "M/M/c, mean wait and P(wait)", runs, ["servers", "load"], cases)
        )
        little: dict[str, Theory] = {
            "mean_number": lambda s: littles_law(
                rate_per_s(s["load"], int(s["servers"])),
                mmc_mean_response_s(
                    rate_per_s(s["load"], int(s["servers"])), SERVICE_S, int(s["servers"])
                ),
            )
        }
        made.append(
            _met(
                "Little 1961", "M/M/c, mean number in the system", runs, ["servers", "load"], little
            )
        )
    runs = study(results, "M/G/1")
    if not runs.empty:
        mean: dict[str, Theory] = {
            "mean_wait_s": lambda s: mg1_mean_wait_s(rate_per_s(s["load"]), LAWS[str(s["service"])])
        }
        made.append(
            _met("Pollaczek, Khinchine", "M/G/1, mean wait", runs, ["service", "load"], mean)
        )
        tail: dict[str, Theory] = {
            f"exceeds_{t:g}": lambda s, t=t: mg1_wait_exceeds(  # type: ignore[misc]
                rate_per_s(s["load"]), LAWS[str(s["service"])], t
            )
            for t in (50.0, 200.0, 500.0)
        }
        part = runs[runs["load"] == 0.7]
        made.append(
            _met("Abate, Whitt 1995", "M/G/1, P(wait > t) at load 0.7", part, ["service"], tail)
        )
    return made


def _loss(results: Results) -> list[Claim]:
    runs = results.where("run_loss").scalars()
    if runs.empty:
        return []
    lost: dict[str, Theory] = {
        "lost": lambda s: erlang_b(s["load"] * s["servers"], int(s["servers"]))
    }
    return [_met("Erlang 1917", "M/M/c/c, part of the jobs lost", runs, ["servers", "load"], lost)]


def _quantiles(results: Results) -> list[Claim]:
    runs = results.where("run_waits", load=QUANTILE_LOAD).scalars()
    if runs.empty:
        return []
    cases: dict[str, Theory] = {
        f"quantile_{q:g}_s": lambda s, q=q: mg1_wait_quantile_s(  # type: ignore[misc]
            rate_per_s(s["load"]), LAWS[str(s["service"])], q
        )
        for q in QUANTILES
    }
    text = f"M/G/1, quantiles of the wait at load {QUANTILE_LOAD:g}"
    return [_met("Abate, Whitt 1995", text, runs, ["service"], cases)]


def _kingman(results: Results) -> list[Claim]:
    points = kingman_points(results)
    if points.empty:
        return []
    above = points[points["low"] > points["bound"]]
    return [
        judged(
            PAPER,
            "Kingman 1962",
            f"G/G/1: settings of {len(points)} whose mean wait is above the bound",
            at_most(0.0, text="0"),
            float(len(above)),
            why="the whole interval is above the bound",
        )
    ]


def _one_run(results: Results) -> list[Claim]:
    found = one_run(results)
    if found is None:
        return []
    waits, cut, estimate = found
    truth = mg1_mean_wait_s(rate_per_s(ONE_RUN_LOAD), LAWS["exponential"])
    return [
        judged(PAPER, "Pollaczek, Khinchine", f"M/M/1 at load {ONE_RUN_LOAD:g}, mean wait from one run "
               f"of {len(waits)} jobs (the first {cut} left out, 20 batch means)", amount(truth),
               estimate, unit="s", why="one run of a loaded queue is a small sample")
    ]  # fmt: skip


def _orders(results: Results) -> list[Claim]:
    runs = results.where("run_order").scalars()
    if runs.empty:
        return []
    made = []
    sources = ("Pollaczek, Khinchine", "Kleinrock 1976", "Schrage, Miller 1966")
    for order, source in zip(WITHOUT_CLASSES, sources, strict=True):
        mean: dict[str, Theory] = {
            "mean_response_s": lambda s, order=order: order_response_s(order, s["load"])  # type: ignore[misc]
        }
        part = runs[runs["order"] == order]
        made.append(_met(source, f"M/G/1, {order}, mean response time", part, ["load"], mean))
    for order, source in zip(WITH_CLASSES, ("Cobham 1954", "Kleinrock 1976"), strict=True):
        by_class: dict[str, Theory] = {
            f"{jobs}_response_s": lambda s, order=order, k=k: float(  # type: ignore[misc]
                class_response_s(order, s["load"])[k]
            )
            for k, jobs in enumerate(("urgent", "normal"))
        }
        part = runs[runs["order"] == order]
        text = f"M/G/1, {order}, mean response time of both classes"
        made.append(_met(source, text, part, ["load"], by_class))
    return made


def _unlimited(results: Results) -> list[Claim]:
    runs = results.where("run_unlimited").scalars()
    if runs.empty:
        return []
    pmf = mginf_number_pmf(rate_per_s(4.0), LAWS["exponential"], np.arange(10))
    cases: dict[str, Theory] = {
        f"at_{n}": lambda s, n=n: float(pmf[n])  # type: ignore[misc]
        for n in range(10)
    }
    return [_met("Takács 1962", "M/G/inf, part of time with n jobs", runs, ["service"], cases)]


def _approximation(results: Results) -> list[Claim]:
    points = approximation_errors(results)
    if points.empty:
        return []
    made = []
    for exact, text in ((True, "exponential gaps"), (False, "other gaps")):
        part = points[(points["gaps"] == "exponential") == exact]
        worst = part.iloc[int(part["error_percent"].abs().to_numpy().argmax())]
        made.append(
            Claim(
                PAPER,
                "Allen, Cunneen",
                f"G/G/c, {text}: largest error of the approximate mean wait",
                None,
                float(worst["error_percent"]),
                100 * (float(worst["theory"]) / float(worst["high"]) - 1),
                100 * (float(worst["theory"]) / float(worst["low"]) - 1),
                unit="%",
                verdict="new",
                why=f"at {worst['servers']} server(s), load {worst['load']}, {worst['gaps']} gaps, "
                f"{worst['service']} service; the simulated wait is {worst['mean']:.3g} s",
            )
        )
    return made


def _sizing() -> list[Claim]:
    """The hierarchical paper's question beyond its largest setting, which is in that paper's claims."""
    made = []
    for controllers in (200, 2000):
        sizes = [
            size_servers(controllers, 1 / 4500, law, 50.0).servers
            for law in (Deterministic(40.0), Exponential(40.0), LogNormal(40.0, 2.0))
        ]
        made.append(
            measured(
                PAPER,
                "Hierarchical paper, Section V-B",
                f"optimization servers for {controllers} controllers, 40 s a decision, answers "
                "within 50 s on average (exponential service)",
                float(sizes[1]),
                unit="servers",
                why=f"{sizes[0]} with deterministic service, {sizes[2]} with lognormal of cv 2",
            )
        )
    return made
