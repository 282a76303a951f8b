"""`schedlab theory size-server`: the number of servers by theory and by simulated queues."""

import pytest

from experiments.analysis import sizing
from experiments.analysis.sizing import (
    parse_rate,
    simulated_response_s,
    size_server,
    warm_up_requests,
)
from simulator.errors import InputError
from simulator.laws import Deterministic, Exponential
from simulator.theory import mmc_mean_response_s
from tests.command import refused


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorter replications, and fewer."""
    monkeypatch.setattr(sizing, "REPLICATIONS", 4)
    monkeypatch.setattr(sizing, "REQUESTS", 1500)


def test_the_papers_server_both_ways():
    lines = size_server(20, 1 / 4500, "exponential:40", 50.0, seed=1).splitlines()
    assert "theory (M/M/c, exactly): 1 server, utilisation 17.8%" in lines[1]
    assert "48.65 s" in lines[1]
    assert lines[3] == "simulation: 1 server"
    assert "95 % interval" in lines[4]


@pytest.mark.long
def test_simulation_finds_its_own_number():
    """The approximation is too dark here: where it asks for five servers, four will do."""
    lines = size_server(200, 1 / 4500, "hyperexponential:40,cv2=4", 45.0, seed=0).splitlines()
    assert "theory (M/G/c, approximately): 5 servers" in lines[1]
    assert lines[2] == "simulation: 4 servers"
    heads = [line.partition(":")[0] for line in lines[3:]]
    assert heads == [f"simulation with {count} servers" for count in (3, 4, 5)]


@pytest.mark.long
def test_simulation_may_want_one_more_than_the_formula():
    lines = size_server(4, 1 / 4500, "exponential:40", 41.48, seed=0).splitlines()
    assert "theory (M/M/c, exactly): 1 server" in lines[1]
    assert "simulation: 2 servers" in lines


@pytest.mark.long
def test_simulated_means_are_those_of_the_formula():
    found = simulated_response_s(3, 0.05, Exponential(40), seed=2)
    assert found is not None
    assert found.contains(mmc_mean_response_s(0.05, 40, 3))
    narrow = simulated_response_s(3, 0.05, Exponential(40), seed=2, precision=0.06)
    assert narrow is not None
    assert narrow.relative_half_width <= 0.06
    assert narrow.n >= found.n


def test_what_cannot_forget_its_empty_start_is_left_out():
    law = Exponential(40)
    assert warm_up_requests(804, 20, law) > 1e5
    assert simulated_response_s(804, 20, law, seed=0) is None
    assert "left out" in size_server(20, 1.0, "exponential:40", 50.0, seed=0)


@pytest.mark.parametrize(("text", "rate"), [("1/4500", 1 / 4500), ("2e-4", 2e-4), ("3", 3.0)])
def test_rates(text, rate):
    assert parse_rate(text) == rate


@pytest.mark.parametrize("text", ["", "x", "-1", "0", "1/0", "nan", "1/2/3", "inf"])
def test_bad_rates_are_one_clear_line(text):
    with pytest.raises(InputError, match="--arrival-rate"):
        parse_rate(text)


@pytest.mark.parametrize(
    ("rate", "service", "target", "told"),
    [
        (2e-4, "exponental:40", 50, "expected deterministic, exponential"),
        (2e-4, "exponential:-40", 50, "expected a positive number"),
        (2e-4, "exponential:40", 40, "expected more than the mean service time"),
        (2e-4, "exponential:40", -1, "target_delay_s is -1"),
        (1e9, "exponential:40", 50, "more than 1000000 servers"),
    ],
)
def test_bad_input_is_one_clear_line(rate, service, target, told):
    with pytest.raises(InputError, match=told):
        size_server(20, rate, service, target, seed=0)


def test_the_command_says_it_in_one_line_with_status_2():
    words = "--controllers 20 --arrival-rate 1/0 --service exponential:40 --target-delay 50"
    complaint = refused("theory", "size-server", *words.split())
    assert "'1/0', expected requests per second" in complaint


def test_three_relaxation_times_by_hand():
    """One server of 1 s at load 0.25: a queue forgets in 1 / (1 - 0.5)**2 = 4 s, besides 1 s of service: 3 x 0.25 x 5."""
    assert warm_up_requests(1, 0.25, Exponential(1)) == pytest.approx(3.75)
    # Times of no variance wait half as long: 3 x 0.25 x (1 + 2).
    assert warm_up_requests(1, 0.25, Deterministic(1)) == pytest.approx(2.25)
