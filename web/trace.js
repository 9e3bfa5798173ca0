/** The recorded numbers: arrays that are decoded once, and the sums that every view needs. */

import { Packed, isHere, nested } from "./arrays.js";
import { recordedWeights } from "./recomputed_weights.js";

export class Site {
  constructor(raw, axes) {
    Object.assign(this, raw);
    this.rowTokens = axes[raw.queries].tokens;
    this.columnTokens = axes[raw.keys].tokens;
    this.arrays = {};
    this.raw = raw.arrays;
    this.writes = raw.part === "decoder" || raw.part === "cross";
    [this.heads, this.rows, this.columns] = raw.arrays.weights.shape;
  }

  /** Whether the mask permits a query to attend to a key. */
  allows(row, column) {
    const mask = this.array("allowed");
    return !mask || mask.is(row * this.columns + column);
  }

  array(name) {
    if (!(name in this.arrays)) this.arrays[name] = this.raw[name] ? this.unpacked(this.raw[name]) : null;
    return this.arrays[name];
  }

  unpacked(raw) {
    if (raw.type !== "apart") return new Packed(raw);
    return new Packed({ shape: raw.shape, type: "f32", data: new Uint8Array(recordedWeights(this).buffer) });
  }

  /** Whether its arrays are there: in a large saved page some are unpacked after the first picture. */
  get here() {
    return Object.values(this.raw).every(isHere);
  }

