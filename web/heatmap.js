/** A map of weights with words along two sides, on a scale from 0 to 1 or to `map.most`. */

import { INK, divergingPalette, inkOn, palette } from "./colours.js";
import { CanvasSurface, textWidth } from "./surface.js";
import { STEPS, element, fading, pointIn, table } from "./dom.js";
import { largest } from "./maps.js";

const TILT = -40;
const MARK = { light: "#c45a00", dark: "#ffbe78" }; // orange: distinct from the blue scale for every kind of colour vision
const GAPS = { light: "#c3c5ce", dark: "#4a4e5e" };
const SPREAD = 1000; // px that the cells of a map may fill before they shrink
const READ = 0.1; // of the scale: smaller numbers are not printed in the cells
const [RAMP, RAMP_STEPS] = [160, 32]; // px, and colours of the colour bar


/**
 * The layout. `most`: the size of the largest cell in px; a map with texts has wide cells.
 *
 * @param {Pick<DrawnMap, "rows" | "columns" | "headed" | "texts">} map
 * @returns {Place}
 */
export function layout(map, most = 34) {
  const left = Math.ceil(14 + widest(map.rows)); // whole pixels: cells have sharp edges
  const rise = widest(map.headed ?? map.columns);
  const top = Math.ceil(18 + rise * Math.sin((-TILT * Math.PI) / 180));
  const fitting = Math.max(2, Math.min(most, Math.floor(SPREAD / map.columns.length)));
  const wide = map.texts ? Math.max(12, Math.min(84, Math.floor(7000 / map.columns.length))) : fitting;
  const cell = map.texts ? 26 : fitting;
  const width = left + wide * map.columns.length + rise * 0.78 + 16;
  return { left, top, cell, wide, width, height: top + cell * map.rows.length + 8 };
}

/**
 * The width of the widest word; if there are hundreds, only the longest few are measured.
 *
 * @param {string[]} words
 */
function widest(words) {
  const longest = [...words].sort((a, b) => b.length - a.length).slice(0, 40);
  return Math.max(0, ...longest.map((word) => textWidth(word)));
}

/**
 * Draws the map on a surface: all cells in one pass, as many labels as fit, and in cells that are
 * large enough their numbers, or `map.texts`.
 * `map.diverging`: the scale is from -1 to 1 instead of from 0. `map.most`: its end, if not 1. A value
 * that is NaN is a gap, which is hatched. `map.headed`: names that the columns leave room for, if not their own.
 * `map.marks`: frames around linked cells, and small squares in the strongest ones.
 *
 * @param {Surface} surface
 * @param {DrawnMap} map
 * @param {Place} place
 * @param {[row: number, column: number]} [cursor] the framed cell
 */
export function drawMap(surface, map, place, cursor) {
  const { left, top, cell, wide } = place;
  const size = Math.max(8, Math.min(13, cell * 0.62 + 3));
  /** @param {number} room */
  const stride = (room) => (room < 8 ? Math.ceil((size + 3) / room) : 1); // every n-th label, so that they fit
  surface.raster(left, top, [wide, cell], map.columns.length, shadesOf(map),
    map.diverging ? divergingPalette(surface.theme) : undefined);
  map.columns.forEach((word, c) => {
    if (c % stride(wide) === 0) surface.text(word, left + wide * (c + 0.5), top - 6, { turn: TILT, size });
  });
  map.rows.forEach((word, r) => {
    if (r % stride(cell) === 0) surface.text(word, left - 8, top + cell * (r + 0.5) + 5, { align: "right", size });
  });
  hatch(surface, map, place);
  if (cell >= 26) contents(surface, map, place);
  if (map.marks) drawMarks(surface, map, map.marks, place);
  if (cursor) frameCell(surface, place, cursor);
}

/**
 * The index of each value in the palette.
 *
 * @param {DrawnMap} map
 */
function shadesOf(map) {
  /** @param {number} value @param {number} low */
  const clamp = (value, low) => Math.min(Math.max(value, low), 1);
  const most = map.most ?? 1;
  return Uint8Array.from(map.values, map.diverging
    ? (value) => Math.round(127 * (clamp((value || 0) / most, -1) + 1))
    : (value) => Math.round(255 * clamp(value / most, 0)));
}

/**
 * A stroke through every gap.
 *
 * @param {Surface} surface @param {DrawnMap} map @param {Place} place
 */
function hatch(surface, map, { left, top, cell, wide }) {
  map.values.forEach((value, i) => {
    if (!Number.isNaN(value)) return;
    const [x, y] = [left + wide * (i % map.columns.length), top + cell * Math.floor(i / map.columns.length)];
    surface.line([[x + 1, y + cell - 2], [x + wide - 2, y + 1]], GAPS[surface.theme], 1);
  });
}

