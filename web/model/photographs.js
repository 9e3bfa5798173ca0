/** A model in the page that reads photographs: it keeps what a person gives it. */

import { Refused, answered, faultOf } from "./answering.js";
import { decoded, scaled } from "./pixels.js";

export class ReadsPhotographs {
  /** `shape`: the height, width and colours of the images that the model reads. @param {PictureShape} shape */
  constructor(shape) {
    this.shape = shape;
    /** @type {Map<string | undefined, { name: string, pixels: import("./pixels.js").Pixels }>} */
    this.given = new Map();
  }

  /** Keeps a file that a person chose; returns its name for later requests, or what is wrong with it. @type {Receive} */
  async receive(file) {
    try {
      const picture = `${this.given.size + 1}: ${file.name}`;
      this.given.set(picture, { name: file.name, pixels: scaled(await decoded(file), this.shape) });
      return { picture };
    } catch (error) {
      return { error: faultOf(error) };
    }
  }

  /**
   * The trace of a photograph.
   *
   * @abstract
   * @param {string | undefined} picture
   * @param {Waiting} [_waiting]
   * @returns {RawAnswer | Promise<RawAnswer>}
   */
  look(picture, _waiting) {
    throw new Error(`no model reads ${picture}`);
  }

  /** What was kept under this name. @param {string | undefined} picture */
  photograph(picture) {
    const given = this.given.get(picture);
    if (!given) throw new Refused("faultSentBefore");
    return given;
  }

  /** The answer to a request of the page; `waiting`: see `pacer`. @param {Question} question @param {Waiting} [waiting] */
  answer({ picture }, waiting) {
    return answered((name) => this.look(name, waiting), { text: picture });
  }
}

/** The cells of an image, row by row; each is a word of its own. @param {Pair<number>} grid @returns {Axis} */
export function gridAxis([rows, columns]) {
  const names = Array.from({ length: rows * columns }, (_, cell) => `${Math.floor(cell / columns) + 1},${(cell % columns) + 1}`);
  return { tokens: names, words: names.map((_, cell) => cell), texts: names, grid: [rows, columns], parents: null };
}
