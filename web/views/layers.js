/** Layers and positions: the prediction after each layer, the change of a word's vector, the position encodings. */

import { curvesFigure } from "../curves.js";
import { choice, element, field, table } from "../dom.js";
import { heatmap, mapFigure } from "../heatmap.js";
import { readable } from "../trace.js";
import { placesView } from "./positions.js";
import { curves, pictureOrTable, stackChosen } from "./stacks.js";

const SHOWS = { lens: lensView, apart: apartView, places: placesView };
/** @type {Values["show"][]} */
const NAMES = ["lens", "apart", "places"];

/** @type {Needs} */
layersView.needs = (trace) => trace.page.known.layered;

/** @type {View} */
export function layersView(trace, state, words, ask) {
  const { stacks } = trace.findings.layers ?? {};
  if (!stacks) {
    if (ask && trace.page.once("layers")) ask();
    return { help: words.layersHelp, controls: [], body: [] };
  }
  // A model that predicts no tokens (a BERT encoder) has no predictions after its layers.
  const names = NAMES.filter((name) => name !== "lens" || Object.values(stacks).some(({ best }) => best));
  const shown = names.find((name) => name === state.get("show")) ?? names[0];
  const view = SHOWS[shown](trace, state, words, ask);
  const shows = names.map((name) => [name, words[`show_${name}`]]);
  return { ...view, controls: [choice(words.showWhat, shows, shown, (show) => state.set({ show })), ...view.controls] };
}

/** @param {number} count @param {Words} words */
function layerNames(count, words, first = words.embedding) {
  return Array.from({ length: count }, (_, layer) => (layer === 0 ? first : words.layerNumber(layer)));
}

/**
 * The axis whose tokens a stack reads: one side of a translation, or the only text.
 *
 * @param {Trace} trace @param {string} stack
 */
function axisOf(trace, stack) {
  return trace.axes[stack.startsWith("encoder") ? "source" : "target"] ?? trace.axes.text;
}

/** @param {Trace} trace @param {State} state @param {Words} words */
function lensView(trace, state, words) {
  const stacks = trace.findings.layers?.stacks ?? {};
  const names = Object.keys(stacks).filter((name) => stacks[name].best);
  const { stack, controls } = stackChosen(names, state, words);
  const { best = [], written, read: how } = stacks[stack];
  const recurrent = how === "recurrent";
  const read = axisOf(trace, stack).tokens.map(readable);
  const wanted = written ? trace.steps.map((step) => readable(step.token)) : read;
  const ofWritten = written && state.get("of") === "written";
  if (written) {
    controls.push(choice(words.probabilityOf, [["best", words.ofBest], ["written", words.ofWritten]],
      ofWritten ? "written" : "best", (of) => state.set({ of })));
  }
  const values = best.flatMap((layer, l) => layer.map((at, p) => (ofWritten ? written[l][p] : at[0][1])));
  const map = {
    rows: layerNames(best.length, words, recurrent ? words.stateless : words.embedding),
    columns: wanted,
    values: Float32Array.from(values),
    texts: best.flatMap((layer) => layer.map((at) => readable(at[0][0]))),
  };
  const [l, p] = cellChosen(state, best.length, wanted.length);
  /** @param {number} row @param {number} column @param {number} value */
  const say = (row, column, value) =>
    `${words.after(read[column])}, ${map.rows[row]}: ${readable(best[row][column][0][0])} ${value.toFixed(3)}`;
  const picture = heatmap(map, { label: words.show_lens, cursor: [l, p], say,
    onPick: (row, column) => state.set({ cell: `${row},${column}` }) });
  const top = table([words.token, words.probability],
    best[l][p].map(([token, probability]) => [readable(token), probability.toFixed(4)]),
    `${map.rows[l]}, ${words.after(read[p])}`);
  controls.push(pictureOrTable(state, words));
  const whole = table(["", ...map.columns], map.rows.map((name, row) => [
    name, ...map.columns.map((_, column) =>
      `${map.texts[row * map.columns.length + column]} ${values[row * map.columns.length + column].toFixed(3)}`),
  ]), words.show_lens);
  return {
    help: recurrent ? words.lensHelpRecurrent : words.lensHelp,
    controls,
    body: [state.get("as") === "table" ? whole : picture, element("p", { class: "muted" }, how ? words[`lens_${how}`] : ""), top],
    figure: mapFigure(map),
  };
}

