"""Runs of every kind for `benchmarks.oracles`: scenarios as data, and programs for what scenarios cannot say.

A run is a dictionary: ``name``; ``scenario`` (as a scenario file has it) or ``program`` (a name of `PROGRAMS`);
``change`` (a name of `CHANGES`: of the jobs, after they are built); ``stream`` (records go to files).
"""

from __future__ import annotations

import copy
import dataclasses
import math
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from policies import composed_names, make_policy, policy_names
from policies.registry.naming import PAPERS_NAMES, PolicyName
from simulator import (
    Cluster,
    Decision,
    DecisionPoints,
    FixedDuration,
    NodeType,
    Placement,
    Result,
    ServerSpec,
    TimeTable,
    View,
    Workload,
    simulate,
)
from simulator.features.reconfiguration import Delays
from simulator.laws import Exponential

Run = dict[str, Any]
Scenario = dict[str, Any]

FEW = {"iterations": 5}
OPTIONS: dict[str, dict[str, Any]] = {
    "randomised-greedy": FEW,
    "local-search": FEW,
    "path-relinking": FEW,
    "milp": {"solver": "highs"},
    "milp-literal": {"solver": "highs"},
    "milp-centralised-2019": {"solver": "highs"},
    "rental-fixed-width": {"gpus": 5},
    "rental-whole-gpus": {"gpus": 5},
}

SERVERS = {"kind": "nodes", "num_nodes": 4, "gpus_per_node": 4, "price_per_hour": 2.0}
FULL_SERVERS = SERVERS | {"cpus_per_node": 12, "memory_gb_per_node": 200}
FIXED: Scenario = {
    "kind": "poisson",
    "num_jobs": 40,
    "arrival_rate_per_h": 14,
    "duration_s": "lognormal:3000,cv=1.5",
    "num_gpus": [1, 1, 2, 4, 8],
}
DUE = {"due": "factor:1.5,4", "weights": "printed"}
ROUNDS = {"decisions": {"round_s": 300}}
TEAMS: Scenario = {"draw": {"a": 0.5, "b": 0.3, "c": 0.2}, "weight": {"a": 2.0}}
MODELS = {"resnet50": 1, "resnet18": 1, "transformer": 1, "recommendation": 1, "cyclegan": 1}

WORLDS: dict[str, Scenario] = {
    "fixed demand": {"workload": FIXED, "cluster": FULL_SERVERS, "adapt": DUE, "tenants": TEAMS},
    "one-GPU jobs": {
        "workload": FIXED | {"num_gpus": [1], "arrival_rate_per_h": 30}, "cluster": SERVERS,
        "adapt": DUE,
    },
    "Synergy's jobs": {
        "workload": {"kind": "synergy", "num_jobs": 15, "jobs_per_hour": 4, "multi_gpu": True},
        "cluster": {"kind": "nodes", "num_nodes": 2, "gpus_per_node": 8, "cpus_per_node": 24,
                    "memory_gb_per_node": 500},
        **ROUNDS,
    },
    "VMs": {
        "workload": {"kind": "hierarchical", "num_nodes": 3, "jobs_per_node": 4,
                     "mean_gap_s": 20_000, "weights": "released"},
        "cluster": {"kind": "vms", "catalog": "thesis"},
    },
    "ANDREAS's nodes": {"workload": {"kind": "andreas", "num_nodes": 3, "jobs_per_node": 4}},
    "elastic jobs on servers": {
        "workload": FIXED | {"num_jobs": 20, "num_gpus": [1, 2, 4]}, "cluster": SERVERS,
        "adapt": {"models": "uniform", "speedup": "calibrated", "due": "min-3min",
                  "weights": "printed"},
    },
    "parts of GPUs": {
        "workload": {"kind": "openb-like", "num_jobs": 40, "num_nodes": 3,
                     "duration_s": "exponential:3600"},
    },
    "pool": {
        "workload": {"kind": "elastic", "path": "examples/rental_figure1.toml", "num_jobs": 60},
        "cluster": {"kind": "pool", "price_per_gpu_hour": 1.5},
    },
}  # fmt: skip
"""Small scenarios without a policy; every policy runs on all that it suits."""

