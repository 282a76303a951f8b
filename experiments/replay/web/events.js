// The events of runs, ready to be asked "how was it at time t". No drawing here.

/** A function of time that is constant between instants: value i from at[i] on; before, 0. */
export class Steps {
  /** changes: pairs [time, by], in any order. */
  constructor(changes) {
    changes.sort((a, b) => a[0] - b[0]);
    this.at = [];
    this.value = [];
    let now = 0;
    for (const [time, by] of changes) {
      now += by;
      if (this.at.length && this.at[this.at.length - 1] === time) this.value[this.value.length - 1] = now;
      else { this.at.push(time); this.value.push(now); }
    }
  }

  atTime(time) {
    const i = lastUpTo(this.at, time);
    return i < 0 ? 0 : this.value[i];
  }

  get largest() { return this.value.reduce((a, b) => Math.max(a, b), 0); }
}

/** The integral of a `Steps` function, from its first instant. */
export class Slopes {
  constructor(rates) {
    this.rates = rates;
    this.sum = [];
    let total = 0;
    rates.at.forEach((time, i) => {
      if (i) total += rates.value[i - 1] * (time - rates.at[i - 1]);
      this.sum.push(total);
    });
  }

  atTime(time) {
    const i = lastUpTo(this.rates.at, time);
    return i < 0 ? 0 : this.sum[i] + this.rates.value[i] * (time - this.rates.at[i]);
  }
}

/** Index of the last entry of an ascending list that is not above `value`; -1 where there is none. */
export function lastUpTo(list, value) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

export const FINISHED = 0;
export const PREEMPTED = 1;
export const MOVED = 2;

/** One run: its shares with what became of each, and its curves. */
export class Run {
  constructor(data, jobs) {
    this.name = data.name;
    this.jobs = jobs;
    this.end = data.end;
    this.late = data.late;
    this.left = new Set(data.left || []);
    this.lines = data.lines;
    this.shares = data.shares;
    this.split = data.shares.split || {};
    this.decisions = data.decisions;
    this.noted = data.noted || null;
    this.types = data.types || null;
    this.typeOf = data.type_of || null;
    this.priceFactor = data.price_factor || null;
    this.currency = data.currency || "";
    this.last = this.end.reduce((a, b) => Math.max(a, b === null ? 0 : b), 0);
    this.sharesOf = jobs.id.map(() => []);
    this.shares.job.forEach((job, i) => this.sharesOf[job].push(i));
    this.fate = this.shares.job.map((job, i) => this.fateOf(job, i));
    this.firstLine = [];
    let line = 0;
    for (const count of this.lines) { this.firstLine.push(line); line += count; }
    this.numLines = line;
    this.buildCurves();
    this.finished = this.end.map((t, j) => [t, j]).filter(([t, j]) => t !== null && !this.left.has(j)).sort((a, b) => a[0] - b[0]);
    this.finishedAt = this.finished.map(([t]) => t);
    this.sumOfJct = [0];
    for (const [t, j] of this.finished) this.sumOfJct.push(this.sumOfJct[this.sumOfJct.length - 1] + t - jobs.arrival[j]);
  }

  fateOf(job, i) {
    const to = this.shares.to[i];
    if (this.end[job] !== null && to >= this.end[job]) return FINISHED;
    return this.sharesOf[job].some((k) => this.shares.from[k] === to) ? MOVED : PREEMPTED;
  }

  pieces(i) {
    const line = this.shares.line[i];
    return this.split[i] || [[line, this.drawnLines(i)]];
  }

  drawnLines(i) { return Number.isInteger(this.shares.gpus[i]) && !this.isShared ? this.shares.gpus[i] : 1; }

  /** Whether GPUs are given in fractions, so that a line stands for a job. */
  get isShared() {
    if (this.shared === undefined) this.shared = this.shares.gpus.some((g) => !Number.isInteger(g));
    return this.shared;
  }

