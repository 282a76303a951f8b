"""Comparisons: which runs are made, what is left out, intervals, ranks, and what a run database keeps."""

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import policies
from experiments.comparison.comparing import compare
from experiments.comparison.metrics import CPU
from experiments.sweep import runner
from experiments.sweep.store import Store, store_to_write
from experiments.sweep.sweep import sweep
from policies.queues.serving import serve
from simulator import Decision, View
from simulator.errors import InputError
from simulator.plugins import CODE_ALLOWED
from simulator.theory import mmc_mean_response_s

SCENARIO = """policy = "fifo-strict"
seed = 3

[workload]
kind = "poisson"
num_jobs = {jobs}
arrival_rate_per_h = 1.2
duration_s = "exponential:3600"
num_gpus = {gpus}

[cluster]
kind = "nodes"
num_nodes = 1
gpus_per_node = 2
"""
TWO = ["fifo-strict", "fifo-backfill"]


def scenario(folder: Path, jobs: int = 60, gpus: str = "[1]") -> Path:
    path = folder / "scenario.toml"
    path.write_text(SCENARIO.format(jobs=jobs, gpus=gpus), encoding="utf-8")
    return path


def trace(folder: Path, jobs: int = 60, gpus: int = 1) -> Path:
    rng = np.random.default_rng(1)
    times = np.cumsum(rng.exponential(100.0, jobs)).round(3)
    table = pd.DataFrame({"job_id": range(jobs), "submit_time_s": times})
    table = table.assign(duration_s=(rng.exponential(80, jobs) + 1).round(3), num_gpus=gpus)
    table.to_csv(folder / "jobs.csv", index=False)
    return folder / "jobs.csv"


def means(found, metric="mean_jct_s"):
    table = found.table
    return table[(table["metric"] == metric) & (table["minus"] == "")].set_index("policy")


def test_the_best_of_many_seeds_is_that_of_their_mean(tmp_path):
    """Also of as many seeds as traces are drawn from a file: the first seed alone says nothing."""
    found = compare(scenario(tmp_path, 20, "[1, 2]"), TWO, ["mean_jct_s"], draws=40)
    best = means(found)["mean"].idxmin()
    assert repr(found).startswith(f"Best in mean completion time is {best}: ")
    assert means(found).loc[best, "replications"] == 40


def test_files_of_one_name_are_apart(tmp_path):
    paths = []
    for name, jobs in (("x", 20), ("y", 40)):
        (tmp_path / name).mkdir()
        paths.append(scenario(tmp_path / name, jobs))
    found = compare(paths, ["fifo-strict"], ["makespan_s"], draws=1)
    assert sorted(found.runs["file"]) == [str(path) for path in paths]
    with pytest.raises(InputError, match="expected different files"):
        compare([paths[0], paths[0]], ["fifo-strict"])
    with pytest.raises(InputError, match="a value is given twice"):
        compare(paths[0], ["fifo-strict"], over=["workload.arrival_rate_per_h=1,1.0"])


def test_a_bound_is_only_there_where_all_jobs_count(tmp_path):
    whole = compare(scenario(tmp_path), TWO, ["mean_jct_s"], draws=12)
    assert (whole.bounds["bound"] <= means(whole)["mean"].min()).all()
    assert len(whole.bounds) == 1
    for setting in ("window=[0, 20]", "workload.patience=60"):
        found = compare(scenario(tmp_path), TWO, ["mean_jct_s"], draws=2, settings=[setting])
        assert found.bounds.empty


def test_one_job_alone_has_a_metric(tmp_path):
    """All the usual ones are 0 or 1."""
    path = tmp_path / "jobs.csv"
    path.write_text("job_id,submit_time_s,duration_s,num_gpus\na,0,1,1\n")
    found = compare(path, TWO, draws=1, settings=["cluster.num_nodes=1", "cluster.gpus_per_node=1"])
    assert found.metrics == ("mean_jct_s",)


@pytest.mark.long
def test_replicates_until_it_is_precise(tmp_path):
    found = compare(scenario(tmp_path, jobs=400), ["fifo"], ["mean_jct_s"], precision=0.08)
    row = means(found).iloc[0]
    assert (row["upper"] - row["lower"]) / 2 <= 0.08 * row["mean"]
    assert row["replications"] > 10
    # The empty start shortens the mean of so few jobs a little.
    truth = mmc_mean_response_s(1.2 / 3600, 3600, 2)
    assert 0.85 * truth < row["upper"]
    assert row["lower"] < 1.05 * truth


