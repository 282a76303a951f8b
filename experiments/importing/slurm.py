"""Slurm's settings: slurm.conf, or the nodes of `scontrol show node` or `sinfo`, and tables of `sacctmgr -P show`."""

from __future__ import annotations

import math
import re
from itertools import count, product
from pathlib import Path

import numpy as np

from experiments.importing.imported import Imported, format_of, jobs_in
from experiments.importing.slurm_events import write_outages
from experiments.importing.slurm_limits import ImportedLimits, list_unused, owners_of, piped
from simulator.arguments import MOST_NODES
from simulator.errors import InputError
from simulator.files.inputs import MOST_CONFIG_BYTES, read_input
from simulator.workloads.gpu_types import known_gpu_type
from simulator.workloads.slurm_text import seconds_of

WEIGHTS = {
    "priorityweightage": "weight_age", "priorityweightfairshare": "weight_fairshare",
    "priorityweightjobsize": "weight_size", "priorityweightqos": "weight_qos",
    "priorityweightpartition": "weight_partition",
}  # fmt: skip
TIMES = {"prioritymaxage": "max_age_s", "prioritydecayhalflife": "half_life_s"}
PLANS = {
    "bf_window": ("bf_window_s", 60.0, 1440),
    "bf_max_job_test": ("bf_max_job_test", 1, 500),
    "bf_resolution": ("bf_resolution_s", 1.0, 60),
}
"""Options of backfilling by Slurm's names: ours, our unit in theirs, and Slurm's default."""
WHOLE = re.compile(r"[0-9]{1,9}")
SCONTROL = ("nodename", "gres", "cpus", "realmemory", "partitions")
"""What is read of a node of ``scontrol show node``."""
CORES = ("boards", "sockets", "socketsperboard", "corespersocket", "threadspercore")
"""Whose product are the CPUs of a node, where it does not state them."""
Row = dict[str, str]
Kind = tuple[int, str, str | None, str | None, tuple[str, ...] | None]
"""GPUs of a node and their type, CPUs and memory as they are written, and its partitions; None: it tells none."""


def from_slurm(
    conf: Path,
    qos: Path | None,
    jobs: str,
    assoc: Path | None = None,
    events: Path | None = None,
    out: Path = Path("scenario.toml"),
) -> Imported:
    """A scenario with the nodes, the order and the backfilling of slurm.conf.

    Parameters
    ----------
    qos, assoc, events : outputs of ``sacctmgr -P show`` of these names.
    jobs : the file of jobs, as it is named from the folder of the scenario. Where it is there, limits of names without a
        job are left out.
    out : the scenario. The outages of ``events`` lie beside it, see `Imported.files`.

    Raises InputError: no such file, or no node with GPUs in it.
    """
    made = Imported(" and ".join(str(path) for path in (conf, qos, assoc, events) if path))
    rows = _rows(conf)
    nodes, partitions = _named(rows, "nodename"), _named(rows, "partitionname")
    others = [row for row in rows if not {"nodename", "partitionname"} & set(row)]
    settings = {key: value for row in others if len(row) == 1 for key, value in row.items()}
    made.set("workload", "kind", format_of(out.parent / jobs), "the format of your file of jobs")
    made.set("workload", "path", jobs, "your file of jobs, with the times that they ask for")
    known = jobs_in(out.parent / jobs)
    if known is None or not np.isnan(known.requested_s).all():
        made.set("workload", "kill_at_limit", True, "Slurm ends a job at its time limit")
    else:
        made.unused.append(
            f"limits of time: the jobs of {jobs} state none, so each is expected to run as long as it does"
        )
    names = _nodes(made, conf, nodes, partitions)
    cluster = settings.pop("clustername", "") if assoc or events else ""
    _order(made, conf, settings)
    if "weight_partition" in made.keys.get("policy_options", ()) and partitions:
        named = _by_name(
            conf, "priorityjobfactor",
            {p["partitionname"]: p.get("priorityjobfactor", "1") for p in partitions},
        )  # fmt: skip
        made.set("policy_options", "partition_priority", named, "PriorityJobFactor")
    limits = ImportedLimits()
    if qos is not None:
        _qos(made, qos, settings.get("preempttype", ""), limits)
    if assoc is not None:
        limits.add_associations(made, assoc, cluster)
    limits.write(made, None if known is None else owners_of(known))
    if events is not None:
        write_outages(made, events, names, cluster, out.with_name(f"{out.stem}-outages.csv"))
    made.unused += [_written(left) for row in rows if (left := _left_of_partition(row))]
    made.unused += [_written(row) for row in others if len(row) > 1]
    return made


