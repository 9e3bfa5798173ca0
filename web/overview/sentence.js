/** The generated sentence, in either language. */

import { readable } from "../trace.js";
import { changeOf, percentOf } from "./facts.js";

/**
 * The sentence about one word and one key; its numbers are those of `factsOf`.
 *
 * @param {Trace} trace @param {Site} site @param {Facts} facts @param {Words} words
 */
export function sentenceOf(trace, site, facts, words) {
  const say = words.sentence;
  const where = facts.head === null ? "" : say.inHead(site.layer + 1, facts.head + 1);
  const share = say.ofAttention(say.share(percentOf(facts.weight)), where);
  /** @param {number} cell */
  const spot = (cell) => words.spot(cell, trace.gridOf(site.keys));
  const key = facts.cell === null ? `“${facts.key}”` : spot(facts.cell);
  const cells = site.part === "image";
  const word = cells ? say.cellQuery(spot(cellOf(facts.word, trace.gridOf(site.keys)))) : facts.word;
  const how = cells ? "cells" : facts.writes ? "writes" : facts.reads ? "reads" : "self";
  const first = facts.strongest ? say[how](word, key, share) : say.other(cells ? word : `“${word}”`, key, share);
  return `${first}${restOf(trace, site, facts, say)}${effectOf(facts, facts.cell === null ? key : say.there, say)}`;
}

/** The index of a cell by its name, "row,column". @param {string} name @param {Grid} grid */
export function cellOf(name, [, columns]) {
  const [row, column] = name.split(",").map(Number);
  return (row - 1) * columns + column - 1;
}

/**
 * Where most of the weight went, if not to a word.
 *
 * @param {Trace} trace @param {Site} site @param {Facts} facts @param {Words["sentence"]} say
 */
function restOf(trace, site, { rest, weight, restOf: left }, say) {
  if (rest <= weight) return "";
  const tokens = [...new Set(left.map((column) => readable(trace.axes[site.keys].tokens[column])))];
  return say.rest(say.share(percentOf(rest)), tokens.slice(0, 3).join(" "));
}

/**
 * What an effect did to a probability, in words.
 *
 * @param {Drop} effect @param {Words["sentence"]} say
 */
export function changeText(effect, say) {
  const change = changeOf(effect);
  if ("from" in change) return say[change.how](say.share(change.from), say.share(change.to));
  if ("over" in change) return say[change.how](change.number, change.over);
  return "number" in change ? say[change.how](change.number) : say.same();
}

/** @param {Facts} facts @param {string} key @param {Words["sentence"]} say */
function effectOf({ effect, even, tokens, cell }, key, say) {
  if (!effect) return say.even(say.share(percentOf(even)), cell === null ? tokens : 0);
  const change = changeText(effect, say);
  if (effect.kind === "ablated") return say.ablated(readable(effect.of), change);
  return say.occluded(key, effect.of === null ? null : readable(effect.of), change);
}
