"""What a paper's experiment is, and ``reproduce``, which runs all of them and writes the report.

A module that reproduces a paper exposes three functions, and nothing of it runs on import:

    def tasks(scale: Scale) -> list[Task]            every run that its figures and claims need
    def figures(results: Results, out_dir: Path) -> list[Figure]   draws; see ``save_figure``
    def claims(results: Results) -> list[Claim]      the paper's numbers beside ours

Its task functions (``run_cell(config) -> Outcome``) and what they call decide the key of a result,
the rest of the module does not: drawing anew costs no run.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, cast, get_args

from simulator.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing
    from pandas import DataFrame

    from experiments.results import Results
    from experiments.task import Task

Scale = Literal["quick", "paper"]
Verdict = Literal["reproduced", "partly", "not reproduced", "not comparable", "new"]
VERDICTS: tuple[str, ...] = get_args(Verdict)


@dataclass(frozen=True)
class Figure:
    """One figure on disk: a PNG and the numbers behind it as CSV.

    Attributes
    ----------
    name : file stem, unique in its paper ("figure_3").
    caption : what is seen, and what the paper has in the same place.
    command : the command that makes it again.
    seeds : the seeds of the runs behind it.
    """

    name: str
    title: str
    caption: str
    csv: Path
    png: Path
    command: str
    seeds: tuple[int, ...] = ()


@dataclass(frozen=True)
class Claim:
    """One statement of a paper beside what came out here.

    Attributes
    ----------
    paper : name of the experiment ("hierarchical").
    place : where the paper says it ("Section V-B, Figure 3").
    claim : the statement, in our words.
    paper_value : the paper's number, or text where it is none.
    ours : our number; None where nothing could be measured.
    ci_low, ci_high : 95 % confidence interval of ours; None where it is exact.
    unit : unit of all four ("s", "%", "EUR"); empty for a plain number.
    verdict : "new" is a result that the paper does not have.
    why : the reason, wanted for everything but "reproduced".
    """

    paper: str
    place: str
    claim: str
    paper_value: float | str | None
    ours: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    unit: str = ""
    verdict: Verdict = "reproduced"
    why: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict {self.verdict!r} of {self.claim!r}: expected {VERDICTS}")
        if self.verdict in ("partly", "not reproduced", "not comparable") and not self.why:
            raise ValueError(f"claim {self.claim!r} is {self.verdict!r}: say why")


class Experiment(Protocol):
    """A module that reproduces one paper."""

    def tasks(self, scale: Scale) -> list[Task]:
        """Every run that figures and claims need at this scale."""
        ...

    def figures(self, results: Results, out_dir: Path) -> list[Figure]:
        """Draw into ``out_dir`` (it exists) and say what was drawn."""
        ...

    def claims(self, results: Results) -> list[Claim]:
        """The paper's statements beside our numbers."""
        ...


@dataclass(frozen=True)
class Paper:
    """What the report says of a paper, and the module that reproduces it.

    Attributes
    ----------
    module : ``experiments.<name>`` where empty.
    """

    name: str
    title: str
    authors: str
    summary: str
    module: str = ""

    def load(self) -> Experiment:
        """The module that reproduces the paper."""
        return cast(Experiment, importlib.import_module(self.module or f"experiments.{self.name}"))

    def is_there(self) -> bool:
        """Whether the module exists."""
        return importlib.util.find_spec(self.module or f"experiments.{self.name}") is not None


PAPERS: dict[str, Paper] = {
    paper.name: paper
    for paper in (
        Paper(
            "hierarchical",
            "Hierarchical Scheduling in on-demand GPU-as-a-Service Systems",
            "Filippini, Lattuada, Jahani, Ciavotta, Ardagna, Amaldi",
            "Controllers that each solve a small MILP for their share of the nodes, against "
            "first-principle rules and one central MILP.",
        ),
        Paper(
            "andreas",
            "ANDREAS: Artificial intelligence traiNing scheDuler foR accElerAted resource clusterS",
            "Filippini, Ardagna, Lattuada, Amaldi, Ciavotta, Riedl, Materka, Skrzypek, "
            "Magugliani, Cicala",
            "A randomised greedy that trades energy against tardiness on fixed heterogeneous "
            "nodes, and a replay of its prototype.",
        ),
        Paper(
            "thesis",
            "Analysis of Scheduling Algorithms for Deep Learning Training Jobs running on "
            "Virtualized GPU-based Clusters",
            "Kiros (supervisor Ardagna, co-supervisor Filippini)",
            "Greedy, randomised greedy and local search, central and hierarchical.",
        ),
        Paper(
            "rental",
            "How to Rent GPUs on a Budget",
            "Li, Berg, Mukhopadhyay, Harchol-Balter",
            "How many GPUs to rent for each job under a budget, when speed-ups are concave.",
        ),
        Paper(
            "synergy",
            "Synergy: Resource Sensitive DNN Scheduling in Multi-Tenant Clusters",
            "Mohan, Phanishayee, Kulkarni, Chidambaram",
            "CPUs and memory given to jobs by how much they gain from them, under six orderings.",
        ),
        Paper(
            "queueing",
            "Queueing formulas beside the simulator",
            "schedlab",
            "Closed forms of single and many-server queues, and the simulated values next to them.",
        ),
    )
}


