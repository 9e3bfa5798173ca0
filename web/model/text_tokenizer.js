/** Whole texts to ids and back, line breaks included: data/texts/tokenizer.py. */

import { END, PAD, START, Tokenizer, wordsOf } from "./tokenizer.js";

const NEWLINE = "<newline>";
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** @typedef {Tokenizer | ByteTokenizer} TextTokenizer */

/**
 * `raw`: what `systems/in_page/language_model.py` writes.
 *
 * @param {LanguageModelFacts["tokenizer"]} raw @param {Uint8Array | null} charsmap
 */
export function textTokenizer(raw, charsmap) {
  return raw.kind === "bytes" ? new ByteTokenizer(raw) : new LineTokenizer(raw, charsmap);
}

/** Every byte of the text in UTF-8 is a token. */
class ByteTokenizer {
  /** @param {BytesFacts} raw */
  constructor({ pieces, first }) {
    this.pieces = pieces;
    this.first = first;
  }

  /** @param {string} text */
  encode(text) {
    return Array.from(encoder.encode(text.normalize("NFC")), (byte) => byte + this.first);
  }

  /** @param {number[]} ids */
  decode(ids) {
    return decoder.decode(Uint8Array.from(ids.filter((id) => id >= this.first), (id) => id - this.first));
  }

  /** @param {number[]} ids */
  names(ids) {
    return ids.map((id) => this.pieces[id]);
  }

  /** @param {number[]} ids */
  words(ids) {
    return wordsOf(this.names(ids));
  }
}

/** SentencePiece, line by line. */
class LineTokenizer extends Tokenizer {
  /** @param {PiecesFacts} raw @param {Uint8Array | null} charsmap */
  constructor(raw, charsmap) {
    super(raw, charsmap);
    this.newline = raw.pieces.indexOf(NEWLINE);
  }

  /** @param {string} text */
  encode(text) {
    const [first, ...others] = text.split("\n").map((line) => super.encode(line));
    return [...first, ...others.flatMap((line) => [this.newline, ...line])];
  }

  /** @param {number[]} ids */
  decode(ids) {
    /** @type {number[][]} */
    const lines = [[]];
    for (const id of ids) {
      if (id === this.newline) lines.push([]);
      else if (id !== PAD && id !== START && id !== END) lines[lines.length - 1].push(id);
    }
    return lines.map((line) => super.decode(line)).join("\n");
  }
}
