/**
 * What a captioner makes of pixels: models/captioner.py and layers/convolution.py. An image is a list of cells, each
 * with its channels, row by row: `{ side, channels, values }`.
 */

const EPSILON = 1e-5; // of torch's norms
const PANEL = 64;
const panelled = (count) => Math.ceil(count / PANEL) * PANEL;

export class Eye {
  /** `facts`: what `systems/in_page/eye.py` writes. */
  constructor(engine, facts) {
    Object.assign(this, { engine, facts });
    if (!facts.reader) return;
    const { table, width, ...reader } = facts.reader;
    this.reader = engine.of(reader);
    this.cells = engine.room(4 * facts.grid[0] * facts.grid[1] * width);
    engine.add(engine.base + table, this.cells);
  }

  /** The Memory (positions, dim) of pixels (size, size, 3), and the attention between its cells; null: there is none. */
  read(bytes) {
    const { stem, stages, norm, size } = this.facts;
    let image = this.convolved({ side: size, channels: 3, values: Float32Array.from(bytes, (byte) => Math.fround(byte / 127.5) - 1) }, stem);
    for (const { halving, blocks } of stages) {
      if (halving) image = this.convolved(this.bent(image, halving.norm), halving.convolution);
      for (const block of blocks) {
        const inner = this.convolved(this.bent(image, block.firstNorm), block.first);
        const change = this.convolved(this.bent(inner, block.secondNorm), block.second);
        image = { ...image, values: image.values.map((value, i) => value + change.values[i]) };
      }
    }
    return this.told(this.written(this.bent(image, norm)));
  }

  /** The states before they attend to each other. */
  written({ side, channels, values }) {
    const { project, positions, squeeze, inner, outer } = this.facts;
    const cells = side * side;
    if (project) {
      const places = this.engine.numbers(positions);
      return this.linear(project, cells, values).map((value, i) => value + places[i]);
    }
    const positive = (numbers) => numbers.map((value) => Math.max(0, value));
    const beside = positive(this.linear(squeeze, cells, values.subarray(0, cells * channels)));
    return this.linear(outer, 1, positive(this.linear(inner, 1, beside)));
  }

  /** The Memory of states: normed, or after the blocks in which they attend to each other. */
  told(states) {
    const { readerNorm, dim } = this.facts;
    if (!this.reader) return { memory: this.normed(states, dim, readerNorm), seen: null };
    const { width } = this.facts.reader;
    const count = states.length / dim;
    const table = new Float32Array(this.engine.code.memory.buffer, this.cells, count * width).fill(0);
    for (let cell = 0; cell < count; cell++) table.set(states.subarray(cell * dim, (cell + 1) * dim), cell * width);
    const rules = { beam: 1, start: 0, end: 0, minimum: 0, longest: 0, enough: 0, forbidden: [], penalties: [] };
    const session = this.reader.open(Int32Array.from({ length: count }, (_, cell) => cell), rules);
    try {
      return { memory: session.states(), seen: session.attention({ encoder: [this.reader.encoderLayers, count, count] }) };
    } finally {
      session.close();
    }
  }

  /** Each state with a mean of 0 and a variance of 1, times a gain, plus a bias. */
  normed(states, dim, arrays) {
    const [gain, bias] = arrays.map((each) => this.engine.numbers(each));
    const out = new Float32Array(states.length);
    for (let start = 0; start < states.length; start += dim) {
      const { mean, scale } = measures(states.subarray(start, start + dim));
      for (let d = 0; d < dim; d++) out[start + d] = (states[start + d] - mean) * scale * gain[d] + bias[d];
    }
    return out;
  }

  /** The positive part of an image whose groups of channels are normed. */
  bent(image, { groups, gain, bias }) {
    const { side, channels, values } = image;
    const [gains, biases] = [this.engine.numbers(gain), this.engine.numbers(bias)];
    const [cells, width] = [side * side, channels / groups];
    const out = new Float32Array(values.length);
    const group = new Float32Array(cells * width);
    for (let first = 0; first < channels; first += width) {
      for (let cell = 0; cell < cells; cell++) group.set(values.subarray(cell * channels + first, cell * channels + first + width), cell * width);
      const { mean, scale } = measures(group);
      for (let cell = 0; cell < cells; cell++)
        for (let c = 0; c < width; c++)
          out[cell * channels + first + c] = Math.max(0, (group[cell * width + c] - mean) * scale * gains[first + c] + biases[first + c]);
    }
    return { side, channels, values: out };
  }

  /** The neighbours of each cell side by side, through a linear layer; zeros are around the image. */
  convolved({ side, channels, values }, layer) {
    const { kernel, stride, outputs } = layer;
    const [edge, after] = [Math.floor(kernel / 2), Math.floor((side - 1) / stride) + 1];
    const width = kernel * kernel * channels;
    const rows = new Float32Array(after * after * width);
    for (let cell = 0; cell < after * after; cell++) {
      const [top, left] = [Math.floor(cell / after) * stride - edge, (cell % after) * stride - edge];
      const [from, to] = [Math.max(0, left), Math.min(side, left + kernel)];
      for (let row = Math.max(0, top); row < Math.min(side, top + kernel); row++)
        rows.set(values.subarray((row * side + from) * channels, (row * side + to) * channels),
          cell * width + ((row - top) * kernel + from - left) * channels);
    }
    return { side: after, channels: outputs, values: this.linear(layer, after * after, rows) };
  }

  /** Rows of inputs through a layer of the engine. */
  linear({ layer, inputs, outputs }, count, rows) {
    const [width, wide] = [panelled(inputs), panelled(outputs)];
    const filled = new Float32Array(count * width);
    for (let row = 0; row < count; row++) filled.set(rows.subarray(row * inputs, (row + 1) * inputs), row * width);
    const { take, free } = this.engine.taking();
    try {
      const [given, out] = [take(Float32Array, filled), take(Float32Array, count * wide)];
      this.engine.code.jumok_linear(this.engine.base + layer, count, given, out);
      const found = this.engine.read(Float32Array, out, count * wide);
      const values = new Float32Array(count * outputs);
      for (let row = 0; row < count; row++) values.set(found.subarray(row * wide, row * wide + outputs), row * outputs);
      return values;
    } finally {
      free();
    }
  }
}

/** The mean of numbers, and what makes their standard deviation 1. */
function measures(numbers) {
  let [sum, squares] = [0, 0];
  for (const number of numbers) sum += number;
  const mean = sum / numbers.length;
  for (const number of numbers) squares += (number - mean) ** 2;
  return { mean, scale: 1 / Math.sqrt(squares / numbers.length + EPSILON) };
}
