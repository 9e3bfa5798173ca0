/** The map of one layer, and the table of all heads. */

import { cursorIn, cursorOf, headChosen, pairOf, siteOf, strongestHead } from "../cursor.js";
import { board, withRest } from "../maps.js";
import { readable } from "../trace.js";
import { choice, element, field, table } from "../dom.js";
import { parseGold, rates, strongest, toggled } from "../gold.js";
import { heatmap, legend, mapFigure, mapTable, mostOf } from "../heatmap.js";
import { textOf } from "../words.js";
import { pictureOrTable } from "./stacks.js";

const FAINT = 0.5; // a map of smaller weights is scaled to its largest one: on a scale from 0 to 1 it would look empty

/**
 * @param {Trace} trace @param {State} state
 * @returns {AttentionMap & DrawnMap}
 */
export function currentMap(trace, state) {
  const site = siteOf(trace, state);
  const head = headChosen(site, state);
  const value = valueChosen(site, state);
  const sunk = Boolean(site.array("sink")) && value === "weights" && head !== "max";
  const map = board(trace, site, site.matrix(head, value), state.get("unit"), state.get("reading"), sunk);
  return site.array("factors") && head === "mean" ? { ...map, diverging: true } : map;
}

/** @param {Trace} trace @param {State} state @param {Words} words */
export function siteChoices(trace, state, words, { heads = true } = {}) {
  const site = siteOf(trace, state);
  const parts = trace.parts().map((part) => [part, words[part]]);
  const layers = trace.of(site.part).map((each) => [String(each.layer), String(each.layer + 1)]);
  const controls = [
    choice(words.part, parts, site.part, (part) => state.set({ part, layer: "" })),
    choice(words.layer, layers, String(site.layer), (layer) => state.set({ layer })),
  ];
  if (heads) {
    controls.push(choice(words.head, headChoices(site, words), String(headChosen(site, state)), (head) => state.set({ head })));
  } else {
    const numbers = headChoices(site, words).slice(2);
    controls.push(choice(words.head, numbers, String(cursorOf(trace, site, state).head), (head) => state.set({ head })));
  }
  return controls;
}

/** @param {Site} site @param {Words} words */
export function headChoices(site, words) {
  const signs = site.array("factors")?.values;
  /** @param {number} h */
  const named = (h) => (signs && signs[h] !== 1 ? `${h + 1} (× ${signs[h].toFixed(2)})` : String(h + 1));
  const numbers = Array.from({ length: site.heads }, (_, h) => [String(h), named(h)]);
  return [["mean", signs ? words.difference : words.mean], ["max", words.max], ...numbers];
}

/**
 * What is drawn: weights, or norms if they were recorded.
 *
 * @param {Site} site
 * @param {Chosen} state
 * @returns {"weights" | "norms"}
 */
export function valueChosen(site, state) {
  return state.get("value") === "norms" && site.array("norms") ? "norms" : "weights";
}

/** @param {Site} site @param {State} state @param {Words} words */
export function valueChoice(site, state, words) {
  const known = site.array("norms") ? [["norms", words.norms]] : [];
  return choice(words.value, [["weights", words.weights], ...known], valueChosen(site, state),
    (value) => state.set({ value }));
}

/**
 * What the rows and columns are, and where a model writes, which step is a word's row.
 *
 * @param {Site} site @param {State} state @param {Words} words
 */
export function readingChoices(site, state, words) {
  return [...(site.writes ? [readingChoice(state, words)] : []), unitChoice(state, words)];
}

/** @param {State} state @param {Words} words */
function readingChoice(state, words) {
  return choice(words.reading, [["writes", words.writes], ["reads", words.reads]], state.get("reading"), (reading) => state.set({ reading }));
}

/** @param {State} state @param {Words} words */
export function unitChoice(state, words) {
  return choice(words.unit, [["words", words.words], ["pieces", words.pieces]], state.get("unit"), (unit) => state.set({ unit }));
}

/**
 * The map on the chosen scale: from 0 to 1, or to its largest weight.
 *
 * @template {Scaled} M
 * @param {M} map @param {State} state
 * @returns {M & Pick<Scaled, "most">}
 */
export function scaled(map, state) {
  const most = mostOf(map);
  const chosen = state.get("scale") || (most < FAINT ? "largest" : "one");
  return chosen === "largest" ? { ...map, most } : map;
}

