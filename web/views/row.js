/** One row, step by step: from the query's vector to what the head found. Every number is real. */

import { choice, element, table } from "../dom.js";
import { CanvasSurface, colour } from "../surface.js";
import { readable, total } from "../trace.js";
import { headOf, siteChoices, siteOf } from "./board.js";

export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/** q · k, or energy · tanh(q + k) where the score is a small network: term by term. */
export function terms(site, q, k) {
  const energy = site.array("energy")?.values;
  return q.map((value, i) => (energy ? energy[i] * Math.tanh(value + k[i]) : value * k[i]));
}

/** The row redone from the vectors: products, scaled scores, weights; hidden keys get none. */
export function redo(site, head, query) {
  const q = site.vector("query", head, query);
  const recorded = site.matrix(String(head), "weights");
  const hidden = (k) => !site.allows(query, k);
  const products = [];
  for (let k = 0; k < site.columns; k++) products.push(total(terms(site, q, site.vector("key", head, k))));
  const bias = site.array("bias")?.values;
  const added = (k) => (bias ? bias[(head * site.rows + query) * site.columns + k] : 0);
  const scores = products.map((product, k) => (hidden(k) ? -Infinity : product * site.scale + added(k)));
  const most = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - most));
  const sum = powers.reduce((total, power) => total + power, 0);
  return products.map((product, k) => ({
    product,
    score: scores[k],
    weight: powers[k] / sum,
    recorded: recorded[query * site.columns + k],
  }));
}

export function rowView(trace, state, words, ask) {
  const site = siteOf(trace, state);
  const controls = siteChoices(trace, state, words, { heads: false });
  if (!site.array("query")) {
    return { help: words.rowHelp, controls, body: [element("p", {}, words.noVectors)] };
  }
  const head = headOf(site, state);
  const query = Math.min(state.number("query"), site.rows - 1);
  const key = Math.min(state.number("key"), site.columns - 1);
  const named = (tokens) => tokens.map((token, i) => [String(i), `${i} ${readable(token)}`]);
  controls.push(
    choice(words.query, named(site.rowTokens), String(query), (value) => state.set({ query: value })),
    choice(words.key, named(site.columnTokens), String(key), (value) => state.set({ key: value })),
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
  rows.push([words.sum, "", "", total.toFixed(4), "", ""]);
  const headings = [words.key, site.array("energy") ? words.energy : words.product, `${words.scaled} ${site.scale.toFixed(4)}`, words.weight, words.gives, words.check];
  return {
    help: words.rowHelp,
    controls,
    top: ask ? [lookOnly(site, head, query, key, state, words, ask)] : [],
    body: [
      ...vectors(site, head, query, key, cells, words),
      table(headings, rows, `${words.query}: ${readable(site.rowTokens[query])}`),
    ],
  };
}

/** The model with this row as somebody wants it: all of its weight on the chosen key. */
function lookOnly(site, head, query, key, state, words, ask) {
  const label = words.lookOnly(readable(site.rowTokens[query]), readable(site.columnTokens[key]));
  const button = (id, heads, text) => element("button", {
    type: "button", id, disabled: !site.allows(query, key), "aria-label": `${label}: ${text}`, onclick: () => {
      state.set({ set: [site.name, heads, query, key].join(":") });
      ask();
    },
  }, text);
  return element("p", { class: "chips" }, element("span", {}, label),
    button("look-only", head, words.inThisHead),
    ...(site.heads > 1 ? [button("look-only-all", "all", words.inAllHeads)] : []));
}

function vectors(site, head, query, key, cells, words) {
  const q = site.vector("query", head, query);
  const k = site.vector("key", head, key);
  const products = terms(site, q, k);
  const found = new Float32Array(site.array("value").shape[2]);
  cells.forEach((cell, at) => {
    site.vector("value", head, at).forEach((value, i) => {
      found[i] += cell.weight * value;
    });
  });
  const [asks, answers] = [readable(site.rowTokens[query]), readable(site.columnTokens[key])];
  return [
    strip(`q (${asks})`, q, words),
    strip(`k (${answers})`, k, words),
    strip(`${site.array("energy") ? words.tanhTerms : words.elementwise}: ${words.sum} ${total(products).toFixed(4)}`, products, words),
    strip(words.result, found, words),
  ];
}

/** A vector as a strip of cells: distance from 0 by shade, the sign by the side it stands on. */
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
  const say = (i) => {
    const at = Math.min(Math.max(i, 0), values.length - 1);
    canvas.dataset.at = at;
    said.textContent = `${words.dimension} ${at + 1}: ${values[at].toFixed(4)}`;
  };
  canvas.addEventListener("mousemove", (event) => say(Math.floor(event.offsetX / cell)));
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) say(Number(canvas.dataset.at ?? -1) + step);
  });
  return element("figure", {}, element("figcaption", {}, label, " ", said), canvas);
}
