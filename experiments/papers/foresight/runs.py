"""The runs of the proof: every method on the same fresh instances, and the bounds.

No setting of foresight was chosen on these seeds: its development used 901 to 915.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from experiments.campaign.task import Outcome, Scalar, Task
from experiments.papers.foresight.families import FAMILIES
from experiments.report.contents import Scale

HERE = "experiments.papers.foresight.runs"
SOURCES = (
    "simulator",
    "policies.first_principles",
    "policies.selection",
    "policies.greedy",
    "policies.milp",
    "policies.foresight",
    "experiments.analysis.bounds",
    "experiments.analysis.lagrangian",
    "experiments.analysis.clairvoyant",
    "experiments.analysis.insertion",
)

HEURISTICS = ("greedy", "randomised-greedy", "local-search", "path-relinking")
"""The papers' own methods, at their 1,000 iterations, as the papers describe them. The programs that
their authors released differ: dearer on 2020, cheaper on some overloaded instances of 2021."""
RIVALS = ("edf", *HEURISTICS, "milp")
AS_RELEASED = ("2021-5", "2021-10", "2020-5", "2020-10")
"""Families on which the heuristics run with ``released``, too: near to the authors' programs, but for
the local search (docs/papers.md)."""
RELEASED_ITERATIONS = 1000
"""Of those: the most that the authors ran, and as many as the rivals have. A run takes about a second."""
FIRST_SEED = 2001

ABLATIONS: dict[str, dict[str, Any]] = {
    "no wake-ups": {"wake_up": False},
    "no price of node-time": {"price": False},
    "price without deferral": {"deferral": False},
    "no forecast": {"forecast": 0.0},
    "no weights in the price": {"weigh": False},
    "no tilt": {"tilt": 0.0},
    "one length of step": {"two_steps": False},
    "no caution": {"caution": False},
    "c = 1": {"tilt": 1.0},
    "c = 1, no caution": {"tilt": 1.0, "caution": False},
}
"""What is changed, one at a time. The last two ask whether another c would do better."""
WITH_CAUTION = ("no caution", "c = 1, no caution")
WITHOUT_CAUTION = (
    "no price of node-time",
    "price without deferral",
    "no forecast",
    "no weights in the price",
)
"""Where lateness costs far more than running, caution takes the place of the price of node-time;
elsewhere there is no caution. A part that does not act is not left out: the run would be the same."""
SEEDS: dict[Scale, int] = {"quick": 2, "paper": 20}
FEWER_SEEDS: dict[Scale, int] = {"quick": 0, "paper": 10}
QUICK: tuple[str, ...] = ("2021-5", "hierarchical-5", "andreas-1-10", "energy-10")
STUDIED = ("2021-5", "hierarchical-5", "energy-10")
"""Families of the ablation, of prediction errors, reconfigurations and controllers."""
BOUNDED = 20
"""Largest number of nodes with the bounds that share nodes between jobs."""
BY_PROGRAM = 5
"""Largest number of nodes with the linear program. Up to the usual load it was the best bound on each
of 24 instances, so that prices of node-time are left out there."""
NOISE = (0.1, 0.3, 0.5)
RECONFIGURATION_S = (300.0, 1800.0)
SEARCH_STEPS = 4000
"""Of the search for a schedule that knows all jobs."""


def tasks(scale: Scale) -> list[Task]:
    """Every run of the proof."""
    names = QUICK if scale == "quick" else tuple(FAMILIES)
    made = [
        *_compared(scale, names),
        *_released(scale),
        *_self_timed(scale),
        *_ablations(scale),
        *_disturbed(scale),
        *_brackets(scale),
    ]
    return list({task.key + str(sorted(task.columns().items())): task for task in made}.values())


def _seeds(count: int) -> Iterable[int]:
    return range(FIRST_SEED, FIRST_SEED + count)


def _compared(scale: Scale, names: Iterable[str]) -> list[Task]:
    return [
        task
        for name in names
        for seed in _seeds(SEEDS[scale])
        for task in (
            *(_run("compared", name, method, seed) for method in (*RIVALS, "foresight")),
            Task(
                f"{HERE}:run_bounds",
                {"family": name, "seed": seed},
                labels={"study": "bounds", "family": name, "seed": seed},
                cost_s=0.1 * FAMILIES[name].num_nodes,
                sources=SOURCES,
            ),
        )
    ]


def _released(scale: Scale) -> list[Task]:
    """The papers' heuristics with ``released``: what we could take over of the authors' programs."""
    names = AS_RELEASED[:1] if scale == "quick" else AS_RELEASED
    count = 1 if scale == "quick" else FEWER_SEEDS[scale]
    return [
        _run("released", name, method, seed, released=True)
        for name in names
        for seed in _seeds(count)
        for method in HEURISTICS
    ]


def _self_timed(scale: Scale) -> list[Task]:
    """Rivals that are asked as often as foresight is."""
    names = ("energy-10",) if scale == "quick" else STUDIED
    count = 1 if scale == "quick" else FEWER_SEEDS[scale]
    return [
        _run("self-timed", name, f"{method}@self-timed", seed)
        for name in names
        for seed in _seeds(count)
        for method in RIVALS
    ]


def _ablations(scale: Scale) -> list[Task]:
    """foresight without one of its parts."""
    names = ("energy-10",) if scale == "quick" else STUDIED
    count = 1 if scale == "quick" else FEWER_SEEDS[scale]
    return [
        _run("ablation", name, "foresight", seed, without=without)
        for name in names
        for seed in _seeds(count)
        for without in ABLATIONS
        if without not in (WITHOUT_CAUTION if FAMILIES[name].is_energy else WITH_CAUTION)
    ]


def _disturbed(scale: Scale) -> list[Task]:
    """Prediction errors, reconfiguration delays, several controllers."""
    count = FEWER_SEEDS[scale] // 2
    methods = ("foresight", "greedy", "local-search", "milp")
    changes: list[dict[str, Any]] = [
        *({"noise": noise} for noise in NOISE),
        *({"reconfiguration_s": delay} for delay in RECONFIGURATION_S),
    ]
    disturbed = [
        _run("disturbed", name, method, seed, **change)
        for change in changes
        for name in ("2021-5", "hierarchical-5")
        for seed in _seeds(count)
        for method in methods
    ]
    split = [
        _run("disturbed", "hierarchical-10", method, seed, controllers=2)
        for seed in _seeds(count)
        for method in methods
    ]
    return [*disturbed, *split]


def _brackets(scale: Scale) -> list[Task]:
    """Schedules that know all jobs, at the paper's scale alone."""
    return [
        Task(
            f"{HERE}:run_bracket",
            {"family": name, "seed": seed, "steps": SEARCH_STEPS},
            labels={"study": "clairvoyant", "family": name, "seed": seed},
            cost_s=8.0,
            sources=SOURCES,
        )
        for name in QUICK
        for seed in _seeds(FEWER_SEEDS[scale] // 2)
    ]


def _run(study: str, family: str, method: str, seed: int, **more: Scalar) -> Task:
    config: dict[str, Scalar] = {"family": family, "method": method, "seed": seed, **more}
    slow = {"edf": 0.02, "greedy": 0.1, "foresight": 0.4, "milp": 0.3}.get(method, 0.2)
    return Task(
        f"{HERE}:run_method",
        config,
        labels={"study": study, **config},
        cost_s=slow * FAMILIES[family].num_nodes,
        sources=SOURCES,
    )


# -- task functions --------------------------------------------------------------------------


def run_method(config: dict[str, Any]) -> Outcome:
    """Cost of one method on one instance."""
    from policies import make_policy
    from simulator import simulate
    from simulator.predictions import Predictions, Shown, predicted
    from simulator.statistics import Streams

    family, seed = FAMILIES[config["family"]], config["seed"]
    workload, cluster = family.draw(seed, config.get("controllers"))
    name = config["method"]
    options: dict[str, Any] = {}
    if name.startswith("milp") and family.is_energy:
        options = {"mu": 0.0, "horizon_s": 0.0}
    if config.get("released"):
        options = {"released": True}
        if name != "greedy":
            options["iterations"] = RELEASED_ITERATIONS
    if config.get("without"):
        options = ABLATIONS[config["without"]]
    shown = None
    if config.get("noise"):
        noise = Predictions(noise=config["noise"])
        shown = Shown(predicted(workload, noise, Streams(seed)))
    result = simulate(
        workload,
        cluster,
        make_policy(name, **options),
        seed=seed,
        reconfiguration_s=config.get("reconfiguration_s", 0.0),
        record_schedule=False,
        measure_decisions=True,
        shown=shown,
        policy_name=name,
    )
    summary = result.summary()
    kept = ("total_cost", "tardiness_cost", "late_jobs", "decisions", "reconfigurations")
    scalars = {key: summary[key] for key in kept}
    scalars["decision_cpu_s"] = summary["mean_decision_cpu_s"]
    return Outcome(scalars)


def run_bounds(config: dict[str, Any]) -> Outcome:
    """Lower bounds on the cost of any schedule of one instance."""
    from experiments.analysis.bounds import alone, shared
    from experiments.analysis.lagrangian import lagrangian

    family = FAMILIES[config["family"]]
    workload, cluster = family.draw(config["seed"])
    scalars: dict[str, Scalar] = {"alone": float(alone(workload, cluster).sum())}
    if family.num_nodes <= BY_PROGRAM:
        scalars["shared"] = shared(workload, cluster)
    if family.num_nodes <= BOUNDED and ("shared" not in scalars or family.load > 1.0):
        scalars["lagrangian"] = lagrangian(workload, cluster)
    scalars["best"] = max(float(value) for value in scalars.values() if value is not None)
    return Outcome(scalars)


def run_bracket(config: dict[str, Any]) -> Outcome:
    """Cost of a schedule that knows all jobs, and of foresight's run, from which its search began."""
    from experiments.analysis.clairvoyant import clairvoyant

    plan = clairvoyant(*FAMILIES[config["family"]].draw(config["seed"]), config["steps"])
    return Outcome({"clairvoyant": plan.cost, "foresight": plan.begun_at})
