"""Tasks: as they were frozen, run by the command, checked, and policies that see the future."""

import hashlib
import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from experiments.bench import running, task
from experiments.bench import table as bench_table
from experiments.bench.check import check_schedule, rules_of
from experiments.comparison.metrics import METRICS
from experiments.scenario import build as scenarios_build
from experiments.scenario.build import build
from experiments.scenario.options import parse_policy
from experiments.scenario.run import run, summarise
from experiments.scenario.schema import read_scenario
from schedlab import serve
from tests.bench.copies import COPIES, copy_of_task, facts
from tests.command import ROOT, done, refused, schedlab
from tests.errors import input_error
from tests.families import registered

OPEN = [name for name, each in task.tasks().items() if not each.trace_sha256]
FEWER = {"cost-v1": "workload.jobs_per_node=3", "fractions-v1": "workload.num_jobs=150"}
"""Of the task's jobs, enough to look at a schedule of theirs; other tasks have `FEW`."""
FEW = "workload.num_jobs=60"
SOON = [(name, size) for name in OPEN if name != "fractions-v1" for size in "sml"]
"""Jobs of tasks that are drawn in a second."""


def jct_s(name, policy):
    scenario = task.scenario_of_task(name, "s", copy_of_task(name))
    result = run(scenario.model_copy(update={"policy": policy}))
    return dict(zip(result.workload.job_id, result.jct_s.tolist(), strict=True))


def rows_of(path, **wanted):
    table = pd.read_csv(facts() / path)
    return table[(table[[*wanted]] == pd.Series(wanted)).all(axis=1)]


@pytest.fixture
def fewer_jobs(monkeypatch):
    """All tasks with less to simulate, frozen by nobody."""

    def smaller(name, own):
        size = own.sizes["s"]
        fewer = size.model_copy(update={"set": [*size.set, FEWER.get(name, FEW)]})
        return own.model_copy(update={"sizes": {"s": fewer}})

    made = {name: smaller(name, own) for name, own in task.tasks().items()}
    monkeypatch.setattr(task, "tasks", lambda: made)


def unmarked(cases, fast):
    """The cases, all but some of them marked as slow."""
    return [c if c in fast else pytest.param(c, marks=pytest.mark.slow) for c in cases]


@pytest.mark.parametrize(
    "name_and_size", unmarked([(name, size) for name in OPEN for size in "sml"], SOON), ids="-".join
)
def test_a_task_is_as_it_was_frozen(name_and_size):
    name, size = name_and_size
    assert list(task.changed(name, size, task.scenario_of_task(name, size))) == []
    assert task.locked()[f"{name} {size}"]


def test_all_sizes_are_frozen():
    assert {tuple(task.task_of(name).sizes) for name in OPEN} == {("s", "m", "l")}


@pytest.mark.parametrize("name", unmarked(COPIES, ["elasticflow-v1", "shockwave-v1"]))
def test_a_task_whose_jobs_are_not_shipped_is_as_it_was_frozen(name):
    assert list(task.changed(name, "s", task.scenario_of_task(name, "s", copy_of_task(name)))) == []
    assert task.locked()[f"{name} s"]


@pytest.mark.parametrize(
    "name",
    unmarked(["elasticflow-v1", "gavel-v1", "shockwave-v1"], ["elasticflow-v1", "shockwave-v1"]),
)
def test_a_schedule_of_a_task_whose_jobs_are_not_shipped(name, tmp_path):
    trace, own = copy_of_task(name), task.task_of(name).policies[0]
    found = running.check_folder(
        running.submitted(name, "s", own, tmp_path / "schedule", trace), name, "s", trace
    )
    assert not found.faults
    assert found.metrics.keys() >= {*task.task_of(name).rank}


@pytest.mark.slow
@pytest.mark.parametrize("name", OPEN)
def test_baselines_that_know_more_are_marked(name):
    """All others decide the same when the jobs to come are drawn anew."""
    check_marks(name)