/**
 * Hundredths where the number is large enough, or the texts, truncated to the cells.
 *
 * @param {Surface} surface @param {DrawnMap} map @param {Place} place
 */
function contents(surface, map, { left, top, cell, wide }) {
  const most = map.most ?? 1;
  const shades = shadesOf(map);
  const colours = map.diverging ? divergingPalette(surface.theme) : palette(surface.theme);
  map.values.forEach((value, i) => {
    if (Number.isNaN(value) || (Math.abs(value) < READ * most && !map.texts)) return;
    const [r, c] = [Math.floor(i / map.columns.length), i % map.columns.length];
    const text = map.texts ? cutTo(map.texts[i], wide - 8) : hundredths(value, most);
    surface.text(text, left + wide * (c + 0.5), top + cell * (r + 0.5) + 4, {
      size: 11, align: "center", fill: inkOn(colours[shades[i]]),
    });
  });
}

/**
 * Hundredths as whole numbers, or with one decimal if the scale ends below a tenth.
 *
 * @param {number} value @param {number} most
 */
function hundredths(value, most) {
  return (100 * value).toFixed(most < 0.1 ? 1 : 0);
}

/**
 * Gold links, sure ones solid and possible ones dashed, and the map's strongest cells.
 *
 * @param {Surface} surface @param {DrawnMap} map @param {NonNullable<DrawnMap["marks"]>} marks @param {Place} place
 */
function drawMarks(surface, map, { signs, found }, { left, top, cell, wide }) {
  const colour = MARK[surface.theme];
  /** @param {number} i */
  const corner = (i) => [left + wide * (i % map.columns.length), top + cell * Math.floor(i / map.columns.length)];
  for (const [i, sign] of signs) {
    const [x, y] = corner(i);
    const [right, low] = [x + wide - 2.5, y + cell - 2.5];
    surface.line([[x + 1.5, y + 1.5], [right, y + 1.5], [right, low], [x + 1.5, low], [x + 1.5, y + 1.5]], colour, 2.5, sign === "-" ? [] : [4, 3]);
  }
  const size = Math.max(2, Math.min(7, cell / 4));
  for (const i of found) {
    const [x, y] = corner(i);
    surface.rect(x + wide - size - 4, y + cell - size - 4, size, size, colour);
  }
}

/** @param {string} text @param {number} width */
function cutTo(text, width) {
  let [cut, letters] = [text, Array.from(text)];
  while (letters.length > 1 && textWidth(cut, 11) > width) {
    letters = letters.slice(0, -1);
    cut = `${letters.join("")}…`;
  }
  return cut;
}

/**
 * A frame around the chosen cell, however small it is.
 *
 * @param {Surface} surface @param {Place} place @param {[row: number, column: number]} cell
 */
function frameCell(surface, { left, top, cell, wide }, [r, c]) {
  const room = cell < 8 ? 3 : 0;
  surface.frame(left + wide * c - room, top + cell * r - room, wide - 1 + 2 * room, cell - 1 + 2 * room,
    INK[surface.theme], 2.5);
}

/**
 * A map as a figure that can be drawn on any surface, and saved.
 *
 * @param {DrawnMap} map @param {number} [most] the size of the largest cell in px
 * @returns {Figure}
 */
export function mapFigure(map, most) {
  const place = layout(map, most);
  const [low, high] = ends(map);
  const width = Math.max(place.width, place.left + RAMP + textWidth(high) + 16);
  return { width, height: place.height + 30, draw: (surface) => {
    drawMap(surface, map, place);
    const [x, y] = [place.left, place.height + 8];
    surface.text(low, x - 6, y + 10, { size: 11, align: "right" });
    surface.raster(x, y, [RAMP / RAMP_STEPS, 4], RAMP_STEPS, Uint8Array.from({ length: 3 * RAMP_STEPS },
      (_, i) => Math.round(((map.diverging ? 254 : 255) * (i % RAMP_STEPS)) / (RAMP_STEPS - 1))),
    map.diverging ? divergingPalette(surface.theme) : undefined);
    surface.text(high, x + RAMP + 6, y + 10, { size: 11 });
  } };
}

/**
 * The numbers at both ends of a map's scale.
 *
 * @param {Pick<DrawnMap, "most" | "diverging">} map
 */
function ends({ most = 1, diverging }) {
  const high = most === 1 ? "1" : most.toFixed(3);
  return [diverging ? `−${high}` : "0", high];
}

/**
 * The colour bar below a map, with the numbers at its ends and the name of its quantity.
 *
 * @param {Pick<DrawnMap, "most" | "diverging">} map @param {string} text
 */