  buildCurves() {
    const { jobs, shares } = this;
    const system = [];
    const running = [];
    const used = [];
    jobs.arrival.forEach((t, j) => {
      system.push([t, 1]);
      if (this.end[j] !== null) system.push([this.end[j], -1]);
    });
    for (let j = 0; j < jobs.id.length; j++) {
      for (const [from, to] of merged(this.sharesOf[j].map((i) => [shares.from[i], shares.to[i]]))) {
        running.push([from, 1], [to, -1]);
      }
    }
    shares.from.forEach((from, i) => used.push([from, shares.gpus[i]], [shares.to[i], -shares.gpus[i]]));
    this.running = new Steps(running.slice());
    this.waiting = new Steps([...system, ...running.map(([t, by]) => [t, -by])]);
    this.used = new Steps(used);
    this.total = this.totalGpus();
    this.cost = this.types ? new Slopes(new Steps(this.costChanges())) : null;
  }

  /** GPUs of all nodes where types are fixed; null where machines open and close, or are unlimited. */
  totalGpus() {
    if (!this.types || !this.typeOf) return null;
    const gpus = this.typeOf.map((v) => this.types[v].gpus);
    return gpus.includes(null) ? null : gpus.reduce((a, b) => a + b, 0);
  }

  /** What the policy noted of its last decision up to a time: [when, [[name, value], ..]], or null. */
  notedAt(time) {
    if (!this.noted) return null;
    for (let i = lastUpTo(this.decisions, time); i >= 0; i--) {
      const facts = Object.entries(this.noted).map(([name, values]) => [name, values[i]]).filter(([, v]) => v !== null);
      if (facts.length) return [this.decisions[i], facts];
    }
    return null;
  }

  /** Changes of the cost per second: what nodes cost, and tardiness as it grows. */
  costChanges() {
    const { jobs, shares } = this;
    const changes = [];
    const byNode = this.lines.map(() => []);
    shares.node.forEach((node, i) => {
      byNode[node].push([shares.from[i], shares.gpus[i], shares.type[i], 1]);
      byNode[node].push([shares.to[i], -shares.gpus[i], shares.type[i], -1]);
    });
    byNode.forEach((events, node) => {
      const fixed = this.typeOf ? this.typeOf[node] : null;
      changes.push(...this.nodeCost(events, fixed, node));
    });
    if (jobs.due) {
      jobs.due.forEach((due, j) => {
        if (due === null || !jobs.weight[j]) return;
        const end = this.end[j] === null ? due : this.end[j];
        if (end > due) changes.push([due, jobs.weight[j]], [end, -jobs.weight[j]]);
      });
    }
    return changes;
  }

  nodeCost(events, fixed, node) {
    events.sort((a, b) => a[0] - b[0] || a[3] - b[3]);
    const changes = [];
    let gpus = 0;
    let open = 0;
    let type = fixed;
    let before = 0;
    const set = (time) => {
      const rate = fixed !== null || open > 0 ? this.ratePerSecond(type, gpus, node) : 0;
      if (rate !== before) changes.push([time, rate - before]);
      before = rate;
    };
    if (fixed !== null) set(0);
    for (const [time, by, v, sign] of events) {
      gpus += by;
      open += sign;
      if (fixed === null) type = v;
      if (open === 0) gpus = 0;
      set(time);
    }
    if (fixed !== null) changes.push([this.last, -before]);
    return changes;
  }

  ratePerSecond(v, gpus, node) {
    const type = this.types[v];
    const factor = this.priceFactor ? this.priceFactor[node] : 1;
    const energy = type.energy_per_hour ? type.energy_per_hour[Math.floor(gpus + 1e-9)] : 0;
    return ((type.per_hour + type.per_gpu_hour * gpus) * factor + energy) / 3600;
  }

  /** What can be said of the run at a time. */
  summary(time) {
    const done = lastUpTo(this.finishedAt, time) + 1;
    const late = this.lateBy(time);
    return {
      done,
      meanJct: done ? this.sumOfJct[done] / done : null,
      running: this.running.atTime(time),
      waiting: this.waiting.atTime(time),
      used: this.used.atTime(time),
      cost: this.cost ? this.cost.atTime(time) : null,
      late,
    };
  }

