"""``data/gpu_speeds.csv`` anew, from published points: the relative speeds of networks on types of GPU.

python -m benchmarks.gpu_speeds          prints the table
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from simulator.files.bundled import read_table, records
from simulator.workloads.dnn_models import REFERENCE
from simulator.workloads.synergy import dnn_models

MEASURED = {"alexnet": "alexnet", "resnet50": "resnet50", "deepspeech": "deepspeech"}
"""Networks with published times of their own on the types of Table II."""

OF_FAMILY = {"convolution": ("alexnet", "resnet50", "vgg16"), "recurrent": ("deepspeech",)}
"""Applications that stand for a family where a network has no times of its own."""

T4_PAIRS = {"convolution": ("EfficientNet", "ConvNet"), "recurrent": ("LSTM-big", "LSTM-small")}
"""Networks of ANDREAS that were measured on one V100 and on one T4."""

ANCHOR = "GTX 1080Ti"
"""The type that joins the measured ones of Table II to the V100 by data sheet."""


def speeds() -> pd.DataFrame:
    """``data/gpu_speeds.csv`` from what was published: network, gpu_type, relative_speed, basis."""
    families = {r["network"]: r["family"] for r in records(read_table("network_gradients.csv"))}
    rows = []
    for name in dnn_models():
        for row in records(read_table("gpu_types.csv")):
            value, basis = _speed(name, families[name], row["gpu_type"])
            rows.append((name, row["gpu_type"], float(f"{value:.4g}"), basis))
    return pd.DataFrame(rows, columns=["network", "gpu_type", "relative_speed", "basis"])


def _speed(name: str, family: str, gpu_type: str) -> tuple[float, str]:
    """Relative speed of one network on one type, and what it rests on."""
    times = {
        (row["application"], row["gpu_type"]): float(row["value"])
        for row in records(read_table("throughput_fit.csv"))
        if row["parameter"] == "time_per_sample"
    }
    if gpu_type == REFERENCE:
        return 1.0, "reference"
    if gpu_type == "T4":
        pairs = T4_PAIRS[family]
        return _geometric_mean([_measured_on_t4(p) for p in pairs]), "andreas: " + " ".join(pairs)
    if gpu_type == ANCHOR or gpu_type not in {t for _, t in times}:
        return _by_data_sheet(family, gpu_type), "data sheet"
    of = (MEASURED[name],) if name in MEASURED else OF_FAMILY[family]
    ratio = _geometric_mean([times[a, ANCHOR] / times[a, gpu_type] for a in of])
    anchor = _by_data_sheet(family, ANCHOR)
    return anchor * ratio, f"data sheet to {ANCHOR}; from there throughput_fit: " + " ".join(of)


def _by_data_sheet(family: str, gpu_type: str) -> float:
    """FLOPS and bandwidth with the fitted exponent; bandwidth alone for the recurrent ones."""
    fit = {r["parameter"]: float(r["value"]) for r in records(read_table("throughput_fit.csv"))}
    exponent = fit["compute_exponent"] if family == "convolution" else 0.0
    hardware = {row["gpu_type"]: row for row in records(read_table("gpu_types.csv"))}
    here, there = hardware[gpu_type], hardware[REFERENCE]
    flops = float(here["tflops"]) / float(there["tflops"])
    bandwidth = float(here["bandwidth_gb_per_s"]) / float(there["bandwidth_gb_per_s"])
    return float(flops**exponent * bandwidth ** (1 - exponent))


def _measured_on_t4(application: str) -> float:
    times = {
        row["gpu_type"]: float(row["seconds_per_epoch"])
        for row in records(read_table("andreas_epochs.csv"))
        if row["application"] == application and row["gpus"] == 1
    }
    return times["V100"] / times["T4"]


def _geometric_mean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


if __name__ == "__main__":
    print(speeds().to_csv(index=False, lineterminator="\n"), end="")
