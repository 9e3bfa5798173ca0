/** Vectors as strips of coloured cells, and what belongs to them. */

import { contextOf, element, pointIn } from "../dom.js";
import { INK, divergingPalette, theme } from "../colours.js";
import { number } from "../words_walk.js";

/** The end of a scale of colours, by what is drawn with it. @typedef {{ name: string, most: number }} Scale */

const LINE = 128; // cells in a line; a longer vector has several
const FAINT = 0.22; // opacity of what the walk has not reached

/** The largest absolute value, so that several vectors share one scale. @param {...Vector} vectors */
export function mostIn(...vectors) {
  let most = 1e-9;
  for (const vector of vectors) for (const value of vector) if (Math.abs(value) > most) most = Math.abs(value);
  return most;
}

/**
 * Sets a text that may be the same: then nothing has to be laid out again.
 *
 * @param {HTMLElement} node @param {string} text
 */
export function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** @param {Theme} name */
function colours(name) {
  return Array.from(divergingPalette(name), (packed) =>
    `rgb(${packed & 255},${(packed >> 8) & 255},${(packed >> 16) & 255})`);
}

/**
 * A strip that can be drawn in part.
 *
 * `most`: the end of its scale; `high`: the height of a line in px; `wide`: its greatest width;
 * `framed`: [start, end] of cells in a frame.
 */
export class Strip {
  /**
   * @param {string} label
   * @param {number} length
   * @param {object} form
   * @param {number} form.most
   * @param {number} [form.high]
   * @param {number} [form.wide]
   * @param {[start: number, end: number] | null} [form.framed]
   * @param {(label: string, at: number, value: number) => void} [form.onSay]
   */
  constructor(label, length, { most, high = 14, wide = 640, framed = null, onSay = () => {} }) {
    const lines = Math.ceil(length / LINE);
    this.length = length;
    this.most = most;
    this.framed = framed;
    this.lines = lines;
    this.across = Math.min(length, LINE);
    this.cell = Math.min(14, wide / this.across);
    this.width = this.cell * this.across;
    this.high = lines > 1 ? Math.min(high, 9) : high;
    /** What is drawn. @type {Vector | null} */
    this.values = null;
    this.done = 0;
    this.cursor = false;
    /** All of its cells: what is drawn is copied from here. */
    this.whole = document.createElement("canvas");
    this.canvas = element("canvas", { class: "strip", role: "img", "aria-label": label });
    const ratio = window.devicePixelRatio || 1;
    this.ratio = ratio;
    this.canvas.width = Math.ceil(this.width * ratio);
    this.canvas.height = Math.ceil((this.high * lines + 2) * ratio);
    this.canvas.style.width = `${this.width}px`;
    this.context = contextOf(this.canvas);
    this.context.scale(ratio, ratio);
    this.theme = theme();
    this.palette = colours(this.theme);
    this.canvas.addEventListener("mousemove", (event) => {
      const [x, y] = pointIn(event, this.canvas);
      const column = Math.floor((x / this.canvas.clientWidth) * this.across);
      const line = Math.floor((y / this.canvas.clientHeight) * lines);
      const at = line * this.across + column;
      if (this.values && at >= 0 && at < length) onSay(label, at, this.values[at]);
    });
  }

  /**
   * Draws the first `share` of the cells; the rest is faint. `cursor`: frames the last one of them.
   *
   * @param {Vector} values
   */
  draw(values, share = 1, cursor = false) {
    const { context, high, across } = this;
    const done = Math.round(this.length * share);
    if (values === this.values && done === this.done && cursor === this.cursor) return;
    if (values !== this.values) this.paint(values);
    this.values = values;
    this.done = done;
    this.cursor = cursor;
    const all = high * this.lines + 2;
    context.clearRect(0, 0, this.width, all);
    context.globalAlpha = FAINT;
    if (done < this.length) context.drawImage(this.whole, 0, 0, this.width, all);
    context.globalAlpha = 1;
    for (let line = 0; line * across < done; line++) this.reveal(line, Math.min(across, done - line * across));
    context.strokeStyle = INK[this.theme];
    // A cell of the paper's colour is zero: a thin frame shows where the vector ends.
    context.globalAlpha = done ? 0.25 : 0.1;
    context.lineWidth = 1;
    context.strokeRect(0.5, 0.5, this.width - 1, all - 2);
    context.globalAlpha = 1;
    if (this.framed) this.frame(...this.framed);
    if (cursor && done > 0 && done < this.length) this.frame(done - 1, done);
  }

