"""The runs behind the figures: costs of whole simulations, single decisions, and the server."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.report.contents import Scale
from experiments.report.sweeps import Labels, study
from experiments.sweep.task import Outcome, Scalar, Task

FOLDER = Path(__file__).parent
FIGURE_3 = FOLDER / "figure_3.toml"
OTHER_LAW_FILE = FOLDER / "other_law.toml"
VARIANT_FILES = (FOLDER / "variants.toml", FOLDER / "variants_rules.toml")

HERE = "experiments.papers.hierarchical.runs"
SOURCES = ("simulator", "policies.list_scheduling", "policies.selection", "policies.milp")
"""Modules that decide these results: other policies may change without new runs."""

HEURISTICS = ("fifo", "edf", "ps")
METHODS = ("hierarchical", "central", "central-2019")
NODES_PER_CONTROLLER = 5

SIZES: dict[Scale, tuple[int, ...]] = {
    "quick": (5, 10),
    "paper": (5, 10, 20, 40, 70, 100),
}
SEEDS: dict[Scale, tuple[int, ...]] = {"quick": (1, 2, 3), "paper": (1, 2, 3)}
MORE_SEEDS: dict[Scale, tuple[int, ...]] = {"quick": SEEDS["quick"], "paper": tuple(range(1, 11))}
"""Of the paper's method and the rules, whose ratio is what the paper prints, under each reading."""
FIGURE_3_SEEDS: dict[Scale, tuple[int, ...]] = {
    "quick": SEEDS["quick"],
    "paper": tuple(range(1, 21)),
}
"""The same under the printed reading: its saving over EDF lies where a claim comes out in part."""
CENTRAL_SIZES: dict[str, dict[Scale, tuple[int, ...]]] = {
    "central": {"quick": (10,), "paper": (5, 10, 20, 40)},
    "central-2019": {"quick": (5,), "paper": (5, 10, 20, 40)},
}
"""The paper's central method ends at 40 nodes. With five nodes, one controller is the centre."""
LITERAL_SIZES: dict[str, dict[Scale, tuple[int, ...]]] = {
    "hierarchical": {"quick": (5,), "paper": (5, 10, 20, 40)},
    "central-2019": {"quick": (5,), "paper": (5, 10, 20, 40)},
}
"""A controller's model has five nodes, whatever the size of the system."""
LITERAL_SEEDS: dict[Scale, tuple[int, ...]] = {"quick": (1,), "paper": (1, 2)}
LITERAL_LIMIT_S: dict[Scale, float] = {"quick": 1.0, "paper": 20.0}
SAMPLES: dict[Scale, int] = {"quick": 1, "paper": 2}

SERVER_SEEDS = {"exponential:40": 1, "deterministic:40": 0, "measured": 0}
"""At quick scale; a claim rests on the exponential server alone."""

PAPER_SETTING: dict[str, Any] = {
    "arrivals": "exponential",
    "weights": "printed",
    "period_s": 3600.0,
}
VARIANTS = (
    "as printed",
    "arrivals as released",
    "weights as released",
    "due dates as released in 2021",
    "events only (no H)",
    "H since the last decision",
    "times predicted 7 % off",
    "times predicted 11 % off",
    "all as released",
)
"""Points of variants.toml, in the order of the figure."""
WITH_A_ROW = ("as printed", "times predicted 7 % off", "times predicted 11 % off")
"""Of the other readings one seed runs at quick scale: no claim rests on them alone."""
OF_H_ALONE = ("events only (no H)", "H since the last decision")
"""They leave the first-principle rules as printed, which decide at events only."""


DUE_LAWS = {
    "min-2max": "due dates U[min, 2 max], as printed",
    "min-3min": "due dates U[min, 3 min], as released in 2021",
}
OTHER_LAW = "size, min-3min"
"""Study of the second law of due dates; that of the first is "size"."""
OTHER_LAW_SIZES: dict[Scale, tuple[int, ...]] = {"quick": (5,), "paper": SIZES["paper"]}


def tasks(scale: Scale) -> list[Task]:
    """Every run of this paper."""
    return [
        *_cost_tasks(scale),
        *_other_law_tasks(scale),
        *_variant_tasks(scale),
        *_literal_tasks(scale),
        *_server_tasks(scale),
    ]


def _cost_tasks(scale: Scale) -> list[Task]:
    """Those of figure_3.toml that the scale asks for."""

    def keep(columns: Labels) -> bool:
        central = CENTRAL_SIZES.get(str(columns["method"]))
        sizes, seeds = (SIZES, FIGURE_3_SEEDS) if central is None else (central, SEEDS)
        if scale == "quick" and columns["method"] == "central":  # a number that no paper has
            seeds = {scale: SEEDS[scale][:1]}
        return columns["num_nodes"] in sizes[scale] and columns["seed"] in seeds[scale]

    return study(
        FIGURE_3, functools.partial(_labels, "size"), keep=keep, cost_s=_cost_s, sources=SOURCES
    )


