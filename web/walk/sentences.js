/** The sentence of each moment of a walk: which numbers it names. */

import { readable, total } from "../trace.js";
import { lengthOf, meanOf, spreadOf } from "./steps.js";

/** @typedef {import("./steps.js").Key} Key */

/**
 * Where the walk is, beside its numbers.
 *
 * @typedef {object} At
 * @property {boolean} writes
 * @property {string} read
 * @property {string} next
 * @property {boolean} label
 * @property {number} layer
 * @property {number} head
 * @property {boolean} additive
 * @property {boolean} recurrence
 * @property {boolean} cosine
 * @property {boolean} linear
 * @property {boolean} cross
 * @property {boolean} gaps
 * @property {number | null} gate
 * @property {boolean} luong
 * @property {boolean} direct
 * @property {boolean} same
 * @property {boolean} more
 * @property {string} part
 * @property {boolean} memory
 */

/**
 * A walk with these vectors, and the like.
 *
 * @template {keyof Walked} N
 * @typedef {Walked & { [M in N]: NonNullable<Walked[M]> }} With
 */

/**
 * The numbers of each operation, what finds them, and what makes its sentence of them.
 *
 * @typedef {{ [N in keyof typeof FACTS]: ReturnType<(typeof FACTS)[N]> }} Said
 * @typedef {{ [N in keyof Said]: (walk: With<keyof Walked>, at: At, key: Key) => Said[N] }} Facts
 * @typedef {{ [N in keyof Said]: (said: Said[N]) => string }} Says
 */

/**
 * What a norm does with these numbers; `rms` is null where the mean is subtracted.
 *
 * @param {Vector} values @param {string} name
 */
function normed(values, name) {
  const rms = name === "RMSNorm" ? Math.sqrt(meanOf(values.map((value) => value * value))) : null;
  return { mean: meanOf(values), spread: spreadOf(values), rms, name };
}

/** The share of the weight that is summed up once this row is added. @param {Walked} walk @param {Key} key */
function sofar(walk, key) {
  return total(walk.rows.filter(({ i }) => i <= key.i).map(({ weight }) => weight));
}

/**
 * The numbers of one operation, by the names that the sentences use: for each what the walk has where there is such a moment.
 *
 * @satisfies {{ [op: string]: (walk: With<keyof Walked>, at: At, key: Key) => object }}
 */
