"""Local search and path relinking in plain Python, to be read: `search` gives the same answers.

The twin prices every candidate; the kernel skips those that a bound rules out.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from policies.greedy.problem import FIRST_FINISH, OWN_FINISH, PAPER
from tests.greedy.reference import Instance, Node, Plan

Changes = dict[int, tuple[int, list[list[int]]]]
"""A move: the type and the jobs that nodes are to have."""


@dataclass
class Context:
    """The decision, and the objective that is improved."""

    x: Instance
    objective: int

    @property
    def base(self) -> float:
        """The objective with every job postponed."""
        return self.x.base if self.objective <= OWN_FINISH else 0.0

    @property
    def margin(self) -> float:
        """An improvement is more than this (rounding)."""
        return 1e-9 * (1.0 + abs(self.x.base))

    def value(self, node_type: int, hosted: list[list[int]], first: float = math.inf) -> float:
        """Contribution of a node to the objective; infinite if a job cannot run so.

        ``first``: when the first job of all finishes, for `FIRST_FINISH` alone.
        """
        x, s = self.x, self.x.s
        used = sum(g for _, g in hosted)
        total, leader = 0.0, math.inf
        if not hosted:
            return 0.0
        for i, g in hosted:
            time = x.time(i, node_type, g)
            if time == math.inf:
                return math.inf
            if self.objective == FIRST_FINISH:
                total += x.tardiness(i, first) - x.postponed[i]
                continue
            tardy = x.tardiness(i, time)
            if self.objective == PAPER:
                total += tardy - x.postponed[i]
                leader = min(leader, float(x.machines.price_per_s[node_type, g]) * time)
            else:
                price = float(x.machines.price_per_s[node_type, used])
                cost = price * time * g / used + tardy
                if self.objective == OWN_FINISH:
                    total += cost - x.postponed[i]
                else:
                    slowest = float(x.profile.slowest_s[x.index[i]])
                    total -= x.remaining[i] * slowest / max(cost, 1e-300)
        if self.objective == PAPER:
            total += leader + s.mu * (int(x.machines.gpus[node_type]) - used)
        elif self.objective == FIRST_FINISH:
            total += float(x.machines.price_per_s[node_type, used]) * first
        return total

    def of(self, node: Node, first: float = math.inf) -> float:
        """A node's value as it is."""
        return self.value(node.node_type, node.hosted, first)

    def first(self, nodes: list[Node]) -> float:
        """Finish of the first job of all, if that counts."""
        if self.objective != FIRST_FINISH:
            return math.inf
        times = [self.x.time(i, node.node_type, g) for node in nodes for i, g in node.hosted]
        return min(times, default=math.inf)

    def change(self, nodes: list[Node], changes: Changes) -> float:
        """Nodes that a move changes: the nodes that it names, then all others if the first finish is
        another one after it."""
        before, after = self.first(nodes), list(nodes)
        for n, (node_type, hosted) in changes.items():
            after[n] = Node(node_type, 0, hosted)
        first, delta = self.first(after), 0.0
        for n in changes:
            delta += self.of(after[n], first) - self.of(nodes[n], before)
        if first != before:
            for n, node in enumerate(nodes):
                if n not in changes:
                    delta += self.of(node, first) - self.of(node, before)
        return delta

    def total(self, nodes: list[Node]) -> float:
        """The objective of a solution."""
        total, first = self.base, self.first(nodes)
        for node in nodes:
            total += self.of(node, first)
        return total

    def time_of(self, nodes: list[Node], place: tuple[int, int]) -> float:
        """Residual time of the job at a place."""
        node = nodes[place[0]]
        i, g = node.hosted[place[1]]
        return self.x.time(i, node.node_type, g)

    def free(self, node: Node) -> int:
        """GPUs that are not in use on a node."""
        return int(self.x.machines.gpus[node.node_type]) - sum(g for _, g in node.hosted)


def local_search(
    x: Instance, pool: list[Plan], objective: int, rounds: int, k: int
) -> tuple[list[Node], float]:
    """Improve every solution of the pool by the best move of all neighbourhoods; the best one."""
    context = Context(x, objective)
    best: list[Node] = []
    lowest = math.inf
    for plan in pool:
        nodes = [node.copy() for node in plan.nodes]
        for _ in range(rounds):
            chosen, gain = None, -context.margin
            for changes in moves(context, nodes, k):
                delta = context.change(nodes, changes)
                if delta < gain:
                    chosen, gain = changes, delta
            if chosen is None:
                break
            for index, (node_type, hosted) in chosen.items():
                nodes[index].node_type, nodes[index].hosted = node_type, [list(p) for p in hosted]
        value = context.total(nodes)
        if value < lowest:
            best, lowest = nodes, value
    return best, lowest


