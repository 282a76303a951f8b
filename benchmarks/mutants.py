"""Small mistakes put into the core, one by one: which does no test see?

python -m benchmarks.mutants                 the package
python -m benchmarks.mutants statistics      one package: the share that is killed, and what survives
python -m benchmarks.mutants node --only start --sample 50

The mistakes are those of mutmut's operators (`a < b` for `a <= b`, 2 for 1, None for an argument).
The tests are collected once, and each is watched once, for the functions that it enters. Then each
mistake has a process of its own, forked off. There the one function is replaced, and only tests
that enter it run, the shortest first, until one fails. So a package takes minutes instead of hours.

A mistake counts as killed when a test fails, or runs for ten times its usual CPU time (two seconds
at least).
"""

from __future__ import annotations

import argparse
import ast
import difflib
import functools
import gc
import importlib
import io
import os
import random
import signal
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

COMPARISON = ("answer", "estimating", "metrics", "whatif", "size", "plan", "entrants", "comparing")
IMPORTING = ("imported", "kueue", "slurm", "slurm_limits", "slurm_events")
BACKFILLING = ("backfilling", "conservative_backfilling", "running", "skyline")
HELD = ("core/test_backfilling", "policies/test_running_jobs", "policies/test_where_jobs_lie")
FREE = ("core/test_free_capacity", "core/test_serving", "policies/test_where_jobs_lie")
STATISTICS = ("streams", "estimates", "replications", "long_run", "bootstrap")

BY_HAND = (
    "controller", "engine", "features_by_hand", "first_principles", "instants", "metrics", "mistakes", "processes",
    "rounds", "several_servers", "view", "waits", "wake_ups",
)  # fmt: skip
"""Tests of the core with numbers worked out by hand."""

PACKAGES: dict[str, tuple[list[str], list[str]]] = {
    # Modules that get mistakes, and the files of tests (fast ones) that should see them.
    "core": (
        sorted(str(path) for path in Path("simulator/core").glob("*.py")),
        [f"tests/core/test_{part}.py" for part in BY_HAND] + ["tests/features/test_notice.py"],
    ),
    "contract": (["simulator/model/contract.py", "simulator/model/feasibility.py"], ["tests/core"]),
    "controller": (
        [
            "simulator/core/controller.py",
            "simulator/model/decision_points.py",
            "simulator/core/plan.py",
        ],
        ["tests/core", "tests/features"],
    ),
    "execution": (
        ["simulator/core/execution.py", "simulator/core/jobs.py"],
        ["tests/core", "tests/features"],
    ),
    "node": (["simulator/core/node.py"], ["tests/core", "tests/features"]),
    "server": (["simulator/core/server.py"], ["tests/core"]),
    "dispatcher": (["simulator/core/dispatchers.py"], ["tests/core"]),
    "accounting": (["simulator/metrics/result.py"], ["tests/core"]),
    "statistics": (
        [f"simulator/statistics/{part}.py" for part in STATISTICS],
        [
            f"tests/statistics/test_{part}.py"
            for part in ("exact", "streams", "long_run", "naive_twins")
        ],
    ),
    "selection": (["policies/queues/selection.py"], ["tests/greedy/test_selection.py"]),
    "comparison": (
        [f"experiments/comparison/{part}.py" for part in COMPARISON],
        [
            f"tests/comparison/test_{part}.py"
            for part in (*COMPARISON, "which_runs")
            if part != "comparing"
        ],
    ),
    "importing": (
        [f"experiments/importing/{part}.py" for part in IMPORTING],
        [f"tests/importing/test_{part}.py" for part in IMPORTING[:-1]],
    ),
    "bench": (["experiments/bench/table.py"], ["tests/bench/test_table.py"]),
    "backfilling": (
        [f"policies/queues/{part}.py" for part in BACKFILLING],
        [f"tests/{name}.py" for name in HELD],
    ),
    "free-capacity": (
        ["policies/queues/free_capacity.py", "policies/queues/free_gpus.py"],
        [f"tests/{name}.py" for name in FREE],
    ),
    "mechanisms": (
        ["policies/synergy/mechanisms.py", "policies/synergy/eviction.py"],
        ["tests/synergy/test_packings.py"],
    ),
}
"""Packages without their long tests, since short ones see nearly all, as in `LEFT_OUT`."""

