"""The Gantt chart: bars where the schedule says, and readable at 1,000 jobs."""

import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.commands.show import gantt as command
from experiments.pictures import gantt as g
from experiments.scenario.output import write_result
from policies.registry.making import make_policy
from simulator import Cluster, InputError, NodeType, SpeedupCurve, Workload, simulate
from simulator.workloads.table import Setting
from tests.command import refused, swept
from tests.core.jobs import fixed, run
from tests.core.jobs import nodes as nodes_of
from tests.families import module

andreas = module("simulator.workloads.andreas")


def shares(*rows):
    return pd.DataFrame(rows, columns=["job_id", "node", "node_type", "gpus", "start_s", "end_s"])


def test_gpus_of_a_node_are_never_drawn_over_each_other():
    workload, cluster = andreas.AndreasJobs(num_nodes=4, scenario=2, arrivals="high").make(
        Setting(1)
    )
    schedule = simulate(workload, cluster, make_policy("greedy")).schedule_table()
    merged = g._merged(schedule)
    bars = g._bars_by_node(merged)
    area = sum(b.height * (b.end_s - b.start_s) for b in bars)
    assert area == pytest.approx(
        (schedule["gpus"] * (schedule["end_s"] - schedule["start_s"])).sum()
    )
    for a in bars:
        for b in bars:
            apart = a.end_s <= b.start_s + 1e-6 or b.end_s <= a.start_s + 1e-6
            aside = a.row + a.height <= b.row or b.row + b.height <= a.row
            assert a is b or apart or aside
    lines = {row for b in bars for row in np.arange(b.row, b.row + b.height)}
    assert len(lines) <= cluster.total_gpus


def test_stretches_that_change_nothing_are_one_bar():
    table = shares(
        ("a", 0, "t", 1, 0.0, 1.0), ("a", 0, "t", 1, 1.0, 3.0), ("a", 0, "t", 2, 3.0, 4.0)
    )
    assert g._merged(table)["end_s"].tolist() == [3.0, 4.0]


def test_no_two_jobs_that_run_at_once_share_a_colour():
    """24 jobs have 24 colours. The 25th takes that of the job that ended first, not of one that runs."""
    bars = [g._Bar(f"j{k}", k, 1.0, k, 100.0 - k, "n") for k in range(24)]
    colours = g._colours(bars)
    assert len(set(colours.values())) == 24
    bars += [g._Bar("late", 0, 1.0, 90.0, 95.0, "n"), g._Bar("j3", 3, 1.0, 98.0, 99.0, "n")]
    again = g._colours(bars)
    assert again["late"] == colours["j23"]
    assert {job: again[job] for job in colours} == colours


@pytest.mark.long
def test_a_run_folder_with_hundreds_of_jobs(tmp_path):
    workload, cluster = andreas.AndreasJobs(num_nodes=40, scenario=1, arrivals="high").make(
        Setting(1)
    )
    result = simulate(workload, cluster, make_policy("edf-shared"))
    write_result(result, tmp_path)
    path = g.gantt(tmp_path)
    assert path == tmp_path / "gantt.png"
    assert path.stat().st_size > 25_000
    assert path.read_bytes() == g.gantt(tmp_path, tmp_path / "again.png").read_bytes()


def test_a_rental_pool_has_one_row_a_job():
    workload = Workload(
        ["a", "b"], [0.0, 1.0], SpeedupCurve(np.array([5.0, 5.0]), np.array([0, 0]), [lambda k: k])
    )
    table = shares(("a", 0, "pool", 0.5, 0.0, 10.0), ("b", 0, "pool", 2.5, 1.0, 3.0))
    bars = g._bars_by_job(g._merged(table))
    assert [bar.row for bar in bars] == [0.0, 1.0]
    assert g.draw(table, None, "pool").axes[0].get_ylabel() == "job"
    assert len(workload) == 2
    assert Cluster.rental_pool().total_gpus == np.inf


def test_a_folder_without_a_run_says_so(tmp_path):
    with pytest.raises(InputError, match="no such file, expected a file that"):
        g.gantt(tmp_path)
    (tmp_path / "schedule.csv").write_text("job_id,node\na,1\n")
    (tmp_path / "jobs.csv").write_text("job_id,arrival_s,completion_s,tardiness_s\na,0,5,0\n")
    with pytest.raises(InputError, match="no column 'node_type'"):
        g.gantt(tmp_path)


def jobs_table(*rows):
    return pd.DataFrame(rows, columns=["job_id", "arrival_s", "completion_s", "tardiness_s"])


