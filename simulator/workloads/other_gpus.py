"""Jobs of fixed demand on other GPUs than those that their durations were taken on.

A job's duration is divided by the ratio of speeds of one GPU (``data/gpu_speeds.csv``): that of its own network
where it names one with figures, else the geometric mean over the measured networks, or over Synergy's ten where
one of the types was not measured. The time that the job asks for is divided alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from simulator.errors import InputError
from simulator.files.bundled import read_table
from simulator.model.cluster import FloatArray
from simulator.model.fractional import SharedDuration
from simulator.model.performance import DurationByType, FixedDuration
from simulator.model.workload import Workload
from simulator.workloads.gpu_types import known_gpu_type
from simulator.workloads.networks.named import dnn_model_name
from simulator.workloads.networks.speeds import relative_speeds


def has_one_duration(workload: Workload) -> bool:
    """Whether the jobs have a fixed demand, and one duration whatever the GPUs are."""
    times = workload.performance
    return isinstance(times, FixedDuration) and not isinstance(times, DurationByType)


def faster(workload: Workload, speed: float | FloatArray) -> Workload:
    """The jobs, each so many times as fast.

    Raises InputError: jobs without a fixed demand, or with a duration for each type of node.
    """
    if not has_one_duration(workload):
        raise InputError("the jobs have no fixed demand with one duration, expected jobs that have")
    times = workload.performance
    assert isinstance(times, FixedDuration)
    return replace(
        workload,
        performance=replace(times, duration_s=times.duration_s / speed),
        requested_s=workload.requested_s / speed,
    )


def on_gpu_type(workload: Workload, gpu_type: str, ran_on: Sequence[str]) -> Workload:
    """The jobs on GPUs of ``gpu_type``, with a note on how much faster they are.

    Parameters
    ----------
    ran_on : types of GPU that the durations were taken on, one a job, by any of their spellings.

    Raises InputError: a type that is not known.
    """
    known = {text: known_gpu_type(text) for text in dict.fromkeys(ran_on)}
    for job, text in zip(workload.job_id, ran_on, strict=True):
        if known[text] is None:
            what = f"ran on GPU type {text!r}, of which no speed is known" if text else "names none"
            raise InputError(f"job {job!r} {what}, expected the type that all durations count as")
    speed, notes = np.ones(len(workload)), []
    of_type = [str(known[text]) for text in ran_on]
    for reference in dict.fromkeys(of_type):
        if reference == gpu_type:
            continue
        ratios, mean, over = ratio_of_types(gpu_type, reference)
        jobs = [j for j, each in enumerate(of_type) if each == reference]
        named = {
            j: network for j in jobs if (network := trained_network(workload.model[j])) in ratios
        }
        speed[jobs] = [ratios[named[j]] if j in named else mean for j in jobs]
        said = [f"{name} {ratios[name]:.3g}" for name in dict.fromkeys(named.values())]
        if len(named) < len(jobs):
            said.append(
                f"{'others ' * bool(named)}{mean:.3g} (geometric mean of {len(over)} networks, "
                f"{min(over.values()):.3g} to {max(over.values()):.3g})"
            )
        notes.append(
            f"cluster.gpu_type: durations are converted from {reference} to {gpu_type} (jobs: {len(jobs)}); "
            f"relative speed: {', '.join(said)}"
        )
    return faster(workload, speed).noted(*notes)


def on_kinds(workload: Workload, on_kind: Sequence[Workload]) -> Workload:
    """The jobs on nodes of several types, each note once.

    Parameters
    ----------
    on_kind : the same jobs as they are on nodes of each type alone.

    Raises InputError: jobs with parts of GPUs, on types where their times differ.
    """
    notes = tuple(dict.fromkeys(note for each in on_kind for note in each.notes))
    first = replace(on_kind[0], notes=notes)
    fixed_s = [t for each in on_kind if (t := each.performance.fixed_s) is not None]
    if all(np.array_equal(fixed_s[0], each_s) for each_s in fixed_s):
        return first
    if isinstance(workload.performance, SharedDuration):
        raise InputError(
            "jobs with parts of GPUs have one duration on all nodes, expected equal speeds"
        )
    times_s = np.column_stack(fixed_s)
    return replace(
        first,
        performance=DurationByType(times_s.min(axis=1), workload.num_gpus, times_s=times_s),
        requested_s=np.max([each.requested_s for each in on_kind], axis=0),
    )


def ratio_of_types(
    gpu_type: str, reference: str
) -> tuple[dict[str, float], float, dict[str, float]]:
    """Speed of ``gpu_type`` over ``reference`` by network, the geometric mean, and the networks that it is over."""
    ratios = {
        network: of[gpu_type][1] / of[reference][1]
        for network, of in relative_speeds().items()
        if gpu_type in of and reference in of
    }
    measured = {network: ratios[network] for network in _measured() if network in ratios}
    over = measured if len(measured) == len(_measured()) else ratios
    return ratios, float(np.exp(np.mean(np.log(list(over.values()))))), over


def trained_network(model: str) -> str:
    """The network with speeds that a model is, "" where it is none."""
    name = model.strip().lower().replace("-", "_")
    for each in (name, f"{name}_squad"):
        if each in relative_speeds():
            return each
    try:
        return dnn_model_name(model)
    except InputError:
        return ""


@cache
def _measured() -> tuple[str, ...]:
    return tuple(read_table("gpu_throughputs.csv").columns[4:])
