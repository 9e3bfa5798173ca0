/** The whole model as a picture with the way of one word through it; its blocks and words lead to the other views. */

import { cursorOf, siteOf } from "../cursor.js";
import { element, pointIn, refill, table, unbroken } from "../dom.js";
import { drawGround, drawMoving, drawPassed, drawWritten, passedBy } from "../flow/draw.js";
import { BLOCK, layoutOf } from "../flow/layout.js";
import { flowOf, pairOf, predictionOf, weightOf } from "../flow/model.js";
import { beforeCells } from "../picture.js";
import { percentOf } from "../overview/facts.js";
import { player, still } from "../player.js";
import { remember } from "../state.js";
import { CanvasSurface } from "../surface.js";
import { largest } from "../maps.js";
import { readable } from "../trace.js";
import { momentsOf, walkOf } from "../walk/steps.js";
import { unitChoice } from "./board.js";

const [READ, LAYER, WORD, HOLD] = [1400, 420, [1100, 2600], 900]; // ms: to read in all, of a layer, of a word, and its rest
const FIGURE = 1040; // px

/**
 * @typedef {import("../flow/model.js").Flow} Flow
 * @typedef {import("../flow/model.js").Module} Module
 * @typedef {import("../flow/draw.js").Moment & { sweep: number, hold: number }} Moment
 * @typedef {import("../flow/draw.js").Scene & { moment: Moment }} Scene
 */

/** A single attention without an output is the overview's picture. @type {Needs} */
flowView.needs = (trace) => trace.sites.length > 0 && trace.sites.length + trace.steps.length > 1;

/**
 * What happens one after the other: all is read layer by layer, then word after word is written.
 *
 * @param {Flow} flow @param {Trace} trace
 * @returns {Moment[]}
 */
function momentsIn(flow, trace) {
  const columns = flow.read?.layers.length ?? 0;
  /** @type {Moment[]} */
  const reading = Array.from({ length: columns }, (_, column) =>
    ({ kind: "read", column, sweep: Math.max(250, READ / columns), hold: flow.write ? 80 : HOLD }));
  if (!flow.write) return trace.steps.length ? [...reading, { kind: "outcome", sweep: 800, hold: HOLD }] : reading;
  const sweep = Math.min(WORD[1], Math.max(WORD[0], LAYER * flow.write.layers.length));
  /** @type {Moment[]} */
  const writing = flow.rows.map((row) => ({ kind: "write", row, sweep, hold: HOLD }));
  return [...reading, ...writing];
}

/** @type {View} */
export function flowView(trace, state, words) {
  const flow = flowOf(trace, state.get("unit"));
  const moments = momentsIn(flow, trace);
  const row = rowChosen(flow, trace, state);
  const opened = flow.write ? Math.max(0, moments.findIndex((moment) => moment.row === row)) : moments.length - 1;
  /** @type {Scene} */
  const scene = { flow, trace, words, row, moment: moments[opened], playing: false, place: layoutOf(flow, trace, FIGURE, row), redraw: () => {} };
  const said = element("p", { id: "flow-says", class: "walk-says" });
  const stage = element("div", { id: "flow", class: "flow", tabindex: "0", role: "group", "aria-label": words.flowStage });
  const counted = numbers(scene, words);
  const picture = pictureOn(stage, scene, moments, { redraw: () => plays.redraw(), buttonsOf: () => buttons(scene, state, plays, moments), onPick: (at) => pickCell(scene, state, at) });
  /** @param {number} at @param {import("../player.js").Now} now */
  const tell = (at, { playing, showing, byHand }) => {
    Object.assign(scene, { playing, moment: moments[at] });
    said.setAttribute("aria-live", playing ? "off" : "polite");
    said.replaceChildren(...unbroken(sentenceOf(scene, words)));
    counted.open = false; // its numbers are those of another moment
    const { row } = moments[at];
    if (row === undefined || !flow.write || showing || !byHand) return;
    // The cursor of all views goes along: to a module that attends from this word, if it is in another one.
    const { cross, self } = flow.write.layers[flow.write.layers.length - 1];
    const elsewhere = siteOf(trace, state).queries !== flow.walked.site.queries;
    state.keep({ ...(elsewhere ? { part: (cross ?? self)?.site.part, layer: "" } : {}), query: queryOf(flow, row), key: "", word: "" });
    if (!playing) remember(state.fragment);
  };
  const plays = player({ name: "flow", stage, moments, at: opened, state, words, draw: picture.draw, tell,
    shows: { to: moments.length - 1, once: true, pace: ({ sweep, hold }) => [0.8 * sweep, 0.5 * hold] } });
  picture.watch();
  const screen = element("div", {}, said, stage);
  return {
    help: words.flowHelp, aboutBelow: true, controls: [unitChoice(state, words)],
    film: plays.film(screen),
    body: [screen, plays.bar, ...(still() ? [element("p", { class: "muted" }, words.walkStill)] : []),
      element("p", { class: "muted" }, words.flowLegend(flow.effects)), counted],
    figure: () => figureOf(scene),
  };
}

