/** The whole model as numbers: its sides from left to right, and what every word attended to at every layer. */

import { board, largest } from "../maps.js";
import { total } from "../trace.js";

/**
 * An attention module; `sorted`: the columns of a row, those with the largest weights first. A layer of what is written has
 * one or both.
 *
 * @typedef {{ site: Site, map: AttentionMap, effects: number[] | null, sorted: number[][] }} Module
 * @typedef {{ layer: number, self: Module, cross?: undefined }} ReadLayer
 * @typedef {{ layer: number, self: Module | null, cross: Module | null }} WriteLayer
 * @typedef {ReadLayer | WriteLayer} Layer
 * @typedef {ReturnType<typeof flowOf>} Flow
 */

/**
 * The words of one axis, or the cells of an image.
 *
 * @template {Layer} [L=Layer]
 * @typedef {{ layers: L[], lanes: string[], grid: Pair<number> | null }} Side
 */

/**
 * The mean of the heads by words or tokens; a row is the step that writes it.
 *
 * @param {Trace} trace @param {Site} site @param {Unit} unit
 */
function mapOf(trace, site, unit) {
  site.flows[unit] ??= board(trace, site, site.matrix("mean", "weights"), unit, "writes", Boolean(site.array("sink")));
  return site.flows[unit];
}

/**
 * The sides of a model, in the order in which they compute.
 *
 * Returns { read, write }, either may be null. `rows`, of the side that is walked, are the words that are written, or read,
 * one after the other.
 *
 * @param {Trace} trace @param {Unit} unit
 */
export function flowOf(trace, unit) {
  const most = Math.max(1e-9, ...Object.values(trace.findings.ablation ?? {}).flatMap((heads) => heads.map((steps) => Math.abs(total(steps)))));
  /** @param {Site} site */
  const part = (site) => /** @type {Module} */ ({ site, map: mapOf(trace, site, unit), effects: effectsOf(trace, site, most), sorted: [] });
  const [cross, self] = [trace.of("cross"), trace.of("decoder")];
  const all = [...trace.of("image"), ...trace.of("encoder")];
  // A network whose images become smaller has a grid of its own in each part: those of the last one are drawn.
  /** @type {ReadLayer[]} */
  const readers = all.filter((site) => site.queries === all.at(-1)?.queries).map((site) => ({ layer: site.layer, self: part(site) }));
  const numbers = [...new Set([...self, ...cross].map(({ layer }) => layer))].sort((a, b) => a - b);
  const at = (/** @type {Site[]} */ sites, /** @type {number} */ layer) => sites.filter((site) => site.layer === layer).map(part)[0] ?? null;
  /** @type {WriteLayer[]} */
  const writers = numbers.map((layer) => ({ layer, self: at(self, layer), cross: at(cross, layer) }));
  const read = readers.length || cross.length ? sideOf(trace, readers, readers[0]?.self.map.columns ?? part(cross[0]).map.columns, readers[0]?.self.site.keys ?? cross[0].keys) : null;
  const first = writers.length ? firstOf(writers[0]) : null;
  const write = first && sideOf(trace, writers, first.map.rows, first.site.queries);
  const walked = firstOf(/** @type {Side} */ (write ?? read).layers[0]);
  const { prompt = 0 } = trace.findings;
  const rows = walked.map.rows.map((_, row) => row).filter((row) => walked.map.places.rows[row].some((query) => !prompt || query >= prompt));
  return { read, write, rows, walked, recurrent: isRecurrent(trace, write), effects: Boolean(trace.findings.ablation) && !trace.page.baseline };
}

/** The module that the words of a layer come to first. @param {Layer} layer */
function firstOf(layer) {
  return /** @type {Module} */ (layer.self ?? layer.cross);
}

/**
 * @template {Layer} L
 * @param {Trace} trace
 * @param {L[]} layers
 * @param {string[]} lanes
 * @param {string} axis
 * @returns {Side<L>}
 */
function sideOf(trace, layers, lanes, axis) {
  return { layers, lanes, grid: trace.axes[axis].grid ?? null };
}

/**
 * Whether both sides go from word to word: the decoder has recorded its states, and the encoder no attention.
 *
 * @param {Trace} trace @param {Side<WriteLayer> | null} write
 */
function isRecurrent(trace, write) {
  const walks = trace.walk?.sites ?? {};
  return write !== null && write.layers.every(({ self, cross }) => !self && Boolean(cross && walks[cross.site.name]?.arrays.after));
}

/**
 * The effect of ablating each head as shares of the model's largest; null: it was not computed.
 *
 * @param {Trace} trace @param {Site} site @param {number} most
 */
function effectsOf(trace, site, most) {
  const heads = trace.page.baseline ? null : trace.findings.ablation?.[site.name];
  return heads ? heads.map((steps) => Math.abs(total(steps)) / most) : null;
}

/**
 * The weight of a word, or a cell, in a module for a row.
 *
 * @param {Module} module @param {number} row @param {number} column
 */
export function weightOf({ map }, row, column) {
  return Math.max(0, map.values[row * map.columns.length + column]);
}

/** The row and the column of the largest weight between two words. @param {Module} module */
export function pairOf({ map }) {
  const width = map.columns.length;
  const others = map.values.map((value, i) => (Math.floor(i / width) === i % width ? 0 : value));
  const at = largest(others);
  return [Math.floor(at / width), at % width];
}

/**
 * What is predicted from a row: the step's tokens, and the probability of all of the row's tokens; null: nothing is.
 *
 * @param {Trace} trace @param {Flow} flow @param {number} row
 */
export function predictionOf(trace, flow, row) {
  const queries = flow.walked.map.places.rows[row] ?? [];
  const gap = trace.findings.gaps.indexOf(queries[0]);
  const label = trace.kind.writes === "label";
  const steps = label ? [0] : trace.kind.writes === "gaps" ? (gap < 0 ? [] : [gap]) : flow.write ? queries : [];
  const own = steps.map((step) => trace.steps[step]).filter(Boolean);
  if (!own.length) return null;
  return { best: own[0].best, token: own[0].token, probability: Math.exp(total(own.map((step) => step.log_probability))) };
}
