"""Put the processes together and run them: workload + cluster + policy -> result.

`simulate` is longer than a screen: half of it describes its parameters, and the order of the other half counts.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.core.dispatchers import make_dispatcher
from simulator.core.feature import Feature
from simulator.core.logs import ScheduleLog
from simulator.core.simulation import Simulation
from simulator.core.start import Rule, begin, run_to_end
from simulator.core.wake_ups import MAX_TICKS
from simulator.errors import InfeasibleDecision, InputError
from simulator.features.registry import features_of
from simulator.features.rounds import Rounds
from simulator.metrics.result import NodeMeters, Result
from simulator.model.cluster import Cluster
from simulator.model.contract import Decision, PolicyLike, View
from simulator.model.decision_points import DecisionPoints, ServerSpec
from simulator.model.fractional import shares_gpus
from simulator.model.workload import Workload
from simulator.statistics import Streams
from simulator.workloads.fits import check_fits

if TYPE_CHECKING:
    from simulator.metrics.streaming import RecordStream


def simulate(
    workload: Workload,
    cluster: Cluster,
    policy: PolicyLike,
    *,
    seed: int = 0,
    decision_points: DecisionPoints | None = None,
    dispatcher: str | Rule = "round-robin",
    server: ServerSpec | None = None,
    features: Sequence[Any] = (),
    check: bool = True,
    record_schedule: bool = True,
    measure_decisions: bool = False,
    stream_to: str | Path | None = None,
    policy_name: str | None = None,
) -> Result:
    """Simulate a workload on a cluster under a policy until every job has finished, or left.

    Parameters
    ----------
    workload, cluster : the jobs and the machines.
    policy : object with ``decide(view) -> Decision``, or such a function. Each controller gets a
        deep copy of its own, so the object given is not changed. A plain function is not copied: an
        object outside it is shared by all controllers.
    seed : of all random streams (policy, dispatcher, service times).
    decision_points : when controllers decide; every arrival and completion where None.
    dispatcher : which queue an arriving job joins, a name of
        `simulator.core.dispatchers.DISPATCHERS`, or a rule of one's own like those there.
    server : None: decisions take no time; else the optimization server that computes them.
    features : what the cluster has beside nodes and jobs: a `Feature` of one's own, or the data of one of
        `simulator.features`, e.g. `Failures`, `Tenants`, `Admission`, `Network`, `Colocation`, `Delays`.
        Jobs whose attempts fail (`Workload.fails_at`), or that have a patience, bring theirs.
    check : check that every job can run on this cluster, and every decision be carried out.
    record_schedule : keep every share with its start and end (for Gantt charts).
    measure_decisions : read the clock of CPU time around each decision (``cpu_s`` of the table of
        decisions). Off, the reading costs nothing and the column is empty.
    stream_to : write decisions, schedule and jobs to Parquet files in this folder while the
        simulation runs (`simulator.metrics.streaming`), for runs whose records do not fit in memory.
    policy_name : how the result calls the policy.

    Raises
    ------
    InputError
        The parameters do not fit together, or a job cannot run on this cluster at all.
    InfeasibleDecision
        The policy oversubscribed a node, or left jobs waiting for ever.
    """
    points = decision_points or DecisionPoints()
    workload = workload.without_record()
    _check_policy(policy)
    _check_points(points, workload, cluster, server)
    if check:
        check_fits(workload, cluster)
    if points.round_s is not None and points.round_ends == "last-finisher":
        features = [*features, Rounds(points.round_s)]
    parts = features_of(workload, features)
    simulation = Simulation(
        workload,
        _shown(workload, parts),
        cluster,
        points,
        Streams(seed),
        policy_name or _name_of(policy),
        check,
        measure_decisions or (server is not None and server.law is None),
    )
    simulation.fractional_gpus = bool(getattr(policy, "fractional_gpus", False))
    if record_schedule:
        names_gpus = simulation.fractional_gpus or shares_gpus(workload)
        simulation.schedule = ScheduleLog(cluster.node_type_of, names_gpus)
    with _stream(simulation, stream_to) as stream:
        begin(simulation, parts, lambda: _decider(policy), make_dispatcher(dispatcher), server)
        try:
            run_to_end(simulation)
        except Exception as error:
            if not isinstance(error, InputError | InfeasibleDecision):  # these name it themselves
                error.add_note(f"policy {simulation.policy_name}, at {simulation.clock.now:g} s")
            raise
        result = _result(simulation, parts, seed, stream.folder if stream else None)
        if stream is not None:
            stream.finish(result)
    return result


def _shown(workload: Workload, features: Sequence[Feature]) -> Workload:
    """The jobs as policies see them, without failures that are still to come."""
    seen = workload
    for feature in features:
        seen = feature.shown(seen)
    seen = seen.without_record()
    return replace(seen, fails_at=(), outcome=()) if seen.fails_at or seen.outcome else seen


def _stream(
    simulation: Simulation, folder: str | Path | None
) -> AbstractContextManager[RecordStream | None]:
    """The files that records are streamed to, if any; the logs of the simulation are then theirs."""
    if folder is None:
        return nullcontext()
    from simulator.metrics.streaming import RecordStream, StreamedDecisions, StreamedSchedule

    stream = RecordStream(folder)
    simulation.decisions = StreamedDecisions(stream)
    if simulation.schedule is not None:
        names_gpus = simulation.schedule.gpu_ids() is not None
        simulation.schedule = StreamedSchedule(
            stream, simulation.workload, simulation.cluster, names_gpus
        )
    return stream


def _check_policy(policy: object) -> None:
    if inspect.isclass(policy):
        raise InputError(
            f"policy is the class {policy.__name__}, expected an object of it: {policy.__name__}(...)"
        )
    if not callable(getattr(policy, "decide", policy)):
        raise InputError(
            f"policy is {policy!r}, expected an object with decide(view), or a function "
            "(policies.make_policy turns a name into one)"
        )


def _check_points(
    points: DecisionPoints, workload: Workload, cluster: Cluster, server: ServerSpec | None
) -> None:
    if points.least_gap_s and server is not None:
        raise InputError(
            "decisions: both least_gap_s and an optimization server, expected one of them"
        )
    busy_s = _least_busy_s(workload, cluster)
    periods = (("period_s (or round_s)", points.tick_s), ("since_last_s", points.since_last_s))
    for name, period_s in periods:
        if period_s is not None and busy_s / period_s > MAX_TICKS:
            raise InputError(
                f"decisions: {name} is {period_s:g} s, and the jobs take {busy_s:g} s at least: more than "
                f"{MAX_TICKS:,} periodic decisions, expected a longer one"
            )


def _least_busy_s(workload: Workload, cluster: Cluster) -> float:
    """Seconds for which some job runs, at least, where jobs have one duration; else 0."""
    duration_s = workload.performance.fixed_s
    if duration_s is None:
        return 0.0
    work_gpu_s = float((duration_s * workload.num_gpus).sum())
    return max(float(duration_s.max()), work_gpu_s / cluster.total_gpus)


def _name_of(policy: PolicyLike) -> str:
    name = getattr(policy, "name", None) or getattr(policy, "__name__", None)
    return str(name or type(policy).__name__)


def _decider(policy: PolicyLike) -> Callable[[View], Decision]:
    """The function that decides, with state of its own."""
    try:
        own: Any = copy.deepcopy(policy)
    except Exception as error:  # a policy may hold anything
        raise InputError(
            f"policy {_name_of(policy)}: cannot be copied for each controller "
            f"({type(error).__name__}: {str(error).partition(chr(10))[0]})"
        ) from error
    decide: Callable[[View], Decision] = getattr(own, "decide", own)
    return decide


def _result(
    simulation: Simulation, features: Sequence[Feature], seed: int, folder: Path | None
) -> Result:
    """The record of a run that has ended."""
    workload, name = simulation.workload, simulation.policy_name
    left = None
    if workload.patience_s is not None or simulation.reneged:
        left = np.zeros(len(workload), dtype=np.bool_)
        left[list(simulation.reneged)] = True
        if left.all():
            raise InfeasibleDecision(
                f"policy {name}: all {len(left)} jobs left before they started, expected more patience"
                " (or, with [admission], later due dates)"
            )
        left.flags.writeable = False
    completion_s = np.frombuffer(simulation.completion_s)
    end_s = float(completion_s.max() if left is None else completion_s[~left].max())
    for node in simulation.nodes:
        if node is not None:
            node.settle(end_s)
    used = [(n, node) for n, node in enumerate(simulation.nodes) if node is not None]
    named_use = [(n, *use) for n, node in used for use in node.named_use]
    server = simulation.server
    records = {feature.name: feature.record(end_s) for feature in features}
    return Result(
        workload=workload,
        cluster=simulation.cluster,
        policy=name,
        seed=seed,
        first_start_s=np.frombuffer(simulation.jobs.first_start_s),
        completion_s=completion_s,
        gpu_seconds=np.frombuffer(simulation.jobs.attained_gpu_s),
        running_s=np.frombuffer(simulation.jobs.running_s),
        preemptions=np.frombuffer(simulation.preemptions, np.int64),
        reconfigurations=np.frombuffer(simulation.reconfigurations, np.int64),
        meters=NodeMeters.of(simulation.nodes, simulation.cluster, end_s - simulation.begin_s),
        named_use=np.array(named_use).reshape(-1, 4),
        decisions=simulation.decisions,
        schedule=simulation.schedule,
        configurations=simulation.configurations,
        eligible_s=np.frombuffer(simulation.submitted_s) if any(workload.after) else None,
        server=server.spec if server else None,
        server_wait_s=np.array(server.wait_s if server else []),
        server_response_s=np.array(server.response_s if server else []),
        streamed_to=folder,
        left=left,
        informed=simulation.informed,
        parts={name: part for name, part in records.items() if part is not None},
        extra=tuple(data for feature in features for data in feature.columns()),
    )
