// One run on a canvas: waiting jobs on the left, nodes as rows of GPUs with their jobs on the right.
// What is over is painted once on a canvas behind; each frame adds what still runs.

import { FINISHED, MOVED, PREEMPTED, lastUpTo } from "./events.js";
import { ticks, timeUnit, number } from "./text.js";

/** Light enough for dark text on them, told apart by colour-blind eyes, next ones far apart. */
export const JOB_COLOURS = ["#56B4E9", "#E69F00", "#5BC9A5", "#F0E442", "#D99BC0", "#9DB7D5", "#F4A582", "#B8C26A"];
const DARK = "#10151b";
const LEAST_LINE = 1.25;
const MOST_LINE = 22;
const TOP = 26;

export function colourOf(job) { return JOB_COLOURS[(job * 5) % JOB_COLOURS.length]; }

export class Scene {
  constructor(canvas, run, spacer) {
    this.canvas = canvas;
    this.spacer = spacer;
    this.run = run;
    this.behind = document.createElement("canvas");
    this.painted = null;
    this.order = run.shares.to.map((_, i) => i).sort((a, b) => run.shares.to[a] - run.shares.to[b]);
    this.endsInOrder = this.order.map((i) => run.shares.to[i]);
  }

  /** Fit the canvas to its place; `window` is the stretch of time that the width shows. */
  resize(width, height, ratio) {
    for (const canvas of [this.canvas, this.behind]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    this.canvas.style.height = `${height}px`;
    this.width = width;
    this.height = height;
    this.ratio = ratio;
    this.left = Math.min(150, Math.max(84, width * 0.16));
    const gap = this.run.lines.length * 2;
    const room = height - TOP - 4;
    this.gap = gap > room / 3 ? 0 : 2;
    this.line = Math.min(MOST_LINE, Math.max(LEAST_LINE, (room - this.gap * this.run.lines.length) / this.run.numLines));
    this.content = this.run.numLines * this.line + this.run.lines.length * this.gap;
    this.spacer.style.height = `${Math.max(0, this.content - room)}px`;
    this.painted = null;
  }

  top(node, line) {
    return TOP + (this.run.firstLine[node] + line) * this.line + node * this.gap - this.scroll;
  }

  x(time) { return this.left + (time - this.from) / (this.to - this.from) * (this.width - this.left - 6); }

  timeAt(x) { return this.from + (x - this.left) / (this.width - this.left - 6) * (this.to - this.from); }

  draw(time, view) {
    if (!this.canvas.width || !this.canvas.height) return;
    const key = [view.from, view.to, view.scroll, view.follow, view.theme.text, this.width, this.height].join();
    this.from = view.from;
    this.to = view.to;
    this.scroll = view.scroll;
    this.view = view;
    if (this.painted === null || this.painted.key !== key || this.painted.time > time) {
      this.paintRows();
      this.painted = { key, time: -Infinity, count: 0 };
    }
    const upTo = lastUpTo(this.endsInOrder, time) + 1;
    const back = this.behind.getContext("2d");
    back.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    for (let k = this.painted.count; k < upTo; k++) this.block(back, this.order[k], time);
    this.painted.count = upTo;
    this.painted.time = time;
    const front = this.canvas.getContext("2d");
    front.setTransform(1, 0, 0, 1, 0, 0);
    front.clearRect(0, 0, this.canvas.width, this.canvas.height);
    front.drawImage(this.behind, 0, 0);
    front.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    for (const i of this.runningShares(time)) this.block(front, i, time);
    this.drawDecisions(front, time);
    this.drawNow(front, time);
    this.drawQueue(front, time);
  }

  /** Shares that run at a time; starts are in order, and none is longer than the longest. */
  runningShares(time) {
    const { from, to } = this.run.shares;
    if (this.longest === undefined) this.longest = from.reduce((a, t, i) => Math.max(a, to[i] - t), 0);
    const found = [];
    for (let i = lastUpTo(from, time); i >= 0 && from[i] >= time - this.longest; i--) {
      if (to[i] > time) found.push(i);
    }
    return found;
  }

  paintRows() {
    const context = this.behind.getContext("2d");
    const { theme } = this.view;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const labels = Math.ceil(this.run.lines.length / Math.max(1, (this.height - TOP) / 16));
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "right";
    const right = this.width - 6;
    this.run.lines.forEach((count, node) => {
      const top = this.top(node, 0);
      const height = count * this.line;
      if (top + height < TOP || top > this.height) return;
      context.fillStyle = theme.raised;
      context.fillRect(this.left, top, right - this.left, height);
      if (this.line >= 7) {
        context.fillStyle = theme.line;
        for (let line = 1; line < count; line++) context.fillRect(this.left, top + line * this.line - 0.5, right - this.left, 1);
      }
      if (node % labels === 0 && top + height / 2 > TOP + 5) {
        context.fillStyle = theme.soft;
        context.fillText(String(node), this.left - 5, top + height / 2);
      }
    });
    this.drawAxis(context, theme);
  }

  drawAxis(context, theme) {
    const { scale, name } = timeUnit(this.to);
    context.clearRect(0, 0, this.width, TOP - 1);
    context.textBaseline = "alphabetic";
    context.fillStyle = theme.soft;
    const marks = ticks(this.to / scale, Math.max(2, Math.floor((this.width - this.left) / 90) * this.to / (this.to - this.from)));
    marks.forEach((mark, k) => {
      const x = this.x(mark * scale);
      if (x < this.left - 1 || x > this.width) return;
      context.fillRect(x, TOP - 8, 1, 6);
      context.textAlign = x > this.width - 40 ? "right" : x < this.left + 10 ? "left" : "center";
      const last = k === marks.length - 1 || this.x(marks[k + 1] * scale) > this.width;
      context.fillText(number(mark, 6) + (last ? ` ${name}` : ""), x, TOP - 13);
    });
    context.textAlign = "right";
    context.fillText("node", this.left - 5, TOP - 6);
  }

  block(context, i, time) {
    const { run, view } = this;
    const { shares } = run;
    if (shares.to[i] < this.from || shares.from[i] > this.to) return;
    const job = shares.job[i];
    const end = Math.min(shares.to[i], time);
    const x = Math.max(this.left, this.x(shares.from[i]));
    const width = Math.max(0.6, Math.min(this.x(end), this.width - 6) - x);
    const dim = view.follow !== null && view.follow !== job;
    for (const [line, count] of run.pieces(i)) {
      const top = this.top(shares.node[i], line);
      const height = count * this.line;
      if (top + height < TOP || top > this.height) continue;
      const inset = width > 3 ? 0.5 : 0;
      const thin = height > 4 ? 0.5 : 0;
      context.globalAlpha = dim ? 0.22 : 1;
      context.fillStyle = colourOf(job);
      context.fillRect(x + inset, Math.max(TOP, top + thin), width - 2 * inset, Math.min(height - 2 * thin, top + height - TOP));
      if (view.follow === job) {
        context.strokeStyle = view.theme.text;
        context.lineWidth = 2;
        context.strokeRect(x + 1, top + 1, Math.max(1, width - 2), Math.max(1, height - 2));
      }
      this.marks(context, i, x, width, top, height, end);
      this.label(context, job, x, width, top, height);
      context.globalAlpha = 1;
    }
  }

  /** Late: a dark line below. Preempted: a dark end. Moved or resized: a notch at the end. */
  marks(context, i, x, width, top, height, end) {
    const { run } = this;
    const job = run.shares.job[i];
    context.fillStyle = DARK;
    const due = run.jobs.due ? run.jobs.due[job] : null;
    if (due !== null && due < end && height > 3) {
      const from = Math.max(x, this.x(due));
      context.fillStyle = "#a40e26";
      context.fillRect(from, top + height - 2.5, x + width - from, 2);
      context.fillStyle = DARK;
    }
    if (end < run.shares.to[i] || run.fate[i] === FINISHED) return;
    const right = x + width;
    if (run.fate[i] === PREEMPTED) context.fillRect(right - Math.min(2.5, width / 3), top, Math.min(2.5, width / 3), height);
    if (run.fate[i] === MOVED && width > 4 && height > 4) {
      context.beginPath();
      context.moveTo(right, top);
      context.lineTo(right - 5, top);
      context.lineTo(right, top + 5);
      context.fill();
    }
  }

  label(context, job, x, width, top, height) {
    const text = this.run.jobs.id[job];
    if (height < 11 || width < 8 + 6.4 * text.length || top < TOP) return;
    context.fillStyle = DARK;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillText(text, x + 4, top + height / 2);
  }

  drawDecisions(context, time) {
    const { decisions } = this.run;
    const { theme } = this.view;
    context.fillStyle = theme.accent;
    let before = -1;
    for (let i = Math.max(0, lastUpTo(decisions, this.from)); i < decisions.length && decisions[i] <= time; i++) {
      const x = Math.round(this.x(decisions[i]));
      if (x === before || x < this.left) continue;
      before = x;
      context.fillRect(x, TOP - 3, 1, 3);
    }
  }

  drawNow(context, time) {
    context.fillStyle = this.view.theme.text;
    context.fillRect(Math.min(this.x(time), this.width - 7), TOP - 8, 1.5, this.height - TOP + 8);
  }

  drawQueue(context, time) {
    const { theme, follow } = this.view;
    const waiting = this.run.waitingJobs(time);
    this.cells = [];
    const room = this.left - 42;
    const cell = Math.max(5, Math.min(16, Math.sqrt(room * (this.height - 60) / Math.max(1, waiting.length)) - 1));
    const columns = Math.max(1, Math.floor(room / (cell + 1)));
    const rows = Math.floor((this.height - 50) / (cell + 1));
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    context.fillStyle = theme.text;
    context.font = "600 12px system-ui, sans-serif";
    context.fillText("queue", 2, 12);
    const shown = waiting.slice(0, columns * rows);
    shown.forEach((job, k) => {
      const x = 2 + (k % columns) * (cell + 1);
      const y = TOP + Math.floor(k / columns) * (cell + 1);
      context.globalAlpha = follow !== null && follow !== job ? 0.25 : 1;
      context.fillStyle = colourOf(job);
      context.fillRect(x, y, cell, cell);
      const due = this.run.jobs.due ? this.run.jobs.due[job] : null;
      if (due !== null && due < time) {
        context.fillStyle = "#a40e26";
        context.fillRect(x, y + cell - 2, cell, 2);
      }
      if (follow === job) { context.strokeStyle = theme.text; context.lineWidth = 2; context.strokeRect(x, y, cell, cell); }
      this.cells.push([x, y, cell, job]);
    });
    context.globalAlpha = 1;
    if (waiting.length > shown.length) {
      context.fillStyle = theme.soft;
      context.font = "11px system-ui, sans-serif";
      context.fillText(`and ${waiting.length - shown.length} more`, 2, this.height - 4);
    }
  }

  /** What lies under a point of the canvas: {job, share} or null. */
  hit(px, py, time) {
    for (const [x, y, size, job] of this.cells || []) {
      if (px >= x && px <= x + size && py >= y && py <= y + size) return { job, share: null };
    }
    if (px < this.left || py < TOP) return null;
    const at = this.timeAt(px);
    if (at > time) return null;
    const { shares } = this.run;
    for (let i = lastUpTo(shares.from, at); i >= 0 && shares.from[i] >= at - (this.longest || 0); i--) {
      if (shares.to[i] <= at) continue;
      for (const [line, count] of this.run.pieces(i)) {
        const top = this.top(shares.node[i], line);
        if (py >= top && py < top + count * this.line) return { job: shares.job[i], share: i };
      }
    }
    return null;
  }
}