  lateBy(time) {
    if (!this.lateAt) {
      const { due } = this.jobs;
      const at = [];
      this.end.forEach((end, j) => {
        if (this.late[j] > 0) at.push(due && due[j] !== null ? due[j] : end - this.late[j]);
      });
      this.lateAt = at.sort((a, b) => a - b);
    }
    return lastUpTo(this.lateAt, time) + 1;
  }

  /** Jobs that have come and hold nothing, in order of arrival. */
  waitingJobs(time) {
    const { arrival } = this.jobs;
    const found = [];
    const come = lastUpTo(arrival, time);
    for (let j = this.firstActive(time); j <= come; j++) {
      if (this.end[j] !== null && this.end[j] <= time) continue;
      if (!this.sharesOf[j].some((i) => this.shares.from[i] <= time && time < this.shares.to[i])) found.push(j);
    }
    return found;
  }

  /** All jobs before this one are over: most jobs of a long run need not be looked at. */
  firstActive(time) {
    if (!this.overBefore) {
      let latest = -Infinity;
      this.overBefore = this.end.map((t) => { latest = Math.max(latest, t === null ? Infinity : t); return latest; });
    }
    return lastUpTo(this.overBefore, time) + 1;
  }

  stateOf(job, time) {
    if (time < this.jobs.arrival[job]) return "has not come yet";
    if (this.end[job] !== null && time >= this.end[job]) return this.left.has(job) ? "has left" : "is over";
    const now = this.sharesOf[job].filter((i) => this.shares.from[i] <= time && time < this.shares.to[i]);
    if (!now.length) return "waits";
    const gpus = now.reduce((sum, i) => sum + this.shares.gpus[i], 0);
    const nodes = [...new Set(now.map((i) => this.shares.node[i]))];
    return `runs on ${Number(gpus.toPrecision(4))} GPU${gpus === 1 ? "" : "s"} of node ${nodes.slice(0, 4).join(", ")}`
      + (nodes.length > 4 ? ` and ${nodes.length - 4} more` : "");
  }

  /** How often the job was preempted, and moved or resized, by `time`. */
  countsOf(job, time) {
    const ends = { [PREEMPTED]: new Set(), [MOVED]: new Set() };
    for (const i of this.sharesOf[job]) {
      if (this.shares.to[i] <= time && this.fate[i] !== FINISHED) ends[this.fate[i]].add(this.shares.to[i]);
    }
    return { preempted: ends[PREEMPTED].size, moved: ends[MOVED].size };
  }
}

function merged(stretches) {
  stretches.sort((a, b) => a[0] - b[0]);
  const found = [];
  for (const [from, to] of stretches) {
    const before = found[found.length - 1];
    if (before && from <= before[1]) before[1] = Math.max(before[1], to);
    else found.push([from, to]);
  }
  return found;
}

/** All runs, and the instants at which something is decided in any of them. */
export class Replay {
  constructor(data) {
    if (data.format !== "schedlab-replay" || data.version !== 1) {
      throw new Error(`expected schedlab-replay version 1, got ${data.format} ${data.version}`);
    }
    this.jobs = data.jobs;
    this.runs = data.runs.map((run) => new Run(run, data.jobs));
    const lastArrival = this.jobs.arrival.reduce((a, t) => Math.max(a, t), 0);
    this.end = this.runs.reduce((a, run) => Math.max(a, run.last), lastArrival);
    this.decisions = [...new Set(this.runs.flatMap((run) => run.decisions))]
      .filter((t) => t >= 0 && t <= this.end).sort((a, b) => a - b);
  }

  nextDecision(time) {
    const i = lastUpTo(this.decisions, time) + 1;
    return i < this.decisions.length ? this.decisions[i] : this.end;
  }

  previousDecision(time) {
    let i = lastUpTo(this.decisions, time);
    while (i >= 0 && this.decisions[i] >= time) i--;
    return i < 0 ? 0 : this.decisions[i];
  }
}
