/** What stands out, as sentences in which each word is a button that moves the cursor to it. */

import { element, unbroken } from "../dom.js";
import { percentOf } from "./facts.js";
import { findingsOf } from "./findings.js";
import { changeText } from "./sentence.js";

/** @typedef {import("./findings.js").Finding} Finding */

/**
 * What attention does not prove.
 *
 * @param {Words} words
 */
export function note(words) {
  return element("p", { class: "muted", id: "note" }, words.findingsNote);
}

/**
 * The list, and the note where it is not above the picture already.
 *
 * @param {Trace} trace @param {State} state @param {Words} words @param {boolean} noted
 */
export function findingsList(trace, state, words, noted) {
  const items = findingsOf(trace, state).map((finding) => element("li", { class: finding.kind }, ...sentence(finding, state, words)));
  return element("div", { id: "findings", class: "findings", role: "group", "aria-label": words.findings },
    ...(items.length ? [element("ul", {}, ...items)] : []), ...(noted ? [] : [note(words)]));
}

/** @param {Finding} finding @param {State} state @param {Words} words */
function sentence({ kind, words: named, more }, state, words) {
  const several = kind !== "differs" && (named.length > 1 || more > 0);
  const parts = words.finding[several ? /** @type {const} */ (`${kind}s`) : kind];
  const tail = named.flatMap(({ apart: found }) => (found ? [apart(found, words)] : []));
  return [...parts.flatMap((part) => (typeof part === "string" ? [part] : listed(kind, named, more, state, words))), ...tail].flatMap((part) => (typeof part === "string" ? unbroken(part) : [part]));
}

/**
 * The words with their probabilities, and commas between them.
 *
 * @param {Finding["kind"]} kind @param {Finding["words"]} named @param {number} more @param {State} state @param {Words} words
 */
function listed(kind, named, more, state, words) {
  const nodes = named.flatMap(({ text, chance, to }, i) => [
    ...(i ? [", "] : []),
    to ? element("button", { type: "button", id: `finding-${kind}-${i}`, class: "named", onclick: () => state.set(to) }, `“${text}”`) : `“${text}”`,
    ...(chance === undefined ? [] : [words.finding.chance(words.sentence.share(percentOf(chance)))]),
  ]);
  return more ? [...nodes, words.finding.more(more)] : nodes;
}

/** @param {import("./findings.js").Apart} found @param {Words} words */
function apart({ seen, share, without, used, most }, words) {
  const say = words.finding[without.of === null ? "apart" : "apartNext"];
  return say(seen, words.sentence.share(percentOf(share)), changeText(without, words.sentence), used, changeText(most, words.sentence));
}