/**
 * The picture in its stage: `draw(at, share)`, and `watch()`, which lays it out whenever its width is another one.
 *
 * @param {HTMLElement} stage @param {Scene} scene @param {Moment[]} moments
 * @param {{ redraw: () => void, buttonsOf: () => HTMLElement[], onPick: (at: number[]) => void }} options
 */
function pictureOn(stage, scene, moments, { redraw, buttonsOf, onPick }) {
  /** @type {CanvasSurface | null} */
  let surface = null;
  /** @type {{name: string, image: HTMLCanvasElement, whole: HTMLCanvasElement | null, next: string | null} | null} `whole`: at the end of the moment, as `next` begins */
  let ground = null;
  /** @type {{name: string, passed: number, image: HTMLCanvasElement | null} | null} */
  let written = null;
  let wide = 0;
  const lay = () => {
    scene.place = layoutOf(scene.flow, scene.trace, wide, rowOf(scene));
    const canvas = element("canvas", { role: "img", "aria-label": scene.words.flowPicture, onclick: (event) => onPick(pointIn(event, canvas)) });
    surface = new CanvasSurface(canvas, scene.place.width, scene.place.height);
    ground = null;
    refill(stage, element("div", { class: "flow-picture" }, canvas, ...buttonsOf()));
  };
  /** @param {number} at @param {number} share */
  const draw = (at, share) => {
    if (!wide || !surface) return; // it has no size yet
    if (scene.place.folded && scene.place.row !== rowOf(scene)) lay(); // other words are drawn with this one
    const [moment, passed] = [moments[at], passedBy(scene, moments[at], share)];
    const names = [`${moment.kind} ${moment.column}`, `${at} ${scene.playing}`];
    // What stays is drawn once, and what is behind the word when it has passed it.
    if (ground?.name !== names[0]) {
      const next = ground?.next === names[0] ? ground.whole : null;
      if (!next) {
        surface.context.clearRect(0, 0, scene.place.width, scene.place.height);
        drawGround(surface, scene, moment);
      }
      [ground, written] = [{ name: names[0], image: next ?? surface.copy(), whole: null, next: null }, null];
      if (moment.kind === "read" && !scene.flow.read?.grid) {
        if (next) surface.restore(next);
        drawMoving(surface, scene, moment, 1);
        Object.assign(ground, { whole: surface.copy(), next: `read ${moment.column + 1}` });
      }
    }
    if (written?.image && written.name === names[1] && written.passed <= passed) surface.restore(written.image);
    else {
      surface.restore(ground.image);
      drawWritten(surface, scene, moment);
      written = { name: names[1], passed: 0, image: null };
    }
    if (!written.image || written.passed < passed) {
      drawPassed(surface, scene, moment, written.passed, passed);
      Object.assign(written, { passed, image: surface.copy() });
    }
    drawMoving(surface, scene, moment, share, ground.whole);
  };
  scene.redraw = () => { // an image has loaded
    ground = null;
    redraw();
  };
  const watch = () => new ResizeObserver(() => {
    if (!stage.clientWidth || stage.clientWidth === wide) return;
    wide = stage.clientWidth;
    lay();
    redraw();
  }).observe(stage);
  return { draw, watch };
}

