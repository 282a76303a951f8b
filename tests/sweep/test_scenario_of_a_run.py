"""A run of a sweep, or behind a figure, as a scenario file of its own."""

import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from experiments.cli import app
from experiments.config import toml_text
from experiments.papers.registry import load, papers
from experiments.scenario.run import run_scenario
from experiments.scenario.schema import read_scenario
from experiments.sweep.chosen import scenario_text
from experiments.sweep.store import Store
from experiments.sweep.sweepfile import RUN_SCENARIO, read_sweep
from experiments.sweep.task import Task, flatten
from experiments.sweep.trust import expect_trusted
from simulator.errors import InputError

SWEEP = """
policies = ["edf", "fifo"]
seeds = [1, 2]
[scenario]
workload = { kind = "hierarchical", num_nodes = 2 }
cluster = { kind = "vms", catalog = "some.csv" }
[grid]
decisions.period_s = [1800, 3600.5]
"""
RESULTS = Path(__file__).parents[2] / "results" / "paper"
CATALOG = "name,gpu_type,gpus,price_per_hour\nA,K80,1,0.9\nB,M60,4,4.56\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of a sweep that has planned its runs."""
    (tmp_path / "some.csv").write_text(CATALOG)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    with Store(tmp_path / "out", create=True) as store, store.locked():
        other = Task("experiments.papers.rental.runs:run_pool", {"a": 1})
        store.plan([*read_sweep(tmp_path / "sweep.toml")[1], other])
    return tmp_path / "out"


def export(*words: object) -> tuple[int, str]:
    ran = CliRunner().invoke(app, ["sweep", "export", *map(str, words)])
    return ran.exit_code, str(ran.exception or "")


def test_it_gives_the_same_numbers(folder, tmp_path):
    file = tmp_path / "elsewhere" / "one.toml"
    chosen = {"policy": "edf", "seed": 2, "decisions.period_s": 3600.5}
    words = [word for name in chosen for word in ("--where", f"{name}={chosen[name]}")]
    assert export(folder, "--scenario", file, *words)[0] == 0
    assert file.read_text().startswith("# decisions.period_s 3600.5, policy edf, seed 2\n")
    _, tasks = read_sweep(tmp_path / "sweep.toml")
    (config,) = (task.config for task in tasks if task.labels == chosen)
    again = run_scenario(read_scenario(file).model_dump(exclude_none=True))
    one = run_scenario(dict(config))
    assert again.scalars["mean_jct_s"] == one.scalars["mean_jct_s"]
    assert again.scalars["total_cost"] == one.scalars["total_cost"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--scenario", "x.toml"], "8 runs to choose from; which one? They differ in decisions.period_s: 1800, 3600.5; "),
        (["--scenario", "x.toml", "--where", "policy=none"], "no run has these labels; policy is edf, fifo, None in those with"),
        (
            ["--scenario", "x.toml", "--where", "a=1"],
            "is a call of experiments.papers.rental.runs:run_pool, expected",
        ),
        (["--where", "seed=1"], "--where: was given without --scenario, expected both"),
        (["--scenario", "x.toml", "--out", "y.csv"], "--out: was given with --scenario, expected one"),
        (["--scenario", "x.toml", "--format", "csv"], "--format: was given with --scenario"),
        (["--scenario", "x.toml", "--table", "jobs"], "--table: was given with --scenario"),
        (["--scenario", "x.toml", "--timings"], "--timings: was given with --scenario"),
        (["--scenario", "x.toml", "--raw"], "--raw: was given with --scenario"),
    ],
)  # fmt: skip
def test_mistakes(folder, words, complaint, monkeypatch):
    monkeypatch.chdir(folder.parent)
    code, text = export(folder, *words)
    assert code != 0
    assert complaint in text
    assert not (folder.parent / "x.toml").exists()


def test_never_over_an_input_or_a_part_of_the_sweep(folder):
    words = ["--where", "policy=edf", "--where", "seed=2", "--where", "decisions.period_s=1800"]
    for name in (folder.parent / "some.csv", folder / "runs.sqlite"):
        before = name.read_bytes()
        code, text = export(folder, "--scenario", name, *words)
        assert code != 0
        assert text.startswith(f"--scenario {name}: is ")
        assert "expected another file" in text
        assert name.read_bytes() == before


def given(value: Any) -> Any:
    """Without what is None."""
    if isinstance(value, Mapping):
        return {key: given(each) for key, each in value.items() if each is not None}
    return [given(each) for each in value] if isinstance(value, list | tuple) else value


