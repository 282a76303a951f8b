"""Times as in the authors' pool of jobs."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from simulator import InputError, NodeType
from simulator.workloads.catalogs import read_catalog
from simulator.workloads.hierarchical import HierarchicalJobs, generate
from simulator.workloads.pool_times import pool_times

FACTS = Path(os.environ.get("SCHEDLAB_FACTS", "nowhere"))
TYPES = ("K80", "M60", "Quadro P600", "GTX 1080Ti")


def test_one_job_by_hand():
    """AlexNet in PyTorch, batch 256, one K80 over one M60: mean and scores as in the two tables."""
    times_s, names = pool_times(
        400, (NodeType("k", "K80", 1), NodeType("m", "M60", 1)), np.random.default_rng(1)
    )
    assert times_s.shape == (400, 2, 2)
    assert np.isinf(times_s[:, :, 0]).all()
    cells = pd.read_csv("data/pool_times.csv").set_index(["gpu_type", "gpus"])
    pairs = pd.read_csv("data/pool_jobs.csv")
    pair = pairs[(pairs["network"] == "alexnet") & (pairs["batch_size"] == 256)].iloc[0]
    scores = np.array([1.0, *pair[[f"score_{k}" for k in range(1, 9)]]])
    expected = np.exp(scores @ (cells.loc[("K80", 1)] - cells.loc[("M60", 1)]).to_numpy())
    ratio = times_s[:, 0, 1] / times_s[:, 1, 1]
    assert np.isclose(ratio, expected).sum() == pytest.approx(400 / 22, abs=12)
    assert set(names) == {
        f"{f}_{n}" for f in ("pytorch", "tensorflow") for n in ("alexnet", "resnet50", "vgg19")
    }


def test_in_the_scenario():
    drawn = generate(HierarchicalJobs(num_nodes=20, times="pool", seed=3))
    same = generate(HierarchicalJobs(num_nodes=20, seed=3))
    assert (drawn.submit_s == same.submit_s).all()
    assert (drawn.weight_per_s == same.weight_per_s).all()
    assert not np.array_equal(drawn.performance.times_s, same.performance.times_s)


def test_a_gpu_type_that_the_pool_does_not_have():
    with pytest.raises(InputError, match="'v' has 4 'V100', expected at most 8 GPUs of "):
        pool_times(3, (NodeType("v", "V100", 4),), np.random.default_rng(1))


@pytest.mark.skipif(not FACTS.is_dir(), reason="set SCHEDLAB_FACTS to the folder of facts")
def test_the_laws_are_those_of_the_pool():
    """Quantiles of the shortest time and of longest over shortest, on all GPU types."""
    pool = pd.read_csv(FACTS / "gpuaas" / "gpuspb_pool_times_wide.csv")
    columns = [f"t_g{g}_s" for g in range(1, 9)]
    of_job = pool.groupby("Jobs")[columns]
    low, high = of_job.min().min(axis=1), of_job.max().max(axis=1)
    catalog = tuple(NodeType(name, name, 8) for name in TYPES)
    times_s, _ = pool_times(4000, catalog, np.random.default_rng(5))
    ours = times_s[:, :, 1:].reshape(4000, -1)
    levels = [0.1, 0.25, 0.5, 0.75, 0.9]
    assert np.quantile(ours.min(axis=1), levels) == pytest.approx(low.quantile(levels), rel=0.12)
    ratio, theirs = ours.max(axis=1) / ours.min(axis=1), high / low
    quartiles = [0.25, 0.5, 0.75]
    assert np.quantile(ratio, quartiles) == pytest.approx(theirs.quantile(quartiles), rel=0.1)


@pytest.mark.skipif(not FACTS.is_dir(), reason="set SCHEDLAB_FACTS to the folder of facts")
def test_the_fastest_configuration_is_that_of_the_pool():
    """The configuration that is fastest by the model takes at most a tenth longer than the pool's shortest."""
    pool = pd.read_csv(FACTS / "gpuaas" / "gpuspb_pool_times_wide.csv")
    wide = pool.pivot(
        index="Jobs", columns="GpuType", values=[f"t_g{g}_s" for g in range(1, 9)]
    ).swaplevel(axis=1)
    about = pool.drop_duplicates("Jobs").set_index("Jobs").loc[wide.index]
    framework = about["Application"].str.partition("_")[0].replace("tf", "tensorflow")
    network = about["Application"].str.partition("_")[2]
    cells, pairs = pd.read_csv("data/pool_times.csv"), pd.read_csv("data/pool_jobs.csv")
    names = [f"factor_{k}" for k in range(1, 9)]
    scores = pairs[[f"score_{k}" for k in range(1, 9)]].to_numpy()
    fastest = (cells["mean"].to_numpy() + scores @ cells[names].to_numpy().T).argmin(axis=1)
    for pair, cell in zip(pairs.itertuples(), cells.iloc[fastest].itertuples(), strict=True):
        mine = (framework == pair.framework) & (network == pair.network)
        jobs = wide[mine & (about["Batchsize"] == pair.batch_size)]
        found = jobs[cell.gpu_type, f"t_g{cell.gpus}_s"] / jobs.min(axis=1)
        assert len(jobs) == 8
        assert found.median() < 1.1


def test_the_catalogue_of_the_paper_has_times_of_every_job():
    times_s, _ = pool_times(50, read_catalog("hierarchical"), np.random.default_rng(2))
    assert np.isfinite(times_s).any(axis=2).all()
