"""GPUs of today: their names, measured speeds, and jobs of a trace on other GPUs than its own."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import gpu_speeds
from experiments.scenario.build import build
from experiments.scenario.schema import read_scenario
from simulator.files.bundled import read_table
from simulator.workloads.gpu_types import gpu_type_name, gpu_types, known_gpu_type
from simulator.workloads.networks import speeds
from simulator.workloads.other_gpus import faster, on_gpu_type, ratio_of_types
from tests.command import done, refused
from tests.core.jobs import elastic, fixed, sharing
from tests.errors import input_error

MEDIANS = Path(os.environ.get("SCHEDLAB_FACTS") or "/nonexistent") / "gpus/throughput_fp16.csv"
SCENARIO = """policy = "fifo"
[workload]
kind = "csv"
path = "jobs.csv"
[cluster]
kind = "nodes"
num_nodes = 1
"""
JOBS = "job_id,submit_time_s,duration_s,num_gpus,requested_s,model,gpu_type\n"


def durations(folder: Path, jobs: str, keys: str, more: str = ""):
    (folder / "jobs.csv").write_text(JOBS + jobs)
    (folder / "s.toml").write_text(f"{SCENARIO}{keys}\n{more}")
    workload, _ = build(read_scenario(folder / "s.toml"))
    return workload.performance.duration_s.tolist(), workload


# -- names -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("h100", "H100"), ("NVIDIA H100 80GB HBM3", "H100"), ("NVIDIA-A100-SXM4-80GB", "A100"),
        ("A100-PCIE-40GB", "A100 PCIe 40GB"), ("Tesla V100-SXM2-16GB", "V100"), ("V100M32", "V100"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"), ("rtx_a6000", "RTX A6000"), ("gtx1080ti", "GTX 1080Ti"),
    ],
)  # fmt: skip
def test_a_type_has_the_spellings_of_programs(text, name):
    assert gpu_type_name(text) == name


def test_an_unknown_type_is_told_with_all_that_there_are_and_the_nearest():
    assert known_gpu_type("P100") is None
    with input_error("got 'H10', expected a GPU type of A10, A100,", "V100; nearest: A10, H100"):
        gpu_type_name("H10")


def test_no_two_types_share_a_spelling():
    table = read_table("gpu_types.csv").fillna({"spellings": ""})
    for name, spellings in zip(table["gpu_type"], table["spellings"], strict=True):
        assert all(gpu_type_name(s) == name for s in [name, *filter(None, spellings.split(";"))])


def test_every_price_has_a_source_and_a_date():
    table = read_table("gpu_types.csv").dropna(subset=["price_per_gpu_hour"])
    assert len(table)
    assert table[["price_of", "price_source", "price_date"]].notna().all(axis=None)


# -- speeds ----------------------------------------------------------------------------------


def test_speeds_of_a_type_measured_with_the_older_software():
    """ResNet-50: 2,786 images/s on one H100, 22,045 on eight, 833 on one V100."""
    of = speeds.relative_speeds()["resnet50"]["H100"]
    assert of[1] == pytest.approx(2786 / 833, rel=1e-3)
    assert of[8] == pytest.approx(22045 / 833, rel=1e-3)


def test_speeds_of_a_type_measured_with_the_newer_software_are_chained_by_the_h100():
    """GNMT on a B200: 852,308 over 477,117 on an H100, which was 479,154 over 79,111 on a V100."""
    of = speeds.relative_speeds()["gnmt"]["B200"]
    assert of[1] == pytest.approx(852308 / 477117 * 479154 / 79111, rel=1e-3)
    assert of[4] == pytest.approx(3399411 / 477117 * 479154 / 79111, rel=1e-3)


def test_networks_without_figures_on_the_newer_software_have_the_mean_ratio_of_the_others():
    h200 = [
        944 / 866,
        930 / 844,
        350 / 310,
        569819 / 477117,
        3079 / 2790,
        123595 / 85950,
        549416 / 471414,
    ]
    ratio = np.exp(np.log(h200).mean())
    of = speeds.relative_speeds()["transformerxlbase"]
    assert of["H200"][1] == pytest.approx(62259 / 18493 * ratio, rel=1e-3)


def test_mean_speeds_are_over_one_set_of_networks():
    """Nine networks, so that means of two types compare: 5.04 times a V100; a B200 is 1.61 times an H100."""
    (_, h100, over), (_, b200, _) = ratio_of_types("H100", "V100"), ratio_of_types("B200", "V100")
    assert (round(h100, 2), len(over)) == (5.04, 9)
    assert (round(min(over.values()), 2), round(max(over.values()), 2)) == (3.35, 9.93)
    assert b200 / h100 == pytest.approx(ratio_of_types("B200", "H100")[1], rel=1e-9)
    assert b200 / h100 == pytest.approx(1.610, rel=1e-3)
    assert len(ratio_of_types("H100", "K80")[2]) == 10  # Synergy's: a K80 was not measured


def test_several_gpus_have_their_measured_speed_and_between_them_the_interpolated_one():
    """ResNet-50 on H100: of 4 GPUs each has 11,040 / 4 images/s, of 8 each 22,045 / 8, of 6 the mean of both."""
    rate = {g: speeds.rate("resnet50", "H100", g) for g in (1, 4, 6, 8, 16)}
    each = 2786 / rate[1]
    assert rate[4] * each == pytest.approx(11040, rel=1e-3)
    assert rate[8] * each == pytest.approx(22045, rel=1e-3)
    assert rate[6] * each == pytest.approx(6 * (11040 / 4 + 22045 / 8) / 2, rel=1e-3)
    assert rate[16] == pytest.approx(2 * rate[8])


def test_throughputs_that_several_gpus_cannot_have_are_left_out():
    measured = gpu_speeds.measured_speeds()
    each = {
        key: value / key[2] / measured[key[0], key[1], 1][0]
        for key, (value, _) in measured.items()
        if key[2] > 1
    }
    assert 0.5 < min(each.values()) < max(each.values()) < 1.12


@pytest.mark.skipif(not MEDIANS.is_file(), reason="SCHEDLAB_FACTS names no folder with public data")
def test_throughputs_are_the_medians_of_the_source():
    pd.testing.assert_frame_equal(read_table("gpu_throughputs.csv"), pd.read_csv(MEDIANS))


# -- jobs on other GPUs ----------------------------------------------------------------------


def test_a_job_takes_as_long_as_its_network_on_the_gpus_of_the_scenario(tmp_path):
    """ResNet-50: 2,786 images/s on an H100, 833 on a V100, 1,582 on an A100; others: the mean of nine networks."""
    jobs = "a,0,1000,1,2000,resnet50,V100\nb,0,1000,1,,,v100\nc,0,1000,2,,resnet50,A100-SXM4-80GB\n"
    found, workload = durations(tmp_path, jobs, 'gpu_type = "H100"')
    mean = ratio_of_types("H100", "V100")[1]
    wanted = [1000 * 833 / 2786, 1000 / mean, 1000 * 1582 / 2786]
    assert found == pytest.approx(wanted, rel=1e-3)
    assert workload.requested_s[0] == pytest.approx(2 * found[0])
    assert workload.notes == (
        "cluster.gpu_type: durations are converted from V100 to H100 (jobs: 2); relative speed: resnet50 3.35, "
        "others 5.04 (geometric mean of 9 networks, 3.35 to 9.93)",
        "cluster.gpu_type: durations are converted from A100 to H100 (jobs: 1); relative speed: resnet50 1.76",
    )


def test_the_key_says_on_which_gpus_durations_were_taken(tmp_path):
    jobs = "a,0,1000,1,,bert-large,\nb,0,1000,1,,gnmt,P100\n"
    found, _ = durations(tmp_path, jobs, 'gpu_type = "H100"', '[adapt]\ngpu_type = "V100"')
    assert found == pytest.approx([1000 * 57 / 308, 1000 * 79111 / 479154], rel=1e-3)
    same, workload = durations(tmp_path, jobs, 'gpu_type = "V100"', '[adapt]\ngpu_type = "V100"')
    assert (same, workload.notes) == ([1000, 1000], ())


def test_where_nothing_says_so_durations_stay_with_a_note(tmp_path):
    found, workload = durations(tmp_path, "a,0,1000,1,,,\n", 'gpu_type = "H100"')
    assert found == [1000]
    assert "cluster.gpu_type: the jobs do not say on which GPUs" in workload.notes[0]


@pytest.mark.parametrize(
    ("own", "line"), [("P100", "ran on GPU type 'P100', of which"), ("", "names none")]
)
def test_a_job_of_unknown_gpus_among_others_is_refused(tmp_path, own, line):
    jobs = f"a,0,1000,1,,,V100\nb,0,1000,1,,,{own}\n"
    with input_error(f"adapt.gpu_type: job 'b' {line}"):
        durations(tmp_path, jobs, 'gpu_type = "H100"')


def test_a_speed_counts_in_place_of_the_type(tmp_path):
    jobs = "a,0,1000,1,5000,,V100\n"
    found, workload = durations(tmp_path, jobs, 'gpu_type = "H100"\nspeed = 2.5')
    assert (found, workload.requested_s.tolist()) == ([400], [2000])
    assert workload.notes == ("cluster.speed: jobs are 2.5 times as fast as in the trace",)


def test_parts_of_gpus_stay_parts():
    made = faster(sharing([0], [100], 0.25), 4.0).performance
    assert (made.duration_s.tolist(), made.part.tolist()) == ([25], [0.25])


def test_elastic_jobs_have_no_speed():
    with input_error("the jobs have no fixed demand with one duration"):
        faster(elastic(np.ones((1, 1, 2))), 2.0)


def test_jobs_of_the_same_type_are_as_they_are():
    jobs = fixed([0, 1], [10, 20])
    assert on_gpu_type(jobs, "A10", ["NVIDIA A10", "a10"]).notes == ()


def test_elastic_jobs_take_as_long_as_in_the_file_on_the_gpus_that_it_names(tmp_path):
    """ResNet-50: one GPU takes 1,000 s on a V100 as the file says, and 833 / 2,786 of that on an H100."""
    more = '[adapt]\nspeedup = "calibrated"\nprices = "on-demand"'
    (tmp_path / "jobs.csv").write_text(JOBS + "a,0,1000,1,,resnet50,V100\n")
    (tmp_path / "s.toml").write_text(
        f'{SCENARIO}gpu_type = "H100"\n{more}\n'.replace("fifo", "greedy")
    )
    workload, _ = build(read_scenario(tmp_path / "s.toml"))
    assert workload.performance.times_s[0, 0, 1] == pytest.approx(1000 * 833 / 2786, rel=1e-3)


def test_policies_lists_the_types():
    assert f"GPU types (key cluster.gpu_type): {', '.join(gpu_types())}." in " ".join(
        done("policies").stdout.split()
    )


# -- servers of several kinds ------------------------------------------------------------------

GROUPS = """policy = "{policy}"
[workload]
kind = "csv"
path = "jobs.csv"
[cluster]
kind = "mixed"
[cluster.groups.old]
num_nodes = 2
gpus_per_node = 4
[cluster.groups.new]
num_nodes = 1
"""


def run_on_groups(folder: Path, jobs: str, keys: str, policy: str = "fifo", more: str = ""):
    (folder / "jobs.csv").write_text(JOBS + jobs)
    (folder / "s.toml").write_text(GROUPS.format(policy=policy) + f"{keys}\n{more}")
    workload, cluster = build(read_scenario(folder / "s.toml"))
    assert cluster.node_type_of == (0, 0, 1)
    done("run", "s.toml", "--out", "out", cwd=folder)
    jobs_table = pd.read_csv(folder / "out" / "jobs.csv").set_index("job_id")
    return jobs_table["completion_s"].to_dict(), workload


def test_a_job_over_servers_of_two_kinds_is_as_fast_as_the_slower(tmp_path):
    """a takes the new server, b the two old ones; d fits beside neither, and passes c, which waits for all 16 GPUs."""
    jobs = "a,0,100,8,200,,\nb,0,100,8,200,,\nc,1,100,16,100,,\nd,2,50,4,50,,\n"
    ends, workload = run_on_groups(tmp_path, jobs, "speed = 2.0", "easy-backfill")
    assert ends == {"a": 50, "b": 100, "c": 200, "d": 75}
    assert workload.performance.times_s.tolist() == [[100, 50], [100, 50], [100, 50], [50, 25]]
    assert workload.requested_s.tolist() == [200, 200, 100, 50]
    assert workload.notes == ("cluster.groups.new.speed: jobs are 2 times as fast as in the trace",)


@pytest.mark.parametrize("policy", ["easy-backfill", "conservative-backfill"])
def test_running_jobs_are_expected_to_end_as_on_the_slower_servers(tmp_path, policy):
    """b on the old servers ends at 100 s, when c is promised all GPUs; d ends before that on the new one, from 50 s on."""
    jobs = "a,0,100,8,,,\nb,0,100,8,,,\nc,1,100,16,,,\nd,2,40,4,,,\n"
    ends, _ = run_on_groups(tmp_path, jobs, "speed = 2.0", policy)
    assert ends == {"a": 50, "b": 100, "c": 200, "d": 70}


def test_jobs_get_the_type_that_they_ask_for_at_its_speed(tmp_path):
    """ResNet-50: 2,786 images/s on an H100, 833 on a V100; b asks for a V100 and waits for one."""
    jobs = "a,0,1000,8,,resnet50,V100|H100\nb,0,1000,8,,resnet50,V100\nc,0,10,8,,resnet50,V100\n"
    keys = 'gpu_type = "H100"\n[cluster.groups.other]\nnum_nodes = 1\ngpu_type = "A100"'
    (tmp_path / "jobs.csv").write_text(JOBS + jobs)
    text = GROUPS.format(policy="fifo").replace("= 4\n", '= 4\ngpu_type = "V100"\n') + keys
    (tmp_path / "s.toml").write_text(f'{text}\n[adapt]\ngpu_type = "V100"\n')
    done("run", "s.toml", "--out", "out", cwd=tmp_path)
    ends = pd.read_csv(tmp_path / "out" / "jobs.csv").set_index("job_id")["completion_s"].to_dict()
    assert ends["b"] == 1000
    assert ends["c"] == 1010
    assert ends["a"] == pytest.approx(1000 * 833 / 2786, rel=1e-3)


def test_processor_sharing_on_servers_of_two_speeds(tmp_path):
    """Each of the two jobs has eight GPUs, those of one twice as fast."""
    ends, _ = run_on_groups(
        tmp_path, "a,0,100,8,,,\nb,0,100,8,,,\n", "speed = 2.0", "processor-sharing"
    )
    assert sorted(ends.values()) == [50, 100]


def test_equal_speeds_are_jobs_of_one_duration(tmp_path):
    ends, workload = run_on_groups(tmp_path, "a,0,100,16,,,\n", "speed = 1.0")
    assert (ends, type(workload.performance).__name__) == ({"a": 100}, "FixedDuration")


@pytest.mark.parametrize(
    ("keys", "more", "line"),
    [
        ("speed = 0", "", "cluster.groups.new.speed: got 0, expected a number > 0"),
        ("gpu_typ = 'H100'", "", "cluster.groups.new.gpu_typ: unknown key"),
        ("speed = 2.0", '[adapt]\nspeedup = "calibrated"', "cluster.groups: the jobs have a"),
    ],
)
def test_what_is_wrong_with_a_group_is_one_line(tmp_path, keys, more, line):
    (tmp_path / "jobs.csv").write_text(f"{JOBS}a,0,100,1,,resnet50,V100\n")
    (tmp_path / "s.toml").write_text(GROUPS.format(policy="fifo") + f"{keys}\n{more}")
    assert line in refused("run", "s.toml", cwd=tmp_path)
