"""Put the processes together and run them: workload + cluster + policy -> result.

`simulate` is longer than a screen: half of it describes its parameters, and the order of the other half counts.
"""

from __future__ import annotations

import copy
import inspect
import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.arguments import is_number
from simulator.core.arrivals import schedule_arrivals
from simulator.core.clock import Clock
from simulator.core.combined import VaryingLog, kind_of_controller
from simulator.core.controller import Controller
from simulator.core.dispatcher import Dispatch, Rule, make_dispatcher
from simulator.core.failing import SavedLog
from simulator.core.failures import Trouble
from simulator.core.gate import Gate, gated
from simulator.core.neighbours import SharingController
from simulator.core.partition import NOTHING
from simulator.core.records import DecisionLog, ScheduleLog
from simulator.core.server import OptimizationServer, ServerSpec
from simulator.core.world import DecisionPoints, World
from simulator.errors import InfeasibleDecision, InputError
from simulator.features.admission import Admission
from simulator.features.colocation import Neighbours
from simulator.features.faults import Failures
from simulator.features.network import Network
from simulator.features.predictions import LearnedView, Learner, Shown
from simulator.features.tenants import Tenants
from simulator.metrics.result import NodeMeters, Result
from simulator.model.cluster import Cluster
from simulator.model.contract import Decision, JobLog, Placement, PolicyLike, View, column_of
from simulator.model.workload import Workload
from simulator.statistics import Streams
from simulator.workloads.fits import check_fits

if TYPE_CHECKING:
    from simulator.metrics.streaming import RecordStream

LEAST_PERIOD_S = 1e-3
"""Periods are at least this long; clocks below `simulator.model.workload.LATEST_S` resolve it."""


