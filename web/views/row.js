/** One row, step by step: from the query's vector to the head's output. Every number is the model's own. */

import { STEPS, choice, element, pointIn, table } from "../dom.js";
import { colour } from "../colours.js";
import { CanvasSurface } from "../surface.js";
import { barsFigure } from "../taking/bars_figure.js";
import { cellWeight } from "../maps.js";
import { readable, total } from "../trace.js";
import { cursorOf, siteOf, strongestHead } from "../cursor.js";
import { textOf } from "../words.js";
import { rowName, siteChoices } from "./board.js";

/** @param {Vector} a @param {Vector} b */
export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/**
 * q · k, or energy · tanh(q + k) if the score is additive: term by term.
 *
 * @param {Site} site @param {Float32Array} q @param {Float32Array} k
 */
export function terms(site, q, k) {
  const energy = site.array("energy")?.values;
  return q.map((value, i) => (energy ? energy[i] * Math.tanh(value + k[i]) : value * k[i]));
}

/**
 * The row recomputed from the vectors: products, scaled scores, weights; masked keys get none.
 *
 * @param {Site} site @param {number} head @param {number} query
 */
export function redo(site, head, query) {
  const q = site.vector("query", head, query);
  const recorded = site.matrix(head, "weights");
  /** @param {number} k */
  const hidden = (k) => !site.allows(query, k);
  const scale = site.scale ?? 1; // rows without one are not redone
  /** @type {number[]} */
  const products = [];
  for (let k = 0; k < site.columns; k++) products.push(total(terms(site, q, site.vector("key", head, k))));
  const bias = site.array("bias")?.values;
  /** @param {number} k */
  const added = (k) => (bias ? bias[(head * site.rows + query) * site.columns + k] : 0);
  const scores = products.map((product, k) => (hidden(k) ? -Infinity : product * scale + added(k)));
  const sink = site.array("sink")?.values[head] ?? -Infinity;
  const most = Math.max(...scores, sink);
  const powers = scores.map((score) => Math.exp(score - most));
  const sum = powers.reduce((total, power) => total + power, Math.exp(sink - most));
  return products.map((product, k) => ({
    product,
    score: scores[k],
    weight: powers[k] / sum,
    recorded: recorded[query * site.columns + k],
  }));
}

/** @type {View} */
export function rowView(trace, state, words, ask) {
  const site = siteOf(trace, state);
  const controls = siteChoices(trace, state, words, { heads: false });
  const help = helpOf(site, words);
  if (!site.array("query")) {
    return { help, controls, body: [element("p", {}, words.noVectors)] };
  }
  if (site.scale === null) return { help, controls, body: [] };
  const { shown, head, query, key } = cursorOf(trace, site, state);
  /** @param {string[]} tokens @param {(token: string, i: number) => string} name */
  const named = (tokens, name) => tokens.map((token, i) => [String(i), `${i} ${name(token, i)}`]);
  const cell = cellOf(trace, site, query, key, state);
  controls.push(
    choice(words.query, named(site.rowTokens, (_, i) => rowName(trace, site, i, words)), String(query), (value) => state.set({ query: value })),
    choice(words.key, named(site.columnTokens, readable), String(key), (value) => state.set({ key: value })),
  );
  const cells = redo(site, head, query);
  const rows = cells.map((cell, k) => {
    const value = site.vector("value", head, k);
    const length = Math.sqrt(dot(value, value)) * cell.weight;
    return [
      readable(site.columnTokens[k]),
      cell.product.toFixed(4),
      Number.isFinite(cell.score) ? cell.score.toFixed(4) : words.masked,
      cell.weight.toFixed(4),
      length.toFixed(4),
      (cell.weight - cell.recorded).toExponential(1),
    ];
  });
  const total = cells.reduce((sum, cell) => sum + cell.weight, 0);
  const sink = site.array("sink")?.values;
  if (sink) rows.push([words.sink, "", sink[head].toFixed(4), (1 - total).toFixed(4), "0", ""]);
  rows.push([words.sum, "", "", total.toFixed(4), "", ""]);
  const additive = Boolean(site.array("energy"));
  const score = site.scale === 1 ? words.score : `${words.scaled} ${(site.scale ?? 1).toFixed(4)}`;
  const headings = [words.key, additive ? words.energy : words.product,
    site.array("bias") ? `${score} ${words.plusBias}` : score, words.weight, words.gives, words.check];
  return {
    help,
    controls,
    top: [...cellFacts(trace, site, { shown, head, query }, cell, state, words),
      ...(ask ? [lookOnly(trace, site, head, query, key, state, words, ask)] : [])],
    figure: () => figureOfRow(site, head, cells, additive, words),
    body: [
      ...vectors(trace, site, head, query, key, cells, words),
      table(headings, rows, `${words.query}: ${rowName(trace, site, query, words)}`,
        (i) => (i === key ? "chosen" : cell.columns.includes(i))),
    ],
  };
}

