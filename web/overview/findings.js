/** What stands out in a text: words that its attention, its occlusion or its probabilities single out. */

import { pairOf, shareHead, siteOf, strongestOf, weightsMap } from "../cursor.js";
import { chanceOf, effectOnRow } from "./facts.js";

export const UNCERTAIN = 0.5; // words that were written with a lower probability
const UNCHANGED = 0.1; // nats: a smaller drop, by 10 %, is none
const HALVED = Math.log(2); // nats: the least difference of two effects that is worth a sentence
const SPREAD = 2; // times the even share: a smaller weight singles out no word
const MOST = 3; // words that one sentence names
const SPELT = /[\p{L}\p{N}]/u;
const UNKNOWN = /^(<unk>|\[UNK\])$/;

/**
 * A word that a finding names, and the cursor at it; the probability of an uncertain one, and what is far apart of one that differs.
 *
 * @typedef {{ text: string, to: Changes | null, chance?: number, apart?: Apart }} Named
 * @typedef {{ seen: string, used: string, share: number, without: Occluded, most: Occluded }} Apart
 * @typedef {"unknown" | "unseen" | "dropped" | "added" | "uncertain" | "differs"} Kind
 * @typedef {{ kind: Kind, words: Named[], more: number }} Finding
 * @typedef {ReturnType<typeof mapOpened>} Opened
 */

/**
 * The findings of a trace, in the map that the page opens with: docs/look.md has the criteria.
 *
 * Each has its kind, and `words`: those it names, with their texts, their numbers, and the cursor (`to`) at each.
 * `more`: how many were left out.
 *
 * @param {Trace} trace @param {State} state
 */
export function findingsOf(trace, state) {
  if (!trace.sites.length) return [];
  const kept = known.get(trace);
  if (kept?.base === state.base) return kept.found;
  const found = computed(trace, state);
  known.set(trace, { base: state.base, found });
  return found;
}

/** Of a trace: every click draws the page again. @type {WeakMap<Trace, { base: Values, found: Finding[] }>} */
const known = new WeakMap();

/** @type {Record<Kind, (at: Opened) => Named[]>} */
const FINDERS = { unknown, unseen, dropped, added, uncertain, differs };

/** @param {Trace} trace @param {State} state */
function computed(trace, state) {
  const at = mapOpened(trace, state.opened);
  return /** @type {Kind[]} */ (Object.keys(FINDERS)).flatMap((kind) => {
    const words = FINDERS[kind](at);
    return words.length ? [{ kind, words: words.slice(0, MOST), more: Math.max(0, words.length - MOST) }] : [];
  });
}

/**
 * The map that the page opens with, and what its rows and columns are.
 *
 * @param {Trace} trace @param {Chosen} state
 */
function mapOpened(trace, state) {
  const site = siteOf(trace, state);
  const head = shareHead(site, state);
  const map = weightsMap(trace, site, state, head);
  const { prompt = 0 } = trace.findings;
  // Of a prompt the model wrote nothing.
  const rows = map.rows.map((_, row) => row).filter((row) => SPELT.test(map.rows[row]) && map.places.rows[row].some((query) => query >= prompt));
  /** @param {number} row @param {number | null} column */
  const to = (row, column) => {
    const pair = pairOf(site, map, row, column ?? strongestOf(map, row), head) ?? [0, 0];
    return { part: site.part, layer: site.layer, head, unit: state.get("unit"), reading: state.get("reading"),
      query: pair[0], key: column === null ? "" : pair[1], word: "", spot: "" };
  };
  const reads = state.get("reading") === "reads";
  return { trace, site, state, map, rows, to, reads, width: map.columns.length, crossed: site.part === "cross" && !trace.axes[site.keys].grid };
}

/** @param {Opened} at @param {number} row @param {number} column */
function weight({ map, width }, row, column) {
  return map.values[row * width + column];
}

/**
 * The drop of the probability of a row's word without a column's, as `changeOf` takes it; null: not known.
 *
 * @param {Opened} at @param {number} row @param {number} column
 */
function effect({ trace, site, state, width }, row, column) {
  return effectOnRow(trace, site, state, row, column, width);
}

/** Whether a word is less probable without another, or may be: where that is not known. @param {Occluded | null} found */
function isNeeded(found) {
  return !found || found.mean >= UNCHANGED;
}

/** Words that have a letter for which the model has no token. @param {Opened} at */
function unknown(at) {
  const { trace, site, map } = at;
  if (trace.axes[site.keys].grid) return [];
  const { tokens } = trace.axes[site.keys];
  return map.columns.flatMap((text, column) => {
    if (!map.places.columns[column].some((key) => UNKNOWN.test(tokens[key]))) return [];
    return [{ text, to: at.to(heaviest(at, column), column) }];
  });
}

