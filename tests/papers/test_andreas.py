"""ANDREAS's scenarios, the ARMIDA replay and its power."""

import json

import numpy as np
import pandas as pd
import pytest

from experiments.papers.andreas.claims import _ratios, of_means
from experiments.papers.andreas.figures import (
    _film,
    _seeds_by_method,
    at_all_sizes,
    power_over_time,
)
from experiments.papers.andreas.runs import (
    PAPER_METHODS,
    policy_of,
    run_armida,
    run_floor,
    run_gaps,
    tasks,
)
from experiments.sweep.task import resolve
from policies import make_policy
from simulator import InputError
from simulator.workloads.andreas import AndreasJobs, armida
from simulator.workloads.table import Setting
from tests.papers.listed import listed


def test_traces_of_a_seed_share_their_first_jobs_so_a_seed_is_one_observation():
    small, large = (
        AndreasJobs(num_nodes=n, scenario=1, arrivals="mixed").make(Setting(4))[0] for n in (10, 20)
    )
    assert list(small.job_id) == list(large.job_id)[: len(small)]


def test_a_saving_by_mean_costs_and_run_by_run():
    """At 10 nodes the rivals pay 100 with one seed and 1 with the others, RG always 1: by mean costs it
    saves most of what they pay together, run by run most runs save nothing. A seed is one observation."""
    rows = [
        (n, seed, method, 100.0 if n == 10 and seed == 1 and method != "randomised-greedy" else 1.0)
        for n in (10, 20)
        for seed in range(1, 11)
        for method in ("fifo-shared", "edf-shared", "ps-shared", "randomised-greedy")
    ]
    table = pd.DataFrame(rows, columns=["num_nodes", "seed", "method", "total_cost"])
    by_means = of_means(table, "total_cost")
    assert by_means.mean == pytest.approx(100 * (1 - 1 / 10.9) / 2)
    assert by_means.n == 10
    assert by_means.lower == 0.0  # the expensive seed may not be drawn
    assert 90 / 2 < by_means.upper < 100 / 2
    assert _ratios(table, "total_cost").groupby("seed").mean().mean() == pytest.approx(99 / 2 / 10)


def test_scenarios_have_the_nodes_and_rates_of_the_paper():
    workload, cluster = AndreasJobs(num_nodes=10, scenario=2, arrivals="mixed").make(Setting(4))
    assert len(workload) == 100
    assert [t.name for t in cluster.node_types] == ["4xV100", "2xT4"]
    assert cluster.total_gpus == 5 * 4 + 5 * 2
    assert cluster.rates(0, 4).energy_per_hour == pytest.approx(0.237472105416)
    assert cluster.rates(1, 2).energy_per_hour == pytest.approx(0.109602510192)
    ends = {
        a: AndreasJobs(num_nodes=10, scenario=1, arrivals=a).make(Setting(4))[0].submit_s[-1]
        for a in ("high", "low")
    }
    assert ends["low"] == pytest.approx(4 * ends["high"])
    assert ends["high"] < workload.submit_s[-1] < ends["low"]
    with pytest.raises(InputError, match="scenario: got 3, expected one of 1, 2"):
        AndreasJobs(scenario=3)
    with pytest.raises(InputError, match='arrivals: got "some", expected'):
        AndreasJobs(arrivals="some")


def test_armida_is_table_v_and_j9_cannot_be_on_time():
    workload, cluster = armida()
    assert workload.job_id == ("J6", "J9", "J10", "J7", "J8", "J1", "J2", "J3")
    slack = dict(zip(workload.job_id, workload.due_s - workload.submit_s, strict=True))
    fastest = dict(zip(workload.job_id, workload.performance.times_s.min(axis=(1, 2)), strict=True))
    assert fastest["J9"] == pytest.approx(160 * 17.8042)
    assert [j for j in slack if fastest[j] > slack[j]] == ["J9"]
    alone = workload.performance.times_s[:, 0, 1] * cluster.rates(0, 1).energy_per_hour / 3600
    assert alone.sum() == pytest.approx(1.0455, abs=1e-3)


