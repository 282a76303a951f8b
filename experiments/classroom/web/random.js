// Random numbers with a seed, so that the same button press after the same seed shows the same run.

export class Random {
  constructor(seed) { this.state = seed >>> 0; }

  /** 32 bits (mulberry32). */
  bits() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  }

  /** Uniform in (0, 1). */
  uniform() { return ((this.bits() >>> 5) * 67108864 + (this.bits() >>> 6) + 0.5) / 9007199254740992; }

  exponential(mean = 1) { return -mean * Math.log(this.uniform()); }

  /** Of mean 1: deterministic, exponential, or hyperexponential with balanced means. */
  ofCv2(cv2) {
    if (cv2 === 0) return 1;
    if (cv2 <= 1) return this.exponential();
    const p = (1 + Math.sqrt((cv2 - 1) / (cv2 + 1))) / 2;
    return this.uniform() < p ? this.exponential(1 / (2 * p)) : this.exponential(1 / (2 * (1 - p)));
  }

  /** Bounded Pareto. */
  pareto(law) {
    const kept = 1 - (law.low / law.high) ** law.alpha;
    return law.low * (1 - this.uniform() * kept) ** (-1 / law.alpha);
  }
}
