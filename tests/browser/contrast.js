/**
 * Watches every text that a page draws on a canvas: `drawn` has the text, its colour, and its contrast (WCAG 2.2) with
 * the colours that are under it. Colours under less than a seventh of the text, such as thin lines, do not count.
 */
(() => {
  const part = (value) => (value <= 0.04045 * 255 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([red, green, blue]) => 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
  const paper = () => (document.documentElement.dataset.theme === "dark" ? [28, 30, 38] : [253, 253, 251]);
  window.drawn = [];
  window.watching = true;
  const fill = CanvasRenderingContext2D.prototype.fillText;
  const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    if (!window.watching) return fill.call(this, text, x, y);
    const measured = this.measureText(text);
    const matrix = this.getTransform();
    const left = x - measured.actualBoundingBoxLeft, right = x + measured.actualBoundingBoxRight;
    const corners = [[left, y - measured.actualBoundingBoxAscent], [right, y + measured.actualBoundingBoxDescent]]
      .map(([a, b]) => matrix.transformPoint({ x: a, y: b }));
    const [from, to] = [corners[0], corners[1]];
    const box = [Math.min(from.x, to.x), Math.min(from.y, to.y), Math.abs(from.x - to.x), Math.abs(from.y - to.y)].map(Math.round);
    if (text.trim() && box[2] > 0 && box[3] > 0 && Math.abs(matrix.b) < 0.01) {
      const alike = new Map(); // a page asks thousands of times: each colour is put on paper once
      const pixels = new Uint32Array(this.getImageData(...box).data.buffer);
      for (const pixel of pixels) alike.set(pixel, (alike.get(pixel) ?? 0) + 1);
      const counts = new Map(), sheet = paper();
      for (const [pixel, count] of alike) {
        const [red, green, blue, alpha] = new Uint8Array(Uint32Array.of(pixel).buffer);
        const over = alpha / 255;
        const seen = sheet.map((own, c) => Math.round(over * [red, green, blue][c] + (1 - over) * own)).join();
        counts.set(seen, (counts.get(seen) ?? 0) + count);
      }
      probe.clearRect(0, 0, 1, 1);
      probe.fillStyle = this.fillStyle;
      probe.fillRect(0, 0, 1, 1);
      const ink = light(probe.getImageData(0, 0, 1, 1).data);
      const enough = [...counts].filter(([, count]) => count >= 0.15 * pixels.length); // not of a thin line
      const ratios = enough.map(([seen]) => {
        const under = light(seen.split(",").map(Number));
        return (Math.max(ink, under) + 0.05) / (Math.min(ink, under) + 0.05);
      });
      if (ratios.length) window.drawn.push([text, this.fillStyle, Math.min(...ratios)]);
    }
    return fill.call(this, text, x, y);
  };
})();
