/**
 * The walk of one query as numbers: everything that is shown is recorded, or follows from what is recorded
 * by one operation that can be redone by hand. And the walk as moments, one after the other.
 */

import { Packed } from "../arrays.js";
import { largest } from "../maps.js";
import { readable, total } from "../trace.js";
import { terms } from "../views/row.js";

/** @type {WeakMap<RawArray, Packed>} */
const unpacked = new WeakMap();

/**
 * An operation, a moment of it, and a stage of the path.
 *
 * @typedef {"state" | "input" | "query" | "keys" | "products" | "scale" | "cap" | "bias" | "mask" | "exp" | "weights" | "sum"
 *   | "cell" | "known" | "shown" | "mixed" | "output" | "residual" | "norm" | "hidden" | "fed" | "fedSum" | "fedNormed"
 *   | "logits" | "next" | "end"} Op
 * @typedef {{ op: Op, key: Key | "others" | null, sweep: number, hold: number }} Moment
 * @typedef {keyof Words["walkStages"]} Stage
 * @typedef {ReturnType<typeof keysOf>["keys"][number]} Key
 */

const SHOWN = 8; // keys that get a row of their own; the others are added up in one

/**
 * A recorded vector of a query; null where the page does not hold it.
 *
 * @param {Trace} trace
 * @param {Site} site
 * @param {number} query
 * @returns {(name: string) => Float32Array | null}
 */
function heldIn(trace, site, query) {
  const one = trace.walk?.sites[site.name];
  const at = one ? one.queries.indexOf(query) : -1;
  return (name) => {
    const raw = !one || at < 0 ? null : one.arrays[name];
    if (!raw) return null;
    const width = raw.shape[1];
    const found = unpacked.get(raw) ?? new Packed(raw);
    unpacked.set(raw, found);
    return found.window(at * width, (at + 1) * width);
  };
}

/**
 * Whether the page holds what surrounds the attention of this query.
 *
 * @param {Trace} trace @param {Site} site @param {number} query
 */
export function isHeld(trace, site, query) {
  return Boolean(trace.walk?.sites[site.name]?.queries.includes(query));
}

/**
 * For how many queries of a site the page holds it.
 *
 * @param {Trace} trace @param {Site} site
 */
export function heldCount(trace, site) {
  return trace.walk?.sites[site.name]?.queries.length ?? 0;
}

/** @param {Vector} a @param {Vector} b */
export function added(a, b, factor = 1) {
  return a.map((value, i) => value + factor * b[i]);
}

/** @param {Vector} values */
export function lengthOf(values) {
  return Math.sqrt(total([...values].map((value) => value * value)));
}

/** @param {number[] | Vector} values */
export function meanOf(values) {
  return total([...values]) / values.length;
}

/** The standard deviation over all numbers, as layer normalization computes it. @param {Vector} values */
export function spreadOf(values) {
  const mean = meanOf(values);
  return Math.sqrt(meanOf(Array.from(values, (value) => (value - mean) ** 2)));
}

/**
 * The keys of one query, with every number on the way from the products to the weights; if they cannot be `redone`,
 * there are no products.
 *
 * @param {Site} site @param {RawSiteWalk | undefined} facts @param {number} head @param {number} query
 */
function keysOf(site, facts, head, query) {
  const q = site.vector("query", head, query);
  const recorded = site.matrix(head, "weights");
  const bias = site.array("bias")?.values;
  const scale = site.scale ?? facts?.scale ?? null;
  const linear = site.kind === "linear";
  const redone = scale !== null || linear;
  const keys = site.columnTokens.map((token, i) => {
    const k = site.vector("key", head, i);
    const hidden = !site.allows(query, i);
    const products = redone ? terms(site, q, k) : new Float32Array();
    const product = total(products);
    const scaled = product * (scale ?? 1);
    const capped = facts?.cap ? facts.cap * Math.tanh(scaled / facts.cap) : scaled;
    const added = bias ? bias[(head * site.rows + query) * site.columns + i] : 0;
    const weight = recorded[query * site.columns + i];
    return {
      i, name: readable(token), k, v: site.vector("value", head, i), hidden, terms: products, product, scaled, capped, bias: added,
      score: hidden ? -Infinity : capped + added, shares: site.kind === "ssru" ? sharesIn(site, head, query, i, weight) : null, power: 0, weight,
    };
  });
  const sink = site.array("sink")?.values[head] ?? -Infinity;
  const top = redone ? Math.max(sink, ...keys.map(({ score }) => score)) : 0;
  const power = (/** @type {number} */ score) => (linear ? Math.max(score, 0) : Math.exp(score - top));
  keys.forEach((each) => { each.power = power(each.score); });
  const sum = total(keys.map((each) => each.power)) + (linear ? 0 : Math.exp(sink - top));
  if (redone) keys.forEach((each) => { each.weight = each.power / sum; });
  return { q, keys, scale, redone, linear, sink, top, sum };
}

