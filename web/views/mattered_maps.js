/** Attribution to an image: a map over it for each measure, all on one scale. */

import { pointIn } from "../dom.js";
import { drawLookOn, pictureSize } from "../picture.js";
import { INK } from "../colours.js";

const [SIDE, APART_MAPS, ABOVE, BELOW, IN_ROW] = [222, 18, 22, 24, 4]; // px, and maps in a row
const LEAST = 0.005; // of a measure: smaller shares are not visible, and not framed

/** @typedef {import("./mattered.js").FoundOnImage} FoundOnImage */

/**
 * The largest share of any measure for any word of this image: the end of the shared scale.
 *
 * @param {Attribution} facts
 */
export function mostOfPicture(facts) {
  let most = 0;
  for (const measure of Object.values(facts.measures)) {
    for (const row of measure[facts.read] ?? []) {
      const sum = row.reduce((all, value) => all + Math.abs(value), 0);
      if (sum) most = Math.max(most, Math.max(...row.map(Math.abs)) / sum);
    }
  }
  return most;
}

/**
 * The width and height of all maps together.
 *
 * @param {FoundOnImage} found
 */
export function sizeOfMaps(found) {
  const [wide, high] = pictureSize(found.picture, found.grid, SIDE);
  const lines = Math.ceil(found.names.length / IN_ROW);
  return { wide, high, step: ABOVE + high + BELOW,
    width: Math.min(IN_ROW, found.names.length) * (wide + APART_MAPS), height: lines * (ABOVE + high + BELOW) };
}

/** @param {number} i @param {ReturnType<typeof sizeOfMaps>} size @param {number} left @param {number} top */
function placeOf(i, { wide, step }, left, top) {
  return [left + (i % IN_ROW) * (wide + APART_MAPS), top + Math.floor(i / IN_ROW) * step + ABOVE];
}

/** @param {number} cell @param {Grid} grid */
export function cellText(cell, [, columns]) {
  return `${Math.floor(cell / columns) + 1},${(cell % columns) + 1}`;
}

/** @param {number[]} shares */
export function strongestCell(shares) {
  return shares.reduce((best, share, i) => (Math.abs(share) > Math.abs(shares[best]) ? i : best), 0);
}

/**
 * The selected cell; null: none.
 *
 * @param {number | null} cell @param {Grid} grid
 */
export function markedCell(cell, [rows, columns]) {
  return cell === null ? null : Math.min(cell, rows * columns - 1);
}

/**
 * Each measure: its name, its map over the image, and the strongest cell below.
 *
 * @param {Surface} surface @param {FoundOnImage} found @param {number} left @param {number} top @param {() => void} redraw
 */
export function drawMeasureMaps(surface, found, left, top, redraw) {
  const size = sizeOfMaps(found);
  found.shares.forEach((shares, i) => {
    const [x, y] = placeOf(i, size, left, top);
    surface.text(found.titles[i], x, y - 6, { size: 13 });
    const against = shares.flatMap((share, cell) => (share <= -LEAST ? [cell] : []));
    drawLookOn(surface, { picture: found.picture, grid: found.grid, weights: shares.map(Math.abs), most: found.most,
      smooth: false, marked: found.cell ?? undefined, against, out: found.out }, [x, y, size.wide, size.high], redraw);
    const best = strongestCell(shares);
    const text = `${cellText(best, found.grid)}: ${signedPercent(shares[best])} %`;
    surface.text(text, x, y + size.high + 16, { size: 12, fill: INK[surface.theme] });
  });
}

/** @param {number} share */
export function signedPercent(share) {
  return fixed(100 * share, 1).replace("-", "−");
}

/** A number with so many decimals; 0 has no sign. @param {number} value @param {number} digits */
export function fixed(value, digits) {
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text;
}

/**
 * The cell under the pointer, in whichever map; null outside the maps.
 *
 * @param {MouseEvent} event @param {HTMLCanvasElement} canvas @param {FoundOnImage} found @param {number} left @param {number} top
 */
export function cellOfMaps(event, canvas, found, left, top) {
  const size = sizeOfMaps(found);
  const [across, down] = pointIn(event, canvas);
  for (let i = 0; i < found.names.length; i++) {
    const [x, y] = placeOf(i, size, left, top);
    const [dx, dy] = [across - x, down - y];
    if (dx < 0 || dy < 0 || dx >= size.wide || dy >= size.high) continue;
    const [rows, columns] = found.grid;
    return Math.floor((dy / size.high) * rows) * columns + Math.floor((dx / size.wide) * columns);
  }
  return null;
}
