// Curves of all runs over the same time: the whole run faint, what has passed in full.

import { lastUpTo } from "./events.js";
import { number, ticks, timeUnit } from "./text.js";

export const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3], [4, 4], [1, 4]];
const LEFT = 46;
const RIGHT = 10;
const BOTTOM = 22;
const TOP = 8;

/** The corners of a run's curve: [time, value]; steps are drawn as steps, costs as slopes. */
export function corners(run, kind, end) {
  if (kind === "cost") {
    const { rates, sum } = run.cost;
    const points = rates.at.map((time, i) => [time, sum[i]]);
    if (points.length) points.push([end, run.cost.atTime(end)]);
    return points;
  }
  const steps = kind === "waiting" ? run.waiting : run.used;
  const points = [];
  let before = 0;
  steps.at.forEach((time, i) => {
    points.push([time, before], [time, steps.value[i]]);
    before = steps.value[i];
  });
  points.push([end, before]);
  return points;
}

export class Curves {
  constructor(canvas, replay, kind) {
    this.canvas = canvas;
    this.replay = replay;
    this.kind = kind;
    this.points = replay.runs.map((run) => corners(run, kind, replay.end));
    this.times = this.points.map((list) => list.map(([t]) => t));
    this.most = Math.max(0, ...this.points.map((list) => list.reduce((a, [, v]) => Math.max(a, v), 0)));
    this.total = kind === "used" ? replay.runs[0].total : null;
    if (this.total) this.most = Math.max(this.most, this.total);
    if (!(this.most > 0)) this.most = 1;
    this.behind = document.createElement("canvas");
  }

  resize(width, height, ratio) {
    for (const canvas of [this.canvas, this.behind]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    this.canvas.style.height = `${height}px`;
    Object.assign(this, { width, height, ratio, key: null });
  }

  x(time) { return LEFT + (time - this.from) / (this.to - this.from || 1) * (this.width - LEFT - RIGHT); }

  y(value) { return this.height - BOTTOM - value / this.most * (this.height - BOTTOM - TOP); }

  draw(time, theme, { from, to }) {
    if (!this.canvas.width || !this.canvas.height) return;
    Object.assign(this, { from, to });
    const key = [theme.text, from, to].join();
    if (this.key !== key) { this.paint(theme); this.key = key; }
    const context = this.canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.drawImage(this.behind, 0, 0);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.lines(context, theme, time);
    context.fillStyle = theme.text;
    context.fillRect(this.x(time), TOP, 1.5, this.height - BOTTOM - TOP);
  }

  paint(theme) {
    const context = this.behind.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = theme.soft;
    context.strokeStyle = theme.line;
    context.lineWidth = 1;
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const mark of ticks(this.most, 3)) {
      const y = Math.round(this.y(mark)) + 0.5;
      context.beginPath();
      context.moveTo(LEFT, y);
      context.lineTo(this.width - RIGHT, y);
      context.stroke();
      context.fillText(number(mark), LEFT - 6, y);
    }
    const { scale, name } = timeUnit(this.to);
    context.textBaseline = "alphabetic";
    const marks = ticks(this.to / scale, Math.max(2, Math.floor(this.width / 90)) * this.to / (this.to - this.from || 1))
      .filter((mark) => mark * scale >= this.from);
    marks.forEach((mark, k) => {
      const x = this.x(mark * scale);
      const last = k === marks.length - 1;
      context.textAlign = last && x > this.width - 40 ? "right" : "center";
      context.fillText(number(mark, 6) + (last ? ` ${name}` : ""), last && x > this.width - 40 ? this.width - 2 : x, this.height - 5);
    });
    context.globalAlpha = 0.3;
    this.lines(context, theme, this.to);
    context.globalAlpha = 1;
  }

  /** The lines of all runs up to a time, inside the axes. */
  lines(context, theme, time) {
    context.save();
    context.beginPath();
    context.rect(LEFT - 1, 0, this.width - LEFT - RIGHT + 2, this.height - BOTTOM + 2);
    context.clip();
    this.replay.runs.forEach((run, r) => this.line(context, r, theme, time));
    context.restore();
  }

  line(context, r, theme, time) {
    const points = this.points[r];
    const upTo = lastUpTo(this.times[r], time);
    context.strokeStyle = theme.runs[r % theme.runs.length];
    context.setLineDash(DASHES[r % DASHES.length]);
    context.lineWidth = 2;
    context.beginPath();
    const first = Math.max(0, lastUpTo(this.times[r], this.from));
    context.moveTo(this.x(points[first] ? points[first][0] : 0), this.y(points[first] ? points[first][1] : 0));
    let before = -Infinity;
    for (let i = first; i <= upTo; i++) {
      const x = this.x(points[i][0]);
      // Many corners in one pixel: its first, extremes and last would do; every third of a pixel does.
      if (upTo - first > 4000 && x - before < 0.34 && i < upTo) continue;
      before = x;
      context.lineTo(x, this.y(points[i][1]));
    }
    if (this.kind === "cost") context.lineTo(this.x(time), this.y(this.replay.runs[r].cost.atTime(time)));
    else if (upTo >= 0) context.lineTo(this.x(time), this.y(points[upTo][1]));
    context.stroke();
    context.setLineDash([]);
  }
}
