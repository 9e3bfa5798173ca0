/** The recorded numbers: arrays that are decoded once, and the sums that every view needs. */

import { Packed, isHere, nested } from "./arrays.js";
import { OnPage } from "./on_page.js";
import { recordedWeights } from "./recomputed_weights.js";

/** @type {Part[]} */
const PARTS = ["cross", "encoder", "decoder", "image"];

/** One attention module. */
export class Site {
  /**
   * @param {RawSite} raw
   * @param {Record<string, Axis>} axes
   */
  constructor(raw, axes) {
    this.name = raw.name;
    this.kind = raw.kind;
    this.part = raw.part;
    this.layer = raw.layer;
    this.queries = raw.queries;
    this.keys = raw.keys;
    this.scale = raw.scale;
    this.residual_gate = raw.residual_gate;
    this.rowTokens = axes[raw.queries].tokens;
    this.columnTokens = axes[raw.keys].tokens;
    /** What is decoded so far; null: the module has none. @type {{ [N in ArrayName]?: Packed | null }} */
    this.arrays = {};
    this.raw = raw.arrays;
    /** The maps that were drawn, by what they depend on: see cursor.js. @type {Record<string, AttentionMap>} */
    this.maps = {};
    /** Those of the whole model: see flow/model.js. @type {Record<string, AttentionMap>} */
    this.flows = {};
    this.writes = raw.part === "decoder" || raw.part === "cross";
    const [heads, rows, columns] = raw.arrays.weights.shape;
    this.heads = heads;
    this.rows = rows;
    this.columns = columns;
  }

  /**
   * Whether the mask permits a query to attend to a key.
   *
   * @param {number} row
   * @param {number} column
   */
  allows(row, column) {
    const mask = this.array("allowed");
    return !mask || mask.is(row * this.columns + column);
  }

  /**
   * An array; null: the module has none of this name.
   *
   * @param {ArrayName} name
   * @returns {Packed | null}
   */
  array(name) {
    const known = this.arrays[name];
    if (known !== undefined) return known;
    const raw = this.raw[name];
    const found = raw ? this.unpacked(raw) : null;
    this.arrays[name] = found;
    return found;
  }

  /**
   * An array that the module has.
   *
   * @param {ArrayName} name
   */
  known(name) {
    const found = this.array(name);
    if (!found) throw new Error(`${this.name} has no ${name}`);
    return found;
  }

  /** @param {RawArray} raw */
  unpacked(raw) {
    if (raw.type !== "apart") return new Packed(raw);
    return new Packed({ shape: raw.shape, type: "f32", data: new Uint8Array(recordedWeights(this).buffer) });
  }

  /** Whether its arrays are there: in a large saved page some are unpacked after the first picture. */
  get here() {
    return Object.values(this.raw).every(isHere);
  }

  /**
   * One matrix, row by row: of a head, or the "mean" or "max" of all heads; of weights or norms.
   *
   * @param {Head} head
   * @param {"weights" | "norms"} value
   */
  matrix(head, value) {
    const size = this.rows * this.columns;
    if (value === "norms") return this.shares(this.known("norms").values);
    const weights = this.known("weights");
    if (typeof head === "number") return weights.window(head * size, (head + 1) * size);
    const [all, unit] = weights.stored;
    const signs = this.array("factors")?.values;
    if (signs && head === "mean") return this.difference(signs, all, unit);
    const factor = head === "mean" ? unit / this.heads : unit;
    const out = new Float32Array(size);
    for (let h = 0; h < this.heads; h++) {
      const start = h * size;
      if (head === "mean") for (let i = 0; i < size; i++) out[i] += all[start + i];
      else for (let i = 0; i < size; i++) if (all[start + i] > out[i]) out[i] = all[start + i];
    }
    for (let i = 0; i < size; i++) out[i] *= factor;
    return out;
  }

  /**
   * The mean over the pairs of heads of what is left when one map of each is subtracted from the other.
   *
   * @param {Float32Array} signs
   * @param {ArrayLike<number>} all
   * @param {number} unit
   */
  difference(signs, all, unit) {
    const size = this.rows * this.columns;
    const out = new Float32Array(size);
    const pairs = signs.filter((sign) => sign > 0).length;
    for (let h = 0; h < this.heads; h++) {
      for (let i = 0; i < size; i++) out[i] += (all[h * size + i] * unit * signs[h]) / pairs;
    }
    return out;
  }

  /**
   * Norms have no upper bound: each is drawn as its share of the row's sum.
   *
   * @param {Float32Array} norms
   */
  shares(norms) {
    const out = new Float32Array(norms.length);
    for (let r = 0; r < this.rows; r++) {
      let sum = 0;
      for (let c = 0; c < this.columns; c++) sum += norms[r * this.columns + c];
      for (let c = 0; c < this.columns; c++) {
        out[r * this.columns + c] = sum ? norms[r * this.columns + c] / sum : 0;
      }
    }
    return out;
  }

