/** What the training data of a translator looked like: bundle/profile.py has the same rule, and its reasons. */

const LENGTH = 4; // characters of an n-gram
const FACTORS = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f];
const AROUND = /^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu;

export class Profile {
  /** `grams`: a bit for each hash of an n-gram that was seen, as base64. @param {string} grams */
  constructor(grams) {
    this.table = Uint8Array.from(atob(grams), (character) => character.charCodeAt(0));
    this.shift = 32 - Math.log2(8 * this.table.length);
  }

  /** The indices of the words with an n-gram that no source of the training data had. @param {string} text */
  unknownWords(text) {
    const words = text.split(" ").filter(Boolean);
    return words.flatMap((word, index) => (/\p{L}/u.test(word) && !this.has(word.replace(AROUND, "")) ? [index] : []));
  }

  /** Whether every n-gram of a word, after a space, was seen. @param {string} word */
  has(word) {
    const signs = [...` ${plain(word)}`].map((sign) => sign.codePointAt(0) ?? 0);
    return signs.slice(LENGTH - 1).every((_, start) => {
      let hash = 0;
      FACTORS.forEach((factor, place) => {
        hash = Math.imul(hash ^ signs[start + place], factor);
        hash ^= hash >>> 15;
      });
      const bit = hash >>> this.shift;
      return (this.table[bit >> 3] >> (7 - (bit & 7))) & 1;
    });
  }
}

/**
 * Without capitals, decomposed; all digits are alike. Of "ß" the capital is "SS", as for Python's casefold.
 *
 * @param {string} word
 */
function plain(word) {
  return word.toUpperCase().toLowerCase().replaceAll("ς", "σ").normalize("NFKD").replace(/[1-9]/gu, "0");
}
