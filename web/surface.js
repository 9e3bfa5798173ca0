/** The same drawing on two surfaces: the screen's canvas and an SVG file. */

import { INK, PAPER, palette, theme } from "./colours.js";
import { contextOf } from "./dom.js";

/**
 * @typedef {[x: number, y: number]} Spot
 * @typedef {{ size?: number, align?: "left" | "center" | "right", turn?: number, fill?: string }} Lettering
 */

/**
 * One pixel per cell: one pass over the bytes instead of a drawing call for each.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {number} columns
 * @param {number} rows
 * @param {Uint8Array} shades
 * @param {Uint32Array} colours
 */
export function paint(canvas, columns, rows, shades, colours) {
  canvas.width = columns;
  canvas.height = rows;
  const context = contextOf(canvas);
  const image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < pixels.length; i++) pixels[i] = colours[shades[i]];
  context.putImageData(image, 0, 0);
  return canvas;
}

export const GAP = 5; // px: from this cell size on, there are gaps between cells
const SHAPES = 20_000; // cells that an SVG file draws one by one

const FONT = 'system-ui, "Noto Sans KR", "Apple SD Gothic Neo", "Malgun Gothic", NanumGothic, sans-serif';

let magnification = 1;

/**
 * Draws so many times finer from now on, where the style enlarges the page.
 *
 * @param {number} times
 */
export function magnify(times) {
  magnification = times || 1;
}

export function pixelRatio() {
  return (window.devicePixelRatio || 1) * magnification;
}

