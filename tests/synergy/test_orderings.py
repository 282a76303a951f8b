"""Orderings against schedules worked out by hand: one server, one GPU unless said."""

import pytest

from policies.synergy import synergy
from simulator.features.reconfiguration import Delays
from tests.core.jobs import fixed, nodes


def server(gpus=1):
    return nodes(gpus, cpus=3 * gpus, memory_gb=62.5 * gpus)


@pytest.mark.parametrize(
    ("ordering", "submit_s", "duration_s", "gpus", "ends_s"),
    [
        # The shorter job comes in the second round.
        ("srtf", [0, 400], [3000, 600], [1, 1], [3600, 1200]),
        # Attained: round 0 job 0; then job 1 has less; then both have 300: the earlier.
        ("las", [0, 0], [900, 900], [1, 1], [1500, 1800]),
        ("las", [0, 0], [900, 1500], [2, 2], [1500, 2400]),
        # Two GPUs for a round weigh as much as one for two. Job 0 (600 GPU-s a round) at 0;
        # job 1 at 300 and 600; then both have 600: job 0, the earlier.
        ("las", [0, 0], [600, 1500], [2, 1], [1200, 300 + 600 + 300 + 900]),
        ("drf", [0, 0], [900, 900], [1, 1], [1500, 1800]),
        ("tetris", [0, 0], [3000, 600], [1, 1], [3600, 600]),
    ],
)
def test_by_hand(run, ordering, submit_s, duration_s, gpus, ends_s):
    servers = server(max(gpus))
    result = run(fixed(submit_s, duration_s, gpus), servers, synergy(ordering, "tune"))
    assert result.completion_s == pytest.approx(ends_s)
    if ordering == "srtf":
        assert result.preemptions.tolist() == [1, 0]


@pytest.mark.parametrize("mechanism", ["proportional", "tune", "greedy", "opt"])
def test_fifo_and_srtf(run, mechanism):
    work = fixed([0, 0, 300], [1500, 600, 900])
    fifo = run(work, server(), synergy("fifo", mechanism))
    assert fifo.completion_s == pytest.approx([1500, 2100, 3000])
    # SRTF: the job of 600 first; from 600 on the one of 900 against 1500.
    srtf = run(work, server(), synergy("srtf", mechanism))
    assert srtf.completion_s == pytest.approx([3000, 600, 1500])


def test_ftf_treats_the_most_unfairly_treated_first(run):
    # At 600, rho is (600+2400)/3000=1 for the running job, (600+300)/300=3 for the short one.
    work = fixed([0, 0, 0], [3000, 900, 300])
    paper = run(work, server(), synergy("ftf", "proportional"))
    released = run(work, server(), synergy("ftf", "proportional", released=True))
    assert paper.completion_s[2] < released.completion_s[2]
    # The wrong way round, whoever runs stays the least delayed: FIFO.
    assert released.completion_s == pytest.approx([3000, 3900, 4200])
    # Round 1: rho 1 for job 0, 1200/900 and 600/300 for the others, so the shortest goes next.
    assert paper.first_start_s.tolist() == [0, 600, 300]


def test_tetris_prefers_the_better_aligned_of_equal_work(run):
    # Equal work in GPU-seconds; the wide one uses the free server better.
    work = fixed([0, 0], [1200, 300], gpus=[1, 4])
    result = run(work, server(4), synergy("tetris", "tune"))
    assert result.first_start_s.tolist() == [300, 0]


def test_starvation_guard(run):
    work = fixed([0] + [300 * i for i in range(20)], [6000] + [300] * 20)
    never = run(work, server(), synergy("srtf", "tune"))
    guarded = run(work, server(), synergy("srtf", "tune", starvation_s=1500))
    assert never.first_start_s[0] == pytest.approx(6000)
    assert guarded.first_start_s[0] == pytest.approx(1500)


def test_rounds_without_news_are_not_decided_anew(run):
    work = fixed([0.0, 0.0, 90_000.0], [30_000, 40_000, 300])
    policy = synergy("srtf", "tune")
    asked = []

    class Counted:
        name = "counted"

        def decide(self, view):
            decision = policy.decide(view)
            asked.append(bool(decision.placements))
            return decision

    run(work, server(2), Counted())
    assert sum(asked) == 3
    assert len(asked) > 100


def test_migration_costs_what_the_engine_charges(run):
    work = fixed([0, 400], [3000, 600])
    result = run(work, server(), synergy("srtf", "tune"), features=[Delays.of(60)])
    assert result.completion_s == pytest.approx([3660, 1200])


def test_starving_jobs_go_by_submission(run):
    """At 1500 s both long jobs starve. The shorter one comes first by SRTF, but the other has been submitted before it."""
    work = fixed([0, 0] + [300 * i for i in range(20)], [6000, 4500] + [300] * 20)
    guarded = run(work, server(), synergy("srtf", "tune", starvation_s=1500))
    assert guarded.first_start_s[:2].tolist() == pytest.approx([1500, 1800])
