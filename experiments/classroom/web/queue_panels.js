// Panels 1 to 7 and 10: what each says, its sliders, its formulas, and the simulation beside them.

import { number } from "./text.js";
import { Random } from "./random.js";
import {
  erlangB, erlangC, ggcMeanWait, inspectedWait, kingmanBound, lawOf, mg1MeanWait, mg1PriorityResponse, mg1PriorityResponseOfSize, mg1PsResponse, mg1WaitQuantile, mginfNumber, mm1MeanNumberAt, mmcMeanWait, mser5, paretoOf, rentalPlan, srptResponse, srptResponseOfSize,
} from "./formulas.js";
import { completionsInOrder, firstComeWaits, inServiceShares, intervalOf, lostJobs, meanOf, numberAt, rentedRun } from "./queues.js";

const range = (from, to, count) => Array.from({ length: count }, (_, i) => from + (to - from) * i / (count - 1));
const PARETO = paretoOf(1.5, 100);
const LOADS = [0.5, 0.7, 0.8, 0.9];
const CV2 = [0, 1, 4, 16];
const LAW_NAMES = { 0: "0 (always the same)", 1: "1 (exponential)", 4: "4", 16: "16" };
const load = (value = 0.8, max = 0.95) => ({ name: "load", label: "load", min: 0.1, max, step: 0.05, value });
const points = (data, name, where, x, y) => data
  .filter((e) => Object.entries(where).every(([k, v]) => e[k] === v) && e[y])
  .map((e) => [x(e), ...e[y]]);

/** Arrivals and services of one run of a single queue, mean service 1. */
function draws(random, count, rate, gapsCv2 = 1, serviceCv2 = 1) {
  let now = 0;
  const arrivals = [];
  const services = [];
  for (let i = 0; i < count; i++) {
    now += random.ofCv2(gapsCv2) / rate;
    arrivals.push(now);
    services.push(random.ofCv2(serviceCv2));
  }
  return { arrivals, services };
}

/** Corners of the steps of the number in the system until a time. */
function stepsOf(arrivals, leave, end) {
  const events = [...arrivals.map((t) => [t, 1]), ...leave.map((t) => [t, -1])]
    .filter(([t]) => t <= end).sort((a, b) => a[0] - b[0]);
  let n = 0;
  const corners = [[0, 0]];
  for (const [t, change] of events) { corners.push([t, n], [t, n + change]); n += change; }
  corners.push([end, n]);
  return corners;
}

const filling = {
  id: "filling", title: "A queue fills up",
  text: "One server, exponential gaps and services of 1 h on average, empty at the start. The thin lines are single runs, the thick line is the formula for the mean over all runs.",
  sliders: [{ name: "load", label: "load", min: 0.1, max: 1.2, step: 0.05, value: 0.95 }, { name: "hours", label: "hours", min: 50, max: 400, step: 50, value: 200 }],
  again: true,
  plot({ load: u, hours }, data, seed) {
    const times = range(0, hours, 81);
    const random = new Random(seed);
    const paths = [];
    const steps = [];
    const waits = [];
    for (let run = 0; run < 30; run++) {
      const { arrivals, services } = draws(random, Math.ceil(hours * u + 6 * Math.sqrt(hours * u) + 10), u);
      const wait = firstComeWaits(arrivals, services);
      const leave = arrivals.map((t, i) => t + wait[i] + services[i]);
      paths.push(numberAt(arrivals, leave, times));
      if (run < 6) steps.push(stepsOf(arrivals, leave, hours));
      const inside = wait.filter((_, i) => arrivals[i] <= hours);
      if (inside.length) waits.push(meanOf(inside));
    }
    const every = times.map((t, i) => [t, ...intervalOf(paths.map((p) => p[i]), data.student)]).filter((_, i) => i % 8 === 0 && i);
    const limit = u < 1 ? `In the long run ${number(u / (1 - u))} jobs are in the system. A job waits ${number(mmcMeanWait(u, 1, 1))} h and is in the system for ${number(mmcMeanWait(u, 1, 1) + 1)} h.` : "Above load 1 the queue grows without end.";
    return {
      charts: [{
        label: `Number of jobs in an M/M/1 queue at load ${u} over ${hours} hours`, x: { label: "time, h", min: 0, max: hours }, y: { label: "jobs in the system", min: 0 },
        series: [
          { name: "single runs", kind: "paths", data: steps, colour: 6 },
          { name: "formula (mean)", kind: "line", data: mm1MeanNumberAt(u, 1, times).map((n, i) => [times[i], n]), colour: 0, dash: 0 },
          { name: "mean of 30 runs, 95 % interval", kind: "points", data: every, colour: 1 },
        ],
      }],
      facts: [limit, `In these 30 runs the mean wait of one run was between ${number(Math.min(...waits))} h and ${number(Math.max(...waits))} h.`],
    };
  },
  question: "At load 0.95 you make one long run of 200 h. Why should you not trust its mean wait?",
  answer: "The queue needs far longer than 200 h to forget its start, and waits of neighbouring jobs are alike. One run is almost one observation: the lines below make five runs of 200 jobs, whose mean waits are from 4.2 h to 11.0 h, and the formula gives 19 h. Make many runs and draw the interval.",
  how: {
    python: `from schedlab import Cluster, NodeType, Streams, make_policy
from schedlab import parse_law, poisson_jobs, simulate, theory
print(theory.mm1_mean_number_at(0.95, 1.0, [50, 100, 200]))
law = parse_law("exponential:3600")
server = Cluster.of_nodes(NodeType("server", "GPU", 1), 1)
for seed in range(1, 6):
    jobs = poisson_jobs(200, Streams(seed), arrival_rate_per_h=0.95, duration_s=law)
    print(simulate(jobs, server, make_policy("fifo-strict")).wait_s.mean() / 3600, "h")`,
  },
};

