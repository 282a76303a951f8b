"""Closed forms against published tables, other formulas, and samples of the queue itself."""

import heapq
import inspect
import math
from functools import partial

import numpy as np
import pytest
from scipy import integrate, linalg, stats

from benchmarks.queues import RESPONSES
from simulator import theory as q
from simulator.errors import InputError
from simulator.laws import (
    Bimodal,
    BoundedPareto,
    Deterministic,
    Empirical,
    Exponential,
    HyperExponential,
    Law,
    LogNormal,
    parse_law,
)
from simulator.statistics import Streams, student
from simulator.theory import checks, reliability
from tests.errors import input_error


@pytest.mark.parametrize(
    ("servers", "blocking", "load"),
    [  # the usual traffic tables (ITU-D, Teletraffic Engineering Handbook): offered load, erlang
        (1, 0.01, 0.0101), (5, 0.01, 1.361), (10, 0.01, 4.461), (20, 0.001, 9.412),
        (50, 0.05, 44.53), (100, 0.01, 84.06),
    ],
)  # fmt: skip
def test_erlang_b_tables(servers, blocking, load):
    assert q.erlang_b(load, servers) == pytest.approx(blocking, rel=2e-3)


def test_erlang_c_against_its_sum():
    for load, c in [(0.5, 1), (8.0, 10), (18.5, 20), (95.0, 100)]:
        log_terms = stats.poisson.logpmf(np.arange(c), load)
        tail = stats.poisson.pmf(c, load) * c / (c - load)
        assert q.erlang_c(load, c) == pytest.approx(tail / (np.exp(log_terms).sum() + tail))
    assert q.erlang_c(8.0, 10) == pytest.approx(0.4092, abs=5e-5)
    assert q.erlang_b(9000.0, 10_000) == 0 or q.erlang_b(9000.0, 10_000) < 1e-20


def test_mmc_with_one_server_is_mm1():
    assert q.mmc_mean_wait_s(0.8, 1.0, 1) == pytest.approx(0.8 / 0.2)
    assert q.mmc_mean_response_s(0.8, 1.0, 1) == pytest.approx(5)
    assert q.littles_law(0.8, 5) == pytest.approx(4)
    assert q.mmc_wait_exceeds(0.8, 1.0, 1, 2.0) == pytest.approx(0.8 * math.exp(-0.4))
    assert q.mmc_wait_quantile_s(0.8, 1.0, 1, 0.1) == 0
    t = q.mmc_wait_quantile_s(1.8, 1.0, 2, 0.95)
    assert q.mmc_wait_exceeds(1.8, 1.0, 2, t) == pytest.approx(0.05)
    mean, _ = integrate.quad(lambda u: q.mmc_wait_exceeds(1.8, 1.0, 2, u), 0, np.inf)
    assert mean == pytest.approx(q.mmc_mean_wait_s(1.8, 1.0, 2))


def test_mm1_from_empty():
    """At once nothing, in the long run load / (1 - load), overloaded growing by load - 1."""
    number = q.mm1_mean_number_at(0.5, 1.0, [0.0, 1e-3, 60.0])
    assert number[0] == 0
    assert number[1] == pytest.approx(0.5e-3, rel=1e-3)
    assert number[2] == pytest.approx(1.0, abs=2e-3)
    late = q.mm1_mean_number_at(1.5, 1.0, [400.0, 500.0])
    assert late[1] - late[0] == pytest.approx(50, rel=1e-3)


def test_mm1_from_empty_against_the_generator():
    rate, states = 0.9, 120
    up, down = np.full(states - 1, rate), np.ones(states - 1)
    generator = np.diag(up, 1) + np.diag(down, -1)
    generator -= np.diag(generator.sum(axis=1))
    at = linalg.expm(7.0 * generator)[0]
    expected = float(at @ np.arange(states))
    assert q.mm1_mean_number_at(rate, 1.0, [7.0])[0] == pytest.approx(expected, rel=1e-9)


def test_the_server_of_the_hierarchical_paper():
    """48.65 s is the exponential service; 40 s exactly each time would give 44.32 s."""
    rate = 2 / 450
    assert q.mg1_mean_response_s(rate, Exponential(40)) == pytest.approx(48.65, abs=0.005)
    assert q.mg1_mean_response_s(rate, Deterministic(40)) == pytest.approx(44.32, abs=0.005)


