/** Paints what a part of the page shows on a canvas: its texts, canvases, bands and coloured boxes, as they are. */

/**
 * Paints a node: its left upper end is at the context's origin.
 *
 * Only what the pages' pictures consist of: backgrounds and borders of one colour, texts, canvases, and the paths of SVG.
 *
 * @param {CanvasRenderingContext2D} context @param {Element} node
 */
export function paintNode(context, node) {
  const { left, top } = node.getBoundingClientRect();
  context.save();
  context.translate(-left, -top);
  paint(context, node);
  context.restore();
}

/** @param {CanvasRenderingContext2D} context @param {Element} node */
function paint(context, node) {
  const style = getComputedStyle(node);
  if (style.display === "none" || style.visibility === "hidden" || style.opacity === "0") return;
  const box = node.getBoundingClientRect();
  if (node instanceof HTMLCanvasElement) {
    if (box.width && node.width) context.drawImage(node, box.left, box.top, box.width, box.height);
    return;
  }
  if (node instanceof SVGPathElement) {
    paintPath(context, node, style);
    return;
  }
  boxOf(context, box, style);
  for (const child of node.childNodes) {
    if (child instanceof Text) paintText(context, child, style);
    else if (child instanceof Element) paint(context, child);
  }
}

/** @param {CanvasRenderingContext2D} context @param {DOMRect} box @param {CSSStyleDeclaration} style */
function boxOf(context, { left, top, width, height }, style) {
  const shape = () => {
    context.beginPath();
    context.roundRect(left, top, width, height, Number.parseFloat(style.borderTopLeftRadius) || 0);
  };
  if (!/^rgba\(.*, 0\)$|transparent/.test(style.backgroundColor)) {
    context.fillStyle = style.backgroundColor;
    shape();
    context.fill();
  }
  const thick = Number.parseFloat(style.borderTopWidth) || 0;
  if (!thick || style.borderTopStyle === "none") return;
  context.strokeStyle = style.borderTopColor;
  context.lineWidth = thick;
  if (Number.parseFloat(style.borderBottomWidth)) shape();
  else {
    context.beginPath();
    context.moveTo(left, top);
    context.lineTo(left + width, top);
  }
  context.stroke();
}

/** @param {CanvasRenderingContext2D} context @param {SVGPathElement} node @param {CSSStyleDeclaration} style */
function paintPath(context, node, style) {
  const place = /** @type {DOMMatrix} */ (node.getScreenCTM()); // it is shown
  context.save();
  context.translate(place.e, place.f);
  context.scale(place.a, place.d);
  context.globalAlpha = Number(style.opacity) * Number(style.strokeOpacity);
  context.strokeStyle = style.stroke;
  context.lineWidth = Number.parseFloat(style.strokeWidth);
  context.stroke(new Path2D(node.getAttribute("d") ?? ""));
  context.restore();
}

/** A text, line by line as it is broken. @param {CanvasRenderingContext2D} context @param {Text} node @param {CSSStyleDeclaration} style */
function paintText(context, node, style) {
  if (!node.data.trim()) return;
  context.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  context.fillStyle = style.color;
  context.textBaseline = "alphabetic";
  const size = Number.parseFloat(style.fontSize);
  for (const { text, box } of linesOf(node)) context.fillText(text, box.left, box.top + box.height / 2 + size * 0.36);
}

/** The lines of a text with their boxes, word by word; a word that is broken is put together of its signs. @param {Text} node */
function linesOf(node) {
  const range = document.createRange();
  /** @type {{ text: string, box: DOMRect }[]} */
  const lines = [];
  const add = (/** @type {string} */ text, /** @type {number} */ at) => {
    const first = text.search(/\S/);
    range.setStart(node, at + first);
    range.setEnd(node, at + text.length);
    const signs = [...text.slice(first)];
    if (signs.length > 1 && range.getClientRects().length > 1) {
      signs.reduce((from, sign, i) => {
        add(i ? sign : text.slice(0, first) + sign, i ? from : at);
        return from + sign.length;
      }, at + first);
      return;
    }
    const box = range.getBoundingClientRect();
    const last = lines.at(-1);
    if (last && Math.abs(last.box.top - box.top) < 2) last.text += text;
    else if (box.width) lines.push({ text: text.trimStart(), box });
  };
  for (const { 0: word, index } of node.data.matchAll(/\s*\S+/g)) add(word, index);
  return lines;
}
