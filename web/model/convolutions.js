/**
 * Pixels to cells: layers/convolution.py, with attention over the cells of a stage (attention/convolution.py). An image
 * is a list of cells, each with its channels, row by row: `{ rows, columns, channels, values }`.
 */

import { linear, measures, positive } from "./layers.js";

/**
 * @typedef {{ rows: number, columns: number, channels: number, values: Float32Array }} Image
 * @typedef {Record<"query" | "key" | "value", Float32Array>} Vectors
 * @typedef {Omit<StoredAttention, keyof Vectors> & Vectors & { scale: number, grid: Pair<number>, weights: Float32Array }} SeenCells
 */

const VECTORS = /** @type {const} */ (["query", "key", "value"]);

export class Convolutions {
  /**
   * `facts`: what `PageLayers.convolutions` writes.
   *
   * @param {import("./engine.js").Engine} engine @param {StoredConvolutions} facts
   */
  constructor(engine, facts) {
    this.engine = engine;
    this.facts = facts;
  }

  /**
   * The cells of the last stage, and what those of earlier stages have seen of each other.
   *
   * @param {import("./pixels.js").Pixels} pixels
   */
  read({ width, height, bytes }) {
    const { stem, stages, norm } = this.facts;
    const values = Float32Array.from(bytes, (byte) => Math.fround(byte / 127.5) - 1);
    let image = this.convolved({ rows: height, columns: width, channels: bytes.length / (width * height), values }, stem);
    /** @type {SeenCells[]} */
    const seen = [];
    for (const { halving, blocks, after } of stages) {
      if (halving) image = this.convolved(this.bent(image, halving.norm), halving.convolution);
      for (const block of blocks) {
        const inner = this.convolved(this.bent(image, block.firstNorm), block.first);
        image = added(image, this.convolved(this.bent(inner, block.secondNorm), block.second).values);
      }
      for (const part of after) image = added(image, part.query ? this.attended(image, part, seen) : this.mixed(image, part), part.gate);
    }
    return { image: this.bent(image, norm), seen };
  }

  /** Each cell alone. @param {Omit<Image, "channels">} image @param {StoredLayer} layer */
  linear({ rows, columns, values }, layer) {
    return linear(this.engine, layer, rows * columns, values);
  }

  /** @param {Image} image @param {StoredMixing} layers */
  mixed(image, { inner, outer }) {
    return this.linear({ ...image, values: positive(this.linear(image, inner)) }, outer);
  }

  /**
   * What all cells make of each other; the weights, and what they were made of, are added to `seen`.
   *
   * @param {Image} image @param {StoredAttention} part @param {SeenCells[]} seen
   */
  attended(image, part, seen) {
    const { heads, output } = part;
    const cells = image.rows * image.columns;
    const vectors = /** @type {Vectors} */ (Object.fromEntries(VECTORS.map((name) => [name, byHeads(this.linear(image, part[name]), heads, cells)])));
    const scale = 1 / Math.sqrt(part.query.outputs / heads);
    const weights = new Float32Array(heads * cells * cells);
    const width = part.value.outputs / heads;
    const found = new Float32Array(cells * heads * width);
    for (let head = 0; head < heads; head++) {
      const [queries, keys, values] = VECTORS.map((name) => rowsOf(vectors[name], head, cells, part[name].outputs / heads));
      for (let query = 0; query < cells; query++) {
        const row = weights.subarray((head * cells + query) * cells, (head * cells + query + 1) * cells);
        softmax(row, queries[query], keys, scale);
        const out = found.subarray((query * heads + head) * width, (query * heads + head + 1) * width);
        for (let key = 0; key < cells; key++) for (let d = 0; d < width; d++) out[d] += row[key] * values[key][d];
      }
    }
    seen.push({ ...part, scale, grid: [image.rows, image.columns], weights, ...vectors });
    return this.linear({ ...image, values: found }, output);
  }

  /**
   * The positive part of an image whose groups of channels are normed.
   *
   * @param {Image} image @param {StoredNorm} norm
   * @returns {Image}
   */
  bent({ rows, columns, channels, values }, { groups, gain, bias }) {
    const [gains, biases] = [this.engine.numbers(gain), this.engine.numbers(bias)];
    const [cells, width] = [rows * columns, channels / groups];
    const out = new Float32Array(values.length);
    const group = new Float32Array(cells * width);
    for (let first = 0; first < channels; first += width) {
      for (let cell = 0; cell < cells; cell++) group.set(values.subarray(cell * channels + first, cell * channels + first + width), cell * width);
      const { mean, scale } = measures(group);
      for (let cell = 0; cell < cells; cell++)
        for (let c = 0; c < width; c++)
          out[cell * channels + first + c] = Math.max(0, (group[cell * width + c] - mean) * scale * gains[first + c] + biases[first + c]);
    }
    return { rows, columns, channels, values: out };
  }

  /**
   * The neighbours of each cell side by side, through a linear layer; zeros are around the image.
   *
   * @param {Image} image @param {StoredConvolution} layer
   * @returns {Image}
   */
  convolved({ rows, columns, channels, values }, layer) {
    const { kernel, stride, outputs } = layer;
    const edge = Math.floor(kernel / 2);
    const [down, across] = [rows, columns].map((size) => Math.floor((size - 1) / stride) + 1);
    const width = kernel * kernel * channels;
    const windows = new Float32Array(down * across * width);
    for (let cell = 0; cell < down * across; cell++) {
      const [top, left] = [Math.floor(cell / across) * stride - edge, (cell % across) * stride - edge];
      const [from, to] = [Math.max(0, left), Math.min(columns, left + kernel)];
      for (let row = Math.max(0, top); row < Math.min(rows, top + kernel); row++)
        windows.set(values.subarray((row * columns + from) * channels, (row * columns + to) * channels),
          cell * width + ((row - top) * kernel + from - left) * channels);
    }
    return { rows: down, columns: across, channels: outputs, values: linear(this.engine, layer, down * across, windows) };
  }
}

/** @param {Image} image @param {Float32Array} change */
const added = (image, change, gate = 1) => ({ ...image, values: image.values.map((value, i) => value + gate * change[i]) });

/** (cells, heads x dim) as (heads, cells, dim). @param {Float32Array} values @param {number} heads @param {number} cells */
function byHeads(values, heads, cells) {
  const dim = values.length / (heads * cells);
  const out = new Float32Array(values.length);
  for (let cell = 0; cell < cells; cell++)
    for (let head = 0; head < heads; head++)
      out.set(values.subarray((cell * heads + head) * dim, (cell * heads + head + 1) * dim), (head * cells + cell) * dim);
  return out;
}

/**
 * The vectors of one head, each `width` numbers.
 *
 * @param {Float32Array} values @param {number} head @param {number} cells @param {number} width
 */
const rowsOf = (values, head, cells, width) =>
  Array.from({ length: cells }, (_, cell) => values.subarray((head * cells + cell) * width, (head * cells + cell + 1) * width));

/**
 * Fills `row` with the softmax of the scaled products of a query and all keys.
 *
 * @param {Float32Array} row @param {Float32Array} query @param {Float32Array[]} keys @param {number} scale
 */
function softmax(row, query, keys, scale) {
  let most = -Infinity;
  keys.forEach((key, i) => {
    let product = 0;
    for (let d = 0; d < query.length; d++) product += query[d] * key[d];
    row[i] = product * scale;
    most = Math.max(most, row[i]);
  });
  let sum = 0;
  for (let i = 0; i < row.length; i++) sum += row[i] = Math.exp(row[i] - most);
  for (let i = 0; i < row.length; i++) row[i] /= sum;
}
