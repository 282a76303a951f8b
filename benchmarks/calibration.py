"""Fit of the training-time model to published throughput; the fit is shipped, this repeats it.

``data/throughput_points.csv`` holds the published figures, ``data/throughput_fit.csv`` what comes
out here, and `simulator.workloads.throughput` is the model that reads it. One training step of a network ``a`` with
``b`` samples on each of ``g`` GPUs of type ``u`` takes

    step_s = alpha[a, u] (b + beta[a])  +  2 (g - 1)/g S[a] / W

the first term the time of forward and backward pass (``beta`` is what a step costs whatever its
size, in samples), the second a ring all-reduce of the gradient of ``S`` MB over a bus that moves
``W`` GB/s. See data/README.md for the sources and the errors.

    python -m benchmarks.calibration          prints both tables
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar

from simulator.files.bundled import read_table, records
from simulator.model.cluster import FloatArray

CNNS = ("alexnet", "resnet50", "vgg16")
DEEPSPEECH = "deepspeech"
SCALING_OF = {"azure": "K80", "in-house": "RTX 2080Ti"}
"""GPUs on whose multi-GPU figures the bus of each kind of host is fitted."""

SAME_FACTOR = {"resnet152": "resnet50"}
"""Published pairs of frameworks that stand for another network."""

Row = dict[str, object]


def fit() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Fit everything.

    Returns
    -------
    parameters : columns ``parameter, application, gpu_type, value, unit``.
    errors : one row a published point, with ``predicted`` and ``error`` (relative).
    """
    points = read_table("throughput_points.csv")
    beta = {a: _beta(_of(points, "single", a)) for a in CNNS}
    beta[DEEPSPEECH] = _beta(_of(points, "recurrent", "lstm-language-model"))
    bus = {host: _bus(points, gpu) for host, gpu in SCALING_OF.items()}
    alpha = {(a, u): _alpha(p, beta[a]) for a in CNNS for u, p in _single(points, a)}
    exponent = _compute_exponent(points)
    for a in CNNS:
        alpha[a, "Quadro P600"] = alpha[a, "GTX 1080Ti"] * _scale(
            "GTX 1080Ti", "Quadro P600", exponent
        )
    alpha |= _deepspeech(points, beta[DEEPSPEECH], bus["azure"])
    factor = {a: _framework_factor(points, a) for a in (*CNNS, DEEPSPEECH)}

    rows: list[Row] = [_row("compute_exponent", exponent, "")]
    rows += [_row("all_reduce", w, "GB/s", gpu_type=host) for host, w in bus.items()]
    rows += [_row("fixed_samples", b, "samples", application=a) for a, b in beta.items()]
    rows += [_row("tensorflow_factor", f, "", application=a) for a, f in factor.items()]
    rows += [_row("time_per_sample", s, "s", a, u) for (a, u), s in sorted(alpha.items())]
    return pd.DataFrame(rows), _errors(_Fitted(points, alpha, beta, bus, exponent, factor))


def _row(parameter: str, value: float, unit: str, application: str = "", gpu_type: str = "") -> Row:
    return {
        "parameter": parameter,
        "application": application,
        "gpu_type": gpu_type,
        "value": float(f"{value:.6g}"),
        "unit": unit,
    }


# -- one GPU ---------------------------------------------------------------------------------


def _of(points: pd.DataFrame, use: str, application: str) -> pd.DataFrame:
    return points[(points["use"] == use) & (points["application"] == application)]


def _single(points: pd.DataFrame, application: str) -> Iterator[tuple[str, pd.DataFrame]]:
    for gpu_type, group in _of(points, "single", application).groupby("gpu_type"):
        yield str(gpu_type), group


def _step_s(points: pd.DataFrame) -> FloatArray:
    samples = points["batch_per_gpu"] * points["gpus"]
    return (samples / points["samples_per_s"]).to_numpy(dtype=float)


def _beta(points: pd.DataFrame) -> float:
    """Fixed cost of a step in samples: least squares in log, one slope a GPU type."""
    gpus = points["gpu_type"].to_numpy()
    batch = points["batch_per_gpu"].to_numpy(dtype=float)
    log_step = np.log(_step_s(points))

    def loss(beta: float) -> float:
        left = log_step - np.log(batch + beta)
        return float(sum(np.var(left[gpus == u]) * np.sum(gpus == u) for u in np.unique(gpus)))

    return float(minimize_scalar(loss, bounds=(0, 200), method="bounded").x)


def _alpha(points: pd.DataFrame, beta: float) -> float:
    """Seconds a sample: geometric mean over the published points."""
    batch = points["batch_per_gpu"].to_numpy(dtype=float)
    return float(np.exp(np.mean(np.log(_step_s(points) / (batch + beta)))))


# -- several GPUs ----------------------------------------------------------------------------


def _exchange_s(gpus: float, application: str, bus: float) -> float:
    """Seconds of a ring all-reduce: each GPU sends 2 (g - 1)/g gradients."""
    return 2 * (gpus - 1) / gpus * _parameters_mb()[application] / 1000 / bus


