/** A map of weights with words along two edges, on a fixed scale from 0 to 1. */

import { CanvasSurface, INK, divergingPalette, textWidth } from "./surface.js";
import { element, table } from "./dom.js";

const TILT = -40;
const STRONG = { light: 0.6, dark: 0.45 }; // from here on white is read better on light's scale, black on dark's
const MARK = { light: "#c45a00", dark: "#ffbe78" }; // orange: apart from the blue scale for every eye
const SPREAD = 1000; // px that the cells of a map may take before they shrink

/** Where everything stands. `most`: px of the largest cell; a map with texts has wide cells. */
export function layout(map, most = 34) {
  const left = Math.ceil(14 + widest(map.rows)); // whole pixels: cells have sharp edges
  const rise = widest(map.columns);
  const top = Math.ceil(18 + rise * Math.sin((-TILT * Math.PI) / 180));
  const fitting = Math.max(2, Math.min(most, Math.floor(SPREAD / map.columns.length)));
  const wide = map.texts ? Math.max(12, Math.min(84, Math.floor(7000 / map.columns.length))) : fitting;
  const cell = map.texts ? 26 : fitting;
  const width = left + wide * map.columns.length + rise * 0.78 + 16;
  return { left, top, cell, wide, width, height: top + cell * map.rows.length + 8 };
}

/** The width of the widest word; of hundreds only the longest few are measured. */
function widest(words) {
  const longest = [...words].sort((a, b) => b.length - a.length).slice(0, 40);
  return Math.max(0, ...longest.map((word) => textWidth(word)));
}

/**
 * The map on a surface: all cells at one go, as many labels as there is room for, and what stands
 * in the cells where they are large enough: their numbers, or `map.texts`.
 * `map.diverging`: the scale is from -1 to 1 and not from 0. `map.marks`: frames around linked
 * cells, and a corner in the strongest ones.
 */
export function drawMap(surface, map, place, cursor) {
  const { left, top, cell, wide } = place;
  const size = Math.max(8, Math.min(13, cell * 0.62 + 3));
  const stride = (room) => (room < 8 ? Math.ceil((size + 3) / room) : 1); // of labels that fit
  surface.raster(left, top, [wide, cell], map.columns.length, shadesOf(map),
    map.diverging ? divergingPalette(surface.theme) : undefined);
  map.columns.forEach((word, c) => {
    if (c % stride(wide) === 0) surface.text(word, left + wide * (c + 0.5), top - 6, { turn: TILT, size });
  });
  map.rows.forEach((word, r) => {
    if (r % stride(cell) === 0) surface.text(word, left - 8, top + cell * (r + 0.5) + 5, { align: "right", size });
  });
  if (cell >= 26) contents(surface, map, place);
  if (map.marks) drawMarks(surface, map, place);
  if (cursor) frameCell(surface, place, cursor);
}

/** Each value's place in the table of colours. */
function shadesOf(map) {
  const clamp = (value, low) => Math.min(Math.max(value, low), 1);
  return Uint8Array.from(map.values, map.diverging
    ? (value) => Math.round(127 * (clamp(value, -1) + 1))
    : (value) => Math.round(255 * clamp(value, 0)));
}

/** Hundredths, where there is something to read; or the texts, cut to the cells. */
function contents(surface, map, { left, top, cell, wide }) {
  map.values.forEach((value, i) => {
    if (Math.abs(value) < 0.1 && !map.texts) return;
    const [r, c] = [Math.floor(i / map.columns.length), i % map.columns.length];
    const dark = (Math.abs(value) > STRONG[surface.theme]) === (surface.theme === "light");
    const text = map.texts ? cutTo(map.texts[i], wide - 8) : `${Math.round(100 * value)}`;
    surface.text(text, left + wide * (c + 0.5), top + cell * (r + 0.5) + 4, {
      size: 11, align: "center", fill: dark ? "#ffffff" : "#1c1e26",
    });
  });
}

/** Links that people drew, sure ones solid and possible ones dashed, and the map's own. */
function drawMarks(surface, map, { left, top, cell, wide }) {
  const colour = MARK[surface.theme];
  const corner = (i) => [left + wide * (i % map.columns.length), top + cell * Math.floor(i / map.columns.length)];
  for (const [i, sign] of map.marks.signs) {
    const [x, y] = corner(i);
    const [right, low] = [x + wide - 2.5, y + cell - 2.5];
    const around = [[x + 1.5, y + 1.5], [right, y + 1.5], [right, low], [x + 1.5, low], [x + 1.5, y + 1.5]];
    surface.line(around, colour, 2.5, sign === "-" ? [] : [4, 3]);
  }
  const size = Math.max(2, Math.min(7, cell / 4));
  for (const i of map.marks.found) {
    const [x, y] = corner(i);
    surface.rect(x + wide - size - 4, y + cell - size - 4, size, size, colour);
  }
}

function cutTo(text, width) {
  let [cut, letters] = [text, Array.from(text)];
  while (letters.length > 1 && textWidth(cut, 11) > width) {
    letters = letters.slice(0, -1);
    cut = `${letters.join("")}…`;
  }
  return cut;
}

/** Frames around the chosen cell, however small it is. */
function frameCell(surface, { left, top, cell, wide }, [r, c]) {
  const room = cell < 8 ? 3 : 0;
  surface.frame(left + wide * c - room, top + cell * r - room, wide - 1 + 2 * room, cell - 1 + 2 * room,
    INK[surface.theme], 2.5);
}

/** A map as something that can be drawn on any surface, and saved. */
export function mapFigure(map, most) {
  const place = layout(map, most);
  return { width: place.width, height: place.height, draw: (surface) => drawMap(surface, map, place) };
}

/**
 * The map as a figure one can walk through with the arrow keys; every cell is spoken.
 *
 * onPick(row, column) hears of a click and of Enter, onMove of every step. An event "place" at the
 * canvas, with [row, column] in its detail, moves the cursor and tells nobody.
 */
export function heatmap(map, { label, cursor = [0, 0], most, say, onMove = () => {}, onPick = () => {} }) {
  const canvas = element("canvas", { tabindex: "0", role: "img", "aria-label": label });
  const said = element("p", { class: "said", "aria-live": "polite" });
  const place = layout(map, most);
  let at = [Math.min(cursor[0], map.rows.length - 1), Math.min(cursor[1], map.columns.length - 1)];

  const describe = () => {
    const value = map.values[at[0] * map.columns.length + at[1]];
    said.textContent = say ? say(...at, value) : `${map.rows[at[0]]} → ${map.columns[at[1]]}: ${value.toFixed(3)}`;
  };
  const surface = new CanvasSurface(canvas, place.width, place.height);
  drawMap(surface, map, place);
  const still = surface.copy(); // the map without a cursor: moving it draws nothing anew
  const draw = () => {
    surface.restore(still);
    frameCell(surface, place, at);
    describe();
  };
  const cellAt = (event) => {
    const c = Math.floor((event.offsetX - place.left) / place.wide);
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
  canvas.addEventListener("place", (event) => {
    at = event.detail;
    draw();
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
