"""From folders to the page: `schedlab run`, sweeps, and what can be wrong with them."""

import json
from pathlib import Path

import pytest
from pages import open_quietly
from replay_runs import fixed_jobs

from experiments.replay import replay, replay_folders
from experiments.scenario.output import write_result
from simulator import InputError
from tests.command import refused, schedlab, swept


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> list[Path]:
    made = []
    for policy in ("fifo-strict", "fifo-backfill", "srtf+proportional"):
        folder = tmp_path_factory.mktemp("runs") / policy
        folder.mkdir()
        write_result(fixed_jobs(60, 3, policy), folder)
        made.append(folder)
    return made


def test_three_runs_side_by_side(folders, tmp_path, browser):
    found = schedlab("show", "replay", *folders, "--out", tmp_path / "all.html")
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.strip() == str(tmp_path / "all.html")
    open_quietly(browser, tmp_path / "all.html")
    for k, folder in enumerate(folders):
        summary = json.loads((folder / "summary.json").read_text())
        end = browser.run(f"player.replay.runs[{k}].summary(player.replay.end)")
        assert end["meanJct"] == pytest.approx(summary["mean_jct_s"], rel=1e-6)
        assert end["cost"] == pytest.approx(summary["total_cost"], rel=1e-6)
        assert browser.run(f"player.replay.runs[{k}].name") == summary["policy"]


def test_the_page_of_a_folder_is_that_of_the_result(folders, tmp_path):
    result = fixed_jobs(60, 3, "fifo-strict")
    page = replay_folders(folders[:1], tmp_path / "a.html").read_bytes()
    assert page == replay(result, tmp_path / "b.html").read_bytes()


def test_a_folder_of_before_has_no_costs(folders, tmp_path, browser):
    (tmp_path / "old").mkdir()
    for name in ("jobs.csv", "schedule.csv", "decisions.csv"):
        (tmp_path / "old" / name).write_bytes((folders[0] / name).read_bytes())
    assert schedlab("show", "replay", tmp_path / "old").returncode == 0
    open_quietly(browser, tmp_path / "old" / "replay.html")
    assert browser.run("player.replay.runs[0].cost") is None
    assert browser.run("document.querySelectorAll('.curves figure').length") == 2


SWEEP = """
policies = ["fifo-strict", "fifo-backfill"]
seeds = [1, 2]

[scenario]
workload = { kind = "poisson", num_jobs = 30, arrival_rate_per_h = 10, num_gpus = [1, 2] }
cluster = { kind = "nodes", num_nodes = 2, gpus_per_node = 4, price_per_hour = 2.0 }
"""


def test_runs_of_a_sweep(tmp_path, browser):
    (tmp_path / "sweep.toml").write_text(SWEEP + 'tables = ["jobs", "decisions", "schedule"]\n')
    swept(tmp_path / "sweep.toml", tmp_path / "s")
    found = schedlab("show", "replay", tmp_path / "s", "--where", "seed=2")
    assert (found.returncode, found.stderr) == (0, "")
    open_quietly(browser, tmp_path / "s" / "replay.html")
    names = browser.run("player.replay.runs.map((run) => run.name)")
    assert names == ["fifo-strict", "fifo-backfill"]
    assert browser.run("player.replay.runs[1].summary(player.replay.end).cost") > 0
    with pytest.raises(InputError, match="ran different jobs"):
        replay_folders([tmp_path / "s"], tmp_path / "a.html")
    with pytest.raises(InputError, match="no such label, expected one of"):
        replay_folders([tmp_path / "s"], tmp_path / "a.html", {"sed": "1"})
    with pytest.raises(InputError, match="no run with these labels"):
        replay_folders([tmp_path / "s"], tmp_path / "a.html", {"seed": "9"})


def test_a_sweep_that_kept_no_schedule_says_how_to(tmp_path):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    swept(tmp_path / "sweep.toml", tmp_path / "s")
    told = refused("show", "replay", tmp_path / "s", "--where", "seed=1")
    assert "no schedule table, expected a run that kept its schedule" in told


def test_what_is_no_run(folders, tmp_path):
    (tmp_path / "empty").mkdir()
    for name, told in (("absent", "is no folder"), ("empty", "no schedule.csv")):
        assert told in refused("show", "replay", tmp_path / name, "--out", tmp_path / "a.html")
    with pytest.raises(InputError, match="7 runs, expected at most 6"):
        replay_folders(folders[:1] * 7, tmp_path / "a.html")
    assert not (tmp_path / "a.html").exists()
