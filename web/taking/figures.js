/** A figure as a file: SVG, or PNG on an opaque background in the current colours. */

import { PAPER } from "../colours.js";
import { CanvasSurface, SvgSurface, textWidth } from "../surface.js";

const [SMALL, LINE, MARGIN] = [12, 17, 8]; // px of a caption
const NARROWEST = 420; // px

/** What a view draws; some views make it only when it is wanted. @param {NonNullable<Shown["figure"]>} figure */
export function figureOf(figure) {
  return typeof figure === "function" ? figure() : figure;
}

/** @param {Figure} figure */
export function svgOf({ width, height, draw }) {
  const surface = new SvgSurface(width, height);
  draw(surface);
  return surface.toString();
}

/** @param {Figure} figure */
export function canvasOf({ width, height, draw }) {
  const canvas = document.createElement("canvas");
  const surface = new CanvasSurface(canvas, width, height);
  draw(surface);
  surface.context.globalCompositeOperation = "destination-over";
  surface.rect(0, 0, width, height, PAPER[surface.theme]);
  return canvas;
}

/** @param {Figure} figure @returns {Promise<Blob>} */
export function pngOf(figure) {
  return new Promise((done, fail) => canvasOf(figure).toBlob((blob) => (blob ? done(blob) : fail(new Error("the figure is too large for an image")))));
}

/** The figure with paragraphs below it, broken into lines of its width. @param {Figure} figure @param {string[]} paragraphs @returns {Figure} */
export function captioned(figure, paragraphs) {
  const width = Math.max(figure.width, NARROWEST);
  const lines = paragraphs.flatMap((text) => broken(text, width - 2 * MARGIN));
  return {
    width,
    height: figure.height + MARGIN + LINE * lines.length + MARGIN,
    draw: (surface) => {
      figure.draw(surface);
      lines.forEach((line, i) => surface.text(line, MARGIN, figure.height + MARGIN + LINE * (i + 0.7), { size: SMALL }));
    },
  };
}

/** The text in lines that are not wider than this, if its words allow it. @param {string} text @param {number} width */
function broken(text, width) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = `${lines[lines.length - 1]} ${word}`.trim();
    if (lines[lines.length - 1] === "" || textWidth(longer, SMALL) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}
