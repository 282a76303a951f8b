"""Decisions that are not feasible, each with its whole line, and the tolerances."""

from collections.abc import Sequence

import numpy as np
import pytest

from simulator import (
    NO_CHANGE,
    Cluster,
    Decision,
    InfeasibleDecision,
    NodeType,
    Placement,
    SpeedupCurve,
    TimeTable,
    View,
    Workload,
)
from simulator.model import feasibility
from tests.core.jobs import fixed, nodes, run

SERVERS = nodes(4, 4, 2, cpus=8, memory_gb=64)
"""Nodes 0 and 2 are controller 0's, which has the first job."""
VMS = Cluster.of_vms([NodeType("one", "A", 1), NodeType("two", "A", 2)], 2)


def complaint(jobs: Workload, cluster: Cluster, placements: Sequence[Placement], **said) -> str:
    """Error of a first decision of controller 0, without the name of the policy."""

    def mine(view: View) -> Decision:
        return Decision(placements, **said) if view.controller == 0 else NO_CHANGE

    with pytest.raises(InfeasibleDecision) as caught:
        run(jobs, cluster, mine)
    line = str(caught.value)
    start = f"policy mine at {jobs.submit_s[0]:g} s: "
    assert line.startswith(start)
    return line.removeprefix(start)


LIMITS_OF_GPUS = [
    ([Placement(1, 0, 1)], "places job 1, which is not active here"),
    ([Placement(0, 1, 1)], "uses node 1, which is not of controller 0"),
    ([Placement(0, 4, 1)], "uses node 4, which does not exist"),
    ([Placement(0, 0, 1, 1)], "configures node 0, whose type is fixed"),
    ([Placement(0, 0, 0)], "gives job 0 0 GPUs, 0.0 CPUs and 0.0 GB on node 0"),
    ([Placement(0, 0, np.nan)], "gives job 0 nan GPUs, 0.0 CPUs and 0.0 GB on node 0"),
    ([Placement(0, 0, 1.5)], "gives job 0 1.5 GPUs of node 0, not a whole number"),
    ([Placement(0, 0, 1, cpus=-1)], "gives job 0 1 GPUs, -1 CPUs and 0.0 GB on node 0"),
    ([Placement(0, 0, 1, memory_gb=-1)], "gives job 0 1 GPUs, 0.0 CPUs and -1 GB on node 0"),
    ([Placement(0, 0, 1), Placement(0, 0, 1)], "gives job 0 two shares of one node"),
    ([Placement(0, 0, 3), Placement(2, 0, 2)], "node 0: 5 GPUs used of 4"),
]
"""What any nodes of 4 GPUs refuse."""


@pytest.mark.parametrize("keep_running", [False, True])
@pytest.mark.parametrize(
    ("placements", "line"),
    [
        *LIMITS_OF_GPUS,
        ([Placement(9, 0, 1)], "places job 9, which is not active here"),
        ([Placement(0, -1, 1)], "uses node -1, which does not exist"),
        ([Placement(0, 0, -1)], "gives job 0 -1 GPUs, 0.0 CPUs and 0.0 GB on node 0"),
        ([Placement(0, 0, 5)], "node 0: 5 GPUs used of 4"),
        ([Placement(0, 2, 1, cpus=9)], "node 2: 9 CPUs used of 8"),
        ([Placement(0, 0, 1, cpus=4), Placement(2, 0, 1, cpus=4.5)], "node 0: 8.5 CPUs used of 8"),
        ([Placement(0, 0, 1, memory_gb=65)], "node 0: 65 GB of memory used of 64"),
        (
            [Placement(0, 0, 1, memory_gb=32), Placement(2, 0, 1, memory_gb=33)],
            "node 0: 65 GB of memory used of 64",
        ),
    ],
)
def test_offences_on_servers(placements, line, keep_running):
    jobs = fixed([7, 7, 7], [5, 5, 5])
    assert complaint(jobs, SERVERS, placements, keep_running=keep_running) == line


