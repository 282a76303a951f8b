"""Slurm's settings as a scenario: each setting, what it becomes, and why, by tables."""

from pathlib import Path

import pytest

from experiments.importing import from_slurm
from simulator.errors import InputError
from tests.errors import input_error

NODE = "NodeName=gpu1 Gres=gpu:8\n"


@pytest.fixture
def made(tmp_path):
    """What an import makes of a slurm.conf, and of a table of QOS where one is given."""

    def make(conf: str, qos: str | None = None, jobs: str = "jobs.csv"):
        (tmp_path / "slurm.conf").write_text(conf)
        if qos is not None:
            (tmp_path / "qos.txt").write_text(qos)
        return from_slurm(tmp_path / "slurm.conf", tmp_path / "qos.txt" if qos else None, jobs)

    make.folder = tmp_path
    return make


def values(imported, table: str) -> dict:
    return {key: value for key, (value, _) in imported.keys.get(table, {}).items()}


def reasons(imported, table: str) -> dict:
    return {key: because for key, (_, because) in imported.keys.get(table, {}).items()}


def wrong(make, told: str, *texts: str) -> None:
    with pytest.raises(InputError) as raised:
        make(*texts)
    file = make.folder / ("qos.txt" if len(texts) > 1 else "slurm.conf")
    assert str(raised.value) == f"{file}: {told}"


# -- nodes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "count"),
    [
        ("gpu1", 1),
        ("gpu[1-4]", 4),
        ("gpu[01-16,20],login", 18),
        ("a,b,c", 3),
        ("gpu[7]", 1),
        ("gpu[a-x]", None),
        ("gpu[1,3,5]", 3),
        ("r[1-2]n[1-3]", 6),
        ("r[1-2]n[1-3]x,y[5-6]", 8),
        ("gpu[099-101]", 3),
    ],
)
def test_nodes_of_a_list_of_names(made, names, count):
    conf = f"NodeName={names} Gres=gpu:8\n"
    if count is None:
        wrong(made, "nodename has 'x', expected a whole number below a billion", conf)
    else:
        assert values(made(conf), "cluster")["num_nodes"] == count


@pytest.mark.parametrize(
    ("gres", "gpus", "gpu_type", "unused"),
    [
        ("gpu:8", 8, None, None),
        ("gpu", 1, None, None),
        ("gpu:a100", 1, "A100", None),
        ("gpu:a100:4", 4, "A100", None),
        ("gpu:V100:4", 4, "V100", None),
        ("gpu:a100:4(S:0-1)", 4, "A100", None),
        ("gpu:a100:2,gpu:a100:3", 5, "A100", None),
        ("gpu:2,gpu:v100:3", 5, "V100", None),
        ("craynetwork:4,gpu:v100:3", 3, "V100", None),
        ("gpu:own-x.1:2", 2, None, "own-x.1"),
    ],
)
def test_gpus_of_a_node(made, gres, gpus, gpu_type, unused):
    found = made(f"NodeName=gpu1 Gres={gres}\n")
    assert values(found, "cluster")["gpus_per_node"] == gpus
    assert values(found, "cluster").get("gpu_type") == gpu_type
    assert reasons(found, "cluster")["gpus_per_node"] == f"Gres={gres}"
    told = [f"the GPU type {unused}, of which no speed is known"] if unused else []
    assert found.unused == told


def test_equal_servers(made):
    found = made(
        "NodeName=gpu[1-2] Gres=gpu:a100:8 CPUs=64 RealMemory=1536\nNodeName=gpu9 Gres=gpu:a100:8 CPUs=64 RealMemory=1536\n"
    )
    assert found.keys["cluster"] == {
        "kind": ("nodes", "equal servers"),
        "num_nodes": (3, "NodeName=gpu[1-2], NodeName=gpu9"),
        "gpus_per_node": (8, "Gres=gpu:a100:8"),
        "cpus_per_node": (64, "CPUs=64"),
        "memory_gb_per_node": (1.610612736, "RealMemory=1536 MiB"),
        "gpu_type": ("A100", "GPU type a100"),
    }  # fmt: skip
    assert found.unused == []