WRAPPED = (
    "srtf+tune@hysteresis", "las+greedy@hysteresis", "greedy@hysteresis", "greedy@tune",
    "greedy@tune@hysteresis", "greedy@fractional", "srtf+tune@fractional", "milp@fractional", "greedy@self-timed",
    "local-search@self-timed", "fifo-backfill@decision-trace", "greedy@decision-trace", "srtf+tune@decision-trace",
    "capacity@decision-trace", "milp@tune",
)  # fmt: skip


SLOW = {(policy, "one-GPU jobs") for policy in ("local-search", "path-relinking", "milp-literal")}


def all_runs() -> Iterator[Run]:
    """Every run; those whose parts do not go together are refused with one line, which is their result."""
    yield from examples()
    yield from _policies()
    for name in PROGRAMS:
        yield {"name": f"program: {name}", "program": name}
    for change in CHANGES:
        for policy in ("fifo-backfill", "srpt", "las+proportional", "capacity", "processor-sharing", "las"):  # fmt: skip
            scenario = {
                "policy": policy,
                "workload": FIXED,
                "cluster": FULL_SERVERS,
                "tenants": TEAMS,
            }
            failing = scenario | {
                "failures": {"time_to_failure": "exponential:20000", "repair": "exponential:900"},
                "checkpoints": {"interval_s": 600, "cost_s": 10, "restart_s": 20},
            }
            yield {"name": f"{change}, {policy}", "change": change, "scenario": scenario}
            yield {"name": f"{change}, {policy}, failures", "change": change, "scenario": failing}
    for seed in range(200):
        scenario, stream = drawn(np.random.default_rng((2022, seed)), seed)
        yield {
            "name": f"drawn {seed}: {scenario['policy']}",
            "scenario": scenario,
            "stream": stream,
        }


SMALLER = {"num_jobs": 120, "jobs_per_node": 4, "max_jobs": 120}


def examples() -> Iterator[Run]:
    """The scenarios of examples/, with fewer jobs."""
    for path in sorted(Path("examples").glob("*.toml")):
        scenario = tomllib.loads(path.read_text())
        if "workload" not in scenario:  # a sweep, or types of jobs
            continue
        jobs = scenario["workload"]
        for key in jobs.keys() & SMALLER.keys():
            jobs[key] = min(jobs[key], SMALLER[key])
        if jobs["kind"] == "hierarchical":
            jobs["jobs_per_node"] = 3
        if jobs["kind"] == "csv":
            jobs["max_jobs"] = 120
        for key in jobs.keys() & {"path", "throughputs"}:
            jobs[key] = f"examples/{jobs[key]}"
        scenario.pop("window", None)
        yield {"name": f"example: {path.stem}", "scenario": scenario}
        if "tenants" not in scenario:
            yield {"name": f"example: {path.stem}, streamed", "scenario": scenario, "stream": True}


def _policies() -> Iterator[Run]:
    """Every policy on every small scenario that it suits."""
    from policies import composed_names, policy_names

    for policy in dict.fromkeys([*policy_names(), "ps", "ps-shared", *composed_names(), *WRAPPED]):
        for title, world in WORLDS.items():
            scenario = copy.deepcopy(world) | {"policy": policy, "seed": 1}
            scenario["policy_options"] = OPTIONS.get(PolicyName.parse(policy).base, {})
            if (policy, title) not in SLOW and _suits(scenario):
                yield {"name": f"{policy}, {title}", "scenario": scenario}


def _suits(scenario: Scenario) -> bool:
    from experiments.scenario.build import build
    from experiments.scenario.schema import Scenario as Schema
    from simulator import InputError

    try:
        build(Schema.model_validate(scenario))
    except InputError:
        return False
    return True