export class CanvasSurface {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {number} width
   * @param {number} height
   */
  constructor(canvas, width, height) {
    const ratio = pixelRatio();
    canvas.width = Math.ceil(width * ratio);
    canvas.height = Math.ceil(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    this.theme = theme();
    this.context = contextOf(canvas);
    this.context.scale(ratio, ratio);
    this.context.clearRect(0, 0, width, height);
  }

  /**
   * Draws what `draw` draws, translated.
   *
   * @param {number} x
   * @param {number} y
   * @param {() => void} draw
   */
  moved(x, y, draw) {
    this.context.save();
    this.context.translate(x, y);
    draw();
    this.context.restore();
  }

  /** What has been drawn so far, as an image. */
  copy() {
    const { canvas } = this.context;
    const still = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
    contextOf(still).drawImage(canvas, 0, 0);
    return still;
  }

  /**
   * Restores that image, without what has been drawn since.
   *
   * @param {HTMLCanvasElement} still
   * @param {[left: number, right: number] | null} between these places only
   */
  restore(still, between = null) {
    this.context.save();
    if (between) {
      this.context.beginPath();
      this.context.rect(between[0], 0, between[1] - between[0], still.height);
      this.context.clip();
    }
    this.context.resetTransform();
    this.context.globalCompositeOperation = "copy";
    this.context.drawImage(still, 0, 0);
    this.context.restore();
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   * @param {string} fill
   */
  rect(x, y, width, height, fill) {
    this.context.fillStyle = fill;
    this.context.fillRect(x, y, width, height);
  }

  /**
   * Cells of one size, row by row; from `GAP` on with a gap between them.
   *
   * @param {number} x
   * @param {number} y
   * @param {[number, number]} cell
   * @param {number} columns
   * @param {Uint8Array} shades
   * @param {Uint32Array} colours
   */
  raster(x, y, [wide, high], columns, shades, colours = palette(this.theme)) {
    const rows = shades.length / columns;
    if (!rows || !columns) return;
    const [width, height] = [wide * columns, high * rows];
    this.context.imageSmoothingEnabled = false;
    this.context.drawImage(paint(document.createElement("canvas"), columns, rows, shades, colours),
      x, y, width, height);
    if (Math.min(wide, high) < GAP) return;
    for (let c = 1; c <= columns; c++) this.context.clearRect(x + wide * c - 1, y, 1, height);
    for (let r = 1; r <= rows; r++) this.context.clearRect(x, y + high * r - 1, width, 1);
  }

  /**
   * An image, or a canvas.
   *
   * @param {HTMLCanvasElement | HTMLImageElement} drawn
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   * @param {boolean} smooth
   */
  image(drawn, x, y, width, height, smooth) {
    this.context.imageSmoothingEnabled = smooth;
    this.context.drawImage(drawn, x, y, width, height);
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   * @param {string} stroke
   * @param {number} thick
   */
  frame(x, y, width, height, stroke, thick = 2) {
    this.context.strokeStyle = stroke;
    this.context.lineWidth = thick;
    this.context.strokeRect(x, y, width, height);
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} radius
   * @param {string} fill
   */
  disc(x, y, radius, fill) {
    this.context.fillStyle = fill;
    this.context.beginPath();
    this.context.arc(x, y, radius, 0, 2 * Math.PI);
    this.context.fill();
  }

  /**
   * @param {Spot[]} points
   * @param {string} stroke
   * @param {number} thick
   * @param {number[]} dash
   */
  line(points, stroke, thick = 2, dash = []) {
    this.context.strokeStyle = stroke;
    this.context.lineWidth = thick;
    this.context.setLineDash(dash);
    this.context.beginPath();
    for (const [x, y] of points) this.context.lineTo(x, y);
    this.context.stroke();
    this.context.setLineDash([]);
  }

  /**
   * @param {string} text
   * @param {number} x
   * @param {number} y
   * @param {Lettering} lettering
   */
  text(text, x, y, { size = 13, align = "left", turn = 0, fill = INK[this.theme] } = {}) {
    this.context.save();
    this.context.translate(x, y);
    this.context.rotate((turn * Math.PI) / 180);
    this.context.font = `${size}px ${FONT}`;
    this.context.textAlign = align;
    this.context.fillStyle = fill;
    this.context.fillText(text, 0, 0);
    this.context.restore();
  }
}

const ANCHORS = { left: "start", center: "middle", right: "end" };

/** @param {string} text */
function escaped(text) {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

export class SvgSurface {
  /**
   * @param {number} width
   * @param {number} height
   */
  constructor(width, height) {
    /** For paper. @type {Theme} */
    this.theme = "light";
    this.size = [Math.ceil(width), Math.ceil(height)];
    this.parts = [`<rect width="100%" height="100%" fill="${PAPER.light}"/>`];
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   * @param {string} fill
   */
  rect(x, y, width, height, fill) {
    this.parts.push(`<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${fill}"/>`);
  }

  /**
   * Few cells become shapes that can be edited; many become one image, or no program could open the file.
   *
   * @param {number} x
   * @param {number} y
   * @param {[number, number]} cell
   * @param {number} columns
   * @param {Uint8Array} shades
   * @param {Uint32Array} colours
   */
  raster(x, y, [wide, high], columns, shades, colours = palette(this.theme)) {
    const rows = shades.length / columns;
    if (shades.length > SHAPES) {
      const picture = paint(document.createElement("canvas"), columns, rows, shades, colours).toDataURL();
      this.parts.push(`<image x="${x}" y="${y}" width="${wide * columns}" height="${high * rows}" preserveAspectRatio="none" style="image-rendering:pixelated" href="${picture}"/>`);
      return;
    }
    const gap = Math.min(wide, high) < GAP ? 0 : 1;
    shades.forEach((shade, i) => {
      const [c, r] = [i % columns, Math.floor(i / columns)];
      const [red, green, blue] = [0, 8, 16].map((shift) => (colours[shade] >> shift) & 255);
      this.rect(x + wide * c, y + high * r, wide - gap, high - gap, `rgb(${red},${green},${blue})`);
    });
  }

  /**
   * @param {HTMLCanvasElement | HTMLImageElement} drawn
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   * @param {boolean} smooth
   */
  image(drawn, x, y, width, height, smooth) {
    const href = drawn instanceof HTMLImageElement ? drawn.src : drawn.toDataURL();
    const crisp = smooth ? "" : ' style="image-rendering:pixelated"';
    this.parts.push(`<image x="${x}" y="${y}" width="${width}" height="${height}" preserveAspectRatio="none"${crisp} href="${href}"/>`);
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   * @param {string} stroke
   * @param {number} thick
   */
  frame(x, y, width, height, stroke, thick = 2) {
    this.parts.push(
      `<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="none" stroke="${stroke}" stroke-width="${thick}"/>`,
    );
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {() => void} draw
   */
  moved(x, y, draw) {
    this.parts.push(`<g transform="translate(${x} ${y})">`);
    draw();
    this.parts.push("</g>");
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} radius
   * @param {string} fill
   */
  disc(x, y, radius, fill) {
    this.parts.push(`<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${radius.toFixed(1)}" fill="${fill}"/>`);
  }

  /**
   * @param {Spot[]} points
   * @param {string} stroke
   * @param {number} thick
   * @param {number[]} dash
   */
  line(points, stroke, thick = 2, dash = []) {
    const places = points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
    this.parts.push(`<polyline points="${places}" fill="none" stroke="${stroke}" stroke-width="${thick}" stroke-dasharray="${dash.join(" ")}"/>`);
  }

  /**
   * @param {string} text
   * @param {number} x
   * @param {number} y
   * @param {Lettering} lettering
   */
  text(text, x, y, { size = 13, align = "left", turn = 0, fill = INK.light } = {}) {
    this.parts.push(
      `<text transform="translate(${x} ${y}) rotate(${turn})" font-size="${size}" text-anchor="${ANCHORS[align]}" fill="${fill}">${escaped(text)}</text>`,
    );
  }

  toString() {
    const [width, height] = this.size;
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family='${FONT}'>${this.parts.join("")}</svg>`;
  }
}

/** @type {CanvasRenderingContext2D | undefined} */
let ruler;

/**
 * @param {string} text
 * @param {number} [size] of the letters, in px
 */
export function textWidth(text, size = 13) {
  ruler ??= contextOf(document.createElement("canvas"));
  ruler.font = `${size}px ${FONT}`;
  return ruler.measureText(text).width;
}
