"""Jobs that share GPUs: interference, memory, slices and parts with numbers worked out by hand."""

import numpy as np
import pytest

from policies import make_policy
from policies.fractional_gpus.state import Typical
from simulator import Decision, InfeasibleDecision, Performance, Placement, View, Workload
from simulator.features.colocation import colocation_of
from simulator.features.colocation.mig import best_start, profile_for
from simulator.model.fractional import SharedDuration, demanded_gpus
from simulator.workloads.pods import Demands, MachineTable
from tests.core.jobs import nodes, run, sharing

ONE = nodes()


def halves(submit_s: list[float]) -> Workload:
    """Jobs of half a GPU and 100 s."""
    return sharing(submit_s, 100.0, model=["m"] * len(submit_s))


def all_on_gpu_0(view: View) -> Decision:
    shares = [Placement(job, 0, 0.5) for job in view.waiting]
    return Decision(shares, keep_running=True, gpus_of=dict.fromkeys(view.waiting, (0,)))


class Alike(Performance):
    """Each job takes 100 s on whatever it has."""

    def time_s(self, *configuration: float) -> float:
        return 100.0


def test_a_job_over_two_gpus_is_as_fast_as_on_the_slower_one():
    """j0 has half of both GPUs, j1 half of the first: both run at half their speed."""
    work = Workload(["j0", "j1"], [0.0, 0.0], Alike(), model=["m", "m"])

    def both(view: View) -> Decision:
        shares = {0: Placement(0, 0, 1.0), 1: Placement(1, 0, 0.5)}
        gpus_of = {0: (0, 1), 1: (0,)}
        new = list(view.waiting)
        return Decision([shares[j] for j in new], True, gpus_of={j: gpus_of[j] for j in new})

    linear = colocation_of(work, "linear", utilisation={"m": 1.0})
    result = run(work, nodes(2), both, linear)
    assert result.completion_s.tolist() == pytest.approx([200.0, 200.0])


def test_memory_of_jobs_that_stay_counts():
    """9 GB each on a GPU of 16; the second comes at 5 s."""
    work = halves([0.0, 5.0])
    memory = colocation_of(work, gpu_memory_gb=16.0, memory_gb={"m": 9.0})
    told = "at 5 s: node 0: GPU 0: 18 GB of memory used of 16"
    with pytest.raises(InfeasibleDecision, match=told):
        run(work, ONE, all_on_gpu_0, memory)


def test_slices_of_jobs_that_stay_are_taken():
    """Half of a GPU is a slice of four sevenths, for which there is one place."""
    work = halves([0.0, 5.0])
    with pytest.raises(InfeasibleDecision, match=r"at 5 s: .* has no room for a slice 4g\.20gb"):
        run(work, ONE, all_on_gpu_0, colocation_of(work, slices=True))


def test_memory_has_eight_slices():
    """1/8 of the memory is less than 14 %, 2/8 is more."""
    assert [profile_for(0.1, part) for part in (0.125, 0.14)] == [0, 1]
    assert [profile_for(0.1, part / 8) for part in (2, 3, 4, 5, 8)] == [1, 2, 2, 4, 4]


def test_a_part_of_as_many_sevenths_as_a_profile_has_gets_that_profile():
    assert [profile_for(k / 7) for k in range(1, 8)] == [0, 1, 2, 3, 4, 4, 4]
    assert [profile_for(k / 7 + 0.001) for k in range(7)] == [0, 1, 2, 3, 4, 4, 4]
    assert profile_for(4 / 7, 0.51) == profile_for(0.1, 1.2) == 4, "more than there is: all"


def test_a_slice_begins_where_most_profiles_still_fit():
    """A 1g on slice 6 of an empty GPU leaves places for six 1g, three 2g, one 3g and one 4g; on slice 5 it would leave one
    2g less. Then slices 5 and 4 leave as many, and the last of equals is taken."""
    assert [best_start(0, profile) for profile in range(5)] == [6, 4, 4, 0, 0]
    assert [best_start(0b1000000, profile) for profile in range(5)] == [5, 4, 0, 0, None]
    assert [best_start(0b11110000, profile) for profile in range(5)] == [3, 2, 0, 0, None]


def test_a_slice_is_cut_from_the_fullest_gpu_that_has_room():
    """Two GPUs. j1 of one slice goes beside j0, so j2 has the other GPU for itself; j3 of four slices waits for j0."""
    work = sharing([0.0] * 4, 100.0, [0.5, 0.1, 1.0, 0.5], model=["m"] * 4)
    result = run(work, nodes(2), "slices", colocation_of(work, slices=True))
    assert result.first_start_s.tolist() == [0.0, 0.0, 0.0, 100.0]


@pytest.mark.parametrize(("frequent", "kept"), [(19, [1.0]), (18, [0.9, 0.1])])
def test_typical_jobs_make_up_the_popularity_and_no_more(frequent, kept):
    """Of 20 jobs 95 % are 19."""
    parts = np.array([500] * frequent + [250] * (20 - frequent))
    one = np.ones(20, dtype=np.int64)
    demands = Demands(["j"] * 20, 1000 * one, one, one, parts, [""] * 20)
    host = MachineTable(np.array([8000]), np.array([100]), np.array([1]), ["T4"])
    assert Typical.of(demands, host).share.tolist() == kept


def test_parts_of_gpus_are_asked_for_and_worked_on():
    times = SharedDuration(np.array([100.0, 10.0]), np.array([1, 2]), part=np.array([0.5, 1.0]))
    work = Workload(["a", "b"], [0.0, 0.0], times)
    assert times.work_gpu_s(ONE).tolist() == [50.0, 20.0]
    assert demanded_gpus(work, in_parts=True).tolist() == [0.5, 2.0]
    assert demanded_gpus(work, in_parts=False).tolist() == [1.0, 2.0]


def test_of_equal_gpus_a_slice_is_cut_from_the_first():
    work = sharing([0.0, 0.0], 100.0, [0.5, 0.5], model=["m"] * 2)
    slices, chosen = make_policy("slices"), {}

    def seen(view: View) -> Decision:
        decision = slices.decide(view)
        chosen.update(decision.gpus_of)
        return decision

    run(work, nodes(3), seen, colocation_of(work, slices=True))
    assert chosen == {0: (0,), 1: (1,)}


def test_nobody_gets_a_slice_of_a_gpu_that_another_has_as_a_whole():
    """0.7 of a GPU are five sevenths, for which there is no profile but the whole GPU; 0.1 has to wait."""
    work = sharing([0.0, 5.0], 100.0, [0.7, 0.1], model=["m"] * 2)
    result = run(work, nodes(1), "slices", colocation_of(work, slices=True))
    assert result.first_start_s.tolist() == [0.0, 100.0]
