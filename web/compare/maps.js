/** A comparison on the page: what it says, the aligned lines, three maps with one cursor, and the heads that changed. */

import { choice, element } from "../dom.js";
import { heatmap, layout, legend, mapFigure, mapTable } from "../heatmap.js";
import { cellOf } from "../overview/sentence.js";
import { visible } from "../trace.js";
import { aligned, fateOf } from "./align.js";
import { compared } from "./difference.js";
import { changedHeads } from "./heads.js";

const BETWEEN_MAPS = 40; // px between two figures
const NOTICED = 0.0005; // smaller changes of a weight are not called one

/**
 * @typedef {ReturnType<typeof compared>} Found
 * @typedef {{ map: DrawnMap, title: string, note: string }} Titled
 */

/**
 * What a comparison consists of.
 *
 * pair: the two `sides` (`sideOf`), their `names`, and the `kind` that chooses the words: "sides", "changed" or "pinned".
 * Returns `says`, the sentences; `body`, everything else; `control`, which chooses the word of an image's map, or null;
 * and `figure`, the maps to save.
 *
 * @param {Faced} pair @param {State} state @param {Words} words
 */
export function comparison(pair, state, words) {
  const found = compared(pair.sides, state, words.rest);
  const grid = gridOf(pair.sides);
  const row = grid ? rowShown(found, state) : 0;
  const shown = [...found.maps, found.difference].filter((map) => map !== null).map((map) => (grid ? overGrid(map, row, grid) : map));
  const titles = [...pair.names, words.compareMinus(pair.names)];
  const label = `${words[pair.sides[1].site.part]}, ${words.layerNumber(pair.sides[1].site.layer + 1)}`;
  const named = shown.map((map, i) => ({ map, title: titles[i], note: i < 2 ? sideNote(pair.sides[i], words) : words.differenceScale(pair.names) }));
  const figures = state.get("as") === "table"
    ? named.map(({ title, map }) => mapTable(map, `${title}: ${label}`))
    : [element("div", { class: "beside" }, ...linked(named, found, grid, row, label, words))];
  const gaps = [...found.rows, ...found.columns].some((places) => places.includes(null));
  return {
    says: sentences(pair, found, grid, words),
    body: [...lines(pair, words), ...figures, ...(gaps && !grid ? [element("p", { class: "muted" }, words.compareGaps)] : []),
      ...(pair.sides[0].trace === pair.sides[1].trace ? [] : [changedHeads(pair, state, words)])],
    control: grid && found.difference ? wordChoice(found, found.difference.rows, row, state, words) : null,
    figure: besideFigure(named),
  };
}

/** The grid of the keys, if both sides have the same one; of several queries one is then shown at a time. @param {[Side, Side]} sides */
function gridOf(sides) {
  const [one, other] = sides.map(({ trace, site }) => trace.axes[site.keys].grid);
  return one && other && one.join() === other.join() ? other : null;
}

/** The row that is shown over a grid: that of the cursor, or the one with the largest change. @param {Found} found @param {State} state */
function rowShown({ rows, own, largest, columns }, state) {
  const query = state.get("query");
  const wanted = query === null ? -1 : rows.findIndex(([, row]) => row !== null && own[1].places.rows[row].includes(query));
  return wanted >= 0 ? wanted : Math.floor(Math.max(0, largest) / columns.length);
}

/** @param {DrawnMap} map @param {number} row @param {Grid} grid */
function overGrid(map, row, [rows, columns]) {
  /** @param {number} count */
  const numbers = (count) => Array.from({ length: count }, (_, i) => String(i + 1));
  const start = row * map.columns.length;
  return { ...map, headed: undefined, rows: numbers(rows), columns: numbers(columns), values: map.values.slice(start, start + rows * columns) };
}

/** @param {Found} found @param {string[]} names @param {number} row @param {State} state @param {Words} words */
function wordChoice({ rows, own }, names, row, state, words) {
  const options = names.flatMap((name, r) => {
    const behind = own[1].places.rows[rows[r][1] ?? -1] ?? [];
    return behind.length ? [[String(behind[0]), name]] : [];
  });
  const chosen = rows[row]?.[1] ?? null;
  return choice(words.query, options, chosen === null ? "" : String(own[1].places.rows[chosen][0]), (query) => state.set({ query }));
}

/** @param {Side} side @param {Words} words */
function sideNote({ trace, site, head }, words) {
  const of = head === "mean" ? words.mean : head === "max" ? words.max : words.pathHead(String(Number(head) + 1));
  return `${trace.model}, ${words.layerNumber(site.layer + 1)}, ${of}`;
}

/**
 * What was written on both sides, and the largest change of this map, in numbers.
 *
 * @param {Faced} pair @param {Found} found @param {Grid | null} grid @param {Words} words
 */
