/** The most probable tokens at each step, with another temperature, top-k and top-p, and what is drawn from them. */

import { chancesOf } from "../chances.js";
import { element } from "../dom.js";
import { percentOf } from "../overview/facts.js";
import { LIMITS, remember } from "../state.js";
import { barsFigure } from "../taking/bars_figure.js";
import { readable } from "../trace.js";

const ACROSS = 4; // steps beside one another in the figure
const END = 3; // the id of the token after which nothing follows
/** @typedef {import("../chances.js").Options} Options */
/** By their fields of the state. @type {["heat" | "few" | "nucleus", keyof Options][]} */
const SLIDERS = [["heat", "temperature"], ["few", "topK"], ["nucleus", "topP"]];

/** @type {Needs} */
choicesView.needs = (trace) => trace.steps.length > 0;

/** @type {View} */
export function choicesView(trace, state, words, ask) {
  const cards = trace.steps.map((step, i) => cardOf(step, i, onward(trace, i, ask), words));
  const note = element("p", { class: "muted", id: "chances-note", role: "status" });
  const drawn = element("p", { id: "drawn", role: "status" });
  const draw = element("button", { type: "button", id: "draw", onclick: () => drawAll(trace, cards, optionsOf(state, trace), drawn, words) }, words.draw);
  const update = () => {
    const options = optionsOf(state, trace);
    const exact = cards.map((card) => card.update(options)).every(Boolean);
    note.textContent = words.chancesNote(isUsual(options) ? "own" : exact ? "exact" : "range", trace.steps[0].best.length);
    draw.disabled = !exact; // what was not recorded cannot be drawn
    drawn.textContent = "";
  };
  update();
  return {
    help: words.beamHelp, controls: [],
    body: [element("div", { class: "chances" }, ...SLIDERS.map(([key, name]) => slider(key, name, state, trace, update, words)), draw), note, drawn,
      element("div", { class: "steps" }, ...cards.map(({ node }) => node))],
    figure: () => figureOf(trace, optionsOf(state, trace)),
  };
}

/**
 * The most tokens that top-k may keep: those of the step with the fewest that are recorded.
 *
 * @param {Trace} trace
 */
function recorded(trace) {
  return Math.min(...trace.steps.map(({ best }) => best.length));
}

/**
 * What the sliders say.
 *
 * @param {State} state @param {Trace} trace
 */
function optionsOf(state, trace) {
  return { temperature: state.get("heat"), topK: Math.min(state.get("few"), recorded(trace)), topP: state.get("nucleus") };
}

/** @param {Options} options */
function isUsual({ temperature, topK, topP }) {
  return temperature === 1 && topK === 0 && topP === 1;
}

/**
 * A slider that moves the bars while it is moved; the address follows when it is let go.
 *
 * @param {"heat" | "few" | "nucleus"} key @param {keyof Options} name @param {State} state @param {Trace} trace @param {() => void} onMove @param {Words} words
 */
function slider(key, name, state, trace, onMove, words) {
  const [least, highest, step] = LIMITS[key];
  const most = key === "few" ? recorded(trace) : highest;
  const said = element("output", { for: `chances-${name}` });
  const input = element("input", { type: "range", id: `chances-${name}`, min: least, max: most, step, value: optionsOf(state, trace)[name] });
  const tell = () => {
    const value = Number(input.value);
    said.textContent = name === "topK" && value === 0 ? words.allTokens : String(value);
    input.setAttribute("aria-valuetext", said.textContent);
  };
  input.addEventListener("input", () => {
    state.keep({ [key]: input.value });
    tell();
    onMove();
  });
  input.addEventListener("change", () => remember(state.fragment));
  tell();
  return element("label", {}, element("span", {}, words.chanceSliders[name]), said, input);
}

/**
 * A step as a table of bars; `update` draws the probabilities, and says whether they are exact.
 *
 * @param {Step} step @param {number} i @param {((n: number) => void) | null} goOn @param {Words} words
 */
