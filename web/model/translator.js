/** A model in the page: a text in, a trace out, as `jumok look` answers. */

import { betweenEdges, edgesOf } from "./edges.js";
import { Engine } from "./engine.js";
import { traceOf } from "./recorded.js";
import { END, Tokenizer, isWritable, normalize, strip, withSpaces } from "./tokenizer.js";

/** Why a text cannot be translated; `known` names the message in the page's words. */
class Refused extends Error {
  constructor(known, ...numbers) {
    super(known);
    this.fault = { known, numbers };
  }
}

export class Translator {
  /** `facts`: what `systems/translation/web.py` writes; `blobs`: the bytes beside it, by name. */
  static async load(facts, blobs) {
    const engine = await Engine.load(blobs.wasm, { ...facts.engine, contents: blobs.model });
    return new Translator(facts, new Tokenizer(facts.tokenizer, blobs.charsmap ?? null), engine);
  }

  constructor(facts, tokenizer, engine) {
    Object.assign(this, { facts, tokenizer, engine, core: edgesOf(facts.edges) });
  }

  /** The rules of a search for a source of this many tokens, END included: decoding/limits.py. */
  rules(count) {
    const { ratio, extra, most, ...rules } = this.facts.rules;
    return { ...rules, longest: Math.min(Math.max(Math.floor(ratio * count) + extra, rules.minimum, 1), most) };
  }

  /** The trace of a text; `milliseconds` says how long it took, the tokens' names included. */
  look(given) {
    const began = performance.now();
    if (!isWritable(given)) throw new Refused("faultHalf");
    const text = withSpaces(normalize(given));
    if (!this.tokenizer.encode(text).length) throw new Refused("faultEmpty");
    const span = this.core(text);
    if (!span) return { ...this.facts.trace, text: given, output: strip(text), milliseconds: performance.now() - began };
    const read = this.tokenizer.encode(text.slice(...span));
    const { maxTokens } = this.facts;
    if (read.length > maxTokens) throw new Refused("faultLong", read.length, maxTokens);
    const source = [...read, END];
    const found = this.engine.translate(source, this.rules(source.length));
    const trace = traceOf(this.facts, this.tokenizer, this.engine, given, read, found);
    const [before, after] = [text.slice(0, span[0]).trimStart(), text.slice(span[1]).trimEnd()];
    const output = `${before}${betweenEdges(strip(trace.output), after)}${after}`;
    return { ...trace, output, milliseconds: performance.now() - began };
  }

  /** The answer to a request of the page: a trace, beside that of a second text where one is given. */
  answer({ text, against }) {
    try {
      return { ...this.look(text), ...(against ? { other: this.look(against) } : {}) };
    } catch (error) {
      if (error instanceof RangeError) return { error: { known: "faultMemory", numbers: [] } };
      return { error: error.fault ?? { what: error.message } };
    }
  }
}
