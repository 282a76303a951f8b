"""Records that are streamed to Parquet are those that a run keeps in memory."""

from __future__ import annotations

import errno
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from pandas.testing import assert_frame_equal

from policies import make_policy
from simulator import Cluster, Decision, InfeasibleDecision, InputError, NodeType, View, simulate
from simulator.metrics import streaming as module
from tests.core.jobs import fixed

SERVER = NodeType("server", "GPU", 4)
JOBS = fixed([3.0 * j for j in range(200)], [20.0 + j % 7 for j in range(200)], [1, 2, 4, 8] * 50)
CLUSTER = Cluster.of_nodes(SERVER, 8)


@pytest.mark.parametrize("rows", [7, 1_000_000])
def test_streamed_tables_are_those_kept(
    tmp_path: Path, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROWS", rows)
    monkeypatch.setattr(module.StreamedSchedule, "BLOCK", 5)
    kept = simulate(JOBS, CLUSTER, make_policy("fifo-backfill"))
    result = simulate(JOBS, CLUSTER, make_policy("fifo-backfill"), stream_to=tmp_path / "out")
    for name in ("jobs", "decisions", "schedule"):
        table = pd.read_parquet(tmp_path / "out" / f"{name}.parquet")
        assert_frame_equal(table, kept.table(name))
        assert_frame_equal(table, result.table(name))
    assert not (tmp_path / "out" / "timing.parquet").exists()
    assert result.summary() == kept.summary()
    assert len(result.decisions) == len(kept.decisions)


def test_facts_and_wake_ups_are_streamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROWS", 3)
    policy = make_policy("fifo-backfill")
    asked = [0]

    def decide(view: View) -> Decision:
        asked[0] += 1
        placements = policy.decide(view).placements
        facts: dict[str, float | str] = {"number": asked[0]} if asked[0] % 2 else {}
        if (
            asked[0] > 6
        ):  # a name, and a type of another one, of which the first blocks know nothing
            facts |= {"later": "x", "number": 0.5, "solve_cpu_s": 2.0}
        return Decision(placements, True, facts, again_s=7.0 if asked[0] == 4 else None)

    kept = simulate(JOBS.head(40), CLUSTER, decide, measure_decisions=True)
    asked[0] = 0
    result = simulate(JOBS.head(40), CLUSTER, decide, stream_to=tmp_path, measure_decisions=True)
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
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "decisions.parquet", "jobs.parquet", "schedule.parquet", "timing.parquet",
    ]  # fmt: skip


def test_an_error_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(InfeasibleDecision):
        simulate(JOBS, CLUSTER, lambda view: Decision(), stream_to=tmp_path)
    assert not list(tmp_path.iterdir())


def test_records_are_never_overwritten(tmp_path: Path) -> None:
    simulate(JOBS, CLUSTER, make_policy("fifo"), stream_to=tmp_path)
    before = (tmp_path / "jobs.parquet").read_bytes()
    with pytest.raises(InputError, match=r"jobs.parquet: exists already"):
        simulate(JOBS, CLUSTER, make_policy("fifo"), stream_to=tmp_path)
    assert (tmp_path / "jobs.parquet").read_bytes() == before
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=r"file: cannot be made"):
        simulate(JOBS, CLUSTER, make_policy("fifo"), stream_to=tmp_path / "file")


def test_a_planted_link_under_a_name_in_the_making_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    out = tmp_path / "out"
    out.mkdir()
    (out / ".jobs.parquet.unfinished").symlink_to(victim)  # a name that one can foresee
    (out / "decisions.parquet").symlink_to(tmp_path / "nowhere")
    simulate(JOBS, CLUSTER, make_policy("fifo"), stream_to=out)
    assert not (out / "decisions.parquet").is_symlink()
    assert not (tmp_path / "nowhere").exists()
    # Even where the name is known, the file is never opened through a link.
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setattr("secrets.token_hex", lambda _: "guessed")
    (other / ".decisions.parquet.guessed.tmp").symlink_to(victim)
    with pytest.raises(FileExistsError):
        simulate(JOBS, CLUSTER, make_policy("fifo"), stream_to=other)
    assert victim.read_text() == "mine"
    assert [p.name for p in other.iterdir()] == [".decisions.parquet.guessed.tmp"]


@pytest.mark.parametrize("fails_at", [1, 3])
def test_a_disk_that_is_full_at_the_end_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int
) -> None:
    """No file gets its name if one cannot be closed, and none stays under a random one."""
    close, closed = pq.ParquetWriter.close, []

    def full(self: pq.ParquetWriter) -> None:
        close(self)
        closed.append(self)
        if len(closed) == fails_at:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "close", full)
    with pytest.raises(OSError, match="No space left"):
        simulate(JOBS, CLUSTER, make_policy("fifo"), stream_to=tmp_path)
    assert list(tmp_path.iterdir()) == []