/** @param {State} state @param {number} rows @param {number} columns */
function cellChosen(state, rows, columns) {
  const [row, column] = state.get("cell").split(",").map(Number);
  /** @param {number} value @param {number} end @param {number} otherwise */
  const whole = (value, end, otherwise) => (Number.isInteger(value) && value < end ? value : otherwise);
  return state.get("cell") ? [whole(row, rows, rows - 1), whole(column, columns, 0)] : [rows - 1, 0];
}

/** @param {Trace} trace @param {State} state @param {Words} words @param {Ask | undefined} ask */
function apartView(trace, state, words, ask) {
  const stacks = trace.findings.layers?.stacks ?? {};
  const { stack, controls } = stackChosen(Object.keys(stacks), state, words);
  const axis = axisOf(trace, stack);
  const against = trace.findings.similarity?.[stack];
  const others = against?.texts ?? [];
  const word = Math.min(state.get("word") ?? longestShared(axis.texts, others),
    axis.texts.length - 1);
  controls.push(choice(words.word, axis.texts.map((text, i) => [String(i), `${i + 1} ${text}`]), String(word),
    (chosen) => state.set({ word: chosen })));
  const own = stacks[stack].moved.map((layer) => meanOf(layer.filter((_, at) => axis.words[at] === word)));
  const recurrent = stacks[stack].read === "recurrent";
  const itself = recurrent ? words[stack === "encoder" ? "readAlone" : "readFirst"] : words.ownVector;
  const series = [{ name: `${axis.texts[word]} (1) · ${itself}`, values: own }];
  if (ask) {
    controls.push(field(words.second, state.get("against"), (text) => {
      state.set({ against: text, other: "" });
      ask();
    }));
  }
  if (against) {
    const alike = others.indexOf(axis.texts[word]);
    const second = Math.min(state.get("other") ?? Math.max(alike, 0), others.length - 1);
    controls.push(choice(words.otherWord, others.map((text, i) => [String(i), `${i + 1} ${text}`]),
      String(second), (chosen) => state.set({ other: chosen })));
    series.unshift({ name: `${axis.texts[word]} (1) · ${others[second]} (2)`, values: against.cosines.map((layer) => layer[word][second]) });
    if (against.different) series.push({ name: words.differentWords, values: against.different });
  }
  const ticks = layerNames(own.length, words);
  const figure = curvesFigure({ series, ticks: ticks.map((_, i) => String(i)), low: -1, high: 1, across: words.layer });
  controls.push(pictureOrTable(state, words));
  const numbers = table([words.layer, ...series.map(({ name }) => name)],
    ticks.map((name, i) => [name, ...series.map(({ values }) => values[i].toFixed(3))]), words.show_apart);
  const sentences = element("dl", {}, element("dt", {}, "1"), element("dd", {}, axis.texts.join(" ")),
    ...(against ? [element("dt", {}, "2"), element("dd", {}, others.join(" "))] : []));
  return {
    help: recurrent ? words.apartHelpRecurrent : words.apartHelp,
    controls,
    body: [sentences, state.get("as") === "table" ? numbers : curves(figure, words.show_apart, series),
      ...(against ? [] : [element("p", { class: "muted" }, ask ? words.giveSecond : words.noSecond)])],
    figure,
  };
}

/**
 * The longest word that both sentences contain: short ones are seldom of interest.
 *
 * @param {string[]} texts @param {string[]} others
 */
function longestShared(texts, others) {
  const shared = texts.filter((text) => others.includes(text));
  const longest = shared.reduce((best, text) => (text.length > best.length ? text : best), "");
  return Math.max(0, texts.indexOf(longest));
}

/** @param {number[]} values */
function meanOf(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
