"""The papers by name, in the order of the report."""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, cast

from experiments.report.contents import Paper

if TYPE_CHECKING:
    from experiments.papers.contract import Experiment

PAPERS: dict[str, Paper] = {
    paper.name: paper
    for paper in (
        Paper(
            "hierarchical",
            "Hierarchical Scheduling in on-demand GPU-as-a-Service Systems",
            "Filippini, Lattuada, Jahani, Ciavotta, Ardagna, Amaldi",
            "Controllers that each solve a small MILP for their share of the nodes, against "
            "first-principle rules and one central MILP.",
        ),
        Paper(
            "andreas",
            "ANDREAS: Artificial intelligence traiNing scheDuler foR accElerAted resource clusterS",
            "Filippini, Ardagna, Lattuada, Amaldi, Ciavotta, Riedl, Materka, Skrzypek, "
            "Magugliani, Cicala",
            "A randomised greedy that trades energy against tardiness on fixed heterogeneous "
            "nodes, and a replay of its prototype.",
        ),
        Paper(
            "thesis",
            "Analysis of Scheduling Algorithms for Deep Learning Training Jobs running on "
            "Virtualized GPU-based Clusters",
            "Kiros (supervisor Ardagna, co-supervisor Filippini)",
            "Greedy, randomised greedy and local search, central and hierarchical.",
        ),
        Paper(
            "rental",
            "How to Rent GPUs on a Budget",
            "Li, Berg, Mukhopadhyay, Harchol-Balter",
            "How many GPUs to rent for each job under a budget, when speed-ups are concave.",
        ),
        Paper(
            "synergy",
            "Synergy: Resource Sensitive DNN Scheduling in Multi-Tenant Clusters",
            "Mohan, Phanishayee, Kulkarni, Chidambaram",
            "CPUs and memory given to jobs by how much they gain from them, under six orderings.",
        ),
        Paper(
            "foresight",
            "Beyond the papers: foresight",
            "schedlab",
            "A policy of the laboratory's own that looks ahead, against the papers' methods and "
            "lower bounds, on instances that no setting was chosen on.",
        ),
        Paper(
            "queueing",
            "Queueing formulas beside the simulator",
            "schedlab",
            "Closed forms of single and many-server queues, and the simulated values next to them.",
        ),
        Paper(
            "beyond",
            "Beyond the papers",
            "schedlab",
            "What real clusters do: nodes that fail and jobs that save their work, spot VMs, GPUs "
            "shared by several jobs, tenants, admission control, racks.",
        ),
        Paper(
            "cross",
            "Every policy on every workload",
            "schedlab",
            "All policies on the same jobs of eight workloads, and the questions that the papers left "
            "open: dispatching, controllers, wrong predictions, delays, periods, bounds, elasticity.",
        ),
    )
}


def load(paper: Paper) -> Experiment:
    """The module that reproduces the paper."""
    return cast("Experiment", importlib.import_module(_module(paper)))


def available() -> list[str]:
    """Names of the papers whose module is there, in the order of ``PAPERS``."""
    return [
        name
        for name, paper in PAPERS.items()
        if importlib.util.find_spec(_module(paper)) is not None
    ]


def _module(paper: Paper) -> str:
    return paper.module or f"experiments.papers.{paper.name}"
