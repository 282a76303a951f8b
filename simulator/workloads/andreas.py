"""ANDREAS: nodes of fixed types with energy prices, the simulated scenarios, the ARMIDA replay.

Filippini et al., "ANDREAS: Artificial intelligence traiNing scheDuler foR accElerAted resource
clusterS", Section V; what the paper leaves open follows the authors' public generator: jobs come
in clusters of ten at a high or a low rate, due dates are uniform between a job's least and longest
time after its submission, weights between 0.025 and 0.045 EUR/s.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from simulator.arguments import MOST_JOBS, MOST_NODES, expect_few
from simulator.files.bundled import read_table
from simulator.files.keys import NonNegative, PositiveInt
from simulator.model.cluster import SECONDS_PER_HOUR, Cluster, FloatArray, NodeType
from simulator.model.performance import TimeTable
from simulator.model.workload import Workload
from simulator.workloads.energy import ENERGY_EUR_PER_KWH, PUE
from simulator.workloads.table import Setting, WorkloadTable

Arrivals = Literal["high", "low", "mixed"]
Rates = Literal["measured", "node"]
SLOWDOWN = {
    "measured": {"high": 2.5, "low": 10.0},
    "node": {"high": 3 / 1.3, "low": 12 / 1.3},
}
"""The rate is that of jobs that the nodes could finish on V100 alone, over this."""
MEASURED_GPUS = 2
"""The most GPUs on which the authors timed a job."""
CLUSTER_OF_JOBS = 10
WEIGHTS_PER_S = (0.025, 0.045)

V100_T4_OF_SCENARIO = {1: (2, 1), 2: (4, 2)}
"""GPUs of a V100 node and of a T4 node in the paper's two scenarios."""


class AndreasJobs(WorkloadTable):
    """The random scenarios of ANDREAS, Section V-B, with their nodes and energy price."""

    kind: Literal["andreas"] = "andreas"
    num_nodes: Annotated[int, Field(ge=2, le=MOST_NODES)] = 10
    """nodes, which the workload brings; every second one has V100, the others T4"""
    scenario: Literal[1, 2] = 1
    """scenario of the paper"""
    arrivals: Arrivals = "mixed"
    """rate of arrivals; mixed: stretches at the high and at the low rate in turn"""
    jobs_per_node: PositiveInt = 10
    """jobs for each node"""
    idle_w: NonNegative = 0.0
    """power of an idle node"""
    rates: Rates = "measured"
    """the high rate follows the GPUs that were measured, or those of a node, as the main branch of the authors' generator has it"""

    @model_validator(mode="after")
    def _few_enough(self) -> Self:
        expect_few(self.num_nodes * self.jobs_per_node, MOST_JOBS, "jobs in all")
        return self

    @property
    def num_drawn(self) -> int:
        """``J``."""
        return self.num_nodes * self.jobs_per_node

    def make(self, setting: Setting) -> tuple[Workload, Cluster]:
        """The jobs and the nodes."""
        v100, t4 = V100_T4_OF_SCENARIO[self.scenario]
        cluster = nodes(
            [("V100", v100), ("T4", t4)],
            [n % 2 for n in range(self.num_nodes)],
            self.idle_w,
        )
        streams = setting.streams
        pool = read_table("andreas_jobs.csv")
        count = self.num_drawn
        drawn = pool.iloc[streams.generator("mix").integers(0, len(pool), count)]
        times_s = times(drawn["application"].tolist(), drawn["epochs"].to_numpy(float), cluster)
        submit_s = _submissions(self, count, streams.generator("arrivals"))
        flat = times_s.reshape(count, -1)
        least, longest = flat.min(axis=1), np.where(np.isfinite(flat), flat, 0.0).max(axis=1)
        due_s = submit_s + streams.generator("due dates").uniform(least, longest)
        weight = streams.generator("weights").uniform(*WEIGHTS_PER_S, count)
        workload = Workload(
            [f"{job}-{i}" for i, job in enumerate(drawn["job"])],
            submit_s,
            TimeTable(times_s),
            due_s=due_s,
            weight_per_s=weight,
            model=drawn["application"].tolist(),
        )
        return workload, cluster

    def with_few_jobs(self) -> Self:
        """A job a node."""
        return self.model_copy(update={"jobs_per_node": 1})


