/** What the user has changed in the model, and the results. */

import { element, table } from "./dom.js";
import { readable, total } from "./trace.js";

export const UNCHANGED = { off: "", blank: "", set: "" };

const CHANGED = /** @type {const} */ (["off", "blank", "set"]);

/** @param {Chosen} state */
export function changed(state) {
  return CHANGED.some((name) => state.get(name) !== "");
}

/**
 * Ablated heads, occluded words and a row that is set, in the format of the server.
 *
 * @param {Chosen} state
 */
export function changes(state) {
  /** @type {Record<string, number[]>} */
  const off = {};
  for (const name of state.get("off").split(" ").filter(Boolean)) {
    const at = name.lastIndexOf(":");
    (off[name.slice(0, at)] ??= []).push(Number(name.slice(at + 1)));
  }
  const [site, head, query, key] = state.get("set").split(":");
  const weights = Array.from({ length: Number(key) + 1 }, (_, k) => (k === Number(key) ? 1 : 0));
  const row = site ? { site, head: head === "all" ? null : Number(head), query: Number(query), weights } : null;
  return { off, blank: listed(state.get("blank")), row };
}

/** @param {string} text */
export function listed(text) {
  return text.split(" ").filter(Boolean).map(Number);
}

/**
 * Whether a trace is of the model with its current changes.
 *
 * @param {Trace} trace @param {Chosen} state
 */
export function isOf(trace, state) {
  return changed(state) && trace.forced && trace.page.change === JSON.stringify(changes(state));
}

/**
 * The output of the modified model, and its log-probability of the original output.
 *
 * @param {Trace} trace @param {Words} words @param {() => void} undo
 */
export function after(trace, words, undo) {
  const { forced, page: { baseline } } = trace;
  if (!baseline || !forced) return "";
  const differences = baseline.steps.map((step, i) => forced[i] - step.log_probability);
  const number = (/** @type {number} */ value) => value.toFixed(3);
  return element("div", { class: "after" },
    element("dl", {}, element("dt", {}, words.unchanged), element("dd", {}, baseline.output),
      element("dt", {}, words.changedSo), element("dd", { class: "changed" }, trace.output)),
    element("p", {}, element("button", { type: "button", id: "undo", onclick: undo }, words.undo)),
    table(["", ...baseline.steps.map((step) => readable(step.token)), words.sum], [
      [words.logp, ...baseline.steps.map((step) => number(step.log_probability)), ""],
      [words.change, ...differences.map(number), number(total(differences))],
    ], words.forced));
}