def test_differences_are_paired(tmp_path):
    table = compare(scenario(tmp_path, gpus="[1, 2]"), TWO, ["mean_jct_s"], draws=12).table[:3]
    strict, backfill, difference = (row for _, row in table.iterrows())
    assert difference["minus"] == "fifo-strict"
    assert difference["mean"] == pytest.approx(backfill["mean"] - strict["mean"])
    assert difference["upper"] < 0  # backfilling helps, and so few replications show it
    half = (strict["upper"] - strict["lower"]) / 2
    assert (difference["upper"] - difference["lower"]) / 2 < half


@pytest.mark.long
def test_a_trace_has_an_interval_from_traces_drawn_from_it(tmp_path):
    """Nobody waits on 60 GPUs, so completion times are durations: the law of their mean is known."""
    path = trace(tmp_path)
    keys = {"settings": ["cluster.num_nodes=60", "cluster.gpus_per_node=1"], "block_jobs": 1}
    found = compare(path, ["fifo-strict", "srpt"], ["mean_jct_s"], **keys)
    durations = pd.read_csv(path)["duration_s"]
    row = means(found).iloc[0]
    assert row["mean"] == pytest.approx(durations.mean())
    assert row["replications"] == 40
    expected = durations.std() / math.sqrt(60)
    half = (row["upper"] - row["lower"]) / 2
    assert half / 1.96 == pytest.approx(expected, rel=0.35)  # 40 draws: the ends vary by chance
    table = found.table[found.table["metric"] == "mean_jct_s"]
    (difference,) = (r for _, r in table.iterrows() if r["minus"])
    assert difference[["mean", "lower", "upper"]].abs().max() < 1e-9  # the same draws for both
    assert found.bounds["bound"].iloc[0] == pytest.approx(durations.mean())
    assert found.ranks["rank"].tolist() == [1.5, 1.5]
    alone = compare(path, ["srpt"], ["mean_jct_s"], settings=keys["settings"], draws=1)
    assert alone.table["lower"].isna().all()
    assert "without an interval" in alone.notes[0]


def test_a_cap_is_told(tmp_path):
    found = compare(scenario(tmp_path), ["fifo"], ["mean_jct_s"], precision=0.001, draws=11)
    assert "stopped at 11 runs" in found.notes[0]


def test_what_cannot_run_stops_nothing_else(tmp_path):
    """A pool policy has a reason; a policy whose run fails, too; the others have their rows."""

    class Fails:
        def decide(self, view: View) -> Decision:
            raise InputError("not today")

    found = compare(scenario(tmp_path), ["fifo", "rental-equi", "srpt"], ["mean_jct_s"], draws=2)
    assert list(means(found).index) == ["fifo", "srpt"]
    (out,) = found.excluded.to_dict("records")
    assert out["policy"] == "rental-equi"
    assert "the policy needs a rental pool" in out["reason"]
    with pytest.raises(InputError, match="rental-equi: the cluster has nodes"):
        compare(scenario(tmp_path), ["rental-equi"], ["mean_jct_s"])
    with pytest.raises(InputError, match="not today"):
        compare(scenario(tmp_path), [Fails()], ["mean_jct_s"])


def test_a_policy_has_the_view_that_it_wants_and_all_have_the_same_jobs(tmp_path):
    """Elastic jobs: srpt gets fixed demands; due dates that one policy needs go to all."""
    path = tmp_path / "elastic.toml"
    path.write_text(
        'policy = "greedy"\n[workload]\nkind = "hierarchical"\nnum_nodes = 2\njobs_per_node = 3\n'
        '[cluster]\nkind = "nodes"\nnum_nodes = 2\ngpus_per_node = 4\ngpu_type = "GTX 1080Ti"\n[adapt]\nweights = "printed"\n'
    )
    found = compare(path, ["greedy", "srpt"], ["mean_jct_s"], draws=2)
    assert found.runs.groupby("policy")["view"].first().to_dict() == {
        "greedy": "as given", "srpt": "fixed demand",
    }  # fmt: skip
    assert (found.runs.groupby("policy")["jobs"].first() == 6).all()
    plain = compare(
        trace(tmp_path, 20),
        ["fifo-strict", "edf-backfill"],
        draws=1,
        settings=["cluster.num_nodes=2"],
    )
    assert plain.notes[0].startswith('added to the jobs of all policies: due = "min-2max"')
    assert {"late_jobs"} <= set(plain.runs)