def md1_wait_exceeds(rate: float, t: float) -> float:
    """Erlang's sum for service of exactly 1."""
    terms = [
        (-rate * (t - k)) ** k / math.factorial(k) * math.exp(rate * (t - k))
        for k in range(math.floor(t) + 1)
    ]
    return 1 - (1 - rate) * sum(terms)


def test_inversion_against_known_waiting_times():
    for t in (0.01, 0.5, 3.0, 20.0):
        assert q.mg1_wait_exceeds(0.8, Exponential(1), t) == pytest.approx(
            0.8 * math.exp(-0.2 * t), abs=2e-8
        )
    for t in (0.3, 2.5, 5.01, 9.7, 0.99, 1.0, 1.01):
        expected, kink = md1_wait_exceeds(0.8, t), abs(t - 1) < 0.1
        found = q.mg1_wait_exceeds(0.8, Deterministic(1), t)
        assert found == pytest.approx(expected, abs=4e-4 if kink else 1e-6)
    assert q.mg1_wait_exceeds(0.8, Exponential(1), 0) == pytest.approx(0.8)
    assert q.mg1_wait_exceeds(0.8, Exponential(1), math.inf) == 0.0


def test_inversion_of_other_transforms():
    found = [q.invert_laplace(lambda s: 1 / (s**2 + 1), t) for t in (0.5, 2.0, 6.0)]
    assert found == pytest.approx([math.sin(t) for t in (0.5, 2.0, 6.0)], abs=1e-7)


LAWS: list[Law] = [
    Exponential(1),
    HyperExponential.with_cv2(1, 4),
    Bimodal.with_mean(1, 0.1, 20),
    LogNormal(1, 2),
    BoundedPareto.with_mean(1, 1.5, 1e3),
]


@pytest.mark.parametrize("law", [*LAWS[:4], pytest.param(LAWS[4], marks=pytest.mark.slow)], ids=str)
def test_inverted_waits_have_the_mean_of_pollaczek_khinchine(law):
    top = q.mg1_wait_quantile_s(0.7, law, 0.9999)
    steps = np.geomspace(1e-3, 8 * top, 51)
    exceeds = np.array([q.mg1_wait_exceeds(0.7, law, t) for t in steps])
    mean = 0.7e-3 + integrate.simpson(exceeds * steps, np.log(steps))
    assert mean == pytest.approx(q.mg1_mean_wait_s(0.7, law), rel=2e-3)
    t = q.mg1_wait_quantile_s(0.7, law, 0.95)
    assert q.mg1_wait_exceeds(0.7, law, t) == pytest.approx(0.05, abs=1e-7)
    assert q.mg1_wait_quantile_s(0.7, law, 0.2) == 0


@pytest.mark.parametrize("law", LAWS[:4], ids=str)
def test_pollaczek_khinchine_against_lindley(law):
    def run(streams: Streams) -> tuple[float, float]:
        rng = streams.generator("arrivals")
        arrival = np.cumsum(rng.exponential(1 / 0.6, 12_000))
        wait = q.fcfs_wait_s(arrival, law.sample(streams.generator("service"), 12_000))[2000:]
        return float(wait.mean()), float((wait > 2).mean())

    means, exceeds = zip(*(run(Streams(4).replication(i)) for i in range(20)), strict=True)
    assert student(means, 0.99).contains(q.mg1_mean_wait_s(0.6, law))
    assert student(exceeds, 0.99).contains(q.mg1_wait_exceeds(0.6, law, 2.0))


def by_class(rate: float, sizes: np.ndarray, classes: np.ndarray, rng, preemptive):
    """Response times at one server that always takes the job of the least class."""
    arrival, response = np.cumsum(rng.exponential(1 / rate, len(sizes))), np.empty(len(sizes))
    queue: list[tuple[int, int, float]] = []
    now, i, n = 0.0, 0, len(sizes)
    while i < n or queue:
        if not queue:
            now = max(now, arrival[i])
        while i < n and arrival[i] <= now:
            heapq.heappush(queue, (classes[i], i, sizes[i]))
            i += 1
        of_class, job, left = heapq.heappop(queue)
        until = now + left
        if preemptive and i < n and arrival[i] < until:
            heapq.heappush(queue, (of_class, job, until - arrival[i]))
            now = arrival[i]
            continue
        now = until
        response[job] = now - arrival[job]
    return response


