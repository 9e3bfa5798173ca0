/** Where everything of the whole model is: columns from left to right, a lane for each word. */

import { pictureSize } from "../picture.js";
import { textWidth } from "../surface.js";
import { total } from "../trace.js";
import { weightOf } from "./model.js";

/**
 * Of a side: `x`, its columns; `lanes`, the numbers of those that are drawn; `boxes`, of an image in each column, whose cells
 * come `before` many tokens; `place`, null for lanes that are not drawn.
 *
 * @typedef {import("../surface.js").Spot} Spot
 * @typedef {import("./model.js").Flow} Flow
 * @typedef {import("./model.js").Side} Side
 * @typedef {import("./model.js").Layer} Layer
 * @typedef {import("./model.js").Module} Module
 * @typedef {[x: number, y: number, wide: number, high: number]} Frame
 * @typedef {{ x: number[], gap: number, lanes: number[], texts: string[], boxes: Frame[], before: number, place: (column: number, lane: number) => Spot | null }} Places
 */

/**
 * A module of a layer in the picture: of a feed-forward layer the last attention before it.
 *
 * @typedef {{ kind: "self" | "cross" | "fed", part: Module, layer: number, x: number, y: number, wide: number, first: boolean }} Block
 * @typedef {ReturnType<typeof layoutOf>} Layout
 */

export const BLOCK = 30; // px: the height of a block
const [TITLE, BETWEEN] = [17, 6]; // px: above a row of blocks, and below it
const [TALLEST, LOWEST, LEAST, ROOM] = [44, 15, 150, 600]; // px of a lane, of all lanes together
const MANY = 40; // lanes of a side: of more, those with the largest weights are drawn
const [WORD, NARROWEST, PICTURE] = [15, 26, 150]; // px: of the type, between two layers, an image's side
export const CHOICE = 22; // px of a prediction

/**
 * The places of a flow in a width, for a row: where there are many lanes, those that it attends to most are drawn.
 *
 * Returns { width, height, blocks, read, write, out, size }, of which `read` or `write` is missing where the flow has no such
 * side. `folded`: whether another row has other lanes.
 *
 * @param {Flow} flow @param {Trace} trace @param {number} wide @param {number} row
 */
export function layoutOf(flow, trace, wide, row) {
  const narrow = wide < 700;
  const { read, write } = flow;
  const left = read?.grid ? PICTURE * (narrow ? 0.66 : 1) : labelWidth(/** @type {Side} */ (read ?? write).lanes, narrow);
  const outcome = Boolean(trace.steps.length);
  const right = (write ? labelWidth(write.lanes, narrow) : 8) + (outcome && !narrow ? 190 : 0);
  const columns = (read?.layers.length ?? 0) + (flow.recurrent && !read?.grid ? 1 : 0);
  const gaps = columns + (write ? write.layers.length + (read ? 1.2 : 0) : 0) + (!write && outcome ? 0.8 : 0);
  const images = (read?.grid ? read.layers.length : 0) * (narrow ? 40 : 60);
  const gap = Math.max(NARROWEST, (wide - left - right - 16 - images) / Math.max(gaps, 1));
  const imageGap = read?.grid ? gap + (narrow ? 40 : 60) : gap;
  const rows = write?.layers.some((layer) => layer.self && layer.cross) ? 2 : 1;
  const fed = [read, write].some((side) => side?.layers.some((layer) => fedOf(trace, layer)));
  const top = (rows + (fed ? 1 : 0)) * (TITLE + BLOCK + BETWEEN) + 30;
  const lanes = { read: read && !read.grid ? shownLanes(read, flow, row) : [], write: write ? shownLanes(write, flow, row) : [] };
  const count = Math.max(lanes.read.length, lanes.write.length);
  const lane = Math.min(TALLEST, Math.max(LOWEST, ROOM / Math.max(count, 1)));
  const tall = Math.max(LEAST, lane * count);
  const size = Math.min(WORD, lane * 0.7);
  /** @type {{ read?: Places, write?: Places }} */
  const sides = {};
  let x = left + 8;
  /** @type {Block[]} */
  const blocks = [];
  if (read) {
    sides.read = sideOf(read, { x, columns, gap: imageGap, top, tall, lane, lanes: lanes.read, picture: left - 8, trace });
    blocks.push(...blocksOf(read, sides.read, trace));
    x = /** @type {number} */ (sides.read.x.at(-1));
  }
  if (write) {
    x += read ? 1.2 * gap : 0;
    sides.write = sideOf(write, { x, columns: write.layers.length, gap, top, tall, lane, lanes: lanes.write, trace });
    blocks.push(...blocksOf(write, sides.write, trace));
    x = /** @type {number} */ (sides.write.x.at(-1));
  } else if (outcome) x += 0.8 * gap;
  const out = { x: x + 14, words: write ? labelWidth(write.lanes, narrow) : 0, narrow };
  const below = narrow && outcome ? Math.max(...trace.steps.map(({ best }) => best.length)) * CHOICE + 20 : 0;
  return { width: Math.max(wide, x + right + 8), height: top + tall + 20 + below, blocks, ...sides, out, size, lane, top, tall, left, row,
    folded: [read, write].some((side) => side && !side.grid && side.lanes.length > MANY) };
}