const variability = {
  id: "variability", title: "Variability costs time",
  text: "One server, exponential gaps, services with a mean of 1 h but of different variability. Its measure is cv², the variance of the services divided by the square of their mean: 0 where all take equally long, 1 for exponential ones. The mean wait grows in proportion to 1 + cv², although the load stays the same (Pollaczek and Khinchine).",
  sliders: [load(0.7), { name: "cv2", label: "cv² of the service", values: CV2, value: 4, names: LAW_NAMES }, { name: "what", label: "shown", values: ["mean", "p95"], value: "mean", names: { mean: "mean wait", p95: "95th percentile of the wait" } }],
  plot({ load: u, cv2, what }, data) {
    const mean = what === "mean";
    const loads = range(0.05, 0.95, mean ? 46 : 31);
    const wait = mean ? mg1MeanWait : (x, v) => mg1WaitQuantile(x, v, 0.95);
    const series = (v, k) => ({ name: `cv² ${v}`, kind: "line", data: loads.map((x) => [x, wait(x, lawOf(v))]), colour: k, dash: k });
    const law = lawOf(cv2);
    const name = mean ? "mean wait, h" : "95 % wait at most, h";
    return {
      charts: [{
        label: `${mean ? "Mean wait" : "95th percentile of the wait"} against load, four laws of service; marked: load ${u}`, x: { label: "load", min: 0, max: 1 }, y: { label: name, min: 0, max: 4 * wait(Math.max(u, 0.2), lawOf(Math.max(cv2, 1))) }, at: u,
        series: [...CV2.map(series), ...CV2.map((v, k) => ({ name: k ? "" : "simulated, 95 % intervals", kind: "points", colour: k, mark: k, data: points(data.queues, "queues", { panel: "variability", service: v }, (e) => e.load, mean ? "mean_wait" : "p95_wait") }))],
      }],
      facts: [
        `At load ${number(u)} and cv² ${cv2}: mean wait ${number(mg1MeanWait(u, law))} h; 95 % of the jobs wait at most ${number(mg1WaitQuantile(u, law, 0.95))} h.`,
        `Inspection paradox: look at a moment when the server is busy. The job in service needs ${number(inspectedWait(law))} h more on average, though a whole job needs 1 h: a long job is met more often than a short one.`,
      ],
    };
  },
  question: "All jobs last exactly 1 h instead of being exponential. What happens to the mean wait?",
  answer: "It halves: the wait is proportional to 1 + cv², and cv² falls from 1 to 0. It does not vanish, since the arrivals are still random.",
  how: {
    python: `from schedlab import Cluster, NodeType, Streams, make_policy
from schedlab import parse_law, poisson_jobs, simulate, theory
law = parse_law("hyperexponential:1,cv2=4")
print(theory.mg1_mean_wait_s(0.7, law), theory.mg1_wait_quantile_s(0.7, law, 0.95))
law = parse_law("hyperexponential:3600,cv2=4")
server = Cluster.of_nodes(NodeType("server", "GPU", 1), 1)
jobs = poisson_jobs(3000, Streams(1), arrival_rate_per_h=0.7, duration_s=law)
print(simulate(jobs, server, make_policy("fifo-strict")).wait_s.mean() / 3600, "h")`,
  },
};

