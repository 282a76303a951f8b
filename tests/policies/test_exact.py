"""The engine ends each job when rational numbers say so: equal times and equal ranks are equal, whatever the rounding."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies import make_policy
from simulator.workloads.reshaping import time_shared
from tests.core.jobs import fixed, nodes, run
from tests.policies.exact import Job, completions, foreground_background

RULES = {
    "fifo-strict": ({}, lambda jobs, c: completions(jobs, c, lambda j, s: j.submit_s, backfill=False)),
    "fifo-backfill": ({}, lambda jobs, c: completions(jobs, c, lambda j, s: j.submit_s)),
    "edf-backfill": ({}, lambda jobs, c: completions(jobs, c, lambda j, s: j.due_s)),
    "deadline-first": ({}, lambda jobs, c: completions(jobs, c, lambda j, s: j.due_s, preemptive=True)),
    "sjf": ({}, lambda jobs, c: completions(jobs, c, lambda j, s: j.duration_s)),
    "sjf, preemptive": (
        {"preemptive": True},
        lambda jobs, c: completions(jobs, c, lambda j, s: j.duration_s, preemptive=True),
    ),
    "priority": ({}, lambda jobs, c: completions(jobs, c, lambda j, s: (-j.priority, -j.weight))),
    "priority, preemptive": (
        {"preemptive": True},
        lambda jobs, c: completions(jobs, c, lambda j, s: (-j.priority, -j.weight), preemptive=True),
    ),
    "srpt": ({}, lambda jobs, c: completions(jobs, c, lambda j, s: s, preemptive=True)),
    "las": ({}, foreground_background),
}  # fmt: skip

UNITS = {"minutes": Fraction(60), "tenths of a second": Fraction(1, 10), "thirds": Fraction(1, 3)}


@st.composite
def instances(draw):
    """Some jobs and a cluster that holds each. Times are few multiples of a unit and jobs wait, so that many coincide."""
    unit = draw(st.sampled_from(list(UNITS.values())))
    alike, wide = (
        draw(st.sampled_from(["", "equal", "as long as the first has left"])),
        draw(st.booleans()),
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count, gpus_each, num_nodes = rng.integers([2, 1, 1], [20, 3, 3]).tolist()
    gpus = rng.integers(1, gpus_each * num_nodes + 1, count) if wide else np.ones(count, int)
    most = int(rng.choice([10, 30, 3000]))
    duration = (
        np.full(count, rng.integers(1, most)) if alike == "equal" else rng.integers(1, most, count)
    )
    apart = gpus.mean() / (gpus_each * num_nodes) * most / 2
    submit = np.cumsum(rng.integers(0, 1 + int(2 * apart), count))
    if alike == "as long as the first has left":
        duration = submit[-1] + duration[0] - submit + submit[0]
    due = submit + rng.integers(0, 2 * most, count)
    thirds, fifths = rng.integers(0, 4, count), rng.integers(-1, 2, count)
    jobs = [
        Job(
            *(int(t) * unit for t in times),
            int(g),
            int(u) * unit,
            Fraction(int(w), 3),
            Fraction(int(p), 5),
        )
        for *times, g, u, w, p in zip(submit, duration, gpus, due, thirds, fifths, strict=True)
    ]
    return jobs, nodes(gpus_each, num_nodes)


def check(name, jobs, cluster):
    """Each completion, to a millionth of a second."""
    options, rule = RULES[name]
    columns = np.array([[float(x) for x in job] for job in jobs]).T
    submit_s, duration_s, gpus, due_s, weight, priority = columns
    workload = fixed(
        submit_s, duration_s, gpus.astype(int), due_s=due_s, weight_per_s=weight, priority=priority
    )
    policy = make_policy(name.split(",")[0], **options)
    found = run(workload if name != "las" else time_shared(workload), cluster, policy)
    expected = [float(t) for t in rule(jobs, int(cluster.total_gpus))]
    np.testing.assert_allclose(found.completion_s, expected, rtol=0, atol=1e-6)


@given(st.sampled_from(sorted(RULES)), instances())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_each_job_ends_when_the_exact_rule_says(name, instance):
    check(name, *instance)


@pytest.mark.slow
@given(st.sampled_from(sorted(RULES)), instances())
@settings(max_examples=10_000, deadline=None, derandomize=True)
def test_ten_thousand_instances(name, instance):
    check(name, *instance)
