"""The auction of Themis: products against brute force, payments in closed form, no gain by a wrong bid where all get something."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies import make_policy
from policies.queues.serving import Service
from policies.tenants.auction import largest_product, parts_kept
from policies.tenants.finish_time import FinishTimeFair
from policies.tenants.themis import _usable, _values
from simulator import Decision
from simulator.features.tenants import tenants_of
from simulator.features.tenants.fairness import shares
from tests.core.jobs import fixed, nodes, run
from tests.features.test_tenants import cluster_of, jobs_of, jobs_of_one_gpu

many = settings(max_examples=50, deadline=None, derandomize=True)


def tables(least):
    """Up to four bidders, up to five GPUs; values that need not grow with the GPUs."""

    def of(gpus):
        values = st.lists(st.integers(least, 20), min_size=gpus + 1, max_size=gpus + 1)
        return st.lists(values, min_size=1, max_size=4)

    return st.integers(1, 5).flatmap(of)


def all_ways(values):
    count, width = values.shape
    return (w for w in itertools.product(range(width), repeat=count) if sum(w) < width)


def worth(values, won):
    """Number of winners, and the product of their values."""
    got = values[np.arange(len(values)), list(won)]
    return int((got > 0).sum()), float(np.prod(got[got > 0]))


@many
@given(tables(0))
def test_the_product_is_the_largest(rows):
    values = np.array(rows, dtype=float)
    won = largest_product(values)
    assert sum(won) < values.shape[1]
    most = max(worth(values, w) for w in all_ways(values))
    assert worth(values, won) == (most[0], pytest.approx(most[1]))


@pytest.mark.parametrize(("bidders", "gpus"), [(1, 4), (2, 2), (3, 6), (4, 12)])
def test_parts_in_closed_form(bidders, gpus):
    """Equal bidders, values in proportion to the GPUs: each keeps (1 - 1/k)^(k - 1); 1/e where k is large."""
    values = np.tile(np.arange(gpus + 1.0), (bidders, 1))
    won = largest_product(values)
    assert won == [gpus // bidders] * bidders
    kept = (1 - 1 / bidders) ** (bidders - 1) if bidders > 1 else 1.0
    assert parts_kept(values, won) == pytest.approx([kept] * bidders)


@many
@given(tables(1), st.data())
def test_nobody_gains_by_a_wrong_bid(rows, data):
    """The value that a bidder keeps is largest with the true bid, whatever the others bid."""
    values = np.array(rows, dtype=float)
    wrong = values.copy()
    wrong[0] = data.draw(
        st.lists(st.integers(1, 20), min_size=values.shape[1], max_size=values.shape[1])
    )
    gains = []
    for bids in (values, wrong):
        won = largest_product(bids)
        gains.append(parts_kept(bids, won)[0] * values[0, won[0]])
    assert gains[1] <= gains[0] * (1 + 1e-9)


@pytest.mark.parametrize(
    ("true", "wrong", "won", "gain"),
    [
        ([[0, 1, 2, 3], [0, 1, 2, 3]], [0, 0, 0, 4], ([2, 1], [3, 0]), (2 / 3, 3.0)),
        ([[0, 1], [0, 3]], [0, 5], ([0, 1], [1, 0]), (0.0, 1.0)),
    ],
)
def test_a_wrong_bid_may_gain_where_somebody_gets_nothing(true, wrong, won, gain):
    """The limit of the theorem: with a value of 0 in one of the divisions, payments do not suffice."""
    values = np.array(true, dtype=float)
    for bids, expected, worth_kept in zip(
        (values, np.array([wrong, *true[1:]], dtype=float)), won, gain, strict=True
    ):
        assert largest_product(bids) == expected
        assert parts_kept(bids, expected)[0] * values[0, expected[0]] == pytest.approx(worth_kept)


def test_equal_bidders_tie_whatever_their_value_is():
    """The earlier ones get the GPUs; rounding of logarithms decides nothing."""
    for x in np.random.default_rng(1).uniform(0.01, 50.0, 300):
        assert largest_product(np.array([[0.0, x, x]] * 4)) == [1, 1, 0, 0]
    assert largest_product(np.tile(1e-9 * np.array([0.0, np.pi, np.e]), (400, 1)))[:2] == [1, 1]


def test_without_payments_a_wrong_bid_would_gain():
    """A bidder of nothing for less than three of four GPUs wins three; with the part that it keeps, less than before."""
    values = np.array([[1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0, 4.0, 5.0]])
    wrong = np.array([[1.0, 1.0, 1.0, 40.0, 40.0], values[1]])
    won, lied = largest_product(values), largest_product(wrong)
    assert (won, lied) == ([2, 2], [3, 1])
    assert parts_kept(values, won)[0] * 3 > parts_kept(wrong, lied)[0] * 4


def test_more_bidders_than_gpus():
    values = np.array([[0.0, 1.0, 1.0], [0.0, 3.0, 3.0], [0.0, 2.0, 2.0]])
    won = largest_product(values)
    assert won == [0, 1, 1]
    assert ((parts_kept(values, won) > 0) & (parts_kept(values, won) <= 1)).all()


def test_the_worst_off_tenant_bids_alone():
    """With fairness = 1 one tenant bids: it keeps all, and is b, who has waited for its first GPU."""
    jobs = jobs_of("aab", 100.0, 4, [0.0, 0.0, 10.0])
    policy = make_policy("themis", fairness=1.0, lease_s=50.0)
    result = run(jobs, cluster_of(1), policy, tenants_of(jobs))
    # At 50 s rho is (50 + 50) / 400 and (50 + 100) / 400 for a's jobs, which ask for twice as much, (40 + 100) / 200 for b's.
    assert result.first_start_s[[0, 2]].tolist() == [0.0, 50.0]
    assert result.completion_s.max() == pytest.approx(300.0)


@settings(max_examples=4, deadline=None, derandomize=True)
@given(st.integers(0, 1000), st.sampled_from([0.0, 0.5, 1.0]))
def test_nothing_is_idle_while_somebody_waits(seed, fairness):
    """A loser of the lottery gets the rest, if nobody else wants it."""
    jobs = jobs_of_one_gpu(seed)
    policy = make_policy("themis", fairness=fairness, lease_s=60.0)
    found = shares(run(jobs, cluster_of(2), policy, tenants_of(jobs), seed=seed))
    np.testing.assert_allclose(found.held.sum(axis=1), np.minimum(8, found.demand.sum(axis=1)))


def test_the_seed_draws_who_pays():
    jobs = jobs_of("aaabbbccc", 100.0, [1, 2, 1] * 3)
    policy = make_policy("themis", fairness=0.0, lease_s=60.0)
    runs = [run(jobs, cluster_of(1), policy, seed=seed) for seed in (1, 1, 2)]
    tables = [result.schedule_table().to_csv() for result in runs]
    assert tables[0] == tables[1] != tables[2]


def test_a_bidder_that_others_gain_by_keeps_no_more_than_it_won():
    """Three GPUs. Beside the third bidder the first has two, worth 10; without it the second has two, and the first one,
    worth 1."""
    values = np.array([[0, 1, 10, 10], [0, 0, 1, 1], [0, 1, 1, 1]], dtype=float)
    won = largest_product(values)
    assert won == [2, 0, 1]
    assert parts_kept(values, won)[2] == 1.0


@pytest.mark.parametrize(
    ("fairness", "count", "worst"),
    [(0.8, 6, [5, 4]), (0.8, 5, [4]), (0.7, 10, [9, 8, 7]), (1.0, 3, [2])],
)
def test_so_many_tenants_are_worst_off(fairness, count, worst):
    """1.2 of six tenants are two; 0.3 of ten are three, though 1 - 0.7 times 10 is 3.0000000000000004; one at least."""
    policy = FinishTimeFair(fairness=fairness)
    assert policy.worst_off(np.arange(count), np.arange(count, dtype=float)) == worst


def test_bids_by_hand():
    """Four GPUs. a has j0 of 2 GPUs since 0 s, and j1 of one that has come at 10 s; b's j2 of 2 GPUs comes at 20 s; c's, of
    weight 2, later. So a and b have two GPUs each for themselves.

    At 20 s a has waited for 20 s. Its jobs would take (200 + 50) / 2 = 125 s on its part. There are 160 + 50 GPU-s left,
    on the two GPUs that it holds 105 s; with one more, the longest takes 80 s. b's takes 40 s on two GPUs, and never ends
    on fewer.
    """
    work = fixed([0, 10, 20, 500], [100, 50, 40, 1], [2, 1, 2, 1], vc=list("aabc"))
    tenants = tenants_of(work, weight={"c": 2.0})
    bids = []

    class Spy:
        def decide(self, view):
            if view.now_s == 20.0:
                service = Service(view)
                service.keep(0)
                uses = [_usable([1], 2), _usable([2], 2)]
                bids.append(_values(view, service, tenants, [0, 1], uses))
            policy = make_policy("fifo-strict")
            return policy.decide(view) if view.now_s in (0.0, 100.0, 500.0) else Decision([], True)

    run(work, nodes(4), Spy(), tenants)
    assert bids[0] == pytest.approx(
        np.array([[125 / 125, 125 / 100, 125 / 100], [0.0, 0.0, 40 / 40]])
    )


def test_what_bidders_pay_goes_to_those_who_did_not_bid():
    """Two GPUs. a and b want both, win one each, and keep it with the chance 1/2. c, who has asked for most GPUs and
    is the best off, gets what they lose."""
    work = fixed([0.0] * 14, [100.0] * 14, vc=list("aabb" + "c" * 10))
    given = []
    for seed in range(8):
        policy = make_policy("themis", fairness=0.4, lease_s=1000.0)
        first = run(work, nodes(2), policy, tenants_of(work), seed=seed).first_start_s == 0
        given.append(int(first[4:].sum()))
        assert first.sum() == 2
        assert max(first[:2].sum(), first[2:4].sum()) <= 1
    assert sorted(set(given)) == [0, 1, 2]