const orders = {
  id: "orders", title: "Orders of service: who pays?",
  text: "Sizes have a heavy tail: the longest job is a hundred times the shortest, the mean is 1 h. Slowdown is the time in the system divided by the job's own size: the order of service decides who is slowed down.",
  sliders: [{ name: "load", label: "load", values: [0.5, 0.7, 0.8], value: 0.7 }],
  again: true,
  plot({ load: u }, data, seed) {
    const sizes = range(Math.log(PARETO.low * 1.01), Math.log(PARETO.high * 0.99), 50).map(Math.exp);
    const wait = mg1MeanWait(u, PARETO);
    const lines = {
      "first come": (x) => (wait + x) / x, "processor sharing": () => mg1PsResponse(u, PARETO, 1),
      "shortest remaining": (x) => srptResponseOfSize(u, PARETO, x) / x,
    };
    const simulated = (order) => data.orders.filter((e) => e.order === order && e.load === u)
      .flatMap((e) => Array.from({ length: 12 }, (_, k) => (e[`slowdown_${k}`] ? [[e[`size_${k}`][0], ...e[`slowdown_${k}`]]] : [])).flat());
    const rates = [u / 2, u / 2];
    const classes = (x) => mg1PriorityResponseOfSize(rates, [PARETO, PARETO], x);
    lines.priority = (x) => (classes(x)[0] + classes(x)[1]) / 2 / x;
    const priority = data.orders.find((e) => e.order === "priority" && e.load === u);
    const bounds = ([m, low, high]) => `${number(m)} h (${number(low)} to ${number(high)} h)`;
    const means = { "first come": wait + 1, "processor sharing": mg1PsResponse(u, PARETO), "shortest remaining": srptResponse(u, PARETO) };
    const [urgent, normal] = mg1PriorityResponse([u / 2, u / 2], [PARETO, PARETO], true);
    return {
      charts: [{
        label: `Slowdown by size of the job at load ${u}, four orders of service`, x: { label: "size of the job, h", log: true, min: PARETO.low, max: PARETO.high }, y: { label: "mean slowdown", log: true, min: 0.9 },
        series: Object.keys(lines).flatMap((order, k) => [
          { name: order === "priority" ? "priority, half of the jobs urgent" : order, kind: "line", data: sizes.map((x) => [x, lines[order](x)]), colour: k, dash: k },
          { name: k ? "" : "simulated, 95 % intervals", kind: "points", data: simulated(order), colour: k, mark: k },
        ]),
      }],
      facts: [
        `Mean time in the system by formula: ${Object.entries(means).map(([k, v]) => `${k} ${number(v)} h`).join(", ")}.`,
        `Priority: half of the jobs, drawn by chance, are urgent and interrupt the others. By formula urgent jobs take ${number(urgent)} h, the others ${number(normal)} h${priority ? `; simulated ${bounds(priority.urgent_response)} and ${bounds(priority.normal_response)}` : ""}.`,
        ordersLive(u, new Random(seed), data.student),
        "Each point is the mean over a range of sizes.",
      ],
    };
  },
  question: "Does shortest-remaining-first starve the long jobs?",
  answer: "Not at the loads of the slider: jobs of every size are slowed down less than by processor sharing, where each shares the server with all others. A long job that has been served for a while has little left, so that few others pass it. At load 0.9 the longest do pay: jobs of more than 27 h, six of 10,000, are slowed down more, those of 37 h 11 times instead of 10.",
  how: {
    python: `from schedlab import Cluster, NodeType, Streams, make_policy
from schedlab import parse_law, poisson_jobs, simulate, theory
law = parse_law("bounded-pareto:low=1333,high=133300,alpha=1.5")
print(theory.mg1_srpt_response_s(0.7 / 3600, law) / 3600, "h")
server = Cluster.of_nodes(NodeType("server", "GPU", 1), 1)
jobs = poisson_jobs(3000, Streams(1), arrival_rate_per_h=0.7, duration_s=law)
print(simulate(jobs, server, make_policy("srpt")).jct_s.mean() / 3600, "h")`,
  },
};

