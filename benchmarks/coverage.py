"""Coverage of the intervals: the tables of benchmarks/coverage.md.

python -m benchmarks.coverage [FILE]    about eight CPU minutes

FILE keeps one line of JSON a cell, and cells that are there are not computed again. Without it, all are
computed. The queues come from `benchmarks.queues`, which equals the simulator job by job.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.queues import RESPONSES, poisson_queue
from experiments.scenario.formulas import fewest_jobs, interval_of_run
from simulator import theory as q
from simulator.laws import Exponential, HyperExponential, Law
from simulator.statistics import (
    Estimate,
    Streams,
    bootstrap_interval,
    mean_of_skewed,
    pooled_quantile,
    quantile,
    ratio,
)
from simulator.workloads.bootstrap import block_length, drawn_blocks

SEEDS = 600
SEEDS_OF_SHORTEST = 1000
SETS = 1000
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
        """Length of a run, as the command plans it."""
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
            sum(bool(e.upper < truth) for e in shown), sum(bool(e.lower > truth) for e in shown),
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


@dataclass(frozen=True)
class Pair:
    """Mean responses of a server under two policies on the same jobs, or under one.

    Attributes
    ----------
    minus : the order that is subtracted; "5 % faster" is the same order on a faster server; empty: none.
    """

    order: str
    minus: str
    law: Law
    load: float
    jobs: int

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Gaps and sizes of a run."""
        return rng.exponential(1 / self.load, self.jobs), self.law.sample(rng, self.jobs)

    def of(self, gaps: np.ndarray, size: np.ndarray) -> float:
        """The mean response, or the difference."""
        arrival = np.cumsum(gaps)
        own = float(RESPONSES[self.order](arrival, size, 1).mean())
        if self.minus == "5 % faster":
            return own - float(RESPONSES[self.order](arrival, 0.95 * size, 1).mean())
        return own - float(RESPONSES[self.minus](arrival, size, 1).mean()) if self.minus else own

    @property
    def text(self) -> str:
        """The setting in words."""
        law = "M/M/1" if self.law is ONE else "M/G/1, cv² 4,"
        less = f" minus {self.minus}" if self.minus else ""
        return f"{law} {self.load}, {self.jobs} jobs, {self.order}{less}"


def runs_compared(pair: Pair) -> Cell:
    """The interval of ten runs of `schedlab compare`.

    The truth is the mean over all runs of this length, by ten times as many.
    """
    rng = Streams(1).generator(f"compared {pair.text}")
    values = np.array([pair.of(*pair.draw(rng)) for _ in range(10 * SETS)])
    found = [mean_of_skewed(part) for part in values.reshape(SETS, 10)]
    return Cell.count("compare, 10 runs", pair.text, float(values.mean()), list(found))


def traces_drawn(pair: Pair, sets: int = 400, draws: int = 40) -> Cell:
    """The interval of `schedlab compare` on a trace, with 40 draws and blocks of the default length.

    The truth is the mean over all traces of this length.
    """
    rng = Streams(1).generator(f"traces {pair.text}")
    truth = np.mean([pair.of(*pair.draw(rng)) for _ in range(10_000)])
    found: list[Estimate | None] = []
    for _ in range(sets):
        gaps, size = pair.draw(rng)
        again = []
        for _ in range(draws):
            rows = drawn_blocks(pair.jobs, block_length(pair.jobs), rng)
            again.append(pair.of(gaps[rows], size[rows]))
        found.append(bootstrap_interval(pair.of(gaps, size), again))
    return Cell.count("compare, trace of 40 draws", pair.text, float(truth), found)


def savings(runs: int) -> Cell:
    """The ratio of the mean costs of two policies, exponential and dependent."""
    rng = Streams(1).generator(f"ratio {runs}")

    def one() -> Estimate:
        other = rng.exponential(1.0, runs) + 0.5
        return ratio(0.5 * other + 0.5 * rng.exponential(1.0, runs), other, rng)

    truth = 0.5 + 0.5 / 1.5
    return Cell.count("ratio", f"{runs} exponential pairs", truth, [one() for _ in range(SETS)])