@pytest.mark.long
def test_without_policies_all_that_can_run(tmp_path):
    found = compare(
        trace(tmp_path, 5), (), ["mean_jct_s"], draws=1,
        settings=["cluster.num_nodes=2", "cluster.gpus_per_node=2"],
    )  # fmt: skip
    assert {"srpt", "easy-backfill", "tiresias", "las+proportional", "foresight"} <= set(
        found.policies
    )
    known = {*found.policies, *found.excluded["policy"]}
    assert {*policies.policy_names(), *policies.composed_names()} == known
    assert not set(found.policies) & set(found.excluded["policy"])
    assert found.base == ""
    best = means(found)["mean"].idxmin()
    minus = set(found.table["minus"]) - {""}
    assert len(minus) <= 2  # of the metric, and of the CPU time of decisions
    assert means(found).loc[list(minus), "mean"].min() == means(found).loc[best, "mean"]


@pytest.mark.long
def test_all_beside_policies_of_ones_own(tmp_path, monkeypatch):
    """The first is what the others are compared with; nobody comes twice, and "all" is no policy."""
    monkeypatch.setenv(CODE_ALLOWED, "1")
    path = tmp_path / "mine.py"
    path.write_text(
        "from schedlab import serve\n\ndef last(view):\n    return serve(view, [*reversed(view.jobs.tolist())])\n"
    )

    def last_first(view: View) -> Decision:
        return serve(view, [*reversed(view.jobs.tolist())])

    policies = [last_first, f"{path}:last", "fifo-strict", "all"]
    found = compare(scenario(tmp_path, jobs=4), policies, ["mean_jct_s"], draws=1)
    named = found.runs["policy"].unique().tolist()
    assert named[:3] == ["last_first", f"{path}:last", "fifo-strict"]
    assert {"srpt", "easy-backfill"} < {*named}
    assert "all" not in {*named, *found.excluded["policy"]}
    assert found.base == "last_first"
    jct_s = found.runs.groupby("policy")["mean_jct_s"].mean()
    assert jct_s["last_first"] == jct_s[f"{path}:last"]


def test_a_policy_that_takes_too_long_stops_nothing_else(tmp_path, monkeypatch):
    """Where all are asked for, each run has a limit; where policies are named it has none."""
    seen = []
    monkeypatch.setattr(
        runner, "run_tasks", lambda tasks, store, **options: seen.append(options) or 1 / 0
    )
    for number, (asked, limit) in enumerate(
        [([], {}), (["fifo", "all"], {}), (["fifo"], {}), ([], {"time_limit_s": 5.0})]
    ):
        with store_to_write(tmp_path / str(number)) as store, pytest.raises(ZeroDivisionError):
            compare(scenario(tmp_path, jobs=20), asked, store=store, **limit)
    assert [options.get("time_limit_s") for options in seen] == [60.0, 60.0, None, 5.0]


def test_over_a_key_and_several_files(tmp_path):
    one, two = scenario(tmp_path), tmp_path / "other.toml"
    two.write_text(one.read_text().replace("num_jobs = 60", "num_jobs = 40"))
    found = compare(
        [one, two], ["fifo"], ["mean_jct_s"], over=["cluster.gpus_per_node=2,3"], draws=3
    )
    assert found.settings == ("file", "cluster.gpus_per_node")
    rows = means(found)
    assert rows[["file", "cluster.gpus_per_node"]].to_numpy().tolist() == [
        ["scenario", 2], ["scenario", 3], ["other", 2], ["other", 3],
    ]  # fmt: skip
    assert rows["mean"].iloc[0] > rows["mean"].iloc[1]
    for text in ("cluster.num_nodes", "a=1,,2", "a=1,1"):
        with pytest.raises(InputError, match="--over"):
            compare(one, ["fifo"], over=[text])


