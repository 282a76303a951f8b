"""Backfilling written down plainly, without a line of the simulator: lists of intervals, all numbers exact.

At every time at which a job comes or ends, all is planned anew. It is slow, and it has no tolerance.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

OVERDUE = Fraction(4, 2**20)
"""A job that runs longer than it asked for is expected to end so much later than now."""


class Job(NamedTuple):
    """A job; ``cpus`` for each of its GPUs, ``nodes`` in equal parts (0: any), types that will do (none: all)."""

    submit: int
    duration: int
    asked: int
    gpus: int
    priority: int = 0
    cpus: int = 0
    nodes: int = 0
    one_rack: bool = False
    types: str = ""


class Node(NamedTuple):
    """A node."""

    gpus: int
    cpus: int = 10**6
    rack: int = 0
    type: str = ""


class Held(NamedTuple):
    """GPUs that a job has on nodes from one time to another, ``((node, gpus), ..)``."""

    begin: Fraction
    end: Fraction
    parts: tuple[tuple[int, int], ...]
    cpus: int


@dataclass
class Plain:
    """One machine, its jobs, and their starts and nodes as they come out.

    Parameters
    ----------
    conservative : every job has a reservation, and keeps it or gets an earlier one; else the first that waits.
    window, limit : nobody gets a reservation later from now; so many jobs are looked at.
    """

    jobs: Sequence[Job]
    nodes: Sequence[Node]
    conservative: bool
    order: str = "fifo"
    window: int = 10**9
    limit: int = 10**9
    start: dict[int, Fraction] = field(default_factory=dict)
    on: dict[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    promised: dict[int, Held] = field(default_factory=dict)

    def run(self) -> list[tuple[Fraction, tuple[tuple[int, int], ...]]]:
        """When each job starts, and its GPUs by node."""
        times, done = {Fraction(job.submit) for job in self.jobs}, set()
        while times - done:
            now = min(times - done)
            done.add(now)
            times |= {now + self.jobs[j].duration for j in self.decide(now)}
        return [(self.start[j], self.on[j]) for j in range(len(self.jobs))]

    def decide(self, now: Fraction) -> list[int]:
        """The jobs that start now."""
        jobs = self.jobs
        taken = [
            Held(now, max(self.start[j] + jobs[j].asked, now + OVERDUE), self.on[j], jobs[j].cpus)
            for j in self.start
            if self.start[j] + jobs[j].duration > now
        ]
        queue = [j for j, job in enumerate(jobs) if job.submit <= now and j not in self.start]
        key = {"fifo": lambda j: j, "sjf": lambda j: (jobs[j].asked, j), "priority": lambda j: (-jobs[j].priority, j)}  # fmt: skip
        queue.sort(key=key[self.order])
        plan = self.conservative_plan if self.conservative else self.easy_plan
        planned = plan(now, queue[: self.limit], taken)
        starting = [j for j, held in planned.items() if held.begin == now]
        self.promised = {j: held for j, held in planned.items() if held.begin > now}
        for j in starting:
            self.start[j], self.on[j] = now, planned[j].parts
        return starting

    def easy_plan(self, now: Fraction, queue: list[int], taken: list[Held]) -> dict[int, Held]:
        """Who starts now, and the reservation of the first who does not."""
        planned: dict[int, Held] = {}
        for j in queue:
            is_reserved = any(held.begin > now for held in planned.values())
            found = self.earliest(now, j, taken, 0 if is_reserved else self.window)
            if found is not None:
                planned[j] = found
                taken.append(found)
        return planned

    def conservative_plan(
        self, now: Fraction, queue: list[int], taken: list[Held]
    ) -> dict[int, Held]:
        """A start for everyone; who had one keeps it, if it can, or gets an earlier one."""
        kept: dict[int, Held] = {}
        for j in sorted(self.promised, key=lambda j: self.promised[j].begin):
            begin = max(self.promised[j].begin, now)
            again = self.promised[j]._replace(begin=begin, end=begin + self.jobs[j].asked)
            free = [self.free(n, again, [*taken, *kept.values()]) for n in range(len(self.nodes))]
            if all(
                gpus <= free[n][0] and gpus * again.cpus <= free[n][1] for n, gpus in again.parts
            ):
                kept[j] = again
        planned: dict[int, Held] = {}
        for j in queue:
            kept.pop(j, None)
            found = self.earliest(now, j, [*taken, *planned.values(), *kept.values()], self.window)
            if found is not None:
                planned[j] = found
        return planned

    def free(self, node: int, during: Held, taken: Sequence[Held]) -> tuple[int, int]:
        """GPUs and CPUs of a node that nobody has at any time of an interval."""
        times = {during.begin, *(h.begin for h in taken if during.begin < h.begin < during.end)}
        least = []
        for at in times:
            held = [(g, g * h.cpus) for h in taken if h.begin <= at < h.end for n, g in h.parts if n == node]  # fmt: skip
            gpus, cpus = map(sum, zip(*held, strict=True)) if held else (0, 0)
            least.append((self.nodes[node].gpus - gpus, self.nodes[node].cpus - cpus))
        return min(gpus for gpus, _ in least), min(cpus for _, cpus in least)

    def earliest(self, now: Fraction, j: int, taken: Sequence[Held], window: int) -> Held | None:
        """The first time at which a job fits, and where."""
        ends = {held.end for held in taken if held.end > now}
        for at in sorted(t for t in {now, *ends} if t <= now + window):
            during = Held(at, at + self.jobs[j].asked, (), self.jobs[j].cpus)
            free = [self.free(n, during, taken) for n in range(len(self.nodes))]
            for parts in self.places(self.jobs[j], free):
                return during._replace(parts=parts)
        return None

    def places(
        self, job: Job, free: list[tuple[int, int]]
    ) -> Iterator[tuple[tuple[int, int], ...]]:
        """Places of a job: in the rack with the fewest free GPUs that holds it, if it has to be in one; else anywhere."""
        everywhere = list(range(len(self.nodes)))
        racks = [[n for n in everywhere if self.nodes[n].rack == rack] for rack in sorted({node.rack for node in self.nodes})]  # fmt: skip
        racks.sort(key=lambda rack: sum(free[n][0] for n in rack))
        for some in racks if job.one_rack else [everywhere]:
            able = [n for n in some if not job.types or self.nodes[n].type in job.types.split("|")]
            most = {n: free[n][0] if not job.cpus else min(free[n][0], free[n][1] // job.cpus) for n in able}  # fmt: skip
            each, count = job.gpus // max(job.nodes, 1), max(job.nodes, 1)
            holding = sorted((n for n in able if most[n] >= each), key=lambda n: (free[n][0], n))
            if len(holding) >= count:
                yield tuple((n, each) for n in sorted(holding[:count]))
            elif not job.nodes and sum(most.values()) >= job.gpus:
                parts, left = [], job.gpus
                for n in sorted(able, key=lambda n: (-most[n], n)):
                    if min(left, most[n]) > 0:
                        parts.append((n, min(left, most[n])))
                        left -= parts[-1][1]
                yield tuple(sorted(parts))
