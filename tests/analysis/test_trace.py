"""`schedlab show trace`: every format, laws that are known, the load by hand."""

import json
import math
import runpy

import numpy as np
import pytest

from experiments.analysis.spans import span
from experiments.analysis.trace import describe, lines, read_trace
from experiments.analysis.trace_checks import check_lines
from experiments.pictures.jobs import draw_jobs
from simulator import InputError
from simulator.laws import parse_law
from simulator.laws.fitting import fits
from simulator.statistics import Streams
from simulator.workloads.poisson import poisson_jobs
from tests.command import ROOT, done
from tests.core.jobs import fixed

HEADER = "job_id,submit_time_s,duration_s,num_gpus"
FILES = {
    "csv": f"{HEADER}\na,0,100,4\nb,10,50,8\n",
    "philly": json.dumps([
        {"jobid": name, "vc": "v", "submitted_time": f"2017-10-01 10:00:{at:02}", "attempts": [
            {"start_time": "2017-10-01 10:01:00", "end_time": "2017-10-01 10:02:00",
             "detail": [{"ip": "m", "gpus": ["gpu0"]}]}]}
        for name, at in (("a", 0), ("b", 10))
    ]),
    "helios": "job_id,user,vc,gpu_num,cpu_num,state,submit_time,start_time,end_time,duration,queue\n"
    "a,u,v,8,32,C,2020-04-01 00:10:00,,,3600,5\nb,u,v,1,4,F,2020-04-01 00:11:00,,,60,5\n",
    "alibaba": "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\np0,12000,16384,1,1000,,LS,Running,0,12537,0\n"
    "p2,8000,1000,8,1000,G2,BE,Succeeded,1,100,5\n",
    "swf": "1 100 5 60 4 -1 -1 4 60 -1 1 7 1 -1 2 -1 -1 -1\n2 90 -1 30 2 -1 -1 2 30 -1 1 8 1 -1 1 -1 -1 -1\n",
    "gavel": "LM (batch size 5)\tpython3 main.py\ttext\t--steps\t0\t2000\t2\tstatic\t0\t3600\n"
    "LM (batch size 5)\tpython3 main.py\ttext\t--steps\t0\t1000\t2\tstatic\t60\t3600\n",
}  # fmt: skip


@pytest.mark.parametrize("kind", FILES)
def test_the_format_is_found(tmp_path, kind):
    rates = {"v100": {"('LM (batch size 5)', 2)": {"null": 60.1}}}
    (tmp_path / "oracle_throughputs_v2.json").write_text(json.dumps(rates))
    path = tmp_path / ("jobs.json" if kind == "philly" else "jobs.txt")
    path.write_text(FILES[kind])
    workload, cluster, found = read_trace(path)
    assert (found, len(workload), cluster) == (kind, 2, None)
    again, _, _ = read_trace(path, kind)
    assert again.job_id == workload.job_id
    assert lines(describe(workload, found))[0].endswith(kind)


