"""Limits of QOS and associations, and events of nodes, as Slurm's accounting lists them."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.importing import from_slurm
from tests.command import done, refused
from tests.errors import input_error

NODES = "NodeName=gpu[01-03] Gres=gpu:a100:4\nNodeName=big Gres=gpu:h100:8\nNodeName=login\n"
QOS = "Name|Priority|GrpTRES|GrpJobs|MaxTRESPU|MaxJobsPU\n"
ASSOC = "Cluster|Account|User|Partition|GrpJobs|GrpTRES|MaxJobs|MaxTRES|QOS\n"
JOBS = (
    "job_id,submit_time_s,duration_s,num_gpus,user,account\nj1,0,60,1,ann,ai\nj2,0,60,1,bob,bio\n"
)


@pytest.fixture
def made(tmp_path):
    def make(qos: str = "", assoc: str = "", events: str = "", log: str = "", conf: str = ""):
        paths = []
        for name, text in (("qos", qos), ("assoc", assoc), ("events", events)):
            path = tmp_path / f"{name}.txt"
            path.write_text(text)
            paths.append(path if text else None)
        (tmp_path / "slurm.conf").write_text(conf + NODES)
        jobs = tmp_path / "jobs.csv"
        if log:
            jobs.write_text(log)
        first, second, third = paths
        path = tmp_path / "slurm.conf"
        return from_slurm(path, first, "jobs.csv", second, third, tmp_path / "made.toml")

    make.folder = tmp_path
    return make


def tenants(imported) -> dict:
    return {key: value for key, (value, _) in imported.keys.get("tenants", {}).items()}


@pytest.mark.parametrize(
    ("rows", "limits"),
    [
        # one QOS: of each of its users
        ("normal|0|||gres/gpu=16,cpu=512|10\n", {"by": "user", "quota": 16, "max_jobs": 10}),
        ("normal|0|||gres/gpu:a100=8|\n", {"by": "user", "quota": 8}),
        ("normal|0|||cpu=512|\n", {}),
        ("normal|0|||-1|-1\n", {}),
        # limits of the QOS themselves, also of several
        ("a|0|gres/gpu=24|||\nb|0||5||\n", {"by": "qos", "quota": {"a": 24}, "max_jobs": {"b": 5}}),
        # limits of users of several QOS are one each, which a scenario cannot say
        ("a|0|||gres/gpu=16|4\nb|0||||4\n", {}),
        # users come first
        ("a|0|gres/gpu=24|||4\n", {"by": "user", "max_jobs": 4}),
    ],
)
def test_limits_of_qos(made, rows, limits):
    found = made(QOS + rows)
    assert tenants(found) == limits
    found.checked()


def test_tenants_of_fair_shares_stay(made, tmp_path):
    """Fair shares are of users, so limits of a QOS find no place; those of users do."""
    for rows, limits in ((f"{QOS}a|0|gres/gpu=24|||\n", {}), (f"{QOS}a|0||||4\n", {"max_jobs": 4})):
        (tmp_path / "fair.conf").write_text(f"PriorityWeightFairshare=1\n{NODES}")
        (tmp_path / "qos.txt").write_text(rows)
        found = from_slurm(tmp_path / "fair.conf", tmp_path / "qos.txt", "none.csv")
        assert tenants(found) == {"by": "user"} | limits
        if not limits:
            assert (
                f"limits of GPUs by qos (GrpTRES of {tmp_path / 'qos.txt'}): tenants are by user"
                in found.unused
            )


def test_no_limits_of_users_where_no_job_names_one(made):
    log = "job_id,submit_time_s,duration_s,num_gpus\nj1,0,60,1\n"
    assert tenants(made(f"{QOS}a|0|||gres/gpu=16|4\n", log=log)) == {}


def test_limits_of_qos_under_their_long_names(made):
    found = made("Name|Priority|MaxJobsPerUser|MaxTRESPerUser\na|0|3|gres/gpu=6\n")
    assert tenants(found) == {"by": "user", "max_jobs": 3, "quota": 6}


def test_limits_that_are_not_taken_are_listed(made):
    found = made(f"{QOS}a|0|gres/gpu=24|||4\n")
    qos = made.folder / "qos.txt"
    assert f"limits of GPUs by qos (GrpTRES of {qos}): tenants are by user" in found.unused
    found = made(f"{QOS}a|0|||gres/gpu=16|4\nb|0||||4\n")
    assert [f"column {name} of {qos}" for name in ("maxtrespu", "maxjobspu")] == found.unused[-2:]


@pytest.mark.parametrize(
    ("rows", "limits"),
    [
        (
            "c|ai|ann|||gres/gpu=8|2||\n",
            {"by": "user", "max_jobs": {"ann": 2}, "quota": {"ann": 8}},
        ),
        # in two accounts: the sum; without a limit in one of them: none
        ("c|ai|ann||||2||\nc|bio|ann||||3||\n", {"by": "user", "max_jobs": {"ann": 5}}),
        ("c|ai|ann||||2||\nc|bio|ann||||||\n", {}),
        # the smaller of the jobs at once that a user may have, and the association
        ("c|ai|ann||1||2||\n", {"by": "user", "max_jobs": {"ann": 1}}),
        (
            "c|ai|||4|gres/gpu=16|2||\n",
            {"by": "account", "max_jobs": {"ai": 4}, "quota": {"ai": 16}},
        ),
        ("c|ai|||4||||\nc|ai|ann||||2||\n", {"by": "user", "max_jobs": {"ann": 2}}),
        ("", {}),
        ("c|ai|ann||||0||\nc|ai|bob|||gres/gpu=0|||\n", {}),  # may run nothing
        # of eve there is no job
        ("c|ai|ann||||2||\nc|ai|eve||||2||\n", {"by": "user", "max_jobs": {"ann": 2}}),
        ("c|ai|eve||||2||\nc|bio|||4||||\n", {"by": "account", "max_jobs": {"bio": 4}}),
    ],
)
def test_limits_of_associations(made, rows, limits):
    assert tenants(made(assoc=ASSOC + rows, log=JOBS)) == limits


def test_limits_of_a_qos_come_before_those_of_associations(made):
    found = made(f"{QOS}normal|0||||10\n", f"{ASSOC}c|ai|ann|||gres/gpu=8|2||\n")
    assert tenants(found) == {"by": "user", "max_jobs": 10, "quota": {"ann": 8}}


def test_limits_of_time_only_where_the_jobs_state_some(made):
    assert "kill_at_limit" in made().keys["workload"]
    found = made(log=JOBS)
    assert "kill_at_limit" not in found.keys["workload"]
    assert "limits of time: the jobs of" in found.unused[0]
    log = (
        JOBS.replace("account", "account,requested_s")
        .replace("ai\n", "ai,90\n")
        .replace("bio", "bio,")
    )
    assert "kill_at_limit" in made(log=log).keys["workload"]


def test_clusters_stand_apart(made):
    """Ann's limits on c1 and c2 are no sum; slurm.conf says which cluster is meant, else the table is refused."""
    both = f"{ASSOC}c1|ai|ann||||2||\nC2|ai|ann||||3||\n"
    found = made(assoc=both, log=JOBS, conf="ClusterName=c2\n")
    assert tenants(found) == {"by": "user", "max_jobs": {"ann": 3}}
    assert f"1 row of {made.folder / 'assoc.txt'}, of other clusters than c2" in found.unused
    with input_error("has rows of the clusters c1, c2, expected one, or its ClusterName"):
        made(assoc=both, log=JOBS)
    with input_error("has rows of the clusters a, c, expected one"):
        made(events=EVENTS + "a|big|2026-01-08T00:00:00|Unknown|DOWN|x|root\n")
    found = made(events=EVENTS, conf="ClusterName=other\n")
    assert "outages" not in found.keys
    assert any("5 rows of" in each for each in found.unused)


