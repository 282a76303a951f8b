"""The player in a real browser."""

import dataclasses
import time

import numpy as np
import pytest
from pages import accessibility_faults, check_quiet, key, open_quietly, settle
from replay_runs import fixed_jobs, vms

from experiments.replay import Recording, replay
from experiments.scenario.run import run
from experiments.scenario.schema import Scenario


@pytest.fixture(scope="module")
def results():
    return [vms("edf"), vms("milp")]


@pytest.fixture(scope="module")
def page(results, tmp_path_factory):
    return replay(results, tmp_path_factory.mktemp("replay") / "replay.html")


def part(name: str) -> str:
    return f"document.querySelector('[data-part={name}]')"


@pytest.mark.parametrize("width", [1280, 390])
def test_it_opens(page, browser, width):
    open_quietly(browser, page, width)
    assert browser.run("document.querySelectorAll('.run').length") == 2
    browser.run("player.jump(player.replay.end / 2)")
    check_quiet(browser)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_serious_accessibility_fault(page, browser, theme):
    scheme = {"name": "prefers-color-scheme", "value": theme}
    browser.call("Emulation.setEmulatedMedia", features=[scheme])
    open_quietly(browser, page)
    browser.run("player.followJob(3)")
    browser.run("document.querySelector('details').open = true")
    assert accessibility_faults(browser) == []
    browser.call("Emulation.setEmulatedMedia", features=[])


def test_the_end_agrees_with_the_summary(page, browser, results):
    open_quietly(browser, page)
    for k, result in enumerate(results):
        end = browser.run(f"player.replay.runs[{k}].summary(player.replay.end)")
        summary = result.summary()
        assert end["cost"] == pytest.approx(summary["total_cost"], rel=1e-6)
        assert end["meanJct"] == pytest.approx(summary["mean_jct_s"], rel=1e-6)
        assert end["late"] == summary["late_jobs"]
        assert (end["running"], end["waiting"], end["used"]) == (0, 0, pytest.approx(0, abs=1e-9))
        assert end["done"] == summary["jobs"]


def test_a_moment_agrees_with_the_tables(browser, tmp_path):
    result = fixed_jobs(200, 5, "srtf+proportional")
    open_quietly(browser, replay(result, tmp_path / "replay.html"))
    origin_s = result.workload.submit_s[0]
    for fraction in (0.1, 0.37, 0.5, 0.9):
        now = fraction * (result.completion_s.max() - origin_s)
        shares = [s for s in result.schedule if s.start_s - origin_s <= now < s.end_s - origin_s]
        come = (result.workload.submit_s - origin_s <= now).sum()
        over = (result.completion_s - origin_s <= now).sum()
        running = len({s.job for s in shares})
        found = browser.run(f"player.replay.runs[0].summary({now})")
        assert found["used"] == pytest.approx(sum(s.gpus for s in shares))
        assert (found["running"], found["waiting"]) == (running, come - over - running)
        waiting = browser.run(f"player.replay.runs[0].waitingJobs({now}).length")
        assert waiting == come - over - running
        shown = f"player.panels[0].scene.runningShares({now}).length"
        drawn = browser.run(f"player.jump({now}); {shown}")
        assert drawn == len(shares)
    ends = browser.run("player.replay.runs[0].fate.reduce((n, f) => (n[f]++, n), [0, 0, 0])")
    assert sum(ends) == len(result.schedule)
    count = "player.replay.runs[0].countsOf(j, Infinity).preempted"
    preempted = browser.run(f"player.replay.jobs.id.reduce((n, _, j) => n + {count}, 0)")
    assert preempted == result.preemptions.sum() > 0


def test_jobs_that_left_are_not_finished(browser, tmp_path):
    jobs = {"kind": "poisson", "num_jobs": 60, "arrival_rate_per_h": 4.0, "patience": 600}
    nodes = {"kind": "nodes", "num_nodes": 1, "gpus_per_node": 2}
    keys = {"policy": "fifo", "workload": jobs, "cluster": nodes}
    result = run(Scenario.model_validate(keys), True)
    open_quietly(browser, replay(result, tmp_path / "replay.html"))
    end, left = browser.run("player.replay.runs[0].summary(Infinity)"), result.left
    assert 0 < end["done"] == 60 - left.sum() < 60
    assert end["meanJct"] == pytest.approx(result.summary()["mean_jct_s"], rel=1e-6)
    assert end["waiting"] == 0
    for job, state in ((left.argmax(), "has left"), (left.argmin(), "is over")):
        assert browser.run(f"player.replay.runs[0].stateOf({job}, Infinity)") == state


