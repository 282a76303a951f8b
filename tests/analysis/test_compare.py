"""`schedlab compare`: replications, precision, paired differences."""

import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest

import policies
from experiments.analysis import measuring
from experiments.analysis.compare import compare
from experiments.analysis.comparison import Comparison
from experiments.sweep import executors
from simulator import Decision, View
from simulator.errors import InputError
from simulator.theory import mmc_mean_response_s
from tests.command import done, refused

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


def on_trace(folder: Path, policy: str, nodes: int, more: str = "") -> Path:
    """A scenario of two jobs of a file."""
    rows = "job_id,submit_time_s,duration_s,num_gpus\na,0,100,4\nb,10,50,8\n"
    (folder / "jobs.csv").write_text(rows)
    path = folder / "trace.toml"
    path.write_text(
        f'policy = "{policy}"\n[workload]\nkind = "csv"\npath = "jobs.csv"\n'
        f'[cluster]\nkind = "nodes"\nnum_nodes = {nodes}\n{more}'
    )
    return path


def test_on_a_trace_one_run_and_no_interval(tmp_path):
    """The seed changes nothing: it is said, and no interval of width zero pretends otherwise."""
    found = compare(on_trace(tmp_path, "fifo", 2), ["fifo", "fifo-strict"], ["mean_jct_s"])
    (note,) = found.notes
    assert note.startswith("the seed changes nothing her")
    assert found.table["replications"].tolist() == [1, 1, 1]
    assert found.table["lower"].isna().all()
    assert found.table["mean"].notna().all()


def test_drawn_due_dates_count_as_random_even_where_all_are_met(tmp_path):
    """[adapt] draws due dates by the seed; two draws that change no number are no reason to stop."""
    path = on_trace(tmp_path, "fifo-strict", 4, '[adapt]\ndue = "factor:2,9"\n')
    found = compare(path, [], ["late_jobs"], replications=3)
    (note,) = found.notes
    assert note.startswith("all 3 seeds gave the same number")
    assert found.table[["replications", "mean"]].to_numpy().tolist() == [[3, 0.0]]


def scenario(tmp_path: Path, jobs: int = 60, gpus: str = "[1]") -> Path:
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO.format(jobs=jobs, gpus=gpus), encoding="utf-8")
    return path


def test_replicates_until_it_is_precise(tmp_path):
    table = compare(scenario(tmp_path, jobs=400), [], ["mean_jct_s"], precision=0.08).table
    row = table.iloc[0]
    assert (row["upper"] - row["lower"]) / 2 <= 0.08 * row["mean"]
    assert row["replications"] > 10
    # The empty start shortens the mean of so few jobs a little.
    truth = mmc_mean_response_s(1.2 / 3600, 3600, 2)
    assert 0.85 * truth < row["upper"] and row["lower"] < 1.05 * truth  # noqa: PT018


def test_differences_are_paired(tmp_path):
    names, metrics = ["fifo-strict", "fifo-backfill"], ["mean_jct_s", "makespan_s"]
    table = compare(scenario(tmp_path, gpus="[1, 2]"), names, metrics, replications=12).table
    assert table["metric"].tolist() == ["mean_jct_s"] * 3 + ["makespan_s"] * 3
    strict, backfill, difference = (row for _, row in table[:3].iterrows())
    assert difference["minus"] == "fifo-strict"
    assert difference["mean"] == pytest.approx(backfill["mean"] - strict["mean"])
    assert difference["upper"] < 0  # backfilling helps, and so few replications show it
    half = (strict["upper"] - strict["lower"]) / 2
    assert (difference["upper"] - difference["lower"]) / 2 < half


def test_a_cap_is_told(tmp_path):
    found = compare(scenario(tmp_path), [], ["mean_jct_s"], precision=0.001, replications=11)
    assert "stopped at 11 replications" in found.notes[0]


