/** The caption of a figure, and how jumok is cited. */

import { changes } from "../changes.js";
import { cursorOf, headChosen, siteOf } from "../cursor.js";
import { readable, visible } from "../trace.js";
import { rowName, valueChosen } from "../views/board.js";

const OF_ONE_HEAD = new Set(["overview", "board", "scrubber", "row", "walk", "compare"]);

/**
 * Two paragraphs: what the figure shows (model, view, sentence, layer and head, value), and the citation.
 *
 * @param {Trace} trace @param {ViewName} view @param {State} state @param {Words} words
 */
export function captionOf(trace, view, state, words) {
  /** @type {Partial<Record<ViewName, string>>} */
  const values = words.captionValue;
  const said = [words.captionOf(words[view], trace.model, sentence(trace))];
  if (view === "grid") said.push(words.captionGrid(words[siteOf(trace, state).part]));
  else if (OF_ONE_HEAD.has(view)) said.push(...ofHead(trace, view, state, words));
  else if (values[view]) said.push(values[view]);
  const changed = [...trace.changes, ...changesOf(trace, state)];
  if (changed.length) said.push(`${words.changedModel(changed.join("; "))}.`);
  return [said.join(" "), citation(trace)];
}

/**
 * What was changed in the page, as `Trace.changes` names it.
 *
 * @param {Trace} trace @param {State} state
 */
function changesOf(trace, state) {
  const { off, blank, row } = changes(state);
  const names = Object.fromEntries(trace.sites.map(({ name, part, layer }) => [name, `${part} ${layer + 1}`]));
  return [
    ...Object.entries(off).flatMap(([site, heads]) => heads.map((head) => `head off: ${names[site]}.${head + 1}`)),
    ...blank.map((position) => `word off: ${position + 1}`),
    ...(row ? [`weights set: ${names[row.site]}${row.head === null ? "" : `.${row.head + 1}`}, query ${row.query + 1}`] : []),
  ];
}

/**
 * What was read, and what was written, if that is a text or a label.
 *
 * @param {Trace} trace
 */
function sentence(trace) {
  const [read, written] = [visible(trace.text), trace.steps.length ? visible(trace.output) : ""];
  return written ? `“${read}” → “${written}”` : `“${read}”`;
}

/**
 * The layer, the head, what the cells show, and the number at the cursor.
 *
 * @param {Trace} trace @param {ViewName} view @param {State} state @param {Words} words
 */
function ofHead(trace, view, state, words) {
  const site = siteOf(trace, state);
  const oneRow = view === "row" || view === "walk"; // which show tokens, in one head
  const at = cursorOf(trace, site, state);
  const head = oneRow ? at.head : headChosen(site, state);
  const name = typeof head === "number" ? words.pathHead(String(head + 1)) : words[head];
  const value = view === "board" || view === "scrubber" ? valueChosen(site, state) : "weights";
  const said = [words.captionHead(words[site.part], words.layerNumber(site.layer + 1), value === "norms" ? words.captionAllHeads : name, words[value])];
  if (value !== "weights" || view === "compare") return said;
  const [row, column] = oneRow ? ["", ""] : [at.map.rows[at.row], at.map.columns[at.column]];
  const weight = oneRow ? site.matrix(head, "weights")[at.query * site.columns + at.key] : at.weight;
  return [...said, `“${row || rowName(trace, site, at.query, words)}” → “${column || readable(site.columnTokens[at.key])}”: ${weight.toFixed(3)}.`];
}

/** @param {Trace} trace */
function citation({ version }) {
  return `jumok${version ? ` ${version}` : ""} (주목), github.com/jumok/jumok.`;
}
