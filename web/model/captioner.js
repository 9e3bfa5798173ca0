/** A captioner in the page: a photograph in, a trace of its caption out. */

import { pacer } from "./answering.js";
import { Engine } from "./engine.js";
import { ImageEncoder } from "./image_encoder.js";
import { ReadsPhotographs, gridAxis } from "./photographs.js";
import { addressOf } from "./pixels.js";
import { sitesOf, stepsOf, textAxis } from "./recorded.js";
import { END, START, Tokenizer, strip } from "./tokenizer.js";

export class Captioner extends ReadsPhotographs {
  /**
   * `facts`: what `systems/in_page/captioner.py` writes; `blobs`: the bytes beside it, by name.
   *
   * @param {CaptionerFacts} facts @param {Blobs} blobs
   */
  static async load(facts, blobs) {
    const engine = await Engine.load(blobs.wasm, { ...facts.engine, contents: blobs.model });
    return new Captioner(facts, new Tokenizer(facts.tokenizer, blobs.charsmap ?? null), engine);
  }

  /** @param {CaptionerFacts} facts @param {Tokenizer} tokenizer @param {Engine} engine */
  constructor(facts, tokenizer, engine) {
    super(facts.encoder.shape);
    this.facts = facts;
    this.tokenizer = tokenizer;
    this.engine = engine;
    this.encoder = new ImageEncoder(engine, facts.encoder);
  }

  /**
   * The trace of a photograph; `milliseconds` says how long it took, without the scaling.
   *
   * @param {string | undefined} picture @param {Waiting} [waiting]
   */
  async look(picture, waiting) {
    const began = performance.now();
    const given = this.photograph(picture);
    const { memory, seen } = this.encoder.read(given.pixels);
    const textOf = (/** @type {number[]} */ tokens) => strip(this.tokenizer.decode(tokens));
    const session = this.engine.open(memory, this.facts.rules);
    try {
      const pace = pacer(waiting);
      while (!session.advance()) await pace(() => textOf(session.written()));
      const found = session.seen(session.written());
      return { ...this.traceOf(given, found, seen), output: textOf(found.tokens), milliseconds: performance.now() - began };
    } finally {
      session.close();
    }
  }

  /**
   * `found`: what the decoder has seen; `seen`: what the cells have seen of each other, or null.
   *
   * @param {ReturnType<ReadsPhotographs["photograph"]>} photograph
   * @param {import("./engine.js").Found} found
   * @param {import("./engine.js").Seen | null} seen
   * @returns {RawAnswer}
   */
  traceOf({ name, pixels }, found, seen) {
    const { facts, tokenizer, engine, encoder } = this;
    const { reader } = facts.encoder;
    /** @type {Pair<number>} */
    const grid = facts.encoder.project ? facts.encoder.grid : [1, 1];
    const [picture, target] = /** @type {[axis: string, count: number][]} */ ([["picture", grid[0] * grid[1]], ["target", found.tokens.length + 1]]);
    const read = reader && seen && sitesOf("encoder", /** @type {Engine} */ (encoder.reader), picture, picture, seen,
      { ...reader, names: { encoder: reader.names } });
    return {
      ...facts.trace,
      text: name,
      picture: { width: pixels.width, height: pixels.height, url: addressOf(pixels) },
      axes: { picture: gridAxis(grid), target: textAxis(tokenizer, found.tokens, [START], []) },
      sites: [
        ...(read ?? []).map((site) => ({ ...site, part: /** @type {const} */ ("image") })),
        ...sitesOf("decoder", engine, target, target, found, facts),
        ...sitesOf("cross", engine, target, picture, found, facts),
      ],
      steps: stepsOf(tokenizer, [...found.tokens, END], found),
      findings: { ...facts.trace.findings, written: found.tokens },
    };
  }
}
