/** The engine in WebAssembly: tokens in; the best translation, and every attention weight, out. */

const ALIGNMENT = 64;
const BEST = 5; // the most probable tokens of each step
// The fields of WebRules in engine/web.c: 32-bit numbers, then addresses.
const RULES = ["beam", "start", "end", "minimum", "longest", "enough", "forbidden", "penalties"];

export class Engine {
  /**
   * `wasm`: the module. `image`: the model as `jumok.engine.image.MemoryImage` wrote it: `contents`, where
   * `addresses` stand in it, where the `model` begins, and the `tables` that are unpacked here.
   */
  static async load(wasm, image) {
    const { instance } = await WebAssembly.instantiate(wasm, {});
    instance.exports._initialize();
    return new Engine(instance.exports, image);
  }

  constructor(code, { contents, addresses, model, tables, ...sizes }) {
    Object.assign(this, { code, ...sizes });
    const base = this.room(contents.length);
    new Uint8Array(code.memory.buffer).set(contents, base);
    for (const place of addresses) this.add(base + place, base);
    this.model = base + model;
    for (const { layer, rows, columns, factor, fields } of tables) {
      const table = this.room(4 * rows * columns);
      code.jumok_table(base + layer, table, factor);
      for (const field of fields) this.add(base + field, table);
    }
  }

  /** Memory at a multiple of 64; what is taken here stays as long as the page. */
  room(bytes) {
    const at = this.code.malloc(bytes + ALIGNMENT);
    if (!at) throw new RangeError("memory");
    return at + ((-at >>> 0) % ALIGNMENT);
  }

  add(place, number) {
    const memory = new DataView(this.code.memory.buffer);
    memory.setUint32(place, memory.getUint32(place, true) + number, true);
  }

  /** Takes memory for `work`, and gives it back; `take(kind, values or length)` returns an address. */
  within(work) {
    const taken = [];
    const take = (Kind, values) => {
      const length = typeof values === "number" ? values : values.length;
      const at = this.code.malloc(Math.max(1, length * Kind.BYTES_PER_ELEMENT));
      if (!at) throw new RangeError("memory");
      taken.push(at);
      if (typeof values !== "number") new Kind(this.code.memory.buffer, at, length).set(values);
      return at;
    };
    try {
      return work(take);
    } finally {
      taken.forEach((at) => this.code.free(at));
    }
  }

  /** A copy of numbers in the engine's memory. */
  read(Kind, at, length) {
    return new Kind(this.code.memory.buffer, at, length).slice();
  }

  /**
   * The best translation of `source`, END included.
   *
   * `rules`: what RULES names; `longest`: the maximum number of tokens without END; `penalties`: what divides
   * the log-probability of a hypothesis, by its length.
   */
  translate(source, rules) {
    return this.within((take) => {
      const numbers = { ...rules, forbidden: rules.forbidden.length };
      const filled = take(Int32Array, [...RULES.slice(0, -1).map((name) => numbers[name]),
        take(Int32Array, rules.forbidden), take(Float64Array, rules.penalties)]);
      const tokens = take(Int32Array, rules.longest + 1);
      const session = this.code.jumok_open(this.model, take(Int32Array, source), source.length, filled);
      if (!session) throw new RangeError("memory");
      try {
        const length = this.code.jumok_write(session, tokens);
        if (length === -1) throw new RangeError("memory");
        if (length < 0) throw new Error("the model gives no probability to any next token.");
        return { tokens: [...this.read(Int32Array, tokens, length)], ...this.seen(take, session, tokens, source.length, length + 1) };
      } finally {
        this.code.jumok_close(session);
      }
    });
  }

  /** The weights (layers, heads, queries, keys), and the most probable tokens after every prefix. */
  seen(take, session, tokens, sources, targets) {
    const { heads, kvHeads, headDim, valueDim, encoderLayers, decoderLayers } = this;
    const shapes = {
      encoder: [encoderLayers, sources, sources],
      decoder: [decoderLayers, targets, targets],
      cross: [decoderLayers, targets, sources],
    };
    const values = take(Float32Array, targets);
    const [choices, chances] = [take(Int32Array, BEST * targets), take(Float32Array, BEST * targets)];
    const failed = this.code.jumok_look(session, tokens, targets - 1, values, BEST, choices, chances);
    if (failed) throw new RangeError("memory");
    const parts = (pick) => Object.fromEntries(Object.entries(shapes).map(([part, shape], number) => [part, pick(number, ...shape)]));
    const weights = parts((number, layers, rows, columns) =>
      this.read(Float32Array, this.code.jumok_weights(session, number), layers * heads * rows * columns));
    const vectors = parts((number, layers, rows, columns) => this.read(Float32Array, this.code.jumok_vectors(session, number),
      layers * (rows * heads * headDim + columns * kvHeads * (headDim + valueDim))));
    const [found, logs] = [this.read(Int32Array, choices, BEST * targets), this.read(Float32Array, chances, BEST * targets)];
    const best = Array.from({ length: targets }, (_, step) =>
      Array.from({ length: BEST }, (_, i) => [found[step * BEST + i], logs[step * BEST + i]]).filter(([token]) => token >= 0));
    return { weights, vectors, best, logProbabilities: [...this.read(Float32Array, values, targets)] };
  }
}
