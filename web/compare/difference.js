/** Two maps with aligned words at the same place, and their difference: the numbers of every comparison. */

import { shareHead, siteOf, weightsMap } from "../cursor.js";
import { board, withRest } from "../maps.js";
import { aligned, fateOf } from "./align.js";

const FAINT = 0.5; // weights below this are drawn on a scale that ends at the largest of them
const ALIKE = 0.5; // of the words: texts that share fewer have nothing to subtract
const TURN = 30; // ms that heads are compared for before the page may do something else

/** @typedef {ReturnType<typeof placed>} Placed */

/**
 * One side of a comparison: a module of a trace, and a head of it.
 *
 * @param {Trace} trace @param {Chosen} state
 */
export function sideOf(trace, state, site = siteOf(trace, state)) {
  return { trace, site, head: shareHead(site, state) };
}

/**
 * The module of another trace that compares with this one: of the same part and layer, or the last of the part; undefined: none.
 *
 * @param {Trace} other @param {Site} site
 * @returns {Site | undefined}
 */
export function counterpart(other, site) {
  const sites = other.of(site.part);
  return sites.find(({ layer }) => layer === site.layer) ?? sites[sites.length - 1];
}

/**
 * The maps of two sides on common rows and columns.
 *
 * Returns `maps`, of which a gap, a word that a side does not have, is NaN; `shared` and `count`, how many of the words
 * read are in both, and of how many; `difference`, the second less the first, or null if too few are; `largest`, the index of its largest size, or -1 if no cell is in both; `rows` and `columns`, the
 * aligned places.
 *
 * @param {[Side, Side]} sides @param {Chosen} state @param {string} restName
 */
export function compared(sides, state, restName) {
  const [first, second] = sides.map(({ trace, site, head }) => withRest(weightsMap(trace, site, state, head), restName));
  /** @type {[AttentionMap, AttentionMap]} */
  const own = [first, second];
  const places = placed(own);
  const { rows, columns } = places;
  const common = { rows: namesOf(rows, own, "rows"), columns: namesOf(columns, own, "columns") };
  const spread = own.map((map, side) => spreadOut(map, places, side));
  const values = spread[0].map((value, i) => spread[1][i] - value);
  const most = Math.max(1e-6, ...spread.flatMap((all) => all.reduce((high, value) => Math.max(high, value || 0), 0)));
  const largest = values.reduce((best, value, i) => (Number.isNaN(value) || (best >= 0 && Math.abs(value) <= Math.abs(values[best])) ? best : i), -1);
  const end = largest < 0 ? 1 : Math.max(1e-3, Math.abs(values[largest]));
  const scale = most < FAINT ? { most } : {};
  /** @param {0 | 1} side */
  const map = (side) => ({
    rows: rows.map((pair) => nameAt(own[side].rows, pair[side])), columns: columns.map((pair) => nameAt(own[side].columns, pair[side])),
    values: spread[side], headed: common.columns, ...scale,
  });
  const lengths = own.map(({ columns: names, rested }) => names.length - (rested ? 1 : 0));
  const longest = Math.max(...lengths);
  const shared = columns.filter((pair) => (pair[0] ?? 0) < lengths[0] && fateOf(pair, own[0].columns, own[1].columns) === "same").length;
  const alike = shared >= ALIKE * longest;
  return { rows, columns, own, shared, count: longest, largest: alike ? largest : -1, maps: [map(0), map(1)],
    difference: alike ? { ...common, values, diverging: true, most: end } : null };
}

/** The aligned rows and columns of two maps; the columns of what is no word are a pair of their own. @param {[AttentionMap, AttentionMap]} maps */
function placed(maps) {
  const rests = maps.map(({ left, sunk }) => Boolean(left.length || sunk));
  const inner = maps.map(({ columns }, side) => (rests[side] ? columns.slice(0, -1) : columns));
  const columns = aligned(inner[0], inner[1]);
  /** @param {number} side */
  const end = (side) => (rests[side] ? inner[side].length : null);
  if (rests.some(Boolean)) columns.push([end(0), end(1)]);
  return { rows: aligned(maps[0].rows, maps[1].rows), columns };
}