def test_the_command(tmp_path):
    words = ["compare", scenario(tmp_path), "--precision", "20%", "--metric", "mean_jct_s"]
    assert done(*words).stdout.startswith(
        "metric,policy,minus,mean,lower,upper,replications\nmean_jct_s,"
    )
    assert "expected a percentage" in refused(*words[:-3], "narrow")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"policies": ["fifo-strict", "fifo-strict"]}, "different"),
        ({"metrics": ["speed"]}, "got 'speed', expected one of the .* in summary.json"),
        ({"metrics": ["makespan_s", "makespan_s"]}, "different"),
        ({"replications": 1}, "--replications: got 1, expected 2 to 10,000"),
        ({"replications": 10**9}, "--replications: got 1000000000, expected 2 to 10,000"),
        ({"bootstrap": 10**9}, "--bootstrap: got 1000000000, expected at most 10,000 traces"),
        ({"precision": 0.0}, "--precision: got 0.0, expected a number > 0"),
        ({"policies": "edf"}, "--policy: got a text, expected a list of texts"),
        ({"metrics": []}, "--metric: got none"),
        ({"policies": ["no-such"]}, "no-such"),
        ({"policies": ["edf", "edf:x=1"]}, "--policy edf:x=1: policy 'edf': unknown option 'x'"),
        ({"policies": ["edf:"]}, "--policy edf:: '': expected name=value"),
        ({"policies": ["edf:x"]}, "--policy edf:x: 'x': expected name=value"),
    ],
)
def test_bad_input_is_one_clear_line(tmp_path, options, told):
    arguments = {"policies": [], "metrics": ["mean_jct_s"], **options}
    with pytest.raises(InputError, match=told):
        compare(scenario(tmp_path), **arguments)


def test_a_policy_is_compared_with_itself_under_other_options(tmp_path):
    """With the local search that no options name, and with none of it, on the same jobs."""
    path = tmp_path / "scenario.toml"
    path.write_text(
        'policy = "local-search"\n[policy_options]\niterations = 3\n'
        '[workload]\nkind = "hierarchical"\nnum_nodes = 2\njobs_per_node = 8\nmean_gap_s = 9000\n'
    )
    names = ["local-search", "local-search:iterations=1,rho=1", "local-search:iterations=3"]
    table = compare(path, names, ["total_cost"], replications=2).table
    mean = table[table["minus"] == ""].set_index("policy")["mean"]
    assert list(mean.index) == names
    assert mean.iloc[0] == mean.iloc[2]
    assert mean.iloc[0] != mean.iloc[1]


def test_a_notebook_shows_each_policy_with_its_interval(tmp_path):
    """Numbers of the table, the first policy's difference left empty, and one word for each other."""
    names = ["fifo-strict", "fifo-backfill"]
    found = compare(scenario(tmp_path, gpus="[1, 2]"), names, ["mean_jct_s", "makespan_s"], seed=3)
    page = ElementTree.fromstring(found._repr_html_())
    tables = page.findall("table")
    assert [table.findtext("caption") for table in tables] == [
        "mean_jct_s, 10 runs of each policy",
        "makespan_s, 10 runs of each policy",
    ]
    strict, backfill = tables[0].findall("tbody/tr")
    mean, lower, upper = found.table.iloc[0][["mean", "lower", "upper"]]
    first = [f"{mean:,.6g}", f"{lower:,.6g} to {upper:,.6g}", *[None] * 3]
    assert [cell.text for cell in strict] == ["fifo-strict", *first]
    difference = found.table.iloc[2]
    assert difference["upper"] < 0
    assert backfill[3].text == f"{difference['mean']:,.6g}"
    assert backfill[5].text == "lower"


def rows_of(*differences: tuple[float, float, float]) -> pd.DataFrame:
    """Policies ``a``, ``<b>``, .. with means 1, and the given differences from ``a``."""
    rows = [("m", name, "", 1.0, 0.5, 1.5, 5) for name in "abcd"[: len(differences) + 1]]
    rows += [("m", n, "a", *found, 5) for n, found in zip("bcd", differences, strict=False)]
    columns = ["metric", "policy", "minus", "mean", "lower", "upper", "replications"]
    return pd.DataFrame(rows, columns=columns).replace({"policy": {"b": "<b>"}})


