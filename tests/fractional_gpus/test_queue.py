"""Shared GPUs with departures: parts as servers of a queue, parts of all sizes, wrong ones refused."""

import numpy as np
import pytest

from policies import make_policy
from policies.fractional_gpus.policy import SharedFirstCome
from policies.fractional_gpus.state import RULES
from simulator import Cluster, InputError
from simulator.workloads.openb import OpenbLikeJobs
from simulator.workloads.table import Setting
from tests.core.jobs import fixed, nodes, run, sharing


def test_halves_of_one_gpu_are_two_servers():
    rng = np.random.default_rng(1)
    submit_s, duration_s = np.cumsum(rng.exponential(70.0, 500)), rng.exponential(100.0, 500)
    halves = run(sharing(submit_s, duration_s), nodes(1), make_policy("shared", rule="best-fit"))
    whole = run(fixed(submit_s, duration_s), nodes(2))
    np.testing.assert_allclose(halves.completion_s, whole.completion_s)


def test_mistakes():
    with pytest.raises(InputError, match="shared: rule is 'tightest'"):
        make_policy("shared", rule="tightest")
    with pytest.raises(InputError, match="parts of GPUs"):
        sharing([0, 0], 50.0, 1.5)
    with pytest.raises(InputError, match="expected nodes of fixed types"):
        run(sharing([0, 0], 50.0), Cluster.rental_pool(), "shared")


def test_every_list_policy_runs_parts_as_whole_gpus():
    jobs, cluster = OpenbLikeJobs(
        num_jobs=60, num_nodes=3, load=0.5, duration_s="exponential:600"
    ).make(Setting(2))
    shared, whole = run(jobs, cluster, "shared"), run(jobs, cluster, "fifo-backfill")
    assert whole.jct_s.mean() >= shared.jct_s.mean()


@pytest.mark.parametrize(
    ("parts", "waves"),
    [
        ([1 / 3] * 6, [1, 1, 1, 2, 2, 2]),
        ([0.33349] * 6, [1, 1, 2, 2, 3, 3]),
        ([0.47] * 4, [1, 1, 2, 2]),
        ([1e-4] * 6, [1] * 6),
        ([0.33349, 0.6667, 0.33349], [1, 2, 1]),
    ],
)
@pytest.mark.parametrize("rule", sorted(RULES))
def test_parts_that_are_no_thousandths(parts, waves, rule):
    """As many share the GPU as it holds, and each has the part that it asked for."""
    result = run(sharing([0] * len(parts), 10.0, parts), nodes(), SharedFirstCome(rule))
    assert result.completion_s.tolist() == [10.0 * wave for wave in waves]