def test_what_associations_say_in_vain_is_listed(made):
    assoc = made.folder / "assoc.txt"
    rows = "c|root|||8||||\nc|ai|||4||2||\nc|ai|ann||||0|cpu=8|normal\nc|ai|bob||1||||\n"
    found = made(assoc=ASSOC + rows, log=JOBS)
    assert tenants(found) == {"by": "user", "max_jobs": {"bob": 1}}
    assert found.keys["tenants"]["max_jobs"][1] == f"MaxJobs and GrpJobs of {assoc}"
    assert [each for each in found.unused if str(assoc) in each] == [
        f"limits of nothing at all (MaxJobs and GrpJobs of {assoc}): ann",
        f"MaxJobs of accounts of {assoc}, which each of their users has",
        f"column maxtres of {assoc}",
        f"column qos of {assoc}",
        f"limits of jobs (GrpJobs of {assoc}) of accounts that no job names, such as parents: root",
        f"limits of jobs by account (GrpJobs of {assoc}): tenants are by user",
    ]
    found = made(assoc=f"{ASSOC}c|ai|ann||2||||\n", log=JOBS)
    assert found.keys["tenants"]["max_jobs"][1] == f"GrpJobs of {assoc}"
    found = made(f"{QOS}a|0|||gres/gpu=0|\n")
    assert f"limits of nothing at all (MaxTRESPU of {made.folder / 'qos.txt'}): a" in found.unused


