/** One drawing, two papers: the screen's canvas and an SVG file show exactly the same. */

const STOPS = {
  light: [[253, 253, 251], [202, 214, 240], [130, 152, 216], [62, 78, 192], [24, 28, 92]],
  dark: [[28, 30, 38], [46, 58, 118], [88, 112, 214], [164, 186, 247], [255, 255, 255]],
};

/** One hue whose lightness runs one way: read alike by every kind of colour vision. */
export function colour(value, theme) {
  const stops = STOPS[theme];
  const at = Math.min(Math.max(value, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  const mixed = stops[low].map((from, i) => Math.round(from + (stops[low + 1][i] - from) * (at - low)));
  return `rgb(${mixed.join(",")})`;
}

export function theme() {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

export const INK = { light: "#1c1e26", dark: "#eceef4" };
const PAPER = { light: "#fdfdfb", dark: "#1c1e26" };
const FONT = 'system-ui, "Noto Sans KR", "Apple SD Gothic Neo", "Malgun Gothic", NanumGothic, sans-serif';

export class CanvasSurface {
  constructor(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.ceil(width * ratio);
    canvas.height = Math.ceil(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    this.theme = theme();
    this.context = canvas.getContext("2d");
    this.context.scale(ratio, ratio);
    this.context.clearRect(0, 0, width, height);
  }

  rect(x, y, width, height, fill) {
    this.context.fillStyle = fill;
    this.context.fillRect(x, y, width, height);
  }

  frame(x, y, width, height, stroke, thick = 2) {
    this.context.strokeStyle = stroke;
    this.context.lineWidth = thick;
    this.context.strokeRect(x, y, width, height);
  }

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

function escaped(text) {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

export class SvgSurface {
  constructor(width, height) {
    this.theme = "light"; // for paper
    this.size = [Math.ceil(width), Math.ceil(height)];
    this.parts = [`<rect width="100%" height="100%" fill="${PAPER.light}"/>`];
  }

  rect(x, y, width, height, fill) {
    this.parts.push(`<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${fill}"/>`);
  }

  frame(x, y, width, height, stroke, thick = 2) {
    this.parts.push(
      `<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="none" stroke="${stroke}" stroke-width="${thick}"/>`,
    );
  }

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

let ruler;

export function textWidth(text, size = 13) {
  ruler ??= document.createElement("canvas").getContext("2d");
  ruler.font = `${size}px ${FONT}`;
  return ruler.measureText(text).width;
}
