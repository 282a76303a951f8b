"""The command's door: whatever goes wrong is one line, and a traceback where one is asked for."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer import rich_utils
from typer.main import get_command

from experiments import cli, webpage
from experiments.files import write_whole
from experiments.replay import replay_folders
from experiments.scenario import output
from experiments.sweep.store import Store
from experiments.sweep.sweep import store_folder
from simulator import __version__
from simulator.errors import InputError
from tests.command import ROOT, done, refused, schedlab

GOOD = "job_id,submit_time_s,duration_s,num_gpus\na,0,100,4\nb,10,50,8\nc,20,10,2\n"
PLUG_IN = """
import sys
from simulator import NO_CHANGE

def leaves(view):
    sys.exit(0)

def breaks(view):
    raise RuntimeError("two\\nlines \\x1b[31mand a colour")

def fifo(view):
    return NO_CHANGE
"""


@pytest.fixture
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package, as if it were installed in this process."""
    folder = tmp_path / "site"
    (folder / "odd-1.0.dist-info").mkdir(parents=True)
    (folder / "odd_policies.py").write_text(PLUG_IN)
    (folder / "odd-1.0.dist-info" / "METADATA").write_text("Name: odd\nVersion: 1.0\n")
    points = "".join(f"{name} = odd_policies:{name}\n" for name in ("leaves", "breaks", "fifo"))
    (folder / "odd-1.0.dist-info" / "entry_points.txt").write_text(f"[schedlab.policies]\n{points}")
    monkeypatch.syspath_prepend(folder)
    yield folder
    sys.modules.pop("odd_policies", None)


def run_by(policy: str, folder: Path, *more: str) -> list[str | Path]:
    """Words that run three jobs under a policy, into a folder ``out``."""
    path = folder / "some jobs.csv"
    path.write_text(GOOD)
    words = ["run", path, "--set", "cluster.num_nodes=2", "--policy", policy]
    return [*words, "--out", folder / "out", *more]


def test_a_policy_cannot_end_the_process_quietly(plug_in, tmp_path):
    """`sys.exit(0)` in it must not look like a run that went well."""
    ran = schedlab(*run_by("leaves", tmp_path))
    assert (ran.returncode, ran.stderr.count("\n")) == (1, 1)
    assert "ended the process" in ran.stderr
    assert not (tmp_path / "out").exists()


def test_what_nobody_foresaw_is_one_line_and_a_traceback_with_debug(plug_in, tmp_path):
    words = run_by("breaks", tmp_path)
    ran = schedlab(*words)
    assert (ran.returncode, ran.stderr.count("\n")) == (1, 1)
    assert "two lines \\x1b[31mand a colour (odd_policies.py, line " in ran.stderr
    for debugged in (schedlab(*words, "--debug"), schedlab("--debug", *words)):
        assert debugged.returncode == 1
        assert "odd_policies.py" in debugged.stderr
        assert "Traceback" in debugged.stderr


def test_a_package_never_replaces_a_built_in_policy(plug_in, tmp_path):
    """Its own `fifo` starts nothing; schedlab's does."""
    done(*run_by("fifo", tmp_path))
    listed = schedlab("policies")
    assert "a package registers a policy 'fifo'; this name belongs to" in listed.stderr


MALFORMED = (
    "[schedlab.policies]\nwithout a value\n",
    "[schedlab.policies]\nodd = !! no module !!\n",
    "[schedlab.policies]\nodd =\n",
    "no section at all\n",
    "[schedlab.policies]\nodd = os:path\n[schedlab.policies\n",
)


def test_malformed_metadata_of_packages_stands_in_nobody_s_way(plug_in, tmp_path):
    for i, metadata in enumerate(MALFORMED):
        folder = plug_in / f"bad{i}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Name: bad{i}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(metadata)
    listed = done("policies")
    assert "fifo-strict" in listed.stdout
    assert "breaks" in listed.stdout
    file, workload = tmp_path / "one.toml", '{ kind = "hierarchical", num_nodes = 2 }'
    file.write_text(f'policies = ["fifo"]\nscenario.workload = {workload}\n')
    done("sweep", "run", file, "--workers", 1, "--out", tmp_path / "swept")


