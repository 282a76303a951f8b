"""Every key of the optional tables: a value that is none, and a key that there is not, are one line each."""

import pytest

from experiments.scenario.schema import read_scenario
from simulator import InputError
from simulator.features.registry import tables
from simulator.workloads.openb_trace import OpenbJobs

TABLES = tables()
NEEDED = {
    "reliability": {"time_to_failure_s": "1000", "auto_repair": '"exponential:9"'},
    "maintenance": {"every_s": "100", "duration_s": "10"},
    "outages": {"path": '"outages.csv"'},
    "calendar": {"rules": '[{ start = "8:00-18:00" }]'},
    "spot": {"nodes": "1", "time_to_reclaim": '"exponential:9"', "down": '"exponential:9"'},
}
"""Keys without a default; one that is missing would be named first."""

KEYS = [(table, key) for table, model in TABLES.items() for key in model.model_fields]
JOBS = '[workload]\nkind = "poisson"\narrival_rate_per_h = 30\n[cluster]\nkind = "nodes"\nnum_nodes = 1\n'


def told(tmp_path, text):
    path = tmp_path / "s.toml"
    path.write_text('policy = "fifo"\n' + text)
    with pytest.raises(InputError) as caught:
        read_scenario(path)
    line = str(caught.value)
    assert "\n" not in line
    return line.removeprefix(f"{path}: ")


@pytest.mark.parametrize(("table", "key"), KEYS)
def test_a_value_that_is_none(tmp_path, table, key):
    keys = {**NEEDED.get(table, {}), key: '[["x"]]'}
    lines = "\n".join(f"{name} = {value}" for name, value in keys.items())
    line = told(tmp_path, f"{JOBS}[{table}]\n{lines}\n")
    assert line.startswith(f"{table}.{key}")
    assert "expected" in line


@pytest.mark.parametrize("table", TABLES)
def test_a_key_that_there_is_not(tmp_path, table):
    lines = "\n".join(f"{name} = {value}" for name, value in NEEDED.get(table, {}).items())
    line = told(tmp_path, f"{JOBS}[{table}]\n{lines}\nsomething = 1\n")
    assert line.startswith(f"{table}.something: ")


@pytest.mark.parametrize("key", [k for k in OpenbJobs.model_fields if k not in ("kind", "path")])
def test_a_value_of_openb_that_is_none(tmp_path, key):
    line = told(tmp_path, f'[workload]\nkind = "openb"\npath = "p.csv"\n{key} = [["x"]]\n')
    assert line.startswith(f"workload.{key}")


def test_a_key_with_the_name_of_a_kind(tmp_path):
    """`nodes` is a kind of machines and no key of it."""
    line = told(tmp_path, f"{JOBS}nodes = 2\n")
    assert line == "cluster.nodes: unknown key, did you mean 'num_nodes'?"
