// The formulas of simulator.theory that the panels use; each is tested against it to 1e-9.
// Times in any unit, rates in its inverse; first come first served unless named otherwise.

export function erlangB(load, servers) {
  let blocked = 1;
  for (let c = 1; c <= servers; c++) blocked = load * blocked / (c + load * blocked);
  return blocked;
}

export function erlangC(load, servers) {
  if (load >= servers) return NaN;
  const blocked = erlangB(load, servers);
  return blocked / (1 - load / servers * (1 - blocked));
}

export function mmcMeanWait(rate, mean, servers) {
  const load = rate * mean;
  return load < servers ? erlangC(load, servers) * mean / (servers - load) : Infinity;
}

export function mmcWaitExceeds(rate, mean, servers, t) {
  const load = rate * mean;
  return erlangC(load, servers) * Math.exp(-(servers - load) * t / mean);
}

/** Mean number in an M/M/1 at ascending times after an empty start: uniformisation. */
export function mm1MeanNumberAt(rate, mean, times) {
  const pace = rate + 1 / mean;
  const up = rate / pace;
  const down = 1 - up;
  const longest = pace * times.reduce((a, b) => Math.max(a, b), 0);
  const jumps = Math.floor(longest + 10 * Math.sqrt(longest) + 20);
  let state = new Float64Array(jumps + 2);
  state[0] = 1;
  const means = new Float64Array(jumps + 1);
  for (let n = 0; n <= jumps; n++) {
    const moved = new Float64Array(jumps + 2);
    let sum = 0;
    for (let i = 0; i <= Math.min(n, jumps); i++) {
      sum += i * state[i];
      moved[i + 1] += up * state[i];
      moved[i > 0 ? i - 1 : 0] += down * state[i];
    }
    means[n] = sum;
    state = moved;
  }
  return times.map((t) => poissonMean(pace * t, means));
}

/** Sum of poisson(n; mean) value[n], from the mode outwards. */
function poissonMean(mean, values) {
  if (mean === 0) return values[0];
  const mode = Math.min(values.length - 1, Math.floor(mean));
  const weights = new Float64Array(values.length);
  weights[mode] = 1;
  for (let n = mode; n > 0 && weights[n] > 1e-300; n--) weights[n - 1] = weights[n] * n / mean;
  for (let n = mode; n + 1 < values.length && weights[n] > 1e-300; n++) weights[n + 1] = weights[n] * mean / (n + 1);
  let total = 0;
  let sum = 0;
  weights.forEach((w, n) => { total += w; sum += w * values[n]; });
  return sum / total;
}

/** A law of the given mean: deterministic, exponential, or hyperexponential with balanced means. */
export function lawOf(cv2, mean = 1) {
  if (cv2 === 0) return { mean, second: mean * mean, weights: null };
  const p = cv2 > 1 ? (1 + Math.sqrt((cv2 - 1) / (cv2 + 1))) / 2 : 1;
  const weights = cv2 > 1 ? [p, 1 - p] : [1];
  const means = cv2 > 1 ? [mean / (2 * p), mean / (2 * (1 - p))] : [mean];
  const second = weights.reduce((sum, w, i) => sum + 2 * w * means[i] ** 2, 0);
  return { mean, second, weights, means };
}

/** Pollaczek-Khinchine. */
export function mg1MeanWait(rate, law) {
  const load = rate * law.mean;
  return load < 1 ? rate * law.second / (2 * (1 - load)) : Infinity;
}

function laplaceOf(law, re, im) {
  if (law.weights === null) {
    const size = Math.exp(-re * law.mean);
    return [size * Math.cos(im * law.mean), -size * Math.sin(im * law.mean)];
  }
  let [a, b] = [0, 0];
  law.weights.forEach((w, i) => {
    const [x, y] = [1 + re * law.means[i], im * law.means[i]];
    a += w * x / (x * x + y * y);
    b -= w * y / (x * x + y * y);
  });
  return [a, b];
}

const BINOMIAL = (() => {
  const row = [1];
  for (let k = 1; k <= 16; k++) row.push(row[k - 1] * (17 - k) / k);
  return row.map((v) => v / 65536);
})();