def available() -> list[str]:
    """Names of the papers whose module is there, in the order of ``PAPERS``."""
    return [name for name, paper in PAPERS.items() if paper.is_there()]


def save_figure(
    out_dir: Path,
    name: str,
    title: str,
    caption: str,
    drawing: Drawing,
    data: DataFrame,
    *,
    command: str,
    seeds: Sequence[int] = (),
) -> Figure:
    """Write ``out_dir``/``name``.png and .csv, the same bytes each time; closes the drawing.

    Parameters
    ----------
    data : the plotted numbers, tidy, one row a point; written with nine significant digits.
    """
    import matplotlib.pyplot as plt

    csv, png = out_dir / f"{name}.csv", out_dir / f"{name}.png"
    data.to_csv(csv, index=False, float_format="%.9g", lineterminator="\n")
    drawing.savefig(png, dpi=130, bbox_inches="tight", metadata={"Software": None})
    plt.close(drawing)
    return Figure(name, title, caption, csv, png, command, tuple(int(seed) for seed in seeds))


def reproduce(
    papers: Sequence[str] = (),
    *,
    scale: str = "quick",
    workers: int | None = None,
    out: Path | None = None,
    dask: str | None = None,
    progress: bool = True,
) -> int:
    """Run, draw and compare; leaves ``out`` (results/<scale>) with figures, claims and the site.

    All runs of all papers go through one store, the long ones first; what an earlier call
    computed is not computed again, what failed is tried again. Each paper is then drawn in a
    process of its own.

    Parameters
    ----------
    papers : names of ``available()``; all of them where empty.

    Returns
    -------
    The exit code: 0, 1 where runs or drawings failed or the disk is full, 128 + signal where
    it was stopped.

    Raises
    ------
    InputError
        Unknown paper or scale.
    """
    from experiments.runner import exit_code, run_tasks
    from experiments.store import Store

    if scale not in get_args(Scale):
        raise InputError(f"--scale: got {scale!r}, expected one of {', '.join(get_args(Scale))}")
    known = available()
    for name in papers:
        if name not in known:
            raise InputError(f"paper: got {name!r}, expected one of {', '.join(known) or 'none'}")
    chosen = [PAPERS[name] for name in known if name in papers or not papers]
    tasks = {paper: paper.load().tasks(cast(Scale, scale)) for paper in chosen}
    folder = out or Path("results") / scale

    def work() -> int:
        with Store(folder / "store", create=True) as store:
            # Figures and claims may be committed, the runs behind them need not be.
            (store.folder / ".gitignore").write_text("*\n")
            summary = run_tasks(
                [task for of_paper in tasks.values() for task in of_paper],
                store,
                workers=workers,
                dask=dask,
                progress=progress,
                retry_failed=True,
            )
        problems = _draw_all(tasks, scale, folder, workers)
        _tell(folder, scale, summary.done, summary.failed, summary.wall_s, problems)
        return 1 if summary.failed or problems else 0

    return exit_code(work)


def _draw_all(
    tasks: Mapping[Paper, list[Task]], scale: str, out: Path, workers: int | None
) -> list[str]:
    """Draw the papers side by side; returns what went wrong, a line each."""
    import os

    from experiments.executors import LocalPool

    with LocalPool(min(workers or os.cpu_count() or 1, len(tasks))) as pool:
        drawn = [
            pool.submit(draw_paper, paper, of_paper, scale, str(out))
            for paper, of_paper in tasks.items()
        ]
        return [problem for future in drawn for problem in future.result()]


def draw_paper(paper: Paper, tasks: Sequence[Task], scale: str, out: str) -> list[str]:
    """Figures, claims and page of one paper from its finished runs; returns the problems.

    The tasks are those that were run, keys included, whatever has been edited meanwhile.
    An error in one paper's drawings is told on its page and keeps no other paper from its own.
    """
    import sys
    import traceback

    import matplotlib as mpl

    from experiments.report import Page, write_page
    from experiments.results import Results
    from experiments.store import Store

    mpl.use("Agg")
    experiment, name = paper.load(), paper.name
    folder = Path(out) / name
    folder.mkdir(parents=True, exist_ok=True)
    figures: list[Figure] = []
    claims: list[Claim] = []
    problems: list[str] = []
    with Store(Path(out) / "store") as store:
        results = Results(store, tasks, scale)
        if results.missing:
            problems.append(f"{name}: {len(results.missing)} runs failed or are missing")
        try:
            figures = experiment.figures(results, folder)
            claims = experiment.claims(results)
        except Exception as error:
            print(traceback.format_exc(), file=sys.stderr)
            problems.append(f"{name}: cannot be drawn: {type(error).__name__}: {error}")
        write_page(Path(out), Page(paper, figures, claims, problems, len(results.tasks)))
    return problems


def _tell(
    out: Path, scale: str, done: int, failed: int, wall_s: float, problems: Sequence[str]
) -> None:
    from experiments.report import write_site

    pages = write_site(out, scale)
    figures = sum(len(page.figures) for page in pages)
    claims = [claim for page in pages for claim in page.claims]
    counts = {verdict: sum(c.verdict == verdict for c in claims) for verdict in VERDICTS}
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    print(f"{done} runs done, {failed} failed, in {wall_s:.0f} s")
    for problem in problems:
        print(f"  {problem}")
    print(f"{out / 'index.html'}: {figures} figures, {len(claims)} claims ({told or 'none'})")
