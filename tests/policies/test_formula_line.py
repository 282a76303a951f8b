"""The formula that `schedlab run` prints beside a queue of the textbooks."""

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from experiments.scenario.formulas import formula_line
from experiments.scenario.run import run
from experiments.scenario.schema import Scenario
from simulator import InputError
from simulator import theory as q
from simulator.laws import parse_law
from simulator.statistics import Streams, steady_state_mean
from simulator.workloads.poisson import gaps_cv2, poisson_jobs


def scenario(
    policy: str, gpus: int = 1, features: Mapping[str, object] | None = None, **jobs: object
) -> Scenario:
    workload = {"kind": "poisson", "num_jobs": 400, "arrival_rate_per_h": 0.6 * gpus, **jobs}
    cluster = {"kind": "nodes", "num_nodes": 1, "gpus_per_node": gpus}
    return Scenario.model_validate(
        {"policy": policy, "workload": workload, "cluster": cluster, **(features or {})}
    )


RATE = 0.6 / 3600
SERVICE = "hyperexponential:3600,cv2=4"
LAW = parse_law(SERVICE)


@pytest.mark.parametrize(
    ("made", "name", "response_s"),
    [
        (scenario("fifo-strict"), "M/M/1", q.mmc_mean_response_s(RATE, 3600.0, 1)),
        (scenario("fifo", 4), "M/M/4, Erlang C", q.mmc_mean_response_s(4 * RATE, 3600.0, 4)),
        (
            scenario("random-order", duration_s=SERVICE),
            "M/G/1, Pollaczek and Khinchine", q.mg1_mean_response_s(RATE, LAW),
        ),
        (scenario("srpt", duration_s=SERVICE), "M/G/1, SRPT", q.mg1_srpt_response_s(RATE, LAW)),
        (scenario("sjf", duration_s=SERVICE), "M/G/1, shortest job first", q.mg1_sjf_response_s(RATE, LAW)),
        (
            scenario("sjf", duration_s=SERVICE).model_copy(update={"policy_options": {"preemptive": True}}),
            "M/G/1, PSJF: preemptive shortest job first", q.mg1_sjf_response_s(RATE, LAW, preemptive=True),
        ),
        (scenario("las", duration_s=SERVICE), "M/G/1, FB: least attained service", q.mg1_fb_response_s(RATE, LAW)),
        (
            scenario("fifo", gaps="deterministic:1"),
            "G/G/c, approximate: Allen and Cunneen",
            q.ggc_mean_wait_s(RATE, 0.0, 3600.0, 1.0) + 3600.0,
        ),
    ],
)  # fmt: skip
def test_the_line(made, name, response_s):
    line = formula_line(made, run(made))
    assert line.startswith(f"formula ({name}): mean completion time {response_s / 3600:.4g} h; ")
    assert re.search(r"this run [\d.]+ h", line)


def test_the_interval_or_the_length_that_it_takes():
    """At load 0.5, 21 x 20 relaxation times of 1 / (sqrt(2) - 1)^2 jobs."""
    made = scenario("fifo", num_jobs=2500, arrival_rate_per_h=0.5)
    result = run(made)
    found = steady_state_mean(result.jct_s / 3600, relaxation=1 / (2**0.5 - 1) ** 2)
    told = f"this run {found.mean:.4g} h, 95 % interval {found.lower:.4g} to {found.upper:.4g} h"
    assert formula_line(made, result).endswith(told)
    short = made.model_copy(update={"window": [52, 2499]})
    mean_h = result.jct_s[52:2499].mean() / 3600
    why = "an interval takes 2,448 jobs at this load, here are 2,447; schedlab compare makes several runs"
    assert formula_line(short, result).endswith(f"this run {mean_h:.4g} h ({why})")
    enough = made.model_copy(update={"window": [52, 2500]})
    within = steady_state_mean(result.jct_s[52:] / 3600, relaxation=1 / (2**0.5 - 1) ** 2)
    told = f"interval {within.lower:.4g} to {within.upper:.4g} h"
    assert formula_line(enough, result).endswith(told)


def test_who_means_processor_sharing_by_ps_is_told():
    made = scenario("ps", priorities=[1, 1])
    assert "none for ps; for processor sharing take processor-sharing" in formula_line(
        made, run(made)
    )
    with pytest.raises(InputError, match="for processor sharing take processor-sharing"):
        run(scenario("ps"))


def test_exponential_gaps_are_memoryless_under_their_law_too():
    made = scenario("fifo", 4, gaps="exponential:5")
    assert "Erlang C" in formula_line(made, run(made))


def test_no_line_where_no_formula_holds():
    for made in (
        scenario("fifo", num_gpus=[1, 2], gpus=4),
        scenario("sjf", 2),
        scenario("srpt", 4),
        scenario("fifo", features={"checkpoints": {"interval_s": 600.0, "cost_s": 60.0}}),
    ):
        assert formula_line(made, run(made)) == ""
    full = scenario("fifo", arrival_rate_per_h=1.2, num_jobs=100)
    assert "the queue grows without end" in formula_line(full, run(full))


