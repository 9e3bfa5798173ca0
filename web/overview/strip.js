/** Every layer and head of the model as small maps or squares, with the effect of each: the whole model at once. */

import { shareHead, siteOf } from "../cursor.js";
import { element, preview } from "../dom.js";
import { colour, palette, theme } from "../colours.js";
import { paint } from "../surface.js";
import { largest } from "../maps.js";
import { total } from "../trace.js";
import { percentOf } from "./facts.js";

const CELLS = 160_000; // weights of all heads that are drawn as maps; of more, every head is one square
const AT_ONCE = 16; // heads
const [SIDE, TALLEST] = [36, 44]; // px of a map
const CANVAS = document.createElement("canvas"); // one for all: to create them takes longer than to draw

/**
 * Whether there is more than one head to choose from.
 *
 * @param {Trace} trace
 */
export function hasStrip(trace) {
  return trace.sites.reduce((count, site) => count + site.heads, 0) > 1;
}

/**
 * The buttons of all heads.
 *
 * row: of the matrix, whose weights are drawn over the grid where the keys are cells. onTry(site, head) is called
 * when a head is pointed at or focused, and with null for the site when it is left.
 *
 * @param {Trace} trace @param {Chosen} state @param {Words} words
 * @param {{ row: number, onTry: (site: Site | null, head: Head) => void, onChoose: (site: Site, head: Head) => void }} parts
 */
export function headStrip(trace, state, words, { row, onTry, onChoose }) {
  const shown = siteOf(trace, state);
  const chosen = shareHead(shown, state);
  const small = trace.sites.reduce((count, site) => count + (trace.axes[site.keys].grid ? site.columns * site.heads : site.heads * site.rows * site.columns), 0) <= CELLS;
  const effects = trace.page.baseline ? {} : trace.findings.ablation ?? {};
  const most = Math.max(1e-9, ...Object.values(effects).flatMap((heads) => heads.map((steps) => Math.abs(total(steps)))));
  /** What is drawn after the first picture. @type {(() => void)[]} */
  const waiting = [];
  const scale = small && !trace.page.partial ? mostOfAll(trace, row) : null; // while arrays are missing, nothing is drawn
  /** @param {Site} site @param {number | "mean"} head */
  const button = (site, head) => {
    const on = site === shown && head === chosen;
    const image = small ? element("img", { alt: "" }) : element("span", { "aria-hidden": "true" }); // no canvas: a hundred of them would slow each frame of the bands
    waiting.push(() => draw(image, trace, site, head, row, scale));
    const effect = effects[site.name]?.[Number(head)];
    const name = head === "mean" ? words.mean : `${words.head} ${head + 1}`;
    const label = `${words[site.part]}, ${words.layerNumber(site.layer + 1)}, ${name}${effect ? `; ${words.change} ${total(effect).toFixed(2)}` : ""}`;
    const bar = element("i", { "aria-hidden": "true" });
    bar.style.setProperty("--share", effect ? (Math.abs(total(effect)) / most).toFixed(3) : "0");
    return element("button", {
      type: "button", id: `head-${site.name}-${head}`, "aria-label": label, title: label, "aria-pressed": String(on), tabindex: on ? "0" : "-1",
      onclick: () => onChoose(site, head), ...preview(() => onTry(site, head)),
    }, image, ...(effect ? [bar] : []));
  };
  const parts = trace.parts().map((part) => element("div", { class: "part", role: "group", "aria-label": words[part] },
    element("span", { class: "part-name" }, words[part]),
    ...trace.of(part).map((site) => element("div", { class: "layer" },
      element("span", { "aria-hidden": "true" }, String(site.layer + 1)),
      ...(site.heads > 1 && !site.raw.factors ? [button(site, "mean")] : []),
      ...Array.from({ length: site.heads }, (_, head) => button(site, head))))));
  const node = element("div", { class: small ? "strip" : "strip squares", id: "strip", role: "group", "aria-label": words.headStrip, onkeydown: walk,
    onmouseleave: () => onTry(null, chosen) }, ...parts);
  if (!node.querySelector("[tabindex='0']")) node.querySelector("button")?.setAttribute("tabindex", "0");
  node.addEventListener("focusout", (event) => {
    if (!node.contains(/** @type {Node | null} */ (event.relatedTarget))) onTry(null, chosen);
  });
  // The first picture does not wait for these; a page whose arrays are not all there yet is drawn again.
  if (!trace.page.partial) requestAnimationFrame(() => setTimeout(() => drawInTurn(waiting)));
  const effective = Object.keys(effects).length > 0;
  const said = [small ? words.headStripHelp : words.headStripSquares, ...(scale ? [words.headStripScale(percentOf(scale))] : []), ...(effective ? [words.headStripEffect] : [])];
  return element("aside", { class: "heads", "aria-label": words.headStrip }, element("p", { class: "muted" }, said.join(" ")), node);
}

