"""Solutions of the lesson in docs/classroom.md, and answers of the page's panels, hold; tests/core/test_quotes.py has the formulas'."""

import contextlib
import io
import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.classroom import films, runs
from experiments.comparison.answer import words_of
from experiments.comparison.comparing import compare
from experiments.scenario.run import run
from experiments.scenario.schema import Scenario, read_scenario
from experiments.scenario.template import VALUES
from policies import make_policy
from simulator import Result, theory
from simulator.model.speedup import Amdahl, Power
from tests.families import module

rental = module("policies.rental")

ROOT = Path(__file__).parents[2]
LESSON = (ROOT / "docs/classroom.md").read_text("utf-8")
WEB = ROOT / "experiments/classroom/web"
PANELS = "".join((WEB / f"{name}_panels.js").read_text("utf-8") for name in ("queue", "film"))
BACKFILL = ROOT / "examples/backfill.toml"
HOUR_S = 3600.0


def solution(exercise: int) -> str:
    """From the exercise to the next one, or to the end of its section."""
    found = re.search(
        rf"\*\*Exercise {exercise}\.\*\*(.*?)(?=\n\*\*Exercise|\n### |\Z)", LESSON, re.S
    )
    assert found is not None
    return " ".join(found[1].split())


def code_of(exercise: int) -> str:
    part = LESSON.partition(f"**Exercise {exercise}.**")[2]
    return re.findall(r"```py\n(.*?)```", part, re.S)[0]


def mine(*edits: tuple[str, str]) -> Callable[..., Any]:
    """The policy of `schedlab new policy` after a student's edits."""
    text = (ROOT / "experiments/commands/templates/policy.py").read_text("utf-8")
    for pattern, new in edits:
        text, count = re.subn(pattern, lambda _, new=new: new, text, flags=re.S)
        assert count == 1, pattern
    names: dict[str, Any] = {}
    exec(compile(text, "my_policy.py", "exec"), names)
    return names["my_policy"]


RANK = r"def rank_s.*"
RETURN = r"    return serve\(view, sorted\(.*?\n"


# -- exercise 6 ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def strict() -> Result:
    return run(read_scenario(BACKFILL))


def test_who_keeps_the_others_waiting(strict):
    """At 30 h of the chart, which begins with the first submission."""
    at_s = strict.workload.submit_s[0] + 30 * HOUR_S
    gpus = strict.workload.num_gpus
    waiting = np.flatnonzero(
        (strict.workload.submit_s <= at_s) & (strict.workload.submit_s + strict.wait_s > at_s)
    )
    running = (strict.workload.submit_s + strict.wait_s <= at_s) & (strict.completion_s > at_s)
    free = 16 - int(gpus[running].sum())
    assert (free, len(waiting), int(waiting[0]), int(gpus[84])) == (4, 7, 84, 8)
    assert (gpus[waiting[1:]] <= free).sum() == 6
    nodes = strict.schedule_table().groupby("job_id")["node"].nunique()
    of_eight = nodes[nodes.index.astype(int).isin(np.flatnonzero(gpus == 8))]
    assert (len(of_eight), (of_eight > 1).sum()) == (73, 28)
    told = solution(6)
    assert "At 30 h, four GPUs are free and seven jobs wait. Job 84 is the first" in told
    assert "28 of the 73 jobs of eight GPUs run on both nodes" in told


# -- exercise 7 ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_backfilling_is_better_and_by_how_much():
    told = words_of(compare(BACKFILL, ["fifo-strict", "fifo-backfill"], ["mean_jct_s"]))
    assert told[0].startswith("Best in mean completion time is fifo-backfill")
    assert told[0].endswith("Next is fifo-strict, 40 % (25 to 60 %) longer.")
    assert "40 % longer, with a 95 % interval from 25 to 60 %" in solution(7)


# -- exercises 8 and 9 -----------------------------------------------------------------------------


def simulated(policy: Callable[..., Any]) -> Result:
    class Deciding:
        name, decide = "mine", staticmethod(policy)

    return run(Scenario.model_validate(VALUES), agent=Deciding())


def mean_h(result: Result) -> float:
    return float(result.jct_s[100:900].mean() / HOUR_S)