def test_a_load_in_place_of_a_rate():
    """Load 0.75 of 16 GPUs by jobs of half an hour on two GPUs on average: 12 jobs an hour."""
    jobs = {
        "kind": "poisson",
        "num_jobs": 50,
        "duration_s": "lognormal:1800,cv=2",
        "num_gpus": [1, 1, 2, 4],
    }
    cluster = {"kind": "nodes", "num_nodes": 2, "gpus_per_node": 8}

    def made(cluster=cluster, **keys) -> Scenario:
        return Scenario.model_validate(
            {"policy": "fifo", "workload": jobs | keys, "cluster": cluster}
        )

    by_load, by_rate = run(made(load=0.75)), run(made(arrival_rate_per_h=12.0))
    assert by_load.workload.submit_s == pytest.approx(by_rate.workload.submit_s)
    for keys in ({}, {"load": 0.5, "arrival_rate_per_h": 1.0}):
        with pytest.raises(ValueError, match="arrival_rate_per_h or load, expected one of them"):
            made(**keys)
    with pytest.raises(
        InputError, match=r"workload.load: given without \[cluster\] of the kind 'nodes'"
    ):
        run(made({"kind": "pool"}, load=0.5))


def test_gaps_have_their_mean_and_variability():
    for text, cv2 in (("deterministic:5", 0.0), ("hyperexponential:1,cv2=4", 4.0), ("mmpp", None)):
        jobs = poisson_jobs(20_000, Streams(2), arrival_rate_per_h=2.0, duration_s=LAW, gaps=text)
        gaps = np.diff(jobs.submit_s)
        assert gaps.mean() == pytest.approx(1800, rel=0.1)
        assert gaps_cv2(text) == pytest.approx(cv2) if cv2 is not None else gaps_cv2(text) is None
        if cv2 is not None:
            assert gaps.var() / gaps.mean() ** 2 == pytest.approx(cv2, rel=0.15, abs=1e-9)


def test_priorities_are_weights_and_change_nothing_else():
    options = {"arrival_rate_per_h": 1.0, "duration_s": LAW}
    made = [poisson_jobs(4000, Streams(1), priorities=p, **options) for p in ((), (1.0, 3.0))]
    assert (made[0].submit_s == made[1].submit_s).all()
    assert set(made[1].weight_per_s) == {1.0, 2.0}
    assert (made[1].weight_per_s == 2.0).mean() == pytest.approx(0.25, abs=0.03)
    assert replace(made[1], weight_per_s=made[0].weight_per_s).job_id == made[0].job_id


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [("gaps", "weekly", "workload.gaps"), ("priorities", [0.0, 0.0], "workload.priorities")],
)
def test_mistakes_are_one_line(key, value, told):
    with pytest.raises(InputError, match=told):
        run(scenario("fifo", **{key: value}))


def test_gaps_of_a_trace_keep_their_order_and_get_the_rate(tmp_path):
    """Bursts stay bursts: the gaps come in the order of the trace, from a random one on."""
    trace = tmp_path / "trace.csv"
    times = (0, 1, 2, 102, 103, 153)
    rows = "".join(f"{n},{t},60,1\n" for n, t in enumerate(times))
    trace.write_text("job_id,submit_time_s,duration_s,num_gpus\n" + rows)
    keys = {"gaps": "trace", "gaps_of": {"kind": "csv", "path": str(trace)}, "num_jobs": 12}
    made = scenario("fifo", **keys)
    result = run(made)
    assert formula_line(made, result) == ""
    mean_gap_s = 3600 / 0.6
    gaps = np.diff(result.workload.submit_s, prepend=0.0) / mean_gap_s * (153 / 5)
    cycle = [1.0, 1.0, 100.0, 1.0, 50.0]
    k = min(range(5), key=lambda k: abs(gaps - np.resize(np.roll(cycle, -k), 12)).max())
    assert gaps == pytest.approx(np.resize(np.roll(cycle, -k), 12))
    others = (run(made.model_copy(update={"seed": seed})) for seed in range(12))
    assert len({other.workload.submit_s[0] for other in others}) > 1


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"gaps": "trace"}, "belong together"),
        ({"gaps_of": {"kind": "csv", "path": "x.csv"}}, "belong together"),
        ({"gaps": "trace", "gaps_of": {"kind": "csv", "path": "none.csv"}}, "none.csv"),
        (
            {"gaps": "trace", "gaps_of": {"kind": "csv", "path": "once.csv"}},
            r"workload.gaps_of: 2 jobs at one time, expected jobs at two times or more",
        ),
    ],
)
def test_gaps_without_a_trace_are_one_line(tmp_path, monkeypatch, keys, told):
    monkeypatch.chdir(tmp_path)
    rows = "job_id,submit_time_s,duration_s,num_gpus\na,5,60,1\nb,5,60,1\n"
    (tmp_path / "once.csv").write_text(rows)
    with pytest.raises((InputError, ValueError), match=told):
        run(scenario("fifo", **keys))
