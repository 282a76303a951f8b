"""The released simulator's behaviour, rebuilt apart from the project: rounds, GPUs and jobs as plain lists.

Nothing of schedlab is imported but the published tables. What it does is described in docs/papers.md; it
knows single servers of 8 GPUs, 24 CPUs and 500 GB, rounds of 300 s, and the mechanisms proportional,
greedy and tune without consolidated placement.
"""

import csv
import math
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROUND_S = 300
GPUS, CPUS, MEMORY_GB = 8, 24, 500.0
FAIR = (CPUS / GPUS, MEMORY_GB / GPUS)
DATA = Path(__file__).resolve().parents[2] / "data"


@cache
def demands():
    """Iteration time, CPUs and GB per GPU, and the speed-up with them, by network."""
    with (DATA / "synergy_released_demand.csv").open() as file:
        rows = [r for r in csv.DictReader(file) if r["cpus_per_gpu_of_server"] == "3"]
    names = ("iteration_time_s", "cpus_per_gpu", "memory_gb_per_gpu", "speedup")
    return {r["model"]: tuple(float(r[n]) for n in names) for r in rows}


@dataclass(eq=False)
class Job:
    """A job, and how far it has come."""

    number: int
    arrival_s: float
    model: str
    iterations: int
    gpus: int
    iteration_s: float = 0.0
    cpus: float = 0.0
    memory_gb: float = 0.0
    full_speed: float = 1.0
    done: int = 0
    rounds: int = 0
    put_back: bool = False
    end_s: float = math.nan
    parts: dict[int, int] = field(default_factory=dict)
    share: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self):
        self.iteration_s, cpus, memory_gb, speed = demands()[self.model]
        wanted = (self.gpus * cpus, self.gpus * memory_gb)
        if self.gpus > GPUS:
            too_much = (wanted[0] > CPUS, wanted[1] > MEMORY_GB)
            self.cpus = self.gpus * FAIR[0] if too_much[0] else wanted[0]
            self.memory_gb = self.gpus * FAIR[1] if too_much[1] else wanted[1]
            self.full_speed = 1.0 if any(too_much) else speed
            return
        self.cpus, self.memory_gb = min(wanted[0], CPUS), min(wanted[1], MEMORY_GB)
        if (self.cpus, self.memory_gb) != wanted:
            above_fair = wanted[0] - self.gpus * FAIR[0]
            speed = 1 + (speed - 1) / above_fair * (self.cpus - self.gpus * FAIR[0])
        self.full_speed = speed

    @property
    def wants_more(self):
        return self.cpus > self.gpus * FAIR[0] or self.memory_gb > self.gpus * FAIR[1]

    @property
    def wish(self):
        return (self.cpus / self.gpus, self.memory_gb / self.gpus)


def key_of(ordering, job, now_s, servers, mechanism):
    """Sort key of jobs, smallest first; then by arrival."""
    speed = 1.0 if mechanism == "proportional" or job.put_back else job.full_speed
    alone_s = job.iteration_s * job.iterations
    left_s = job.iteration_s * (job.iterations - job.done) / speed
    parts = (
        job.gpus / (GPUS * servers),
        job.cpus / (CPUS * servers),
        job.memory_gb / (MEMORY_GB * servers),
    )
    if ordering == "fifo":
        return 0.0
    if ordering == "srtf":
        return left_s
    if ordering == "las":
        return job.rounds * ROUND_S * job.gpus
    if ordering == "ftf":
        return (now_s - job.arrival_s + left_s) / alone_s
    if ordering == "drf":
        return max(parts)
    assert ordering == "tetris"
    return sum(part * left_s for part in parts)