  /**
   * @param {"query" | "key" | "value"} name
   * @param {number} head
   * @param {number} position
   */
  vector(name, head, position) {
    const { shape, values } = this.known(name);
    const [, length, dim] = shape;
    return values.subarray((head * length + position) * dim, (head * length + position + 1) * dim);
  }

  /**
   * The mean entropy of the rows in nats, and the mean of each row's largest weight.
   *
   * @param {Head} head
   */
  measures(head) {
    const matrix = this.matrix(head, "weights");
    let entropy = 0;
    let confidence = 0;
    for (let r = 0; r < this.rows; r++) {
      let most = 0;
      for (let c = 0; c < this.columns; c++) {
        const weight = matrix[r * this.columns + c];
        if (weight > 0) entropy -= weight * Math.log(weight);
        if (weight > most) most = weight;
      }
      confidence += most;
    }
    return { entropy: entropy / this.rows, confidence: confidence / this.rows };
  }
}

/**
 * A search tree: every node with its fields, and `row(id)`, what its token attended to; null if that is not known.
 *
 * @param {RawSearch} raw
 * @returns {Search}
 */
function searchOf({ nodes, leaves, rows, maps }) {
  const packed = maps && new Packed(maps);
  const width = maps?.shape[1] ?? 0;
  return {
    nodes: nodes.map(([parent, token, piece, logp, total, fate]) => ({ parent, token, piece, log_probability: logp, total, fate })),
    leaves,
    row: (id) => (!packed || rows[id] < 0 ? null : packed.window(rows[id] * width, (rows[id] + 1) * width)),
  };
}

/**
 * The attributions, whose measures are lists of rows.
 *
 * @param {RawAttribution} raw
 * @returns {Attribution}
 */
function attributionOf(raw) {
  const measures = Object.entries(raw.measures).map(([name, measure]) =>
    [name, Object.fromEntries(Object.entries(measure).map(([axis, matrix]) => [axis, nested(matrix)]))]);
  return { ...raw, measures: Object.fromEntries(measures) };
}

/** What a model computed for one input: all that is recorded of it. What the page knows besides is in `page`. */
export class Trace {
  /** @param {RawAnswer} raw */
  constructor(raw) {
    this.model = raw.model;
    this.changes = raw.changes;
    this.task = raw.task;
    this.text = raw.text;
    this.output = raw.output;
    this.segment = raw.segment;
    this.segments = raw.segments;
    this.picture = raw.picture;
    this.steps = raw.steps;
    this.kind = raw.kind;
    this.walk = raw.walk;
    this.version = raw.version;
    this.forced = raw.forced;
    this.milliseconds = raw.milliseconds;
    this.weights = raw.weights;
    this.precision = raw.precision;
    this.all = raw.all;
    this.axes = Object.fromEntries(Object.entries(raw.axes).map(([name, axis]) =>
      [name, { ...axis, texts: axis.texts.map(visible) }]));
    this.sites = raw.sites.map((site) => new Site(site, raw.axes));
    this.page = new OnPage();
    /** @type {Trace | undefined} */
    this.other = raw.other && new Trace(raw.other);
    const { search, attribution, ...others } = raw.findings;
    /** @type {Findings} */
    this.findings = others;
    if (search) this.findings.search = searchOf(search);
    if (attribution) this.findings.attribution = { words: attributionOf(attribution.words), pieces: attributionOf(attribution.pieces) };
    /** How far the heads of another trace are from this one's: see compare/difference.js. @type {WeakMap<Trace, Record<string, HeadApart[]>>} */
    this.apart = new WeakMap();
  }

  /** Whether the model writes from left to right. */
  get writesText() {
    return this.kind.writes === "text" || this.kind.writes === "continuation";
  }

  /** @returns {Part[]} */
  parts() {
    return PARTS.filter((part) => this.of(part).length);
  }

  /** @param {string} part */
  of(part) {
    return this.sites.filter((site) => site.part === part);
  }

  /**
   * The rows and columns of an axis of cells.
   *
   * @param {string} axis
   */
  gridOf(axis) {
    const { grid } = this.axes[axis];
    if (!grid) throw new Error(`${axis} is no image`);
    return grid;
  }
}

/** @param {number[] | Vector} values */
export function total(values) {
  return /** @type {number[]} */ (values).reduce((sum, value) => sum + value, 0);
}

/**
 * A token as it is shown: the space marker becomes a small dot, and nothing is markup.
 *
 * @param {string} token
 */
export function readable(token) {
  return visible(token.replace("<newline>", "⏎").replace(/▁/g, "·").replace(/^·(?=.)/, "") || token);
}

/**
 * The text that tokens spell.
 *
 * @param {string[]} pieces
 */
export function spelled(pieces) {
  return visible(pieces.join("").replace("<newline>", "⏎").replace(/▁/g, " ").trim());
}

const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/**
 * Characters that are invisible or change the direction of text, as visible names, without effect.
 *
 * @param {string} text
 */
export function visible(text) {
  return text.replace(CONTROLS, (sign) => {
    const code = sign.charCodeAt(0);
    return code < 32 ? String.fromCharCode(0x2400 + code) : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  });
}

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