def test_policies_as_a_swept_key_and_under_names_of_their_own(tmp_path):
    path = scenario(tmp_path)
    found = compare(path, [], ["mean_jct_s"], over=["policy=fifo-strict, Short=srpt"], draws=3)
    again = compare(path, ["fifo-strict", "Short=srpt"], ["mean_jct_s"], draws=3)
    plain = compare(path, ["fifo-strict", "srpt"], ["mean_jct_s"], draws=3)
    assert found.policies == ("fifo-strict", "Short")
    assert (found.settings, found.base) == ((), "fifo-strict")
    columns = ["policy", "minus", "mean"]
    own = found.table[found.table["metric"] == "mean_jct_s"][columns]
    assert own.equals(again.table[again.table["metric"] == "mean_jct_s"][columns])
    renamed = plain.table.replace("srpt", "Short")
    assert own.equals(renamed[renamed["metric"] == "mean_jct_s"][columns])
    both = compare(
        path, ["fifo-strict"], ["mean_jct_s"], draws=2,
        over=["policy=srpt", "cluster.gpus_per_node=2,3"],
    )  # fmt: skip
    assert both.settings == ("cluster.gpus_per_node",)
    assert both.policies == ("fifo-strict", "srpt")


def test_a_database_keeps_what_is_finished(tmp_path, monkeypatch):
    """The same comparison again computes nothing, a policy more only its own runs; and a sweep has the same numbers."""
    path = scenario(tmp_path, jobs=20)
    with store_to_write(tmp_path / "out") as store:
        first = compare(path, TWO, ["mean_jct_s"], draws=3, store=store, workers=2)
        assert store.counts().done == 6
    here = compare(path, TWO, ["mean_jct_s"], draws=3)
    pd.testing.assert_frame_equal(
        first.table[first.table["metric"] != CPU], here.table[here.table["metric"] != CPU]
    )

    def no_pool(*_, **__):
        raise AssertionError("a run is made again")

    with monkeypatch.context() as patch:
        patch.setattr(runner, "open_pool", no_pool)
        with Store(tmp_path / "out", create=True) as store:
            again = compare(path, TWO, ["mean_jct_s"], draws=3, store=store)
    pd.testing.assert_frame_equal(first.table, again.table)
    (tmp_path / "sweep.toml").write_text(
        'scenario = "scenario.toml"\npolicies = ["fifo-strict", "fifo-backfill"]\nseeds = [3, 4, 5]\n'
    )
    assert sweep(tmp_path / "sweep.toml", tmp_path / "swept", progress=False) == 0
    with Store(tmp_path / "swept") as store:
        swept = store.rows()
    of_sweep = [run.scalars["mean_jct_s"] for run in swept.runs]
    assert sorted(of_sweep) == sorted(first.runs["mean_jct_s"])


def test_a_metric_that_does_not_exist_costs_no_run(tmp_path):
    """Where policies' notes are numbers, too, names that no list has are looked for in one run, before the other 19."""
    path = scenario(tmp_path)
    with Store(tmp_path / "out", create=True) as store:
        with pytest.raises(
            InputError, match="--metric: got 'mean_jctt', did you mean 'mean_jct_s'"
        ):
            compare(path, TWO, ["mean_jctt"], draws=10, store=store)
        assert len(store.rows().runs) == 0
        with pytest.raises(InputError, match="--metric: got 'mean_jctt'"):
            compare(path, TWO, ["mean_jctt"], settings=["decision_facts=true"], store=store)
        assert len(store.rows().runs) == 1
        found = compare(path, TWO, ["rounds"], draws=2, store=store)
    assert found.metrics == ("rounds",)


def test_a_metric_that_one_setting_lacks_is_one_line(tmp_path):
    """Nodes that never fail have no availability; whichever setting comes first."""
    sound, failing = tmp_path / "sound.toml", tmp_path / "failing.toml"
    sound.write_text(scenario(tmp_path).read_text())
    failing.write_text(
        sound.read_text()
        + '[failures]\ntime_to_failure = "exponential:1e6"\nrepair = "constant:60"\n'
    )
    for files in ([sound, failing], [failing, sound]):
        with pytest.raises(InputError, match=r"'availability', .* in summary.json of sound"):
            compare(files, ["fifo"], ["availability"], draws=1)


