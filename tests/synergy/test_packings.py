"""Packings small enough to be done on paper: servers of 4 GPUs, 12 CPUs, 40 GB; 3 and 10 a GPU."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from policies.synergy.demand import Kind, Kinds, ServerSize, Share
from policies.synergy.eviction import evict_released, put_back, regrant
from policies.synergy.mechanisms import Greedy, Proportional, Tune
from policies.synergy.servers import Group, Packed, Servers
from policies.synergy.slots import Packing, Slot

SERVER = ServerSize(4, 12, 40)
FAIR = Share(3, 10)


def kind(
    gpus: int, cpus: float = 3, memory_gb: float = 10, rate: float = 1, fair: float = 1
) -> Kind:
    """Jobs of so many GPUs that want this per GPU, where they run at ``rate``."""
    return Kind(gpus, FAIR, Share(cpus, memory_gb), rate, (), fair)


def servers_of(servers: int, *queue: Kind) -> tuple[np.ndarray, Servers]:
    """A queue of jobs, each of its own kind unless kinds are the same object, and servers."""
    return servers_of_types([servers], *[(k,) for k in queue])


def servers_of_types(
    servers: Sequence[int], *queue: tuple[Kind, ...]
) -> tuple[np.ndarray, Servers]:
    """The same on servers of several types, each job with what it is on each."""
    rows = list(dict.fromkeys(id(row[0]) for row in queue))
    of_job = np.array([rows.index(id(row[0])) for row in queue])
    first_of = [next(row for row in queue if id(row[0]) == i) for i in rows]
    groups = [
        Group(SERVER, sum(servers[:v]), n, [row[v] for row in first_of])
        for v, n in enumerate(servers)
    ]
    gpus = np.array([row[0].gpus for row in queue])
    kinds = Kinds(groups[0].kinds, of_job, np.ones(len(queue)), gpus)
    return np.arange(len(queue)), Servers(groups, kinds)


def run(mechanism: Any, servers: int, *queue: Kind) -> tuple[list[int], Packed]:
    """Jobs that run, and how they are packed, on equal servers."""
    jobs, packed = mechanism.run(*servers_of(servers, *queue))
    return jobs.tolist(), packed


def laid(packed: Packed) -> list[tuple[int, tuple[tuple[int, float], ...]]]:
    """Kind and parts of each slot, in order of placing."""
    return [(slot.kind, slot.parts) for slot in packed.slots]


def cpus(packed: Packed) -> dict[int, float]:
    """CPUs per GPU of the one slot of each kind."""
    assert len({slot.kind for slot in packed.slots}) == len(packed.slots)
    return {slot.kind: slot.share.cpus for slot in packed.slots}


# -- where jobs lie, and what they are given --------------------------------------------------

ONE_FOUR_THREE = (kind(1), kind(4), kind(3))
# Servers with 1, 2 and 2 free GPUs, and a job of three.
LEAVE_1_2_2 = (kind(3, 1), kind(2, 5), kind(2, 5.5), kind(3, 0.5))
TIGHT = (kind(3, 10 / 3, rate=1.2), kind(3, 3.2, rate=1.1), kind(2, 2, rate=1.3))


@pytest.mark.parametrize(
    ("mechanism", "servers", "queue", "expected"),
    [
        (Proportional(), 2, ONE_FOUR_THREE, [(1, ((0, 4),)), (2, ((1, 3),)), (0, ((1, 1),))]),
        # First free GPUs, so the second job lies over both servers.
        (
            Proportional(released=True), 2, ONE_FOUR_THREE,
            [(0, ((0, 1),)), (1, ((0, 3), (1, 1))), (2, ((1, 3),))],
        ),
        (Proportional(placement="spread"), 3, (kind(3),), [(0, ((0, 1), (1, 1), (2, 1)))]),
        # No server has the GPUs for the third.
        (Tune(), 2, TIGHT, [(0, ((0, 3),)), (1, ((1, 3),)), (2, ((0, 1), (1, 1)))]),
        (
            Tune(placement="consolidated"), 2, TIGHT,
            [(0, ((0, 3),)), (1, ((1, 3),)), (2, ((0, 1), (1, 1)))],
        ),
        (Tune(released=True), 2, (kind(1), kind(4, 2)), [(0, ((0, 1),)), (1, ((0, 3), (1, 1)))]),
        (
            Greedy(), 3, LEAVE_1_2_2,
            [(0, ((0, 3),)), (1, ((1, 2),)), (2, ((2, 2),)), (3, ((0, 1), (1, 2)))],
        ),
        (
            Greedy(placement="spread"), 3, LEAVE_1_2_2,
            [(0, ((0, 3),)), (1, ((1, 2),)), (2, ((2, 2),)), (3, ((0, 1), (1, 1), (2, 1)))],
        ),
        # Whole where a server can hold it, which the released one does not ask.
        (Greedy(), 2, (kind(3), kind(2)), [(0, ((0, 3),)), (1, ((1, 2),))]),
        (Greedy(placement="spread"), 2, (kind(3), kind(2)), [(0, ((0, 3),)), (1, ((1, 2),))]),
        (Greedy(released=True), 2, (kind(3), kind(2)), [(0, ((0, 3),)), (1, ((0, 1), (1, 1)))]),
    ],
)  # fmt: skip
def test_where_jobs_lie(mechanism, servers, queue, expected):
    jobs, packed = run(mechanism, servers, *queue)
    assert jobs == list(range(len(queue)))
    assert laid(packed) == expected


HUNGRY_TWO = (kind(1, 6, rate=2), kind(1, 9, rate=3))
# 9 and 3 CPUs are given when the third comes. It wants 3: the first is put back.
NINE_AND_THREE = (kind(1, 9, rate=3), kind(1, 3, 11), kind(1, 3, 10))
# The 9 CPUs of the first are needed in part: it releases 6, of which the third takes 3.
LEAVES_OVER = (kind(1, 9, rate=1.5), kind(1, 6, rate=1.2), kind(1))


@pytest.mark.parametrize(
    ("mechanism", "queue", "jobs", "expected"),
    [
        (Proportional(), (kind(2, 6, 20, rate=2), kind(1, 1, 1)), [0, 1], {0: 3, 1: 3}),
        # Nine CPUs go to the second; the first falls back to its proportional share.
        (Tune(), HUNGRY_TWO, [0, 1], {0: 3, 1: 9}),
        (Tune(sort_by_gpus=True), HUNGRY_TWO, [0, 1], {0: 6, 1: 3}),
        (Tune(), NINE_AND_THREE, [0, 1, 2], {0: 3, 1: 3, 2: 3}),
        (Tune(), LEAVES_OVER, [0, 1, 2], {0: 3, 1: 3, 2: 3}),
        (Tune(regrant=True), LEAVES_OVER, [0, 1, 2], {0: 3, 1: 6, 2: 3}),
        (Greedy(), (kind(2, 7), kind(2, 6), kind(2, 6.5)), [1], {1: 6}),
    ],
)  # fmt: skip
def test_cpus_on_one_server(mechanism, queue, jobs, expected):
    ran, packed = run(mechanism, 1, *queue)
    assert (ran, cpus(packed)) == (jobs, expected)


@pytest.mark.parametrize(
    ("queue", "shares"),
    [
        ((kind(2, 1, 4),), [Share(1, 4)]),  # no more than the demand
        ((kind(3, 4, rate=2), kind(1, 1, 4)), [FAIR, Share(1, 4)]),  # made to fit with that
    ],
)
def test_who_wants_less_than_its_share(queue, shares):
    assert [slot.share for slot in run(Tune(), 1, *queue)[1].slots] == shares


def test_proportional_goes_where_its_share_is_fastest_and_tune_where_its_demand_is():
    job = (kind(1, 6, rate=3.0, fair=1.0), kind(1, 6, rate=2.0, fair=1.5))
    for mechanism, server in ((Proportional(), 1), (Tune(), 0), (Greedy(), 0)):
        order, servers = servers_of_types([1, 1], job)
        assert laid(mechanism.run(order, servers)[1]) == [(0, ((server, 1),))]


def test_whom_the_order_of_the_queue_concerns():
    alone = (Proportional(), Tune())
    ordered = (Proportional(released=True), Tune(released=True), Tune(sort_by_gpus=True), Greedy())
    assert [m.depends_on_set_alone for m in (*alone, *ordered)] == [True] * 2 + [False] * 4


@pytest.mark.parametrize("mechanism", [Proportional(), Tune()])
def test_the_same_jobs_in_another_order_are_packed_once(mechanism):
    order, servers = servers_of(2, kind(1, 6, rate=2), kind(4), kind(3))
    _, packed = mechanism.run(order, servers)
    assert mechanism.run(order[::-1], servers)[1] is packed
    assert mechanism.run(order[:2], servers)[1] is not packed


# -- tune ---------------------------------------------------------------------------------------


def test_by_gpus_alone_the_larger_comes_first_and_then_who_came_first():
    many = [kind(1 + i % 2, 1 + i / 100) for i in range(40)]
    _, packed = run(Tune(sort_by_gpus=True), 20, *many)
    assert [slot.kind for slot in packed.slots] == [*range(1, 40, 2), *range(0, 40, 2)]


def test_consolidated_gives_up_the_demand_rather_than_split():
    # The first takes 8 CPUs of server 0, the second 8.1 of server 1. Four are left on each.
    queue = (kind(2, 4, rate=2), kind(2, 4.05, rate=2), kind(2, 3.5, rate=1.1))
    for placement, parts in (("consolidated", 1), ("packed", 2)):
        _, packed = run(Tune(placement=placement), 2, *queue)
        third = next(slot for slot in packed.slots if slot.kind == 2)
        assert len(third.parts) == parts
    assert third.share.cpus == 3.5


def test_several_jobs_of_a_kind_are_each_made_to_fit():
    hungry, modest = kind(1, 6, rate=2), kind(1)
    jobs, packed = run(Tune(), 1, hungry, hungry, modest, modest)
    assert jobs == [0, 1, 2, 3]
    # The first of them takes 3 of 6 CPUs from one of the hungry, the second from the other.
    assert [(s.kind, s.share.cpus) for s in packed.slots] == [(0, 3), (0, 3), (1, 3), (1, 3)]
    packing = Packing(SERVER, 1, [hungry, modest])
    Tune().place(packing, 0, (hungry.best, FAIR), count=2)
    Tune().place(packing, 1, (FAIR,))
    assert [slot.share.cpus for slot in packing.slots] == [3, 6, 3]


@pytest.mark.parametrize(("placement", "server"), [("packed", 1), ("spread", 0)])
def test_where_cpus_are_taken_back(placement, server):
    """Both servers have a free GPU and no CPU; server 1 has memory left. Packed asks for the freest
    of equal GPUs, spread for the first."""
    greedy_in_cpus = kind(3, 4, 40 / 3, rate=2)
    lean = kind(3, 4, 10, rate=2)
    packing = Packing(SERVER, 2, [greedy_in_cpus, lean, kind(1)])
    packing.add(Slot(0, greedy_in_cpus.best, ((0, 3),)))
    packing.add(Slot(1, lean.best, ((1, 3),)))
    Tune(placement=placement).place(packing, 2, (FAIR,))
    assert packing.slots[2].parts == ((server, 1),)
    assert packing.slots[server].share == FAIR
    assert packing.slots[1 - server].share.cpus == 4


def test_a_job_that_lies_over_two_servers_takes_from_both():
    hungry, wide = kind(3, 4, rate=2), kind(2)
    packing = Packing(SERVER, 2, [hungry, wide])
    Tune().place(packing, 0, (hungry.best,), count=2)
    Tune().place(packing, 1, (FAIR,))
    assert packing.slots[2].parts == ((0, 1), (1, 1))
    assert [slot.share for slot in packing.slots] == [FAIR] * 3


def test_one_server_is_asked_before_two():
    """Servers have 1, 2 and 3 free GPUs and no CPU: a job of two goes whole where least is free."""
    packing = Packing(SERVER, 3, [*(kind(g, 12 / g, rate=2) for g in (3, 2, 1)), kind(2)])
    for i in range(3):
        packing.add(Slot(i, packing.kinds[i].best, ((i, 3 - i),)))
    Tune().place(packing, 3, (FAIR,))
    assert packing.slots[3].parts == ((1, 2),)
    assert [slot.share.cpus for slot in packing.slots] == [4, 3, 12, 3]


def test_released_tune_answers_in_order_of_the_queue_by_type_of_server():
    """The first job is faster on the second type, the second on the first."""
    first = (kind(1, 3, rate=1), kind(1, 3, rate=2))
    second = (kind(1, 3, 11, rate=2), kind(1, 3, 11, rate=1))
    for mechanism, order in ((Tune(released=True), [1, 0]), (Tune(), [0, 1])):
        jobs, packed = mechanism.run(*servers_of_types([1, 1], first, second))
        assert (packed.in_order, jobs.tolist()) == (mechanism.released, order)
        assert laid(packed) == [(1, ((0, 1),)), (0, ((1, 1),))]


def test_released_tune_makes_room_in_its_own_way():
    """Of two victims the one with the most CPUs gives, though the other would release less."""
    packing = Packing(SERVER, 1, [kind(1, 5, rate=2), kind(1, 7, rate=2), kind(1)])
    for i in (0, 1):
        packing.place_first(i, packing.kinds[i].best)
    Tune(released=True).place(packing, 2, (FAIR,))
    assert [slot.share.cpus for slot in packing.slots] == [5, 3, 3]


# -- greedy -------------------------------------------------------------------------------------


def test_greedy_passes_over_a_whole_kind_and_goes_on():
    # One GPU with 9 CPUs; three GPUs with 9 do not fit beside it; one GPU with 3 does.
    wide = kind(3)
    order, servers = servers_of(1, kind(1, 9, rate=3), wide, wide, kind(1))
    jobs, packed = Greedy().run(order, servers)
    assert (jobs.tolist(), jobs.dtype) == ([0, 3], np.int64)
    assert Greedy().run(order[:0], servers)[0].dtype == np.int64
    assert cpus(packed) == {0: 9, 2: 3}
    # Counted from the head of the queue, the GPUs of the first two are all.
    jobs, packed = Greedy(runnable_only=True).run(order, servers)
    assert jobs.tolist() == [0]


def test_greedy_ends_when_no_gpu_is_free():
    small = kind(1, 1, 1)
    jobs, packed = run(Greedy(), 2, kind(4, 2), *[small] * 5)
    assert jobs == [0, 1, 2, 3, 4]
    assert [slot.parts for slot in packed.slots] == [((0, 4),), *[((1, 1),)] * 4]


def test_greedy_goes_to_the_fastest_type_that_has_room():
    job = (kind(3, rate=1), kind(3, rate=2))
    order, servers = servers_of_types([2, 1], job, job, job, job)
    jobs, packed = Greedy().run(order, servers)
    assert jobs.tolist() == [0, 1, 2]
    assert sorted(slot.parts for slot in packed.slots) == [((0, 3),), ((1, 3),), ((2, 3),)]
    order, servers = servers_of_types([2, 1], job)
    assert laid(Greedy().run(order, servers)[1]) == [(0, ((2, 3),))]


# -- whose CPUs and memory are taken back -------------------------------------------------------


def one_server(
    *shares: tuple[float, float], gpus: Sequence[int] = (), capacity: ServerSize = SERVER
) -> Packing:
    """A server with a job of its own kind for each share, all with what they want."""
    gpus = gpus or [1] * len(shares)
    wanted = zip(gpus, shares, strict=True)
    kinds = [Kind(g, capacity.fair, Share(*share), 2.0, ()) for g, share in wanted]
    packing = Packing(capacity, 1, kinds)
    for i, k in enumerate(kinds):
        packing.add(Slot(i, k.best, ((0, k.gpus),)))
    return packing


def shares(packing: Packing) -> list[tuple[float, float]]:
    return [tuple(slot.share) for slot in packing.slots]


@pytest.mark.parametrize(
    ("wanted", "gpus", "share", "left"),
    [
        ([(6, 20)], 1, FAIR, [(6, 20)]),  # nothing is short
        # Six and 4.5 CPUs leave 1.5, and 3 are wanted. Both cover the 1.5: who releases least.
        ([(6, 10), (4.5, 10)], 1, FAIR, [(6, 10), (3, 10)]),
        ([(4.5, 10), (6, 10)], 1, FAIR, [(3, 10), (6, 10)]),
        # Released is counted in shares. 1.5 CPUs are short. The first releases 2 of 3 CPUs: 0.67,
        # the second 1.5 of 3 and 4 of 10: 0.9.
        ([(5, 10), (4.5, 14), (1, 1)], 1, FAIR, [(3, 10), (4.5, 14), (1, 1)]),
        # The first releases 3 of 3 CPUs: 1. The second 1.5 of 3 and 4 of 10: 0.9.
        ([(6, 10), (4.5, 14)], 1, FAIR, [(6, 10), (3, 10)]),
        ([(3, 16), (3, 18)], 1, FAIR, [(3, 10), (3, 18)]),  # 4 GB are short
        # 1.8 CPUs are short. Of 1.1, 1.2 and 0.7 the second covers most; for the 0.6 that are left
        # then the third is enough.
        ([(4.1, 10), (4.2, 10), (3.7, 10)], 1, (1.8, 10), [(4.1, 10), (3, 10), (3, 10)]),
        # 3 CPUs are short, each releases 3: an exact cover is a cover.
        ([(6, 10), (6, 10.5)], 1, FAIR, [(3, 10), (6, 10.5)]),
        # 3 CPUs and 10 GB are short. The first releases 3 CPUs and takes 5 GB, the second 15 GB.
        ([(6, 5), (3, 25)], 2, FAIR, [(3, 10), (3, 10)]),
        # 0.5 CPUs are short. The second spills less: 3 CPUs, less 5 GB. Then 2 GB are short, and
        # the first gives these and enough CPUs: the second gets its demand back.
        ([(4.5, 12), (6, 5)], 2, (1, 10), [(3, 10), (6, 5)]),
        # 1 GB is short. The first gives 4 and takes a CPU; the third gives that and takes 5 GB; the
        # second gives 4 GB and 2 CPUs, so the third is not needed. The first is.
        ([(2, 14), (5, 14), (4, 5)], 1, (1, 8), [(3, 10), (3, 10), (4, 5)]),
        # 1 CPU and 5 GB are short. The third gives all CPUs and 2 of 5 GB: 1.4 of 2, more than the
        # others (1 each). Then the first gives the 3 GB. Each is needed.
        ([(3, 15), (4, 10), (5, 12)], 1, (1, 8), [(3, 10), (4, 10), (3, 10)]),
        # 0.5 CPUs and 4 GB are short. The first alone gives both.
        ([(3.5, 15), (2, 14), (5, 10)], 1, (2, 5), [(3, 10), (2, 14), (5, 10)]),
        # 0.5 CPUs and 5 GB are short, and again the first alone is enough.
        ([(3.5, 18), (5, 5), (3, 12)], 1, (1, 10), [(3, 10), (5, 5), (3, 12)]),
        # 2 CPUs are short, and 20 GB free. The first takes 5 of them, which nobody misses.
        ([(5, 5), (5, 14)], 2, (2, 2), [(3, 10), (5, 14)]),
    ],
)
def test_victims(wanted, gpus, share, left):
    packing = one_server(*wanted)
    put_back(packing, 0, gpus, Share(*share))
    assert shares(packing) == left


@pytest.mark.parametrize(
    ("wanted", "share", "left"),
    [
        # One CPU is short. The first has a GPU with 2 too many, the second two with 0.5 too many.
        ([(5, 10), (3.5, 10)], (1, 10), [(5, 10), (3, 10)]),
        # Two GB are short: 8 too many beside one GPU, or 1 too many beside each of two.
        ([(3, 18), (3, 11)], (3, 2), [(3, 18), (3, 10)]),
    ],
)
def test_the_gpus_of_a_victim_multiply_what_it_releases(wanted, share, left):
    packing = one_server(*wanted, gpus=[1, 2])
    put_back(packing, 0, 1, Share(*share))
    assert shares(packing) == left


@pytest.mark.parametrize(
    ("capacity", "wanted", "short", "left"),
    [
        (ServerSize(4, 2, 40), [(1, 10), (0.75, 14)], (0.25, 0), [(1, 10), (0.5, 10)]),
        (ServerSize(4, 12, 2), [(3, 1), (4.2, 0.75)], (0, 0.25), [(3, 1), (3, 0.5)]),
    ],
)
def test_small_shares_weigh_like_large_ones(capacity, wanted, short, left):
    """Of half a CPU (or GB) a GPU. The first spills one share of it, the second 0.5 and 0.4."""
    packing = one_server(*wanted, capacity=capacity)
    free = packing.free_cpus[0], packing.free_memory_gb[0]
    put_back(packing, 0, 1, Share(free[0] + short[0], free[1] + short[1]))
    assert shares(packing) == left


def used(slots: Sequence[Slot], servers: int) -> list[tuple[float, float, float]]:
    """GPUs, CPUs and GB given on each server."""
    held = np.zeros((servers, 3))
    for slot in slots:
        for i, gpus in slot.parts:
            held[i] += gpus * np.array([1, *slot.share])
    return [tuple(row) for row in held.round(9).tolist()]


def test_a_victim_on_two_servers_does_not_overdraw_the_other():
    """On server 1, 1.7 CPUs are short for the last job. The second and the third give them. The
    third, which also lies on server 0, takes 5 GB for it there, where none is left: so the first is
    put back as well."""
    queue = (kind(2, 3.7, 17.5, 2), kind(2, 3.6, 10, 2), kind(2, 3.5, 5, 2), kind(1))
    order, servers = servers_of(2, *queue)
    _, packed = Tune().run(order, servers)
    assert laid(packed) == [(0, ((0, 2),)), (1, ((1, 2),)), (2, ((0, 1), (1, 1))), (3, ((1, 1),))]
    assert [slot.share for slot in packed.slots] == [FAIR] * 4


MECHANISMS = {
    "packed": Tune(),
    "consolidated": Tune(placement="consolidated"),
    "spread": Tune(placement="spread"),
    "released": Tune(released=True),
    "regrant": Tune(regrant=True),
    "sort_by_gpus": Tune(sort_by_gpus=True),
}


def random_queue(rng: np.random.Generator, servers: int) -> list[Kind]:
    queue = []
    for _ in range(rng.integers(2, 10)):
        gpus = int(rng.choice([g for g in (1, 1, 1, 2, 2, 3, 4, 5) if g <= 4 * servers]))
        cap = SERVER.cap(gpus)
        cpus = min(float(rng.choice([1, 2, 3, 3, 3.5, 4, 5, 6, 8])), cap.cpus)
        memory_gb = min(float(rng.choice([2, 5, 10, 10, 12, 15, 20, 30])), cap.memory_gb)
        queue.append(kind(gpus, cpus, memory_gb, rate=2))
    return queue


@pytest.mark.long
@pytest.mark.parametrize("name", MECHANISMS)
def test_no_server_is_overdrawn_and_everybody_has_the_demand_or_the_share(name):
    for seed in range(300):
        rng = np.random.default_rng(seed)
        number = int(rng.integers(1, 4))
        order, servers = servers_of(number, *random_queue(rng, number))
        jobs, packed = MECHANISMS[name].run(order, servers)
        assert len(jobs) == len(packed.slots)
        for gpus, cpus, memory_gb in used(packed.slots, number):
            assert (gpus <= 4, cpus <= 12 + 1e-6, memory_gb <= 40 + 1e-6) == (True, True, True)
        for slot in packed.slots:
            assert sum(g for _, g in slot.parts) == servers.kinds.kinds[slot.kind].gpus
            assert slot.share in (servers.kinds.kinds[slot.kind].best, FAIR)


def test_regranting_starts_with_those_that_gain_most():
    kinds = [kind(1, 6, rate=1.5), kind(1, 6, rate=2.5), kind(1, 6, rate=2.5)]
    packing = Packing(SERVER, 1, kinds)
    for i in (2, 1, 0):
        packing.add(Slot(i, FAIR, ((0, 1),)))
    regrant(packing)  # 9 of 12 CPUs are given: one of the three fits
    assert [(slot.kind, slot.share.cpus) for slot in packing.slots] == [(2, 3), (1, 6), (0, 3)]
    assert packing.free_cpus == [0]


def test_regranting_leaves_those_who_want_less_and_those_who_have_something_else():
    kinds = [kind(1, 2, rate=1.5), kind(1, 6, rate=1.2)]
    packing = Packing(SERVER, 1, kinds)
    packing.add(Slot(0, FAIR, ((0, 1),)))
    packing.add(Slot(1, Share(4, 10), ((0, 1),)))
    regrant(packing)
    assert shares(packing) == [(3, 10), (4, 10)]


def test_regranting_asks_every_server_of_a_job_and_gives_back_what_does_not_fit():
    kinds = [kind(2, 6, rate=1.5), kind(3)]
    packing = Packing(SERVER, 2, kinds)
    packing.add(Slot(0, FAIR, ((0, 1), (1, 1))))
    packing.add(Slot(1, FAIR, ((1, 3),)))
    regrant(packing)  # nothing is left on server 1
    assert shares(packing) == [(3, 10), (3, 10)]
    assert packing.free_cpus == [9, 0]
    packing.change_share(packing.slots[1], Share(2, 10))
    regrant(packing)  # three CPUs are left there, and three are wanted
    assert shares(packing) == [(6, 10), (2, 10)]


# -- as in the released simulator ---------------------------------------------------------------


def servers_with_free(*free: int) -> Packing:
    """Servers with so many free GPUs and no free CPUs; kind i is what lies on server i."""
    kinds = [kind(4 - f, 12 / (4 - f), rate=2) if f < 4 else kind(1) for f in free]
    packing = Packing(SERVER, len(free), [*kinds, *(kind(g) for g in range(1, 9))])
    for i, f in enumerate(free):
        if f < 4:
            packing.add(Slot(i, kinds[i].best, ((i, 4 - f),)))
    return packing


def put_back_by(packing: Packing, gpus: int) -> tuple[list[int], tuple[tuple[int, float], ...]]:
    """Servers whose job is put back for one of so many GPUs, and where that one lies."""
    servers = len(packing.free_gpus)
    evict_released(packing, servers + gpus - 1, FAIR)
    victims = [
        slot.kind for slot in packing.slots[:-1] if slot.share != packing.kinds[slot.kind].best
    ]
    return victims, packing.slots[-1].parts


@pytest.mark.parametrize(
    ("free", "gpus", "victims", "parts"),
    [
        ((1, 3, 2), 2, [1], ((1, 2),)),  # the first server with enough free GPUs
        ((3, 3, 2), 2, [0], ((0, 2),)),
        ((1, 2, 2), 2, [1], ((1, 2),)),
        ((2, 1, 3), 1, [1], ((1, 1),)),  # for one GPU that with the fewest
        ((2, 1, 1), 1, [1], ((1, 1),)),
        ((3, 0, 2, 1), 4, [0, 2, 3], ((0, 3), (2, 1))),  # else those with few; it lies on the first
        ((1, 1, 1), 2, [0, 1], ((0, 1), (1, 1))),
        ((2, 0, 1), 3, [0, 2], ((0, 2), (2, 1))),
    ],
)
def test_released_victims_by_hand(free, gpus, victims, parts):
    assert put_back_by(servers_with_free(*free), gpus) == (victims, parts)


def test_the_released_rule_takes_whole_jobs_with_the_most_cpus_then_memory():
    """Three CPUs are short; a job over two servers comes last, though it has the most."""
    kinds = [kind(2, 7, rate=2), kind(1, 4, 10, rate=2), kind(1, 4, 12, rate=2), kind(1)]
    packing = Packing(ServerSize(4, 15, 60), 2, kinds)
    packing.add(Slot(0, Share(7, 10), ((0, 1), (1, 1))))
    packing.add(Slot(1, Share(4, 10), ((0, 1),)))
    packing.add(Slot(2, Share(4, 12), ((0, 1),)))
    packing.add(Slot(3, FAIR, ((1, 2),)))  # server 0 has no more free GPUs than server 1
    put_in_order = list(packing.on_server[0])
    packing.free_cpus[0] = 2  # one CPU is short
    evict_released(packing, 3, FAIR)
    assert [tuple(slot.share) for slot in packing.slots[:3]] == [(7, 10), (4, 10), (3, 10)]
    assert packing.on_server[0][:3] == [put_in_order[2], put_in_order[1], put_in_order[0]]


@pytest.mark.parametrize(
    ("wanted", "free_cpus", "left"),
    [
        # It goes on until nothing is short.
        ([(4, 10), (4, 10), (4, 10)], None, [(3, 10), (3, 10), (3, 10), (3, 10)]),
        ([(4, 10)], None, [(4, 10), (3, 10)]),  # nothing is short
        # Who wants less than its share keeps it; one that has its share is passed over.
        ([(2, 8), (6, 10), (3.5, 10)], 2.5, [(2, 8), (3, 10), (3, 10), (3, 10)]),
    ],
)
def test_the_released_rule_on_one_server(wanted, free_cpus, left):
    packing = one_server(*wanted)
    if free_cpus is not None:
        packing.change_share(packing.slots[1], FAIR)
        packing.free_cpus[0] = free_cpus
    packing.kinds = [*packing.kinds, kind(1)]
    evict_released(packing, len(wanted), FAIR)
    assert shares(packing) == left


def test_a_released_job_over_servers_that_hold_others_above_their_kind():
    """The paper's rule puts back resources that the job's own rule does not, as nobody wants them."""
    packing = Packing(SERVER, 3, [kind(3), kind(2), kind(4)])
    packing.add(Slot(0, Share(4, 10), ((1, 3),)))
    packing.add(Slot(0, Share(4, 10), ((0, 3),)))
    packing.add(Slot(2, FAIR, ((2, 4),)))
    evict_released(packing, 1, FAIR)
    assert (packing.slots[-1].kind, packing.slots[-1].parts) == (1, ((0, 1), (1, 1)))
    assert [slot.share for slot in packing.slots] == [FAIR] * 4
