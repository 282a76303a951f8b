"""Names of the kinds of workload that are here, and where the class of each is.

A class is loaded where its name is read (`simulator.workloads.registry`): a run needs one of them.
"""

from __future__ import annotations

FORMATS = {
    "csv": "plain_csv:CsvJobs",
    "philly": "philly:PhillyJobs",
    "gavel": "gavel:GavelJobs",
    "alibaba": "alibaba:AlibabaJobs",
    "swf": "swf:SwfJobs",
    "helios": "helios:HeliosJobs",
    "slurm": "slurm:SlurmJobs",
    "batsim": "batsim:BatsimJobs",
    "kubernetes": "kubernetes:KubernetesJobs",
    "pai": "alibaba_pai:PaiTasks",
    "pai-jobs": "alibaba_pai:PaiJobs",
    "alibaba-2025": "alibaba_services:DlrmInstances",
    "alibaba-2026-spot": "alibaba_services:SpotJobs",
}
"""Formats of files of jobs; of those that are as like a file as another, the first is taken."""

KINDS = {
    "hierarchical": "hierarchical:HierarchicalJobs",
    "instance": "authors:InstanceJobs",
    "poisson": "poisson:PoissonJobs",
    "elastic": "elastic:ElasticJobs",
    "synergy": "synergy.jobs:SynergyJobs",
    "andreas": "andreas:AndreasJobs",
    "philly-like": "philly_like:PhillyLikeJobs",
    "lublin": "lublin:LublinJobs",
    "acme-like": "acme_like:AcmeLikeJobs",
    "openb-like": "openb:OpenbLikeJobs",
    "openb": "openb_trace:OpenbJobs",
    **FORMATS,
    "training": "gavel:TrainingJobs",
    "gavel-like": "gavel_like:GavelLikeJobs",
    "pollux": "pollux:PolluxJobs",
    "elasticflow": "elasticflow:ElasticflowJobs",
}
"""All kinds, formats among them, in the order in which documents list them."""