def armida() -> tuple[Workload, Cluster]:
    """The validation run of Section V-C: Table V on armida-05, -06 and -07.

    The table's weights are taken as per hour; the paper does not give their unit.
    """
    cluster = nodes([("V100", 1), ("V100", 2), ("T4", 1)], [0, 1, 2])
    table = read_table("andreas_armida.csv")
    submit_s = table["submit_s"].to_numpy(float)
    workload = Workload(
        table["job"].tolist(),
        submit_s,
        TimeTable(times(table["application"].tolist(), table["epochs"].to_numpy(float), cluster)),
        due_s=submit_s + table["due_after_s"].to_numpy(float),
        weight_per_s=table["weight"].to_numpy(float) * (1.0 / SECONDS_PER_HOUR),
        model=table["application"].tolist(),
    )
    return workload, cluster


def nodes(kinds: list[tuple[str, int]], kind_of: list[int], idle_w: float = 0.0) -> Cluster:
    """Nodes of fixed types with power and energy price; ``kinds`` are GPU type and number."""
    table = read_table("andreas_power.csv")
    types = []
    for gpu_type, gpus in kinds:
        rows = table[(table["gpu_type"] == gpu_type) & (table["gpus_in_use"] <= gpus)]
        watt = (idle_w, *rows.sort_values("gpus_in_use")["watt"].tolist())
        types.append(NodeType(f"{gpus}x{gpu_type}", gpu_type, gpus, power_w=watt))
    return Cluster(
        tuple(types),
        len(kind_of),
        tuple(kind_of),
        currency="EUR",
        energy_price_per_kwh=ENERGY_EUR_PER_KWH,
        pue=PUE,
    )


def times(applications: list[str], epochs: FloatArray, cluster: Cluster) -> FloatArray:
    """``(J, V, G + 1)`` seconds; infinite beyond two V100 and one T4, which nobody measured."""
    table = read_table("andreas_epochs.csv")
    seconds = {
        (application, gpu_type, int(gpus)): float(value)
        for application, gpu_type, gpus, value in zip(
            table["application"],
            table["gpu_type"],
            table["gpus"],
            table["seconds_per_epoch"],
            strict=True,
        )
    }
    result = np.full(
        (len(applications), len(cluster.node_types), cluster.max_gpus_per_node + 1), np.inf
    )
    for v, node_type in enumerate(cluster.node_types):
        for g in range(1, int(node_type.gpus) + 1):
            per_epoch = [seconds.get((a, node_type.gpu_type, g), np.inf) for a in applications]
            result[:, v, g] = np.array(per_epoch) * epochs
    return result


def _submissions(jobs: AndreasJobs, count: int, generator: np.random.Generator) -> FloatArray:
    """Submission times: exponential gaps at a rate that changes from one cluster to the next.

    The rate at which N nodes of V100 would finish jobs, each job on one GPU, over `SLOWDOWN`; how
    many GPUs a node counts with is `AndreasJobs.rates`.
    """
    pool, epochs = read_table("andreas_jobs.csv"), read_table("andreas_epochs.csv")
    alone = epochs[(epochs["gpu_type"] == "V100") & (epochs["gpus"] == 1)]
    per_epoch = dict(zip(alone["application"], alone["seconds_per_epoch"], strict=True))
    time_s = pool["epochs"].to_numpy(float) * pool["application"].map(per_epoch).to_numpy(float)
    own_gpus = V100_T4_OF_SCENARIO[jobs.scenario][0]
    gpus = MEASURED_GPUS if jobs.rates == "measured" else own_gpus
    slowdowns = SLOWDOWN[jobs.rates]
    rate = gpus * jobs.num_nodes * float(np.mean(1.0 / time_s))
    cluster_of = np.arange(count) // CLUSTER_OF_JOBS
    slow = slowdowns["low"] if jobs.arrivals == "low" else slowdowns["high"]
    other = slowdowns["low"] if jobs.arrivals == "mixed" else slow
    slowdown = np.where(cluster_of % 2 == 0, slow, other)
    gaps = generator.exponential(1.0, count) * slowdown / rate
    gaps[0] = 0.0
    return np.cumsum(gaps)
