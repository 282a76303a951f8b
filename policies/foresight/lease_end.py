"""The end of the lease: a second due date of every job, where idle nodes have a price.

N nodes that are paid until the last job ends cost c a second each, used or not. The *least end* C is how soon the
active jobs can be over, counted from now: the least C with

    C >= r_j min over k of t_jk                    each job alone, on its fastest configuration
    N C >= sum over j of r_j g_j(C / r_j)          the node-seconds of all jobs

r_j g_j(C / r_j) is the least number of node-seconds with which job j is over after C, perhaps with a part of its work
on one configuration and the rest on another: g_j is the lower convex hull of the points (t_jk, s_k t_jk). It is the
greatest of a few lines. So Newton's method, which goes along tangents, reaches the exact C from the first bound.

A job that ends after C puts off the end of the lease, at N c a second, unless another job arrives before C: then
the lease goes on in any case. With arrivals at rate 1/tau, nobody arrives for C seconds with probability
exp(-C / tau). Where the last arrival is longer ago than tau, arrivals have become rarer or are over, and that time takes the
place of tau.

Where nodes have several types, a node-second of type v counts omega_v times, as in `policies.foresight.price`: the
limits of all types, added up with these weights, are one that every schedule keeps, so C is still a lower bound.
"""

from __future__ import annotations

import math

import numpy as np

from policies.foresight.machines import Machines
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.tolerances import SUMS

STEPS = 100
"""Of Newton's method at most. Each leaves a line behind; a handful is what it takes."""


class LeaseEnd:
    """Least end of a controller's active jobs, and what a second after it costs.

    Attributes
    ----------
    price_per_s : N c, of all nodes of the controller while they are idle; 0 where there is no lease.
    """

    def __init__(self, machines: Machines) -> None:
        self._machines = machines
        self.price_per_s = machines.idle_price_per_s
        self._speed = np.empty(0)
        self._lines = np.empty((0, 2, len(machines.config_type)))
        self._filled = 0

    def update(self, times_s: FloatArray, speed: FloatArray) -> None:
        """Take in jobs seen since the last time; ``(n, C)`` of all jobs seen, and ``(C,)`` omega."""
        if not np.array_equal(speed, self._speed):
            self._speed, self._filled = speed, 0
        count = len(times_s)
        if count > len(self._lines):
            self._lines = np.resize(self._lines, (max(64, 2 * count), *self._lines.shape[1:]))
        if count > self._filled:
            new = times_s[self._filled :]
            possible = np.where(np.isfinite(new), new, 0.0)  # infinite times omega = 0 has no value
            work = possible * (self._machines.config_share * speed)
            self._lines[self._filled : count] = hull_lines(new, work)
            self._filled = count

    def least_s(self, rows: IntArray, left: FloatArray, fastest_s: FloatArray) -> float:
        """C, seconds from now.

        Parameters
        ----------
        rows : of the active jobs.
        left, fastest_s : ``(n,)`` fractions of their work, and shortest times of the whole jobs.
        """
        level, slope = self._lines[rows, 0], self._lines[rows, 1]
        nodes = self._machines.nodes_by_speed(self._speed)
        return least_end(left[:, None] * level, slope, nodes, float((left * fastest_s).max()))

    def weight_per_s(self, end_s: float, tau_s: float, silent_s: float) -> float:
        """Cost of a second after the least end: N c exp(-C / max(tau, time since the last arrival))."""
        return self.price_per_s * math.exp(-end_s / max(tau_s, silent_s))


def hull_lines(times_s: FloatArray, work: FloatArray) -> FloatArray:
    """``(n, 2, C)`` levels and slopes of lines whose greatest is g_j, from the shortest time on.

    Parameters
    ----------
    times_s, work : ``(n, C)`` the points; a job cannot run where the time is infinite, whatever the work there.
    """
    rows, times_s = np.arange(len(times_s)), np.where(np.isfinite(times_s), times_s, np.inf)
    lines = np.zeros((len(times_s), 2, times_s.shape[1]))
    at = np.lexsort((work, times_s), axis=1)[:, 0]  # the fastest; of equals the least work
    for i in range(times_s.shape[1]):
        t, w = times_s[rows, at], work[rows, at]
        run = times_s - t[:, None]
        later = np.isfinite(run) & (run > 0.0)
        rise = np.where(later, work - w[:, None], np.inf)
        steepest = (rise / np.where(later, run, 1.0)).argmin(axis=1)
        slope = np.minimum(rise[rows, steepest] / np.where(later, run, 1.0)[rows, steepest], 0.0)
        lines[:, 0, i], lines[:, 1, i] = w - slope * t, slope
        at = np.where(slope < 0.0, steepest, at)
    return lines


def least_end(level: FloatArray, slope: FloatArray, nodes: float, first_s: float) -> float:
    """The least C >= ``first_s`` within which the jobs fit on the nodes.

    Parameters
    ----------
    level, slope : ``(n, L)`` lines: a job takes the greatest of ``level + slope C`` node-seconds.
    """
    rows, end_s = np.arange(len(level)), first_s
    for _ in range(STEPS):
        work = level + slope * end_s
        greatest = work.argmax(axis=1)
        excess = float(work[rows, greatest].sum()) - nodes * end_s
        if excess <= SUMS * nodes * end_s:
            break
        end_s += excess / (nodes - float(slope[rows, greatest].sum()))
    return end_s
