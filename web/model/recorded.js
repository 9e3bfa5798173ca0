/** What the engine computed for one input, as the parts of a trace that the views read. */

import { strip } from "./tokenizer.js";

/**
 * @typedef {import("./text_tokenizer.js").TextTokenizer} TextTokenizer
 * @typedef {import("./engine.js").Engine} Engine
 * @typedef {import("./engine.js").Seen} Seen
 * @typedef {import("./engine.js").Found} Found
 */

/**
 * The tokens with their words; START and END belong to none.
 *
 * @param {TextTokenizer} tokenizer @param {number[]} ids @param {number[]} before @param {number[]} after
 * @returns {Axis}
 */
export function textAxis(tokenizer, ids, before, after) {
  const words = tokenizer.words(ids);
  /** @type {number[][]} */
  const groups = [];
  words.forEach((word, i) => (groups[word] ??= []).push(ids[i]));
  return {
    tokens: tokenizer.names([...before, ...ids, ...after]),
    words: [...before.map(() => null), ...words, ...after.map(() => null)],
    texts: groups.map((group) => strip(tokenizer.decode(group)) || "⏎"),
    grid: null,
    parents: null,
  };
}

/**
 * The mask of a self-attention, as bits: with look-ahead a query sees the keys up to its own place, and
 * with a window only those that are nearer than it; `window` 0: all.
 *
 * @param {number} length @param {boolean} lookAhead @param {number} [window]
 * @returns {RawArray}
 */
function permitted(length, lookAhead, window) {
  const bits = new Uint8Array(Math.ceil((length * length) / 8));
  const reach = window || length;
  for (let query = 0; query < length; query++) {
    const end = lookAhead ? query + 1 : Math.min(length, query + reach);
    for (let key = Math.max(0, query - reach + 1); key < end; key++)
      bits[(query * length + key) >> 3] |= 128 >> ((query * length + key) & 7);
  }
  return { shape: [length, length], type: "bits", data: bits };
}

/** @param {number[]} shape @param {Float32Array} values @returns {RawArray} */
export const packed = (shape, values) => ({ shape, type: "f32", data: new Uint8Array(values.buffer) });

/**
 * (positions, own heads, dim) as (heads, positions, dim): a head of keys may serve several of queries.
 *
 * @param {Float32Array} values @param {number} heads @param {number} own @param {number} positions @param {number} dim
 */
function byHeads(values, heads, own, positions, dim) {
  const out = new Float32Array(heads * positions * dim);
  for (let head = 0; head < heads; head++) {
    const from = Math.floor(head / (heads / own)) * dim;
    for (let at = 0; at < positions; at++)
      out.set(values.subarray(at * own * dim + from, at * own * dim + from + dim), (head * positions + at) * dim);
  }
  return packed([heads, positions, dim], out);
}

/**
 * The queries, keys and values of one layer.
 *
 * @param {Float32Array} vectors @param {number} layer @param {Engine} engine @param {number} rows @param {number} columns
 */
function vectorsOf(vectors, layer, { heads, kvHeads, headDim, valueDim }, rows, columns) {
  const sizes = [rows * heads * headDim, columns * kvHeads * headDim, columns * kvHeads * valueDim];
  const start = layer * (sizes[0] + sizes[1] + sizes[2]);
  const at = [start, start + sizes[0], start + sizes[0] + sizes[1]];
  const part = (/** @type {number} */ i) => vectors.subarray(at[i], at[i] + sizes[i]);
  return {
    query: byHeads(part(0), heads, heads, rows, headDim),
    key: byHeads(part(1), heads, kvHeads, columns, headDim),
    value: byHeads(part(2), heads, kvHeads, columns, valueDim),
  };
}

/**
 * The attention modules of one part, with the weights of all their heads, and what these were made of.
 *
 * @param {"encoder" | "decoder" | "cross"} part
 * @param {Engine} engine
 * @param {[axis: string, count: number]} queriesOf
 * @param {[axis: string, count: number]} keysOf
 * @param {Seen} seen
 * @param {AttentionFacts} facts
 * @returns {RawSite[]}
 */
export function sitesOf(part, engine, [queries, rows], [keys, columns], { weights, vectors }, { score, scale, recomputed, windows, names = {} }) {
  const { heads } = engine;
  const stack = part === "encoder" ? "encoder" : "decoder";
  const module = part === "cross" ? "cross_attention" : "self_attention";
  const size = heads * rows * columns;
  const window = (/** @type {number} */ layer) => (part === "cross" ? 0 : windows?.[part]?.[layer]);
  return Array.from({ length: engine[`${part}Layers`] }, (_, layer) => ({
    name: (names[part] ?? `${stack}.blocks.#.${module}`).replace("#", `${layer}`),
    kind: score, part, layer, queries, keys, scale, residual_gate: null,
    arrays: {
      weights: packed([heads, rows, columns], weights[part].slice(layer * size, (layer + 1) * size)),
      ...(recomputed ? vectorsOf(vectors[part], layer, engine, rows, columns) : {}),
      ...(part === "decoder" || window(layer)
        ? { allowed: permitted(rows, part === "decoder", window(layer)) }
        : {}),
    },
  }));
}

/**
 * The prediction of each of these tokens, and the alternatives.
 *
 * @param {TextTokenizer} tokenizer @param {number[]} tokens @param {Found} found
 * @returns {Step[]}
 */
export function stepsOf(tokenizer, tokens, { logProbabilities, best }) {
  return tokens.map((token, step) => ({
    token: tokenizer.pieces[token],
    log_probability: logProbabilities[step],
    best: best[step].map(([one, value]) => [tokenizer.pieces[one], value]),
    gate: null,
  }));
}
