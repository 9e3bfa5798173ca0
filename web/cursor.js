/**
 * The one cursor of all views: an attention module, a head, and a pair of tokens.
 *
 * The state holds the pair as the row and the column of the matrix (`query`, `key`). Where it holds
 * none, the cursor is at the cell that is worth opening with.
 */

import { board, cellWeight, largest } from "./maps.js";

const SPELT = /[\p{L}\p{N}]/u;

/**
 * The module that the state names; a link may name a part or a layer that does not exist.
 *
 * @param {Trace} trace
 * @param {Chosen} state
 */
export function siteOf(trace, state) {
  const known = trace.of(state.get("part"));
  const sites = known.length ? known : trace.of(trace.parts()[0]);
  return sites.find((site) => site.layer === state.get("layer")) || sites[sites.length - 1];
}

/**
 * "mean", "max", or the number of a head that the site has: a link may name one that it has not.
 *
 * @param {Site} site
 * @param {Chosen} state
 */
export function headChosen(site, state) {
  const head = state.get("head");
  return typeof head === "number" ? Math.min(head, site.heads - 1) : head;
}

/**
 * The head whose weights are shares: of differential attention the mean is a signed difference.
 *
 * @param {Site} site
 * @param {Chosen} state
 */
export function shareHead(site, state) {
  const head = headChosen(site, state);
  return head === "mean" && site.array("factors") ? 0 : head;
}

/**
 * The head with the largest weight in a cell: of its rows and columns in the matrix.
 *
 * @param {Site} site
 * @param {number[]} rows
 * @param {number[]} columns
 */
export function strongestHead(site, rows, columns) {
  return largest(Array.from({ length: site.heads }, (_, head) => cellWeight(site, head, rows, columns)));
}

/**
 * The weights of a module by words or tokens, as the attention map shows them; not to be changed, because it is kept.
 *
 * @param {Trace} trace
 * @param {Site} site
 * @param {Chosen} state
 * @param {Head} head
 */
export function weightsMap(trace, site, state, head = shareHead(site, state)) {
  const name = [head, state.get("unit"), state.get("reading")].join();
  site.maps[name] ??= board(trace, site, site.matrix(head, "weights"), state.get("unit"), state.get("reading"),
    Boolean(site.array("sink")) && head !== "max");
  return site.maps[name];
}

/**
 * The cursor's row and column in a map; the column is the strongest one if the state names none.
 *
 * @param {Trace} trace
 * @param {Site} site
 * @param {AttentionMap} map
 * @param {Chosen} state
 */
export function cursorIn(trace, site, map, state) {
  const query = state.get("query");
  const named = query === null ? -1 : holds(map.places.rows, query);
  const row = named < 0 ? opening(trace, site, map) : named;
  const found = strongestOf(map, row);
  const key = state.get("key");
  const column = named < 0 || key === null ? -1 : holds(map.places.columns, key);
  return { row, column: column < 0 ? found : column, top: found, named: named >= 0 };
}

/**
 * @param {number[][]} places
 * @param {number} token
 */
function holds(places, token) {
  return places.findIndex((tokens) => tokens.includes(token));
}

/**
 * The column with the largest weight of a row.
 *
 * @param {Pick<AttentionMap, "columns" | "values">} map
 * @param {number} row
 */
export function strongestOf(map, row) {
  const width = map.columns.length;
  return largest(map.values.subarray(row * width, (row + 1) * width));
}

/**
 * The tokens behind a cell of a map: its strongest pair in a head; null: there are none.
 *
 * @param {Site} site
 * @param {Pick<AttentionMap, "places">} map
 * @param {number} row
 * @param {number} column
 * @param {Head} head
 */
export function pairOf(site, map, row, column, head) {
  return strongestPair(site, map.places.rows[row] ?? [], map.places.columns[column] ?? [], head);
}

