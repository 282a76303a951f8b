"""One version: that of the package is the one recorded with every result."""

import tomllib
from pathlib import Path

from simulator.metrics.result import VERSION


def test_the_recorded_version_is_the_package_s():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["version"] == VERSION