/** Ten new runs of 3,000 jobs in three orders; the first quarter of each is left out. */
function ordersLive(u, random, student) {
  const means = { "first come": [], "processor sharing": [], "shortest remaining": [] };
  for (let run = 0; run < 10; run++) {
    let now = 0;
    const arrivals = [];
    const services = [];
    for (let i = 0; i < 3000; i++) { now += random.exponential() / u; arrivals.push(now); services.push(random.pareto(PARETO)); }
    const mean = (done) => meanOf(done.map((t, i) => t - arrivals[i]).slice(750));
    const wait = firstComeWaits(arrivals, services);
    means["first come"].push(mean(arrivals.map((t, i) => t + wait[i] + services[i])));
    means["processor sharing"].push(mean(completionsInOrder(arrivals, services, "sharing")));
    means["shortest remaining"].push(mean(completionsInOrder(arrivals, services, "srpt")));
  }
  const shown = Object.entries(means).map(([order, values]) => {
    const [mean, low, high] = intervalOf(values, student);
    return `${order} ${number(mean)} h (${number(low)} to ${number(high)} h; single runs ${number(Math.min(...values))} to ${number(Math.max(...values))} h)`;
  });
  return `Ten new runs of 3,000 jobs, in this page, with 95 % intervals: ${shown.join("; ")}.`;
}

const servers = {
  id: "servers", title: "Several servers: pool them",
  text: "With c servers behind one queue, a job waits only when all are busy (Erlang C). The more servers share one queue, the less everyone waits at the same load.",
  sliders: [load(0.9), { name: "servers", label: "servers", min: 1, max: 32, step: 1, value: 8 }],
  again: true,
  plot({ load: u, servers: c }, data, seed) {
    const counts = range(1, 32, 32);
    const random = new Random(seed);
    const { arrivals, services } = draws(random, 20000, u * c);
    const lost = lostJobs(arrivals, services, c).slice(2000).filter(Boolean).length / 18000;
    const offered = u * c;
    const staffing = Math.ceil(offered + Math.sqrt(offered));
    const near = LOADS.reduce((a, b) => (Math.abs(b - u) < Math.abs(a - u) ? b : a));
    const match = Math.abs(near - u) < 1e-9;
    return {
      charts: [{
        label: `Mean wait against the number of servers at load ${u} each`, x: { label: "servers in one pool", log: true, min: 1, max: 32, ticks: [1, 2, 4, 8, 16, 32] }, y: { label: "mean wait, h", log: true, min: Math.max(1e-7, mmcMeanWait(u * 32, 1, 32)), max: 20 }, at: c,
        series: [
          { name: "pooled, Erlang C", kind: "line", data: counts.map((k) => [k, mmcMeanWait(u * k, 1, k)]), colour: 0, dash: 0 },
          { name: "each with its own queue", kind: "line", data: counts.map((k) => [k, mmcMeanWait(u, 1, 1)]), colour: 1, dash: 1 },
          { name: "one server, c times as fast", kind: "line", data: counts.map((k) => [k, mmcMeanWait(u * k, 1 / k, 1)]), colour: 2, dash: 2 },
          ...(match ? [{ name: "simulated, 95 % intervals", kind: "points", data: points(data.queues, "queues", { panel: "servers", load: near }, (e) => e.servers, "mean_wait"), colour: 3 }] : []),
        ],
      }],
      facts: [
        `${c} servers at load ${number(u)}: a job has to wait with probability ${number(erlangC(offered, c))}, on average ${number(mmcMeanWait(offered, 1, c))} h.`,
        `If nobody may wait (Erlang B), ${number(100 * erlangB(offered, c))} % of the jobs are lost; in a new run of 20,000 jobs in this page ${number(100 * lost)} %.`,
        `Square-root staffing for ${number(offered)} busy servers on average: ${number(offered)} + √${number(offered)} gives ${staffing} servers, and ${number(100 * erlangC(offered, staffing))} % of the jobs wait.`,
        ...(match ? [] : ["Simulated points are there at loads 0.5, 0.7, 0.8 and 0.9."]),
      ],
    };
  },
  question: "Is one fast server better than many slow ones with the same total speed?",
  answer: "Look at the time in the system, not the wait. In the fast server a job waits longer but is served c times as fast: with exponential sizes it leaves sooner. With very variable sizes many slow servers can win, since one long job does not block all others.",
  how: { sh: "schedlab run examples/mmc.toml --out out-mmc" },
};

