"""`schedlab import`: settings of Slurm and Kueue as scenarios that run."""

import itertools
import json
import tomllib
from pathlib import Path

import pandas as pd
import pytest

from tests.command import done, refused

CONF = """\
# a cluster
ClusterName=lab
SchedulerType=sched/backfill
SchedulerParameters=bf_window=2880,bf_continue
PriorityType=priority/multifactor
PriorityWeightAge=500
PriorityWeightQOS=2000   # by QOS
PriorityMaxAge=3-12:00:00
NodeName=gpu[01-03,07] CPUs=64 RealMemory=524288 \\
  Gres=gpu:a100:8
NodeName=old[1-2] CPUs=32 Gres=gpu:v100:4
NodeName=login1 CPUs=8
PartitionName=main Nodes=ALL Default=YES
"""
QOS = "Name|Priority|MaxTRESPU\nnormal|10|\nhigh|100|gres/gpu=8\n"
JOBS = "job_id,submit_time_s,duration_s,num_gpus,requested_s,qos,vc\na,0,90,32,100,normal,x\nb,1,9,8,10,high,y\n"
QUEUES = """\
kind: ClusterQueue
metadata: {name: x}
spec:
  cohort: all
  preemption: {reclaimWithinCohort: Any}
  resourceGroups:
  - flavors:
    - name: a100
      resources:
      - {name: nvidia.com/gpu, nominalQuota: 24, borrowingLimit: 8}
---
kind: ClusterQueue
metadata: {name: y}
spec:
  cohort: all
  resourceGroups:
  - flavors: [{name: a100, resources: [{name: nvidia.com/gpu, nominalQuota: "8"}]}]
---
kind: LocalQueue
metadata: {name: team}
spec: {clusterQueue: x}
"""


def folder(path: Path) -> Path:
    for name, text in (
        ("slurm.conf", CONF),
        ("qos.txt", QOS),
        ("jobs.csv", JOBS),
        ("q.yaml", QUEUES),
    ):
        (path / name).write_text(text)
    return path


def test_slurm(tmp_path):
    told = done("import", "slurm", "slurm.conf", "qos.txt", cwd=folder(tmp_path)).stdout
    made = tomllib.loads((tmp_path / "scenario.toml").read_text())
    assert made["policy"] == "conservative-backfill"
    assert made["cluster"] == {"kind": "mixed", "groups": {
        "a100": {"num_nodes": 4, "gpus_per_node": 8, "gpu_type": "A100", "cpus_per_node": 64, "memory_gb_per_node": 549.755813888},
        "v100": {"num_nodes": 2, "gpus_per_node": 4, "gpu_type": "V100", "cpus_per_node": 32},
    }}  # fmt: skip
    assert made["policy_options"] == {
        "bf_window_s": 172_800, "bf_max_job_test": 500, "bf_resolution_s": 60, "order": "multifactor",
        "weight_age": 500, "weight_qos": 2000, "max_age_s": 302_400, "qos_priority": "normal=10 high=100",
    }  # fmt: skip
    for what in (
        "clustername=lab",
        "bf_continue",
        "login1",
        "maxtrespu",
    ):
        assert what in told, what
    done("run", "scenario.toml", cwd=tmp_path)
    assert "is there already" in refused("import", "slurm", "slurm.conf", cwd=tmp_path)