def _series(points: pd.DataFrame, gpu_type: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Figures on 1, 2, 4, 8 GPUs of one machine, one application, one batch size."""
    chosen = points[points["use"].isin(["scaling", "single"]) & (points["gpu_type"] == gpu_type)]
    for key, group in chosen.groupby(["system", "application", "batch_per_gpu"]):
        if (group["gpus"] > 1).any():
            yield str(key[1]), group.sort_values("gpus")


def _predicted_series(group: pd.DataFrame, application: str, bus: float) -> FloatArray:
    """Samples/s on every row of a series, from its row with one GPU."""
    gpus = group["gpus"].to_numpy(dtype=float)
    batch = group["batch_per_gpu"].to_numpy(dtype=float)
    exchange = np.array([_exchange_s(g, application, bus) for g in gpus.tolist()])
    rates: FloatArray = gpus * batch / (_step_s(group)[0] + exchange)
    return rates


def _bus(points: pd.DataFrame, gpu_type: str) -> float:
    """GB/s of the gradient exchange: least squares in log over all series."""
    series = list(_series(points, gpu_type))

    def loss(bus: float) -> float:
        return sum(
            float(np.sum(np.log(_predicted_series(s, a, bus) / s["samples_per_s"]) ** 2))
            for a, s in series
        )

    return float(minimize_scalar(loss, bounds=(0.5, 50), method="bounded").x)


@cache
def _parameters_mb() -> dict[str, float]:
    table = read_table("applications.csv")
    return dict(zip(table["application"], table["parameters_mb"].astype(float), strict=True))


# -- from GPU to GPU -------------------------------------------------------------------------


def _hardware() -> pd.DataFrame:
    return read_table("gpu_types.csv").set_index("gpu_type")


def _scale(known: str, wanted: str, exponent: float) -> float:
    """Ratio of times of a sample: FLOPS to the exponent, bandwidth to the rest of 1."""
    hardware = _hardware()
    ratio = (
        hardware.loc[known, ["tflops", "bandwidth_gb_per_s"]]
        / hardware.loc[wanted, ["tflops", "bandwidth_gb_per_s"]]
    )
    flops, bandwidth = (float(x) for x in ratio.to_numpy(dtype=float))
    return float(flops**exponent * bandwidth ** (1 - exponent))


def _architecture(points: pd.DataFrame) -> pd.DataFrame:
    """Steps of 16 images in the same program on Maxwell and Pascal GPUs."""
    same = points[points["use"].isin(["single", "architecture"]) & (points["software"] == "torch")]
    return same[(same["gpu_type"] != "K80") & same["application"].isin(CNNS)]


def _compute_exponent(points: pd.DataFrame) -> float:
    """Share of FLOPS in the speed of a CNN: least squares with one level an application."""
    same = _architecture(points)
    hardware = _hardware().loc[same["gpu_type"]]
    flops = np.log(hardware["tflops"].to_numpy(dtype=float))
    bandwidth = np.log(hardware["bandwidth_gb_per_s"].to_numpy(dtype=float))
    rate = np.log(same["samples_per_s"].to_numpy(dtype=float))
    x, y = flops - bandwidth, rate - bandwidth
    for a in CNNS:
        rows = (same["application"] == a).to_numpy()
        x[rows] -= x[rows].mean()
        y[rows] -= y[rows].mean()
    return float(x @ y / (x @ x))


def _deepspeech(points: pd.DataFrame, beta: float, bus: float) -> dict[tuple[str, str], float]:
    """K80 from its own figure; the others by memory bandwidth from V100 and Titan X."""
    measured = _of(points, "deepspeech", DEEPSPEECH).set_index("gpu_type")
    hardware = _hardware()
    alpha = {}
    for gpu_type in ("K80", "V100", "Titan X (Maxwell)"):
        point = measured.loc[[gpu_type]]
        exchange = _exchange_s(float(point["gpus"].iloc[0]), DEEPSPEECH, bus)
        step = float(_step_s(point)[0]) - exchange
        alpha[gpu_type] = step / (float(point["batch_per_gpu"].iloc[0]) + beta)
    bandwidth = hardware["bandwidth_gb_per_s"].astype(float)
    level = np.sqrt(
        alpha["V100"] * bandwidth["V100"]
        * alpha["Titan X (Maxwell)"] * bandwidth["Titan X (Maxwell)"]
    )  # fmt: skip
    fitted = {(DEEPSPEECH, "K80"): alpha["K80"]}
    for gpu_type in ("M60", "Quadro P600", "GTX 1080Ti"):
        fitted[DEEPSPEECH, gpu_type] = float(level / bandwidth[gpu_type])
    return fitted


def _framework_factor(points: pd.DataFrame, application: str) -> float:
    """TensorFlow over PyTorch time: geometric mean of the published pairs; 1 where there is none."""
    published = [p for p, a in SAME_FACTOR.items() if a == application] or [application]
    pairs = _of(points, "framework", published[0])
    if pairs.empty:
        return 1.0
    rates = pairs.pivot_table(index="system", columns="software", values="samples_per_s")
    return float(np.exp(np.mean(np.log(rates["pytorch"] / rates["tensorflow"]))))


# -- errors ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Fitted:
    """Input of the predictions."""

    points: pd.DataFrame
    alpha: dict[tuple[str, str], float]
    beta: dict[str, float]
    bus: dict[str, float]
    exponent: float
    factor: dict[str, float]


def _errors(fitted: _Fitted) -> pd.DataFrame:
    """Predictions of the model for every point that it was fitted to."""
    predicted: dict[int, float] = {}
    for predict in (_single_rates, _scaled_rates, _scaling_rates, _speech_rates, _paired_rates):
        predicted |= predict(fitted)
    points = fitted.points
    table = points.assign(predicted=[predicted.get(i, np.nan) for i in range(len(points))])
    return table.assign(error=table["predicted"] / table["samples_per_s"] - 1)


def _rows_of(fitted: _Fitted, use: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for i, row in enumerate(records(fitted.points)):
        if row["use"] == use:
            yield i, row


def _single_rates(fitted: _Fitted) -> dict[int, float]:
    """One GPU: b / (alpha (b + beta))."""
    rates = {}
    for i, p in _rows_of(fitted, "single"):
        per_sample = fitted.alpha[p["application"], p["gpu_type"]]
        rates[i] = p["batch_per_gpu"] / (
            per_sample * (p["batch_per_gpu"] + fitted.beta[p["application"]])
        )
    return rates


def _scaled_rates(fitted: _Fitted) -> dict[int, float]:
    """GPUs outside the catalogue, scaled from the GTX 1080Ti as the Quadro P600 is."""
    known = _architecture(fitted.points).set_index(["gpu_type", "application"])["samples_per_s"]
    return {
        i: float(known["GTX 1080Ti", p["application"]])
        / _scale("GTX 1080Ti", p["gpu_type"], fitted.exponent)
        for i, p in _rows_of(fitted, "architecture")
    }


def _scaling_rates(fitted: _Fitted) -> dict[int, float]:
    """Several GPUs, from the row of the same series with one."""
    rates = {}
    for host, gpu_type in SCALING_OF.items():
        for a, group in _series(fitted.points, gpu_type):
            several = _predicted_series(group, a, fitted.bus[host])
            for i, gpus, rate in zip(group.index, group["gpus"], several, strict=True):
                if gpus > 1:
                    rates[int(i)] = float(rate)
    return rates


def _speech_rates(fitted: _Fitted) -> dict[int, float]:
    """The recurrent network that gives DeepSpeech its beta, and DeepSpeech itself."""
    beta = fitted.beta[DEEPSPEECH]
    lstm = _alpha(fitted.points[fitted.points["use"] == "recurrent"], beta)
    rates = {
        i: p["batch_per_gpu"] / (lstm * (p["batch_per_gpu"] + beta))
        for i, p in _rows_of(fitted, "recurrent")
    }
    bandwidth = _hardware()["bandwidth_gb_per_s"].astype(float)
    level = fitted.alpha[DEEPSPEECH, "GTX 1080Ti"] * bandwidth["GTX 1080Ti"]
    for i, p in _rows_of(fitted, "deepspeech"):
        scaled = float(level / bandwidth[p["gpu_type"]])
        per_sample = fitted.alpha.get((DEEPSPEECH, p["gpu_type"]), scaled)
        exchange = _exchange_s(p["gpus"], DEEPSPEECH, fitted.bus["azure"])
        step = per_sample * (p["batch_per_gpu"] + beta) + exchange
        rates[i] = p["batch_per_gpu"] * p["gpus"] / step
    return rates


def _paired_rates(fitted: _Fitted) -> dict[int, float]:
    """TensorFlow, from the PyTorch figure of the same system."""
    pairs = {
        (p["system"], p["application"], p["software"]): p["samples_per_s"]
        for _, p in _rows_of(fitted, "framework")
    }
    return {
        i: pairs[p["system"], p["application"], "pytorch"]
        / fitted.factor[SAME_FACTOR.get(p["application"], p["application"])]
        for i, p in _rows_of(fitted, "framework")
        if p["software"] == "tensorflow"
    }


def mape(errors: pd.DataFrame) -> pd.DataFrame:
    """Mean absolute relative error by use, application and GPU type."""
    known = errors.dropna(subset=["error"]).assign(mape=lambda e: e["error"].abs())
    groups = known.groupby(["use", "application", "gpu_type"], sort=False)["mape"]
    return groups.agg(["mean", "max", "count"]).reset_index()


if __name__ == "__main__":
    parameters, all_errors = fit()
    print(parameters.to_csv(index=False))
    print(mape(all_errors).round(3).to_csv(index=False))