const general = {
  id: "general", title: "Load, variability, time: a product",
  text: "For general gaps and services, the mean wait is about a product of three factors (Kingman). They are the load ρ/(1-ρ), the variability (the mean of both cv², the variances divided by the squares of the means), and the time (the mean service).",
  sliders: [{ name: "load", label: "load", values: [0.7, 0.9], value: 0.7 }, { name: "gaps", label: "cv² of the gaps", values: [0, 1, 4], value: 1 }],
  plot({ load: u, gaps }, data) {
    const cv2 = range(0, 4.4, 45);
    const at = { panel: "general", load: u, gaps };
    return {
      charts: [{
        label: `Mean wait against the variability of the service at load ${u}, gaps of cv2 ${gaps}`, x: { label: "cv² of the service", min: 0, max: 4.4 }, y: { label: "mean wait, h", min: 0 },
        series: [
          { name: "approximation (Kingman; Allen and Cunneen)", kind: "line", data: cv2.map((v) => [v, ggcMeanWait(u, gaps, 1, v)]), colour: 0, dash: 0 },
          { name: "upper bound (Kingman)", kind: "line", data: cv2.map((v) => [v, kingmanBound(u, gaps, 1, v)]), colour: 1, dash: 1 },
          { name: "simulated, 95 % intervals", kind: "points", data: points(data.queues, "queues", at, (e) => e.service, "mean_wait"), colour: 2 },
        ],
      }],
      facts: [`Load ${number(u / (1 - u))} times variability (${gaps} + cv²)/2 times 1 h.`, gaps === 1 ? "With exponential gaps the approximation is exact." : "With other gaps the approximation errs; the simulation shows by how much."],
    };
  },
  question: "You can halve the variability of the services or lower the load from 0.9 to 0.8. Which helps more?",
  answer: "The load: its factor falls from 9 to 4. Half of the cv² of the services takes at most half of the wait away, and only where the gaps do not vary.",
  how: {
    python: `from schedlab import Cluster, NodeType, Streams, make_policy
from schedlab import parse_law, poisson_jobs, simulate, theory
print(theory.ggc_mean_wait_s(0.7, 4.0, 1.0, 1.0), theory.kingman_bound_s(0.7, 4.0, 1.0, 1.0))
law = parse_law("exponential:3600")
server = Cluster.of_nodes(NodeType("server", "GPU", 1), 1)
gaps = "hyperexponential:1,cv2=4"
jobs = poisson_jobs(3000, Streams(1), arrival_rate_per_h=0.7, duration_s=law, gaps=gaps)
print(simulate(jobs, server, make_policy("fifo-strict")).wait_s.mean() / 3600, "h")`,
  },
};

/** Ten runs of the rental paper's Figure 1 at one budget: response and GPUs in use, with intervals. */
function rented(b, random, student) {
  const plan = rentalPlan(b);
  const found = Array.from({ length: 10 }, () => rentedRun(plan, random, 400));
  return { response: intervalOf(found.map((r) => r.response), student), gpus: intervalOf(found.map((r) => r.gpus), student) };
}

