/** A map of weights with words along two edges, on a fixed scale from 0 to 1. */

import { CanvasSurface, INK, SvgSurface, textWidth } from "./surface.js";
import { element, table } from "./dom.js";

const TILT = -40;
const SPREAD = 1000; // px that the cells of a map may take before they shrink

/** Where everything stands. `most`: px of the largest cell. */
export function layout(map, most = 34) {
  const left = Math.ceil(14 + widest(map.rows)); // whole pixels: cells have sharp edges
  const rise = widest(map.columns);
  const top = Math.ceil(18 + rise * Math.sin((-TILT * Math.PI) / 180));
  const cell = Math.max(2, Math.min(most, Math.floor(SPREAD / map.columns.length)));
  const width = left + cell * map.columns.length + rise * 0.78 + 16;
  return { left, top, cell, width, height: top + cell * map.rows.length + 8 };
}

/** The width of the widest word; of hundreds only the longest few are measured. */
function widest(words) {
  const longest = [...words].sort((a, b) => b.length - a.length).slice(0, 40);
  return Math.max(0, ...longest.map((word) => textWidth(word)));
}

/**
 * The map on a surface: all cells at one go, as many labels as there is room for, and numbers where
 * cells are large enough. `map.colours`: another table of 256 colours; `map.shade`: from a value to
 * its row in the table.
 */
export function drawMap(surface, map, place, cursor, gold) {
  const { left, top, cell } = place;
  const size = Math.max(8, Math.min(13, cell * 0.62 + 3));
  const stride = cell < 8 ? Math.ceil((size + 3) / cell) : 1; // of the labels that there is room for
  const shades = Uint8Array.from(map.values, map.shade ?? ((value) => Math.round(255 * Math.min(Math.max(value, 0), 1))));
  surface.raster(left, top, cell, map.columns.length, shades, map.colours?.[surface.theme]);
  map.columns.forEach((word, c) => {
    if (c % stride === 0) surface.text(word, left + cell * (c + 0.5), top - 6, { turn: TILT, size });
  });
  map.rows.forEach((word, r) => {
    if (r % stride === 0) surface.text(word, left - 8, top + cell * (r + 0.5) + 5, { align: "right", size });
  });
  if (cell >= 26) numbers(surface, map, place, shades);
  for (const at of gold ?? []) {
    const [r, c] = at.split(",").map(Number);
    surface.frame(left + cell * c + 1, top + cell * r + 1, cell - 3, cell - 3, "#c2410c");
  }
  if (cursor) frameCell(surface, place, cursor);
}

/** Hundredths, where there is something to read. */
function numbers(surface, map, { left, top, cell }, shades) {
  map.values.forEach((value, i) => {
    if (Math.abs(value) < 0.1) return;
    const [r, c] = [Math.floor(i / map.columns.length), i % map.columns.length];
    const strong = map.colours ? Math.abs(value) > 0.6 : shades[i] > 114;
    const dark = strong === (surface.theme === "light");
    surface.text(`${Math.round(100 * value)}`, left + cell * (c + 0.5), top + cell * (r + 0.5) + 4, {
      size: 11, align: "center", fill: dark ? "#ffffff" : "#1c1e26",
    });
  });
}

/** Frames around the chosen cell, however small it is. */
function frameCell(surface, { left, top, cell }, [r, c]) {
  const room = cell < 8 ? 3 : 0;
  surface.frame(left + cell * c - room, top + cell * r - room, cell - 1 + 2 * room, cell - 1 + 2 * room,
    INK[surface.theme], 2.5);
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
  const surface = new CanvasSurface(canvas, place.width, place.height);
  drawMap(surface, map, place, null, gold);
  const still = surface.copy(); // the map without a cursor: moving it draws nothing anew
  const draw = () => {
    surface.restore(still);
    frameCell(surface, place, at);
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