def _rows(path: Path) -> list[Row]:
    """Lines of KEY=VALUE, those that end in a backslash put together; keys in small letters.

    What ``scontrol show node`` writes is a row a node, and so are the lines of ``sinfo`` with a column GRES.
    """
    text = read_input(path, "slurm.conf", MOST_CONFIG_BYTES).decode("utf-8", "replace")
    lines = [re.sub(r"(^|\s)#.*", "", line) for line in re.sub(r"\\\r?\n", " ", text).splitlines()]
    header = next((line.upper().split() for line in lines if line.strip()), [])
    if "GRES" in header:
        return _sinfo(path, header, [line for line in lines if line.strip()][1:])
    is_scontrol = any("CPUAlloc=" in line for line in lines)
    if is_scontrol:
        lines = re.sub(r"\n[ \t]+", " ", "\n".join(lines)).split("\n")
    rows = []
    for number, line in enumerate(lines, start=1):
        plain = line.strip()
        if not plain:
            continue
        row = {k.lower(): v.strip('"') for k, v in re.findall(r'(\w+)=("[^"]*"|\S*)', plain)}
        if not row:
            raise InputError(f"{path}: line {number} is {plain[:40]!r}, expected KEY=VALUE")
        if is_scontrol:
            row |= {"cpus": row.get("cputot", "")}
            row = {k: v for k, v in row.items() if k in SCONTROL}
        rows.append(row)
    return rows


def _sinfo(path: Path, header: list[str], lines: list[str]) -> list[Row]:
    """Nodes of ``sinfo -N -o "%P %N %c %m %G"``, or groups of them (%D); one in several partitions (%P) counts once."""
    rows: dict[str, Row] = {}
    for number, line in enumerate(lines):
        row = dict(zip(header, line.split(), strict=False))
        name = row.get("NODELIST") or row.get("HOSTNAMES")
        many = row.get("NODES", "")
        if len(row) < len(header) or not (name or WHOLE.fullmatch(many)):
            raise InputError(
                f"{path}: row {number + 1} is {line[:40]!r}, expected {' '.join(header)}"
            )
        known = rows.get(name or f"{number}", {}).get("partitions", "")
        here = row.get("PARTITION", "").rstrip("*")
        rows[name or f"{number}"] = {
            "partitions": f"{known},{here}".strip(","),
            "nodename": name or f"nodes{number}-[1-{many}]", "gres": row["GRES"],
            "cpus": row.get("CPUS", "").rstrip("+"), "realmemory": row.get("MEMORY", "").rstrip("+"),
        }  # fmt: skip
    return list(rows.values())


def _named(rows: list[Row], key: str) -> list[Row]:
    """Rows with this key; those of the name DEFAULT are what is meant from there on where a row does not say it."""
    default: Row = {}
    found = []
    for row in rows:
        if row.get(key, "").upper() == "DEFAULT":
            default = {**default, **row}
        elif key in row:
            found.append({**default, **row})
    return found


def _written(row: Row) -> str:
    return " ".join(f"{key}={value}" for key, value in row.items())


