"""Node types that elastic jobs would take by four simple rules: whether the choice in a catalogue is trivial."""

import numpy as np
import pandas as pd

RULES = ("cheapest by node price", "cheapest by GPU share", "fastest", "cheapest in time")
"""The last takes the share of the node's price, and the fastest configuration where none meets the due date."""


def choice_shares(workload, cluster):
    """``(4, V)`` shares of the jobs, rows `RULES`, columns the node types. Ties go to the type that comes first."""
    table = workload.performance.table_s(np.arange(len(workload)), cluster)
    price, gpus = np.array([(t.price_per_hour, t.gpus) for t in cluster.node_types]).T[..., None]
    part = np.arange(table.shape[2]) / gpus
    by_share = np.where(np.isfinite(table), np.nan_to_num(table, posinf=0.0) * price * part, np.inf)
    due_s = (workload.due_s - workload.submit_s)[:, None, None]
    in_time = np.where(table <= due_s, by_share, np.inf)
    late = ~np.isfinite(in_time).any(axis=(1, 2))
    in_time[late] = table[late]
    names = [t.name for t in cluster.node_types]
    rows = [_shares(costs) for costs in (table * price, by_share, table, in_time)]
    return pd.DataFrame(rows, index=RULES, columns=names)


def _shares(costs):
    best = costs.min(axis=2).argmin(axis=1)
    return np.bincount(best, minlength=costs.shape[1]) / len(costs)
