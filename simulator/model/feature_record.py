"""Record of a feature in a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simulator.model.cluster import FloatArray


class FeatureRecord:
    """Record of a feature in a run: scalars, ends of jobs, and data for tables."""

    down: FloatArray = np.empty((0, 3))
    """``(O, 3)`` node, start and end (s) of each stretch of time that it was down."""

    def statuses(self) -> Mapping[str, Any]:
        """``(J,)`` masks of jobs that ended in another way than by completing their work, by its name."""
        return {}

    def scalars(self, run: Any) -> Mapping[str, float | int | str | None]:
        """Scalars that it adds to ``summary.json``; ``run``: a `simulator.core.record.RunRecord`."""
        return {}
