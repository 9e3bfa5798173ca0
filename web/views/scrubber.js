/** The image, and what each word of its caption, or each of its cells, attends to in it. */

import { STEPS, choice, element, table } from "../dom.js";
import { GREY, VEIL, beforeCells, brightness, cellBeside, cellUnder, drawLook, lookFigure } from "../picture.js";
import { board, largest } from "../maps.js";
import { readable, total } from "../trace.js";
import { headChosen } from "../cursor.js";
import { headChoices, readingChoices, valueChoice, valueChosen } from "./board.js";
import { pictureOrTable } from "./stacks.js";

const [LARGE, SMALL] = [460, 84];

/** What one query attends to. @typedef {{ name: string, rows: number[], weights: Float32Array, gate?: number }} Row */

/** @param {Float32Array} weights */
function entropyOf(weights) {
  return -total(Array.from(weights, (weight) => (weight > 0 ? weight * Math.log(weight) : 0)));
}


/**
 * The attentions over an image, whatever part the other views show.
 *
 * @param {Trace} trace
 */
function lookingSites(trace) {
  return trace.sites.filter((site) => trace.axes[site.keys].grid);
}

/**
 * One map for each query, and the rows of the matrix behind it: a word or a token of the caption, or a cell of the image.
 *
 * @param {Trace} trace @param {Site} site @param {State} state
 * @returns {Row[]}
 */
function looksOf(trace, site, state) {
  const matrix = site.matrix(headChosen(site, state), valueChosen(site, state));
  if (site.part === "image") {
    return Array.from({ length: site.rows }, (_, cell) => ({
      name: site.rowTokens[cell],
      rows: [cell],
      weights: matrix.subarray(cell * site.columns, (cell + 1) * site.columns),
    }));
  }
  const map = board(trace, site, matrix, state.get("unit"), state.get("reading"));
  const gates = gatesOf(trace, site, state.get("unit"));
  return map.rows.map((name, row) => ({
    name,
    rows: map.places.rows[row],
    weights: map.values.subarray(row * map.columns.length, (row + 1) * map.columns.length),
    gate: gates?.[row],
  }));
}

/**
 * The gate on the context vector: for each token, or the mean of a word's tokens.
 *
 * @param {Trace} trace @param {Site} site @param {Unit} unit
 */
function gatesOf(trace, site, unit) {
  const gates = trace.steps.flatMap(({ gate }) => gate ?? []); // every step has one, or none
  if (!gates.length) return null;
  const { words, texts } = trace.axes[site.queries];
  if (unit === "pieces") return gates;
  return texts.map((_, word) => {
    const own = gates.filter((_, step) => words[step + 1] === word); // step i writes token i + 1
    return total(own) / own.length;
  });
}

/** @type {View} */
export function scrubberView(trace, state, words) {
  const all = lookingSites(trace);
  const parts = trace.parts().filter((part) => all.some((each) => each.part === part));
  const part = parts.find((each) => each === state.get("part")) ?? parts[0];
  const sites = all.filter((each) => each.part === part);
  const site = sites.find((each) => each.layer === state.get("layer")) ?? sites[sites.length - 1];
  const pixels = site.part === "image";
  const { tokens } = trace.axes[site.keys];
  const grid = trace.gridOf(site.keys);
  const looks = looksOf(trace, site, state);
  const most = Math.max(...looks.map(({ weights }) => Math.max(...weights)));
  const smooth = state.get("smooth") === "smooth";
  /** @param {number} at */
  const of = (at) => ({ picture: trace.picture, grid, most, smooth,
    weights: looks[at].weights, marked: pixels ? at : undefined });
  const at = lookAt(looks, state);
  const shown = large(looks, of, at, state, words, { pixels, grid, tokens });
  const body = [
    state.get("as") === "table" ? gridTable(looks[at], grid, words)
      : element("div", { class: "scrubber" }, shown.node,
        element("div", {}, ...(pixels ? [pixelFacts(site, words)] : [chart(looks, of, shown, words)]))),
    scale(most, valueChosen(site, state), words),
    details(looks, tokens, words),
  ];
  return { help: pixels ? words.pixelsHelp : words.scrubberHelp,
    controls: controlsOf(parts, sites, site, state, words), body,
    figure: () => lookFigure(of(at), LARGE, `${looks[at].name}: ${words.scrubberScale} 0 – ${most.toFixed(3)}`) };
}

