"""Commands and options by their earlier names, which work in this release with one note."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

COMMANDS = {
    **{name: ["show", name] for name in ("gantt", "replay", "explain", "trace")},
    **{name: ["theory", name] for name in ("rental", "size-server")},
    **{name: ["sweep", name] for name in ("status", "export", "retry")},
    "solve": ["theory", "decision"],
    "fill": ["theory", "packing"],
}
SWEEP = ("run", "status", "export", "retry", "--help")
"""What may stand behind ``sweep``; before, a file did."""

KEYS = {
    "--nodes": "cluster.num_nodes",
    "--gpus-per-node": "cluster.gpus_per_node",
    "--cpus-per-node": "cluster.cpus_per_node",
    "--memory-gb-per-node": "cluster.memory_gb_per_node",
    "--controllers": "cluster.num_controllers",
    "--dispatcher": "dispatcher",
    "--iterations": "policy_options.iterations",
    "--period-s": "decisions.period_s",
    "--round-s": "decisions.round_s",
}
"""Options of `run` that set one key."""

OTHERS: dict[str, Callable[[str], list[str]]] = {
    "--jobs": lambda value: [value],
    "--instance": lambda value: [value],
    "--option": lambda value: ["--set", f"policy_options.{value}"],
    "-o": lambda value: ["--set", f"policy_options.{value}"],
    "--adapt": lambda value: ["--set", f"adapt.{_with_list(value)}"],
    "--window": lambda value: ["--set", f"window=[{value.replace(':', ', ')}]"],
}
"""Options of `run` that became something else."""


def renamed(words: Sequence[str]) -> tuple[list[str], str]:
    """The words of a command as they are now, and a note on what has another name; empty where nothing has."""
    if words[:1] == ["sweep"] and len(words) > 1 and words[1] not in SWEEP:
        return ["sweep", "run", *words[1:]], _note("sweep FILE", "sweep run FILE")
    if words and words[0] in COMMANDS:
        now = COMMANDS[words[0]]
        return [*now, *words[1:]], _note(words[0], " ".join(now))
    if words[:1] != ["run"]:
        return list(words), ""
    now, old, new = _options(words)
    return now, _note(" ".join(old), " ".join(new)) if old else ""


def _note(old: str, new: str) -> str:
    return f"note: `{old}` is now `{new}`; the old form works in this release"


def _options(words: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """The words of `run` as they are now, the old options in them, and what took their place."""
    rest = list(words)
    kept, old, new = list[str](), list[str](), list[str]()
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if word == "--released":
            old.append(word)
            new += _released(words)
        elif (name in KEYS or name in OTHERS) and (equals or rest):
            value = value if equals else rest.pop(0)
            old += [name, value]
            new += ["--set", f"{KEYS[name]}={value}"] if name in KEYS else OTHERS[name](value)
        else:
            kept.append(word)
    periods = [f"decisions.{name}_s=" for name in ("period", "round")]
    given = [key for key in periods if any(word.startswith(key) for word in new)]
    if len(given) == 1:  # it takes the place of the file's
        (other,) = set(periods) - set(given)
        new = ["--set", other, *new]
    return kept + new, old, new


def _with_list(setting: str) -> str:
    """``models=20,70,10`` with its list as TOML has it."""
    key, _, value = setting.partition("=")
    if key != "models" or "," not in value or value.startswith("["):
        return setting
    numbers = all(part.strip().replace(".", "").isdigit() for part in value.split(","))
    return f"{key}=[{value}]" if numbers else f"{key}={json.dumps(value.split(','))}"


def _released(words: Sequence[str]) -> list[str]:
    """Keys of a Synergy run as in its released simulator, whose optimal mechanism alone reads the matrices."""
    from experiments.config import read_toml
    from policies.naming import PolicyName

    files = [word for word in words if word.endswith(".toml")]
    policy = read_toml(Path(files[0])).get("policy", "") if files else ""
    if "--policy" in words:
        policy = words[words.index("--policy") + 1]
    keys = ["policy_options.released=true", "decisions.finish_at_round=true"]
    mechanism = PolicyName.parse(policy).mechanism
    if mechanism:
        speeds = "paper" if mechanism == "opt" else "released"
        keys += [f"workload.speeds={speeds}", "workload.whole_iterations=true"]
    return [part for key in keys for part in ("--set", key)]
