/**
 * Predictions with another temperature, top-k and top-p: of the recorded tokens, which are the most probable ones.
 *
 * The order is that of jumok.decoding.sampling: temperature, then top-k, then top-p. Of the tokens that were not
 * recorded only sums are known, and that none is more probable than the last recorded one. Where the result depends
 * on each of them, it is a range.
 */

const ALL = 1e-6; // the rest of a distribution is nothing if it is smaller

/** @typedef {{ temperature: number, topK: number, topP: number }} Options */

/**
 * The ranges [least, most] of the recorded tokens' probabilities.
 *
 * step: a trace's. topK: 0 permits all. `exact`: every range is one number.
 *
 * @param {Step} step
 * @param {Options} options
 */
export function chancesOf({ best, partitions = [] }, { temperature, topK, topP }) {
  const logs = best.map(([, log]) => log);
  const powers = logs.map((log) => Math.exp((log - logs[0]) / temperature)); // relative to the most probable
  const cut = topK > 0 && topK <= logs.length ? topK : 0;
  const rests = cut ? [0, 0] : restOf(logs, partitions[Math.round(10 * temperature) - 1], temperature);
  const kept = cut ? powers.map((power, i) => (i < cut ? power : 0)) : powers;
  const ends = rests.map((rest) => nucleus(kept, rest, topP));
  const between = steppedBetween(kept, ends[0].count, ends[1].count);
  const all = [...ends, ...between];
  const ranges = logs.map((_, i) => [Math.min(...all.map(({ low }) => low[i])), Math.max(...all.map(({ high }) => high[i]))]);
  const exact = ranges.every(([least, most]) => most - least < ALL);
  return { ranges, exact };
}

/** @param {number[]} values */
function sum(values) {
  return values.reduce((all, value) => all + value, 0);
}

/**
 * The least and the largest sum of the other tokens' powers. Where it was not recorded: as few tokens as can have their
 * probability, or infinitely many.
 *
 * @param {number[]} logs @param {number | undefined} partition @param {number} temperature
 */
function restOf(logs, partition, temperature) {
  const mass = Math.max(0, 1 - sum(logs.map(Math.exp)));
  if (mass < ALL) return [0, 0];
  const most = logs[0] / temperature;
  if (partition !== undefined) {
    const rest = Math.max(0, Math.exp(partition - most) - sum(logs.map((log) => Math.exp(log / temperature - most))));
    return [rest, rest];
  }
  const few = mass * Math.exp(logs[logs.length - 1] * (1 / temperature - 1) - most); // each as probable as the last one
  if (temperature === 1) return [few, few];
  return temperature < 1 ? [0, few] : [few, Infinity];
}

/**
 * The probabilities if the powers of the rest add up to `rest`; `count`: how many tokens top-p keeps, Infinity: the rest's, too.
 *
 * @param {number[]} powers @param {number} rest @param {number} topP
 */
function nucleus(powers, rest, topP) {
  const total = sum(powers) + rest;
  if (topP >= 1) return shares(powers, total, total, Infinity);
  let before = 0;
  for (let i = 0; i < powers.length; i++) {
    if (before >= topP * total || powers[i] === 0) return shares(powers.map((power, at) => (at < i ? power : 0)), before, before, i);
    before += powers[i];
  }
  if (before >= topP * total || rest === 0) return shares(powers, before, before, powers.length);
  // Others follow until the sum is reached: the last of them is at most as probable as the last recorded token.
  const most = Math.min(total, topP * total + powers[powers.length - 1]);
  return shares(powers, topP * total, most, Infinity);
}

/**
 * What each count of kept tokens between two gives: the largest value of a token is that where it is the last one kept.
 *
 * @param {number[]} powers @param {number} first @param {number} last
 */
function steppedBetween(powers, first, last) {
  const [from, to] = [first, last].map((count) => Math.min(count, powers.length)).sort((a, b) => a - b);
  return Array.from({ length: to - from }, (_, i) => {
    const kept = powers.map((power, at) => (at <= from + i ? power : 0));
    return shares(kept, sum(kept), sum(kept), from + i + 1);
  });
}

/** @param {number[]} powers @param {number} least @param {number} most @param {number} count */
function shares(powers, least, most, count) {
  return { low: powers.map((power) => (power && most === Infinity ? 0 : power / most)), high: powers.map((power) => (power && least === Infinity ? 0 : power / least)), count };
}
