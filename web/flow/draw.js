/** The whole model as a picture: lanes of words, bands as thick as the attention weights, and what is predicted. */

import { drawLookOn } from "../picture.js";
import { INK } from "../colours.js";
import { textWidth } from "../surface.js";
import { largest } from "../maps.js";
import { readable } from "../trace.js";
import { percentOf } from "../overview/facts.js";
import { pairOf, predictionOf, weightOf } from "./model.js";
import { BLOCK, CHOICE } from "./layout.js";

const BAND = { light: [59, 76, 192], dark: [164, 186, 247] };
const EFFECT = { light: "#b85300", dark: "#ffb066" };
const MUTED = { light: "#5a5f70", dark: "#a4aabc" };
const TINT = { light: "rgba(59,76,192,0.05)", dark: "rgba(164,186,247,0.08)" };
const LANE = { light: "#d5d7e0", dark: "#3a3e4c" };
const [FAINTEST, THICKEST, THINNEST, BENDS] = [0.04, 13, 0.8, 18]; // weights from here on; px; points of a curve
const [FEW, DEEP] = [2, 4]; // bands of each word where many are drawn at once: all words, or more layers than this
const ARRIVES = 0.85; // of a moment: from here on the word that is written appears
const CELLS = 12; // bands from the cells of an image

/**
 * `row`: the word whose way is drawn where nothing is written. `redraw` is called when the image has loaded.
 *
 * @typedef {import("./model.js").Flow} Flow
 * @typedef {import("./model.js").Side} Side
 * @typedef {import("./model.js").Module} Module
 * @typedef {import("./layout.js").Layout} Layout
 * @typedef {import("./layout.js").Places} Places
 * @typedef {import("./layout.js").Spot} Spot
 * @typedef {{ flow: Flow, trace: Trace, place: Layout, words: Words, row: number, playing: boolean, redraw: () => void }} Scene
 * @typedef {Scene & { flow: { read: Side }, place: { read: Places } }} Reading
 * @typedef {Scene & { flow: { write: Side }, place: { write: Places } }} Writing
 */

/**
 * @typedef {{ kind: "read", column: number, row?: undefined }} ReadMoment
 * @typedef {{ kind: "write", row: number, column?: undefined }} WriteMoment
 * @typedef {ReadMoment | WriteMoment | { kind: "outcome", row?: undefined, column?: undefined }} Moment
 */

/** @typedef {{ from: Spot | null, to: Spot | null, weight: number, strength: number }} Band */

/**
 * What stays while words are written, or while a layer is read.
 *
 * @param {Surface} surface @param {Scene} scene @param {Moment} moment
 */
export function drawGround(surface, scene, moment) {
  const { flow, place } = scene;
  titles(surface, scene);
  place.blocks.forEach((block) => drawBlock(surface, block));
  if (place.read) lanesOf(surface, place.read, flow.recurrent, false);
  if (place.write) lanesOf(surface, place.write, flow.recurrent, true);
  if (flow.read?.grid) place.read?.boxes.forEach((box) => drawLookOn(surface, lookOf(/** @type {Reading} */ (scene)), box, scene.redraw));
  else labels(surface, place, place.read ?? place.write, "right", place.left, (lane) => (lane === scene.row && !flow.write ? "strong" : flow.read ? "ink" : "muted"));
  const until = moment.kind === "read" ? moment.column : flow.read?.layers.length ?? 0;
  for (let column = 0; column < until; column++) readBands(surface, /** @type {Reading} */ (scene), column, 1, moment.kind === "write");
}

/**
 * What stays while a word is written: those that are there already, and the image as the word attends to it.
 *
 * @param {Surface} surface @param {Scene} scene @param {Moment} moment
 */
export function drawWritten(surface, scene, moment) {
  const { flow, place } = scene;
  if (flow.write && flow.read) {
    const own = moment.kind === "write" ? moment.row : scene.row; // which what moves draws
    labels(surface, place, place.write, "left", place.out.words, (lane) => (moment.kind === "write" && lane < own ? "ink" : scene.playing || lane === own ? null : "muted"));
  }
  const box = place.read?.boxes.at(-1);
  if (moment.kind === "write" && box) drawLookOn(surface, lookOf(/** @type {Reading} */ (scene), flow.write?.layers.at(-1)?.cross, moment.row), box, scene.redraw);
}

