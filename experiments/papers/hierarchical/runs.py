"""The runs behind the figures: costs of whole simulations, single decisions, and the server."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from experiments.pages import Experiment, Labels, Outcome, Scalar, Scale, Task, study

FOLDER = Path(__file__).parent
FIGURE_3 = FOLDER / "figure_3.toml"
VARIANT_FILES = (FOLDER / "variants.toml", FOLDER / "variants_rules.toml")

HERE = "experiments.papers.hierarchical.runs"
SOURCES = (
    "simulator",
    "policies.queues.list_scheduling",
    "policies.queues.selection",
    "policies.milp",
)
"""Modules that decide these results: other policies may change without new runs."""

HEURISTICS = ("fifo", "edf", "ps")
FASTEST = tuple(f"{rule}-fastest" for rule in HEURISTICS)
"""The same rules, each job in its fastest configuration: the paper does not print which one it gets."""
METHODS = ("hierarchical", "central", "central-2019")
NODES_PER_CONTROLLER = 5
JOBS_PER_CONTROLLER = 27
"""Jobs at a decision that the paper's 5,000 variables imply, with a column for each of 32 configurations."""
MUS = (1e-3, 1.0, 1e3)

SIZES: dict[Scale, tuple[int, ...]] = {
    "quick": (5, 10, 20),
    "paper": (5, 10, 20, 40, 70, 100),
}
SEVERAL_SEEDS_UP_TO: dict[Scale, int] = {"quick": 10, "paper": 100}
"""Nodes; larger systems have one seed."""
SEEDS: dict[Scale, tuple[int, ...]] = {"quick": (1, 2, 3), "paper": (1, 2, 3)}
MORE_SEEDS: dict[Scale, tuple[int, ...]] = {"quick": (1,), "paper": tuple(range(1, 11))}
"""Of the paper's method and the rules, whose ratio is what the paper prints, under each reading."""
FIGURE_3_SEEDS: dict[Scale, tuple[int, ...]] = {
    "quick": SEEDS["quick"],
    "paper": tuple(range(1, 21)),
}
"""The same under the printed reading: its saving over EDF lies where a claim comes out in part."""
CENTRAL_SIZES: dict[str, dict[Scale, tuple[int, ...]]] = {
    "central": {"quick": (10,), "paper": (5, 10, 20, 40)},
    "central-2019": {"quick": (5, 10), "paper": (5, 10, 20, 40)},
}
"""The paper's central method ends at 40 nodes. With five nodes, one controller is the centre."""
CENTRAL_SEEDS: dict[str, dict[Scale, tuple[int, ...]]] = {
    "central": {"quick": SEEDS["quick"][:1], "paper": SEEDS["paper"]},  # no paper has its number
    "central-2019": MORE_SEEDS,
}
LITERAL_SIZES: dict[str, dict[Scale, tuple[int, ...]]] = {
    "hierarchical": {"quick": (5,), "paper": SIZES["paper"]},
    "central-2019": {"quick": (5,), "paper": (5, 10, 20, 40)},
}
"""A controller's model has five nodes, whatever the size of the system; the paper's central one ends at 40."""
LITERAL_SEEDS: dict[Scale, tuple[int, ...]] = {"quick": (1,), "paper": (1, 2)}
LITERAL_LIMIT_S: dict[Scale, float] = {"quick": 1.0, "paper": 40.0}
"""The paper's time of a decision; its time limit is not printed."""
SAMPLES: dict[Scale, int] = {"quick": 1, "paper": 2}
FEWER_JOBS: dict[Scale, dict[str, Any]] = {"quick": {"workload.jobs_per_node": 4}, "paper": {}}
"""The paper has ten jobs a node."""
JOBS_FOR_MODELS: dict[Scale, dict[str, Any]] = {"quick": {"jobs_per_node": 6}, "paper": {}}
"""Where single decisions are solved again: some have to have more jobs than nodes."""
JOBS_AT_SERVER: dict[Scale, dict[str, Any]] = {"quick": {"jobs_per_node": 4}, "paper": {}}

SERVER_SEEDS = {"exponential:40": 1, "deterministic:40": 0, "measured": 0}
"""At quick scale; a claim rests on the exponential server alone."""

PAPER_SETTING: dict[str, Any] = {
    "arrivals": "exponential",
    "weights": "printed",
    "times": "pool",
    "period_s": 3600.0,
}
THROUGHPUT = "times from published throughput"
VARIANTS = (
    "as printed",
    "arrivals as released",
    "weights as released",
    "due dates as released in 2021",
    THROUGHPUT,
    "events only (no H)",
    "H since the last decision",
    "times predicted 7 % off",
    "times predicted 11 % off",
    "all as released",
)
"""Points of variants.toml, in the order of the figure."""
SECTION_4 = ("second-model", "third-model")
"""Points of variants.toml for the other models of Section IV; three seeds at paper scale, since a run takes 400 CPU s."""
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
        *_variant_tasks(scale),
        *_literal_tasks(scale),
        *_model_tasks(scale),
        *_server_tasks(scale),
    ]