def _other_law_tasks(scale: Scale) -> list[Task]:
    """The savings at each size under the due dates of the authors' generator of 2021."""

    def keep(columns: Labels) -> bool:
        sizes = OTHER_LAW_SIZES[scale]
        return columns["num_nodes"] in sizes and columns["seed"] in MORE_SEEDS[scale]

    labels = functools.partial(_labels, OTHER_LAW)
    return study(OTHER_LAW_FILE, labels, keep=keep, cost_s=_cost_s, sources=SOURCES)


def _variant_tasks(scale: Scale) -> list[Task]:
    """Those of variants.toml and variants_rules.toml, on five nodes at quick scale."""

    def keep(columns: Labels) -> bool:
        few = scale == "quick" and columns["study"] not in WITH_A_ROW
        return columns["seed"] in MORE_SEEDS[scale][: 1 if few else None]

    changes = {"workload.num_nodes": 5} if scale == "quick" else {}
    num_nodes = changes.get("workload.num_nodes", 20)

    def labels(swept: Labels) -> dict[str, Scalar]:
        return {
            "study": swept["label"],
            "num_nodes": num_nodes,
            "method": swept.get("policy", "hierarchical"),
            "seed": swept["seed"],
        }

    found = [
        task
        for file in VARIANT_FILES
        for task in study(file, labels, keep=keep, cost_s=_cost_s, sources=SOURCES, changes=changes)
    ]
    again = [
        replace(task, labels={**task.columns(), "study": name})
        for task in found
        for name in OF_H_ALONE
        if task.columns()["study"] == "as printed" and task.columns()["method"] in HEURISTICS
    ]
    return [*found, *again]


def _labels(name: str, swept: Labels) -> dict[str, Scalar]:
    one = "cluster.nodes_per_controller" not in swept
    named = {
        "milp": "central" if one else "hierarchical",
        "milp-centralised-2019": "central-2019",
    }
    policy = str(swept["policy"])
    return {
        "study": name,
        "num_nodes": swept["workload.num_nodes"],
        "method": named.get(policy, policy),
        "seed": swept["seed"],
    }


def _cost_s(columns: Labels) -> float:
    by_method = {"hierarchical": 0.25, "central": 0.12, "central-2019": 0.28}
    num_nodes = float(columns["num_nodes"] or 0)
    return float(by_method.get(str(columns["method"]), 0.001) * num_nodes**1.5)


def _literal_tasks(scale: Scale) -> list[Task]:
    limit_s = LITERAL_LIMIT_S[scale]
    return [
        Task(
            f"{HERE}:run_literal",
            {
                "num_nodes": num_nodes,
                "model": model,
                "seed": seed,
                "samples": SAMPLES[scale],
                "time_limit_s": limit_s,
                **PAPER_SETTING,
            },
            labels={"num_nodes": num_nodes, "model": model, "seed": seed},
            cost_s=SAMPLES[scale] * limit_s + 1,
            sources=SOURCES,
        )
        for model, sizes in LITERAL_SIZES.items()
        for num_nodes in sizes[scale]
        for seed in LITERAL_SEEDS[scale]
    ]


def _server_tasks(scale: Scale) -> list[Task]:
    num_nodes = 10 if scale == "quick" else 100
    in_system = [
        Task(
            f"{HERE}:run_server",
            {"num_nodes": num_nodes, "service": service, "seed": seed, "h": h, **PAPER_SETTING},
            labels={"num_nodes": num_nodes, "service": service, "h": h, "seed": seed},
            cost_s=0.02 * num_nodes**1.5,
            sources=SOURCES,
        )
        for service in ("exponential:40", "deterministic:40", "measured")
        for h in ("full hour", "last decision")
        if h == "full hour" or scale == "paper" or service.startswith("exponential")
        for seed in SEEDS[scale][: SERVER_SEEDS[service] if scale == "quick" else 3]
    ]
    alone = [
        Task(
            f"{HERE}:run_queue",
            {"service": service, "requests": 15_000 if scale == "quick" else 200_000, "seed": seed},
            labels={"service": service, "seed": seed},
            sources=("simulator",),
        )
        for service in ("exponential:40", "deterministic:40")
        for seed in range(1, 11)
    ]
    return in_system + alone


# -- task functions --------------------------------------------------------------------------