/**
 * The layers that a word has behind it: those from one number to before another one.
 *
 * @param {Surface} surface @param {Scene} scene @param {Moment} moment @param {number} from @param {number} to
 */
export function drawPassed(surface, scene, { row }, from, to) {
  const { write } = scene.place;
  if (!write || row === undefined) return;
  for (let i = from; i < to; i++) {
    const [[x, y], [end]] = [i, i + 1].map((column) => spotOf(write, column, row));
    surface.line([[x, y], [end, y]], `rgba(${BAND[surface.theme]},0.55)`, 3);
    writeBands(surface, /** @type {Writing} */ (scene), row, i, 1);
  }
}

/**
 * How many layers a word has behind it when its moment has happened by a share.
 *
 * @param {Scene} scene @param {Moment} moment @param {number} share
 */
export function passedBy({ flow }, moment, share) {
  return moment.kind === "write" ? Math.floor(reachedBy(flow, share)) : 0;
}

/** The layers' part of a moment comes first; then the word arrives. @param {Flow} flow @param {number} share */
function reachedBy({ write }, share) {
  return Math.min(1, share / ARRIVES) * (write?.layers.length ?? 0);
}

/**
 * What moves during a moment, when it has happened by a share; `whole`: the image of its end, of a layer of lanes.
 *
 * @param {Surface} surface @param {Scene} scene @param {Moment} moment @param {number} share
 * @param {HTMLCanvasElement | null} [whole]
 */
export function drawMoving(surface, scene, moment, share, whole = null) {
  const { flow, place } = scene;
  if (moment.kind === "read" && whole) uncover(/** @type {import("../surface.js").CanvasSurface} */ (surface), /** @type {Reading} */ (scene), moment.column, share, whole);
  else if (moment.kind === "read") readBands(surface, /** @type {Reading} */ (scene), moment.column, share, false);
  if (moment.kind === "write" && share < ARRIVES) {
    const reached = reachedBy(flow, share);
    writeBands(surface, /** @type {Writing} */ (scene), moment.row, Math.floor(reached), reached % 1);
  }
  if (share < 1) atWork(surface, scene, moment, share);
  const row = moment.kind === "write" ? moment.row : moment.kind === "outcome" ? scene.row : null;
  const arrived = moment.kind === "write" ? Math.max(0, (share - ARRIVES) / (1 - ARRIVES)) : share;
  if (row === null || arrived <= 0) return;
  if (place.write) labels(surface, place, place.write, "left", place.out.words, (lane) => (lane === row ? "strong" : null));
  else gather(surface, /** @type {Reading} */ (scene), arrived);
  outcome(surface, scene, row, arrived);
}

/**
 * Frames the blocks of the layer in which the words are.
 *
 * @param {Surface} surface @param {Scene} scene @param {Moment} moment @param {number} share
 */
function atWork(surface, { flow, place }, moment, share) {
  if (moment.kind === "outcome") return;
  const column = moment.kind === "read" ? moment.column : Math.floor(reachedBy(flow, share));
  const layer = flow[moment.kind]?.layers[column];
  for (const { part, x, y, wide } of place.blocks) {
    if (layer && (part === layer.self || part === layer.cross)) surface.frame(x + 0.5, y + 0.5, wide - 1, BLOCK - 1, `rgb(${BAND[surface.theme]})`, 2);
  }
}

/** @param {Surface} surface @param {Scene} scene */
function titles(surface, { flow, place, words }) {
  const style = { size: 12, fill: MUTED[surface.theme] };
  const [named, done] = [place.blocks.filter(({ first }) => first), new Set()];
  for (const { kind, part, x, y } of named) {
    const title = words.flowBlock[kind === "self" ? part.site.part : kind];
    const at = `${kind} ${x}`;
    if (!done.has(at)) surface.text(title, x, y - 5, style);
    done.add(at);
  }
  if (!place.read) return;
  if (flow.recurrent && !flow.read?.grid) surface.text(words.flowBlock.recurrent, place.read.x[0], place.top - 8, style);
  if (flow.write) surface.text(words.flowMemory, /** @type {number} */ (place.read.x.at(-1)), place.top + place.tall + 12, { ...style, align: "center" });
}

