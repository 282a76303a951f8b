"""Erlang A against a linear solve, and against its limits."""

import numpy as np
import pytest
from scipy import stats

from simulator import InputError
from simulator.theory import erlang_a, erlang_b, erlang_c, mmc_mean_wait_s


@pytest.mark.parametrize(
    ("load", "servers", "patience"), [(0.8, 1, 2.0), (6.0, 4, 0.5), (3.0, 8, 1.0)]
)
def test_against_a_linear_solve(load, servers, patience):
    size = 120
    generator = np.zeros((size, size))
    for n in range(size):
        if n + 1 < size:
            generator[n, n + 1] = load
        if n:
            generator[n, n - 1] = min(n, servers) + max(n - servers, 0) / patience
        generator[n, n] = -generator[n].sum()
    system = np.vstack([generator.T[:-1], np.ones(size)])
    p = np.linalg.solve(system, np.eye(size)[-1])
    queue = np.maximum(np.arange(size) - servers, 0) @ p
    found = erlang_a(load, 1.0, servers, patience)
    assert found.waits == pytest.approx(p[servers:].sum(), rel=1e-9)
    assert found.abandons == pytest.approx(queue / patience / load, rel=1e-9)
    assert found.mean_wait_s == pytest.approx(queue / load, rel=1e-9)


def test_limits():
    """No patience: Erlang B. Endless patience: Erlang C. Patience as long as a service: M/M/inf."""
    assert erlang_a(3.0, 1.0, 4, 1e-9).abandons == pytest.approx(erlang_b(3.0, 4), rel=1e-6)
    patient = erlang_a(0.7, 1.0, 1, 1e5)
    assert patient.waits == pytest.approx(erlang_c(0.7, 1), rel=1e-3)
    assert patient.mean_wait_s == pytest.approx(mmc_mean_wait_s(0.7, 1.0, 1), rel=1e-3)
    assert erlang_a(5.0, 1.0, 4, 1.0).waits == pytest.approx(stats.poisson.sf(3, 5.0), rel=1e-9)


def test_impossible_parameters():
    with pytest.raises(InputError, match="mean_patience_s"):
        erlang_a(1.0, 1.0, 1, 0.0)
