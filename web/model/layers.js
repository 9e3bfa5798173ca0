/** Layers beside the engine's blocks: systems/in_page/layers.py says where their weights are. */

/** @typedef {import("./engine.js").Engine} Engine */

const EPSILON = 1e-5; // of torch's norms
const PANEL = 64;
const panelled = (/** @type {number} */ count) => Math.ceil(count / PANEL) * PANEL;

/**
 * Rows of inputs through a layer of the engine.
 *
 * @param {Engine} engine @param {StoredLayer} layer @param {number} count @param {Float32Array} rows
 */
export function linear(engine, { layer, inputs, outputs }, count, rows) {
  const [width, wide] = [panelled(inputs), panelled(outputs)];
  const filled = new Float32Array(count * width);
  for (let row = 0; row < count; row++) filled.set(rows.subarray(row * inputs, (row + 1) * inputs), row * width);
  const { take, free } = engine.taking();
  try {
    const [given, out] = [take(Float32Array, filled), take(Float32Array, count * wide)];
    engine.code.jumok_linear(engine.base + layer, count, given, out);
    const found = engine.read(Float32Array, out, count * wide);
    const values = new Float32Array(count * outputs);
    for (let row = 0; row < count; row++) values.set(found.subarray(row * wide, row * wide + outputs), row * outputs);
    return values;
  } finally {
    free();
  }
}

/** The mean of numbers, and what makes their standard deviation 1. @param {Float32Array} numbers */
export function measures(numbers) {
  let [sum, squares] = [0, 0];
  for (const number of numbers) sum += number;
  const mean = sum / numbers.length;
  for (const number of numbers) squares += (number - mean) ** 2;
  return { mean, scale: 1 / Math.sqrt(squares / numbers.length + EPSILON) };
}

/** The mean of `count` rows of numbers that stand one after the other. @param {Float32Array} rows @param {number} count */
export function meanOf(rows, count) {
  const width = rows.length / count;
  const sums = new Float64Array(width);
  rows.forEach((value, i) => (sums[i % width] += value));
  return Float32Array.from(sums, (sum) => sum / count);
}

export const positive = (/** @type {Float32Array} */ numbers) => numbers.map((value) => Math.max(0, value));