LEFT_OUT = ["tests/core/test_invariants.py", "tests/core/test_theory.py"]
"""Long runs with random jobs: a mistake that only these see wants a test of its own."""


@dataclass(frozen=True)
class Mutant:
    """One mistake.

    Attributes
    ----------
    function : the function, as ``"Class.method"`` or its name.
    number : counted within the function, from 1.
    source, mutated : the function before and after.
    """

    module: str
    function: str
    number: int
    source: str
    mutated: str

    def __str__(self) -> str:
        lines = difflib.unified_diff(
            self.source.splitlines(), self.mutated.splitlines(), lineterm="", n=0
        )
        changed = [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]
        return "\n".join([f"{self.module}:{self.function} #{self.number}", *changed])


def mutants_of(path: str) -> list[Mutant]:
    """Every mistake that mutmut's operators make in the functions of a file."""
    import libcst as cst
    from mutmut.mutation.file_mutation import create_mutations, deep_replace

    module, mutations, *_ = create_mutations(path, Path(path).read_text(encoding="utf-8"))
    owner: dict[cst.CSTNode, str] = {}
    for statement in module.body:
        if isinstance(statement, cst.FunctionDef):
            owner[statement] = statement.name.value
        elif isinstance(statement, cst.ClassDef):
            for node in statement.body.body:
                if isinstance(node, cst.FunctionDef):
                    owner[node] = f"{statement.name.value}.{node.name.value}"
    name, counted, found = path.removesuffix(".py").replace("/", "."), dict[str, int](), []
    for mutation in mutations:
        function = mutation.contained_by_top_level_function
        if function not in owner:
            continue
        counted[owner[function]] = number = counted.get(owner[function], 0) + 1
        changed = deep_replace(function, mutation.original_node, mutation.mutated_node)
        before, after = (module.code_for_node(node).strip("\n") for node in (function, changed))
        found.append(Mutant(name, owner[function], number, before, after))
    return found


def function_of(module: str, name: str) -> FunctionType:
    """The function object behind a name, also of a class or static method."""
    holder: Any = importlib.import_module(module)
    *classes, last = name.split(".")
    for part in classes:
        holder = vars(holder)[part]
    found = vars(holder)[last]
    found = getattr(found, "__func__", found)
    assert isinstance(found, FunctionType), f"{module}.{name} is no plain function"
    return found


