/** An image classifier in the page: a photograph in, a trace of its label out. */

import { Convolutions } from "./convolutions.js";
import { Engine } from "./engine.js";
import { labelled } from "./labels.js";
import { linear, meanOf } from "./layers.js";
import { ReadsPhotographs, gridAxis } from "./photographs.js";
import { addressOf } from "./pixels.js";
import { packed } from "./recorded.js";

export class ImageClassifier extends ReadsPhotographs {
  /**
   * `facts`: what `systems/in_page/image_classifier.py` writes; `blobs`: the bytes beside it, by name.
   *
   * @param {ImageClassifierFacts} facts @param {Blobs} blobs
   */
  static async load(facts, blobs) {
    return new ImageClassifier(facts, await Engine.load(blobs.wasm, { ...facts.engine, contents: blobs.model }));
  }

  /** @param {ImageClassifierFacts} facts @param {Engine} engine */
  constructor(facts, engine) {
    super(facts.shape);
    this.facts = facts;
    this.engine = engine;
    this.convolutions = new Convolutions(engine, facts.convolutions);
  }

  /**
   * The trace of a photograph; `milliseconds` says how long it took, without the scaling.
   *
   * @param {string | undefined} picture
   */
  look(picture) {
    const began = performance.now();
    const { name, pixels } = this.photograph(picture);
    const { facts, engine } = this;
    const { image, seen } = this.convolutions.read(pixels);
    const pooled = meanOf(image.values, image.rows * image.columns);
    const { written, ...said } = labelled(linear(engine, facts.output, 1, pooled), facts.labels);
    const nameOf = (/** @type {Pair<number>} */ [rows, columns]) => `grid ${rows}x${columns}`;
    return {
      ...facts.trace,
      text: name,
      ...said,
      picture: { width: pixels.width, height: pixels.height, url: addressOf(pixels) },
      axes: Object.fromEntries(seen.map(({ grid }) => [nameOf(grid), gridAxis(grid)])),
      sites: seen.map((part) => siteOf(part, nameOf(part.grid))),
      findings: { ...facts.trace.findings, written },
      milliseconds: performance.now() - began,
    };
  }
}

/**
 * The attention of one stage's cells, with the axis that they are on.
 *
 * @param {import("./convolutions.js").SeenCells} seen @param {string} axis
 * @returns {RawSite}
 */
function siteOf({ name, layer, heads, scale, gate, grid: [rows, columns], weights, query, key, value }, axis) {
  const cells = rows * columns;
  const vectors = Object.fromEntries(Object.entries({ query, key, value }).map(([of, numbers]) => [of, packed([heads, cells, numbers.length / (heads * cells)], numbers)]));
  return {
    name, kind: "convolution", part: "image", layer, queries: axis, keys: axis, scale, residual_gate: gate,
    arrays: { weights: packed([heads, cells, cells], weights), ...vectors },
  };
}
