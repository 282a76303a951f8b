"""Job types from TOML, and what `schedlab theory rental` prints."""

import io
from pathlib import Path

import pandas as pd
import pytest

from experiments.papers.rental.frontier import rental_csv
from simulator.errors import InputError
from simulator.model.speedup import Amdahl, Power
from simulator.workloads.job_types import read_types

EXAMPLE = Path(__file__).parents[2] / "examples" / "rental_figure1.toml"
TYPE = """[[types]]
name = "a"
arrival_rate_per_h = {rate}
mean_size_h = 1.0
speedup = {speedup}
"""
POWER = '{ kind = "power", exponent = 0.5 }'


def of(kind: str, values: str) -> str:
    """A type whose speed-up is of this kind."""
    return TYPE.format(rate=1, speedup=f'{{ kind = "{kind}", {values} }}')


def file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "types.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_papers_example():
    types = read_types(EXAMPLE)
    assert [t.speedup for t in types] == [Amdahl(0.8), Power(0.5)]
    text, notes = rental_csv(EXAMPLE, "0.8,1,2,5,10,20,30")
    table = pd.read_csv(io.StringIO(text))
    assert not notes
    mean = "mean_response_time"
    widths = ["width_amdahl_gpus", "width_root_gpus"]
    times = [f"{mean}_h", f"{mean}_amdahl_h", f"{mean}_root_h"]
    assert table.columns.tolist() == ["budget_gpus", *widths, *times]
    expected = 0.1 + 0.392 / (table["budget_gpus"][1:] - 0.32)
    assert table[f"{mean}_h"][1:].tolist() == pytest.approx(expected.tolist(), rel=1e-8)


def test_other_speedups(tmp_path):
    table = of("tabulated", "gpus = [1, 2, 4, 8], throughput = [10.0, 19.0, 25.0, 40.0]")
    own = of("function", 'function = "math:sqrt"').replace('"a"', '"b"')
    text, notes = rental_csv(file(tmp_path, table + own), "4,6", allow_code=True)
    assert len(notes) == 1
    assert "concave hull" in notes[0]
    assert text.count("\n") == 3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "types: missing"),
        ("types = []", r"types: got \[\]"),
        (TYPE.format(rate=-1, speedup=POWER), r"types\[0\].arrival_rate_per_h: got -1"),
        (TYPE.format(rate="nan", speedup=POWER), r"types\[0\].arrival_rate_per_h"),
        (TYPE.format(rate=1, speedup='{ kind = "amdahl" }'), "parallel_fraction: missing"),
        (TYPE.format(rate=1, speedup='{ kind = "cubic" }'), "cubic"),
        (TYPE.format(rate=1, speedup='{ kind = "power", exponent = 2.0 }'), "convex"),
        (of("tabulated", "gpus = [1, 2, 4], throughput = [1, 1.1, 3.0]"), "convex"),
        (of("tabulated", "gpus = [0.5, 2], throughput = [1, 2]"), "from 1"),
        (of("function", 'function = "math:no"'), "math:no"),
        (of("function", 'function = "math:pi"'), "a function"),
        (of("function", 'function = "os:getcwd"'), "TypeError"),
        (of("function", 'function = "math:exp"'), "OverflowError"),
        (of("function", 'function = "math:sin"'), "expected 1"),
        (TYPE.replace('"a"', '"a\\nb"').format(rate=1, speedup=POWER), r"types\[0\].name"),
        (TYPE.format(rate=1, speedup=POWER) + "widht = 3", "widht"),
        (TYPE.format(rate=1, speedup=POWER) * 2, "occurs twice"),
        (TYPE.format(rate=5, speedup=POWER), "load of 5 GPUs"),
        ("types =", "TOML"),
    ],
)
def test_bad_files_are_one_clear_line(tmp_path, text, told):
    with pytest.raises(InputError, match=told) as caught:
        rental_csv(file(tmp_path, text), "2,3", allow_code=True)
    assert str(caught.value).startswith(str(tmp_path))


def test_bad_budgets_and_missing_files(tmp_path):
    with pytest.raises(InputError, match="--budgets '1,x'"):
        rental_csv(EXAMPLE, "1,x")
    for budgets, named in (
        ("1,,2", "got ''"),
        ("nan", "'nan'"),
        ("1,-2", "'-2'"),
        ("inf", "'inf'"),
    ):
        with pytest.raises(InputError, match=named):
            rental_csv(EXAMPLE, budgets)
    with pytest.raises(InputError, match=r"load of 0\.8 GPUs"):
        rental_csv(EXAMPLE, "0.5")
    with pytest.raises(InputError, match="no such file"):
        rental_csv(tmp_path / "none.toml", "1")


def test_a_file_is_data_without_leave(tmp_path):
    """No module is imported, neither an installed one nor one that lies beside the file."""
    (tmp_path / "planted_by_a_test.py").write_text("raise SystemExit('code has run')\n")
    own = of("function", 'function = "planted_by_a_test:f"')
    with pytest.raises(InputError, match=r"types.0..speedup: got function 'planted_by_a_test:f'"):
        rental_csv(file(tmp_path, own), "3")


def test_a_function_from_a_module_beside_the_file(tmp_path):
    (tmp_path / "own_speedups_of_a_test.py").write_text(
        "def halved(k):\n    return k**0.5\n\n\ndef words(k):\n    return 'fast'\n"
    )
    halved, words = (
        of("function", f'function = "own_speedups_of_a_test:{name}"')
        for name in ("halved", "words")
    )
    text, _ = rental_csv(file(tmp_path, halved), "3", allow_code=True)
    expected, _ = rental_csv(file(tmp_path, TYPE.format(rate=1, speedup=POWER)), "3")
    found, wanted = (pd.read_csv(io.StringIO(t)).to_numpy() for t in (text, expected))
    assert found == pytest.approx(wanted, rel=1e-6)
    with pytest.raises(InputError, match="ValueError"):
        read_types(file(tmp_path, words), allow_code=True)