/** P(wait > t), M/G/1: the transform inverted by Euler's method (Abate and Whitt 1995). */
export function mg1WaitExceeds(rate, law, t) {
  const load = rate * law.mean;
  if (t <= 0) return t < 0 ? 1 : load;
  const A = 18.4;
  let sum = 0;
  let value = 0;
  for (let k = 0; k <= 56; k++) {
    const [re, im] = [A / (2 * t), Math.PI * k / t];
    const [la, lb] = laplaceOf(law, re, im);
    // (1 - (1 - load) s / (s - rate (1 - L(s)))) / s
    const [da, db] = [re - rate * (1 - la), im + rate * lb];
    const d2 = da * da + db * db;
    const [wa, wb] = [(1 - load) * (re * da + im * db) / d2, (1 - load) * (im * da - re * db) / d2];
    const s2 = re * re + im * im;
    const real = ((1 - wa) * re - wb * im) / s2;
    sum += (k ? 1 : 0.5) * (k % 2 ? -real : real);
    if (k >= 40) value += BINOMIAL[k - 40] * sum;
  }
  return Math.min(load, Math.max(0, Math.exp(A / 2) / t * value));
}

export function mg1WaitQuantile(rate, law, q) {
  const load = rate * law.mean;
  if (!(load < 1)) return Infinity;
  if (q <= 1 - load) return 0;
  let high = mg1MeanWait(rate, law);
  while (mg1WaitExceeds(rate, law, high) > 1 - q) high *= 2;
  let low = 0;
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (mg1WaitExceeds(rate, law, middle) > 1 - q) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Mean responses of classes, the most urgent first: Cobham; with preemption Kleinrock. */
export function mg1PriorityResponse(rates, laws, preemptive) {
  let upto = 0;
  let residual = 0;
  const whole = rates.reduce((sum, r, i) => sum + r * laws[i].second / 2, 0);
  return rates.map((r, i) => {
    const above = upto;
    upto += r * laws[i].mean;
    residual += r * laws[i].second / 2;
    const wait = (preemptive ? residual : whole) / ((1 - above) * (1 - upto));
    return wait + laws[i].mean / (preemptive ? 1 - above : 1);
  });
}

/** The same with preemption, for a job of size x: a mean response of each class. */
export function mg1PriorityResponseOfSize(rates, laws, x) {
  return mg1PriorityResponse(rates, laws, true).map((mean, i) => {
    const above = rates.slice(0, i).reduce((sum, r, k) => sum + r * laws[k].mean, 0);
    return mean + (x - laws[i].mean) / (1 - above);
  });
}

export function mg1PsResponse(rate, law, size = law.mean) { return size / (1 - rate * law.mean); }

/** Bounded Pareto of mean 1, the largest value `spread` times the least. */
export function paretoOf(alpha, spread) {
  const unit = { low: 1, high: spread, alpha };
  const low = 1 / paretoMoment(unit, 1, spread);
  const law = { low, high: low * spread, alpha };
  return { ...law, mean: paretoMoment(law, 1, law.high), second: paretoMoment(law, 2, law.high) };
}

/** E[X^k; X <= x]. */
export function paretoMoment(law, k, x) {
  if (x < law.low) return 0;
  const scale = law.alpha * law.low ** law.alpha / -Math.expm1(-law.alpha * Math.log(law.high / law.low));
  const span = Math.log(Math.min(x, law.high) / law.low);
  const d = k - law.alpha;
  return scale * law.low ** d * (d ? Math.expm1(d * span) / d : span);
}

const LEGENDRE = [
  [0.0950125098376374, 0.1894506104550685], [0.2816035507792589, 0.1826034150449236],
  [0.4580167776572274, 0.1691565193950025], [0.6178762444026438, 0.1495959888165767],
  [0.7554044083550030, 0.1246289712555339], [0.8656312023878318, 0.0951585116824928],
  [0.9445750230732326, 0.0622535239386479], [0.9894009349916499, 0.0271524594117541],
];

/** Integral over positive numbers, by Gauss-Legendre on panels of the logarithm. */
export function integrate(f, low, high, panels = 64) {
  if (high <= low) return 0;
  const from = Math.log(low);
  const half = (Math.log(high) - from) / panels / 2;
  let sum = 0;
  for (let k = 0; k < panels; k++) {
    const centre = from + (2 * k + 1) * half;
    for (const [x, w] of LEGENDRE) {
      for (const sign of [-1, 1]) {
        const v = Math.exp(centre + sign * half * x);
        sum += w * f(v) * v;
      }
    }
  }
  return sum * half;
}

/** Shortest remaining first, bounded Pareto sizes: mean response of jobs of one size (Schrage, Miller). */
export function srptResponseOfSize(rate, law, x) {
  const upto = (t) => rate * paretoMoment(law, 1, t);
  const work = paretoMoment(law, 2, x) + x * x * (1 - paretoMoment(law, 0, x));
  const wait = rate * work / (2 * (1 - upto(x)) ** 2);
  const top = Math.min(x, law.high);  // above it all work is served first, and the integrand is constant
  const below = Math.min(x, law.low) + integrate((t) => 1 / (1 - upto(t)), law.low, top);
  return wait + below + (x - top) / (1 - upto(x));
}

/** The same averaged over all sizes. */
export function srptResponse(rate, law) {
  const upto = (t) => rate * paretoMoment(law, 1, t);
  const scale = law.alpha * law.low ** law.alpha / -Math.expm1(-law.alpha * Math.log(law.high / law.low));
  const wait = integrate((x) => {
    const work = paretoMoment(law, 2, x) + x * x * (1 - paretoMoment(law, 0, x));
    return scale * x ** (-law.alpha - 1) * rate * work / (2 * (1 - upto(x)) ** 2);
  }, law.low, law.high);
  return wait + law.low + integrate((t) => (1 - paretoMoment(law, 0, t)) / (1 - upto(t)), law.low, law.high);
}

export function kingmanBound(rate, gapsCv2, mean, serviceCv2) {
  const load = rate * mean;
  return rate * (gapsCv2 / rate ** 2 + serviceCv2 * mean ** 2) / (2 * (1 - load));
}

/** Allen and Cunneen's approximation; with one server Kingman's. */
export function ggcMeanWait(rate, gapsCv2, mean, serviceCv2, servers = 1) {
  return mmcMeanWait(rate, mean, servers) * (gapsCv2 + serviceCv2) / 2;
}

/** M/G/inf in the long run: probability of n in service. */
export function mginfNumber(load, n) {
  let log = -load;
  for (let k = 1; k <= n; k++) log += Math.log(load / k);
  return Math.exp(log);
}

/**
 * The rental paper's Figure 1: widths of both types at a budget of b GPUs on average, and the mean
 * response, h. Two types of 0.4 jobs an hour and 1 h on one GPU: Amdahl's law with 0.8 parallel, and
 * the square root.
 */
export function rentalPlan(b) {
  if (!(b > 0.8)) return null;
  const amdahl = b >= 0.88 ? (b - 0.32) / 0.28 : (b - 0.72) / 0.08;
  const root = b >= 0.88 ? amdahl ** 2 / 4 : 1;
  const response = 0.5 * (0.2 + 0.8 / amdahl) + 0.5 / Math.sqrt(root);
  return { amdahl, root, response };
}

/** Half the mean square over the mean: how long one still waits who comes at any moment. */
export function inspectedWait(law) { return law.second / (2 * law.mean); }

/** Observations to drop at the start of a run (MSER-5). */
export function mser5(values) {
  const count = Math.floor(values.length / 5);
  const means = Array.from({ length: count }, (_, i) => values.slice(5 * i, 5 * i + 5).reduce((a, b) => a + b, 0) / 5);
  const centre = means.reduce((a, b) => a + b, 0) / count;
  let [sum, squares, best, cut] = [0, 0, Infinity, 0];
  const errors = new Float64Array(count);
  for (let i = count - 1; i >= 0; i--) {
    sum += means[i] - centre;
    squares += (means[i] - centre) ** 2;
    const left = count - i;
    errors[i] = (squares - sum * sum / left) / (left * left);
  }
  for (let i = 0; i <= Math.floor(count / 2); i++) if (errors[i] < best) { best = errors[i]; cut = i; }
  return 5 * cut;
}