@pytest.mark.parametrize("keep_running", [False, True])
@pytest.mark.parametrize(
    ("placements", "line"),
    [
        *LIMITS_OF_GPUS,
        ([Placement(0, 0, 1, cpus=np.inf)], "gives job 0 1 GPUs, inf CPUs and 0.0 GB on node 0"),
    ],
)
def test_offences_where_gpus_alone_are_limited(placements, line, keep_running):
    jobs = fixed([7, 7, 7], [5, 5, 5])
    assert complaint(jobs, nodes(4, 4, 2), placements, keep_running=keep_running) == line


def test_what_is_named_behind_a_job_that_goes_on_is_checked_too():
    def mine(view: View) -> Decision:
        return Decision([Placement(int(j), 0, 1, cpus=1 if j == 0 else 8) for j in view.jobs])

    with pytest.raises(InfeasibleDecision, match=r"^policy mine at 1 s: node 0: 9 CPUs used of 8$"):
        run(fixed([0, 1], [9, 9]), nodes(4, cpus=8), mine)


@pytest.mark.parametrize(
    ("placements", "line"),
    [
        ([Placement(0, 0, 1, 2)], "configures node 0 as type 2, which does not exist"),
        ([Placement(0, 0, 1)], "configures node 0 as type -1, which does not exist"),
        ([Placement(0, 1, 1, 0), Placement(1, 1, 1, 1)], "configures node 1 as one and as two"),
        ([Placement(0, 0, 2, 0)], "node 0: 2 GPUs used of 1"),
        ([Placement(0, 0, 1, 1), Placement(1, 0, 2, 1)], "node 0: 3 GPUs used of 2"),
    ],
)
def test_offences_on_vms(placements, line):
    jobs = Workload(["a", "b"], [7.0, 7.0], TimeTable(np.full((2, 2, 3), 5.0)))
    assert complaint(jobs, VMS, placements) == line


def test_what_a_node_has_may_be_used_to_the_last():
    """All GPUs, CPUs and GB of two nodes for two jobs, one of them over both; sums may be rounded."""

    def policy(view: View) -> Decision:
        small = 64 / 3
        both = [Placement(0, n, 2, cpus=8 / 3 * 2, memory_gb=small * 2) for n in (0, 1)]
        rest = [Placement(1, n, 2, cpus=8 / 3, memory_gb=small) for n in (0, 1)]
        return Decision([p for p in both + rest if p.job in view.active])

    result = run(fixed([0, 0], [5, 9], [4, 4]), nodes(4, 2, cpus=8, memory_gb=64), policy)
    assert result.completion_s.tolist() == [5, 9]


# The three numbers of the second are the same, as on a pool, but finite
@pytest.mark.parametrize(
    "limits", [(8, 64), (4, 4), (np.inf, np.inf)], ids=["server", "cube", "plain"]
)
@pytest.mark.parametrize(("least", "fits"), [(3, True), (4, False)])
def test_changes_count_beside_what_goes_on(limits, least, fits):
    """One GPU, 2 CPUs and 2 GB are in use; the second job comes with so many GPUs."""

    def policy(view: View) -> Decision:
        job = next(iter(view.waiting), None)
        if job is None:
            return NO_CHANGE
        gpus = 1 if job == 0 else least
        return Decision([Placement(job, 0, gpus, cpus=2, memory_gb=2)], keep_running=True)

    jobs, one = fixed([0, 1], [50, 50], [1, least]), nodes(4, cpus=limits[0], memory_gb=limits[1])
    if fits:
        assert run(jobs, one, policy).completion_s.tolist() == [50, 51]
    else:
        with pytest.raises(InfeasibleDecision, match="at 1 s: node 0: 5 GPUs used of 4"):
            run(jobs, one, policy)


def test_a_job_that_moves_leaves_its_room_to_others():
    """A change names both: the first goes to the other node, the second takes its place."""

    def policy(view: View) -> Decision:
        if view.now_s == 0:
            return Decision([Placement(0, 0, 4)], keep_running=True)
        if 1 in view.waiting:
            return Decision([Placement(0, 1, 4), Placement(1, 0, 4)], keep_running=True)
        return NO_CHANGE

    result = run(fixed([0, 1], [50, 50], [4, 4]), nodes(4, 2), policy)
    assert result.completion_s.tolist() == [50, 51]
    assert result.reconfigurations.tolist() == [1, 0]