def test_version_of_the_command_the_citation_and_the_changelog():
    assert schedlab("--version").stdout == f"schedlab {__version__}\n"
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert re.findall(r"^## (.*)", (ROOT / "CHANGELOG.md").read_text(), re.M)[0] == __version__
    images = re.findall(r"schedlab:(.*)", (ROOT / "examples/kubernetes.yaml").read_text())
    assert set(images) == {__version__}


@pytest.mark.parametrize("close", ["stdout", "stderr", "pipe"])
def test_nobody_listens(close):
    """A closed output is no traceback; a closed pipe ends quietly."""
    command = {
        "stdout": '"$@" policies fifo >&-',
        "stderr": '"$@" run nowhere.toml 2>&-',
        "pipe": '"$@" policies fifo | true; exit ${PIPESTATUS[0]}',
    }[close]
    words = ["bash", "-c", command, "x", sys.executable, "-m", "experiments.cli"]
    ran = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert ran.returncode in {"stdout": (0,), "stderr": (2,), "pipe": (0, 141)}[close]
    assert ran.stderr == ""


def test_a_run_never_writes_over_its_input(tmp_path):
    """`--out .` where the jobs are in jobs.csv, under any name of it, and an instance's folder."""
    (tmp_path / "jobs.csv").write_text(GOOD)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "jobs.csv").symlink_to(tmp_path / "jobs.csv")
    words = ["run", "jobs.csv", "--set", "cluster.num_nodes=2", "--policy", "fifo", "--out"]
    for out in (".", "./", tmp_path, "other"):
        told = refused(*words, out, cwd=tmp_path)
        assert "jobs.csv there is an input of this run" in told
    assert (tmp_path / "jobs.csv").read_text() == GOOD
    with (
        pytest.raises(InputError, match="is the folder of the instance"),
        output.new_folder(tmp_path, [tmp_path / "other" / ".."]),
    ):
        pass


def test_pages_and_tables_never_take_the_place_of_what_they_are_made_from(tmp_path, capsys):
    """A page over a table of its run, under another name of it; a table over its list of pods."""
    (tmp_path / "jobs.csv").write_text(GOOD)
    (tmp_path / "page.html").symlink_to(tmp_path / "jobs.csv")
    of_a_run = [path for path in output.FILES if path != "jobs.csv"]
    for name in of_a_run:
        (tmp_path / name).write_text("mine")
    for words in (
        *(["show", "replay", tmp_path, "--out", tmp_path / name] for name in output.FILES),
        ["show", "replay", tmp_path, "--out", tmp_path / "page.html"],
        ["theory", "packing", "--pods", tmp_path / "jobs.csv", "--out", tmp_path / "jobs.csv"],
    ):
        assert cli._run([str(word) for word in words], debug=False) == 2
        told = capsys.readouterr().err
        assert "is an input, expected another file" in told
        assert told.count("\n") == 1
    assert (tmp_path / "jobs.csv").read_text() == GOOD
    assert {(tmp_path / name).read_text() for name in of_a_run} == {"mine"}


def test_a_page_never_takes_the_place_of_a_part_of_a_sweep(tmp_path):
    with Store(tmp_path, create=True):
        pass
    with pytest.raises(InputError, match="is a part of the sweep, expected another file"):
        replay_folders([tmp_path], tmp_path / "runs.sqlite")