/**
 * A block: the number of its layer, and a bar for the effect of each head, or a mark where it was not computed.
 *
 * @param {Surface} surface @param {import("./layout.js").Block} block
 */
function drawBlock(surface, { kind, part, layer, x, y, wide }) {
  surface.rect(x, y, wide, BLOCK, TINT[surface.theme]);
  surface.frame(x + 0.5, y + 0.5, wide - 1, BLOCK - 1, LANE[surface.theme], 1);
  const heads = kind === "fed" ? 0 : part.site.heads;
  const numbered = wide >= 60 || !heads;
  if (numbered) surface.text(String(layer + 1), heads ? x + 7 : x + wide / 2, y + 20, { size: 13, align: heads ? "left" : "center" });
  const each = Math.min(12, (wide - 8 - (numbered ? 18 : 0)) / Math.max(heads, 1));
  for (let head = 0; head < heads; head++) {
    const high = part.effects ? Math.max(1.5, part.effects[head] * (BLOCK - 8)) : 7;
    const left = x + wide - 5 - each * (heads - head);
    surface.rect(left, y + BLOCK - 4 - high, Math.max(1, each - 2), high, part.effects ? EFFECT[surface.theme] : LANE[surface.theme]);
  }
}

/**
 * The lanes; of recurrent layers, each state is joined to the one before: a decoder's in one direction.
 *
 * @param {Surface} surface @param {Places} side @param {boolean} recurrent @param {boolean} directed
 */
function lanesOf(surface, side, recurrent, directed) {
  const last = side.x.length - 1;
  const steps = side.lanes.map((lane) => spotOf(side, last, lane));
  steps.forEach(([end, y]) => {
    surface.line([[side.x[0], y], [end, y]], LANE[surface.theme], 1);
    side.x.forEach((column) => surface.disc(column, y, 2.5, LANE[surface.theme]));
  });
  if (!recurrent) return;
  steps.slice(1).forEach(([x, y], i) => {
    surface.line([[x, steps[i][1] + 3], [x, y - 3]], MUTED[surface.theme], 1.5);
    if (directed) surface.line([[x - 3, y - 8], [x, y - 3], [x + 3, y - 8]], MUTED[surface.theme], 1.5);
  });
}

/**
 * The words of a side at its beginning ("right") or behind its end ("left"); inkOf(lane): null for none.
 *
 * @param {Surface} surface
 * @param {Layout} place
 * @param {Places | undefined} side
 * @param {"left" | "right"} align
 * @param {number} room
 * @param {(lane: number) => "ink" | "muted" | "strong" | null} inkOf
 */
function labels(surface, place, side, align, room, inkOf) {
  if (!side) return;
  const { theme } = surface;
  const inks = { ink: INK[theme], muted: MUTED[theme], strong: `rgb(${BAND[theme]})` };
  for (const lane of side.lanes) {
    const ink = inkOf(lane);
    if (!ink) continue;
    const [, y] = spotOf(side, 0, lane);
    const x = align === "right" ? side.x[0] - 10 : place.out.x;
    surface.text(fitting(side.texts[lane], room, place.size), x, y + place.size / 3, { size: place.size, align, fill: inks[ink] });
  }
}

/** Where a lane that is drawn is. @param {Places} side @param {number} column @param {number} lane */
function spotOf(side, column, lane) {
  return /** @type {Spot} */ (side.place(column, lane));
}

/** As much of a word as there is room for. @param {string} text @param {number} room @param {number} size */
function fitting(text, room, size) {
  if (textWidth(text, size) <= room) return text;
  const signs = Array.from(text);
  while (signs.length > 1 && textWidth(`${signs.join("")}…`, size) > room) signs.pop();
  return `${signs.join("")}…`;
}

