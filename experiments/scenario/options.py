"""The options of `schedlab run` as a scenario."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.config import checked
from experiments.scenario.schema import Scenario, read_scenario
from simulator.errors import InputError

Option = float | int | str | bool


def read_run(
    file: Path | None,
    jobs: Path | None,
    instance: Path | None,
    nodes: Mapping[str, float | None],
    changes: Mapping[str, Any],
    decisions: Mapping[str, float | None],
    options: Mapping[str, Option],
    controllers: int | None,
    workload: Mapping[str, Any] | None = None,
    adapt: Mapping[str, Any] | None = None,
) -> tuple[Scenario, str]:
    """The scenario of a file, of a CSV of jobs or of an instance, with options in place of its values.

    Parameters
    ----------
    nodes : keys of the nodes that go with ``jobs``.
    changes : other keys of a scenario.
    decisions : ``period_s`` and ``round_s``, of which one takes the place of the file's, and
        ``finish_at_round``.
    options : of the policy.
    workload : keys of the workload.
    adapt : keys of the table ``[adapt]``.

    Values that are None were not given.

    Returns
    -------
    The scenario, and what to call its source.
    """
    if sum(x is not None for x in (file, jobs, instance)) != 1:
        raise InputError("run: expected one of a scenario file, --jobs and --instance")
    if file is not None:
        config = read_scenario(file).model_dump(exclude_unset=True)
    else:
        config = _from_options(jobs, instance, nodes)
    if jobs is None and _given(nodes):
        raise InputError("run: --nodes and --..-per-node go with --jobs; others bring their nodes")
    config |= _given(changes)
    config["workload"] |= _given(workload or {})
    _set_decisions(config, _given(decisions))
    if controllers is not None:
        of_instance = config["workload"]["kind"] == "instance"
        config.setdefault("cluster", {"kind": "instance" if of_instance else "vms"})
        config["cluster"]["num_controllers"] = controllers
    if "policy" not in config:
        raise InputError("run: --policy is missing, see `schedlab policies`")
    config["policy_options"] = config.get("policy_options", {}) | dict(options)
    if adapt:
        config["adapt"] = {**(config.get("adapt") or {}), **adapt}
    changed = adapt or _given(changes) or _given(decisions) or options or controllers is not None
    source = "command line" if file is None else f"{file}{' with options' if changed else ''}"
    return checked(Scenario, config, source), source


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _from_options(
    jobs: Path | None, instance: Path | None, nodes: Mapping[str, float | None]
) -> dict[str, Any]:
    if instance is not None:
        return {
            "workload": {"kind": "instance", "path": str(instance)},
            "cluster": {"kind": "instance"},
        }
    if nodes["num_nodes"] is None:
        raise InputError("run: --jobs needs --nodes, the number of nodes")
    return {
        "workload": {"kind": "csv", "path": str(jobs)},
        "cluster": {"kind": "nodes", **_given(nodes)},
    }


def _set_decisions(config: dict[str, Any], given: Mapping[str, Any]) -> None:
    before = dict(config.get("decisions", {}))
    if {"period_s", "round_s"} & set(given):
        before.pop("period_s", None)
        before.pop("round_s", None)
    config["decisions"] = before | dict(given)


def as_released(file: Path | None, policy: str | None) -> dict[str, Any]:
    """Keys of a workload whose jobs run as fast as in the released simulator of Synergy.

    Its optimal mechanism alone reads the published matrices.
    """
    name = policy or (read_scenario(file).policy if file is not None else "")
    if "+" not in name:
        return {}
    speeds = "paper" if name.endswith("+opt") else "released"
    return {"speeds": speeds, "whole_iterations": True}


def parse_window(text: str | None) -> list[int] | None:
    """``FIRST:LAST``."""
    if text is None:
        return None
    first, colon, last = text.partition(":")
    if not (colon and first.isdigit() and last.isdigit()):
        raise InputError(f"--window {text!r}: expected FIRST:LAST, e.g. 4000:5000")
    return [int(first), int(last)]


def parse_adapt(texts: Sequence[str]) -> dict[str, Any]:
    """``key=value`` of ``[adapt]`` each: ``models=20,70,10`` is a list, other values as in TOML."""
    found: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals or not key:
            raise InputError(f"--adapt {text!r}: expected key=value")
        if key == "models" and "," in value and not value.lstrip().startswith("["):
            parts = [part.strip() for part in value.split(",")]
            found[key] = [parse_options([f"x={part}"])["x"] for part in parts]
            continue
        try:
            found[key] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            found[key] = value
    return found


def parse_options(texts: Sequence[str], where: str = "--option") -> dict[str, Option]:
    """``name=value`` each, the value as TOML would read it, text where it cannot."""
    options: dict[str, Option] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InputError(f"{where} {text!r}: expected name=value")
        try:
            parsed = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            parsed = value
        options[name.strip()] = parsed if isinstance(parsed, float | int | str | bool) else value
    return options
