// Small simulations in the page, on draws that are made first; tested against the Python engine.

import { lastUpTo } from "./events.js";

/** Waits at equal servers with one queue, first come first served (Lindley; Kiefer and Wolfowitz). */
export function firstComeWaits(arrivals, services, servers = 1) {
  const free = new Array(servers).fill(-Infinity);
  return arrivals.map((arrival, i) => {
    let k = 0;
    for (let c = 1; c < servers; c++) if (free[c] < free[k]) k = c;
    const start = Math.max(arrival, free[k]);
    free[k] = start + services[i];
    return start - arrival;
  });
}

/** Which jobs are lost where nobody waits (Erlang's loss system). */
export function lostJobs(arrivals, services, servers) {
  const free = new Array(servers).fill(-Infinity);
  return arrivals.map((arrival, i) => {
    const k = free.findIndex((t) => t <= arrival);
    if (k < 0) return true;
    free[k] = arrival + services[i];
    return false;
  });
}

/** How many are in the system at given times; departures need not be in order. */
export function numberAt(arrivals, departures, times) {
  const left = [...departures].sort((a, b) => a - b);
  return times.map((t) => lastUpTo(arrivals, t) - lastUpTo(left, t));
}

/**
 * Completions of one server in another order: "sharing", "srpt" or "priority" (preemptive; `rank` of each
 * job, the least first). Time goes from event to event; at each, `share` says who is served.
 */
export function completionsInOrder(arrivals, services, order, rank = null) {
  const left = services.slice();
  const done = new Array(arrivals.length).fill(NaN);
  let active = [];
  let now = 0;
  let next = 0;
  while (next < arrivals.length || active.length) {
    const served = servedNow(active, left, order, rank);
    const speed = served.length ? 1 / served.length : 0;
    const first = served.reduce((a, j) => (left[j] < left[a] ? j : a), served[0]);
    const ends = served.length ? now + left[first] / speed : Infinity;
    const comes = next < arrivals.length ? arrivals[next] : Infinity;
    const until = Math.min(ends, comes);
    for (const j of served) left[j] -= (until - now) * speed;
    now = until;
    if (ends <= comes) {
      done[first] = now;
      active = active.filter((j) => j !== first);
    } else active.push(next++);
  }
  return done;
}

function servedNow(active, left, order, rank) {
  if (order === "sharing" || active.length < 2) return active;
  const key = order === "srpt" ? (j) => left[j] : (j) => rank[j];
  return [active.reduce((a, j) => (key(j) < key(a) ? j : a), active[0])];
}

/**
 * Jobs of the rental paper's two types, each on its own width for services of cv² 4, nobody waits: mean
 * time in the system, and GPUs in use on average over the time of the arrivals.
 */
export function rentedRun(plan, random, count) {
  let now = 0;
  let responses = 0;
  let gpuHours = 0;
  for (let i = 0; i < count; i++) {
    now += random.exponential() / 0.8;
    const [width, speed] = random.uniform() < 0.5 ? [plan.amdahl, 1 / (0.2 + 0.8 / plan.amdahl)] : [plan.root, Math.sqrt(plan.root)];
    const time = random.ofCv2(4) / speed;
    responses += time;
    gpuHours += width * time;
  }
  return { response: responses / count, gpus: gpuHours / now };
}

/** Part of the time with 0, 1, .. jobs in service: unlimited servers, services of mean 1 and cv² 4. */
export function inServiceShares(random, count, rate, most) {
  const arrivals = [];
  let now = 0;
  for (let i = 0; i < count; i++) { now += random.exponential() / rate; arrivals.push(now); }
  const departures = arrivals.map((t) => t + random.ofCv2(4));
  const from = now / 10;
  const times = Array.from({ length: 2000 }, (_, i) => from + (now - from) * i / 2000);
  const shares = new Array(most).fill(0);
  for (const n of numberAt(arrivals, departures, times)) if (n < most) shares[n] += 1 / times.length;
  return shares;
}

export function meanOf(values) { return values.reduce((a, b) => a + b, 0) / values.length; }

/** Mean and 95 % interval of independent values, corrected for skewness (Willink 2005, as in
 * `simulator.statistics.mean_of_skewed`); `student` holds the factors by count. */
export function intervalOf(values, student) {
  const n = values.length;
  const mean = meanOf(values);
  const moment = (k) => meanOf(values.map((v) => (v - mean) ** k));
  const variance = moment(2);
  const error = Math.sqrt(variance / (n - 1));
  const t = student[Math.min(n, student.length - 1)];
  const skewness = n > 3 && variance > 0 ? Math.sqrt(n * (n - 1)) / (n - 2) * moment(3) / variance ** 1.5 : 0;
  const b = skewness / (6 * Math.sqrt(n));
  const corrected = (score) => (Math.abs(b) < 1e-9 ? score : (Math.cbrt(1 + 6 * b * (score - b)) - 1) / (2 * b));
  const low = mean - corrected(t) * error;
  // Times, counts and shares have no negative part.
  return [mean, values.some((v) => v < 0) ? low : Math.max(0, low), mean - corrected(-t) * error];
}
