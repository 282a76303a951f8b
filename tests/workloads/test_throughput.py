"""The time model by hand: step, memory, feeding, several GPUs."""

import math

import numpy as np
import pytest

from simulator.errors import InputError
from simulator.model.cluster import NodeType
from simulator.workloads.catalogs import read_catalog
from simulator.workloads.throughput import (
    FRAMEWORKS,
    GpuHost,
    TrainedNetwork,
    applications,
    epoch_s,
    gpu_host,
    step_s,
)

TOY = TrainedNetwork(
    name="toy",
    samples_per_epoch=100,
    sample_mb=0.5,
    samples_per_cpu_s=40,
    parameters_mb=1000,
    memory_gb_per_sample=0.1,
    fixed_samples=4,
    tensorflow_factor=1.5,
    batch_sizes=(16,),
)
HOST = GpuHost("toy-gpu", 5.0, 10.0, math.inf, math.inf, {"toy": 0.01})


SLOW_DISK = GpuHost("toy-gpu", 5.0, 10.0, math.inf, 40.0, {"toy": 0.01})
FEW_CPUS = GpuHost("toy-gpu", 5.0, 10.0, 0.5, math.inf, {"toy": 0.01})


@pytest.mark.parametrize(
    ("framework", "batch", "host", "gpus", "seconds"),
    [
        # 0.01 s x (16 + 4); TensorFlow half as long again.
        ("pytorch", 16, HOST, 1, 0.2),
        ("tensorflow", 16, HOST, 1, 0.3),
        # 3 GPUs take ceil(16/3) = 6 samples each; the exchange is 2 x 2/3 x 1 GB over 10 GB/s.
        ("pytorch", 16, HOST, 3, 0.01 * 10 + 4 / 3 / 10),
        # 0.4 + 3 x 1.0 + 0.1 b <= 5 GB: 16 samples fit, 17 do not, half of 32 does.
        ("pytorch", 17, HOST, 1, math.inf),
        ("pytorch", 32, HOST, 2, 0.01 * 20 + 1 / 10),
        # 40 MB/s of 0.5 MB samples: 80/s for the node, 10/s for one GPU of eight.
        ("pytorch", 16, SLOW_DISK, 1, 1.6),
    ],
)
def test_step_by_hand(framework, batch, host, gpus, seconds):
    assert step_s(TOY, framework, batch, host, gpus, 8) == pytest.approx(seconds)


def test_memory_and_feeding_by_hand():
    assert TOY.memory_gb(16) == pytest.approx(5.0)
    assert SLOW_DISK.feed_per_s(TOY, 1, 8) == pytest.approx(10)
    assert FEW_CPUS.feed_per_s(TOY, 2, 8) == pytest.approx(40)


def test_epoch_counts_whole_steps():
    app = applications()["resnet50"]
    node = NodeType("n", "K80", 2)
    table = epoch_s(app, "pytorch", 64, [node])
    assert table.shape == (1, 3)
    assert math.isinf(table[0, 0])
    steps = math.ceil(130_000 / 64)
    assert table[0, 2] == pytest.approx(steps * step_s(app, "pytorch", 64, gpu_host("K80"), 2, 2))


def test_published_rates_come_back():
    """Images/s on one GPU that the sources print (feeding left aside), within 5 %."""
    for name, gpu, batch, rate in [
        ("resnet50", "K80", 64, 51.7),
        ("vgg16", "M60", 16, 46.94),
        ("resnet50", "GTX 1080Ti", 64, 209),
        ("alexnet", "GTX 1080Ti", 512, 2636),
    ]:
        app, host = applications()[name], gpu_host(gpu)
        step = host.time_per_sample_s[name] * (batch + app.fixed_samples)
        assert batch / step == pytest.approx(rate, rel=0.05)


def test_batches_that_the_sources_ran_fit():
    ran = [
        ("alexnet", "K80", 512), ("alexnet", "GTX 1080Ti", 512), ("resnet50", "GTX 1080Ti", 64),
        ("resnet50", "M60", 44), ("vgg16", "GTX 1080Ti", 56), ("vgg16", "K80", 32),
        ("deepspeech", "K80", 20),
    ]  # fmt: skip
    for name, gpu, batch in ran:
        assert applications()[name].memory_gb(batch) <= gpu_host(gpu).memory_gb, (name, gpu)


def test_every_job_runs_somewhere_and_times_are_not_always_monotone():
    catalog = read_catalog("hierarchical")
    grows = False
    for app in applications().values():
        for framework in FRAMEWORKS:
            for batch in app.batch_sizes:
                table = epoch_s(app, framework, batch, catalog)
                assert np.isfinite(table).any()
                assert (table[np.isfinite(table)] > 0).all()
                custom2 = table[7, 1:]
                grows |= bool((np.diff(custom2[np.isfinite(custom2)]) > 0).any())
    assert grows


def test_unknown_gpu_type():
    with pytest.raises(
        InputError, match=r"GPU type 'H100': no training times, expected one of K80"
    ):
        gpu_host("H100")
