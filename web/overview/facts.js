/** The numbers of the generated sentence: read from the recorded arrays, and nothing else. */

import { beforeCells } from "../picture.js";

/**
 * What one word paid to one key, and the effect that was measured.
 *
 * weight: the map's value. even: the weight of each key if all were equal. rest: the weight that
 * went to no word. `effect`: what occlusion or ablation changed, or null if neither was computed.
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
    grid,
    weight: map.values[row * width + column],
    strongest: column === top,
    even: evenShare(site, map, steps, column),
    rest: map.rest[row] ?? 0,
    restOf: map.left,
    writes: site.writes && state.get("reading") === "writes",
    reads: site.writes && state.get("reading") === "reads",
    effect: occluded(trace, site, state, row, column, width) ?? ablated(trace, site, head),
  };
}

/** The weight of a key if the softmax were even over the keys that the mask permits. */
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
 * The drop of the word's log-probability without the key, in nats. Where a step reads its row's word and
 * predicts the next one, as in a language model, the effect is on the next word.
 */
function occluded(trace, site, state, row, column, width) {
  const unit = state.get("unit");
  const facts = trace.page.baseline ? null : trace.findings.attribution?.[unit];
  if (!facts || site.queries !== facts.own || column >= width) return null;
  const drops = facts.measures.blank?.[site.keys];
  const next = state.get("reading") === "reads" && facts.own === facts.read;
  const at = rowOfEffect(unit, state.get("reading"), next, row);
  const nats = drops?.[at]?.[column];
  // A word has no effect on what was written before it.
  const behind = site.keys === facts.own && column >= at + (unit === "pieces" ? 1 : 0);
  if (nats === undefined || nats === null || behind) return null;
  return { kind: "occluded", nats, of: next ? nameOf(trace, facts, unit, at) : null };
}

/** The row of the attributions, which are by words, or by the steps that write a token. */
function rowOfEffect(unit, reading, next, row) {
  if (unit === "words") return next ? row + 1 : row;
  return reading === "reads" && !next ? row - 1 : row;
}

function nameOf(trace, facts, unit, row) {
  return unit === "words" ? trace.axes[facts.own].texts[row] : trace.steps[row].token;
}

/** The change of the output's log-probability without the head, in nats, as a drop. */
function ablated(trace, site, head) {
  const changes = trace.page.baseline ? null : trace.findings.ablation?.[site.name]?.[Number(head)];
  if (!changes || !trace.steps.length) return null;
  return { kind: "ablated", nats: -changes.reduce((sum, change) => sum + change, 0), of: trace.output };
}

const [SAME, TWICE, BILLION] = [0.05, Math.log(2), Math.log(1e9)]; // nats

/** A drop of a log-probability as what it does to the probability: "same", a percentage, or a factor. */
export function changeOf(nats) {
  const size = Math.abs(nats);
  if (size < SAME) return { how: "same" };
  const less = nats > 0;
  if (size < TWICE) return { how: less ? "fewer" : "more", number: Math.round(100 * Math.abs(Math.exp(-nats) - 1)) };
  const factor = size > BILLION ? 1e9 : rounded(Math.exp(size));
  return { how: less ? "timesLess" : "timesMore", number: factor, over: size > BILLION };
}

/** One decimal below 10, otherwise two significant digits. */
function rounded(factor) {
  if (factor < 9.95) return Math.round(10 * factor) / 10;
  const step = 10 ** (Math.floor(Math.log10(factor)) - 1);
  return Math.round(factor / step) * step;
}

/** A share in percent: whole, with a decimal where rounding would give 0 or 100. */
export function percentOf(share) {
  const percent = 100 * share;
  if (percent >= 99.95) return "100 %";
  if (percent > 99 || percent < 1) return percent < 0.05 ? "0 %" : `${percent.toFixed(1)} %`;
  return `${percent.toFixed(0)} %`;
}