def test_a_group_of_each_kind(made):
    """Kinds differ in GPUs, type, CPUs or memory; of one type they are numbered."""
    found = made(
        "NodeName=a[1-3] Gres=gpu:a100:8\nNodeName=b1 Gres=gpu:v100:4\nNodeName=c1 Gres=gpu:a100:4\n"
        "NodeName=d1 Gres=gpu:a100:4 CPUs=8\nNodeName=e1 Gres=gpu:2\nNodeName=f1 Gres=gpu:own.x:2\n"
        "NodeName=g1 Gres=gpu:2 RealMemory=2048\nNodeName=h1 Gres=gpu:v100:4\nNodeName=i1 CPUs=4\n"
    )
    assert found.keys["cluster"] == {"kind": ("mixed", "7 kinds of servers")}
    groups = {
        name.removeprefix("cluster.groups."): values(found, name)
        for name in found.keys
        if "groups" in name
    }
    assert groups == {
        "a100": {"num_nodes": 3, "gpus_per_node": 8, "gpu_type": "A100"},
        "v100": {"num_nodes": 2, "gpus_per_node": 4, "gpu_type": "V100"},
        "a100-2": {"num_nodes": 1, "gpus_per_node": 4, "gpu_type": "A100"},
        "a100-3": {"num_nodes": 1, "gpus_per_node": 4, "gpu_type": "A100", "cpus_per_node": 8},
        "gpu": {"num_nodes": 1, "gpus_per_node": 2},
        "own-x": {"num_nodes": 1, "gpus_per_node": 2},
        "gpu-2": {"num_nodes": 1, "gpus_per_node": 2, "memory_gb_per_node": 2.147483648},
    }  # fmt: skip
    assert found.unused == [
        "nodename=i1 cpus=4 (no GPU)", "the GPU type own.x, of which no speed is known",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "gpus", "cpus"),
    [
        # what a node says itself counts
        ("NodeName=DEFAULT Gres=gpu:8 CPUs=32\nNodeName=a Gres=gpu:4\n", 4, 32),
        ("NodeName=DEFAULT Gres=gpu:8 CPUs=32\nNodeName=a CPUs=16\n", 8, 16),
        ("NodeName=default Gres=gpu:8\nNodeName=a\n", 8, None),
        # DEFAULT holds from there on, and a later one adds to it
        ("NodeName=DEFAULT Gres=gpu:8 CPUs=32\nNodeName=DEFAULT CPUs=64\nNodeName=a\n", 8, 64),
        ("NodeName=a Gres=gpu:2\nNodeName=DEFAULT Gres=gpu:8 CPUs=32\n", 2, None),
    ],
)  # fmt: skip
def test_defaults_of_nodes(made, lines, gpus, cpus):
    found = made(lines)
    assert values(found, "cluster")["gpus_per_node"] == gpus
    assert values(found, "cluster").get("cpus_per_node") == cpus
    assert reasons(found, "cluster")["num_nodes"] == "NodeName=a"
    assert found.unused == []


@pytest.mark.parametrize(
    ("text", "cpus", "memory_gb"),
    [
        ("CPUs=64 RealMemory=1024", 64, 1.073741824),
        ("CPUs= RealMemory=1024", None, 1.073741824),
        ("CPUs=64", 64, None),
        ("CPUs=many RealMemory=much", None, None),
        ("", None, None),
    ],
)
def test_cpus_and_memory_where_they_are_numbers(made, text, cpus, memory_gb):
    found = values(made(f"NodeName=a Gres=gpu:8 {text}\n"), "cluster")
    assert (found.get("cpus_per_node"), found.get("memory_gb_per_node")) == (cpus, memory_gb)


def test_no_node_with_gpus(made):
    wrong(made, "no node with GPUs, expected NodeName=.. Gres=gpu:..", "NodeName=a CPUs=8\n")
    wrong(made, "no node with GPUs, expected NodeName=.. Gres=gpu:..", "\n")
    wrong(
        made, "no node with GPUs, expected NodeName=.. Gres=gpu:..", "NodeName=DEFAULT Gres=gpu:8\n"
    )


def test_numbers_that_are_too_long(made):
    many = "9" * 10
    told = f"has '{many}', expected a whole number below a billion"
    wrong(made, f"gres {told}", f"NodeName=a Gres=gpu:{many}\n")
    wrong(made, f"nodename {told}", f"NodeName=a[1-{many}] Gres=gpu:1\n")


