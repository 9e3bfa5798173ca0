/** What the engine computed for one sentence, as a trace that the views read. */

import { END, START, strip } from "./tokenizer.js";

/** The tokens with their words; START and END belong to none. */
function textAxis(tokenizer, ids, before, after) {
  const words = tokenizer.words(ids);
  const groups = [];
  words.forEach((word, i) => (groups[word] ??= []).push(ids[i]));
  return {
    tokens: tokenizer.names([...before, ...ids, ...after]),
    words: [...before.map(() => null), ...words, ...after.map(() => null)],
    texts: groups.map((group) => strip(tokenizer.decode(group)) || "⏎"),
    grid: null,
    parents: null,
  };
}

/** A look-ahead mask, as bits: a query sees the keys up to its own place. */
function causal(length) {
  const bits = new Uint8Array(Math.ceil((length * length) / 8));
  for (let query = 0; query < length; query++)
    for (let key = 0; key <= query; key++) bits[(query * length + key) >> 3] |= 128 >> ((query * length + key) & 7);
  return { shape: [length, length], type: "bits", data: bits };
}

/** The attention modules of one part, with the weights of all their heads. */
function sitesOf(part, layers, heads, [queries, rows], [keys, columns], weights, { score, scale }) {
  const stack = part === "encoder" ? "encoder" : "decoder";
  const module = part === "cross" ? "cross_attention" : "self_attention";
  const size = heads * rows * columns;
  return Array.from({ length: layers }, (_, layer) => ({
    name: `${stack}.blocks.${layer}.${module}`,
    kind: score, part, layer, queries, keys, scale, residual_gate: null,
    arrays: {
      weights: {
        shape: [heads, rows, columns], type: "f32",
        data: new Uint8Array(weights.slice(layer * size, (layer + 1) * size).buffer),
      },
      ...(part === "decoder" ? { allowed: causal(rows) } : {}),
    },
  }));
}

/** `read`, `written`: tokens without START and END. `found`: what Engine.translate returned. */
export function traceOf(facts, tokenizer, engine, text, read, found) {
  const [source, target] = [["source", read.length + 1], ["target", found.tokens.length + 1]];
  const { heads, encoderLayers, decoderLayers } = engine;
  const { encoder, decoder, cross } = found.weights;
  return {
    ...facts.trace,
    text,
    output: tokenizer.decode(found.tokens),
    axes: {
      source: textAxis(tokenizer, read, [], [END]),
      target: textAxis(tokenizer, found.tokens, [START], []),
    },
    sites: [
      ...sitesOf("encoder", encoderLayers, heads, source, source, encoder, facts),
      ...sitesOf("decoder", decoderLayers, heads, target, target, decoder, facts),
      ...sitesOf("cross", decoderLayers, heads, target, source, cross, facts),
    ],
    steps: [...found.tokens, END].map((token, step) => ({
      token: tokenizer.pieces[token],
      log_probability: found.logProbabilities[step],
      best: found.best[step].map(([one, value]) => [tokenizer.pieces[one], value]),
      gate: null,
    })),
    findings: { ...facts.trace.findings, written: found.tokens },
  };
}
