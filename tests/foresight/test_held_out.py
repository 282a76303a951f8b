"""Runs of the held-out evaluation: what is compared is the same instance, and no seed of the development."""

import functools
import re
import subprocess
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.report.contents import Scale
from experiments.scenario.schema import read_scenario
from experiments.studies.foresight import PAGE
from experiments.studies.foresight.families import FAMILIES, FOLDER, draw, drawn, scenarios
from experiments.studies.foresight.figures import _bars
from experiments.studies.foresight.runs import (
    FIRST_SEED,
    RIVALS,
    SOURCES,
    run_bounds,
    run_bracket,
    tasks,
)
from experiments.studies.foresight.tables import (
    brackets,
    disturbed,
    geometric,
    haste,
)
from experiments.studies.foresight.when import CHANGES, CONDITIONS, when
from experiments.sweep.results import NoRuns
from experiments.sweep.sweepfile import read_sweep
from experiments.sweep.task import Task, resolve
from policies import make_policy
from simulator.workloads.catalogs import read_catalog


@functools.cache
def planned(scale: Scale) -> list[Task]:
    """Runs of the held-out evaluation."""
    return tasks(scale)


@pytest.mark.long
def test_a_run_and_its_bound():
    scenario = scenarios()["andreas-1-10"] | {"seed": 77}
    scenario["workload"] = scenario["workload"] | {"jobs_per_node": 3}
    task = next(t for t in planned("quick") if t.columns()["family"] == "andreas-1-10")
    run = resolve(task.function)(scenario).scalars["total_cost"]
    bounds = run_bounds({"scenario": scenario, "bounds": ["alone", "lagrangian"], "seed": 77})
    found = bounds.scalars
    assert found["best"] == max(found["alone"], found["lagrangian"])
    assert found["best"] <= run
    plan = run_bracket({"scenario": scenario, "seed": 77, "steps": 60}).scalars
    assert plan["foresight"] == pytest.approx(run)
    assert found["best"] <= plan["clairvoyant"] < plan["foresight"]


@pytest.mark.long
def test_the_simulations_are_those_of_the_files():
    """At paper scale every run of every file of the page, and nothing else; at quick scale a part of them."""
    in_files = [
        task.config_json
        for file in sorted(
            {*FOLDER.glob("*.toml")} - {FOLDER / "published.toml", FOLDER / "leased.toml"}
        )
        for task in read_sweep(file)[1]
    ]
    quick, paper = (
        [t.config_json for t in planned(scale) if t.sources == SOURCES]
        for scale in ("quick", "paper")
    )
    assert sorted(paper) == sorted(in_files)
    assert len(set(in_files)) == len(in_files) > 2800
    assert set(quick) < set(in_files)


def test_the_commands_of_the_page_make_the_files_that_it_names(tmp_path):
    """docs/foresight.md: the rows of its table of remedies, and the instance beside it."""
    root = FOLDER.parents[2]
    (tmp_path / "experiments").symlink_to(root / "experiments")
    page = (root / "docs" / "foresight.md").read_text("utf-8")
    for block in re.findall(r"^```bash\n(.*?)^```", page, re.S | re.M):
        subprocess.run(["sh", "-ec", block], cwd=tmp_path, check=True)
    runs = [task.columns() for task in read_sweep(tmp_path / "remedies.toml")[1]]
    errors, moves = ("", ", learned"), (300, 1800)
    rows = {f"errors of 50 %{e}" for e in errors} | {f"moving takes {s} s" for s in moves}
    assert {c["label"] for c in runs} == rows
    asked = {"greedy", "local-search", "milp", "foresight"}
    asked |= {"greedy@hysteresis", "foresight@hysteresis"}
    of_a_run = ["label", "policy", "seed"]
    kept = pd.read_csv(FOLDER / "remedies.csv")[of_a_run].to_numpy().tolist()
    assert sorted(map(tuple, kept)) == sorted(product(rows, asked, range(2001, 2006)))
    assert sorted(kept) == sorted([c[name] for name in of_a_run] for c in runs)


def over(costs: pd.Series, rivals: pd.DataFrame | pd.Series, worst: bool = False) -> str:
    """Geometric mean of the ratios with its interval, as the page writes it; with the worst."""
    ratio = costs / (rivals if rivals.ndim == 1 else rivals.min(axis=1))
    found = geometric(ratio)
    mean = f"{found.mean:.2f} ({found.lower:.2f} to {found.upper:.2f})"
    return f"{mean} | {ratio.max():.2f}" if worst else mean


