/** A captioner in the page: a photograph in, a trace of its caption out. */

import { Refused, answered, pacer } from "./answering.js";
import { Engine } from "./engine.js";
import { Eye } from "./eye.js";
import { addressOf, decoded, scaled } from "./pixels.js";
import { sitesOf, stepsOf, textAxis } from "./recorded.js";
import { END, START, Tokenizer, strip } from "./tokenizer.js";

/** The cells of an image, row by row; each is a word of its own. */
function gridAxis([rows, columns]) {
  const names = Array.from({ length: rows * columns }, (_, cell) => `${Math.floor(cell / columns) + 1},${(cell % columns) + 1}`);
  return { tokens: names, words: names.map((_, cell) => cell), texts: names, grid: [rows, columns], parents: null };
}

export class Captioner {
  /** `facts`: what `systems/in_page/captioner.py` writes; `blobs`: the bytes beside it, by name. */
  static async load(facts, blobs) {
    const engine = await Engine.load(blobs.wasm, { ...facts.engine, contents: blobs.model });
    return new Captioner(facts, new Tokenizer(facts.tokenizer, blobs.charsmap ?? null), engine);
  }

  constructor(facts, tokenizer, engine) {
    Object.assign(this, { facts, tokenizer, engine, eye: new Eye(engine, facts.eye), given: new Map() });
  }

  /** Keeps a file that a person chose; returns its name for later requests, or what is wrong with it. */
  async receive(file) {
    try {
      const picture = `${this.given.size + 1}: ${file.name}`;
      this.given.set(picture, { name: file.name, pixels: scaled(await decoded(file), this.facts.eye.size) });
      return { picture };
    } catch (error) {
      return { error: error.fault ?? { what: error.message } };
    }
  }

  /** The trace of a photograph; `milliseconds` says how long it took, without the scaling. */
  async look(picture, waiting) {
    const began = performance.now();
    const given = this.given.get(picture);
    if (!given) throw new Refused("faultSentBefore");
    const { memory, seen } = this.eye.read(given.pixels.bytes);
    const textOf = (tokens) => strip(this.tokenizer.decode(tokens));
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

  /** `found`: what the decoder has seen; `seen`: what the cells have seen of each other, or null. */
  traceOf({ name, pixels }, found, seen) {
    const { facts, tokenizer, engine, eye } = this;
    const grid = facts.eye.project ? facts.eye.grid : [1, 1];
    const [picture, target] = [["picture", grid[0] * grid[1]], ["target", found.tokens.length + 1]];
    const reader = seen && sitesOf("encoder", eye.reader, picture, picture, seen,
      { ...facts.eye.reader, windows: { encoder: [] }, names: { encoder: facts.eye.reader.names } });
    return {
      ...facts.trace,
      text: name,
      picture: { width: pixels.width, height: pixels.height, url: addressOf(pixels) },
      axes: { picture: gridAxis(grid), target: textAxis(tokenizer, found.tokens, [START], []) },
      sites: [
        ...(reader ?? []).map((site) => ({ ...site, part: "image" })),
        ...sitesOf("decoder", engine, target, target, found, facts),
        ...sitesOf("cross", engine, target, picture, found, facts),
      ],
      steps: stepsOf(tokenizer, [...found.tokens, END], found),
      findings: { ...facts.trace.findings, written: found.tokens },
    };
  }

  /** The answer to a request of the page; `waiting`: see `pacer`. */
  answer({ picture }, waiting) {
    return answered((name) => this.look(name, waiting), { text: picture });
  }
}
