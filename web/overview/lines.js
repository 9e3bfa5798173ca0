/** Two lines of words with bands between them: what a word of the lower line attended to in the upper one. */

import { strongestOf } from "../cursor.js";
import { element, preview } from "../dom.js";
import { FAINTEST, bands, shade } from "./bands.js";
import { percentOf } from "./facts.js";
import { colour, inkOn, palette, theme } from "../colours.js";

const MANY = 48; // words of a line: from here on they are small
const NUMBERED = 0.05; // weights from here on have their number in percent

/** @typedef {{ columns: (column: number) => string }} Names */

/**
 * The figure of a map.
 *
 * onPick(row, column) is called on a click and on Enter, with a null for the line that was not
 * chosen; onShow(row, column) whenever another word is pointed at, or none any more. `typed`: so many words of
 * the upper line are the input.
 * Returns the node, and `use(map)`, which draws another map over the same words.
 *
 * @param {DrawnMap} map @param {Stage & { names: Names, typed: number }} parts
 */
export function twoLines(map, { cursor, names, labels, typed, onPick, onShow }) {
  const node = element("div", { class: map.rows.length > MANY ? "lines long" : "lines" });
  const between = bands(node);
  /** @type {import("./bands.js").Shown} */
  const shown = { map, row: cursor.row, column: null };
  /** @type {Stage["onShow"]} */
  const point = (row, column) => {
    Object.assign(shown, { row: row ?? cursor.row, column });
    draw();
    onShow(row, column);
  };
  const keys = line("key", map.columns, labels.keys, cursor.column, { point: (i) => point(null, i), pick: (i) => onPick(null, i), across: () => partner(rows, shown.row) });
  const rows = line("row", map.rows, labels.rows, cursor.row, { point: (i) => point(i, null), pick: (i) => onPick(i, null), across: () => partner(keys, strongestOf(shown.map, shown.row)) });
  keys.words.slice(0, typed).forEach((word) => word.classList.add("typed"));
  node.append(between.node, keys.node, rows.node);
  node.addEventListener("mouseleave", () => point(null, null));
  node.addEventListener("focusout", (event) => {
    if (!node.contains(/** @type {Node | null} */ (event.relatedTarget))) point(null, null);
  });
  /** @type {DrawnMap | undefined} */
  let described;
  /** @param {boolean} [moves] */
  const draw = (moves) => {
    tint(shown, keys.words, rows.words, cursor);
    if (described !== shown.map) describe(shown.map, rows.words, names);
    described = shown.map;
    between.draw(shown, moves);
  };
  let first = true;
  const laid = () => {
    between.measure(keys, rows);
    draw(first);
    first = false;
  };
  new ResizeObserver(laid).observe(node); // called once it has a size, and whenever that changes
  node.addEventListener("laid", laid);
  /** @param {DrawnMap} other */
  const use = (other) => {
    shown.map = other;
    draw();
  };
  return { node, use };
}

/**
 * One line: a label, and a button for each word, of which one is in the order of the Tab key.
 *
 * @param {"key" | "row"} kind @param {string[]} texts @param {string} label @param {number} first
 * @param {{ point: (i: number) => void, pick: (i: number) => void, across: () => HTMLElement | undefined }} parts
 */
function line(kind, texts, label, first, { point, pick, across }) {
  const words = texts.map((text, i) => element("button", {
    type: "button", id: `${kind}-${i}`, class: "word", tabindex: i === Math.min(first, texts.length - 1) ? "0" : "-1",
    ...preview(() => point(i)), onclick: () => pick(i),
    onkeydown: (event) => moved(event, i),
  }, element("span", {}, text), element("small", { "aria-hidden": "true" })));
  /** @param {HTMLElement | undefined} word */
  const go = (word) => {
    if (!word) return;
    word.parentNode?.querySelectorAll("[tabindex='0']").forEach((each) => each.setAttribute("tabindex", "-1"));
    word.setAttribute("tabindex", "0");
    word.focus({ preventScroll: false });
  };
  /** @param {KeyboardEvent} event @param {number} i */
  const moved = (event, i) => {
    /** @type {ByName<number>} */
    const places = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: words.length - 1 };
    const to = places[event.key];
    const other = (kind === "row" ? "ArrowUp" : "ArrowDown") === event.key;
    if (to === undefined && !other) return;
    event.preventDefault();
    go(to === undefined ? across() : words[to]);
  };
  return { words, node: element("div", { class: `line ${kind}s`, role: "group", "aria-label": label },
    element("span", { class: "side" }, element("span", { "aria-hidden": "true" }, label)), ...words.flatMap((word) => [word, " "])) };
}

/** @param {{ words: HTMLElement[] }} line @param {number} i */
function partner({ words }, i) {
  return words[i];
}

/**
 * Colours the words of one line by their weights for the chosen word of the other.
 *
 * @param {import("./bands.js").Shown} shown @param {HTMLElement[]} keys @param {HTMLElement[]} rows @param {Cursor} cursor
 */
function tint({ map, row, column }, keys, rows, cursor) {
  const byKey = column !== null;
  keys.forEach((word, c) => {
    word.setAttribute("aria-pressed", String(c === column || (cursor.named && c === cursor.column)));
    paint(word, byKey ? (c === column ? null : 0) : shade(map, row, c), byKey ? null : map.values[row * map.columns.length + c]);
  });
  rows.forEach((word, r) => {
    word.setAttribute("aria-pressed", String(r === row));
    paint(word, byKey ? shade(map, r, column) : (r === row ? null : 0), byKey ? map.values[r * map.columns.length + column] : null);
  });
}

/**
 * `share`: null is the chosen word itself, which is underlined and not coloured.
 *
 * @param {HTMLElement} word @param {number | null} share @param {number | null} weight
 */
function paint(word, share, weight) {
  const [, number] = word.children;
  const text = weight !== null && weight >= NUMBERED ? percentOf(weight).replace(" ", "\u202f") : "";
  if (number.textContent !== text) number.textContent = text;
  word.classList.toggle("chosen", share === null);
  const coloured = share !== null && share >= FAINTEST;
  word.classList.toggle("tinted", coloured);
  word.style.background = coloured ? colour(share, theme()) : "";
  word.style.color = coloured ? inkOn(palette(theme())[Math.round(255 * share)]) : "";
}

/** The places of the three largest values, the largest first. @param {Float32Array} values */
function strongestThree(values) {
  /** @type {number[]} */
  const best = [];
  for (let i = 0; i < values.length; i++) {
    if (best.length === 3 && !(values[i] > values[best[2]])) continue;
    const at = best.findIndex((place) => values[i] > values[place]);
    best.splice(at < 0 ? best.length : at, 0, i);
    best.length = Math.min(3, best.length);
  }
  return best;
}

/** What screen readers say of a word: its strongest keys. @param {DrawnMap} map @param {HTMLElement[]} rows @param {Names} names */
function describe(map, rows, names) {
  const width = map.columns.length;
  rows.forEach((word, r) => {
    const values = map.values.subarray(r * width, (r + 1) * width);
    word.setAttribute("aria-label", `${map.rows[r]}: ${strongestThree(values).map((c) => `${names.columns(c)} ${percentOf(values[c])}`).join(", ")}`);
  });
}
