/** What stands out, as sentences in which each word is a button that moves the cursor to it. */

import { element, unbroken } from "../dom.js";
import { percentOf } from "./facts.js";
import { findingsOf } from "./findings.js";
import { changeText } from "./sentence.js";

/**
 * The list, and the note on what attention proves.
 *
 * @param {Trace} trace @param {State} state @param {Words} words
 */
export function findingsList(trace, state, words) {
  const items = findingsOf(trace, state).map((finding) => element("li", { class: finding.kind }, ...sentence(finding, trace, state, words)));
  return element("div", { id: "findings", class: "findings", role: "group", "aria-label": words.findings },
    ...(items.length ? [element("ul", {}, ...items)] : []), element("p", { class: "muted" }, words.findingsNote));
}

function sentence({ kind, words: named, more }, trace, state, words) {
  const say = words.finding;
  const several = named.length > 1 || more > 0;
  const parts = say[several ? `${kind}s` : kind].flatMap((part) => (typeof part === "string" ? [part] : listed(kind, named, more, state, words)));
  const tail = kind === "differs" ? [apart(named[0], words)] : [];
  return [...parts, ...tail].flatMap((part) => (typeof part === "string" ? unbroken(part) : [part]));
}

/**
 * The words with their probabilities, and commas between them.
 *
 * @param {State} state @param {Words} words
 */
function listed(kind, named, more, state, words) {
  const nodes = named.flatMap(({ text, chance, to }, i) => [
    ...(i ? [", "] : []),
    to ? element("button", { type: "button", id: `finding-${kind}-${i}`, class: "named", onclick: () => state.set(to) }, `“${text}”`) : `“${text}”`,
    ...(chance === undefined ? [] : [words.finding.chance(words.sentence.share(percentOf(chance)))]),
  ]);
  return more ? [...nodes, words.finding.more(more)] : nodes;
}

function apart({ seen, share, without, used, most }, words) {
  const say = words.finding[without.of === null ? "apart" : "apartNext"];
  return say(seen, words.sentence.share(percentOf(share)), changeText(without, words.sentence), used, changeText(most, words.sentence));
}
