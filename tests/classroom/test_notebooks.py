"""The notebooks: as scripts, with other values, and once in a real browser."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pages import key, start

from simulator.laws import parse_law
from simulator.theory import mg1_mean_response_s

pytest.importorskip("marimo", reason="needs the extra 'notebook'")
ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "notebooks"
NAMES = [path.stem for path in sorted(FOLDER.glob("*.py"))]


def app_of(name: str):
    spec = importlib.util.spec_from_file_location(f"notebook_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.app


def test_all_are_here():
    assert NAMES == ["first_steps", "own_policy", "queueing_laboratory"]


@pytest.mark.parametrize("name", NAMES)
def test_runs_as_a_script(name):
    run = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    said = {"first_steps": "mean completion time", "own_policy": "Mean completion time: "}
    assert said.get(name, "Mean time in the system: formula ") in run.stdout


def test_the_laboratory_shows_the_formula():
    _, values = app_of("queueing_laboratory").run()
    law = parse_law("hyperexponential:3600,cv2=4")
    assert values["formula_h"] == pytest.approx(mg1_mean_response_s(0.7 / 3600, law) / 3600)
    assert values["simulated"].lower < values["simulated"].upper


def test_first_steps_plays_the_same_jobs_under_two_policies():
    _, values = app_of("first_steps").run()
    fifo, backfill = values["fifo"], values["backfill"]
    assert fifo.workload is backfill.workload
    assert fifo.completion_s.tolist() != backfill.completion_s.tolist()
    assert "<iframe" in backfill._repr_html_()
    assert "Best in mean completion time is fifo-backfill" in values["comparison"]._repr_html_()


@pytest.mark.slow
def test_a_slider_and_a_text_in_a_real_browser(tmp_path_factory):
    browser = start(tmp_path_factory)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "marimo", "run", FOLDER / "queueing_laboratory.py", "--headless",
         "--no-token", "--port", str(port)],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        text = "document.body.innerText"
        wait_for_port(port)
        browser.open(f"http://127.0.0.1:{port}")
        first = wait_for(browser, f"{text}.includes('formula') && {text}")
        inside = "(q => [...document.querySelectorAll('*')].flatMap((e) => e.shadowRoot ? "
        inside += "[...e.shadowRoot.querySelectorAll(q)] : []))"
        browser.run(f"{inside}('[role=slider]')[0].focus()")
        key(browser, "ArrowRight")
        second = wait_for(browser, f"{text}.includes('formula') && {text} != {first!r} && {text}")
        assert second != first
    finally:
        server.terminate()
        server.wait()
        browser.close()


def wait_for_port(port: int) -> None:
    for _ in range(120):
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.5)
    raise TimeoutError("the notebook's server does not start")


def wait_for(browser, expression: str):
    for _ in range(120):
        found = browser.run(expression)
        if found:
            return found
        time.sleep(0.5)
    raise TimeoutError(expression)
