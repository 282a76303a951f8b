"""Records that are streamed to Parquet are those that a run keeps in memory."""

import errno

import pandas as pd
import pyarrow.parquet as pq
import pytest
from pandas.testing import assert_frame_equal

from policies import make_policy
from simulator import Decision, InfeasibleDecision, InputError, View
from simulator.metrics import streaming as module
from tests.core.jobs import fixed, nodes, run, sharing

JOBS = fixed([3.0 * j for j in range(200)], [20.0 + j % 7 for j in range(200)], [1, 2, 4, 8] * 50)
CLUSTER = nodes(4, 8)


@pytest.mark.parametrize("rows", [7, 1_000_000])
def test_streamed_tables_are_those_kept(tmp_path, rows, monkeypatch):
    monkeypatch.setattr(module, "ROWS", rows)
    monkeypatch.setattr(module.StreamedSchedule, "BLOCK", 5)
    kept = run(JOBS, CLUSTER, "fifo-backfill")
    result = run(JOBS, CLUSTER, "fifo-backfill", stream_to=tmp_path / "out")
    for name in ("jobs", "decisions", "schedule"):
        table = pd.read_parquet(tmp_path / "out" / f"{name}.parquet")
        assert_frame_equal(table, kept.table(name))
        assert_frame_equal(table, result.table(name))
    assert not (tmp_path / "out" / "timing.parquet").exists()
    assert result.summary() == kept.summary()
    assert len(result.decisions) == len(kept.decisions)


def test_numbers_of_gpus_are_kept_where_jobs_share_gpus(tmp_path, monkeypatch):
    """Three halves and a job of two GPUs on a node of four; a policy of whole GPUs names none."""
    monkeypatch.setattr(module, "ROWS", 2)
    monkeypatch.setattr(module.StreamedSchedule, "BLOCK", 1)
    jobs = sharing([0, 1, 2, 3], [10.0, 20.0, 30.0, 40.0], gpus=[1, 1, 1, 2])
    kept = run(jobs, nodes(4, cpus=8), "shared", stream_to=None).schedule_table()
    by_job = dict(zip(kept["job_id"], kept["gpu_ids"], strict=True))
    assert by_job == {"j0": "0", "j1": "0", "j2": "1", "j3": "2 3"}
    streamed = run(jobs, nodes(4, cpus=8), "shared", stream_to=tmp_path / "out")
    assert_frame_equal(streamed.schedule_table(), kept)
    whole = run(jobs, nodes(4, cpus=8), "fifo-strict").schedule_table()
    assert set(whole["gpu_ids"]) == {""}
    assert "gpu_ids" not in run(JOBS, CLUSTER, "fifo-strict").schedule_table()


def test_facts_and_wake_ups_are_streamed(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ROWS", 3)
    policy = make_policy("fifo-backfill")
    asked = [0]

    def decide(view: View) -> Decision:
        asked[0] += 1
        placements = policy.decide(view).placements
        facts: dict[str, float | str] = {"number": asked[0]} if asked[0] % 2 else {}
        if asked[0] > 6:  # a name and a type that the first blocks know nothing of
            facts |= {"later": "x", "number": 0.5, "solve_cpu_s": 2.0}
        return Decision(placements, True, facts, again_s=7.0 if asked[0] == 4 else None)

    kept = run(JOBS.head(40), CLUSTER, decide, measure_decisions=True)
    asked[0] = 0
    result = run(JOBS.head(40), CLUSTER, decide, stream_to=tmp_path, measure_decisions=True)
    table = result.decisions_table()
    assert list(table) == ["time_s", "controller", "active", "again_s", "number", "later"]
    assert_frame_equal(table, kept.decisions_table())
    assert table["number"][:3].isna().tolist() == [False, True, False]
    assert table["again_s"][3] == 7.0
    assert table["again_s"].notna().sum() == 1
    timing = result.timing_table()
    assert list(timing) == ["time_s", "controller", "cpu_s", "solve_cpu_s"]
    assert_frame_equal(timing.drop(columns="cpu_s"), kept.timing_table().drop(columns="cpu_s"))
    mean = result.summary()["mean_decision_cpu_s"]
    assert mean == pytest.approx(timing["cpu_s"].mean())
    tables = sorted(path.stem for path in tmp_path.iterdir())
    assert tables == ["decisions", "jobs", "schedule", "timing"]


def test_an_error_leaves_no_file(tmp_path):
    with pytest.raises(InfeasibleDecision):
        run(JOBS, CLUSTER, lambda view: Decision(), stream_to=tmp_path)
    assert not list(tmp_path.iterdir())


def test_records_are_never_overwritten(tmp_path):
    run(JOBS, CLUSTER, "fifo", stream_to=tmp_path)
    before = (tmp_path / "jobs.parquet").read_bytes()
    with pytest.raises(InputError, match=r"jobs.parquet: exists already"):
        run(JOBS, CLUSTER, "fifo", stream_to=tmp_path)
    assert (tmp_path / "jobs.parquet").read_bytes() == before
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=r"file: cannot be made"):
        run(JOBS, CLUSTER, "fifo", stream_to=tmp_path / "file")


def test_a_planted_link_under_a_name_in_the_making_is_not_followed(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    out = tmp_path / "out"
    out.mkdir()
    (out / ".jobs.parquet.unfinished").symlink_to(victim)  # a name that one can foresee
    (out / "decisions.parquet").symlink_to(tmp_path / "nowhere")
    run(JOBS, CLUSTER, "fifo", stream_to=out)
    assert not (out / "decisions.parquet").is_symlink()
    assert not (tmp_path / "nowhere").exists()
    # Even where the name is known, the file is never opened through a link.
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setattr("secrets.token_hex", lambda _: "guessed")
    (other / ".decisions.parquet.guessed.tmp").symlink_to(victim)
    with pytest.raises(InputError, match=r"decisions.parquet: cannot be written \(File exists"):
        run(JOBS, CLUSTER, "fifo", stream_to=other)
    assert victim.read_text() == "mine"
    assert [p.name for p in other.iterdir()] == [".decisions.parquet.guessed.tmp"]


@pytest.mark.parametrize("fails_at", [1, 3])
def test_a_disk_that_is_full_at_the_end_leaves_nothing(tmp_path, monkeypatch, fails_at):
    """No file gets its name if one cannot be closed, and none stays under a random one."""
    close, closed = pq.ParquetWriter.close, []

    def full(self: pq.ParquetWriter) -> None:
        close(self)
        closed.append(self)
        if len(closed) == fails_at:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "close", full)
    with pytest.raises(OSError, match="No space left"):
        run(JOBS, CLUSTER, "fifo", stream_to=tmp_path)
    assert list(tmp_path.iterdir()) == []
