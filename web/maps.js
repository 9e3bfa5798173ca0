/** The maps of attention that the board draws, by words or by tokens. */

import { readable, total } from "./trace.js";

/**
 * The map that the board draws: rows and columns are words or tokens, with the row of the step that writes
 * a token, or of the one that reads it. A word's weight in a column is the sum over its tokens, and in a
 * row the mean over them (Clark et al. 2019).
 *
 * `places`: the rows and columns of the matrix behind each row and column of the map. `rest`: for each
 * row the weight of tokens that are not words (END, [CLS], [SEP]), whose columns are `left`.
 * `sunk`: whether the rest of each row, up to 1, is counted as rest, too: it is the weight of a sink.
 *
 * @param {Trace} trace
 * @param {Site} site
 * @param {Float32Array} matrix
 * @param {Unit} unit
 * @param {Values["reading"]} reading
 * @returns {AttentionMap}
 */
export function board(trace, site, matrix, unit, reading, sunk = false) {
  const queries = trace.axes[site.queries];
  const keys = trace.axes[site.keys];
  const shifted = site.writes && reading === "writes";
  /** @type {Row[]} */
  const rows = [];
  for (let r = 0; r < site.rows; r++) {
    const named = shifted ? r + 1 : r;
    if (named < site.rows) rows.push({ row: r, token: queries.tokens[named], word: queries.words[named] });
    else if (unit === "pieces") rows.push({ row: r, token: "⏎", word: null });
  }
  const columns = keys.tokens.map((token, column) => ({ column, token, word: keys.words[column] }));
  if (unit === "pieces") {
    // The named rows are consecutive: the values are the matrix itself, perhaps without its last row.
    return {
      rows: rows.map((each) => readable(each.token)),
      columns: columns.map((each) => readable(each.token)),
      values: matrix.slice(0, rows.length * site.columns),
      places: { rows: rows.map(({ row }) => [row]), columns: columns.map(({ column }) => [column]) },
      rest: sunk ? Float32Array.from(rows, ({ row }) => sinkOf(site, matrix, row)) : [],
      left: [],
      sunk,
    };
  }
  return byWords(site, matrix, queries, keys, rows, columns, sunk);
}

/**
 * The weight of the sink in one row.
 *
 * @param {Site} site
 * @param {Float32Array} matrix
 * @param {number} row
 */
function sinkOf(site, matrix, row) {
  return 1 - total([...matrix.subarray(row * site.columns, (row + 1) * site.columns)]);
}

/**
 * A row of the matrix, or a column, with its token, and the index of its word.
 *
 * @typedef {{ row: number, token: string, word: number | null }} Row
 * @typedef {{ column: number, token: string, word: number | null }} Column
 */

/**
 * @param {Site} site
 * @param {Float32Array} matrix
 * @param {Axis} queries
 * @param {Axis} keys
 * @param {Row[]} rows
 * @param {Column[]} columns
 * @param {boolean} sunk
 * @returns {AttentionMap}
 */
function byWords(site, matrix, queries, keys, rows, columns, sunk) {
  const width = keys.texts.length;
  const values = new Float32Array(queries.texts.length * width);
  const rest = new Float32Array(queries.texts.length);
  /** @type {AttentionMap["places"]} */
  const places = { rows: queries.texts.map(() => []), columns: keys.texts.map(() => []) };
  /** @type {number[]} */
  const left = [];
  for (const { column, word } of columns) (word === null ? left : places.columns[word]).push(column);
  const wordOf = Int32Array.from(columns, ({ word }) => word ?? -1); // numbers alone: every cell of a matrix passes here
  for (const { row, word } of rows) {
    if (word === null) continue;
    places.rows[word].push(row);
    if (sunk) rest[word] += sinkOf(site, matrix, row);
    const at = word * width;
    for (let column = 0; column < wordOf.length; column++) {
      const weight = matrix[row * site.columns + column];
      if (wordOf[column] < 0) rest[word] += weight;
      else values[at + wordOf[column]] += weight;
    }
  }
  places.rows.forEach((behind, word) => {
    const count = behind.length || 1;
    rest[word] /= count;
    for (let other = 0; other < width; other++) values[word * width + other] /= count;
  });
  return { rows: queries.texts, columns: keys.texts, values, places, rest, left, sunk };
}

/**
 * The map with a last column for the weight of sinks and of tokens that are not words, if there are any: then it is `rested`.
 *
 * @template {AttentionMap} M
 * @param {M} map
 * @param {string} name
 * @returns {M}
 */
export function withRest(map, name) {
  if (!map.left.length && !map.sunk) return map;
  const width = map.columns.length;
  const values = new Float32Array(map.rows.length * (width + 1));
  for (let r = 0; r < map.rest.length; r++) {
    values.set(map.values.subarray(r * width, (r + 1) * width), r * (width + 1));
    values[r * (width + 1) + width] = map.rest[r];
  }
  const places = { rows: map.places.rows, columns: [...map.places.columns, map.left] };
  return { ...map, columns: [...map.columns, name], values, places, rested: true };
}

/**
 * The index of the largest value.
 *
 * @param {ArrayLike<number>} values
 */
export function largest(values) {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i] > values[best]) best = i;
  return best;
}

/**
 * The weight of a map's cell in one head: the mean over its rows of the sums over its columns.
 *
 * @param {Site} site
 * @param {Head} head
 * @param {number[]} rows
 * @param {number[]} columns
 */
export function cellWeight(site, head, rows, columns) {
  const matrix = site.matrix(head, "weights");
  let sum = 0;
  for (const row of rows) for (const column of columns) sum += matrix[row * site.columns + column];
  return sum / (rows.length || 1);
}

/**
 * The head whose largest weight among the words is the highest, as a mean over the rows.
 *
 * @param {Trace} trace
 * @param {Site} site
 * @param {Unit} unit
 * @param {Values["reading"]} reading
 */
export function sharpest(trace, site, unit, reading) {
  const found = Array.from({ length: site.heads }, (_, head) => {
    const map = board(trace, site, site.matrix(head, "weights"), unit, reading);
    const width = map.columns.length;
    return map.rows.reduce((sum, _, r) => {
      const values = map.values.subarray(r * width, (r + 1) * width);
      return sum + Math.max(0, values[largest(values)] ?? 0);
    }, 0);
  });
  return largest(found);
}