/**
 * The map of the one cursor of all views; without it, the one with the largest weight.
 *
 * @param {Row[]} looks @param {State} state
 */
function lookAt(looks, state) {
  const last = Math.max(...looks.map(({ rows }) => Math.max(0, ...rows)));
  const query = state.get("query");
  const named = query === null ? -1 : looks.findIndex(({ rows }) => rows.includes(Math.min(query, last)));
  return named < 0 ? largest(looks.map(({ weights }) => Math.max(...weights))) : named;
}

/** @type {Needs} */
scrubberView.needs = (trace) => lookingSites(trace).length > 0;

/** @param {Part[]} parts @param {Site[]} sites @param {Site} site @param {State} state @param {Words} words */
function controlsOf(parts, sites, site, state, words) {
  const layers = sites.map(({ layer }) => [String(layer), String(layer + 1)]);
  const controls = [choice(words.layer, layers, String(site.layer), (layer) => state.set({ layer })),
    choice(words.head, headChoices(site, words), String(headChosen(site, state)), (head) => state.set({ head })),
    valueChoice(site, state, words),
    choice(words.smooth, [["smooth", words.smoothly], ["cells", words.byCells]], state.get("smooth"), (smooth) => state.set({ smooth })),
    pictureOrTable(state, words)];
  if (site.writes) controls.splice(3, 0, ...readingChoices(site, state, words));
  if (parts.length > 1) {
    controls.unshift(choice(words.part, parts.map((each) => [each, words[each]]), site.part,
      (part) => state.set({ part, layer: "", query: "", key: "" })));
  }
  return controls;
}

/**
 * The large image; `show` updates it without rebuilding the page, so that a slider can be dragged.
 *
 * @param {Row[]} looks @param {(at: number) => import("../picture.js").Look} of @param {number} first @param {State} state @param {Words} words
 * @param {{ pixels: boolean, grid: Grid, tokens: string[] }} axis
 */
function large(looks, of, first, state, words, { pixels, grid, tokens }) {
  const canvas = element("canvas", { id: "look", tabindex: "0", role: "img" });
  const said = element("p", { class: "said", "aria-live": "polite" });
  const slider = element("input", { type: "range", id: "word", min: "0", max: String(looks.length - 1),
    step: "1", "aria-label": pixels ? words.pixel : words.word });
  /** @type {((at: number) => void)[]} */
  const marks = [];
  const before = beforeCells(tokens.length, grid);
  let at = first;
  /** @param {number} to */
  const show = (to) => {
    at = to;
    const { name, weights, gate } = looks[at];
    const place = largest(weights);
    const cell = tokens[place];
    const gated = gate === undefined ? "" : `; ${words.gate} ${gate.toFixed(3)}`;
    said.textContent = `${name}: ${words.strongest} ${cell} ${weights[place].toFixed(3)}; ${words.entropy} ${entropyOf(weights).toFixed(3)}${gated}`;
    slider.value = String(at);
    slider.setAttribute("aria-valuetext", name);
    canvas.setAttribute("aria-label", said.textContent);
    drawLook(canvas, of(at), LARGE);
    marks.forEach((mark) => mark(at));
  };
  /** @param {number} to */
  const settle = (to) => {
    const { rows } = looks[Math.min(Math.max(to, 0), looks.length - 1)];
    state.set({ query: rows[0] ?? 0, key: "", word: "" });
  };
  slider.addEventListener("input", () => show(Number(slider.value)));
  slider.addEventListener("change", () => settle(Number(slider.value)));
  canvas.addEventListener("keydown", (event) => {
    const step = STEPS[event.key]?.[1];
    const cell = pixels ? cellBeside(event.key, Math.max(at - before, 0), grid) : step ? at - before + step : null;
    if (cell === null) return;
    event.preventDefault();
    settle(cell + before);
  });
  if (pixels) canvas.addEventListener("click", (event) => settle(before + cellUnder(event, canvas, grid)));
  canvas.addEventListener("mousemove", (event) => {
    const cell = before + cellUnder(event, canvas, grid);
    said.textContent = `${looks[at].name} → ${tokens[cell]}: ${looks[at].weights[cell].toFixed(3)}`;
  });
  canvas.addEventListener("mouseleave", () => show(at));
  show(at);
  /** @param {(at: number) => void} mark */
  const onShow = (mark) => {
    marks.push(mark);
    mark(at);
  };
  return { node: element("div", { class: "large" }, canvas, slider, said), settle, onShow };
}

