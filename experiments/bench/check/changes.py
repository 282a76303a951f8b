"""Rows as changes of what jobs hold, summed by time.

A row is two changes: its amounts more at its start, and less at its end. Changes of one instant cancel out, so a share
that was cut into a thousand rows is one again, and a running sum says what is held after each instant. All that is checked
later are such sums: sorted once, whatever the rows are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.bench.check.reading import HeldShares
from experiments.bench.check.verdict import slack_s
from simulator.model.cluster import FloatArray, IntArray

NONE = 1e-9
"""Of GPUs, CPUs or GB: a change that is smaller is rounding."""
DIGITS = 10
"""After the point of an amount: what comes after is rounding of sums."""


def instants(times_s: FloatArray) -> FloatArray:
    """``(n,)`` each time as the first one that counts as equal to it."""
    known, place = np.unique(times_s, return_inverse=True)
    first, near_s = known.copy(), slack_s(known)
    for i in (np.flatnonzero(np.diff(known) <= near_s[1:]) + 1).tolist():
        if known[i] - first[i - 1] <= near_s[i]:
            first[i] = first[i - 1]
    return np.asarray(first[place])


@dataclass(frozen=True)
class HeldChanges:
    """``C`` changes, in order of job, node, type, GPUs and time.

    Attributes
    ----------
    job, node, kind, gpus_code : ``(C,)`` indices; the last into ``gpu_ids``.
    at_s : ``(C,)`` instants, s.
    amounts : ``(C, 3)`` GPUs, CPUs and GB more, or less.
    gpu_ids : numbers of GPUs, by code.
    """

    job: IntArray
    node: IntArray
    kind: IntArray
    gpus_code: IntArray
    at_s: FloatArray
    amounts: FloatArray
    gpu_ids: Sequence[tuple[int, ...]]

    @property
    def gpus(self) -> FloatArray:
        """``(C, 1)`` GPUs more, or less."""
        return self.amounts[:, :1]


def changes_of(shares: HeldShares) -> HeldChanges:
    """Changes of what each job holds of each node; none where a row follows another one of the same share."""
    codes = {ids: code for code, ids in enumerate(dict.fromkeys(shares.gpu_ids))}
    code = np.array([codes[ids] for ids in shares.gpu_ids], dtype=np.int64)
    columns = [np.tile(c, 2) for c in (shares.job, shares.node, shares.kind, code)]
    at_s = instants(np.concatenate([shares.start_s, shares.end_s]))
    amounts = np.concatenate([shares.amounts, -shares.amounts])
    keys, sums = grouped([*columns, at_s], amounts)
    kept = (np.abs(sums) > NONE).any(axis=1)
    job, node, kind, code, at_s = (key[kept] for key in keys)
    return HeldChanges(job, node, kind, code, at_s, sums[kept], list(codes))


def grouped(keys: Sequence[Any], values: FloatArray) -> tuple[list[Any], FloatArray]:
    """Keys in order, each combination once, and the sums of the values ``(n, m)`` that belong to it."""
    order = np.lexsort(list(keys)[::-1])
    keys = [key[order] for key in keys]
    is_new = np.zeros(len(order), dtype=np.bool_)
    is_new[:1] = True
    for key in keys:
        is_new[1:] |= key[1:] != key[:-1]
    first = np.flatnonzero(is_new)
    return [key[first] for key in keys], np.add.reduceat(values[order], first, axis=0)


def levels(
    keys: Sequence[IntArray], at_s: FloatArray, values: FloatArray
) -> tuple[list[IntArray], FloatArray, FloatArray]:
    """Keys and times in order, each once, and ``(n, m)`` what is held from then until the next time of the same keys.

    Each key comes back to 0 at its end, so one running sum goes through all of them.
    """
    found, sums = grouped([*keys, at_s], values)
    held: FloatArray = np.cumsum(sums, axis=0).round(DIGITS)
    return found[:-1], found[-1], held


def numbers_of(
    key: IntArray, of: IntArray, at_s: FloatArray, gpus: FloatArray
) -> tuple[IntArray, FloatArray, IntArray]:
    """Keys and times in order, each once, and with how many different ``of`` there are GPUs of the key from then on.

    For example, on how many nodes each job is; key and time are those of `levels` of the key alone.
    """
    (owner, _), times_s, held = levels([key, of], at_s, gpus)
    there = held[:, 0] > NONE
    before = np.append(False, there[:-1])  # of the same keys, or False: all come back to 0
    steps = there.astype(np.float64) - before
    (owner,), times_s, count = levels([owner], times_s, steps[:, None])
    return owner, times_s, count[:, 0].astype(np.int64)
