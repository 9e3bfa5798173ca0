/** The engine in WebAssembly: tokens or a Memory in; what follows, and every attention weight, out. */

const ALIGNMENT = 64;
const PASS = 64; // tokens of a text that are read at once: LONGEST_PASS in engine/language.py
const BEST = 5; // the most probable tokens of each step
// The first fields of WebRules in engine/web.c: 32-bit numbers, which two addresses follow.
const RULES = /** @type {const} */ (["beam", "start", "end", "minimum", "longest", "enough", "forbidden"]);
const NOTHING = { beam: 1, start: 0, end: 0, minimum: 0, longest: 0, enough: 0, forbidden: [], penalties: [] }; // is searched for

/**
 * What engine/web.c exports; numbers are addresses, counts, or whether something failed.
 *
 * @typedef {object} Code
 * @property {WebAssembly.Memory} memory
 * @property {() => void} _initialize
 * @property {(bytes: number) => number} malloc
 * @property {(at: number) => void} free
 * @property {(model: number, recurrent: number, tokens: number, vectors: number, sources: number, rules: number) => number} jumok_open
 * @property {(session: number) => void} jumok_close
 * @property {(session: number) => number} jumok_advance
 * @property {(session: number, tokens: number) => number} jumok_written
 * @property {(session: number, count: number, tokens: number, place: number, values: number) => number} jumok_next
 * @property {(session: number, states: number) => void} jumok_shown
 * @property {(session: number, part: number) => number} jumok_weights
 * @property {(session: number, part: number) => number} jumok_vectors
 * @property {(session: number, tokens: number, length: number, values: number, best: number, choices: number, chances: number) => number} jumok_look
 * @property {(layer: number, rows: number, given: number, out: number) => void} jumok_linear
 * @property {(layer: number, table: number, factor: number) => void} jumok_table
 */

/** @typedef {Int32ArrayConstructor | Float32ArrayConstructor | Float64ArrayConstructor} Kind */

export class Engine {
  /** What `systems/in_page` writes of the model. */
  dim = 0;
  heads = 0;
  kvHeads = 0;
  headDim = 0;
  valueDim = 0;
  vocabulary = 0;
  encoderLayers = 0;
  decoderLayers = 0;
  crossLayers = 0;
  recurrent = false;

  /**
   * `wasm`: the module. `image`: the model as `jumok.engine.image.MemoryImage` wrote it: `contents`, where
   * `addresses` stand in it, where the `model` begins, and the `tables` that are unpacked here.
   *
   * @param {BufferSource} wasm @param {EngineFacts & { contents: Uint8Array }} image
   */
  static async load(wasm, image) {
    const { instance } = await WebAssembly.instantiate(wasm, {});
    const code = /** @type {Code} */ (/** @type {unknown} */ (instance.exports));
    code._initialize();
    return new Engine(code, image);
  }

  /** @param {Code} code @param {EngineFacts & { contents: Uint8Array }} image */
  constructor(code, { contents, addresses, model, tables, ...sizes }) {
    this.code = code;
    const base = this.room(contents.length);
    Object.assign(this, sizes);
    this.base = base;
    this.model = base + model;
    new Uint8Array(code.memory.buffer).set(contents, base);
    for (const place of addresses) this.add(base + place, base);
    for (const { layer, rows, columns, factor, fields } of tables) {
      const table = this.room(4 * rows * columns);
      code.jumok_table(base + layer, table, factor);
      for (const field of fields) this.add(base + field, table);
    }
  }

  /**
   * Another model that is in this memory, where `room` and the like are those of this one.
   *
   * @param {{ model: number } & Partial<ModelSizes>} facts
   * @returns {Engine}
   */
  of({ model, ...sizes }) {
    return Object.assign(Object.create(this), sizes, { model: this.base + model });
  }

  /** Numbers that the image holds, from their place on. @param {StoredNumbers} stored */
  numbers([place, count]) {
    return new Float32Array(this.code.memory.buffer, this.base + place, count);
  }

  /** Memory at a multiple of 64; what is taken here stays as long as the page. @param {number} bytes */
  room(bytes) {
    const at = this.code.malloc(bytes + ALIGNMENT);
    if (!at) throw new RangeError("memory");
    return at + ((-at >>> 0) % ALIGNMENT);
  }

  /** @param {number} place @param {number} number */
  add(place, number) {
    const memory = new DataView(this.code.memory.buffer);
    memory.setUint32(place, memory.getUint32(place, true) + number, true);
  }

  /** Memory that is given back together; `take(kind, values or length)` returns an address. */
  taking() {
    /** @type {number[]} */
    const taken = [];
    return {
      take: (/** @type {Kind} */ Kind, /** @type {ArrayLike<number> | number} */ values) => {
        const length = typeof values === "number" ? values : values.length;
        const at = this.code.malloc(Math.max(1, length * Kind.BYTES_PER_ELEMENT));
        if (!at) throw new RangeError("memory");
        taken.push(at);
        if (typeof values !== "number") new Kind(this.code.memory.buffer, at, length).set(values);
        return at;
      },
      free: () => taken.splice(0).forEach((at) => this.code.free(at)),
    };
  }

  /**
   * A copy of numbers in the engine's memory.
   *
   * @template T
   * @param {new (buffer: ArrayBuffer, at: number, length: number) => { slice(): T }} Kind
   * @param {number} at
   * @param {number} length
   */
  read(Kind, at, length) {
    return new Kind(this.code.memory.buffer, at, length).slice();
  }