def _cost_tasks(scale: Scale) -> list[Task]:
    """Those of figure_3.toml that the scale asks for; fewer under the second law of due dates."""

    def keep(columns: Labels) -> bool:
        method, again = str(columns["method"]), columns["study"] == OTHER_LAW
        if again and (method in CENTRAL_SIZES or method in FASTEST):
            return False
        sizes = OTHER_LAW_SIZES if again else CENTRAL_SIZES.get(method, SIZES)
        seeds = MORE_SEEDS if again else CENTRAL_SEEDS.get(method, FIGURE_3_SEEDS)
        is_large = float(columns["num_nodes"] or 0) > SEVERAL_SEEDS_UP_TO[scale]
        chosen = seeds[scale][: 1 if is_large else None]
        return columns["num_nodes"] in sizes[scale] and columns["seed"] in chosen

    return study(
        FIGURE_3, _labels, keep=keep, cost_s=partial(_cost_s, scale=scale), sources=SOURCES,
        changes=FEWER_JOBS[scale],
    )  # fmt: skip


def _variant_tasks(scale: Scale) -> list[Task]:
    """Those of variants.toml and variants_rules.toml; 20 jobs on five nodes at quick scale."""

    def keep(columns: Labels) -> bool:
        if columns["study"] in SECTION_4:
            return scale == "paper" and columns["seed"] in MORE_SEEDS[scale][:3]
        return columns["seed"] in MORE_SEEDS[scale]

    changes = {"workload.num_nodes": 5, **FEWER_JOBS[scale]} if scale == "quick" else {}
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
        for task in study(
            file,
            labels,
            keep=keep,
            cost_s=partial(_cost_s, scale=scale),
            sources=SOURCES,
            changes=changes,
        )
    ]
    again = [
        replace(task, labels={**task.columns(), "study": name})
        for task in found
        for name in OF_H_ALONE
        if task.columns()["study"] == "as printed" and task.columns()["method"] in HEURISTICS
    ]
    return [*found, *again]


def _labels(swept: Labels) -> dict[str, Scalar]:
    one = "cluster.nodes_per_controller" not in swept
    named = {
        "milp": "central" if one else "hierarchical",
        "milp-centralised-2019": "central-2019",
    }
    policy = str(swept["policy"])
    if "policy_options.configuration" in swept:
        policy = f"{policy}-{swept['policy_options.configuration']}"
    return {
        "study": "size" if swept["workload.due"] == "min-2max" else OTHER_LAW,
        "num_nodes": swept["workload.num_nodes"],
        "method": named.get(policy, policy),
        "seed": swept["seed"],
    }


FEWER_COST: dict[Scale, float] = {"quick": 0.65, "paper": 1.0}
"""Of a run with fewer jobs a node."""


def _cost_s(columns: Labels, scale: Scale) -> float:
    by_method = {"hierarchical": 0.25, "central": 0.19, "central-2019": 0.3}
    num_nodes = float(columns["num_nodes"] or 0)
    return float(FEWER_COST[scale] * by_method.get(str(columns["method"]), 0.002) * num_nodes**1.5)


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
                **JOBS_FOR_MODELS[scale],
            },
            labels={"num_nodes": num_nodes, "model": model, "seed": seed},
            cost_s=SAMPLES[scale] * limit_s + FEWER_COST[scale] * 0.25 * num_nodes**1.5,
            sources=SOURCES,
        )
        for model, sizes in LITERAL_SIZES.items()
        for num_nodes in sizes[scale]
        for seed in LITERAL_SEEDS[scale]
    ]


def _model_tasks(scale: Scale) -> list[Task]:
    """Models that are built and not run: their size at the paper's number of jobs, and idle GPUs by mu."""
    sizes = [
        Task(
            f"{HERE}:run_columns",
            {"num_nodes": num_nodes, "model": model, "seed": 1, **PAPER_SETTING},
            labels={"num_nodes": num_nodes, "model": model},
            cost_s=0.1,
            sources=SOURCES,
        )
        for model, num_nodes in (("hierarchical", 5), ("central-2019", 40))
    ]
    idle = [
        Task(
            f"{HERE}:run_mu",
            {"num_nodes": 5, "seed": seed, "samples": 10, **PAPER_SETTING},
            labels={"seed": seed},
            cost_s=2.0,
            sources=SOURCES,
        )
        for seed in MORE_SEEDS[scale]
    ]
    return sizes + (idle if scale == "paper" else [])


