/** All heads as one figure: the small maps in rows. */

const [APART, TITLE, MARGIN] = [14, 18, 8]; // px

/** @param {(canvas: HTMLCanvasElement) => void} draw */
export function drawnOn(draw) {
  const canvas = document.createElement("canvas");
  draw(canvas);
  return canvas;
}

/**
 * The canvases, whose style has their sizes; so many `columns` in a row.
 *
 * @param {{ title: string, canvas: HTMLCanvasElement }[]} maps @param {number} columns
 * @returns {Figure}
 */
export function gridFigure(maps, columns) {
  const sizes = maps.map(({ canvas: { style } }) => /** @type {const} */ ([Number.parseFloat(style.width), Number.parseFloat(style.height)]));
  const [wide, high] = [0, 1].map((side) => Math.max(...sizes.map((size) => size[side])));
  const at = (/** @type {number} */ i) => [MARGIN + (i % columns) * (wide + APART), MARGIN + Math.floor(i / columns) * (high + TITLE + APART)];
  const rows = Math.ceil(maps.length / columns);
  return {
    width: 2 * MARGIN + Math.min(columns, maps.length) * (wide + APART) - APART,
    height: 2 * MARGIN + rows * (high + TITLE + APART) - APART,
    draw: (surface) => maps.forEach(({ title, canvas }, i) => {
      const [x, y] = at(i);
      surface.text(title, x + sizes[i][0] / 2, y + 12, { size: 12, align: "center" });
      surface.image(canvas, x, y + TITLE, ...sizes[i], false);
    }),
  };
}
