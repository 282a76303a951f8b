"""Placement rules on parts of GPUs: against the released FGD results, by hand, and by invariants."""

import csv
import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.analysis.packing_experiment import arriving, pack, packing_table
from policies.fractional_gpus import kernels
from policies.fractional_gpus.state import RULES, Typical, classes_of, empty_state, nothing_known
from simulator import InputError
from simulator.workloads.openb import like_openb, openb_machines, read_nodes, read_pods
from simulator.workloads.pods import Demands, MachineTable
from tests.fractional_gpus.openb_mixes import with_multi_gpu_part, with_sharing_part

PAPER = dict(
    zip(RULES, ("Random", "DotProd", "GpuClustering", "GpuPacking", "BestFit", "FGD"), strict=True)
)


def demands(rows, spec=()):
    """Rows of (CPUs, GPUs, thousandths)."""
    cpu, gpus, milli = (np.array(c, dtype=np.int64) for c in zip(*rows, strict=True))
    names = [f"p{i}" for i in range(len(rows))]
    return Demands(names, cpu * 1000, cpu * 0, gpus, milli, list(spec) or [""] * len(rows))


def machines(*rows):
    """Rows of (CPUs, GPUs, model)."""
    cpu, gpus, model = zip(*rows, strict=True)
    size = np.array(gpus, dtype=np.int64)
    return MachineTable(np.array(cpu, dtype=np.int64) * 1000, size * 0, size, list(model))


def test_fragmentation_by_hand():
    """Two GPUs, 300 and 1000 left. Half of the jobs want 500 of one, the others two whole ones."""
    jobs = demands([(1, 1, 500), (1, 2, 1000)])
    hosts = machines((8, 2, "T4"))
    typical = Typical.of(jobs, hosts, popularity=1.0)
    rows, allowed, share = (*typical.classes, typical.share)
    gpu = np.array([300, 1000])
    found = kernels.fragmentation(8000, gpu, 2, 1, rows, allowed, share)
    assert found == pytest.approx(0.5 * 300 + 0.5 * 1300)
    assert kernels.fragmentation(500, gpu, 2, 1, rows, allowed, share) == pytest.approx(1300)


def test_fgd_goes_where_the_sum_of_fragments_falls_most():
    """Against a plain search over every node and GPU, scores not rounded."""
    rng = np.random.default_rng(3)
    hosts = machines((16, 2, "A"), (8, 4, "B"), (32, 1, "A"), (24, 3, "B"))
    rows = [(int(rng.integers(1, 5)), 1, int(rng.integers(1, 10)) * 100) for _ in range(12)]
    jobs = demands([*rows, (2, 2, 1000)], [""] * 12 + ["B"])
    classes, class_of = classes_of(jobs, hosts)
    typical = Typical.of(jobs, hosts, popularity=1.0)
    state = empty_state(hosts)
    known = nothing_known(classes, state)
    room, picked = kernels.scratch(4)
    parts = (*typical.classes, typical.share)

    def fragments(n, cpu, gpu):
        count, model = state.gpus[n], state.models[n]
        return kernels.fragmentation(cpu, np.array(gpu), count, model, *parts)

    for c in class_of:
        demand = classes.demand[c]
        options = []
        for n in range(4):
            if not kernels.fits(state, n, demand, classes.allowed[c]):
                continue
            able = [i for i in range(state.gpus[n]) if state.gpu[n, i] >= demand[3]]
            for chosen in itertools.combinations(able, demand[2]):
                after = [g - demand[3] * (i in chosen) for i, g in enumerate(state.gpu[n])]
                before = fragments(n, state.cpu[n], state.gpu[n])
                options.append((before - fragments(n, state.cpu[n] - demand[0], after), n))
        n = kernels.best_node(kernels.FGD, state, c, classes, known, parts, room, 0, 0.0)
        if n < 0:
            assert not options
            continue
        best = max(gain for gain, _ in options)
        assert n in {m for gain, m in options if gain == pytest.approx(best, abs=1e-6)}
        kernels.pick_gpus(kernels.FGD, state, n, demand, parts, room, 0.0, picked)
        kernels.change(state, n, demand, picked, 1)


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(list(RULES)), st.booleans())
def test_nothing_is_ever_over_capacity(seed, rule, memory):
    rng = np.random.default_rng(seed)
    jobs = like_openb(300, rng)
    some = rng.choice(1213, size=20, replace=False)
    hosts = openb_machines().take(some)
    result = pack(jobs, hosts, rule, seed=seed, ratio=2.0, memory=memory)
    order = arriving(jobs, hosts, 2.0, np.random.default_rng(np.random.SeedSequence(seed)))
    used = np.zeros((len(hosts), 3))
    for job, node in zip(order, result.node_of, strict=True):
        if node >= 0:
            gpu = jobs.num_gpus[job] * jobs.gpu_milli[job]
            used[node] += (jobs.cpu_milli[job], jobs.memory_mib[job] * memory, gpu)
    assert (used[:, 0] <= hosts.cpu_milli).all()
    assert (used[:, 1] <= hosts.memory_mib).all()
    assert (used[:, 2] <= 1000 * hosts.num_gpus).all()
    share = 100 * used[:, 2].sum() / (1000 * hosts.num_gpus.sum())
    assert result.allocated[-1] == pytest.approx(share)
    again = pack(jobs, hosts, rule, seed=seed, ratio=2.0, memory=memory)
    assert (again.node_of == result.node_of).all()