/** Words of the source that the training data did not have. @param {Opened} at */
function unseen(at) {
  const { trace, map, crossed } = at;
  if (!crossed) return [];
  return (trace.findings.unseen ?? []).filter((column) => column < map.columns.length).map((column) => ({ text: map.columns[column], to: at.to(heaviest(at, column), column) }));
}

/** The row that gave a column most. @param {Opened} at @param {number} column */
function heaviest(at, column) {
  let best = 0;
  at.map.rows.forEach((_, row) => {
    if (weight(at, row, column) > weight(at, best, column)) best = row;
  });
  return best;
}

/**
 * Words of the source that nothing was made of: no written word attended most to them, and none is less
 * probable without them. Words that are frequent in every text, such as articles, are left out.
 *
 * @param {Opened} at
 */
function dropped(at) {
  const { trace, map, crossed } = at;
  if (!crossed || !at.rows.length) return [];
  const written = map.rows.map((_, row) => row).filter((row) => map.places.rows[row].length);
  const attended = new Set(written.map((row) => strongestOf(map, row)));
  const frequent = new Set(trace.findings.frequent ?? []);
  return map.columns.flatMap((text, column) => {
    if (attended.has(column) || frequent.has(column) || !SPELT.test(text)) return [];
    if (written.some((row) => isNeeded(effect(at, row, column)))) return [];
    return [{ text, to: at.to(heaviest(at, column), column) }];
  });
}

/**
 * Written words that came from no word of the source: they attended to none in particular, and none made them more probable.
 *
 * @param {Opened} at
 */
function added(at) {
  const { trace, site, map, crossed } = at;
  if (!crossed) return [];
  return at.rows.flatMap((row) => {
    const top = strongestOf(map, row);
    const even = map.places.columns[top].length / trace.axes[site.keys].tokens.length;
    if (weight(at, row, top) >= SPREAD * even && weight(at, row, top) >= (map.rest[row] ?? 0)) return [];
    if (map.columns.some((_, column) => isNeeded(effect(at, row, column)))) return [];
    return [{ text: map.rows[row], to: at.to(row, null) }];
  });
}

/** Words, gaps or the label with a low probability, the lowest first. @param {Opened} at */
function uncertain(at) {
  const { trace, site, map, reads } = at;
  const { writes } = trace.kind;
  if (writes === "label") return trace.steps.filter((step) => Math.exp(step.log_probability) < UNCERTAIN)
    .map((step) => ({ text: trace.output, chance: Math.exp(step.log_probability), to: null }));
  const { gaps = [], prompt = 0 } = trace.findings;
  /** @param {number} row */
  const stepsBehind = (row) => (writes === "gaps" ? map.places.rows[row].map((query) => gaps.indexOf(query))
    : map.places.rows[row].map((query) => query - (reads ? 1 : 0))).filter((step) => step >= prompt && step < trace.steps.length);
  if (!trace.steps.length || (writes !== "gaps" && !site.writes)) return [];
  const rows = writes === "gaps" ? map.rows.map((_, row) => row) : at.rows;
  return rows.map((row) => ({ row, steps: stepsBehind(row) })).filter(({ steps }) => steps.length)
    .map(({ row, steps }) => ({ text: map.rows[row], chance: chanceOf(trace, steps), to: at.to(row, null) }))
    .filter(({ chance }) => chance < UNCERTAIN).sort((a, b) => a.chance - b.chance);
}

/**
 * The word for which attention and effect are farthest apart: without the word it attended to most, it loses less than
 * without another one. The sentence names three words: this one, the one it attended to, and the one it depends on.
 *
 * @param {Opened} at
 */
function differs(at) {
  const { trace, site, map } = at;
  if (trace.axes[site.keys].grid || !site.writes) return [];
  const apart = at.rows.flatMap((row) => {
    const seen = strongestOf(map, row);
    const effects = map.columns.map((_, column) => effect(at, row, column));
    const used = effects.reduce((best, each, column) => (each && each.nats > (effects[best]?.nats ?? -Infinity) ? column : best), -1);
    const [without, most] = [effects[seen], effects[used]];
    if (used === seen || !without || !most || most.nats - without.nats < HALVED) return [];
    return [{ text: map.rows[row], apart: { seen: map.columns[seen], used: map.columns[used], share: weight(at, row, seen), without, most }, to: at.to(row, used) }];
  });
  return apart.sort(({ apart: a }, { apart: b }) => b.most.nats - b.without.nats - (a.most.nats - a.without.nats)).slice(0, 1);
}
