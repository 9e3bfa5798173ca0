/** All layers and heads as small maps on one scale; attention to an image is drawn over the image. */

import { choice, element, fading, table } from "../dom.js";
import { legend } from "../heatmap.js";
import { drawLook } from "../picture.js";
import { palette, theme } from "../colours.js";
import { paint } from "../surface.js";
import { drawnOn, gridFigure } from "../taking/grid_figure.js";
import { largest } from "../maps.js";
import { readable } from "../trace.js";
import { scaleChoice, scaled } from "./board.js";
import { pictureOrTable } from "./stacks.js";

const [SIDE, LEAST_SIDE, ROOM] = [92, 44, 1030]; // px: of a map, of the smallest map, of a row of maps
const AROUND = 23; // px between two maps, with the borders of their buttons

/** A single head has nothing to be compared with. @type {Needs} */
gridView.needs = (trace) => trace.parts().some((part) => headsOf(trace, part).length > 1);

/** @param {Trace} trace @param {Part} part @returns {MeasuredHead[]} */
function headsOf(trace, part) {
  return trace.of(part).flatMap((site) => Array.from({ length: site.heads }, (_, head) => ({ site, head })));
}

/** @type {View} */
export function gridView(trace, state, words) {
  const part = trace.parts().find((each) => each === state.get("part")) ?? trace.parts()[0];
  const heads = headsOf(trace, part);
  const sort = state.get("sort");
  const order = sort === "entropy" || sort === "confidence" ? sort : "place"; // the page of head cards has more
  // The measures are a pass over all weights, so they wait until they are requested.
  if (order !== "place" || state.get("as") === "table") {
    for (const each of heads) Object.assign(each, each.site.measures(each.head));
  }
  if (order !== "place") heads.sort((a, b) => (a[order] ?? 0) - (b[order] ?? 0));
  if (order === "confidence") heads.reverse();
  const controls = [
    choice(words.part, trace.parts().map((each) => [each, words[each]]), part,
      (value) => state.set({ part: value, layer: "", query: "", key: "" })),
    choice(words.sort, [["place", words.place], ["entropy", words.entropy], ["confidence", words.confidence]],
      order, (sort) => state.set({ sort })),
    pictureOrTable(state, words),
  ];
  /** @param {MeasuredHead} measured */
  const name = ({ site, head }) => `${site.layer + 1}.${head + 1}`;
  if (state.get("as") === "table") {
    const rows = heads.map((each) => [name(each), each.entropy?.toFixed(3) ?? "", each.confidence?.toFixed(3) ?? ""]);
    return { help: words.gridHelp, controls,
      body: [table([`${words.layer}.${words.head}`, words.entropy, words.confidence], rows, words.grid)] };
  }
  const columns = order === "place" ? Math.max(...trace.of(part).map((site) => site.heads)) : 8;
  const side = Math.max(LEAST_SIDE, Math.min(SIDE, Math.floor(ROOM / columns) - AROUND));
  const over = trace.axes[heads[0].site.keys].grid ? overPicture(trace, heads, state, words, controls) : asMaps(heads, state, words, controls);
  const buttons = heads.map((each) => thumbnail(each, name(each), words, (canvas) => over.draw(canvas, each, side), () =>
    state.set({ view: over.view, part, layer: each.site.layer, head: each.head })));
  const grid = element("div", { class: "grid" }, ...buttons);
  grid.style.setProperty("--columns", String(columns));
  const figure = () => gridFigure(heads.map((each) => ({ title: name(each), canvas: drawnOn((canvas) => over.draw(canvas, each, side)) })), columns);
  return { help: over.help, controls, body: [fading(element("div", { class: "scroll" }, grid)), over.scale], figure };
}

/**
 * What is drawn of heads, and the view that each leads to.
 *
 * @typedef {{ view: string, help: string, scale: HTMLElement, draw: (canvas: HTMLCanvasElement, head: MeasuredHead, side: number) => void }} DrawnHeads
 */

/**
 * Heads as maps, with rows and columns as small as necessary, all on one scale.
 *
 * @param {MeasuredHead[]} heads @param {State} state @param {Words} words @param {HTMLElement[]} controls
 * @returns {DrawnHeads}
 */
function asMaps(heads, state, words, controls) {
  const map = scaled({ values: heads.map(({ site, head }) => highest(site, head)), columns: heads.map(String) }, state);
  controls.splice(2, 0, scaleChoice(map, state, words));
  const most = map.most ?? 1;
  const whole = palette(theme());
  const colours = whole.map((_, shade) => whole[Math.min(255, Math.round(shade / most))]); // on this scale
  return {
    view: "board",
    help: words.gridHelp,
    scale: legend(map, `${words.weights}. ${words.scaleGrid}`),
    draw: (canvas, { site, head }, side) => {
      const size = site.rows * site.columns;
      const shades = site.known("weights").shades(head * size, (head + 1) * size);
      paint(canvas, site.columns, site.rows, shades, colours);
      canvas.style.width = `${side}px`;
      canvas.style.height = `${Math.round(side * Math.min(site.rows / site.columns, 1.6))}px`;
    },
  };
}

/**
 * What one word, or one cell, attends to in the image, in every head.
 *
 * @param {Trace} trace @param {MeasuredHead[]} heads @param {State} state @param {Words} words @param {HTMLElement[]} controls
 * @returns {DrawnHeads}
 */
function overPicture(trace, heads, state, words, controls) {
  const [{ site }] = heads;
  const at = Math.min(state.get("query") ?? strongestRow(site), site.rows - 1);
  const names = site.rowTokens.map((token, i) => [String(i), `${i + 1} ${readable(token)}`]);
  controls.push(choice(site.part === "image" ? words.pixel : words.afterToken, names, String(at), (value) => state.set({ query: value, key: "" })));
  /** @param {MeasuredHead} measured */
  const row = ({ site: of, head }) => of.matrix(head, "weights").subarray(at * of.columns, (at + 1) * of.columns);
  const most = Math.max(...heads.map((each) => Math.max(...row(each))));
  const grid = trace.gridOf(site.keys);
  return {
    view: "scrubber",
    help: words.gridPictureHelp,
    scale: element("p", { class: "muted scale legend" }, `0 – ${most.toFixed(3)} — ${words.scrubberScale}.`),
    draw: (canvas, each, side) => drawLook(canvas, { picture: trace.picture, grid, weights: row(each), most, smooth: true,
      marked: site.part === "image" ? at : undefined }, side),
  };
}

/**
 * The row of the matrix with the largest weight in the mean of the heads.
 *
 * @param {Site} site
 */
function strongestRow(site) {
  return Math.floor(largest(site.matrix("mean", "weights")) / site.columns);
}

/** @param {Site} site @param {number} head */
function highest(site, head) {
  const size = site.rows * site.columns;
  return site.known("weights").largest(head * size, (head + 1) * size);
}

/** @param {MeasuredHead} measured @param {string} name @param {Words} words @param {(canvas: HTMLCanvasElement) => void} draw @param {() => void} onClick */
function thumbnail({ site, head, entropy, confidence }, name, words, draw, onClick) {
  const measured = entropy === undefined || confidence === undefined ? ""
    : `; ${words.entropy} ${entropy.toFixed(2)}, ${words.confidence} ${confidence.toFixed(2)}`;
  const canvas = element("canvas", { "aria-hidden": "true" });
  draw(canvas);
  const label = `${words.layerNumber(site.layer + 1)}, ${words.head} ${head + 1}${measured}`;
  return element("button", { type: "button", "aria-label": label, title: label, onclick: onClick },
    canvas, element("span", {}, name));
}
