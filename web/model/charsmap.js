/**
 * The compiled rules of a SentencePiece normaliser: a double-array trie whose keys are the beginnings of a
 * text that are replaced, and the texts that replace them. Source: Yata's Darts-clone; SentencePiece's
 * normalizer.cc.
 */

const offsetOf = (/** @type {number} */ unit) => (unit >>> 10) << ((unit & 512) >>> 6);

export class Charsmap {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const size = view.getUint32(0, true);
    this.units = new Uint32Array(size / 4);
    for (let i = 0; i < this.units.length; i++) this.units[i] = view.getUint32(4 + 4 * i, true);
    this.texts = bytes.subarray(4 + size);
  }

  /**
   * The longest beginning at `start` that is replaced, and its replacement; null: none is.
   *
   * @param {Uint8Array} bytes @param {number} start
   */
  replaced(bytes, start) {
    let found = null;
    let node = offsetOf(this.units[0]);
    for (let at = start; at < bytes.length; at++) {
      node ^= bytes[at];
      const unit = this.units[node];
      if (((unit & 0x800000ff) >>> 0) !== bytes[at]) break;
      node ^= offsetOf(unit);
      if ((unit >>> 8) & 1) found = { length: at + 1 - start, text: this.units[node] & 0x7fffffff };
    }
    if (!found) return null;
    const end = this.texts.indexOf(0, found.text);
    return { length: found.length, bytes: this.texts.subarray(found.text, end) };
  }
}
