"""The lists of pods of FGD's Figures 11 and 12: more pods that share a GPU, more that ask for several.

The FGD paper (Weng et al., USENIX ATC 2023) draws them from its default list so that pods of one kind ask for a
given part of all GPUs.
"""

import numpy as np

from simulator.workloads.pods import WHOLE_GPU, Demands


def with_sharing_part(demands, part, rng):
    """As many pods, of which those with a part of a GPU ask for this part of all GPUs in use.

    Pods without GPUs stay as they are. The others are drawn with replacement from those of their own kind:
    a part of a GPU, or whole GPUs.
    """
    gpus = demands.num_gpus * demands.gpu_milli
    shares = (demands.num_gpus == 1) & (demands.gpu_milli < WHOLE_GPU)
    none, small, large = (np.flatnonzero(k) for k in (gpus == 0, shares, (gpus > 0) & ~shares))
    small_each, large_each = float(gpus[small].mean()), float(gpus[large].mean())
    count = len(small) + len(large)
    # n small_each / (n small_each + (count - n) large_each) = part
    n = round(count * part * large_each / (small_each * (1 - part) + part * large_each))
    drawn = (rng.choice(small, n), rng.choice(large, count - n))
    return _taken(demands, np.concatenate([none, *drawn]))


def with_multi_gpu_part(demands, part, rng):
    """The same pods, and so many more with several GPUs that these ask for this part of all GPUs in use."""
    gpus = demands.num_gpus * demands.gpu_milli
    wide = np.flatnonzero(demands.num_gpus > 1)
    missing = (part * gpus.sum() - gpus[wide].sum()) / (1 - part)
    more = rng.choice(wide, round(missing / gpus[wide].mean()))
    return _taken(demands, np.concatenate([np.arange(len(demands)), more]))


def _taken(demands, rows):
    """These pods, under names of their own."""
    return Demands(
        [f"pod-{k}" for k in range(len(rows))],
        demands.cpu_milli[rows],
        demands.memory_mib[rows],
        demands.num_gpus[rows],
        demands.gpu_milli[rows],
        [demands.gpu_spec[j] for j in rows.tolist()],
    )