def test_a_policy_is_compared_with_itself_under_other_options(tmp_path):
    """With the local search that no options name, and with none of it, on the same jobs."""
    path = tmp_path / "scenario.toml"
    path.write_text(
        'policy = "local-search"\n[policy_options]\niterations = 3\n'
        '[workload]\nkind = "hierarchical"\nnum_nodes = 2\njobs_per_node = 8\nmean_gap_s = 9000\n'
    )
    names = ["local-search", "local-search:iterations=1,rho=1", "local-search:iterations=3"]
    mean = means(compare(path, names, ["total_cost"], draws=2), "total_cost")["mean"]
    assert list(mean.index) == names
    assert mean.iloc[0] == mean.iloc[2]
    assert mean.iloc[0] != mean.iloc[1]


def test_policies_may_be_objects(tmp_path):
    """Under the name of their class or function, beside names; each run begins with a fresh copy."""

    class Mine:
        def __init__(self) -> None:
            self.inner = policies.make_policy("fifo-backfill")

        def decide(self, view: View) -> Decision:
            return self.inner.decide(view)

    entrants = ["fifo-backfill", Mine(), policies.make_policy("fifo-strict").decide]
    found = compare(scenario(tmp_path, gpus="[1, 2]"), entrants, ["mean_jct_s"], draws=3)
    assert list(found.policies) == ["fifo-backfill", "Mine", "decide"]
    same = found.table[(found.table["policy"] == "Mine") & (found.table["metric"] == "mean_jct_s")]
    assert same[same["minus"] == "fifo-backfill"]["mean"].tolist() == [0.0]
    assert means(found)["mean"].loc["decide"] > means(found)["mean"].loc["fifo-backfill"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"policies": ["fifo", "fifo"]}, "--policy: got fifo, fifo, expected different ones"),
        ({"metrics": ["speed"]}, "got 'speed', expected one of the .* that summary.json can have"),
        ({"metrics": ["makespan_s", "makespan_s"]}, "different"),
        ({"draws": 0}, "--draws: got 0, expected 1 to 10,000"),
        ({"draws": 10**9}, "--draws: got 1000000000, expected 1 to 10,000"),
        ({"precision": 0.0}, "--precision: got 0.0, expected 1e-06 to below 1"),
        ({"precision": 1e-300}, "--precision: got 1e-300, expected 1e-06 to below 1"),
        ({"precision": 5.0}, "--precision: got 5.0, expected 1e-06 to below 1"),
        ({"policies": "edf"}, "--policy: got a text, expected a list of texts"),
        ({"policies": ["no-such"]}, "no-such"),
        ({"policies": ["fifo", "edf:x=1"]}, "--policy edf:x=1: policy 'edf': unknown option 'x'"),
        ({"policies": ["A=fifo", "A=edf"]}, "--policy: got A, A, expected different ones"),
        ({"over": ["policy=fifo"]}, "--policy: got fifo, fifo, expected different ones"),
        ({"over": ["seed=1,2"]}, "each run has a seed of its own, expected --seed or --draws"),
        ({"over": ["policy_options.order=sjf,fifo"]}, "of fifo-strict, which is not compared"),
        ({"policies": ["edf:"]}, "--policy edf:: '': expected name=value"),
        ({"block_jobs": 5}, "workload 'poisson' is drawn anew by each seed"),
    ],
)
def test_bad_input_is_one_clear_line(tmp_path, options, told):
    arguments = {"policies": ["fifo"], "metrics": ["mean_jct_s"], **options}
    with pytest.raises(InputError, match=told) as raised:
        compare(scenario(tmp_path), **arguments)
    assert "\n" not in str(raised.value)


def test_mistakes_about_traces_are_one_line(tmp_path):
    path, keys = trace(tmp_path), ["cluster.num_nodes=4"]
    for options, told in (
        ({"draws": 38}, "--draws: got 38, expected 1, or at least 39 for a 95 % interval"),
        ({"precision": 0.1}, "--precision: the jobs come from a file; expected --draws alone"),
        ({"block_jobs": 61}, "blocks of 61 jobs, expected 1 to 60"),
    ):
        with pytest.raises(InputError, match=re.escape(told)):
            compare(path, ["fifo"], ["mean_jct_s"], settings=keys, **options)
