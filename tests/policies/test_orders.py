"""Orders of service by hand-made schedules, and by name."""

from dataclasses import replace

import numpy as np
import pytest

from policies import make_policy
from simulator import InputError, Workload
from simulator.workloads.reshaping import time_shared
from tests.core.jobs import fixed, nodes, run

ONE = nodes()


def jobs(*rows: tuple[float, float, int], weights: tuple[float, ...] | None = None) -> Workload:
    """Submission, duration, GPUs of each."""
    return time_shared(fixed(*map(list, zip(*rows, strict=True)), weight_per_s=weights))


def ends(
    name: str, workload: Workload, count: int = 1, gpus: int = 1, **options: bool
) -> list[float]:
    return run(workload, nodes(gpus, count), make_policy(name, **options)).completion_s.tolist()


THREE = jobs((0.0, 10.0, 1), (1.0, 4.0, 1), (2.0, 1.0, 1))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("srpt", [15.0, 6.0, 3.0]),
        ("sjf", [10.0, 15.0, 11.0]),
        # j0 alone to 1; two share to 2; three to 5 (j2 has its 1 s); two to 10 (j1 had 1.5, +2.5); j0.
        ("processor-sharing", [15.0, 10.0, 5.0]),
        # Foreground-background: j1 catches up with j0 at 1 s each, j2 then runs alone at 2..3, ..
        ("las", [15.0, 9.0, 3.0]),
    ],
)
def test_by_hand(name, expected):
    assert ends(name, THREE) == pytest.approx(expected)


def test_priority_with_and_without_preemption():
    three = jobs((0.0, 10.0, 1), (1.0, 4.0, 1), (2.0, 1.0, 1), weights=(1.0, 2.0, 3.0))
    assert ends("priority", three) == [10.0, 15.0, 11.0]
    assert ends("priority", three, preemptive=True) == [15.0, 6.0, 3.0]
    assert ends("sjf", three, preemptive=True) == [15.0, 6.0, 3.0]


def test_the_priority_of_the_file_counts_before_the_weight():
    """Of j1, j2 and j3, which wait at 10 s, j3 has the highest priority; j2 has that of j1 and more weight."""
    times = (0.0, 10.0, 1), (1.0, 4.0, 1), (2.0, 1.0, 1), (3.0, 2.0, 1)
    four = replace(jobs(*times, weights=(9.0, 1.0, 2.0, 0.0)), priority=np.array([9, -1, -1, 0.5]))
    assert ends("priority", four) == [10.0, 17.0, 13.0, 12.0]
    late = replace(four, priority=np.array([-5, -1, -1, 0.5]))
    assert ends("priority", late, preemptive=True) == [17.0, 8.0, 3.0, 5.0]


def test_jobs_of_several_gpus_share_in_proportion():
    """Two jobs of 2 GPUs on 2: half each, as a whole GPU; one of 4 over two nodes."""
    assert ends("processor-sharing", jobs((0.0, 4.0, 2), (0.0, 4.0, 2)), gpus=2) == [8.0, 8.0]
    both = jobs((0.0, 4.0, 4), (0.0, 4.0, 2))
    assert ends("processor-sharing", both, count=2, gpus=2) == pytest.approx([6.0, 6.0])
    assert ends("srpt", jobs((0.0, 9.0, 4), (1.0, 2.0, 3)), count=2, gpus=2) == [11.0, 3.0]


def test_random_order_of_equal_jobs():
    """GPUs become free when they do first come, first served; which job ends then is drawn."""
    submit_s = np.cumsum(np.random.default_rng(3).exponential(12.0, 300))
    equal = fixed(submit_s, [10.0] * 300)
    first_come, drawn = (run(equal, ONE, name).completion_s for name in ("fifo", "random-order"))
    assert sorted(drawn) == pytest.approx(first_come)
    assert (drawn != first_come).mean() > 0.2


def test_what_cannot_be_shared_is_one_line():
    whole = replace(THREE, performance=replace(THREE.performance, time_shared=False))
    with pytest.raises(InputError, match="do not share GPUs in time"):
        run(whole, ONE, "processor-sharing")