const renting = {
  id: "renting", title: "No queue at all: rent",
  text: "With unlimited servers nobody waits, and only the mean size matters (insensitivity). If you rent GPUs under a budget, you choose how many each job gets: each further GPU speeds a job up by less.",
  sliders: [{ name: "budget", label: "budget b, GPUs on average", min: 0.85, max: 10, step: 0.05, value: 2 }],
  again: true,
  plot({ budget: b }, data, seed) {
    const plan = rentalPlan(b);
    const budgets = range(0.82, 10, 120);
    const random = new Random(seed);
    const simulated = [1, 2, 3, 4, 6, 8, 10].map((x) => [x, ...rented(x, random, data.student).response]);
    const here = rented(b, random, data.student).gpus;
    const shares = Array.from({ length: 10 }, () => inServiceShares(random, 400, 4, 13));
    const share = range(0, 12, 13).map((n) => [n, ...intervalOf(shares.map((s) => s[n]), data.student)]);
    return {
      charts: [{
        label: `Mean time in the system against the budget; marked: ${b}`, x: { label: "budget, GPUs on average", min: 0, max: 10.3 }, y: { label: "mean time, h", min: 0, max: 1 }, at: b,
        series: [
          { name: "formula: the least for the budget", kind: "line", data: budgets.map((x) => [x, rentalPlan(x).response]), colour: 0, dash: 0 },
          { name: "10 new runs, services of cv² 4, 95 % intervals", kind: "points", data: simulated, colour: 1 },
        ],
      }, {
        label: `Widths of both types of jobs against the budget; marked: ${b}`, x: { label: "budget, GPUs on average", min: 0, max: 10.3 }, y: { label: "GPUs of a job", min: 0, max: 2 * plan.root + 4 }, at: b,
        series: [
          { name: "job that follows Amdahl's law", kind: "line", data: budgets.map((x) => [x, rentalPlan(x).amdahl]), colour: 2, dash: 1 },
          { name: "job of speed √k", kind: "line", data: budgets.map((x) => [x, rentalPlan(x).root]), colour: 3, dash: 2 },
        ],
      }, {
        label: "How many jobs are in service with unlimited servers and a load of 4", x: { label: "jobs in service, load 4", min: 0, max: 12.3 }, y: { label: "part of the time", min: 0 },
        series: [
          { name: "formula (Poisson), for any law of the services", kind: "line", data: range(0, 12, 13).map((n) => [n, mginfNumber(4, n)]), colour: 0, dash: 0 },
          { name: "10 new runs, services of cv² 4, 95 % intervals", kind: "points", data: share, colour: 1 },
        ],
      }],
      facts: [
        `At b = ${number(b)}: ${number(plan.amdahl)} GPUs for a job that follows Amdahl's law, ${number(plan.root)} GPUs for a job of speed √k. A job takes ${number(plan.response)} h on average.`,
        `In 10 new runs ${number(here[0])} GPUs were in use on average, 95 % interval ${number(here[1])} to ${number(here[2])}.`,
      ],
    };
  },
  question: "The budget doubles. Which of the two types gets more of the new GPUs?",
  answer: "That of speed √k: its speed-up never flattens, while Amdahl's has a limit of 5. Its width grows with the square of the other.",
  how: { sh: "schedlab theory rental examples/rental_figure1.toml --budgets 0.8,1,2,5,10,20,30" },
};

const server = {
  id: "server", title: "A paper's optimization server",
  text: "In the hierarchical paper every controller asks a server for its decisions: one decision takes 40 s, and 20 controllers ask together twice in 450 s. The paper reports 48.65 s from request to decision.",
  sliders: [{ name: "controllers", label: "controllers", min: 5, max: 110, step: 5, value: 20 }, { name: "servers", label: "servers", min: 1, max: 4, step: 1, value: 1 }],
  plot({ controllers: k, servers: c }, data) {
    const counts = range(1, 110, 110);
    const response = (n, s) => mmcMeanWait(n / 4500, 40, s) + 40;
    const fixed = (n) => mg1MeanWait(n / 4500, lawOf(0, 40)) + 40;
    const now = response(k, c);
    return {
      charts: [{
        label: `Mean time to a decision against the number of controllers; marked: ${k}`, x: { label: "controllers", min: 0, max: 115 }, y: { label: "mean time to a decision, s", min: 0, max: 300 }, at: k,
        series: [
          { name: "1 server, exponential", kind: "line", data: counts.map((n) => [n, response(n, 1)]), colour: 0, dash: 0 },
          { name: `${c} server${c > 1 ? "s" : ""} (slider), exponential`, kind: "line", data: counts.map((n) => [n, response(n, c)]), colour: 1, dash: 1 },
          { name: "1 server, always 40 s", kind: "line", data: counts.map((n) => [n, fixed(n)]), colour: 2, dash: 2 },
          { name: "simulated, exponential", kind: "points", data: points(data.server, "server", { service: 1 }, (e) => e.controllers, "mean_response"), colour: 0 },
          { name: "simulated, always 40 s", kind: "points", data: points(data.server, "server", { service: 0 }, (e) => e.controllers, "mean_response"), colour: 2 },
        ],
      }],
      facts: [`${k} controllers, ${c} server${c > 1 ? "s" : ""}: load ${number(k * 40 / 4500 / c)}, ${Number.isFinite(now) ? `${now.toFixed(2)} s to a decision` : "the queue grows without end"}.`, `20 controllers on one server: ${response(20, 1).toFixed(2)} s with exponential times, ${fixed(20).toFixed(2)} s if each decision takes exactly 40 s.`],
    };
  },
  question: "Which assumption is behind the paper's 48.65 s?",
  answer: "Exponential decision times: 40 s / (1 - 40 × 2/450) = 48.65 s. With 40 s each it would be 44.32 s.",
  how: { sh: "schedlab theory size-server --controllers 20 --arrival-rate 2.22e-4 \\\n  --service exponential:40 --target-delay 60" },
};

