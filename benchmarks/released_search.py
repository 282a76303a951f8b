"""The authors' randomised greedy and local search of 2020 and 2021, rebuilt apart from schedlab.

VMs only. Its random numbers are others, so only distributions can agree. ``whole_nodes=True`` leaves
out the one step that gives away GPUs which a node does not have (`seventh`).
"""

import math
import random

from tests.greedy.released_program import HOUR, Instance, first_of, rows_of

ALPHA, BETA, SWAP, STEP = 0.05, 0.2, 0.5, 0.05
POOL, NEIGHBOURS, ROUNDS = 10, 10, 10


class Rows(Instance):
    """The instance, with every row of a job's times: (size, GPUs, seconds), last row first."""

    def __init__(self, folder):
        super().__init__(folder)
        self.rows = {}
        for row in rows_of(folder, "selectjobs_times"):
            gpus = int(first_of(row, "gpunumber", "ngpus"))
            job = first_of(row, "uniquejobsid", "id")
            self.rows.setdefault(job, []).insert(
                0, (row["vmtype"], gpus, float(row["executiontime"]))
            )
        self.by_type = {}
        for name, (gpu_type, most) in self.sizes.items():
            self.by_type.setdefault(gpu_type, {})[most] = name
        self.slowest = {job: max(r[2] for r in rows) for job, rows in self.rows.items()}
        self.most = {t: max(sizes) for t, sizes in self.by_type.items()}


class Plan:
    """Nodes as [size, GPUs counted as used]; shares {job: (node, GPUs)}."""

    def __init__(self, nodes=(), shares=None):
        self.nodes, self.shares = [list(n) for n in nodes], dict(shares or {})

    def copy(self):
        return Plan(self.nodes, self.shares)


