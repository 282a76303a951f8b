"""Jobs on one GPU: memory, slices (MIG), and how they slow each other down."""

from simulator.features.colocation.mig import PROFILES, best_start, mask_of, profile_for
from simulator.features.colocation.spec import (
    Colocation,
    colocation_of,
    published_rates,
    with_drawn_models,
    with_parts,
)

__all__ = [
    "PROFILES",
    "Colocation",
    "best_start",
    "colocation_of",
    "mask_of",
    "profile_for",
    "published_rates",
    "with_drawn_models",
    "with_parts",
]
