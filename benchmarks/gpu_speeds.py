"""``data/gpu_speeds.csv`` anew, from published points: the relative speeds of networks on types of GPU.

python -m benchmarks.gpu_speeds          prints the table

Types of ``data/gpu_throughputs.csv`` have measured speeds, on several GPUs as well. Those of its newer
software are chained to the older by `LINK`, which was measured with both.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from simulator.files.bundled import read_table, records
from simulator.workloads.gpu_types import gpu_type_name
from simulator.workloads.networks.named import dnn_models
from simulator.workloads.networks.speeds import REFERENCE

MEASURED = {"alexnet": "alexnet", "resnet50": "resnet50", "deepspeech": "deepspeech"}
"""Networks with published times of their own on the types of Table II."""

OF_FAMILY = {"convolution": ("alexnet", "resnet50", "vgg16"), "recurrent": ("deepspeech",)}
"""Applications that stand for a family where a network has no times of its own."""

T4_PAIRS = {"convolution": ("EfficientNet", "ConvNet"), "recurrent": ("LSTM-big", "LSTM-small")}
"""Networks of ANDREAS that were measured on one V100 and on one T4."""

ANCHOR = "GTX 1080Ti"
"""The type that joins the measured ones of Table II to the V100 by data sheet."""


OLDER, NEWER = "22.10 and later", "24.10"
"""Versions of the software (NVIDIA's containers) of ``data/gpu_throughputs.csv``."""

LINK = "H100"
"""The type that joins the two versions."""

NOT_SCALED = ("bert_base_squad", "tacotron2")
"""Networks whose throughputs on several GPUs are left out: up to 2.7 times, or down to 0.3 times, that of as many alone."""

STAND_INS = {
    "resnet50": ("resnet50",),
    "gnmt": ("gnmt",),
    "transformer": ("transformerxlbase",),
    "convolution": ("ssd", "resnet50"),
    "recurrent": ("gnmt",),
}
"""Measured networks that stand for one of Synergy's by its name, else by its family."""


def speeds() -> pd.DataFrame:
    """``data/gpu_speeds.csv`` from what was published: network, gpu_type, gpus, relative_speed, basis."""
    families = {r["network"]: r["family"] for r in records(read_table("network_gradients.csv"))}
    measured = measured_speeds()
    own = {network for network, _, _ in measured}
    rows: list[tuple[str, str, int, float, str]] = []
    for name in [*dnn_models(), *sorted(own - {*dnn_models()})]:
        for gpu_type in read_table("gpu_types.csv")["gpu_type"]:
            of = STAND_INS.get(name) or STAND_INS.get(families.get(name, "")) or (name,)
            for gpus in (1, 2, 4, 8) if gpu_type != REFERENCE else ():
                if all((n, gpu_type, gpus) in measured for n in of):
                    found = [measured[n, gpu_type, gpus] for n in of]
                    value = _geometric_mean([v for v, _ in found])
                    basis = " and ".join(dict.fromkeys(b for _, b in found))
                    basis += "" if of == (name,) else ": " + " ".join(of)
                    rows.append((name, gpu_type, gpus, value, basis))
            if gpu_type == REFERENCE:
                rows.append((name, gpu_type, 1, 1.0, "reference"))
            elif not any(gpu_type == t for _, t, _ in measured) and name in families:
                value, basis = _speed(name, families[name], gpu_type)
                rows.append((name, gpu_type, 1, value, basis))
    table = pd.DataFrame(rows, columns=["network", "gpu_type", "gpus", "relative_speed", "basis"])
    return table.assign(relative_speed=[float(f"{v:.4g}") for v in table["relative_speed"]])


def measured_speeds() -> dict[tuple[str, str, int], tuple[float, str]]:
    """Speed over that of one `REFERENCE`, and its basis, by measured network, type and number of GPUs.

    On the newer software: the network's speed on `LINK` with the older, times its ratio to `LINK` with the
    newer. A network without figures there has the geometric mean ratio of the others, to `LINK` on one GPU and
    to one GPU on several.
    """
    older, newer = _throughputs(OLDER), _throughputs(NEWER)
    found: dict[tuple[str, str, int], tuple[float, str]] = {}
    for (gpu_type, gpus), row in older.items():
        for network, value in row.items():
            found[network, gpu_type, gpus] = value / older[REFERENCE, 1][network], "measured"
    basis = f"measured, chained by {LINK}"
    for (gpu_type, gpus), row in newer.items():
        if (gpu_type, 1) in older:
            continue
        start = (LINK, 1) if gpus == 1 else (gpu_type, 1)
        mean = _geometric_mean([value / newer[start][network] for network, value in row.items()])
        for network in older[LINK, gpus]:
            if network in row:
                ratio = row[network] / newer[LINK, 1][network]
                found[network, gpu_type, gpus] = found[network, LINK, 1][0] * ratio, basis
            else:
                value = found[(network, *start)][0] * mean
                found[network, gpu_type, gpus] = value, f"{basis} and other networks"
    return found


def _throughputs(software: str) -> dict[tuple[str, int], dict[str, float]]:
    """Throughputs of networks, by type and number of GPUs."""
    return {
        (gpu_type_name(row["gpu_type"]), row["num_gpus"]): {
            name: row[name]
            for name in list(row)[4:]
            if not np.isnan(row[name]) and (row["num_gpus"] == 1 or name not in NOT_SCALED)
        }
        for row in records(read_table("gpu_throughputs.csv"))
        if row["software"] == software
    }


def _speed(name: str, family: str, gpu_type: str) -> tuple[float, str]:
    """Relative speed of one network on one type, and what it rests on."""
    times = {
        (row["application"], row["gpu_type"]): float(row["value"])
        for row in records(read_table("throughput_fit.csv"))
        if row["parameter"] == "time_per_sample"
    }
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