def _count(conf: Path, names: str) -> int:
    """Nodes of a list of names: "gpu[01-16,20],login" are 18."""
    found = 0
    for name in re.findall(r"[^,\[]+(?:\[[^\]]*\][^,\[]*)*", names):
        many = 1
        for inside in re.findall(r"\[([^\]]*)\]", name):
            ends = [each.partition("-") for each in inside.split(",")]
            many *= sum(
                max(_whole(conf, "nodename", last) - _whole(conf, "nodename", first) + 1, 0)
                if dash
                else 1
                for first, dash, last in ends
            )
        found += many
    return found


def _gpus(conf: Path, row: Row) -> tuple[int, str]:
    """GPUs of a node, and their type where it is named."""
    kinds = re.findall(r"gpu(?::([A-Za-z][\w.-]*))?(?::([0-9]+))?", row.get("gres", ""))
    counts = [_whole(conf, "gres", count or "1") for _, count in kinds]
    return sum(counts), next((t for t, _ in kinds if t), "")


def _left_of_partition(row: Row) -> Row:
    """Settings of a partition that are not used; nothing of one that only names its nodes."""
    used = ("nodes", "default") if "nodes" in row else ()
    left = {key: value for key, value in row.items() if key not in used}
    return left if "partitionname" in row and (len(left) > 1 or "nodes" not in row) else {}


def _members(conf: Path, partitions: list[Row]) -> dict[str, frozenset[str] | None]:
    """Nodes of each partition that tells some; None: all."""
    found: dict[str, frozenset[str] | None] = {}
    for row in partitions:
        if "nodes" in row:
            nodes = row["nodes"]
            everywhere = nodes.upper() == "ALL"
            found[row["partitionname"]] = None if everywhere else frozenset(_names(conf, nodes))
    return found


def _names(conf: Path, names: str) -> list[str]:
    """The names of a list: "gpu[01-02],login" are gpu01, gpu02 and login; at most `MOST_NODES`."""
    if _count(conf, names) > MOST_NODES:
        raise InputError(f"{conf}: {names[:40]!r} names over {MOST_NODES:,} nodes, expected fewer")
    found = []
    for name in re.findall(r"[^,\[]+(?:\[[^\]]*\][^,\[]*)*", names):
        parts = [_each_of(part) for part in re.split(r"(\[[^\]]*\])", name)]
        found += ["".join(each).strip() for each in product(*parts)]
    return found


def _each_of(part: str) -> list[str]:
    """The texts of "[01-03,7]", which keep their zeros; of another text, it."""
    if part[:1] != "[":
        return [part]
    found = []
    for each in part[1:-1].split(","):
        first, dash, last = each.partition("-")
        found += (
            [f"{n:0{len(first)}d}" for n in range(int(first), int(last) + 1)] if dash else [each]
        )
    return found


def _nodes(made: Imported, conf: Path, rows: list[Row], partitions: list[Row]) -> list[str]:
    """The nodes with GPUs: equal servers, or a group of each kind. Returns their names, in the order of the scenario's nodes."""
    kinds: dict[Kind, list[Row]] = {}
    members = _members(conf, partitions)
    for row in rows:
        of_node, type_of_node = _gpus(conf, row)
        if not of_node:
            made.unused.append(f"{_written(row)} (no GPU)")
            continue
        for inside, names in _by_partition(conf, row, members).items():
            if inside == ():
                made.unused.append(f"nodename={names} (in no partition)")
                continue
            alike = (of_node, type_of_node, _cpus(conf, row), row.get("realmemory"), inside)
            kinds.setdefault(alike, []).append(row | {"nodename": names})
    if not kinds:
        raise InputError(f"{conf}: no node with GPUs, expected NodeName=.. Gres=gpu:..")
    if len({inside for *_, inside in kinds}) == 1:  # jobs of other partitions do not run here
        kinds = {(*alike[:4], None): of_kind for alike, of_kind in kinds.items()}
    listed = [row["nodename"] for of_kind in kinds.values() for row in of_kind]
    every = [name for text in listed for name in _names(conf, text)]
    if len(kinds) == 1:
        made.set("cluster", "kind", "nodes", "equal servers")
        _servers(made, conf, "cluster", *kinds.popitem())
        return every
    made.set("cluster", "kind", "mixed", f"{len(kinds)} kinds of servers")
    for alike, of_kind in kinds.items():
        name = re.sub(r"\W", "-", alike[1] or "gpu", flags=re.ASCII).lower()
        named = (f"cluster.groups.{name}{f'-{n}' if n > 1 else ''}" for n in count(1))
        table = next(table for table in named if table not in made.keys)
        _servers(made, conf, table, alike, of_kind)
    return every


