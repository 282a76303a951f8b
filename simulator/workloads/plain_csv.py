"""Jobs from a table of any program: names of columns as many use them, of which most may be left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from simulator.errors import InputError
from simulator.model.cluster import SECONDS_PER_HOUR
from simulator.model.tolerances import PART_OF_A_GPU
from simulator.workloads.following import NOT_CARRIED_OUT, following
from simulator.workloads.plausible import in_minutes
from simulator.workloads.tables import InputColumn, Table
from simulator.workloads.trace import Trace

MOST = 1e9
"""GPUs of a job; machines have fewer."""


def _names(names: str) -> tuple[str, ...]:
    return tuple(names.split())


class CsvJobs(Trace):
    """Jobs of fixed demand in CSV, Parquet or JSON lines; rows that are not in order of submission are sorted, with a note.

    Columns are found under many names, in any unit of time that the name ends in. Times are seconds, or dates; these
    count from the first job. A job runs for its duration, or from its start to its end, which count where both are
    there and differ.
    """

    kind: Literal["csv"] = "csv"

    reads = (
        InputColumn("job_id", "", "name of the job; no such column: 1, 2, ..", "text", required=False,
                    aliases=_names("jobid id job jobname name uid uuid taskid task"), gives="job_id"),
        InputColumn("submit_time_s", "s", "time of submission", "time", empty=np.nan, at_least=0,
                    aliases=_names("submit submit_time submitted submitted_at submission submission_time "
                                   "submit_date submission_date arrival arrival_time arrival_s created "
                                   "created_at creation_time create_time creation_date creation_timestamp "
                                   "queued queued_at queue_time enqueued_at timestamp"), gives="submit_s"),
        InputColumn("duration_s", "s", "time on its GPUs", "duration", empty=np.nan,
                    at_least=0, or_else="end_time_s", aliases=_names("duration runtime run_time running_time elapsed elapsed_time "
                    "elapsed_raw execution_time exec_time job_duration service_time run"),
                    gives="duration_s"),
        InputColumn("start_time_s", "s", "start of the run in the log; with end_time_s, in place of duration_s", "time",
                    required=False, empty=np.nan, aliases=_names("recorded_start_s start start_time started started_at begin "
                    "begin_time start_date execution_start"), gives="start_s"),
        InputColumn("end_time_s", "s", "end of the run, where duration_s is not there", "time", required=False,
                    empty=np.nan, aliases=_names("end end_time ended ended_at finish finish_time finished "
                    "finished_at completion completion_time completed completed_at stop stop_time end_date"),
                    gives="end_s"),
        InputColumn("num_gpus", "", "GPUs, all at once and wherever they are; also a part of one", "number",
                    empty=np.nan, at_least=0, at_most=MOST, or_else="gpus_per_node",
                    aliases=_names("gpus gpu num_gpu n_gpus n_gpu gpu_num gpu_count gpus_count gpu_request "
                    "gpus_requested requested_gpus req_gpus alloc_gpus allocated_gpus gpus_allocated "
                    "gpus_total total_gpus number_of_gpus"), gives="num_gpus"),
        InputColumn("num_nodes", "", "nodes on which it lies in equal parts, 1: on one; empty: any", "integer",
                    required=False, empty=0.0, at_least=0, at_most=MOST, aliases=_names("nodes n_nodes node_num "
                    "node_count num_node nnodes")),
        InputColumn("gpus_per_node", "", "GPUs on each of its nodes; without num_gpus, on num_nodes or one",
                    "integer", required=False, empty=0.0, at_least=0, at_most=MOST, aliases=_names("gpus_node "
                    "gpu_per_node")),
        InputColumn("one_rack", "", "1: its nodes lie in one rack; empty: anywhere", "integer", required=False,
                    empty=0.0, at_least=0, at_most=1, aliases=_names("contiguous same_rack")),
        InputColumn("gpu_type", "", "type of GPU that it asks for and that the duration is of, or types that will do, A100|H100; empty: any", "text", required=False,
                    empty="", aliases=_names("gpu_types gpu_model gpu_models"), gives="gpu_types"),
        InputColumn("cpus_per_gpu", "", "CPUs for each GPU, where num_cpus is not there", "number",
                    required=False, empty=np.nan, at_least=0),
        InputColumn("memory_gb_per_gpu", "GB", "memory for each GPU, where memory_gb is not there", "number",
                    required=False, empty=np.nan, at_least=0),
        InputColumn("account", "", "who pays for it", "text", required=False, empty="",
                    aliases=_names("project group"), gives="account"),
        InputColumn("num_cpus", "", "CPUs of the whole job; empty: none are counted", "number",
                    required=False, empty=np.nan, at_least=0, aliases=_names("cpus cpu num_cpu n_cpus cpu_num "
                    "cpu_count cpu_request req_cpus alloc_cpus cores num_cores cpu_cores"), gives="num_cpus"),
        InputColumn("memory_gb", "GB", "memory of the whole job; empty: none is counted", "number",
                    required=False, empty=np.nan, at_least=0, aliases=_names("mem_gb ram_gb"),
                    gives="memory_gb"),
        InputColumn("model", "", "trained network, for models of sensitivity and rate", "text",
                    required=False, empty="", aliases=_names("model_name network"), gives="model"),
        InputColumn("due_s", "s", "due date, on the clock of submit_time_s; empty: none", "time",
                    required=False, empty=np.inf, at_least=0, aliases=_names("due due_date due_time deadline"),
                    gives="due_s"),
        InputColumn("tardiness_weight_per_h", "currency/h", "cost of an hour of tardiness", "number",
                    required=False, empty=0.0, at_least=0, gives="weight_per_s", per=SECONDS_PER_HOUR),
        InputColumn("requested_s", "s", "time asked for; empty: not known", "duration",
                    required=False, empty=np.nan, more_than=0, aliases=_names("requested requested_time "
                    "time_requested time_limit limit walltime req_walltime wallclock_limit"),
                    gives="requested_s"),
        InputColumn("priority", "", "priority, the highest first", "number",
                    required=False, empty=0.0, aliases=_names("prio job_priority"), gives="priority"),
        InputColumn("user", "", "owner of the job", "text", required=False, empty="",
                    aliases=_names("user_id user_name owner submitter"), gives="user"),
        InputColumn("vc", "", "virtual cluster", "text", required=False, empty="",
                    aliases=_names("virtual_cluster partition"), gives="vc"),
        InputColumn("after", "", "jobs that it follows: names, or afterok:a:b,afterany:c", "text",
                    required=False, empty="", aliases=_names("dependency dependencies depends_on")),
        InputColumn("think_time_s", "s", "time after their end until it is submitted", "duration",
                    required=False, empty=0.0, at_least=0, aliases=_names("think_time thinktime")),
        InputColumn("qos", "", "quality of service", "text", required=False, empty="", gives="qos"),
        InputColumn("state", "", "how the job ended in the log", "text", required=False, empty="",
                    aliases=_names("status job_state job_status final_state exit_state outcome"), gives="state"),
    )  # fmt: skip
    example = """\
