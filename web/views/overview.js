/** The overview: the sentence as text, what one word attended to in it, and what followed from it. */

import { cursorIn, pairOf, shareHead, siteOf, strongestOf, weightsMap } from "../cursor.js";
import { element, table, unbroken } from "../dom.js";
import { legend, mostOf } from "../heatmap.js";
import { lookFigure } from "../picture.js";
import { wordsFilm } from "../taking/film.js";
import { linesFigure } from "../taking/lines_figure.js";
import { factsOf, percentOf } from "../overview/facts.js";
import { findingsList, note } from "../overview/findings_list.js";
import { imageStage } from "../overview/image.js";
import { labelStage } from "../overview/label.js";
import { twoLines } from "../overview/lines.js";
import { sentenceOf } from "../overview/sentence.js";
import { hasStrip, headStrip } from "../overview/strip.js";
import { endsWith, wordsOf } from "../overview/texts.js";
import { largest } from "../maps.js";
import { readingChoices, siteChoices } from "./board.js";

const FAINT = 0.5; // weights below this are drawn on a scale that ends at the largest of them
const FIGURE_SIDE = 460; // px
const GAP = /_{3,}/g; // the other way to write [MASK]
const PAUSE = 700; // ms without a change before the live page asks for the effect of occlusion

/** @type {View} */
export function overviewView(trace, state, words, ask) {
  const site = siteOf(trace, state);
  const head = shareHead(site, state);
  const map = scaledMap(trace, site, state, head);
  const cursor = cursorIn(trace, site, map, state);
  const { grid } = trace.axes[site.keys];
  const said = element("p", { class: "sentence", id: "sentence", "aria-live": "polite" });
  const trying = { site, head, map };
  /** @param {number} [row] @param {number | null} [column] */
  const say = (row = cursor.row, column = null) => {
    const top = strongestOf(trying.map, row);
    const at = { row, top, column: column ?? (row === cursor.row && state.get("key") !== null ? cursor.column : top) };
    said.replaceChildren(...unbroken(sentenceOf(trace, trying.site, factsOf(trace, trying.site, trying.map, state, at, trying.head), words)));
  };
  /** @type {Stage["onPick"]} */
  const pick = (row, column) => {
    const pair = pairOf(site, map, row ?? cursor.row, column ?? strongestOf(map, row ?? cursor.row), head);
    if (pair) state.set({ query: pair[0], key: column === null ? "" : pair[1], word: "", spot: "" });
  };
  const labels = labelsOf(site, state, words);
  /** @type {Stage} */
  const on = { cursor, labels, onPick: pick, onShow: (row, column) => say(row ?? cursor.row, column) };
  const typed = grid ? 0 : wordsOf(trace.text.replace(GAP, "[MASK]"), map.columns, trace.kind.writes === "continuation");
  const stage = grid
    ? imageStage(trace, map, { ...on, grid, words: site.part !== "image" })
    : twoLines(map, { ...on, typed, names: { columns: (column) => map.columns[column] } });
  /** @param {Site | null} other @param {Head} chosen */
  const attempt = (other, chosen) => {
    const fits = other && other.queries === site.queries && other.keys === site.keys;
    Object.assign(trying, fits ? { site: other, head: chosen, map: scaledMap(trace, other, state, chosen) } : { site, head, map });
    stage.use(trying.map);
    say();
  };
  say();
  const label = labelStage(trace, words);
  wish(trace, said, ask);
  const strip = hasStrip(trace) ? [headStrip(trace, state, words, {
    row: map.places.rows[cursor.row]?.[0] ?? 0, onTry: attempt,
    onChoose: (other, chosen) => state.set(other.part === site.part ? { layer: other.layer, head: chosen }
      : { part: other.part, layer: other.layer, head: chosen, query: "", key: "" }),
  })] : [];
  return {
    help: grid ? (site.part === "image" ? words.overviewPixelsHelp : words.overviewPictureHelp) : words.overviewHelp,
    controls: [...siteChoices(trace, state, words), ...readingChoices(site, state, words)],
    pictured: { read: Boolean(grid) || typed > 0, written: trace.writesText && endsWith(map.rows, trace.output), line: typed ? stage.node.querySelector(".keys") : null },
    aboutBelow: true,
    body: [...(label ? [label.node, label.said, element("p", { class: "second" }, grid ? words.labelSecondCells : words.labelSecond), note(words)] : []),
      element("div", { class: "stage" }, stage.node), said, findingsList(trace, state, words, label !== null), scaleOf(map, grid, words), ...strip,
      numbers(trace, site, map, state, cursor, head, words)],
    film: wordsFilm(stage.node),
    figure: () => (grid ? lookFigure(lookOf(trace, site, map, cursor, grid), FIGURE_SIDE) : linesFigure(map, cursor, labels)),
  };
}

