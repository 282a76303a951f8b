"""The authors' formats, with every flaw that their public files have."""

from pathlib import Path

import numpy as np
import pytest

from experiments.analysis.trace import describe, lines, read_trace
from simulator.errors import InputError
from simulator.workloads.authors import Instance, read_instance
from tests.errors import input_error

JOBS_2020 = """\
Application,Images,Epochs,Batchsize,Jobs,UniqueJobsID,SubmissionTime,Deadline,Tardinessweight,MinExecTime,MaxExecTime
tf_alexnet,130000,279,512,J111,JJ1,0,5000,0.004,100,400
tf_vgg,130000,475,32,J92,JJ2,60,7000,0.005,200,900
"""
TIMES_2020 = """\
UniqueJobsID,VMtype,GpuType,GpuNumber,maxGpuNumber,cost,ExecutionTime
JJ1,Standard_NC6,K80,1,1,0.56,400
JJ1,Standard_NC12,K80,1,2,1.13,400
JJ1,Standard_NC12,K80,2,2,1.13,250
JJ2,Standard_NC6,K80,1,1,0.56,900
JJ2,Standard_NC12,K80,2,2,1.13,500
"""
NODES = "Nodes\nn1\nn2\nn3\nn4\n"


def times(instance: Instance) -> np.ndarray:
    return instance.workload.performance.times_s


def vm_folder(
    folder: Path, jobs: str = JOBS_2020, times: str = TIMES_2020, nodes: str = NODES,
    jobs_name: str = "Lof_selectjobs_forCPP.csv",
) -> Path:  # fmt: skip
    for name, text in ((jobs_name, jobs), ("SelectJobs_times.csv", times), ("tNodes.csv", nodes)):
        (folder / name).write_bytes(text.encode())
    return folder


def test_2020(tmp_path):
    instance = read_instance(vm_folder(tmp_path), num_controllers=2)
    w, c = instance.workload, instance.cluster
    assert w.job_id == ("JJ1", "JJ2")
    assert w.model == ("tf_alexnet", "tf_vgg")
    np.testing.assert_array_equal(w.submit_s, [0, 60])
    np.testing.assert_array_equal(w.due_s, [5000, 7000])  # absolute
    np.testing.assert_array_equal(w.weight_per_s, [0.004, 0.005])  # per second
    assert [(t.name, t.gpu_type, t.gpus, t.price_per_hour) for t in c.node_types] == [
        ("Standard_NC6", "K80", 1, 0.56),
        ("Standard_NC12", "K80", 2, 1.13),
    ]
    assert (c.num_nodes, c.num_controllers, c.is_configurable) == (4, 2, True)
    inf = np.inf
    np.testing.assert_array_equal(
        times(instance), [[[inf, 400, inf], [inf, 400, 250]], [[inf, 900, inf], [inf, inf, 500]]]
    )


def test_2021_spelling(tmp_path):
    text = TIMES_2020.replace("GpuType", "GPUtype").replace("maxGpuNumber", "max_nGPUs")
    text = text.replace("GpuNumber", "nGPUs")
    folder = vm_folder(tmp_path, times=text, jobs_name="Lof_Selectjobs.csv")
    assert np.isfinite(times(read_instance(folder))).sum() == 5


def test_windows_file_with_blanks(tmp_path):
    jobs = "\ufeff" + JOBS_2020.replace("\n", "\r\n").replace("SubmissionTime", " SubmissionTime ")
    text = TIMES_2020.replace("\n", "\r\n").replace("JJ2,", " JJ2 ,")
    instance = read_instance(vm_folder(tmp_path, jobs=jobs, times=text))
    assert np.isfinite(times(instance)).sum() == 5


def test_of_two_times_the_later_counts(tmp_path):
    text = TIMES_2020 + "JJ1,Standard_NC12,K80,2,2,1.13,999\nJJ1,Standard_NC6,K80,1,1,0.56,400\n"
    instance = read_instance(vm_folder(tmp_path, times=text))
    assert times(instance)[0, 1, 2] == 999
    (note,) = instance.workload.notes
    file = tmp_path / "SelectJobs_times.csv"
    assert note == f"{file}: 2 further times of a configuration, dropped (the last counts)"
    shortest = times(read_instance(tmp_path, duplicates="shortest"))
    assert shortest[0, 1, 2] == 250
    np.testing.assert_array_equal(shortest, times(read_instance(vm_folder(tmp_path))))


