/** A model in the page: a text in, a trace out, as `jumok look` answers. */

import { Engine } from "./engine.js";
import { traceOf } from "./recorded.js";
import { END, Tokenizer, isWritable, normalize } from "./tokenizer.js";

/** A message in the form of jumok's errors. */
function fault(what, lines) {
  return new Error([what, ...Object.entries(lines).map(([name, text]) => `  ${name}: ${text}`)].join("\n"));
}

export class Translator {
  /** `facts`: what `systems/translation/web.py` writes; `blobs`: the bytes beside it, by name. */
  static async load(facts, blobs) {
    const engine = await Engine.load(blobs.wasm, { ...facts.engine, contents: blobs.model });
    return new Translator(facts, new Tokenizer(facts.tokenizer, blobs.charsmap ?? null), engine);
  }

  constructor(facts, tokenizer, engine) {
    Object.assign(this, { facts, tokenizer, engine });
  }

  /** The rules of a search for a source of this many tokens, END included: decoding/limits.py. */
  rules(count) {
    const { ratio, extra, most, ...rules } = this.facts.rules;
    return { ...rules, longest: Math.min(Math.max(Math.floor(ratio * count) + extra, rules.minimum, 1), most) };
  }

  /** The trace of a text; `milliseconds` says how long it took, the tokens' names included. */
  look(given) {
    const began = performance.now();
    if (!isWritable(given)) {
      throw fault("the text is not valid Unicode: it contains an unpaired surrogate (half a character).", { got: JSON.stringify(given) });
    }
    const text = normalize(given);
    const read = this.tokenizer.encode(text);
    const { maxTokens } = this.facts;
    if (!read.length || read.length > maxTokens) {
      throw fault("this text cannot be traced in one pass.", {
        expected: `at least one word and at most ${maxTokens} tokens`,
        got: `${read.length} tokens: '${text.slice(0, 60)}'`,
        do: "give one sentence",
      });
    }
    const source = [...read, END];
    const found = this.engine.translate(source, this.rules(source.length));
    const trace = traceOf(this.facts, this.tokenizer, this.engine, given, read, found);
    return { ...trace, milliseconds: performance.now() - began };
  }

  /** The answer to a request of the page: a trace, beside that of a second text where one is given. */
  answer({ text, against }) {
    try {
      return { ...this.look(text), ...(against ? { other: this.look(against) } : {}) };
    } catch (error) {
      return { error: error instanceof RangeError ? "there is not enough memory for this text." : error.message };
    }
  }
}
