/** What tours and games say of the model at hand: heads by a measure, words by two measures, the mask, the vectors. */

import { ablationEffect, chanceOf, factsOf, percentOf } from "../overview/facts.js";
import { sentenceOf } from "../overview/sentence.js";
import { cursorIn, shareHead, siteOf, weightsMap } from "../cursor.js";
import { board, largest } from "../maps.js";
import { total } from "../trace.js";

/**
 * The overview's sentence at the cursor of a state.
 *
 * @param {Trace} trace @param {State} state @param {Words} words
 */
export function sentenceAt(trace, state, words) {
  const site = siteOf(trace, state);
  const head = shareHead(site, state);
  const map = weightsMap(trace, site, state, head);
  const { row, column, top } = cursorIn(trace, site, map, state);
  return sentenceOf(trace, site, factsOf(trace, site, map, state, { row, column, top }, head), words);
}

/**
 * A head in a sentence: which one of which layer, and what attends to what.
 *
 * @param {Site} site @param {Head} head @param {Words} words
 */
export function headName(site, head, words) {
  return words.tour.head(typeof head === "number" ? head + 1 : words.tour[head], site.layer + 1, words[site.part]);
}

/** @param {Site[]} sites */
function headsOf(sites) {
  return sites.flatMap((site) => Array.from({ length: site.heads }, (_, head) => ({ site, head })));
}

/**
 * The head whose largest weights among the words are the highest, as a mean over the rows.
 *
 * @param {Trace} trace @param {Site[]} sites @param {Chosen} state
 * @returns {HeadAt | undefined}
 */
export function sharpestHead(trace, sites, state) {
  const heads = headsOf(sites);
  return heads[largest(heads.map(({ site, head }) => {
    const map = board(trace, site, site.matrix(head, "weights"), state.get("unit"), state.get("reading"));
    const width = map.columns.length;
    return total(map.rows.map((_, r) => Math.max(0, ...map.values.subarray(r * width, (r + 1) * width)))) / (map.rows.length || 1);
  }))];
}

/**
 * The heads whose ablation was measured, with the change of the output's log-probability in nats.
 *
 * @param {Trace} trace @param {Site[]} sites
 */
export function ablatedHeads(trace, sites) {
  const known = trace.findings.ablation ?? {};
  return headsOf(sites).filter(({ site, head }) => known[site.name]?.[head])
    .map(({ site, head }) => ({ site, head, change: total(known[site.name][head]), effect: ablationEffect(trace, known[site.name][head]) }));
}

/**
 * The head without which the output becomes least probable.
 *
 * @param {Trace} trace @param {Site[]} sites
 * @returns {(HeadAt & { effect: Drop }) | undefined}
 */
export function strongestHead(trace, sites) {
  const heads = ablatedHeads(trace, sites);
  return heads[largest(heads.map(({ change }) => -change))];
}

/**
 * The head without which the output's probability changes least.
 *
 * @param {Trace} trace @param {Site[]} sites
 * @returns {(HeadAt & { effect: Drop }) | undefined}
 */
export function weakestHead(trace, sites) {
  const heads = ablatedHeads(trace, sites);
  return heads[largest(heads.map(({ change }) => -Math.abs(change)))];
}

/**
 * For each written word with a choice: the word that it attended to most, and the one whose occlusion cost it most.
 *
 * @param {Trace} trace
 */
export function comparedWords(trace) {
  const facts = trace.findings.attribution?.words;
  const [attention, occlusion] = ["weights", "blank"].map((name) => facts?.measures[name]?.[facts.read]);
  if (!facts || !attention || !occlusion || !facts.own) return [];
  const own = facts.own === facts.read;
  const { words } = trace.axes[facts.own];
  const first = own ? words[trace.findings.prompt + 1] ?? 0 : 0;
  return trace.axes[facts.own].texts.map((_, row) => row).slice(first).flatMap((row) => {
    const columns = trace.axes[facts.read].texts.map((_, column) => column)
      .filter((column) => (!own || column < row) && Number.isFinite(occlusion[row]?.[column] ?? NaN));
    if (columns.length < 2) return [];
    const seen = columns[largest(columns.map((column) => attention[row][column]))];
    const used = columns[largest(columns.map((column) => occlusion[row][column]))];
    const tokens = words.flatMap((word, token) => (word === row ? [token] : []));
    const before = chanceOf(trace, tokens.map((token) => token - 1)); // the measure is the mean over these tokens
    /** @param {number} column */
    const effect = (column) => ({ nats: occlusion[row][column] * tokens.length, before });
    return [{ row, seen, used, weight: attention[row][seen], without: effect(seen), most: effect(used),
      word: trace.axes[facts.own].texts[row], read: trace.axes[facts.read].texts, token: tokens[0] }];
  });
}

/**
 * The word in which attention and occlusion differ most; where they agree, the one that depends most on a word.
 *
 * @param {Trace} trace
 * @returns {ReturnType<typeof comparedWords>[number] | undefined}
 */
export function differingWord(trace) {
  const compared = comparedWords(trace);
  const apart = compared.filter(({ seen, used }) => seen !== used);
  if (apart.length) return apart[largest(apart.map(({ most, without }) => most.nats - without.nats))];
  return compared[largest(compared.map(({ most }) => most.nats))];
}

/**
 * How many pairs the mask forbids, and how many keys the first and the last query may attend to; null: none.
 *
 * @param {Site} site
 */
export function maskOf(site) {
  if (!site?.array("allowed")) return null;
  const open = Array.from({ length: site.rows }, (_, row) =>
    Array.from({ length: site.columns }, (_, column) => site.allows(row, column)).filter(Boolean).length);
  const pairs = site.rows * site.columns;
  const forbidden = pairs - total(open);
  if (!forbidden) return null;
  return { rows: site.rows, columns: site.columns, forbidden, share: percentOf(forbidden / pairs), first: open[0], last: open[open.length - 1] };
}