@pytest.mark.long
@pytest.mark.usefixtures("fewer_jobs")
def test_baselines_on_few_jobs_know_no_more():
    check_marks("cost-v1")


def check_marks(name):
    own, scenario = task.task_of(name), task.scenario_of_task(name, "s")
    for policy in registered(*own.policies):
        taken, options = parse_policy(policy)
        update = {"policy": taken, "policy_options": options}
        ahead = running.looks_ahead(scenario.model_copy(update=update))
        assert bool(ahead) == (policy in own.knows), policy


EXACT = [(name, policy) for name in COPIES for policy in task.task_of(name).exact]


@pytest.mark.parametrize(
    "name_and_policy",
    unmarked(EXACT, [case for case in EXACT if case[0] != "pollux-v1"]),
    ids="-".join,
)
def test_every_exact_baseline_gives_the_published_times(name_and_policy):
    """Under the task's own rules, not those of a test. What synergy-v1 names is met with other seeds (tests/synergy)."""
    name, policy = name_and_policy
    if name == "elasticflow-v1":
        times = rows_of("elasticflow/fig10/edf_job.csv").astype({"job_id": str})
        took_s = times["end_time"] - times["submit_time"]
        expected = dict(zip(times["job_id"], took_s, strict=True))
        assert jct_s(name, policy) == pytest.approx(expected, abs=1e-6)
        return
    if name == "shockwave-v1":
        wanted = {"set": "tacc_32gpus", "kind": "simulation", "policy": "gandiva_fair"}
        expected = rows_of("shockwave/jobs.csv", **wanted)["jct_s"].tolist()
    else:
        path = facts() / "pollux" / f"results-jobload__{policy}-1.0__summary.json"
        expected = json.loads(path.read_text())["jcts"]["workload-6"]
    assert [*jct_s(name, policy).values()] == pytest.approx(expected, abs=1e-6)


@pytest.mark.usefixtures("fewer_jobs")
@pytest.mark.parametrize("name", OPEN)
def test_a_schedule_of_each_task_is_one_with_its_metrics(name, tmp_path):
    """Also where nodes fail and saving takes time: of the last policy of the task, as `bench run` leaves it to be submitted."""
    own = task.task_of(name).policies[-1]
    folder = running.submitted(name, "s", own, tmp_path / "schedule")
    found = running.check_folder(folder, name, "s")
    assert not found.faults
    assert found.metrics.keys() >= {*task.task_of(name).rank}


@pytest.mark.parametrize("name", ["backfill", "hierarchical", "synergy", "tenants", "adapted"])
def test_schedules_of_the_engine_are_schedules(name):
    """Computed by sums of rows alone, the metrics are those of the run."""
    scenario = read_scenario(ROOT / "examples" / f"{name}.toml")
    if name == "hierarchical":
        jobs = scenario.workload.model_copy(update={"jobs_per_node": 2})
        scenario = scenario.model_copy(update={"workload": jobs})
    result = run(scenario)
    workload, cluster = build(scenario)
    found = check_schedule(
        result.schedule_table(),
        workload,
        cluster,
        rules_of(scenario, workload, cluster),
        claimed=summarise(result),
    )
    assert not found.faults
    assert found.metrics["jobs"] == len(result.workload)


def test_another_rule_is_told():
    scenario = task.scenario_of_task("synergy-v1", "s")
    other = scenario.model_copy(
        update={"decisions": scenario.decisions.model_copy(update={"round_s": 600.0})}
    )
    told = list(task.changed("synergy-v1", "s", other))
    assert [line.partition(" are not")[0] for line in told] == [
        "synergy-v1 s: its rules",
        "synergy-v1 s: its schedule",
    ]


@pytest.fixture
def small(monkeypatch):
    """The task philly-v1 with 40 jobs, two seeds and three policies, frozen by nobody."""
    own = task.task_of("philly-v1")
    size = task.TaskSize(set=["workload.num_jobs=40"], seeds=2)
    fewer = own.model_copy(
        update={"policies": ["fifo-strict", "srpt", "sjf"], "sizes": {"s": size}}
    )
    monkeypatch.setattr(task, "tasks", lambda: {"philly-v1": fewer})
    monkeypatch.setattr(task, "locked", dict)


