"""Tolerances: every tolerance of the simulator and of the policies that share nodes.

Each is named for what it tolerates. Relative ones are fractions of the value that they stand beside.
"""

from __future__ import annotations

INSTANT_S = 2.0**-20
"""In seconds: times that differ by less are the same instant (`simulator.core.clock`) and of the same rank
(`simulator.model.ranks`). So a job that ends so little late is on time, and a stretch of time so short is none."""

EQUAL = 1e-9
"""Relative: other numbers (rates, shares, ratios, prices, gains) that are so close are equal."""

CAPACITY = 1e-9
"""Relative: how far the shares of a node may exceed what it has, and demands what a share gives."""

FRACTIONS = 1e-6
"""The same where shares are fractions of GPUs, which come from a linear program; in GPUs too."""

SUMS = 1e-12
"""Relative: what many additions and subtractions leave may miss its value by so little."""

PART_OF_A_GPU = 1e-9
"""In GPUs: what is less than this is no part of a GPU, but rounding."""

UNITS = 1e-6
"""In units of which a GPU has some: a demand that is so little above a whole number is that number."""

LEAST_WORK_LEFT = 1e-12
"""A job that ends at this instant but for rounding still shows this fraction of its work."""

CURVES = 1e-9
"""Relative: a curve of speed-ups may miss its bounds by so little; published points are rounded."""

PIECES = 1e-7
"""In jobs: a piece of a job that is smaller is none (answers of a linear program)."""
