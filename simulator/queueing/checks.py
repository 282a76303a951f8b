"""Checks of the parameters that the closed forms share; each raises `InputError`, one line."""

from __future__ import annotations

import math

from simulator.arguments import is_number
from simulator.errors import InputError


def load_of(arrival_rate_per_s: float, mean_service_s: float) -> float:
    """Erlang: arrival rate times mean service time, both positive."""
    positive(arrival_rate_per_s=arrival_rate_per_s, mean_service_s=mean_service_s)
    return arrival_rate_per_s * mean_service_s


def require_stable(load: float, servers: int = 1) -> float:
    """The load, if the servers can carry it."""
    if not is_number(load):
        raise InputError(f"load is {load!r}, expected a number")
    if not 0 <= load < servers:
        raise InputError(
            f"the queue is not stable: {load:g} erlang on {servers} server(s), expected less load "
            "than servers"
        )
    return load


def whole_servers(servers: int, least: int = 1) -> None:
    """A whole number of servers, at least ``least``."""
    is_whole = is_number(servers) and not isinstance(servers, bool) and servers % 1 == 0
    if not is_whole or servers < least:
        raise InputError(f"servers is {servers}, expected a whole number >= {least}")


def positive(**values: float) -> None:
    """All values are positive and finite."""
    for name, value in values.items():
        if not (is_number(value) and 0 < value < math.inf):
            raise InputError(f"{name} is {value}, expected a positive number")


def nonnegative(**values: float) -> None:
    """All values are finite and not negative."""
    for name, value in values.items():
        if not (is_number(value) and 0 <= value < math.inf):
            raise InputError(f"{name} is {value}, expected a number >= 0")


def fraction(q: float) -> None:
    """A quantile lies between 0 and 1, both excluded."""
    if not (is_number(q) and 0 < q < 1):
        raise InputError(f"quantile is {q}, expected between 0 and 1")
