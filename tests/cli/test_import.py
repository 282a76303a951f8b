"""`schedlab import`: settings of Slurm and Kueue as scenarios that run."""

import tomllib
from pathlib import Path

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
    assert made["cluster"] == {
        "kind": "nodes", "num_nodes": 4, "gpus_per_node": 8, "cpus_per_node": 64, "memory_gb_per_node": 512,
    }  # fmt: skip
    assert made["policy_options"] == {
        "bf_window_s": 172_800, "bf_max_job_test": 500, "bf_resolution_s": 60, "order": "multifactor",
        "weight_age": 500, "weight_qos": 2000, "max_age_s": 302_400, "qos_priority": "normal=10 high=100",
    }  # fmt: skip
    for what in (
        "clustername=lab",
        "bf_continue",
        "old[1-2]",
        "login1",
        "partitionname=main",
        "maxtrespu",
    ):
        assert what in told, what
    done("run", "scenario.toml", cwd=tmp_path)
    assert "is there already" in refused("import", "slurm", "slurm.conf", cwd=tmp_path)


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
        ("- 1", "no mapping"),
        ("kind: Job", "no ClusterQueue"),
    ):
        (tmp_path / "q.yaml").write_text(text)
        assert message in refused("import", "kueue", "q.yaml", cwd=tmp_path)