BY_SIZE = {
    "srpt": q.mg1_srpt_response_s,
    "shortest job": q.mg1_sjf_response_s,
    "shortest job, preemptive": partial(q.mg1_sjf_response_s, preemptive=True),
    "foreground-background": q.mg1_fb_response_s,
}


@pytest.mark.parametrize("order", list(BY_SIZE))
@pytest.mark.parametrize(
    "law", [Exponential(1), Bimodal.with_mean(1, 0.1, 20), HyperExponential.with_cv2(1, 4)], ids=str
)
def test_orders_by_size_against_a_simulated_server(order, law):
    """Thirty runs of 20,000 jobs, without the first 1,000: enough to see an error of 5 per cent."""

    def run(streams: Streams) -> float:
        sizes = law.sample(streams.generator("service"), 20_000)
        arrivals = np.cumsum(streams.generator("arrivals").exponential(1 / 0.5, 20_000))
        return float(RESPONSES[order](arrivals, sizes, 1)[1000:].mean())

    estimate = student([run(Streams(5).replication(i)) for i in range(30)], 0.99)
    expected = BY_SIZE[order](0.5, law)
    assert estimate.contains(expected)
    assert not estimate.contains(0.95 * expected)
    assert not estimate.contains(1.05 * expected)


def test_srpt_averages_over_sizes():
    law = Exponential(1)
    mean, _ = integrate.quad(
        lambda x: law.pdf(x) * q.mg1_srpt_response_s(0.8, law, x), 1e-6, 40, limit=200
    )
    assert mean == pytest.approx(q.mg1_srpt_response_s(0.8, law), rel=1e-5)
    small = q.mg1_srpt_response_s(0.8, law, 1e-3)
    assert small == pytest.approx(1e-3, rel=0.01)
    values = Empirical((1.0, 2.0, 2.0, 7.0))
    by_size = [q.mg1_srpt_response_s(0.2, values, x) for x in values.values]
    assert q.mg1_srpt_response_s(0.2, values) == pytest.approx(np.mean(by_size))


@pytest.mark.parametrize("preemptive", [False, True])
def test_shortest_job_first_of_two_sizes_is_two_classes(preemptive):
    """Sizes 1 and 4, half each, at load 0.75: the classes of Cobham's formula."""
    law = Empirical((1.0, 4.0))
    classes = q.mg1_priority_response_s(
        [0.15, 0.15], [Deterministic(1.0), Deterministic(4.0)], preemptive
    )
    assert q.mg1_sjf_response_s(0.3, law, preemptive) == pytest.approx(classes.mean())
    assert q.mg1_sjf_response_s(0.3, law, preemptive, 4.0) == pytest.approx(classes[1])


def test_least_attained_service():
    """Of exponential jobs any order that does not know sizes; equal jobs all end with the busy period.

    A busy period that an arrival finds or begins, of jobs of 1 s at load 0.5: 1/0.5 + 0.5/2/0.25 = 3 s. In size
    1 of sizes 1 and 4 only 1 s of each counts.
    """
    assert q.mg1_fb_response_s(0.5, Exponential(1.0)) == pytest.approx(2.0)
    assert q.mg1_fb_response_s(0.5, Deterministic(1.0)) == pytest.approx(3.0)
    assert q.mg1_fb_response_s(0.3, Empirical((1.0, 4.0)), 1.0) == pytest.approx(
        1 / 0.7 + 0.3 / 2 / 0.49
    )