def test_without_a_log_all_names_stay(made):
    assert tenants(made(assoc=f"{ASSOC}c|ai|eve||||2||\n"))["max_jobs"] == {"eve": 2}


def test_limits_that_are_no_numbers(made):
    with input_error("MaxJobs has 'many', expected a whole number"):
        made(assoc=f"{ASSOC}c|ai|ann||||many||\n")
    with input_error("expected Account and User between |"):
        made(assoc="Name|Priority\na|0\n")
    with input_error("assoc.txt: is empty, expected Account and User between |"):
        made(assoc="\n")
    with input_error("assoc.txt: row 2 has 3 columns, expected 2"):
        made(assoc="Account|User\nai|ann\nai|bob|4\n")


@pytest.mark.parametrize(
    ("count", "told"), [(5, "a0, a1, a2, a3, a4"), (7, "a0, a1, a2, a3, a4, 2 more")]
)
def test_the_first_names_stand_for_many(made, count, told):
    rows = "".join(f"c|a{k}|||4||||\n" for k in range(count))
    found = made(assoc=f"{ASSOC}{rows}c|ai|||4|gres/gpu=8|||\n", log=JOBS)
    assoc = made.folder / "assoc.txt"
    begin = f"limits of jobs (GrpJobs of {assoc}) of accounts that no job names, such as parents: "
    assert [each for each in found.unused if each.startswith(begin)] == [begin + told]
    assert found.keys["tenants"]["quota"] == ({"ai": 8}, f"GrpTRES of {assoc}")


# -- events ---------------------------------------------------------------------------------------

EVENTS = """\
Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User
c||2026-01-01T00:00:00|Unknown||Cluster Registered TRES|
c|gpu02|2026-01-05T08:00:00|2026-01-06T08:00:00|DOWN*|Not responding|slurm
c|big|2026-01-07T00:00:00|Unknown|DRAIN|maintenance|root
c|login|2026-01-07T00:00:00|2026-01-08T00:00:00|DOWN|power|root
c|gpu01|2026-01-07T00:00:00|2026-01-07T00:00:00|DOWN|power|root
"""


def test_events_become_outages_of_the_scenarios_nodes(made):
    found = made(events=EVENTS)
    path = made.folder / "made-outages.csv"
    events = made.folder / "events.txt"
    assert found.keys["outages"]["path"] == (path.name, f"2 events of {events}")
    assert found.files == {
        path: "node,from,to\n1,2026-01-05T08:00:00,2026-01-06T08:00:00\n3,2026-01-07T00:00:00,2100-01-01T00:00:00\n"
    }
    told = " ".join(found.unused)
    assert f"1 event of {events}, of nodes without GPUs, or of other names" in told
    assert "jobs on drained nodes end first, in 1 event of" in told


@pytest.mark.parametrize(
    ("rows", "outages", "others", "drained"),
    [
        # of nodes without GPUs or of other names; those are no outages
        ("login|{}|{}|DOWN\nother|{}|{}|DRAIN\n", 0, "2 events", None),
        ("login|{}|{}|DRAIN\nbig|{}|{}|DOWN\n", 1, "1 event", None),
        # also where an event takes no time
        ("big|{0}|{0}|DRAIN\nbig|{0}|{1}|down+drain\ngpu01|{0}|{1}|DRAIN\n", 2, None, "2 events"),
        ("|{}|{}|DOWN\n", 0, None, None),
    ],
)  # fmt: skip
def test_events_are_counted(made, rows, outages, others, drained):
    begin, end = "2026-01-05T08:00:00", "2026-01-06T08:00:00"
    found = made(
        events="NodeName|TimeStart|TimeEnd|State\n"
        + rows.replace("{}|{}", "{0}|{1}").format(begin, end)
    )
    events = made.folder / "events.txt"
    told = f"{outages} event{'s' if outages > 1 else ''} of {events}"
    assert found.keys.get("outages") == ({"path": ("made-outages.csv", told)} if outages else None)
    assert [len(text.splitlines()) for text in found.files.values()] == [outages + 1][:outages]
    of_events = [each for each in found.unused if str(events) in each]
    expected = [f"{others} of {events}, of nodes without GPUs, or of other names"] if others else []
    if drained:
        expected.append(
            f"that jobs on drained nodes end first, in {drained} of {events}: here they are stopped and start again"
        )
    assert of_events == expected