@pytest.mark.long
@pytest.mark.usefixtures("small")
def test_the_command_runs_and_checks_a_policy_of_ones_own(tmp_path):
    """A policy has its row; its schedule is checked; one changed end is found."""
    words = ("--policy", "Mine=sjf", "--workers", 2, "--out", tmp_path / "philly-v1")
    told = done("bench", "run", "philly-v1", *words, cwd=tmp_path).stdout
    assert "to submit:" in told
    table = pd.read_csv(tmp_path / "philly-v1" / "table.csv")
    assert set(table["metric"]) == set(task.task_of("philly-v1").rank)
    assert (table[table["base"] == "lower bound"]["ratio"] >= 1 - 1e-9).all()
    means = table.set_index(["metric", "policy"])["mean"].unstack()
    assert means["Mine"].tolist() == means["sjf"].tolist()
    folder = tmp_path / "philly-v1" / "schedules" / "Mine"
    check = ("bench", "check", folder, "--task", "philly-v1")
    assert "schedule checked" in done(*check, "--policy", "Mine=sjf", "--allow-code").stdout
    schedule = pd.read_csv(folder / "schedule.csv")
    schedule.loc[3, "end_s"] += 5
    schedule.to_csv(folder / "schedule.csv", index=False)
    ran = schedlab(*check)
    assert ran.returncode == 1
    assert ran.stdout.startswith(f"wrong: job {schedule.loc[3, 'job_id']}: holds GPUs for 100.")
    schedule.loc[3, "end_s"] -= 5
    schedule.to_csv(tmp_path / "other.csv", index=False)
    told = done("bench", "check", tmp_path / "other.csv", "--task", "philly-v1").stdout
    assert "schedule checked, program not run here" in told
    done("bench", "table", tmp_path)
    assert "philly" in (tmp_path / "index.html").read_text()


HALF = """
from policies import make_policy


class Half:
    def __init__(self):
        self.own, self.jobs = make_policy("srpt"), None

    def decide(self, view):
        duration_s = view.workload.performance.duration_s.base  # of all jobs
        if duration_s is not self.jobs:
            self.jobs = duration_s
            duration_s.flags.writeable = True
            duration_s *= 0.5
        return self.own.decide(view)
"""


@pytest.mark.long
@pytest.mark.usefixtures("small")
def test_a_policy_that_halves_durations_in_memory(tmp_path, monkeypatch):
    """Its run ends the command: the check has jobs of its own. Nothing of a table is written."""
    alone = task.task_of("philly-v1").model_copy(update={"policies": ["fifo-strict"]})
    monkeypatch.setattr(task, "tasks", lambda: {"philly-v1": alone})
    (tmp_path / "half.py").write_text(HALF)
    words = ("--policy", "half.py:Half", "--allow-code", "--workers", 1, "--out", "out")
    ran = schedlab("bench", "run", "philly-v1", *words, cwd=tmp_path)
    assert ran.returncode == 2
    line = ran.stderr.splitlines()[-1]
    assert line.startswith(
        "schedlab: half.py:Half: its schedule under seed 0 is wrong: job 0: does 50."
    )
    assert not list((tmp_path / "out").glob("*.csv"))


def test_metrics_that_a_run_claims_are_checked():
    """Those of the rows pass; a mean that is smaller by a tenth does not."""
    scenario = task.scenario_of_task("cost-v1", "s")
    result, checks = run(scenario), running.ScheduleChecks()
    schedule, numbers = result.schedule_table(), summarise(result)
    checks(scenario, schedule, numbers)
    assert not checks.unchecked
    with input_error("fifo: its schedule under seed 0 is wrong: summary.json: mean_jct_s is"):
        checks(scenario, schedule, numbers | {"mean_jct_s": 0.9 * numbers["mean_jct_s"]})


