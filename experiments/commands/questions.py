"""`schedlab size` and `whatif`: questions about a scenario, or about a file of jobs alone."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from experiments.commands.options import (
    POLICY,
    AllowCode,
    GpuCount,
    Kind,
    NodeCount,
    PolicyName,
    Source,
    ValidationFile,
    Workers,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from experiments.comparison.size import Size
    from experiments.comparison.whatif import WhatIf
    from experiments.scenario.schema import Scenario
    from experiments.sweep.store import Store

Answer = TypeVar("Answer", "Size", "WhatIf")

Seed = Annotated[int | None, typer.Option(min=0, help="Seed of the first draw.")]
Draws = Annotated[
    int,
    typer.Option(
        min=1,
        help="If the jobs come from a file: number of traces drawn from it in blocks, at least 39, or 1 for the file "
        "alone. If they are random: number of seeds.",
    ),
]


def size(
    source: Source,
    target: Annotated[
        str,
        typer.Option(help="A metric of summary.json and its bound, e.g. 'p95_total_wait < 1h'."),
    ],
    gpus: GpuCount = None,
    nodes: NodeCount = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POLICY",
            help=f"{POLICY} Default: that of the scenario; easy-backfill for a file of jobs. With --vary policy, give the option once for each.",
        ),
    ] = None,
    share: Annotated[
        float,
        typer.Option(help="Share of the drawn traces, or seeds, that has to meet the target."),
    ] = 0.95,
    vary: Annotated[
        str,
        typer.Option(
            help="What is varied: nodes; gpus: those of each node; speed: of the GPUs, divided by those of the trace; price: the "
            "highest price of a node-hour; or policy: which of several meet the target."
        ),
    ] = "nodes",
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="As of `schedlab run`.")
    ] = None,
    draws: Draws = 40,
    validation: ValidationFile = None,
    kind: Kind = None,
    seed: Seed = None,
    workers: Workers = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the curve (size.csv, size.png) and for the runs, which are reused. "
            "Default: out/size-NAME."
        ),
    ] = None,
    allow_code: AllowCode = False,
) -> None:
    """Find the smallest cluster that meets a target, on the trace and on others drawn from it.

    Example: schedlab size examples/philly_like.csv --gpus 8 --target "p95_total_wait < 1h"
    """
    from experiments.comparison.size import (
        VARIED,
        Target,
        best_size,
        policies_that_meet,
        write_size,
    )
    from experiments.validation.carried import of_size, read_carried
    from simulator.errors import InputError

    if vary not in (*VARIED, "policy"):
        raise InputError(f"--vary: got {vary!r}, expected one of {', '.join(VARIED)}, policy")
    if not 0 < share <= 1:
        raise InputError(f"--share: got {share}, expected a number > 0 and at most 1")
    policies: list[str | None] = [*policy] if policy else [None]
    if len(policies) > 1 and vary != "policy":
        raise InputError("--policy: given more than once, expected --vary policy with it")
    carried = None if validation is None else read_carried(validation)
    today_s = [] if carried is None else [*carried.settings]
    wanted, given = Target.parse(target), [*today_s, *(settings or [])]
    if carried is not None and (vary in ("policy", "price") or "wait" not in wanted.metric):
        raise InputError(
            "--validation: is of waits, expected a --target on a wait and --vary nodes, gpus or speed"
        )

    def asked(name: str | None, *varied: str) -> Scenario:
        return _asked(
            source, kind, name, seed, [*given, *varied],
            None if vary == "nodes" else nodes, None if vary == "gpus" else gpus,
        )  # fmt: skip

    beside: list[str] = []
    today = _today(source, nodes, given, bool(today_s)) if vary == "nodes" else None

    def answer(store: Store) -> Size:
        how: dict[str, Any] = {
            "share": share, "draws": draws, "workers": workers, "progress": True, "store": store,
        }  # fmt: skip
        if vary == "policy":
            named = [(name, asked(name)) for name in policies]
            scenarios = {each.policy_label or name or each.called: each for name, each in named}
            if len(scenarios) < len(named):
                raise InputError("--policy: a name is given twice, expected different ones")
            return policies_that_meet(scenarios, wanted, str(source), **how)
        key = VARIED[vary].key

        def best(bound: Target) -> Size:
            return best_size(
                lambda number: asked(policies[0], f"{key}={number}"), bound, str(source), vary=vary,
                today=today, **how
            )  # fmt: skip

        if carried is not None:
            carried.expect_log(asked(policies[0], f"{key}=1"))
            by = () if math.isinf(carried.factor) else (1 / carried.factor, carried.factor)
            ends = [best(wanted.times(factor)) for factor in by]
            found = best(wanted)
            beside.extend(of_size(found, ends, carried, today))
            return found
        return best(wanted)

    def write(found: Size, folder: Path) -> str:
        print("\n".join([found.words(), *beside]))
        print(found.sheet().to_string(index=False))
        return f"curve      {write_size(found, folder)}"

    _answered(out or Path("out") / f"size-{source.stem}", answer, write)


def whatif(
    source: Source,
    settings: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="What differs in the second scenario: any key, also policy=NAME. Can be given more than once.",
        ),
    ],
    nodes: NodeCount = None,
    gpus: GpuCount = None,
    policy: PolicyName = None,
    base: Annotated[
        list[str] | None,
        typer.Option("--base", metavar="KEY=VALUE", help="Keys of both scenarios."),
    ] = None,
    draws: Draws = 40,
    validation: ValidationFile = None,
    kind: Kind = None,
    seed: Seed = None,
    workers: Workers = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the table (whatif.csv) and for the runs, which are reused. "
            "Default: out/whatif-NAME."
        ),
    ] = None,
    allow_code: AllowCode = False,
) -> None:
    """Show what another setting changes: differences with intervals, on the same jobs and random numbers.

    Example: schedlab whatif examples/philly_like.csv --nodes 8 --gpus 8 --set cluster.num_nodes=9
    """
    from experiments.comparison.whatif import what_if
    from experiments.files import write_whole
    from experiments.validation.carried import of_whatif, read_carried

    carried = None if validation is None else read_carried(validation)
    both = [*(() if carried is None else carried.settings), *(base or [])]
    asked = [
        _asked(source, kind, policy, seed, [*both, *more], nodes, gpus) for more in ([], settings)
    ]

    if carried is not None:
        carried.expect_log(asked[0])

    def answer(store: Store) -> WhatIf:
        return what_if(
            asked[0], asked[1], str(source), draws=draws, workers=workers, progress=True, store=store
        )  # fmt: skip

    def write(found: WhatIf, folder: Path) -> str:
        beside = [] if carried is None else of_whatif(found, carried)
        print("\n".join([*found.words(), *beside]))
        print(found.sheet().to_string(index=False))
        write_whole(folder / "whatif.csv", found.table.to_csv(index=False, lineterminator="\n"))
        return f"table      {folder / 'whatif.csv'}"

    _answered(out or Path("out") / f"whatif-{source.stem}", answer, write)


def _today(
    source: Path, nodes: int | None, settings: list[str], is_fitted: bool = False
) -> int | None:
    """Nodes of the cluster as it is: those that were fitted, that are given, or the scenario's; None: not known."""
    from experiments.scenario.options import set_key
    from experiments.scenario.schema import read_keys

    config: dict[str, Any] = read_keys(source) if source.suffix == ".toml" else {}
    for setting in settings:
        set_key(config, setting)
    own = config.get("cluster")
    number = own.get("num_nodes") if isinstance(own, dict) else None
    found = (number or nodes) if is_fitted else (nodes or number)
    return found if isinstance(found, int) else None


def _answered(
    folder: Path, answer: Callable[[Store], Answer], write: Callable[[Answer, Path], str]
) -> None:
    """Find an answer with the runs of a folder, and print it."""
    from experiments.sweep.runner import exit_code
    from experiments.sweep.store import store_to_write
    from experiments.text import printable

    def work() -> int:
        with store_to_write(folder) as store:
            found = answer(store)
        for note in found.notes:
            print(f"schedlab: note: {printable(note)}", file=sys.stderr)
        print(write(found, folder))
        return 0

    raise typer.Exit(exit_code(work))


def _asked(
    source: Path, kind: str | None, policy: str | None, seed: int | None, settings: list[str],
    nodes: int | None, gpus: int | None,
) -> Scenario:  # fmt: skip
    """The scenario of a question."""
    from experiments.scenario.options import format_of, scenario_of

    found = format_of(source, kind)
    return scenario_of(source, found, policy, seed, settings, nodes, gpus)[0]