job_id,submit_time_s,duration_s,num_gpus,model,due_s
a,0,3600,2,resnet50,7200
"""
    is_log = False

    def table(self, raw: Table) -> Table:
        """The rows, limits in minutes where that is their unit."""
        return in_minutes(raw, "requested_s") if "requested_s" in raw else raw

    def parse(self, table: Table) -> dict[str, Any]:
        """All times are dates, or none is."""
        if "duration_s" not in table and "start_time_s" not in table:
            raise InputError(
                f"{table.path}: column 'duration_s' is missing, expected it, or start_time_s beside "
                f"{table.titles['end_time_s']}"
            )
        times = [c.name for c in self.reads if c.type == "time" and c.name in table]
        dated = {name: table.is_dated(name) for name in times if table.is_known(name)}
        if len({*dated.values()}) > 1:
            kinds = [f"{table.titles[n]} {'dates' if d else 'seconds'}" for n, d in dated.items()]
            raise InputError(f"{table.path}: {', '.join(kinds)}, expected the same of all times")
        found = super().parse(table)
        found["gpu_type"] = ["" if "|" in text else text for text in table.texts("gpu_type")]
        if "after" in table:
            think_s = table.numbers("think_time_s").tolist()
            found["after"] = [
                following(text, s)[0] for text, s in zip(table.texts("after"), think_s, strict=True)
            ]
        if "due_s" in table:
            early = np.less(found["due_s"], found["submit_s"])
            table.require("due_s", ~early, "a time not before submit_time_s")
        return found | _demands(table, found)

    def notes(self, table: Table, kept: Any) -> Mapping[str, int]:
        """Dependencies of other kinds."""
        if "after" not in table:
            return {}
        others = np.array([following(text)[1] > 0 for text in table.texts("after")])
        return {NOT_CARRIED_OUT: int((kept & others).sum())}


def _demands(table: Table, found: Mapping[str, Any]) -> dict[str, Any]:
    """GPUs, nodes, CPUs and memory of the whole jobs, of which some may be told for a node or a GPU."""
    nodes, each = table.numbers("num_nodes"), table.numbers("gpus_per_node")
    gpus = np.where(np.isnan(found["num_gpus"]), np.maximum(nodes, 1) * each, found["num_gpus"])
    whole = np.ceil(gpus - PART_OF_A_GPU)  # a part of a GPU is on one node
    told = (nodes == 0) | (each == 0) | (nodes * each == whole)
    if "gpus_per_node" in table:
        good = told & (whole % np.maximum(each, 1) == 0)
        table.require("gpus_per_node", good, "a number that times its nodes is its GPUs")
    nodes = np.where(each > 0, whole / np.maximum(each, 1), nodes)
    if "num_nodes" in table:
        good = whole % np.maximum(nodes, 1) == 0
        table.require("num_nodes", good, "a number that divides its GPUs")
    more = {}
    for name in ("num_cpus", "memory_gb"):
        of_gpus = gpus * table.numbers(name.replace("num_", "") + "_per_gpu")
        more[name] = np.where(np.isnan(found[name]), of_gpus, found[name])
    one_rack = table.numbers("one_rack") > 0
    return {"num_gpus": gpus, "num_nodes": nodes.astype(np.int64), "one_rack": one_rack, **more}
