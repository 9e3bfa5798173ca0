/** Where the cursor is, as a path of links: the whole model, a map, a row, one product. */

import { cursorIn, shareHead, siteOf, weightsMap } from "./cursor.js";
import { element } from "./dom.js";
import { cellOpened } from "./views/board.js";

const DEEP = { overview: 0, grid: 0, board: 1, scrubber: 1, row: 3, walk: 3 }; // how deep in the path a view is

/**
 * The path of a view of attention weights: each link opens the view of its depth, at the same cursor.
 *
 * The number is the weight of the map's cell in the head that is shown: the same in all of these views.
 */
export function pathOf(trace, name, names, state, words) {
  if (!(name in DEEP)) return [];
  const site = siteOf(trace, state);
  const all = shareHead(site, state);
  const map = weightsMap(trace, site, state, all);
  const { row, column } = cursorIn(trace, site, map, state);
  const number = map.values[row * map.columns.length + column] ?? 0;
  const over = trace.axes[site.keys].grid && names.includes("scrubber") ? "scrubber" : "board";
  const head = all === "mean" ? words.mean : all === "max" ? words.max : words.pathHead(String(Number(all) + 1));
  const deepest = names.includes("row") ? "row" : over;
  const links = [
    ["overview", words.pathModel, "overview"],
    ["map", `${words[site.part]}, ${words.layerNumber(site.layer + 1)}, ${head}`, over],
    ["row", `“${map.rows[row]}”`, deepest],
    ["cell", `→ “${map.columns[column]}”: ${number.toFixed(3)}`, deepest],
  ];
  const here = DEEP[name];
  return [element("nav", { class: "path", "aria-label": words.path }, ...links.map(([id, text, view], depth) =>
    element("button", { type: "button", id: `path-${id}`, "aria-current": depth === here ? "step" : null,
      onclick: () => state.set({ part: site.part, layer: site.layer, ...(depth > 1 ? cellOpened(site, map, row, column, all) : {}), view }) }, text)))];
}