# -- lines --------------------------------------------------------------------------------------


def test_lines_of_a_file(made):
    """Comments, continued lines, quotes, any case of a key; empty lines are none."""
    found = made(
        '# all\n\nNODENAME="gpu1" \\\n  GRES=gpu:8 # eight\nClusterName=x#y\nComment="two words"\nSwitchName=s1 Nodes=gpu1\n'
    )
    assert values(found, "cluster")["num_nodes"] == 1
    assert reasons(found, "cluster")["num_nodes"] == "NodeName=gpu1"
    assert found.unused == ["clustername=x#y", "comment=two words", "switchname=s1 nodes=gpu1"]


def test_a_line_that_is_none(made):
    wrong(made, f"line 3 is '{'x' * 40}', expected KEY=VALUE", f"{NODE}\n  {'x' * 50}\n")


def test_the_file_itself(tmp_path, made):
    with pytest.raises(InputError, match=r"slurm\.conf"):
        from_slurm(tmp_path / "none", None, "jobs.csv")
    found = made(NODE, "Name|Priority\n", "my jobs.swf")
    assert found.source == f"{tmp_path / 'slurm.conf'} and {tmp_path / 'qos.txt'}"
    assert found.keys["workload"] == {
        "kind": ("csv", "the format of your file of jobs"),
        "path": ("my jobs.swf", "your file of jobs, with the times that they ask for"),
        "kill_at_limit": (True, "Slurm ends a job at its time limit"),
    }
    assert made(NODE).source == str(tmp_path / "slurm.conf")


SCONTROL = """\
NodeName=gpu01 Arch=x86_64
   CPUAlloc=8 CPUTot=64
   Gres=gpu:a100:4(S:0-1)
   OS=Linux 5.15.0
   RealMemory=2048 AllocMem=1000
   Partitions=main PartitionName=x

NodeName=cpu01 Arch=x86_64
   CPUAlloc=0 CPUTot=32
   Gres=(null)
"""


def test_nodes_of_scontrol(made):
    found = made(SCONTROL)
    assert values(found, "cluster") == {
        "kind": "nodes", "num_nodes": 1, "gpus_per_node": 4, "cpus_per_node": 64, "memory_gb_per_node": 2.147483648,
        "gpu_type": "A100",
    }  # fmt: skip
    assert found.unused == ["nodename=cpu01 gres=(null) cpus=32 (no GPU)"]
    assert values(made(SCONTROL.replace(" CPUTot=64", "")), "cluster").get("cpus_per_node") is None


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        # a node in two partitions counts once; "+" is "at least"
        ("NODELIST CPUS MEMORY GRES\na 64+ 2048+ gpu:4\na 64+ 2048+ gpu:4\nb 64 2048 gpu:4\n", [(2, 4, 64, 2.147483648)]),
        ("hostnames gres\n\na gpu:4\nb gpu:2\n", [(1, 4, None, None), (1, 2, None, None)]),
        # groups of nodes, named or not
        ("NODES GRES\n3 gpu:4\n2 gpu:4\n", [(5, 4, None, None)]),
        ("NODES NODELIST GRES\n9 a[1-3] gpu:4\n", [(3, 4, None, None)]),
        ("NODES GRES CPUS\n12 gpu:4 8\n1 gpu:4 16\n", [(12, 4, 8, None), (1, 4, 16, None)]),
    ],
)  # fmt: skip
def test_nodes_of_sinfo(made, text, groups):
    found = made(text)
    keys = ("num_nodes", "gpus_per_node", "cpus_per_node", "memory_gb_per_node")
    tables = [t for t in found.keys if t.startswith("cluster") and "num_nodes" in found.keys[t]]
    assert [tuple(values(found, table).get(key) for key in keys) for table in tables] == groups


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("NODELIST GRES\na gpu:4\nb\n", "row 2 is 'b', expected NODELIST GRES"),
        ("NODES GRES\nx gpu:4\n", "row 1 is 'x gpu:4', expected NODES GRES"),
        (f"NODES GRES\n{'9' * 50} gpu\n", f"row 1 is '{'9' * 40}', expected NODES GRES"),
        ("CPUS GRES\n8 gpu:4\n", "row 1 is '8 gpu:4', expected CPUS GRES"),
    ],
)
def test_rows_of_sinfo_that_are_none(made, text, row):
    wrong(made, row, text)


