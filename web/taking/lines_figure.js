/** The overview as a figure: two lines of words, and the bands of one of them. */

import { percentOf } from "../overview/facts.js";
import { INK, colour, inkOn, palette } from "../colours.js";
import { textWidth } from "../surface.js";

const [WIDEST, LINE, BETWEEN, MARGIN] = [1040, 44, 92, 12]; // px: of a line, its height, the lines apart
const [PAD, APART, SIZE, SMALL, BOX, NARROWEST] = [9, 6, 17, 11, 40, 42]; // px of a word
const [FAINTEST, SKETCHED, NUMBERED] = [0.02, 0.12, 0.05]; // as on the page
const [THINNEST, THICKEST, BENDS] = [1, 15, 20]; // px of a band, and the points of its curve
const BAND = { light: [59, 76, 192], dark: [164, 186, 247] };
const SKETCH = { light: [90, 95, 112], dark: [164, 170, 188] };

/**
 * The places of words, in lines from `y` to `bottom`; `broken`: there are several of them.
 *
 * @typedef {{ x: number, y: number, wide: number }} WordPlace
 * @typedef {{ places: WordPlace[], right: number, bottom: number, broken: boolean }} Line
 */

/**
 * labels: of the line of keys and of that of rows; cursor: the row whose weights are drawn.
 *
 * @param {DrawnMap} map @param {{ row: number }} cursor @param {{ keys: string, rows: string }} labels
 * @returns {Figure}
 */
export function linesFigure(map, cursor, labels) {
  const keys = line(map.columns, MARGIN + 22);
  const rows = line(map.rows, keys.bottom + BETWEEN);
  const width = Math.max(keys.right, rows.right) + MARGIN;
  return { width, height: rows.bottom + MARGIN, draw: (surface) => {
    surface.text(labels.keys, MARGIN, MARGIN + 10, { size: 12 });
    surface.text(labels.rows, MARGIN, keys.bottom + BETWEEN - 8, { size: 12 });
    drawBands(surface, map, cursor.row, keys, rows);
    keys.places.forEach((place, c) => word(surface, map.columns[c], place, map, weightOf(map, cursor.row, c)));
    rows.places.forEach((place, r) => word(surface, map.rows[r], place, map, null, r === cursor.row));
  } };
}

/** The places of the words, in as many lines as they need. @param {string[]} texts @param {number} top @returns {Line} */
function line(texts, top) {
  /** @type {WordPlace[]} */
  const places = [];
  let [x, y, right] = [MARGIN, top, 0];
  for (const text of texts) {
    const wide = Math.max(NARROWEST, textWidth(text, SIZE) + 2 * PAD);
    if (x > MARGIN && x + wide > WIDEST) [x, y] = [MARGIN, y + LINE];
    places.push({ x, y, wide });
    right = Math.max(right, x + wide);
    x += wide + APART;
  }
  return { places, right, bottom: y + LINE, broken: y > top };
}

/** @param {DrawnMap} map @param {number} row @param {number} column */
function weightOf(map, row, column) {
  return map.values[row * map.columns.length + column];
}

/** @param {DrawnMap} map @param {number} row @param {number} column */
function shareOf(map, row, column) {
  return Math.min(1, Math.max(0, weightOf(map, row, column) / (map.most ?? 1)));
}

/** @param {Surface} surface @param {string} text @param {WordPlace} place @param {DrawnMap} map @param {number | null} weight */
function word(surface, text, { x, y, wide }, map, weight, chosen = false) {
  const share = weight === null ? 0 : Math.min(1, Math.max(0, weight / (map.most ?? 1)));
  const coloured = share >= FAINTEST;
  if (coloured) surface.rect(x, y, wide, BOX, colour(share, surface.theme));
  if (chosen) surface.frame(x + 1, y + 1, wide - 2, BOX - 2, `rgb(${BAND[surface.theme]})`, 2);
  const fill = coloured ? inkOn(palette(surface.theme)[Math.round(255 * share)]) : INK[surface.theme];
  surface.text(text, x + wide / 2, y + 18, { size: SIZE, align: "center", fill });
  if (weight !== null && weight >= NUMBERED) surface.text(percentOf(weight), x + wide / 2, y + 34, { size: SMALL, align: "center", fill });
}

/** @param {Surface} surface @param {DrawnMap} map @param {number} chosen @param {Line} keys @param {Line} rows */
function drawBands(surface, map, chosen, keys, rows) {
  /** @type {(r: number, c: number, share: number, on: boolean) => void} */
  const band = (r, c, share, on) => {
    const [from, to] = [keys.places[c], rows.places[r]];
    const [x, y, end, low] = [from.x + from.wide / 2, from.y + BOX, to.x + to.wide / 2, to.y];
    const points = Array.from({ length: BENDS + 1 }, (_, i) => {
      const t = i / BENDS;
      const s = t * t * (3 - 2 * t); // the cubic with vertical ends
      return /** @type {[number, number]} */ ([x + (end - x) * s, y + (low - y) * t]);
    });
    const [red, green, blue] = (on ? BAND : SKETCH)[surface.theme];
    surface.line(points, `rgba(${red},${green},${blue},${on ? 0.3 + 0.6 * share : 0.14})`, THINNEST + (THICKEST - THINNEST) * share);
  };
  if (!keys.broken && !rows.broken) {
    map.rows.forEach((_, r) => map.columns.forEach((_, c) => {
      if (r !== chosen && shareOf(map, r, c) >= SKETCHED) band(r, c, shareOf(map, r, c), false);
    }));
  }
  map.columns.forEach((_, c) => {
    if (shareOf(map, chosen, c) >= FAINTEST) band(chosen, c, shareOf(map, chosen, c), true);
  });
}
