"""Profiling: pipelines fitted to the published profiles, what they predict, and what it takes.

`run_profiling` fits a pipeline to each published matrix and profiles it by binary search. Beside
that it fits one to half of the published points and predicts the other half, which is the test of
the model: a simulated run of the same pipeline only tests the search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.pages import Outcome
from simulator import SensitivityMatrix

if TYPE_CHECKING:
    from policies.synergy.profiling import Fit, Profile


def run_profiling(config: dict[str, Any]) -> Outcome:
    """Pipelines fitted to the ten matrices, each profiled; and what that took."""
    import numpy as np
    import pandas as pd

    from policies.synergy.profiling import fit, profile
    from simulator.workloads.networks import sensitivity_matrices

    memory_gb = [50.0 * i for i in range(1, 11)]
    rng = np.random.default_rng(config["seed"])
    fits, points, held_out = [], [], []
    for name, matrix in sensitivity_matrices().items():
        found = fit(matrix)
        pipeline = found.pipeline
        made = profile(
            lambda c, m, p=pipeline: p.train(c, m, rng),  # type: ignore[misc]
            pipeline.cache,
            24,
            memory_gb,
            (3, 500.0),
        )
        fits.append({"model": name, **_facts(found, made)})
        held_out += [{"model": name, **row} for row in predicted(matrix)]
        base = pipeline.rate(3, 500.0)
        for cpus in range(1, 25):
            for m in memory_gb:
                trained = pipeline.train(cpus, m, rng, iterations=400) / base
                points.append(
                    {
                        "model": name,
                        "cpus": cpus,
                        "memory_gb": m,
                        "measured": cpus in made.measured_cpus,
                        "estimated": made.matrix(cpus, m),
                        "trained": trained,
                    }
                )
    table = pd.DataFrame(fits)
    return Outcome(
        {"mean_error": float(table["mean_error"].mean())},
        {"fits": table, "points": pd.DataFrame(points), "held_out": pd.DataFrame(held_out)},
    )


def _facts(found: Fit, made: Profile) -> dict[str, float]:
    """The parameters of a fit, its relative errors, and minutes of profiling."""
    pipeline = found.pipeline
    return {
        "gpu_rate": pipeline.gpu_rate,
        "core_rate": pipeline.core_rate,
        "scaling": pipeline.scaling,
        "storage_rate": pipeline.cache.storage_rate,
        "data_gb": pipeline.cache.data_gb,
        "mean_error": found.mean_error,
        "max_error": found.max_error,
        "profile_minutes": made.minutes,
        "search_minutes": float(made.searched),
        "exhaustive_minutes": made.exhaustive_minutes,
    }


def predicted(matrix: SensitivityMatrix) -> list[dict[str, Any]]:
    """Published points beside a pipeline fitted to half of them.

    Two halves: of ``memory`` the process's own size, the smallest above it and the largest are
    given, those in between predicted; of ``cpus`` every second number is.

    Returns
    -------
    One row a point: half, cpus, memory_gb, given (whether the fit had it), published, fitted, and
    their relative error.
    """
    from policies.synergy.profiling import fit

    rows = []
    for half in ("memory", "cpus"):
        cpus = list(range(len(matrix.cpus)))
        sizes = list(range(len(matrix.memory_gb)))
        keep_c = cpus[::2] if half == "cpus" else cpus
        keep_m = [0, 1, sizes[-1]] if half == "memory" else sizes
        part = SensitivityMatrix(
            matrix.cpus[keep_c], matrix.memory_gb[keep_m], matrix.relative[keep_c][:, keep_m]
        )
        pipeline = fit(part).pipeline
        for i in cpus:
            for k in sizes[1:]:
                c, m = float(matrix.cpus[i]), float(matrix.memory_gb[k])
                published, fitted = float(matrix.relative[i, k]), pipeline.rate(c, m)
                given = i in keep_c and k in keep_m
                rows.append(
                    {"half": half, "cpus": c, "memory_gb": m, "given": given,
                     "published": published, "fitted": fitted,
                     "error": float("nan") if given else fitted / published - 1}
                )  # fmt: skip
    return rows
