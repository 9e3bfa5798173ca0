/** A map of weights with words along two edges, on a fixed scale from 0 to 1. */

import { CanvasSurface, INK, SvgSurface, colour, textWidth } from "./surface.js";
import { element, table } from "./dom.js";

const TILT = -40;

export function layout(map, most = 34) {
  const left = 14 + Math.max(0, ...map.rows.map((word) => textWidth(word)));
  const rise = Math.max(0, ...map.columns.map((word) => textWidth(word)));
  const top = 18 + rise * Math.sin((-TILT * Math.PI) / 180);
  const cell = Math.max(8, Math.min(most, Math.floor(900 / map.columns.length)));
  const width = left + cell * map.columns.length + rise * 0.78 + 16;
  return { left, top, cell, width, height: top + cell * map.rows.length + 8 };
}

export function drawMap(surface, map, place, cursor, gold) {
  const { left, top, cell } = place;
  const size = Math.min(13, cell * 0.62 + 3);
  map.columns.forEach((word, c) => {
    surface.text(word, left + cell * (c + 0.5), top - 6, { turn: TILT, size });
  });
  map.rows.forEach((word, r) => {
    surface.text(word, left - 8, top + cell * (r + 0.5) + 5, { align: "right", size });
    map.columns.forEach((_, c) => {
      const value = map.values[r * map.columns.length + c];
      const [x, y] = [left + cell * c, top + cell * r];
      surface.rect(x, y, cell - 1, cell - 1, colour(value, surface.theme));
      if (cell >= 26 && value >= 0.1) {
        const dark = (value > 0.45) === (surface.theme === "light");
        surface.text(`${Math.round(100 * value)}`, x + cell / 2, y + cell / 2 + 4, {
          size: 11, align: "center", fill: dark ? "#ffffff" : "#1c1e26",
        });
      }
      if (gold?.has(`${r},${c}`)) surface.frame(x + 1, y + 1, cell - 3, cell - 3, "#c2410c");
    });
  });
  if (cursor) {
    const [r, c] = cursor;
    surface.frame(left + cell * c, top + cell * r, cell - 1, cell - 1, INK[surface.theme], 2.5);
  }
}

export function svgOf(map, gold) {
  const place = layout(map);
  const surface = new SvgSurface(place.width, place.height);
  drawMap(surface, map, place, null, gold);
  return surface.toString();
}

/**
 * The map as a figure one can walk through with the arrow keys; every cell is spoken.
 *
 * onPick(row, column) hears of a click and of Enter.
 */
export function heatmap(map, { label, gold, cursor = [0, 0], onMove = () => {}, onPick = () => {} }) {
  const canvas = element("canvas", { tabindex: "0", role: "img", "aria-label": label });
  const said = element("p", { class: "said", "aria-live": "polite" });
  const place = layout(map);
  let at = [Math.min(cursor[0], map.rows.length - 1), Math.min(cursor[1], map.columns.length - 1)];

  const describe = () => {
    const value = map.values[at[0] * map.columns.length + at[1]];
    said.textContent = `${map.rows[at[0]]} → ${map.columns[at[1]]}: ${value.toFixed(3)}`;
  };
  const draw = () => {
    drawMap(new CanvasSurface(canvas, place.width, place.height), map, place, at, gold);
    describe();
  };
  const cellAt = (event) => {
    const c = Math.floor((event.offsetX - place.left) / place.cell);
    const r = Math.floor((event.offsetY - place.top) / place.cell);
    const inside = c >= 0 && r >= 0 && c < map.columns.length && r < map.rows.length;
    return inside ? [r, c] : null;
  };
  const move = (to) => {
    at = to;
    draw();
    onMove(...at);
  };
  canvas.addEventListener("mousemove", (event) => {
    const to = cellAt(event);
    if (to && (to[0] !== at[0] || to[1] !== at[1])) move(to);
  });
  canvas.addEventListener("click", (event) => {
    const to = cellAt(event);
    if (to) onPick(...to);
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (event.key === "Enter") onPick(...at);
    if (!step) return;
    event.preventDefault();
    const clamp = (value, end) => Math.min(Math.max(value, 0), end - 1);
    move([clamp(at[0] + step[0], map.rows.length), clamp(at[1] + step[1], map.columns.length)]);
  });
  draw();
  return element("div", { class: "scroll" }, canvas, said);
}

export function mapTable(map, caption) {
  const rows = map.rows.map((word, r) => [
    word, ...map.columns.map((_, c) => map.values[r * map.columns.length + c].toFixed(3)),
  ]);
  return table(["", ...map.columns], rows, caption);
}