/**
 * The image as it is, or as a row attended to it in a module.
 *
 * @param {Reading} scene @param {Module | null} [part] @param {number} [row] @param {number} [marked]
 */
function lookOf({ flow, trace }, part = null, row = 0, marked = undefined) {
  const { lanes } = flow.read;
  const grid = /** @type {Pair<number>} */ (flow.read.grid);
  const weights = Float32Array.from(lanes, (_, at) => (part ? weightOf(part, row, at) : 1));
  return { picture: trace.picture, grid, weights, most: weights[largest(weights)], smooth: false, out: [], against: [], marked };
}

/**
 * A curve with level ends, of which a share is drawn; its end is a dot while it moves.
 *
 * @param {Surface} surface @param {Band} each @param {number} share
 */
function band(surface, each, share) {
  if (!isDrawn(each) || share <= 0) return;
  const { weight, strength } = each;
  const count = Math.ceil(BENDS * share);
  const points = Array.from({ length: count + 1 }, (_, i) => bend(each, Math.min(i / BENDS, share)));
  surface.line(points, shaded(surface, strength * (0.25 + 0.6 * weight)), thickness(weight));
  if (share < 1) tip(surface, each, share);
}

/** The dot at the end of a band while it moves. @param {Surface} surface @param {Band} each @param {number} share */
function tip(surface, each, share) {
  if (!isDrawn(each) || share <= 0) return;
  surface.disc(...bend(each, share), thickness(each.weight) / 2 + 1.5, shaded(surface, Math.min(1, each.strength + 0.2)));
}

/** @param {Band} each @returns {each is Band & { from: Spot, to: Spot }} */
function isDrawn(each) {
  return Boolean(each.from && each.to) && each.weight >= FAINTEST;
}

/** @param {{ from: Spot, to: Spot }} each @param {number} t @returns {Spot} */
function bend({ from: [x, y], to: [end, low] }, t) {
  return [x + (end - x) * t, y + (low - y) * t * t * (3 - 2 * t)];
}

/** @param {number} weight */
function thickness(weight) {
  return THINNEST + (THICKEST - THINNEST) * weight;
}

/** @param {Surface} surface @param {number} alpha */
function shaded(surface, alpha) {
  return `rgba(${BAND[surface.theme]},${alpha.toFixed(3)})`;
}

/**
 * The bands of a layer of lanes.
 *
 * @param {Reading} scene @param {number} column @param {boolean} quiet
 * @returns {Band[]}
 */
function layerBands({ flow, place: { read: side }, row }, column, quiet) {
  const { self } = /** @type {import("./model.js").ReadLayer} */ (flow.read.layers[column]);
  const own = flow.write ? null : row;
  const strength = (/** @type {number} */ lane) => (lane === own ? 1 : quiet ? 0.25 : own === null ? 0.6 : 0.2);
  return side.lanes.flatMap((lane) => strongest(self, lane, lane === own ? side.lanes.length : FEW).map((key) =>
    ({ from: side.place(column, key), to: side.place(column + 1, lane), weight: weightOf(self, lane, key), strength: strength(lane) })));
}

/**
 * A layer of lanes when a moment has happened by a share, from what is there when all of it has: all its bands begin
 * above each other, so that the image is uncovered from left to right.
 *
 * @param {import("../surface.js").CanvasSurface} surface @param {Reading} scene @param {number} column @param {number} share
 * @param {HTMLCanvasElement} whole
 */
function uncover(surface, scene, column, share, whole) {
  const [left, right] = [column, column + 1].map((at) => scene.place.read.x[at]);
  surface.restore(whole, [left, left + (right - left) * share]);
  if (share < 1) for (const each of layerBands(scene, column, false)) tip(surface, each, share);
}

/**
 * One layer of what was read: the largest weights of each word, and all of the row's; `quiet`: behind what is written.
 *
 * @param {Surface} surface @param {Reading} scene @param {number} column @param {number} share @param {boolean} quiet
 */