def moves(context: Context, nodes: list[Node], k: int) -> Iterator[Changes]:
    """All neighbours of a solution, in the order of the thesis's seven neighbourhoods."""
    x = context.x
    place = {i: (n, a) for n, node in enumerate(nodes) for a, (i, _) in enumerate(node.hosted)}
    running = sorted(place)
    tardiness = {i: x.tardiness(i, context.time_of(nodes, place[i])) for i in running}
    tardy = sorted((i for i in running if tardiness[i] > 0), key=lambda i: -tardiness[i])[:k]

    def cost(i: int) -> float:
        node = nodes[place[i][0]]
        price = float(x.machines.price_per_s[node.node_type, node.hosted[place[i][1]][1]])
        return price * context.time_of(nodes, place[i])

    costly = sorted((i for i in running if not tardiness[i] > 0), key=lambda i: -cost(i))[:k]
    yield from exchanges(nodes, place, tardy, costly)  # 1
    yield from exchanges(nodes, place, tardy, running)  # 2
    yield from displacements(context, nodes, place)  # 3
    for n in dict.fromkeys(place[i][0] for i in tardy):
        if x.machines.configurable:
            yield from other_types(context, nodes[n], n)  # 4, 5, 6
        yield from other_gpus(context, nodes[n], n)  # 7


def exchanges(
    nodes: list[Node], place: dict[int, tuple[int, int]], tardy: list[int], others: list[int]
) -> Iterator[Changes]:
    """1 and 2: a tardy job and another, on different nodes, change places."""
    for i in tardy:
        for j in others:
            (here, a), (there, b) = place[i], place[j]
            if here != there:
                yield {
                    here: (nodes[here].node_type, _with(nodes[here], a, j)),
                    there: (nodes[there].node_type, _with(nodes[there], b, i)),
                }


def displacements(
    context: Context, nodes: list[Node], place: dict[int, tuple[int, int]]
) -> Iterator[Changes]:
    """3: a postponed job takes the place of a running one of lower pressure."""
    x = context.x

    def promise(i: int) -> float:
        k = x.index[i]
        if x.profile.num_configs[k] == 0:
            return 0.0
        least = x.remaining[i] * float(x.profile.fastest_s[k])
        return x.postponed[i] - x.tardiness(i, least)

    for p in sorted(range(len(x.order)), key=lambda i: -promise(i)):
        if p not in place:
            for q in sorted(place, reverse=True):
                if q > p:
                    node, slot = place[q]
                    yield {node: (nodes[node].node_type, _with(nodes[node], slot, p))}