@pytest.mark.long
@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.name)
def test_runs_behind_figures_are_trusted_and_can_be_written_as_a_file(paper):
    """`sweep retry` needs no leave for them; of runs with the same keys the first is written."""
    tasks = load(paper).tasks("quick")
    assert tasks
    expect_trusted({task.function for task in tasks}, "x", allow_code=False)
    kinds: dict[frozenset[str], Mapping[str, Any]] = {}
    for task in tasks:
        if task.function == RUN_SCENARIO:
            kinds.setdefault(frozenset(flatten(given(task.config))), task.config)
    for config in kinds.values():
        assert tomllib.loads(toml_text(config)) == given(config)


@pytest.mark.parametrize(
    "value",
    [
        'a"b\\c\n\x7f\x1b',
        "é",
        1e300,
        1e-9,
        float("inf"),
        2**60,
        True,
        [],
        [[1], ["x"]],
        {"a b": {}},
    ],
)
def test_values_of_all_kinds(value):
    table = {"a.b": value, "t": {"k": value}}
    assert tomllib.loads(toml_text(table)) == table


CONFIG = {"policy": "edf", "workload": {"kind": "hierarchical"}}


def planned(out: Path, *labels: dict[str, Any]) -> None:
    with Store(out, create=True) as store, store.locked():
        store.plan([Task(RUN_SCENARIO, CONFIG | {"seed": i}, of) for i, of in enumerate(labels)])


def test_the_hint_lists_what_tells_the_matching_runs_apart(tmp_path):
    """Runs of two papers in one folder: labels of the other paper are of no use."""
    one = [{"study": "a", "nodes": n, "method": m} for n in (5, 10) for m in ("x", "y")]
    two = [{"study": "b", "load": 2.0, "seed": seed} for seed in range(9)]
    planned(tmp_path / "out", *one, *two)

    def told(**where: str) -> str:
        with pytest.raises(InputError) as error:
            scenario_text(tmp_path / "out", where)
        return str(error.value).partition("out: ")[2]

    assert told(study="b", load="2") == (
        "9 runs to choose from; which one? They differ in seed: 0, 1, 2, 3, 4, 5, .. 8. For example --where seed=0"
    )
    assert told(nodes="10") == (
        "2 runs to choose from; which one? They differ in method: x, y. For example --where method=x"
    )
    assert told(nodes="10", method="z") == (
        "no run has these labels; method is x, y in those with the others"
    )
    assert told(mehtod="x") == "no run has these labels; mehtod: did you mean 'method'?"
    assert told(nodes="7", load="3") == "no run has these labels; each label alone has some"


@pytest.mark.long
def test_a_run_behind_a_shipped_page(tmp_path):
    """Of results without a run database: the run as the page's code plans it."""
    words = [
        "--scenario",
        tmp_path / "x.toml",
        "--where",
        "policy=fifo-strict",
        "--where",
        "seed=2",
    ]
    code, text = export(RESULTS / "clusters", *words)
    assert code != 0
    assert "runs to choose from; which one? They differ in question: " in text
    proposed = shlex.split(text.partition("For example ")[2])
    assert export(RESULTS / "clusters", *words, *proposed)[0] == 0
    made = read_scenario(tmp_path / "x.toml")
    assert (made.policy, made.seed) == ("fifo-strict", 2)
    assert "got no runs.sqlite" in export(tmp_path, *words)[1]


def test_labels_that_are_proposed_can_be_pasted_into_a_shell(tmp_path):
    planned(tmp_path / "out", {"label": "b = 1"}, {"label": "b, 2"})
    with pytest.raises(InputError) as error:
        scenario_text(tmp_path / "out", {})
    assert "label: b = 1, 'b, 2'." in str(error.value)
    proposed = shlex.split(str(error.value).partition("For example ")[2])
    assert proposed == ["--where", "label=b = 1"]
    assert scenario_text(tmp_path / "out", {"label": "b = 1"})[0].startswith("# label b = 1\n")


def test_a_label_is_a_comment_whatever_it_says(tmp_path):
    planned(tmp_path / "out", {"what": "x\nseed = 7"})
    text, files = scenario_text(tmp_path / "out", {})
    assert tomllib.loads(text) == CONFIG | {"seed": 0}
    assert files == []
    with pytest.raises(InputError, match="no run has these labels"):
        scenario_text(tmp_path / "out", {"what": "y"})