const statistics = {
  id: "statistics", title: "How long, how often?",
  text: "A run starts empty, so its first jobs wait too little; MSER-5, applied to the average of the runs, says how many to leave out of each. Several runs give an interval; four times as many runs make it half as wide.",
  sliders: [load(0.8, 0.9), { name: "runs", label: "runs", min: 2, max: 100, step: 1, value: 10 }, { name: "jobs", label: "jobs of a run", values: [2000, 8000, 32000], value: 8000 }],
  again: true,
  plot({ load: u, runs, jobs }, data, seed) {
    const random = new Random(seed);
    const waits = [];
    const differences = [];
    const apart = [];
    for (let run = 0; run < runs; run++) {
      const { arrivals, services } = draws(random, jobs, u);
      const wait = firstComeWaits(arrivals, services);
      waits.push(wait);
      const faster = (draw) => meanOf(firstComeWaits(draw.arrivals, draw.services.map((s) => 0.95 * s)));
      differences.push(meanOf(wait) - faster({ arrivals, services }));
      apart.push(meanOf(wait) - faster(draws(random, jobs, u)));
    }
    // One run's own cut would take its busy periods away, and make its mean too low.
    const cut = mser5(waits[0].map((_, i) => meanOf(waits.map((wait) => wait[i]))));
    const means = waits.map((wait) => meanOf(wait.slice(cut)));
    const memory = u / (1 - Math.sqrt(u)) ** 2;
    const after = range(2, runs, runs - 1).map((n) => [n, ...intervalOf(means.slice(0, n), data.student)]);
    const [mean, low] = after[after.length - 1].slice(1);
    const truth = mmcMeanWait(u, 1, 1);
    const relative = (mean - low) / mean;
    const width = (values) => { const [m, l] = intervalOf(values, data.student); return `${number(m)} ± ${number(m - l)} h`; };
    const shown = after.filter((_, i) => i % Math.ceil(after.length / 25) === 0 || i === after.length - 1);
    return {
      charts: [{
        label: `Mean wait with its interval after 2 to ${runs} runs`, x: { label: "runs so far", min: 0, max: runs + 1 }, y: { label: "mean wait, h", min: 0, max: 2.2 * truth },
        series: [
          { name: "formula", kind: "line", data: [[0, truth], [runs + 1, truth]], colour: 0, dash: 0 },
          { name: "mean of the runs so far, 95 % interval", kind: "points", data: shown, colour: 1 },
        ],
      }],
      facts: [
        `Half width now ${number(100 * relative)} % of the mean. For 1 % about ${number(Math.ceil(runs * (relative / 0.01) ** 2))} runs are needed. MSER-5 leaves out the first ${number(cut)} jobs of each run.`,
        ...(jobs < 30 * memory ? [`At this load a queue forgets its state in about ${number(memory)} jobs. Runs of ${number(jobs)} jobs are too short: what is left of the empty start makes every mean too low, and more runs do not help.`] : []),
        `A server 5 % faster saves ${width(differences)} on the same random numbers, and ${width(apart)} on other ones.`,
      ],
    };
  },
  question: "Why does the comparison on the same random numbers need fewer runs?",
  answer: "Both systems meet the same busy and quiet times. What chance adds to one it adds to the other, and it cancels in the difference.",
  how: { sh: "schedlab compare examples/hierarchical.toml --policy edf --policy greedy --metric total_cost" },
};

export const QUEUE_PANELS = [filling, variability, orders, servers, general, renting, server];
export const LAST_PANEL = statistics;
