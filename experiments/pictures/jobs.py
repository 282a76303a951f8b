"""The picture of a file of jobs: when they come, what they ask for, how long they take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from experiments.pictures.plots import PALETTE, THEME, canvas
from experiments.pictures.saving import check_kind, save_picture
from simulator.laws.fitting import fits
from simulator.model.cluster import SECONDS_PER_HOUR as HOUR_S
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.recorded import Recorded

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BINS = 60
DASHES = ("-", "--", ":")


def draw_jobs(
    out: Path,
    title: str,
    submit_s: FloatArray,
    gpus: IntArray,
    duration_s: FloatArray,
    by_hour: FloatArray,
    total_gpus: float | None,
    record: Recorded | None = None,
) -> Path:
    """Four panels: hour of the day, demand, durations with fitted laws, work over time; two more for a record.

    Parameters
    ----------
    gpus : ``(J,)``, or empty for elastic jobs: then jobs are counted in place of work.
    total_gpus : GPUs of the cluster, drawn beside the work that comes; None without one.
    record : of the log: its waits, and what was in use.
    """
    import matplotlib as mpl

    check_kind(out)
    with mpl.rc_context(THEME):
        figure, axes = canvas(2 if record is None else 3, 2, width=5.2, height=3.4)
        _hours(axes[0], by_hour)
        _demand(axes[1], gpus, duration_s)
        _tails(axes[2], duration_s)
        _over_time(axes[3], submit_s, gpus, duration_s, total_gpus)
        if record is not None:
            _waits(axes[4], record)
            _in_use(axes[5], record, total_gpus)
        figure.suptitle(title, parse_math=False)  # a file may be called "$x$"
        save_picture(figure, out)
    return out


def _hours(ax: Axes, by_hour: FloatArray) -> None:
    ax.bar(np.arange(24) + 0.5, np.nan_to_num(by_hour), width=0.9, color=PALETTE[0])
    ax.axhline(float(np.nanmean(by_hour)), color=PALETTE[1], linestyle="--", label="mean")
    ax.set(
        xlabel="hours since the first submission, modulo 24", ylabel="jobs an hour",
        title="Submissions by hour of the day", xlim=(0, 24), xticks=range(0, 25, 4),
        ylim=(0, 1.25 * float(np.nanmax(by_hour))),
    )  # fmt: skip
    ax.legend(loc="upper right")


def _demand(ax: Axes, gpus: IntArray, duration_s: FloatArray) -> None:
    if not len(gpus):
        ax.text(0.5, 0.5, "elastic jobs: any number of GPUs", ha="center", transform=ax.transAxes)
        ax.set(title="GPUs of a job", xticks=[], yticks=[])
        return
    sizes = np.unique(gpus)
    shown = sizes if len(sizes) <= 12 else 2 ** np.arange(int(np.log2(sizes.max())) + 1)
    group = np.searchsorted(shown, gpus, side="right") - 1
    work = np.bincount(group, gpus * duration_s, len(shown))
    at = np.arange(len(shown))
    jobs = np.bincount(group, minlength=len(shown)) / len(gpus)
    ax.bar(at - 0.2, 100 * jobs, 0.38, color=PALETTE[0], label="of the jobs")
    ax.bar(
        at + 0.2, 100 * work / work.sum(), 0.38, color=PALETTE[4], label="of the work", hatch="//"
    )
    names = [str(s) if len(sizes) <= 12 else f"{s}+" for s in shown]
    ax.set_xticks(at, names)
    ax.set(xlabel="GPUs of a job", ylabel="%", title="Demand")
    ax.legend()


def _tails(ax: Axes, duration_s: FloatArray) -> None:
    values = np.sort(duration_s)
    above = 1 - np.arange(len(values)) / len(values)
    ax.step(values, above, where="post", color="black", label="trace")
    if len(values) > 1 and values[0] > 0 and values[0] < values[-1]:
        from simulator.laws import parse_law

        x = np.geomspace(values[0], values[-1], 120)
        for k, fit in enumerate(fits(values)):
            law = parse_law(fit.law)
            tail = np.array([1 - law.cdf(float(v)) for v in x])
            name = fit.law.partition(":")[0] + (" (best by AIC)" if k == 0 else "")
            ax.plot(x, np.where(tail > 0, tail, np.nan), DASHES[k], color=PALETTE[k], label=name)
    ax.set(xscale="log", yscale="log", ylim=(0.5 / len(values), 1.3))
    ax.set(xlabel="duration, s", ylabel="part of the jobs that take longer", title="Durations")
    ax.legend(loc="lower left")


def _over_time(
    ax: Axes, submit_s: FloatArray, gpus: IntArray, duration_s: FloatArray, total: float | None
) -> None:
    """Work that comes an hour, in GPUs: as many would be busy with it all the time."""
    span_h = float(submit_s[-1] - submit_s[0]) / HOUR_S
    unit, name = (24.0, "days") if span_h > 72 else (1.0, "h")
    edges = np.linspace(0, max(span_h, 1e-9), min(MOST_BINS, max(2, len(submit_s) // 10)) + 1)
    work = gpus * duration_s / HOUR_S if len(gpus) else np.ones(len(submit_s))
    comes, _ = np.histogram((submit_s - submit_s[0]) / HOUR_S, edges, weights=work)
    ax.stairs(comes / np.diff(edges), edges / unit, color=PALETTE[0], fill=True, alpha=0.7)
    if total is not None and len(gpus):
        ax.axhline(total, color=PALETTE[1], linestyle="--", label="GPUs of the cluster")
        ax.legend(loc="upper right")
    what = "GPU-hours an hour" if len(gpus) else "jobs an hour"
    ax.set(xlabel=f"time since the first submission, {name}", ylabel=what, ylim=(0, None))
    ax.set_title("Work that comes" if len(gpus) else "Submissions")


def _waits(ax: Axes, record: Recorded) -> None:
    waits = np.sort(record.wait_s[np.isfinite(record.wait_s)])
    above = 1 - np.arange(len(waits)) / len(waits)
    ax.step(np.maximum(waits, 1.0), above, where="post", color="black")
    ax.axvline(float(waits.mean()) or 1.0, color=PALETTE[1], linestyle="--", label="mean")
    ax.set(xscale="log", ylim=(0, 1.02), title="Recorded waits")
    ax.set(xlabel="wait, s (1: 1 or less)", ylabel="part of the jobs that wait longer")
    ax.legend(loc="upper right")


def _in_use(ax: Axes, record: Recorded, total: float | None) -> None:
    """Mean of the GPUs in use, by parts of the log's time."""
    known = np.isfinite(record.recorded_start_s + record.end_s)
    start_s, end_s, gpus = (
        column[known] for column in (record.recorded_start_s, record.end_s, record.num_gpus)
    )
    last_s = float(end_s.max(initial=1.0))
    edges_s = np.linspace(0.0, last_s, MOST_BINS + 1)
    # GPU-seconds until each edge, of which differences are those between two.
    until = [(gpus * np.clip(edge - start_s, 0, end_s - start_s)).sum() for edge in edges_s]
    unit_s, name = (24 * HOUR_S, "days") if last_s > 72 * HOUR_S else (HOUR_S, "h")
    ax.stairs(
        np.diff(until) / np.diff(edges_s), edges_s / unit_s, color=PALETTE[4], fill=True, alpha=0.7
    )
    if total is not None:
        ax.axhline(total, color=PALETTE[1], linestyle="--", label="GPUs of the cluster")
        ax.legend(loc="upper right")
    ax.set(xlabel=f"time since the first submission, {name}", ylabel="GPUs", ylim=(0, None))
    ax.set_title("Recorded use")
