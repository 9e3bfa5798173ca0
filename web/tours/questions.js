/** The questions of the games, and their answers: the model's own numbers, as the views show them. */

import { pairOf, shareHead, siteOf, weightsMap } from "../cursor.js";
import { factsOf, percentOf } from "../overview/facts.js";
import { changeText, sentenceOf } from "../overview/sentence.js";
import { largest } from "../maps.js";
import { readable, spelled } from "../trace.js";
import { ablatedHeads } from "./facts.js";

export const MOST = 8; // options of a question: the likeliest ones, so that the wrong ones are tempting
export const ROUNDS = 10;
export const SPELT = /[\p{L}\p{N}]/u;
const ALIKE = 1e-6; // values that differ by less are the same answer

/**
 * Which word a word attended to: in the head that the page opened with, for texts.
 *
 * @param {Trace} trace @param {State} state
 */
export function lookQuestions(trace, state) {
  const opened = siteOf(trace, state.opened);
  const site = trace.axes[opened.keys].grid ? trace.sites.find((each) => !trace.axes[each.keys].grid && each.columns > 2) : opened;
  if (!site) return [];
  const head = site === opened ? shareHead(site, state.opened) : 0;
  const at = state.opened;
  const map = weightsMap(trace, site, at, head);
  const width = map.columns.length;
  const rows = map.rows.map((_, row) => row).filter((row) => map.places.rows[row].length);
  const spelt = rows.filter((row) => SPELT.test(map.rows[row]));
  return (spelt.length ? spelt : rows).flatMap(/** @returns {Riddle[]} */ (row) => {
    const columns = map.columns.map((_, column) => column).filter((column) =>
      map.places.rows[row].some((query) => map.places.columns[column].some((key) => site.allows(query, key))));
    if (columns.length < 2) return [];
    /** @param {number} column */
    const weight = (column) => map.values[row * width + column];
    const best = columns[largest(columns.map(weight))];
    const query = pairOf(site, map, row, best, head)?.[0] ?? null;
    const how = site.writes && at.get("reading") === "writes" ? "writes" : site.writes ? "reads" : "self";
    return [{
      ask: (words) => words.games.look.ask[how](map.rows[row]),
      options: named(likeliest(columns, weight), (column) => map.columns[column]),
      right: new Set(columns.filter((column) => weight(best) - weight(column) < ALIKE)),
      reveal: { part: site.part, layer: site.layer, head, unit: at.get("unit"), reading: at.get("reading"), query, key: "" },
      says: (words) => sentenceOf(trace, site, factsOf(trace, site, map, at, { row, column: best, top: best }, head), words),
    }];
  }).slice(0, ROUNDS);
}

/**
 * Without which head of a module the output would be least probable.
 *
 * @param {Trace} trace
 */
export function headQuestions(trace) {
  return trace.parts().flatMap((part) => trace.of(part)).flatMap(/** @returns {Riddle[]} */ (site) => {
    const heads = ablatedHeads(trace, [site]);
    if (heads.length < 2) return [];
    const least = Math.min(...heads.map(({ change }) => change));
    const best = heads.findIndex(({ change }) => change === least);
    /** @param {Words} words */
    const module = (words) => `${words[site.part]}, ${words.layerNumber(site.layer + 1)}`;
    return [{
      ask: (words) => words.games.head.ask(module(words), trace.output),
      options: likeliest(heads.map(({ head }) => head), (head) => -heads[head].change)
        .map((head) => ({ id: head, text: (words) => `${words.head} ${head + 1}` })),
      right: new Set(heads.filter(({ change }) => change - least < ALIKE).map(({ head }) => head)),
      reveal: { off: "" },
      says: (words, guess) => words.games.head.says(/** @type {Pair<[head: number, change: string]>} */ ([best, guess].map((head) => [head + 1, changeText(heads[head].effect, words.sentence)])), trace.output),
    }];
  }).slice(0, ROUNDS);
}

/**
 * Which token the model found most probable: the next one, in a gap, or as the label.
 *
 * @param {Trace} trace
 */
export function nextQuestions(trace) {
  const { writes } = trace.kind;
  const prompt = writes === "continuation" ? Math.min(trace.findings.prompt ?? 0, trace.steps.length - 1) : 0;
  return trace.steps.map((step, i) => ({ step, i })).slice(prompt).filter(({ step }) => step.best.length > 1).map(/** @returns {Riddle} */ ({ step, i }) => {
    const most = Math.max(...step.best.map(([, logp]) => logp));
    const before = spelled(trace.steps.slice(0, i).map(({ token }) => token));
    const tokens = step.best.map((_, n) => n).sort((a, b) => (step.best[a][0] < step.best[b][0] ? -1 : 1));
    /** @param {number} n */
    const chance = (n) => percentOf(Math.exp(step.best[n][1]));
    const top = step.best.findIndex(([, logp]) => logp === most);
    /** @type {(n: number) => [token: string, chance: string]} */
    const tell = (n) => [readable(step.best[n][0]), chance(n)];
    return {
      ask: (words) => words.games.next.ask[writes === "gaps" || writes === "label" ? writes : "text"](before, i + 1),
      options: named(tokens, (n) => readable(step.best[n][0])),
      right: new Set(tokens.filter((n) => most - step.best[n][1] < ALIKE)),
      reveal: {},
      says: (words, guess) => words.games.next.says(tell(top), tell(guess)),
    };
  }).slice(0, ROUNDS);
}

/** The options with the largest values, in their own order. @param {number[]} options @param {(option: number) => number} value */
function likeliest(options, value) {
  return [...options].sort((a, b) => value(b) - value(a)).slice(0, MOST).sort((a, b) => a - b);
}

/** The options with their texts; those with the same text are numbered. @param {number[]} options @param {(option: number) => string} text */
function named(options, text) {
  const texts = options.map(text);
  return options.map((id, i) => {
    const before = texts.slice(0, i).filter((each) => each === texts[i]).length;
    return { id, text: texts.indexOf(texts[i]) === texts.lastIndexOf(texts[i]) ? texts[i] : `${texts[i]} (${before + 1})` };
  });
}
