"""Lower bound that knows that a job ends once: the Lagrangian dual of node-time over intervals.

The nodes give N len_i node-seconds in interval i. With a price lambda_i >= 0 for them, the jobs are
independent, and

    L(lambda) = sum_j min over i of C_ji(lambda) - sum_i lambda_i N len_i

is a lower bound on the cost of any schedule. C_ji is the least cost of job j if it ends in interval
i: its share of the nodes' price, lambda for its node-time, and its lateness. For m in [0, w_j] its
lateness costs at least (1 - m / w_j) w_j (start_i - d_j)^+ + m (seconds in use - slack_j), so

    C_ji >= max over m and pi of  (1 - m/w_j) w_j (start_i - d_j)^+ - m slack_j + pi
            - sum over i' <= i of len_ji' max over k of (pi / t_k - p_k - m - lambda_i' s_k)^+ ,

where pi, the price of the whole job's work, is the dual of "all work is done". Any pi and any m give
a bound, so grids of them do. lambda is found by the subgradient method; whatever it finds is a bound.
Where node types are fixed, every type has prices of its own.

`experiments.analysis.bounds.shared` spreads a job's lateness over the intervals in which it runs, which
is weaker where nodes are short for long.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.analysis.bounds import Options, intervals_of, options_of, useful
from simulator.model.cluster import Cluster, FloatArray, IntArray
from simulator.model.workload import Workload

PRICES = 24
"""Grid of pi while lambda is sought."""

FINE_PRICES = 120
"""Grid of pi for the bound itself."""

PATIENCE = 8
"""Steps without progress after which steps become shorter."""


def lagrangian(
    workload: Workload, cluster: Cluster, intervals: int = 40, steps: int = 120
) -> float:
    """Lower bound on the total cost of any schedule.

    Parameters
    ----------
    intervals, steps : more are tighter and slower; with these, 50 jobs take some seconds.

    Raises
    ------
    InputError
        As `experiments.analysis.bounds.options_of`.
    """
    dual = _Dual.of(workload, cluster, intervals)
    best, prices = dual.ascend(steps)
    return max(best, dual.evaluate(prices, FINE_PRICES, (0.0, 0.5, 1.0))[0])


@dataclass(frozen=True, eq=False)
class _Dual:
    """The arrays of L; K is the most configurations that a job has, others are padded.

    Attributes
    ----------
    speed, price, share : ``(J, K)`` 1 / t_k, p_k, s_k; padding has speed 0 and an infinite price.
    group : ``(J, K)`` row of lambda that a configuration pays.
    length_s : ``(J, I)`` of each interval that a job can use.
    late : ``(J, I)`` cost of the lateness of a job that ends no earlier than an interval starts;
        infinite before its submission.
    slack_s, weight : ``(J,)``.
    low, high : ``(J,)`` range of pi.
    supply : ``(groups, I)`` node-seconds; infinite in the last interval, whose price is 0.
    """

    speed: FloatArray
    price: FloatArray
    share: FloatArray
    group: IntArray
    length_s: FloatArray
    late: FloatArray
    slack_s: FloatArray
    weight: FloatArray
    low: FloatArray
    high: FloatArray
    supply: FloatArray

    @classmethod
    def of(cls, workload: Workload, cluster: Cluster, intervals: int) -> _Dual:
        options = [useful(o) for o in options_of(workload, cluster)]
        starts, ends = intervals_of(workload, options, cluster, intervals)
        speed, price, share, group = _padded(options, cluster)
        submit, due = workload.submit_s, workload.due_s
        weight = np.asarray(workload.weight_per_s)
        begin = np.maximum(starts[None, :], submit[:, None])
        # Any finite length is long enough at the end: a job needs no more than its longest time.
        longest = max(float(o.time_s.max()) for o in options)
        ends = np.minimum(ends, float(starts[-1]) + 2.0 * longest)
        length = np.maximum(ends[None, :] - begin, 0.0)
        late = weight[:, None] * np.maximum(begin - due[:, None], 0.0)
        late[length <= 0.0] = np.inf
        least = np.array([float(o.cost.min()) for o in options])
        alone = np.array(
            [float((o.cost + w * o.time_s).min()) for o, w in zip(options, weight, strict=True)]
        )
        nodes = np.array([cluster.num_nodes])
        if cluster.node_type_of is not None:
            nodes = np.bincount(cluster.node_type_of, minlength=len(cluster.node_types))
        supply = nodes[:, None] * (ends - starts)[None, :]
        supply[:, -1] = np.inf
        slack = np.minimum(due - submit, 1e12)
        low = 0.98 * np.maximum(least, 1e-9 * np.maximum(alone, 1.0))
        return cls(
            speed, price, share, group, length, late, slack, weight, low, 3.0 * alone + low, supply
        )

    def ascend(self, steps: int) -> tuple[float, FloatArray]:
        """The best bound of the subgradient method, and its prices ``(groups, I)``."""
        prices = np.zeros(self.supply.shape)
        best, best_prices, step, stale = -np.inf, prices, 1.0, 0
        limited = np.where(np.isfinite(self.supply), self.supply, 0.0)
        for i in range(steps):
            value, used = self.evaluate(prices, PRICES)
            if value > best:
                best, best_prices, stale = value, prices, 0
            else:
                stale += 1
            if stale > PATIENCE:
                step, stale, prices = 0.6 * step, 0, best_prices
                continue
            slope = np.where(np.isfinite(self.supply), used - limited, 0.0)
            slope[(prices <= 0.0) & (slope < 0.0)] = 0.0
            norm = float((slope**2).sum())
            if norm <= 0.0:
                break
            # Polyak's step towards a value somewhat above the best.
            target = best + (0.05 if i < steps // 4 else 0.05 * step) * max(abs(best), 1e-9)
            prices = np.maximum(prices + step * (target - value) * slope / norm, 0.0)
        return best, best_prices

    def evaluate(
        self, prices: FloatArray, count: int, urgency: tuple[float, ...] = (0.0, 1.0)
    ) -> tuple[float, FloatArray]:
        """L, and the node-seconds ``(groups, I)`` that its schedules use.

        Parameters
        ----------
        count : points of the grid of pi.
        urgency : values of m / w.
        """
        total, used = 0.0, np.zeros(self.supply.shape)
        # In parts, so that what is computed fits into a cache.
        size = max(1, 2_000_000 // (count * self.speed.shape[1] * self.late.shape[1]))
        for first in range(0, len(self.speed), size):
            value, part = self._some(slice(first, first + size), prices, count, urgency)
            total += value
            used += part
        return total - float((prices[:, :-1] * self.supply[:, :-1]).sum()), used

    def _some(
        self, jobs: slice, prices: FloatArray, count: int, urgency: tuple[float, ...]
    ) -> tuple[float, FloatArray]:
        """The least costs of some jobs, summed, and the node-seconds of their schedules."""
        speed, share, group = self.speed[jobs], self.share[jobs], self.group[jobs]
        length, weight = self.length_s[jobs], self.weight[jobs]
        pi = np.exp(np.linspace(np.log(self.low[jobs]), np.log(self.high[jobs]), count, axis=1))
        # (n, I, K) what a second of each configuration costs
        rate = self.price[jobs][:, None, :] + prices[group].transpose(0, 2, 1) * share[:, None, :]
        n, intervals = length.shape
        cost = np.full((n, intervals), -np.inf)
        chosen = np.zeros((n, intervals), dtype=np.int64)
        gains, configs = [], []
        for u, part in enumerate(urgency):
            m = part * weight
            net = (
                pi[:, :, None, None] * speed[:, None, None, :] - (rate + m[:, None, None])[:, None]
            )
            config = net.argmax(axis=3)  # (n, G, I)
            gain = np.maximum(np.take_along_axis(net, config[..., None], 3)[..., 0], 0.0)
            work = pi[:, :, None] - np.cumsum(gain * length[:, None, :], axis=2)
            best = work.argmax(axis=1)  # (n, I)
            value = np.take_along_axis(work, best[:, None, :], 1)[:, 0]
            with np.errstate(invalid="ignore"):
                value += (1.0 - part) * self.late[jobs] - (m * self.slack_s[jobs])[:, None]
            value[np.isinf(self.late[jobs])] = -np.inf if u else np.inf
            better = value > cost
            cost = np.where(better, value, cost)
            chosen = np.where(better, u * count + best, chosen)
            gains.append(gain)
            configs.append(config)
        end = cost.argmin(axis=1)
        row = np.arange(n)
        used = self._usage(
            jobs, np.concatenate(gains, axis=1), np.concatenate(configs, axis=1),
            end, chosen[row, end], count,
        )  # fmt: skip
        return float(cost[row, end].sum()), used

    def _usage(
        self,
        jobs: slice,
        gain: FloatArray,
        config: IntArray,
        end: IntArray,
        chosen: IntArray,
        count: int,
    ) -> FloatArray:
        """Node-seconds of schedules that do each job's work: a blend of two neighbouring pi."""
        length, speed, share = self.length_s[jobs], self.speed[jobs], self.share[jobs]
        row = np.arange(len(end))
        before = np.arange(length.shape[1])[None, :] <= end[:, None]

        def at(point: IntArray) -> tuple[FloatArray, FloatArray, IntArray]:
            k = config[row, point]
            seconds = length * before * (gain[row, point] > 0.0)
            done = (seconds * np.take_along_axis(speed, k, 1)).sum(axis=1)
            return seconds * np.take_along_axis(share, k, 1), done, k

        first = chosen // count * count
        middle, done, _ = at(chosen)
        less = at(np.maximum(chosen - 1, first))
        more = at(np.minimum(chosen + 1, first + count - 1))
        over = done >= 1.0
        low_done, high_done = np.where(over, less[1], done), np.where(over, done, more[1])
        spread = high_done - low_done
        with np.errstate(divide="ignore", invalid="ignore"):
            blend = np.where(spread > 0.0, np.clip((1.0 - low_done) / spread, 0.0, 1.0), 0.0)
        used = np.zeros(self.supply.shape)
        pairs = (
            (np.where(over, 0.0, 1.0) * (1.0 - blend) + np.where(over, blend, 0.0), middle, chosen),
            (np.where(over, 1.0 - blend, 0.0), less[0], np.maximum(chosen - 1, first)),
            (np.where(over, 0.0, blend), more[0], np.minimum(chosen + 1, first + count - 1)),
        )
        columns = np.broadcast_to(np.arange(length.shape[1]), length.shape)
        for part, seconds, point in pairs:
            of = np.take_along_axis(self.group[jobs], config[row, point], 1)
            np.add.at(used, (of, columns), part[:, None] * seconds)
        return used


def _padded(
    options: list[Options], cluster: Cluster
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """``(J, K)`` speed, price, share and group of the configurations of each job."""
    most = max(len(o.cost) for o in options)
    speed, price = np.zeros((len(options), most)), np.full((len(options), most), np.inf)
    share, group = np.zeros((len(options), most)), np.zeros((len(options), most), dtype=np.int64)
    for j, o in enumerate(options):
        k = slice(0, len(o.cost))
        speed[j, k], price[j, k] = 1.0 / o.time_s, o.cost / o.time_s
        share[j, k] = o.node_s / o.time_s
        if cluster.node_type_of is not None:
            group[j, k] = o.node_type
    return speed, price, share, group
