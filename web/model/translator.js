/** A translator in the page: a text in, a trace out, as `jumok look` answers. */

import { Refused, answered, pacer } from "./answering.js";
import { betweenEdges, edgesOf } from "./edges.js";
import { Engine } from "./engine.js";
import { Profile } from "./profile.js";
import { sitesOf, stepsOf, textAxis } from "./recorded.js";
import { END, START, Tokenizer, isWritable, normalize, strip, withSpaces } from "./tokenizer.js";

const WORD = /[\p{L}\p{N}]/u;

export class Translator {
  /**
   * `facts`: what `systems/in_page/translator.py` writes; `blobs`: the bytes beside it, by name.
   *
   * @param {TranslatorFacts} facts @param {Blobs} blobs
   */
  static async load(facts, blobs) {
    const engine = await Engine.load(blobs.wasm, { ...facts.engine, contents: blobs.model });
    return new Translator(facts, new Tokenizer(facts.tokenizer, blobs.charsmap ?? null), engine);
  }

  /** @param {TranslatorFacts} facts @param {Tokenizer} tokenizer @param {Engine} engine */
  constructor(facts, tokenizer, engine) {
    this.facts = facts;
    this.tokenizer = tokenizer;
    this.engine = engine;
    this.core = edgesOf(facts.edges);
    this.profile = facts.profile ? new Profile(facts.profile) : null;
  }

  /** The rules of a search for a source of this many tokens, END included: decoding/limits.py. @param {number} count */
  rules(count) {
    const { ratio, extra, most, ...rules } = this.facts.rules;
    return { ...rules, longest: Math.min(Math.max(Math.floor(ratio * count) + extra, rules.minimum, 1), most) };
  }

  /**
   * The trace of a text; `milliseconds` says how long it took, the tokens' names included.
   *
   * @param {string} given @param {Waiting} [waiting]
   */
  async look(given, waiting) {
    const began = performance.now();
    if (!isWritable(given)) throw new Refused("faultHalf");
    const text = withSpaces(normalize(given));
    if (!this.tokenizer.encode(text).length) throw new Refused("faultEmpty");
    const span = this.core(text);
    if (!span) return { ...this.facts.trace, text: given, output: strip(text), milliseconds: performance.now() - began };
    const read = this.tokenizer.encode(text.slice(...span));
    const { maxTokens } = this.facts;
    if (read.length > maxTokens) throw new Refused("faultLong", read.length, maxTokens);
    const [before, after] = [text.slice(0, span[0]).trimStart(), text.slice(span[1]).trimEnd()];
    const whole = (/** @type {number[]} */ tokens) => `${before}${betweenEdges(strip(this.textOf(tokens)), after)}${after}`;
    const pace = pacer(waiting);
    let found = await this.translate([...read, END], pace, whole);
    if (!WORD.test(this.textOf(found.tokens))) // as systems/translation/stricter.py does
      found = await this.translate([...read, END], pace, whole, Math.floor(read.length / 2) + 1);
    return { ...this.traceOf(given, read, found), output: whole(found.tokens), milliseconds: performance.now() - began };
  }

  /** @param {number[]} tokens */
  textOf(tokens) {
    return this.tokenizer.decode(tokens).replace(/ {2,}/gu, " ");
  }

  /**
   * The best translation of `least` tokens or more, and what led to it.
   *
   * @param {number[]} source @param {import("./answering.js").Pace} pace @param {(tokens: number[]) => string} whole
   */
  async translate(source, pace, whole, least = 0) {
    const rules = this.rules(source.length);
    const session = this.engine.open(source, { ...rules, minimum: Math.max(rules.minimum, Math.min(least, rules.longest)) });
    try {
      while (!session.advance()) await pace(() => whole(session.written()));
      return session.seen(session.written());
    } finally {
      session.close();
    }
  }

  /**
   * `read`: tokens without END; `found`: what the engine has seen.
   *
   * @param {string} text @param {number[]} read @param {import("./engine.js").Found} found
   * @returns {RawAnswer}
   */
  traceOf(text, read, found) {
    const { facts, tokenizer, engine } = this;
    const [source, target] = /** @type {[axis: string, count: number][]} */ ([["source", read.length + 1], ["target", found.tokens.length + 1]]);
    return {
      ...facts.trace,
      text,
      axes: {
        source: textAxis(tokenizer, read, [], [END]),
        target: textAxis(tokenizer, found.tokens, [START], []),
      },
      sites: [
        ...sitesOf("encoder", engine, source, source, found, facts),
        ...sitesOf("decoder", engine, target, target, found, facts),
        ...sitesOf("cross", engine, target, source, found, facts),
      ],
      steps: stepsOf(tokenizer, [...found.tokens, END], found),
      findings: { ...facts.trace.findings, written: found.tokens, unseen: this.profile?.unknownWords(tokenizer.decode(read)) ?? [] },
    };
  }

  /** The answer to a request of the page; `waiting`: see `pacer`. @param {Question} question @param {Waiting} [waiting] */
  answer(question, waiting) {
    return answered((text) => this.look(text, waiting), question);
  }
}
