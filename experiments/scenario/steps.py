"""A scenario on its way to its simulation: a list of steps, each of which takes a setup and returns one.

    setup = through(FITTED, read(scenario))     # the jobs and machines, fitted to each other
    setup = through(TOLD, setup)                # and what is said of them
    setup.workload, setup.cluster

`read` reads or draws the jobs. Read `FITTED` and `TOLD` from top to bottom to see what happens to them then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from experiments.config import KeyedError, at_key
from experiments.scenario.machines import machines_of
from experiments.scenario.on_gpus import on_gpus
from experiments.scenario.schema import Scenario
from simulator.errors import InputError
from simulator.features.table import Scene
from simulator.model.cluster import SECONDS_PER_HOUR as HOUR_S
from simulator.model.tolerances import CAPACITY
from simulator.workloads.table import Modelled

if TYPE_CHECKING:
    from simulator import Cluster, Workload
    from simulator.model.performance import Performance


@dataclass(frozen=True)
class Setup:
    """Jobs and machines of a scenario, as far as the steps have come.

    Attributes
    ----------
    own : the machines that the workload brings, if any.
    machines : the machines that the scenario runs on; None before they are chosen.
    asked : the performance model before anything was added to the jobs.
    """

    scenario: Scenario
    workload: Workload
    own: Cluster | None = None
    machines: Cluster | None = None
    asked: Performance | None = None

    @property
    def cluster(self) -> Cluster:
        """The machines, once they are chosen."""
        assert self.machines is not None
        return self.machines

    @property
    def scene(self) -> Scene:
        """The scenario as its features see it."""
        scenario = self.scenario
        return Scene(self.workload, self.cluster, scenario.streams, scenario.features)

    def noted(self, *notes: str) -> Setup:
        """The same with further notes on the jobs."""
        return replace(self, workload=self.workload.noted(*notes)) if notes else self


class Step(NamedTuple):
    """A step, and the table of the scenario whose mistakes it finds; None: its errors name their keys."""

    table: Literal["cluster", "workload"] | None
    take: Callable[[Setup], Setup]


def read(scenario: Scenario) -> Setup:
    """The jobs of a scenario, and the machines that they bring.

    Raises InputError: something is wrong with a file, or with keys of the table [workload].
    """
    with _of_jobs(scenario):
        made = scenario.workload.make(scenario.setting)
    return Setup(scenario, *made) if isinstance(made, tuple) else Setup(scenario, made)


def through(steps: Sequence[Step], setup: Setup) -> Setup:
    """The setup after these steps.

    Raises KeyedError: the jobs, the machines and the keys do not go together.
    """
    for table, take in steps:
        with _of_jobs(setup.scenario) if table == "workload" else _at(table):
            setup = take(setup)
    return setup


def _at(table: str | None) -> AbstractContextManager[None]:
    return nullcontext() if table is None else at_key(table)


@contextmanager
def _of_jobs(scenario: Scenario) -> Iterator[None]:
    """An error in the block is one of the table [workload], and of its file of jobs where it has one."""
    try:
        yield
    except KeyedError:
        raise
    except InputError as error:
        path = getattr(scenario.workload, "path", None)
        if path is not None and str(error).startswith(path):
            raise  # It names the file and the line in it.
        text = str(error) if path is None else f"{path}: {error}"
        raise KeyedError("workload", text) from None


# -- the steps, in their order -------------------------------------------------------------


def machines(setup: Setup) -> Setup:
    """The machines of the table [cluster], or those that the workload brings."""
    return replace(setup, machines=machines_of(setup.scenario, setup.own))


def machines_with_features(setup: Setup) -> Setup:
    """The machines as features have them, for example the prices of spot VMs."""
    cluster = setup.cluster
    for table in setup.scenario.features.values():
        cluster = table.on_cluster(cluster)
    return replace(setup, machines=cluster)


def durations_on_gpus(setup: Setup) -> Setup:
    """Durations on the types of GPU that the machines have."""
    workload = on_gpus(setup.workload, setup.own, setup.scenario)
    return replace(setup, workload=workload, asked=workload.performance)


def adapted(setup: Setup) -> Setup:
    """Jobs and machines with what [adapt] adds to them."""
    from simulator.adaptation import adapt

    rules, own, cluster = setup.scenario.adapt, setup.own, setup.cluster
    if rules is None:
        return setup
    times_of = own if own is not None and own.node_types != cluster.node_types else None
    try:
        made = adapt(setup.workload, cluster, rules, setup.scenario.streams, times_of)
    except KeyedError as error:
        raise KeyedError(f"adapt.{error.key}", error.text) from None
    # Features see the new prices.
    return machines_with_features(replace(setup, workload=made.workload, machines=made.cluster))


def known_gpu_types(setup: Setup) -> Setup:
    """The types of GPU that jobs ask for, as the machines spell them."""
    from simulator.workloads.fits import with_known_types

    return replace(setup, workload=with_known_types(setup.workload, setup.cluster))


def partitions(setup: Setup) -> Setup:
    """Jobs on the nodes of their partitions, where groups of nodes name some."""
    from simulator.workloads.machines import StandingServers
    from simulator.workloads.partitions import in_partitions

    servers = setup.scenario.cluster
    if not isinstance(servers, StandingServers):
        return setup
    named = [group.partitions for group in servers.groups_by_key().values()]
    if getattr(setup.scenario.workload, "places", None) == "any" or not any(named):
        return setup
    of_type = [None if names is None else frozenset(names) for names in named]
    return replace(setup, workload=in_partitions(setup.workload, setup.cluster, of_type))


def oversized(setup: Setup) -> Setup:
    """Jobs that are larger than the machines: left out or cut, where the scenario says so."""
    from simulator.workloads.fits import sized

    rule = getattr(setup.scenario.workload, "oversized", None)
    if rule not in ("leave-out", "clip"):
        return setup
    return replace(setup, workload=sized(setup.workload, setup.cluster, rule))


def sensitivity(setup: Setup) -> Setup:
    """Speeds by CPUs and memory for jobs of a network, where the nodes have a number of them."""
    from simulator.workloads.networks.sensitivity import with_sensitivity
    from simulator.workloads.other_gpus import has_one_duration

    scenario, workload, cluster = setup.scenario, setup.workload, setup.cluster
    if scenario.adapt is not None and scenario.adapt.sensitivity is not None:
        return setup  # it is done, or not wanted
    if not any(workload.model) or not _is_fixed_demand(workload) or cluster.is_configurable:
        return setup
    if not all(t.cpus < float("inf") for t in cluster.node_types):
        return setup
    if not has_one_duration(workload):
        return setup.noted(
            "cluster: CPUs and memory change no durations, which depend on the kind of server"
        )
    jobs, round_s = scenario.workload, scenario.decisions.round_s
    released = isinstance(jobs, Modelled) and jobs.speeds == "released"
    whole = released and round_s is not None
    if isinstance(jobs, Modelled) and jobs.whole_iterations is not None:
        whole = jobs.whole_iterations
    if whole and round_s is None:
        raise KeyedError("workload.whole_iterations", "given without decisions.round_s")
    workload = with_sensitivity(
        workload, cluster, released=released, round_s=round_s if whole else None
    )
    return replace(setup, workload=workload)


def parts_of_gpus(setup: Setup) -> Setup:
    """A note where jobs asked for parts of GPUs, and what was added lets them hold whole ones."""
    from simulator.model.fractional import SharedDuration

    asked = setup.asked
    if not isinstance(asked, SharedDuration) or _is_fixed_demand(setup.workload):
        return setup
    count = int((asked.part < 1).sum())
    if not count:
        return setup
    why = "they choose their GPUs"
    if setup.workload.num_gpus.any():
        why = 'their rates depend on CPUs and memory ([adapt] sensitivity = "none" keeps the parts)'
    return setup.noted(
        f"workload: {count} jobs ask for a part of a GPU, but hold whole ones: {why}"
    )


def shared_in_time(setup: Setup) -> Setup:
    """Jobs that may share GPUs in time, where the policy requires it."""
    from policies import requirements_of
    from simulator.workloads.reshaping import time_shared

    with at_key("policy"):
        required = requirements_of(setup.scenario.policy)
    if "time-shared" not in required or not _is_fixed_demand(setup.workload):
        return setup
    return replace(setup, workload=time_shared(setup.workload))


def room(setup: Setup) -> Setup:
    """A check that each job fits on the empty machines."""
    from simulator.workloads.fits import check_fits

    try:
        check_fits(setup.workload, setup.cluster)
    except InputError as error:
        refuses = getattr(setup.scenario.workload, "oversized", None) == "refuse"
        hint = '; workload.oversized = "leave-out"' if refuses else ""
        hint += ' or "clip"' if hint and _is_fixed_demand(setup.workload) else ""
        raise InputError(f"{error}{hint}") from None
    return setup


def racks(setup: Setup) -> Setup:
    """A note where jobs ask for one rack, and there is only one."""
    asking = int(setup.workload.one_rack.sum())
    if not asking or setup.cluster.nodes_per_rack is not None:
        return setup
    return setup.noted(
        f"workload: {asking} jobs ask for one rack, and all nodes are in one (key cluster.nodes_per_rack)"
    )


def against_the_log(setup: Setup) -> Setup:
    """Notes where the log had more GPUs in use at once, or more types of them, than the machines."""
    from simulator.workloads.machines import StandingServers

    jobs, cluster, servers = setup.workload, setup.cluster, setup.scenario.cluster
    if not isinstance(servers, StandingServers):
        return setup
    if jobs.record is not None:
        most, at_s = jobs.record.most_at_once()
        if most > cluster.total_gpus * (1 + CAPACITY):
            setup = setup.noted(
                f"workload: {most:.6g} GPUs were in use at once in the log, first {at_s / HOUR_S:.4g} h after its first "
                f"submission, and the cluster has {cluster.total_gpus:g}"
            )
    named = any(g.gpu_type or g.speed for g in servers.groups_by_key().values())
    kinds = Counter(filter(None, jobs.gpu_type))
    if len(kinds) > 1 and not named and len({t.gpu_type for t in cluster.node_types}) == 1:
        listed = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common(5))
        setup = setup.noted(
            f"workload: the jobs of the log ran on {len(kinds)} types of GPU ({listed}), the cluster has one: durations "
            "count as they are (key cluster.groups)"
        )
    return setup


def jobs_with_features(setup: Setup) -> Setup:
    """The jobs with what features draw for them, for example tenants."""
    workload = setup.workload
    for table in setup.scenario.features.values():
        workload = table.on_jobs(workload, setup.scenario.streams)
    return replace(setup, workload=workload)


def requirements(setup: Setup) -> Setup:
    """Check that the policy can run on these jobs and machines; notes on what it ignores."""
    return setup.noted(*requirement_notes(setup))


def keys_without_effect(setup: Setup) -> Setup:
    """Notes on keys of features that change nothing with these jobs and machines."""
    return setup.noted(*_unused_keys(setup))


FITTED = (
    Step("cluster", machines),
    Step("cluster", machines_with_features),
    Step("cluster", durations_on_gpus),
    Step(None, adapted),
    Step("workload", known_gpu_types),
    Step("workload", partitions),
    Step("workload", oversized),
    Step("workload", sensitivity),
    Step("workload", parts_of_gpus),
    Step("workload", room),
    Step("workload", racks),
    Step("workload", against_the_log),
    Step(None, jobs_with_features),
)
"""From the jobs as they were read to jobs and machines that fit each other."""

TOLD = (
    Step(None, shared_in_time),
    Step(None, requirements),
    Step(None, keys_without_effect),
)
"""What is made and said of them for this policy."""


# -- what the last steps say ---------------------------------------------------------------


def requirement_notes(setup: Setup, wanted: Sequence[str] | None = None) -> list[str]:
    """Notes on what the policy ignores of jobs and machines.

    Parameters
    ----------
    wanted : the requirements that are looked at; None: those of the policy.

    Raises KeyedError: the policy lacks something that it needs.
    """
    import policies

    policy = setup.scenario.policy
    with at_key("policy"):
        line, notes = policies.requirements_verdict(policy, setup.workload, setup.cluster, wanted)
    if line is not None:
        raise KeyedError("policy", f"{policy}: {line}")
    return notes


def _unused_keys(setup: Setup) -> Iterator[str]:
    """One line for each key of a feature that changes nothing.

    Models that no job has are noted, not refused: where models are drawn, few jobs may lack one.
    """
    scene = setup.scene
    known = sorted({*setup.workload.model} - {""})
    has = f"the models are {', '.join(known[:10])}" if known else "no job has a model"
    for name, table in scene.tables.items():
        if not setup.cluster.is_pool:  # a pool is refused elsewhere
            yield from table.notes(scene)
        for key, given in table.models().items():
            for model in given:
                if model not in known:
                    yield f"{name}.{key}.{model}: no job is of this model; {has}"


def _is_fixed_demand(workload: Workload) -> bool:
    from simulator import FixedDuration

    return isinstance(workload.performance, FixedDuration)
