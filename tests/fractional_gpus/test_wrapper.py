"""Synergy and the greedy family on parts of GPUs: by hand, and nothing given away twice."""

import re

import numpy as np
import pytest

from policies import make_policy, requirements_of
from policies.fractional_gpus.wrapper import FractionalGpus
from simulator import Decision, InputError, Placement
from simulator.features.admission import Admission
from simulator.features.colocation import colocation_of, published_rates
from tests.core.jobs import nodes, run, sharing

MODELS = published_rates()[0]
ONE = nodes(price_per_hour=1.0, cpus=12, memory_gb=100)


def jobs_of(part, duration_s, submit_s=None, gpus=None, **columns):
    return sharing(
        [0.0] * len(part) if submit_s is None else submit_s, duration_s, part, gpus, **columns
    )


def test_shortest_first_on_halves():
    """One GPU, halves of 100, 200 and 300 s: the two shortest run, then the third joins at 100 s."""
    jobs = jobs_of([0.5] * 3, [300.0, 100.0, 200.0])
    parts = run(jobs, ONE, "srtf+proportional@fractional", round_s=100)
    assert parts.completion_s.tolist() == [400.0, 100.0, 200.0]
    whole = run(jobs, ONE, "srtf+proportional", round_s=100)
    assert whole.completion_s.tolist() == [600.0, 100.0, 300.0]


def test_cpus_that_jobs_state_decide_between_mechanisms():
    """Two halves that want 9 and 3 of 12 CPUs: in proportion each gets 6, and the first does not fit."""
    jobs = jobs_of([0.5, 0.5], [100.0, 100.0], num_cpus=[9.0, 3.0], memory_gb=[10.0, 10.0])
    tune = run(jobs, ONE, "fifo+tune@fractional", round_s=50)
    assert tune.completion_s.tolist() == [100.0, 100.0]
    cpus = {share.job: share.cpus for share in tune.schedule}
    assert cpus == {0: 9.0, 1: 3.0}


def test_the_greedy_serves_the_urgent_half():
    """Three halves for one GPU; the two with due dates run first."""
    late = {"due_s": [1e6, 110.0, 110.0], "weight_per_s": [0.01] * 3}
    result = run(jobs_of([0.5] * 3, [100.0] * 3, **late), ONE, "greedy@fractional")
    assert result.completion_s.tolist() == [200.0, 100.0, 100.0]
    assert (result.tardiness_s == 0).all()


def test_the_greedy_sees_which_due_dates_are_taken_away():
    """Halves of 100 s; the first two are promised 110 s, the third of ten times the weight cannot be promised 105 s."""
    late = {"due_s": [110.0, 110.0, 105.0], "weight_per_s": [0.01, 0.01, 0.1]}
    jobs = jobs_of([0.5] * 3, [100.0] * 3, [0.0, 0.0, 1.0], **late)
    result = run(jobs, ONE, "greedy@fractional", Admission(rule="downgrade"))
    assert result.completion_s.tolist() == [100.0, 100.0, 200.0]
    assert run(jobs, ONE, "greedy@fractional").completion_s[2] == 101.0


def test_a_part_goes_to_the_fullest_gpu_so_that_nobody_moves_for_a_whole_one():
    """Two GPUs: the second half joins the first, and the job of a whole GPU finds the other one free."""
    jobs = jobs_of([0.5, 0.5, 1.0], [100.0] * 3, [0.0, 10.0, 20.0])
    result = run(jobs, nodes(2), "fifo+proportional@fractional", round_s=10)
    assert result.completion_s.tolist() == [100.0, 110.0, 120.0]
    assert result.reconfigurations.tolist() == [0, 0, 0]


def test_a_node_in_units_costs_and_takes_what_it_did():
    """Two GPUs of 3 $ an hour, at 100, 200 and 300 W with 0, 1 and 2 in use, in units of a half."""
    seen = []

    class Watching:
        plans_anew = True

        def decide(self, view):
            seen.append(view.cluster)
            return Decision([Placement(job, 0, 1) for job in view.waiting], keep_running=True)

    cluster = nodes(2, price_per_gpu_hour=3.0, power_w=(100.0, 200.0, 300.0))
    run(jobs_of([0.5], [10.0]), cluster, FractionalGpus(Watching(), "watching"))
    (spec,) = seen[0].node_types
    assert (spec.gpus, spec.price_per_gpu_hour) == (4, 1.5)
    assert spec.power_w == (100.0, 200.0, 200.0, 300.0, 300.0)


@pytest.mark.parametrize("name", ["greedy@fractional@self-timed", "greedy@self-timed@fractional"])
def test_wake_ups_reach_the_controller(name):
    """A job of 100 s: the mean gap is 12.5 s first, then 12.5 s more than the time."""
    result = run(jobs_of([0.5], [100.0]), ONE, name)
    assert result.decisions_table()["time_s"].tolist() == [0.0, 12.5, 37.5, 87.5]


def test_jobs_move_together_for_one_that_needs_a_whole_gpu():
    """Halves on two GPUs are put on one when a job of a whole GPU comes."""
    two = nodes(2, price_per_hour=1.0, cpus=12, memory_gb=100)
    jobs = jobs_of([0.5, 0.5, 0.5, 1.0], [300.0, 100.0, 300.0, 100.0], [0.0, 0.0, 0.0, 150.0])
    result = run(jobs, two, "fifo+proportional@fractional", round_s=50)
    assert result.first_start_s[3] == 150.0
    assert result.completion_s.tolist() == [300.0, 100.0, 300.0, 250.0]


@pytest.mark.parametrize("ordering", ["srtf", "las", "gittins", "history", "ftf", "drf"])
def test_halves_on_one_gpu_are_whole_jobs_on_two(ordering):
    """Also for orderings that look at the service that a job has had."""
    rng = np.random.default_rng(1)
    times, submit_s = rng.lognormal(5.0, 1.5, 25), np.cumsum(rng.exponential(150.0, 25))
    two = nodes(2, price_per_hour=1.0, cpus=12, memory_gb=100)
    policy = f"{ordering}+proportional"
    half = run(jobs_of([0.5] * 25, times, submit_s), ONE, f"{policy}@fractional", round_s=20)
    whole = run(jobs_of([1.0] * 25, times, submit_s), two, policy, round_s=20)
    assert half.completion_s.tolist() == pytest.approx(whole.completion_s.tolist())


def test_who_cannot():
    with pytest.raises(InputError, match="fifo-backfill does not plan all nodes anew, expected"):
        make_policy("fifo-backfill@fractional")
    for name in ("srtf+opt", "greedy@hysteresis", "greedy@decision-trace"):
        with pytest.raises(InputError, match=re.escape(f"{name} does not plan all nodes anew")):
            make_policy(f"{name}@fractional")
    sliced = jobs_of([0.5], [10.0])
    with pytest.raises(InputError, match="the GPUs are sliced, expected the policy 'slices'"):
        run(sliced, ONE, "greedy@fractional", colocation_of(sliced, slices=True))
    needs = {"servers", "fixed-demand", "one-node", "objective"}
    assert set(requirements_of("greedy@fractional")) >= needs
