"""The first hour: a policy from a file, run, compared, swept; and the pages that it is read from."""

import json
import os
import sys
from pathlib import Path

import pytest

import schedlab
from experiments import cli
from experiments.scenario import files_page
from simulator import plugins

ROOT = Path(__file__).parents[2]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Runs a command line in a fresh folder; answers with the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(plugins.CODE_ALLOWED, "")

    def run(line: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["schedlab", *line.split()])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0), *capsys.readouterr()

    return run


def test_meanings_of_options_keep_their_brackets(command, tmp_path):
    (tmp_path / "mine.py").write_text(
        'def mine(view, x=1):\n    """Mine.\n\n    x : a key of [workload], :key: by :key:\n    """\n'
    )
    told = command("policies mine.py:mine --allow-code")[1]
    assert "a key of [workload], :key: by :key:" in told


def test_a_policy_has_a_name_of_one_s_own(command, tmp_path):
    """In summary.json, the sentence, pictures and pages; in a scenario, a sweep and a benchmark, too."""
    command("new policy")
    (tmp_path / "jobs.csv").write_text("job_id,submit_time_s,duration_s,num_gpus\na,0,9,1\n")
    run = "run jobs.csv --nodes 1 --out o --allow-code --policy"
    assert "\nMine: 1 jobs" in command(f"{run} Mine=my_policy.py:my_policy")[1]
    assert json.loads((tmp_path / "o" / "summary.json").read_text())["policy"] == "Mine"
    assert ">Mine<" in (command("show replay o --out r.html"), (tmp_path / "r.html").read_text())[1]
    assert "\nMine: 1 jobs" in command(f"{run} Mine=easy-backfill:order=sjf")[1]
    assert "\nsjf: 1 jobs" in command(f"{run} Mine=fifo --set policy=sjf")[1]
    (tmp_path / "s.toml").write_text(
        'policy = "fifo"\npolicy_label = "In order"\n[workload]\nkind = "csv"\npath = "jobs.csv"\n'
        '[cluster]\nkind = "nodes"\nnum_nodes = 1\n'
    )
    assert command("run s.toml --out o")[1].startswith("In order: 1 jobs")
    assert command("run s.toml --out o --policy sjf")[1].startswith("sjf: 1 jobs")
    (tmp_path / "sweep.toml").write_text('scenario = "s.toml"\n')
    command("sweep run sweep.toml --out w --workers 1 --policy A=fifo --policy sjf")
    command("sweep export w --out w.csv")
    rows = (tmp_path / "w.csv").read_text().splitlines()[1:]
    assert [row.split(",")[0] for row in rows] == ["A", "sjf"]


SWEEP = """
scenario = "scenario.toml"
policies = ["fifo-backfill", "my_policy.py:my_policy"]
seeds = 2
"""