/** @param {Scaled} map @param {State} state @param {Words} words */
export function scaleChoice(map, state, words) {
  return choice(words.scaleOf, [["one", words.scaleOne], ["largest", words.scaleLargest]],
    map.most === undefined ? "one" : "largest", (scale) => state.set({ scale }));
}

/**
 * The tokens that are not words, listed if they are few.
 *
 * @param {Trace} trace @param {Site} site @param {AttentionMap} map @param {Words} words
 */
export function restName(trace, site, map, words) {
  const names = [...new Set(map.left.map((column) => trace.axes[site.keys].tokens[column]))];
  if (map.sunk) return [...(names.length ? [words.rest] : []), words.sink].join(", ");
  return names.length > 2 ? words.rest : `${words.rest} (${names.map(readable).join(" ")})`;
}

/** @type {View} */
export function boardView(trace, state, words) {
  const site = siteOf(trace, state);
  const plain = currentMap(trace, state);
  const map = scaled(withRest(plain, restName(trace, site, plain, words)), state);
  const controls = [
    ...siteChoices(trace, state, words),
    valueChoice(site, state, words),
    unitChoice(state, words),
    scaleChoice(map, state, words),
    pictureOrTable(state, words),
  ];
  if (site.writes) controls.splice(4, 0, readingChoice(state, words));
  // Words can be linked to words, but not to the cells of an image.
  const linkable = site.part === "cross" && !trace.axes[site.keys].grid && state.get("unit") === "words" && plain.columns.length > 0;
  const gold = linkable ? parseGold(state.get("gold"), plain) : null;
  if (linkable) {
    controls.push(
      choice(words.click, [["row", words.clickRow], ["link", words.clickLink]], state.get("click"), (click) => state.set({ click })),
      field(words.gold, state.get("gold"), (gold) => state.set({ gold })),
    );
  }
  const linking = linkable && state.get("click") === "link";
  if (gold?.signs.size) map.marks = marksOn(map, plain, gold.signs);
  const label = `${words[site.part]}, ${words.layerNumber(site.layer + 1)}`;
  const shown = state.get("as") === "table" ? mapTable(map, label) : heatmap(map, {
    label,
    cursor: cursorOn(trace, site, plain, state, linking),
    say: (r, c, value) => said(trace, site, map, r, c, value, words),
    onPick: (r, c) => {
      if (!linking) openCell(site, map, r, c, state);
      else if (c < plain.columns.length) {
        state.set({ gold: toggled(state.get("gold"), plain, r * plain.columns.length + c), query: r, key: c });
      }
    },
  });
  const norms = valueChosen(site, state) === "norms";
  const note = norms ? element("p", { class: "muted" }, words.normScale) : "";
  const scale = state.get("as") === "table" ? ""
    : legend(map, `${norms ? words.norms : words.weights}. ${map.most === undefined ? words.scaleSame : words.scaleOwn}`);
  return {
    help: words.boardHelp,
    controls,
    body: [shown, scale, note, ...kindNotes(site, words), gold ? goldNote(gold, plain, words) : "", headsTable(trace, site, state, words)],
    figure: () => mapFigure(map),
  };
}

/**
 * Where the map's cursor begins: at the cell that was clicked last, at the one cursor of all views, or at the strongest.
 *
 * @param {Trace} trace @param {Site} site @param {AttentionMap} map @param {State} state @param {boolean} linking
 */
function cursorOn(trace, site, map, state, linking) {
  if (linking) return [state.get("query") ?? 0, state.get("key") ?? 0];
  if (state.get("query") === null) return undefined;
  const { row, column } = cursorIn(trace, site, map, state);
  return [row, column];
}

/**
 * What the map shows where it is not the softmax of the scores over the keys.
 *
 * @param {Site} site @param {Words} words
 */
function kindNotes(site, words) {
  const notes = [];
  const note = textOf(words.kindNotes, site.kind);
  if (note) notes.push(note);
  if (site.array("factors")) notes.push(words.differenceNote);
  if (site.array("sink")) notes.push(words.sinkNote);
  return notes.map((text) => element("p", { class: "muted kind-note" }, text));
}

/**
 * The frames and squares of links; cell numbers are converted, because links do not count the rest column.
 *
 * @param {DrawnMap} map @param {DrawnMap} plain @param {Map<number, string>} signs
 */
function marksOn(map, plain, signs) {
  const [from, to] = [plain.columns.length, map.columns.length];
  /** @param {number} i */
  const moved = (i) => Math.floor(i / from) * to + (i % from);
  return { signs: new Map([...signs].map(([i, sign]) => [moved(i), sign])), found: strongest(plain).map(moved) };
}