@pytest.mark.parametrize("again_s", [0.0, 1e-4, -1.0, np.inf, np.nan, "1", True])
def test_a_wake_up_needs_a_finite_time_to_come(again_s):
    line = complaint(fixed([0], [5]), nodes(4), [Placement(0, 0, 1)], again_s=again_s)
    assert line == f"has again_s {again_s!r}, expected at least 0.001 seconds, or None"


def sharing(*submit_s: float, size: Sequence[float] = (3.0, 3.0, 3.0)) -> Workload:
    """Jobs that take 5 s on 0.6 of a GPU."""
    names, laws = [f"j{j}" for j in range(len(submit_s))], np.zeros(len(submit_s))
    return Workload(
        names, submit_s, SpeedupCurve(np.array(size[: len(names)]), laws, [lambda k: k])
    )


@pytest.mark.parametrize(
    ("gpus_of", "line"),
    [
        ({0: (0,), 1: (0,)}, "node 0: GPU 0 is given away 1.2 times"),
        ({0: (0, 1), 1: (1, 2)}, None),
        ({0: (0,), 1: (1,)}, None),
        ({0: (0,), 1: (4,)}, "names GPUs (4,) of node 0, which has 4"),
        ({0: (0,), 1: (-1,)}, "names GPUs (-1,) of node 0, which has 4"),
        ({0: (0,), 1: (2, 2)}, "names GPUs (2, 2) for job 1 in 1 shares, expected one"),
        ({0: (0,), 1: ()}, "names GPUs () for job 1 in 1 shares, expected one"),
        ({0: (0,)}, "names GPUs None for job 1 in 1 shares, expected one"),
    ],
)
def test_parts_of_single_gpus(gpus_of, line):
    """Two jobs with 0.6 of a GPU each: of one GPU together that is too much, or half from each."""
    placements = [Placement(j, 0, 0.6) for j in (0, 1)]
    if line is None:
        result = run(sharing(0, 0), nodes(4), lambda view: Decision(placements, gpus_of=gpus_of))
        assert result.completion_s.tolist() == pytest.approx([5, 5])
    else:
        assert complaint(sharing(0, 0), nodes(4), placements, gpus_of=gpus_of) == line


@pytest.mark.parametrize("part", [0.5, 0.6])
def test_a_job_of_whole_nodes_names_no_gpus(part):
    """Job 0 has all of two nodes, the other two share a GPU, as far as it suffices."""
    jobs = sharing(0, 0, 0, size=[2.0, 1.0, 1.0])

    def mine(view: View) -> Decision:
        placements = {0: (Placement(0, 0, 1), Placement(0, 1, 1))}
        placements |= {job: (Placement(job, 2, part),) for job in (1, 2)}
        here = {job: own for job, own in placements.items() if job in view.active}
        return Decision(here, gpus_of={job: (0,) for job in here if job})

    if part > 0.5:
        with pytest.raises(InfeasibleDecision, match=r"node 2: 1.2 GPUs used of 1"):
            run(jobs, nodes(1, 3), mine)
    else:
        assert run(jobs, nodes(1, 3), mine).completion_s.tolist() == pytest.approx([1, 2, 2])


def test_parts_of_jobs_that_do_not_go_on_are_free_again():
    """A whole decision names all that runs: the second job takes the GPU of the first."""

    def mine(view: View) -> Decision:
        job = max(view.active)
        return Decision([Placement(job, 0, 0.6)], gpus_of={job: (2,)})

    assert run(sharing(0, 1), nodes(4), mine).completion_s.tolist() == pytest.approx([10, 6])


def test_a_job_that_uses_parts_uses_one_node():
    both = [Placement(0, 0, 0.3), Placement(0, 1, 0.3)]
    line = complaint(sharing(0), nodes(4, 2), both, gpus_of={0: (0,)})
    assert line.startswith("names GPUs (0,) for job 0 in 2 shares, exp")


@pytest.mark.parametrize(
    ("gpus", "fits"), [((0,), False), ((1,), True), ((2,), True), ((0, 2), False), ((1, 2), True)]
)
def test_room_for_a_part_beside_what_runs(gpus, fits):
    """Job 5 has half of GPU 0; job 6 has a quarter each of GPUs 0 and 1. Job 7 asks for half of each
    GPU that it names. What it has now does not count, nor does job 8, which is on another node."""
    on_node = {5: Placement(5, 0, 0.5), 6: Placement(6, 0, 0.5), 7: Placement(7, 0, 1)}
    held = {5: (0,), 6: (0, 1), 7: (2,), 8: (1,)}
    share = Placement(7, 0, 0.5 * len(gpus))
    assert feasibility.gpus_have_room(7, share, gpus, on_node, held) == fits