@pytest.mark.parametrize(
    "text",
    [
        "hyperexponential:1,cv2=4",
        "lognormal:1,cv=2",
        "weibull:1,shape=0.7",
        "bounded-pareto:low=0.1,high=100,alpha=1.5",
    ],
)
def test_orders_by_size_rank_as_they_must(text):
    """SRPT is the least; preemption helps the short ones; of decreasing failure rates FB is the best that is blind."""
    law = parse_law(text)
    rate = 0.7 / law.mean
    srpt, psjf, sjf, fb, fcfs = (
        q.mg1_srpt_response_s(rate, law), q.mg1_sjf_response_s(rate, law, preemptive=True),
        q.mg1_sjf_response_s(rate, law), q.mg1_fb_response_s(rate, law), q.mg1_mean_response_s(rate, law),
    )  # fmt: skip
    assert srpt < psjf < sjf < fcfs
    assert psjf < fb < q.mg1_ps_response_s(rate, law)


def test_srpt_of_equal_jobs_is_first_come_first_served():
    law = Deterministic(2.0)
    assert q.mg1_srpt_response_s(0.4, law) == pytest.approx(q.mg1_mean_response_s(0.4, law))


@pytest.mark.parametrize("preemptive", [False, True])
def test_priorities_against_a_simulated_server(preemptive):
    services = [Exponential(0.5), Bimodal.with_mean(1.5, 0.2, 5)]
    rates = [0.5, 0.3]
    expected = q.mg1_priority_response_s(rates, services, preemptive)

    def run(streams: Streams) -> list[float]:
        rng = streams.generator("classes")
        kind = (rng.random(8000) < rates[1] / sum(rates)).astype(int)
        draws = [law.sample(rng, 8000) for law in services]
        sizes = np.where(kind == 1, draws[1], draws[0])
        response = by_class(sum(rates), sizes, kind, streams.generator("arrivals"), preemptive)
        return [float(response[1000:][kind[1000:] == c].mean()) for c in (0, 1)]

    runs = np.array([run(Streams(6).replication(i)) for i in range(20)])
    for c in (0, 1):
        assert student(runs[:, c], 0.99).contains(expected[c])


def test_priorities_conserve_work():
    """Without preemption, the load-weighted waits are those of first come first served."""
    services = [Exponential(0.5), Deterministic(2.0), LogNormal(1, 1)]
    rates = np.array([0.4, 0.1, 0.2])
    mean = np.array([s.mean for s in services])
    wait = q.mg1_priority_response_s(rates.tolist(), services, False) - mean
    second = sum(r * s.second_moment for r, s in zip(rates, services, strict=True))
    load = float(rates @ mean)
    assert float((rates * mean) @ wait) == pytest.approx(load * second / (2 * (1 - load)))
    alone = q.mg1_priority_response_s(rates.tolist(), services, True)[0]
    assert alone == pytest.approx(q.mg1_mean_response_s(0.4, services[0]))


def test_processor_sharing_is_insensitive():
    responses = {round(q.mg1_ps_response_s(0.7, law), 12) for law in LAWS}
    assert responses == {round(1 / 0.3, 12)}
    assert q.mg1_ps_response_s(0.7, LAWS[0], 3.0) == pytest.approx(10)


def test_gg_approximations():
    assert q.ggc_mean_wait_s(0.8, 1, 1, 1, 1) == pytest.approx(4)
    assert q.ggc_mean_wait_s(1.8, 1, 1, 1, 2) == pytest.approx(q.mmc_mean_wait_s(1.8, 1, 2))
    law = LogNormal(1, 2)
    assert q.ggc_mean_wait_s(0.7, 1, 1, law.cv2) == pytest.approx(q.mg1_mean_wait_s(0.7, law))
    # The bound bounds; for M/M/1 by (1 - load) / 2 / load^2 of it.
    for load in (0.3, 0.6, 0.99):
        wait = q.mmc_mean_wait_s(load, 1, 1)
        assert wait < q.kingman_bound_s(load, 1, 1, 1)
    assert q.kingman_bound_s(0.99, 1, 1, 1) == pytest.approx(wait, rel=0.02)


