/**
 * An image as the model reads it: decoded by the browser, composed onto white, and scaled as Pillow 13 scales it
 * (Resample.c): a triangle filter over all pixels, with weights of 22 bits and a rounding to bytes after each direction.
 */

import { contextOf } from "../dom.js";
import { Refused } from "./answering.js";

/** @typedef {{ width: number, height: number, bytes: Uint8Array }} Pixels */

const BITS = 22;
const [LONGEST_SIDE, MOST_PIXELS] = [16384, 64_000_000]; // data/files/images.py

/**
 * The pixels of a file, (height, width, 3) in bytes, upright as its EXIF data says, without colour management.
 *
 * @param {File} file
 */
export async function decoded(file) {
  /** @type {ImageBitmap} */
  let bitmap;
  try {
    bitmap = await createImageBitmap(file, { colorSpaceConversion: "none", premultiplyAlpha: "none" });
  } catch {
    throw new Refused(file.size ? "faultNotImage" : "faultNoBytes");
  }
  const { width, height } = bitmap;
  if (Math.max(width, height) > LONGEST_SIDE || width * height > MOST_PIXELS)
    throw new Refused("faultPixels", LONGEST_SIDE, MOST_PIXELS);
  const canvas = new OffscreenCanvas(width, height);
  const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d", { willReadFrequently: true }));
  context.drawImage(bitmap, 0, 0);
  bitmap.close();
  const { data } = context.getImageData(0, 0, width, height);
  const bytes = new Uint8Array(width * height * 3);
  for (let from = 0, to = 0; from < data.length; from += 4) {
    const alpha = data[from + 3];
    for (let colour = 0; colour < 3; colour++, to++) bytes[to] = alpha === 255 ? data[from + colour] : onWhite(data[from + colour], alpha);
  }
  return { width, height, bytes };
}

/** As Pillow's alpha_composite. @param {number} colour @param {number} alpha */
function onWhite(colour, alpha) {
  const sum = (colour * alpha + 255 * (255 - alpha) + 128) * 128;
  return (((sum >> 8) + sum) >> 8) >> 7;
}

/**
 * For each pixel of the scaled line the first pixel that it is made of, and their weights.
 *
 * @param {number} before @param {number} after
 */
function weightsOf(before, after) {
  const scale = before / after;
  const reach = Math.max(scale, 1);
  return Array.from({ length: after }, (_, place) => {
    const middle = (place + 0.5) * scale;
    const first = Math.max(0, Math.trunc(middle - reach + 0.5));
    const end = Math.min(before, Math.trunc(middle + reach + 0.5));
    const shares = Array.from({ length: end - first }, (__, i) => Math.max(0, 1 - Math.abs((i + first - middle + 0.5) * (1 / reach))));
    const sum = shares.reduce((all, each) => all + each, 0);
    return { first, shares: shares.map((share) => Math.trunc(0.5 + (share / sum) * 2 ** BITS)) };
  });
}

/**
 * `lines` lines of `before` pixels each become `after` pixels long; `step`: from a pixel to the next, `line`: from a line to the next.
 *
 * @param {Uint8Array} bytes @param {number} lines @param {number} before @param {number} after
 * @param {[line: number, step: number]} from @param {[line: number, step: number]} to
 */
function scaledLines(bytes, lines, before, after, [line, step], [newLine, newStep]) {
  if (before === after) return bytes;
  const out = new Uint8Array(lines * after * 3);
  const weights = weightsOf(before, after);
  for (let row = 0; row < lines; row++) {
    weights.forEach(({ first, shares }, place) => {
      for (let colour = 0; colour < 3; colour++) {
        let sum = 2 ** (BITS - 1);
        for (let i = 0, at = row * line + first * step + colour; i < shares.length; i++, at += step) sum += bytes[at] * shares[i];
        out[row * newLine + place * newStep + colour] = Math.min(255, sum >> BITS);
      }
    });
  }
  return out;
}

/**
 * The image with the height, width and colours of a shape: data/pictures/corpus.py. Pillow begins with the columns where
 * the height loses more than twice as much as the width.
 *
 * @param {Pixels} pixels @param {PictureShape} shape
 * @returns {Pixels}
 */
export function scaled({ width, height, bytes }, shape) {
  /** @param {Uint8Array} from @param {number} count */
  const rows = (from, count) => scaledLines(from, count, width, shape.width, [width * 3, 3], [shape.width * 3, 3]);
  /** @param {Uint8Array} from @param {number} count */
  const columns = (from, count) => scaledLines(from, count, height, shape.height, [3, count * 3], [3, count * 3]);
  const columnsFirst = height > shape.height && height - shape.height > 2 * (width - shape.width);
  const coloured = columnsFirst ? rows(columns(bytes, width), shape.height) : columns(rows(bytes, height), shape.width);
  return { width: shape.width, height: shape.height, bytes: shape.colours === 1 ? greyOf(coloured) : coloured };
}

/** How bright the eye finds each pixel. @param {Uint8Array} bytes */
function greyOf(bytes) {
  return Uint8Array.from({ length: bytes.length / 3 }, (_, i) =>
    Math.floor((299 * bytes[3 * i] + 587 * bytes[3 * i + 1] + 114 * bytes[3 * i + 2] + 500) / 1000));
}

/** The image as the address of a PNG file. @param {Pixels} pixels */
export function addressOf({ width, height, bytes }) {
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width, height });
  const context = contextOf(canvas);
  const data = context.createImageData(width, height);
  const colours = bytes.length / (width * height);
  for (let from = 0, to = 0; from < bytes.length; from += colours, to += 4) {
    data.data.set(colours === 1 ? [bytes[from], bytes[from], bytes[from]] : bytes.subarray(from, from + 3), to);
    data.data[to + 3] = 255;
  }
  context.putImageData(data, 0, 0);
  return canvas.toDataURL("image/png");
}
