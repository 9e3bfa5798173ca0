/** Where the cursor is, as a path of links: the whole model, a map, a row, one product. */

import { cursorOf, siteOf } from "./cursor.js";
import { element } from "./dom.js";
import { percentOf } from "./overview/facts.js";
import { readable } from "./trace.js";
import { cellOpened, rowName } from "./views/board.js";

/** @type {Record<string, number>} */
const DEEP = { overview: 0, grid: 0, board: 1, scrubber: 1, row: 3, walk: 3 }; // how deep in the path a view is

/**
 * The path of a view of attention weights: each link opens the view of its depth, at the same cursor.
 *
 * The number is the weight of the map's cell in the head that is shown: the same in all of these views.
 *
 * @param {Trace} trace @param {string} name @param {string[]} names @param {State} state @param {Words} words
 */
export function pathOf(trace, name, names, state, words) {
  if (!(name in DEEP)) return [];
  const site = siteOf(trace, state);
  const { shown, map, row, column, query, key, weight } = cursorOf(trace, site, state);
  const opened = row < 0 || column < 0 ? { query, key } : cellOpened(site, map, row, column, shown);
  const over = trace.axes[site.keys].grid && names.includes("scrubber") ? "scrubber" : "board";
  const head = typeof shown === "number" ? words.pathHead(String(shown + 1)) : words[shown];
  const deepest = names.includes("row") ? "row" : over;
  const links = [
    ["overview", words.pathModel, names.includes("flow") ? "flow" : "overview"],
    ["map", `${words[site.part]}, ${words.layerNumber(site.layer + 1)}, ${head}`, over],
    ["row", `“${map.rows[row] ?? rowName(trace, site, query, words)}”`, deepest],
    ["cell", `“${map.columns[column] ?? readable(site.columnTokens[key])}” (${percentOf(weight)})`, deepest],
  ];
  const here = DEEP[name];
  return [element("nav", { class: "path", "aria-label": words.path }, ...links.map(([id, text, view], depth) =>
    element("button", { type: "button", id: `path-${id}`, "aria-current": depth === here ? "step" : null,
      onclick: () => state.set({ part: site.part, layer: site.layer, ...(depth > 1 ? opened : {}), view }) }, text)))];
}