def test_parts_fill_a_gpu_up_to_rounding():
    """Ten tenths are one, though their sum in floating point is not."""
    on_node = {j: Placement(j, 0, 0.1) for j in range(9)}
    held = dict.fromkeys(range(10), (0,))
    assert feasibility.gpus_have_room(9, Placement(9, 0, 0.1), (0,), on_node, held)
    assert not feasibility.gpus_have_room(9, Placement(9, 0, 0.11), (0,), on_node, held)
    assert not feasibility.gpus_have_room(10, Placement(10, 0, 1.5), (0,), {}, {})


SMALL, LARGE = NodeType("small", "A", 2, cpus=8, memory_gb=64), NodeType("large", "A", 8)


@pytest.mark.parametrize(
    ("shares", "fits"),
    [
        ([Placement(1, 0, 1, cpus=4, memory_gb=32)], True),
        ([Placement(1, 0, 2)], False),  # beside the one GPU that is in use
        ([Placement(0, 0, 2, cpus=8, memory_gb=64)], True),  # in place of what it has
        ([Placement(0, 0, 3)], False),
        ([Placement(1, 0, 1, cpus=4.1)], False),
        ([Placement(1, 0, 1, memory_gb=32.1)], False),
        ([Placement(1, 1, 8, cpus=1000)], True),
        ([Placement(1, 1, 9)], False),
        ([Placement(1, 1, 8), Placement(1, 0, 1)], True),
        ([Placement(1, 1, 8), Placement(1, 0, 2)], False),
        ([Placement(1, 0, 2), Placement(1, 1, 1)], False),
    ],
)
def test_room_on_nodes_of_two_types(shares, fits):
    """Job 0 has one GPU, 4 CPUs and 32 GB of node 0."""
    runs: list[dict[int, Placement]] = [{0: Placement(0, 0, 1, cpus=4, memory_gb=32)}, {}]
    two_types = Cluster((SMALL, LARGE), 2, (0, 1))
    assert feasibility.has_room(shares[0].job, shares, runs, two_types) == fits


def test_room_on_a_pool_has_no_end():
    runs = [{0: Placement(0, 0, 1e9, cpus=3)}]
    assert feasibility.has_room(1, [Placement(1, 0, 1e9, cpus=7)], runs, Cluster.rental_pool())


def test_gpus_are_those_of_the_type_of_their_node():
    """Node 0 has two GPUs, node 1 four: there is no GPU 3 on node 0."""
    cluster = Cluster((NodeType("two", "GPU", 2), NodeType("four", "GPU", 4)), 2, (0, 1))
    line = complaint(sharing(0), cluster, [Placement(0, 0, 0.6)], gpus_of={0: (3,)})
    assert line == "names GPUs (3,) of node 0, which has 2"


def test_parts_that_others_hold_already_are_not_given_again():
    def mine(view: View) -> Decision:
        job = next(iter(view.waiting))
        return Decision([Placement(job, 0, 0.6)], keep_running=True, gpus_of={job: (2,)})

    with pytest.raises(InfeasibleDecision, match=r"at 1 s: node 0: GPU 2 is given away 1\.2 times"):
        run(sharing(0, 1), nodes(4), mine)


@pytest.mark.parametrize("stopped", [[1], [2]])
def test_only_a_job_that_runs_and_is_given_nothing_is_stopped(stopped):
    """At 1 s job 1 comes; job 2 is not there yet, and job 0 runs."""

    def mine(view: View) -> Decision:
        if view.now_s == 0:
            return Decision([Placement(0, 0, 1)])
        return Decision([Placement(1, 0, 1)], keep_running=True, stopped=stopped)

    with pytest.raises(
        InfeasibleDecision, match=f"policy mine at 1 s: stops job {stopped[0]}, exp"
    ):
        run(fixed([0, 1, 7], [9, 9, 9]), nodes(4), mine)