/**
 * The end of the scale that all small maps share: the largest weight of any of them.
 *
 * @param {Trace} trace @param {number} row
 */
function mostOfAll(trace, row) {
  return Math.max(1e-9, ...trace.sites.flatMap((site) => Array.from({ length: site.heads }, (_, head) => {
    const values = shownOf(trace, site, head, row);
    return values[largest(values)];
  })));
}

/**
 * The weights that a small map shows: all of a text's, one row of those over an image.
 *
 * @param {Trace} trace @param {Site} site @param {Head} head @param {number} row
 */
function shownOf(trace, site, head, row) {
  const matrix = site.matrix(head, "weights");
  const at = Math.min(row, site.rows - 1);
  return trace.axes[site.keys].grid ? matrix.subarray(at * site.columns, (at + 1) * site.columns) : matrix;
}

/**
 * `most`: the end of the scale of small maps; null: a square.
 *
 * @param {HTMLImageElement | HTMLSpanElement} image @param {Trace} trace @param {Site} site @param {number | "mean"} head @param {number} row @param {number | null} most
 */
function draw(image, trace, site, head, row, most) {
  const [rows, columns] = [site.rows, site.columns];
  if (most === null || !("src" in image)) {
    image.style.background = colour(sharpness(site, head), theme());
    return;
  }
  const { grid } = trace.axes[site.keys];
  const values = shownOf(trace, site, head, row);
  const shades = Uint8Array.from(values, (value) => Math.round(255 * Math.min(1, Math.max(0, value) / most)));
  const [wide, high] = grid ? [grid[1], grid[0]] : [columns, rows];
  image.src = paint(CANVAS, wide, high, shades, palette(theme())).toDataURL();
  image.style.height = `${Math.min(TALLEST, Math.max(12, Math.round((SIDE * high) / wide)))}px`;
}

/**
 * The mean over the rows of the largest weight, 0 to 1; without the entropies that `measures` adds.
 *
 * @param {Site} site @param {number | "mean"} head
 */
function sharpness(site, head) {
  if (head === "mean") return site.measures(head).confidence;
  const [all, unit] = site.known("weights").stored;
  const start = head * site.rows * site.columns;
  let sum = 0;
  for (let r = 0; r < site.rows; r++) {
    let most = 0;
    for (let at = start + r * site.columns, end = at + site.columns; at < end; at++) if (all[at] > most) most = all[at];
    sum += most;
  }
  return (sum * unit) / site.rows;
}

/** Draws a few heads at a time, so that the page answers in between. @param {(() => void)[]} waiting */
function drawInTurn(waiting, from = 0) {
  waiting.slice(from, from + AT_ONCE).forEach((each) => each());
  if (from + AT_ONCE < waiting.length) setTimeout(() => drawInTurn(waiting, from + AT_ONCE));
}

/** @type {ByName<number[]>} */
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/** The arrow keys move over the heads as they lie: along a layer, and between layers. @param {KeyboardEvent} event */
function walk(event) {
  const step = STEPS[event.key];
  if (!step) return;
  const from = /** @type {HTMLButtonElement} */ (event.target);
  const layers = [.../** @type {HTMLElement} */ (event.currentTarget).querySelectorAll(".layer")].map((layer) => [...layer.querySelectorAll("button")]);
  const y = layers.findIndex((layer) => layer.includes(from));
  if (y < 0) return;
  event.preventDefault();
  const layer = layers[y + step[0]] ?? layers[y];
  const to = layer[Math.min(layer.length - 1, layers[y].indexOf(from) + step[1])];
  if (!to) return;
  from.setAttribute("tabindex", "-1");
  to.setAttribute("tabindex", "0");
  to.focus();
}
