/** What a captioner makes of pixels: models/captioner.py. */

import { Convolutions } from "./convolutions.js";
import { linear, measures, positive } from "./layers.js";

/** @typedef {import("./engine.js").Engine} Engine */

export class ImageEncoder {
  /** `facts`: what `systems/in_page/image_encoder.py` writes. @param {Engine} engine @param {EncoderFacts} facts */
  constructor(engine, facts) {
    this.engine = engine;
    this.facts = facts;
    this.convolutions = new Convolutions(engine, facts.convolutions);
    if (!facts.reader) return;
    const { table, width, ...reader } = facts.reader;
    this.reader = engine.of(reader);
    this.cells = engine.room(4 * facts.grid[0] * facts.grid[1] * width);
    engine.add(engine.base + table, this.cells);
  }

  /**
   * The Memory (positions, dim) of pixels, and the attention between its cells; null: there is none.
   *
   * @param {import("./pixels.js").Pixels} pixels
   */
  read(pixels) {
    return this.told(this.written(this.convolutions.read(pixels).image));
  }

  /** The states before they attend to each other. @param {import("./convolutions.js").Image} image */
  written({ rows, columns, values }) {
    const { project, positions, squeeze, inner, outer } = this.facts;
    const cells = rows * columns;
    /** @param {StoredLayer} layer @param {number} count @param {Float32Array} given */
    const through = (layer, count, given) => linear(this.engine, layer, count, given);
    if (project) {
      const states = through(project, cells, values); // which may move the engine's memory
      const places = this.engine.numbers(positions);
      return states.map((value, i) => value + places[i]);
    }
    return through(outer, 1, positive(through(inner, 1, positive(through(squeeze, cells, values)))));
  }

  /** The Memory of states: normed, or after the blocks in which they attend to each other. @param {Float32Array} states */
  told(states) {
    const { reader, readerNorm, dim } = this.facts;
    if (!reader) return { memory: this.normed(states, dim, readerNorm), seen: null };
    const { width } = reader;
    const count = states.length / dim;
    const table = new Float32Array(this.engine.code.memory.buffer, this.cells, count * width).fill(0);
    for (let cell = 0; cell < count; cell++) table.set(states.subarray(cell * dim, (cell + 1) * dim), cell * width);
    const { states: memory, seen } = /** @type {Engine} */ (this.reader).encoded(Int32Array.from({ length: count }, (_, cell) => cell));
    return { memory, seen };
  }

  /**
   * Each state with a mean of 0 and a variance of 1, times a gain, plus a bias.
   *
   * @param {Float32Array} states @param {number} dim @param {Pair<StoredNumbers>} arrays
   */
  normed(states, dim, arrays) {
    const [gain, bias] = arrays.map((each) => this.engine.numbers(each));
    const out = new Float32Array(states.length);
    for (let start = 0; start < states.length; start += dim) {
      const { mean, scale } = measures(states.subarray(start, start + dim));
      for (let d = 0; d < dim; d++) out[start + d] = (states[start + d] - mean) * scale * gain[d] + bias[d];
    }
    return out;
  }
}
