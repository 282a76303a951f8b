"""Renting GPUs on a budget: fixed widths, which are optimal, and what they are compared with.

Source: the rental paper, "How to Rent GPUs on a Budget" (Li, Berg, Mukhopadhyay, Harchol-Balter).
"""

from policies.rental.online import (
    Autoscaler,
    Equi,
    HeSrpt,
    OwnWidth,
    Srpt,
    fixed_width,
    mixed_width,
    width_by_size,
)
from policies.rental.widths import (
    FixedWidths,
    OptimalWidths,
    WidthsBySize,
    equal_widths,
    optimal_widths,
    rental_table,
    whole_gpu_widths,
    widths_by_size,
)
from simulator.workloads.job_types import JobType

__all__ = [
    "Autoscaler",
    "Equi",
    "FixedWidths",
    "HeSrpt",
    "JobType",
    "OptimalWidths",
    "OwnWidth",
    "Srpt",
    "WidthsBySize",
    "equal_widths",
    "fixed_width",
    "mixed_width",
    "optimal_widths",
    "rental_table",
    "whole_gpu_widths",
    "width_by_size",
    "widths_by_size",
]