/**
 * A weight of its own for each dimension of a word in the state of a recurrence: what let it in, times all forget
 * gates since. Their mean is the recorded weight, which may have been edited.
 *
 * @param {Site} site @param {number} head @param {number} query @param {number} key @param {number} recorded
 */
function sharesIn(site, head, query, key, recorded) {
  const shares = Float64Array.from(site.vector("key", head, key), (value) => (key > query ? 0 : value));
  for (let later = key + 1; later <= query; later++) site.vector("query", head, later).forEach((gate, i) => { shares[i] *= gate; });
  const mean = meanOf(shares);
  return mean > 0 ? shares.map((share) => (share * recorded) / mean) : shares;
}

/** What a key adds to the weighted sum. @param {Key} key */
export function givenBy({ v, weight, shares }) {
  return Float64Array.from(v, (value, i) => value * (shares ? shares[i] : weight));
}

/** The weighted sum of the values of one head. @param {Key[]} keys @param {number} width */
export function weighted(keys, width) {
  const out = new Float64Array(width);
  for (const key of keys) givenBy(key).forEach((value, i) => { out[i] += value; });
  return out;
}

/**
 * The sums of all heads side by side, by the recorded weights.
 *
 * @param {Site} site @param {number} query
 */
function sideBySide(site, query) {
  const width = site.known("value").shape[2];
  const out = new Float64Array(site.heads * width);
  for (let h = 0; h < site.heads; h++) {
    const weights = site.matrix(h, "weights");
    for (let key = 0; key < site.columns; key++) {
      const value = site.vector("value", h, key);
      const weight = weights[query * site.columns + key];
      for (let i = 0; i < width; i++) out[h * width + i] += weight * value[i];
    }
  }
  return out;
}

/**
 * The step whose prediction this query leads to; null if nothing is predicted from it.
 *
 * @param {Trace} trace @param {Site} site @param {number} query
 */
function predictionOf(trace, site, query) {
  const { steps, walk, findings } = trace;
  const lastLayer = Math.max(...trace.of(site.part).map(({ layer }) => layer));
  if (!steps.length || !walk?.normalizers || site.layer !== lastLayer) return null;
  const logZ = walk.normalizers;
  const parts = trace.parts();
  const final = parts.includes("cross") ? "cross" : parts[parts.length - 1];
  if (site.part !== final) return null;
  const gap = trace.kind.writes === "gaps" ? findings.gaps.indexOf(query) : query;
  const at = trace.kind.writes === "label" ? 0 : gap;
  const step = steps[at];
  if (!step || logZ[at] === undefined) return null;
  const entries = step.best.map(([token, logp]) => ({ token, logit: logp + logZ[at], probability: Math.exp(logp) }));
  return { at, step, entries, logZ: logZ[at], count: walk.entries, pooled: trace.kind.writes === "label" };
}

/**
 * Everything that the walk shows of one query in one head.
 *
 * @param {Trace} trace @param {Site} site @param {number} head @param {number} query
 */
