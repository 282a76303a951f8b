"""The events against the tables that they are made of."""

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from replay_runs import fixed_jobs, vms

from experiments.pictures.lanes import lanes_of
from experiments.replay import FORMAT, VERSION, Recording, events_of, replay
from simulator import Cluster, InputError, SpeedupCurve, Workload
from simulator.model.speedup import Power
from tests.core.jobs import run as simulated
from tests.families import module, registered

rental = module("policies.rental")


@pytest.mark.parametrize("policy", ["", *registered("milp", "edf")])
def test_the_shares_are_those_of_the_schedule(policy):
    result = vms(policy) if policy else fixed_jobs(200, 5)
    events = events_of([Recording.of(result)])
    assert (events["format"], events["version"]) == (FORMAT, VERSION)
    assert json.loads(json.dumps(events)) == events
    (run,) = events["runs"]
    shares, origin_s = run["shares"], events["origin_s"]
    table = result.schedule_table().sort_values(["start_s", "end_s", "job_id"], kind="stable")
    ids, types = np.array(events["jobs"]["id"]), [t["name"] for t in run["types"]]
    assert ids[shares["job"]].tolist() == table["job_id"].tolist()
    assert shares["node"] == table["node"].tolist()
    assert [types[v] for v in shares["type"]] == table["node_type"].tolist()
    assert shares["gpus"] == table["gpus"].tolist()
    assert np.allclose(np.array(shares["from"]) + origin_s, table["start_s"], rtol=0, atol=1e-3)
    assert np.allclose(np.array(shares["to"]) + origin_s, table["end_s"], rtol=0, atol=1e-3)
    assert np.allclose(np.array(run["end"]) + origin_s, result.completion_s, rtol=0, atol=1e-3)
    times = (
        (run["decisions"], result.decisions.time_s),
        (events["jobs"]["arrival"], result.workload.submit_s),
    )
    for shown, true in times:
        assert np.allclose(np.array(shown) + origin_s, true, rtol=0, atol=1e-3)


def test_no_two_shares_are_drawn_over_each_other():
    result = fixed_jobs(300, 4)
    (run,) = events_of([Recording.of(result)])["runs"]
    shares = run["shares"]
    busy: dict[tuple[int, int], float] = {}
    for i, begin in enumerate(shares["from"]):
        node, gpus = shares["node"][i], shares["gpus"][i]
        pieces = shares.get("split", {}).get(str(i), [[shares["line"][i], gpus]])
        assert sum(count for _, count in pieces) == gpus
        for line in [first + k for first, count in pieces for k in range(int(count))]:
            assert line < run["lines"][node] == 4
            assert busy.get((node, line), -1.0) <= begin
            busy[node, line] = shares["to"][i]


@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.integers(1, 10), st.integers(1, 4)),
        min_size=1,
        max_size=30,
    )
)
def test_lines_are_as_few_as_the_gpus_in_use(shares):
    shares.sort()
    start = [float(s) for s, _, _ in shares]
    end = [float(s + d) for s, d, _ in shares]
    gpus = [g for _, _, g in shares]
    pieces, lines = lanes_of(start, end, gpus)
    most = max(
        sum(g for s, e, g in zip(start, end, gpus, strict=True) if s <= t < e) for t in start
    )
    assert lines == most
    for i, of_share in enumerate(pieces):
        mine = {first + k for first, count in of_share for k in range(count)}
        assert len(mine) == gpus[i]
        for j in range(i):
            if end[j] > start[i]:
                assert mine.isdisjoint(f + k for f, count in pieces[j] for k in range(count))


def test_due_dates_and_prices_come_along():
    result = vms("edf")
    events = events_of([Recording.of(result)])
    jobs = events["jobs"]
    assert np.allclose(np.array(jobs["due"]) + events["origin_s"], result.workload.due_s)
    assert np.allclose(jobs["weight"], result.workload.weight_per_s)
    (run,) = events["runs"]
    assert run["type_of"] is None
    assert run["types"][0]["per_hour"] == result.cluster.node_types[0].price_per_hour


def test_a_run_that_is_unknown_but_for_its_tables():
    bare = dataclasses.replace(Recording.of(fixed_jobs(20, 2)), machines=None)
    events = events_of([bare])
    assert "types" not in events["runs"][0]
    assert "due" not in events["jobs"]
    assert all(1 <= lines <= 4 for lines in events["runs"][0]["lines"])


def test_runs_on_other_jobs_are_refused():
    one, two, three = fixed_jobs(20, 2), fixed_jobs(20, 2, seed=2), fixed_jobs(21, 2)
    with pytest.raises(InputError, match=r"ran different jobs \(arrival_s of job 1 is"):
        events_of([Recording.of(one), Recording.of(two, "two")])
    with pytest.raises(InputError, match=r"ran different jobs \(21 and 20\)"):
        events_of([Recording.of(one), Recording.of(three)])
    with pytest.raises(InputError, match="no runs"):
        events_of([])
    names = [run["name"] for run in events_of([Recording.of(one), Recording.of(one)])["runs"]]
    assert names == ["fifo-backfill", "fifo-backfill (2)"]


def test_a_run_without_its_schedule_says_how_to_keep_it(tmp_path):
    bare = dataclasses.replace(fixed_jobs(5, 1), schedule=None)
    with pytest.raises(InputError, match="no schedule, expected a run that kept its schedule"):
        replay(bare, tmp_path / "replay.html")
    assert list(tmp_path.iterdir()) == []
    assert "no replay" in bare._repr_html_()


def test_the_same_run_gives_the_same_bytes(tmp_path):
    first = replay(fixed_jobs(50, 2), tmp_path / "a.html").read_bytes()
    assert replay(fixed_jobs(50, 2), tmp_path / "b.html").read_bytes() == first


def test_a_page_that_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        replay(fixed_jobs(5, 1), tmp_path / "absent" / "replay.html")


def test_sizes(tmp_path):
    """1,000 jobs on 100 nodes are well below 2 MB."""
    assert replay(fixed_jobs(1000, 100), tmp_path / "a.html").stat().st_size < 400_000


def test_fractions_get_a_line_a_job():
    curve = SpeedupCurve(np.full(3, 100.0), np.zeros(3, dtype=np.int64), [Power(1.0)])
    jobs = Workload(job_id=["a", "b", "c"], submit_s=[0.0, 10.0, 20.0], performance=curve)
    result = simulated(jobs, Cluster.rental_pool(1.0), rental.Equi(1.0))
    (run,) = events_of([Recording.of(result)])["runs"]
    assert run["lines"] == [3]
    assert run["types"][0]["gpus"] is None
    assert any(not math.isclose(g, round(g)) for g in run["shares"]["gpus"])