class Servers:
    """Free resources of each server, and the jobs on it."""

    def __init__(self, count):
        self.free = [[GPUS, CPUS, MEMORY_GB] for _ in range(count)]
        self.on = [[] for _ in range(count)]

    def first_gpus(self, gpus, share):
        """GPUs by server, the first in order that have this share beside them; None: too few."""
        found, left = {}, gpus
        for i, (free_gpus, cpus, memory_gb) in enumerate(self.free):
            while left and free_gpus and cpus >= share[0] and memory_gb >= share[1]:
                found[i] = found.get(i, 0) + 1
                free_gpus, cpus, memory_gb = free_gpus - 1, cpus - share[0], memory_gb - share[1]
                left -= 1
        return None if left else found

    def change(self, parts, gpus, cpus, memory_gb):
        for i, count in parts.items():
            for r, each in enumerate((gpus, cpus, memory_gb)):
                self.free[i][r] -= count * each

    def place(self, job, parts, share):
        self.change(parts, 1, *share)
        job.parts, job.share = parts, share
        for i in parts:
            self.on[i].append(job)

    def fewest(self, gpus):
        """The servers whose jobs are put back, and how many GPUs are wanted of each."""
        if gpus > 1:
            for i, free in enumerate(self.free):
                if free[0] >= gpus:
                    return {i: gpus}
        chosen = {}
        for count, i in sorted((free[0], i) for i, free in enumerate(self.free) if free[0]):
            chosen[i] = min(count, gpus)
            gpus -= chosen[i]
            if not gpus:
                break
        return chosen

    def put_back_on(self, i, gpus, share):
        short = [max(0.0, gpus * share[r] - self.free[i][r + 1]) for r in (0, 1)]
        if not any(short):
            return
        self.on[i].sort(key=lambda j: (len(j.parts), -j.share[0], -j.share[1]))
        for job in list(self.on[i]):
            excess = [max(0.0, job.parts[i] * (job.share[r] - FAIR[r])) for r in (0, 1)]
            if job.wants_more:
                self.change(job.parts, 0, FAIR[0] - job.share[0], FAIR[1] - job.share[1])
                job.share, job.put_back = FAIR, True
            short = [max(0.0, s - e) for s, e in zip(short, excess, strict=True)]
            if not any(short):
                return


def allocate(job, servers, mechanism):
    """Place one job in this round, if it can be; a job that is put back keeps its mark."""
    if mechanism == "proportional":
        servers.place(job, servers.first_gpus(job.gpus, FAIR), FAIR)
        return True
    share = job.wish
    parts = servers.first_gpus(job.gpus, share)
    if mechanism == "greedy" and parts is None:
        return False
    if parts is None and job.wants_more:
        share, job.put_back = FAIR, True
        parts = servers.first_gpus(job.gpus, share)
    if parts is None:
        for i, gpus in servers.fewest(job.gpus).items():
            servers.put_back_on(i, gpus, share)
        parts = servers.first_gpus(job.gpus, share)
        assert parts is not None, "the released simulator would stop here"
    servers.place(job, parts, share)
    return True


def decide(waiting, num_servers, ordering, mechanism, now_s):
    """Jobs that run in the round that begins, with parts, shares and marks set."""
    waiting.sort(
        key=lambda j: (key_of(ordering, j, now_s, num_servers, mechanism), j.arrival_s, j.number)
    )
    for job in waiting:
        job.put_back, job.parts = False, {}
    free = num_servers * GPUS
    queue = waiting
    if ordering == "las":
        queue, room = [], free
        for job in waiting:
            if job.gpus <= room:
                queue.append(job)
                room -= job.gpus
        if mechanism == "tune":
            queue.sort(key=lambda j: -j.gpus)
    servers, running = Servers(num_servers), []
    for job in queue:
        if job.gpus <= free and allocate(job, servers, mechanism):
            running.append(job)
            free -= job.gpus
    return running


def replay(jobs, num_servers, ordering, mechanism, until=None):
    """Seconds at which each job ends; ``until``: stop once these are done."""
    coming = sorted(jobs, key=lambda j: j.arrival_s)
    now_s = math.ceil(coming[0].arrival_s / ROUND_S) * ROUND_S
    wanted = set(range(len(jobs)) if until is None else until)
    waiting, before, running = [], None, []
    arrived = 0
    while wanted:
        while arrived < len(coming) and coming[arrived].arrival_s <= now_s:
            waiting.append(coming[arrived])
            arrived += 1
        if ordering != "fifo" or waiting != before:
            running = decide(waiting, num_servers, ordering, mechanism, now_s)
            before = list(waiting)
        for job in running:
            full = mechanism != "proportional" and not job.put_back
            speed = job.full_speed if full else 1.0
            job.done += math.floor(ROUND_S / (job.iteration_s / speed))
            job.rounds += 1
        now_s += ROUND_S
        for job in [j for j in running if j.done >= j.iterations]:
            job.end_s = now_s
            waiting.remove(job)
            wanted.discard(job.number)
    return [job.end_s for job in jobs]