def run_literal(config: dict[str, Any]) -> Outcome:
    """Decisions of a run, solved again with the models as the papers built them (Figure 2)."""
    import numpy as np
    import pandas as pd

    from policies.milp.decision import decide
    from policies.milp.model import SolverOptions

    central = config["model"] != "hierarchical"
    busy = [i for i in _instances(config, central) if i.times_s.shape[0] > i.num_nodes]
    picked = np.linspace(0, len(busy) - 1, config["samples"] + 2).round().astype(int)[1:-1]
    formulation = "centralised-2019-literal" if central else "literal"
    limit_s = config["time_limit_s"]
    options = SolverOptions(mip_gap=0.05, gap_of_total=True, time_limit_s=limit_s)
    rows = []
    for index in picked.tolist():
        answer = decide(busy[index], formulation, "highs", options)
        rows.append(
            {
                "jobs": busy[index].times_s.shape[0],
                "columns": answer.columns,
                "rows": answer.rows,
                "status": answer.status,
                "gap": answer.gap,
                "solve_cpu_s": answer.build_cpu_s + answer.solve_cpu_s,
            }
        )
    table = pd.DataFrame(rows)
    return Outcome(
        {
            "jobs": float(table["jobs"].mean()),
            "mean_columns": float(table["columns"].mean()),
            "solve_cpu_s": float(table["solve_cpu_s"].mean()),
            "solved_share": float((table["status"] == "optimal").mean()),
        },
        {"decisions": table},
    )


def _instances(config: dict[str, Any], central: bool) -> list[Any]:
    """The decisions that a run under the exact policy meets."""
    from policies.milp import MilpPolicy
    from policies.milp.policy import instance_of

    exact = MilpPolicy()
    seen = []

    def decide(view: Any) -> Any:
        seen.append(instance_of(view, exact.rho, exact.mu, exact.horizon_s))
        return exact.decide(view)

    _simulate(config, "central" if central else "hierarchical", decide)
    return seen


def run_server(config: dict[str, Any]) -> Outcome:
    """The optimization server inside the whole system, its requests those of the controllers.

    ``h``: whether a controller asks at each "full hour", or an hour after its own "last decision",
    as the authors' program does.
    """
    import numpy as np

    from simulator import ServerSpec
    from simulator.laws import parse_law

    service = config["service"]
    spec = ServerSpec("measured" if service == "measured" else parse_law(service))
    if config["h"] == "last decision":
        config = {**config, "since_last_s": config["period_s"], "period_s": None}
    result = _simulate(config, "hierarchical", server=spec)
    times = np.array(result.decisions.time_s)
    middle = (times > result.completion_s.min()) & (times < result.workload.submit_s[-1])
    response_s = result.server_response_s[: len(times)]
    return Outcome(
        {
            "mean_response_s": float(response_s.mean()),
            "middle_mean_response_s": float(response_s[middle].mean()),
            "requests": len(response_s),
            "middle_requests": int(middle.sum()),
            "middle_rate_per_s": float(middle.sum() / np.ptp(times[middle])),
            "total_cost": result.total_cost,
        }
    )


def run_queue(config: dict[str, Any]) -> Outcome:
    """The paper's queue alone: Poisson requests, two every 450 s, one server."""
    import numpy as np

    from policies import make_policy
    from simulator import Cluster, NodeType, simulate
    from simulator.laws import parse_law
    from simulator.statistics import Streams
    from simulator.workloads.poisson import poisson_jobs

    workload = poisson_jobs(
        config["requests"],
        Streams(config["seed"]),
        arrival_rate_per_h=3600 * 2 / 450,
        duration_s=parse_law(config["service"]),
    )
    server = Cluster.of_nodes(NodeType("optimization server", "CPU", 1), 1)
    result = simulate(workload, server, make_policy("fifo-strict"), record_schedule=False)
    warm = config["requests"] // 20
    return Outcome({"mean_response_s": float(np.mean(result.jct_s[warm:]))})


def _simulate(config: dict[str, Any], method: str, policy: Any = None, **options: Any) -> Any:
    """One simulation of the paper's random scenario under a method."""
    from policies import make_policy
    from simulator import Cluster, DecisionPoints, simulate
    from simulator.workloads.catalogs import read_catalog
    from simulator.workloads.hierarchical import HierarchicalScenario, generate

    catalog = read_catalog("hierarchical")
    num_nodes = config["num_nodes"]
    workload = generate(
        HierarchicalScenario(
            num_nodes=num_nodes,
            arrivals=config["arrivals"],
            weights=config["weights"],
            catalog=catalog,
            seed=config["seed"],
        )
    )
    controllers = num_nodes // NODES_PER_CONTROLLER if method == "hierarchical" else 1
    periodic = method not in HEURISTICS
    name = {"hierarchical": "milp", "central": "milp", "central-2019": "milp-centralised-2019"}
    return simulate(
        workload,
        Cluster.of_vms(catalog, num_nodes, controllers),
        policy or make_policy(name.get(method, method)),
        seed=config["seed"],
        decision_points=DecisionPoints(
            period_s=config["period_s"] if periodic else None,
            since_last_s=config.get("since_last_s") if periodic else None,
        ),
        record_schedule=False,
        measure_decisions=True,
        policy_name=method,
        **options,
    )