def test_the_runs_on_leased_servers_that_are_kept_are_those_of_the_file():
    asked = [task.columns() for task in read_sweep(FOLDER / "leased.toml")[1]]
    kept = pd.read_csv(FOLDER / "leased.csv")[["label", "policy", "seed"]].to_numpy().tolist()
    assert sorted(kept) == sorted([c["label"], c["policy"], c["seed"]] for c in asked)


def test_the_page_has_the_numbers_of_the_runs_that_are_kept():
    """docs/foresight.md: remedies, leased servers and haste."""
    page = (FOLDER.parents[2] / "docs" / "foresight.md").read_text("utf-8")
    runs = pd.read_csv(FOLDER / "remedies.csv")
    costs = runs.pivot(index=["label", "seed"], columns="policy", values="total_cost")
    rivals = ["greedy", "local-search", "milp"]
    part = {label: costs.xs(label) for label in runs["label"].unique()}
    plain = {label: over(own["foresight"], own[rivals]) for label, own in part.items()}
    kept = {s: part[f"moving takes {s} s"]["foresight@hysteresis"] for s in (300, 1800)}
    for s, own in kept.items():
        moves = part[f"moving takes {s} s"]
        remedy = over(own, moves[rivals]), over(own, moves["greedy@hysteresis"])
        row = [f"moving takes {s:,} s", plain[f"moving takes {s} s"], *remedy]
        assert f"| {' | '.join(row)} |" in page
    row = ["errors of 50 %", plain["errors of 50 %"], plain["errors of 50 %, learned"], "|"]
    assert f"| {' | '.join(row)}" in page
    for label, name in (
        ("errors of 50 %", "times predicted 50 % wrong"),
        ("moving takes 1800 s", "moving a job takes 30 minutes"),
    ):
        found = over(part[label]["foresight"], part[label][rivals], worst=True)
        assert f"| fixed nodes with energy, {name} | 5 | {found} |" in page

    runs = pd.read_csv(FOLDER / "leased.csv")
    both = ["foresight", "foresight, no end"]
    for label, own in runs.groupby("label"):
        costs, times = (
            own.pivot(index="seed", columns="policy", values=c)
            for c in ("total_cost", "mean_jct_s")
        )
        cells = [over(costs[name], costs.drop(columns=both), worst=True) for name in both]
        for table in (costs, times):
            found = geometric(table[both[0]] / table[both[1]])
            cells.append(f"{found.mean:.3f} ({found.lower:.3f} to {found.upper:.3f})")
        assert f"| {label} | {' | '.join(cells)} |" in page

    runs = pd.read_csv(FOLDER / "haste.csv").set_index(["policy", "label", "seed"])
    over_greedy = np.log(
        runs / runs.xs("greedy").reindex(runs.index.droplevel("policy")).to_numpy()
    )
    means = np.exp(over_greedy.groupby(["policy", "label"]).mean())
    names = {f"haste {h}": f"{h}" for h in ("0.02", "0.05", "0.1", "0.2", "1")}
    names |= {"haste 0": "0", "local-search": "`local-search`", "milp": "`milp`"}
    for policy, name in names.items():
        pairs = [means.loc[policy, label] for label in ("hierarchical-5", "2020-5", "2021-5")]
        cells = [f"{pair['total_cost']:.2f}, {pair['mean_jct_s']:.2f}" for pair in pairs]
        assert f"| {name} | {' | '.join(cells)} |" in page


def test_the_example_is_a_run_of_the_proof():
    example = read_scenario(FOLDER.parents[2] / "examples" / "foresight.toml")
    found = example.model_dump(mode="json", exclude_none=True)
    assert scenarios()["2021-5"] | {"seed": FIRST_SEED} == found | {"tables": []}


def test_families_are_what_their_labels_say():
    """Nodes, controllers, load and machines of every family, as its point of the file has them."""
    assert set(scenarios()) == set(FAMILIES)
    full = {
        f.kind: draw(name, 5)[0]
        for name, f in FAMILIES.items()
        if f.num_nodes == 5 and f.load == 1.0
    }
    for name, family in FAMILIES.items():
        workload, cluster = draw(name, 5)
        assert cluster.num_nodes == family.num_nodes
        assert cluster.num_controllers == family.controllers
        assert len(workload) == 10 * family.num_nodes
        assert (cluster.node_type_of is not None) == family.is_energy
        if family.num_nodes == 5:
            usual = full[family.kind]
            assert (workload.weight_per_s == usual.weight_per_s).all()
            ratio = usual.submit_s[-1] / workload.submit_s[-1]
            assert ratio == pytest.approx(family.load, rel=2e-3)  # gaps of 2020 are whole seconds
    gpus = {t.gpu_type for t in draw("2021-5", 5)[1].node_types}
    assert gpus == {"K80", "M60"} < {t.gpu_type for t in read_catalog("thesis")}