class Decision:
    """One decision: the active jobs, what is left of them, and the plans made for it."""

    def __init__(self, x, now, active, remaining, rng):
        self.x, self.now, self.rng, self.remaining = x, now, rng, remaining
        self.ids = {j: x.jobs[j]["id"] for j in active}
        self.pressure = {
            j: now + remaining[j] * min(x.shortest[self.ids[j]].values()) - x.jobs[j]["due"]
            for j in active
        }
        self.queue = sorted(active, key=lambda j: -self.pressure[j])

    def time(self, job, size, gpus):
        return self.remaining[job] * self.x.last[self.ids[job]][size, gpus]

    def free(self, node):
        return self.x.sizes[node[0]][1] - node[1]

    # --- construction ---------------------------------------------------------------------------

    def drawn(self, count, share, pure):
        """The place of the one that is taken, of ``count`` in order."""
        few = 0 if pure else math.floor(count * share + 0.5)
        return self.rng.randrange(few) if few > 1 else 0

    def lists(self, job):
        """Rows on time by cost, and the others by time."""
        x, due, left = self.x, self.x.jobs[job]["due"], self.remaining[job]
        on_time, late = [], []
        for size, gpus, seconds in x.rows[self.ids[job]]:
            t = left * seconds
            if self.now + t <= due:
                on_time.append((x.prices[size, gpus] * t, size, gpus))
            else:
                late.append((t, size, gpus))
        on_time.sort(key=lambda r: r[0])
        late.sort(key=lambda r: r[0])
        return on_time, late

    def seat(self, plan, job, gpu_type, gpus, pure):
        """On an open node; whether there was one."""
        fits = [
            (self.free(node) - gpus, n)
            for n, node in enumerate(plan.nodes)
            if self.x.sizes[node[0]][0] == gpu_type and self.free(node) >= gpus
        ]
        if not fits:
            return False
        n = min(fits)[1] if pure else sorted(fits)[self.drawn(len(fits), BETA, pure)][1]
        plan.nodes[n][1] += gpus
        plan.shares[job] = (n, gpus)
        return True

    def place(self, plan, job, pure):
        x = self.x
        lists = self.lists(job)
        first = True
        while lists[0] or lists[1]:
            rows = lists[0] or lists[1]
            _, size, gpus = rows.pop(self.drawn(len(rows), ALPHA, pure))
            gpu_type = x.sizes[size][0]
            if self.seat(plan, job, gpu_type, gpus, pure):
                return
            if first and len(plan.nodes) < x.num_nodes:
                plan.nodes.append([x.by_type[gpu_type][x.most[gpu_type]], gpus])
                plan.shares[job] = (len(plan.nodes) - 1, gpus)
                return
            first = False

    def shuffled(self):
        queue = sorted(self.queue, key=lambda j: -self.pressure[j])
        for at in range(len(queue) - 1):
            w1, w2 = (self.x.jobs[queue[at + d]]["weight"] for d in (0, 1))
            if self.rng.random() < SWAP + (STEP if w1 > w2 else -STEP):
                queue[at], queue[at + 1] = queue[at + 1], queue[at]
        return queue

    def construct(self, pure):
        plan = Plan()
        if not pure:
            self.queue = self.shuffled()
        for job in self.queue:
            full = all(self.free(node) == 0 for node in plan.nodes)
            if len(plan.nodes) == self.x.num_nodes and full:
                break
            self.place(plan, job, pure)
        self.finish(plan)
        return plan

    def finish(self, plan):
        """Smaller sizes where that is cheaper, then one job takes its node's idle GPUs."""
        x = self.x
        for node in plan.nodes:
            gpu_type = x.sizes[node[0]][0]
            if self.free(node) == 0:
                continue
            for most in (node[1], node[1] + 1):
                smaller = x.by_type[gpu_type].get(most)
                if smaller and x.prices[smaller, 1] < x.prices[node[0], 1]:
                    node[0] = smaller
        best, winner = 0.0, None
        for job, (n, gpus) in plan.shares.items():
            size, more = plan.nodes[n][0], gpus + self.free(plan.nodes[n])
            if self.free(plan.nodes[n]) != 0 and (size, more) in x.last[self.ids[job]]:
                gain = self.time(job, size, gpus) - self.time(job, size, more)
                if gain > best:
                    best, winner = gain, (job, n, more)
        if winner:
            job, n, more = winner
            plan.nodes[n][1] += more - plan.shares[job][1]
            plan.shares[job] = (n, more)

    # --- objectives -----------------------------------------------------------------------------

    def first_finish(self, plan):
        """Objective of the randomised greedy."""
        x, shares = self.x, plan.shares
        first = min(self.time(j, plan.nodes[n][0], g) for j, (n, g) in shares.items())
        total = sum(first * x.prices[size, 1] / HOUR for size, used in plan.nodes if used)
        for job in self.queue:
            w, due = x.jobs[job]["weight"], x.jobs[job]["due"]
            if job in shares:
                total += w * max(0.0, self.now + first - due)
            else:
                slowest = self.remaining[job] * x.slowest[self.ids[job]]
                total += 100 * w * max(0.0, self.now + slowest - due)
        return total

    def share_costs(self, plan, job):
        """Cost of its GPUs to its end, and tardiness in seconds."""
        n, gpus = plan.shares[job]
        size, used = plan.nodes[n]
        t = self.time(job, size, gpus)
        cost = t / HOUR * self.x.prices[size, 1] * gpus / used
        return cost, max(0.0, self.now + t - self.x.jobs[job]["due"])

    def ratio(self, plan):
        """Ratio that local search maximises."""
        total = 0.0
        for job in plan.shares:
            cost, late = self.share_costs(plan, job)
            slowest = self.remaining[job] * self.x.slowest[self.ids[job]]
            total += slowest / (cost + self.x.jobs[job]["weight"] * late)
        return total

    # --- local search ---------------------------------------------------------------------------

    def search(self, iterations, whole_nodes):
        """The pool keeps each construction that is better than all before it, the last ten."""
        plan = self.construct(True)
        pool = [(self.ratio(plan), plan)]
        for _ in range(iterations - 1):
            plan = self.construct(False)
            value = self.ratio(plan)
            if value > pool[-1][0]:
                pool = [*pool, (value, plan)][-POOL:]
        for _ in range(ROUNDS):
            better = {pool[-1][0]: pool[-1][1]}
            for value, plan in reversed(pool):
                found = self.best_change(plan, value, whole_nodes)
                if found:
                    better.setdefault(*found)
            pool = sorted(better.items(), key=lambda entry: entry[0])
            if len(pool) > POOL:
                pool = pool[1:]
            if len(pool) == 1:
                break
        best = pool[-1][1].copy()
        self.finish(best)
        return best

    def best_change(self, plan, value, whole_nodes):
        late, costly = [], []
        hosted = [[] for _ in plan.nodes]
        for job, (n, _) in plan.shares.items():
            cost, tardiness = self.share_costs(plan, job)
            (late if tardiness > 0 else costly).append((tardiness or cost, job))
            hosted[n].insert(0, job)
        late, costly = (
            [job for _, job in sorted(jobs, key=lambda e: -e[0])[:NEIGHBOURS]]
            for jobs in (late, costly)
        )
        found = [self.third(plan, value)]
        if late and len(plan.nodes) > 2:
            found.append(self.swaps(plan, value, late, costly))
            running = [j for j in reversed(self.queue) if j in plan.shares]
            found.append(self.swaps(plan, value, late, running))
        if late:
            found += [
                self.on_nodes(plan, value, late, hosted, proposed, whole_nodes)
                for proposed in (self.fourth, self.fifth, self.sixth, self.seventh)
            ]
        best = (value, None)
        for candidate in found:
            if candidate[1] is not None and candidate[0] > best[0]:
                best = candidate
        return best if best[1] is not None else None

    def third(self, plan, value):
        """Each postponed job against each running one of no higher pressure."""
        best = (value, None)
        for waiting in self.queue:
            if waiting in plan.shares:
                continue
            for running in reversed(self.queue):
                if running not in plan.shares or self.pressure[waiting] < self.pressure[running]:
                    continue
                other = plan.copy()
                other.shares[waiting] = other.shares.pop(running)
                new = self.ratio(other)
                if new > best[0]:
                    best = (new, other)
        return best

    def swaps(self, plan, value, first, second):
        """The first exchange that improves."""
        for i in first:
            for j in second:
                if i == j or plan.shares[i][0] == plan.shares[j][0]:
                    continue
                other = plan.copy()
                other.shares[i], other.shares[j] = plan.shares[j], plan.shares[i]
                new = self.ratio(other)
                if new > value:
                    return new, other
        return value, None

    def on_nodes(self, plan, value, late, hosted, proposed, whole_nodes):
        """Nodes of the tardiest jobs; of an improvement that is overtaken the node stays changed."""
        best, nodes, seen = (value, None), [list(n) for n in plan.nodes], set()
        for job in late:
            n = plan.shares[job][0]
            if n in seen:
                continue
            answer = proposed(plan, job, n, hosted[n], whole_nodes)
            if proposed is not self.sixth or plan.shares[job][1] % 2 == 0:
                seen.add(n)
            if answer is None:
                continue
            size, shares = answer
            used = shares.pop("used", None)
            before, nodes[n] = nodes[n], [size, used or sum(shares.values())]
            other = Plan(nodes, plan.shares)
            other.shares.update({j: (n, g) for j, g in shares.items()})
            new = self.ratio(other)
            if new > best[0]:
                best = (new, other)
            else:
                nodes[n] = before
        if best[1] is not None:
            best[1].nodes = nodes
            best = (self.ratio(best[1]), best[1])
        return best

    def fourth(self, plan, job, n, hosted, whole_nodes):
        gpu_type, most = self.x.sizes[plan.nodes[n][0]]
        before = sum(self.time(j, plan.nodes[n][0], plan.shares[j][1]) for j in hosted)
        chosen = None
        for other, sizes in self.x.by_type.items():
            if other != gpu_type and most in sizes:
                after = sum(self.time(j, sizes[most], plan.shares[j][1]) for j in hosted)
                if after < before:
                    chosen = sizes[most]
        return (chosen, {j: plan.shares[j][1] for j in hosted}) if chosen else None

    def fifth(self, plan, job, n, hosted, whole_nodes):
        gpu_type, most = self.x.sizes[plan.nodes[n][0]]
        size = self.x.by_type[gpu_type].get(2 * most)
        return (size, {j: 2 * plan.shares[j][1] for j in hosted}) if size else None

    def sixth(self, plan, job, n, hosted, whole_nodes):
        gpu_type, most = self.x.sizes[plan.nodes[n][0]]
        size = self.x.by_type[gpu_type].get(most // 2) if most % 2 == 0 else None
        if not size or any(plan.shares[j][1] % 2 for j in hosted):
            return None
        return size, {j: plan.shares[j][1] // 2 for j in hosted}

    def seventh(self, plan, job, n, hosted, whole_nodes):
        """Each job asks for the whole node (one GPU less where it has it). The second is refused, but
        what was asked for, the refused share included, counts as used when the price is split."""
        size = plan.nodes[n][0]
        most = self.x.sizes[size][1]
        asked, shares = 0, {}
        for j in hosted:
            wanted = most if plan.shares[j][1] != most else most - 1
            if wanted == 0:
                continue
            asked += wanted
            if asked > most:
                break
            shares[j] = wanted
        if asked == 0 or (whole_nodes and asked > most):
            return None
        return size, {**shares, "used": asked}


def play(folder, method, iterations, seed, whole_nodes=False):
    """Cost as their program adds it up, cost with whole nodes paid, share of the node-time with
    more GPUs given than there are, makespan."""
    x, rng = Rows(folder), random.Random(seed)
    remaining, active, now, coming = [1.0] * len(x.jobs), [], 0.0, 0
    counted = paid = tardiness = over = busy = 0.0
    while coming < len(x.jobs) or active:
        if not active:
            now = x.jobs[coming]["submit"]
        while coming < len(x.jobs) and x.jobs[coming]["submit"] <= now:
            active.append(coming)
            coming += 1
        d = Decision(x, now, active, remaining, rng)
        if method == "local-search":
            plan = d.search(iterations, whole_nodes)
        else:
            plan = d.construct(True)
            value = d.first_finish(plan)
            for _ in range(iterations - 1):
                other = d.construct(False)
                if (new := d.first_finish(other)) < value:
                    plan, value = other, new
        ends = {j: now + d.time(j, plan.nodes[n][0], g) for j, (n, g) in plan.shares.items()}
        following = x.jobs[coming]["submit"] if coming < len(x.jobs) else math.inf
        then = min(*ends.values(), following) if ends else following
        hours = (then - now) / HOUR
        given = [0] * len(plan.nodes)
        for n, gpus in plan.shares.values():
            given[n] += gpus
        for (size, used), gpus in zip(plan.nodes, given, strict=True):
            if gpus:
                counted += hours * x.prices[size, 1] * gpus / used
                paid += hours * x.prices[size, 1]
                busy += hours
                over += hours * (gpus > x.sizes[size][1])
        for job, (n, gpus) in plan.shares.items():
            if ends[job] <= then:
                active.remove(job)
                tardiness += x.jobs[job]["weight"] * max(0.0, then - x.jobs[job]["due"])
            else:
                remaining[job] -= (then - now) / x.last[x.jobs[job]["id"]][plan.nodes[n][0], gpus]
        now = then
    return counted + tardiness, paid + tardiness, over / busy, now