def _server_tasks(scale: Scale) -> list[Task]:
    quick = scale == "quick"
    num_nodes = 10 if quick else 100
    in_system = [
        Task(
            f"{HERE}:run_server",
            {
                "num_nodes": num_nodes,
                "service": service,
                "seed": seed,
                "h": h,
                **PAPER_SETTING,
                **JOBS_AT_SERVER[scale],
            },
            labels={"num_nodes": num_nodes, "service": service, "h": h, "seed": seed},
            cost_s=(0.1 if quick else 0.27) * num_nodes**1.5,
            sources=SOURCES,
        )
        for service in ("exponential:40", "deterministic:40", "measured")
        for h in ("full hour", "last decision", "no H")
        if h == "full hour" or scale == "paper" or service.startswith("exponential")
        for seed in SEEDS[scale][: SERVER_SEEDS[service] if quick else 3]
    ]
    alone = [
        Task(
            f"{HERE}:run_queue",
            {"service": service, "requests": 4000 if quick else 200_000, "seed": seed},
            labels={"service": service, "seed": seed},
            cost_s=0.3 if quick else 7.0,
            sources=("simulator",),
        )
        for service in ("exponential:40", "deterministic:40")
        for seed in range(1, 6 if quick else 11)
    ]
    return in_system + alone


# -- task functions --------------------------------------------------------------------------


def run_literal(config: dict[str, Any]) -> Outcome:
    """Decisions of a run, solved again with the models as the papers built them (Figure 2)."""
    import numpy as np
    import pandas as pd

    from policies.milp import decide
    from policies.solving.model import SolverOptions

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


def run_columns(config: dict[str, Any]) -> Outcome:
    """Columns of a literal model with as many jobs as the paper's 5,000 imply, 27 for each controller."""
    import numpy as np

    from policies.milp import FORMULATIONS, DecisionInput
    from policies.queues.selection import node_price_per_hour

    central = config["model"] != "hierarchical"
    workload, cluster = _scenario(config)
    jobs = JOBS_PER_CONTROLLER * config["num_nodes"] // NODES_PER_CONTROLLER
    instance = DecisionInput(
        times_s=workload.performance.table_s(np.arange(jobs), cluster),
        due_s=(workload.due_s - workload.submit_s)[:jobs],
        weight_per_s=workload.weight_per_s[:jobs],
        price_per_hour=node_price_per_hour(cluster),
        gpus=np.array([int(t.gpus) for t in cluster.node_types]),
        num_nodes=config["num_nodes"],
    )
    model = FORMULATIONS["centralised-2019-literal" if central else "literal"](instance).model
    return Outcome({"jobs": jobs, "columns": model.columns, "rows": model.rows})


def run_mu(config: dict[str, Any]) -> Outcome:
    """Idle GPUs of nodes in use in the optimum of the same decisions, by mu, % of their GPUs."""
    from dataclasses import replace

    import numpy as np

    from policies.milp import decide

    instances = _instances(config, central=False)
    picked = np.linspace(0, len(instances) - 1, config["samples"]).round().astype(int)
    scalars: dict[str, Any] = {}
    for mu in MUS:
        idle = total = 0
        for index in picked.tolist():
            instance = replace(instances[index], mu=mu)
            answer = decide(instance, solver="highs").assignments
            total += sum(
                int(instance.gpus[v]) for v in {a.node: a.node_type for a in answer}.values()
            )
            idle -= sum(a.gpus for a in answer)
        scalars[f"idle {mu:g}"] = 100 * (total + idle) / total
    return Outcome(scalars)


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
    as the authors' program does, or at submissions and completions alone ("no H").
    """
    import numpy as np

    from simulator import ServerSpec
    from simulator.laws import parse_law

    service = config["service"]
    spec = ServerSpec(service="measured" if service == "measured" else parse_law(service))
    if config["h"] == "last decision":
        config = {**config, "since_last_s": config["period_s"], "period_s": None}
    elif config["h"] == "no H":
        config = {**config, "period_s": None}
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


def _scenario(config: dict[str, Any], controllers: int = 1) -> Any:
    """The jobs, ten a node unless the configuration says otherwise, and the nodes of the paper's random scenario."""
    from simulator import Cluster
    from simulator.workloads.catalogs import read_catalog
    from simulator.workloads.hierarchical import HierarchicalJobs, generate

    catalog = read_catalog("hierarchical")
    names = ("num_nodes", "jobs_per_node", "arrivals", "weights", "times", "seed")
    fields = {name: config[name] for name in names if name in config}
    workload = generate(HierarchicalJobs(**fields))
    return workload, Cluster.of_vms(catalog, config["num_nodes"], controllers)


def _simulate(config: dict[str, Any], method: str, policy: Any = None, **options: Any) -> Any:
    """One simulation of the paper's random scenario under the exact policy, or another."""
    from policies import make_policy
    from simulator import DecisionPoints, simulate

    one = method != "hierarchical"
    workload, cluster = _scenario(config, 1 if one else config["num_nodes"] // NODES_PER_CONTROLLER)
    return simulate(
        workload,
        cluster,
        policy or make_policy("milp"),
        seed=config["seed"],
        decision_points=DecisionPoints(
            period_s=config["period_s"], since_last_s=config.get("since_last_s")
        ),
        record_schedule=False,
        measure_decisions=True,
        policy_name=method,
        **options,
    )


PAGE = Experiment(Path(__file__).parent, tasks)
"""What figures, claims and texts of the page register with."""