def test_a_metric_below_its_bound_is_refused():
    """By hand: 9.9 of a bound of 10; not of other jobs (adapted ones), nor of a metric that has no bound."""
    runs = pd.DataFrame({
        "policy": ["a", "b", "b"], "view": ["as given", "as given", "elastic"], "seed": [0, 1, 1],
        "mean_jct_s": [10.0, 21.0, 9.0], "makespan_s": [1.0, 1.0, 1.0],
    })  # fmt: skip
    bounds = pd.DataFrame({"mean_jct_s": [10.0, 20.0]}, index=[0, 1])
    of = task.task_of("philly-v1")
    bench_table.expect_above_bounds(SimpleNamespace(runs=runs), of, bounds)
    runs.loc[1, "mean_jct_s"] = 19.8
    with input_error("b: mean_jct_s is 19.8 under seed 1, expected 20 at least", "(ratio 0.99)"):
        bench_table.expect_above_bounds(SimpleNamespace(runs=runs), of, bounds)


def all_of_the_engine(view):
    """The jobs where the engine keeps them, which no policy should read."""
    return view._controller.simulation.workload


CHEATS = {
    "median": lambda view: np.median(all_of_the_engine(view).performance.duration_s),
    "number": lambda view: 60.0 * len(all_of_the_engine(view)),
    "last": lambda view: all_of_the_engine(view).performance.duration_s[-1],
    "next": lambda view: all_of_the_engine(view).submit_s[len(view.workload) :][:20].sum() % 3600,
}


@pytest.mark.parametrize("cheat", [*CHEATS, None])
def test_a_policy_that_sees_the_future(cheat, monkeypatch):
    """It serves first the jobs whose duration is nearest to a number; where this comes from jobs to come, it is found."""
    scenario = task.scenario_of_task("philly-v1", "s")
    near = CHEATS.get(cheat, lambda view: view.workload.performance.duration_s.mean())

    def nearest(view):
        duration_s = view.workload.performance.duration_s
        return serve(view, sorted(view.waiting, key=lambda job: abs(duration_s[job] - near(view))))

    monkeypatch.setattr(scenarios_build, "policy_of", lambda scenario: nearest)
    ahead = running.looks_ahead(scenario)
    assert ahead.startswith("if other jobs follow after") if cheat else ahead == ""


def test_a_policy_that_asks_for_all_jobs(monkeypatch):
    def asks(view):
        return serve(view, sorted(view.waiting, key=view.all_jobs.performance.duration_s.item))

    monkeypatch.setattr(scenarios_build, "policy_of", lambda scenario: asks)
    scenario = task.scenario_of_task("philly-v1", "s")
    told = "the policy asks for jobs that have not been submitted yet (view.all_jobs)"
    assert running.looks_ahead(scenario) == told


def test_seeds_of_the_official_table(monkeypatch):
    with input_error("--key: its SHA-256 is not that of the official key"):
        task.official_seeds("philly-v1", 3, "no key")
    monkeypatch.setattr(task, "KEY_HASH", hashlib.sha256(b"secret").hexdigest())
    seeds = task.official_seeds("philly-v1", 3, "secret")
    assert len(set(seeds)) == 3
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert seeds != task.official_seeds("cost-v1", 3, "secret")


def test_refusals(tmp_path):
    assert "did you mean 'philly-v1'" in refused("bench", "run", "philly-v2", cwd=tmp_path)
    assert "--size: got 'x', expected one of s, m, l" in refused(
        "bench", "run", "philly-v1", "--size", "x", cwd=tmp_path
    )
    assert "--trace FILE names a copy" in refused("bench", "run", "gavel-v1", cwd=tmp_path)
    (tmp_path / "t.json").write_text("{}")
    told = refused("bench", "run", "gavel-v1", "--trace", tmp_path / "t.json", cwd=tmp_path)
    assert "SHA-256 44136fa355b3.., expected 17111f7295f0.. of the frozen one" in told
    assert "no such file" in refused("bench", "check", tmp_path / "no.csv", "--task", "philly-v1")
    assert "expected both" in refused(
        "bench", "check", tmp_path, "--task", "philly-v1", "--policy", "sjf"
    )


