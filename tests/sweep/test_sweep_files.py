"""From a sweep's file to its runs, and what a mistake in the file looks like."""

import re
from pathlib import Path

import pandas as pd
import pytest

from experiments.scenario import checks
from experiments.sweep import codeversion
from experiments.sweep.changes import SOURCES, sources_of
from experiments.sweep.runner import run_tasks
from experiments.sweep.store import Store
from experiments.sweep.sweep import export, retry, status, sweep
from experiments.sweep.sweepfile import read_sweep
from simulator.errors import InputError
from tests.command import compute, swept

EXAMPLE = Path(__file__).parents[2] / "examples" / "sweep_small.toml"
BASE = """
policies = ["fifo", "edf"]
seeds = [3, 5]
[scenario]
workload = { kind = "hierarchical", num_nodes = 5, jobs_per_node = 2 }
"""


TRACE = """
policies = ["fifo", "fifo-strict"]
seeds = 3
[scenario]
workload = { kind = "csv", path = "jobs.csv" }
cluster = { kind = "nodes", num_nodes = 2 }
"""


ROWS = "job_id,submit_time_s,duration_s,num_gpus\na,0,10,1\n"
OF_JOBS = """
policy = "fifo-strict"
workload = {{ kind = "csv", path = "{}" }}
cluster = {{ kind = "nodes", num_nodes = 2 }}
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "sweep.toml"
    path.write_text(text)
    return path


def test_settings_are_crossed_with_policies_and_seeds(tmp_path):
    grid = 'workload.mean_gap_s = [1000, 2000]\n"decisions.period_s" = [60, 3600]'
    zipped = "workload.num_nodes = [5, 10]\nworkload.jobs_per_node = [2, 1]"
    _, tasks = read_sweep(write(tmp_path, f"{BASE}[grid]\n{grid}\n[[zip]]\n{zipped}"))
    assert len(tasks) == 2 * 2 * 2 * 2 * 2
    assert tasks[0].labels == {
        "workload.mean_gap_s": 1000, "decisions.period_s": 60, "workload.num_nodes": 5,
        "workload.jobs_per_node": 2, "policy": "fifo", "seed": 3,
    }  # fmt: skip
    last = tasks[-1].config
    assert (last["workload"]["num_nodes"], last["workload"]["jobs_per_node"]) == (10, 1)
    assert (last["workload"]["mean_gap_s"], last["decisions"]["period_s"]) == (2000.0, 3600.0)
    assert (last["policy"], last["seed"]) == ("edf", 5)


def test_single_points_stand_side_by_side(tmp_path):
    points = "[[points]]\ndecisions.period_s = 60\n[[points]]\nworkload.num_nodes = 10"
    _, tasks = read_sweep(write(tmp_path, BASE + points))
    assert [task.config["workload"]["num_nodes"] for task in tasks] == [5] * 4 + [10] * 4
    assert tasks[0].columns() == {"decisions.period_s": 60, "policy": "fifo", "seed": 3}


def test_only_runs_that_are_kept_are_checked_and_made(tmp_path):
    file = write(tmp_path, f"{BASE}[grid]\nworkload.num_nodes = [5, 0]")
    with pytest.raises(InputError, match="num_nodes: got 0"):
        read_sweep(file)
    wanted = [("fifo", 5, 5), ("edf", 3, 5)]
    columns = ("policy", "seed", "workload.num_nodes")
    _, tasks = read_sweep(file, keep=lambda run: tuple(run[c] for c in columns) in wanted)
    assert [tuple(task.columns()[c] for c in columns) for task in tasks] == wanted


def test_policies_have_options_and_labels(tmp_path):
    text = """
    policies = [
      { name = "randomised-greedy", options = { iterations = 5 } },
      { name = "randomised-greedy", options = { iterations = 9 }, label = "RG, 9" },
      "fifo",
    ]
    [scenario]
    seed = 7
    policy = "local-search"
    policy_options = { iterations = 3 }
    workload.kind = "hierarchical"
    """
    _, tasks = read_sweep(write(tmp_path, text))
    assert [task.columns() for task in tasks] == [
        {"policy": "randomised-greedy(iterations=5)", "seed": 7},
        {"policy": "RG, 9", "seed": 7},
        {"policy": "fifo", "seed": 7},
    ]
    assert tasks[1].config["policy_options"] == {"iterations": 9}
    assert tasks[2].config.get("policy_options", {}) == {}


def test_scenario_may_be_a_file_of_its_own(tmp_path):
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "base.toml").write_text(OF_JOBS.format("jobs.csv"))
    (tmp_path / "scenarios" / "jobs.csv").write_text(ROWS)
    text = 'scenario = "scenarios/base.toml"\ngrid.cluster.gpus_per_node = [4, 8]'
    _, tasks = read_sweep(write(tmp_path, text))
    jobs = str(tmp_path / "scenarios" / "jobs.csv")
    assert [task.config["cluster"]["gpus_per_node"] for task in tasks] == [4, 8]
    assert tasks[0].files == (jobs,)
    key = tasks[0].key
    Path(jobs).write_text(f"{ROWS}b,0,10,1\n")
    assert read_sweep(tmp_path / "sweep.toml")[1][0].key != key


CATALOG = "name,gpu_type,gpus,price_per_hour\nA,K80,1,1\nB,K80,2,{}\n"


def test_a_catalogue_is_relative_to_its_file_and_part_of_the_key(tmp_path, monkeypatch):
    """Prices that were edited never meet results of the old ones."""
    catalog = tmp_path / "cat.csv"
    catalog.write_text(CATALOG.format(1.9))
    text = f'{BASE}cluster = {{ kind = "vms", catalog = "cat.csv" }}'
    file, out = write(tmp_path, text), tmp_path / "out"
    monkeypatch.chdir("/")
    _, tasks = read_sweep(file)
    assert tasks[0].files == (str(catalog),)
    keys = {task.key for task in tasks}
    assert sweep(file, out, workers=1, progress=False) == 0
    catalog.write_text(CATALOG.format(3.0))
    assert keys.isdisjoint(task.key for task in read_sweep(file)[1])


def test_a_swept_catalogue_stands_beside_named_ones(tmp_path):
    (tmp_path / "cat.csv").write_text(CATALOG.format(1.9))
    text = f'{BASE}cluster.kind = "vms"\n[grid]\ncluster.catalog = ["thesis", "cat.csv"]'
    _, tasks = read_sweep(write(tmp_path, text))
    assert [task.files for task in tasks] == [()] * 4 + [(str(tmp_path / "cat.csv"),)] * 4
    assert tasks[4].columns()["cluster.catalog"] == "cat.csv"


def test_swept_paths_are_relative_to_the_sweep_and_the_scenario_s_to_the_scenario(tmp_path):
    (tmp_path / "sub").mkdir()
    for name in ("sub/base.csv", "a.csv"):
        (tmp_path / name).write_text(ROWS)
    (tmp_path / "sub" / "base.toml").write_text(OF_JOBS.format("base.csv"))
    swept, of_scenario = str(tmp_path / "a.csv"), str(tmp_path / "sub" / "base.csv")
    points = '[[points]]\nworkload.path = "a.csv"\n[[points]]\nreconfiguration_s = 4'
    whole = '[grid]\nworkload = [{ kind = "csv", path = "a.csv" }]'
    for text, files in ((points, [(swept,), (of_scenario,)]), (whole, [(swept,)])):
        _, tasks = read_sweep(write(tmp_path, f'scenario = "sub/base.toml"\n{text}'))
        assert [task.files for task in tasks] == files


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (BASE.replace("[3, 5]", "[3, 5, 3]"), "seeds 3 is given twice"),
        (BASE.replace('"edf"', '"fifo"'), "policies: label 'fifo' is given twice"),
        (BASE.replace('"edf"', '{ name = "edf", label = "fifo" }'), "policies: label 'fifo' is given twice"),
        (
            BASE.replace('"edf"', '{ name = "fifo", label = "first" }'),
            "the same runs twice (policy=fifo; policy=first)",
        ),
        (
            f"{BASE}[grid]\nworkload.mean_gap_s = [1000, 2000, 1000.0]",
            "the same runs twice (workload.mean_gap_s=1000, policy=fifo; "
            "workload.mean_gap_s=1000.0, policy=fifo)",
        ),
        (f"{BASE}[[points]]\ndecisions.period_s = 60\n[[points]]\ndecisions.period_s = 60", "the same runs twice"),
    ],
)  # fmt: skip
def test_no_run_counts_twice(tmp_path, text, told):
    with pytest.raises(InputError, match=rf"^.*{re.escape(told)}.*$"):
        read_sweep(write(tmp_path, text))


DRAWN = 'kind = "poisson", arrival_rate_per_h = 1, num_jobs = 20'
POISSON = f"""
policies = ["fifo-strict"]
[scenario]
workload = {{ {DRAWN} }}
cluster = {{ kind = "nodes", num_nodes = 4, gpus_per_node = 2 }}
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f'{BASE}dispatcher = "rr"', "scenario.dispatcher: unknown dispatcher 'rr', expected one"),
        (
            f"{BASE}window = [0, 10]\n[grid]\nworkload.num_nodes = [5, 4]",
            "scenario.window: got 0:10, expected 0 <= first < last <= 8 jobs (at workload.num_nodes = 4)",
        ),
        (
            f"{BASE}decisions.round_s = 3\n[grid]\ndecisions.period_s = [3]",
            "both round_s and period_s given, expected one of them (at decisions.period_s = 3)",
        ),
        (
            f'{BASE}cluster.kind = "vms"\n[grid]\ncluster.num_controllers = [1, 2]',
            "swept parameter cluster.num_controllers: 2 controllers for 5 nodes",
        ),
        (BASE.replace('"edf"', '"edv"'), "sweep.toml: policies[1]: unknown policy 'edv'; did you"),
        (POISSON.replace("num_jobs", 'duration_s = "exponential:-4", num_jobs'), "scenario.workload.duration_s:"),
        (
            POISSON.replace("num_jobs", "num_gpus = [1, 9], num_jobs"),
            "scenario.workload: job '0': num_gpus is 9, expected at most 8",
        ),
        (POISSON.replace("cluster", "# "), "scenario.cluster: missing, expected 'nodes' or 'pool'"),
        (POISSON.replace(DRAWN, 'kind = "csv", path = "none.csv"'), "none.csv: no such file"),
        (
            POISSON.replace(DRAWN, 'kind = "csv", path = "jobs.csv"'),
            "jobs.csv: job 'a': num_gpus is 9, expected at most 8",
        ),
    ],
)  # fmt: skip
def test_what_cannot_run_is_told_before_the_first_run(tmp_path, text, told):
    (tmp_path / "jobs.csv").write_text(ROWS.replace(",1\n", ",9\n"))
    out = tmp_path / "out"
    with pytest.raises(InputError) as error:
        sweep(write(tmp_path, text), out, workers=1, progress=False)
    assert told in str(error.value)
    assert "sweep.toml" in str(error.value)
    assert not out.exists()