def quantiles(count: int, q: float) -> Cell:
    """A quantile of independent exponential values."""
    rng = Streams(1).generator(f"quantile {count} {q}")
    found = [quantile(rng.exponential(1.0, count), q) for _ in range(SETS)]
    return Cell.count(
        "quantile", f"{q} of {count} exponential values", -math.log(1 - q), list(found)
    )


def pooled_quantiles(runs: int, q: float) -> Cell:
    """A quantile of the responses of all jobs of several runs of M/M/1; the start is left out."""
    rng = Streams(1).generator(f"pooled {runs} {q}")
    load, jobs = 0.8, 2500
    found = [
        pooled_quantile(
            [poisson_queue("first come", load, 1, ONE, jobs, rng)[500:] for _ in range(runs)], q
        )
        for _ in range(SETS)
    ]
    truth = -math.log(1 - q) / (1 - load)
    return Cell.count("pooled_quantile", f"{q} of {runs} runs, M/M/1 {load}", truth, list(found))


COMPARED = (
    *(
        Pair("first come", minus, ONE, load, jobs)
        for load, jobs in ((0.5, 1000), (0.8, 1000), (0.8, 5000), (0.9, 5000))
        for minus in ("", "5 % faster")
    ),
    Pair("first come", "srpt", VARIABLE, 0.8, 5000),
    Pair("processor sharing", "srpt", VARIABLE, 0.8, 5000),
)
TRACES = (
    *(Pair("first come", "", ONE, u, n) for u, n in ((0.5, 2000), (0.8, 2000), (0.8, 20_000))),
    Pair("first come", "srpt", ONE, 0.8, 2000),
    Pair("first come", "srpt", VARIABLE, 0.5, 5000),
    Pair("processor sharing", "srpt", VARIABLE, 0.5, 5000),
)

OTHERS: dict[str, Callable[[], Cell]] = {
    **{f"compared {pair.text}": lambda p=pair: runs_compared(p) for pair in COMPARED},  # type: ignore[misc]
    **{f"traces {pair.text}": lambda p=pair: traces_drawn(p) for pair in TRACES},  # type: ignore[misc]
    **{f"ratio {runs}": lambda n=runs: savings(n) for runs in (5, 10, 20)},  # type: ignore[misc]
    **{
        f"quantile {count} {q}": lambda n=count, q=q: quantiles(n, q)  # type: ignore[misc]
        for count, q in ((20, 0.5), (100, 0.9), (200, 0.95))
    },
    **{
        f"pooled {runs} {q}": lambda n=runs, q=q: pooled_quantiles(n, q)  # type: ignore[misc]
        for runs in (5, 10, 20)
        for q in (0.5, 0.95)
    },
}
"""The other intervals, by key."""


def cells() -> Iterator[tuple[tuple[str, str], Callable[[], Cell]]]:
    """Key and maker of every cell."""
    for queue in QUEUES:
        for load in LOADS:
            for length in LENGTHS:
                yield (
                    ("run", f"{queue.name} {load} {length}"),
                    lambda q=queue, u=load, n=length: one_run(q, u, n),  # type: ignore[misc]
                )
    for key, make in OTHERS.items():
        yield ("other", key), make


def computed(kept: Path | None) -> dict[tuple[str, str], Cell]:
    """All cells; those of the file are read, the others computed and added to it."""
    lines = kept.read_text("utf-8").splitlines() if kept and kept.exists() else []
    found = {tuple(key): Cell(**cell) for key, cell in map(json.loads, lines)}
    for key, make in cells():
        if key in found:
            continue
        found[key] = make()
        print(found[key], file=sys.stderr, flush=True)
        if kept:
            with kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, asdict(found[key])]) + "\n")
    return found


def table_of_others(found: dict[tuple[str, str], Cell]) -> Iterator[str]:
    """Markdown: coverage and misses of the other intervals."""
    yield "| interval | of | coverage (below, above) |"
    yield "|---|---|---|"
    for key in OTHERS:
        cell = found["other", key]
        yield f"| {cell.of} | {cell.setting} | {shown(cell)} |"


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
    print("\n".join([*table_of_runs(found), "", *table_of_others(found)]))


if __name__ == "__main__":
    main()