def test_ratios_to_the_best_of_a_draw():
    """By hand: sqrt(2 x 8) = 4, at least 1; an hour is added to waits alone."""
    waits = {"a": [0.0, 7200.0], "b": [3600.0, 3600.0]}
    runs = pd.DataFrame({
        "policy": [*"aabb"], "view": "as given", "seed": [0, 1] * 2, "draw": 0,
        "mean_jct_s": [100.0, 50.0, 200.0, 400.0], "p95_total_wait_s": waits["a"] + waits["b"],
    })  # fmt: skip
    rank = ("mean_jct_s", "p95_total_wait_s")
    of = task.task_of("philly-v1").model_copy(update={"rank": rank})
    found = bench_table.standing(SimpleNamespace(runs=runs), of, pd.DataFrame())
    by = found.set_index(["metric", "policy"])
    assert by["ratio"]["mean_jct_s"].to_dict() == pytest.approx({"a": 1.0, "b": 4.0})
    assert by["ratio"]["p95_total_wait_s"].to_dict() == pytest.approx({"a": 1.5**0.5, "b": 2**0.5})
    assert (found["lower"] >= 1).all()
    assert set(by["base"]["mean_jct_s"]) == {"best of the draw"}
    assert set(by["base"]["p95_total_wait_s"]) == {"best of the draw, 1 h added to both"}


def test_the_table_marks_who_asked_for_jobs_to_come():
    """A baseline as the task says it, a policy of one's own by its runs; others not, nor where no run is marked."""
    known, (what,) = task.task_of("philly-v1"), task.task_of("philly-v1").knows.values()
    runs = pd.DataFrame({
        "policy": ["gittins+proportional", "mine", "sjf"], "view": "as given", "seed": 0, "draw": 0,
        **{metric: [100.0, 110.0, 120.0] for metric in known.rank},
    })  # fmt: skip
    for marks, mine in (([1.0, 1.0, np.nan], bench_table.ASKED), (None, "")):
        given = runs if marks is None else runs.assign(informed=marks)
        found = bench_table.standing(SimpleNamespace(runs=given), known, pd.DataFrame())
        told = found.groupby("policy")["informed"].first().to_dict()
        assert told == {"gittins+proportional": what, "mine": mine, "sjf": ""}
        names = [*bench_table.sheet(found, known)["policy"]]
        assert ("mine [informed]" in names) == bool(mine)
        assert {"gittins+proportional [informed]", "sjf"} <= {*names}


def test_the_choice_of_a_policy_has_the_numbers_of_the_tables():
    """docs/workloads.md: each `POLICY` of a row comes with its ratio and interval, in the order of the row."""
    page = (ROOT / "docs" / "workloads.md").read_text("utf-8")
    rows = re.findall(r"^\| [^|]*\(`(\w+-v1)`: ([^)]*)\) \| ([^|]*) \| ([^|]*) \|$", page, re.M)
    assert len(rows) == 8
    for name, words, taken, why in rows:
        table = pd.read_csv(ROOT / "results" / "bench" / name / "table.csv")
        metric = next(m for m in METRICS.values() if m.words == words).name
        own = table[table["metric"] == metric].set_index("policy")
        named = [p for p in re.findall(r"`([^`]+)`", f"{taken} {why}") if p in own.index]
        told = re.findall(r"\d+\.\d\d \(\d+\.\d\d to \d+\.\d\d\)", why)
        numbers = own[["ratio", "lower", "upper"]]
        expected = [
            f"{ratio:.2f} ({low:.2f} to {high:.2f})"
            for ratio, low, high in numbers.loc[named].itertuples(index=False)
        ]
        assert told
        assert [text for text in expected if text in told] == expected[: len(told)], name