def _by_partition(
    conf: Path, row: Row, members: dict[str, frozenset[str] | None]
) -> dict[tuple[str, ...] | None, str]:
    """Names of a row's nodes by the partitions that they are in, None where no partition tells its nodes."""
    if row.get("partitions"):  # scontrol, sinfo
        return {tuple(sorted({*row["partitions"].split(",")})): row["nodename"]}
    if not members or not _count(conf, row["nodename"]):
        return {None: row["nodename"]}
    found: dict[tuple[str, ...] | None, list[str]] = {}
    for name in _names(conf, row["nodename"]):
        inside = tuple(sorted(p for p, of in members.items() if of is None or name in of))
        found.setdefault(inside, []).append(name)
    if len(found) == 1:
        return dict.fromkeys(found, row["nodename"])
    return {inside: ",".join(names) for inside, names in found.items()}


def _cpus(conf: Path, row: Row) -> str | None:
    """CPUs of a node as they are written, else the product of its boards, sockets, cores and threads."""
    parts = [row[key] for key in CORES if row.get(key)]
    if row.get("cpus") or not parts:
        return row.get("cpus")
    return str(math.prod(_whole(conf, "CPUs", part) for part in parts))


def _servers(made: Imported, conf: Path, table: str, alike: Kind, rows: list[Row]) -> None:
    """The keys of equal servers."""
    gpus, gpu_type, cpus, memory_mb, partitions = alike
    names = ", ".join(f"NodeName={row['nodename']}" for row in rows)
    made.set(table, "num_nodes", sum(_count(conf, row["nodename"]) for row in rows), names)
    made.set(table, "gpus_per_node", gpus, f"Gres={rows[0]['gres']}")
    if WHOLE.fullmatch(cpus or ""):
        made.set(table, "cpus_per_node", int(str(cpus)), f"CPUs={cpus}")
    if WHOLE.fullmatch(memory_mb or ""):
        memory_gb = int(str(memory_mb)) * 2**20 / 1e9
        made.set(table, "memory_gb_per_node", memory_gb, f"RealMemory={memory_mb} MiB")
    if known := known_gpu_type(gpu_type):
        made.set(table, "gpu_type", known, f"GPU type {gpu_type}")
    elif gpu_type:
        made.unused.append(f"the GPU type {gpu_type}, of which no speed is known")
    if partitions is not None:
        made.set(table, "partitions", [*partitions], "PartitionName=.. Nodes=..")


