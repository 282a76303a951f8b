"""Jobs drawn from published models of logs: the moments that their papers print, the day, requested times."""

import math

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from simulator.workloads import acme_like, lublin
from simulator.workloads.acme_like import LAWS, SIZES, AcmeLikeJobs
from simulator.workloads.lublin import LublinJobs
from simulator.workloads.table import Setting

PUBLISHED = {  # mean and median running time (s), mean GPUs, GPU-seconds a job: cluster_summary.csv
    "seren": (1414.335, 122.0, 5.68, (4_560_592_618 + 14_274_584_510 + 2_675_447_459) / 663_813),
    "kalos": (1259.689, 124.0, 26.77, (1_667_685_146 + 3_239_202_064 + 426_292_851) / 19_907),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_law_has_the_published_moments(name):
    """By formula: those of a lognormal for each size, without the cut at the longest time."""
    law, p = LAWS[name], LAWS[name].probabilities()
    mean, median, gpus, work = PUBLISHED[name]
    medians = law.median_s * law.doubling ** np.arange(len(SIZES))
    means = medians * math.exp(law.sigma**2 / 2)
    assert p.sum() == pytest.approx(1)
    assert p @ SIZES == pytest.approx(gpus, rel=1e-3)
    assert p @ means == pytest.approx(mean, rel=1e-3)
    assert (p * SIZES) @ means == pytest.approx(work, rel=1e-3)

    def below(time_s):
        return float(p @ stats.lognorm.cdf(time_s, law.sigma, scale=medians)) - 0.5

    assert optimize.brentq(below, 1, 1e5) == pytest.approx(median, rel=1e-3)


@pytest.mark.parametrize("name", PUBLISHED)
def test_drawn_jobs_are_those_of_the_law(name):
    jobs = AcmeLikeJobs(num_jobs=50_000, like=name, jobs_per_hour=30).make(Setting(5))
    law, durations = LAWS[name], jobs.performance.duration_s
    assert np.bincount(np.log2(jobs.num_gpus).astype(int), minlength=11) / 50_000 == pytest.approx(
        law.probabilities(), abs=0.01
    )
    assert durations.max() <= law.longest_s
    assert np.median(durations) == pytest.approx(PUBLISHED[name][1], rel=0.04)
    assert np.diff(jobs.submit_s).mean() == pytest.approx(120, rel=0.02)


def test_the_largest_jobs_have_most_of_the_work():
    """Of Kalos' jobs 3.6 % have 256 GPUs or more; they have 90 % of the GPU-seconds."""
    law = LAWS["kalos"]
    p, median = law.probabilities(), law.doubling ** np.arange(11.0)
    work = p * SIZES * median
    assert p[8:].sum() == pytest.approx(0.0362, abs=1e-3)
    assert work[8:].sum() / work.sum() == pytest.approx(0.903, abs=1e-3)


def test_sizes_of_lublin():
    """0.244 of the jobs have one GPU; a parallel one is a power of two with 0.576, or when it falls on one."""
    gpus = lublin.sizes(np.random.default_rng(1), 200_000, 256)
    assert gpus.min() == 1
    assert gpus.max() == 256
    assert np.mean(gpus == 1) == pytest.approx(0.244, abs=0.004)
    expected = 0.244 + 0.756 * 0.576
    power = np.mean(np.isin(gpus, 2 ** np.arange(9)))
    assert expected < power < expected + 0.15
    # The mean of log2 of a two-stage uniform number: (0.86 x 0.8 + 5.5 + 0.14 x 8) / 2.
    assert np.log2(gpus).mean() == pytest.approx(
        0.756 * (0.86 * 0.8 + 5.5 + 0.14 * 8) / 2, rel=0.01
    )


def test_running_times_of_lublin():
    """The mean of exp of a gamma number below 12, by integration, at three sizes."""
    for size in (1, 64, 256):
        p = min(max(-0.0054 * size + 0.78, 0.05), 0.95)

        def mean(shape, scale):
            law = stats.gamma(shape, scale=scale)
            total, _ = integrate.quad(lambda x: math.exp(x) * law.pdf(x), 0, 12, limit=200)
            return total / law.cdf(12)

        expected = p * mean(4.2, 0.94) + (1 - p) * mean(312, 0.03)
        found = lublin.running_times_s(np.random.default_rng(3), np.full(200_000, size))
        assert found.mean() == pytest.approx(expected, rel=0.02)


def test_the_day_of_lublin():
    """Submissions follow the gamma law of the half hours: most between 13 and 17 h, fewest at 5; none is lost."""
    times_s = lublin.in_the_day_s(np.arange(0, 10 * 86_400, 10.0))
    assert (np.diff(times_s) > 0).all()
    hours = np.bincount((times_s % 86_400 // 3600).astype(int), minlength=24)
    assert hours.argmax() in range(13, 17)
    assert hours.argmin() == 5
    half_hours = np.bincount((times_s % 86_400 // 1800).astype(int), minlength=48) / len(times_s)
    law = stats.gamma(8.1737, scale=3.9631)
    whole = law.cdf(58.5) - law.cdf(10.5)
    for k in (11, 28, 47, 50):
        expected = (law.cdf(k + 0.5) - law.cdf(k - 0.5)) / whole
        assert half_hours[k % 48] == pytest.approx(expected, rel=0.04)


def test_load_and_requested_times_of_lublin():
    jobs = LublinJobs(num_jobs=4000, load=0.7, overestimate=3).make(Setting(2))
    durations = jobs.performance.duration_s
    factor = jobs.requested_s / durations
    assert 1 <= factor.min() < factor.max() <= 4
    assert factor.mean() == pytest.approx(2.5, rel=0.02)
    load = jobs.num_gpus @ durations / (256 * jobs.submit_s[-1])
    assert load == pytest.approx(0.7, rel=0.03)  # the last time lies within its day
    exact = LublinJobs(num_jobs=50, overestimate=0).make(Setting(2))
    assert exact.requested_s.tolist() == exact.performance.duration_s.tolist()


def test_the_same_seed_gives_the_same_jobs():
    for table in (LublinJobs(num_jobs=30), AcmeLikeJobs(num_jobs=30, jobs_per_hour=5)):
        one, again, other = (table.make(Setting(seed)) for seed in (1, 1, 2))
        assert one.submit_s.tolist() == again.submit_s.tolist()
        assert one.submit_s.tolist() != other.submit_s.tolist()
    assert acme_like.ONE_GPU > 0.5