def test_preemption_by_qos(tmp_path):
    """b of QOS high stops a, which holds all 40 GPUs and goes on when b has ended."""
    folder(tmp_path)
    (tmp_path / "jobs.csv").write_text(JOBS.replace("a,0,90,32,", "a,0,90,40,"))
    (tmp_path / "slurm.conf").write_text(f"{CONF}PreemptType=preempt/qos\nPreemptMode=REQUEUE\n")
    (tmp_path / "qos.txt").write_text("Name|Priority|Preempt\nnormal|10|\nhigh|100|normal\n")
    told = done("import", "slurm", "slurm.conf", "qos.txt", cwd=tmp_path).stdout
    made = tomllib.loads((tmp_path / "scenario.toml").read_text())
    assert made["policy"] == "conservative-backfill@qos-preemption"
    assert made["policy_options"]["qos-preemption"] == {"over": "high=normal"}
    assert "not used: preemptmode=REQUEUE" in told
    assert "not used: preempttype" not in told
    assert "not used: column preempt" not in told
    done("run", "scenario.toml", "--out", "out", cwd=tmp_path)
    table = pd.read_csv(tmp_path / "out" / "jobs.csv").set_index("job_id")
    assert table["completion_s"].to_dict() == {"a": 99, "b": 10}
    assert table["preemptions"].to_dict() == {"a": 1, "b": 0}


@pytest.mark.parametrize(
    ("flags", "tree", "unused"),
    [("", True, ""), ("PriorityFlags=NO_FAIR_TREE", False, ""),
     ("PriorityFlags=MAX_TRES,NO_FAIR_TREE", False, "not used: priorityflags=MAX_TRES,NO_FAIR_TREE")],
)  # fmt: skip
def test_fair_shares(tmp_path, flags, tree, unused):
    folder(tmp_path)
    (tmp_path / "slurm.conf").write_text(f"{CONF}PriorityWeightFairshare=1000\n{flags}\n")
    told = done("import", "slurm", "slurm.conf", cwd=tmp_path).stdout
    made = tomllib.loads((tmp_path / "scenario.toml").read_text())
    assert made["policy_options"]["fair_tree"] is tree
    assert made["tenants"] == {"by": "user"}
    assert unused in told
    assert ("priorityflags" in told) == bool(unused)
    (tmp_path / "jobs.csv").write_text(
        "job_id,submit_time_s,duration_s,num_gpus,requested_s,user\na,0,9,8,9,u\n"
    )
    done("run", "scenario.toml", cwd=tmp_path)


def test_kueue(tmp_path):
    told = done("import", "kueue", "q.yaml", cwd=folder(tmp_path)).stdout
    made = tomllib.loads((tmp_path / "scenario.toml").read_text())
    assert (made["policy"], made["policy_options"]) == ("capacity", {"reclaim": True})
    assert made["tenants"] == {"by": "vc", "quota": {"x": 24, "y": 8}, "borrowing": True}
    assert made["cluster"] == {"kind": "nodes", "num_nodes": 4, "gpus_per_node": 8}
    assert "borrowingLimit" in told
    assert "LocalQueue team" in told
    done("run", "scenario.toml", cwd=tmp_path)


def test_what_is_wrong_is_one_line(tmp_path):
    for text, message in (
        ("SchedulerType=sched/backfill\n", "no node with GPUs"),
        ("hello\n", "line 1 is 'hello', expected KEY=VALUE"),
        (CONF.replace("3-12:00:00", "soon"), "prioritymaxage is 'soon', expected a time"),
        (CONF.replace("Age=500", "Age=much"), "priorityweightage is 'much', expected a number"),
    ):
        (tmp_path / "slurm.conf").write_text(text)
        assert message in refused("import", "slurm", "slurm.conf", cwd=tmp_path)
    for text, message in (
        ("kind: [", "no YAML"),
        ("- 1", "a document is a list, expected a mapping"),
        ("kind: Job", "no ClusterQueue"),
    ):
        (tmp_path / "q.yaml").write_text(text)
        assert message in refused("import", "kueue", "q.yaml", cwd=tmp_path)