ON_SERVERS = (
    "fifo", "fifo-strict", "fifo-backfill", "edf", "edf-backfill", "ps", "priority", "srpt", "sjf", "random-order",
    "deadline-first", "consolidating", "fifo-with-notice", "fair-share", "drf", "capacity", "finish-time-fair",
    "themis", "linear-score", "srtf+proportional", "las+proportional", "fifo+proportional", "fifo-backfill@decision-trace",
    "srtf+proportional@hysteresis",
)  # fmt: skip
ON_PARTS = ("shared", "complementary", "slices", "fifo-backfill", "srpt", "capacity", "greedy@fractional", "srtf+proportional@fractional")  # fmt: skip
ON_VMS = ("fifo", "edf", "ps", "greedy", "randomised-greedy", "local-search", "milp", "foresight", "greedy@hysteresis", "greedy@self-timed")  # fmt: skip
ELASTIC_ON_SERVERS = ("elasticflow", "edf-shared", "fifo-shared", "ps-shared", "greedy", "rental-on-nodes", "foresight")  # fmt: skip


def drawn(rng: np.random.Generator, seed: int) -> tuple[Scenario, bool]:
    """One scenario with features at random, and whether its records are streamed."""

    def on(chance: float = 0.5) -> bool:
        return bool(rng.random() < chance)

    def one(*choices: Any) -> Any:
        return choices[int(rng.integers(len(choices)))]

    kind = one("servers", "servers", "servers", "parts", "vms", "elastic")
    scenario: Scenario = {"seed": seed}
    if kind == "vms":
        policy = one(*ON_VMS)
        jobs: dict[str, Any] = {"kind": "hierarchical", "num_nodes": 4, "jobs_per_node": 4, "mean_gap_s": one(10_000, 40_000),
                "weights": "released"}  # fmt: skip
        scenario |= {"workload": jobs, "cluster": {"kind": "vms", "num_controllers": one(1, 2)}}
    elif kind == "elastic":
        policy = one(*ELASTIC_ON_SERVERS)
        scenario |= copy.deepcopy(WORLDS["elastic jobs on servers"])
    else:
        policy = one(*(ON_SERVERS if kind == "servers" else ON_PARTS))
        jobs = FIXED | {"arrival_rate_per_h": one(8, 14, 25)}
        if kind == "parts":
            jobs["num_gpus"] = [1, 1, 1, 1, 2, 4]
        if on(0.25):  # whole times: much happens at one instant
            jobs |= {"gaps": "deterministic:200", "arrival_rate_per_h": 18,
                     "duration_s": "empirical:200,400,1000,2000"}  # fmt: skip
        if on(0.3):
            jobs["patience"] = one(600, "exponential:3000")
        if on(0.3):
            jobs["priorities"] = [0.2, 0.8]
        scenario |= {
            "workload": jobs,
            "cluster": dict(one(SERVERS, FULL_SERVERS)),
            "adapt": dict(DUE),
        }
    scenario["policy"] = policy
    scenario["policy_options"] = OPTIONS.get(PolicyName.parse(policy).base, {})
    _draw_place(scenario, kind, on, one)
    _draw_trouble(scenario, kind, on, one)
    _draw_people(scenario, kind, on, one)
    if on(0.4):
        scenario["predictions"] = {"bias": one(-0.3, 0.2), "noise": one(0.0, 0.5), "learned": on()}
    timing = one(
        "events", "events", "period", "rounds", "ticks", "since", "server", "servers", "coalesce"
    )
    timings: dict[str, Scenario] = {
        "period": {"decisions": {"period_s": 700}},
        "rounds": {"decisions": {"round_s": 300}},
        "ticks": {"decisions": {"round_s": 300, "finish_at_round": True}},
        "since": {"decisions": {"since_last_s": 900}},
        "server": {"server": {"service": "exponential:90"}},
        "servers": {"server": {"service": "lognormal:60,cv=1.5", "servers": 2}},
        "coalesce": {"server": {"service": "deterministic:45", "coalesce": True}},
    }
    scenario |= timings.get(timing, {})
    if "+" in policy or "@fractional" in policy:
        scenario.pop("server", None)
        scenario["decisions"] = {"round_s": 300}
    if on(0.4):
        scenario["reconfiguration_s"] = one(15.0, 120.0)
    return scenario, on(0.25) and "tenants" not in scenario


