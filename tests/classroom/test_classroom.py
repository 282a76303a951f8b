"""The page for a class: its formulas, its simulations, and the page in a real browser."""

import itertools
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from pages import accessibility_faults, check_quiet, open_quietly, settle

from experiments import cli, webpage
from experiments.classroom import runs, write_classroom
from experiments.classroom.page import MODULES, _student_factor
from experiments.sweep.results import Results
from experiments.sweep.store import Store
from policies import make_policy
from simulator import simulate
from simulator import theory as q
from simulator.laws import Exponential
from simulator.model.speedup import Amdahl, Power
from simulator.statistics import mean_of_skewed, mser5, student
from simulator.workloads.reshaping import time_shared
from tests.command import compute
from tests.core.jobs import fixed, nodes
from tests.families import is_absent, module, registered
from tests.test_docs import with_examples

rental = module("policies.rental")

PANELS = 10 if "four" in runs.FILMS else 9
"""The last one has films of Synergy."""
CLOSE = {"rel": 1e-9, "abs": 1e-9}


@pytest.fixture(scope="module")
def maths(browser, tmp_path_factory):
    """The modules alone in an empty page: `call(expression)`."""
    page = tmp_path_factory.mktemp("modules") / "modules.html"
    used = [p for p in MODULES if p.stem in ("text", "events", "random", "formulas", "queues")]
    names = "{...module_formulas, ...module_queues, ...module_random}"
    page.write_text(
        f"<!doctype html><link rel='icon' href='data:,'><script type=module>{webpage.bundle(used)}\n"
        f"window.m = {names};</script>"
    )

    def call(expression: str):
        return browser.run(expression.replace("@", "m."))

    def opened(expression: str):
        if not browser.run("location.href").endswith("modules.html"):
            open_quietly(browser, page)
        return call(expression)

    return opened


@pytest.fixture
def close(maths):
    """An expression in the page is a value of the formulas here."""

    def check(expression: str, expected, **tolerance):
        assert maths(expression) == pytest.approx(expected, **(tolerance or CLOSE))

    return check


def test_erlang(close):
    for load in (0.1, 0.9, 3.5, 12.0):
        for servers in (1, 2, 8, 32):
            close(f"@erlangB({load}, {servers})", q.erlang_b(load, servers))
            if load < servers:
                close(f"@erlangC({load},{servers})", q.erlang_c(load, servers))
                close(f"@mmcMeanWait({load},1,{servers})", q.mmc_mean_wait_s(load, 1.0, servers))
                exceeds = q.mmc_wait_exceeds(load, 1.0, servers, 2.5)
                close(f"@mmcWaitExceeds({load},1,{servers},2.5)", exceeds)


@pytest.mark.parametrize("load", [0.1, 0.5, 0.95, 1.2])
def test_filling(close, load):
    times = [0.0, 0.5, 5.0, 60.0, 200.0]
    close(f"@mm1MeanNumberAt({load}, 1, {times})", q.mm1_mean_number_at(load, 1.0, times))


@pytest.mark.parametrize("cv2", [0.0, 1.0, 4.0, 16.0])
def test_mg1(close, cv2):
    law = runs.law(cv2)
    for load in (0.3, 0.7, 0.95):
        js = f"@lawOf({cv2})"
        close(f"@mg1MeanWait({load}, {js})", q.mg1_mean_wait_s(load, law))
        for t in (0.0, 0.6, 3.3, 20.0):
            close(f"@mg1WaitExceeds({load}, {js}, {t})", q.mg1_wait_exceeds(load, law, t))
        quantile_s = q.mg1_wait_quantile_s(load, law, 0.95)
        close(f"@mg1WaitQuantile({load}, {js}, 0.95)", quantile_s, rel=1e-8)
    close(f"@inspectedWait(@lawOf({cv2}))", (1 + cv2) / 2)