def test_it_shows_what_the_policy_noted_of_its_last_decision(page, browser, results):
    """The MILP notes its objective; EDF notes nothing and has no such line."""
    open_quietly(browser, page)
    table = results[1].decisions_table()
    row = table.iloc[len(table) // 2]
    start_s = results[1].workload.submit_s[0]
    browser.run(f"player.jump({float(row['time_s']) - start_s + 1e-6})")
    shown = browser.run("[...document.querySelectorAll('.noted p')].map((p) => p.textContent)")
    assert len(shown) == 1
    last = table[table["time_s"] <= row["time_s"] + 1e-6].iloc[-1]
    assert shown[0].startswith("Last decision, at ")
    at_s = float(last["time_s"]) - start_s
    noted = dict(browser.run(f"player.replay.runs[1].notedAt({at_s} + 1e-6)")[1])
    assert len(noted) > 2
    for name, value in noted.items():
        assert f"{name} " in shown[0]
        is_number = isinstance(value, float)
        assert value == (pytest.approx(last[name], rel=1e-3) if is_number else last[name])


def test_play_advances_both_runs_in_step_and_stops(page, browser):
    open_quietly(browser, page)
    browser.run(f"{part('play')}.click()")
    first = browser.run("player.time")
    time.sleep(0.3)
    second = browser.run("player.time")
    assert second > first >= 0
    at = "[...document.querySelectorAll('.run')].map((run, k) => player.panels[k].scene.painted.time)"
    left, right = browser.run(at)
    assert left == right > 0
    browser.run(f"{part('play')}.click()")
    stopped = browser.run("player.time")
    time.sleep(0.1)
    assert browser.run("player.time") == stopped
    assert browser.run(f"{part('play')}.textContent") == "Play"


def test_keyboard(page, browser):
    open_quietly(browser, page)
    decisions = browser.run("player.replay.decisions")
    for _ in range(3):
        key(browser, "ArrowRight")
    later = [t for t in decisions if t > 0]
    assert browser.run("player.time") == later[2]
    key(browser, "ArrowLeft")
    assert browser.run("player.time") == later[1]
    key(browser, "End")
    assert browser.run("player.time == player.replay.end")
    key(browser, "ArrowLeft", shift=True)
    assert browser.run("player.time / player.replay.end") == pytest.approx(0.99)
    key(browser, "Home")
    key(browser, " ")
    assert browser.run("player.playing")
    key(browser, " ")
    assert not browser.run("player.playing")
    key(browser, "+")
    assert browser.run("player.speed") == 2
    said = browser.run(f"{part('said')}.textContent")
    assert "running" in said
    assert "waiting" in said


SPOT = """(() => {
    const {scene, canvas, run} = player.panels[0];
    const i = scene.runningShares(player.time)[0];
    const box = canvas.getBoundingClientRect();
    return [box.left + scene.x(player.time) - 1, box.top + scene.top(run.shares.node[i], run.shares.line[i]) + 2,
            run.jobs.id[run.shares.job[i]]];
})()"""
"""Where the first of the shares that run is drawn, and whose it is."""


def test_follow_a_job_by_name_and_by_click(page, browser):
    open_quietly(browser, page)
    browser.run("player.jump(player.replay.end / 3)")
    field = part("job")
    browser.run(f"{field}.value = 'J2'; {field}.dispatchEvent(new Event('change'))")
    assert browser.run(f"{part('followed')}.textContent").startswith("Job J2. edf: ")
    browser.run(f"{field}.value = 'nobody'; {field}.dispatchEvent(new Event('change'))")
    assert browser.run(f"{part('nojob')}.textContent") == "There is no job “nobody”."
    x, y, job = browser.run(SPOT)
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        at = {"x": x, "y": y, "button": "left", "clickCount": 1}
        browser.call("Input.dispatchMouseEvent", type=kind, **at)
    assert browser.run("player.replay.jobs.id[player.follow]") == job
    assert job in browser.run(f"{part('tip')}.textContent")
    key(browser, "Escape")
    assert browser.run("player.follow") is None


def test_a_tap_follows_a_job_on_a_phone(page, browser):
    """A finger in place of a mouse, at the width of a phone."""
    open_quietly(browser, page, 390)
    browser.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=1)
    browser.run("player.jump(player.replay.end / 3)")
    browser.run("player.panels[0].canvas.scrollIntoView({block: 'center'})")
    settle(browser)
    x, y, job = browser.run(SPOT)
    browser.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    browser.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    for _ in range(20):
        settle(browser)
        if browser.run("player.follow") is not None:
            break
    assert browser.run("player.replay.jobs.id[player.follow]") == job
    browser.call("Emulation.setTouchEmulationEnabled", enabled=False)
    check_quiet(browser)


