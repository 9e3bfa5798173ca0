/** The colours of the page, and the scales that weights and effects are drawn with. */

const STOPS = {
  light: [[253, 253, 251], [202, 214, 240], [130, 152, 216], [62, 78, 192], [24, 28, 92]],
  dark: [[28, 30, 38], [46, 58, 118], [88, 112, 214], [164, 186, 247], [255, 255, 255]],
};

/**
 * One hue with monotonic lightness: readable with every kind of colour vision.
 *
 * @param {number} value
 * @param {Theme} theme
 */
export function colour(value, theme) {
  return `rgb(${mixed(STOPS[theme], Math.min(Math.max(value, 0), 1)).join(",")})`;
}

/**
 * Red, green and blue between these colours.
 *
 * @param {number[][]} stops
 * @param {number} share from 0 to 1
 */
function mixed(stops, share) {
  const at = share * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  return stops[low].map((from, i) => Math.round(from + (stops[low + 1][i] - from) * (at - low)));
}

/** @type {Record<string, Uint32Array>} */
const palettes = {};

/**
 * The scale as 256 colours, each as one number, in the byte order of image data.
 *
 * @param {Theme} name
 */
export function palette(name) {
  palettes[name] ??= Uint32Array.from({ length: 256 }, (_, i) => packed(mixed(STOPS[name], i / 255)));
  return palettes[name];
}

/**
 * A colour as one number.
 *
 * @param {number[]} colours
 */
function packed([red, green, blue]) {
  return (255 << 24) | (blue << 16) | (green << 8) | red;
}

/** From blue at -1 through the paper's colour at 0 to orange at 1: distinct with every kind of colour vision. */
const DIVERGING = {
  light: [[0, 58, 125], [86, 158, 214], [253, 253, 251], [236, 150, 62], [140, 62, 0]],
  dark: [[130, 196, 246], [38, 98, 158], [28, 30, 38], [166, 88, 12], [255, 190, 120]],
};

/**
 * 255 colours for -1 to 1, 0 in the middle of them; as `palette`.
 *
 * @param {Theme} name
 */
export function divergingPalette(name) {
  palettes[`${name} diverging`] ??= Uint32Array.from({ length: 255 }, (_, i) => packed(mixed(DIVERGING[name], i / 254)));
  return palettes[`${name} diverging`];
}

/**
 * Black or white, whichever is more legible on a colour of a palette (relative luminance, WCAG 2.2).
 *
 * @param {number} shade
 */
export function inkOn(shade) {
  const [red, green, blue] = [0, 8, 16].map((shift) => {
    const part = ((shade >> shift) & 255) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
}

/** "light" or "dark", as `dress` of theme.js has set it. @returns {Theme} */
export function theme() {
  return document.documentElement.dataset.theme === "dark" ? "dark" : "light";
}

/** What was measured by taking something away: another colour than that of attention. */
export const EFFECT = { light: "#b85300", dark: "#ffb066" };

export const INK = { light: "#1c1e26", dark: "#eceef4" };
export const MUTED = { light: "#5a5f70", dark: "#a4aabc" };
export const PAPER = { light: "#fdfdfb", dark: "#1c1e26" };