def test_orders(close):
    pareto = "@paretoOf(1.5, 100)"
    close(f"[{pareto}.mean, {pareto}.second]", [1.0, runs.PARETO.second_moment])
    for load in (0.5, 0.7, 0.9):
        close(f"@srptResponse({load}, {pareto})", q.mg1_srpt_response_s(load, runs.PARETO))
        for size in (0.5, 2.0, 90.0):
            srpt_s, ps_s = (
                of(load, runs.PARETO, size) for of in (q.mg1_srpt_response_s, q.mg1_ps_response_s)
            )
            close(f"@srptResponseOfSize({load}, {pareto}, {size})", srpt_s)
            close(f"@mg1PsResponse({load}, {pareto}, {size})", ps_s)
        for preemptive, word in ((False, "false"), (True, "true")):
            halves, laws = [load / 2, load / 2], [runs.law(1.0), runs.PARETO]
            expected = q.mg1_priority_response_s(halves, laws, preemptive)
            close(f"@mg1PriorityResponse({halves}, [@lawOf(1), {pareto}], {word})", expected)


def test_priority_by_size(close):
    """A job that runs alone for x, waits for the work above it, and is interrupted by it."""
    for size in (0.4, 1.0, 50.0):
        residual = (0.3 * 2.0 / 2, 0.4 * runs.PARETO.second_moment / 2)
        expected = [residual[0] / 0.7 + size, sum(residual) / (0.7 * 0.3) + size / 0.7]
        laws = "[@lawOf(1), @paretoOf(1.5, 100)]"
        close(f"@mg1PriorityResponseOfSize([0.3, 0.4], {laws}, {size})", expected)


def test_rented_runs_keep_their_budget(maths):
    """Response and GPUs in use of long runs are those of the plan."""
    for budget in (0.9, 2.0, 6.0):
        found = maths(
            f"(() => {{ const r = new @Random(5); const all = []; for (let i = 0; i < 40; i++) "
            f"all.push(@rentedRun(@rentalPlan({budget}), r, 2000)); return all; }})()"
        )
        for key, expected in (
            ("gpus", budget),
            ("response", maths(f"@rentalPlan({budget}).response")),
        ):
            estimate = student(np.array([run[key] for run in found]), level=0.999)
            assert estimate.lower < expected < estimate.upper
    shares = maths("@inServiceShares(new @Random(3), 40000, 4, 13)")
    poisson = q.mginf_number_pmf(4.0, Exponential(1.0), list(range(13)))
    assert shares == pytest.approx(poisson.tolist(), abs=0.02)


def test_general_and_unlimited(close):
    for load, gaps, service in itertools.product((0.5, 0.9), (0, 1, 4), (0, 1, 16)):
        variability, of = f"({load},{gaps},1,{service})", (load, gaps, 1.0, service)
        close(f"@kingmanBound{variability}", q.kingman_bound_s(*of))
        close(f"@ggcMeanWait{variability}", q.ggc_mean_wait_s(*of))
    numbers = list(range(20))
    pmf = q.mginf_number_pmf(4.0, Exponential(1.0), numbers)
    close(f"{numbers}.map((n) => @mginfNumber(4, n))", pmf)


def test_renting(maths):
    types = (
        rental.JobType("amdahl", 0.4, 1.0, Amdahl(0.8)),
        rental.JobType("root", 0.4, 1.0, Power(0.5)),
    )
    for budget in (0.82, 0.86, 0.88, 1.0, 2.0, 7.5):
        plan = rental.optimal_widths(types, budget)
        found = maths(f"@rentalPlan({budget})")
        assert [found["amdahl"], found["root"]] == pytest.approx(list(plan.widths_gpus), rel=1e-6)
        assert found["response"] == pytest.approx(plan.mean_response_time_h, rel=1e-9)


def test_warm_up(maths):
    rng = np.random.default_rng(4)
    values = np.concatenate([rng.exponential(1, 60) / 5, rng.exponential(1, 400)]).tolist()
    assert maths(f"@mser5({values})") == mser5(values) > 0


def test_intervals_of_the_page_have_95_percent():
    """Student's t of a table, 1, 10 and 19 degrees of freedom."""
    found = [_student_factor(count) for count in (2, 11, 20)]
    assert found == pytest.approx([12.7062, 2.22814, 2.09302], rel=1e-5)


