/** An image under a veil that is thin where the attention weights are large. */

import { STEPS, contextOf } from "./dom.js";
import { pixelRatio, textWidth } from "./surface.js";

export const VEIL = 0.85; // opacity of GREY where the weight is 0
export const GREY = 90; // not black: black parts of the image would look the same as veiled ones
const PAPER_SHADE = "#b9bdc9"; // in place of an image that was not stored

/** @type {Map<string, HTMLImageElement>} */
const images = new Map();

/**
 * An image and the map over it: at the weight `most` there is no veil, and `marked` is the query's place, which is framed
 * if it is a cell.
 *
 * @typedef {{ picture: RawPicture | null, grid: Grid, weights: number[] | Float32Array, most: number, smooth: boolean, marked?: number }} Look
 */

/**
 * The image as an element; `onLoad` is called if it has to load first.
 *
 * @param {RawPicture | null} picture @param {() => void} onLoad
 */
function imageOf(picture, onLoad) {
  if (!picture) return null;
  let image = images.get(picture.url);
  if (!image) {
    image = new Image();
    image.src = picture.url;
    images.set(picture.url, image);
  }
  if (image.complete && image.naturalWidth) return image;
  image.addEventListener("load", onLoad, { once: true });
  return null;
}

/**
 * An image of so few pixels is shown as the squares that the model sees.
 *
 * @param {RawPicture | null} picture
 */
function pixelated(picture) {
  return picture !== null && picture.width < 64;
}

/**
 * The size of the image: as large as fits, with its proportions kept.
 *
 * @param {RawPicture | null} picture @param {Grid} grid @param {number} most
 */
export function pictureSize(picture, [rows, columns], most) {
  const [width, height] = picture ? [picture.width, picture.height] : [columns, rows];
  const scale = most / Math.max(width, height);
  return [Math.round(width * scale), Math.round(height * scale)];
}

/**
 * The brightness of a weight, 0 to 1: its square root, because few cells come near the largest weight.
 *
 * @param {number} weight @param {number} most
 */
export function brightness(weight, most) {
  return most ? Math.sqrt(Math.min(Math.max(weight / most, 0), 1)) : 0;
}

/**
 * How many tokens of an axis come before its cells, which are the last ones.
 *
 * @param {number} count @param {Grid} grid
 */
export function beforeCells(count, [rows, columns]) {
  return count - rows * columns;
}

/**
 * The veil as a canvas of one pixel per cell: the smaller the weight, the darker.
 *
 * @param {Look["weights"]} weights @param {Grid} grid @param {number} most
 */