def test_allen_cunneen_is_near_a_sample_of_the_queue():
    """Uniform gaps and bimodal service at three servers: within 15 per cent."""
    law = Bimodal.with_mean(1, 0.2, 5)

    def run(streams: Streams) -> float:
        gaps = streams.generator("arrivals").uniform(0, 2 / 2.5, 20_000)
        service = law.sample(streams.generator("service"), 20_000)
        return float(q.fcfs_wait_s(np.cumsum(gaps), service, 3)[2000:].mean())

    found = student([run(Streams(7).replication(i)) for i in range(10)])
    assert q.ggc_mean_wait_s(2.5, 1 / 3, 1, law.cv2, 3) == pytest.approx(found.mean, rel=0.15)


def test_fcfs_by_hand():
    waits = q.fcfs_wait_s([0, 1, 2, 3], [3, 3, 1, 1])
    assert waits.tolist() == [0, 2, 4, 4]
    assert q.fcfs_wait_s([0, 1, 2, 3], [3, 3, 1, 1], servers=2).tolist() == [0, 0, 1, 1]


def test_mginf_is_poisson_whatever_the_law():
    n = np.arange(12)
    for law in LAWS:
        assert q.mginf_number_pmf(3.0, law, n) == pytest.approx(stats.poisson.pmf(n, 3.0))
        inside, _ = integrate.quad(lambda u, law=law: 1 - law.cdf(u), 0, 0.8, limit=200)
        expected = stats.poisson.pmf(n, 3 * inside)
        assert q.mginf_number_pmf(3.0, law, n, 0.8) == pytest.approx(expected, rel=1e-4)


def test_sizing_by_the_hierarchical_paper():
    sizing = q.size_servers(20, 1 / 4500, Exponential(40), 50)
    assert (sizing.servers, sizing.formula) == (1, "M/M/c")
    assert sizing.mean_response_s == pytest.approx(48.65, abs=0.005)
    assert sizing.utilisation == pytest.approx(0.1778, abs=1e-4)
    assert q.size_servers(20, 1 / 4500, Deterministic(40), 50).formula == "M/G/1"


def test_sizing_is_the_least_number():
    for law in (Exponential(40), LogNormal(40, 2)):
        for controllers in (40, 200, 1000, 5000):
            sizing = q.size_servers(controllers, 1 / 4500, law, 45)
            rate = controllers / 4500
            wait = q.ggc_mean_wait_s(rate, 1, 40, law.cv2, sizing.servers)
            assert sizing.mean_wait_s == pytest.approx(wait)
            assert sizing.mean_response_s <= 45
            fewer = sizing.servers - 1
            if fewer > rate * 40:
                assert q.ggc_mean_wait_s(rate, 1, 40, law.cv2, fewer) + 40 > 45


LAW = Exponential(1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: q.mmc_mean_wait_s(2.0, 1.0, 2),
        lambda: q.mmc_mean_wait_s(-1.0, 1.0, 2),
        lambda: q.mmc_mean_wait_s(1.0, 0.0, 2),
        lambda: q.mmc_mean_wait_s(1.0, 1.0, 0),
        lambda: q.erlang_b(-1.0, 2),
        lambda: q.erlang_b(1.0, 1.5),  # type: ignore[arg-type]
        lambda: q.mg1_mean_wait_s(1.0, LAW),
        lambda: q.mg1_wait_quantile_s(0.5, LAW, 1.0),
        lambda: q.mg1_wait_quantile_s(0.5, LAW, 0.99999),
        lambda: q.mg1_priority_response_s([0.5, 0.6], [LAW, LAW], True),
        lambda: q.mg1_priority_response_s([0.5], [LAW, LAW], True),
        lambda: q.mg1_priority_response_s([], [], True),
        lambda: q.mg1_ps_response_s(1.1, LAW),
        lambda: q.mg1_srpt_response_s(1.0, LAW),
        lambda: q.mg1_srpt_response_s(0.5, LAW, -1.0),
        lambda: q.kingman_bound_s(0.5, -1, 1, 1),
        lambda: q.ggc_mean_wait_s(3.0, 1, 1, 1, 2),
        lambda: q.mginf_number_pmf(0.0, LAW, 1),
        lambda: q.mginf_number_pmf(1.0, LAW, 1, 0.0),
        lambda: q.littles_law(1.0, -1.0),
        lambda: q.mm1_mean_number_at(1.0, 1.0, [-1.0]),
        lambda: q.fcfs_wait_s([0.0], [1.0, 2.0]),
        lambda: q.size_servers(0, 1.0, LAW, 2.0),
        lambda: q.size_servers(1, 1.0, LAW, 1.0),
        lambda: q.size_servers(1, math.nan, LAW, 2.0),
        lambda: checks.require_stable("high"),
        lambda: q.erlang_b(1.0, "two"),  # type: ignore[arg-type]
        lambda: q.erlang_b(1.0, [2]),  # type: ignore[arg-type]
        lambda: q.erlang_b(1.0, math.nan),  # type: ignore[arg-type]
    ],
)
def test_bad_input_is_one_clear_line(call):
    with pytest.raises(InputError, match="expected"):
        call()