  /**
   * What an encoder alone makes of tokens: its states (positions, dim), and what its layers have seen.
   *
   * @param {ArrayLike<number>} tokens
   */
  encoded(tokens) {
    const session = this.open(tokens, NOTHING);
    try {
      return { states: session.states(), seen: session.attention({ encoder: [this.encoderLayers, tokens.length, tokens.length] }) };
    } finally {
      session.close();
    }
  }

  /**
   * A source that has been read; it has to be closed.
   *
   * `source`: tokens; a Float32Array, the vectors of a Memory; or null. `rules`: `longest`: the
   * maximum number of tokens without END; `penalties`: what divides the log-probability of a hypothesis, by its length.
   *
   * @param {ArrayLike<number> | null} source @param {SearchRules} rules
   */
  open(source, rules) {
    return new Session(this, source, rules);
  }
}

/**
 * @typedef {ReturnType<Session["attention"]>} Seen
 * @typedef {ReturnType<Session["seen"]>} Found
 */

class Session {
  /** @param {Engine} engine @param {ArrayLike<number> | null} source @param {SearchRules} rules */
  constructor(engine, source, rules) {
    const { take, free } = engine.taking();
    const { code, model, dim } = engine;
    this.engine = engine;
    this.code = code;
    this.take = take;
    this.free = free;
    const vectors = source instanceof Float32Array;
    this.sources = vectors ? source.length / dim : source?.length ?? 0;
    try {
      const numbers = { ...rules, forbidden: rules.forbidden.length };
      const filled = take(Int32Array, [...RULES.map((name) => numbers[name]),
        take(Int32Array, rules.forbidden), take(Float64Array, rules.penalties)]);
      this.tokens = take(Int32Array, rules.longest + 1);
      const given = source ? take(vectors ? Float32Array : Int32Array, source) : 0;
      this.session = code.jumok_open(model, Number(engine.recurrent), vectors ? 0 : given, vectors ? given : 0, this.sources, filled);
      if (!this.session) throw new RangeError("memory");
    } catch (error) {
      free();
      throw error;
    }
  }

  close() {
    this.code.jumok_close(this.session);
    this.free();
  }

  /** Makes a step of the search; whether it was the last one. */
  advance() {
    const over = this.code.jumok_advance(this.session);
    if (over < 0) throw new RangeError("memory");
    return over > 0;
  }

  /** The tokens of the best hypothesis, without END, so far or after the search. */
  written() {
    const length = this.code.jumok_written(this.session, this.tokens);
    if (length < 0) throw new Error("the model gives no probability to any next token.");
    return [...this.engine.read(Int32Array, this.tokens, length)];
  }

  /**
   * The log-probabilities of all tokens after `tokens`, which stand from `place` on in a text.
   *
   * @param {number[]} tokens @param {number} place
   */
  after(tokens, place) {
    const { take, free } = this.engine.taking();
    const { vocabulary } = this.engine;
    try {
      const values = take(Float32Array, vocabulary);
      for (let first = 0; first < tokens.length; first += PASS) {
        const part = tokens.slice(first, first + PASS);
        if (this.code.jumok_next(this.session, part.length, take(Int32Array, part), place + first, values)) throw new RangeError("memory");
      }
      return this.engine.read(Float32Array, values, vocabulary);
    } finally {
      free();
    }
  }

  /** What an encoder alone has written: (positions, dim). */
  states() {
    const size = this.sources * this.engine.dim;
    const at = this.take(Float32Array, size);
    this.code.jumok_shown(this.session, at);
    return this.engine.read(Float32Array, at, size);
  }

  /**
   * The weights (layers, heads, queries, keys) and the vectors of the first parts, by their layers, queries and keys.
   *
   * @param {Record<string, [layers: number, rows: number, columns: number]>} shapes
   */
  attention(shapes) {
    const { code, engine, session } = this;
    const { heads, kvHeads, headDim, valueDim } = engine;
    /** @param {(part: number, layers: number, rows: number, columns: number) => Float32Array} pick */
    const parts = (pick) => Object.fromEntries(Object.entries(shapes).map(([part, shape], number) => [part, pick(number, ...shape)]));
    return {
      weights: parts((number, layers, rows, columns) =>
        engine.read(Float32Array, code.jumok_weights(session, number), layers * heads * rows * columns)),
      vectors: parts((number, layers, rows, columns) => engine.read(Float32Array, code.jumok_vectors(session, number),
        layers * (rows * heads * headDim + columns * kvHeads * (headDim + valueDim)))),
    };
  }

  /**
   * What `attention` gives for all parts, and the most probable tokens after every prefix of `written`.
   *
   * @param {number[]} written
   */
  seen(written) {
    const { code, engine, session } = this;
    const { encoderLayers, decoderLayers, crossLayers } = engine;
    const [sources, targets] = [this.sources, written.length + 1];
    const { take, free } = engine.taking();
    try {
      const values = take(Float32Array, targets);
      const [choices, chances] = [take(Int32Array, BEST * targets), take(Float32Array, BEST * targets)];
      if (code.jumok_look(session, take(Int32Array, written), written.length, values, BEST, choices, chances)) throw new RangeError("memory");
      const seen = this.attention({
        encoder: [encoderLayers, sources, sources],
        decoder: [decoderLayers, targets, targets],
        cross: [crossLayers, targets, sources],
      });
      const [found, logs] = [engine.read(Int32Array, choices, BEST * targets), engine.read(Float32Array, chances, BEST * targets)];
      const best = Array.from({ length: targets }, (_, step) =>
        Array.from({ length: BEST }, (_, i) => [found[step * BEST + i], logs[step * BEST + i]]).filter(([token]) => token >= 0));
      return { tokens: written, ...seen, best, logProbabilities: [...engine.read(Float32Array, values, targets)] };
    } finally {
      free();
    }
  }
}
