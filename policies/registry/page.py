"""Page docs/policies.md, made from the registry of policies.

python -m policies.registry.page > docs/policies.md
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import get_args

from policies.registry.making import Option, PolicyInfo, describe
from policies.registry.naming import Kind, kind_of
from policies.registry.registration import modules
from policies.registry.requirements import REQUIREMENTS

BEGIN = """\
# Policies

This page lists all policies. `make pages` makes it from their code. `schedlab policies NAME` prints the same about one policy, and `schedlab policies --for FILE` says which of
them run on a scenario.

- Write options after the name, `--policy milp:mip_gap=0.01`, or into `[policy_options]` of the scenario.
- A name that begins with `+` is a mechanism of Synergy. Append it to an ordering: `srtf+tune`. The orderings are fifo, srtf, las,
  ftf, drf, tetris, gittins and history.
- A name that begins with `@` is a wrapper. Append it to the name of any policy: `greedy@tune`. Its options begin with its name:
  `srtf+tune@hysteresis:hysteresis.threshold=0.5`.
- Policies without a paper are rules of textbooks, or our own.
"""

HEAD = {
    "policy": "| policy | paper | what it does | requires |\n|---|---|---|---|",
    "requirement": "| requirement | meaning |\n|---|---|",
    "option": "| option | default | meaning |\n|---|---|---|",
}


def page() -> str:
    """The page as Markdown."""
    policies = {name: describe(name) for name in sorted(modules(), key=_order)}
    parts = [BEGIN, HEAD["policy"]]
    for name, policy in policies.items():
        requires = ", ".join(f"`{each}`" for each in policy.requires)
        summary = (
            policy.summary.removeprefix("Synergy: any ordering, ").replace("``", "`").rstrip(".")
        )
        parts.append(f"| `{name}` | {policy.paper} | {summary} | {requires} |")
    parts += [
        "\n## Requirements\n\nOf jobs and machines; `schedlab policies --for` names the key of `[adapt]` that supplies what is missing.\n",
        HEAD["requirement"],
    ]
    for name, check in REQUIREMENTS.items():
        meaning = (inspect.getdoc(check) or "").partition("\n")[0].rstrip(".")
        parts.append(f"| `{name}` | {meaning} |")
    return "\n".join([*parts, "\n## Options", *_options(policies), ""])


def _order(name: str) -> tuple[int, str]:
    """Policies, then mechanisms, then wrappers."""
    return get_args(Kind).index(kind_of(name)), name


Rows = dict[str, tuple[Option, str]]
"""Options with their defaults and meanings."""


def _options(policies: dict[str, PolicyInfo]) -> Iterator[str]:
    """A section for each set of options; one that is much like another says what differs."""
    named: dict[str, tuple[Rows, list[str]]] = {}
    for name, policy in policies.items():
        rows = {o: (default, policy.meanings[o]) for o, default in policy.options.items()}
        if rows:
            named.setdefault(str(rows), (rows, []))[1].append(name)
    sets = sorted(named.values(), key=lambda each: len(each[0]))  # equal lengths: by name
    for place, (rows, names) in enumerate(sets):
        yield f"\n### {', '.join(f'`{name}`' for name in names)}\n"
        likes = [each for each in sets[:place] if each[0].keys() <= rows.keys()]
        like, others = max(likes, key=lambda each: _alike(each[0], rows), default=({}, [""]))
        if _alike(like, rows) >= 2:
            yield f"As `{others[0]}`, but:\n"
            rows = {o: row for o, row in rows.items() if like.get(o) != row}
        yield HEAD["option"]
        for option, (default, meaning) in rows.items():
            shown = str(default).lower() if isinstance(default, bool) else str(default)
            yield f"| `{option}` | {f'`{shown}`' if shown else ''} | {meaning} |"


def _alike(one: Rows, other: Rows) -> int:
    return sum(other.get(option) == row for option, row in one.items())


if __name__ == "__main__":
    print(page(), end="")