@pytest.mark.parametrize("count", [2, 3, 10, 40])
def test_intervals(maths, count):
    x = np.random.default_rng(count).exponential(1, count)
    expected = mean_of_skewed(x).at_least(0.0)
    factors = [None, None, *(_student_factor(n) for n in range(2, 101))]
    found = maths(f"@intervalOf({x.tolist()}, {json.dumps(factors)})")
    assert found == pytest.approx([expected.mean, expected.lower, expected.upper], **CLOSE)


DRAW = """(() => {
    const random = new @Random(7); const arrivals = [], services = [], rank = []; let now = 0;
    for (let i = 0; i < 400; i++) {
        now += random.exponential() / 0.8; arrivals.push(now); services.push(random.ofCv2(4));
        rank.push(random.uniform() < 0.5 ? 0 : 1);
    }
    return {arrivals, services, rank,
        waits: @firstComeWaits(arrivals, services), several: @firstComeWaits(arrivals, services, 3),
        sharing: @completionsInOrder(arrivals, services, "sharing"),
        srpt: @completionsInOrder(arrivals, services, "srpt"),
        priority: @completionsInOrder(arrivals, services, "priority", rank)};
})()"""


def test_queues_in_the_page_are_those_of_the_engine(maths):
    """The same draws, in seconds."""
    found = maths(DRAW)
    submit_s, services_s = (np.array(found[name]) * 1e4 for name in ("arrivals", "services"))
    jobs = fixed(submit_s, services_s, weight_per_s=2.0 - np.array(found["rank"]))

    def engine(policy: str, servers: int = 1, **options: bool):
        return simulate(time_shared(jobs), nodes(servers), make_policy(policy, **options))

    scale = 1e-4
    assert found["waits"] == pytest.approx(engine("fifo-strict").wait_s * scale, **CLOSE)
    assert found["several"] == pytest.approx(engine("fifo-strict", 3).wait_s * scale, **CLOSE)
    for order, policy, options in (
        ("sharing", "processor-sharing", {}),
        ("srpt", "srpt", {}),
        ("priority", "priority", {"preemptive": True}),
    ):
        ends = engine(policy, **options).completion_s * scale
        assert found[order] == pytest.approx(ends, **CLOSE), order


# -- the page --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    """Made like the real one, of shorter runs."""
    folder = tmp_path_factory.mktemp("classroom")
    before, runs.JOBS = runs.JOBS, {"quick": 100, "paper": 100}
    seeds, runs.SEEDS = runs.SEEDS, {"quick": (1, 2), "paper": (1, 2)}
    relaxations, runs.RELAXATIONS = runs.RELAXATIONS, {"quick": 0, "paper": 0}
    wanted = runs.tasks("quick")
    with Store(folder / "store", create=True) as store:
        compute(wanted, store)
        assert store.counts().failed == 0
        path = write_classroom(Results(store, wanted, "quick"), folder / "classroom.html")
    runs.JOBS, runs.SEEDS, runs.RELAXATIONS = before, seeds, relaxations
    return path


@pytest.mark.long
@pytest.mark.parametrize("width", [1280, 390])
def test_it_opens(page, browser, width):
    open_quietly(browser, page, width)
    assert browser.run("document.querySelectorAll('section.panel').length") == PANELS
    assert browser.run("document.querySelectorAll('.charts svg[role=img]').length") == 10
    assert browser.run("[...document.querySelectorAll('.question')].every((d) => !d.open)")
    assert "NaN" not in browser.run("document.getElementById('panels').innerHTML")


@pytest.mark.parametrize("width", [1280, 800])
def test_lines_of_code_are_neither_cut_nor_broken(page, browser, width):
    """A box is as high and as wide with its lines as they are written."""
    open_quietly(browser, page, width)
    faults = browser.run("""[...document.querySelectorAll('.how')].map((box) => {
        const before = box.clientHeight;
        box.style.whiteSpace = 'pre';
        const same = box.clientHeight === before && box.scrollWidth <= box.clientWidth;
        box.style.whiteSpace = '';
        return same ? '' : box.textContent;
    }).filter(Boolean)""")
    assert faults == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_serious_accessibility_fault(page, browser, theme):
    browser.call(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}]
    )
    open_quietly(browser, page)
    assert accessibility_faults(browser) == []
    browser.call("Emulation.setEmulatedMedia", features=[])