/**
 * @param {string[]} names
 * @param {number | null} place
 */
function nameAt(names, place) {
  return place === null ? "–" : names[place];
}

/**
 * The names of aligned places: of a substitution both words, of a gap the one word with its sign.
 *
 * @param {WordPair[]} pairs @param {[AttentionMap, AttentionMap]} maps @param {"rows" | "columns"} axis
 */
function namesOf(pairs, [one, other], axis) {
  return pairs.map((pair) => {
    const [a, b] = [nameAt(one[axis], pair[0]), nameAt(other[axis], pair[1])];
    return { same: a, swapped: `${a} | ${b}`, removed: `−${a}`, added: `+${b}` }[fateOf(pair, one[axis], other[axis])];
  });
}

/** @param {AttentionMap} map @param {Placed} places @param {number} side */
function spreadOut(map, { rows, columns }, side) {
  const values = new Float32Array(rows.length * columns.length);
  rows.forEach((pair, r) => columns.forEach((other, c) => {
    const [row, column] = [pair[side], other[side]];
    values[r * columns.length + c] = row === null || column === null ? NaN : map.values[row * map.columns.length + column];
  }));
  return values;
}

/**
 * How much each head of a trace differs from the same head of another one: the mean over the cells of its map that
 * both have of the weights' absolute difference. Modules without a counterpart with as many heads are left out.
 *
 * onHeads(heads) is called once, after turns that leave the page time to answer.
 *
 * @param {Trace} first @param {Trace} second @param {Chosen} state @param {string} restName @param {(heads: HeadApart[]) => void} onHeads
 */
export function eachHead(first, second, state, restName, onHeads) {
  const name = [state.get("unit"), state.get("reading")].join();
  const kept = second.apart.get(first) ?? {};
  second.apart.set(first, kept);
  if (kept[name]) {
    onHeads(kept[name]);
    return;
  }
  const jobs = second.parts().flatMap((part) => second.of(part)).flatMap((site) => {
    const like = first.of(site.part).find(({ layer, heads }) => layer === site.layer && heads === site.heads);
    return like ? Array.from({ length: site.heads }, (_, head) => ({ site, like, head })) : [];
  });
  /** @type {HeadApart[]} */
  const heads = [];
  /** Of the words, the same for all heads of a module. @type {Placed} */
  let places;
  const work = () => {
    const begun = performance.now();
    while (heads.length < jobs.length && performance.now() - begun < TURN) {
      const { site, like, head } = jobs[heads.length];
      /** @type {[AttentionMap, AttentionMap]} */
      const own = [withRest(mapOf(first, like, head, state), restName), withRest(mapOf(second, site, head, state), restName)];
      if (!head) places = placed(own);
      heads.push({ site, head, mean: meanApart(own, places) });
    }
    if (heads.length < jobs.length) setTimeout(work);
    else onHeads((kept[name] = heads));
  };
  setTimeout(work);
}

/**
 * As `weightsMap`, but not kept: the maps of all heads would fill the memory.
 *
 * @param {Trace} trace @param {Site} site @param {Head} head @param {Chosen} state
 */
function mapOf(trace, site, head, state) {
  return board(trace, site, site.matrix(head, "weights"), state.get("unit"), state.get("reading"), Boolean(site.array("sink")));
}

/** The mean absolute difference over the cells that both maps have. @param {[AttentionMap, AttentionMap]} maps @param {Placed} places */
function meanApart([one, other], { rows, columns }) {
  /** @param {WordPair[]} pairs */
  const shared = (pairs) => /** @type {Pair<number>[]} */ (pairs.filter((pair) => !pair.includes(null)));
  const [inRows, inColumns] = [shared(rows), shared(columns)];
  let sum = 0;
  for (const [a, b] of inRows) {
    for (const [c, d] of inColumns) sum += Math.abs(other.values[b * other.columns.length + d] - one.values[a * one.columns.length + c]);
  }
  return sum / (inRows.length * inColumns.length || 1);
}
