"""Files that `bench check` meets: what is no schedule is refused in one line, before it takes time or memory."""

import gzip
import os
from pathlib import Path

import pytest

from experiments.bench.check.reading import MOST_BYTES
from simulator.files.inputs import MOST_CONFIG_BYTES
from tests.command import refused, schedlab

HEADER = "job_id,node,node_type,gpus,start_s,end_s\n"
TASK = ("--task", "cost-v1")


def told(path):
    return refused("bench", "check", path, *TASK)


def in_file(tmp_path, text, name="schedule.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("inside", [False, True])
def test_a_pipe_is_not_waited_for(tmp_path, inside):
    """Also as the schedule, or the summary, of a folder."""
    path = tmp_path / "schedule.csv"
    os.mkfifo(path)
    assert "is no regular file" in told(tmp_path if inside else path)
    if inside:
        path.unlink()
        path.write_text(HEADER)
        os.mkfifo(tmp_path / "summary.json")
        assert "summary.json: cannot be read (is no regular file)" in told(tmp_path)


def test_a_device_is_not_read():
    assert "is no regular file" in told(Path("/dev/zero"))


def test_a_link_to_a_device_is_none_either(tmp_path):
    (tmp_path / "schedule.csv").symlink_to("/dev/zero")
    assert "is no regular file" in told(tmp_path)


def test_too_much_in_a_small_file(tmp_path):
    packed = in_file(tmp_path, gzip.compress(bytes(MOST_BYTES + 1), 1), "schedule.csv.gz")
    assert packed.stat().st_size < 400_000
    assert f"has more than {MOST_BYTES:,} bytes" in told(packed)


def test_too_much_in_a_large_file(tmp_path):
    path = in_file(tmp_path, HEADER)
    with path.open("r+b") as file:
        file.truncate(MOST_BYTES + 1)  # it takes no room on the disk
    assert f"has {MOST_BYTES + 1:,} bytes, expected at most {MOST_BYTES:,}" in told(path)
    path.write_text(HEADER)
    with (tmp_path / "summary.json").open("wb") as file:
        file.truncate(MOST_CONFIG_BYTES + 1)
    assert "summary.json: has" in told(tmp_path)


@pytest.mark.parametrize(
    "number", ["9_9999", "\u0663", "\uff11", "0x10", "1e400", "nan", "", "1 0", "1;0"]
)
def test_numbers_that_are_none(tmp_path, number):
    """Python takes some of these for numbers, and other programs do not."""
    for column, row in (("gpus", "J1,0,NC6,{},0,1"), ("node", "J1,{},NC6,1,0,1")):
        line = told(in_file(tmp_path, HEADER + row.format(number) + "\n"))
        assert f"line 2: {column} is " in line
        assert ", expected a " in line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "is empty"),
        (HEADER, "has no rows"),
        ("job_id,node,gpus,start_s,end_s\nJ1,0,1,0,1\n", "column 'node_type' is missing"),
        ("job_id,node,node,node_type,gpus,start_s,end_s\nJ1,0,0,a,1,0,1\n", "occurs twice"),
        (HEADER + "J1,0,NC6,1,0,1,7,7\n", "8 fields, expected 6"),
        (b"\xff\xfe\x00" + HEADER.encode("utf-16"), "cannot be read"),
        (HEADER + 'J1,0,NC6,1,0,"1\n', "a quotation mark is missing"),
        (HEADER + "J1,0,NC6,1,0,1e13\n", "end_s is '1e13', expected a number >= 0 and below 1e+10"),
        ("x," * 20_000 + "\n", "has 20,001 columns"),
    ],
)
def test_what_is_no_table_of_shares(tmp_path, text, expected):
    assert expected in told(in_file(tmp_path, text))


def test_control_characters_are_written_out(tmp_path):
    """Names of jobs and of types, as a terminal may show them."""
    wrong = schedlab(
        "bench", "check", in_file(tmp_path, HEADER + "\x1b[2Jevil,0,NC6,1,0,1\n"), *TASK
    )
    assert wrong.returncode == 1
    assert wrong.stdout == "wrong: line 2: job \\x1b[2Jevil: is none of the task's jobs\n"
    wrong = schedlab(
        "bench", "check", in_file(tmp_path, HEADER + "J1,0,\x1b]0;x\x07,1,0,1\n"), *TASK
    )
    assert "\x1b" not in wrong.stdout + wrong.stderr
    assert "node type '\\x1b]0;x\\x07', expected one of" in wrong.stdout
    line = told(in_file(tmp_path, HEADER + "J1,0,NC6,\x1b[31m,0,1\n"))
    assert "\x1b" not in line


@pytest.mark.parametrize("said", ["[1]", "{", '{"mean_jct_s": 1' + "0" * 5000 + "}", "[" * 100_000])
def test_a_summary_that_is_none(tmp_path, said):
    in_file(tmp_path, HEADER + "J1,0,NC6,1,0,1\n")
    in_file(tmp_path, said, "summary.json")
    assert "summary.json" in told(tmp_path)