def test_a_run_in_which_nothing_ran(browser, tmp_path):
    """No job was ever started: the page opens, and says so."""
    recording = Recording.of(fixed_jobs(4, 2))
    never = recording.jobs.assign(completion_s=np.nan, first_start_s=np.nan, tardiness_s=0.0)
    empty = dataclasses.replace(recording, schedule=recording.schedule.head(0), jobs=never)
    open_quietly(browser, replay(empty, tmp_path / "empty.html"))
    key(browser, "End")
    key(browser, "ArrowLeft")
    assert browser.run("player.replay.runs[0].summary(player.replay.end).done") == 0
    assert browser.run("player.replay.runs[0].summary(player.replay.end).waiting") == 4
    check_quiet(browser)


def test_reduced_motion_jumps_instead_of_moving(page, browser):
    reduced = {"name": "prefers-reduced-motion", "value": "reduce"}
    browser.call("Emulation.setEmulatedMedia", features=[reduced])
    open_quietly(browser, page)
    browser.run("player.play()")
    times = []
    for _ in range(8):
        settle(browser)
        times.append(browser.run("player.time"))
    assert len(set(times)) <= 2
    browser.run("player.pause()")
    browser.call("Emulation.setEmulatedMedia", features=[])


def test_names_with_html_in_them_are_text(browser, tmp_path):
    result = fixed_jobs(5, 1)
    ids = ["</script><script>window.bad = 1</script>", "<b>b</b>", "&amp;", '"c"', "d"]
    workload = dataclasses.replace(result.workload, job_id=ids)
    result = dataclasses.replace(result, workload=workload, policy="<i>fifo</i>")
    open_quietly(browser, replay([result, result], tmp_path / "a.html", "<u>title</u>"))
    browser.run("player.jump(player.replay.end / 2); player.followJob(0)")
    assert browser.run("player.replay.jobs.id") == ids
    assert browser.run("typeof bad") == "undefined"
    assert browser.run("document.querySelectorAll('main b, main i, main u').length") == 0
    assert browser.run("document.querySelector('h1').textContent") == "<u>title</u>"
    check_quiet(browser)


@pytest.mark.long
@pytest.mark.parametrize(("jobs", "nodes"), [(1, 1), (3000, 1000)])
def test_small_and_large(browser, tmp_path, jobs, nodes):
    open_quietly(browser, replay(fixed_jobs(jobs, nodes), tmp_path / "a.html"))
    browser.run("player.jump(player.replay.end / 2)")
    browser.run("document.querySelector('.scroller').scrollTop = 1e6")
    settle(browser)
    check_quiet(browser)
    if nodes == 1000:
        assert accessibility_faults(browser) == []
    key(browser, "End")
    assert browser.run("player.replay.runs[0].summary(player.time).done") == jobs


COUNT_WHAT_IS_DRAWN = """
window.drawn = 0;
for (const name of ["fillRect", "strokeRect", "clearRect", "fillText", "drawImage", "stroke", "fill"]) {
  const plain = CanvasRenderingContext2D.prototype[name];
  CanvasRenderingContext2D.prototype[name] = function (...given) {
    drawn += 1;
    return plain.apply(this, given);
  };
}
"""


@pytest.mark.long
def test_what_a_frame_draws_does_not_grow_with_the_jobs(browser, tmp_path):
    """Two minutes a frame, in the middle of runs of 700 and 3,500 jobs on the same 100 nodes."""
    most = {}
    for jobs in (700, 3_500):
        open_quietly(browser, replay(fixed_jobs(jobs, 100), tmp_path / f"{jobs}.html"))
        browser.run("player.jump(player.replay.end * 0.5)")
        browser.run(COUNT_WHAT_IS_DRAWN)
        most[jobs] = browser.run("""(() => {
            const counts = [], begin = player.replay.end * 0.5;
            for (let k = 1; k <= 40; k++) {
                drawn = 0;
                player.jump(begin + k * 120, false);
                counts.push(drawn);
            }
            return Math.max(...counts);
        })()""")
    # A few marks for each of at most 400 shares that run, and for those that wait beside them.
    assert 100 < most[3_500] < 4_000
    assert most[3_500] < 2 * most[700]


def test_a_notebook_shows_the_player(browser, tmp_path):
    path = tmp_path / "cell.html"
    cell = fixed_jobs(20, 2)._repr_html_()
    path.write_text(f"<!doctype html><link rel='icon' href='data:,'>{cell}")
    open_quietly(browser, path)
    inside = "document.querySelector('iframe').contentWindow.player.replay.jobs.id.length"
    assert browser.run(inside) == 20