def test_the_replay_and_its_power(tmp_path):
    outcome = run_armida({"method": "greedy", "seed": 1})
    film = _film(outcome.tables, "ARMIDA")(tmp_path / "film.html").read_text("utf-8")
    events = json.loads(film.split('id="replay-data">')[1].split("</script>")[0])
    assert events["jobs"]["id"] == list(armida()[0].job_id)
    assert events["runs"][0]["decisions"] == outcome.tables["decisions"]["time_s"].tolist()
    assert events["runs"][0]["currency"] == "EUR"
    assert outcome.scalars["energy_cost"] == pytest.approx(1.08438, rel=0.1)
    table = power_over_time(outcome.tables["schedule"])
    seconds = -table.groupby("node")["start_s"].diff(-1)  # NaN at the end of each node
    kwh = float((table["kw"] * seconds).sum()) / 3600
    assert kwh == pytest.approx(outcome.scalars["energy_kwh"])
    starts = outcome.tables["schedule"]["start_s"] % 300.0
    assert np.minimum(starts, 300.0 - starts).max() < 1e-6


@pytest.mark.long
def test_runs_are_functions_of_their_configuration():
    config = {"num_nodes": 10, "scenario": 1, "arrivals": "high", "seed": 1}
    named = {
        str(t.columns()["method"]): t
        for t in listed(tasks, "quick")
        if t.function.endswith("run_scenario") and config.items() <= t.columns().items()
    }
    floor = run_floor(config).scalars["floor"]
    run = resolve(named["fifo-shared"].function)
    assert floor <= run(dict(named["fifo-shared"].config)).scalars["total_cost"]
    own = named["randomised-greedy"].config
    few = {**own, "workload": {**own["workload"], "jobs_per_node": 3}}
    first, again = (run(dict(few)) for _ in range(2))
    assert first.scalars["total_cost"] == again.scalars["total_cost"]
    gaps = run_gaps({**config, "samples": 4})
    assert (gaps.tables["gaps"]["same_nodes_gap"] >= 0).all()
    keys = [task.key for task in listed(tasks, "quick")]
    assert len(set(keys)) == len(keys)


def test_files_and_replay_have_the_same_methods():
    """Names of methods in the sweep files are policies that the replay runs by that name."""
    for task in listed(tasks, "quick"):
        if task.function.endswith(":run_scenario") and task.config["policy_options"]:
            in_file = make_policy(task.config["policy"], **task.config["policy_options"])
            assert policy_of(task.columns()["method"]) == in_file


def test_savings_leave_out_seeds_that_ran_at_some_sizes_alone():
    table = pd.DataFrame(
        [(1, "measured", "high", n, seed, float(n)) for n in (10, 30) for seed in (1, 2)]
        + [(1, "measured", "high", 10, seed, 10.0) for seed in (3, 4)]
        + [(1, "measured", "mixed", 10, seed, 10.0) for seed in (1, 2, 3)],
        columns=["scenario", "rates", "arrivals", "num_nodes", "seed", "saving"],
    )
    kept = at_all_sizes(table)
    assert set(kept.loc[kept["arrivals"] == "high", "seed"]) == {1, 2}
    assert set(kept.loc[kept["arrivals"] == "mixed", "seed"]) == {1, 2, 3}


@pytest.mark.long
def test_at_paper_scale_every_method_with_ten_nodes_has_twenty_seeds():
    """The paper's methods under mixed arrivals have forty, at both laws of rates."""
    seeds: dict[tuple[str, ...], set[int]] = {}
    for task in listed(tasks, "paper"):
        said = task.columns()
        if task.function.endswith(":run_scenario") and said["num_nodes"] == 10:
            key = (said["method"], said["arrivals"], str(said["scenario"]), said["rates"])
            seeds.setdefault(key, set()).add(said["seed"])
    assert len(seeds) == 13 * 2 * 3 + 2 * 4
    for (method, arrivals, _, _), found in seeds.items():
        many = arrivals == "mixed" and method in PAPER_METHODS
        assert len(found) == (40 if many else 20)


def test_captions_say_what_an_interval_rests_on():
    """Ten seeds of one method and two of another at 20 nodes; three traces of a table."""
    runs = pd.DataFrame(
        [
            {"method": method, "num_nodes": nodes, "seed": seed}
            for method, nodes, seeds in (("fifo", 10, 10), ("fifo", 20, 10), ("greedy", 10, 10), ("greedy", 20, 2))
            for seed in range(seeds)
        ]
    )  # fmt: skip
    assert _seeds_by_method(runs) == "10 seeds (at some sizes greedy: 2)"
    assert _seeds_by_method(runs[runs["method"] == "fifo"]) == "10 seeds"
