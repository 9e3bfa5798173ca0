/** The arrays of a page: their bytes become numbers when they are first needed. */

/** The bytes of a text in base64; bytes are returned as they are. */
export function bytesOf(text) {
  if (typeof text !== "string") return text;
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

let parts = [];

/** The parts of a saved page, in which its arrays are; later ones may be added to this list. */
export function holdParts(list) {
  parts = list;
}

/** Whether the part of an array is there. */
export function isHere({ at }) {
  return !at || at[0] < parts.length;
}

const ITEM = { f32: 4, u16: 2, s16: 2 }; // bytes of a number

/** The bytes of an array, in the order of its numbers. In a part, the first bytes of all numbers come first. */
function contentOf({ type, data, at }) {
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

/** Whole steps as numbers from 0 to 1; a loop, because `from` with a function takes ten times as long. */
export function shared(steps, most) {
  const found = new Float32Array(steps.length);
  for (let i = 0; i < steps.length; i++) found[i] = steps[i] / most;
  return found;
}

/** The whole numbers of an array whose rows have steps of their own, and the exponents of these powers of two. */
export function stepsOf(raw) {
  const bytes = contentOf(raw);
  const powers = raw.at ? contentOf({ type: "s8", at: raw.powers }) : bytesOf(raw.powers);
  return { items: new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2), powers: new Int8Array(powers.buffer, powers.byteOffset, powers.length) };
}

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

/** How far weights are from the recomputed ones, in steps. */
export function apartOf(raw) {
  const bytes = contentOf(raw);
  return new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** An array; bytes are converted to numbers only on access. */
export class Packed {
  constructor(raw) {
    const { shape, type } = raw;
    this.shape = shape;
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

  /** Whether a bit is set, in an array of bits. */
  is(index) {
    return Boolean(this.bits[index >> 3] & (128 >> (index & 7)));
  }

  get values() {
    this.numbers ??= shared(this.bytes, 255);
    return this.numbers;
  }

  /** The numbers of a window of the array. */
  window(start, end) {
    if (this.numbers) return this.numbers.subarray(start, end);
    return shared(this.bytes.subarray(start, end), 255);
  }

  /** The largest number of a window. */
  largest(start, end) {
    const [all, unit] = this.bytes ? [this.bytes, 1 / 255] : [this.numbers, 1];
    let most = 0;
    for (let i = start; i < end; i++) if (all[i] > most) most = all[i];
    return most * unit;
  }

  /** Numbers from 0 to 255 for a window of the array, for drawing. */
  shades(start, end) {
    if (this.bytes) return this.bytes.subarray(start, end);
    const found = new Uint8Array(end - start);
    for (let i = 0; i < found.length; i++) found[i] = Math.round(this.numbers[start + i] * 255);
    return found;
  }
}

/** An array as nested lists of numbers; lists are returned as they are. */
export function nested(raw) {
  if (Array.isArray(raw)) return raw;
  const { shape: [rows, columns], values } = new Packed(raw);
  return Array.from({ length: rows }, (_, row) => Array.from(values.subarray(row * columns, (row + 1) * columns)));
}
