/** Text to ids and back, as jumok's Tokenizer does it with SentencePiece (data/tokenizer.py). */

import { Charsmap } from "./charsmap.js";
import { byCharacters, byMerging, byUnigrams } from "./segment.js";

export const PAD = 0;
const UNKNOWN = 1;
export const START = 2;
export const END = 3;
const [NORMAL, CONTROL, USER_DEFINED, BYTE] = [1, 3, 4, 6]; // numbers of sentencepiece_model.proto
const SPACE = "▁";
const NEWLINE = "<newline>"; // the token of a line break
const BLANKS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029▁]/gu;
const INVISIBLE = /[\u00ad\u034f\u061c\u180e\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/gu;
const UNJOINED = "[A-Za-z\\u00c0-\\u024f\\u0370-\\u052f\\u3040-\\u30ff\\u3400-\\u9fff\\uac00-\\ud7a3]"; // scripts whose letters are not joined
const JOINER = "[\\u200b-\\u200d\\ufe00-\\ufe0f]+";
// eslint-disable-next-line no-misleading-character-class -- joiners are what is looked for
const JOINERS = new RegExp(`(?<=${UNJOINED})${JOINER}|${JOINER}(?=${UNJOINED})`, "gu");
const BESIDE_LETTERS = /(?<=[\p{L}_.,;:!?)])[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000](?=[\p{L}\p{N}_])|(?<=\p{Nd})[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000](?=\p{L})/gu;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const strict = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });

/**
 * The text in NFC, without invisible characters in words, and with control characters and line breaks replaced by spaces.
 *
 * @param {string} text
 */
export function normalize(text) {
  return text.replace(BLANKS, " ").replace(INVISIBLE, "").replace(JOINERS, "").normalize("NFC");
}

/** The text with plain spaces between its words. */
export const withSpaces = (/** @type {string} */ text) => text.replace(BESIDE_LETTERS, " ");

/** Whether UTF-8 can encode the text: it has no half of a surrogate pair. @param {string} text */
export function isWritable(text) {
  return !/\p{Surrogate}/u.test(text);
}

/** As Python's strip(): a byte order mark is no whitespace there. @param {string} text */
export function strip(text) {
  return text.replace(/^(?:(?!\ufeff)\s)+|(?:(?!\ufeff)\s)+$/gu, "");
}

export class Tokenizer {
  /** `raw`: of `jumok.data.pieces.PieceTable`. @param {PiecesFacts} raw @param {Uint8Array | null} charsmap */
  constructor(raw, charsmap = null) {
    this.pieces = raw.pieces;
    this.types = raw.types;
    this.raw = raw;
    this.charsmap = charsmap && new Charsmap(charsmap);
    const scores = Float32Array.from(raw.scores);
    const normal = scores.filter((_, id) => raw.types[id] === NORMAL);
    /** @type {Map<string, number>} */
    const ids = new Map();
    /** @type {Set<number>} */
    const defined = new Set();
    /** @type {Map<number, number>} */
    this.bytes = new Map();
    raw.pieces.forEach((piece, id) => {
      if (raw.types[id] === NORMAL || raw.types[id] === USER_DEFINED) ids.set(piece, id);
      if (raw.types[id] === USER_DEFINED) defined.add(id);
      if (raw.types[id] === BYTE) this.bytes.set(Number.parseInt(piece.slice(3, 5), 16), id);
    });
    const longest = Math.max(...raw.pieces.map((piece) => [...piece].length));
    this.table = { ids, scores, defined, longest, unknown: UNKNOWN, most: Math.max(...normal), least: Math.min(...normal) };
    this.symbols = [...defined].map((id) => raw.pieces[id]).sort((a, b) => b.length - a.length);
  }

  /** The ids of a text, without START and END. @param {string} text */
  encode(text) {
    const clean = this.prepared(normalize(text));
    if (!clean) return [];
    const { segmentation, byteFallback } = this.raw;
    const found = segmentation === "unigram" ? byUnigrams([...clean], this.table)
      : (segmentation === "bpe" ? byMerging : byCharacters)(this.split(clean), this.table);
    /** @type {number[]} */
    const ids = [];
    let unknown = false;
    for (const [piece, id] of found) {
      const unseen = id === UNKNOWN;
      if (unseen && byteFallback) for (const byte of encoder.encode(piece)) ids.push(/** @type {number} */ (this.bytes.get(byte)));
      else if (!unseen || !unknown) ids.push(id); // neighbours that are unknown are one
      unknown = unseen;
    }
    return ids;
  }