def test_a_job_over_several_nodes_is_counted_once():
    """Two jobs of 8 GPUs on 2 x 4, one after the other; the second goes on with fewer shares."""
    schedule = shares(
        ("a", 0, "t", 4, 0.0, 10.0), ("a", 1, "t", 4, 0.0, 10.0),
        ("b", 0, "t", 4, 10.0, 20.0), ("b", 1, "t", 4, 10.0, 20.0),
        ("b", 0, "t", 2, 20.0, 30.0),
    )  # fmt: skip
    at, in_system, running = g._queue(schedule, jobs_table(("a", 0, 10, 0), ("b", 0, 30, 0)))
    assert at.tolist() == [0, 10, 20, 30]
    assert in_system.tolist() == [2, 1, 1, 0]
    assert running.tolist() == [1, 1, 1, 0]


@pytest.mark.parametrize("first_s", [0.0, 1_700_000_000.0])
def test_time_counts_from_the_first_submission(first_s):
    """The same picture on the clock of 1970: an hour's axis in minutes, names on the bars."""
    schedule = shares(
        ("ant", 0, "t", 1, first_s + 60, first_s + 3600),
        ("bee", 0, "t", 1, first_s + 60, first_s + 1800),
    )
    jobs = jobs_table(("ant", first_s, first_s + 3600, 0), ("bee", first_s + 60, first_s + 1800, 9))
    top, queue = g.draw(schedule, jobs).axes
    assert queue.get_xlabel() == "time since the first submission, min"
    assert top.get_xlim() == pytest.approx((0, 60))
    assert [text.get_text() for text in top.texts] == ["ant", "bee"]


def test_nodes_without_a_job_are_left_out_and_rows_are_as_high_as_what_was_used():
    schedule = shares(("a", 0, "t", 1, 0.0, 1.0), ("b", 7, "t", 2, 0.0, 1.0))
    bars = g._bars_by_node(g._merged(schedule))
    assert [(b.group, b.height) for b in bars] == [("0", 1), ("7", 2)]


@pytest.mark.parametrize(
    ("name", "line", "complaint"),
    [
        ("schedule.csv", "a,0,t,1,abc,5", r"schedule.csv, line 2: start_s is abc, expected a num"),
        ("schedule.csv", "a,0,t,1,0,", r"schedule.csv, line 2: end_s is nan, expected a number"),
        ("schedule.csv", "a,0,t,x,0,5", r"schedule.csv, line 2: gpus is x, expected a number"),
        ("jobs.csv", "a,0,inf,0", r"jobs.csv, line 2: completion_s is inf, expected a number"),
    ],
)
def test_values_that_are_no_numbers(tmp_path, name, line, complaint):
    lines = {
        "schedule.csv": ["job_id,node,node_type,gpus,start_s,end_s", "a,0,t,1,0,5"],
        "jobs.csv": ["job_id,arrival_s,completion_s,tardiness_s", "a,0,5,0"],
    }
    lines[name][1] = line
    for file, text in lines.items():
        (tmp_path / file).write_text("\n".join(text) + "\n")
    with pytest.raises(InputError, match=complaint):
        g.gantt(tmp_path)


def test_a_picture_of_an_unknown_kind(tmp_path):
    shares(("a", 0, "t", 1, 0.0, 5.0)).to_csv(tmp_path / "schedule.csv", index=False)
    jobs_table(("a", 0, 5, 0)).to_csv(tmp_path / "jobs.csv", index=False)
    for wrong in ("a.xyz", "a"):
        with pytest.raises(InputError, match=r"--out .*: ends in '.*', expected one of .*\.png"):
            g.gantt(tmp_path, tmp_path / wrong)
    assert g.gantt(tmp_path, tmp_path / "a.svg").exists()
    with pytest.raises(InputError, match="cannot be written"):
        g.gantt(tmp_path, tmp_path / "nowhere" / "a.png")


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ("0-1,2", "expected nodes from 0 to 1"),
        ("7", "expected nodes from 0 to 1"),
        ("1-0", "expected numbers and ranges such as 0-9,20"),
        ("0-", "expected numbers and ranges such as 0-9,20"),
        ("²", "expected numbers and ranges such as 0-9,20"),
    ],
)
def test_nodes_that_do_not_exist(tmp_path, nodes, expected):
    """Two nodes, of which the second is never used."""
    write_result(run(fixed([0], [10]), nodes_of(1, 2)), tmp_path)
    line = refused("show", "gantt", tmp_path, "--nodes", nodes)
    assert line.endswith(f"--nodes: got {nodes!r}, {expected}\n")
    assert not (tmp_path / "gantt.png").exists()


