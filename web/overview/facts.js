/** The numbers of the generated sentence: read from the recorded arrays, and nothing else. */

import { beforeCells } from "../picture.js";

/**
 * What one word paid to one key, and the effect that was measured.
 *
 * weight: the map's value. even: the key's weight if that of all tokens were equal; tokens: how many of them are the key's. rest: the weight that
 * went to no word. `effect`: what occlusion or ablation changed, or null if neither was computed.
 *
 * @param {Trace} trace @param {Site} site @param {AttentionMap} map @param {Chosen} state @param {{ row: number, column: number, top: number }} at @param {Head} head
 */
export function factsOf(trace, site, map, state, { row, column, top }, head) {
  const width = map.columns.length;
  const { grid } = trace.axes[site.keys];
  const cell = grid ? column - beforeCells(width, grid) : -1;
  const steps = map.places.rows[row] ?? [];
  return {
    word: map.rows[row],
    key: map.columns[column],
    cell: cell < 0 ? null : cell,
    weight: map.values[row * width + column],
    strongest: column === top,
    head: typeof head === "number" && site.heads > 1 ? head : null,
    even: evenShare(site, map, steps, column),
    tokens: map.places.columns[column]?.length ?? 0,
    rest: map.rest[row] ?? 0,
    restOf: map.left,
    writes: site.writes && state.get("reading") === "writes",
    reads: site.writes && state.get("reading") === "reads",
    effect: effectOnRow(trace, site, state, row, column, width) ?? ablated(trace, site, head),
  };
}

/**
 * The weight of a key if the softmax were even over the keys that the mask permits.
 *
 * @param {Site} site @param {AttentionMap} map @param {number[]} steps @param {number} column
 */
function evenShare(site, map, steps, column) {
  const columns = map.places.columns[column] ?? [];
  const shares = steps.map((step) => {
    let open = 0;
    for (let key = 0; key < site.columns; key++) open += site.allows(step, key) ? 1 : 0;
    return columns.filter((key) => site.allows(step, key)).length / (open || 1);
  });
  return shares.reduce((sum, share) => sum + share, 0) / (shares.length || 1);
}

/**
 * The drop of the word's log-probability without the key, in nats, and its probability before. Where a step
 * reads its row's word and predicts the next one, as in a language model, the effect is on the next word.
 *
 * `mean`: the drop of each of its tokens on average. null: it was not computed.
 *
 * @param {Trace} trace @param {Site} site @param {Chosen} state @param {number} row @param {number} column @param {number} width
 * @returns {Occluded | null}
 */
export function effectOnRow(trace, site, state, row, column, width) {
  const unit = state.get("unit");
  const facts = trace.page.baseline ? null : trace.findings.attribution?.[unit];
  if (!facts || site.queries !== facts.own || column >= width) return null;
  const drops = facts.measures.blank?.[site.keys];
  const next = state.get("reading") === "reads" && facts.own === facts.read;
  const at = rowOfEffect(unit, state.get("reading"), next, row);
  const mean = drops?.[at]?.[column];
  // A word has no effect on what was written before it.
  const behind = site.keys === facts.own && column >= at + (unit === "pieces" ? 1 : 0);
  if (mean === undefined || mean === null || behind) return null;
  const steps = stepsOf(trace, facts.own, unit, at);
  // The measure is the mean over a word's tokens; the word's probability is their product.
  return { kind: "occluded", nats: mean * steps.length, mean, of: next ? nameOf(trace, facts, unit, at) : null, before: chanceOf(trace, steps) };
}

/** By axis: the steps of each word. @type {WeakMap<Axis, number[][]>} */
const wordSteps = new WeakMap();

/**
 * The steps that wrote a word, or the step of a token.
 *
 * @param {Trace} trace @param {string} own @param {Unit} unit @param {number} row
 */
function stepsOf(trace, own, unit, row) {
  if (unit === "pieces") return [row];
  const axis = trace.axes[own];
  const known = wordSteps.get(axis);
  if (known) return known[row];
  /** @type {number[][]} */
  const steps = axis.texts.map(() => []);
  axis.words.forEach((word, token) => word !== null && steps[word].push(token - 1));
  wordSteps.set(axis, steps);
  return steps[row];
}

