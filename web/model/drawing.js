/** Which token follows: the most probable one, or a sample. */

/** Uniform numbers from 0 to 1, the same for the same seed (mulberry32, by T. Ettinger). @param {number} seed */
export function uniforms(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The most probable token, of equals the first; -1: none has a probability. @param {Float32Array} logs */
export function largest(logs) {
  let best = -1;
  for (let i = 0; i < logs.length; i++) if (logs[i] > (best < 0 ? -Infinity : logs[best])) best = i;
  return best;
}

/**
 * The probabilities of the tokens after the temperature, of which only the `topK` largest stay, of equals the first
 * (0: all): decoding/sampling.py.
 *
 * @param {Float32Array} logs @param {number} temperature @param {number} topK
 */
export function shares(logs, temperature, topK) {
  const scores = logs.map((value) => value / Math.fround(temperature));
  const most = scores[largest(scores)];
  const kept = topK > 0 && topK < scores.length
    ? new Set(Array.from(scores.keys()).sort((a, b) => scores[b] - scores[a] || a - b).slice(0, topK)) : null;
  const powers = Float64Array.from(scores, (score, i) => (kept && !kept.has(i) ? 0 : Math.exp(score - most)));
  const sum = powers.reduce((all, each) => all + each, 0);
  return powers.map((power) => power / sum);
}

/**
 * A token with these probabilities, by the sum of them that a uniform number is below.
 *
 * @param {Float64Array} probabilities @param {number} uniform
 */
export function drawn(probabilities, uniform) {
  let last = -1;
  let sum = 0;
  for (let i = 0; i < probabilities.length; i++) {
    if (!probabilities[i]) continue;
    sum += probabilities[i];
    last = i;
    if (uniform < sum) break;
  }
  return last;
}