def test_few_gpus_come_first():
    """Whoever starts asks for no more GPUs than any that could have started then and did not; equals as they came."""
    fewest = simulated(mine((RANK, code_of(8))))
    start_s = fewest.workload.submit_s + fewest.wait_s
    gpus, passed = fewest.workload.num_gpus, 0
    for at_s in np.unique(start_s):
        started = np.flatnonzero(start_s == at_s)
        waiting = np.flatnonzero((fewest.workload.submit_s < at_s) & (start_s > at_s))
        for job in started:
            assert (gpus[waiting] >= gpus[job]).all()
            assert not ((gpus[waiting] == gpus[job]) & (waiting < job)).any()
            passed += (waiting < job).sum()
    assert passed > 100
    fifo = simulated(make_policy("fifo-backfill").decide)
    assert (fifo.wait_s != fewest.wait_s).sum() > 100


def test_gpus_less_seconds_are_first_come_first_served():
    """What the solution warns of: not one of 1,000 starts differs."""
    mixed = f"{code_of(8).rstrip()} - ageing * (view.now_s - view.workload.submit_s[job])\n"
    found = simulated(mine((RANK, mixed)))
    fifo = simulated(make_policy("fifo-backfill").decide)
    assert found.wait_s.tolist() == fifo.wait_s.tolist()


@pytest.mark.slow
def test_the_shortest_first_is_better_than_the_fewest_gpus_first():
    policies = []
    for name, policy in (("Fewest", mine((RANK, code_of(8)))), ("Shortest", mine())):
        policy.__name__ = name
        policies.append(policy)
    found = compare(Scenario.model_validate(VALUES), policies, ["mean_jct_s"])
    assert words_of(found)[0].endswith("Next is Fewest, 15 % (7 to 57 %) longer.")
    assert "15 % longer, with a 95 % interval from 7 to 57 %" in solution(8)


@pytest.mark.long
def test_preemption_needs_all_jobs_in_the_list():
    told, code = solution(9), code_of(9)
    waiting = code.replace("[*view.waiting, *view.running]", "view.waiting")
    preemptive, forgotten = (simulated(mine((RETURN, text))) for text in (code, waiting))
    plain = simulated(mine())
    assert (preemptive.summary()["preemptions"], plain.summary()["preemptions"]) == (406, 0)
    assert (
        f"has 406 preemptions, and its mean completion time is {mean_h(preemptive):.2f} h" in told
    )
    assert f"instead of {mean_h(plain):.2f} h" in told
    assert f"there are {forgotten.summary()['preemptions']:,} preemptions" in told
    assert f"the mean is {mean_h(forgotten):.2f} h" in told


# -- answers of the panels -------------------------------------------------------------------------


def test_five_short_runs_of_panel_1():
    code = re.search(r'id: "filling".*?python: `(.*?)`', PANELS, re.S)
    assert code is not None
    with contextlib.redirect_stdout(io.StringIO()) as told:
        exec(compile(code[1], "panel 1", "exec"), {})
    waits = [float(line.split()[0]) for line in told.getvalue().splitlines()[-5:]]
    assert f"from {min(waits):.1f} h to {max(waits):.1f} h, and the formula gives 19 h" in PANELS
    assert theory.mmc_mean_wait_s(0.95, 1.0, 1) == pytest.approx(19)


def test_equal_durations_halve_the_wait():
    """Panel 2."""
    equal, exponential = (theory.mg1_mean_wait_s(0.7, runs.law(cv2)) for cv2 in (0.0, 1.0))
    assert equal == pytest.approx(exponential / 2)


def test_who_pays_for_the_shortest_remaining_first():
    """Panel 3: nobody against processor sharing at the loads of the slider, the longest at 0.9."""
    law = runs.PARETO
    sizes = np.geomspace(law.low * 1.001, law.high * 0.999, 60)

    def paying(load: float) -> list[float]:
        of = theory.mg1_srpt_response_s
        return [x for x in sizes if of(load, law, x) > theory.mg1_ps_response_s(load, law, x)]

    assert not any(paying(load) for load in runs.ORDER_LOADS)
    least = min(paying(0.9))
    share = ((law.low / least) ** 1.5 - 0.001) / 0.999
    slowdown = theory.mg1_srpt_response_s(0.9, law, sizes[-1]) / sizes[-1]
    assert (round(least), round(1e4 * share), round(slowdown)) == (27, 6, 11)
    assert (
        "jobs of more than 27 h, six of 10,000, are slowed down more, those of 37 h 11 times instead of 10"
        in PANELS
    )


