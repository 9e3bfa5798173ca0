/** The bands between two lines of words, which glide where another word or head is chosen. */

import { strongestOf } from "../cursor.js";

export const FAINTEST = 0.02; // of the scale: smaller weights have no band, and no colour
const SKETCHED = 0.12; // of the scale: the strongest band of another word is drawn from here on
const [THINNEST, THICKEST, OF_LONG] = [1, 18, 4]; // px of a band, and of the thickest one in a long text
const GLIDE = 150; // ms
const SVG = "http://www.w3.org/2000/svg";
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

/**
 * Where a word is; a band, and where it is and belongs ([x above, x below, y above, y below, width, opacity]); and what is shown.
 *
 * @typedef {{ x: number, top: number, bottom: number }} WordAt
 * @typedef {{ path: SVGPathElement, to: number[], at: number[] }} Band
 * @typedef {{ above: WordAt[], below: WordAt[], from: number, to: number, broken: boolean, long: boolean }} Lines
 * @typedef {{ map: DrawnMap, row: number, column: number | null }} Shown
 */

/** The bands that were drawn before these: a click draws the page again. @type {{ words: string, drawn: Map<string, Band> }} */
let last = { words: "", drawn: new Map() };

/**
 * The bands of `node`, in which the two lines are.
 *
 * `measure(keys, rows)` reads where their words are; `draw(shown)` draws the bands of the row or column that is chosen,
 * by their weights, and faintly the strongest one of each other word. Bands are between the lines only: in a line of
 * several rows, a thin stem behind the words leads from its edge to a word of another row.
 *
 * @param {HTMLElement} node
 */
export function bands(node) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "bands");
  svg.setAttribute("aria-hidden", "true");
  /** @type {Lines | null} */
  let places = null;
  /** By their names. @type {Map<string, Band>} */
  let drawn = new Map();
  let turn = 0;

  /** @param {{ words: HTMLElement[] }} keys @param {{ words: HTMLElement[] }} rows */
  const measure = (keys, rows) => {
    const box = node.getBoundingClientRect();
    const scale = node.offsetWidth / (box.width || 1); // the page may be enlarged
    svg.setAttribute("viewBox", `0 0 ${node.offsetWidth || 1} ${node.offsetHeight || 1}`);
    const [above, below] = [keys, rows].map(({ words }) => words.map((word) => {
      const { left, width, top, bottom } = word.getBoundingClientRect();
      return { x: (left + width / 2 - box.left) * scale, top: (top - box.top) * scale, bottom: (bottom - box.top) * scale };
    }));
    places = {
      above, below,
      from: Math.max(...above.map(({ bottom }) => bottom)), to: Math.min(...below.map(({ top }) => top)),
      broken: [above, below].some((words) => words[0]?.top !== words.at(-1)?.top),
      long: node.classList.contains("long"),
    };
  };

  /** @param {Shown} shown */
  const draw = (shown, moves = true) => {
    const lines = places;
    if (!lines) return;
    const words = [...shown.map.columns, ...shown.map.rows].join(" ");
    const before = drawn.size ? drawn : last.words === words ? last.drawn : drawn;
    const wanted = wantedBands(shown, lines);
    drawn = new Map(wanted.map(({ name, kind, to }) => {
      const path = drawn.get(name)?.path ?? document.createElementNS(SVG, "path");
      path.setAttribute("class", kind);
      return [name, { path, to, at: before.get(name)?.at ?? [...to.slice(0, 4), 0, 0] }];
    }));
    const stems = wanted.filter(({ kind }) => kind === "on").flatMap(({ ends }) => stemsOf(ends, lines));
    svg.replaceChildren(...stems, ...[...drawn.values()].map(({ path }) => path));
    last = { words, drawn };
    glide(moves && before.size && !STILL.matches ? GLIDE : 0);
  };

  /** Moves the bands to where they belong. @param {number} duration in milliseconds */
  const glide = (duration) => {
    const mine = ++turn;
    const moved = [...drawn.values()].map((band) => ({ band, start: band.at }));
    const begun = performance.now();
    /** @param {number} now */
    const step = (now) => {
      if (mine !== turn) return;
      const time = duration ? Math.min(1, Math.max(0, now - begun) / duration) : 1;
      const eased = time * (2 - time);
      for (const { band, start } of moved) {
        band.at = band.to.map((end, i) => start[i] + (end - start[i]) * eased);
        place(band.path, band.at);
      }
      if (time < 1) requestAnimationFrame(step);
    };
    step(begun);
  };
  return { node: svg, measure, draw };
}

/**
 * The bands: their names and kinds, the two words, and where they belong.
 *
 * @param {Shown} shown @param {Lines} lines
 */
function wantedBands({ map, row, column }, { above, below, from, to, broken, long }) {
  /** @type {{ kind: string, name: string, ends: [WordAt, WordAt], to: number[] }[]} */
  const found = [];
  /** @param {string} kind @param {string} name @param {number} r @param {number} c @param {(share: number) => number} opacity */
  const band = (kind, name, r, c, opacity) => {
    const share = shade(map, r, c);
    const width = THINNEST + ((long ? OF_LONG : THICKEST) - THINNEST) * share;
    found.push({ kind, name, ends: [above[c], below[r]], to: [above[c].x, below[r].x, from, to, width, opacity(share)] });
  };
  if (!long && !broken) {
    map.rows.forEach((_, r) => {
      const c = strongestOf(map, r);
      if (r !== row && shade(map, r, c) >= SKETCHED) band("off", `faint ${r}`, r, c, () => 0.13);
    });
  }
  /** @type {[name: string, row: number, column: number][]} */
  const chosen = column === null ? map.columns.map((_, c) => [`key ${c}`, row, c]) : map.rows.map((_, r) => [`row ${r}`, r, column]);
  for (const [name, r, c] of chosen) if (shade(map, r, c) >= FAINTEST) band("on", name, r, c, (share) => 0.3 + 0.6 * share);
  return found;
}

/**
 * Thin lines between the ends of a band and its words, where these are in other rows of their lines.
 *
 * @param {[WordAt, WordAt]} ends @param {Lines} lines
 */
function stemsOf([above, below], { from, to }) {
  return [[above.x, above.bottom, from], [below.x, to, below.top]].filter(([, top, end]) => end > top + 1).map(([x, top, end]) => {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("class", "stem");
    path.setAttribute("d", `M${x.toFixed(1)} ${top}V${end}`);
    return path;
  });
}

/**
 * The share of the scale at which a weight is drawn.
 *
 * @param {Pick<DrawnMap, "columns" | "values" | "most">} map @param {number} row @param {number} column
 */
export function shade(map, row, column) {
  return Math.min(1, Math.max(0, map.values[row * map.columns.length + column] / (map.most ?? 1)));
}

/** @param {SVGPathElement} path @param {number[]} at */
function place(path, [above, below, from, to, width, opacity]) {
  const half = (from + to) / 2;
  path.setAttribute("d", `M${above.toFixed(1)} ${from}C${above.toFixed(1)} ${half} ${below.toFixed(1)} ${half} ${below.toFixed(1)} ${to}`);
  path.setAttribute("stroke-width", width.toFixed(2));
  path.setAttribute("opacity", opacity.toFixed(3));
}