def simulate(
    workload: Workload,
    cluster: Cluster,
    policy: PolicyLike,
    *,
    seed: int = 0,
    decision_points: DecisionPoints | None = None,
    dispatcher: str | Rule = "round-robin",
    server: ServerSpec | None = None,
    reconfiguration_s: float = 0.0,
    failures: Failures | None = None,
    tenants: Tenants | None = None,
    admission: Admission | None = None,
    network: Network | None = None,
    neighbours: Neighbours | None = None,
    check: bool = True,
    record_schedule: bool = True,
    measure_decisions: bool = False,
    stream_to: str | Path | None = None,
    policy_name: str | None = None,
    shown: Shown | None = None,
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
        `simulator.core.dispatcher.DISPATCHERS`, or a rule of one's own like those there.
    server : None: decisions take no time; else the optimization server that computes them.
    reconfiguration_s : seconds without progress whenever a job that has run before is started
        elsewhere, resized or resumed (snapshot and restart).
    failures : outages of nodes, jobs that fail, checkpoints; None: nothing goes wrong, but for the
        attempts that the jobs themselves have (`Workload.fails_at`).
    tenants : whose jobs they are, with weights and quotas; None: nobody asks.
    admission : what happens to jobs that cannot meet their due date; None: all are admitted.
    network : racks, and how much longer jobs take over nodes and racks; it takes the place of the
        performance model's ``network_penalty``. None: that one counts.
    neighbours : memory and slices of GPUs, and what jobs on one GPU do to each other; None: parts of
        GPUs are all that counts.
    check : check that every job can run on this cluster, and every decision be carried out.
    record_schedule : keep every share with its start and end (for Gantt charts).
    measure_decisions : read the clock of CPU time around each decision (``cpu_s`` of the table of
        decisions). Off, the reading costs nothing and the column is empty.
    stream_to : write decisions, schedule and jobs to Parquet files in this folder while the
        simulation runs (`simulator.metrics.streaming`), for runs whose records do not fit in memory.
    policy_name : how the result calls the policy.
    shown : the jobs as policies and dispatchers see them, with predicted times; None: true ones.

    Raises
    ------
    InputError
        The parameters do not fit together, or a job cannot run on this cluster at all.
    InfeasibleDecision
        The policy oversubscribed a node, or left jobs waiting for ever.
    """
    points = decision_points or DecisionPoints()
    _check_policy(policy)
    _check_arguments(points, reconfiguration_s)
    _check_sizes(workload, cluster, tenants, network, neighbours)
    if check:
        check_fits(workload, cluster)
    name = policy_name or _name_of(policy)
    streams = Streams(seed)
    measure = measure_decisions or (server is not None and server.service == "measured")
    if neighbours is not None and (cluster.node_type_of is None or cluster.is_pool):
        raise InputError("sharing: expected nodes of fixed types")
    world = _world(workload, cluster, points, name)
    world.reconfiguration_s, world.check, world.measure = reconfiguration_s, check, measure
    world.schedule = ScheduleLog(cluster.node_type_of) if record_schedule else None
    world.network = network
    if shown is not None:
        _show(world, shown)
    with _stream(world, stream_to) as stream:
        trouble = None
        if workload.fails_at and failures is None:
            failures = Failures()
        if failures is not None:
            trouble = _trouble(failures, world, streams, neighbours is not None)
        in_parts = bool(getattr(policy, "gives_parts", False))
        gate = _gate(world, tenants, admission, trouble, in_parts)
        controllers = _controllers(world, policy, streams, trouble, gate, neighbours)
        if tenants is not None or network is not None:
            for controller in controllers:
                controller.see(tenants=tenants, network=network)
        service = None if server is None else _service(world, server, streams, controllers)
        dispatch = make_dispatcher(dispatcher, controllers, streams.generator("dispatcher"))
        _run(world, dispatch, gate, controllers)
        result = _result(world, name, seed, service, stream.folder if stream else None)
        if tenants is not None or gate is not None:
            result = replace(result, tenants=tenants, gate=None if gate is None else gate.record())
        if trouble is not None:
            damage = trouble.damage(float(result.completion_s.max()))
            result = replace(result, damage=damage, extra=damage.columns())
        if stream is not None:
            stream.finish(result)
    return result


def _controllers(
    world: World,
    policy: PolicyLike,
    streams: Streams,
    trouble: Trouble | None,
    gate: Gate | None,
    neighbours: Neighbours | None,
) -> list[Controller]:
    """One controller a partition, each of the kind that knows what can happen, and no more."""
    is_impatient = world.workload.patience_s is not None
    kind = kind_of_controller(trouble is not None, neighbours is not None, is_impatient)
    if gate is not None:
        kind = gated(kind, gate)
    controllers = [
        kind(world, k, _decider(policy), streams.generator("policy", k))
        for k in range(world.cluster.num_controllers)
    ]
    if trouble is not None:
        trouble.begin(controllers)
    for controller in controllers:
        if neighbours is not None and isinstance(controller, SharingController):
            controller.meet(neighbours)
    return controllers


def _service(
    world: World, server: ServerSpec, streams: Streams, controllers: Sequence[Controller]
) -> OptimizationServer:
    """The optimization server, at which all controllers queue from now on."""
    service = OptimizationServer(world.clock, server, streams.generator("service"))
    for controller in controllers:
        controller.queue_request = service.request
    return service


def _gate(
    world: World,
    tenants: Tenants | None,
    admission: Admission | None,
    trouble: Trouble | None,
    in_parts: bool,
) -> Gate | None:
    """What stands before the queues; None where nothing does."""
    if admission is None and (tenants is None or not tenants.is_limited):
        return None

    def left(job: int) -> None:
        if trouble is not None:
            trouble.unfinished -= 1

    if admission is not None:
        # Downgraded jobs lose their due date in what policies see, which is a copy of its own.
        world.shown = replace(world.shown)
    return Gate(world, tenants, admission, left, in_parts)


def _trouble(failures: Failures, world: World, streams: Streams, shares_gpus: bool) -> Trouble:
    """What goes wrong, with the job state that it needs."""
    if world.cluster.is_pool:
        if world.workload.fails_at:
            raise InputError("workload.attempts: given with a rental pool, expected nodes or VMs")
        raise InputError("failures: a rental pool has no nodes that fail, expected nodes or VMs")
    world.log = (VaryingLog if shares_gpus else SavedLog).of_size(len(world.workload))
    return Trouble(failures, world, streams)


def _stream(world: World, folder: str | Path | None) -> AbstractContextManager[RecordStream | None]:
    """The files that records are streamed to, if any; the logs of the world are then theirs."""
    if folder is None:
        return nullcontext()
    from simulator.metrics.streaming import RecordStream, StreamedDecisions, StreamedSchedule

    stream = RecordStream(folder)
    world.decisions = StreamedDecisions(stream)
    if world.schedule is not None:
        world.schedule = StreamedSchedule(stream, world.workload, world.cluster)
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


def _check_arguments(points: DecisionPoints, reconfiguration_s: float) -> None:
    for period in (points.period_s, points.since_last_s):
        _check_period(period)
    period = points.period_s
    if period is None and not points.on_arrival:
        raise InputError("decisions neither at arrivals nor periodically: jobs would wait for ever")
    if points.finish_at_tick and period is None:
        raise InputError("jobs that finish at the end of a round need rounds")
    if not (is_number(reconfiguration_s) and 0 <= reconfiguration_s < math.inf):
        raise InputError(f"reconfiguration takes {reconfiguration_s} s, expected a number >= 0")


def _check_sizes(
    workload: Workload,
    cluster: Cluster,
    tenants: Tenants | None,
    network: Network | None,
    neighbours: Neighbours | None,
) -> None:
    """Optional parts have a value for each of these jobs and nodes."""
    jobs, nodes = len(workload), cluster.num_nodes
    for name, given, wanted, what in (
        ("tenants", None if tenants is None else tenants.of, jobs, "jobs"),
        ("network", None if network is None else network.same_rack, jobs, "jobs"),
        ("network", None if network is None else network.rack_of, nodes, "nodes"),
        ("sharing", None if neighbours is None else neighbours.memory_gb, jobs, "jobs"),
    ):
        if given is not None and len(given) < wanted:
            raise InputError(f"{name}: made for {len(given)} {what}, expected {wanted}")


def _check_period(period: float | None) -> None:
    if period is not None and not (is_number(period) and 0 < period < math.inf):
        raise InputError(f"period is {period} s, expected a positive number of seconds")
    if period is not None and period < LEAST_PERIOD_S:
        raise InputError(f"period is {period:g} s, expected at least {LEAST_PERIOD_S:g} s")


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


def _world(workload: Workload, cluster: Cluster, points: DecisionPoints, name: str) -> World:
    """All jobs still to come, all nodes free."""
    count, fixed = len(workload), cluster.node_type_of
    no_shares: list[Mapping[int, Placement]] = [NOTHING] * cluster.num_nodes
    gpus_of = [t.gpus for t in cluster.node_types]
    return World(
        clock=Clock(),
        cluster=cluster,
        workload=workload,
        nodes=[None] * cluster.num_nodes,
        shares=no_shares,
        free_gpus=column_of(
            [0.0] * cluster.num_nodes if fixed is None else [gpus_of[v] for v in fixed]
        ),
        begin_s=float(workload.submit_s[0]),
        log=JobLog.of_size(count),
        completion_s=column_of([math.nan], count),
        preemptions=array("q", [0]) * count,
        reconfigurations=array("q", [0]) * count,
        decisions=DecisionLog(),
        schedule=None,
        points=points,
        reconfiguration_s=0.0,
        check=True,
        measure=False,
        policy_name=name,
        arriving=count,
        shown=_of_now(workload),
    )


def _of_now(workload: Workload) -> Workload:
    """The jobs as policies may see them: without failures that are still to come."""
    hidden = workload.fails_at or workload.outcome
    return replace(workload, fails_at=(), outcome=()) if hidden else workload


def _show(world: World, shown: Shown) -> None:
    """Let policies see predicted times."""
    if shown.workload.job_id != world.workload.job_id:
        raise InputError("shown: its jobs are others than the workload's, expected the same")
    world.shown = _of_now(shown.workload)
    if shown.learned:
        learner = Learner(shown.workload)

        def learned_view(**state: Any) -> View:
            return LearnedView(learner=learner, **state)

        world.make_view = learned_view


def _run(
    world: World, dispatch: Dispatch, gate: Gate | None, controllers: Sequence[Controller]
) -> None:
    """Let the jobs come and the clock run until nothing is left to happen."""
    if gate is not None:
        gate.attach(dispatch)
        submit = gate.arrive
    elif len(controllers) == 1:
        submit = controllers[0].submit
    else:

        def submit(job: int) -> None:
            dispatch(job).submit(job)

    schedule_arrivals(world, submit)
    world.clock.run()
    left = [j for j, t in enumerate(world.completion_s) if t != t]
    if left:
        first, gpus = world.workload.job_id[left[0]], int(world.workload.num_gpus[left[0]])
        raise InfeasibleDecision(
            f"policy {world.policy_name} at {world.clock.now_s:.6g} s: {len(left)} jobs wait for "
            f"ever, the first is {first!r}{f', which needs {gpus} GPUs' if gpus else ''}"
        )


def _result(
    world: World, name: str, seed: int, server: OptimizationServer | None, folder: Path | None
) -> Result:
    left = None
    if world.workload.patience_s is not None or world.left:
        left = np.zeros(len(world.workload), dtype=np.bool_)
        left[list(world.left)] = True
        if left.all():
            raise InfeasibleDecision(
                f"policy {name}: all {len(left)} jobs left before they started, expected more patience"
                " (or, with [admission], later due dates)"
            )
        left.flags.writeable = False
    completion_s = np.array(world.completion_s)
    end_s = max(world.completion_s) if left is None else float(completion_s[~left].max())
    for node in world.nodes:
        if node is not None:
            node.settle(end_s)
    return Result(
        workload=world.workload,
        cluster=world.cluster,
        policy=name,
        seed=seed,
        first_start_s=np.array(world.log.first_start_s),
        completion_s=completion_s,
        gpu_seconds=np.array(world.log.attained_gpu_s),
        preemptions=np.array(world.preemptions, dtype=np.int64),
        reconfigurations=np.array(world.reconfigurations, dtype=np.int64),
        meters=NodeMeters.of(world.nodes, world.cluster, end_s - world.begin_s),
        decisions=world.decisions,
        schedule=world.schedule,
        server_wait_s=np.array(server.wait_s if server else []),
        server_response_s=np.array(server.response_s if server else []),
        streamed_to=folder,
        left=left,
    )
