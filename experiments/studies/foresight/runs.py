"""Runs of the held-out evaluation: every method on the same fresh instances, and the bounds.

The simulations are data, the sweep files of this folder. For example
`schedlab sweep run experiments/studies/foresight/compared_energy.toml` makes those on fixed nodes.
No setting of foresight was chosen on their seeds: its development used 901 to 918.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from experiments.pages import Experiment, Labels, Outcome, Scalar, Scale, Task, study
from experiments.studies.foresight.families import COMPARED, FAMILIES, FOLDER, drawn, scenarios

HERE = "experiments.studies.foresight.runs"
SOURCES = (
    "simulator",
    "policies.queues.list_scheduling",
    "policies.queues.selection",
    "policies.greedy",
    "policies.milp",
    "policies.foresight",
)
OF_ANALYSIS = (
    *SOURCES,
    "experiments.analysis.bounds",
    "experiments.analysis.lagrangian",
    "experiments.analysis.clairvoyant",
    "experiments.analysis.insertion",
)

HEURISTICS = ("greedy", "randomised-greedy", "local-search", "path-relinking")
"""The papers' own methods, at their 1,000 iterations, as the papers describe them. The programs that
their authors released differ: dearer on 2020, cheaper on some overloaded instances of 2021."""
RIVALS = ("edf", *HEURISTICS, "milp")
FIRST_SEED = 2001
SEEDS: dict[Scale, int] = {"quick": 2, "paper": 20}
FEWER_SEEDS: dict[Scale, int] = {"quick": 1, "paper": 10}
"""Of the parts; half as many of the rest."""
QUICK: tuple[str, ...] = ("2021-5", "hierarchical-5", "andreas-1-10", "energy-10")
QUICK_PARTS = "energy-10"
PARTS = ("parts_vms", "parts_energy")
DISTURBED = ("disturbed_2021", "disturbed_hierarchical", "disturbed_energy")
HASTE = ("haste",)
BOUNDED = 20
"""Largest number of nodes with the bounds that share nodes between jobs."""
BY_PROGRAM = 5
"""Largest number of nodes with the linear program. Up to the usual load it was the best bound on each
of 24 instances, so that prices of node-time are left out there."""
SEARCH_STEPS = 4000
"""Of the search for a schedule that knows all jobs."""


def tasks(scale: Scale) -> list[Task]:
    """Every run of the held-out evaluation."""
    return [
        *_compared(scale),
        *_bounds(scale),
        *_parts(scale),
        *_disturbed(scale),
        *_haste(scale),
        *_brackets(scale),
    ]


def _compared(scale: Scale) -> list[Task]:
    """Every method on the families of the scale."""

    def labels(swept: Labels) -> dict[str, Scalar]:
        return _columns("compared", swept, method=swept["policy"])

    return _of_files(COMPARED, labels, SEEDS[scale], _names(scale))


def _parts(scale: Scale) -> list[Task]:
    """foresight without one of its parts."""

    def labels(swept: Labels) -> dict[str, Scalar]:
        return _columns("ablation", swept, method="foresight", without=swept["policy"])

    names = (QUICK_PARTS,) if scale == "quick" else tuple(FAMILIES)
    return _of_files(PARTS, labels, FEWER_SEEDS[scale], names)


def _disturbed(scale: Scale) -> list[Task]:
    """Prediction errors, reconfiguration delays, other due dates, controllers; at paper scale alone."""
    if scale == "quick":
        return []

    def labels(family: str, swept: Labels) -> dict[str, Scalar]:
        change = swept["label"]
        if swept.get("workload.num_nodes") == 10:
            family = "hierarchical-10"
        return _columns("disturbed", swept, family=family, method=swept["policy"], change=change)

    made = []
    for file, family in zip(DISTURBED, ("2021-5", "hierarchical-5", "andreas-1-10"), strict=True):
        made += _of_files((file,), lambda s, f=family: labels(f, s), FEWER_SEEDS[scale] // 2)
    return made


def _haste(scale: Scale) -> list[Task]:
    """foresight at several values of haste beside other policies, on leased servers."""

    def labels(swept: Labels) -> dict[str, Scalar]:
        return _columns("haste", swept, method=swept["policy"])

    seeds = max(FEWER_SEEDS[scale] // 2, 1)
    return _of_files(HASTE, labels, seeds, _names(scale))


def _columns(name: str, swept: Labels, **more: Scalar) -> dict[str, Scalar]:
    """Labels of a run in tables."""
    return {"study": name, "family": swept.get("label"), "seed": swept["seed"], **more}


def _of_files(
    files: Iterable[str], labels: Any, seeds: int, names: Collection[str] = tuple(FAMILIES)
) -> list[Task]:
    """The runs of some sweep files, of the first seeds and some families."""

    def keep(columns: Labels) -> bool:
        return columns["family"] in names and int(columns["seed"] or 0) < FIRST_SEED + seeds

    return [
        task
        for file in files
        for task in study(
            FOLDER / f"{file}.toml", labels, keep=keep, cost_s=_cost_s, sources=SOURCES
        )
    ]


def _cost_s(columns: Labels) -> float:
    """As measured on a few runs of a family each."""
    family = FAMILIES[str(columns["family"])]
    larger = (
        family.num_nodes / family.controllers / 5
    )  # programs of more than five nodes take longer
    slow = {"edf": 0.003, "greedy": 0.006, "foresight": 0.45 * larger, "milp": 0.2 * larger}
    if family.is_energy:
        slow |= {"foresight": 0.08, "milp": 0.05}
    return slow.get(str(columns["method"]), 0.025) * family.num_nodes


def _names(scale: Scale) -> tuple[str, ...]:
    return QUICK if scale == "quick" else tuple(FAMILIES)


def _bounds(scale: Scale) -> list[Task]:
    """Lower bounds on every instance of the comparison."""
    return [
        Task(
            f"{HERE}:run_bounds",
            {"scenario": scenarios()[name], "bounds": _bounds_of(name), "seed": seed},
            labels={"study": "bounds", "family": name, "seed": seed},
            cost_s=4.0 if FAMILIES[name].load > 1.0 else 2.0,
            sources=OF_ANALYSIS,
        )
        for name in _names(scale)
        for seed in range(FIRST_SEED, FIRST_SEED + SEEDS[scale])
    ]


def _bounds_of(name: str) -> list[str]:
    """The bounds that are worth their time on a family."""
    family = FAMILIES[name]
    by_program = family.num_nodes <= BY_PROGRAM
    by_prices = family.num_nodes <= BOUNDED and (not by_program or family.load > 1.0)
    return ["alone", *["shared"] * by_program, *["lagrangian"] * by_prices]


def _brackets(scale: Scale) -> list[Task]:
    """Schedules that know all jobs, at the paper's scale alone."""
    count = 0 if scale == "quick" else FEWER_SEEDS[scale] // 2
    return [
        Task(
            f"{HERE}:run_bracket",
            {"scenario": scenarios()[name], "seed": seed, "steps": SEARCH_STEPS},
            labels={"study": "clairvoyant", "family": name, "seed": seed},
            cost_s=8.0,
            sources=OF_ANALYSIS,
        )
        for name in QUICK
        for seed in range(FIRST_SEED, FIRST_SEED + count)
    ]


# -- task functions --------------------------------------------------------------------------


def run_bounds(config: dict[str, Any]) -> Outcome:
    """Lower bounds on the cost of any schedule of one instance, and the best of them."""
    from experiments.analysis.bounds import alone, shared
    from experiments.analysis.lagrangian import lagrangian

    instance = drawn(config["scenario"] | {"seed": config["seed"]})
    find = {"alone": lambda *i: float(alone(*i).sum()), "shared": shared, "lagrangian": lagrangian}
    found = {name: float(find[name](*instance)) for name in config["bounds"]}
    return Outcome({**found, "best": max(found.values())})


def run_bracket(config: dict[str, Any]) -> Outcome:
    """Cost of a schedule that knows all jobs, and of foresight's run, from which its search began."""
    from experiments.analysis.clairvoyant import clairvoyant

    instance = drawn(config["scenario"] | {"seed": config["seed"]})
    plan = clairvoyant(*instance, config["steps"])
    return Outcome({"clairvoyant": plan.cost, "foresight": plan.begun_at})


PAGE = Experiment(Path(__file__).parent, tasks)
"""What figures, claims and texts of the page register with."""
