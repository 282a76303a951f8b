"""`schedlab policies`: what can be named after --policy."""

from __future__ import annotations

import sys

from experiments.text import printable
from simulator.errors import InputError


def policies() -> None:
    """Every policy with one line and its options (name=default)."""
    from rich.console import Console
    from rich.table import Table

    from policies import describe, policy_names
    from policies.registry import hidden_plugins
    from policies.synergy import MECHANISMS, ORDERINGS

    table = Table("policy", "what it does", "options", box=None, pad_edge=False)
    for name in policy_names():
        try:
            info = describe(name)
        except InputError as error:  # another package's, broken; the others are listed all the same
            table.add_row(name, printable(str(error)), "")
            continue
        options = ", ".join(f"{k}={v}" for k, v in info.options.items())
        table.add_row(name, printable(info.summary), printable(options))
    for mechanism in MECHANISMS:
        info = describe(f"srtf+{mechanism}")
        options = ", ".join(f"{k}={v}" for k, v in info.options.items())
        summary = info.summary.replace("SRTF ordering", "any ordering")
        table.add_row(f"ORDERING+{mechanism}", summary, options)
    width = None if sys.stdout.isatty() else 160
    console = Console(width=width)
    console.print(table)
    console.print(
        f"\nSynergy's policies are an ordering and a mechanism, for example srtf+tune. "
        f"Orderings: {', '.join(ORDERINGS)}. Mechanisms: {', '.join(MECHANISMS)}.",
        highlight=False,
    )
    for name in hidden_plugins():
        print(
            f"schedlab: note: a package registers a policy {name!r}; the name is taken, and means "
            "schedlab's own policy",
            file=sys.stderr,
        )