def test_every_row_twice(tmp_path):
    header, *rows = JOBS_2020.splitlines()
    twice = "\n".join([header, *(r for r in rows for _ in range(2))])
    instance = read_instance(vm_folder(tmp_path, jobs=twice, times=TIMES_2020 + TIMES_2020[70:]))
    assert instance.workload.job_id == ("JJ1", "JJ2")
    assert any("2 rows that occur twice, dropped" in note for note in instance.workload.notes)


def test_times_of_other_jobs_are_ignored(tmp_path):
    text = TIMES_2020 + "JJ9,Standard_NC6,K80,1,1,0.56,1\n"
    assert len(read_instance(vm_folder(tmp_path, times=text)).workload) == 2


def test_unsorted_jobs(tmp_path):
    jobs = JOBS_2020.replace("JJ1,0,", "JJ1,90,")
    instance = read_instance(vm_folder(tmp_path, jobs=jobs))
    assert instance.workload.job_id == ("JJ2", "JJ1")
    assert times(instance)[1, 0, 1] == 400
    assert any("sorted by SubmissionTime" in note for note in instance.workload.notes)


@pytest.mark.parametrize(
    ("part", "old", "new", "message"),
    [
        ("jobs", "JJ2,60,7", "JJ2,60,", "Deadline is '000', expected a time not before Submission"),
        ("jobs", "JJ2,60", "JJ2,soon", "line 3: SubmissionTime is 'soon', expected a number >= 0"),
        ("jobs", "JJ2", "JJ1", "line 3: UniqueJobsID is 'JJ1', expected a name not used before"),
        ("jobs", "JJ2", "JJ3", "no time of job 'JJ3' on any node type"),
        ("jobs", "Deadline", "Deadlines", "'Deadlines' is not known, did you mean 'Deadline'?"),
        ("jobs", "0.005", "-1", "line 3: Tardinessweight is '-1', expected a number >= 0"),
        ("times", "0.56,900", "0.56,0", "line 5: ExecutionTime is '0', expected a number > 0"),
        ("times", "0.56,900", "0.56,", "line 5: ExecutionTime is empty"),
        ("times", "0.56,900", "0.57,900", "line 5: cost is '0.57', expected what the file says"),
        ("times", "K80,1,1,0.56,900", "K80,1,4,0.56,900", "line 5: maxGpuNumber is '4'"),
        ("times", "K80,1,1,0.56,900", "K80,1.5,1,0.56,900", "line 5: GpuNumber is '1.5'"),
        ("times", "VMtype", "Machine", "neither GPU-costs.csv nor a column 'VMtype'"),
        ("nodes", "Nodes\nn1\nn2\nn3\nn4\n", "", "tNodes.csv: is empty"),
    ],
)
def test_bad_instances(tmp_path, part, old, new, message):
    parts = {"jobs": JOBS_2020, "times": TIMES_2020, "nodes": NODES}
    assert old in parts[part]
    parts[part] = parts[part].replace(old, new, 1)
    with input_error(message):
        read_instance(vm_folder(tmp_path, **parts))


def test_missing_files(tmp_path):
    with input_error("no such folder"):
        read_instance(tmp_path / "nowhere")
    with input_error("no file Lof_selectjobs*.csv, expected one"):
        read_instance(tmp_path)
    vm_folder(tmp_path)
    (tmp_path / "tNodes.csv").unlink()
    with input_error("no file tNodes*.csv"):
        read_instance(tmp_path)
    vm_folder(tmp_path, jobs_name="Lof_Selectjobs.csv")
    with input_error("both Lof_Selectjobs.csv and Lof_selectjobs_for"):
        read_instance(tmp_path)


def test_numbers_of_nodes_and_controllers(tmp_path):
    assert read_instance(vm_folder(tmp_path), num_nodes=9).cluster.num_nodes == 9
    with input_error("3 controllers for 4 nodes"):
        read_instance(tmp_path, num_controllers=3)


# -- ANDREAS -----------------------------------------------------------------------------------