/**
 * Score, weight and norm of every key, as bars.
 *
 * @param {Site} site @param {number} head @param {ReturnType<typeof redo>} cells @param {boolean} additive @param {Words} words
 */
function figureOfRow(site, head, cells, additive, words) {
  const names = site.columnTokens.map(readable);
  const norms = cells.map(({ weight }, k) => {
    const value = site.vector("value", head, k);
    return Math.sqrt(dot(value, value)) * weight;
  });
  /** @param {number} value */
  const form = (value) => (Number.isFinite(value) ? value.toFixed(3) : words.masked);
  return barsFigure([
    { title: words.scoreOf(additive ? words.energy : words.product, (site.scale ?? 1).toFixed(4)), names, values: cells.map(({ score }) => score), form },
    { title: words.weightOf, names: [], values: cells.map(({ weight }) => weight), form },
    { title: words.givesOf, names: [], values: norms, form },
  ]);
}

/** Weights from elsewhere have no vectors, at no level. @type {Needs} */
rowView.needs = (trace) => trace.sites.some((site) => site.kind !== "given");

/**
 * The explanation of the row, which differs by the score: only products and additive ones can be recomputed.
 *
 * @param {Site} site @param {Words} words
 */
function helpOf(site, words) {
  const note = textOf(words.kindNotes, site.kind);
  if (note) return note;
  if (site.scale === null) return words.rowHelpOther(site.kind);
  if (site.array("energy")) return words.rowHelpAdditive;
  return site.scale === 1 ? words.rowHelpUnscaled : words.rowHelp;
}

/**
 * The cell of the map that the row and the key belong to: all tokens of a word, or one token each.
 *
 * @param {Trace} trace @param {Site} site @param {number} query @param {number} key @param {State} state
 */
function cellOf(trace, site, query, key, state) {
  const [queries, keys] = [trace.axes[site.queries], trace.axes[site.keys]];
  const own = queries.words[site.writes && state.get("reading") === "writes" ? query + 1 : query] ?? null;
  const other = keys.words[key];
  const shift = site.writes && state.get("reading") === "writes" ? 1 : 0;
  /** @param {(number | null)[]} words @param {number | null} word */
  const of = (words, word) => words.flatMap((each, i) => (each === word ? [i] : []));
  if (state.get("unit") !== "words" || own === null) return { rows: [query], columns: [key] };
  return {
    rows: of(queries.words, own).map((i) => i - shift).filter((i) => i >= 0),
    columns: of(keys.words, other),
    row: queries.texts[own],
    column: other === null ? "" : keys.texts[other],
  };
}

/**
 * The map's value for the whole cell, in all heads and in this one, and the steps behind it.
 *
 * @param {Trace} trace @param {Site} site @param {{ shown: Head, head: number, query: number }} cursor @param {ReturnType<typeof cellOf>} cell @param {State} state @param {Words} words
 */
