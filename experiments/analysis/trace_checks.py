"""Checks of a trace that its users make by hand: jobs that cannot run, empty columns, gaps, who has the work, load by day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from simulator.model.cluster import SECONDS_PER_DAY as DAY_S
from simulator.model.cluster import SECONDS_PER_HOUR as HOUR_S

if TYPE_CHECKING:
    from experiments.analysis.trace import FileContents

NUMBERS = ("num_cpus", "memory_gb", "requested_s")
TEXTS = ("user", "vc", "model")
MOST_NAMED = 5


def check_lines(trace: FileContents) -> list[str]:
    """One line each fact."""
    told = [*_never_run(trace), *_columns(trace), *_coverage(trace)]
    if len(trace.gpus):
        told += [*_by_owner(trace), *_load_by_day(trace)]
    return told


def _never_run(trace: FileContents) -> Iterator[str]:
    if trace.cluster is None or not len(trace.gpus):
        return
    most = trace.cluster.total_gpus
    over = np.flatnonzero(trace.gpus > most)
    if len(over):
        first = over[0]
        yield (
            f"never run  {len(over)} jobs ask for more than the {most:g} GPUs of the cluster, the first is "
            f"{trace.workload.job_id[first]} with {trace.gpus[first]}"
        )


def _columns(trace: FileContents) -> Iterator[str]:
    """Columns that say nothing."""
    jobs, empty, constant = trace.workload, [], []
    for name in NUMBERS:
        values = np.asarray(getattr(jobs, name))
        known = values[~np.isnan(values)]
        if not len(known):
            empty.append(name)
        elif len(jobs) > 1 and len(known) == len(jobs) and (known == known[0]).all():
            constant.append(f"{name} {known[0]:g}")
    for name in TEXTS:
        texts = set(getattr(jobs, name))
        if not any(texts):
            empty.append(name)
        elif len(jobs) > 1 and len(texts) == 1:
            constant.append(f"{name} {texts.pop()!r}")
    for name, values in (("num_gpus", trace.gpus), ("duration_s", trace.duration_s)):
        if len(values) > 1 and (values == values[0]).all():
            constant.append(f"{name} {values[0]:g}")
    if empty:
        yield f"empty      {', '.join(empty)}"
    if constant:
        yield f"constant   {', '.join(constant)}"


def _coverage(trace: FileContents) -> Iterator[str]:
    """Hours with submissions, and the longest gap."""
    if trace.span_s < 2 * HOUR_S:
        return
    since_h = (trace.workload.submit_s - trace.workload.submit_s[0]) / HOUR_S
    hours = int(since_h[-1]) + 1
    part = len(np.unique(since_h.astype(np.int64))) / hours
    longest = int(np.argmax(trace.gaps_s))
    yield (
        f"coverage   jobs are submitted in {part:.0%} of the {hours:,} hours; the longest gap is {trace.gaps_s[longest] / HOUR_S:.3g} h, "
        f"from {since_h[longest]:.4g} h after the first submission"
    )


def _by_owner(trace: FileContents) -> Iterator[str]:
    """Parts of the work by user, virtual cluster and model."""
    work = trace.gpus * trace.duration_s
    for name in TEXTS:
        texts: Sequence[str] = getattr(trace.workload, name)
        names, owner = np.unique(np.asarray(texts, dtype=str), return_inverse=True)
        if len(names) < 2:
            continue
        parts = np.bincount(owner, work) / max(work.sum(), 1e-300)
        first = np.argsort(-parts, kind="stable")[:MOST_NAMED]
        listed = ", ".join(f"{names[k] or '(none)'} {parts[k]:.0%}" for k in first)
        more = f", {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        yield f"{name:10} of the work: {listed}{more}"


def _load_by_day(trace: FileContents) -> Iterator[str]:
    """Work that comes on each day over what the cluster can do in it."""
    if trace.cluster is None or trace.span_s < 2 * DAY_S:
        return
    day = ((trace.workload.submit_s - trace.workload.submit_s[0]) / DAY_S).astype(np.int64)
    whole = np.bincount(day, trace.gpus * trace.duration_s)[: int(trace.span_s // DAY_S)]
    load = whole / (trace.cluster.total_gpus * DAY_S)
    yield (
        f"by day     load {load.min():.3g} to {load.max():.3g} (day {int(np.argmax(load)) + 1}); above 1, so that queues grow, on "
        f"{int((load > 1).sum())} of {len(load)} days"
    )