@pytest.mark.long
def test_seeds_are_fresh_and_tasks_are_distinct():
    for scale in ("quick", "paper"):
        made = planned(scale)
        assert all(task.config["seed"] >= FIRST_SEED > 918 for task in made)
        named = [tuple(sorted(task.columns().items())) for task in made]
        assert len(set(named)) == len(named)


@pytest.mark.long
def test_every_study_has_the_instances_of_the_comparison():
    """Ratios to a run or a bound of the comparison are on the very same jobs."""
    jobs = {}
    for task in planned("paper"):
        columns = task.columns()
        if columns["seed"] == FIRST_SEED and columns["study"] not in ("disturbed", "haste"):
            scenario = task.config.get("scenario", task.config)
            plain = {"seed": FIRST_SEED, "policy": "edf", "policy_options": {}}
            w = drawn({**scenario, **plain})[0]
            columns_of = (w.submit_s, w.due_s, w.weight_per_s)
            of_family = jobs.setdefault(columns["family"], set())
            of_family.add(b"".join(c.tobytes() for c in columns_of))
    assert {name: len(found) for name, found in jobs.items()} == dict.fromkeys(FAMILIES, 1)


def test_each_ablation_changes_one_setting_of_foresight():
    asked = {
        t.columns()["without"]: t.config["policy_options"]
        for t in planned("paper")
        if t.columns()["study"] == "ablation"
    }
    assert len(asked) == 11
    for options in asked.values():
        assert make_policy("foresight", **options) != make_policy("foresight")
        assert len(options) == 1


ONE = {"family": "2021-5", "seed": 1}


class Kept:
    """Results by hand: the frames of some studies and functions."""

    def __init__(self, **frames: Any) -> None:
        self.frames, self.asked = frames, ""

    def where(self, function: str = "", study: str = "", **_: object) -> "Kept":
        found = Kept(**self.frames)
        found.asked = study or function
        return found

    def scalars(self) -> pd.DataFrame:
        return pd.DataFrame(self.frames.get(self.asked, []))

    def runs(self, function: str = "", study: str = "", **labels: object) -> pd.DataFrame:
        table = self.where(function, study, **labels).scalars()
        if table.empty:
            raise NoRuns(study or function)
        return table


def test_disturbed_runs_are_paired_by_what_is_disturbed():
    """foresight 9 over the best rival 10 with errors, 30 over 20 where moving takes time."""
    costs = {"errors of 30 %": (9.0, 12.0, 10.0), "moving takes 300 s": (30.0, 20.0, 40.0)}
    rows = [
        {**ONE, "change": change, "method": method, "total_cost": cost}
        for change, row in costs.items()
        for method, cost in zip(("foresight", "greedy", "milp"), row, strict=True)
    ]
    found = disturbed(Kept(disturbed=rows))
    ratio = dict(zip(found["change"], found["ratio"], strict=True))
    assert ratio == {"errors of 30 %": pytest.approx(0.9), "moving takes 300 s": pytest.approx(1.5)}


def compared(cost: float, bound: float) -> dict[str, Any]:
    """foresight at a cost, every rival at 20."""
    costs = dict.fromkeys(RIVALS, 20.0) | {"foresight": cost}
    return {
        "compared": [{**ONE, "method": m, "total_cost": c} for m, c in costs.items()],
        "run_bounds": [{**ONE, "best": bound}],
    }


def test_haste_is_told_relative_to_the_greedy():
    """Twice and half the cost of the greedy on two instances: as dear; a quarter and all of its time: half."""
    rows = [
        {"family": "2021-5", "seed": seed, "method": m, "total_cost": cost, "mean_jct_s": time}
        for seed, ours in ((1, (20.0, 25.0)), (2, (5.0, 100.0)))
        for m, (cost, time) in {"greedy": (10.0, 100.0), "haste 1": ours}.items()
    ]
    found = haste(Kept(haste=rows)).set_index("method").drop(columns="family")
    assert found.loc["haste 1"].tolist() == pytest.approx([1.0, 0.5, 2])
    assert found.loc["greedy"].tolist() == pytest.approx([1.0, 1.0, 2])


def test_the_bracket_says_what_part_is_saved():
    """Bound 10, schedule 11, foresight 14: three quarters of the distance are saved."""
    plan = [{**ONE, "clairvoyant": 11.0, "foresight": 14.0}]
    found = brackets(Kept(run_bracket=plan, run_bounds=[{**ONE, "best": 10.0}]))
    assert found["saved"].tolist() == pytest.approx([0.75])
    assert found["foresight"].tolist() == pytest.approx([1.4])