def _draw_place(
    scenario: Scenario, kind: str, on: Callable[..., bool], one: Callable[..., Any]
) -> None:
    """Controllers, racks and shared GPUs."""
    if kind == "parts":
        sharing = {
            "part": one(0.25, 0.5, 0.3),
            "interference": one("none", "linear", "published"),
            "draw": MODELS,
        }
        if scenario["policy"] == "slices" or on(0.2):
            sharing |= {"slices": True, "interference": "none"}
        if sharing["interference"] == "linear":
            sharing["utilisation"] = dict(zip(MODELS, (0.8, 0.3, 0.6, 1.0, 0.5), strict=True))
        if on():
            sharing |= {"gpu_memory_gb": 16, "memory_gb": {"resnet50": 9, "cyclegan": 4}}
        scenario["colocation"] = sharing
    if kind in ("servers", "parts") and on(0.3):
        scenario["cluster"] |= {"num_controllers": 2, "num_nodes": 6}
        scenario["dispatcher"] = one(
            "round-robin", "join-shortest-queue", "least-work-left", "power-of-two", "random"
        )
    if kind == "servers" and on(0.4):
        if on(0.3):
            scenario["network"] = {"same_rack": 1.3}
        else:
            scenario["cluster"]["nodes_per_rack"] = 2
            scenario["network"] = {"same_rack": 1.2, "across_racks": 1.5}


def _draw_trouble(
    scenario: Scenario, kind: str, on: Callable[..., bool], one: Callable[..., Any]
) -> None:
    """Failures, checkpoints, maintenance and spot nodes."""
    if on(0.6):
        failures: dict[str, Any] = {}
        if on(0.8):
            failures |= {"time_to_failure": one("exponential:15000", "weibull:9000,shape=0.8", "deterministic:5000"),
                         "repair": one("deterministic:600", "exponential:1500")}  # fmt: skip
        if on(0.3):
            failures |= {
                "rack_time_to_failure": "exponential:30000",
                "rack_repair": "exponential:1200",
            }
            scenario["cluster"]["nodes_per_rack"] = 2
        if on(0.4):
            failures |= {"job_time_to_failure": "exponential:12000", "max_attempts": one(2, 5)}
        if failures:
            scenario["failures"] = failures
        if (
            on(0.7) or kind == "vms"
        ):  # those jobs take days, and would never end without checkpoints
            interval_s = one(300, 900, 0)
            if "time_to_failure" in failures:
                interval_s = one(300, 900, 0, "young", "daly", "best")
            saving = {"interval_s": interval_s, "cost_s": one(0, 20), "restart_s": one(0, 30)}
            if interval_s == 0:
                saving["cost_s"] = 0
            scenario["checkpoints"] = saving
    if on(0.2) and kind != "vms":
        scenario["maintenance"] = {"every_s": 15_000, "duration_s": 700, "nodes_at_a_time": one(1, 2),
                                   "notice_s": one(0, 1800), "warn": on()}  # fmt: skip
    if on(0.2) and kind != "elastic":
        scenario["spot"] = {"nodes": 1, "time_to_reclaim": "exponential:8000", "down": "exponential:1200",
                            "warn": on()}  # fmt: skip


def _draw_people(
    scenario: Scenario, kind: str, on: Callable[..., bool], one: Callable[..., Any]
) -> None:
    """Tenants, quotas and admission control."""
    if scenario["policy"] in ("fair-share", "drf", "capacity", "finish-time-fair", "themis") or on(
        0.3
    ):
        tenants = copy.deepcopy(TEAMS)
        if on() or scenario["policy"] == "capacity":
            tenants |= {
                "quota": {"a": 8.0, "b": 8.0, "c": 8.0},
                "borrowing": on() or kind == "elastic",
            }
        scenario["tenants"] = tenants
    if kind != "vms" and on(0.2):
        scenario["admission"] = {"rule": one("reject", "downgrade")}


def _attempts(jobs: Workload) -> Workload:
    """Jobs that fail up to three times, as in a log."""
    rng = np.random.default_rng(4)
    parts = [
        tuple(np.sort(rng.uniform(0.05, 0.95, rng.integers(0, 4))).tolist()) for _ in jobs.job_id
    ]
    return dataclasses.replace(
        jobs, fails_at=parts, outcome=["killed" if p else "passed" for p in parts]
    )