def test_equal_parts_are_checked_once(tmp_path, monkeypatch):
    """So that a sweep of very many runs starts at once."""
    asked = []
    through, make_policy = checks.through, checks.policy_of
    monkeypatch.setattr(checks, "through", lambda *a: asked.append("machines") or through(*a))
    monkeypatch.setattr(checks, "policy_of", lambda s: asked.append("policy") or make_policy(s))
    gaps = list(range(1000, 1100))
    _, tasks = read_sweep(write(tmp_path, f"{BASE}[grid]\nworkload.mean_gap_s = {gaps}"))
    assert len(tasks) == 400
    assert sorted(asked) == ["machines", "policy", "policy"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("num_nodes = 5", "num_nodes = -3", "scenario.workload.num_nodes: got -3, expected an"),
        ("seeds = [3, 5]", "seeds = 0", "seeds: got 0, expected an integer >= 1 and <= 1000000 or a"),
        ("seeds = [3, 5]", "seeds = [-1]", "seeds[0]: got -1, expected an integer >= 0"),
        ("seeds = [3, 5]", "sedes = [3, 5]", "sedes: unknown key, did you mean 'seeds'?"),
        ("seeds = [3, 5]", "time_limit_s = 0", "time_limit_s: got 0, expected a number > 0"),
        ('"edf"', '"edv"', "edv"),
        ('"edf"', '{ nam = "edf" }', "policies[1].nam: unknown key, did you mean 'name'?"),
        ('"edf"', '{ name = "edf", options = { x = 1 } }', "unknown option 'x'"),
        ("", "grid.seed = [1]", "seed: set in two places"),
        ("", 'grid.policy = ["ps"]', "policy: set in two places"),
        ("", "grid.x = 3", "grid.x: got 3, expected a list of values"),
        ("", "grid.workload.num_nodes = [5, 0]", "swept parameter workload.num_nodes: got 0, expected an integer >= 1"),
        ("", "zip = [{ a = [1, 2], b = [1] }]", "zip[0]: a has 2, b has 1, expected lists of one length"),
        ("", "grid.workload.num_nodes = [5]\nzip = [{ workload.num_nodes = [5] }]", "workload.num_nodes: set in two"),
        ("", "grid.seed.x = [1]", "seed.x: set in two places"),
        ("", 'function = "subprocess:run"', "function: got 'subprocess:run', which would run code that is not"),
        ("seeds = [3, 5]", "seeds = 1_000_000_000", "seeds: got 1000000000, expected an integer"),
        (
            "seeds = [3, 5]",
            f"seeds = 1000\ngrid.server.servers = {list(range(1, 3000))}",
            "runs, expected at most 1,000,000 in a sweep",
        ),
        (BASE, 'scenario = "none.toml"', "none.toml: no such file"),
        (BASE, "seeds = 1", "scenario: missing, expected a table or text"),
        (BASE, "seeds = [", "not valid TOML"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(tmp_path, old, new, told):
    """In place of a part of the file, or as keys beside it."""
    assert old in BASE
    text = BASE.replace(old, new) if old else BASE.replace("[scenario]", f"{new}\n[scenario]")
    with pytest.raises(InputError) as error:
        read_sweep(write(tmp_path, text))
    assert told in str(error.value)
    assert str(tmp_path) in str(error.value) or "nowhere" in new


def test_commands_from_start_to_table(tmp_path, capsys):
    file, out = write(tmp_path, BASE), tmp_path / "out"
    assert sweep(file, out, workers=2, progress=False) == 0
    assert "4 of 4 runs done, 0 failed; 4 computed now" in capsys.readouterr().out
    assert sweep(file, out, workers=2, progress=False) == 0
    assert "4 of 4 runs done, 0 failed; 0 computed now" in capsys.readouterr().out
    assert status(out) == 0
    assert "4 runs, 4 done, 0 failed, 0 left" in capsys.readouterr().out
    assert export(out) == 0
    header, *rows = (out / "runs.csv").read_text().splitlines()
    assert header.startswith("policy,seed,status,error,jobs,")
    starts = [f"{policy},{seed},done," for policy in ("fifo", "edf") for seed in (3, 5)]
    assert all(row.startswith(start) for row, start in zip(rows, starts, strict=True))
    capsys.readouterr()
    assert export(out, table="jobs") == 0
    assert capsys.readouterr().out == f"{out / 'jobs.csv'}: 40 rows\n"
    assert export(out, table="decisions") == 0
    header = (out / "decisions.csv").read_text().partition("\n")[0]
    assert header.startswith("policy,seed,time_s,controller,active")
    assert "cpu_s" not in header


def test_retry_refuses_when_the_code_has_changed(tmp_path, monkeypatch):
    file, out = write(tmp_path, BASE), tmp_path / "out"
    tasks = read_sweep(file)[1]
    with Store(out, create=True) as store:
        store.plan(tasks, {SOURCES: sources_of(tasks)})
    parts = codeversion.code_parts(tasks[0].function, tasks[0].sources)
    newer = parts | {"policies/greedy/policy.py": "newer"}
    monkeypatch.setattr(codeversion, "code_parts", lambda function, sources: newer)
    monkeypatch.setattr("experiments.sweep.changes.code_parts", lambda function, sources: newer)
    codeversion.code_version.cache_clear()
    try:
        with pytest.raises(InputError) as refused:
            retry(out, progress=False)
    finally:
        codeversion.code_version.cache_clear()
    assert str(refused.value) == (
        f"{out}: holds this sweep by other code or data (policies/greedy/policy.py has changed; "
        "0 of 4 runs in common), expected an empty folder, or --resume to keep the runs that still fit"
    )


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("seeds = [3, 5]", "seeds = [3, 6, 7]", "another sweep (seed: 6, 7 new, 5 left out; 2 of 6"),
        ('"fifo", "edf"', '"fifo"', "another sweep (policy: edf left out; 2 of 2 runs"),
        ("num_nodes = 5", "num_nodes = 2", "(workload.num_nodes: 2 new, 5 left out; 0 of 4"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_parameter_or_the_seed(tmp_path, before, after, told):
    assert before in BASE
    with Store(tmp_path / "out", create=True) as store:
        store.plan(read_sweep(write(tmp_path, BASE))[1])
        others = read_sweep(write(tmp_path, BASE.replace(before, after)))[1]
        with pytest.raises(InputError, match=re.escape(told)):
            run_tasks(others, store, resume=False)


def test_a_refusal_names_the_input_file(tmp_path):
    file = write(tmp_path, TRACE)
    (tmp_path / "jobs.csv").write_text(ROWS)
    with Store(tmp_path / "out", create=True) as store:
        tasks = read_sweep(file)[1]
        store.plan(tasks, {SOURCES: sources_of(tasks)})
        (tmp_path / "jobs.csv").write_text(f"{ROWS}b,10,50,8\n")
        told = r"other code or data \(/.*jobs\.csv has changed; 0 of"
        with pytest.raises(InputError, match=told):
            run_tasks(read_sweep(file)[1], store, resume=False)


@pytest.mark.long
def test_the_example_has_200_runs_and_its_first_and_last_work(tmp_path):
    _, tasks = read_sweep(EXAMPLE)
    assert len({task.key for task in tasks}) == 200
    with Store(tmp_path, create=True) as store:
        compute([tasks[0], tasks[-1]], store)
        assert store.counts().done == 2


def test_the_documented_file_is_a_sweep(tmp_path):
    page = (EXAMPLE.parents[1] / "docs" / "sweeps.md").read_text()
    _, tasks = read_sweep(write(tmp_path, page.split("```toml\n")[1].split("```")[0]))
    assert len({task.key for task in tasks}) == 2 * 2 * 2 * 2 * 10
    assert "make 160 runs" in page


def test_decisions_of_a_solver_are_exported_without_what_it_took(tmp_path):
    """The table is the same bytes wherever it was computed."""
    text = BASE.replace('"fifo", "edf"', '{ name = "milp", options = { solver = "highs" } }')
    file, there, here = write(tmp_path, text), tmp_path / "a", tmp_path / "b"
    assert sweep(file, there, workers=1, progress=False) == 0
    swept(file, here)
    for out in (there, here):
        assert export(out, table="decisions") == 0
    assert b",objective," in (there / "decisions.csv").read_bytes()
    assert (there / "decisions.csv").read_bytes() == (here / "decisions.csv").read_bytes()


def test_points_may_have_names(tmp_path):
    scenario = 'scenario = { policy = "fifo", workload.kind = "hierarchical" }'
    points = 'points = [{ label = "hourly", decisions.period_s = 3600 }, { label = "events" }]'
    _, tasks = read_sweep(write(tmp_path, f"{scenario}\n{points}"))
    assert [task.columns().get("label") for task in tasks] == ["hourly", "events"]
    assert tasks[0].config["decisions"]["period_s"] == 3600
    assert all("label" not in task.config for task in tasks)


def test_a_study_at_another_size(tmp_path):
    """Changes take the place of the file's own values, and come before what it sweeps."""
    text = """
    scenario = { policy = "fifo", workload = { kind = "hierarchical", num_nodes = 20 } }
    grid.workload.mean_gap_s = [1000, 2000]
    """
    changes = {"workload.num_nodes": 5, "workload.mean_gap_s": 7.0}
    _, tasks = read_sweep(write(tmp_path, text), changes=changes)
    assert [task.config["workload"]["num_nodes"] for task in tasks] == [5, 5]
    assert [task.config["workload"]["mean_gap_s"] for task in tasks] == [1000, 2000]


def fixed_trace(folder: Path, more: str = "", workload: str = "") -> Path:
    rows = "".join(f"j{i},{10 * i},{100 + 7 * i},{1 + i % 3}\n" for i in range(12))
    (folder / "jobs.csv").write_text(f"job_id,submit_time_s,duration_s,num_gpus\n{rows}")
    return write(folder, TRACE.replace('"jobs.csv"', f'"jobs.csv"{workload}') + more)


def test_seeds_that_change_nothing_are_computed_once_and_told(tmp_path, capsys):
    """Of a fixed trace under a policy that draws nothing; also where a sweep is started again."""
    file, out = fixed_trace(tmp_path), tmp_path / "out"
    assert sweep(file, out, workers=2, progress=False) == 0
    printed = capsys.readouterr().out
    assert "6 of 6 runs done, 0 failed; 2 computed now" in printed
    assert "note: the seed changes nothing in 6 of 6 runs" in printed
    assert "workload.block_bootstrap" in printed
    export(out)
    table = pd.read_csv(out / "runs.csv")
    assert table["seed"].tolist() == [0, 1, 2] * 2
    assert table.groupby("policy")["mean_jct_s"].nunique().tolist() == [1, 1]
    capsys.readouterr()
    assert status(out) == 0
    assert "the seed changes nothing in 6 of 6 runs" in capsys.readouterr().out
    file.write_text(file.read_text().replace("seeds = 3", "seeds = 5"))
    assert sweep(file, out, workers=2, progress=False, resume=True) == 0
    assert "10 of 10 runs done, 0 failed; 0 computed now" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "workload"),
    [('adapt = { due = "factor:2,9" }', ""), ("", ", block_bootstrap = 4")],
    ids=["due dates are drawn", "another trace for each seed"],
)
def test_seeds_that_change_something_are_all_computed(tmp_path, capsys, more, workload):
    file = fixed_trace(tmp_path, more, workload)
    assert sweep(file, tmp_path / "out", workers=2, progress=False) == 0
    printed = capsys.readouterr().out
    assert "6 of 6 runs done, 0 failed; 6 computed now" in printed
    assert "note:" not in printed


def test_runs_that_left_the_file_are_kept_and_told(tmp_path, capsys):
    file, out = write(tmp_path, BASE), tmp_path / "out"
    assert sweep(file, out, workers=1, progress=False) == 0
    file.write_text(BASE.replace("[3, 5]", "[3]"))
    capsys.readouterr()
    assert sweep(file, out, workers=1, progress=False, resume=True) == 0
    kept = f"2 runs that are not in the sweep file any more, or were made by other code, are kept in {out}"
    assert kept in capsys.readouterr().out
    file.write_text(BASE)
    assert sweep(file, out, workers=1, progress=False, resume=True) == 0
    printed = capsys.readouterr().out
    assert "4 of 4 runs done, 0 failed; 0 computed now" in printed
    assert "are kept in" not in printed
