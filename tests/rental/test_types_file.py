"""Job types from TOML, and what `schedlab theory rental` prints."""

import io
from pathlib import Path

import pandas as pd
import pytest

from experiments.papers.rental.frontier import rental_csv
from experiments.scenario.job_types import read_types
from simulator.errors import InputError
from simulator.model.speedup import Amdahl, Power

EXAMPLE = Path(__file__).parents[2] / "examples" / "rental_figure1.toml"
TYPE = """[[types]]
name = "a"
arrival_rate_per_h = {rate}
mean_size_h = 1.0
speedup = {speedup}
"""
POWER = '{ kind = "power", exponent = 0.5 }'


def file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "types.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_papers_example() -> None:
    types = read_types(EXAMPLE)
    assert [t.speedup for t in types] == [Amdahl(0.8), Power(0.5)]
    text, notes = rental_csv(EXAMPLE, "0.8,1,2,5,10,20,30")
    table = pd.read_csv(io.StringIO(text))
    assert not notes
    assert table.columns.tolist() == [
        "budget_gpus",
        "width_amdahl_gpus",
        "width_root_gpus",
        "mean_response_time_h",
        "mean_response_time_amdahl_h",
        "mean_response_time_root_h",
    ]
    b = table["budget_gpus"][1:]
    assert table["mean_response_time_h"][1:].tolist() == pytest.approx(
        (0.1 + 0.392 / (b - 0.32)).tolist(), rel=1e-8
    )


def test_other_speedups(tmp_path: Path) -> None:
    table = '{ kind = "tabulated", gpus = [1, 2, 4, 8], throughput = [10.0, 19.0, 25.0, 40.0] }'
    own = '{ kind = "function", function = "math:sqrt" }'
    path = file(
        tmp_path,
        TYPE.format(rate=1.0, speedup=table)
        + TYPE.replace('"a"', '"b"').format(rate=2, speedup=own),
    )
    text, notes = rental_csv(path, "4,6", allow_code=True)
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
        (
            TYPE.format(
                rate=1,
                speedup='{ kind = "tabulated", gpus = [1, 2, 4], throughput = [1, 1.1, 3.0] }',
            ),
            "convex",
        ),
        (
            TYPE.format(
                rate=1, speedup='{ kind = "tabulated", gpus = [0.5, 2], throughput = [1, 2] }'
            ),
            "from 1",
        ),
        (TYPE.format(rate=1, speedup='{ kind = "function", function = "math:no" }'), "math:no"),
        (TYPE.format(rate=1, speedup='{ kind = "function", function = "math:pi" }'), "a function"),
        (TYPE.format(rate=1, speedup='{ kind = "function", function = "os:getcwd" }'), "TypeError"),
        (
            TYPE.format(rate=1, speedup='{ kind = "function", function = "math:exp" }'),
            "OverflowError",
        ),
        (TYPE.format(rate=1, speedup='{ kind = "function", function = "math:sin" }'), "expected 1"),
        (TYPE.replace('"a"', '"a\\nb"').format(rate=1, speedup=POWER), r"types\[0\].name"),
        (TYPE.format(rate=1, speedup=POWER) + "widht = 3", "widht"),
        (TYPE.format(rate=1, speedup=POWER) * 2, "occurs twice"),
        (TYPE.format(rate=5, speedup=POWER), "load of 5 GPUs"),
        ("types =", "TOML"),
    ],
)
def test_bad_files_are_one_clear_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InputError, match=told) as caught:
        rental_csv(file(tmp_path, text), "2,3", allow_code=True)
    assert str(caught.value).startswith(str(tmp_path))


def test_bad_budgets_and_missing_files(tmp_path: Path) -> None:
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


def test_a_file_is_data_without_leave(tmp_path: Path) -> None:
    """No module is imported, neither an installed one nor one that lies beside the file."""
    (tmp_path / "planted_by_a_test.py").write_text("raise SystemExit('code has run')\n")
    own = '{ kind = "function", function = "planted_by_a_test:f" }'
    with pytest.raises(InputError, match=r"types.0..speedup: got function 'planted_by_a_test:f'"):
        rental_csv(file(tmp_path, TYPE.format(rate=1, speedup=own)), "3")


def test_a_function_from_a_module_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "own_speedups_of_a_test.py").write_text(
        "def halved(k):\n    return k**0.5\n\n\ndef words(k):\n    return 'fast'\n",
        encoding="utf-8",
    )
    own = '{{ kind = "function", function = "own_speedups_of_a_test:{}" }}'
    text, _ = rental_csv(
        file(tmp_path, TYPE.format(rate=1, speedup=own.format("halved"))), "3", allow_code=True
    )
    expected, _ = rental_csv(file(tmp_path, TYPE.format(rate=1, speedup=POWER)), "3")
    assert pd.read_csv(io.StringIO(text)).to_numpy() == pytest.approx(
        pd.read_csv(io.StringIO(expected)).to_numpy(), rel=1e-6
    )
    with pytest.raises(InputError, match="ValueError"):
        read_types(
            file(tmp_path, TYPE.format(rate=1, speedup=own.format("words"))), allow_code=True
        )