function sentences({ sides, names, kind }, { largest, maps, difference, shared, count }, grid, words) {
  const say = words.compareSays[kind];
  const [one, other] = sides.map(({ trace }) => trace);
  const said = [];
  if (other.steps.length && one.steps.length) {
    const before = one.findings.own_output ?? one.output;
    said.push((before === other.output ? say.same : say.wrote)(visible(before), visible(other.output), other.writesText, one.text === other.text));
  }
  if (!difference) said.push(words.littleShared(shared, count));
  else if (largest < 0) said.push(words.nothingShared);
  else if (Math.abs(difference.values[largest]) < NOTICED) said.push(words.nothingChanged);
  else {
    const [row, column] = [Math.floor(largest / difference.columns.length), largest % difference.columns.length];
    const inGrid = grid && column < grid[0] * grid[1];
    const key = inGrid ? words.spot(column, grid) : `“${difference.columns[column]}”`;
    const [before, after] = maps.map(({ values }) => values[largest]);
    const query = grid && sides[1].site.part === "image" ? words.spot(cellOf(difference.rows[row], grid), grid) : `“${difference.rows[row]}”`;
    /** @param {number} share */
    const points = (share) => (100 * share).toFixed(1);
    said.push(words.largestChange(query, key, points(before), points(after), points(Math.abs(after - before)), after > before, names));
  }
  return said.map((text) => element("p", { class: "compare-says" }, text));
}

/**
 * The texts that differ, word above word; an unmatched word has a gap beside it.
 *
 * @param {Faced} pair @param {Words} words
 */
function lines({ sides, names }, words) {
  const [one, other] = sides.map(({ trace }) => trace);
  return Object.keys(other.axes).flatMap((axis) => {
    const texts = [one, other].map(({ axes }) => axes[axis]);
    if (!texts[0] || texts.some(({ grid }) => grid)) return [];
    const [before, after] = texts.map(({ texts: own }) => own);
    if (before.length === after.length && before.every((word, i) => word === after[i])) return [];
    const label = axis === "target" ? words.output : words.input;
    return [element("div", { class: "pairs", role: "group", "aria-label": `${label}: ${names.join(" | ")}` },
      element("span", { class: "pair names" }, ...names.map((name) => element("small", {}, name))),
      ...aligned(before, after).map((pair) => {
        const fate = fateOf(pair, before, after);
        const [a, b] = [before[pair[0] ?? -1], after[pair[1] ?? -1]];
        return element("span", { class: `pair ${fate}` },
          a === undefined ? element("i", { "aria-hidden": "true" }) : element(fate === "same" ? "span" : "del", {}, `${fate === "removed" ? "−" : ""}${a}`),
          b === undefined ? element("i", { "aria-hidden": "true" }) : element(fate === "same" ? "span" : "ins", {}, `${fate === "added" ? "+" : ""}${b}`));
      }))];
  });
}

/**
 * Maps with one cursor, which begins at the largest change.
 *
 * @param {Titled[]} named @param {Found} found @param {Grid | null} grid @param {number} row @param {string} label @param {Words} words
 */
function linked(named, { largest }, grid, row, label, words) {
  const last = named[named.length - 1].map;
  const width = last.columns.length;
  const at = largest - (grid ? row * (grid[0] * grid[1]) : 0);
  const first = at >= 0 && at < last.values.length ? [Math.floor(at / width), at % width] : [0, 0];
  const most = Math.max(8, Math.min(34, Math.floor(500 / width)));
  /** @type {HTMLElement[]} */
  const figures = named.map(({ title, note, map }, mine) => element("figure", {},
    element("figcaption", {}, element("b", {}, title), element("br"), note),
    heatmap(map, { id: `map-${mine}`, cursor: first, label: `${title}: ${label}`, most, say: (r, c, value) => spoken(map, last, r, c, value, words),
      onMove: (r, c) => figures.forEach((figure, its) => {
        if (its !== mine) figure.querySelector("canvas")?.dispatchEvent(new CustomEvent("place", { detail: [r, c] }));
      }) }),
    legend(map, map.diverging ? title : `${words.weights}. ${map.most === undefined ? words.scaleSame : words.scaleBoth}`)));
  return figures;
}

/** @param {DrawnMap} map @param {DrawnMap} difference @param {number} r @param {number} c @param {number} value @param {Words} words */
function spoken(map, difference, r, c, value, words) {
  const cell = `${difference.rows[r]} → ${difference.columns[c]}`;
  return Number.isNaN(value) ? `${cell}: ${words.noSuchCell}` : `${cell}: ${map.diverging && value > 0 ? "+" : ""}${value.toFixed(3)}`;
}

/** @param {Titled[]} named @returns {Figure} */
function besideFigure(named) {
  const places = named.map(({ map }) => layout(map));
  const lefts = places.map((_, i) => places.slice(0, i).reduce((sum, each) => sum + each.width + BETWEEN_MAPS, 0));
  const figures = named.map(({ map }) => mapFigure(map));
  return {
    width: lefts[lefts.length - 1] + figures[figures.length - 1].width,
    height: 24 + Math.max(...figures.map(({ height }) => height)),
    draw: (surface) => named.forEach(({ title }, i) => {
      surface.text(title, lefts[i] + 8, 16, { size: 13 });
      surface.moved(lefts[i], 24, () => figures[i].draw(surface));
    }),
  };
}
