"""The shipped fit is what the published points give, and it stands by its stated errors."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import calibration
from simulator.files.bundled import read_table


@pytest.fixture(scope="module")
def refit() -> tuple[pd.DataFrame, pd.DataFrame]:
    return calibration.fit()


def test_the_shipped_fit_is_repeated(refit):
    key = ["parameter", "application", "gpu_type"]
    shipped = read_table("throughput_fit.csv").fillna({"application": "", "gpu_type": ""})
    both = shipped.merge(refit[0], on=key, suffixes=("", "_now"), how="outer")
    np.testing.assert_allclose(both["value"], both["value_now"], rtol=1e-4)


def test_stated_errors(refit):
    errors = refit[1].dropna(subset=["error"]).assign(error=lambda e: e["error"].abs())
    worst = errors.groupby("use")["error"].max()
    mean = errors.groupby("use")["error"].mean()
    assert worst["single"] < 0.045
    assert worst["architecture"] < 0.08
    assert mean["scaling"] < 0.04
    assert worst["scaling"] < 0.12
    assert mean["deepspeech"] < 0.06


def test_every_point_is_predicted_but_the_ones_it_starts_from(refit):
    points = refit[1]
    base = ((points["use"] == "framework") & (points["software"] == "pytorch")) | (
        (points["use"] == "scaling") & (points["gpus"] == 1)
    )
    assert (points["error"].isna() == base).all()


def test_fit_recovers_known_parameters():
    """Steps of 2 ms (b + 5) on one GPU come back as beta = 5, alpha = 2 ms."""
    batch = np.array([4.0, 16.0, 64.0])
    step = 0.002 * (batch + 5)
    points = pd.DataFrame(
        {"gpu_type": "x", "batch_per_gpu": batch, "gpus": 1, "samples_per_s": batch / step}
    )
    beta = calibration._beta(points)
    assert beta == pytest.approx(5, rel=1e-3)
    assert calibration._alpha(points, beta) == pytest.approx(0.002, rel=1e-3)