  /** The first cells of a line, as they are in the whole strip. @param {number} line @param {number} count */
  reveal(line, count) {
    const { context, cell, high, ratio } = this;
    const [y, wide] = [line * high, Math.min(count * cell, this.width)];
    context.clearRect(0, y, wide, high + 1);
    context.drawImage(this.whole, 0, y * ratio, wide * ratio, (high + 1) * ratio, 0, y, wide, high + 1);
  }

  /**
   * All cells, drawn once: what moves then only copies parts of it.
   *
   * @param {Vector} values
   */
  paint(values) {
    Object.assign(this.whole, { width: this.canvas.width, height: this.canvas.height });
    const [context, { cell, high }] = [contextOf(this.whole), this];
    context.scale(this.ratio, this.ratio);
    const gap = cell >= 4 ? 1 : 0;
    for (let i = 0; i < this.length; i++) {
      const [x, y] = [(i % this.across) * cell, Math.floor(i / this.across) * high + 1];
      context.fillStyle = this.palette[Math.round(127 * (Math.min(Math.max(values[i] / this.most, -1), 1) + 1))];
      context.fillRect(x, y, cell - gap, high - 1);
    }
  }

  /** @param {number} start @param {number} end */
  frame(start, end) {
    const { context, cell, high } = this;
    context.lineWidth = 2;
    context.strokeStyle = INK[this.theme];
    for (let line = Math.floor(start / this.across); line <= Math.floor((end - 1) / this.across); line++) {
      const from = Math.max(start, line * this.across) - line * this.across;
      const to = Math.min(end, (line + 1) * this.across) - line * this.across;
      context.strokeRect(from * cell + 1, line * high + 1, (to - from) * cell - 2, high - 1);
    }
  }
}

/**
 * The colours' legend: what its ends mean for each group of vectors.
 *
 * @param {Scale[]} scales @param {Words} words
 */
export function rampOf(scales, words) {
  const canvas = element("canvas", { class: "ramp", role: "img", "aria-label": words.walkLegend(scales) });
  const context = contextOf(canvas);
  [canvas.width, canvas.height] = [127, 1];
  colours(theme()).forEach((colour, i) => {
    context.fillStyle = colour;
    context.fillRect(i / 2, 0, 1, 1);
  });
  return element("p", { class: "muted scale walk-legend" }, "− ", canvas, ` + — ${words.walkLegend(scales)}.`);
}

/**
 * A text as formulas are written: numbers in bold, W_Q with a subscript, e^(x) with a superscript.
 *
 * @param {string} text
 * @returns {(string | HTMLElement)[]}
 */
export function written(text) {
  return text.split(/(W_[A-Z]|e\^\([^)]*\)|−?\d+(?:[.,]\d+)*(?:\s?%)?)/u).map((part, i) => {
    if (i % 2 === 0) return part;
    if (part.startsWith("W_")) return element("i", { class: "walk-tag" }, "W", element("sub", {}, part.slice(2)));
    if (part.startsWith("e^")) return element("span", {}, element("i", { class: "walk-tag" }, "e"), element("sup", {}, ...written(part.slice(3, -1))));
    return element("b", {}, part);
  });
}

/** A vector as text: every number of it. @param {string} name @param {Vector} values */
export function asText(name, values) {
  return element("p", { class: "walk-numbers", "data-vector": name },
    element("b", {}, `${name}: `), Array.from(values, (value) => number(value)).join(" "));
}
