"""Preemption by QOS: who stops, who goes on, by hand and by a plain program; and that nothing is lost."""

from __future__ import annotations

import numpy as np
import pytest

from policies import make_policy
from simulator import Decision, Placement, Result, simulate
from simulator.model.tolerances import INSTANT_S
from tests.core.jobs import fixed, nodes
from tests.errors import input_error

OVER = "high=normal,low normal=low"


CHAIN = "high=normal normal=low"


def run(
    submit_s, duration_s, gpus, qos, inner="easy-backfill", size=4, over=OVER, **options
) -> Result:
    work = fixed(submit_s, duration_s, gpus, qos=qos)
    policy = make_policy(f"{inner}@qos-preemption", **{"qos-preemption.over": over}, **options)
    return simulate(work, nodes(size), policy)


def test_the_last_started_gives_way():
    """Two jobs of low hold two GPUs each. high comes at 10 s for two, for 30 s: the second stops, and goes on after it."""
    result = run([0, 1, 10], [100, 100, 30], [2, 2, 2], ["low", "low", "high"])
    assert result.completion_s.tolist() == [100, 131, 40]
    assert result.preemptions.tolist() == [0, 1, 0]


def test_who_fits_beside_goes_on():
    """high needs three GPUs: one of the last started is not enough, three of the first are; so the last goes on."""
    result = run([0, 1, 10], [100, 100, 30], [3, 1, 3], ["low", "low", "high"])
    assert result.preemptions.tolist() == [1, 0, 0]
    assert result.completion_s.tolist() == [130, 101, 40]


def test_of_those_that_fit_beside_the_first_started_goes_on():
    """high needs 3 of 4 GPUs, so j0 with 2 has to stop; one GPU is left, for j1 and not for j2."""
    result = run([0, 1, 2, 10], [100, 100, 100, 30], [2, 1, 1, 3], ["low", "low", "low", "high"])
    assert result.preemptions.tolist() == [1, 0, 1, 0]


def test_a_policy_that_stops_jobs_itself_does_not_stop_higher_ones():
    """SRPT would run j2, 4 s on all GPUs, from 7 s on; j1 and j4 of normal start and go on in its place."""
    qos = ["normal", "normal", "low", "normal", "normal"]
    result = run([0, 5, 6, 6, 7], [7, 10, 4, 7, 6], [1, 2, 4, 3, 1], qos, "srpt")
    assert result.first_start_s.tolist() == [0, 5, 22, 6, 7]
    assert result.completion_s.tolist() == [7, 16, 26, 22, 13]


@pytest.mark.parametrize("inner", ["fifo-backfill", "fifo-shared"])
def test_a_job_lies_on_one_node_where_the_policy_places_it_so(inner):
    """Each of two nodes has two GPUs, one of them in use; ANDREAS's methods place a job on one node."""
    work = fixed([0, 0, 1], [100, 50, 10], [1, 1, 2], qos=["normal", "low", "high"])
    policy = make_policy(f"{inner}@qos-preemption", **{"qos-preemption.over": "high=normal,low"})
    spread = Decision([Placement(0, 0, 1), Placement(1, 1, 1)], keep_running=True)
    result = simulate(work, nodes(2, 2), lambda v: policy.decide(v) if v.now_s else spread)
    shares = [s.node for s in result.schedule if s.job == 2]
    assert len(shares) == (1 if inner == "fifo-shared" else 2)
    # There j1 makes room, and goes on beside j0 at the same instant.
    assert result.reconfigurations.tolist() == [0, inner == "fifo-shared", 0]


def test_only_a_higher_qos_stops_others():
    """normal stops low, and nobody else; low waits for both."""
    result = run([0, 5, 6], [100, 50, 10], [4, 4, 4], ["normal", "normal", "low"])
    assert result.preemptions.sum() == 0
    assert result.completion_s.tolist() == [100, 150, 160]
    result = run([0, 5, 6], [100, 50, 10], [4, 4, 4], ["low", "normal", "high"])
    assert result.completion_s.tolist() == [160, 65, 16]


def test_a_job_that_never_has_room_stops_nobody():
    """high needs four GPUs, of which another of high holds two until 100 s: to stop low before would not do."""
    result = run([0, 1, 10], [100, 100, 30], [2, 2, 4], ["high", "low", "high"])
    assert result.first_start_s.tolist() == [0, 1, 100]
    assert result.completion_s.tolist() == [100, 131, 130]