export function walkOf(trace, site, head, query) {
  const facts = trace.walk?.sites[site.name];
  const held = heldIn(trace, site, query);
  const asked = keysOf(site, facts, head, query);
  const { keys } = asked;
  const [input, output, normed, fed, after, known] = ["input", "output", "normed", "fed", "after", "known"].map(held);
  // In Luong's order the new state asks; in Bahdanau's, the state before the step.
  const luong = Boolean(known && input && after && input.length === after.length && input.every((value, i) => value === after[i]));
  const state = luong ? after : held("state");
  const gate = site.residual_gate ?? null;
  const sum2 = state && output ? added(state, output, gate ?? 1) : null;
  const stream = facts?.post ? normed : sum2;
  const order = keys.map(({ i }) => i).sort((a, b) => keys[b].weight - keys[a].weight);
  // One key more than has room is not summed up: a row of its own takes no more room than the sum's.
  const few = keys.length <= SHOWN + 1 ? order : order.slice(0, SHOWN);
  const rows = few.sort((a, b) => a - b).map((i) => keys[i]);
  return {
    ...asked, facts, head, query, heads: site.heads, additive: Boolean(site.array("energy")),
    recurrence: site.kind === "ssru", z: weighted(keys, site.known("value").shape[2]),
    mixed: site.kind === "ssru" ? null : held("mixed") ?? (output ? sideBySide(site, query) : null),
    state, input, output, normed, fed, after, known, hidden: held("hidden"), word: held("word"), shown: held("shown"), fedNormed: held("fed_normed"),
    luong, gate, sum2, stream, fedSum: stream && fed ? added(stream, fed) : null,
    prediction: predictionOf(trace, site, query), rows, others: keys.filter((key) => !rows.includes(key)),
    best: keys[largest(keys.map(({ weight }) => weight))],
  };
}

/**
 * The moments of the walk: the operation, and the key where there is one for each.
 *
 * @param {Walked} walk @param {Site} site
 */
export function momentsOf(walk, site) {
  /** @type {Moment[]} */
  const moments = [];
  /** @param {Op} op @param {Moment["key"]} key */
  const add = (op, key = null, sweep = 900, hold = 2600) => moments.push({ op, key, sweep, hold });
  /** @param {Op} op @param {number} first @param {number} next */
  const each = (op, first, next) => {
    walk.rows.forEach((key, n) => add(op, key, n ? next : first, n ? 500 : 2200));
    if (walk.others.length) add(op, "others", next, 1500);
  };
  if (walk.state) add("state");
  if (walk.input && walk.facts?.norm && !walk.facts.post) add("input");
  add("query");
  add("keys");
  if (walk.redone) {
    each("products", 2600, 800);
    if (walk.scale !== null && walk.scale !== 1) add("scale");
    if (walk.facts?.cap) add("cap");
    if (site.array("bias")) add("bias");
    add("mask");
    if (!walk.linear) add("exp");
  }
  add("weights");
  each("sum", 1800, 800);
  if (walk.known) for (const op of /** @type {Op[]} */ (walk.luong ? ["known", "shown"] : ["cell", "known", "shown"])) add(op);
  if (walk.output) {
    for (const op of /** @type {Op[]} */ ([...(walk.mixed ? ["mixed"] : []), "output", "residual"])) add(op, null, 1500);
    if (walk.normed) add("norm");
  }
  if (walk.fed) {
    if (walk.hidden) add("hidden", null, 1500);
    for (const op of /** @type {Op[]} */ (["fed", "fedSum"])) add(op, null, 1500);
    add("fedNormed");
  }
  if (walk.prediction) for (const op of /** @type {Op[]} */ (["logits", "next"])) add(op);
  else if (walk.output) add("end");
  return moments;
}

/** @type {Record<Exclude<Stage, "weights">, Op[]>} */
const STAGES = {
  state: ["state", "input"], query: ["query"], keys: ["keys"], scores: ["products", "scale", "cap", "bias", "mask"],
  softmax: ["exp", "weights"], sum: ["sum"], cell: ["cell"], output: ["known", "shown", "mixed", "output", "residual"],
  norm: ["norm"], feed: ["hidden", "fed", "fedSum", "fedNormed"], logits: ["logits"], next: ["next"], end: ["end"],
};

/** The stage that an operation belongs to. @param {Op} op @param {Walked} walk @returns {Stage} */
export function stageOf(op, walk) {
  const [stage] = /** @type {[keyof typeof STAGES, Op[]][]} */ (Object.entries(STAGES)).filter(([, ops]) => ops.includes(op))[0];
  return stage === "softmax" && (walk.linear || !walk.redone) ? "weights" : stage;
}

/**
 * The stages in their order, each once: the parts of the path above the picture.
 *
 * @param {Moment[]} moments @param {Walked} walk
 */
export function stagesOf(moments, walk) {
  return [...new Set(moments.map(({ op }) => stageOf(op, walk)))];
}