/** @type {Needs} */
overviewView.needs = (trace) => trace.sites.length > 0;

/**
 * The image as the cursor's word, or cell, attended to it.
 *
 * @param {Trace} trace @param {Site} site @param {DrawnMap} map @param {Cursor} cursor @param {Grid} grid
 */
function lookOf(trace, site, map, { row, column }, grid) {
  const width = map.columns.length;
  return { picture: trace.picture, grid, weights: map.values.subarray(row * width, (row + 1) * width), most: map.values[largest(map.values)],
    smooth: true, marked: site.part === "image" ? row : column };
}

/**
 * The map, on a scale that ends at its largest weight if that is small.
 *
 * @param {Trace} trace @param {Site} site @param {State} state @param {Head} head
 * @returns {AttentionMap & DrawnMap}
 */
function scaledMap(trace, site, state, head) {
  const map = weightsMap(trace, site, state, head);
  const most = mostOf(map);
  return most < FAINT ? { ...map, most } : map;
}

/**
 * What the strongest colour is: bands, words and images of one map share a scale.
 *
 * @param {DrawnMap} map @param {Grid | null} grid @param {Words} words
 */
function scaleOf(map, grid, words) {
  const most = map.most ?? 1;
  if (grid) return element("p", { class: "muted scale" }, words.scaleImage(percentOf(map.values[largest(map.values)])));
  return legend({ most }, `${words.weights}. ${most < 1 ? words.scaleOwn : words.scaleSame}`, ["0 %", percentOf(most)]);
}

/**
 * The names of the two lines: where a step is named by what it reads, the written word was read again.
 *
 * @param {Site} site @param {State} state @param {Words} words
 */
function labelsOf(site, state, words) {
  const own = site.queries === site.keys;
  const wrote = site.writes && state.get("reading") === "reads" ? words.wroteReadLine : words.wroteLine;
  return { keys: own ? words.toLine : words.readLine, rows: own ? words.fromLine : wrote, image: words.imageLine };
}

/**
 * A live page computes occlusion only when it is wanted: here, when the user has stopped typing.
 *
 * @param {Trace} trace @param {HTMLElement} said @param {Ask | undefined} ask
 */
function wish(trace, said, ask) {
  const writes = trace.writesText || trace.kind.writes === "label";
  const known = trace.findings.attribution || trace.page.baseline || !writes || trace.picture;
  if (!ask || known || !trace.page.once("wish")) return;
  setTimeout(() => {
    if (!said.isConnected) return; // another text, or another view
    trace.page.wishing = true;
    ask();
  }, PAUSE);
}

/**
 * The weights of the cursor's word, and what occlusion changed, as a table.
 *
 * @param {Trace} trace @param {Site} site @param {AttentionMap} map @param {State} state @param {Cursor} cursor @param {Head} head @param {Words} words
 */
function numbers(trace, site, map, state, cursor, head, words) {
  const details = element("details", { id: "overview-numbers" }, element("summary", {}, words.numbers));
  details.addEventListener("toggle", () => {
    const rows = map.columns.map((name, column) => {
      const { weight, effect } = factsOf(trace, site, map, state, { row: cursor.row, column, top: cursor.top }, head);
      return [name, weight.toFixed(3), ...(effect?.kind === "occluded" ? [effect.nats.toFixed(3)] : [])];
    });
    const wide = Math.max(...rows.map((row) => row.length));
    details.append(table([words.key, words.weights, words.effectNats].slice(0, wide),
      rows.map((row) => [...row, ...Array(wide - row.length).fill("")]), map.rows[cursor.row]));
  }, { once: true });
  return details;
}