export function legend(map, text, [low, high] = ends(map)) {
  const canvas = element("canvas", { class: "ramp", role: "img", "aria-label": `${low} – ${high}` });
  const surface = new CanvasSurface(canvas, RAMP, 10);
  const colours = map.diverging ? divergingPalette(surface.theme) : palette(surface.theme);
  surface.raster(0, 0, [RAMP / 255, 10], 255, Uint8Array.from({ length: 255 }, (_, i) => i), colours);
  return element("p", { class: "muted scale legend" }, `${low} `, canvas, ` ${high} — ${text}`);
}

/**
 * The end of the scale if a map is scaled to its largest weight; the column of the rest is ignored.
 *
 * @param {Scaled} map
 */
export function mostOf(map) {
  const width = map.columns.length;
  const words = map.rested ? width - 1 : width;
  let most = 1e-6;
  for (let r = 0; r < map.values.length; r += width) {
    for (let i = r; i < r + words; i++) {
      const size = map.diverging ? Math.abs(map.values[i]) : map.values[i];
      if (size > most) most = size;
    }
  }
  return map.values.length ? Math.min(1, most) : 1;
}

/**
 * The cell with a map's largest value, the column of the rest excluded.
 *
 * @param {DrawnMap} map
 */
export function peak(map) {
  const width = map.columns.length;
  const words = map.rested ? width - 1 : width;
  const at = largest(map.values.map((value, i) => (i % width < words ? value : -1)));
  return [Math.floor(at / width), at % width];
}

/**
 * The map as a figure that the arrow keys move through; screen readers announce every cell.
 *
 * onPick(row, column) is called on a click and on Enter, onMove on every move. An event "place" on
 * the canvas, with [row, column] as its detail, moves the cursor without calling either.
 *
 * @param {DrawnMap} map
 * @param {object} options
 * @param {string} options.label
 * @param {number[]} [options.cursor]
 * @param {string} [options.id]
 * @param {number} [options.most] the size of the largest cell in px
 * @param {(row: number, column: number, value: number) => string} [options.say]
 * @param {(row: number, column: number) => void} [options.onMove]
 * @param {(row: number, column: number) => void} [options.onPick]
 */
export function heatmap(map, { label, cursor = peak(map), id = "map", most, say, onMove = () => {}, onPick = () => {} }) {
  const canvas = element("canvas", { id, tabindex: "0", role: "img", "aria-label": label });
  const said = element("p", { class: "said", "aria-live": "polite" });
  const place = layout(map, most);
  /** @type {[row: number, column: number]} */
  let at = [Math.min(Math.max(cursor[0], 0), map.rows.length - 1), Math.min(Math.max(cursor[1], 0), map.columns.length - 1)];

  const describe = () => {
    said.textContent = say ? say(...at, map.values[at[0] * map.columns.length + at[1]])
      : `${map.rows[at[0]]} → ${map.columns[at[1]]}: ${numberAt(map, ...at)}`;
  };
  const surface = new CanvasSurface(canvas, place.width, place.height);
  drawMap(surface, map, place);
  const still = surface.copy(); // the map without a cursor, so that moving it redraws nothing
  const draw = () => {
    surface.restore(still);
    frameCell(surface, place, at);
    canvas.dataset.cell = [place.left + place.wide * at[1], place.top + place.cell * at[0], place.wide, place.cell].join();
    describe();
  };
  /** @param {MouseEvent} event @returns {[row: number, column: number] | null} */
  const cellAt = (event) => {
    const [x, y] = pointIn(event, canvas);
    const c = Math.floor((x - place.left) / place.wide);
    const r = Math.floor((y - place.top) / place.cell);
    const inside = c >= 0 && r >= 0 && c < map.columns.length && r < map.rows.length;
    return inside ? [r, c] : null;
  };
  /** @param {[row: number, column: number]} to */
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
    const step = STEPS[event.key];
    if (event.key === "Enter") onPick(...at);
    const [bottom, right] = [map.rows.length - 1, map.columns.length - 1];
    if (event.key === "Home" || event.key === "End") {
      const end = event.key === "End";
      event.preventDefault();
      move([event.ctrlKey ? (end ? bottom : 0) : at[0], end ? right : 0]);
    }
    if (!step) return;
    event.preventDefault();
    /** @param {number} value @param {number} end */
    const clamp = (value, end) => Math.min(Math.max(value, 0), end);
    move([clamp(at[0] + step[0], bottom), clamp(at[1] + step[1], right)]);
  });
  draw();
  return element("div", {}, fading(element("div", { class: "scroll" }, canvas)), said);
}

/** @param {DrawnMap} map @param {number} r @param {number} c */
function numberAt(map, r, c) {
  const value = map.values[r * map.columns.length + c];
  return Number.isNaN(value) ? "–" : value.toFixed(3);
}

/** @param {DrawnMap} map @param {string} caption */
export function mapTable(map, caption) {
  const rows = map.rows.map((word, r) => [
    word, ...map.columns.map((_, c) => numberAt(map, r, c)),
  ]);
  return table(["", ...map.columns], rows, caption);
}