GIVEN = {
    "arrival_rate_per_s": 0.5, "mean_service_s": 1.0, "servers": 2, "load": 0.5, "q": 0.9, "t_s": 1.0,
    "times_s": [1.0, 2.0], "service": LAW, "mean_time_s": 1.0, "mean_patience_s": 2.0, "number": [1, 2],
    "arrival_cv2": 1.0, "service_cv2": 1.0, "arrival_s": [0.0, 1.0], "service_s": [1.0, 2.0],
    "transform": lambda s: 1 / s, "t": 1.0, "arrival_rates_per_s": [0.1, 0.2], "services": [LAW, LAW],
    "preemptive": True, "size_s": 1.0, "elapsed_s": 1.0, "controllers": 2, "target_delay_s": 5.0,
    "cost_s": 1.0, "mean_up_s": 9.0, "mean_down_s": 1.0, "work_s": 5.0, "interval_s": 2.0, "restart_s": 1.0,
    "down_cv2": 1.0, "gaps_cv2": 1.0, "cv2": 1.0, "first_come": True,
}  # fmt: skip
"""Good values of every parameter of the closed forms."""
TEXTS = [["1", "2"], np.array(["1", "2"], object), np.array("q"), b"x", "x", "2"]
EMPTY, NAN = [], math.nan
WRONG = [*TEXTS, EMPTY, {}, object(), 1j, NAN]
LISTS = ("times_s", "number", "arrival_s", "service_s")
FORMULAS = [getattr(q, name) for name in q.__all__ if inspect.isfunction(getattr(q, name))] + [
    f for _, f in inspect.getmembers(reliability, inspect.isfunction) if f.__module__ == reliability.__name__
]  # fmt: skip


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda f: f.__name__)
def test_values_of_a_wrong_kind_are_one_line_that_names_them(formula):
    given = {name: GIVEN[name] for name in inspect.signature(formula).parameters}
    formula(**given)
    for name in {"servers", "controllers"} & set(given):
        with pytest.raises(InputError, match=f"{name} is 2.0, expected a whole number"):
            formula(**{**given, name: 2.0})
    for name in set(given) - {"preemptive", "first_come"}:
        for wrong in WRONG:
            if name in LISTS and (wrong is EMPTY or wrong is NAN):
                continue  # no numbers, or NaN among them: a matter of each formula
            first = name.split("_")[0].removesuffix("s")
            with input_error({"q": "quantile"}.get(name, first)):
                formula(**{**given, name: wrong})


def test_kingmans_bound_by_hand():
    """Load 0.5 x 1.2 = 0.6, variances 1.5 x 2 x 2 and 0.5 x 1.2 x 1.2: 0.5 x 6.72 / 0.8."""
    assert q.kingman_bound_s(0.5, 1.5, 1.2, 0.5) == pytest.approx(4.2)


def test_quantiles_of_waits_begin_above_the_part_that_does_not_wait():
    """M/M/1: P(wait > t) = load e^(-(1 - load) t / s). At a load of 0.9 the median is 10 ln(0.9 / 0.5); at 0.3 it is 0."""
    wait_s = q.mg1_wait_quantile_s(0.9, Exponential(1.0), 0.5)
    assert wait_s == pytest.approx(10 * math.log(1.8), rel=1e-6)
    assert q.mg1_wait_quantile_s(0.3, Exponential(1.0), 0.5) == 0.0
    assert q.mg1_wait_quantile_s(0.3, Exponential(1.0), 0.71) > 0.0
