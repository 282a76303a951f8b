"""Random streams and confidence intervals.

Streams make runs repeatable and comparable; the rest turns outputs into `Estimate` objects, a
number with its interval:

- independent replications          `student`, `mean_of_skewed`, `replicate`, `replicate_until_precise`
- one long run                      `steady_state_mean`, or `mser5` and `batch_means`
- quantiles and ratios              `quantile`, `pooled_quantile`, `ratio`
- two policies on the same numbers  `paired_difference`
"""

from __future__ import annotations

from simulator.statistics.bootstrap import (
    RESAMPLES,
    bootstrap_interval,
    pooled_quantile,
    quantile,
    ratio,
)
from simulator.statistics.estimates import (
    LEVEL,
    Estimate,
    differences,
    jain,
    mean_of_skewed,
    paired_difference,
    skewed_student,
    skewness,
    student,
)
from simulator.statistics.long_run import BATCHES, FEWEST, batch_means, mser5, steady_state_mean
from simulator.statistics.replications import (
    parse_precision,
    replicate,
    replicate_until_precise,
    replications_needed,
)
from simulator.statistics.streams import Streams, watched

__all__ = [
    "BATCHES",
    "FEWEST",
    "LEVEL",
    "RESAMPLES",
    "Estimate",
    "Streams",
    "batch_means",
    "bootstrap_interval",
    "differences",
    "jain",
    "mean_of_skewed",
    "mser5",
    "paired_difference",
    "parse_precision",
    "pooled_quantile",
    "quantile",
    "ratio",
    "replicate",
    "replicate_until_precise",
    "replications_needed",
    "skewed_student",
    "skewness",
    "steady_state_mean",
    "student",
    "watched",
]
