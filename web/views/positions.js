/** Position encodings: a map of the positions, and curves over distance. */

import { Packed } from "../arrays.js";
import { curvesFigure, stacked } from "../curves.js";
import { element, table } from "../dom.js";
import { heatmap, mapFigure } from "../heatmap.js";
import { textOf } from "../words.js";
import { curves, pictureOrTable, stackChosen } from "./stacks.js";

const LARGEST_CELL = 9; // px

/** @type {View} */
export function placesView(trace, state, words) {
  const { positions = {} } = trace.findings.layers ?? {};
  const { stack, controls } = stackChosen(Object.keys(positions), state, words);
  const place = positions[positions[stack].same ?? stack];
  const help = `${words.placesHelp} ${words[`kind_${place.kind}`]}`;
  if (place.kind.startsWith("recurrent") || place.kind === "other") {
    return { help: words.placesHelp, controls, body: [element("p", {}, words[`kind_${place.kind}`])] };
  }
  if (!place.picture) return { help, controls, body: [element("p", {}, words.noPlaces)] };
  const [map, most] = pictureOf(place.picture, place.kind);
  const series = Object.entries(place.curves).map(([name, values]) => ({ name: named(name, words), values }));
  const low = ["alibi", "relative"].includes(place.kind) ? 0 : -1;
  const lines = curvesFigure({
    series, ticks: series[0].values.map((_, i) => String(i)), low, high: 1, across: words.distance,
  });
  /** @param {number} r @param {number} c @param {number} value */
  const say = (r, c, value) => `${words[place.rows]} ${r}, ${named(place.columns, words)} ${c + 1}: ${(value * most).toFixed(3)}`;
  controls.push(pictureOrTable(state, words));
  const numbers = table([words.distance, ...series.map(({ name }) => name)],
    series[0].values.map((_, at) => [String(at), ...series.map(({ values }) => values[at].toFixed(4))]), words.curveOf);
  const title = `${words[place.rows]} × ${named(place.columns, words)}; ${words.scale} ±${most.toFixed(3)}`;
  const shown = state.get("as") === "table" ? [numbers] : [
    element("h2", {}, textOf(words, `curve_${place.kind}`) ?? words.curve_table),
    curves(lines, words.curveOf, series),
    element("h2", {}, title),
    heatmap(map, { label: title, most: LARGEST_CELL, say }),
  ];
  return { help, controls, body: shown, figure: stacked([lines, mapFigure(map, LARGEST_CELL)]) };
}

/**
 * The map on its scale from -1 to 1, and the value at 1: the largest one, if that is not 1.
 *
 * @param {RawArray} picture @param {string} kind
 * @returns {[DrawnMap, number]}
 */
function pictureOf(picture, kind) {
  const { shape: [rows, columns], values } = new Packed(picture);
  const most = values.reduce((top, value) => Math.max(top, Math.abs(value)), 0) || 1;
  const scale = ["learned", "index"].includes(kind) ? most : 1;
  return [{
    rows: Array.from({ length: rows }, (_, r) => String(r)),
    columns: Array.from({ length: columns }, (_, c) => String(c + 1)),
    values: values.map((value) => value / scale),
    diverging: true,
  }, scale];
}

/** @param {string} name @param {Words} words */
function named(name, words) {
  const [first, number] = name.split(" ");
  if (first === "head" && number) return `${words.head} ${number}`;
  return textOf(words, textOf({ "pair of dimensions": "pair", mean: "average" }, name) ?? name) ?? name;
}