def test_an_interval_with_zero_in_it_cannot_tell():
    table = rows_of((0.1, -0.1, 0.3), (0.2, 0.1, 0.3), (-0.2, -0.3, -0.1))
    found = Comparison("s.toml", ("a", "<b>", "c", "d"), ("m",), table, ("a & b",))
    html = found._repr_html_()
    page = ElementTree.fromstring(html)  # names and notes are escaped, so it is well formed
    words = [row[5].text for row in page.iterfind("table/tbody/tr")]
    assert words == [None, "cannot tell", "higher", "lower"]
    assert "<b>Note.</b> a &amp; b" in html
    assert repr(found).endswith("note: a & b")


def test_one_run_has_no_interval_in_the_page_either(tmp_path):
    table = rows_of((0.1, math.nan, math.nan)).assign(replications=1)
    table.loc[table["minus"] == "", ["lower", "upper"]] = math.nan
    html = Comparison("s.toml", ("a", "<b>"), ("m",), table)._repr_html_()
    page = ElementTree.fromstring(html)
    assert page.findtext("table/caption") == "m, 1 run of each policy"
    second = [cell.text for cell in page.findall("table/tbody/tr")[1]]
    assert second == ["<b>", "1", "none", "0.1", "none", "one run, no interval"]


def test_for_users_of_python(tmp_path):
    """A text serves as the path, and the names have a short address."""
    import experiments

    found = experiments.compare(str(scenario(tmp_path)), replications=2)
    assert isinstance(found, experiments.Comparison)
    assert (found.policies, found.metrics) == (("fifo-strict",), ("mean_jct_s",))
    assert found.csv().startswith("metric,policy,minus,mean,lower,upper,replications\nmean_jct_s,")
    with pytest.raises(AttributeError, match="no attribute 'compose'"):
        _ = experiments.compose


def test_workers_give_the_same_table(tmp_path, monkeypatch):
    """Also where the first run is in this process, which tells whether workers pay."""
    monkeypatch.setattr(measuring, "WORTH_S", 0.0)
    names = ["fifo-strict", "fifo-backfill"]
    pools: list[int] = []
    opened = executors.open_pool

    def counted(count: int, **options: Any) -> Any:
        pools.append(count)
        return opened(count, **options)

    monkeypatch.setattr(executors, "open_pool", counted)
    alone, two = (
        compare(scenario(tmp_path, gpus="[1, 2]"), names, replications=3, workers=workers)
        for workers in (1, 2)
    )
    assert pools == [2]
    pd.testing.assert_frame_equal(alone.table, two.table)
    assert two.numbers is not None
    assert len(two.numbers) == 3 * 3


def test_policies_may_be_objects(tmp_path):
    """Under the name of their class or function, beside names; each run begins with a fresh copy."""

    class Mine:
        def __init__(self) -> None:
            self.inner = policies.make_policy("fifo-backfill")

        def decide(self, view: View) -> Decision:
            return self.inner.decide(view)

    entrants = ["fifo-backfill", Mine(), policies.make_policy("fifo-strict").decide]
    table = compare(scenario(tmp_path, gpus="[1, 2]"), entrants, replications=3, workers=2).table
    assert list(dict.fromkeys(table["policy"])) == ["fifo-backfill", "Mine", "decide"]
    same = table[table["policy"] == "Mine"]
    assert same[same["minus"] == "fifo-backfill"]["mean"].tolist() == [0.0]
    assert table.iloc[2]["mean"] > table.iloc[0]["mean"]


def test_progress_is_shown_after_a_while(tmp_path, monkeypatch, capsys):
    compare(scenario(tmp_path), replications=3, progress=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(measuring, "SHOWN_AFTER_S", 0.0)
    compare(scenario(tmp_path), replications=3, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert "1 of 2 done" in lines[0]
    assert "2 of 2 done" in lines[-1]


def test_a_figure_of_the_table(tmp_path):
    words = ["compare", scenario(tmp_path), "--replications", "3", "--figure", tmp_path / "out.pdf"]
    done(*words)
    assert (tmp_path / "out.pdf").read_bytes().startswith(b"%PDF")