/**
 * A small image for each word, with two bars below: the gate, and the entropy.
 *
 * @param {Row[]} looks @param {(at: number) => import("../picture.js").Look} of @param {ReturnType<typeof large>} shown @param {Words} words
 */
function chart(looks, of, shown, words) {
  const cells = looks[0]?.weights.length ?? 1;
  const buttons = looks.map((each, i) => {
    const canvas = element("canvas", { "aria-hidden": "true" });
    drawLook(canvas, of(i), SMALL);
    const spread = cells > 1 ? entropyOf(each.weights) / Math.log(cells) : 0;
    const bars = [bar("entropy", spread)];
    if (each.gate !== undefined) bars.unshift(bar("gate", each.gate));
    return element("button", { type: "button", id: `word-${i}`, onclick: () => shown.settle(i) },
      canvas, element("span", {}, readable(each.name)), ...bars);
  });
  shown.onShow((at) => buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === at))));
  const legend = element("p", { class: "muted legend" },
    ...(looks[0]?.gate === undefined ? [] : [bar("gate", 1), ` ${words.gate} (0–1) `]),
    bar("entropy", 1), ` ${words.spread}`);
  return element("div", {}, element("div", { class: "thumbs" }, ...buttons), legend);
}

/** @param {string} kind @param {number} share */
function bar(kind, share) {
  const line = element("i", { class: `bar ${kind}`, "aria-hidden": "true" });
  line.style.setProperty("--share", Math.min(Math.max(share, 0), 1).toFixed(4));
  return line;
}

/** @param {Site} site @param {Words} words */
function pixelFacts(site, words) {
  const gate = site.residual_gate;
  if (gate === null || gate === undefined) return element("p", {});
  return element("dl", { class: "facts" }, element("dt", {}, words.residualGate),
    element("dd", { id: "residual-gate" }, gate.toFixed(4)), element("dt", {}, ""),
    element("dd", { class: "muted" }, words.residualGateHelp));
}

/**
 * The scale of brightness: the same for every word of the image.
 *
 * @param {number} most @param {"weights" | "norms"} value @param {Words} words
 */
function scale(most, value, words) {
  const ramp = element("span", { class: "ramp", role: "img", "aria-label": `0 – ${most.toFixed(3)}` });
  const stops = [0, 0.05, 0.2, 0.5, 1].map((at) => {
    const grey = Math.round(255 - VEIL * (1 - brightness(at, 1)) * (255 - GREY)); // over white
    return `rgb(${grey},${grey},${grey}) ${100 * at}%`;
  });
  ramp.style.background = `linear-gradient(90deg, ${stops.join(", ")})`;
  const note = value === "norms" ? ` ${words.normScale}` : "";
  return element("p", { class: "muted scale" }, "0 ", ramp, ` ${most.toFixed(3)} — ${words.scrubberScale}.${note}`);
}

/** @param {Row[]} looks @param {string[]} tokens @param {Words} words */
function details(looks, tokens, words) {
  const gated = looks[0]?.gate !== undefined;
  const rows = looks.map(({ name, weights, gate }) => {
    const place = largest(weights);
    return [readable(name), ...(gate === undefined ? [] : [gate.toFixed(3)]), entropyOf(weights).toFixed(3),
      tokens[place], weights[place].toFixed(3)];
  });
  const headings = [words.word, ...(gated ? [words.gate] : []), words.entropy, words.strongest, words.weight];
  return element("details", {}, element("summary", {}, words.allWords),
    table(headings, rows, words.allWords));
}

/** The map of one word, or of one cell, as the cells lie in the image. @param {Row} row @param {Grid} grid @param {Words} words */
function gridTable({ name, weights }, [rows, columns], words) {
  const cells = weights.subarray(beforeCells(weights.length, [rows, columns]));
  const body = Array.from({ length: rows }, (_, row) => [String(row + 1),
    ...Array.from(cells.subarray(row * columns, (row + 1) * columns), (weight) => weight.toFixed(3))]);
  return table(["", ...Array.from({ length: columns }, (_, column) => String(column + 1))], body,
    `${readable(name)} (${words.rowsColumns})`);
}
