"""Laws: moments, distribution and transform agree with numerical integration and with draws."""

import math

import numpy as np
import pytest
from scipy import integrate

from simulator import laws
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
    Scaled,
    Weibull,
    parse_law,
    quantile,
)
from simulator.statistics import Streams

CONTINUOUS: list[Law] = [
    Exponential(2.0),
    HyperExponential.with_cv2(1.0, 4.0),
    LogNormal(1.0, 0.5),
    LogNormal(40.0, 2.0),
    BoundedPareto(1.0, 100.0, 1.5),
    BoundedPareto(1.0, 100.0, 2.0),  # the second moment is a logarithm
    Scaled(Exponential(0.5), 3.0),
]
ATOMIC: list[Law] = [Deterministic(3.0), Bimodal(1.0, 10.0, 0.2), Empirical((2.0, 1.0, 2.0))]
ATOMIC.append(Scaled(Bimodal(1.0, 10.0, 0.2), 0.3))


def integral(law: Law, f, upper: float) -> float:
    def of_log(y: float) -> float:
        return f(math.exp(y)) * law.pdf(math.exp(y)) * math.exp(y)

    low = math.log(max(law.support[0], 1e-9))
    return integrate.quad(of_log, low, math.log(upper), limit=400, epsabs=1e-13)[0]


@pytest.mark.parametrize("law", CONTINUOUS, ids=str)
def test_moments_are_integrals_of_the_density(law):
    top = law.support[1] if law.support[1] < math.inf else law.mean * 1e5
    for k in (0, 1, 2):
        assert law.moment(k) == pytest.approx(integral(law, lambda x, k=k: x**k, top), rel=1e-6)
        part = integral(law, lambda x, k=k: x**k, 1.7 * law.mean)
        assert law.partial_moment(k, 1.7 * law.mean) == pytest.approx(part, rel=1e-6)
    assert law.cv2 == pytest.approx(law.moment(2) / law.mean**2 - 1)


@pytest.mark.long
@pytest.mark.parametrize("law", CONTINUOUS, ids=str)
@pytest.mark.parametrize("s", [0.0, 0.5, 0.3 + 2j, 0.5 + 40j])
def test_transforms_are_integrals_of_the_density(law, s):
    scaled = s / law.mean
    top = law.support[1] if law.support[1] < math.inf else law.mean * 1e4
    grid = np.exp(np.linspace(math.log(max(law.support[0], 1e-9)), math.log(top), 400_001))
    weights = np.array([law.pdf(x) for x in grid[::40]])
    density = np.exp(np.interp(np.log(grid), np.log(grid[::40]), np.log(weights + 1e-300)))
    expected = integrate.trapezoid(np.exp(-scaled * grid) * density * grid, np.log(grid))
    assert law.laplace(scaled) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("law", ATOMIC, ids=str)
def test_atoms_add_up(law):
    assert sum(p for _, p in law.atoms) == pytest.approx(1)
    assert law.mean == pytest.approx(sum(p * x for x, p in law.atoms))
    transform = sum(p * np.exp(-(0.3 + 1j) * x) for x, p in law.atoms)
    assert law.laplace(0.3 + 1j) == pytest.approx(transform)
    assert law.cdf(law.support[1]) == pytest.approx(1)


@pytest.mark.parametrize(("value", "factor"), [(7.99, 4.2), (4.44, 5.01), (0.1, 3.0)])
def test_a_scaled_atom_is_where_it_says(value, factor):
    """Below it there is nothing, at it all: also where the division ends a rounding beside it."""
    law = Scaled(Deterministic(value), factor)
    ((at, _),) = law.atoms
    assert [law.cdf(math.nextafter(at, 0.0)), law.cdf(at), law.cdf(2 * at)] == [0.0, 1.0, 1.0]
    assert quantile(law, 0.5) == at


