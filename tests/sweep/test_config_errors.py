"""Mistakes in configuration files: one line with the path to the key."""

import copy
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, field_validator

from experiments.config import Config, read_toml, validated
from simulator.errors import InputError


class Poisson(Config):
    kind: Literal["poisson"]
    rate: float = Field(gt=0)


class Trace(Config):
    kind: Literal["trace"]
    num_jobs: int = Field(ge=1, le=1000, description="number of jobs")


class Cluster(Config):
    num_nodes: int = Field(ge=1)
    gpus: list[int] = Field(default=[8], min_length=1)
    dispatcher: Literal["random", "round-robin"] = "random"

    @field_validator("gpus")
    @classmethod
    def _even(cls, value: list[int]) -> list[int]:
        if any(gpus % 2 for gpus in value):
            raise ValueError("expected even numbers")
        return value


class Scenario(Config):
    cluster: Cluster
    workload: Annotated[Poisson | Trace, Field(discriminator="kind")]
    policies: list[str | Cluster] = Field(default_factory=list)
    limit_s: float | None = None
    spare: Annotated[Poisson | Trace, Field(discriminator="kind")] | None = None
    options: dict[str, int] = Field(default_factory=dict)


GOOD: dict[str, Any] = {"cluster": {"num_nodes": 4}, "workload": {"kind": "trace", "num_jobs": 10}}


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("cluster.num_nodes", -3, "cluster.num_nodes: got -3, expected an integer >= 1"),
        ("cluster.num_nodes", "5", 'cluster.num_nodes: got "5", expected an integer >= 1'),
        ("cluster.num_nodes", 5.5, "cluster.num_nodes: got 5.5, expected an integer >= 1"),
        ("cluster.num_nodes", True, "cluster.num_nodes: got true, expected an integer >= 1"),
        ("cluster.num_nodes", None, "cluster.num_nodes: missing, expected an integer >= 1"),
        ("cluster.num_node", 5, "cluster.num_node: unknown key, did you mean 'num_nodes'?"),
        ("cluster.x", 5, "x: unknown key, expected one of dispatcher, gpus, num_nodes"),
        ("cluster.gpus", [], "gpus: got [], expected a list of integers with at least 1 entries"),
        ("cluster.gpus", [2, "a"], 'cluster.gpus[1]: got "a", expected an integer'),
        ("cluster.gpus", [3], "cluster.gpus: got [3], expected even numbers"),
        ("cluster.dispatcher", "x", 'got "x", expected one of random, round-robin'),
        ("workload.kind", "csv", "workload.kind: got \"csv\", expected one of 'poisson', 'trace'"),
        ("workload.kind", None, "workload.kind: missing"),
        ("workload.num_jobs", 1001, "got 1001, expected an integer >= 1 and <= 1000"),
        ("workload.num_jobs", None, "missing, expected an integer >= 1 and <= 1000: number of jobs"),
        ("workload.rate", 1.0, "workload.rate: unknown key, expected one of kind, num_jobs"),
        ("workload", {"kind": "poisson", "rate": 0}, "rate: got 0, expected a number > 0"),
        ("workload", {"kind": "poisson", "rate": float("nan")}, "got NaN, expected a finite number > 0"),
        ("workload", 3, "workload: got 3, expected a table"),
        ("spare", {"kind": "poisson", "rate": 0}, "spare.rate: got 0, expected a number > 0"),
        ("policies", [3], "policies[0]: got 3, expected text or a table"),
        ("policies", [{"num_nodes": 0}], "policies[0].num_nodes: got 0, expected an integer >= 1"),
        ("limit_s", "soon", 'limit_s: got "soon", expected a number'),
        ("options", {"a": "b"}, 'options.a: got "b", expected an integer'),
        ("claster", 3, "claster: unknown key, did you mean 'cluster'?"),
        ("cluster", None, "cluster: missing, expected a table"),
    ],
)  # fmt: skip
def test_mistake_is_one_line_with_the_path(path, value, told):
    data = copy.deepcopy(GOOD)
    *parents, last = path.split(".")
    table = data
    for parent in parents:
        table = table[parent]
    if value is None:
        del table[last]
    else:
        table[last] = value
    with pytest.raises(InputError) as error:
        validated(Scenario, data, "small.toml", "scenario")
    text = str(error.value)
    assert text.startswith("small.toml: scenario.")
    assert told in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"a = [1,", "not valid TOML"), (b"a = 1\na = 2\nb = 3\n", "line 2"), (b"\xff", "not UTF-8")],
)
def test_broken_file_is_one_line(tmp_path, content, told):
    path = tmp_path / "broken.toml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=told) as error:
        read_toml(path)
    assert str(path) in str(error.value)
