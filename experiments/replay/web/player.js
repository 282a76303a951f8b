// The clock and the controls: play, speed, scrub, steps from decision to decision, follow a job.

import { Replay } from "./events.js";
import { Curves, DASHES } from "./curves.js";
import { Scene, colourOf } from "./scene.js";
import { number, asTime } from "./text.js";

const SECONDS_FOR_ALL = 40;
const READABLE = 12;
const ACROSS = 1000;
const KINDS = [["waiting", "Jobs that wait"], ["used", "GPUs in use"], ["cost", "Cost so far"]];

function element(tag, properties = {}, children = []) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

export class Player {
  constructor(replay, root) {
    this.replay = replay;
    this.root = root;
    this.time = 0;
    this.playing = false;
    this.speed = 1;
    this.zoom = 1;
    this.follow = null;
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
    this.find = (name) => root.querySelector(`[data-part="${name}"]`);
    this.buildRuns();
    this.buildCurves();
    this.wire();
    this.open();
    this.readTheme();
    this.resize();
    new ResizeObserver(() => this.resize()).observe(root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.readTheme(); this.draw(); });
  }

  /** A long run opens where it is first busy, so close that the middle job is READABLE of ACROSS pixels wide. */
  open() {
    const [{ shares, used }] = this.replay.runs;
    const widths = shares.from.map((from, i) => shares.to[i] - from).sort((a, b) => a - b);
    const middle = widths[widths.length >> 1] || this.replay.end;
    const zooms = [...this.find("zoom").options].map((option) => Number(option.value));
    this.zoom = zooms.find((zoom) => ACROSS * zoom * middle >= READABLE * this.replay.end) || zooms.at(-1);
    this.find("zoom").value = String(this.zoom);
    if (this.zoom > 1) this.time = used.at[used.value.findIndex((gpus) => gpus >= 0.8 * used.largest)];
  }

  readTheme() {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(name).trim();
    this.theme = {
      text: value("--text"), soft: value("--soft"), line: value("--line"), raised: value("--raised"),
      accent: value("--accent"), runs: [0, 1, 2, 3, 4, 5].map((k) => value(`--c${k}`)),
    };
  }

  buildRuns() {
    const place = this.find("runs");
    this.panels = this.replay.runs.map((run, r) => {
      const canvas = element("canvas");
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `Nodes, jobs and queue of ${run.name}; the figures above say how it stands.`);
      const spacer = element("div", { className: "spacer" });
      const scroller = element("div", { className: "scroller" }, [canvas, spacer]);
      const figures = element("dl", { className: "figures" });
      const noted = element("p");
      const notes = element("details", { className: "noted" }, [element("summary", { textContent: "What the policy noted" }), noted]);
      const key = element("span", { className: `key k${r % 6}` });
      const panel = element("section", { className: "run" }, [
        element("h2", {}, [key, document.createTextNode(run.name)]), figures, ...(run.noted ? [notes] : []), scroller,
      ]);
      panel.setAttribute("aria-label", run.name);
      scroller.setAttribute("role", "group");
      scroller.setAttribute("aria-label", `Nodes of ${run.name}`);
      place.append(panel);
      const scene = new Scene(canvas, run, spacer);
      scroller.addEventListener("scroll", () => this.draw());
      return { run, scene, figures, noted, scroller, canvas };
    });
    place.classList.toggle("single", this.panels.length === 1);
  }

  buildCurves() {
    const place = this.find("curves");
    this.curves = KINDS.filter(([kind]) => kind !== "cost" || this.costsSomething())
      .map(([kind, name]) => {
        const canvas = element("canvas");
        canvas.setAttribute("role", "img");
        canvas.setAttribute("aria-label", `${name} over time, one line a run`);
        const unit = kind === "cost" ? `, ${this.replay.runs[0].currency}` : "";
        place.append(element("figure", {}, [element("figcaption", { textContent: name + unit }), canvas]));
        return new Curves(canvas, this.replay, kind);
      });
    if (this.replay.runs.length > 1) {
      this.replay.runs.forEach((run, r) => {
        const dash = DASHES[r % DASHES.length].join(" ");
        const line = `<svg width="34" height="8" aria-hidden="true"><line x1="0" x2="34" y1="4" y2="4" stroke="var(--c${r % 6})" stroke-width="3" stroke-dasharray="${dash}"/></svg>`;
        const item = element("li", { innerHTML: line });
        item.append(document.createTextNode(` ${run.name}`));
        this.find("legend").append(item);
      });
    }
  }

  /** Whether the cost of all runs is known and one of them costs anything. */
  costsSomething() {
    return this.replay.runs.every((run) => run.cost) && this.replay.runs.some((run) => run.cost.atTime(this.replay.end) > 0);
  }

  wire() {
    const on = (name, event, what) => this.find(name).addEventListener(event, what);
    on("play", "click", () => this.toggle());
    on("back", "click", () => this.stepBack());
    on("next", "click", () => this.stepOn());
    on("restart", "click", () => this.jump(0));
    on("speed", "change", (event) => { this.speed = Number(event.target.value); });
    on("zoom", "change", (event) => { this.zoom = Number(event.target.value); this.draw(); });
    on("scrub", "input", (event) => this.jump(event.target.value / 1000 * this.replay.end, false));
    on("job", "change", (event) => this.followNamed(event.target.value));
    on("unfollow", "click", () => this.followJob(null));
    (this.root.id === "replay" ? document : this.root).addEventListener("keydown", (event) => this.key(event));
    for (const panel of this.panels) {
      panel.canvas.addEventListener("pointermove", (event) => this.hover(panel, event));
      panel.canvas.addEventListener("pointerleave", () => { this.find("tip").hidden = true; });
      panel.canvas.addEventListener("click", (event) => this.click(panel, event));
    }
  }

  key(event) {
    const field = event.target.closest("input, select, textarea");
    if (field || event.ctrlKey || event.metaKey || event.altKey) return;
    const onButton = event.target.closest("button, a, summary");
    const far = this.replay.end / 100;
    const actions = {
      " ": () => this.toggle(), k: () => this.toggle(),
      ArrowRight: () => (event.shiftKey ? this.jump(this.time + far) : this.stepOn()),
      ArrowLeft: () => (event.shiftKey ? this.jump(this.time - far) : this.stepBack()),
      Home: () => this.jump(0), End: () => this.jump(this.replay.end),
      "+": () => this.changeSpeed(1), "-": () => this.changeSpeed(-1),
      Escape: () => this.followJob(null),
    };
    if (!(event.key in actions) || (onButton && event.key === " ")) return;
    event.preventDefault();
    actions[event.key]();
  }

  changeSpeed(by) {
    const select = this.find("speed");
    select.selectedIndex = Math.max(0, Math.min(select.options.length - 1, select.selectedIndex + by));
    this.speed = Number(select.value);
  }

  toggle() { if (this.playing) this.pause(); else this.play(); }

  play() {
    if (this.time >= this.replay.end) this.time = 0;
    this.playing = true;
    this.say("playing");
    this.sayPlay();
    this.last = null;
    requestAnimationFrame((now) => this.frame(now));
  }

  pause() {
    this.playing = false;
    this.sayPlay();
    this.draw();
    this.sayState();
  }

  sayPlay() {
    const button = this.find("play");
    button.textContent = this.playing ? "Pause" : "Play";
  }

  /** With reduced motion the picture changes twice a second instead of sixty times. */
  frame(now) {
    if (!this.playing) return;
    if (this.last === null) this.last = now;
    const elapsed = (now - this.last) / 1000;
    if (!this.calm.matches || elapsed >= 0.5) {
      this.last = now;
      this.time = Math.min(this.replay.end, this.time + elapsed * this.speed * this.replay.end / SECONDS_FOR_ALL);
      this.draw();
    }
    if (this.time >= this.replay.end) this.pause();
    else requestAnimationFrame((next) => this.frame(next));
  }

  jump(time, tell = true) {
    this.time = Math.max(0, Math.min(this.replay.end, time));
    this.draw();
    if (tell) this.sayState();
  }

  stepOn() { this.playing = false; this.sayPlay(); this.jump(this.replay.nextDecision(this.time)); }

  stepBack() { this.playing = false; this.sayPlay(); this.jump(this.replay.previousDecision(this.time)); }

  followNamed(text) {
    const job = this.replay.jobs.id.indexOf(text.trim());
    this.find("nojob").textContent = job < 0 && text.trim() ? `There is no job “${text.trim()}”.` : "";
    this.followJob(job < 0 ? null : job);
  }

  followJob(job) {
    this.follow = job;
    if (job === null) this.find("job").value = "";
    else { this.find("job").value = this.replay.jobs.id[job]; this.find("nojob").textContent = ""; }
    this.draw();
    this.sayState();
  }

  resize() {
    const ratio = Math.min(2, devicePixelRatio || 1);
    const tall = this.panels.length === 1 ? 460 : 380;
    for (const { scene, scroller } of this.panels) {
      const lines = scene.run.numLines;
      const height = Math.round(Math.max(150, Math.min(tall, 34 + lines * 22 + scene.run.lines.length * 2)));
      scroller.style.height = `${height}px`;
      scene.resize(scroller.clientWidth, height, ratio);
      scroller.tabIndex = scroller.scrollHeight > scroller.clientHeight ? 0 : -1;
    }
    for (const curve of this.curves) curve.resize(curve.canvas.parentElement.clientWidth, 150, ratio);
    this.draw();
  }

  /** The stretch of time that is shown: {from, to}. */
  stretch() {
    const width = this.replay.end / this.zoom || 1;
    const page = Math.min(this.zoom - 1, Math.floor(this.time / width));
    return { from: page * width, to: (page + 1) * width };
  }

  view(panel) {
    return { ...this.stretch(), follow: this.follow, theme: this.theme, scroll: panel.scroller.scrollTop };
  }

  draw() {
    const first = this.replay.runs[0].summary(this.time);
    for (const panel of this.panels) {
      panel.scene.draw(this.time, this.view(panel));
      this.showFigures(panel, panel.run === this.replay.runs[0] ? null : first);
    }
    for (const curve of this.curves) curve.draw(this.time, this.theme, this.stretch());
    this.find("scrub").value = String(Math.round(1000 * this.time / (this.replay.end || 1)));
    this.find("scrub").setAttribute("aria-valuetext", asTime(this.time));
    this.find("time").textContent = `${asTime(this.time)} of ${asTime(this.replay.end)}`;
    this.showFollowed();
  }

  showFigures(panel, first) {
    const { run, figures } = panel;
    if (run.noted) this.showNoted(panel);
    const now = run.summary(this.time);
    const gpus = run.total ? `${number(now.used)} of ${run.total}` : number(now.used);
    const rows = [
      ["finished", `${now.done} of ${run.jobs.id.length}`, null],
      ["waiting", String(now.waiting), null],
      ["GPUs in use", gpus, null],
      ["mean completion time so far", asTime(now.meanJct), first && now.meanJct !== null && first.meanJct !== null ? [now.meanJct - first.meanJct, asTime] : null],
    ];
    if (this.costsSomething()) rows.push([`cost so far, ${run.currency}`, number(now.cost), first && first.cost !== null ? [now.cost - first.cost, number] : null]);
    if (run.jobs.due || run.late.some((t) => t > 0)) rows.push(["late jobs", String(now.late), first ? [now.late - first.late, String] : null]);
    if (figures.childElementCount !== rows.length) {
      figures.replaceChildren(...rows.map(([name]) => element("div", {}, [
        element("dt", { textContent: name }), element("dd", {}, [element("span"), element("small")]),
      ])));
    }
    rows.forEach(([, text, difference], k) => {
      const [value, small] = figures.children[k].lastElementChild.children;
      if (value.textContent !== text) value.textContent = text;
      const [by, say] = difference || [0, String];
      const told = difference && by !== 0 ? `${by > 0 ? "+" : "−"}${say(Math.abs(by))}` : "";
      if (small.textContent !== told) small.textContent = told;
    });
  }

  /** What the policy noted of its last decision. */
  showNoted({ run, noted }) {
    const found = run.notedAt(this.time);
    const facts = found ? found[1].map(([name, value]) => `${name} ${typeof value === "number" ? number(value, 4) : value}`) : [];
    const text = found ? `Last decision, at ${asTime(found[0])}: ${facts.join(", ")}` : "No decision yet";
    if (noted.textContent !== text) noted.textContent = text;
  }

  showFollowed() {
    const place = this.find("followed");
    place.hidden = this.follow === null;
    if (this.follow === null) return;
    const { id } = this.replay.jobs;
    const texts = this.replay.runs.map((run) => `${this.replay.runs.length > 1 ? `${run.name}: ` : ""}${this.sentence(run, this.follow)}`);
    place.textContent = `Job ${id[this.follow]}. ${texts.join(" ")}`;
  }

  sentence(run, job) {
    const { preempted, moved } = run.countsOf(job, this.time);
    const parts = [run.stateOf(job, this.time)];
    const end = run.end[job];
    if (end !== null && this.time >= end) parts[0] += ` after ${asTime(end - run.jobs.arrival[job])}`;
    if (preempted) parts.push(`preempted ${preempted} time${preempted > 1 ? "s" : ""}`);
    if (moved) parts.push(`moved or resized ${moved} time${moved > 1 ? "s" : ""}`);
    const due = run.jobs.due ? run.jobs.due[job] : null;
    if (due !== null && due < this.time && (end === null || end > due)) parts.push("late");
    return `${parts.join(", ")}.`;
  }

  sayState() {
    if (this.playing) return;
    const texts = this.replay.runs.map((run) => {
      const now = run.summary(this.time);
      return `${run.name}: ${now.done} finished, ${now.running} running, ${now.waiting} waiting.`;
    });
    this.say(`${asTime(this.time)}. ${texts.join(" ")}`);
  }

  say(text) { this.find("said").textContent = text; }

  at(panel, event) {
    const box = panel.canvas.getBoundingClientRect();
    return panel.scene.hit(event.clientX - box.left, event.clientY - box.top, this.time);
  }

  hover(panel, event) {
    const tip = this.find("tip");
    const found = this.at(panel, event);
    panel.canvas.style.cursor = found ? "pointer" : "default";
    tip.hidden = !found;
    if (!found) return;
    const { run } = panel;
    const { id, arrival, due } = run.jobs;
    const lines = [`job ${id[found.job]}`, `came at ${asTime(arrival[found.job])}`];
    if (found.share !== null) {
      const { gpus, cpus, node, type, from } = run.shares;
      const kind = run.types && run.types[type[found.share]] ? ` (${run.types[type[found.share]].name})` : "";
      lines.push(`${number(gpus[found.share], 4)} GPUs${cpus ? `, ${number(cpus[found.share], 4)} CPUs` : ""} of node ${node[found.share]}${kind} since ${asTime(from[found.share])}`);
    }
    if (due && due[found.job] !== null) lines.push(`due at ${asTime(due[found.job])}`);
    lines.push(this.sentence(run, found.job));
    tip.replaceChildren(...lines.map((line) => element("div", { textContent: line })));
    const wide = document.documentElement.clientWidth;
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, wide - tip.offsetWidth - 6))}px`;
    tip.style.top = `${event.clientY + 16}px`;
    tip.style.borderLeftColor = colourOf(found.job);
  }

  click(panel, event) {
    const found = this.at(panel, event);
    this.followJob(found && found.job !== this.follow ? found.job : null);
    this.hover(panel, event);
  }
}

const place = document.getElementById("replay");
if (place) {
  const data = JSON.parse(document.getElementById("replay-data").textContent);
  window.player = new Player(new Replay(data), place);
}