/** @param {Scene} scene @returns {Figure} */
function figureOf(scene) {
  const place = layoutOf(scene.flow, scene.trace, FIGURE, rowOf(scene));
  const whole = { ...scene, place, playing: false, redraw: () => {} };
  return { width: place.width, height: place.height, draw: (surface) => {
    drawGround(surface, whole, scene.moment);
    drawWritten(surface, whole, scene.moment);
    drawPassed(surface, whole, scene.moment, 0, passedBy(scene, scene.moment, 1));
    drawMoving(surface, whole, scene.moment, 1);
  } };
}

/** The word that a moment is about. @param {Scene} scene */
function rowOf({ moment, row }) {
  return moment.row ?? row;
}

/** The first step that writes a word, or the token that it begins with. @param {Flow} flow @param {number} row */
function queryOf({ walked }, row) {
  return walked.map.places.rows[row][0];
}

/**
 * The word whose way is drawn: that of the cursor of all views, as the word that its step writes.
 *
 * @param {Flow} flow @param {Trace} trace @param {State} state
 */
function rowChosen(flow, trace, state) {
  const site = siteOf(trace, state);
  const { query } = cursorOf(trace, site, state);
  const named = site.queries === flow.walked.site.queries ? flow.walked.map.places.rows.findIndex((rows) => rows.includes(query)) : -1;
  const fits = named >= 0 && (!flow.write || flow.rows.includes(named));
  return fits ? named : flow.rows[0] ?? 0;
}

/**
 * The parts of the picture as buttons, which lie over it.
 *
 * @param {Scene} scene @param {State} state @param {{ go: (at: number, moving: boolean) => void }} plays @param {Moment[]} moments
 */
function buttons({ place, trace, flow, words }, state, plays, moments) {
  /** @param {string} id @param {string} label @param {number[]} box @param {() => void} onclick */
  const over = (id, label, [left, top, wide, high], onclick) => {
    const node = element("button", { type: "button", id, "aria-label": label, title: label, onclick });
    Object.assign(node.style, { left: `${left}px`, top: `${top}px`, width: `${wide}px`, height: `${high}px` });
    return node;
  };
  const blocks = place.blocks.map(({ kind, part: { site }, layer, x, y, wide }) => {
    const name = `${kind === "fed" ? words.flowBlock.fed : words[site.part]}, ${words.layerNumber(layer + 1)}`;
    return over(`flow-${kind}-${site.part}-${layer}`, name, [x, y, wide, BLOCK], () => state.set({ part: site.part, layer,
      ...(kind === "fed" ? { view: "walk", moment: fedMoment(trace, site, state) } : { view: trace.axes[site.keys].grid ? "scrubber" : "board" }) }));
  });
  const behind = Boolean(flow.write && flow.read);
  const [side, texts] = [place.write ?? place.read, (flow.write ?? flow.read)?.lanes ?? []];
  const lanes = side?.lanes.filter((lane) => flow.rows.includes(lane)) ?? [];
  return [...blocks, ...lanes.map((lane) => {
    const y = (side?.place(0, lane)?.[1] ?? 0) - place.lane / 2;
    const box = behind ? [place.out.x - 4, y, place.out.words + 8, place.lane] : [0, y, place.left, place.lane];
    const at = moments.findIndex(({ row }) => row === lane);
    return over(`flow-word-${lane}`, words.flowWord(texts[lane]), box, () =>
      (at >= 0 ? plays.go(at, true) : state.set({ query: queryOf(flow, lane), key: "", word: "" })));
  })];
}

/**
 * Chooses the cell at a point of an image that attends to itself; by keyboard, cells are chosen in the other views.
 *
 * @param {Scene} scene @param {State} state @param {number[]} point
 */
function pickCell({ flow, place: { read } }, state, [x, y]) {
  if (flow.write || !flow.read?.grid || !read) return;
  const [down, across] = flow.read.grid;
  for (const [left, top, wide, high] of read.boxes) {
    const [row, column] = [Math.floor(((y - top) / high) * down), Math.floor(((x - left) / wide) * across)];
    if (row < 0 || row >= down || column < 0 || column >= across) continue;
    state.set({ query: queryOf(flow, read.before + row * across + column), key: "", word: "", spot: "" });
  }
}