# -- policy -------------------------------------------------------------------------------------


def test_in_order_alone(made):
    found = made(f"SchedulerType=sched/builtin\nPriorityType=priority/basic\n{NODE}")
    assert found.keys[""] == {"policy": ("fifo-strict", "SchedulerType=sched/builtin")}
    assert "policy_options" not in found.keys
    assert found.unused == ["prioritytype=priority/basic"]


def test_slurms_defaults(made):
    """What slurm.conf does not say is what Slurm does then."""
    found = made(NODE)
    assert found.keys[""] == {
        "policy": ("conservative-backfill", "SchedulerType=sched/backfill: all jobs have reservations")
    }  # fmt: skip
    assert found.keys["policy_options"] == {
        "bf_window_s": (86_400.0, "Slurm's default of bf_window"),
        "bf_max_job_test": (500, "Slurm's default of bf_max_job_test"),
        "bf_resolution_s": (60.0, "Slurm's default of bf_resolution"),
        "order": ("multifactor", "PriorityType=priority/multifactor"),
        "weight_age": (0.0, "Slurm's default of priorityweightage"),
    }
    assert isinstance(values(found, "policy_options")["bf_max_job_test"], int)
    assert found.unused == []


@pytest.mark.parametrize(
    ("setting", "option", "value"),
    [
        ("SchedulerParameters=bf_window=2880", "bf_window_s", 172_800.0),
        ("SchedulerParameters=bf_max_job_test=7", "bf_max_job_test", 7),
        ("SchedulerParameters=,bf_resolution=30", "bf_resolution_s", 30.0),
        ("PriorityWeightAge=500", "weight_age", 500.0),
        ("PriorityWeightFairshare=2.5", "weight_fairshare", 2.5),
        ("PriorityWeightJobSize=3", "weight_size", 3.0),
        ("PriorityWeightQOS=4", "weight_qos", 4.0),
        ("PriorityWeightPartition=5", "weight_partition", 5.0),
        ("PriorityMaxAge=3-12", "max_age_s", 302_400.0),
        ("PriorityMaxAge=0", "max_age_s", 0.0),
        ("PriorityDecayHalfLife=14-0", "half_life_s", 1_209_600.0),
        ("PriorityFavorSmall=YES", "favor_small", True),
        ("PriorityFavorSmall=no", "favor_small", False),
    ],
)
def test_an_option(made, setting, option, value):
    found = made(f"{setting}\n{NODE}")
    assert values(found, "policy_options")[option] == value
    assert found.unused == []
    key, _, text = setting.partition("=")
    told = reasons(found, "policy_options")[option]
    if key == "SchedulerParameters":
        assert told == text.lstrip(",")
    elif key == "PriorityFavorSmall":
        assert told == setting
    else:
        assert told == f"{key.lower()}={text}"


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("PriorityWeightAge=much", "priorityweightage is 'much', expected a number >= 0, of at most 15 digits"),
        ("PriorityWeightAge=-1", "priorityweightage is '-1', expected a number >= 0, of at most 15 digits"),
        ("SchedulerParameters=bf_window=x", "bf_window is 'x', expected a number >= 0, of at most 15 digits"),
        ("PriorityMaxAge=soon", "prioritymaxage is 'soon', expected a time like 7-0 or 12:00:00"),
    ],
)  # fmt: skip
def test_an_option_that_is_none(made, setting, told):
    wrong(made, told, f"{setting}\n{NODE}")


def test_another_order_than_multifactor(made):
    """First come, first served; weights are not used then, and said so."""
    found = made(
        f"PriorityType=priority/basic\nPriorityWeightAge=5\nPriorityMaxAge=7-0\nPriorityFavorSmall=yes\n{NODE}"
    )
    assert values(found, "policy_options") == {
        "bf_window_s": 86_400.0, "bf_max_job_test": 500, "bf_resolution_s": 60.0, "order": "fifo",
    }  # fmt: skip
    assert reasons(found, "policy_options")["order"] == "PriorityType=priority/basic"
    assert found.unused == ["priorityweightage=5", "prioritymaxage=7-0", "priorityfavorsmall=yes"]