def test_a_command_uses_one_thread_unless_the_environment_says_otherwise(command, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    assert command("--version")[0] == 0
    assert (os.environ["OMP_NUM_THREADS"], os.environ["NUMBA_NUM_THREADS"]) == ("1", "3")


def test_a_policy_of_a_file_says_what_it_requires(command, tmp_path):
    """Instead of jobs that wait for ever: in the list of a scenario, of one policy, and before a run."""
    command("new policy")
    (tmp_path / "vms.toml").write_text(
        'policy = "my_policy.py:my_policy"\n[workload]\nkind = "hierarchical"\nnum_nodes = 2\n'
    )
    (tmp_path / "nodes.toml").write_text(
        'policy = "fifo"\n[workload]\nkind = "poisson"\narrival_rate_per_h = 1\n[cluster]\nkind = "nodes"\nnum_nodes = 1\n'
    )
    lack = "the nodes are VMs without a fixed type, the policy needs nodes of fixed types"
    code, _, refused = command("run vms.toml --allow-code")
    assert (code, refused) == (2, f"schedlab: vms.toml: policy: my_policy.py:my_policy: {lack}\n")
    own = "my_policy.py:my_policy"
    assert "requires servers, fixed-demand" in command(f"policies {own} --allow-code")[1]
    one = command(f"policies {own} --for nodes.toml --allow-code")[1].splitlines()[1]
    assert one.split() == ["runs", own]
    assert own in command("policies --for vms.toml --allow-code")[1]  # beside those of the registry
    file = (
        tmp_path / "my_policy.py"
    )  # of another length, since Python compares times of files in seconds
    file.write_text(file.read_text().replace('("servers", ', '("no-servers", '))
    assert (
        "requires is ('no-servers', 'fixed-demand'), expected"
        in command("run vms.toml --allow-code")[2]
    )


@pytest.mark.long
def test_from_template_to_figure(command, tmp_path):
    assert command("new policy")[0] == command("new scenario")[0] == 0
    scenario = (tmp_path / "scenario.toml").read_text("utf-8").replace("[100, 900]", "[10, 90]")
    (tmp_path / "scenario.toml").write_text(scenario.replace("= 1000", "= 100"))
    again = command("new policy")[2]
    assert again == "schedlab: my_policy.py: is there already, expected another name\n"
    own = "--policy my_policy.py:my_policy"
    code, _, refused = command(f"run scenario.toml {own}")
    assert (code, "expected --allow-code" in refused, refused.count("\n")) == (2, True, 1)
    assert command(f"run scenario.toml {own}:ageing=0 --allow-code")[0] == 0
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["jobs"] == 100
    more = "--draws 3 --allow-code --out compared --workers 1"
    code, said, _ = command(f"compare scenario.toml --policy fifo {own} {more}")
    assert (code, said.startswith("Best in mean completion time is ")) == (0, True)
    table = (tmp_path / "compared" / "comparison.csv").read_text()
    assert "my_policy.py:my_policy,as given,fifo," in table
    (tmp_path / "sweep.toml").write_text(SWEEP)
    assert "4 of 4 runs done" in command("sweep run sweep.toml --workers 1 --allow-code")[1]
    policy = tmp_path / "my_policy.py"
    policy.write_text(policy.read_text("utf-8").replace("0.5", "0.4"))
    changed = command("sweep run sweep.toml --workers 1 --allow-code")
    assert (changed[0], "my_policy.py has changed" in changed[2]) == (2, True)
    again = command("sweep run sweep.toml --workers 1 --allow-code --resume")[1]
    assert "2 computed now" in again  # those of the built-in policy are kept
    only = command(f"sweep run sweep.toml {own} --out only --workers 1 --allow-code")[1]
    assert "2 of 2 runs done" in only
    assert command("sweep export out/sweep --summary --figure b.png")[0] == 0
    assert (tmp_path / "b.png").exists()


@pytest.mark.parametrize(
    ("code", "name", "said"),
    [
        ("x = (", "mine", "mine.py, line 1: SyntaxError: '(' was never closed"),
        ("y = 1\nx = z", "mine", "mine.py, line 2: NameError: name 'z' is not defined"),
        ("def other(view): pass", "mine", "mine.py has no 'mine', expected one of other"),
        ("import sys\nsys.exit(0)", "mine", "mine.py, line 2: SystemExit: 0"),
        ("def mine(view, x): pass", "mine", "has no default for view, x, expected one for every"),
        ("def mine(view): raise ValueError('no')", "mine", "unexpected ValueError: no (mine.py, line 1; policy mine.py:mine, at "),
        ("mine = 3", "mine", "mine.py has no 'mine', expected a class or a function there"),
        (None, "mine", "no such file, expected mine.py"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_one_line(command, tmp_path, code, name, said):
    if code is not None:
        (tmp_path / "mine.py").write_text(code)
    command("new scenario")
    status, _, error = command(f"run scenario.toml --policy mine.py:{name} --allow-code")
    assert said in error
    assert (error.count("\n"), status > 0) == (1, True)


def test_an_unknown_policy_is_told_of_files(command):
    command("new scenario")
    assert "a policy of your own: FILE.py:NAME" in command("run scenario.toml --policy mine")[2]


def test_a_module_beside_the_file_and_a_wrapper_behind_its_name(command, tmp_path):
    (tmp_path / "helper_of_mine.py").write_text("from schedlab import NO_CHANGE as NOTHING\n")
    (tmp_path / "mine.py").write_text(
        "from helper_of_mine import NOTHING\nfrom schedlab import Decision, FreeCapacity\n"
        "class Mine:\n    def decide(self, view):\n"
        "        placed = FreeCapacity(view).take(next(iter(view.waiting), 0)) if view.waiting else ()\n"
        "        return Decision(placed, keep_running=True) if placed else NOTHING\n"
    )
    command("new scenario")
    line = "run scenario.toml --set workload.num_jobs=20 --set window= --allow-code --policy"
    for name in ("mine.py:Mine", "mine.py:Mine@decision-trace"):
        assert command(f"{line} {name}")[0] == 0


def test_the_page_of_files_is_made_from_readers_and_schemas():
    assert (ROOT / "docs" / "files.md").read_text("utf-8") == files_page.page()


def test_a_scenario_that_names_a_file_is_read_by_a_text_as_its_path():
    path = ROOT / "examples" / "philly.toml"
    assert schedlab.read_scenario(str(path)) == schedlab.read_scenario(path)


def test_the_public_names_are_documented():
    page = (ROOT / "docs" / "extending.md").read_text("utf-8")
    assert [name for name in schedlab.__all__ if f"`{name}`" not in page] == []
    assert all(hasattr(schedlab, name) for name in schedlab.__all__)
