/** A text classifier in the page: a text in, a trace of its label out. */

import { Refused, answered } from "./answering.js";
import { Engine } from "./engine.js";
import { labelled } from "./labels.js";
import { linear, meanOf } from "./layers.js";
import { sitesOf, textAxis } from "./recorded.js";
import { END, START, Tokenizer, isWritable } from "./tokenizer.js";

export class TextClassifier {
  /**
   * `facts`: what `systems/in_page/text_classifier.py` writes; `blobs`: the bytes beside it, by name.
   *
   * @param {TextClassifierFacts} facts @param {Blobs} blobs
   */
  static async load(facts, blobs) {
    const engine = await Engine.load(blobs.wasm, { ...facts.engine, contents: blobs.model });
    return new TextClassifier(facts, new Tokenizer(facts.tokenizer, blobs.charsmap ?? null), engine);
  }

  /** @param {TextClassifierFacts} facts @param {Tokenizer} tokenizer @param {Engine} engine */
  constructor(facts, tokenizer, engine) {
    this.facts = facts;
    this.tokenizer = tokenizer;
    this.engine = engine;
  }

  /**
   * The trace of a text, of a long one of its beginning; `milliseconds` says how long it took.
   *
   * @param {string} text
   * @returns {RawAnswer}
   */
  look(text) {
    const began = performance.now();
    if (!isWritable(text)) throw new Refused("faultHalf");
    const { facts, tokenizer, engine } = this;
    const ids = tokenizer.encode(text).slice(0, facts.maxTokens);
    if (!ids.length) throw new Refused("faultEmpty");
    const count = ids.length + 2;
    const { states, seen } = engine.encoded([START, ...ids, END]);
    const pooled = facts.pooling === "mean" ? meanOf(states, count) : states.subarray(0, engine.dim);
    const { written, ...said } = labelled(linear(engine, facts.output, 1, pooled), facts.labels);
    const axis = /** @type {[axis: string, count: number]} */ (["text", count]);
    return {
      ...facts.trace,
      text,
      ...said,
      axes: { text: textAxis(tokenizer, ids, [START], [END]) },
      sites: sitesOf("encoder", engine, axis, axis, seen, facts),
      findings: { ...facts.trace.findings, written },
      milliseconds: performance.now() - began,
    };
  }

  /** The answer to a request of the page. @param {Question} question */
  answer(question) {
    return answered((text) => this.look(text), question);
  }
}