def test_without_a_qos_the_policy_decides_alone():
    work = fixed([0, 5], [100, 50], [4, 4])
    policy = make_policy("fifo-backfill@qos-preemption", **{"qos-preemption.over": OVER})
    assert simulate(work, nodes(4), policy).completion_s.tolist() == [100, 150]


def test_qos_are_asked_in_their_order():
    """At 16 s 4 GPUs are free. j3 of high takes 3 of them, so neither j1 of normal (2) nor j0 of low (3) has room before 19 s."""
    qos = ["low", "normal", "high", "high", "high"]
    result = run(
        [6, 10, 12, 14, 17], [7, 4, 4, 3, 3], [3, 2, 4, 3, 2], qos, "conservative-backfill"
    )
    assert result.preemptions.tolist() == [1, 1, 0, 0, 0]
    assert result.completion_s.tolist() == [25, 21, 16, 19, 22]


def test_what_is_left_is_given_out_at_the_same_instant():
    """high stops j0 at 50 s, to hold 3 of 4 GPUs until 90 s. There j1 has its reservation, so j3 of 30 s passes it."""
    duration_s = [100, 20, 40, 30]
    work = fixed([0, 10, 50, 50], duration_s, [4, 4, 3, 1], requested_s=duration_s,
                 qos=["low", "low", "high", "low"])  # fmt: skip
    policy = make_policy("easy-backfill@qos-preemption", **{"qos-preemption.over": OVER})
    result = simulate(work, nodes(4), policy)
    assert result.first_start_s.tolist() == [0, 90, 50, 50]
    assert result.completion_s.tolist() == [160, 110, 90, 80]


class Plain:
    """First in, first out with preemption by QOS on one node, in whole seconds."""

    def __init__(self, submit_s, duration_s, gpus, qos, over, strict, size=4) -> None:
        self.submit_s, self.gpus, self.qos, self.strict, self.size = (
            submit_s,
            gpus,
            qos,
            strict,
            size,
        )
        self.left = [*duration_s]
        pairs = [word.split("=") for word in over.split()]
        self.over = {name: lower.split(",") for name, lower in pairs}
        self.queue: list[int] = []
        self.runs: list[int] = []
        self.stops, self.ends = [0] * len(gpus), [0] * len(gpus)

    def play(self) -> None:
        now = 0
        while not all(self.ends):
            for job in [j for j in self.runs if not self.left[j]]:
                self.runs.remove(job)
                self.ends[job] = now
            self.queue += [j for j, at in enumerate(self.submit_s) if at == now]
            ran = [*self.runs]
            while True:
                planned = self.planned()
                after = self.served(planned)
                self.queue += [j for j in self.runs if j not in after]
                self.queue = [j for j in self.queue if j not in after]
                self.runs = after
                if set(after) <= set(planned):
                    break
            for job in ran:
                self.stops[job] += job not in self.runs
            for job in self.runs:
                self.left[job] -= 1
            now += 1

    def used(self, jobs) -> int:
        return sum(self.gpus[j] for j in jobs)

    def planned(self) -> list[int]:
        found = [*self.runs]
        for job in self.queue:
            if self.used([*found, job]) <= self.size:
                found.append(job)
            elif self.strict:
                break
        return found

    def served(self, planned) -> list[int]:
        level, after = ["low", "normal", "high"], [*planned]
        asking = [j for j in (*self.queue, *self.runs) if self.qos[j] in self.over]
        asking.sort(key=lambda j: (-level.index(self.qos[j]), j))
        while True:
            held, before = [], [*after]
            for job in asking:
                if job in after:
                    continue
                lower = self.over[self.qos[job]]
                if self.used([*after, *held, job]) <= self.size:
                    ahead = [self.qos[j] for j in self.queue if j < job and j not in after]
                    starts = bool(ahead) and set(ahead) <= set(lower)
                    (after if starts else held).append(job)
                    continue
                stay, give = [*after], []
                while self.used([*stay, *held, job]) > self.size and len(give) < len(after):
                    one = max(
                        (j for j in stay if self.qos[j] in lower), key=after.index, default=None
                    )
                    if one is None:
                        break
                    stay.remove(one)
                    give.insert(0, one)
                if self.used([*stay, *held, job]) <= self.size:
                    for one in give:
                        if self.used([*stay, *held, job, one]) <= self.size:
                            stay.append(one)
                    after = [*(j for j in after if j in stay), job]
            if after == before:
                return after


