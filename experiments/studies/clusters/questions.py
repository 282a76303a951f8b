"""The questions of the page, read from questions.toml: comparisons of policies over a key of a scenario."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from experiments.comparison.answer import Comparison
from experiments.comparison.comparing import of_runs
from experiments.comparison.plan import Cell, Plan, cells_of
from experiments.comparison.runs import PlannedRun, task_of
from experiments.config import read_toml
from experiments.pages import Experiment, Results, Scale, Task

HERE = Path(__file__).parent
COST_S: dict[Scale, float] = {"quick": 0.15, "paper": 0.6}
"""CPU seconds of a run, roughly."""
CURRENCY = "USD"
"""Of prices, where the scenario names no other."""


class Question(BaseModel):
    """A comparison of `schedlab compare`, and how the page shows it.

    Attributes
    ----------
    name : of the figure and of the scenario's file.
    over : ``KEY=a,b,c`` each.
    metrics : names of ``summary.json``; the first one ranks.
    seeds : how many, at the quick and at the paper's scale.
    jobs : how many at the quick scale; at the paper's, as many as the file has.
    words : what the picture writes in place of a policy, the swept key or one of its values.
    mark : a value of the swept key with a dashed line.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    title: str
    caption: str
    policies: tuple[str, ...]
    over: tuple[str, ...]
    metrics: tuple[str, ...]
    seeds: tuple[int, int]
    jobs: int
    words: dict[str, str] = {}
    mark: float | None = None

    @property
    def command(self) -> str:
        """The command that makes the comparison of the paper's scale."""
        words = [f"schedlab compare {(HERE / self.name).relative_to(HERE.parents[2])}.toml"]
        words += [f"--policy {policy}" for policy in self.policies]
        words += [f"--over {over}" for over in self.over]
        return " ".join([*words, f"--metric {','.join(self.metrics)}", f"--draws {self.seeds[1]}"])

    def cells(self, scale: Scale) -> Iterator[Cell]:
        """The settings, with the policies on their jobs."""
        fewer = [f"workload.num_jobs={self.jobs}"] if scale == "quick" else []
        yield from cells_of(HERE / f"{self.name}.toml", Plan(self.policies), self.over, fewer, None)

    def tasks(self, scale: Scale) -> Iterator[Task]:
        """Every policy in every setting with every seed."""
        for cell in self.cells(scale):
            for entrant in cell.field.entrants:
                for number in range(self.seeds[scale == "paper"]):
                    labels = {"question": self.name, **cell.labels}
                    task = task_of(PlannedRun(entrant, cell.scenario.seed + number, labels), {})
                    yield replace(task, cost_s=COST_S[scale])

    def found(self, results: Results) -> Comparison:
        """The comparison that the runs give."""
        runs = results.runs(question=self.name).assign(draw=0, random=True)
        settings = [over.partition("=")[0] for over in self.over]
        found = of_runs(f"{self.name}.toml", runs, settings, self.metrics, self.policies[0])
        return replace(found, currency=CURRENCY)


@functools.cache
def questions() -> tuple[Question, ...]:
    """All of them, in the order of the page."""
    return tuple(
        Question.model_validate(one) for one in read_toml(HERE / "questions.toml")["questions"]
    )


def tasks(scale: Scale) -> list[Task]:
    """Every run of the page."""
    return [task for question in questions() for task in question.tasks(scale)]


PAGE = Experiment(Path(__file__).parent, tasks)
"""What figures, claims and texts of the page register with."""
