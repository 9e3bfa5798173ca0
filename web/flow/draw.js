/** The whole model as a picture: lanes of words, bands as thick as the attention weights, and what is predicted. */

import { drawLookOn } from "../picture.js";
import { INK, textWidth } from "../surface.js";
import { largest, readable } from "../trace.js";
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
 * What stays while words are written, or while a layer is read.
 *
 * scene: { flow, trace, place, words, row, playing }; `row`: the word whose way is drawn where nothing is written.
 * moment: { kind: "read", column }, { kind: "write", row } or { kind: "outcome" }.
 *
 * @param {Surface} surface
 */
export function drawGround(surface, scene, moment) {
  const { flow, place } = scene;
  titles(surface, scene);
  place.blocks.forEach((block) => drawBlock(surface, block));
  for (const name of ["read", "write"]) if (flow[name]) lanesOf(surface, place[name], flow.recurrent, name === "write");
  if (flow.read?.grid) place.read.boxes.forEach((box) => drawLookOn(surface, lookOf(scene), box, scene.redraw));
  else labels(surface, place, flow.read ? "read" : "write", "right", place.left, (lane) => (lane === scene.row && !flow.write ? "strong" : flow.read ? "ink" : "muted"));
  const until = moment.kind === "read" ? moment.column : flow.read?.layers.length ?? 0;
  for (let column = 0; column < until; column++) readBands(surface, scene, column, 1, moment.kind === "write");
}

/** What stays while a word is written: those that are there already, and the image as the word attends to it. */
export function drawWritten(surface, scene, moment) {
  const { flow, place } = scene;
  if (flow.write && flow.read) {
    const own = moment.kind === "write" ? moment.row : scene.row; // which what moves draws
    labels(surface, place, "write", "left", place.out.words, (lane) => (moment.kind === "write" && lane < own ? "ink" : scene.playing || lane === own ? null : "muted"));
  }
  if (moment.kind !== "write" || !flow.read?.grid) return;
  drawLookOn(surface, lookOf(scene, flow.write.layers.at(-1).cross, moment.row), place.read.boxes.at(-1), scene.redraw);
}

/** The layers that a word has behind it: those from one number to before another one. */
export function drawPassed(surface, scene, { row }, from, to) {
  for (let i = from; i < to; i++) {
    const [[x, y], [end]] = [i, i + 1].map((column) => scene.place.write.place(column, row));
    surface.line([[x, y], [end, y]], `rgba(${BAND[surface.theme]},0.55)`, 3);
    writeBands(surface, scene, row, i, 1);
  }
}

/** How many layers a word has behind it when its moment has happened by a share. */
export function passedBy({ flow }, moment, share) {
  return moment.kind === "write" ? Math.floor(reachedBy(flow, share)) : 0;
}

/** The layers' part of a moment comes first; then the word arrives. */
function reachedBy({ write }, share) {
  return Math.min(1, share / ARRIVES) * write.layers.length;
}

/**
 * What moves during a moment, when it has happened by a share; `whole`: the image of its end, of a layer of lanes.
 *
 * @param {Surface} surface
 * @param {HTMLCanvasElement | null} [whole]
 */
export function drawMoving(surface, scene, moment, share, whole = null) {
  const { flow, place } = scene;
  if (moment.kind === "read" && whole) uncover(/** @type {import("../surface.js").CanvasSurface} */ (surface), scene, moment.column, share, whole);
  else if (moment.kind === "read") readBands(surface, scene, moment.column, share, false);
  if (moment.kind === "write" && share < ARRIVES) {
    const reached = reachedBy(flow, share);
    writeBands(surface, scene, moment.row, Math.floor(reached), reached % 1);
  }
  if (share < 1) atWork(surface, scene, moment, share);
  const row = moment.kind === "write" ? moment.row : moment.kind === "outcome" ? scene.row : null;
  const arrived = moment.kind === "write" ? Math.max(0, (share - ARRIVES) / (1 - ARRIVES)) : share;
  if (row === null || arrived <= 0) return;
  if (flow.write) labels(surface, place, "write", "left", place.out.words, (lane) => (lane === row ? "strong" : null));
  else gather(surface, scene, arrived);
  outcome(surface, scene, row, arrived);
}