def test_parameters_that_have_no_counterpart(made):
    found = made(
        f"SchedulerParameters=bf_continue,bf_max_job_user=3,bf_window=10\nAuthType=munge\n{NODE}"
    )
    assert found.unused == [
        "SchedulerParameters bf_continue", "SchedulerParameters bf_max_job_user=3", "authtype=munge",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "tree", "because", "unused"),
    [
        ("", True, "Slurm's default; users are siblings", []),
        ("PriorityFlags=NO_FAIR_TREE", False, "PriorityFlags=NO_FAIR_TREE", []),
        ("PriorityFlags=MAX_TRES,NO_FAIR_TREE", False, "PriorityFlags=NO_FAIR_TREE", ["priorityflags=MAX_TRES,NO_FAIR_TREE"]),
        ("PriorityFlags=MAX_TRES", True, "Slurm's default; users are siblings", ["priorityflags=MAX_TRES"]),
    ],
)  # fmt: skip
def test_fair_shares(made, flags, tree, because, unused):
    found = made(f"PriorityWeightFairshare=9\n{flags}\n{NODE}")
    assert found.keys["policy_options"]["fair_tree"] == (tree, because)
    assert found.keys["tenants"] == {"by": ("user", "of whom usage counts")}
    assert found.unused == unused
    assert "fair_tree" not in made(f"{flags}\n{NODE}").keys["policy_options"]
    assert "tenants" not in made(f"{flags}\n{NODE}").keys


# -- nodes of partitions -------------------------------------------------------------------------


def groups_of(imported) -> dict:
    return {
        name.removeprefix("cluster.groups."): (values(imported, name)["num_nodes"], values(imported, name).get("partitions"))
        for name in imported.keys
        if "groups" in name
    }  # fmt: skip


def test_partitions_are_groups_of_nodes(made):
    """Of six A100 nodes two are in two partitions; of the V100 nodes all are in one; g9 is in none."""
    found = made(
        "NodeName=g[01-06] Gres=gpu:a100:8\nNodeName=v[1-3] Gres=gpu:v100:4\nNodeName=g09 Gres=gpu:a100:8\n"
        "PartitionName=big Nodes=g[01-06] MaxTime=10 Default=YES\nPartitionName=debug Nodes=g0[5-6],v[1-3]\n"
    )
    assert groups_of(found) == {
        "a100": (4, ["big"]), "a100-2": (2, ["big", "debug"]), "v100": (3, ["debug"]),
    }  # fmt: skip
    assert found.unused == ["nodename=g09 (in no partition)", "partitionname=big maxtime=10"]
    assert found.checked().count('partitions = ["debug"]') == 1


@pytest.mark.parametrize(
    "partitions",
    ["", "PartitionName=a Nodes=ALL\n", "PartitionName=a\n", "PartitionName=a Nodes=g[1-2],v1\n"],
)
def test_partitions_of_all_nodes_part_nothing(made, partitions):
    found = made(f"NodeName=g[1-2] Gres=gpu:a100:8\nNodeName=v1 Gres=gpu:v100:8\n{partitions}")
    assert groups_of(found) == {"a100": (2, None), "v100": (1, None)}


def test_all_and_defaults_of_partitions(made):
    found = made(
        "NodeName=g[1-4] Gres=gpu:8\nPartitionName=DEFAULT Nodes=g[1-2]\nPartitionName=a\nPartitionName=b Nodes=ALL\n"
    )
    assert groups_of(found) == {"gpu": (2, ["a", "b"]), "gpu-2": (2, ["b"])}


def test_partitions_of_scontrol_and_sinfo(made):
    one = "NodeName={0} Arch=x\n   CPUAlloc=0 CPUTot=8\n   Gres=gpu:4\n   Partitions={1}\n\n"
    found = made(one.format("a", "gpu,debug") + one.format("b", "gpu"))
    assert groups_of(found) == {"gpu": (1, ["debug", "gpu"]), "gpu-2": (1, ["gpu"])}
    found = made("PARTITION NODELIST GRES\ngpu* a gpu:4\ndebug a gpu:4\ngpu* b gpu:4\n")
    assert groups_of(found) == {"gpu": (1, ["debug", "gpu"]), "gpu-2": (1, ["gpu"])}


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("Sockets=2 CoresPerSocket=16 ThreadsPerCore=2", 64),
        ("SocketsPerBoard=2 Boards=2 CoresPerSocket=8", 32),
        ("CPUs=48 Sockets=2 CoresPerSocket=16 ThreadsPerCore=2", 48),
        ("CoresPerSocket=16", 16),
    ],
)
def test_cpus_by_sockets_and_cores(made, text, cpus):
    assert values(made(f"NodeName=a Gres=gpu:8 {text}\n"), "cluster")["cpus_per_node"] == cpus


