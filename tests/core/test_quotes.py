"""The code that docs/simulator.md and docs/classroom.md quote is the code of the files, and their numbers hold."""

import re
from pathlib import Path

from simulator.core.clock import EventOrder
from simulator.laws import parse_law
from simulator.theory import (
    mg1_mean_response_s,
    mg1_mean_wait_s,
    mg1_ps_response_s,
    mg1_srpt_response_s,
    mmc_mean_wait_s,
)
from tests.core.jobs import fixed, nodes, run

ROOT = Path(__file__).parents[2]
LESSON = (ROOT / "docs/classroom.md").read_text()
PAGES = (ROOT / "docs/simulator.md").read_text() + LESSON
EXTENDING = (ROOT / "docs/extending.md").read_text()
BLOCKS = re.findall(r"```py(?:thon)?\n(.*?)```", PAGES + EXTENDING, re.S)


def test_quoted_code_stands_in_its_file():
    quoted = [block for block in BLOCKS if block.startswith("# simulator/")]
    assert len(quoted) >= 10
    for block in quoted:
        first, code = block.split("\n", 1)
        assert code in (ROOT / first.removeprefix("# ")).read_text(), first


def test_numbers_of_the_lesson():
    """One server of 1 h jobs unless it says otherwise; times in h."""
    always, varied = parse_law("deterministic:1"), parse_law("hyperexponential:1,cv2=4")
    waits = [mmc_mean_wait_s(load * c, 1.0, c) for load, c in ((0.8, 1), (0.9, 1), (0.8, 8))]
    waits += [mg1_mean_wait_s(0.7, law) for law in (always, varied)]
    assert [f"{wait:.4g}" for wait in waits] == ["4", "9", "0.286", "1.167", "5.833"]
    times = [f(0.7, varied) for f in (mg1_mean_response_s, mg1_srpt_response_s, mg1_ps_response_s)]
    assert [f"{time:.2f}" for time in times] == ["6.83", "1.80", "3.33"]
    for number in ("4 h and 9 h", "0.286 h", "1.167 h and 5.833 h", "6.83 h to 1.80 h", "3.33 h"):
        assert number in LESSON
    assert (EventOrder.COMPLETION, EventOrder.ARRIVAL) == (2, 4)


def test_the_feature_of_the_page_halves_the_rates():
    """One job of 64 GPUs alone for 10 s, then with one of 1 GPU for 20 s; it has done 20 of 30 s, 10 are left."""
    names: dict[str, type] = {}
    exec(next(block for block in BLOCKS if "class PowerCap" in block), names)
    jobs, cap = fixed([0, 10], [30, 10], [64, 1]), names["PowerCap"](64, 0.5)
    result = run(jobs, nodes(65), "fifo-strict", cap)
    assert result.completion_s.tolist() == [40, 30]
