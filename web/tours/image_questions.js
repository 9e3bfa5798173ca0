/** The questions of the game over an image: which word was being written when the model looked like this. */

import { pairOf, siteOf, shareHead, weightsMap } from "../cursor.js";
import { element } from "../dom.js";
import { factsOf, percentOf } from "../overview/facts.js";
import { sentenceOf } from "../overview/sentence.js";
import { drawLook } from "../picture.js";
import { largest } from "../maps.js";
import { total } from "../trace.js";
import { MOST, ROUNDS, SPELT } from "./questions.js";

const SIDE = 240; // px: the longer side of the image
const NAMED = 3; // cells that are named for those who do not see the image
const ALIKE = 0.98; // maps that share more of their weight than this do not tell words apart

/**
 * The attention of a caption over the image; undefined: there is none.
 *
 * @param {Trace} trace @param {State} state
 */
function captionSite(trace, state) {
  const opened = siteOf(trace, state.opened);
  /** @param {Site} site */
  const looks = (site) => site.part === "cross" && trace.axes[site.keys].grid && site.columns > 1;
  return looks(opened) ? opened : trace.sites.findLast(looks);
}

/** Of every trace: the list of games asks whether there are any. @type {WeakMap<Trace, Riddle[]>} */
const known = new WeakMap();

/**
 * A question for each word of the caption: the sharpest maps first, so that their order does not tell.
 *
 * @param {Trace} trace @param {State} state
 */
export function imageQuestions(trace, state) {
  const found = known.get(trace) ?? questionsOf(trace, state);
  known.set(trace, found);
  return found;
}

/** @param {Trace} trace @param {State} state */
function questionsOf(trace, state) {
  const site = captionSite(trace, state);
  if (!site) return [];
  const at = state.opened;
  const head = shareHead(site, at);
  const map = weightsMap(trace, site, at, head);
  const rows = map.rows.map((_, row) => row).filter((row) => map.places.rows[row].length && SPELT.test(map.rows[row]));
  /** @param {number} row */
  const top = (row) => Math.max(...weightsOf(map, row));
  const sharpest = [...rows].sort((a, b) => top(b) - top(a));
  return sharpest.flatMap((row) => {
    const options = optionsOf(map, rows, row);
    return options.length < 2 ? [] : [questionOf(trace, site, map, at, head, row, options)];
  }).slice(0, ROUNDS);
}

/**
 * @param {Trace} trace @param {Site} site @param {AttentionMap} map @param {Chosen} state @param {Head} head @param {number} row @param {number[]} options
 * @returns {Riddle}
 */
function questionOf(trace, site, map, state, head, row, options) {
  const weights = weightsOf(map, row);
  const best = largest(weights);
  const right = options.filter((other) => map.rows[other] === map.rows[row]);
  return {
    ask: (words) => words.games.which.ask,
    figure: (words) => figureOf(trace, site, map, row, words),
    options: options.map((id) => ({ id, text: map.rows[id] })),
    right: new Set(right),
    reveal: { part: site.part, layer: site.layer, head, unit: state.get("unit"), reading: state.get("reading"), query: pairOf(site, map, row, best, head)?.[0] ?? null, key: "" },
    says: (words, guess) => {
      const sentence = sentenceOf(trace, site, factsOf(trace, site, map, state, { row, column: best, top: best }, head), words);
      return right.includes(guess) ? sentence
        : `${sentence} ${words.games.which.shared(map.rows[guess], percentOf(sharedWeight(weights, weightsOf(map, guess))))}`;
    },
  };
}

/**
 * The words with the most similar maps, and the right one, each text once and in the caption's order; none if a map is another's.
 *
 * @param {AttentionMap} map @param {number[]} rows @param {number} row
 */
function optionsOf(map, rows, row) {
  const own = weightsOf(map, row);
  /** @param {number} other */
  const shared = (other) => sharedWeight(own, weightsOf(map, other));
  const texts = new Set([map.rows[row]]);
  const others = [...rows].sort((a, b) => shared(b) - shared(a)).filter((other) => !texts.has(map.rows[other]) && texts.add(map.rows[other]));
  if (others.some((other) => shared(other) > ALIKE)) return [];
  return [row, ...others.slice(0, MOST - 1)].sort((a, b) => a - b);
}

/** @param {AttentionMap} map @param {number} row */
function weightsOf({ values, columns }, row) {
  return values.subarray(row * columns.length, (row + 1) * columns.length);
}

/** How much of their weight two maps have in the same places, from 0 to 1. @param {Float32Array} one @param {Float32Array} other */
function sharedWeight(one, other) {
  /** @param {Float32Array} weights */
  const sum = (weights) => total(Array.from(weights)) || 1;
  const [a, b] = [sum(one), sum(other)];
  return total(Array.from(one, (weight, cell) => Math.min(weight / a, other[cell] / b)));
}

/**
 * The image as the word saw it; the strongest cells in words for screen readers.
 *
 * @param {Trace} trace @param {Site} site @param {AttentionMap} map @param {number} row @param {Words} words
 */
function figureOf(trace, site, map, row, words) {
  const grid = trace.gridOf(site.keys);
  const weights = weightsOf(map, row);
  const cells = [...weights.keys()].sort((a, b) => weights[b] - weights[a]).slice(0, NAMED);
  const label = words.games.which.map(cells.map((cell) => `${words.spot(cell, grid)} ${words.sentence.share(percentOf(weights[cell]))}`));
  const canvas = element("canvas", { id: "game-image", role: "img", "aria-label": label });
  drawLook(canvas, { picture: trace.picture, grid, weights, most: weights[cells[0]], smooth: true }, SIDE);
  return canvas;
}