def test_each_of_two_default_lines_counts_for_the_lines_after_it(made):
    found = made(
        "NodeName=DEFAULT Gres=gpu:a100:8 CPUs=64\nNodeName=a[1-2]\n"
        "NodeName=DEFAULT Gres=gpu:v100:4 CPUs=32\nNodeName=b[1-3]\n"
    )
    assert groups_of(found) == {"a100": (2, None), "v100": (3, None)}
    cpus = [values(found, f"cluster.groups.{name}")["cpus_per_node"] for name in ("a100", "v100")]
    assert cpus == [64, 32]


def test_jobs_and_nodes_count_memory_in_one_unit(made, tmp_path):
    """Four jobs of 125G (125 x 1024 MiB) fill a node of 512000 MiB exactly, so that none of its GPUs stays idle."""
    from simulator.workloads.registry import read_jobs

    log = tmp_path / "sacct.txt"
    row = "|2026-01-05T08:00:00|2026-01-05T08:00:00|2026-01-05T09:00:00|COMPLETED|gres/gpu=1,mem=125G,node=1"
    log.write_text(
        "JobID|Submit|Start|End|State|AllocTRES\n" + "\n".join(f"{k}{row}" for k in range(4))
    )
    node = values(made("NodeName=a Gres=gpu:4 RealMemory=512000\n"), "cluster")
    assert read_jobs(log).memory_gb.sum() == pytest.approx(node["memory_gb_per_node"], rel=1e-12)


# -- partitions and QOS -------------------------------------------------------------------------


def test_priorities_of_partitions(made):
    """As nodes have defaults, so have they; what a partition's row says beside its nodes is in the list of what is not used."""
    lines = (
        "PartitionName=DEFAULT PriorityJobFactor=7\nPartitionName=a Nodes=ALL\nPartitionName=b PriorityJobFactor=9 State=UP\n"
        "PartitionName=DEFAULT MaxTime=5\nPartitionName=c\n"
    )
    found = made(f"PriorityWeightPartition=1\n{NODE}{lines}")
    assert found.keys["policy_options"]["partition_priority"] == (
        "a=7 b=9 c=7",
        "PriorityJobFactor",
    )
    rows = [
        "partitionname=DEFAULT priorityjobfactor=7",
        "partitionname=b priorityjobfactor=9 state=UP", "partitionname=DEFAULT maxtime=5", "partitionname=c",
    ]  # fmt: skip
    assert found.unused == rows
    assert "partition_priority" not in made(f"{NODE}{lines}").keys["policy_options"]
    assert "partition_priority" not in made(f"PriorityWeightPartition=1\n{NODE}").keys["policy_options"]  # fmt: skip
    one = made(f"PriorityWeightPartition=1\n{NODE}PartitionName=a\n")
    assert values(one, "policy_options")["partition_priority"] == "a=1"
    wrong(
        made, "priorityjobfactor is 'x', expected a number >= 0, of at most 15 digits",
        f"PriorityWeightPartition=1\n{NODE}PartitionName=a PriorityJobFactor=x\n",
    )  # fmt: skip
    builtin = made(
        f"SchedulerType=sched/builtin\nPriorityWeightPartition=1\n{NODE}PartitionName=a X=1\n"
    )
    assert "policy_options" not in builtin.keys


QOS = "Name|Priority|Flags|Preempt\nnormal|10||\n\nhigh|100|DenyOnLimit|normal,low\nlow|||\n"


def test_priorities_of_qos(made):
    found = made(f"PriorityWeightQOS=1\n{NODE}", QOS)
    assert found.keys["policy_options"]["qos_priority"] == (
        "normal=10 high=100 low=0", f"Priority of {made.folder / 'qos.txt'}",
    )  # fmt: skip
    assert found.unused == [
        f"column {name} of {made.folder / 'qos.txt'}" for name in ("flags", "preempt")
    ]
    found = made(NODE, QOS)
    assert "qos_priority" not in found.keys["policy_options"]
    assert found.unused[0] == f"Priority of {made.folder / 'qos.txt'} (PriorityWeightQOS is 0)"