def codes_within(code: CodeType) -> Iterator[CodeType]:
    """A code object and all that lie in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_within(constant)


def put_in(mutant: Mutant) -> None:
    """Replace the function in place, for everybody who holds it."""
    text = mutant.mutated
    *classes, name = mutant.function.split(".")
    for owner in reversed(classes):
        text = f"class {owner}:\n{textwrap.indent(text, '    ')}"
    text = f"from __future__ import annotations\n{text}"
    codes = codes_within(compile(text, mutant.function, "exec"))
    target = function_of(mutant.module, mutant.function)
    target.__code__ = next(c for c in codes if c.co_qualname == mutant.function)
    tree = next(
        n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef) and n.name == name
    )

    def values(nodes: Sequence[ast.expr | None]) -> Iterator[Any]:
        for node in nodes:
            if node is not None:
                yield eval(compile(ast.Expression(node), name, "eval"), target.__globals__)

    if target.__defaults__:
        target.__defaults__ = tuple(values(tree.args.defaults))
    if target.__kwdefaults__:
        given = [
            a.arg for a, d in zip(tree.args.kwonlyargs, tree.args.kw_defaults, strict=True) if d
        ]
        target.__kwdefaults__ = dict(zip(given, values(tree.args.kw_defaults), strict=True))


class Watch:
    """Runs the tests once, and then those that can see a mistake, for each mistake."""

    def __init__(self, mutants: Sequence[Mutant]) -> None:
        self.mutants = mutants
        self.left = 0
        self._failed = False
        self._enters: dict[tuple[str, str], list[pytest.Item]] = {}
        self._took: dict[pytest.Item, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed |= report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Instead of pytest's own loop."""
        self._watch_each(session.items)
        if self._failed:
            raise pytest.UsageError("a test fails without any mistake")
        caches = [o for o in gc.get_objects() if isinstance(o, functools._lru_cache_wrapper)]
        gc.freeze()  # so that a child does not copy what it only looks through
        for at, mutant in enumerate(self.mutants):
            items = self._enters.get((mutant.module, mutant.function), [])
            by_time = sorted(items, key=self._took.__getitem__)
            if not items or not self._is_killed(mutant, by_time, caches):
                self.left += 1
                print(f"-- {'survives' if items else 'not entered'}: {mutant}", flush=True)
            if at % 100 == 99:
                print(f"{at + 1} of {len(self.mutants)}, {self.left} survive", flush=True)
        return True

    def _watch_each(self, items: Sequence[pytest.Item]) -> None:
        """Time every test, and note which functions it enters."""
        names = {
            function_of(m.module, m.function).__code__: (m.module, m.function) for m in self.mutants
        }
        entered: set[tuple[str, str]] = set()

        def look(frame: FrameType, event: str, _: object) -> None:
            if event == "call" and frame.f_code in names:
                entered.add(names[frame.f_code])

        for item, following in zip(items, [*items[1:], None], strict=True):
            entered.clear()
            sys.setprofile(look)
            start = time.process_time()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            sys.setprofile(None)
            self._took[item] = time.process_time() - start
            for name in entered:
                self._enters.setdefault(name, []).append(item)

    def _is_killed(
        self, mutant: Mutant, items: Sequence[pytest.Item], caches: Sequence[Any]
    ) -> bool:
        sys.stdout.flush()
        child = os.fork()
        if child:
            _, status = os.waitpid(child, 0)
            return status != 0
        code = 1
        try:
            # Whatever is printed now is of no interest.
            reporter = items[0].config.pluginmanager.get_plugin("terminalreporter")
            assert reporter is not None
            reporter._tw._file = io.StringIO()
            for cache in caches:
                cache.cache_clear()
            put_in(mutant)
            for item, following in zip(items, [*items[1:], None], strict=True):
                # CPU seconds, as the machine may be busy. The signal's default action ends the process.
                signal.setitimer(signal.ITIMER_PROF, 2 + 10 * self._took[item])
                signal.alarm(120)
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if self._failed:
                    break
            code = int(self._failed)
        finally:
            os._exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 unless the tests fail by themselves."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("package", nargs="?", choices=sorted(PACKAGES))
    parser.add_argument(
        "--only", default="", help="functions whose module and name contain this text"
    )
    parser.add_argument("--sample", type=int, default=0, help="this many mistakes, drawn at random")
    parser.add_argument("--tests", nargs="+", help="other files of tests")
    options = parser.parse_args(arguments)
    if options.package is None:
        for package, (modules, tests) in PACKAGES.items():
            print(f"{package:<12}{', '.join(modules)}; tests: {', '.join(tests)}")
        return 0
    modules, tests = PACKAGES[options.package]
    mutants = [
        m
        for path in modules
        for m in mutants_of(path)
        if options.only in f"{m.module}.{m.function}"
    ]
    if options.sample:
        mutants = random.Random(1).sample(mutants, min(options.sample, len(mutants)))
    watch = Watch(mutants)
    left_out = [f"--ignore={path}" for path in LEFT_OUT]
    plain = ["-p", "no:cacheprovider", "-p", "no:xdist", "-q", "--no-header", "--no-summary"]
    plain += ["--tb=no", "--assert=plain"]  # what failed is of no interest, and takes time
    code = int(pytest.main([*plain, *left_out, *(options.tests or tests)], plugins=[watch]))
    if code:
        return code
    killed = len(mutants) - watch.left
    print(
        f"{options.package}: {len(mutants)} mistakes, {killed} killed ({killed / len(mutants):.0%})"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