function readBands(surface, scene, column, share, quiet) {
  const { flow, place, row } = scene;
  const { self } = flow.read.layers[column];
  const side = place.read;
  if (flow.read.grid) {
    if (quiet) return;
    const own = flow.write ? pairOf(self)[0] : row;
    drawLookOn(surface, lookOf(scene, self, own, own), side.boxes[column + 1], scene.redraw);
    strongest(self, own, CELLS).forEach((cell) => band(surface, { from: side.place(column, cell), to: side.place(column + 1, own), weight: weightOf(self, own, cell), strength: 1 }, share));
    return;
  }
  for (const each of layerBands(scene, column, quiet)) band(surface, each, share);
}

/**
 * The way of one word through a layer that writes it: what it attends to of what was written, and of what was read.
 *
 * @param {Surface} surface @param {Writing} scene @param {number} row @param {number} i @param {number} share
 */
function writeBands(surface, { flow, place }, row, i, share) {
  const { layers } = flow.write;
  const { self, cross } = layers[i];
  const side = place.write;
  const count = layers.length > DEEP ? FEW : flow.read?.grid ? CELLS : Infinity;
  const to = spotOf(side, i + 1, row);
  if (self) strongest(self, row, count).forEach((lane) => band(surface, { from: side.place(i, lane), to, weight: weightOf(self, row, lane), strength: 0.75 }, share));
  const { read } = place;
  if (cross && read) strongest(cross, row, count).forEach((key) => band(surface, { from: read.place(read.x.length - 1, key), to, weight: weightOf(cross, row, key), strength: 1 }, share));
  if (share === 1) surface.disc(to[0], to[1], 4.5, `rgb(${BAND[surface.theme]})`);
}

/**
 * All ends of what was read, which the label follows from: lines, because no weights belong to them.
 *
 * @param {Surface} surface @param {Reading} scene @param {number} share
 */
function gather(surface, { flow, place, trace, row }, share) {
  const side = place.read;
  const gaps = trace.kind.writes === "gaps";
  const [column, to] = [flow.read.layers.length, [place.out.x - 6, place.top + place.tall / 2]];
  const lanes = flow.read.grid ? [row] : gaps ? [row] : side.lanes;
  const end = gaps && !flow.read.grid ? [to[0], spotOf(side, column, row)[1]] : to;
  for (const lane of lanes) {
    const [x, y] = flow.read.grid ? [side.x[column], to[1]] : spotOf(side, column, lane);
    surface.line([[x, y], [x + (end[0] - x) * share, y + (end[1] - y) * share]], MUTED[surface.theme], 1, [3, 4]);
  }
}

/**
 * The most probable tokens of a row's step, as bars.
 *
 * @param {Surface} surface @param {Scene} scene @param {number} row @param {number} share
 */
function outcome(surface, { flow, place, trace }, row, share) {
  const found = predictionOf(trace, flow, row);
  if (!found) return;
  const { out, top, tall } = place;
  const high = found.best.length * CHOICE;
  const lane = place.write ? spotOf(place.write, 0, row)[1] : top + tall / 2;
  const x = out.narrow ? 8 : out.x + out.words + 10;
  const y = out.narrow ? top + tall + 14 : Math.min(Math.max(lane - high / 2, top), top + tall - high);
  found.best.forEach(([token, logp], i) => {
    const probability = Math.exp(logp);
    const line = y + CHOICE * (i + 0.7);
    const own = token === found.token;
    surface.rect(x + 74, line - 11, Math.max(1, 60 * probability * share), 13, own ? `rgb(${BAND[surface.theme]})` : LANE[surface.theme]);
    surface.text(fitting(readable(token), 68, 13), x + 68, line, { size: 13, align: "right", fill: own ? `rgb(${BAND[surface.theme]})` : INK[surface.theme] });
    surface.text(percentOf(probability), x + 140, line, { size: 12, fill: MUTED[surface.theme] });
  });
}

/**
 * The columns with the largest weights of a row, the largest first; sorted once.
 *
 * @param {Module} part @param {number} row @param {number} count
 */
function strongest(part, row, count) {
  const { map } = part;
  const width = map.columns.length;
  const values = map.values.subarray(row * width, (row + 1) * width);
  part.sorted[row] ??= [...values.keys()].sort((a, b) => values[b] - values[a]);
  return part.sorted[row].slice(0, count);
}
