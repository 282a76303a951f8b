"""How often the intervals contain the truth: the tables of docs/statistics.md.

python -m benchmarks.coverage [FILE]    about eight CPU minutes

FILE keeps one line of JSON a cell, and cells that are there are not computed again. Without it, all are
computed. The queues come from `benchmarks.queues`, which equals the simulator job by job.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.queues import poisson_queue
from experiments.scenario.formulas import fewest_jobs, interval_of_run
from simulator import theory as q
from simulator.laws import Exponential, HyperExponential, Law
from simulator.statistics import Estimate, Streams

SEEDS = 600
SEEDS_OF_SHORTEST = 1000
ONE, VARIABLE = Exponential(1.0), HyperExponential.with_cv2(1.0, 4.0)
LOADS = (0.5, 0.8, 0.9)
LENGTHS = (5_000, 0, 50_000, 200_000)
"""Jobs of a run; 0 is the shortest run that has an interval, where it is hardest to keep the level."""


@dataclass(frozen=True)
class Queue:
    """A queue with Poisson arrivals whose mean response is known.

    Attributes
    ----------
    response : its mean response time at an arrival rate.
    """

    name: str
    order: str
    servers: int
    law: Law
    response: Callable[[float], float]

    def draw(self, load: float, jobs: int, seed: int) -> np.ndarray:
        """``(n,)`` response times of a run that starts empty."""
        rng = Streams(seed).generator(f"{self.name} {load} {jobs}")
        return poisson_queue(self.order, load, self.servers, self.law, jobs, rng)

    def truth(self, load: float) -> float:
        """Mean response time in the long run."""
        return self.response(load * self.servers)

    def length(self, load: float) -> q.RunLength:
        """How long a run has to be, as the command plans it."""
        return q.response_run_length(
            load * self.servers, self.law, self.servers, first_come=self.order == "first come"
        )


QUEUES = (
    Queue("M/M/1", "first come", 1, ONE, lambda r: q.mmc_mean_response_s(r, 1.0, 1)),
    Queue("M/M/4", "first come", 4, ONE, lambda r: q.mmc_mean_response_s(r, 1.0, 4)),
    Queue("M/G/1, cv² 4", "first come", 1, VARIABLE, lambda r: q.mg1_mean_response_s(r, VARIABLE)),
    Queue("SRPT, cv² 4", "srpt", 1, VARIABLE, lambda r: q.mg1_srpt_response_s(r, VARIABLE)),
    Queue("PS, cv² 4", "processor sharing", 1, VARIABLE, lambda r: q.mg1_ps_response_s(r, VARIABLE)),
)  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """Intervals of one setting over the seeds.

    Attributes
    ----------
    of : what was estimated, and ``setting`` of what.
    seeds, shown : runs, and those that had an interval.
    below, above : intervals that lie wholly below the truth, and above it.
    width : median half width over the truth.
    """

    of: str
    setting: str
    seeds: int
    shown: int
    below: int
    above: int
    width: float

    @property
    def coverage(self) -> float:
        """Part of the intervals that contain the truth."""
        return 1 - (self.below + self.above) / self.shown

    @staticmethod
    def count(of: str, setting: str, truth: float, found: list[Estimate | None]) -> Cell:
        """The cell of these intervals."""
        shown = [e for e in found if e is not None]
        return Cell(
            of, setting, len(found), len(shown),
            sum(e.upper < truth for e in shown), sum(e.lower > truth for e in shown),
            float(np.median([e.half_width for e in shown]) / truth) if shown else 0.0,
        )  # fmt: skip


def one_run(queue: Queue, load: float, length: int, seeds: int | None = None) -> Cell:
    """The interval beside the formula of `schedlab run`."""
    seeds = seeds or (SEEDS if length else SEEDS_OF_SHORTEST)
    jobs = length or fewest_jobs(queue.length(load))
    found = [
        interval_of_run(queue.draw(load, jobs, seed), queue.length(load)) for seed in range(seeds)
    ]
    return Cell.count("run", f"{queue.name} {load} {length}", queue.truth(load), found)


def cells() -> Iterator[tuple[tuple[str, str], Callable[[], Cell]]]:
    """Key and maker of every cell."""
    for queue in QUEUES:
        for load in LOADS:
            for length in LENGTHS:
                yield (
                    ("run", f"{queue.name} {load} {length}"),
                    lambda q=queue, u=load, n=length: one_run(q, u, n),  # type: ignore[misc]
                )


def computed(kept: Path | None) -> dict[tuple[str, str], Cell]:
    """All cells; those of the file are read, the others computed and added to it."""
    lines = kept.read_text("utf-8").splitlines() if kept and kept.exists() else []
    found = {(c.of, c.setting): c for c in (Cell(**json.loads(line)) for line in lines)}
    for key, make in cells():
        if key in found:
            continue
        found[key] = make()
        print(found[key], file=sys.stderr, flush=True)
        if kept:
            with kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(found[key])) + "\n")
    return found


def table_of_runs(found: dict[tuple[str, str], Cell]) -> Iterator[str]:
    """Markdown: coverage in per cent, misses below and above, by queue, load and length."""
    yield "| queue | load | 5,000 jobs | shortest run with an interval | 50,000 jobs | 200,000 jobs |"
    yield "|---|---|---|---|---|---|"
    for queue in QUEUES:
        for load in LOADS:
            row = [queue.name, f"{load}"]
            for length in LENGTHS:
                cell = found["run", f"{queue.name} {load} {length}"]
                jobs = "" if length else f"{fewest_jobs(queue.length(load)):,}: "
                row.append(jobs + shown(cell))
            yield f"| {' | '.join(row)} |"


def shown(cell: Cell) -> str:
    """Coverage and misses of one cell, or that there is no interval."""
    if not cell.shown:
        return "too short"
    part = "" if cell.shown == cell.seeds else f", {cell.seeds - cell.shown} too short"
    return f"{100 * cell.coverage:.1f} % ({cell.below}, {cell.above}{part})"


def main() -> None:
    """Compute the cells and print the tables."""
    found = computed(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    print("\n".join(table_of_runs(found)))


if __name__ == "__main__":
    main()