function veil(weights, [rows, columns], most) {
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  const context = contextOf(canvas);
  const image = context.createImageData(columns, rows);
  weights.slice(beforeCells(weights.length, [rows, columns])).forEach((weight, i) => {
    image.data.fill(GREY, 4 * i, 4 * i + 3);
    image.data[4 * i + 3] = Math.round(255 * VEIL * (1 - brightness(weight, most)));
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

/**
 * Draws an image and the map over it.
 *
 * @param {HTMLCanvasElement} canvas @param {Look} look @param {number} side
 */
export function drawLook(canvas, look, side) {
  const [width, height] = pictureSize(look.picture, look.grid, side);
  const ratio = pixelRatio();
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = contextOf(canvas);
  context.scale(ratio, ratio);
  context.fillStyle = PAPER_SHADE;
  context.fillRect(0, 0, width, height);
  const image = imageOf(look.picture, () => canvas.isConnected && drawLook(canvas, look, side));
  context.imageSmoothingEnabled = !pixelated(look.picture);
  if (image) context.drawImage(image, 0, 0, width, height);
  context.imageSmoothingEnabled = look.smooth;
  context.drawImage(veil(look.weights, look.grid, look.most), 0, 0, width, height);
  const marked = queryCell(look);
  if (marked === null) return;
  const [x, y, w, h] = cellBox({ grid: look.grid, marked }, [width, height]);
  context.lineWidth = 4;
  context.strokeStyle = "#ffffff";
  context.strokeRect(x, y, w, h);
  context.lineWidth = 2;
  context.strokeStyle = "#c2410c";
  context.strokeRect(x, y, w, h);
}

/**
 * The same on a surface, in a rectangle. `against`: framed cells; `out`: occluded cells. `redraw` is called when the image has
 * loaded.
 *
 * @param {Surface} surface @param {Look & { against: number[], out: Iterable<number> }} look @param {Box} box @param {() => void} redraw
 */
export function drawLookOn(surface, look, [x, y, width, height], redraw) {
  surface.rect(x, y, width, height, PAPER_SHADE);
  const image = imageOf(look.picture, redraw);
  if (image) surface.image(image, x, y, width, height, !pixelated(look.picture));
  surface.image(veil(look.weights, look.grid, look.most), x, y, width, height, look.smooth);
  /** @param {number} marked @param {string} colour @param {number} thick */
  const frame = (marked, colour, thick) => {
    const [left, top, w, h] = cellBox({ grid: look.grid, marked }, [width, height]);
    surface.frame(x + left + 1, y + top + 1, w - 2, h - 2, colour, thick);
  };
  for (const cell of look.out) {
    const [left, top, w, h] = cellBox({ grid: look.grid, marked: cell }, [width, height]);
    surface.rect(x + left, y + top, w, h, PAPER_SHADE);
  }
  for (const cell of look.against) {
    frame(cell, "#ffffff", 3);
    frame(cell, "#1c1e26", 1);
  }
  const query = queryCell(look);
  if (query === null) return;
  frame(query, "#ffffff", 5);
  frame(query, "#c2410c", 3);
}

/** @param {Look} look */
function queryCell({ marked, weights, grid }) {
  const cell = marked === undefined ? -1 : marked - beforeCells(weights.length, grid);
  return cell < 0 ? null : cell;
}

/** @param {{ grid: Grid, marked: number }} cell @param {number[]} size */
function cellBox({ grid: [rows, columns], marked }, [width, height]) {
  const [w, h] = [width / columns, height / rows];
  return [(marked % columns) * w, Math.floor(marked / columns) * h, w, h];
}

/**
 * The same as a figure, with a title below it if there is one.
 *
 * @param {Look} look @param {number} side
 * @returns {Figure}
 */
export function lookFigure(look, side, title = "") {
  const [width, height] = pictureSize(look.picture, look.grid, side);
  const whole = { out: [], against: [], ...look };
  return { width: Math.max(width, title ? textWidth(title) : 0), height: height + (title ? 26 : 0), draw: (surface) => {
    drawLookOn(surface, whole, [0, 0, width, height], () => {});
    if (title) surface.text(title, 0, height + 18);
  } };
}

/**
 * The cell under the pointer.
 *
 * @param {MouseEvent} event @param {HTMLCanvasElement} canvas @param {Grid} grid
 */
export function cellUnder(event, canvas, [rows, columns]) {
  const { width, height, left, top } = canvas.getBoundingClientRect();
  /** @param {number} value @param {number} end */
  const clamp = (value, end) => Math.min(Math.max(Math.floor(value), 0), end - 1);
  const row = clamp(((event.clientY - top) / height) * rows, rows);
  return row * columns + clamp(((event.clientX - left) / width) * columns, columns);
}

/**
 * The cell that an arrow key leads to; null if there is none.
 *
 * @param {string} key @param {number} cell @param {Grid} grid
 */
export function cellBeside(key, cell, [rows, columns]) {
  const step = STEPS[key];
  if (!step) return null;
  const row = Math.floor(cell / columns) + step[0];
  const column = (cell % columns) + step[1];
  const inside = row >= 0 && column >= 0 && row < rows && column < columns;
  return inside ? row * columns + column : cell;
}
