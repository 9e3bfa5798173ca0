/** The placeholders of a tour: what its links and texts leave to the model at hand. docs/look.md lists them. */

import { isOf } from "../changes.js";
import { cursorOf, shareHead, siteOf } from "../cursor.js";
import { percentOf } from "../overview/facts.js";
import { changeText } from "../overview/sentence.js";
import { State } from "../state.js";
import { momentsOf, walkOf } from "../walk/steps.js";
import { comparedWords, differingWord, headName, maskOf, sentenceAt, sharpestHead, strongestHead, weakestHead } from "./facts.js";

const PLACE = /\{([^{}]*)\}/g;
const HEAD = { sharpest: sharpestHead, strongest: strongestHead, weakest: weakestHead };

/**
 * Where a placeholder stands: in a link whose values before it are those of the state, or in the text of a step, with the page as it was drawn.
 *
 * @typedef {{ trace: Trace, state: State, live: boolean, part?: string }} InLink
 * @typedef {InLink & { words: Words, now: Trace, shown: State }} InText
 */

/** Values of links, by name; null or undefined where this model, or this page, has none. @type {ByName<(at: InLink) => string | number | null | undefined>} */
const LINK_PLACES = {
  "sharpest.part": (at) => headOfPlace(at, "sharpest")?.site.part,
  "sharpest.layer": (at) => headOfPlace(at, "sharpest")?.site.layer,
  "sharpest.head": (at) => headOfPlace(at, "sharpest")?.head,
  "strongest.part": (at) => headOfPlace(at, "strongest")?.site.part,
  "strongest.layer": (at) => headOfPlace(at, "strongest")?.site.layer,
  "strongest.head": (at) => headOfPlace(at, "strongest")?.head,
  "strongest.off": (at) => at.live ? nameOf(headOfPlace(at, "strongest")) : null,
  "weakest.part": (at) => headOfPlace(at, "weakest")?.site.part,
  "weakest.layer": (at) => headOfPlace(at, "weakest")?.site.layer,
  "weakest.head": (at) => headOfPlace(at, "weakest")?.head,
  "differs.word": ({ trace }) => differingWord(trace)?.row,
  "differs.query": differsQuery,
  "middle.query": (at) => Math.floor(siteOf(at.trace, at.state).rows / 2),
  "mask.moment": maskMoment,
};

/** Sentences of texts, by name; empty where there is nothing to say. @type {ByName<(at: InText) => string>} */
const TEXT_PLACES = {
  "sentence": ({ trace, state, words }) => sentenceAt(trace, state, words),
  "head": ({ trace, state, words }) => headName(siteOf(trace, state), shareHead(siteOf(trace, state), state), words),
  "strongest": (at) => effectOf(at, "strongest"),
  "weakest": (at) => effectOf(at, "weakest"),
  "switched": switched,
  "agree": ({ trace, words }) => {
    const compared = comparedWords(trace);
    return compared.length ? words.tour.agree(compared.filter(({ seen, used }) => seen === used).length, compared.length) : "";
  },
  "differs": ({ trace, words }) => {
    const word = differingWord(trace);
    if (!word) return "";
    const [seen, used] = [word.read[word.seen], word.read[word.used]];
    const most = changeText(word.most, words.sentence);
    return word.seen === word.used ? words.tour.same(word.word, seen, percentOf(word.weight), most)
      : words.tour.differs(word.word, [seen, percentOf(word.weight), changeText(word.without, words.sentence)], [used, most]);
  },
  "mask": ({ trace, state, words }) => {
    const mask = maskOf(siteOf(trace, state));
    return mask ? words.tour.mask(mask) : "";
  },
  "vectors": ({ trace, state, words }) => {
    const site = siteOf(trace, state);
    const values = site.array("value");
    return values ? words.tour.vectors(site.columns, values.shape[0] * values.shape[2]) : "";
  },
};

/** The sites of the link's own attention kind, if it names one; all sites for a text. @param {InLink} at */
function sitesAt({ trace, part }) {
  const known = trace.of(part ?? "");
  return known.length ? known : trace.sites;
}

/** @param {InLink} at @param {keyof typeof HEAD} which */
function headOfPlace(at, which) {
  return HEAD[which](at.trace, sitesAt(at), at.state);
}

/** @param {HeadAt | undefined} found */
function nameOf(found) {
  return found && `${found.site.name}:${found.head}`;
}

/** The query that writes the word, or reads it, as the overview's rows do. @param {InLink} at */
function differsQuery({ trace, state }) {
  const word = differingWord(trace);
  const site = siteOf(trace, state);
  const facts = trace.findings.attribution?.words;
  if (!word || site.queries !== facts?.own || !site.writes) return null;
  const reads = state.get("reading") === "reads" && site.queries !== facts.read;
  return Math.max(0, word.token - (reads ? 0 : 1));
}

/** The moment of the walk in which the mask is applied. @param {InLink} at */
function maskMoment({ trace, state }) {
  const site = siteOf(trace, state);
  if (!site.array("query")) return null;
  const { head, query } = cursorOf(trace, site, state);
  const walk = walkOf(trace, site, head, query);
  const at = momentsOf(walk, site).findIndex(({ op }) => op === "mask");
  return at < 0 ? null : at;
}

/** @param {InText} at @param {"strongest" | "weakest"} which */
function effectOf(at, which) {
  const found = HEAD[which](at.trace, sitesAt(at));
  if (!found) return "";
  return at.words.tour[which](headName(found.site, found.head, at.words), at.trace.output, changeText(found.effect, at.words.sentence));
}

/** What followed from ablating the heads: known in a live page, once the changed model has answered. @param {InText} at */
function switched({ live, now, shown, words, trace }) {
  if (!live) return words.tour.saved;
  return isOf(now, shown) && shown.get("off") ? words.tour.switched(now.output, trace.output) : "";
}

/**
 * The values of a link in a page: placeholders by their values, which may follow from the values before them.
 *
 * base: the values of the page as it was opened.
 *
 * @param {string} link @param {Trace} trace @param {Values} base @param {boolean} live
 */
export function linkOf(link, trace, base, live) {
  /** @type {Record<string, string>} */
  const found = {};
  for (const [name, value] of new URLSearchParams(link)) {
    const state = stateOf(found, base);
    const at = { trace, state, live, part: found.part };
    const [, place] = [...value.matchAll(PLACE)][0] ?? [];
    const known = place === undefined ? value : LINK_PLACES[place]?.(at);
    if (known !== null && known !== undefined) found[name] = String(known);
  }
  return { view: "overview", ...found };
}

/** A state of these values, which nothing follows. @param {Record<string, string>} values @param {Values} base */
export function stateOf(values, base) {
  return new State(new URLSearchParams(values).toString(), base);
}

/** A step's text with its generated sentences. @param {string} text @param {InText} at */
export function textOf(text, at) {
  return text.replace(PLACE, (_, place) => TEXT_PLACES[place]?.(at) ?? "").replace(/ {2,}/g, " ").trim();
}