def test_jobs_that_a_user_runs_at_once(made):
    """One QOS has a limit; of two, each would have its own, which a scenario cannot say."""
    found = made(NODE, "Name|Priority|MaxJobsPU\nnormal|0|10\n")
    because = f"MaxJobsPU of {made.folder / 'qos.txt'}"
    assert found.keys["tenants"] == {"by": ("user", because), "max_jobs": (10, because)}
    assert "column maxjobspu" not in " ".join(found.unused)
    for text in (
        "Name|Priority|MaxJobsPU\nnormal|0|10\nlow|0|10\n",
        "Name|Priority|MaxJobsPU\nnormal|0|\n",
    ):
        assert "tenants" not in made(NODE, text).keys
    assert (
        f"column maxjobspu of {made.folder / 'qos.txt'}"
        in made(NODE, "Name|Priority|MaxJobsPU\na|0|10\nb|0|10\n").unused
    )
    with input_error("MaxJobsPU has 'many', expected a whole number"):
        made(NODE, "Name|Priority|MaxJobsPU\nnormal|0|many\n")


def test_which_qos_stops_which(made):
    found = made(f"PreemptType=preempt/qos\n{NODE}", QOS)
    assert found.keys[""]["policy"] == (
        "conservative-backfill@qos-preemption",
        "SchedulerType=sched/backfill: all jobs have reservations; PreemptType=preempt/qos",
    )
    file = made.folder / "qos.txt"
    assert found.keys["policy_options"]["qos-preemption.over"] == (
        "high=normal,low", f"Preempt of {file}; work is kept",
    )  # fmt: skip
    assert found.unused == [
        f"Priority of {file} (PriorityWeightQOS is 0)",
        f"column flags of {file}",
    ]


def test_several_qos_that_stop_others(made):
    qos = "Name|Priority|Preempt\na|3|b,c\nb|2|c\nc|1|\n"
    found = made(f"PreemptType=preempt/qos\n{NODE}", qos)
    assert values(found, "policy_options")["qos-preemption.over"] == "a=b,c b=c"


@pytest.mark.parametrize(
    ("setting", "qos", "unused"),
    [
        ("", QOS, ["column flags", "column preempt"]),
        ("PreemptType=preempt/partition_prio", QOS, ["preempttype=preempt/partition_prio", "column flags", "column preempt"]),
        ("PreemptType=preempt/qos", "Name|Priority|Preempt\na|1|\n", ["preempttype=preempt/qos"]),
        ("PreemptType=preempt/qos", "Name|Priority\na|1\n", ["preempttype=preempt/qos"]),
        ("PreemptType=preempt/qos", None, ["preempttype=preempt/qos"]),
    ],
)  # fmt: skip
def test_no_preemption(made, setting, qos, unused):
    found = made(f"PriorityWeightQOS=1\n{setting}\n{NODE}", qos)
    assert values(found, "")["policy"] == "conservative-backfill"
    assert [each.split(" of ")[0] for each in found.unused] == unused


@pytest.mark.parametrize(
    ("qos", "told"),
    [
        ("", "is empty, expected Name and Priority between |"),
        ("Name|Prio|a|b|c|d\n", "columns are name, prio, a, b, c, expected Name and Priority between |"),
        ("Name|Priority\na|x\n", "priority is 'x', expected a number >= 0, of at most 15 digits"),
        ("Name|Priority\na|1\nb\n", "row 2 has 1 columns, expected 2"),
        ("Name|Priority\na b|1\n", "a name is 'a b', expected one without space, = and comma"),
        ("Name|Priority\n|1\n", "a name is '', expected one without space, = and comma"),
    ],
)  # fmt: skip
def test_a_table_of_qos_that_is_none(made, qos, told):
    wrong(made, told, NODE, qos or "\n")


def test_names_of_columns_in_any_case(made):
    found = made(f"PriorityWeightQOS=1\n{NODE}", " NAME | priority \na|1.5\n")
    assert values(found, "policy_options")["qos_priority"] == "a=1.5"
    assert Path(found.source.split(" and ")[1]).name == "qos.txt"