/**
 * A cell in words; for a word of several tokens, the mean of their steps.
 *
 * @param {Trace} trace @param {Site} site @param {AttentionMap} map @param {number} r @param {number} c @param {number} value @param {Words} words
 */
function said(trace, site, map, r, c, value, words) {
  const cell = `${map.rows[r]} → ${map.columns[c]}: ${value.toFixed(3)}`;
  const behind = map.places.rows[r];
  return behind.length < 2 ? cell : `${cell}; ${words.meanOf(behind.map((row) => rowName(trace, site, row, words)))}`;
}

/**
 * What a row is: a token as the query, or a step that has read one token and writes the next.
 *
 * @param {Trace} trace @param {Site} site @param {number} row @param {Words} words
 */
export function rowName(trace, site, row, words) {
  const read = readable(site.rowTokens[row]);
  const next = site.rowTokens[row + 1] ?? trace.steps[row]?.token;
  return site.writes && next !== undefined ? words.readsWrites(read, readable(next)) : read;
}

/**
 * Opens the exact cell: its tokens, in the head that the map shows or, if it shows all heads, in the
 * one with the largest weight there; the row and the key are the strongest pair of tokens.
 *
 * @param {Site} site @param {AttentionMap} map @param {number} r @param {number} c @param {State} state
 */
function openCell(site, map, r, c, state) {
  const changes = cellOpened(site, map, r, c, headChosen(site, state));
  if (changes) state.set(changes);
}

/**
 * What the state becomes when a cell is opened; null: a sink has no key.
 *
 * @param {Site} site @param {AttentionMap} map @param {number} r @param {number} c @param {Head} chosen
 */
export function cellOpened(site, map, r, c, chosen) {
  const [rows, columns] = [map.places.rows[r], map.places.columns[c]];
  if (!rows?.length || !columns?.length) return null;
  const all = typeof chosen !== "number";
  const head = all ? strongestHead(site, rows, columns) : chosen;
  const pair = pairOf(site, map, r, c, head);
  if (!pair) return null;
  const [query, key] = pair;
  return { view: site.kind === "given" ? "board" : "row", part: site.part, layer: site.layer, head, query, key, word: "", from: all && site.heads > 1 ? chosen : "" };
}

/**
 * The agreement of the strongest links with the gold links.
 *
 * @param {ReturnType<typeof parseGold>} gold @param {AttentionMap} map @param {Words} words
 */
function goldNote(gold, map, words) {
  if (gold.fault) return element("p", { class: "fault", role: "alert" }, words.goldFault(gold.fault));
  if (!gold.signs.size) return element("p", { class: "muted" }, words.goldHelp);
  const { error, precision, recall } = rates(strongest(map), gold.signs);
  return element("p", { id: "error-rate", "aria-live": "polite" },
    Number.isFinite(recall) ? words.errorRate(percent(error), percent(precision), percent(recall)) : words.noSure);
}

/** @param {number} share */
const percent = (share) => `${(100 * share).toFixed(1)} %`;

/**
 * Evaluating every head is a pass over all weights, so it waits until the table is opened.
 *
 * @param {Trace} trace @param {Site} site @param {State} state @param {Words} words
 */
function headsTable(trace, site, state, words) {
  const details = element("details", { id: "every-head" }, element("summary", {}, words.headsTable));
  /** @param {Site} each @param {number} head */
  const error = (each, head) => {
    const map = board(trace, each, each.matrix(head, "weights"), "words", state.get("reading"));
    const { signs } = parseGold(state.get("gold"), map);
    const found = rates(strongest(map), signs);
    return Number.isFinite(found.recall) ? [percent(found.error)] : [];
  };
  details.addEventListener("toggle", () => {
    const rows = [];
    for (const each of trace.of(site.part)) {
      for (let head = 0; head < each.heads; head++) {
        const { entropy, confidence } = each.measures(head);
        const judged = site.part === "cross" ? error(each, head) : [];
        rows.push([`${each.layer + 1}.${head + 1}`, entropy.toFixed(3), confidence.toFixed(3), ...judged]);
      }
    }
    const headings = [`${words.layer}.${words.head}`, words.entropy, words.confidence, words.errorRateShort];
    details.append(table(headings.slice(0, rows[0].length), rows, words.headsTable));
  }, { once: true });
  return details;
}
