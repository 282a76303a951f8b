"""The start of a command: libraries that take long to import come with the code that uses them."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from simulator.schema import arrow_array
from simulator.workloads.kinds import KINDS
from simulator.workloads.registry import kinds
from tests.command import ROOT

OTHERS = {
    "acme_like",
    "alibaba",
    "batsim",
    "gavel",
    "helios",
    "kubernetes",
    "lublin",
    "philly",
    "slurm",
    "swf",
}
"""Modules of kinds of workload that a scenario of other jobs does not name."""
COMPUTING = {"highspy", "matplotlib", "numba", "pandas", "scipy.optimize", "scipy.sparse"}
SCRIPT = """
import json, sys
sys.argv[0] = "schedlab"
from experiments.cli import main
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("words", "unused"),
    [
        (["--help"], {*COMPUTING, "filelock", "numpy", "pyarrow", "scipy"}),
        (["policies"], {*COMPUTING, "filelock", "pyarrow"}),
        (
            ["run", "examples/mmc.toml", "--set", "workload.num_jobs=20"],
            {*COMPUTING, "rich", *(f"simulator.workloads.{module}" for module in OTHERS)},
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_command_imports_no_library_that_it_does_not_use(words, unused, tmp_path):
    out = ["--out", tmp_path / "out"] if words[0] == "run" else []
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words, *out], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert unused.isdisjoint(json.loads(done.stderr.splitlines()[-1]))


def test_the_name_of_a_kind_is_that_of_its_class():
    assert [table.model_fields["kind"].default for table in kinds().values()][: len(KINDS)] == [
        *KINDS
    ]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["a", "", "é,\n"], pa.string()),
        (("a", None), pa.string()),
        ([], pa.string()),
        (np.array([1.5, np.nan, -np.inf]), pa.float64()),
        (np.array([[0.0, 1.0], [2.0, 3.0]])[:, 1], pa.float64()),
        ([1, 2**53 + 1], pa.int64()),
        (np.array([True, False]), pa.bool_()),
        (np.array([1, 2], dtype=np.int32), pa.float64()),
        ([1.0, None], pa.float64()),
        (np.array([3.0, np.nan]), pa.int64()),
        ([], pa.float64()),
    ],
)
def test_arrow_arrays_are_those_of_arrow(values, kind):
    """Made without pandas where all are texts or numbers."""
    found = arrow_array(values, kind)
    found.validate(full=True)
    assert found.equals(pa.array(values, kind, from_pandas=True))
