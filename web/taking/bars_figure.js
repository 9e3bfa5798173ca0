/** Panels of horizontal bars, as jumok.plot draws them. */

import { INK, colour } from "../colours.js";
import { textWidth } from "../surface.js";

const [LONG, LINE, HIGH, APART, NUMBER] = [150, 22, 14, 34, 58]; // px: longest bar, row, bar, between panels, number
const [TITLE, MARGIN] = [30, 10];

/**
 * A figure of panels beside one another, `across` in a row.
 *
 * panels: [{ title, names, values, strong, form }]; a value that is not finite has no bar; `strong(i)`: the bar is
 * darker; `form` makes a value's text. The longest bar is as long in every panel, or as long as `most` in all.
 *
 * @typedef {{ title: string, names: string[], values: number[], strong?: (i: number) => boolean, form: (value: number) => string }} Bars
 *
 * @param {Bars[]} panels
 * @param {{ across?: number, most?: number }} [layout]
 * @returns {Figure}
 */
export function barsFigure(panels, { across = panels.length, most } = {}) {
  const wide = panels.map(({ title, names }) => {
    const left = MARGIN + Math.max(0, ...names.map((name) => textWidth(name, 12)));
    return { left, width: Math.max(left + LONG + NUMBER, textWidth(title, 12) + MARGIN) };
  });
  const column = Math.max(...wide.map(({ width }) => width)) + APART;
  /** @type {number[]} */
  const rows = [];
  for (let from = 0; from < panels.length; from += across) {
    const tallest = Math.max(...panels.slice(from, from + across).map(({ names, values }) => Math.max(names.length, values.length)));
    rows.push(TITLE + LINE * tallest + MARGIN);
  }
  const top = (/** @type {number} */ row) => rows.slice(0, row).reduce((sum, height) => sum + height, MARGIN);
  return {
    width: column * Math.min(across, panels.length),
    height: top(rows.length),
    draw: (surface) => panels.forEach((panel, i) => surface.moved((i % across) * column, top(Math.floor(i / across)),
      () => drawPanel(surface, panel, wide[i].left, most))),
  };
}

/**
 * @param {Surface} surface
 * @param {Bars} panel
 * @param {number} left
 * @param {number} [given]
 */
function drawPanel(surface, { title, names, values, strong = () => true, form }, left, given) {
  const most = given ?? Math.max(1e-9, ...values.filter(Number.isFinite).map(Math.abs));
  surface.text(title, MARGIN, 14, { size: 12 });
  values.forEach((value, i) => {
    const y = TITLE + LINE * i;
    surface.text(names[i] ?? "", left - 6, y + 11, { size: 12, align: "right" });
    const known = Number.isFinite(value);
    const long = known ? (LONG * Math.abs(value)) / most : 0;
    if (value < 0 && known) surface.frame(left + 0.5, y + 0.5, Math.max(long, 1), HIGH - 1, INK[surface.theme], 1);
    else surface.rect(left, y, long, HIGH, colour(strong(i) ? 0.75 : 0.3, surface.theme));
    surface.text(form(value), left + long + 5, y + 11, { size: 11 });
  });
}
