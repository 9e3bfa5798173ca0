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
