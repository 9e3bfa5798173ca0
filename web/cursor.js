/**
 * The one cursor of all views: an attention module, a head, and a pair of tokens.
 *
 * The state holds the pair as the row and the column of the matrix (`query`, `key`). Where it holds
 * none, the cursor is at the cell that is worth opening with.
 */

import { board, largest } from "./trace.js";

const SPELT = /[\p{L}\p{N}]/u;

export function siteOf(trace, state) {
  const known = trace.of(state.get("part")); // a link may name a part that does not exist
  const sites = known.length ? known : trace.of(trace.parts()[0]);
  return sites.find((site) => String(site.layer) === state.get("layer")) || sites[sites.length - 1];
}

/** "mean", "max", or a head that the site has. */
export function headChosen(site, state) {
  const head = state.get("head");
  return ["mean", "max"].includes(head) ? head : String(headOf(site, state));
}

export function headOf(site, state) {
  return Math.min(Math.max(state.number("head"), 0), site.heads - 1);
}

/** The head whose weights are shares: of differential attention the mean is a signed difference. */
export function shareHead(site, state) {
  const head = headChosen(site, state);
  return head === "mean" && site.array("factors") ? "0" : head;
}

/** The weights of a module by words or tokens, as the attention map shows them; not to be changed, because it is kept. */
export function weightsMap(trace, site, state, head = shareHead(site, state)) {
  const name = [head, state.get("unit"), state.get("reading")].join();
  site.maps ??= {};
  site.maps[name] ??= board(trace, site, site.matrix(head, "weights"), state.get("unit"), state.get("reading"),
    Boolean(site.array("sink")) && head !== "max");
  return site.maps[name];
}

/** The cursor's row and column in a map; the column is the strongest one if the state names none. */
export function cursorIn(trace, site, map, state) {
  const named = state.get("query") === "" ? -1 : holds(map.places.rows, state.number("query"));
  const row = named < 0 ? opening(trace, site, map) : named;
  const found = strongestOf(map, row);
  const key = named < 0 || state.get("key") === "" ? -1 : holds(map.places.columns, state.number("key"));
  return { row, column: key < 0 ? found : key, top: found, named: named >= 0 };
}

function holds(places, token) {
  return places.findIndex((tokens) => tokens.includes(token));
}

/** The column with the largest weight of a row. */
export function strongestOf(map, row) {
  const width = map.columns.length;
  return largest(map.values.subarray(row * width, (row + 1) * width));
}

/** The tokens behind a cell: its strongest pair in the head that is shown. */
export function pairOf(site, map, row, column, head) {
  const rows = map.places.rows[row] ?? [];
  const columns = map.places.columns[column] ?? [];
  const pairs = rows.flatMap((query) => columns.map((key) => [query, key]));
  if (!pairs.length) return null;
  const matrix = site.matrix(head, "weights");
  return pairs[largest(pairs.map(([query, key]) => matrix[query * site.columns + key]))];
}

/** The cursor as the row and the column of the matrix: those that the state names, or those of the cell to open with. */
export function pairIn(trace, site, state) {
  const named = [state.get("query"), state.get("key")];
  if (named.every((token) => token !== "")) return [Math.min(state.number("query"), site.rows - 1), Math.min(state.number("key"), site.columns - 1)];
  const head = String(headOf(site, state));
  const map = weightsMap(trace, site, state, head);
  const { row, column } = cursorIn(trace, site, map, state);
  const pair = pairOf(site, map, row, column, head) ?? [0, 0];
  return named[0] === "" ? pair : [Math.min(state.number("query"), site.rows - 1), pair[1]];
}

/**
 * The row to open with: the one with the largest weight of those that say something. A filled gap comes
 * first, then what was written and not given, then a word with letters.
 */
function opening(trace, site, map) {
  const width = map.columns.length;
  const own = site.queries === site.keys;
  const { gaps = [], prompt = 0 } = trace.findings;
  const rows = map.rows.map((_, row) => row).filter((row) => map.places.rows[row].length);
  const narrowed = [
    (row) => gaps.some((gap) => map.places.rows[row].includes(gap)),
    (row) => prompt && row + 1 < map.rows.length && map.places.rows[row].some((query) => query >= prompt),
    (row) => SPELT.test(map.rows[row]),
  ].map((wanted) => rows.filter(wanted)).find((kept) => kept.length) ?? rows;
  // A row whose largest weight is on its own word says little.
  const worth = (row) => {
    const top = strongestOf(map, row);
    return map.values[row * width + top] - (own && top === row ? 1 : 0);
  };
  return narrowed[largest(narrowed.map(worth))] ?? 0;
}
