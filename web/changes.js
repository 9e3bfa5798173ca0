/** What the reader has changed in the model, and what came of it. */

import { element, table } from "./dom.js";
import { readable, total } from "./trace.js";

export const UNCHANGED = { off: "", blank: "", set: "" };

export function changed(state) {
  return Object.keys(UNCHANGED).some((name) => state.get(name));
}

/** Heads that are off, words that are blanked, a row that is set: as the server wants them. */
export function changes(state) {
  const off = {};
  for (const name of state.get("off").split(" ").filter(Boolean)) {
    const at = name.lastIndexOf(":");
    (off[name.slice(0, at)] ??= []).push(Number(name.slice(at + 1)));
  }
  const [site, head, query, key] = state.get("set").split(":");
  const weights = Array.from({ length: Number(key) + 1 }, (_, k) => (k === Number(key) ? 1 : 0));
  const row = site ? { site, head: Number(head), query: Number(query), weights } : null;
  return { off, blank: listed(state.get("blank")), row };
}

export function listed(text) {
  return text.split(" ").filter(Boolean).map(Number);
}

/** What the model writes now, and how it takes what it had written before the change. */
export function after(trace, words, undo) {
  const { baseline } = trace;
  const cells = baseline.steps.map((step, i) => {
    const change = trace.forced[i] - step.log_probability;
    return [readable(step.token), step.log_probability.toFixed(3), change.toFixed(3)];
  });
  cells.push([words.sum, "", total(cells.map((cell) => Number(cell[2]))).toFixed(3)]);
  return element("div", { class: "after" },
    element("dl", {}, element("dt", {}, words.unchanged), element("dd", {}, baseline.output),
      element("dt", {}, words.changedSo), element("dd", { class: "changed" }, trace.output)),
    element("p", {}, element("button", { type: "button", id: "undo", onclick: undo }, words.undo)),
    table([words.output, words.logp, words.change], cells, words.forced));
}
