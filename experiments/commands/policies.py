"""`schedlab policies`: what can be named after --policy, and what runs on a scenario."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from experiments.commands.options import AllowCode, GpuCount, NodeCount
from experiments.text import printable
from simulator.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console


def policies(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A policy, of which all options are explained."),
    ] = None,
    scenario: Annotated[
        Path | None,
        typer.Option("--for", help="A scenario, or a file of jobs: which policies run on it."),
    ] = None,
    nodes: NodeCount = None,
    gpus: GpuCount = None,
    allow_code: AllowCode = False,
) -> None:
    """List every policy with one line and its options (name=default); NAME: describe one policy in full.

    With --for FILE: which policies run there as they are, which with a key of [adapt], and
    which make no sense there, and why; with NAME that one alone. A policy of a file is asked for its own
    requirements (FILE.py:NAME, with --allow-code).

    Example: schedlab policies --for examples/synergy.toml
    """
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 160, markup=False, emoji=False)
    if scenario is not None:
        console.print(_fits(scenario, name, nodes, gpus))
        return
    if name is not None:
        _print_one(console, name)
        return
    _print_all(console)


def _print_all(console: Console) -> None:
    from rich.table import Table

    from policies import describe, policy_names, wrapper_names
    from policies.registry.making import composed_names, hidden_plugins

    table = Table("policy", "what it does", "options", box=None, pad_edge=False)
    rows = {name: name for name in policy_names()}
    orderings, mechanisms = (
        dict.fromkeys(name.split("+")[part] for name in composed_names()) for part in (0, 1)
    )
    rows |= {f"+{mechanism}": f"ORDERING+{mechanism}" for mechanism in mechanisms}
    rows |= {wrapper: f"POLICY{wrapper}" for wrapper in wrapper_names()}
    for name, shown in rows.items():
        try:
            info = describe(name)
        except InputError as error:  # another package's, broken; the others are listed all the same
            table.add_row(name, printable(str(error)), "")
            continue
        prefix = f"{name[1:]}." if name in wrapper_names() else ""
        options = ", ".join(f"{prefix}{k}={v}" for k, v in info.options.items())
        table.add_row(shown, printable(info.summary), printable(options))
    console.print(table)
    if mechanisms:
        console.print(
            f"\nSynergy's policies are an ordering and a mechanism, for example srtf+tune. "
            f"Orderings: {', '.join(orderings)}. Mechanisms: {', '.join(mechanisms)}. "
            "Wrappers stand behind the name of any policy, also several: srtf+tune@hysteresis.",
            highlight=False,
        )
    for line in _of_packages():
        console.print(line, highlight=False, markup=False)
    for name in hidden_plugins():
        print(
            f"schedlab: note: a package registers a policy {name!r}; this name belongs to "
            "schedlab's own policy, which is used",
            file=sys.stderr,
        )


def _print_one(console: Console, name: str) -> None:
    from rich.table import Table

    from policies import describe

    policy = describe(name)
    source = f" ({policy.paper})" if policy.paper else ""
    console.print(printable(f"{name}: {policy.summary}{source}"), highlight=False, markup=False)
    if policy.requires:
        console.print(f"requires {', '.join(policy.requires)}", highlight=False)
    if policy.options:
        table = Table("option", "default", "meaning", box=None, pad_edge=False)
        for option, default in policy.options.items():
            table.add_row(option, str(default), printable(policy.meanings.get(option, "")))
        console.print(table)


def _of_packages() -> list[str]:
    """GPU types, dispatchers and kinds of workload: the built-in names, and one line for each that a package registers."""
    import inspect

    from simulator.core.dispatchers import DISPATCHERS, GROUP
    from simulator.plugins import installed, loaded
    from simulator.workloads.gpu_types import gpu_types
    from simulator.workloads.kinds import KINDS
    from simulator.workloads.registry import kinds

    lines = [f"GPU types (key cluster.gpu_type): {', '.join(gpu_types())}."]
    lines += [f"Dispatchers (key dispatcher): {', '.join(DISPATCHERS)}."]
    for entry in installed(GROUP):
        try:
            found = loaded(entry, "dispatcher")
            said = (inspect.getdoc(found) or "").partition("\n")[0] or entry.value
        except InputError as error:  # another package's, broken; the others are listed all the same
            said = str(error)
        lines.append(printable(f'Dispatcher of a package, dispatcher = "{entry.name}": {said}'))
    own = list(kinds().items())
    lines.append(f"Workloads (key kind): {', '.join(name for name, _ in own[: len(KINDS)])}.")
    for name, table in own[len(KINDS) :]:
        keys = [
            key if field.is_required() else f"{key}={field.get_default(call_default_factory=True)}"
            for key, field in table.model_fields.items()
            if key != "kind"
        ]
        said = f"{(inspect.getdoc(table) or '').partition(chr(10))[0]} ({', '.join(keys)})"
        lines.append(printable(f'Workload of a package, kind = "{name}": {said}'))
    return lines


def _fits(path: Path, policy: str | None, nodes: int | None, gpus: int | None) -> Any:
    from rich.table import Table
    from rich.text import Text

    from experiments.analysis.compatibility import fits
    from experiments.config import of_file
    from experiments.scenario.options import format_of, scenario_of

    table = Table("on this scenario", "policies", "", box=None, pad_edge=False)
    checked = scenario_of(path, format_of(path, None), nodes=nodes, gpus=gpus)[0]
    with of_file(str(path)):
        found = fits(checked, [policy] if policy else None)
    alike: dict[tuple[str, str], list[str]] = {}
    for fit in found:
        alike.setdefault((fit.verdict, fit.detail), []).append(fit.policy)
    for (verdict, detail), names in sorted(
        alike.items(), key=lambda row: ("runs", "with keys", "makes no sense").index(row[0][0])
    ):
        said = verdict.replace("with keys", "with [adapt]")
        table.add_row(Text(said), Text(", ".join(names)), Text(detail))
        table.add_row()
    return table