/** @param {Trace} trace @param {Site} site @param {State} state */
function fedMoment(trace, site, state) {
  const { head, query } = cursorOf(trace, site, state);
  return Math.max(0, momentsOf(walkOf(trace, site, head, query), site).findIndex(({ op }) => op === "hidden" || op === "fed"));
}

/**
 * What a moment shows, with its numbers.
 *
 * @param {Scene} scene @param {Words} words
 */
function sentenceOf({ flow, trace, moment, row }, words) {
  const say = words.flowSays;
  /** @param {number} weight */
  const shareOf = (weight) => words.sentence.share(percentOf(weight));
  if (moment.kind === "read" && flow.read) {
    const { layer, self } = flow.read.layers[moment.column];
    const own = !flow.write;
    const [from, to] = own ? [row, topOf(self, row)] : pairOf(self);
    return say[own ? "own" : "read"](words[self.site.part], layer + 1, nameOf(self, from, trace, words), nameOf(self, to, trace, words), shareOf(weightOf(self, from, to)));
  }
  const found = predictionOf(trace, flow, moment.kind === "write" ? moment.row : row);
  if (moment.kind === "outcome") {
    const word = flow.read?.lanes[row] ?? "";
    if (!found) return say.noGap(word);
    const [token, logp] = found.best[0];
    return trace.kind.writes === "label" ? say.label(readable(token), shareOf(Math.exp(logp))) : say.gap(word, readable(token), shareOf(Math.exp(logp)));
  }
  const last = flow.write?.layers.at(-1);
  if (moment.kind !== "write" || !flow.write || !last) return "";
  const [first, second] = [last.cross, last.self].filter((part) => part !== null);
  /** @param {Module} part @returns {[name: string, share: string]} */
  const share = (part) => [nameOf(part, topOf(part, moment.row), trace, words), shareOf(weightOf(part, moment.row, topOf(part, moment.row)))];
  const more = second && weightOf(second, moment.row, topOf(second, moment.row)) > 0 ? say.self(...share(second)) : "";
  return `${say.write(flow.write.lanes[moment.row], last.layer + 1, ...share(first))}${more}${found ? say.probability(shareOf(found.probability)) : say.end}`;
}

/** A word in quotation marks, or where a cell of an image is. @param {Module} module @param {number} column @param {Trace} trace @param {Words} words */
function nameOf({ site, map }, column, trace, words) {
  const { grid } = trace.axes[site.keys];
  const cell = grid ? column - beforeCells(map.columns.length, grid) : -1;
  return !grid || cell < 0 ? `“${map.columns[column]}”` : words.spot(cell, grid);
}

/** @param {Module} module @param {number} row */
function topOf({ map }, row) {
  const width = map.columns.length;
  return largest(map.values.subarray(row * width, (row + 1) * width));
}

/**
 * The weights of a row in every module as a table: a column for each layer.
 *
 * @param {Scene} scene @param {Words} words
 */
function numbers(scene, words) {
  const { flow } = scene;
  const summary = element("summary", {}, words.flowNumbers);
  const details = element("details", { id: "flow-numbers" }, summary);
  details.addEventListener("toggle", () => {
    /** @type {import("../flow/model.js").Layer[]} */
    const layers = (flow.write ?? flow.read)?.layers ?? [];
    const tables = [layers.flatMap(({ cross }) => cross ?? []), layers.flatMap(({ self }) => self ?? [])].filter((parts) => parts.length);
    details.replaceChildren(summary, ...tables.map((parts) => table(
      [words.key, ...parts.map(({ site }) => words.layerNumber(site.layer + 1))],
      parts[0].map.columns.map((name, column) => [name, ...parts.map((part) => weightOf(part, rowOf(scene), column).toFixed(3))]),
      `${words[parts[0].site.part]}: ${parts[0].map.rows[rowOf(scene)]}`)));
  });
  return details;
}
