"""The options of `schedlab run` and `compare` as a scenario."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.config import toml_value, validated
from experiments.scenario.schema import Scenario, read_keys
from simulator.errors import InputError
from simulator.plugins import FILE

Option = float | int | str | bool

DEFAULT_POLICY = "easy-backfill"
"""Of a file of jobs: what most clusters run."""


def format_of(source: Path, kind: str | None = None) -> str | None:
    """The format of a file of jobs, as it was given or is recognised; None: the file is a scenario.

    Raises InputError: no such file.
    """
    from simulator.workloads.registry import recognised

    return kind or (None if source.suffix == ".toml" else recognised(source))


def scenario_of(
    source: Path,
    kind: str | None = None,
    policy: str | None = None,
    seed: int | None = None,
    settings: Sequence[str] = (),
    nodes: int | None = None,
    gpus: int | None = None,
) -> tuple[Scenario, str]:
    """The scenario of a file, or of a file of jobs, with other values for some of its keys.

    Parameters
    ----------
    kind : ``source`` holds jobs in this format; None: it is a scenario.
    policy : as `parse_policy` reads it; options of the file's policy do not go to another one.
    settings : ``KEY=VALUE`` each, of any key of a scenario; see `set_key`.
    nodes, gpus : ``cluster.num_nodes`` and ``cluster.gpus_per_node``, which settings may set again.

    Returns
    -------
    The scenario, and what to call its source.
    """
    if kind is None:
        config = read_keys(source)
    else:
        machines = "instance" if kind == "instance" else "nodes"
        config = {"workload": {"kind": kind, "path": str(source)}, "cluster": {"kind": machines}}
        if machines == "nodes":
            config["policy"] = DEFAULT_POLICY
    if policy is not None:
        label, _ = labelled(policy)
        name, options = parse_policy(policy)
        if options or name != config.get("policy"):
            config["policy_options"] = options
        config |= {"policy": name, "policy_label": label if label != policy else None}
    if seed is not None:
        config["seed"] = seed
    brings = "cluster" not in config
    settings = [*counts(nodes, gpus), *settings]
    for setting in settings:
        set_key(config, setting)
    cluster, jobs = config.get("cluster"), config.get("workload")
    if brings and isinstance(cluster, dict) and isinstance(jobs, dict):
        cluster.setdefault("kind", "instance" if jobs.get("kind") == "instance" else "vms")
    if "policy" not in config:
        raise InputError("--policy is missing, see `schedlab policies`")
    if (
        kind is not None
        and machines == "nodes"
        and not {"num_nodes", "groups"} & {*config["cluster"]}
    ):
        raise InputError(
            f"{source} holds jobs, expected nodes for them: --nodes 4 (also --gpus, of each node, 8 where left out)"
        )
    changed = policy is not None or seed is not None or settings
    name = f"{source} with options" if changed else str(source)
    return validated(Scenario, config, name), name


def scenario_of_log(
    log: Path,
    scenario: Path | None = None,
    kind: str | None = None,
    settings: Sequence[str] = (),
    nodes: int | None = None,
    gpus: int | None = None,
) -> Scenario:
    """The scenario of a log, on the cluster of another file where one is given; arguments as of `scenario_of`.

    Parameters
    ----------
    scenario : its jobs are replaced by those of the log; keys of [workload] stay where they have the log's format.
    """
    found = format_of(log, kind)
    if scenario is None:
        return scenario_of(log, found, settings=settings, nodes=nodes, gpus=gpus)[0]
    if found is None:
        raise InputError(f"{log}: is a scenario, expected a log before {scenario}")
    own = read_keys(scenario).get("workload")
    same = isinstance(own, dict) and own.get("kind") == found
    path = toml_value(str(log))
    jobs = f"workload.path={path}" if same else f"workload={toml_value({'kind': found, 'path': str(log)})}"  # fmt: skip
    return scenario_of(scenario, settings=[jobs, *settings], nodes=nodes, gpus=gpus)[0]


def with_settings(scenario: Scenario, settings: Sequence[str]) -> Scenario:
    """The scenario with other values for some of its keys, ``KEY=VALUE`` each."""
    config = scenario.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    for setting in settings:
        set_key(config, setting)
    return validated(Scenario, config, "scenario with options")


def counts(nodes: int | None, gpus: int | None) -> list[str]:
    """Numbers of nodes and of GPUs of each as settings."""
    given = {"num_nodes": nodes, "gpus_per_node": gpus}
    return [f"cluster.{key}={count}" for key, count in given.items() if count is not None]


def set_key(config: dict[str, Any], setting: str) -> None:
    """Set a key of nested tables by ``table.key=VALUE``, read as TOML, text where it is none.

    An empty value takes the key away.
    """
    name, equals, value = setting.partition("=")
    *tables, key = (part.strip() for part in name.split("."))
    if not equals or not key:
        raise InputError(f"--set {setting!r}: expected KEY=VALUE, such as decisions.round_s=300")
    table = config
    for inner in tables:
        if table.get(inner) is None:
            table[inner] = {}
        table = table[inner]
        if not isinstance(table, dict):
            raise InputError(f"--set {setting!r}: {inner} is no table, expected one")
    if (tables, key) == ([], "policy"):
        config.pop("policy_label", None)
    if value.strip():
        table[key] = parse_value(value)
    else:
        table.pop(key, None)


LABEL = re.compile(r"([^\W_][\w.+@() -]*)=(.+)")
"""A name of one's own before a policy; no ``:`` is in it, which stands before options, and no ``/``."""


def labelled(text: str) -> tuple[str, str]:
    """Name of a policy in tables and pictures, and the policy: of ``LABEL=POLICY``, else both the text."""
    found = LABEL.fullmatch(text)
    return (found[1].strip(), found[2]) if found else (text, text)


def parse_policy(text: str) -> tuple[str, dict[str, Option]]:
    """``NAME`` or ``NAME:OPTION=VALUE,..``; ``FILE.py:NAME`` may stand in place of the name, a label before it."""
    _, text = labelled(text)
    file, dot_py, rest = text.rpartition(FILE)
    name, colon, options = rest.partition(":")
    found = parse_options(options.split(","), f"--policy {text}:") if colon else {}
    return f"{file}{dot_py}{name}", found


def parse_options(texts: Sequence[str], where: str) -> dict[str, Option]:
    """``name=value`` each; ``where`` names the option of the command in messages."""
    options: dict[str, Option] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InputError(f"{where} {text!r}: expected name=value")
        parsed = parse_value(value)
        options[name.strip()] = parsed if isinstance(parsed, float | int | str | bool) else value
    return options


def parse_value(text: str) -> Any:
    """A value as TOML reads it, the text itself where TOML cannot."""
    try:
        found = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return found["value"] if len(found) == 1 else text  # else it goes on with other keys


def labels_of(where: Sequence[str] | None) -> dict[str, str]:
    """The labels of a run, given as ``--where LABEL=VALUE`` each."""
    return {name: str(value) for name, value in parse_options(where or [], "--where").items()}
