"""The authors' pure greedy, told in 170 lines that share nothing with schedlab.

It reads an instance folder, plays the events and adds up the cost, as their program does. Two kinds
of instance: VMs whose size a decision chooses (2020, 2021), and nodes of fixed types (ANDREAS).

Of VMs there are five versions. 4 is the last one. 3: first fit. 2: first fit, and no job gets idle GPUs.
1: besides, a node opens as the size that the job chose, and other jobs join it by that size. 0: besides,
a job whose configuration fits nowhere takes all GPUs of the first node where nobody is, of which there is none.
"""

import csv
import math
from pathlib import Path

HOUR = 3600.0


def rows_of(folder, stem):
    path = next(p for p in Path(folder).iterdir() if p.name.lower().startswith(stem))
    with open(path, newline="", encoding="utf-8") as lines:
        return [{k.lower(): v for k, v in row.items()} for row in csv.DictReader(lines)]


def first_of(row, *names):
    return next(row[name] for name in names if name in row)


class Instance:
    """Jobs, sizes {name: (GPU type, GPUs)}, price(name, GPUs in use), shortest and last times."""

    def __init__(self, folder):
        self.jobs = [
            {
                "id": first_of(row, "uniquejobsid", "id"),
                "submit": float(row["submissiontime"]),
                "due": float(row["deadline"]),
                "weight": float(row["tardinessweight"]),
            }
            for row in rows_of(folder, "lof_select")
        ]
        nodes = rows_of(folder, "tnodes")
        self.fixed = any(p.name.lower().startswith("gpu-costs") for p in Path(folder).iterdir())
        self.num_nodes = len(nodes)
        self.sizes, self.prices, self.closed = {}, {}, {}
        if self.fixed:
            energy = {
                (row["gputype"], int(row["ngpus"])): float(row["cost"])
                for row in rows_of(folder, "gpu-costs")
            }
            for row in nodes:
                kind = (row["gputype"], int(row["ngpus"]))
                self.sizes[kind] = kind
                self.closed[kind] = self.closed.get(kind, 0) + 1
                for g in range(1, kind[1] + 1):
                    self.prices[kind, g] = energy[kind[0], g]
        self.shortest, self.last = {}, {}
        for row in rows_of(folder, "selectjobs_times"):
            gpus = int(first_of(row, "gpunumber", "ngpus"))
            if self.fixed:
                names = [k for k in self.sizes if k[0] == row["gputype"] and gpus <= k[1]]
            else:
                names = [row["vmtype"]]
                most = int(first_of(row, "maxgpunumber", "max_ngpus"))
                self.sizes[row["vmtype"]] = (row["gputype"], most)
                for g in range(1, most + 1):
                    self.prices[row["vmtype"], g] = float(row["cost"])
            job, time = first_of(row, "uniquejobsid", "id"), float(row["executiontime"])
            for name in names:
                key = (name, gpus)
                self.last.setdefault(job, {})[key] = time
                known = self.shortest.setdefault(job, {})
                known[key] = min(time, known.get(key, math.inf))

    def largest(self, gpu_type):
        return max((n for n in self.sizes if self.sizes[n][0] == gpu_type),
                   key=lambda n: self.sizes[n][1])  # fmt: skip


