// Numbers and times as people read them.

export function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return "∞";
  const size = Math.abs(value);
  if (size >= 1e9 || (size > 0 && size < 1e-3)) return value.toExponential(2);
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(digits)));
}

const UNITS = [[3 * 86400, 86400, "days"], [3 * 3600, 3600, "h"], [180, 60, "min"], [0, 1, "s"]];

/** The unit in which a stretch of time is easy to read: {scale, name}. */
export function timeUnit(seconds) {
  const [, scale, name] = UNITS.find(([least]) => seconds >= least);
  return { scale, name };
}

export function asTime(seconds) {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "–";
  const { scale, name } = timeUnit(Math.abs(seconds));
  return `${number(seconds / scale)} ${name}`;
}

/** Round steps for an axis from 0 to `end`, about `count` of them. */
export function ticks(end, count = 6) {
  if (!(end > 0)) return [0];
  const rough = end / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((s) => s * power >= rough) * power;
  const found = [];
  for (let i = 0; i * step <= end * (1 + 1e-9); i++) found.push(i * step);
  return found;
}