/** @param {string[]} lanes @param {boolean} narrow */
function labelWidth(lanes, narrow) {
  const longest = Math.max(30, ...lanes.slice(0, 200).map((text) => textWidth(text, WORD)));
  return Math.min(longest + 12, narrow ? 84 : 150);
}

/** The lanes that are drawn, in their order. @param {Side} side @param {Flow} flow @param {number} row */
function shownLanes(side, flow, row) {
  const all = side.lanes.map((_, lane) => lane);
  if (all.length <= MANY) return all;
  const parts = (flow.write ?? side).layers.flatMap((layer) => (side === flow.write || !flow.write ? layer.self : layer.cross) ?? []);
  const worth = all.map((lane) => (lane === row && side !== flow.read ? Infinity : total(parts.map((part) => weightOf(part, row, lane)))));
  if (!flow.write) worth[row] = Infinity;
  return all.sort((a, b) => worth[b] - worth[a]).slice(0, MANY).sort((a, b) => a - b);
}

/**
 * @param {Side} side
 * @param {{ x: number, columns: number, gap: number, top: number, tall: number, lane: number, lanes: number[], picture?: number, trace: Trace }} room
 * @returns {Places}
 */
function sideOf(side, { x, columns, gap, top, tall, lane, lanes, picture = 0, trace }) {
  const xs = Array.from({ length: columns + 1 }, (_, column) => x + gap * column);
  const { grid } = side;
  if (!grid) {
    const start = top + (tall - lane * lanes.length) / 2 + lane / 2;
    const at = new Map(lanes.map((each, i) => [each, start + lane * i]));
    return { x: xs, gap, lanes, texts: side.lanes, boxes: [], before: 0, place: (column, each) => {
      const y = at.get(each);
      return y === undefined ? null : [xs[column], y];
    } };
  }
  // The first image is large, at the left; the others are as wide as there is room.
  const boxes = xs.map((right, column) => {
    const [wide, high] = pictureSize(trace.picture, grid, column ? Math.min(gap - 26, 120) : picture);
    return /** @type {Frame} */ ([right - wide, top + (tall - high) / 2, wide, high]);
  });
  const [down, across] = grid;
  const before = side.lanes.length - down * across;
  return { x: xs, gap, lanes: [], texts: [], boxes, before, place: (column, at) => {
    const [left, y, wide, high] = boxes[column];
    const cell = Math.max(0, at - before);
    return [left + ((cell % across) + 0.5) * (wide / across), y + (Math.floor(cell / across) + 0.5) * (high / down)];
  } };
}

/**
 * Whether the feed-forward layer of a block was recorded: with the last attention of the block.
 *
 * @param {Trace} trace @param {Layer} layer
 */
export function fedOf(trace, layer) {
  const last = layer.cross ?? layer.self;
  return last && trace.walk?.sites[last.site.name]?.arrays.fed ? last : null;
}

/**
 * The blocks of a side, from the top: self-attention, cross-attention, feed-forward.
 *
 * @param {Side} side @param {Places} places @param {Trace} trace
 */
function blocksOf(side, { x, gap }, trace) {
  const wide = Math.min(gap - 4, 132);
  const row = (/** @type {number} */ number) => 16 + number * (TITLE + BLOCK + BETWEEN) + TITLE;
  return side.layers.flatMap((layer, i) => {
    const middle = (x[i] + x[i + 1]) / 2;
    /** @param {Block["kind"]} kind @param {Module} part @param {number} number */
    const at = (kind, part, number) => ({ kind, part, layer: layer.layer, x: middle - wide / 2, y: row(number), wide, first: i === 0 });
    const fed = fedOf(trace, layer);
    return [
      ...(layer.self ? [at("self", layer.self, 0)] : []),
      ...(layer.cross ? [at("cross", layer.cross, layer.self ? 1 : 0)] : []),
      ...(fed ? [at("fed", fed, layer.self && layer.cross ? 2 : 1)] : []),
    ];
  });
}