  /** One matrix, row by row: of a head, or the "mean" or "max" of all heads; of weights or norms. */
  matrix(head, value) {
    const size = this.rows * this.columns;
    if (value === "norms") return this.shares(this.array("norms").values);
    const weights = this.array("weights");
    if (head !== "mean" && head !== "max") {
      return weights.window(Number(head) * size, (Number(head) + 1) * size);
    }
    const [all, unit] = weights.bytes ? [weights.bytes, 1 / 255] : [weights.numbers, 1];
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

  /** The mean over the pairs of heads of what is left when one map of each is subtracted from the other. */
  difference(signs, all, unit) {
    const size = this.rows * this.columns;
    const out = new Float32Array(size);
    const pairs = signs.filter((sign) => sign > 0).length;
    for (let h = 0; h < this.heads; h++) {
      for (let i = 0; i < size; i++) out[i] += (all[h * size + i] * unit * signs[h]) / pairs;
    }
    return out;
  }

  /** Norms have no upper bound: each is drawn as its share of the row's sum. */
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

  vector(name, head, position) {
    const { shape, values } = this.array(name);
    const [, length, dim] = shape;
    return values.subarray((head * length + position) * dim, (head * length + position + 1) * dim);
  }

  /** The mean entropy of the rows in nats, and the mean of each row's largest weight. */
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

/** A search tree: every node with its fields, and `row(id)`, what its token attended to; null if that is not known. */
function searchOf({ nodes, leaves, rows, maps }) {
  const packed = maps && new Packed(maps);
  const width = maps?.shape[1];
  return {
    nodes: nodes.map(([parent, token, piece, logp, total, fate]) => ({ parent, token, piece, log_probability: logp, total, fate })),
    leaves,
    row: (id) => (rows[id] < 0 ? null : packed.window(rows[id] * width, (rows[id] + 1) * width)),
  };
}

/** The attributions by tokens and by words, whose measures are lists of rows. */
function attributionsOf(byUnit) {
  const rows = (measure) => Object.fromEntries(Object.entries(measure).map(([axis, matrix]) => [axis, nested(matrix)]));
  return Object.fromEntries(Object.entries(byUnit).map(([unit, found]) => [unit, {
    ...found, measures: Object.fromEntries(Object.entries(found.measures).map(([name, measure]) => [name, rows(measure)])),
  }]));
}

export class Trace {
  constructor(raw) {
    Object.assign(this, raw);
    this.axes = Object.fromEntries(Object.entries(raw.axes).map(([name, axis]) =>
      [name, { ...axis, texts: axis.texts.map(visible) }]));
    this.sites = raw.sites.map((site) => new Site(site, raw.axes));
    if (raw.other) this.other = new Trace(raw.other);
    const { search, attribution } = raw.findings;
    if (search) this.findings = { ...this.findings, search: searchOf(search) };
    if (attribution) this.findings = { ...this.findings, attribution: attributionsOf(attribution) };
  }

  /** Whether the model writes from left to right. */
  get writesText() {
    return this.kind.writes === "text" || this.kind.writes === "continuation";
  }

  parts() {
    return ["cross", "encoder", "decoder", "image"].filter((part) => this.of(part).length);
  }

  of(part) {
    return this.sites.filter((site) => site.part === part);
  }
}

export function total(values) {
  return values.reduce((sum, value) => sum + value, 0);
}

/** A token as it is shown: the space marker becomes a small dot, and nothing is markup. */
export function readable(token) {
  return visible(token.replace("<newline>", "⏎").replace(/▁/g, "·").replace(/^·(?=.)/, "") || token);
}

/** The text that tokens spell. */
export function spelled(pieces) {
  return visible(pieces.join("").replace("<newline>", "⏎").replace(/▁/g, " ").trim());
}

const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Characters that are invisible or change the direction of text, as visible names, without effect. */
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
 */
export function board(trace, site, matrix, unit, reading, sunk = false) {
  const queries = trace.axes[site.queries];
  const keys = trace.axes[site.keys];
  const shifted = site.writes && reading === "writes";
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

/** The weight of the sink in one row. */
function sinkOf(site, matrix, row) {
  return 1 - total([...matrix.subarray(row * site.columns, (row + 1) * site.columns)]);
}

function byWords(site, matrix, queries, keys, rows, columns, sunk) {
  const width = keys.texts.length;
  const values = new Float32Array(queries.texts.length * width);
  const rest = new Float32Array(queries.texts.length);
  const places = { rows: queries.texts.map(() => []), columns: keys.texts.map(() => []) };
  const left = [];
  for (const { column, word } of columns) (word === null ? left : places.columns[word]).push(column);
  for (const { row, word } of rows) {
    if (word === null) continue;
    places.rows[word].push(row);
    if (sunk) rest[word] += sinkOf(site, matrix, row);
    for (const { column, word: other } of columns) {
      const weight = matrix[row * site.columns + column];
      if (other === null) rest[word] += weight;
      else values[word * width + other] += weight;
    }
  }
  places.rows.forEach((behind, word) => {
    const count = behind.length || 1;
    rest[word] /= count;
    for (let other = 0; other < width; other++) values[word * width + other] /= count;
  });
  return { rows: queries.texts, columns: keys.texts, values, places, rest, left, sunk };
}

/** The map with a last column for the weight of sinks and of tokens that are not words, if there are any: then it is `rested`. */
export function withRest(map, name) {
  if (!map.left.length && !map.sunk) return map;
  const width = map.columns.length;
  const values = new Float32Array(map.rows.length * (width + 1));
  map.rest.forEach((rest, r) => {
    values.set(map.values.subarray(r * width, (r + 1) * width), r * (width + 1));
    values[r * (width + 1) + width] = rest;
  });
  const places = { rows: map.places.rows, columns: [...map.places.columns, map.left] };
  return { ...map, columns: [...map.columns, name], values, places, rested: true };
}

/** The index of the largest value. */
export function largest(values) {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i] > values[best]) best = i;
  return best;
}

/** The weight of a map's cell in one head: the mean over its rows of the sums over its columns. */
export function cellWeight(site, head, rows, columns) {
  const matrix = site.matrix(head, "weights");
  let sum = 0;
  for (const row of rows) for (const column of columns) sum += matrix[row * site.columns + column];
  return sum / (rows.length || 1);
}

/** The head whose largest weight among the words is the highest, as a mean over the rows. */
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
