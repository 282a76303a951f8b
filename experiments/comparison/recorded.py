"""Simulated waits of a log beside its recorded ones, in a line that answers on the log carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simulator.metrics.waits import waits_of

if TYPE_CHECKING:
    import pandas as pd

    from experiments.scenario.schema import Scenario
    from simulator.model.recorded import Recorded

MOST_KNOWN = 0.9
"""Where fewer jobs have a recorded wait, their mean is not that of the simulated jobs."""

WAIT = "mean_wait_s"


def said_of_record(scenario: Scenario, runs: pd.DataFrame, policy: str) -> list[str]:
    """A line on the waits of the log itself under a policy; none where the jobs come from no log with recorded starts.

    Parameters
    ----------
    runs : as those of `experiments.comparison.answer.Comparison`.
    """
    from experiments.scenario.build import build

    own = runs[(runs["draw"] == 0) & (runs["policy"] == policy)]
    if own.empty or WAIT not in own:
        return []
    return beside_record(build(scenario)[0].record, float(own[WAIT].iloc[0]))


def beside_record(record: Recorded | None, mean_wait_s: float) -> list[str]:
    """The line; ``mean_wait_s`` is that of the simulated jobs."""
    if record is None or np.isnan(mean_wait_s):  # some jobs never started
        return []
    waits = waits_of(record.wait_s)
    if waits.count < MOST_KNOWN * len(record) or not waits.mean_s > 0:
        return []
    return [
        f"simulated waits of this log are {mean_wait_s / waits.mean_s:.2f} times the recorded ones (schedlab validate says more)"
    ]
