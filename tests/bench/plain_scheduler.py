"""A small scheduler that has no line of schedlab: first come first served, on plain numbers.

    first_come([("a", 0.0, 2, 1.0, 0.0, 0.0)], [(8, 24.0, 500.0)], lambda job, on: 100.0)

gives rows as dictionaries, as a schedule has them.
"""

import heapq
import math


def first_come(jobs, nodes, lasts_s, earliest_s=lambda time_s: time_s, one_node=False):
    """Each job, in its order, where there is room first; nobody overtakes.

    jobs : (name, submit_s, GPUs, part of each, CPUs, GB) in order of submission.
    nodes : (GPUs, CPUs, GB).
    lasts_s : of a job's index and the node of its first GPU: how long it runs.
    earliest_s : from when a start may be decided, of a time.
    one_node : whether a job lies on one node.
    """
    room = Room(nodes)
    now_s, rows = 0.0, []
    for index, (name, submit_s, gpus, part, cpus, gb) in enumerate(jobs):
        now_s = earliest_s(max(now_s, submit_s))
        room.end_until(now_s)
        while not (found := room.find(gpus, part, cpus, gb, one_node)):
            now_s = earliest_s(room.next_end_s())
            room.end_until(now_s)
        end_s = now_s + lasts_s(index, found[0][0])
        room.take(found, part, cpus / gpus, gb / gpus, end_s)
        for node, numbers in found:
            share = len(numbers) / gpus
            rows.append(
                {"job_id": name, "node": node, "gpus": len(numbers) * part, "cpus": cpus * share,
                 "memory_gb": gb * share, "start_s": now_s, "end_s": end_s,
                 "gpu_ids": " ".join(map(str, numbers))}
            )  # fmt: skip
    return rows


class Room:
    """What is free: the part of each GPU, CPUs and GB of each node."""

    def __init__(self, nodes):
        self.gpus = [[1.0] * gpus for gpus, _, _ in nodes]
        self.cpus = [cpus for _, cpus, _ in nodes]
        self.gb = [gb for _, _, gb in nodes]
        self.ends = []

    def find(self, gpus, part, cpus, gb, one_node):
        """GPUs by number, node by node; empty: there is no room."""
        found, left = [], gpus
        for node, free in enumerate(self.gpus):
            numbers = [g for g, rest in enumerate(free) if rest >= part - 1e-9][:left]
            share = len(numbers) / gpus
            if not numbers or cpus * share > self.cpus[node] or gb * share > self.gb[node]:
                continue
            if one_node and len(numbers) < gpus:
                continue
            found.append((node, numbers))
            left -= len(numbers)
            if not left:
                return found
        return []

    def take(self, found, part, cpus, gb, end_s):
        """Hold these GPUs, and for each of them CPUs and GB, until a time."""
        self._add(found, -part, -cpus, -gb)
        heapq.heappush(self.ends, (end_s, len(self.ends), found, part, cpus, gb))

    def end_until(self, time_s):
        """Give back what is over by then."""
        while self.ends and self.ends[0][0] <= time_s:
            self._add(*heapq.heappop(self.ends)[2:])

    def next_end_s(self):
        """The next time at which something is given back."""
        return self.ends[0][0]

    def _add(self, found, part, cpus, gb):
        for node, numbers in found:
            for g in numbers:
                self.gpus[node][g] += part
            self.cpus[node] += cpus * len(numbers)
            self.gb[node] += gb * len(numbers)


def with_failures(jobs, num_nodes, gpus_per_node, down, rules):
    """First come first served on nodes that go down; a job that fails goes back to its last checkpoint and queues again.

    jobs : (name, submit_s, duration_s, GPUs).
    down : (node, begin, end), s.
    rules : gap_s between starts, resume_s, restart_s, interval_s and cost_s of checkpoints.
    """
    gap_s, resume_s, restart_s, interval_s, cost_s = rules
    waiting = [
        (submit_s, k, duration_s, 0.0) for k, (_, submit_s, duration_s, _) in enumerate(jobs)
    ]
    heapq.heapify(waiting)
    free_from_s = [[0.0] * gpus_per_node for _ in range(num_nodes)]
    now_s, rows = 0.0, []
    while waiting:
        ready_s, k, left_s, delay_s = heapq.heappop(waiting)
        name, _, _, gpus = jobs[k]
        now_s = math.ceil(max(now_s, ready_s) / gap_s) * gap_s
        while True:
            away = {node for node, begin_s, end_s in down if begin_s <= now_s < end_s}
            free = [(n, g) for n in range(num_nodes) if n not in away
                    for g in range(gpus_per_node) if free_from_s[n][g] <= now_s]  # fmt: skip
            if len(free) >= gpus:
                break
            ends = (t for of_node in free_from_s for t in of_node if t > now_s)
            now_s = max(now_s + gap_s, math.ceil(min(ends, default=0.0) / gap_s) * gap_s)
        own = free[:gpus]
        saves = max(0, math.ceil(left_s / interval_s) - 1)
        end_s = now_s + delay_s + left_s + saves * cost_s
        nodes = {n for n, _ in own}
        fails_s = min((b for n, b, _ in down if n in nodes and now_s < b < end_s), default=None)
        if fails_s is not None:
            end_s = fails_s
            done = max(0, int((end_s - now_s - delay_s) // (interval_s + cost_s)))
            left_s -= done * interval_s
            heapq.heappush(waiting, (end_s, k, left_s, resume_s + restart_s))
        for n, g in own:
            free_from_s[n][g] = end_s
        for n in sorted(nodes):
            count = sum(node == n for node, _ in own)
            rows.append(
                {"job_id": name, "node": n, "gpus": count, "start_s": now_s, "end_s": end_s}
            )
    return rows


def in_rounds(jobs, num_gpus, round_s, work):
    """First come first served in rounds that end with their last job; each GPU is a node of its own.

    jobs : (name, submit_s, GPUs) in order of submission.
    work : of the nodes by job: the seconds that each works in a round, and what is left of its work then.
    """
    free, running, begun, rows = list(range(num_gpus)), {}, {}, []
    now_s, coming = 0.0, 0
    while coming < len(jobs) or running:
        if not running:
            now_s = max(now_s, jobs[coming][1])
        while coming < len(jobs) and jobs[coming][1] <= now_s and jobs[coming][2] <= len(free):
            running[coming] = tuple(free[: jobs[coming][2]])
            del free[: jobs[coming][2]]
            begun[coming] = now_s
            coming += 1
        done = work(running, round_s)
        for job, (seconds, left) in done.items():
            if left == 0:
                row = {"job_id": jobs[job][0], "gpus": 1, "start_s": begun[job]}
                rows += [row | {"node": node, "end_s": now_s + seconds} for node in running[job]]
                free += running.pop(job)
        now_s += max(seconds for seconds, _ in done.values())
    return rows
