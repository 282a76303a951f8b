"""Checks of the parameters that the closed forms share; each raises `InputError`, one line."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from simulator.arguments import is_array, is_number, positive, short
from simulator.errors import InputError
from simulator.laws import FloatArray, Law, require_law


def load_of(arrival_rate_per_s: float, mean_service_s: float) -> float:
    """Erlang: arrival rate times mean service time, both positive."""
    positive(arrival_rate_per_s=arrival_rate_per_s, mean_service_s=mean_service_s)
    return arrival_rate_per_s * mean_service_s


def load_of_law(arrival_rate_per_s: float, service: Law) -> float:
    """Erlang: `load_of` with the mean of a law of service times."""
    require_law("service", service)
    return load_of(arrival_rate_per_s, service.mean)


def require_stable(load: float, servers: int = 1) -> float:
    """The load, if the servers can carry it."""
    real(load=load, servers=servers)
    if not 0 <= load < servers:
        raise InputError(
            f"the queue is not stable: {load:g} erlang on {servers} server(s), expected less load "
            "than servers"
        )
    return load


def real(**values: float) -> None:
    """Numbers, and not NaN; they may be infinite."""
    for name, value in values.items():
        if not is_number(value) or math.isnan(value):
            raise InputError(f"{name} is {short(value)}, expected a number")


def numbers(name: str, values: npt.ArrayLike) -> FloatArray:
    """An array of numbers."""
    if not (is_number(values) or is_array(values)):
        raise InputError(f"{name} is {short(values)}, expected numbers")
    return np.asarray(values, dtype=np.float64)