def test_devices_and_pipes_never_become_files(tmp_path):
    """`--out /dev/stdout` by root would have put a file in its place, for everybody."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "stdout").symlink_to("/dev/null")
    (tmp_path / "folder").mkdir()
    before = {path: path.lstat().st_ino for path in tmp_path.iterdir()}
    for name in ("pipe", "stdout", "folder"):
        with pytest.raises(OSError, match="is no regular file"):
            write_whole(tmp_path / name, "x")
        with pytest.raises(InputError, match=r"cannot be written .is no regular file"):
            webpage.write(tmp_path / name, "x")
    assert {path: path.lstat().st_ino for path in tmp_path.iterdir()} == before


def test_one_run_at_a_time_in_a_folder(tmp_path):
    with output.new_folder(tmp_path / "out"):
        assert "another run is writing into it" in refused(*run_by("fifo", tmp_path))
        assert [path.name for path in (tmp_path / "out").iterdir()] == [output.LOCK]
    with output.new_folder(tmp_path / "out"):
        pass
    assert not list((tmp_path / "out").iterdir())


def test_planted_links_under_names_in_the_making_are_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    out = tmp_path / "out"
    out.mkdir()
    for name in ("summary.json", "jobs.csv", "decisions.csv", "schedule.csv"):
        (out / f"{name}.tmp").symlink_to(victim)
        (out / name).symlink_to(victim)
    done(*run_by("fifo", tmp_path))
    assert victim.read_text() == "mine"
    assert json.loads((out / "summary.json").read_text())["jobs"] == 3
    assert not (out / "summary.json").is_symlink()


def test_infinite_numbers_are_null_with_a_note():
    values, notes = output.finite({"a": 1.5, "b": float("inf"), "c": float("nan"), "d": "inf"})
    assert values == {"a": 1.5, "b": None, "c": None, "d": "inf"}
    assert notes[0].startswith("b is inf, null in summary.json")
    assert len(notes) == 2


def test_names_that_look_like_formulas_are_marked_and_raw_on_demand(tmp_path):
    words = run_by("fifo", tmp_path)
    words[1].write_text(GOOD.replace("\na,", "\n=1+1,").replace("\nb,", "\n-7,"))
    done(*words)
    names = [r.split(",")[0] for r in (tmp_path / "out" / "jobs.csv").read_text().splitlines()]
    assert names == ["job_id", "'=1+1", "-7", "c"]
    done(*words, "--raw")
    assert "\n=1+1," in (tmp_path / "out" / "jobs.csv").read_text()


def test_each_command_s_help_has_an_example():
    for command in cli.app.registered_commands:
        assert command.callback is not None
        name = command.name or command.callback.__name__
        if name != "policies":
            assert "Example: schedlab " in (command.callback.__doc__ or ""), name
        assert "Example" in (command.callback.__doc__ or ""), name


def every_command(command: Any, path: str = "schedlab") -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from every_command(inner, f"{path} {name}")


@pytest.mark.parametrize(("path", "command"), [*every_command(get_command(cli.app))])
def test_help_shows_every_word_of_its_texts(path, command, capsys, monkeypatch):
    """Rich takes [workload] in a text for a style, and :key: for a picture."""
    monkeypatch.setattr(rich_utils, "MAX_WIDTH", 1000)
    context = command.context_class(command, info_name=path)
    rich_utils.rich_format_help(obj=command, ctx=context, markup_mode="rich")
    shown = " ".join(capsys.readouterr().out.split())
    texts = [command.help, *(param.help for param in command.params)]
    for text in filter(None, texts):
        for line in text.replace("\\[", "[").splitlines():
            assert " ".join(line.split()) in shown


def test_the_store_of_a_reproduction_is_found(tmp_path):
    Store(tmp_path / "quick" / "store", create=True).close()
    assert store_folder(tmp_path / "quick") == tmp_path / "quick" / "store"
    assert store_folder(tmp_path / "quick" / "store") == tmp_path / "quick" / "store"
    assert store_folder(tmp_path) == tmp_path


def test_completion_of_commands_in_the_shell():
    words = {"_SCHEDLAB_COMPLETE": "complete_bash", "COMP_WORDS": "schedlab cla", "COMP_CWORD": "1"}
    ran = subprocess.run(
        [Path(sys.executable).with_name("schedlab")],
        env=os.environ | words, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout.split()) == (0, ["classroom"])
