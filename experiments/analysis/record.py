"""Record of a log in words: how jobs ended, how long they waited, what was in use, and what that tells of rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.analysis.record_rules import (
    Queue,
    clock_of,
    day_rule,
    held,
    stops,
    stretches,
)
from experiments.analysis.spans import span
from experiments.text import counted, percent
from simulator.metrics.waits import waits_of
from simulator.model.cluster import SECONDS_PER_HOUR as HOUR_S
from simulator.model.cluster import FloatArray
from simulator.model.recorded import Recorded

if TYPE_CHECKING:
    from experiments.analysis.trace import FileContents

MOST_NAMED = 5
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MUCH_ROOM, MOST_ROOM = 0.3, 0.8
"""Where jobs waited with room for a larger part of their time, rules count as capacity does; or capacity does not."""


def record_lines(trace: FileContents) -> list[str]:
    """One line each fact; without starts only those that need none."""
    record = trace.workload.record
    if record is None:
        return []
    if not record.has_starts:
        return [*_states(record, trace.duration_s), *_clock(record)]
    queue = Queue.of(record, gpus_of_site(trace))
    return [
        *_states(record, trace.duration_s),
        *_waits(record),
        *_use(trace, queue),
        *_room(queue),
        *_room_by_partition(queue, record.partition),
        *_clock(record),
        *_rules(record, queue, trace.workload.requested_s),
    ]


def gpus_of_site(trace: FileContents) -> float:
    """GPUs of the cluster; without one, the most that were in use at once."""
    if trace.cluster is not None:
        return float(trace.cluster.total_gpus)
    assert trace.workload.record is not None
    return trace.workload.record.most_at_once()[0]


def _states(record: Recorded, duration_s: FloatArray) -> Iterator[str]:
    """Jobs and work by how they ended."""
    names, of = np.unique(np.asarray(record.state, dtype=str), return_inverse=True)
    if names.tolist() == [""]:
        return
    jobs, work_h = np.bincount(of), np.bincount(of, record.num_gpus * duration_s) / HOUR_S
    width = max(len(name) for name in names)
    for row, k in enumerate(np.argsort(-jobs, kind="stable").tolist()):
        parts = percent(jobs[k] / jobs.sum()), percent(work_h[k] / work_h.sum())
        yield (
            f"{'states' if not row else '':10} {names[k] or '(none)':{width}}  {jobs[k]:>9,} jobs {parts[0]:>6}, "
            f"{work_h[k]:>11,.1f} GPU-hours {parts[1]:>6}"
        )


def _waits(record: Recorded) -> Iterator[str]:
    found = waits_of(record.wait_s)
    yield (
        f"recorded   {counted(found.count, 'wait')}: mean {span(found.mean_s)}, median {span(found.median_s)}, "
        f"p95 {span(found.p95_s)}, {percent(found.at_once)} at most a minute"
    )
    yield from _by("partition", record.partition, record.wait_s)
    yield from _by("GPUs", _sizes(record.num_gpus), record.wait_s, record.num_gpus)
    yield from _by("user", record.user, record.wait_s)


def _sizes(gpus: FloatArray) -> list[str]:
    """Classes of numbers of GPUs: each number, or parts of one and powers of two where there are many."""
    if len(np.unique(gpus)) <= MOST_NAMED:
        return [f"{g:,.6g}" for g in gpus.tolist()]
    low = np.where(gpus < 1, 0, 2 ** np.log2(np.maximum(gpus, 1)).astype(np.int64))
    names = {0: "below 1", 1: "1"}
    return [names.get(n, f"{n}-{2 * n - 1}") for n in low.tolist()]


def _by(
    title: str, names: Sequence[str], wait_s: FloatArray, sizes: FloatArray | None = None
) -> Iterator[str]:
    """Mean waits of the groups with the most jobs, in the order of their sizes; nothing where there is one group."""
    known = np.isfinite(wait_s)
    counts = Counter(name for name, is_known in zip(names, known.tolist(), strict=True) if is_known)
    if len(counts) < 2:
        return
    of, listed, shown = np.asarray(names, dtype=object), [], counts.most_common(MOST_NAMED)
    if sizes is not None:
        shown.sort(key=lambda each: float(sizes[of == each[0]].min()))
    for name, count in shown:
        mean_s = float(wait_s[known & (of == name)].mean())
        listed.append(f"{name or '(none)'} {span(mean_s)} ({counted(count, 'job')})")
    more = f"; {len(counts) - MOST_NAMED} more" if len(counts) > MOST_NAMED else ""
    yield f"  by {title:9} mean wait {', '.join(listed)}{more}"


def _use(trace: FileContents, queue: Queue) -> Iterator[str]:
    """Part of the GPUs in use from the first start to the last end, and the most at once."""
    total = gpus_of_site(trace)
    in_use = total - queue.free
    most = float(in_use.max())
    span_s = float(queue.end_s.max() - queue.start_s.min())
    part = float((queue.gpus * (queue.end_s - queue.start_s)).sum()) / max(total * span_s, 1e-300)
    of = "in use at most" if trace.cluster is None else "of the cluster"
    line = f"use        {percent(part)} of the {total:.6g} GPUs {of}, from the first start to the last end"
    if trace.cluster is not None:
        line += f"; at most {most:.6g} at once"
        if most > total * (1 + 1e-9):
            first_h = float(queue.times_s[np.argmax(in_use > total * (1 + 1e-9))]) / HOUR_S
            line += f", more than the cluster has, first {first_h:.4g} h after the first submission"
    yield line


def _room(queue: Queue) -> Iterator[str]:
    """Part of the waiting that passed while there was room."""
    waited_s = float((queue.start_s - queue.submit_s).sum())
    if waited_s <= 0:
        return
    part = float(queue.room_s().sum()) / waited_s
    line = f"not capacity {percent(part)} of the waiting passed while as many GPUs as the job asked for were free"
    if part > MOST_ROOM:
        line += ": capacity is not what limits, and more nodes would not shorten these waits"
    elif part > MUCH_ROOM:
        line += (
            ": not only capacity limits, and more nodes would shorten only a part of these waits"
        )
    yield line


def _room_by_partition(queue: Queue, names: Sequence[str]) -> Iterator[str]:
    """The same of the partitions with the most jobs; nothing where there is one."""
    of = np.array([names[row] or "(none)" for row in queue.jobs.tolist()], dtype=object)
    counts = Counter(of.tolist())
    if len(counts) < 2:
        return
    waited_s, room_s = queue.start_s - queue.submit_s, queue.room_s()
    listed = []
    for name, _ in counts.most_common(MOST_NAMED):
        whole_s = float(waited_s[of == name].sum())
        part = percent(room_s[of == name].sum() / whole_s) if whole_s > 0 else "no wait"
        listed.append(f"{name} {part}")
    more = f"; {len(counts) - MOST_NAMED} more" if len(counts) > MOST_NAMED else ""
    yield f"  by partition, on any nodes: {', '.join(listed)}{more}"


def _clock(record: Recorded) -> Iterator[str]:
    """Hours of the day and days of the week, of a log with dates."""
    if np.isnan(record.origin_s):
        return
    starts_s = record.recorded_start_s[np.isfinite(record.recorded_start_s)]
    told = []
    for what, at_s in (("submissions", record.submit_s), ("starts", starts_s)):
        if not len(at_s):
            continue
        by_hour = np.bincount(clock_of(record, at_s)[0], minlength=24) / len(at_s)
        most, least = int(by_hour.argmax()), int(by_hour.argmin())
        told.append(
            f"most {what} {_hour(most)} ({percent(by_hour[most])}), fewest {_hour(least)} ({percent(by_hour[least])})"
        )
    yield f"clock      {'; '.join(told)}"
    by_day = np.bincount(clock_of(record, record.submit_s)[1], minlength=7) / len(record)
    yield f"weekdays   of the submissions: {', '.join(f'{d} {percent(p)}' for d, p in zip(DAYS, by_day.tolist(), strict=True))}"


def _rules(record: Recorded, queue: Queue, asked_s: FloatArray) -> Iterator[str]:
    """Signs of rules in the starts that no number of GPUs explains."""
    if rule := day_rule(record, asked_s):
        did = "ran" if np.isnan(asked_s).all() else "asked"
        yield (
            f"rules      {percent(rule.share)} of the weekday starts of jobs that {did} for more than {rule.longer_h} h lie "
            f"{_hour(rule.hour)}, and {percent(rule.others)} of the other ones"
        )
    for what, names in (("user", record.user), ("partition", record.partition)):
        if found := stops(queue, names):
            listed = ", ".join(f"{stop.name} {stop.most}" for stop in found[:MOST_NAMED])
            more = f", {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
            does = (
                ("waits", "has", "this number")
                if len(found) == 1
                else ("wait", "have", "these numbers")
            )
            yield (
                f"rules      {counted(len(found), what)} {does[0]} while enough GPUs are free and never {does[1]} more than {does[2]} of running jobs: "
                f"{listed}{more}"
            )
    idle = stretches(queue)
    if len(idle):
        long_h = (idle[:, 1] - idle[:, 0]) / HOUR_S
        k = int(long_h.argmax())
        yield (
            f"rules      {'once' if len(idle) == 1 else f'{len(idle):,} times'} no job started for an hour or more, though the first in the queue fitted: "
            f"{long_h.sum():.4g} h in all, the longest {long_h[k]:.3g} h, {_when(record, idle[k, 0])}"
        )
    rows = held(queue)
    if len(rows):
        k = int(np.nanargmax(np.where(np.isin(np.arange(len(record)), rows), record.wait_s, -1)))
        yield (
            f"rules      {counted(len(rows), 'job')} waited for 2 days or more while their GPUs were free; the longest wait is "
            f"{span(float(record.wait_s[k]))}, of a job submitted {_when(record, record.submit_s[k])}"
        )


def _when(record: Recorded, at_s: float) -> str:
    """A date, or the hours since the first submission."""
    if np.isnan(record.origin_s):
        return f"{at_s / HOUR_S:.4g} h after the first submission"
    shown = np.datetime64(round(record.origin_s + at_s), "s")
    return f"at {str(shown).replace('T', ' ')[:16]}"


def _hour(hour: int) -> str:
    return f"between {hour}:00 and {hour + 1}:00"