function cardOf(step, i, goOn, words) {
  // The written token may not be among the most probable ones: then it is listed below them.
  const best = step.best.map(([token]) => token);
  const rows = [...best, ...(best.includes(step.token) ? [] : [step.token])].map((token, n) => {
    const [least, most] = [element("i", { "aria-hidden": "true" }), element("i", { class: "possible", "aria-hidden": "true" })];
    const said = element("td", {});
    const name = goOn && n < best.length && step.ids?.[n] !== END
      ? element("button", { type: "button", title: words.goOnFrom(readable(token)), onclick: () => goOn(n) }, readable(token)) : readable(token);
    const node = element("tr", { class: token === step.token ? "written" : "" }, element("th", { scope: "row" }, name), element("td", {}, element("div", { class: "bar" }, least, most)), said);
    return { node, least, most, said };
  });
  const title = `${i + 1}. ${readable(step.token)} (${words.logp} ${step.log_probability.toFixed(3)})`;
  const node = element("table", { class: "step" }, element("caption", {}, title), element("tbody", {}, ...rows.map((row) => row.node)));
  /** @param {Options} options */
  const update = (options) => {
    const { ranges, exact } = chancesOf(step, options);
    rows.forEach((row, n) => {
      const [least, most] = ranges[n] ?? (isUsual(options) ? [Math.exp(step.log_probability), Math.exp(step.log_probability)] : [0, ranges[ranges.length - 1][1]]);
      row.least.style.width = `${100 * least}%`;
      row.most.style.width = `${100 * (most - least)}%`;
      row.said.textContent = rangeText(least, most);
      row.node.classList.remove("drawn");
    });
    return exact;
  };
  return { node, rows, update };
}

/**
 * One percentage, or two where they differ in what is shown.
 *
 * @param {number} least @param {number} most
 */
function rangeText(least, most) {
  const [from, to] = [least, most].map((share) => (100 * share).toFixed(1));
  return from === to ? `${from} %` : `${from}–${to} %`;
}

/**
 * Of a live page what writes on from another token of a step: it takes the number of one in `best`.
 *
 * @param {Trace} trace @param {number} i @param {Ask | undefined} ask
 * @returns {((n: number) => void) | null}
 */
function onward(trace, i, ask) {
  const { written, prompt = 0 } = trace.findings;
  const { best, ids = [] } = trace.steps[i];
  if (!ask || !trace.writesText || trace.page.baseline || i < prompt || !ids.length) return null;
  return (n) => ask(trace.text, [...written.slice(0, i - prompt), ids[n]], undefined,
    [...trace.steps.slice(prompt, i).map(({ token }) => token), best[n][0]]);
}

/**
 * Draws a token of every step, after what the model wrote before it.
 *
 * @param {Trace} trace @param {ReturnType<typeof cardOf>[]} cards @param {Options} options @param {HTMLElement} said @param {Words} words
 */
function drawAll(trace, cards, options, said, words) {
  const tokens = trace.steps.map((step, i) => {
    const { ranges } = chancesOf(step, options);
    let left = Math.random();
    const at = ranges.findIndex(([share]) => (left -= share) < 0);
    cards[i].rows.forEach(({ node }, n) => node.classList.toggle("drawn", n === at));
    return at < 0 ? "…" : readable(step.best[at][0]);
  });
  said.textContent = words.drawn(tokens.join(" "));
}

/**
 * The most probable labels of a step, as the model gives them.
 *
 * @param {Step} step @param {Words} words
 */
export function barsOf(step, words) {
  const card = cardOf(step, 0, null, words);
  card.update({ temperature: 1, topK: 0, topP: 1 });
  return card.node;
}

/**
 * The same as bars; the written token is darker.
 *
 * @param {Trace} trace @param {Options} options
 */
function figureOf(trace, options) {
  /** @type {import("../taking/bars_figure.js").Bars[]} */
  const panels = trace.steps.map((step, i) => {
    const { ranges } = chancesOf(step, options);
    return {
      title: `${i + 1}. ${readable(step.token)}`,
      names: step.best.map(([token]) => readable(token)),
      values: ranges.map(([least, most]) => (least + most) / 2),
      strong: (at) => step.best[at][0] === step.token,
      form: (value) => percentOf(value),
    };
  });
  return barsFigure(panels, { across: ACROSS, most: 1 });
}
