"""Fixtures of several tests of the MILP."""

import pytest

from policies.milp import gurobi as backend
from simulator.errors import InputError


@pytest.fixture
def gurobi():
    """Skip where Gurobi, or any licence of it, is missing."""
    try:
        backend._environment()
    except InputError as reason:
        pytest.skip(str(reason))
