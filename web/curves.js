/** Curves over layers or distances: each has its own dashes, so they differ not only in colour. */

import { INK } from "./colours.js";
import { textWidth } from "./surface.js";

export const HUES = {
  light: ["#0060a8", "#b84a00", "#007a58", "#9c4a86", "#8a6500", "#2b2d38"],
  dark: ["#7cc0f8", "#ff9a54", "#4fd0a5", "#e7a3d0", "#e8c14a", "#eceef4"],
};
const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3], [4, 2], [1, 2]];
const [LEFT, TOP, PLOT_WIDE, PLOT_HIGH] = [46, 14, 560, 240];

/** @typedef {{ name: string, values: number[] }} Curve */

/**
 * A figure of curves. `ticks`: the label below each value; `low`, `high`: the ends of the scale, which do not
 * depend on the values.
 *
 * @param {{ series: Curve[], ticks: string[], low: number, high: number, across: string }} curves
 * @returns {Figure}
 */
export function curvesFigure({ series, ticks, low, high, across }) {
  /** @param {number} i */
  const place = (i) => LEFT + (PLOT_WIDE * i) / Math.max(1, ticks.length - 1);
  /** @param {number} value */
  const rise = (value) => TOP + PLOT_HIGH * (1 - (value - low) / (high - low));
  /** @param {Surface} surface */
  const draw = (surface) => {
    const ink = INK[surface.theme];
    const faint = surface.theme === "dark" ? "#4a4f60" : "#d4d6de";
    for (let step = 0; step <= 4; step++) {
      const value = low + ((high - low) * step) / 4;
      surface.line([[LEFT, rise(value)], [LEFT + PLOT_WIDE, rise(value)]], faint, 1);
      surface.text(value.toFixed(2), LEFT - 6, rise(value) + 4, { size: 11, align: "right" });
    }
    const every = Math.ceil(ticks.length / 16);
    ticks.forEach((tick, i) => {
      if (i % every === 0) surface.text(tick, place(i), TOP + PLOT_HIGH + 17, { size: 11, align: "center" });
    });
    surface.text(across, LEFT + PLOT_WIDE / 2, TOP + PLOT_HIGH + 36, { size: 12, align: "center", fill: ink });
    series.forEach(({ name, values }, i) => {
      const hue = HUES[surface.theme][i % HUES.light.length];
      const dash = DASHES[i % DASHES.length];
      surface.line(Array.from(values, (value, at) => [place(at), rise(value)]), hue, 2, dash);
      const y = TOP + 10 + 19 * i;
      surface.line([[LEFT + PLOT_WIDE + 16, y], [LEFT + PLOT_WIDE + 46, y]], hue, 2, dash);
      surface.text(name, LEFT + PLOT_WIDE + 52, y + 4, { size: 12 });
    });
  };
  const legend = 66 + Math.max(...series.map(({ name }) => textWidth(name, 12)));
  return { width: LEFT + PLOT_WIDE + legend, height: Math.max(TOP + PLOT_HIGH + 44, TOP + 19 * series.length), draw };
}

/**
 * One figure under another.
 *
 * @param {Figure[]} figures
 * @returns {Figure}
 */
export function stacked(figures, gap = 14) {
  const tops = figures.map((_, i) => figures.slice(0, i).reduce((sum, each) => sum + each.height + gap, 0));
  return {
    width: Math.max(...figures.map(({ width }) => width)),
    height: figures.reduce((sum, each) => sum + each.height + gap, -gap),
    draw: (surface) => figures.forEach((figure, i) => surface.moved(0, tops[i], () => figure.draw(surface))),
  };
}