/**
 * The probability with which these steps together wrote what they did.
 *
 * @param {Trace} trace @param {number[]} steps
 */
export function chanceOf(trace, steps) {
  return Math.exp(steps.reduce((sum, step) => sum + trace.steps[step].log_probability, 0));
}

/**
 * The row of the attributions, which are by words, or by the steps that write a token.
 *
 * @param {Unit} unit @param {Values["reading"]} reading @param {boolean} next @param {number} row
 */
function rowOfEffect(unit, reading, next, row) {
  if (unit === "words") return next ? row + 1 : row;
  return reading === "reads" && !next ? row - 1 : row;
}

/** @param {Trace} trace @param {Attribution} facts @param {Unit} unit @param {number} row */
function nameOf(trace, facts, unit, row) {
  return unit === "words" ? trace.axes[facts.own].texts[row] : trace.steps[row].token;
}

/**
 * The change of the output's log-probability without the head, in nats, as a drop.
 *
 * @param {Trace} trace @param {Site} site @param {Head} head
 * @returns {Ablated | null}
 */
function ablated(trace, site, head) {
  const changes = trace.page.baseline ? null : trace.findings.ablation?.[site.name]?.[Number(head)];
  if (!changes || !trace.steps.length) return null;
  return { kind: "ablated", of: trace.output, ...ablationEffect(trace, changes) };
}

/**
 * What ablating a head did to the whole output, by the change of each token's log-probability.
 *
 * @param {Trace} trace @param {number[]} changes
 */
export function ablationEffect(trace, changes) {
  return { nats: -changes.reduce((sum, change) => sum + change, 0), before: chanceOf(trace, [...trace.steps.keys()]) };
}

const [SAME, TWICE, BILLION] = [0.05, Math.log(2), Math.log(1e9)]; // nats
const IMPROBABLE = 0.001; // of what is less probable from the start, as a long text is, two probabilities say nothing
const [POSSIBLE, IMPOSSIBLE] = [0.01, 0.001]; // what begins above the one and ends below the other is nearly impossible

/**
 * A drop of a log-probability as what it does to the probability: "same"; the probabilities before and after;
 * or, of what is improbable, a percentage or a factor.
 *
 * @param {Drop} drop
 * @returns {{ how: "same" } | { how: "impossible" | "lower" | "higher", from: string, to: string } | { how: "fewer" | "more", number: number } | { how: "timesLess" | "timesMore", number: number, over: boolean }}
 */
export function changeOf({ nats, before }) {
  const size = Math.abs(nats);
  if (size < SAME) return { how: "same" };
  const less = nats > 0;
  const after = Math.min(1, before * Math.exp(-nats));
  if (Math.max(before, after) >= IMPROBABLE) {
    return { how: less ? (before >= POSSIBLE && after < IMPOSSIBLE ? "impossible" : "lower") : "higher", from: percentOf(before), to: percentOf(after) };
  }
  if (size < TWICE) return { how: less ? "fewer" : "more", number: Math.round(100 * Math.abs(Math.exp(-nats) - 1)) };
  const factor = size > BILLION ? 1e9 : rounded(Math.exp(size));
  return { how: less ? "timesLess" : "timesMore", number: factor, over: size > BILLION };
}

/** One decimal below 10, otherwise two significant digits. @param {number} factor */
function rounded(factor) {
  if (factor < 9.95) return Math.round(10 * factor) / 10;
  const step = 10 ** (Math.floor(Math.log10(factor)) - 1);
  return Math.round(factor / step) * step;
}

const DECIMALS = 6; // of the smallest percentages that are told from 0

/** A share in percent: whole, with decimals where rounding would give 0 or 100. @param {number} share */
export function percentOf(share) {
  const percent = 100 * share;
  if (percent >= 99.95) return "100 %";
  if (percent > 99 || percent < 1) return `${percent < 0.05 ? tiny(percent) : percent.toFixed(1)} %`;
  return `${percent.toFixed(0)} %`;
}

/** One significant digit, without an exponent. @param {number} percent */
function tiny(percent) {
  if (percent < 0.5 * 10 ** -DECIMALS) return "0";
  return percent.toFixed(Math.min(DECIMALS, Math.ceil(-Math.log10(percent)))).replace(/0+$/, "");
}