SCONTROL = """\
NodeName=gpu01 Arch=x86_64 CoresPerSocket=32
   CPUAlloc=8 CPUEfctv=64 CPUTot=64 CPULoad=3.2
   Gres=gpu:a100:4(S:0-1)
   OS=Linux 5.15.0-91-generic #101-Ubuntu SMP
   RealMemory=262144 AllocMem=1000 FreeMem=200000 Sockets=2 Boards=1
   State=MIXED ThreadsPerCore=1 TmpDisk=0 Weight=1
   CfgTRES=cpu=64,mem=256G,billing=64,gres/gpu=4

NodeName=gpu02 Arch=x86_64 CoresPerSocket=32
   CPUAlloc=0 CPUEfctv=64 CPUTot=64 CPULoad=0.0
   Gres=gpu:a100:4(S:0-1)
   OS=Linux 5.15.0-91-generic #101-Ubuntu SMP
   RealMemory=262144 AllocMem=0 FreeMem=200000 Sockets=2 Boards=1

NodeName=cpu01 Arch=x86_64 CoresPerSocket=32
   CPUAlloc=0 CPUTot=64
   Gres=(null)
"""
SINFO = """\
PARTITION NODELIST CPUS MEMORY GRES
main* gpu[01-02] 64 262144 gpu:a100:4(S:0-1)
debug gpu[01-02] 64 262144 gpu:a100:4(S:0-1)
main* cpu01 64+ 262144+ (null)
"""
SACCT = (
    "JobID|Submit|Start|End|Timelimit|AllocTRES\n"
    "1|2026-03-01T10:00:00|2026-03-01T10:00:00|2026-03-01T11:00:00|02:00:00|cpu=4,gres/gpu=4,mem=8G\n"
)


@pytest.mark.parametrize("nodes", [SCONTROL, SINFO], ids=["scontrol show node", "sinfo"])
def test_nodes_as_slurm_shows_them(tmp_path, nodes):
    (tmp_path / "nodes.txt").write_text(nodes)
    (tmp_path / "sacct.txt").write_text(SACCT)
    told = done("import", "slurm", "nodes.txt", "--jobs", "sacct.txt", cwd=tmp_path).stdout
    made = tomllib.loads((tmp_path / "scenario.toml").read_text())
    assert made["cluster"] == {
        "kind": "nodes", "num_nodes": 2, "gpus_per_node": 4, "gpu_type": "A100",
        "cpus_per_node": 64, "memory_gb_per_node": 274.877906944,
    }  # fmt: skip
    assert made["workload"] == {"kind": "slurm", "path": "sacct.txt", "kill_at_limit": True}
    assert "cpu01" in told
    done("run", "scenario.toml", cwd=tmp_path)
    (tmp_path / "nodes.txt").write_text("NODELIST GRES\ngpu01\n")
    assert "row 1 is 'gpu01'" in refused("import", "slurm", "nodes.txt", cwd=tmp_path)


def queues(*names: str, amount: str = "8", more: str = "") -> str:
    """ClusterQueues of these names, each with a quota of GPUs."""
    resource = f"{{name: nvidia.com/gpu, nominalQuota: {amount}}}"
    spec = f"spec: {{resourceGroups: [{{flavors: [{{name: a, resources: [{resource}]}}]}}]{more}}}"
    return "---\n".join(f"kind: ClusterQueue\nmetadata: {{name: {n}}}\n{spec}\n" for n in names)


def test_names_and_values_of_any_kind_make_a_scenario_that_is_read(tmp_path):
    """Nothing that a file or its name says becomes a key: texts are texts, comments end with their lines."""
    jobs, odd = 'j"obs\n[failures]\x7f\x01.csv', 'a \\" ]\n seed = 7\x1f\x7f#é='
    (tmp_path / "q\nseed = 9.yaml").write_text(
        queues(json.dumps(odd), "1.5", "true", more=', "x\\n[spot]\\x07": {preemption: [1]}')
    )
    done("import", "kueue", "q\nseed = 9.yaml", "--jobs", jobs, cwd=tmp_path)
    text = (tmp_path / "scenario.toml").read_text()
    made = tomllib.loads(text)
    assert set(made) == {"policy", "workload", "cluster", "tenants"}
    assert made["workload"]["path"] == jobs
    assert made["tenants"]["quota"] == {odd: 8, "1.5": 8, "true": 8}
    assert "# from q seed = 9.yaml" in text
    (tmp_path / "s.conf").write_text(
        CONF.replace("a100", "é.\x01").replace("v100", "v.1").replace("lab", 'l"\x07ab')
    )
    done("import", "slurm", "s.conf", "--jobs", jobs, "--out", "s.toml", cwd=tmp_path)
    assert [*tomllib.loads((tmp_path / "s.toml").read_text())["cluster"]["groups"]] == [
        "gpu",
        "v-1",
    ]


