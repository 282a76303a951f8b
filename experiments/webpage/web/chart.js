// A chart as SVG: lines, points with intervals, bands and thin paths, with axes that say what they are.

import { number, ticks } from "./text.js";

const W = 640;
const H = 380;
const PAD = { left: 76, right: 24, top: 12, bottom: 56 };
export const CHART_DASHES = ["", "8 4", "2 4", "10 4 2 4", "5 5"];
const MARKS = ["circle", "square", "triangle", "diamond", "cross"];

function escapeText(text) {
  return String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
}

function scaleOf(axis, low, high, from, to) {
  const f = axis.log ? Math.log : (v) => v;
  const [a, b] = [f(low), f(high)];
  return (v) => from + (f(v) - a) / (b - a || 1) * (to - from);
}

function logTicks(low, high) {
  const found = [];
  for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p++) {
    const power = 10 ** p;
    if (power >= low * 0.999 && power <= high * 1.001) found.push(power);
  }
  return found.length > 1 ? found : [low, high];
}

function mark(kind, x, y, attributes) {
  const r = 5;
  const shapes = {
    circle: `<circle cx="${x}" cy="${y}" r="${r}" ${attributes}/>`,
    square: `<rect x="${x - r}" y="${y - r}" width="${2 * r}" height="${2 * r}" ${attributes}/>`,
    triangle: `<path d="M${x} ${y - 6}L${x + 6} ${y + 5}L${x - 6} ${y + 5}Z" ${attributes}/>`,
    diamond: `<path d="M${x} ${y - 7}L${x + 6} ${y}L${x} ${y + 7}L${x - 6} ${y}Z" ${attributes}/>`,
    cross: `<path d="M${x - 5} ${y - 2}h3.5v-3.5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5Z" ${attributes}/>`,
  };
  return shapes[kind];
}

/**
 * An SVG text. spec: {label, x: {label, min, max, log}, y: {..}, series, at}
 * series: {name, kind: "line" | "points" | "paths", data, colour, dash, faint}; points are
 * [x, y] or [x, y, low, high]; `at` marks an x by an upright line.
 */
export function chart(spec) {
  const all = spec.series.flatMap((s) => (s.kind === "paths" ? s.data.flat() : s.data));
  const xs = all.map((p) => p[0]).filter(Number.isFinite);
  const ys = all.flatMap((p) => p.slice(1)).filter((v) => Number.isFinite(v) && (!spec.y.log || v > 0));
  const x0 = spec.x.min ?? Math.min(...xs);
  const x1 = spec.x.max ?? Math.max(...xs);
  const y0 = spec.y.min ?? (spec.y.log ? Math.min(...ys) / 1.3 : Math.min(0, ...ys));
  const y1 = spec.y.max ?? Math.max(...ys, spec.y.log ? 0 : 1e-12) * (spec.y.log ? 1.3 : 1.06);
  const sx = scaleOf(spec.x, x0, x1, PAD.left, W - PAD.right);
  const sy = scaleOf(spec.y, y0, y1, H - PAD.bottom, PAD.top);
  const parts = [axes(spec, { x0, x1, y0, y1 }, sx, sy)];
  const clip = `clip-${Math.abs(hash(spec.label))}`;
  parts.push(`<clipPath id="${clip}"><rect x="${PAD.left}" y="${PAD.top}" width="${W - PAD.left - PAD.right}" height="${H - PAD.top - PAD.bottom}"/></clipPath>`);
  if (spec.at !== undefined && spec.at >= x0 && spec.at <= x1) {
    parts.push(`<line class="at" x1="${sx(spec.at)}" x2="${sx(spec.at)}" y1="${PAD.top}" y2="${H - PAD.bottom}"/>`);
  }
  spec.series.forEach((series, k) => parts.push(draw(series, k, sx, sy, { y0, y1 }, clip, spec)));
  return `<svg viewBox="0 0 ${W} ${H}" role="img" aria-label="${escapeText(spec.label)}">${parts.join("")}</svg>${legend(spec.series, y1)}`;
}

function hash(text) {
  let h = 7;
  for (const c of text) h = (h * 31 + c.charCodeAt(0)) | 0;
  return h;
}

