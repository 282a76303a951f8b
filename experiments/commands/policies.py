"""`schedlab policies`: what can be named after --policy."""

from __future__ import annotations

import sys

from simulator.errors import InputError


def policies() -> None:
    """Every policy with one line and its options (name=default)."""
    from rich.console import Console
    from rich.table import Table

    from policies import describe, policy_names

    table = Table("policy", "what it does", "options", box=None, pad_edge=False)
    for name in policy_names():
        try:
            info = describe(name)
        except InputError as error:  # another package's, broken; the others are listed all the same
            table.add_row(name, str(error), "")
            continue
        options = ", ".join(f"{k}={v}" for k, v in info.options.items())
        table.add_row(name, info.summary, options)
    width = None if sys.stdout.isatty() else 160
    console = Console(width=width)
    console.print(table)
    console.print(
        "\nSynergy: ORDERING+MECHANISM, orderings fifo srtf las ftf drf tetris, "
        "mechanisms proportional greedy tune opt (e.g. srtf+tune).",
        highlight=False,
    )
