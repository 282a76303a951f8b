"""The plain simulations of the page are data: sweep files, the same runs by `schedlab sweep`."""

import pytest

from experiments.papers.synergy.runs import FOLDER as SYNERGY
from experiments.papers.synergy.runs import tasks as synergy_tasks
from experiments.sweep.sweepfile import RUN_SCENARIO, read_sweep


@pytest.mark.long
def test_runs_are_the_files_at_paper_scale(monkeypatch):
    """But for the end of the paper's draw, which changes nothing; the quick scale keeps the load of a server."""

    monkeypatch.setattr("simulator.workloads.synergy.draw.LOG_JOBS", 100)  # drawn to check a file

    def plain(scale):
        return [task for task in synergy_tasks(scale) if task.function == RUN_SCENARIO]

    swept = {
        str(name): {task.config_json for task in read_sweep(SYNERGY / f"{name}.toml")[1]}
        for name in {task.columns()["study"] for task in plain("paper")}
    }
    for task in plain("paper"):
        labels = task.columns()
        cut = labels["study"] == "draws" and labels["mechanism"] == "proportional"
        assert cut or task.config_json in swept[str(labels["study"])]
    for task in plain("quick"):
        jobs, machines = task.config["workload"], task.config["cluster"]
        if task.columns()["study"] == "philly_window":  # the jobs of a log, at their own times
            continue
        assert jobs["jobs_per_hour"] / machines["num_nodes"] == pytest.approx(
            task.columns()["load"] / 16
        )
        assert task.config["window"][1] <= jobs["num_jobs"]