JOBS_STS = """\
ID,SubmissionTime,Deadline,TardinessWeight,MinExecTime,MaxExecTime,RatioAvg
JJ1,0.0,6097.7,0.0429,4888.1,17713.7,0.0
JJ17,797.9,6661.9,0.0377,4948.4,10678.5,0.0
"""
TIMES_STS = """\
ID,GPUtype,nGPUs,GPUf,ExecutionTime
JJ1,TESLA,1,1.0,6893.4
JJ1,TESLA,2,1.0,4888.1
JJ1,TURING,1,1.0,17713.7
JJ17,TESLA,1,1.0,7000
JJ17,TURING,1,0.5,9
JJ17,TURING,1,1.0,10678.5
"""
NODES_STS = "ID,GPUtype,nGPUs,cost\nn1,TESLA,2,0.0\nn2,TURING,1,0.0\nn3,TESLA,2,0.0\n"
COSTS_STS = """\
GPUtype,nGPUs,PowerConsumption[W],EnergyCost[€/kWh],PUE,cost
TURING,1,400,0.17168313,1.33,0.09133542516
TURING,2,470,0.17168313,1.33,0.109602510192
TESLA,1,530,0.17168313,1.33,0.1210194383369999
TESLA,2,700,0.17168313,1.33,0.1598369940299999
"""


def sts_folder(folder: Path, nodes: str = NODES_STS, costs: str = COSTS_STS) -> Path:
    (folder / "Lof_Selectjobs.csv").write_text(JOBS_STS)
    (folder / "SelectJobs_times.csv").write_text(TIMES_STS)
    (folder / "tNodes.csv").write_text(nodes)
    (folder / "GPU-costs.csv").write_text(costs, encoding="utf-8")
    return folder


def test_andreas(tmp_path):
    instance = read_instance(sts_folder(tmp_path))
    w, c = instance.workload, instance.cluster
    assert w.job_id == ("JJ1", "JJ17")
    np.testing.assert_array_equal(w.due_s, [6097.7, 6661.9])
    assert not c.is_configurable
    assert [t.name for t in c.node_types] == ["2xTESLA", "1xTURING"]
    assert c.node_type_of == (0, 1, 0)
    assert (c.currency, c.energy_price_per_kwh, c.pue) == ("EUR", 0.17168313, 1.33)
    inf = np.inf
    np.testing.assert_array_equal(
        times(instance),
        [[[inf, 6893.4, 4888.1], [inf, 17713.7, inf]], [[inf, 7000, inf], [inf, 10678.5, inf]]],
    )
    assert any("1 rows with a share of a GPU, dropped" in note for note in w.notes)


def test_what_such_a_folder_holds(tmp_path):
    """`schedlab show trace`: the jobs are elastic, and the load is on the nodes of the folder."""
    workload, cluster, kind = read_trace(sts_folder(tmp_path))
    assert kind == "instance"
    trace = describe(workload, kind, cluster)
    table = workload.performance.table_s(np.arange(len(workload)), cluster)
    assert trace.duration_s.tolist() == table.reshape(len(workload), -1).min(axis=1).tolist()
    assert not len(trace.gpus)
    assert any(line.startswith("fastest") for line in lines(trace))
    with pytest.raises(InputError, match="these jobs are elastic"):
        describe(workload, kind, cluster, (4, 8))


def test_andreas_rates_are_the_files_costs(tmp_path):
    """Also where power and cost of the file contradict each other (two T4)."""
    nodes = NODES_STS.replace("n2,TURING,1", "n2,TURING,2")
    cluster = read_instance(sts_folder(tmp_path, nodes=nodes)).cluster
    for v, g, cost in [(0, 1, 0.1210194383369999), (0, 2, 0.1598369940299999),
                       (1, 1, 0.09133542516), (1, 2, 0.109602510192)]:  # fmt: skip
        assert cluster.rates(v, g).energy_per_hour == pytest.approx(cost, rel=1e-14)
        assert cluster.rates(v, g).leasing_per_hour == 0
    assert cluster.rates(0, 0).energy_per_hour == 0


def test_andreas_first_nodes(tmp_path):
    cluster = read_instance(sts_folder(tmp_path), num_nodes=2).cluster
    assert cluster.node_type_of == (0, 1)
    with input_error("3 nodes, expected at least 5"):
        read_instance(tmp_path, num_nodes=5)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("TESLA,2,700,", "TESLA,3,700,", "no cost of 2 TESLA GPUs in use, expected one for each"),
        ("2,700,0.17168313", "2,700,0.2", "line 5: EnergyCost[€/kWh] is '0.2', expected 0.17"),
    ],
)
def test_bad_andreas_costs(tmp_path, old, new, message):
    with input_error(message):
        read_instance(sts_folder(tmp_path, costs=COSTS_STS.replace(old, new)))