def instance(seed):
    """12 jobs: submission (s), duration (s), GPUs, QOS."""
    rng = np.random.default_rng(seed)
    submit_s = np.cumsum(rng.integers(0, 6, 12)).tolist()
    duration_s, gpus = rng.integers(1, 12, 12).tolist(), rng.integers(1, 5, 12).tolist()
    return submit_s, duration_s, gpus, rng.choice(["low", "normal", "high"], 12).tolist()


@pytest.mark.long
@pytest.mark.parametrize("over", [OVER, CHAIN])
@pytest.mark.parametrize("inner", ["fifo-strict", "fifo-backfill"])
def test_a_plain_program_stops_and_ends_the_same_jobs(inner, over):
    for seed in range(50):
        jobs = instance(seed)
        plain = Plain(*jobs, over, strict=inner == "fifo-strict")
        plain.play()
        found = run(*jobs, inner, over=over)
        assert found.completion_s.tolist() == plain.ends, seed
        assert found.preemptions.tolist() == plain.stops, seed


POLICIES = [
    ("easy-backfill", {}), ("conservative-backfill", {}), ("sjf", {}), ("random-order", {}),
    ("srpt", {}), ("fair-share", {"preemptive": True}), ("srtf+proportional", {}),
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(("inner", "options"), POLICIES, ids=[name for name, _ in POLICIES])
def test_nobody_starts_to_be_stopped_nor_waits_for_lower_ones(inner, options):
    """Of jobs in whole seconds, each stretch is of whole seconds; who would find room in place of lower ones never waits."""
    for seed in range(25):
        submit_s, duration_s, gpus, qos = instance(seed)
        found = run(submit_s, duration_s, gpus, qos, inner, **options)
        assert found.schedule is not None
        rows = [(s.job, s.start_s, s.end_s) for s in found.schedule]
        assert min(end_s - start_s for _, start_s, end_s in rows) > 1 - INSTANT_S, seed
        for at_s in np.arange(0.5, found.completion_s.max()):
            run_now = {job for job, start_s, end_s in rows if start_s <= at_s < end_s}
            free = 4 - sum(gpus[j] for j in run_now)
            for job in range(12):
                if job not in run_now and submit_s[job] <= at_s < found.completion_s[job]:
                    lower = {"high": ("normal", "low"), "normal": ("low",), "low": ()}[qos[job]]
                    more = sum(gpus[j] for j in run_now if qos[j] in lower)
                    assert gpus[job] > free + more or gpus[job] <= free, (seed, at_s, job)


@pytest.mark.parametrize("inner", ["fifo-strict", "easy-backfill", "conservative-backfill", "sjf"])
def test_every_job_ends_once_with_its_work_done(inner):
    """Random jobs of three QOS: GPU-seconds are those of the jobs, and nobody of high is ever stopped."""
    rng = np.random.default_rng(7)
    count = 60
    submit_s = np.cumsum(rng.integers(1, 30, count)).astype(float)
    duration_s, gpus = rng.integers(5, 200, count).astype(float), rng.integers(1, 5, count)
    qos = rng.choice(["low", "normal", "high"], count).tolist()
    result = run(submit_s, duration_s, gpus, qos, inner, size=6)
    assert np.isfinite(result.completion_s).all()
    assert result.gpu_seconds.tolist() == pytest.approx((duration_s * gpus).tolist())
    assert result.preemptions.sum() > 0
    assert result.preemptions[np.array(qos) == "high"].sum() == 0


def test_a_circle_is_refused():
    with input_error("over has a circle, b=c=a=b", "expected that no QOS stops itself"):
        make_policy("fifo@qos-preemption", **{"qos-preemption.over": "b=c a=b,d c=a"})


def test_parts_of_gpus_are_refused():
    with input_error(
        "shared names the GPUs of each job", "expected a policy that gives whole GPUs"
    ):
        make_policy("shared@qos-preemption")


@pytest.mark.parametrize("over", ["high", "high=", "=low", "high=normal,,low"])
def test_mistakes_are_one_line(over):
    with input_error("expected QOS=QOS,QOS as in high=normal,low"):
        make_policy("fifo@qos-preemption", **{"qos-preemption.over": over})
