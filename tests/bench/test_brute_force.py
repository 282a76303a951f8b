"""The check against one that looks at every second of small schedules, right ones and ones with a mistake."""

import random

import pandas as pd

from experiments.bench.check import check_schedule
from tests.bench.plain_scheduler import first_come
from tests.core.jobs import fixed, nodes

NODES, GPUS = 3, 2


def is_right(rows, submit_s, work_s, gpus):
    """Each second by itself: GPUs of each node, all GPUs of a job or none, and seconds of work in the end."""
    last_s = max(row["end_s"] for row in rows)
    worked_s = [0] * len(work_s)
    for second in range(last_s):
        held = [row for row in rows if row["start_s"] <= second < row["end_s"]]
        for node in range(NODES):
            if sum(row["gpus"] for row in held if row["node"] == node) > GPUS:
                return False
        for job in range(len(work_s)):
            of_job = sum(row["gpus"] for row in held if row["job_id"] == f"j{job}")
            if of_job not in (0, gpus[job]) or (of_job and second < submit_s[job]):
                return False
            worked_s[job] += of_job > 0
    return worked_s == work_s


def mutated(rows, rng):
    """The rows with one of them changed, left out, doubled or cut in two."""
    rows = [dict(row) for row in rows]
    row = rng.choice(rows)
    what = rng.choice(["start_s", "end_s", "node", "gpus", "drop", "double", "cut", "swap", "none"])
    if what in ("start_s", "end_s"):
        row[what] = max(0, row[what] + rng.choice([-1, 1]))
    elif what == "node":
        row["node"] = rng.randrange(NODES)
    elif what == "gpus":
        row["gpus"] = rng.randint(1, GPUS)
    elif what == "drop":
        rows.remove(row)
    elif what == "double":
        rows.append(dict(row))
    elif what == "cut" and row["end_s"] - row["start_s"] > 1:
        middle_s = rng.randint(row["start_s"] + 1, row["end_s"] - 1)
        rows.append(
            row | {"start_s": middle_s, "node": rng.choice([row["node"], rng.randrange(NODES)])}
        )
        row["end_s"] = middle_s
    elif what == "swap":
        other = rng.choice(rows)
        row["job_id"], other["job_id"] = other["job_id"], row["job_id"]
    return [row for row in rows if row["end_s"] > row["start_s"]]


def test_each_second_of_small_schedules():
    rng, verdicts = random.Random(1), []
    for _ in range(200):
        count = rng.randint(1, 4)
        submit_s = sorted(rng.randint(0, 5) for _ in range(count))
        work_s = [rng.randint(1, 6) for _ in range(count)]
        gpus = [rng.randint(1, 4) for _ in range(count)]
        listed = [(f"j{j}", submit_s[j], gpus[j], 1.0, 0.0, 0.0) for j in range(count)]
        rows = first_come(listed, [(GPUS, 0.0, 0.0)] * NODES, lambda job, node, w=work_s: w[job])
        whole = ("node", "gpus", "start_s", "end_s")
        rows = [
            {"job_id": row["job_id"], **{name: int(row[name]) for name in whole}} for row in rows
        ]
        for _ in range(rng.randint(0, 2)):
            rows = mutated(rows, rng) or rows
        jobs = fixed(submit_s, work_s, gpus)
        rng.shuffle(rows)
        found = check_schedule(pd.DataFrame(rows), jobs, nodes(GPUS, NODES))
        right = is_right(rows, submit_s, work_s, gpus)
        assert right == (not found.faults), (rows, submit_s, work_s, gpus, found.faults)
        verdicts.append(right)
    assert 50 < sum(verdicts) < 150, "both kinds are tried"