class Plan:
    """Nodes as [name of the size, GPUs in use, [[job, GPUs, whether by its shortest time], ..]]."""

    def __init__(self, instance, version):
        self.x, self.nodes, self.closed = instance, [], dict(instance.closed)
        self.version = version

    def free(self, node):
        return self.x.sizes[node[0]][1] - node[1]

    def place(self, job, name, gpus):
        """On the fullest open node with room (the first of equals), else on a new one, if any."""
        gpu_type, own = self.x.sizes[name][0], self.x.fixed or self.version < 2
        fits = [n for n in self.nodes if self.free(n) >= gpus
                and (n[0] == name if own else self.x.sizes[n[0]][0] == gpu_type)]  # fmt: skip
        if fits:
            node = min(fits, key=self.free) if self.version == 4 else fits[0]
        else:
            opens = name if own else self.x.largest(gpu_type)
            if self.x.fixed and not self.closed[name]:
                return False
            if len(self.nodes) == self.x.num_nodes:
                return False
            if self.x.fixed:
                self.closed[name] -= 1
            node = [opens, 0, []]
            self.nodes.append(node)
        node[1] += gpus
        node[2].append([job, gpus, own and not self.x.fixed])
        return True

    def shrink(self):
        """The size with the GPUs in use, or one more, where it is cheaper."""
        for node in self.nodes:
            gpu_type, _ = self.x.sizes[node[0]]
            for wanted in (node[1], node[1] + 1):
                smaller = [n for n, (t, g) in self.x.sizes.items()
                           if t == gpu_type and g == wanted
                           and self.x.prices[n, 1] < self.x.prices[node[0], 1]]  # fmt: skip
                if smaller:
                    node[0] = smaller[0]
                    for share in node[2]:
                        share[2] = False
                    break

    def expand(self, remaining):
        """The job that gains the most seconds takes all idle GPUs of its node."""
        best, winner = 0.0, None
        for node in self.nodes:
            for share in node[2]:
                times = self.x.last[self.x.jobs[share[0]]["id"]]
                more = (node[0], share[1] + self.free(node))
                if self.free(node) and more in times:
                    gain = remaining[share[0]] * (times[node[0], share[1]] - times[more])
                    if gain > best:
                        best, winner = gain, (node, share)
        if winner:
            node, share = winner
            share[1] += self.free(node)
            node[1] = self.x.sizes[node[0]][1]


MET = (
    "server 2",
    "server 1",
    "server 3",
    "NC24X",
    "NC24",
    "NC12",
    "NC6",
    "NV12",
    "NV24",
    "NV6",
    "NV24X",
)
"""Sizes of 2020 in the order in which the program meets them."""


def rank(size):
    """Of sizes with equal costs or times the first one that is met."""
    return next((i for i, name in enumerate(MET) if str(size).endswith(name)), len(MET))


def plan(x, now, active, remaining, version):
    """Plan all nodes anew."""

    def pressure(job):
        times = x.shortest[x.jobs[job]["id"]]
        late = now + remaining[job] * min(times.values()) - x.jobs[job]["due"]
        return late * x.jobs[job]["weight"] if x.fixed and late > 0 else late

    result = Plan(x, version)
    for job in sorted(active, key=pressure, reverse=True):
        times = x.shortest[x.jobs[job]["id"]]
        by_cost = sorted(times, key=lambda c: (times[c] * x.prices[c], rank(c[0]), -c[1]))
        by_time = sorted(times, key=lambda c: (times[c], rank(c[0]), -c[1]))
        on_time = [c for c in by_cost if now + remaining[job] * times[c] <= x.jobs[job]["due"]]
        best = (on_time or by_time)[0]
        for config in [best, *on_time, *by_time] if version > 0 else [best]:
            if result.place(job, *config):
                break
    if not x.fixed:
        result.shrink()
        if version > 2:
            result.expand(remaining)
    return result.nodes


def total_and_makespan(folder, version=4):
    """Total cost (VMs or energy, and tardiness), and when the last job ends."""
    x = Instance(folder)
    remaining, active, total, now, coming = [1.0] * len(x.jobs), [], 0.0, 0.0, 0
    while coming < len(x.jobs) or active:
        if not active:
            now = x.jobs[coming]["submit"]
        while coming < len(x.jobs) and x.jobs[coming]["submit"] <= now:
            active.append(coming)
            coming += 1
        nodes = plan(x, now, active, remaining, version)
        running = [(node, job, (x.shortest if short else x.last)[x.jobs[job]["id"]][node[0], gpus])
                   for node in nodes for job, gpus, short in node[2]]  # fmt: skip
        ends = {job: now + remaining[job] * time for _, job, time in running}
        following = x.jobs[coming]["submit"] if coming < len(x.jobs) else math.inf
        then = min(*ends.values(), following) if ends else following
        for node in nodes:
            total += (then - now) / HOUR * x.prices[node[0], node[1]]
        for _, job, time in running:
            if ends[job] <= then:
                active.remove(job)
                total += x.jobs[job]["weight"] * max(0.0, then - x.jobs[job]["due"])
            else:
                remaining[job] -= (then - now) / time
        now = then
    return total, now