def other_types(context: Context, node: Node, n: int) -> Iterator[Changes]:
    """4: another GPU type, same GPUs, if the times add up to less. 5, 6: the same GPU type, twice
    or half the GPUs, the jobs' shares kept."""
    x, machines = context.x, context.x.machines
    v = node.node_type
    for u in range(len(machines.gpus)):
        if machines.family_of[u] == machines.family_of[v]:
            if machines.gpus[u] == 2 * machines.gpus[v]:
                hosted = [[i, 2 * g] for i, g in node.hosted]
            elif 2 * machines.gpus[u] == machines.gpus[v] and all(
                g % 2 == 0 for _, g in node.hosted
            ):
                hosted = [[i, g // 2] for i, g in node.hosted]
            else:
                continue
        else:
            hosted = [list(p) for p in node.hosted]
        if sum(g for _, g in hosted) > machines.gpus[u]:
            continue
        if machines.family_of[u] != machines.family_of[v]:
            before = sum(x.time(i, v, g) for i, g in hosted)
            if not sum(x.time(i, u, g) for i, g in hosted) < before:
                continue
        yield {n: (u, hosted)}


def other_gpus(context: Context, node: Node, n: int) -> Iterator[Changes]:
    """7: any other number of GPUs for one job, or some of them handed to another job."""
    free = context.free(node)
    for a, (i, now) in enumerate(node.hosted):
        for g in range(1, now + free + 1):
            hosted = [list(p) for p in node.hosted]
            hosted[a] = [i, g]
            if g != now:
                yield {n: (node.node_type, hosted)}
            if g < now:
                for b in range(len(hosted)):
                    if b != a:
                        other = [list(p) for p in hosted]
                        other[b][1] += now - g
                        yield {n: (node.node_type, other)}


def _with(node: Node, slot: int, job: int) -> list[list[int]]:
    """A node's jobs with another job in one place."""
    return [[job if a == slot else i, g] for a, (i, g) in enumerate(node.hosted)]


def path_relinking(x: Instance, pool: list[Plan], objective: int) -> tuple[list[Node], float]:
    """Walk from the best solution of the pool to each other one; the best one on the way."""
    context = Context(x, objective)
    values = [context.total(plan.nodes) for plan in pool]
    start = values.index(min(values))
    best, lowest = [node.copy() for node in pool[start].nodes], values[start]
    for index, guide in enumerate(pool):
        if index == start:
            continue
        for nodes in walk(context, pool[start].nodes, guide.nodes):
            value = context.total(nodes)
            if value < lowest - context.margin:
                best, lowest = nodes, value
    return [node for node in best if node.hosted], lowest


def walk(context: Context, start: list[Node], guide: list[Node]) -> Iterator[list[Node]]:
    """The completed solutions on the way from one solution to another.

    A step makes one node equal to one of the guide's, the step of least objective first.
    """
    nodes = [node.copy() for node in start]
    become = match(context, nodes, guide)
    closed = range(len(nodes), len(start) + len(guide))
    nodes += [Node(0, 0) for _ in closed]
    homeless = sorted({i for node in (*start, *guide) for i, _ in node.hosted})
    left = list(range(len(guide)))
    while left:
        deltas = [step_value(context, nodes, become[k], guide[k]) for k in left]
        chosen = left[deltas.index(min(deltas))]
        left.remove(chosen)
        nodes = step(nodes, become[chosen], guide[chosen])
        yield fill(context, [node.copy() for node in nodes], homeless)


def step_value(context: Context, nodes: list[Node], n: int, model: Node) -> float:
    """Change of the objective if node n becomes equal to a node of the guide."""
    after = step(nodes, n, model)
    before, first = context.first(nodes), context.first(after)
    leaving = [i for i, _ in model.hosted]
    host = {i: m for m, node in enumerate(nodes) for i, _ in node.hosted}
    # In the order in which the kernel adds up.
    others = dict.fromkeys(host[i] for i in leaving if i in host)
    if first != before:
        others = dict.fromkeys(range(len(nodes)))
    delta = context.of(model, first) - context.of(nodes[n], before)
    for m in others:
        if m != n:
            delta += context.of(after[m], first) - context.of(nodes[m], before)
    return delta


def step(nodes: list[Node], n: int, model: Node) -> list[Node]:
    """Make node n equal to a node of the guide, whose jobs leave the nodes where they are."""
    leaving = {i for i, _ in model.hosted}
    after = []
    for index, node in enumerate(nodes):
        if index == n:
            after.append(model.copy())
        elif any(i in leaving for i, _ in node.hosted):
            hosted = [list(p) for p in node.hosted if p[0] not in leaving]
            after.append(Node(node.node_type, node.free, hosted))
        else:
            after.append(node)
    return after


def match(context: Context, nodes: list[Node], guide: list[Node]) -> list[int]:
    """Node that each node of the guide becomes: the free one with which it shares the most jobs,
    then those that share none what is left, then new ones. Fixed nodes keep their type."""
    machines = context.x.machines
    become: dict[int, int] = {}
    for pair_all in (False, True):
        for k, model in enumerate(guide):
            if k in become:
                continue
            jobs = {i for i, _ in model.hosted}
            usable = [
                n
                for n, node in enumerate(nodes)
                if n not in become.values()
                and (machines.configurable or node.node_type == model.node_type)
            ]
            shared = {n: sum(i in jobs for i, _ in nodes[n].hosted) for n in usable}
            if shared and (pair_all or max(shared.values()) > 0):
                become[k] = max(shared, key=lambda n: (shared[n], -n))
            elif pair_all:
                new = len(nodes)
                while new in become.values():
                    new += 1
                become[k] = new
    return [become[k] for k in range(len(guide))]


def fill(context: Context, nodes: list[Node], homeless: list[int]) -> list[Node]:
    """Give postponed jobs, in order of pressure, the free GPUs of open nodes that pay most."""
    for i in homeless:
        if any(i == j for node in nodes for j, _ in node.hosted):
            continue
        best, where, most = -context.margin, None, 0
        for n, node in enumerate(nodes):
            for g in range(1, context.free(node) + 1 if node.hosted else 1):
                delta = context.change(nodes, {n: (node.node_type, [*node.hosted, [i, g]])})
                if delta < best:
                    best, where, most = delta, node, g
        if where is not None:
            where.hosted.append([i, most])
    return nodes
