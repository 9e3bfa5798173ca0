/**
 * Weights that the page has as steps beside those of the softmax of their products. The steps are the same as
 * in `jumok/inspection/page/arrays.py`, which explains how: so every operation and its order are.
 */

import { apartOf, shared, stepsOf } from "./arrays.js";

const [ONE_LN2, LN2, TERMS, DEEPEST] = [1.4426950408889634, 0.6931471805599453, 12, 60];
const STEPS = 65535;

/**
 * e to the power of a number that is not above 0.
 *
 * @param {number} under
 */
function exponential(under) {
  const whole = Math.floor(under * ONE_LN2 + 0.5);
  if (whole < -DEEPEST) return 0;
  const rest = under - whole * LN2;
  let series = 1;
  for (let term = TERMS; term > 0; term--) series = 1 + (rest * series) / term;
  return series * 2 ** whole;
}

/**
 * Whole numbers, and for each row the exponent of the power of two that they count.
 *
 * @typedef {{ items: Int16Array, powers: Int8Array }} Steps
 */

/**
 * The scaled products of one query with the keys; -Infinity where the mask forbids it. Returns the largest.
 *
 * @param {Site} site
 * @param {Steps} query
 * @param {Steps} key
 * @param {number} width of a query
 * @param {number} head
 * @param {number} row
 * @param {Float64Array} out
 */
function scoresOf(site, query, key, width, head, row, out) {
  const { rows } = site;
  const scale = /** @type {number} */ (site.scale); // other weights are sent as they are
  const start = (head * rows + row) * width;
  let highest = -Infinity;
  for (let column = 0; column < site.columns; column++) {
    if (!site.allows(row, column)) {
      out[column] = -Infinity;
      continue;
    }
    const at = head * site.columns + column;
    let product = 0;
    for (let i = 0; i < width; i++) product += query.items[start + i] * key.items[at * width + i];
    out[column] = product * 2 ** (query.powers[head * rows + row] + key.powers[at]) * scale;
    if (out[column] > highest) highest = out[column];
  }
  return highest;
}

/**
 * The recorded weights of all heads: (heads query key).
 *
 * @param {Site} site
 */
export function recordedWeights(site) {
  const { weights, query: queries, key: keys } = site.raw;
  if (!queries || !keys) throw new Error(`${site.name} has no vectors that its weights follow from`);
  const steps = apartOf(weights);
  const [query, key] = [stepsOf(queries), stepsOf(keys)];
  const found = new Uint16Array(steps.length);
  const row = new Float64Array(site.columns);
  for (let head = 0, at = 0; head < site.heads; head++) {
    for (let r = 0; r < site.rows; r++, at += site.columns) {
      const highest = scoresOf(site, query, key, queries.shape[2], head, r, row);
      let sum = 0;
      for (let c = 0; c < site.columns; c++) {
        row[c] = row[c] === -Infinity ? 0 : exponential(row[c] - highest);
        sum += row[c];
      }
      for (let c = 0; c < site.columns; c++) found[at + c] = steps[at + c] + (sum > 0 ? Math.floor((row[c] / sum) * STEPS + 0.5) : 0);
    }
  }
  return shared(found, STEPS);
}
