"""Closed forms of machines that fail, which runs and exact formulas are laid beside."""

import math


def daly_completion_s(
    work_s: float, interval_s: float, cost_s: float, restart_s: float, mean_up_s: float
) -> float:
    """Expected time of a job with exponential failures and a checkpoint after every interval.

    Source: Daly 2006, equation 20: M e^{R/M} (e^{(I + C)/M} - 1) W / I. The machine is repaired at
    once; a restart takes ``restart_s`` and can be hit, too.
    """
    m = mean_up_s
    segment = math.expm1((interval_s + cost_s) / m)
    return m * math.exp(restart_s / m) * segment * work_s / interval_s


def mm1_breakdowns_response_s(
    arrival_rate_per_s: float, mean_service_s: float, mean_up_s: float, mean_down_s: float
) -> float:
    """Mean time in the system of M/M/1 whose server breaks down, busy or idle; work is kept.

    Source: Avi-Itzhak and Naor, Operations Research 11, 1963 (their model of breakdowns at any time). Times up
    and down are exponential. A job that arrives finds the server down with probability D / (M + D) and waits for
    the rest of the repair; each job ahead, and itself, takes S (1 + D / M) on average.
    """
    effective_s = mean_service_s * (1 + mean_down_s / mean_up_s)
    load = arrival_rate_per_s * effective_s
    assert load < 1
    down = mean_down_s / (mean_up_s + mean_down_s)
    return (down * mean_down_s + effective_s) / (1 - load)