const FACTS = {
  state: (/** @type {With<"state">} */ walk, at) => ({ ...at, width: walk.state.length, recurrent: Boolean(walk.known) }),
  input: (walk) => normed(walk.state, walk.facts.norm),
  query: (/** @type {Walked} */ walk, at) => ({ ...at, known: Boolean(walk.input), width: walk.input?.length, dim: walk.q.length, heads: walk.heads,
    biased: walk.facts?.biased ?? false, rotary: Boolean(walk.facts?.processes.some((name) => name.startsWith("Rotary"))) }),
  keys: (walk, at) => ({ ...at, count: walk.keys.length, shared: sharedBy(walk) }),
  products: (walk, at, key) => ({ ...at, name: key.name, product: key.product, dim: walk.q.length }),
  productsOthers: (walk) => ({ count: walk.others.length, least: Math.min(...walk.others.map(({ product }) => product)), most: Math.max(...walk.others.map(({ product }) => product)) }),
  scale: (walk) => ({ ...walk.best, scale: walk.scale, root: rootOf(walk.scale) }),
  cap: (walk) => ({ ...walk.best, cap: walk.facts.cap }),
  bias: (walk) => walk.best,
  mask: (walk) => ({ hidden: walk.keys.filter(({ hidden }) => hidden).length, count: walk.keys.length }),
  exp: (walk) => ({ top: walk.top, sum: walk.sum, sink: Number.isFinite(walk.sink) }),
  weights: (walk) => ({ ...walk.best, sum: walk.sum, redone: walk.redone, linear: walk.linear }),
  sum: (walk, _, key) => ({ name: key.name, weight: key.weight, sofar: sofar(walk, key), recurrence: walk.recurrence }),
  sumOthers: (walk) => ({ count: walk.others.length, weight: total(walk.others.map(({ weight }) => weight)), sofar: total(walk.keys.map(({ weight }) => weight)) }),
  result: (walk) => ({ ...walk.best, count: walk.keys.length, width: walk.z.length }),
  mixed: (walk, at) => ({ ...at, heads: walk.heads, width: walk.mixed.length }),
  output: (walk) => ({ width: walk.output.length, length: lengthOf(walk.output), biased: walk.facts.biased, recurrence: walk.recurrence }),
  residual: (/** @type {With<"state" | "output" | "sum2">} */ walk) => ({ a: walk.state[0], b: walk.output[0], c: walk.sum2[0], gate: walk.gate }),
  norm: (/** @type {With<"sum2" | "facts">} */ walk, at) => ({ ...at, ...normed(walk.sum2, walk.facts.norm), cross: at.cross && !walk.fed }),
  hidden: (walk) => ({ width: walk.hidden.length, active: walk.hidden.filter((value) => value > 0).length }),
  fed: (walk) => ({ width: walk.fed.length, length: lengthOf(walk.fed) }),
  fedSum: (walk) => ({ a: walk.stream[0], b: walk.fed[0], c: walk.fedSum[0] }),
  fedNormed: (walk) => normed(walk.fedSum, walk.facts.norm),
  cell: (walk, at) => ({ ...at, context: walk.z.length, word: walk.word.length, width: walk.after.length }),
  known: (walk) => ({ width: walk.known.length, parts: Math.round((walk.known.length - walk.after.length - walk.z.length) / walk.word.length) + 2 }),
  shown: (walk) => ({ width: walk.shown.length }),
  logits: (walk, at) => ({ ...walk.prediction.entries[0], token: readable(walk.prediction.entries[0].token),
    count: walk.prediction.count, pooled: walk.prediction.pooled, gaps: at.gaps }),
  next: (walk) => nextOf(walk.prediction),
  end: (_, at) => at,
};

/** The heads that have the keys of the walk's head, counted from 1; null if it has keys of its own. @param {Walked} walk */
function sharedBy({ facts, head }) {
  const sharing = facts?.sharing ?? 1;
  const first = head - (head % sharing) + 1;
  return sharing > 1 ? { sharing, first, last: first + sharing - 1 } : null;
}

/** The number of which the scale is one over the square root; null if it is no whole one. @param {number} scale */
function rootOf(scale) {
  const root = 1 / (scale * scale);
  return Math.abs(root - Math.round(root)) < 1e-3 ? Math.round(root) : null;
}

/** @param {NonNullable<Walked["prediction"]>} prediction */
function nextOf({ entries, step, logZ }) {
  const [first] = entries;
  const same = first.token === step.token;
  return { ...first, token: readable(first.token), logZ, written: same ? null : readable(step.token),
    writtenProbability: Math.exp(step.log_probability) };
}

/**
 * The sentence of a moment, in the page's language.
 *
 * @param {Words} words @param {Walked} walk @param {{ op: string, key: Key | "others" | null }} moment @param {At} at
 */
export function sentence(words, walk, { op, key }, at) {
  const name = /** @type {keyof Said} */ (key === "others" ? `${op}Others` : op);
  return said(words.walkSays, name, /** @type {With<keyof Walked>} */ (walk), at, /** @type {Key} */ (key));
}

/**
 * @template {keyof Said} N
 * @param {Says} says
 * @param {N} name
 * @param {With<keyof Walked>} walk
 * @param {At} at
 * @param {Key} key
 */
function said(says, name, walk, at, key) {
  return says[name](/** @type {Facts} */ (FACTS)[name](walk, at, key));
}
