"""Prices and power of machines that have none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simulator.adaptation.rules import ANDREAS, DATA_SHEET, ON_DEMAND, Rules
from simulator.errors import InputError
from simulator.files.bundled import read_table
from simulator.files.keys import at_key
from simulator.model.cluster import Cluster, NodeType
from simulator.workloads.catalogs import read_catalog
from simulator.workloads.energy import ENERGY_EUR_PER_KWH, PUE
from simulator.workloads.gpu_types import power_w, price_per_gpu_hour


def priced(cluster: Cluster, rules: Rules) -> Cluster:
    """The machines with prices or power."""
    if rules.power == DATA_SHEET:
        with at_key("power"):
            types = tuple(
                replace(t, power_w=power_w(t.gpu_type, t.gpus)) for t in cluster.node_types
            )
        cluster = replace(cluster, node_types=types)
    if rules.prices is not None:
        with at_key("prices"):
            types = tuple(_type_with_price(t, rules.prices) for t in cluster.node_types)
        return replace(cluster, node_types=types)
    if rules.power == ANDREAS:
        with at_key("power"):
            types = tuple(_type_with_power(t) for t in cluster.node_types)
        return replace(
            cluster,
            node_types=types,
            currency="EUR",
            energy_price_per_kwh=ENERGY_EUR_PER_KWH,
            pue=PUE,
        )
    return cluster


def _type_with_price(node_type: NodeType, prices: float | str) -> NodeType:
    """Prices are by the GPU: those of a catalogue by its node type of as many GPUs, or nearest."""
    if prices == ON_DEMAND:
        by_gpu = price_per_gpu_hour(node_type.gpu_type)
    elif isinstance(prices, str):
        same = [t for t in read_catalog(prices) if t.gpu_type == node_type.gpu_type]
        if not same:
            known = ", ".join(dict.fromkeys(t.gpu_type for t in read_catalog(prices)))
            raise InputError(
                f"catalogue {prices!r} has no GPU type {node_type.gpu_type!r}, expected one of "
                f"{known}, or a price of a GPU-hour"
            )
        nearest = min(same, key=lambda t: (abs(t.gpus - node_type.gpus), t.price_per_hour))
        by_gpu = nearest.price_per_hour / nearest.gpus
    else:
        by_gpu = float(prices)
    if np.isinf(node_type.gpus):
        return replace(node_type, price_per_gpu_hour=by_gpu)
    return replace(node_type, price_per_hour=by_gpu * node_type.gpus)


def _type_with_power(node_type: NodeType) -> NodeType:
    """ANDREAS's straight line of power over GPUs in use; a node without a job draws nothing."""
    table = read_table("andreas_power.csv")
    own = table[table["gpu_type"] == node_type.gpu_type]
    if own.empty or np.isinf(node_type.gpus):
        known = ", ".join(dict.fromkeys(table["gpu_type"]))
        raise InputError(
            f"GPU type {node_type.gpu_type!r} has no power figures, expected nodes of {known}"
        )
    slope, base = np.polyfit(own["gpus_in_use"].to_numpy(float), own["watt"].to_numpy(float), 1)
    watt = [0.0, *(round(base + slope * g, 6) for g in range(1, int(node_type.gpus) + 1))]
    return replace(node_type, power_w=tuple(float(w) for w in watt))