def test_all_nodes_that_there_are(tmp_path):
    """Also the second, which is never used."""
    write_result(run(fixed([0], [10]), nodes_of(1, 2)), tmp_path)
    assert g.gantt(tmp_path, nodes="0-1").exists()


@pytest.mark.long
def test_of_a_sweep_the_chart_asks_which_run(tmp_path):
    file = tmp_path / "two.toml"
    file.write_text(
        'policies = ["fifo", "edf"]\nseeds = 2\n[scenario]\ntables = ["jobs", "schedule"]\n'
        'workload = { kind = "hierarchical", num_nodes = 2, jobs_per_node = 2 }\n'
    )
    swept(file, tmp_path / "out")
    with pytest.raises(InputError, match="out: 4 runs to choose from; which one") as error:
        g.gantt(tmp_path / "out")
    assert "For example --where policy=fifo --where seed=0" in str(error.value)
    with pytest.raises(InputError, match="no run has these labels"):
        g.gantt(tmp_path / "out", where={"seed": "7"})
    path = g.gantt(tmp_path / "out", where={"policy": "edf", "seed": "1"})
    assert path == tmp_path / "out" / "gantt.png"


def test_the_command_names_the_replay(tmp_path, capsys):
    workload, cluster = andreas.AndreasJobs(num_nodes=2, scenario=1, arrivals="high").make(
        Setting(1)
    )
    folder = tmp_path / "a run"
    folder.mkdir()
    write_result(simulate(workload, cluster, make_policy("greedy")), folder)
    command(folder)
    written, hint = capsys.readouterr()
    assert written.strip() == str(folder / "gantt.png")
    words = shlex.split(hint.partition("watch it: ")[2])
    assert words == ["schedlab", "show", "replay", str(folder)]


def test_the_command_heads_the_chart_with_the_name_of_the_run(tmp_path, monkeypatch):
    """Machines with memory, whose amounts are checked under names of their own; also of a run given as a dot."""
    workload = fixed([0, 0, 5], [10, 20, 30], num_cpus=[1.0] * 3, memory_gb=[2.0] * 3)
    machines = Cluster.of_nodes(NodeType("n", "GPU", 2, cpus=8, memory_gb=64), 2)
    (tmp_path / "monday").mkdir()
    write_result(run(workload, machines), tmp_path / "monday")
    drawn = []
    monkeypatch.setattr(g, "save_picture", lambda drawing, path: drawn.append(drawing))
    command(tmp_path / "monday")
    monkeypatch.chdir(tmp_path / "monday")
    command(Path("."))
    assert [drawing.axes[0].get_title() for drawing in drawn] == [
        "monday: 3 jobs on 2 nodes, 0 to 35 s; one colour a job"
    ] * 2


def test_a_part_of_a_run_and_shades_where_jobs_are_narrow():
    """Times and nodes are cut; 4,000 jobs of 10 s on two nodes in 5.6 h are shades, which add up."""
    starts = 5.0 * np.arange(4000)
    shares = pd.DataFrame({
        "job_id": [str(j) for j in range(4000)], "node": np.arange(4000) % 2, "node_type": "n",
        "gpus": 1, "start_s": starts, "end_s": starts + 5.0,
    })  # fmt: skip
    jobs = pd.DataFrame({
        "job_id": shares["job_id"], "arrival_s": starts, "completion_s": starts + 5.0, "tardiness_s": 0.0,
    })  # fmt: skip
    whole = g.draw(shares, jobs, "t")
    assert whole.axes[0].get_title() == (
        "t: 4,000 jobs on 2 nodes, 0 to 5.56 h; darker: more of the node's GPUs in use"
    )
    assert [np.mean(mesh.get_array()) for mesh in whole.axes[0].collections] == pytest.approx(
        [0.5, 0.5], rel=1e-6
    )
    part = g.draw(shares, jobs, "t", (3600.0, 3700.0), {1})
    assert part.axes[0].get_title() == "t: 10 jobs on 1 node, 60 to 61.7 min; one colour a job"
    assert part.axes[0].get_xlim() == pytest.approx((60, 3700 / 60))
    waiting = part.axes[1].collections[1].get_paths()[0].get_extents()
    assert waiting.height <= 1  # jobs of the other node run, too
    for window, nodes in (((9e4, 1e5), None), ((0.0, 100.0), {7}), ((-1.0, 5.0), None)):
        with pytest.raises(InputError, match="expected"):
            g.draw(shares, jobs, "t", window, nodes)
