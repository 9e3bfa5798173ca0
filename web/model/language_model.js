/** A language model in the page: the beginning of a text in, a trace of it and of its continuation out. */

import { Refused, answered, pacer } from "./answering.js";
import { drawn, largest, shares, uniforms } from "./drawing.js";
import { Engine } from "./engine.js";
import { sitesOf, stepsOf, textAxis } from "./recorded.js";
import { textTokenizer } from "./text_tokenizer.js";
import { END, START, isWritable } from "./tokenizer.js";

/** @typedef {ReturnType<typeof import("../sampling.js").writingOf>} Writing */

export class LanguageModel {
  /**
   * `facts`: what `systems/in_page/language_model.py` writes; `blobs`: the bytes beside it, by name.
   *
   * @param {LanguageModelFacts} facts @param {Blobs} blobs
   */
  static async load(facts, blobs) {
    const engine = await Engine.load(blobs.wasm, { ...facts.engine, contents: blobs.model });
    return new LanguageModel(facts, textTokenizer(facts.tokenizer, blobs.charsmap ?? null), engine);
  }

  /** @param {LanguageModelFacts} facts @param {import("./text_tokenizer.js").TextTokenizer} tokenizer @param {Engine} engine */
  constructor(facts, tokenizer, engine) {
    this.facts = facts;
    this.tokenizer = tokenizer;
    this.engine = engine;
  }

  /**
   * The trace of a text and what follows it; `writing`: see `write`; `milliseconds` says how long it took.
   *
   * @param {string} text @param {Writing} writing @param {Waiting} [waiting]
   */
  async look(text, writing, waiting) {
    const began = performance.now();
    if (!isWritable(text)) throw new Refused("faultHalf");
    const prompt = this.tokenizer.encode(text);
    const room = this.facts.context - 1; // for START
    if (prompt.length > room) throw new Refused("faultLong", prompt.length, room);
    const start = this.tokenizer.decode(prompt).length;
    const textOf = (/** @type {number[]} */ tokens) => this.tokenizer.decode([...prompt, ...tokens]).slice(start);
    const session = this.engine.open(null, this.facts.rules);
    try {
      const written = await this.write(session, prompt, writing, pacer(waiting), textOf);
      const all = [...prompt, ...written];
      const trace = this.traceOf(text, prompt.length, all.slice(0, room), session);
      return { ...trace, output: textOf(written), all: all.length, milliseconds: performance.now() - began };
    } finally {
      session.close();
    }
  }

  /**
   * The tokens after a prompt, `tokens` of them at most: the most probable ones where the `temperature` is 0, otherwise
   * drawn from the `topK` most probable ones (0: from all), with the numbers of a `seed`. Of a text that is longer than
   * the context the last half of it is read again: decoding/window.py.
   *
   * @param {ReturnType<Engine["open"]>} session
   * @param {number[]} prompt
   * @param {Writing} writing
   * @param {import("./answering.js").Pace} pace
   * @param {(tokens: number[]) => string} textOf
   */
  async write(session, prompt, { temperature, topK, tokens, seed }, pace, textOf) {
    const { context, rules } = this.facts;
    const uniform = uniforms(seed);
    /** @type {number[]} */
    const written = [];
    /** @type {number[]} */
    let window = [];
    let known = 0;
    let unread = [START, ...prompt];
    while (written.length < tokens) {
      for (const token of unread) {
        if (window.length === context) [window, known] = [window.slice(-Math.floor(context / 2)), 0];
        window.push(token);
      }
      const logs = session.after(window.slice(known), known);
      known = window.length;
      for (const token of rules.forbidden) logs[token] = -Infinity;
      const best = largest(logs);
      if (best < 0) throw new Error("the model gives no probability to any next token.");
      const next = temperature > 0 ? drawn(shares(logs, temperature, topK), uniform()) : best;
      if (next === END) break;
      written.push(next);
      unread = [next];
      await pace(() => textOf(written));
    }
    return written;
  }

  /**
   * `tokens`: without START, those of the prompt first.
   *
   * @param {string} text @param {number} prompt @param {number[]} tokens @param {ReturnType<Engine["open"]>} session
   * @returns {RawAnswer}
   */
  traceOf(text, prompt, tokens, session) {
    const { facts, tokenizer, engine } = this;
    const axis = /** @type {[axis: string, count: number]} */ (["text", tokens.length + 1]);
    const found = session.seen(tokens);
    return {
      ...facts.trace,
      text,
      axes: { text: textAxis(tokenizer, tokens, [START], []) },
      sites: sitesOf("decoder", engine, axis, axis, found, facts),
      steps: stepsOf(tokenizer, tokens, found),
      findings: { ...facts.trace.findings, written: tokens.slice(prompt), prompt, own_rows: true },
    };
  }

  /**
   * The answer to a request of the page; `waiting`: see `pacer`.
   *
   * @param {Question & { writing: Writing }} question @param {Waiting} [waiting]
   */
  answer({ writing, ...question }, waiting) {
    return answered((text) => this.look(text, writing, waiting), question);
  }
}