/**
 * @param {Site} site
 * @param {number[]} rows
 * @param {number[]} columns
 * @param {Head} head
 * @returns {[query: number, key: number] | null}
 */
function strongestPair(site, rows, columns, head) {
  const pairs = /** @type {[number, number][]} */ (rows.flatMap((query) => columns.map((key) => [query, key])));
  if (!pairs.length) return null;
  const matrix = site.matrix(head, "weights");
  return pairs[largest(pairs.map(([query, key]) => matrix[query * site.columns + key]))];
}

/**
 * The cursor of all views, in the map that is shown and in the matrix behind it.
 *
 * `shown`: the head of the map, "mean" and "max" among them. `row`, `column`, `weight`: the cell by words or tokens;
 * a row or column of the matrix that the map does not have, such as END, is -1. `head`: the one head of views that
 * show vectors: `shown`, or of all heads the one with the largest weight in the cell. `query`, `key`: the cell's
 * strongest pair in it, or what the state names.
 *
 * @param {Trace} trace
 * @param {Site} site
 * @param {Chosen} state
 */
export function cursorOf(trace, site, state) {
  const shown = shareHead(site, state);
  const map = weightsMap(trace, site, state, shown);
  const at = cursorIn(trace, site, map, state);
  const [query, key] = [inside(state.get("query"), site.rows), inside(state.get("key"), site.columns)];
  const row = query === null || at.named ? at.row : -1;
  const rows = row < 0 ? [query ?? 0] : map.places.rows[row];
  const column = key !== null && query !== null ? holds(map.places.columns, key) : row < 0 ? strongestFrom(site, map, query ?? 0, shown) : at.column;
  const columns = column < 0 ? [key ?? 0] : map.places.columns[column];
  const head = typeof shown === "number" ? shown : strongestHead(site, rows, columns);
  const pair = strongestPair(site, query === null ? rows : [query], columns, head) ?? [0, 0];
  return { shown, map, row, column, head, weight: cellWeight(site, shown, rows, columns), query: query ?? pair[0], key: query !== null && key !== null ? key : pair[1] };
}

/**
 * @param {number | null} chosen
 * @param {number} length
 */
function inside(chosen, length) {
  return chosen === null ? null : Math.min(chosen, length - 1);
}

/**
 * The strongest column of a row of the matrix that the map does not have.
 *
 * @param {Site} site
 * @param {AttentionMap} map
 * @param {number} query
 * @param {Head} head
 */
function strongestFrom(site, map, query, head) {
  return largest(map.places.columns.map((columns) => cellWeight(site, head, [query], columns)));
}

/**
 * The row to open with: the one with the largest weight of those that say something. A filled gap comes
 * first, then a word that was written and not given, then a word with letters. jumok.plot.cursor opens at the same one.
 *
 * @param {Trace} trace
 * @param {Site} site
 * @param {AttentionMap} map
 */
function opening(trace, site, map) {
  const width = map.columns.length;
  const own = site.queries === site.keys;
  const { gaps = [], prompt = 0 } = trace.findings;
  const rows = map.rows.map((_, row) => row).filter((row) => map.places.rows[row].length);
  const spelt = (/** @type {number} */ row) => SPELT.test(map.rows[row]);
  const written = (/** @type {number} */ row) => prompt > 0 && row + 1 < map.rows.length && map.places.rows[row].some((query) => query >= prompt);
  const narrowed = [
    (/** @type {number} */ row) => gaps.some((gap) => map.places.rows[row].includes(gap)),
    (/** @type {number} */ row) => written(row) && spelt(row),
    written,
    spelt,
  ].map((wanted) => rows.filter(wanted)).find((kept) => kept.length) ?? rows;
  // A row whose largest weight is on its own word says little.
  const worth = (/** @type {number} */ row) => {
    const top = strongestOf(map, row);
    return map.values[row * width + top] - (own && top === row ? 1 : 0);
  };
  return narrowed[largest(narrowed.map(worth))] ?? 0;
}