/** Frames the blocks of the layer in which the words are. */
function atWork(surface, { flow, place }, moment, share) {
  const side = flow[moment.kind];
  if (!side) return;
  const column = moment.kind === "read" ? moment.column : Math.floor(reachedBy(flow, share));
  const layer = side.layers[column];
  for (const { part, x, y, wide } of place.blocks) {
    if (layer && (part === layer.self || part === layer.cross)) surface.frame(x + 0.5, y + 0.5, wide - 1, BLOCK - 1, `rgb(${BAND[surface.theme]})`, 2);
  }
}

function titles(surface, { flow, place, words }) {
  const style = { size: 12, fill: MUTED[surface.theme] };
  const [named, done] = [place.blocks.filter(({ first }) => first), new Set()];
  for (const { kind, part, x, y } of named) {
    const title = words.flowBlock[kind === "self" ? part.site.part : kind];
    const at = `${kind} ${x}`;
    if (!done.has(at)) surface.text(title, x, y - 5, style);
    done.add(at);
  }
  if (flow.recurrent && !flow.read.grid) surface.text(words.flowBlock.recurrent, place.read.x[0], place.top - 8, style);
  if (flow.read && flow.write) surface.text(words.flowMemory, place.read.x.at(-1), place.top + place.tall + 12, { ...style, align: "center" });
}

/** A block: the number of its layer, and a bar for the effect of each head, or a mark where it was not computed. */
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
 * @param {Surface} surface
 */