def test_one_fast_server_or_many_slow_ones():
    """Panel 4, at load 0.9 with 8 servers: exponential sizes leave the fast one sooner, cv2 16 need not."""
    fast, slow = 0.9 / 0.1 / 8, theory.mmc_mean_wait_s(7.2, 1.0, 8)
    assert fast > slow
    assert fast + 1 / 8 < slow + 1
    varied = (1 + 16) / 2  # times the wait: exact with one server, about so with several
    assert varied * fast + 1 / 8 > varied * slow + 1


def test_load_or_variability():
    """Panel 5: the factor of the load falls from 9 to 4, half of the cv2 leaves more than that."""
    of = theory.ggc_mean_wait_s
    for gaps in (0.0, 1.0, 4.0):
        for cv2 in (0.5, 1.0, 4.0, 16.0):
            whole = of(0.9, gaps, 1.0, cv2)
            assert of(0.8, gaps, 1.0, cv2) / whole < of(0.9, gaps, 1.0, cv2 / 2) / whole
            assert of(0.9, gaps, 1.0, cv2 / 2) / whole >= 0.5 - 1e-12


def test_the_width_of_one_type_grows_with_the_square_of_the_other():
    types = (
        rental.JobType("amdahl", 0.4, 1.0, Amdahl(0.8)),
        rental.JobType("root", 0.4, 1.0, Power(0.5)),
    )
    for budget in (2.0, 4.0, 8.0):
        amdahl, root = rental.optimal_widths(types, budget).widths_gpus
        assert root == pytest.approx(amdahl**2 / 4, rel=1e-6)


def test_the_assumption_behind_48_65_s():
    load = 40 * 2 / 450
    assert round(40 / (1 - load), 2) == 48.65
    assert round(40 + 40 * load / (1 - load) / 2, 2) == 44.32


@pytest.fixture(scope="module")
def filmed() -> Callable[[Callable[[], Any]], dict[str, Result]]:
    """Results of a film, by name."""

    def results(film: Callable[[], Any]) -> dict[str, Result]:
        found: dict[str, Result] = {}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(films.Recording, "of", lambda result, name: found.update({name: result}))
            patch.setattr(films, "events_of", lambda _: {})
            film()
        return found

    return results


@pytest.mark.slow
def test_which_scheduler_is_best_at_what(filmed):
    """Panel 8."""
    found = filmed(films.packing)
    mean = {name: result.jct_s.mean() for name, result in found.items()}
    late = {
        name: int((r.completion_s > r.workload.due_s + 1e-6).sum()) for name, r in found.items()
    }
    cost = {name: result.summary()["total_cost"] for name, result in found.items()}
    assert min(mean, key=lambda name: mean[name]) == "SRTF"
    for least in (late, cost):
        assert {n for n in least if least[n] == min(least.values())} == {
            "greedy",
            "optimum of each decision",
        }


def test_what_greedy_cpus_cost(filmed):
    """Panel 9: on four servers, the waits and the mean times; beside idle GPUs wait greedy's jobs."""
    found = filmed(films.FILMS["four"])
    wait_min = {name: result.total_wait_s.mean() / 60 for name, result in found.items()}
    jct_h = {name: result.jct_s.mean() / HOUR_S for name, result in found.items()}
    assert [f"{wait_min[n]:.3g}" for n in ("greedy", "tune")] == ["52.4", "10.5"]
    assert [f"{jct_h[n]:.3g}" for n in ("greedy", "tune", "proportional")] == ["14.1", "14.5", "25"]
    assert "52.4 min on average under greedy, and 10.5 min under tune" in PANELS
    assert (
        "14.1 h from submission to end on average, against 14.5 h under tune and 25 h with equal"
        in PANELS
    )
    idle = {name: idle_gpu_h_while_jobs_wait(result, 32) for name, result in found.items()}
    assert idle["greedy"] > 50 * idle["tune"]


def idle_gpu_h_while_jobs_wait(result: Result, gpus: int) -> float:
    rows: pd.DataFrame = result.schedule_table()
    times = np.unique(np.concatenate([rows["start_s"], rows["end_s"]]))
    total = 0.0
    for begin, end in itertools.pairwise(times):
        middle = (begin + end) / 2
        running = rows[(rows["start_s"] <= middle) & (rows["end_s"] > middle)]
        here = ((result.workload.submit_s <= middle) & (result.completion_s > middle)).sum()
        if here > running["job_id"].nunique():
            total += (gpus - running["gpus"].sum()) * (end - begin)
    return total / HOUR_S
