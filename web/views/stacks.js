/** What the views of layers and of positions share. */

import { choice, element, fading } from "../dom.js";
import { CanvasSurface } from "../surface.js";
import { textOf } from "../words.js";

/**
 * The chosen stack, and a control if there are several.
 *
 * @param {string[]} names @param {State} state @param {Words} words
 */
export function stackChosen(names, state, words) {
  const stack = names.includes(state.get("stack")) ? state.get("stack") : names[0];
  const control = choice(words.stack, names.map((name) => [name, textOf(words, `stack_${name}`) ?? name]), stack,
    (chosen) => state.set({ stack: chosen, cell: "", word: "" }));
  return { stack, controls: names.length > 1 ? [control] : [] };
}

/** @param {State} state @param {Words} words */
export function pictureOrTable(state, words) {
  return choice(words.as, [["picture", words.picture], ["table", words.table]], state.get("as"),
    (as) => state.set({ as }));
}

/**
 * A figure of curves on the page; its numbers are in the table below.
 *
 * @param {Figure} figure @param {string} label @param {import("../curves.js").Curve[]} series
 */
export function curves(figure, label, series) {
  const ends = series.map(({ name, values }) => `${name}: ${values[0].toFixed(2)} … ${values[values.length - 1].toFixed(2)}`);
  const canvas = element("canvas", { role: "img", "aria-label": `${label}. ${ends.join("; ")}` });
  figure.draw(new CanvasSurface(canvas, figure.width, figure.height));
  return fading(element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, canvas));
}
