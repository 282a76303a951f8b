"""Whatever is in a file: a reader answers, or says what is wrong in one line.

Some inputs a format here; ``pytest -m slow tests/workloads/test_damaged_files.py`` tries 10,000 each.
"""

import json
import random
import tomllib
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.config import validated
from experiments.importing import Imported, from_kueue, from_slurm
from experiments.scenario.checks import ScenarioChecks
from experiments.scenario.options import parse_options, set_key
from experiments.scenario.reading import read_run_table
from experiments.scenario.schema import Scenario, read_scenario
from experiments.sweep.sweepfile import read_sweep
from simulator.errors import InputError
from simulator.laws import parse_law
from simulator.workloads import authors, catalogs, openb
from simulator.workloads.job_types import read_types
from simulator.workloads.openb_trace import OpenbJobs
from simulator.workloads.plain_csv import CsvJobs
from simulator.workloads.registry import formats
from simulator.workloads.table import Setting
from simulator.workloads.trace import Trace
from tests.cli.test_import import CONF, QOS, QUEUES, SCONTROL, SINFO
from tests.families import module

gavel = module("simulator.workloads.gavel")

ROOT = Path(__file__).parents[2]

JOBS = """job_id,submit_time_s,duration_s,num_gpus,num_cpus,memory_gb,model,due_s
a,0,100,4,8,16,resnet18,500
b,10,50,8,,,,
c,20.5,1e3,2,1,2,gnmt,9000
"""
DAY = "2017-10-01 10:00:"
ATTEMPT = {"start_time": DAY + "10", "end_time": DAY + "55",
           "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}]}  # fmt: skip
PHILLY = json.dumps(
    [
        {"jobid": name, "vc": "vc1", "submitted_time": DAY + at, "attempts": attempts}
        for name, at, attempts in (("application_1", "00", [ATTEMPT]), ("b", "01", []))
    ],
    indent=1,
)
GAVEL = (
    "ResNet-18 (batch size 16)\tpython3 main.py\timages\t--steps\t1\t1000\t1\tstatic\t0\t3600\n"
    "LM (batch size 5)\tpython3 main.py\ttext\t--steps\t0\t2000\t2\tstatic\t120.5\t3600\n"
)
RESNET, LM = "('ResNet-18 (batch size 16)', 1)", "('LM (batch size 5)', 2)"
RATES = json.dumps({"v100": {RESNET: {"null": 20.5}, LM: {"null": 60.1}}})
PODS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
p0,12000,16384,1,1000,,LS,Running,0,12537496,0
p1,6000,12288,1,460,V100M16,LS,Running,427061,12902960,427061
p2,8000,1000,8,1000,G2|G3,BE,Succeeded,1,100,5
"""
NODES = """sn,cpu_milli,memory_mib,gpu,model
n0,64000,262144,2,P100
n1,96000,786432,8,G3
"""
SWF = """; UnixStartTime: 0
1 100 5 60 4 -1 -1 4 60 -1 1 7 1 -1 2 -1 -1 -1
2 90 -1 30 -1 -1 -1 2 30 -1 1 8 1 -1 -1 -1 -1 -1
"""
HELIOS = """job_id,user,vc,gpu_num,cpu_num,state,submit_time,start_time,end_time,duration,queue
a,u1,vc1,8,32,COMPLETED,2020-04-01 00:10:00,2020-04-01 00:10:05,2020-04-01 01:10:05,3600,5
b,u2,vc2,1,4,FAILED,2020-04-01 00:00:00,2020-04-01 00:00:05,2020-04-01 00:01:05,60,5
"""
CATALOG = "name,gpu_type,gpus,price_per_hour\nA,K80,1,0.9\nB,V100,4,12.24\n"
SCHEDULE = "job_id,node,node_type,gpus,start_s,end_s\na,0,t,1,0.0,1.5\nb,1,t,2,1.0,2.5\n"
SCENARIO = """policy = "fifo-backfill"
seed = 3
window = [0, 10]
tables = ["jobs"]
dispatcher = "least-work-left"
reconfiguration_s = 30
[policy_options]
[workload]
kind = "poisson"
num_jobs = 20
arrival_rate_per_h = 2.5
duration_s = "lognormal:40,cv=2"
num_gpus = [1, 2]
priorities = [1, 2]
patience = "exponential:600"
[cluster]
nodes_per_rack = 2
kind = "nodes"
num_nodes = 4
num_controllers = 2
gpus_per_node = 8
[adapt]
due = "factor:1.5,4"
weights = "printed"
prices = 2.5
[predictions]
noise = 0.1
[decisions]
round_s = 300
finish_at_round = true
[server]
service = "exponential:40"
[failures]
time_to_failure = "weibull:18000,shape=0.8"
repair = "deterministic:600"
job_time_to_failure = "exponential:20000"
max_attempts = 3
[checkpoints]
interval_s = "daly"
cost_s = 60
[maintenance]
every_s = 40000
duration_s = 600
nodes_at_a_time = 2
[spot]
nodes = 1
time_to_reclaim = "exponential:7200"
down = "exponential:1800"
[tenants]
draw = { ann = 0.6, bob = 0.4 }
weight = { ann = 2 }
quota = { ann = 24 }
[network]
same_rack = 1.2
across_racks = 1.5
"""
SWEEP = """policies = ["fifo", { name = "edf", label = "E" }]
seeds = [1, 2]
[scenario]
workload = { kind = "hierarchical", num_nodes = 4 }
[grid]
workload.mean_gap_s = [30_000, 45_000]
[[zip]]
workload.num_nodes = [2, 4]
cluster.num_controllers = [1, 2]
cluster.kind = ["vms", "vms"]
[[points]]
decisions.period_s = 3600
"""
TYPES = """[[types]]
name = "a"
arrival_rate_per_h = 0.4
mean_size_h = 1.0
speedup = { kind = "tabulated", gpus = [1, 2, 4], throughput = [100, 190, 340] }
[[types]]
name = "b"
arrival_rate_per_h = 1
mean_size_h = 2.0
speedup = { kind = "amdahl", parallel_fraction = 0.8 }
"""
LIST = "ID,SubmissionTime,Deadline,Tardinessweight\nJ1,0,5000,0.01\nJ2,100,9000,0.02\n"
TIMES = (
    "ID,VMtype,GpuType,GpuNumber,maxGpuNumber,cost,ExecutionTime\n"
    "J1,A,K80,1,2,0.9,1000\nJ1,A,K80,2,2,0.9,600\nJ2,A,K80,1,2,0.9,2000\n"
)
HOSTS = "Nodes\nN1\nN2\n"


def instance(path: Path) -> None:
    """The fuzzed file is the table of times of an instance."""
    folder = path.parent
    (folder / "Lof_selectjobs.csv").write_text(LIST)
    (folder / "tNodes.csv").write_text(HOSTS)
    authors.read_instance(folder)


def scenario(path: Path) -> None:
    """Read, and all of it made that a run is made of, but for the jobs: these are few."""
    ScenarioChecks()(read_scenario(path))


def gavel_rates(path: Path) -> None:
    (path.parent / "trace.tsv").write_text(GAVEL)
    gavel.GavelJobs(path=path.parent / "trace.tsv", throughputs=path).read()


def schedule(path: Path) -> None:
    numbers = ("gpus", "start_s", "end_s")
    read_run_table(path, ("job_id", *numbers), numbers)


def imported(read: Callable[..., Imported], *files: Path | None, **options: int) -> None:
    """What is written is a scenario."""
    text = read(*files, jobs="jobs.csv", **options).checked()
    validated(Scenario, tomllib.loads(text), "scenario.toml")


def qos(path: Path) -> None:
    conf = path.parent / "slurm.conf"
    conf.write_text(f"{CONF}PreemptType=preempt/qos\n")
    imported(from_slurm, conf, path)


def trace(table: type[Trace], path: Path, skip: bool = False) -> None:
    """Read a file as a trace, beside the file of rates that some formats need."""
    (path.parent / "oracle_throughputs_v2.json").write_text(RATES)
    table(path=path, skip=skip).read()


SAMPLES = {
    "csv": JOBS,
    "philly": PHILLY,
    "gavel": GAVEL,
    "alibaba": PODS,
    "swf": SWF,
    "helios": HELIOS,
}
"""Files of several jobs; of other formats, the one of the documentation is edited."""

TABLE = [
    {"id": name, "submit": f"2026-03-0{day}", "gpus": gpus, "start": "None", "end": None, "run": 60.5,
     "after": after, "nodes": 1, "gpu_type": "A100|T4"}
    for name, day, gpus, after in (("a", 1, 0.5, ""), ("b", 2, 4, "afterok:a"), ("b", 3, 2, "c;d"))
]  # fmt: skip
"""Another table, of names and columns as users have them."""


def of_parquet() -> bytes:
    into = BytesIO()
    pd.DataFrame(TABLE).to_parquet(into, compression=None)
    return into.getvalue()


FORMATS: dict[str, tuple[str, str | bytes, Callable[[Path], Any]]] = {
    "any table": ("jobs.txt", pd.DataFrame(TABLE).to_csv(index=False), partial(trace, CsvJobs)),
    "any table, skipped": (
        "jobs.txt",
        pd.DataFrame(TABLE).to_csv(index=False),
        partial(trace, CsvJobs, skip=True),
    ),
    "swf, skipped": ("jobs.txt", SWF, partial(trace, formats()["swf"], skip=True)),
    "JSON lines": ("jobs.txt", "\n".join(map(json.dumps, TABLE)), partial(trace, CsvJobs)),
    "Parquet": ("jobs.txt", of_parquet(), partial(trace, CsvJobs)),
    **{
        kind: ("jobs.txt", SAMPLES.get(kind, table.example), partial(trace, table))
        for kind, table in formats().items()
    },
    "Gavel rates": ("rates.json", RATES, gavel_rates),
    "openb pods": ("pods.csv", PODS, openb.read_pods),
    "openb trace": ("pods.csv", PODS, lambda path: OpenbJobs(path=path).make(Setting(1))),
    "openb nodes": ("nodes.csv", NODES, openb.read_nodes),
    "catalogue": ("catalog.csv", CATALOG, catalogs.read_catalog),
    "instance": ("SelectJobs_times.csv", TIMES, instance),
    "scenario": ("scenario.toml", SCENARIO, scenario),
    "sweep": ("sweep.toml", SWEEP, read_sweep),
    "rental types": ("types.toml", TYPES, read_types),
    "schedule": ("schedule.csv", SCHEDULE, schedule),
    "slurm.conf": ("slurm.conf", CONF, lambda path: imported(from_slurm, path, None)),
    "scontrol": ("nodes.txt", SCONTROL, lambda path: imported(from_slurm, path, None)),
    "sinfo": ("nodes.txt", SINFO, lambda path: imported(from_slurm, path, None)),
    "qos": ("qos.txt", QOS, qos),
    "kueue": ("queues.yaml", QUEUES, lambda path: imported(from_kueue, path, gpus_per_node=8)),
}

TOKENS = [
    *("", "0", "-1", "1.5", "nan", "inf", "-inf", "1e999", "1e-320", "9" * 30, "9" * 5000, "NA"),
    *("null", "true", '"', "'", ",", "\t", "\n", "\r\n", "\r", "\0", "=", "{", "}", "[", "]"),
    *("[" * 3000, '{"a":' * 500, "\ufeff", "é", "\x1b[31m", "=1+1", "None", "#", "2**70"),
    *("0x10", "1_000", "١", " ", "\x85", "\u2028", "now", "2017-13-45 99:99:99"),
    *('"gpus": "gpu0"', "path", "kind", 'kind = "pool"', 'path = "a\\u0000b"', "a.b.c = 1"),
]


VALUES = [
    *("0", "-1", "1", "2", "7", "0.5", "1e308", "5e-324", "-0.0", "99999", "9999999999", "inf", "nan"),
    *("true", '""', '"a"', '"-"', '"0"', '"none"', "[]", "[0]", "[1, 2]", "[[]]", "{}", "{ a = 1 }"),
    *('"exponential:1e308"', '"exponential:5e-324"', '"deterministic:0"', '"weibull:1,shape=1e-3"'),
    *('"lognormal:1e300,cv=1e10"', '"factor:1e308,1e308"', '"bimodal:1"', '"law:philly"', '"daly"'),
    *('"vms"', '"pool"', '"hierarchical"', '"elastic"', '"openb-like"', '"milp"', '"shared"', "1979-05-27"),
]  # fmt: skip


def is_toml(sample: bytes) -> bool:
    """Whether a sample has keys and values."""
    return b" = " in sample


def revalued(seed: int, sample: bytes) -> bytes:
    """A TOML file with one or two other values, or without them: what is behind the syntax is met, too."""
    rng = random.Random(seed)
    lines = sample.decode().splitlines()
    given = [n for n, line in enumerate(lines) if " = " in line]
    values = [lines[n].partition(" = ")[2] for n in given]
    for n in rng.sample(given, rng.randint(1, 2)):
        key = lines[n].partition(" = ")[0]
        lines[n] = f"{key} = {rng.choice([*values, *VALUES])}" if rng.random() < 0.85 else ""
    return "\n".join(lines).encode()


def complaint_of(call: Callable[[], Any]) -> str:
    """Complaint of a reader; empty if it answers. Any other exception is a failure."""
    try:
        call()
    except InputError as error:
        return str(error) or "\n"  # an empty complaint is none
    return ""


def answers_or_says_why(folder: Path, format: str, content: bytes) -> bool:
    """Whether it is refused."""
    name, _, read = FORMATS[format]
    path = folder / name
    path.write_bytes(content)
    complaint = complaint_of(lambda: read(path))
    assert "\n" not in complaint
    assert len(complaint) < 2000
    return bool(complaint)


def edited(rng: random.Random, sample: bytes) -> bytes:
    """A valid file after some edits: cut, repeated, overwritten, with odd pieces put in."""
    if rng.random() < 0.1:
        return rng.randbytes(rng.randrange(200))
    if is_toml(sample) and rng.random() < 0.5:
        return revalued(rng.randrange(10**9), sample)
    text = bytearray(sample)
    for _ in range(rng.randint(1, 4)):
        start = rng.randint(0, len(text))
        end = min(len(text), start + rng.randint(0, 12))
        kind = rng.choice(["token", "token", "bytes", "cut", "repeat", "swap"])
        if kind == "token":
            text[start:end] = rng.choice(TOKENS).encode()
        elif kind == "bytes":
            text[start:end] = rng.randbytes(rng.randint(0, 6))
        elif kind == "cut":
            del text[start : start + rng.randint(0, 200)]
        elif kind == "repeat":
            text[start:start] = text[start : start + rng.randint(0, 60)] * rng.randint(1, 3)
        else:
            text[start:end] = text[start:end][::-1]
    return bytes(text)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("count", [20, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("format", FORMATS)
def test_edited_files(tmp_path, format, count):
    sample = FORMATS[format][1]
    sample = sample if isinstance(sample, bytes) else sample.encode()
    refused = 0
    for seed in range(count):
        content = edited(random.Random(seed), sample)
        try:
            refused += answers_or_says_why(tmp_path, format, content)
        except Exception as error:
            error.add_note(f"format {format!r}, seed {seed}: {content!r}")
            raise
    assert 0 < refused < count or count < 100, "both readable and unreadable files are tried"


@pytest.mark.parametrize("format", FORMATS)
def test_the_samples_themselves_are_read(tmp_path, format):
    """Else the edits would all die of the same complaint."""
    name, sample, read = FORMATS[format]
    (tmp_path / name).write_bytes(sample if isinstance(sample, bytes) else sample.encode())
    read(tmp_path / name)


PIECES = "exponential lognormal bimodal empirical : , = mean cv 40 1e999 nan -1 0 low=1 high=1e308"


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=30) | st.lists(st.sampled_from(PIECES.split()), max_size=9).map("".join))
def test_laws_options_and_keys(text):
    for parse in (parse_law, lambda t: parse_options([t], "-"), lambda t: set_key({}, t)):
        assert "\n" not in complaint_of(partial(parse, text))
