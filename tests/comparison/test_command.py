"""`schedlab compare`: what it prints, writes and draws."""

from pathlib import Path

import pandas as pd
import pytest

from experiments.comparison.pictures import pictures_of
from tests.command import done, refused
from tests.comparison.made import compared, runs_of


@pytest.mark.long
def test_the_command_on_a_file_of_jobs(tmp_path):
    """Words, table and files; the same command again makes no run; pictures have titles in words."""
    rows = "job_id,submit_time_s,duration_s,num_gpus\n" + "".join(
        f"j{k},{60 * k},{200 + 37 * (k % 7)},{1 + k % 2}\n" for k in range(12)
    )
    (tmp_path / "jobs.csv").write_text(rows)
    words = ["compare", "jobs.csv", "--nodes", "1", "--gpus", "4", "--draws", "39", "--out", "found"]  # fmt: skip
    words += ["--policy", "fifo-strict", "--policy", "srpt", "--policy", "rental-equi"]
    first = done(*words, cwd=tmp_path)
    assert first.stdout.startswith("Best in mean completion time is ")
    assert "cannot run: rental-equi: " in first.stdout
    assert "78 of 78" in first.stderr or "80 of 80" in first.stderr
    names = {path.name for path in (tmp_path / "found").iterdir()}
    assert {
        "answer.txt",
        "comparison.csv",
        "comparison.parquet",
        "comparison.tex",
        "forest.svg",
    } <= names
    svg = (tmp_path / "found" / "forest.svg").read_text()
    assert "mean completion time (" in svg
    assert "rental-equi (cannot run)" in svg
    again = done(*words, cwd=tmp_path)
    assert again.stdout == first.stdout
    more = done(*words, "--over", "cluster.gpus_per_node=4,6", "--draws", "1", cwd=tmp_path)
    assert more.stdout.startswith("With cluster.gpus_per_node 4: ")
    assert "lines.svg" in more.stdout
    assert "GPUs per node" in (tmp_path / "found" / "lines.svg").read_text()
    assert "expected KEY=a,b,c" in refused(*words, "--over", "nodes", cwd=tmp_path)


def test_pictures_of_settings(tmp_path):
    """Two swept keys: a heat map for each policy."""
    cells = []
    for nodes in (2, 4):
        for gpus in (4, 8):
            part = runs_of({"a": [10.0 * nodes, 12.0], "b": [gpus, 20.0]})
            cells.append(part.assign(nodes=nodes, gpus=gpus))
    found = compared(pd.concat(cells, ignore_index=True), settings=("nodes", "gpus"), base="a")
    ((name, figure),) = pictures_of(found)
    assert name == "heat"
    assert [ax.get_title() for ax in figure.axes[:2]] == ["b", "a"]  # the best first
    figure.savefig(Path(tmp_path) / "heat.png")
