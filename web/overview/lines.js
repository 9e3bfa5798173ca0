/** Two lines of words with bands between them: what a word of the lower line attended to in the upper one. */

import { element, preview } from "../dom.js";
import { percentOf } from "./facts.js";
import { colour, inkOn, palette, theme } from "../surface.js";

const [THINNEST, THICKEST, OF_LONG] = [1, 15, 4]; // px of a band, and of the thickest one in a long text
const FAINTEST = 0.02; // of the scale: smaller weights have no band, and no colour
const SKETCHED = 0.12; // of the scale: the strongest band of another word is drawn from here on
const MANY = 48; // words of a line: from here on the other words have no bands
const NUMBERED = 0.05; // weights from here on have their number in percent

const SVG = "http://www.w3.org/2000/svg";

/**
 * The figure of a map.
 *
 * onPick(row, column) is called on a click and on Enter, with a null for the line that was not
 * chosen; onShow(row, column) whenever another word is pointed at, or none any more.
 * Returns the node, and `use(map)`, which draws another map over the same words.
 */
export function twoLines(map, { cursor, names, labels, onPick, onShow }) {
  const bands = document.createElementNS(SVG, "svg");
  bands.setAttribute("class", "bands");
  bands.setAttribute("aria-hidden", "true");
  const node = element("div", { class: map.rows.length > MANY ? "lines long" : "lines" }, bands);
  const shown = { map, row: cursor.row, column: null };
  const point = (row, column) => {
    Object.assign(shown, { row: row ?? cursor.row, column });
    draw();
    onShow(row, column);
  };
  const keys = line("key", map.columns, labels.keys, cursor.column, { point: (i) => point(null, i), pick: (i) => onPick(null, i), across: () => partner(rows, shown.row) });
  const rows = line("row", map.rows, labels.rows, cursor.row, { point: (i) => point(i, null), pick: (i) => onPick(i, null), across: () => partner(keys, strongest(shown)) });
  node.append(keys.node, rows.node);
  node.addEventListener("mouseleave", () => point(null, null));
  node.addEventListener("focusout", (event) => {
    if (!node.contains(event.relatedTarget)) point(null, null);
  });
  const draw = () => {
    tint(shown, keys.words, rows.words, cursor);
    describe(shown.map, rows.words, names);
    strands(bands, node, shown, keys.words, rows.words);
  };
  new ResizeObserver(draw).observe(node); // called once it has a size, and whenever that changes
  return { node, use: (other) => {
    shown.map = other;
    draw();
  } };
}

/** One line: a label, and a button for each word, of which one is in the order of the Tab key. */
function line(kind, texts, label, first, { point, pick, across }) {
  const words = texts.map((text, i) => element("button", {
    type: "button", id: `${kind}-${i}`, class: "word", tabindex: i === Math.min(first, texts.length - 1) ? "0" : "-1",
    ...preview(() => point(i)), onclick: () => pick(i),
    onkeydown: (event) => moved(event, i),
  }, element("span", {}, text), element("small", { "aria-hidden": "true" })));
  const go = (word) => {
    if (!word) return;
    word.parentNode.querySelectorAll("[tabindex='0']").forEach((each) => each.setAttribute("tabindex", "-1"));
    word.setAttribute("tabindex", "0");
    word.focus({ preventScroll: false });
  };
  const moved = (event, i) => {
    const to = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: words.length - 1 }[event.key];
    const other = (kind === "row" ? "ArrowUp" : "ArrowDown") === event.key;
    if (to === undefined && !other) return;
    event.preventDefault();
    go(other ? across() : words[to]);
  };
  return { words, node: element("div", { class: `line ${kind}s`, role: "group", "aria-label": label },
    element("span", { class: "side", "aria-hidden": "true" }, label), ...words) };
}

function partner({ words }, i) {
  return words[i];
}

function strongest({ map, row }) {
  const width = map.columns.length;
  const values = map.values.subarray(row * width, (row + 1) * width);
  return values.indexOf(Math.max(...values));
}

/** The share of the scale at which a weight is drawn. */
function shade(map, row, column) {
  return Math.min(1, Math.max(0, map.values[row * map.columns.length + column] / (map.most ?? 1)));
}

/** Colours the words of one line by their weights for the chosen word of the other. */
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

/** `share`: null is the chosen word itself, which is framed and not coloured. */
function paint(word, share, weight) {
  const [, number] = word.children;
  const text = weight !== null && weight >= NUMBERED ? percentOf(weight).replace(" ", "\u202f") : "";
  if (number.textContent !== text) number.textContent = text;
  word.classList.toggle("chosen", share === null);
  const coloured = share !== null && share >= FAINTEST;
  word.style.background = coloured ? colour(share, theme()) : "";
  word.style.color = coloured ? inkOn(palette(theme())[Math.round(255 * share)]) : "";
}

/** What screen readers say of a word: its strongest keys. */
function describe(map, rows, names) {
  const width = map.columns.length;
  if (rows.described === map) return;
  rows.described = map;
  rows.forEach((word, r) => {
    const values = map.values.subarray(r * width, (r + 1) * width);
    const best = [...values.keys()].sort((a, b) => values[b] - values[a]).slice(0, 3);
    word.setAttribute("aria-label", `${map.rows[r]}: ${best.map((c) => `${names.columns(c)} ${percentOf(values[c])}`).join(", ")}`);
  });
}

/** The bands: those of the chosen word by their weights, and faintly the strongest one of each other. */
function strands(svg, node, { map, row, column }, keys, rows) {
  const box = node.getBoundingClientRect();
  svg.setAttribute("viewBox", `0 0 ${box.width || 1} ${box.height || 1}`);
  const place = (word, low) => {
    const at = word.getBoundingClientRect();
    return [at.left - box.left + at.width / 2, (low ? at.bottom : at.top) - box.top];
  };
  const [tops, ends] = [keys.map((word) => place(word, true)), rows.map((word) => place(word, false))];
  const paths = [];
  const thickest = node.classList.contains("long") ? OF_LONG : THICKEST;
  const band = (r, c, kind, share) => {
    const [[x, y], [to, end]] = [tops[c], ends[r]];
    const path = document.createElementNS(SVG, "path");
    const half = (y + end) / 2;
    path.setAttribute("d", `M${x} ${y}C${x} ${half} ${to} ${half} ${to} ${end}`);
    path.setAttribute("stroke-width", String(THINNEST + (thickest - THINNEST) * share));
    path.setAttribute("opacity", String(kind === "on" ? 0.3 + 0.6 * share : 0.14));
    path.setAttribute("class", kind);
    paths.push(path);
  };
  const broken = [keys, rows].some((words) => words.length && words[0].offsetTop !== words[words.length - 1].offsetTop);
  if (map.rows.length <= MANY && !broken) {
    map.rows.forEach((_, r) => {
      const c = strongest({ map, row: r });
      if (r !== row && shade(map, r, c) >= SKETCHED) band(r, c, "off", shade(map, r, c));
    });
  }
  const chosen = column === null ? map.columns.map((_, c) => [row, c]) : map.rows.map((_, r) => [r, column]);
  for (const [r, c] of chosen) if (shade(map, r, c) >= FAINTEST) band(r, c, "on", shade(map, r, c));
  svg.replaceChildren(...paths);
}
