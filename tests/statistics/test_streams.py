"""Named random streams: repeatable, independent of the order of asking, apart from each other."""

import numpy as np
import pytest

from simulator.errors import InputError
from simulator.statistics import Streams, watched


def test_a_stream_is_a_function_of_seed_name_and_keys():
    first = Streams(3).generator("arrivals").random(5)
    streams = Streams(3)
    streams.generator("policy", 1).random(100)
    assert np.array_equal(streams.generator("arrivals").random(5), first)


def test_known_numbers_stay_the_same_on_every_machine():
    drawn = Streams(0).generator("arrivals").integers(0, 2**32, 3)
    assert drawn.tolist() == [2318390332, 1874535375, 3611307783]


def test_other_names_keys_seeds_and_replications_give_other_numbers():
    base = Streams(1)
    generators = [base.generator(name) for name in ("arrivals", "service", "policy")]
    generators += [base.generator("policy", key) for key in (0, 1)]
    others = (Streams(2), base.replication(0), base.replication(1))
    generators += [streams.generator("arrivals") for streams in others]
    assert len({g.random() for g in generators}) == len(generators)


def test_streams_are_uncorrelated():
    base = Streams(5)
    draws = np.array([base.generator("node", i).random(2000) for i in range(20)])
    off_diagonal = np.corrcoef(draws)[np.triu_indices(20, 1)]
    assert np.abs(off_diagonal).max() < 5 / np.sqrt(2000)


@pytest.mark.parametrize(
    ("use", "drawn"),
    [
        (lambda generator: None, False),
        (lambda generator: generator.random(), True),
        (lambda generator: generator.spawn(1), True),
    ],
)
def test_a_watched_block_tells_whether_a_stream_of_it_was_drawn_from(use, drawn):
    before = Streams(1).generator("before")
    with watched() as asked:
        assert not asked()  # no stream at all
        Streams(1).generator("idle")
        with watched() as inner:
            use(Streams(1).generator("in the inner block"))
            assert inner() == drawn
        assert not asked()
        use(Streams(1).generator("here"))
        assert asked() == drawn
    use(Streams(1).generator("afterwards"))
    before.random()
    assert asked() == drawn


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True])
def test_a_bad_seed_is_one_clear_line(seed):
    with pytest.raises(InputError, match="non-negative integer"):
        Streams(seed)