@pytest.mark.parametrize(
    ("name", "text", "kind", "told"),
    [
        ("none.csv", None, None, "none.csv: no such file or folder"),
        ("a.csv", "x,y\n1,2\n", None, "column 'submit_time_s' is missing, found x, y"),
        ("a.csv", FILES["csv"], "philly-json", "kind: got 'philly-json', expected one of .*csv,"),
        ("a.csv", FILES["csv"].replace("50", "-50"), "csv", "duration_s"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(tmp_path, name, text, kind, told):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=told):
        read_trace(tmp_path / name, kind)


def test_keys_of_the_jobs_can_be_set(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("id,Asked At,Wall Clock,num_gpus\na,0,50,1\nb,30,70,2\n")
    columns = [
        'workload.columns.submit_time_s="Asked At"', 'workload.columns.duration_s="Wall Clock"',
    ]  # fmt: skip
    jobs, _, _ = read_trace(path, "csv", columns)
    assert jobs.submit_s.tolist() == [0, 30]
    for setting, told in [
        ("cluster.num_nodes=3", "expected workload.KEY=VALUE"),
        ("workload=", "expected workload.KEY=VALUE"),
        ("workload.path=other.csv", "of any key but path"),
        ("workload.max_job=1", "max_job: unknown key, did you mean 'max_jobs'"),
    ]:
        with pytest.raises(InputError, match=told):
            read_trace(path, "csv", [*columns, setting])


@pytest.mark.parametrize(
    "law", ["exponential:3600", "lognormal:3600,cv=2", "weibull:3600,shape=0.6"]
)
def test_a_fit_finds_the_law_that_was_drawn(law):
    """By AIC the right family is first, with a mean and a shape near the true ones."""
    values = parse_law(law).sample(np.random.default_rng(5), 4000)
    best = fits(values)[0]
    family = law.partition(":")[0]
    if family == "exponential":  # A Weibull law of shape 1 is one too, and may fit a little better.
        best = next(fit for fit in fits(values) if fit.law.startswith(family))
        assert best.aic - fits(values)[0].aic < 8
    assert best.law.startswith(family)
    found, true = parse_law(best.law), parse_law(law)
    assert found.mean == pytest.approx(true.mean, rel=0.1)
    assert found.cv2 == pytest.approx(true.cv2, rel=0.25)
    assert best.distance < 1.63 / math.sqrt(4000)  # 1 % of Kolmogorov's law


@pytest.mark.parametrize("values", [[], [1.0], [2.0, 2.0], [1.0, 0.0], [1.0, math.nan]])
def test_nothing_to_fit(values):
    with pytest.raises(InputError, match="two different positive values"):
        fits(values)


def test_load_demand_and_hours_by_hand():
    """52 jobs over two days: one an hour, at 4 o'clock two; every second one has four GPUs."""
    at_h = np.sort([0.0, *(h + 0.5 for h in range(48)), 4.25, 28.25, 48.0])
    gpus = np.where(np.arange(len(at_h)) % 2, 4, 1)
    workload = fixed(at_h * 3600, np.full(len(at_h), 1800.0), gpus)
    trace = describe(workload, "csv", nodes=(2, 4))
    assert trace.by_hour[4] == 2.0
    assert trace.by_hour[5] == 1.0
    assert trace.gpu_hours == pytest.approx(gpus.sum() / 2)
    per_s = (len(at_h) - 1) / (48 * 3600)
    assert trace.load == pytest.approx(per_s * gpus.mean() * 1800 / 8)
    told = "\n".join(lines(trace))
    assert "jobs       52, submitted over 2 days" in told
    assert "1 (50% of the jobs, 20% of the work)" in told
    assert "of 2 nodes with 4 GPUs each" in told
    (load,) = [x for x in lines(describe(workload, "csv", nodes=(1, 1))) if x.startswith("load")]
    assert "queues grow while jobs come" in load


def test_checks_by_hand():
    """Three days of 10 h on 2 GPUs: 1, 1 and 2 GPUs, then none for 46 h; one job asks for 3 GPUs, which there are not."""
    hours, gpus = np.array([0, 1, 26, 72]), [1, 1, 2, 3]
    users, ten_h = ["a", "b", "a", "a"], np.full(4, 36000.0)
    workload = fixed(hours * 3600.0, ten_h, gpus, user=users, vc=["x"] * 4)
    assert check_lines(describe(workload, "csv", nodes=(2, 1))) == [
        "never run  1 jobs ask for more than the 2 GPUs of the cluster, the first is j3 with 3",
        "empty      num_cpus, memory_gb, requested_s, model",
        "constant   vc 'x', duration_s 36000",
        "coverage   jobs are submitted in 5% of the 73 hours; the longest gap is 46 h, from 26 h after the first submission",
        "user       of the work: a 86%, b 14%",
        "by day     load 0 to 0.417 (day 1); above 1, so that queues grow, on 0 of 3 days",
    ]


def test_times_are_told_in_the_largest_unit_of_which_there_are_two():
    found = [span(s) for s in (119.0, 120.0, 7199.0, 7200.0, 129_600.0, 172_800.0)]
    assert found == ["119 s", "2 min", "120 min", "2 h", "36 h", "2 days"]


def test_poisson_arrivals_look_exponential():
    jobs = poisson_jobs(
        3000, Streams(2), arrival_rate_per_h=30, duration_s=parse_law("exponential:60")
    )
    told = lines(describe(jobs, "csv"))
    (gaps,) = [line for line in told if line.startswith("gaps")]
    assert "correlation of neighbours -0.0" in gaps or "correlation of neighbours 0.0" in gaps
    fitted = [line for line in told[told.index(gaps) :] if "exponential:1" in line]
    assert len(fitted) == 1


@pytest.mark.long
@pytest.mark.parametrize("count", [1, 5])
def test_few_jobs_have_a_picture_too(tmp_path, count):
    rows = "".join(f"j{j},{10 * j},{60 + j},{2**j}\n" for j in range(count))
    (tmp_path / "jobs.csv").write_text(f"{HEADER}\n{rows}")
    workload, _, kind = read_trace(tmp_path / "jobs.csv")
    trace = describe(workload, kind)
    assert lines(trace)
    out = draw_jobs(tmp_path / "a.png", "t", workload.submit_s, trace.gpus, trace.duration_s, trace.by_hour, None)  # fmt: skip
    assert out.stat().st_size > 10_000


def test_a_name_of_a_file_is_no_formula_and_other_kinds_of_pictures_are_refused(tmp_path):
    """Matplotlib would take it for one, and find a mistake in it."""
    one = np.ones(1)
    jobs = (one, one.astype(int), one, np.ones(24), None)
    out = draw_jobs(tmp_path / "a.svg", r"x$\frac$.csv", *jobs)
    assert [path.name for path in tmp_path.iterdir()] == [out.name]
    with pytest.raises(InputError, match=r"ends in '.txt', expected one of .png, .svg, .pdf"):
        draw_jobs(tmp_path / "a.txt", "t", *jobs)


def test_the_example_is_what_its_generator_writes(tmp_path):
    folder = ROOT / "examples"
    write = runpy.run_path(str(folder / "philly_like.py"))["write"]
    again, other = tmp_path / "again.csv", tmp_path / "other.csv"
    write(again)
    write(other, seed=2)
    assert again.read_bytes() == (folder / "philly_like.csv").read_bytes() != other.read_bytes()


def test_made_up_accounting_has_what_accounting_has(tmp_path):
    """Arrays, steps, jobs that never started, unknown ends: all jobs are kept or counted."""
    write = runpy.run_path(str(ROOT / "examples" / "sacct_like.py"))["write"]
    write(tmp_path / "sacct.txt", 500)
    jobs, _, kind = read_trace(tmp_path / "sacct.txt")
    counts = [int(note.split(": ")[1].split()[0]) for note in jobs.notes]
    assert kind == "slurm"
    assert [
        "steps" in jobs.notes[0],
        "never started" in jobs.notes[1],
        "end is unknown" in jobs.notes[2],
    ] == [True] * 3
    assert len(jobs) + counts[1] + counts[2] == 500
    assert counts[0] == 500 - counts[1]
    assert any("_" in name for name in jobs.job_id)


def test_the_command(tmp_path):
    file = ROOT / "examples" / "philly_like.csv"
    ran = done("show", "trace", file, "--nodes", "12", cwd=tmp_path)
    assert "load       0.647 of 12 nodes with 8 GPUs each" in ran.stdout
    assert (tmp_path / "trace.png").exists()
