"""Speed-up functions: values, slopes, best widths, and what they refuse."""

import math
import warnings

import numpy as np
import pytest
from scipy import optimize

from simulator.errors import InputError
from simulator.model.speedup import Amdahl, Power, Speedup, Tabulated, UserDefined, WholeGpus


def logarithmic(k: float) -> float:
    return 1 + math.log(k)


SMOOTH: list[Speedup] = [Amdahl(0.8), Amdahl(0.0), Power(0.5), Power(0.0), UserDefined(logarithmic)]
CORNERED: list[Speedup] = [
    Tabulated((1, 2, 4, 8), (10, 19, 34, 50)),
    WholeGpus(Amdahl(0.8)),
    WholeGpus(Power(0.5)),
]


def test_values_by_hand():
    assert Amdahl(0.8)([1, 2, 4]) == pytest.approx([1, 1 / 0.6, 2.5])
    assert Power(0.5)([1, 4, 9]) == pytest.approx([1, 2, 3])
    assert Tabulated((1, 2, 4), (5, 9, 15))([1, 1.5, 2, 3, 4, 100]) == pytest.approx(
        [1, 1.4, 1.8, 2.4, 3, 3]
    )
    assert WholeGpus(Power(0.5))(2.5) == pytest.approx((math.sqrt(2) + math.sqrt(3)) / 2)
    assert UserDefined(logarithmic)(np.e) == pytest.approx(2)


def _name(speedup: Speedup) -> str:
    """The same in every process, unlike the address of a function."""
    return str(speedup).partition(" at 0x")[0]


@pytest.mark.parametrize("speedup", SMOOTH + CORNERED, ids=_name)
def test_shape(speedup):
    k = np.geomspace(1, 500, 300)
    s = speedup(k)
    assert s[0] == pytest.approx(1)
    assert (np.diff(s) >= -1e-12).all()
    assert (np.diff(np.diff(s) / np.diff(k)) <= 1e-9).all()
    assert speedup(0.25) == pytest.approx(0.25)  # a GPU shared in time
    assert speedup(3.0).shape == ()
    assert speedup(np.ones((2, 3))).shape == (2, 3)


@pytest.mark.parametrize("speedup", SMOOTH + CORNERED, ids=_name)
def test_slopes_are_those_of_differences(speedup):
    for k in (1.3, 3.7, 6.1):
        h = 1e-6
        expected = (speedup(k + h) - speedup(k - h)) / (2 * h)
        assert speedup.derivative(k) == pytest.approx(expected, abs=1e-8)
    assert speedup.derivative(2.0, "left") >= speedup.derivative(2.0, "right") - 1e-10


def test_slopes_on_both_sides_of_a_corner():
    table = Tabulated((1, 2, 4), (5, 9, 15))
    assert table.derivative(2, "left") == pytest.approx(0.8)
    assert table.derivative(2, "right") == pytest.approx(0.6)
    assert table.derivative(4, "right") == 0
    whole = WholeGpus(Power(0.5))
    assert whole.derivative(2, "left") == pytest.approx(math.sqrt(2) - 1)
    assert whole.derivative(2, "right") == pytest.approx(math.sqrt(3) - math.sqrt(2))


@pytest.mark.parametrize("speedup", SMOOTH + CORNERED, ids=_name)
@pytest.mark.parametrize("price", [20.0, 0.7, 0.05, 0.003])
def test_best_widths_have_the_least_cost(speedup, price):
    def cost(k: float) -> float:
        return (1 + price * k) / float(speedup(k))

    best = speedup.best_width(price)
    found = optimize.minimize_scalar(
        lambda y: cost(math.exp(y)), bounds=(0, math.log(1e4)), method="bounded"
    )
    assert cost(best) <= min(found.fun, cost(1.0)) * (1 + 1e-9)


def test_linear_speedup_has_no_best_width():
    assert Amdahl(1.0).best_width(1.0) == math.inf
    assert Power(1.0).best_width(1.0) == math.inf
    assert UserDefined(lambda k: 0.5 + 0.5 * k).best_width(0.5) == math.inf


def test_points_under_the_hull_are_lifted_with_a_warning():
    with pytest.warns(UserWarning, match=r"2 of 5 points .* at 8 GPUs"):
        noisy = Tabulated((1, 2, 4, 6, 8), (1, 1.9, 3.0, 4.4, 4.0))
    assert noisy([2, 4, 6, 8, 20]) == pytest.approx([1.9, 1.9 + 2 * (2.5 / 4), 4.4, 4.4, 4.4])


def test_concave_points_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Tabulated((1, 2, 4), (100.0, 180.0, 300.0))


def test_mixtures_keep_the_mean_time():
    whole = WholeGpus(Power(0.5))
    narrow, wide, fraction = whole.mix(5.3)
    assert (narrow, wide) == (5, 6)
    time = (1 - fraction) / math.sqrt(5) + fraction / math.sqrt(6)
    gpu_time = (1 - fraction) * math.sqrt(5) + fraction * math.sqrt(6)
    assert time == pytest.approx(1 / float(whole(5.3)))
    assert gpu_time / time == pytest.approx(5.3)
    assert whole.mix(4.0) == (4, 4, 0.0)


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (lambda: Amdahl(1.2), "between 0 and 1"),
        (lambda: Amdahl(math.nan), "between 0 and 1"),
        (lambda: Power(1.5), "convex"),
        (lambda: Power(-0.1), "between 0 and 1"),
        (lambda: Tabulated((1, 2, 4), (1, 1.2, 3)), "convex"),
        (lambda: Tabulated((1, 2, 4), (1, 2.5, 3)), "more than linear"),
        (lambda: Tabulated((2, 4), (1, 2)), "from 1"),
        (lambda: Tabulated((1, 4, 2), (1, 2, 3)), "ascending"),
        (lambda: Tabulated((1, 2), (1, 2, 3)), "equal"),
        (lambda: Tabulated((), ()), "equal"),
        (lambda: Tabulated((1, 2), (1, -2)), "positive"),
        (lambda: Tabulated((1, 2), (1, math.nan)), "positive"),
        (lambda: UserDefined(lambda k: k**1.2), "convex"),
        (lambda: UserDefined(lambda k: 1 / k), "non-decreasing"),
        (lambda: UserDefined(lambda k: 2 * math.sqrt(k)), r"s\(1\)"),
        (lambda: UserDefined(lambda k: 1 if k < 50 else math.inf), "finite"),
        (lambda: UserDefined(lambda k: max(1.0, 0.5 * k)), "convex"),
        (lambda: Amdahl(0.8).derivative(0.5), "at least 1"),
    ],
)
def test_bad_speedups_are_one_clear_line(build, told):
    with pytest.raises(InputError, match=told) as caught:
        build()
    assert "expected" in str(caught.value)