def test_a_job_goes_only_to_a_model_that_it_names():
    jobs = demands([(1, 1, 1000)] * 3, ["B", "A|B", "C"])
    hosts = machines((8, 1, "A"), (8, 1, "B"))
    for seed in range(8):
        result = pack(jobs, hosts, "best-fit", seed=seed, ratio=1.5)
        order = arriving(jobs, hosts, 1.5, np.random.default_rng(np.random.SeedSequence(seed)))
        for job, node in zip(order, result.node_of, strict=True):
            assert node < 0 or hosts.model[node] in jobs.gpu_spec[job].split("|")
            assert job != 2 or node < 0


def test_arriving_jobs_reach_the_ratio_from_above_and_below():
    hosts = machines((8, 8, "A"))
    few, many = demands([(1, 1, 500)] * 3), demands([(1, 1, 500)] * 99)
    for jobs in (few, many):
        order = arriving(jobs, hosts, 1.25, np.random.default_rng(1))
        assert len(order) == 20
    assert len(set(order.tolist())) == 20


def test_marginals_of_the_generator():
    drawn = like_openb(40_000, np.random.default_rng(5))
    parts = (drawn.num_gpus == 1) & (drawn.gpu_milli < 1000)
    assert (drawn.num_gpus == 0).mean() == pytest.approx(1088 / 8152, abs=0.006)
    assert parts.mean() == pytest.approx(3078 / 8152, abs=0.01)
    assert (drawn.gpu_milli[parts] == 810).mean() == pytest.approx(1078 / 3078, abs=0.015)
    hosts = openb_machines()
    assert (len(hosts), int(hosts.num_gpus.sum())) == (1213, 6212)


def released(trace: str, rule: str):
    """Pods and nodes of the default trace, and the released percentages of allocated GPUs by those asked for."""
    folder = os.environ.get("SCHEDLAB_FACTS")
    if not folder or not Path(folder).is_dir():
        pytest.skip("SCHEDLAB_FACTS names no folder of collected facts")
    openb = Path(folder) / "openb"
    with (openb / "fgd_allocation.csv").open() as file:
        rows = [
            r for r in csv.DictReader(file) if (r["trace"], r["policy"]) == (trace, PAPER[rule])
        ]
    percent = {
        int(r["arrived_gpu_load_percent"]): float(r["allocated_gpu_percent_mean"]) for r in rows
    }
    return read_pods(openb / "pods_default.csv"), read_nodes(openb / "nodes_gpu.csv"), percent


@pytest.mark.long
@pytest.mark.parametrize("rule", RULES)
def test_as_the_released_simulator_on_the_default_trace(rule):
    """Within half a point at every load of its table, 8 orders of the pods."""
    pods, hosts, allocated = released("default", rule)
    table = packing_table(pods, hosts, rule, range(8)).set_index("arrived_gpu_percent")
    for load, percent in allocated.items():
        assert table["allocated_gpu_percent"][load] == pytest.approx(percent, abs=0.5)


MIXES = {
    "gpushare40": lambda pods, rng: with_sharing_part(pods, 0.4, rng),
    "multigpu20": lambda pods, rng: with_multi_gpu_part(pods, 0.2, rng),
}


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("trace", MIXES)
def test_as_the_released_simulator_on_other_mixes(trace, rule):
    """Within half a point at 100 % asked for, and 0.8 at every load; the released lists are one draw each."""
    pods, hosts, allocated = released(trace, rule)
    runs = [
        pack(MIXES[trace](pods, np.random.default_rng(1000 + seed)), hosts, rule, seed=seed)
        for seed in range(40)
    ]
    for load, percent in allocated.items():
        ours = np.mean([run.allocated_at(load) for run in runs])
        assert ours == pytest.approx(percent, abs=0.5 if load == 100 else 0.8)


def test_other_mixes_ask_for_what_they_say():
    """Ten halves and ten pairs: of 20 pods with GPUs, 16 halves ask for half of 16 GPUs."""
    pods = demands([(1, 1, 500)] * 10 + [(1, 2, 1000)] * 10 + [(1, 0, 0)] * 5)
    mixed = with_sharing_part(pods, 0.5, np.random.default_rng(0))
    assert (len(mixed), int((mixed.gpu_milli == 500).sum())) == (25, 16)
    assert (mixed.num_gpus == 0).sum() == 5
    wide = with_multi_gpu_part(pods, 0.9, np.random.default_rng(0))  # 2 n / (2 n + 5) = 0.9
    assert (wide.num_gpus == 2).sum() == 22 or (wide.num_gpus == 2).sum() == 23


POD = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\na,1000,0,1,500,\n"


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("b,1000,0,1,0,", "line 3: gpu_milli is '0', expected 1 to 1000 thousandths"),
        ("b,1000,0,2,500,", "line 3: gpu_milli is '500', expected 1000 with several GPUs"),
        ("b,-1,0,1,500,", "line 3: cpu_milli is '-1', expected a whole number >= 0"),
        ("a,1,0,1,500,", "line 3: name is 'a', expected a name not used before"),
    ],
)
def test_what_is_wrong_with_a_list_is_one_line(tmp_path, row, told):
    path = tmp_path / "pods.csv"
    path.write_text(POD + row + "\n")
    with pytest.raises(InputError, match=told):
        read_pods(path)


def test_other_mistakes():
    hosts = machines((8, 1, "A"))
    with pytest.raises(InputError, match="unknown rule 'fdg'"):
        packing_table(demands([(1, 1, 500)]), hosts, "fdg", range(1))
    with pytest.raises(InputError, match="no job asks for a GPU"):
        pack(demands([(1, 0, 0)]), hosts, "fgd", seed=0)
    with pytest.raises(InputError, match="500 thousandths of each of 2 GPUs"):
        demands([(1, 2, 500)])