LAUGHS = "a: &a [x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n"
    for old, new in itertools.pairwise("abcdefgh")
)
"""Each line stands for ten times as much as the one before."""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (queues("x", amount="9" * 400), "expected a whole number below a billion"),
        (queues("x", amount="١"), "expected a whole number below a billion"),
        (queues("x", "y", "x"), "q.yaml: ClusterQueue x is there twice, expected one of each name"),
        (queues('""'), "is there without a name, expected metadata.name"),
        (queues("x", more=", preemption: [1]"), "x: spec: preemption is a list, expected a mapping"),
        (queues("x", more=", cohort: {a: 1}"), "x: spec: cohort is a mapping, expected a text"),
        ("kind: ClusterQueue\nmetadata: {name: x}\nspec: 3\n", "x: spec is '3', expected a mapping"),
        ("kind: ClusterQueue\nmetadata: {name: x}\nspec: {resourceGroups: [7]}\n",
         "x: spec: an entry of resourceGroups is '7', expected a mapping"),
        ("items: {a: 1}\n", "a document: items is a mapping, expected a list"),
        ("[" * 1000, "holds too much, expected at most 300,000 values, aliases counted each time, 50 deep"),
        (LAUGHS, "holds too much"),
        (queues("x") + "{[1]: 2}", "no YAML"),
        (queues("x", amount='"\\ud800"'), "q.yaml: "),
    ],
)  # fmt: skip
def test_damaged_queues_are_one_line(tmp_path, text, message):
    (tmp_path / "q.yaml").write_text(text)
    assert message in refused("import", "kueue", "q.yaml", cwd=tmp_path)
    assert not (tmp_path / "scenario.toml").exists()


def test_few_aliases_are_read(tmp_path):
    spec = queues("x").partition("spec: ")[2].strip()
    items = [
        f"- {{kind: ClusterQueue, metadata: {{name: {name}}}, spec: {of}}}\n"
        for name, of in (("x", f"&s {spec}"), ("y", "*s"))
    ]
    (tmp_path / "q.yaml").write_text(f"items:\n{''.join(items)}")
    done("import", "kueue", "q.yaml", cwd=tmp_path)
    made = tomllib.loads((tmp_path / "scenario.toml").read_text())
    assert made["tenants"]["quota"] == {"x": 8, "y": 8}


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("slurm.conf", "01-03,07", "07-03", "cluster.groups.a100.num_nodes: got 0, expected an integer >= 1"),
        ("slurm.conf", "01-03", "1-" + "9" * 400, "expected a whole number below a billion"),
        ("slurm.conf", "a100:8", "a100:" + "9" * 400, "expected a whole number below a billion"),
        ("slurm.conf", "Age=500", "Age=" + "9" * 400, "expected a number >= 0, of at most 15 digits"),
        ("qos.txt", "high|100|gres/gpu=8", "high", "qos.txt: row 2 has 1 columns, expected 3"),
        ("qos.txt", "high|", "hi gh=3|", "a name is 'hi gh=3', expected one without space, = and comma"),
    ],
)  # fmt: skip
def test_damaged_settings_of_slurm_are_one_line(tmp_path, file, old, new, message):
    path = folder(tmp_path) / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert message in refused("import", "slurm", "slurm.conf", "qos.txt", cwd=tmp_path)
    assert not (tmp_path / "scenario.toml").exists()
