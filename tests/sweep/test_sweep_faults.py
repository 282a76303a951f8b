"""A whole sweep: killed, interrupted, without room, started twice.

What is killed or interrupted is a process of its own; what goes on with it is this one. In every case no
finished run is lost or done twice, and in the end the tables are the bytes of a sweep that nothing disturbed.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.sweep import codeversion
from experiments.sweep.store import Store
from experiments.sweep.sweep import export, retry, sweep
from simulator.errors import InputError
from tests.sweep.runs import exported

HERE = Path(__file__).parent
COMMAND = """
import sys
from pathlib import Path
from experiments.sweep import codeversion
from experiments.sweep.sweep import sweep
codeversion.code_version = lambda function, sources: "the same"
sys.exit(sweep(Path(sys.argv[1]), Path(sys.argv[2]), workers=2, allow_code=True))
"""


@pytest.fixture(autouse=True)
def same_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody may be editing the sources while the tests run; that is tested elsewhere."""
    monkeypatch.setattr(codeversion, "code_version", lambda function, sources: "the same")


def go_on(file: Path, out: Path) -> int:
    """The sweep in this process; its exit code."""
    return sweep(file, out, workers=2, progress=False, allow_code=True)


def start(file: Path, out: Path) -> subprocess.Popen[str]:
    """A sweep in a process group of its own, as a shell would start it."""
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(file), str(out)],
        env=os.environ | {"PYTHONPATH": str(HERE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def write_sweep(folder: Path, runs: int, sleep_s: float = 0.02) -> Path:
    """A sweep of tasks that log each time they come to their end."""
    (folder / "log").mkdir(parents=True, exist_ok=True)
    path = folder / "sweep.toml"
    path.write_text(
        f"""
        function = "sweep_functions:logged"
        seeds = {runs // 2}
        scenario = {{ log = "{folder / "log"}", sleep_s = {sleep_s} }}
        grid.mean = [0.0, 1.0]
        """
    )
    return path


def endings(folder: Path) -> Counter[str]:
    """Number of runs that each process ended, by process id."""
    logs = (folder / "log").iterdir()
    return Counter({file.stem: len(file.read_text().split()) for file in logs})


def done(out: Path) -> int:
    try:
        with Store(out) as store:
            return store.counts().done
    except Exception:  # Not there yet.
        return 0


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(9000):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("nothing happened for three minutes")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> Callable[[int], bytes]:
    """The tables of a sweep that nothing disturbs, by its number of runs."""
    tables: dict[int, bytes] = {}

    def of(runs: int) -> bytes:
        if runs not in tables:
            folder = tmp_path_factory.mktemp("undisturbed")
            assert go_on(write_sweep(folder, runs, 0.0), folder / "out") == 0
            tables[runs] = exported(folder / "out")
        return tables[runs]

    return of


def stop_and_resume(
    folder: Path, number: signal.Signals, runs: int, after: list[int]
) -> tuple[list[int], list[str]]:
    """Exit codes and last words of processes that get a signal each time another of `after` runs is done."""
    file, out = write_sweep(folder, runs), folder / "out"
    codes, words = [], []
    for count in after:
        process = start(file, out)
        wait_until(lambda count=count: done(out) >= count)
        os.kill(process.pid, number)
        code, _, err = finish(process)
        codes.append(code)
        words.append(err.strip().splitlines()[-1] if err.strip() else "")
        # Its workers go with it, whatever they were doing.
        wait_until(lambda: not any(_alive(pid) for pid in endings(folder)))
        kept, ended = done(out), sum(endings(folder).values())
        assert kept >= count
        # Only what was under way, one run a worker, may have ended without being written down.
        assert ended <= kept + 2 * len(codes)
    ended, kept = sum(endings(folder).values()), done(out)
    assert go_on(file, out) == 0
    assert done(out) == runs
    assert sum(endings(folder).values()) == ended + runs - kept
    return codes, words


def _alive(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.long
def test_coordinator_killed(tmp_path, undisturbed):
    codes, _ = stop_and_resume(tmp_path, signal.SIGKILL, 60, [20])
    assert codes == [-signal.SIGKILL]
    assert exported(tmp_path / "out") == undisturbed(60)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_coordinator_killed_at_random(tmp_path, undisturbed, seed):
    after = sorted(random.Random(seed).sample(range(1, 280), 8))
    stop_and_resume(tmp_path, signal.SIGKILL, 300, after)
    assert exported(tmp_path / "out") == undisturbed(300)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted(tmp_path, undisturbed, number, code):
    codes, words = stop_and_resume(tmp_path, number, 60, [10])
    assert codes == [code]
    assert "runs left; the same command goes on with them" in words[0]
    assert exported(tmp_path / "out") == undisturbed(60)


@pytest.mark.long
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)],
)
def test_one_sweep_at_a_time_and_a_signal_to_its_group_ends_it(tmp_path, undisturbed, number, code):
    """A second one is refused in one line, and leaves the first alone; workers that end with it are no failure."""
    file, out = write_sweep(tmp_path, 20, sleep_s=0.3), tmp_path / "out"
    process = start(file, out)
    wait_until(lambda: done(out) >= 2)
    for second in (go_on, lambda file, out: retry(out, workers=2, allow_code=True)):
        with pytest.raises(InputError) as error:
            second(file, out)
        told = str(error.value)
        assert f"{out}: a sweep is running on this folder (process {process.pid} on" in told
        assert "\n" not in told
    os.killpg(process.pid, number)
    ended, _, err = finish(process)
    assert ended == code
    assert "Traceback" not in err
    assert "runs left; the same command goes on with them" in err.splitlines()[-1]
    assert go_on(file, out) == 0
    assert exported(out) == undisturbed(20)