def _time_shared(jobs: Workload) -> Workload:
    from simulator.workloads.reshaping import time_shared

    return time_shared(jobs)


CHANGES: dict[str, Callable[[Workload], Workload]] = {
    "attempts": _attempts,
    "time-shared": _time_shared,
}


# Programs: own policies, nodes of several types, times that no scenario file can state.

PLAIN = NodeType("server", "GPU", 4)
FULL = NodeType("server", "GPU", 4, cpus=12, memory_gb=200)
VMS = [
    NodeType("small", "A", 1, 0.5), NodeType("wide", "A", 4, 1.8), NodeType("other", "B", 2, 0.7)
]  # fmt: skip
MIXED = (
    NodeType("v100", "V100", 4, power_w=(0.0, 500.0, 700.0, 850.0, 1000.0)),
    NodeType("t4", "T4", 2, power_w=(0.0, 400.0, 470.0)),
)


def fixed(count: int, seed: int, gap_s: float, demands: bool = False) -> Workload:
    """Jobs of 1 to 8 GPUs, some at the same instant, with due dates and weights."""
    rng = np.random.default_rng(seed)
    gpus = 2 ** rng.integers(0, 4, count)
    submit_s = np.floor(np.cumsum(rng.exponential(gap_s, count)) / 10) * 10
    duration_s = rng.uniform(50, 3000, count)
    needs: dict[str, Any] = {}
    if demands:
        num_cpus = np.where(rng.random(count) < 0.7, gpus * rng.integers(1, 4, count), np.nan)
        needs = {"num_cpus": num_cpus, "memory_gb": gpus * rng.uniform(1, 50, count)}
    return Workload(
        [f"j{j}" for j in range(count)],
        submit_s,
        FixedDuration(duration_s, gpus),
        **needs,
        due_s=submit_s + rng.uniform(0, 9000, count),
        weight_per_s=rng.uniform(0, 0.01, count),
    )


def whole_times(count: int, seed: int) -> Workload:
    """Jobs with times in whole multiples of 10 s: many events at one instant."""
    rng = np.random.default_rng(seed)
    gpus = rng.choice([1, 1, 2, 4], count)
    submit_s = np.sort(10.0 * rng.integers(0, 60, count))
    duration_s = np.multiply(10.0, rng.integers(1, 30, count))
    return Workload(
        [f"j{j}" for j in range(count)],
        submit_s,
        FixedDuration(duration_s, gpus),
        due_s=submit_s + duration_s * rng.integers(1, 5, count),
        weight_per_s=rng.uniform(0, 0.01, count),
        patience_s=np.multiply(10.0, rng.integers(5, 60, count)),
    )


def elastic(count: int, seed: int, types: int = 3, gap_s: float = 300.0) -> Workload:
    """Jobs with random times, some configurations impossible."""
    rng = np.random.default_rng(seed)
    times = rng.uniform(100, 4000, (count, types, 5))
    times[:, :, 1:][rng.random((count, types, 4)) < 0.2] = math.inf
    times[:, :, 1] = rng.uniform(100, 4000, (count, types))
    submit_s = np.cumsum(rng.exponential(gap_s, count))
    return Workload(
        [f"j{j}" for j in range(count)],
        submit_s,
        TimeTable(times),
        due_s=submit_s + rng.uniform(0, 5000, count),
        weight_per_s=rng.uniform(0, 0.01, count),
    )


def last_come_first(view: View) -> Decision:
    """A full decision with preemption, in NumPy's numbers: the newest jobs, one GPU a job."""
    chosen = view.jobs[::-1][: 2 * len(view.nodes)]
    order = view.rng.permutation(len(chosen)) // 2
    return Decision(
        [Placement(j, n, 1.0) for j, n in zip(chosen, view.nodes[order], strict=True)],
        info={"newest": int(chosen[0])},
        again_s=400.0,
    )


def one_gpu(count: int) -> Workload:
    """Jobs of one GPU."""
    jobs = fixed(count, 5, 200.0)
    assert isinstance(jobs.performance, FixedDuration)
    ones = np.ones(count, dtype=int)
    return dataclasses.replace(jobs, performance=FixedDuration(jobs.performance.duration_s, ones))