@pytest.fixture
def opened(page, browser):
    """The browser with the page, as the tests before left it: each looks at a panel of its own."""
    if browser.run("location.href") != page.as_uri():
        open_quietly(browser, page)
    return browser


def test_a_slider_changes_the_numbers_to_the_formulas(opened):
    for name, value in (("controllers", 60), ("servers", 2)):
        opened.run(
            f"(() => {{ const s = document.getElementById('server-{name}'); s.value = {value}; "
            "s.dispatchEvent(new Event('input', {bubbles: true})); })()"
        )
    settle(opened)
    expected = q.mmc_mean_response_s(60 / 4500, 40.0, 2)
    shown = opened.run("document.querySelector('#server .facts li').textContent")
    assert f"{expected:.2f} s to a decision" in shown
    check_quiet(opened)


def test_the_percentile_is_the_one_of_the_formula(opened):
    opened.run(
        "(() => { const s = document.getElementById('variability-what'); s.value = 1; "
        "s.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )
    chart = opened.run("classroom.variability.charts[0]")
    assert chart["y"]["label"] == "95 % wait at most, h"
    load, shown = chart["series"][1]["data"][15]
    assert shown == pytest.approx(q.mg1_wait_quantile_s(load, Exponential(1.0), 0.95), rel=1e-8)
    entry = opened.run(
        "classroom.data.queues.find((e) => e.panel == 'variability' && e.service == 1)"
    )
    assert [entry["load"], *entry["p95_wait"]] in chart["series"][5]["data"]


@pytest.mark.long
def test_what_it_says_to_compute_can_be_computed(opened, tmp_path, monkeypatch, capsys):
    """The Python lines and the commands of all panels; tests/test_docs.py runs those of README.md."""
    found = opened.run(
        "[...document.querySelectorAll('.how code')].map((c) => [c.className, c.textContent])"
    )
    assert len(found) == PANELS
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    monkeypatch.chdir(with_examples(tmp_path))
    for language, lines in found:
        if language == "python":
            exec(compile(lines, "panel", "exec"), {})
            assert "nan" not in capsys.readouterr().out
            continue
        for line in lines.replace("\\\n", "").splitlines():
            if line in readme or any(map(is_absent, re.findall(r"examples/[\w.]+", line))):
                continue
            monkeypatch.setattr("sys.argv", shlex.split(line))
            with pytest.raises(SystemExit) as ended:
                cli.main()
            assert ended.value.code in (0, None), line


def test_every_slider_at_both_ends_draws_without_a_complaint(opened):
    opened.run("""document.querySelectorAll('.slider input').forEach((s) => {
        for (const value of [s.min, s.max]) {
            s.value = value; s.dispatchEvent(new Event('input', {bubbles: true}));
            if (/NaN|undefined/.test(s.closest('section').innerHTML)) throw new Error(s.id);
        }
    })""")
    check_quiet(opened)


def test_new_random_numbers_change_the_runs_and_not_the_formula(opened):
    state = "JSON.stringify(classroom.filling.charts[0].series.map((s) => s.data))"
    first = json.loads(opened.run(state))
    opened.run("document.querySelector('#filling button').click()")
    second = json.loads(opened.run(state))
    assert first[0] != second[0]
    assert first[1] == second[1]
    assert first[2] != second[2]


def test_films_play_in_step(opened):
    names = opened.run("classroom.packing.replay.runs.map((r) => r.name)")
    last = ["optimum of each decision"] if registered("milp") else []
    assert names == ["FIFO", "backfill", "SRTF", "greedy", *last]
    opened.run("classroom.packing.jump(classroom.packing.replay.end / 4)")
    times = opened.run("classroom.packing.panels.map((p) => p.scene.painted.time)")
    assert len(set(times)) == 1
    if "four" in runs.FILMS:
        assert opened.run("classroom.four.replay.runs.length") == 3


def test_points_have_intervals(opened):
    """The points of the page are the means of the runs."""
    entry = opened.run("classroom.data.queues[0]")
    mean, low, high = entry["mean_wait"]
    assert low < mean < high
