/** The arrays of a page: their bytes become numbers when they are first needed. */

/**
 * The bytes of a text in base64; bytes are returned as they are.
 *
 * @param {string | Uint8Array} text
 * @returns {Uint8Array}
 */
export function bytesOf(text) {
  if (typeof text !== "string") return text;
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

/** @type {Uint8Array[]} */
let parts = [];

/**
 * The parts of a saved page, in which its arrays are; later ones may be added to this list.
 *
 * @param {Uint8Array[]} list
 */
export function holdParts(list) {
  parts = list;
}

/**
 * Whether the part of an array is there.
 *
 * @param {Pick<RawArray, "at">} raw
 */
export function isHere({ at }) {
  return !at || at[0] < parts.length;
}

/** The bytes of a number, if not one. @type {Record<string, number>} */
const ITEM = { f32: 4, u16: 2, s16: 2 };

/**
 * The bytes of an array, in the order of its numbers. In a part, the first bytes of all numbers come first.
 *
 * @param {{ type: string, data?: RawArray["data"], at?: RawArray["at"] }} raw
 */
function contentOf({ type, data = "", at }) {
  if (!at) return bytesOf(data);
  const [part, start, length] = at;
  const planes = parts[part].subarray(start, start + length);
  const size = ITEM[type] ?? 1;
  if (size === 1) return planes;
  const bytes = new Uint8Array(length);
  const count = length / size;
  for (let plane = 0; plane < size; plane++) {
    for (let i = 0, from = plane * count; i < count; i++) bytes[i * size + plane] = planes[from + i];
  }
  return bytes;
}

/**
 * Whole steps as numbers from 0 to 1; a loop, because `from` with a function takes ten times as long.
 *
 * @param {ArrayLike<number>} steps
 * @param {number} most
 */
export function shared(steps, most) {
  const found = new Float32Array(steps.length);
  for (let i = 0; i < steps.length; i++) found[i] = steps[i] / most;
  return found;
}

/**
 * The whole numbers of an array whose rows have steps of their own, and the exponents of these powers of two.
 *
 * @param {RawArray} raw
 */
export function stepsOf(raw) {
  const bytes = contentOf(raw);
  const powers = Array.isArray(raw.powers) ? contentOf({ type: "s8", at: raw.powers }) : bytesOf(raw.powers ?? "");
  return { items: new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2), powers: new Int8Array(powers.buffer, powers.byteOffset, powers.length) };
}

/** @param {RawArray} raw */
function scaled(raw) {
  const { items, powers } = stepsOf(raw);
  const width = raw.shape[raw.shape.length - 1];
  const found = new Float32Array(items.length);
  for (let row = 0, i = 0; row < powers.length; row++) {
    const step = 2 ** powers[row];
    for (const end = i + width; i < end; i++) found[i] = items[i] * step;
  }
  return found;
}

/**
 * How far weights are from the recomputed ones, in steps.
 *
 * @param {RawArray} raw
 */
export function apartOf(raw) {
  const bytes = contentOf(raw);
  return new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** An array; bytes are converted to numbers only on access. */
export class Packed {
  /** @param {RawArray} raw */
  constructor(raw) {
    const { shape, type } = raw;
    this.shape = shape;
    /** Numbers; or bytes for 0 to 1; or bits. @type {Float32Array | undefined} */
    this.numbers = undefined;
    /** @type {Uint8Array | undefined} */
    this.bytes = undefined;
    /** @type {Uint8Array | undefined} */
    this.bits = undefined;
    if (type === "s16") {
      this.numbers = scaled(raw);
      return;
    }
    const bytes = contentOf(raw);
    if (type === "bits") this.bits = bytes;
    else if (type === "f32") this.numbers = new Float32Array(bytes.buffer);
    else if (type === "u16") this.numbers = shared(new Uint16Array(bytes.buffer), 65535);
    else this.bytes = bytes;
  }

  /**
   * Whether a bit is set, in an array of bits.
   *
   * @param {number} index
   */
  is(index) {
    return Boolean(/** @type {Uint8Array} */ (this.bits)[index >> 3] & (128 >> (index & 7)));
  }

  get values() {
    this.numbers ??= shared(/** @type {Uint8Array} */ (this.bytes), 255);
    return this.numbers;
  }

  /** The stored numbers, and what one of them counts. @returns {[Uint8Array | Float32Array, number]} */
  get stored() {
    return this.bytes ? [this.bytes, 1 / 255] : [this.values, 1];
  }

  /**
   * The numbers of a window of the array.
   *
   * @param {number} start
   * @param {number} end
   */
  window(start, end) {
    return this.numbers || !this.bytes ? this.values.subarray(start, end) : shared(this.bytes.subarray(start, end), 255);
  }

  /**
   * The largest number of a window.
   *
   * @param {number} start
   * @param {number} end
   */
  largest(start, end) {
    const [all, unit] = this.stored;
    let most = 0;
    for (let i = start; i < end; i++) if (all[i] > most) most = all[i];
    return most * unit;
  }

  /**
   * Numbers from 0 to 255 for a window of the array, for drawing.
   *
   * @param {number} start
   * @param {number} end
   */
  shades(start, end) {
    if (this.bytes) return this.bytes.subarray(start, end);
    const found = new Uint8Array(end - start);
    for (let i = 0; i < found.length; i++) found[i] = Math.round(this.values[start + i] * 255);
    return found;
  }
}

/**
 * An array as nested lists of numbers; lists are returned as they are.
 *
 * @param {RawArray | Matrix} raw
 * @returns {Matrix}
 */
export function nested(raw) {
  if (Array.isArray(raw)) return raw;
  const { shape: [rows, columns], values } = new Packed(raw);
  return Array.from({ length: rows }, (_, row) => Array.from(values.subarray(row * columns, (row + 1) * columns)));
}