def test_failures_are_told_and_retried(tmp_path, capsys):
    file, mark = tmp_path / "sweep.toml", tmp_path / "mark"
    file.write_text(f'function = "sweep_functions:until"\nseeds = 4\nscenario.mark = "{mark}"\n')
    assert go_on(file, tmp_path / "out") == 1
    words = capsys.readouterr().out
    assert "0 of 4 runs done, 4 failed" in words
    assert "failed: seed=0 (and 3 more): FileNotFoundError: not yet" in words
    assert f"schedlab sweep retry {tmp_path / 'out'} --failed" in words
    mark.touch()
    assert retry(tmp_path / "out", workers=2, progress=False, allow_code=True) == 0
    assert "4 of 4 runs done, 0 failed; 4 computed now" in capsys.readouterr().out


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 2 MB, and a function that makes it larger."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if mount is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here (needs Linux and root)")
    try:
        larger = [mount, "-o", "remount,size=64m", str(folder)]
        yield folder, lambda: subprocess.run(larger, check=True)
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize(
    ("kb", "text_kb"),
    [
        pytest.param(100, 0, marks=pytest.mark.slow),
        pytest.param(0, 100, marks=pytest.mark.slow),
        (40, 40),
    ],
)
def test_disk_full(tmp_path, small_disk, capsys, kb, text_kb):
    disk, make_room = small_disk
    file = tmp_path / "sweep.toml"
    scenario = f"scenario = {{ kb = {kb}, text_kb = {text_kb} }}"
    file.write_text(f'function = "sweep_functions:large"\nseeds = 40\n{scenario}\n')
    out = disk / "out"
    kept = 5
    for _ in range(2):  # The second time it is still full: it says so again, and loses nothing.
        assert go_on(file, out) == 1
        told = capsys.readouterr()
        assert told.out == ""
        assert kept <= done(out) < 40
        kept = done(out)
        assert told.err.strip().splitlines()[-1] == (
            f"schedlab: {out}: the disk is full; {kept} finished runs are kept, "
            "free some space and start the same command again"
        )
    make_room()
    assert go_on(file, out) == 0
    assert f"40 of 40 runs done, 0 failed; {40 - kept} computed now" in capsys.readouterr().out
    assert go_on(file, tmp_path / "out") == 0
    export(out)
    export(tmp_path / "out")
    assert (out / "runs.csv").read_bytes() == (tmp_path / "out" / "runs.csv").read_bytes()
