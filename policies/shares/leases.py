"""GPUs by number for the jobs of a round: who goes on keeps what it has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from policies.shares.rounds import Chosen

Gpus = tuple[int, ...]


def assign(
    chosen: Iterable[Chosen], before: Mapping[int, Gpus], gpus: Iterable[int]
) -> dict[int, Gpus]:
    """GPUs of each job, those of most GPUs first.

    Among jobs of as many GPUs, those whose GPUs of the last round are free keep them (a lease is
    extended); the others then take the free ones of lowest number.

    Parameters
    ----------
    chosen : jobs of one GPU type, as `ShareRounds.choose` orders them.
    before : GPUs of each job that ran in the round before.
    gpus : numbers of all GPUs of this type.
    """
    free = set(gpus)
    by_size: dict[int, list[int]] = {}
    for each in chosen:
        by_size.setdefault(each.gpus, []).append(each.job)
    assigned: dict[int, Gpus] = {}
    for size in sorted(by_size, reverse=True):
        moved = []
        for job in by_size[size]:
            kept = before.get(job, ())
            if len(kept) == size and free.issuperset(kept):
                assigned[job] = kept
                free.difference_update(kept)
            else:
                moved.append(job)
        lowest = iter(sorted(free))
        for job in moved:
            assigned[job] = tuple(next(lowest) for _ in range(size))
            free.difference_update(assigned[job])
    return assigned
