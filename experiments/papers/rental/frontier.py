"""Output of `schedlab theory rental TYPES.toml --budgets ..`."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

from simulator.errors import InputError
from simulator.workloads.job_types import read_types


def parse_budgets(text: str) -> list[float]:
    """``"0.8,1,2"`` as numbers."""
    budgets = []
    for part in text.split(","):
        try:
            budget = float(part)
        except ValueError:
            budget = math.nan
        if not 0 < budget < math.inf:
            raise InputError(
                f"--budgets {text!r}: got {part.strip()!r}, expected positive numbers of GPUs, "
                "e.g. 0.8,1,2"
            )
        budgets.append(budget)
    return budgets


def rental_csv(path: Path, budgets: str, *, allow_code: bool = False) -> tuple[str, list[str]]:
    """Output of `schedlab theory rental TYPES.toml --budgets ..`, and notes on what was read.

    The columns are those of `policies.rental.rental_table`.
    """
    from policies.rental import rental_table

    limits = parse_budgets(budgets)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        types = read_types(path, allow_code=allow_code)
    try:
        table = rental_table(types, limits)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    text = table.to_csv(index=False, float_format="%.12g", lineterminator="\n")
    return str(text), [str(warning.message) for warning in caught]
