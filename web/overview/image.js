/** An image, bright where one word or cell attended: the cursor's, or the one that is pointed at. */

import { element, preview } from "../dom.js";
import { cellBeside, cellUnder, drawLook } from "../picture.js";
import { largest } from "../maps.js";

const SIDE = 340; // px: the longer side of the image

/**
 * The image of a map whose columns, and perhaps rows, are its cells.
 *
 * `words`: the rows are words, which are listed beside the image; otherwise they are cells.
 * onPick(row, column) and onShow(row, column) as in `twoLines`.
 *
 * @param {Trace} trace @param {DrawnMap} map @param {Stage & { grid: Grid, words: boolean }} parts
 */
export function imageStage(trace, map, { cursor, grid, words, labels, onPick, onShow }) {
  const canvas = element("canvas", { id: "overview-image", tabindex: "0", role: "img", "aria-label": labels.image });
  const shown = { map, row: cursor.row };
  const buttons = words ? map.rows.map((text, row) => element("button", {
    type: "button", id: `row-${row}`, class: "word", ...preview(() => point(row)),
    onclick: () => onPick(row, null), onkeydown: (event) => moved(event, row),
  }, element("span", {}, text))) : [];
  const draw = () => {
    const { row } = shown;
    const marked = words ? (row === cursor.row ? cursor.column : undefined) : row;
    drawLook(canvas, { picture: trace.picture, grid, weights: rowOf(shown.map, row), most: mostOfRows(shown.map), smooth: true, marked }, SIDE);
    buttons.forEach((button, i) => {
      button.classList.toggle("chosen", i === row);
      button.setAttribute("aria-pressed", String(i === row));
    });
  };
  /** @param {number | null} row */
  const point = (row) => {
    shown.row = row ?? cursor.row;
    draw();
    onShow(row, null);
  };
  /** @param {KeyboardEvent} event @param {number} row */
  const moved = (event, row) => {
    /** @type {ByName<number>} */
    const places = { ArrowLeft: row - 1, ArrowRight: row + 1, Home: 0, End: buttons.length - 1 };
    const to = places[event.key];
    if (to === undefined) return;
    event.preventDefault();
    buttons[to]?.focus();
  };
  listen(canvas, grid, { words, point, onPick, current: () => shown.row });
  const figure = element("div", { class: "image-stage" }, canvas,
    ...(words ? [element("div", { class: "line rows", role: "group", "aria-label": labels.rows }, ...buttons)] : []));
  figure.addEventListener("mouseleave", () => point(null));
  figure.addEventListener("focusout", (event) => {
    if (!figure.contains(/** @type {Node | null} */ (event.relatedTarget))) point(null);
  });
  draw();
  /** @param {DrawnMap} other */
  const use = (other) => {
    shown.map = other;
    draw();
  };
  return { node: figure, use };
}

/**
 * With cells as rows the mouse and the arrow keys choose a row; with words the image only shows.
 *
 * @param {HTMLCanvasElement} canvas @param {Grid} grid @param {{ words: boolean, point: (row: number | null) => void, onPick: Stage["onPick"], current: () => number }} parts
 */
function listen(canvas, grid, { words, point, onPick, current }) {
  if (words) {
    canvas.removeAttribute("tabindex");
    return;
  }
  canvas.addEventListener("mousemove", (event) => point(cellUnder(event, canvas, grid)));
  canvas.addEventListener("focus", () => point(current()));
  canvas.addEventListener("click", (event) => onPick(cellUnder(event, canvas, grid), null));
  canvas.addEventListener("keydown", (event) => {
    const to = event.key === "Enter" ? current() : cellBeside(event.key, current(), grid);
    if (to === null) return;
    event.preventDefault();
    if (event.key === "Enter") onPick(to, null);
    else point(to);
  });
}

/** @param {DrawnMap} map @param {number} row */
function rowOf(map, row) {
  return map.values.subarray(row * map.columns.length, (row + 1) * map.columns.length);
}

/** The largest weight of all rows: the scale that they share. @param {DrawnMap} map */
function mostOfRows(map) {
  return map.values[largest(map.values)];
}