@pytest.mark.parametrize("missing", ["NodeName", "TimeStart", "TimeEnd"])
def test_events_without_a_column(made, missing):
    head = "NodeName|TimeStart|TimeEnd".replace(missing, "Other")
    with input_error("expected NodeName and TimeStart and TimeEnd between |"):
        made(events=f"{head}\nbig|2026-01-05T08:00:00|Unknown\n")


def test_reasons_in_another_encoding(made):
    made(events=EVENTS)
    path = made.folder / "events.txt"
    path.write_bytes(path.read_bytes().replace(b"maintenance", b"f\xfcr"))
    found = from_slurm(made.folder / "slurm.conf", None, "", None, path, made.folder / "made.toml")
    assert found.keys["outages"]["path"][1] == f"2 events of {path}"


def test_events_without_nodes_or_a_begin(made):
    assert "outages" not in made(events=EVENTS.partition("c|gpu02")[0]).keys
    with input_error("row 1 has no TimeStart, expected a date"):
        made(events="NodeName|TimeStart|TimeEnd\nbig|Unknown|Unknown\n")
    with input_error(
        "events.txt: row 2: TimeEnd 2026-01-01T00:00:00 is before TimeStart 2026-01-02"
    ):
        made(
            events="NodeName|TimeStart|TimeEnd\nbig|2026-01-01T00:00:00|Unknown\nbig|2026-01-02T00:00:00|2026-01-01T00:00:00\n"
        )
    with input_error("row 1: TimeEnd is 'soon', expected a date like"):
        made(events="NodeName|TimeStart|TimeEnd\nbig|2026-01-01T00:00:00|soon\n")


@pytest.mark.long
def test_import_and_run(tmp_path):
    """Files are named as seen from the scenario's folder. Node gpu02 is away from 8:00 to 9:00, twice listed; 3 jobs of 4 GPUs each take the others, and one waits for it.

    The limit of one job at once holds bob's second job back until his first has ended.
    """
    (tmp_path / "sub").mkdir()
    log = tmp_path / "sub" / "sacct.txt"
    rows = [
        f"{k}|2026-01-05T08:00:00|2026-01-05T08:00:00|2026-01-05T{end}|COMPLETED|gres/gpu=4|{user}|ai"
        for k, (user, end) in enumerate([("ann", "10:00:00"), ("ann", "10:00:00"), ("bob", "08:30:00"), ("bob", "08:30:00")])
    ]  # fmt: skip
    log.write_text("JobID|Submit|Start|End|State|AllocTRES|User|Account\n" + "\n".join(rows) + "\n")
    conf, assoc, events = (tmp_path / name for name in ("slurm.conf", "assoc.txt", "events.txt"))
    conf.write_text("NodeName=gpu[01-03] Gres=gpu:4\n")
    assoc.write_text(f"{ASSOC}c|ai|bob||||1||\n")
    events.write_text(
        "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
        "c|gpu02|2026-01-05T07:00:00|2026-01-05T09:00:00|DOWN|x|root\n"
        "c|gpu02|2026-01-05T08:00:00|2026-01-05T08:30:00|DOWN|x|root\n"
    )
    out = Path("sub", "cluster.toml")
    words = (
        "import",
        "slurm",
        conf,
        "--assoc",
        assoc,
        "--events",
        events,
        "--jobs",
        log.name,
        "--out",
        out,
    )
    done(*words, cwd=tmp_path)
    assert 'path = "cluster-outages.csv"' in (tmp_path / out).read_text()
    ran = done("run", out, "--out", tmp_path / "run", cwd=tmp_path)
    assert "4 jobs" in ran.stdout
    table = (tmp_path / "run" / "jobs.csv").read_text().splitlines()
    names = table[0].split(",")
    starts = [float(line.split(",")[names.index("first_start_s")]) for line in table[1:]]
    assert starts == [0, 0, 3600, 3600 + 1800]
    assert "is there already" in refused(*words, cwd=tmp_path)