def _order(made: Imported, conf: Path, settings: Row) -> None:
    """Policy and options; what has none here is listed."""
    left = dict(settings)
    scheduler = left.pop("schedulertype", "sched/backfill")
    if scheduler == "sched/builtin":
        made.set("", "policy", "fifo-strict", f"SchedulerType={scheduler}")
        made.unused += [f"{key}={value}" for key, value in left.items()]
        return
    made.set(
        "",
        "policy",
        "conservative-backfill",
        f"SchedulerType={scheduler}: all jobs have reservations",
    )
    parameters = dict(
        each.partition("=")[::2] for each in left.pop("schedulerparameters", "").split(",") if each
    )
    for name, (option, unit, default) in PLANS.items():
        given = parameters.pop(name, None)
        value = _number(conf, name, given or str(default)) * unit
        value = int(value) if isinstance(unit, int) else value
        made.set(
            "policy_options",
            option,
            value,
            f"{name}={given}" if given else f"Slurm's default of {name}",
        )
    made.unused += [f"SchedulerParameters {k}={v}".rstrip("=") for k, v in parameters.items()]
    kind = left.pop("prioritytype", "priority/multifactor")
    is_multi = kind == "priority/multifactor"
    made.set(
        "policy_options", "order", "multifactor" if is_multi else "fifo", f"PriorityType={kind}"
    )
    for key, option in (WEIGHTS | TIMES).items() if is_multi else ():
        if key in left:
            text = left.pop(key)
            value = _seconds(conf, key, text) if key in TIMES else _number(conf, key, text)
            made.set("policy_options", option, value, f"{key}={text}")
        elif key == "priorityweightage":
            made.set("policy_options", option, 0.0, f"Slurm's default of {key}")
    if "weight_fairshare" in made.keys["policy_options"]:
        flags = left.get("priorityflags", "").split(",")
        is_tree = "NO_FAIR_TREE" not in flags
        because = "Slurm's default; users are siblings" if is_tree else "PriorityFlags=NO_FAIR_TREE"
        if flags == ["NO_FAIR_TREE"]:
            del left["priorityflags"]
        made.set("policy_options", "fair_tree", is_tree, because)
        made.set("tenants", "by", "user", "of whom usage counts")
    if is_multi and "priorityfavorsmall" in left:
        text = left.pop("priorityfavorsmall")
        made.set(
            "policy_options", "favor_small", text.lower() == "yes", f"PriorityFavorSmall={text}"
        )
    made.unused += [f"{key}={value}" for key, value in left.items()]


def _qos(made: Imported, path: Path, preempt_type: str, limits: ImportedLimits) -> None:
    """Priorities of the QOS, which stops which, and their limits; other columns are listed."""
    rows = piped(path, "sacctmgr -P show qos", "Name", "Priority")
    named = _by_name(path, "priority", {row["name"]: row["priority"] or "0" for row in rows})
    if "weight_qos" in made.keys.get("policy_options", ()):
        made.set("policy_options", "qos_priority", named, f"Priority of {path}")
    else:
        made.unused.append(f"Priority of {path} (PriorityWeightQOS is 0)")
    used = {"name", "priority"}
    over = " ".join(f"{row['name']}={row['preempt']}" for row in rows if row.get("preempt"))
    if over and preempt_type == "preempt/qos":
        policy, because = made.keys[""]["policy"]
        made.set("", "policy", f"{policy}@qos-preemption", f"{because}; PreemptType={preempt_type}")
        made.set("policy_options", "qos-preemption.over", over, f"Preempt of {path}; work is kept")
        made.unused.remove(f"preempttype={preempt_type}")
        used.add("preempt")
    used |= limits.add_qos(made, path, rows)
    list_unused(made, path, rows, used)


def _by_name(path: Path, key: str, numbers: Row) -> str:
    """Numbers by name as the policy `multifactor` reads them: "high=100 normal=10"."""
    for name in numbers:
        if not re.fullmatch(r"[^\s=,]+", name):
            raise InputError(f"{path}: a name is {name!r}, expected one without space, = and comma")
    return " ".join(f"{name}={_number(path, key, text):.15g}" for name, text in numbers.items())


def _whole(path: Path, key: str, text: str) -> int:
    if not WHOLE.fullmatch(text):
        raise InputError(f"{path}: {key} has {text!r}, expected a whole number below a billion")
    return int(text)


def _number(path: Path, key: str, text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,15})?", text):
        raise InputError(f"{path}: {key} is {text!r}, expected a number >= 0, of at most 15 digits")
    return float(text)


def _seconds(path: Path, key: str, text: str) -> float:
    found_s = seconds_of(text)
    if not found_s >= 0:
        raise InputError(f"{path}: {key} is {text!r}, expected a time like 7-0 or 12:00:00")
    return found_s
