/** The panel of a tour: a step's text, with Back, Next and End. It drives the page by the steps' links. */

import { element, unbroken } from "../dom.js";
import { missingViews } from "./fit.js";
import { pointAt } from "./laser.js";
import { linkOf, stateOf, textOf } from "./places.js";

/** @type {ByName<number>} */
const TURNS = { ArrowLeft: -1, ArrowRight: 1 };

/**
 * The panel of tours.
 *
 * go(values, turned) opens a link.
 *
 * Returns the node; `start(tour)`; `update(tour)` for every drawing, undefined where no tour is running; `focus`.
 *
 * @param {{ now: Drawn, state: State, live: boolean, go: Open, end: () => void }} page
 */
export function tourPanel({ now, state, live, go, end }) {
  const title = element("h2", { id: "tour-title" });
  const count = element("span", { class: "muted tour-count" });
  const text = element("p", { id: "tour-text" });
  const said = element("div", { "aria-live": "polite" }, element("div", { class: "tour-head" }, title, count), text);
  const [back, next, stop] = /** @type {[id: string, by: number][]} */ ([["tour-back", -1], ["tour-next", 1], ["tour-end", 0]]).map(([id, by]) =>
    element("button", { type: "button", id, onclick: () => (by ? move(by) : end()) }));
  const node = element("section", { class: "tour", id: "tour", "aria-labelledby": "tour-title", hidden: true, onkeydown: (event) => {
    const by = TURNS[event.key]; // in the panel alone: elsewhere the arrows are the views'
    if (!by) return;
    event.preventDefault();
    move(by);
  } }, said, element("div", { class: "tour-buttons" }, back, next, stop));
  /** @type {{ tour: Tour | null, step: number, values: string, trace?: Trace }} */
  const shown = { tour: null, step: 0, values: "" };

  const whole = () => now.trace.page.baseline ?? now.trace;
  /** @param {Tour} tour @param {number} step */
  const valuesAt = (tour, step) => linkOf(tour.steps[step].link, whole(), state.base, live);
  /** @param {Tour} tour @param {number} step @param {boolean} turned */
  const open = (tour, step, turned) => {
    const values = valuesAt(tour, step);
    Object.assign(shown, { tour, step, values: JSON.stringify(values), trace: now.trace });
    go({ ...values, tour: tour.name, step: String(step + 1) }, turned);
    if (turned) requestAnimationFrame(() => requestAnimationFrame(() => pointAt(values.view))); // once it has been laid out and drawn
  };
  /** @param {number} by */
  const move = (by) => {
    const to = shown.step + by;
    if (!shown.tour || to < 0 || to >= shown.tour.steps.length) return;
    open(shown.tour, to, true);
    const used = by > 0 ? next : back;
    if (used.disabled) (by > 0 ? stop : next).focus();
  };
  /** @param {Tour} tour @param {number} step @param {Record<string, string>} values */
  const write = (tour, step, values) => {
    const { words, trace } = now;
    const language = state.get("lang") === "ko" ? "ko" : "en";
    const missing = missingViews(tour, now.names);
    const at = { trace: whole(), state: stateOf(values, state.base), live, words, now: trace, shown: state };
    const written = missing.length ? words.tourMissing(missing.map((view) => words[view]).join(", ")) : textOf(tour.steps[step].text[language], at);
    /** @type {[HTMLElement, string][]} */
    const texts = [[title, tour.title[language]], [count, words.tourCount(step + 1, tour.steps.length)], [text, written],
      [back, words.tourBack], [next, words.tourNext], [stop, words.tourEnd]];
    for (const [part, said] of texts) if (part.textContent !== said) part.replaceChildren(...unbroken(said)); // what is the same is not said again
    back.disabled = step === 0;
    next.disabled = step === tour.steps.length - 1;
  };
  /** @param {Tour | undefined} tour */
  const update = (tour) => {
    node.hidden = !tour;
    if (!tour) {
      shown.tour = null;
      return;
    }
    const step = Math.min(Math.max(state.get("step") ?? 1, 1), tour.steps.length) - 1;
    const values = valuesAt(tour, step);
    const same = shown.tour === tour && shown.step === step;
    const moved = same ? shown.trace !== now.trace && shown.values !== JSON.stringify(values) : bare(state);
    Object.assign(shown, { tour, step, values: JSON.stringify(values), trace: now.trace });
    write(tour, step, values);
    // Another text, or what was computed since: the step is about other words or heads than those that are open.
    if (moved) queueMicrotask(() => shown.tour === tour && shown.step === step && open(tour, step, false));
  };
  /** @param {Tour} tour */
  const start = (tour) => open(tour, 0, true);
  return { node, update, start, focus: () => (next.disabled ? stop : next).focus() };
}

/**
 * Whether a link names the step and nothing that is open in it: the short form, whose values are the step's own.
 *
 * @param {State} state
 */
function bare(state) {
  const names = [...new URLSearchParams(state.fragment).keys()];
  return names.every((name) => ["tour", "step", "lang", "text", "picture"].includes(name));
}