def instances(family: str, ratios: list[float]) -> dict[str, Any]:
    """foresight at each of these costs on an instance of its own, every rival at 1."""
    runs = []
    for seed, ratio in enumerate(ratios):
        costs = dict.fromkeys(RIVALS, 1.0) | {"foresight": ratio}
        runs += [
            {"family": family, "seed": seed, "method": m, "total_cost": c} for m, c in costs.items()
        ]
    bounds = [{"family": family, "seed": s, "best": 0.5} for s in range(len(ratios))]
    return {"compared": runs, "run_bounds": bounds}


@pytest.mark.parametrize(
    ("ratios", "word", "above"),
    [
        ([0.8, 0.81, 0.8, 0.82, 0.8], "pays", 0),
        ([1.2, 1.21, 1.2, 1.22, 1.2], "does not pay", 1),
        ([0.5, 1.6, 0.9, 1.3, 0.8], "not clear", 0),
        ([0.8, 0.81, 0.8, 0.82], "not clear", None),
        ([1.2, 1.21, 1.2, 1.22], "not clear", None),
    ],
)
def test_when_it_pays(ratios, word, above):
    """The whole interval on one side of 1, and enough instances."""
    kept = Kept(**instances("andreas-1-10", ratios))
    ((condition, found, values, _),) = when(kept)
    assert (condition, found) == ("fixed nodes with energy, mixed arrivals", word)
    assert sorted(values) == pytest.approx(sorted(ratios))
    rows = {claim.claim: claim for claim in PAGE.claims(kept)}
    count = int(above is not None)
    families = rows[f"families of {count} whose whole interval is above the best rival"]
    assert families.ours == above
    assert ("not clear" in families.why) == (above is None)
    users = [c for c in rows.values() if c.place == f"when it pays: {condition}"]
    assert [c.why for c in users] == [f"{word}; the worst run is at {max(ratios):.2f}"]


def test_every_family_and_every_change_has_its_condition():
    """The table for users leaves nothing out, and counts nothing twice."""
    named = [name for names in CONDITIONS.values() for name in names]
    assert sorted(named) == sorted(FAMILIES)
    changes = {
        (str(t.columns()["change"]), FAMILIES[str(t.columns()["family"])].is_energy)
        for t in planned("paper")
        if t.columns()["study"] == "disturbed"
    }
    for change, is_energy in changes:
        found = [text in change and energy == is_energy for text, energy in CHANGES.values()]
        assert sum(found) == 1
    for text, energy in CHANGES.values():
        assert any(text in change and energy == is_energy for change, is_energy in changes)


def test_changes_on_energy_have_a_condition_of_their_own():
    """Wrong predictions: cheaper on VMs, dearer on energy."""
    made = [
        {
            "change": "errors of 50 %",
            "family": family,
            "seed": seed,
            "method": method,
            "total_cost": cost,
        }
        for family, ours in (("2021-5", 0.5), ("andreas-1-10", 3.0))
        for seed in range(5)
        for method, cost in (("foresight", ours + 0.01 * seed), ("greedy", 1.0))
    ]
    found = when(Kept(disturbed=made))
    assert [(condition, word) for condition, word, *_ in found] == [
        ("VMs, times predicted 10 to 50 % wrong", "pays"),
        ("fixed nodes with energy, times predicted 50 % wrong", "does not pay"),
    ]


def test_changes_of_one_instance_count_once():
    """Three errors on each of four instances are four observations, not twelve: too few to tell."""
    made = [
        {"change": f"errors of {error} %", "family": "2021-5", "seed": seed, "method": method, "total_cost": cost}
        for error, ours in ((10, 0.5), (30, 0.25), (50, 1.0))
        for seed in range(4)
        for method, cost in (("foresight", ours + 0.0001 * seed), ("greedy", 1.0))
    ]  # fmt: skip
    ((_, word, values, worst),) = when(Kept(disturbed=made))
    assert word == "not clear"
    assert values.to_numpy() == pytest.approx([0.5] * 4, rel=0.01)
    assert worst == pytest.approx(1.0, rel=0.01)  # no mean hides the run on which it does worst


@pytest.mark.parametrize(("counts", "bars"), [((4, 4), 0), ((4, 6), 1), ((6, 6), 2)])
def test_a_row_of_few_instances_has_no_bar(counts, bars):
    """From five instances on there is an interval; a bar of no length would look like one that is narrow."""
    rows = [(str(i), pd.Series(np.linspace(1.0, 2.0, n))) for i, n in enumerate(counts)]
    drawing, table = _bars(rows, "ratio", "row")
    (container,) = drawing.axes[0].containers
    drawn = [c.get_segments() for c in container.lines[2]]
    assert sum(len(ends) == 2 for of in drawn for ends in of) == bars  # of no bar there are none
    assert container.has_xerr == (bars > 0)
    assert [*table["instances"]] == [*counts]
