"""The code that docs/simulator.md quotes is the code of the files, and its example runs."""

from __future__ import annotations

import re
from pathlib import Path

from policies import make_policy
from simulator import Cluster, NodeType, simulate
from tests.core.jobs import fixed

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"```py(?:thon)?\n(.*?)```", (ROOT / "docs/simulator.md").read_text(), re.S)


def test_quoted_code_stands_in_its_file() -> None:
    quoted = [block for block in BLOCKS if block.startswith("# simulator/")]
    assert len(quoted) >= 6
    for block in quoted:
        first, code = block.split("\n", 1)
        assert code in (ROOT / first.removeprefix("# ")).read_text(), first


def test_the_feature_of_the_page_halves_the_rates() -> None:
    """One job of 64 GPUs alone for 10 s, then with one of 1 GPU for 20 s; it has done 20 of 30 s, 10 are left."""
    names: dict[str, type] = {}
    exec(next(block for block in BLOCKS if "class PowerCap" in block), names)
    result = simulate(
        fixed([0, 10], [30, 10], [64, 1]),
        Cluster.of_nodes(NodeType("n", "GPU", 65), 1),
        make_policy("fifo-strict"),
        features=[names["PowerCap"]()],
    )
    assert result.completion_s.tolist() == [40, 30]