function lanesOf(surface, side, recurrent, directed) {
  const last = side.x.length - 1;
  const steps = side.lanes.map((lane) => side.place(last, lane));
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
 * The words of a side at its beginning ("right") or behind its end ("left"); inkOf(lane): "ink", "muted", "strong", or null.
 *
 * @param {Surface} surface
 */
function labels(surface, place, name, align, room, inkOf) {
  const side = place[name];
  const { theme } = surface;
  const inks = { ink: INK[theme], muted: MUTED[theme], strong: `rgb(${BAND[theme]})` };
  for (const lane of side.lanes) {
    const ink = inkOf(lane);
    if (!ink) continue;
    const [, y] = side.place(0, lane);
    const x = align === "right" ? side.x[0] - 10 : place.out.x;
    surface.text(fitting(side.texts[lane], room, place.size), x, y + place.size / 3, { size: place.size, align, fill: inks[ink] });
  }
}

/** As much of a word as there is room for. */
function fitting(text, room, size) {
  if (textWidth(text, size) <= room) return text;
  const signs = Array.from(text);
  while (signs.length > 1 && textWidth(`${signs.join("")}…`, size) > room) signs.pop();
  return `${signs.join("")}…`;
}

/** The image as it is, or as a row attended to it in a module. */
function lookOf({ flow, trace }, part = null, row = 0, marked = undefined) {
  const { grid, lanes } = flow.read;
  const weights = Float32Array.from(lanes, (_, at) => (part ? weightOf(part, row, at) : 1));
  return { picture: trace.picture, grid, weights, most: weights[largest(weights)], smooth: false, out: [], against: [], marked };
}

/**
 * A curve with level ends, of which a share is drawn; its end is a dot while it moves.
 *
 * @param {Surface} surface
 */
function band(surface, each, share) {
  const { weight, strength } = each;
  if (!isDrawn(each) || share <= 0) return;
  const count = Math.ceil(BENDS * share);
  const points = Array.from({ length: count + 1 }, (_, i) => bend(each, Math.min(i / BENDS, share)));
  surface.line(points, shaded(surface, strength * (0.25 + 0.6 * weight)), thickness(weight));
  if (share < 1) tip(surface, each, share);
}

/** The dot at the end of a band while it moves. */
function tip(surface, each, share) {
  if (!isDrawn(each) || share <= 0) return;
  surface.disc(...bend(each, share), thickness(each.weight) / 2 + 1.5, shaded(surface, Math.min(1, each.strength + 0.2)));
}

function isDrawn({ from, to, weight }) {
  return from && to && weight >= FAINTEST;
}

/** @returns {[x: number, y: number]} */
function bend({ from: [x, y], to: [end, low] }, t) {
  return [x + (end - x) * t, y + (low - y) * t * t * (3 - 2 * t)];
}

function thickness(weight) {
  return THINNEST + (THICKEST - THINNEST) * weight;
}

function shaded(surface, alpha) {
  return `rgba(${BAND[surface.theme]},${alpha.toFixed(3)})`;
}

/**
 * The bands of a layer of lanes, { from, to, weight, strength }.
 *
 * @param {any} scene
 */
function layerBands({ flow, place: { read: side }, row }, column, quiet) {
  const { self } = flow.read.layers[column];
  const own = flow.write ? null : row;
  const strength = (lane) => (lane === own ? 1 : quiet ? 0.25 : own === null ? 0.6 : 0.2);
  return side.lanes.flatMap((lane) => strongest(self, lane, lane === own ? side.lanes.length : FEW).map((key) =>
    ({ from: side.place(column, key), to: side.place(column + 1, lane), weight: weightOf(self, lane, key), strength: strength(lane) })));
}

/**
 * A layer of lanes when a moment has happened by a share, from what is there when all of it has: all its bands begin
 * above each other, so that the image is uncovered from left to right.
 *
 * @param {import("../surface.js").CanvasSurface} surface
 */
function uncover(surface, scene, column, share, whole) {
  const [left, right] = [column, column + 1].map((at) => scene.place.read.x[at]);
  surface.restore(whole, [left, left + (right - left) * share]);
  if (share < 1) for (const each of layerBands(scene, column, false)) tip(surface, each, share);
}

/**
 * One layer of what was read: the largest weights of each word, and all of the row's; `quiet`: behind what is written.
 *
 * @param {Surface} surface
 */
function readBands(surface, scene, column, share, quiet) {
  const { flow, place, row } = scene;
  const { self } = flow.read.layers[column];
  const side = place.read;
  const own = flow.write ? (flow.read.grid ? pairOf(self)[0] : null) : row;
  if (flow.read.grid) {
    if (quiet) return;
    drawLookOn(surface, lookOf(scene, self, own, own), side.boxes[column + 1], scene.redraw);
    strongest(self, own, CELLS).forEach((cell) => band(surface, { from: side.place(column, cell), to: side.place(column + 1, own), weight: weightOf(self, own, cell), strength: 1 }, share));
    return;
  }
  for (const each of layerBands(scene, column, quiet)) band(surface, each, share);
}

/**
 * The way of one word through a layer that writes it: what it attends to of what was written, and of what was read.
 *
 * @param {Surface} surface
 */
function writeBands(surface, { flow, place }, row, i, share) {
  const { layers } = flow.write;
  const { self, cross } = layers[i];
  const side = place.write;
  const count = layers.length > DEEP ? FEW : flow.read?.grid ? CELLS : Infinity;
  const to = side.place(i + 1, row);
  if (self) strongest(self, row, count).forEach((lane) => band(surface, { from: side.place(i, lane), to, weight: weightOf(self, row, lane), strength: 0.75 }, share));
  if (cross) strongest(cross, row, count).forEach((key) => band(surface, { from: place.read.place(place.read.x.length - 1, key), to, weight: weightOf(cross, row, key), strength: 1 }, share));
  if (share === 1) surface.disc(to[0], to[1], 4.5, `rgb(${BAND[surface.theme]})`);
}

/** All ends of what was read, which the label follows from: lines, because no weights belong to them. */
function gather(surface, { flow, place, trace, row }, share) {
  const side = place.read;
  const gaps = trace.kind.writes === "gaps";
  const [column, to] = [flow.read.layers.length, [place.out.x - 6, place.top + place.tall / 2]];
  const lanes = flow.read.grid ? [row] : gaps ? [row] : side.lanes;
  const end = gaps && !flow.read.grid ? [to[0], side.place(column, row)[1]] : to;
  for (const lane of lanes) {
    const [x, y] = flow.read.grid ? [side.x.at(-1), to[1]] : side.place(column, lane);
    surface.line([[x, y], [x + (end[0] - x) * share, y + (end[1] - y) * share]], MUTED[surface.theme], 1, [3, 4]);
  }
}

/** The most probable tokens of a row's step, as bars. */
function outcome(surface, { flow, place, trace }, row, share) {
  const found = predictionOf(trace, flow, row);
  if (!found) return;
  const { out, top, tall } = place;
  const high = found.best.length * CHOICE;
  const lane = flow.write ? place.write.place(0, row)[1] : top + tall / 2;
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

/** The columns with the largest weights of a row, the largest first; sorted once. */
function strongest(part, row, count) {
  const { map } = part;
  const width = map.columns.length;
  const values = map.values.subarray(row * width, (row + 1) * width);
  part.sorted[row] ??= [...values.keys()].sort((a, b) => values[b] - values[a]);
  return part.sorted[row].slice(0, count);
}