def _programs() -> Iterator[tuple[str, Callable[[], Result]]]:
    known = {*policy_names(), *composed_names()}  # a family may have been taken out
    known |= {short for short, name in PAPERS_NAMES.items() if name in known}
    nodes = Cluster.of_nodes(PLAIN, 8)
    jobs = fixed(120, 1, 220.0)
    for name in (
        "fifo-strict",
        "fifo-backfill",
        "edf",
        "edf-backfill",
        "ps",
        "srpt",
        "srtf+proportional",
    ):
        if name not in known:
            continue
        yield name, partial(simulate, jobs, nodes, make_policy(name))
        rounds = DecisionPoints(round_s=10.0) if "+" in name else None
        yield (
            f"whole times, {name}",
            partial(simulate, whole_times(80, 3), Cluster.of_nodes(PLAIN, 2), make_policy(name),
                    decision_points=rounds),
        )  # fmt: skip
    full = Cluster.of_nodes(FULL, 8, 2)
    stated = fixed(120, 2, 250.0, demands=True)
    for dispatcher in (
        "round-robin", "join-shortest-queue", "least-work-left", "power-of-two", "random"
    ):  # fmt: skip
        policy = make_policy("edf-backfill")
        yield (
            f"two controllers, CPUs, {dispatcher}",
            partial(simulate, stated, full, policy, dispatcher=dispatcher, seed=3),
        )
    mixed = Cluster((PLAIN, NodeType("big", "GPU", 8, price_per_hour=2.0)), 6, (0, 1, 0, 0, 1, 0))
    for name in ("fifo-strict", "fifo-backfill"):
        yield f"mixed nodes, {name}", partial(simulate, jobs, mixed, make_policy(name))
        points = DecisionPoints(on_arrival=False, period_s=500.0)
        yield (
            f"periods, {name}",
            partial(simulate, jobs, nodes, make_policy(name), decision_points=points),
        )
    for servers, coalesce in ((1, False), (1, True), (2, True), (3, False)):
        server = ServerSpec(service=Exponential(90.0), servers=servers, coalesce=coalesce)
        yield (
            f"server {servers}, coalesce {coalesce}",
            partial(
                simulate, jobs, nodes, make_policy("fifo-backfill"), server=server, seed=servers
            ),
        )
    vms = Cluster.of_vms(VMS, 4, 2)
    for name in ("fifo", "edf", "ps", "greedy", "randomised-greedy", "local-search", "milp"):
        if name not in known:
            continue
        policy = make_policy(name, **OPTIONS.get(name, {}))
        points = DecisionPoints(period_s=700.0)
        yield (
            f"VMs, {name}",
            partial(simulate, elastic(30, 4), vms, policy, seed=1, decision_points=points,
                    features=[Delays.of(20.0)]),
        )  # fmt: skip
        server = ServerSpec(service=Exponential(90.0), servers=2)
        yield (
            f"VMs, server, {name}",
            partial(simulate, elastic(20, 5), vms, policy, seed=2, server=server),
        )
    fixed_nodes = Cluster(MIXED, 4, (0, 1, 1, 0), energy_price_per_kwh=0.2, pue=1.3)
    for name in ("fifo", "fifo-shared", "edf-shared", "ps-shared", "greedy", "local-search"):
        policy = make_policy(name, **OPTIONS.get(name, {}))
        yield f"nodes, {name}", partial(simulate, elastic(40, 6, 2), fixed_nodes, policy)
    narrow = Cluster.of_nodes(PLAIN, 6, 3)
    yield (
        "last come first",
        partial(
            simulate, one_gpu(100), narrow, last_come_first, features=[Delays.of(15.0)], seed=4
        ),
    )
    yield (
        "last come first, three servers",
        partial(
            simulate, one_gpu(80), narrow, last_come_first, seed=4, dispatcher="power-of-two",
            server=ServerSpec(service=Exponential(40.0), servers=3),
        ),
    )  # fmt: skip


PROGRAMS = dict(_programs())
"""Runs that a scenario file cannot state, by name."""