  /** SentencePiece's own normalisation: its rules, spaces, and the space before the text. @param {string} text */
  prepared(text) {
    const { dummyPrefix, removeExtra } = this.raw;
    if (!text) return "";
    let out = "";
    let afterSpace = removeExtra;
    for (let part of this.replacedParts(text)) {
      if (afterSpace) part = part.replace(/^ +/, "");
      out += part;
      if (part) afterSpace = removeExtra && part.endsWith(" ");
    }
    out = (dummyPrefix ? SPACE : "") + out.replaceAll(" ", SPACE);
    return removeExtra ? out.replace(/▁+$/u, "") : out;
  }

  /**
   * The text in parts: user-defined symbols as they are, and other characters replaced by the rules.
   *
   * @param {string} text
   */
  *replacedParts(text) {
    if (!this.charsmap && !this.symbols.length) {
      yield* text;
      return;
    }
    const bytes = encoder.encode(text);
    const symbols = this.symbols.map((symbol) => encoder.encode(symbol));
    for (let at = 0; at < bytes.length;) {
      const symbol = symbols.find((each) => each.every((byte, i) => bytes[at + i] === byte));
      const rule = symbol ? null : this.charsmap?.replaced(bytes, at);
      const lead = bytes[at];
      const length = symbol?.length ?? rule?.length ?? (lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4);
      yield rule ? decoder.decode(rule.bytes) : decoder.decode(bytes.subarray(at, at + length));
      at += length;
    }
  }

  /** Characters, and whole user-defined symbols. @param {string} text */
  split(text) {
    const found = [];
    for (let at = 0; at < text.length;) {
      const symbol = this.symbols.find((each) => text.startsWith(each, at));
      const part = symbol ?? String.fromCodePoint(/** @type {number} */ (text.codePointAt(at)));
      found.push({ text: part, frozen: Boolean(symbol) });
      at += part.length;
    }
    return found;
  }

  /** The text of the ids, without PAD, START and END. @param {number[]} ids */
  decode(ids) {
    let text = "";
    /** @type {number[]} */
    let run = [];
    let first = true;
    const close = () => {
      text += textOfBytes(run);
      run = [];
    };
    const { dummyPrefix, removeExtra, unknown } = this.raw;
    for (const id of ids) {
      if (id === PAD || id === START || id === END) continue;
      if (this.types[id] === BYTE) {
        run.push(Number.parseInt(this.pieces[id].slice(3, 5), 16));
        continue;
      }
      close();
      if (text) first = false;
      if (this.types[id] === CONTROL) continue;
      if (id === UNKNOWN) {
        text += unknown;
        continue;
      }
      let piece = this.pieces[id];
      if (first && (dummyPrefix || removeExtra) && piece.startsWith(SPACE)) {
        piece = piece.slice(1);
        if (!removeExtra) first = false;
      }
      text += piece.replaceAll(SPACE, " ");
    }
    close();
    return normalize(text);
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

/**
 * For each name the index of its word: a symbol of the space on its own belongs to the next one, and a line break is a word.
 *
 * @param {string[]} names
 */
export function wordsOf(names) {
  let word = 0;
  let filled = false;
  const words = names.map((piece) => {
    if (filled && (piece.startsWith(SPACE) || piece.startsWith(NEWLINE))) {
      word += 1;
      filled = false;
    }
    const own = word;
    filled ||= piece !== SPACE;
    if (piece === NEWLINE) {
      word += 1;
      filled = false;
    }
    return own;
  });
  const last = filled ? word : Math.max(word - 1, 0);
  return words.map((index) => Math.min(index, last));
}

/** UTF-8, with U+FFFD for every byte that is not part of a character. @param {number[]} bytes */
function textOfBytes(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length;) {
    const lead = bytes[at];
    const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    try {
      text += strict.decode(Uint8Array.from(bytes.slice(at, at + length)));
      at += length;
    } catch {
      text += "\ufffd";
      at += 1;
    }
  }
  return text;
}
