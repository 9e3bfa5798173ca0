/** The generated sentence, in either language. */

import { readable } from "../trace.js";
import { changeOf, percentOf } from "./facts.js";

/**
 * The sentence about one word and one key; its numbers are those of `factsOf`.
 *
 * @param {Trace} trace @param {Site} site @param {Words} words
 */
export function sentenceOf(trace, site, facts, words) {
  const say = words.sentence;
  const share = say.share(percentOf(facts.weight));
  const key = facts.cell === null ? `“${facts.key}”` : words.spot(facts.cell, facts.grid);
  const cells = site.part === "image";
  const word = cells ? say.cellQuery(words.spot(cellOf(facts.word, facts.grid), facts.grid)) : facts.word;
  const how = cells ? "cells" : facts.writes ? "writes" : facts.reads ? "reads" : "self";
  const first = facts.strongest ? say[how](word, key, share) : say.other(cells ? word : `“${word}”`, key, share);
  return `${first}${restOf(trace, site, facts, say)}${effectOf(facts, facts.cell === null ? key : say.there, say)}`;
}

/** The index of a cell by its name, "row,column". */
function cellOf(name, [, columns]) {
  const [row, column] = name.split(",").map(Number);
  return (row - 1) * columns + column - 1;
}

/** Where most of the weight went, if not to a word. */
function restOf(trace, site, { rest, weight, restOf: left }, say) {
  if (rest <= weight) return "";
  const tokens = [...new Set(left.map((column) => readable(trace.axes[site.keys].tokens[column])))];
  return say.rest(say.share(percentOf(rest)), tokens.slice(0, 3).join(" "));
}

/** What an effect did to a probability, in words; `say`: the words of sentences. */
export function changeText(effect, say) {
  const { how, ...facts } = changeOf(effect);
  if (!facts.from) return say[how](facts.number, facts.over);
  return say[how](say.share(facts.from), say.share(facts.to));
}

function effectOf({ effect, even, tokens, cell }, key, say) {
  if (!effect) return say.even(say.share(percentOf(even)), cell === null ? tokens : 0);
  const change = changeText(effect, say);
  const of = effect.of === null ? null : readable(effect.of);
  return effect.kind === "occluded" ? say.occluded(key, of, change) : say.ablated(of, change);
}