function axes(spec, range, sx, sy) {
  const parts = [];
  const bottom = H - PAD.bottom;
  const yTicks = spec.y.log ? logTicks(range.y0, range.y1) : ticks(range.y1, 5);
  for (const v of yTicks) {
    const y = sy(v);
    if (y < PAD.top - 1) continue;
    parts.push(`<line class="grid" x1="${PAD.left}" x2="${W - PAD.right}" y1="${y}" y2="${y}"/><text x="${PAD.left - 8}" y="${y + 4}" text-anchor="end">${number(v)}</text>`);
  }
  const span = range.x1 - range.x0;
  const xTicks = spec.x.ticks || (spec.x.log ? logTicks(range.x0, range.x1)
    : ticks(range.x1, 6).filter((v) => v >= range.x0 - 1e-9 * span));
  for (const v of xTicks) {
    parts.push(`<line class="tick" x1="${sx(v)}" x2="${sx(v)}" y1="${bottom}" y2="${bottom + 5}"/><text x="${sx(v)}" y="${bottom + 23}" text-anchor="middle">${number(v)}</text>`);
  }
  parts.push(`<line class="axis" x1="${PAD.left}" x2="${W - PAD.right}" y1="${bottom}" y2="${bottom}"/>`);
  parts.push(`<text class="name" x="${(PAD.left + W - PAD.right) / 2}" y="${H - 6}" text-anchor="middle">${escapeText(spec.x.label)}</text>`);
  parts.push(`<text class="name" transform="translate(20 ${(PAD.top + bottom) / 2}) rotate(-90)" text-anchor="middle">${escapeText(spec.y.label)}</text>`);
  return parts.join("");
}

function path(points, sx, sy) {
  let text = "";
  let pen = "M";
  for (const [x, y] of points) {
    if (!Number.isFinite(x) || !Number.isFinite(y)) { pen = "M"; continue; }
    text += `${pen}${sx(x).toFixed(1)} ${Math.max(-1e4, Math.min(1e4, sy(y))).toFixed(1)}`;
    pen = "L";
  }
  return text;
}

function draw(series, k, sx, sy, range, clip, spec) {
  const colour = `var(--c${(series.colour ?? k) % 7})`;
  const usable = (v) => Number.isFinite(v) && (!spec.y.log || v > 0);
  if (series.kind === "paths") {
    const each = series.data.map((points) => `<path class="thin" d="${path(points, sx, sy)}" stroke="${colour}"/>`);
    return `<g clip-path="url(#${clip})">${each.join("")}</g>`;
  }
  if (series.kind === "line") {
    return `<path class="line" clip-path="url(#${clip})" d="${path(series.data, sx, sy)}" stroke="${colour}" stroke-dasharray="${CHART_DASHES[(series.dash ?? k) % 5]}"/>`;
  }
  return series.data.filter((p) => usable(p[1])).map(([x, y, low, high]) => {
    if (y > range.y1) return `<path d="M${sx(x)} ${PAD.top}l6 9h-12Z" fill="${colour}"><title>${number(y)}, above the chart</title></path>`;
    const bar = usable(high) && Number.isFinite(low)
      ? `<path class="bar" stroke="${colour}" d="M${sx(x)} ${sy(Math.max(low, range.y0))}V${Math.max(PAD.top, sy(high))}"/>` : "";
    return bar + mark(MARKS[(series.mark ?? k) % 5], sx(x), sy(y), `fill="${colour}"`);
  }).join("");
}

function legend(series, top) {
  const beyond = series.some((s) => s.kind === "points" && s.data.some((p) => p[1] > top));
  const items = series.filter((s) => s.name).map((s, i) => {
    const k = series.indexOf(s);
    const colour = `var(--c${(s.colour ?? k) % 7})`;
    const sign = s.kind === "points"
      ? mark(MARKS[(s.mark ?? k) % 5], 17, 7, `fill="${colour}"`)
      : `<line x1="1" x2="33" y1="7" y2="7" stroke="${colour}" stroke-width="${s.kind === "paths" ? 1 : 3}" stroke-dasharray="${s.kind === "line" ? CHART_DASHES[(s.dash ?? k) % 5] : ""}"/>`;
    return `<li><svg width="34" height="14" aria-hidden="true">${sign}</svg> ${escapeText(s.name)}</li>`;
  });
  if (beyond) items.push('<li><svg width="34" height="14" aria-hidden="true"><path d="M17 2l6 9h-12Z" fill="currentColor"/></svg> at the top edge: above the chart</li>');
  return `<ul class="key-of-chart">${items.join("")}</ul>`;
}