@pytest.mark.parametrize("law", CONTINUOUS + ATOMIC, ids=str)
def test_draws_follow_the_law(law):
    x = law.sample(Streams(1).generator("x"), 20_000)
    points = np.quantile(x, [0.1, 0.5, 0.9, 0.99])
    expected = np.array([law.cdf(p) for p in points])
    assert np.abs((x[:, None] <= points).mean(axis=0) - expected).max() < 0.015
    assert laws.quantile(law, 0.5) == pytest.approx(points[1], rel=0.05)
    assert law(Streams(2).generator("x")) > 0


def test_laws_of_a_given_mean():
    assert Bimodal.with_mean(3.0, 0.1, 20).mean == pytest.approx(3)
    assert BoundedPareto.with_mean(3.0, 1.5, 1e4).mean == pytest.approx(3)
    balanced = HyperExponential.with_cv2(3.0, 5.0)
    assert (balanced.mean, balanced.cv2) == pytest.approx((3, 5))
    assert balanced.weights[0] * balanced.means[0] == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("deterministic:40", Deterministic(40)),
        ("exponential:40", Exponential(40)),
        ("lognormal:40,cv=2", LogNormal(40, 2)),
        ("hyperexponential:40,cv2=4", HyperExponential.with_cv2(40, 4)),
        ("bimodal:small=1,large=9,p_large=0.5", Bimodal(1, 9, 0.5)),
        ("bounded-pareto:low=1,high=1000,alpha=1.5", BoundedPareto(1, 1000, 1.5)),
        ("empirical:3,1,2", Empirical((1, 2, 3))),
    ],
)
def test_laws_read_from_text(text, law):
    assert parse_law(text) == law


BAD = (
    "gamma:1", "exponential", "exponential:-1", "exponential:forty", "exponential:1,2",
    "lognormal:40", "lognormal:40,cv=0", "lognormal:40,cv2=1", "hyperexponential:40,cv2=0.5",
    "bimodal:small=9,large=1,p_large=0.5", "bimodal:small=1,large=9,p_large=2",
    "bounded-pareto:low=10,high=1,alpha=1.5", "empirical:", "empirical:1,-2", "deterministic:nan",
    "deterministic:1e300", "exponential:1e308", "empirical:1,1e200", "lognormal:1,cv=1e300",
    "hyperexponential:40,cv2=1e300", "bounded-pareto:low=5e-324,high=1,alpha=40",
    "weibull:1,shape=1e-3",
)  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_bad_laws_are_one_clear_line(text):
    with pytest.raises(InputError, match="expected"):
        parse_law(text)


def test_moments_of_laws_by_hand():
    """Lognormal: m^k (1 + cv^2)^(k (k - 1) / 2). Weibull of shape 2: E[X^2] = m^2 4 / pi. Pareto between 1 and 4 with alpha 1:
    density 4 / (3 x^2), so means of 4 ln(4) / 3 and 4. Balanced means of 2 and cv2 of 3: 2 * 4 + 2 * 4."""
    normal = LogNormal(3.0, 2.0)
    assert [normal.moment(k) for k in (1, 2, 3)] == pytest.approx([3.0, 9 * 5.0, 27 * 125.0])
    assert [Weibull(2.0, 2.0).moment(k) for k in (1, 2)] == pytest.approx([2.0, 16 / math.pi])
    pareto = BoundedPareto(1.0, 4.0, 1.0)
    assert [pareto.moment(k) for k in (1, 2)] == pytest.approx([4 * math.log(4) / 3, 4.0])
    assert [pareto.partial_moment(k, 2.0) for k in (0, 1)] == pytest.approx(
        [2 / 3, 4 * math.log(2) / 3]
    )
    balanced = HyperExponential.with_cv2(2.0, 3.0)
    assert (balanced.mean, balanced.second_moment) == pytest.approx((2.0, 16.0))
    assert balanced.weights[0] * balanced.means[0] == pytest.approx(1.0)