function cellFacts(trace, site, { shown, head, query }, cell, state, words) {
  const facts = [];
  const name = cell.row && cell.column ? `${cell.row} → ${cell.column}` : "";
  /** @param {number} value */
  const number = (value) => value.toFixed(3);
  const weights = Array.from({ length: site.heads }, (_, h) => cellWeight(site, h, cell.rows, cell.columns));
  const from = typeof shown === "number" ? state.get("from") : shown;
  if (from && site.heads > 1) {
    const all = from === "max" ? Math.max(...weights) : total(weights) / site.heads;
    const best = strongestHead(site, cell.rows, cell.columns);
    facts.push(element("p", { id: "of-heads" }, words.ofHeads(name, from === "max" ? words.max : words.mean,
      number(all), best + 1, number(weights[best]))));
  }
  if (cell.rows.length > 1) {
    const parts = cell.rows.map((row) => element("button", {
      type: "button", id: `piece-${row}`, "aria-pressed": String(row === query), onclick: () => state.set({ query: row }),
    }, `${rowName(trace, site, row, words)} ${number(cellWeight(site, head, [row], cell.columns))}`));
    facts.push(element("div", { class: "chips", role: "group", "aria-label": words.ofPieces },
      element("span", {}, `${name ? `${name}: ` : ""}${number(weights[head])} = ${words.ofPieces}`), ...parts));
  }
  return facts;
}

/**
 * The model with this row set: all of its weight is on the chosen key.
 *
 * @param {Trace} trace @param {Site} site @param {number} head @param {number} query @param {number} key @param {State} state @param {Words} words @param {Ask | undefined} ask
 */
function lookOnly(trace, site, head, query, key, state, words, ask) {
  const label = words.lookOnly(rowName(trace, site, query, words), readable(site.columnTokens[key]));
  /** @param {string} id @param {number | "all"} heads @param {string} text */
  const button = (id, heads, text) => element("button", {
    type: "button", id, disabled: !site.allows(query, key), "aria-label": `${label}: ${text}`, onclick: () => {
      state.set({ set: [site.name, heads, query, key].join(":") });
      ask?.();
    },
  }, text);
  return element("p", { class: "chips" }, element("span", {}, label),
    button("look-only", head, words.inThisHead),
    ...(site.heads > 1 ? [button("look-only-all", "all", words.inAllHeads)] : []));
}

/** @param {Trace} trace @param {Site} site @param {number} head @param {number} query @param {number} key @param {ReturnType<typeof redo>} cells @param {Words} words */
function vectors(trace, site, head, query, key, cells, words) {
  const q = site.vector("query", head, query);
  const k = site.vector("key", head, key);
  const products = terms(site, q, k);
  const found = new Float32Array(site.known("value").shape[2]);
  cells.forEach((cell, at) => {
    site.vector("value", head, at).forEach((value, i) => {
      found[i] += cell.weight * value;
    });
  });
  const [asks, answers] = [rowName(trace, site, query, words), readable(site.columnTokens[key])];
  return [
    strip(`q (${asks})`, q, words),
    strip(`k (${answers})`, k, words),
    strip(`${site.array("energy") ? words.tanhTerms : words.elementwise}: ${words.sum} ${total(products).toFixed(4)}`, products, words),
    strip(words.result, found, words),
  ];
}

/**
 * A vector as a strip of bars: the length is the absolute value, and the side of the axis the sign.
 *
 * @param {string} label @param {Float32Array} values @param {Words} words
 */
function strip(label, values, words) {
  const canvas = element("canvas", { role: "img", "aria-label": label, tabindex: "0" });
  const said = element("span", { class: "said", "aria-live": "polite" });
  const most = Math.max(...values.map(Math.abs)) || 1;
  const cell = Math.max(4, Math.min(16, Math.floor(840 / values.length)));
  const surface = new CanvasSurface(canvas, cell * values.length, 40);
  values.forEach((value, i) => {
    const height = (Math.abs(value) / most) * 18;
    surface.rect(cell * i, value > 0 ? 20 - height : 20, cell - 1, Math.max(height, 0.5),
      colour(0.35 + 0.5 * (Math.abs(value) / most), surface.theme));
  });
  /** @param {number} i */
  const say = (i) => {
    const at = Math.min(Math.max(i, 0), values.length - 1);
    canvas.dataset.at = String(at);
    said.textContent = `${words.dimension} ${at + 1}: ${values[at].toFixed(4)}`;
  };
  // On a narrow page the strip shrinks.
  canvas.addEventListener("mousemove", (event) => say(Math.floor((pointIn(event, canvas)[0] / canvas.clientWidth) * values.length)));
  canvas.addEventListener("keydown", (event) => {
    const step = STEPS[event.key]?.[1];
    if (step) say(Number(canvas.dataset.at ?? -1) + step);
  });
  return element("figure", {}, element("figcaption", {}, label, " ", said), canvas);
}
