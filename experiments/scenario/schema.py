"""A scenario file (TOML) or command-line options -> the arguments of `simulator.simulate`.

    policy = "milp"
    seed = 1

    [workload]
    kind = "hierarchical"        # or csv, instance, poisson, synergy, philly, gavel, alibaba
    num_nodes = 10

    [cluster]
    kind = "vms"                 # or nodes, pool; left out: what the workload brings
    num_controllers = 2

    [decisions]
    period_s = 3600

Every table and key is checked before anything runs; docs/keys.md lists them all, from the texts here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, create_model

from experiments.config import Config, FileKeys, path_keys, path_of, read_toml, validated
from simulator.adaptation import Rules
from simulator.errors import InputError
from simulator.features import registry
from simulator.features.reconfiguration import Delays
from simulator.features.table import FeatureTable
from simulator.files.keys import Delay
from simulator.model.decision_points import DecisionPoints, ServerSpec
from simulator.plugins import FILE
from simulator.statistics import Streams
from simulator.workloads.machines import Machines, is_file
from simulator.workloads.registry import AnyJobs, kind_of
from simulator.workloads.table import Setting, WorkloadTable


def _by_full_name(options: object) -> object:
    """Options of wrappers by their full names: ``hysteresis.threshold``, also from a table of their own."""
    if not isinstance(options, dict):
        return options
    found: dict[object, object] = {}
    for name, value in options.items():
        if isinstance(value, dict):
            found |= {f"{name}.{inner}": each for inner, each in value.items()}
        else:
            found[name] = value
    return found


if TYPE_CHECKING:
    FeatureTables = Config
else:
    FeatureTables = create_model(
        "FeatureTables",
        __base__=Config,
        **{
            name: (
                keys | None,
                Field(default=None, description=(keys.__doc__ or name).partition("\n")[0]),
            )
            for name, keys in registry.tables().items()
        },
    )
    """A key for each feature that there is (`simulator.features.registry`)."""


class Scenario(FeatureTables):
    """One simulation: jobs, machines, a policy, and what else happens."""

    workload: AnyJobs
    """the jobs: one of the kinds below"""
    cluster: Annotated[Machines, Field(discriminator="kind")] | None = None
    """the machines: one of the kinds below; left out: what the workload brings"""
    adapt: Rules | None = None
    """properties that the policy needs and the jobs or machines lack"""
    policy: str = Field(examples=["milp"])
    """name of a policy, or FILE.py:NAME (with --allow-code)"""
    policy_options: Annotated[
        dict[str, float | int | str | bool], BeforeValidator(_by_full_name)
    ] = Field(default_factory=dict, examples=[{"solver": "highs"}])
    """options of the policy"""
    policy_label: str | None = Field(default=None, min_length=1, examples=["Mine"])
    """what tables and pictures call the policy; left out: its name"""
    seed: Annotated[int, Field(ge=0)] = 0
    """seed of all random streams"""
    decisions: DecisionPoints = DecisionPoints()
    """times of decisions; left out: at every arrival and completion"""
    dispatcher: str = "round-robin"
    """rule by which a job gets to one of several controllers: round-robin, join-shortest-queue, least-work-left, power-of-two, random, size-interval, least-tardiness, or a package's"""
    server: ServerSpec | None = None
    """optimization server; left out: decisions take no time"""
    reconfiguration_s: Delay | Delays = 0.0
    """delay without progress after a move, a resize or a restart; or a table of delays"""
    window: Annotated[list[int], Field(min_length=2, max_length=2)] | None = Field(
        default=None, examples=[[100, 900]]
    )
    """waits and completion times are averaged over the jobs from the first number up to the second, without that one"""
    tables: list[Literal["jobs", "decisions", "schedule"]] = Field(default=["jobs", "decisions"])
    """tables that a sweep keeps of each run"""
    decision_facts: bool = False
    """a sweep's runs.csv also has the mean and the maximum of each number in decisions.csv"""

    @property
    def called(self) -> str:
        """Name of its policy in tables and pictures."""
        return self.policy_label or self.policy

    @property
    def features(self) -> dict[str, FeatureTable]:
        """The tables of features that are given."""
        found = {name: getattr(self, name) for name in registry.tables()}
        return {name: table for name, table in found.items() if table is not None}

    @property
    def streams(self) -> Streams:
        """Its random streams."""
        return Streams(self.seed)

    @property
    def setting(self) -> Setting:
        """The scenario as its workload sees it."""
        return Setting(self.seed, self.cluster)


def file_keys(config: dict[str, Any]) -> FileKeys:
    """Tables and keys of a scenario, or of a part of one, that name input files."""
    yield from path_keys(config)
    jobs, cluster = (
        given if isinstance(given, dict) else {}
        for given in map(config.get, ("workload", "cluster"))
    )
    kind = kind_of(str(jobs.get("kind"))) or WorkloadTable
    yield from ((jobs, key) for key in kind.file_keys if isinstance(jobs.get(key), str))
    if is_file(cluster.get("catalog")):
        yield cluster, "catalog"
    if isinstance(config.get("policy"), str) and FILE in config["policy"]:
        yield config, "policy"


def input_files(scenario: Scenario, file: Path | None) -> list[Path]:
    """Files that a run reads: the scenario's own file, jobs or an instance, a catalogue."""
    named = [path_of(table[key]) for table, key in file_keys(scenario.model_dump())]
    return [file, *named] if file is not None else named


def read_scenario(path: Path | str) -> Scenario:
    """Read and check a scenario file; relative paths in it are relative to the file.

    Raises
    ------
    InputError
        One line: file, key, value, what was expected.
    """
    return validated(Scenario, read_keys(Path(path)), str(path))


def read_keys(path: Path) -> dict[str, Any]:
    """The keys of a scenario file as it has them, not checked yet; paths in it are relative to the file."""
    raw = read_toml(path)
    _expect_no_other_kind(raw, path)
    for table, key in file_keys(raw):
        table[key] = str(path.parent / table[key])
    return raw


def _expect_no_other_kind(raw: Mapping[str, Any], path: Path) -> None:
    """A sweep and types of jobs are TOML files, too; each has a command of its own."""
    if {"scenario", "grid", "points"} & set(raw):
        kind, command = "a sweep", "sweep run"
    elif isinstance(raw.get("types"), list):
        kind, command = "types of jobs for a rental", "theory rental"
    else:
        return
    raise InputError(f"{path}: holds {kind}, expected a scenario; try: schedlab {command} {path}")
