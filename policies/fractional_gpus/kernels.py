"""Choice of a node and of its GPUs: the six rules of the FGD paper, compiled.

Weng et al., "Beware of Fragmentation", USENIX ATC 2023, Sections 4 and 6.1. Every rule gives each
node where the job fits a score; the best score wins, and of equals the first node. As in the
released simulator scores are whole numbers from 0 to 100, like those of Kubernetes; ``steps = 0``
keeps them as real numbers. A score depends on a demand and the state of one node, so it is worked
out again only when that node has changed.
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from policies.fractional_gpus.state import (
    BEST_FIT,
    CLUSTERING,
    CPU,
    DOT_PRODUCT,
    FGD,
    GPUS,
    MEMORY,
    MILLI,
    PACKING,
    RANDOM,
)
from policies.solving.compiling import compiled, entry

ONE = cast(int, np.int64(1))
"""No literal, for which `change` would be compiled once more."""
WHOLE = 1000
MOST_CPU, MOST_GPU = 128_000, 8_000
"""Largest machine that the rules normalise by: 128 CPUs and 8 GPUs."""

DOES_NOT_FIT = -1e18


@entry
def fits(state: Any, n: int, demand: Any, allowed: Any) -> bool:
    """True where a job fits on a node as it is."""
    if state.cpu[n] < demand[CPU] or state.memory[n] < demand[MEMORY]:
        return False
    wanted = demand[GPUS]
    if wanted == 0:
        return True
    if not allowed[state.models[n]]:
        return False
    for i in range(state.gpus[n]):
        if state.gpu[n, i] >= demand[MILLI]:
            wanted -= 1
            if wanted == 0:
                return True
    return False


@entry
def fragmentation(cpu: int, gpu: Any, count: int, model: int, demand: Any, allowed: Any,
                  share: Any) -> float:  # fmt: skip
    """Thousandths of a node's idle GPUs that a typical job cannot use (Section 4.2).

    All of them, where the job does not fit; those on GPUs with too little left, where it does. For
    jobs without GPUs all that is idle counts.
    """
    idle = 0
    for i in range(count):
        idle += gpu[i]
    if idle == 0:
        return 0.0
    lost = 0.0
    for t in range(len(share)):
        milli = demand[t, MILLI]
        amount = idle
        if milli > 0 and cpu >= demand[t, CPU] and allowed[t, model]:
            wide, narrow = 0, 0
            for i in range(count):
                if gpu[i] >= milli:
                    wide += 1
                else:
                    narrow += gpu[i]
            if wide >= demand[t, GPUS]:
                amount = narrow
        lost += share[t] * amount
    return lost


@compiled
def gradient(state: Any, n: int, demand: Any, typical: Any, room: Any) -> tuple[float, int]:
    """By how much fragmentation falls if the job goes to this node, and on which GPU (a part).

    ``room`` is scratch space for the GPUs of a node. Of equal GPUs the first is taken.
    """
    rows, allowed, share = typical
    count, model = state.gpus[n], state.models[n]
    for i in range(count):
        room[i] = state.gpu[n, i]
    before = fragmentation(state.cpu[n], room, count, model, rows, allowed, share)
    cpu, milli = state.cpu[n] - demand[CPU], demand[MILLI]
    if demand[GPUS] == 1 and milli < WHOLE:
        best, gpu = -math.inf, -1
        for i in range(count):
            left = state.gpu[n, i]
            if left < milli:
                continue
            seen = False
            for k in range(i):
                if state.gpu[n, k] == left:
                    seen = True
            if seen:
                continue
            room[i] = left - milli
            gain = before - fragmentation(cpu, room, count, model, rows, allowed, share)
            room[i] = left
            if gain > best:
                best, gpu = gain, i
        return best, gpu
    wanted = demand[GPUS]
    for i in range(count):
        if wanted > 0 and room[i] >= milli:
            room[i] -= milli
            wanted -= 1
    return before - fragmentation(cpu, room, count, model, rows, allowed, share), -1


@compiled
def rounded(score: float, steps: int) -> float:
    """A score in [0, 1] as a whole number up to ``steps``; as it is where that is 0."""
    return math.floor(score * steps) if steps > 0 else score


@compiled
def fgd_score(state: Any, n: int, demand: Any, typical: Any, room: Any, steps: int) -> float:
    """The steepest descent of fragmentation, squeezed into [0, 1]."""
    gain, _ = gradient(state, n, demand, typical, room)
    return rounded(1.0 / (1.0 + math.exp(-gain / WHOLE)), steps)


@compiled
def idle_gpu(state: Any, n: int) -> int:
    """Thousandths of GPUs that are free on a node."""
    idle = 0
    for i in range(state.gpus[n]):
        idle += state.gpu[n, i]
    return idle


@compiled
def dot_product_score(state: Any, n: int, demand: Any, steps: int) -> float:
    """Small where what is left and what is asked for point the same way (Tetris, packed)."""
    cpu = state.cpu[n] / MOST_CPU * (demand[CPU] / MOST_CPU)
    gpu = idle_gpu(state, n) / MOST_GPU * (demand[GPUS] * demand[MILLI] / MOST_GPU)
    return rounded(1.0 - (cpu + gpu) / 2, steps)


@compiled
def best_fit_score(state: Any, n: int, demand: Any, steps: int) -> float:
    """Large where little is left afterwards, CPUs and GPUs weighing the same."""
    cpu = (state.cpu[n] - demand[CPU]) / MOST_CPU
    gpu = (idle_gpu(state, n) - demand[GPUS] * demand[MILLI]) / MOST_GPU
    return rounded(1.0 - (cpu * 0.5 + gpu * 0.5), steps)


@compiled
def clustering_score(state: Any, n: int, demand: Any) -> float:
    """Nodes that have only jobs of this kind come first, then mixed, empty and other ones (Gandiva)."""
    if demand[GPUS] == 0:
        return 0.0
    kind = demand[GPUS] if demand[MILLI] == WHOLE else 0
    kinds = 0
    for k in range(state.kinds.shape[1]):
        if state.kinds[n, k] > 0:
            kinds += 1
    used = 25 * (MOST_GPU - idle_gpu(state, n)) // MOST_GPU
    if state.kinds[n, kind] > 0:
        return used + (75.0 if kinds == 1 else 50.0)
    return used + (25.0 if kinds == 0 else 0.0)


@compiled
def packing_score(state: Any, n: int, demand: Any, room: Any) -> float:
    """GPUs in use come first, then free GPUs of nodes in use, then free nodes (MLaaS in the wild)."""
    if demand[GPUS] == 0:
        return 0.0
    count, free = state.gpus[n], 0
    for i in range(count):
        room[i] = state.gpu[n, i]
        if room[i] == WHOLE:
            free += 1
    if free == count:
        return max(33 - free, free)
    opened, ratio = 0, 0
    for _ in range(demand[GPUS]):  # the fullest GPUs that still have room
        tightest = -1
        for i in range(count):
            if room[i] >= demand[MILLI] and (tightest < 0 or room[i] < room[tightest]):
                tightest = i
        left = room[tightest]
        room[tightest] = -1
        if left == WHOLE:
            opened += 1
        ratio += left * 100 // WHOLE
    if opened > 0:
        return max(50 - opened, 33)
    return max(100 - ratio // 10, 50)


@compiled
def score(rule: int, state: Any, n: int, demand: Any, typical: Any, room: Any, steps: int) -> float:
    """The score of a node on which the job fits."""
    if rule == FGD:
        return fgd_score(state, n, demand, typical, room, steps)
    if rule == BEST_FIT:
        return best_fit_score(state, n, demand, steps)
    if rule == DOT_PRODUCT:
        return dot_product_score(state, n, demand, steps)
    if rule == CLUSTERING:
        return clustering_score(state, n, demand)
    if rule == PACKING:
        return packing_score(state, n, demand, room)
    return 0.0


@entry
def best_node(rule: int, state: Any, job_class: int, classes: Any, known: Any, typical: Any,
              room: Any, steps: int, lot: float) -> int:  # fmt: skip
    """The node with the highest score, the first of equals; -1 where the job fits nowhere.

    At random: any node where it fits, by ``lot``, a number in [0, 1).
    """
    demand, allowed = classes.demand[job_class], classes.allowed[job_class]
    best, chosen, able = DOES_NOT_FIT, -1, 0
    for n in range(len(state.gpus)):
        if known.at[job_class, n] != state.changed[n]:
            known.at[job_class, n] = state.changed[n]
            known.score[job_class, n] = DOES_NOT_FIT
            if fits(state, n, demand, allowed):
                known.score[job_class, n] = score(rule, state, n, demand, typical, room, steps)
        value = known.score[job_class, n]
        if value > best:
            best, chosen = value, n
        if value > DOES_NOT_FIT:
            able += 1
    if rule != RANDOM or able == 0:
        return chosen
    skip = min(int(lot * able), able - 1)
    for n in range(len(state.gpus)):
        if known.score[job_class, n] > DOES_NOT_FIT:
            if skip == 0:
                return n
            skip -= 1
    return -1


@entry
def pick_gpus(rule: int, state: Any, n: int, demand: Any, typical: Any, room: Any, lot: float,
              picked: Any) -> int:  # fmt: skip
    """GPUs that a job gets on its node, written to ``picked``; returns their number.

    Parts: where fragmentation falls most (FGD), any with room (random), else the fullest with room.
    """
    wanted, milli, count = int(demand[GPUS]), demand[MILLI], state.gpus[n]
    if wanted == 1 and milli < WHOLE and rule in (FGD, RANDOM):
        if rule == FGD:
            picked[0] = gradient(state, n, demand, typical, room)[1]
            return 1
        able = 0
        for i in range(count):
            if state.gpu[n, i] >= milli:
                able += 1
        skip = min(int(lot * able), able - 1)
        for i in range(count):
            if state.gpu[n, i] >= milli:
                if skip == 0:
                    picked[0] = i
                skip -= 1
        return 1
    for i in range(count):
        room[i] = state.gpu[n, i]
    for k in range(wanted):
        tightest = -1
        for i in range(count):
            if room[i] >= milli and (tightest < 0 or room[i] < room[tightest]):
                tightest = i
        picked[k] = tightest
        room[tightest] = -1
    return wanted


@entry
def change(state: Any, n: int, demand: Any, picked: Any, sign: int) -> None:
    """Put a job on GPUs of a node (``sign`` 1), or take it off (-1)."""
    state.cpu[n] -= sign * demand[CPU]
    state.memory[n] -= sign * demand[MEMORY]
    for k in range(demand[GPUS]):
        state.gpu[n, picked[k]] -= sign * demand[MILLI]
    if demand[GPUS] > 0:
        state.kinds[n, demand[GPUS] if demand[MILLI] == WHOLE else 0] += sign
    state.changed[n] += 1


@entry
def pack(rule: int, state: Any, order: Any, classes: Any, known: Any, typical: Any, room: Any,
         steps: int, lots: Any, picked: Any, node_of: Any, allocated: Any) -> None:  # fmt: skip
    """Place jobs one after the other, none of which leaves.

    Writes the node of each (-1: it fits nowhere) to ``node_of`` and the thousandths of GPUs in use
    after each to ``allocated``.
    """
    used = 0
    for j in range(len(order)):
        demand = classes.demand[order[j]]
        n = best_node(rule, state, order[j], classes, known, typical, room, steps, lots[j, 0])
        node_of[j] = n
        if n >= 0:
            pick_gpus(rule, state, n, demand, typical, room, lots[j, 1], picked)
            change(state, n, demand, picked, ONE)
            used += demand[GPUS] * demand[MILLI]
        allocated[j] = used


def scratch(most_gpus: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """``room`` and ``picked`` for nodes of that many GPUs."""
    return np.zeros(most_gpus, dtype=np.int64), np.zeros(most_gpus, dtype=np.int64)
