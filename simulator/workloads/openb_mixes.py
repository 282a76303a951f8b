"""Other mixes of the same pods: more that share a GPU, more that ask for several.

The FGD paper (Weng et al., USENIX ATC 2023, Figures 11 and 12) runs lists that were drawn from its default
list so that pods of one kind ask for a given part of all GPUs. The two functions here draw such lists.

    pods = read_pods("openb_pod_list_default.csv")
    more = with_sharing_part(pods, 0.4, np.random.default_rng(0))
"""

from __future__ import annotations

import numpy as np

from simulator.errors import InputError
from simulator.features.fractional import WHOLE_GPU, Demands
from simulator.model.cluster import IntArray


def with_sharing_part(demands: Demands, part: float, rng: np.random.Generator) -> Demands:
    """As many pods, of which those with a part of a GPU ask for this part of all GPUs in use.

    Pods without GPUs stay as they are. The others are drawn with replacement from those of their own kind:
    a part of a GPU, or whole GPUs.

    Raises
    ------
    InputError
        A part that is not between 0 and 1, or a list without pods of one of the two kinds.
    """
    _check("sharing part", part)
    gpus = demands.num_gpus * demands.gpu_milli
    shares = (demands.num_gpus == 1) & (demands.gpu_milli < WHOLE_GPU)
    none, small, large = (np.flatnonzero(k) for k in (gpus == 0, shares, (gpus > 0) & ~shares))
    if not len(small) or not len(large):
        raise InputError(
            "sharing part: expected pods with a part of a GPU, and pods with whole ones"
        )
    small_each, large_each = float(gpus[small].mean()), float(gpus[large].mean())
    count = len(small) + len(large)
    # n small_each / (n small_each + (count - n) large_each) = part
    n = round(count * part * large_each / (small_each * (1 - part) + part * large_each))
    drawn = (rng.choice(small, n), rng.choice(large, count - n))
    return _taken(demands, np.concatenate([none, *drawn]))


def with_multi_gpu_part(demands: Demands, part: float, rng: np.random.Generator) -> Demands:
    """The same pods, and so many more with several GPUs that these ask for this part of all GPUs in use.

    Raises
    ------
    InputError
        A part that is not between 0 and 1, or below what they ask for already; no such pod.
    """
    _check("part of several GPUs", part)
    gpus = demands.num_gpus * demands.gpu_milli
    wide = np.flatnonzero(demands.num_gpus > 1)
    if not len(wide):
        raise InputError("part of several GPUs: expected a pod with several GPUs")
    have, total = float(gpus[wide].sum()), float(gpus.sum())
    missing = (part * total - have) / (1 - part)
    if missing < 0:
        raise InputError(
            f"part of several GPUs is {part:g}, expected at least the {have / total:.3g} that they have"
        )
    more = rng.choice(wide, round(missing / float(gpus[wide].mean())))
    return _taken(demands, np.concatenate([np.arange(len(demands)), more]))


def _check(name: str, part: float) -> None:
    if not 0 < part < 1:
        raise InputError(f"{name} is {part:g}, expected a number between 0 and 1")


def _taken(demands: Demands, rows: IntArray) -> Demands:
    """These pods, under names of their own."""
    return Demands(
        [f"pod-{k}" for k in range(len(rows))],
        demands.cpu_milli[rows],
        demands.memory_mib[rows],
        demands.num_gpus[rows],
        demands.gpu_milli[rows],
        [demands.gpu_spec[j] for j in rows.tolist()],
    )
