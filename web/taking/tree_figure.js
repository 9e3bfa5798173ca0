/** The beam search tree as a figure: nodes with their sums, edges to their parents. */

import { INK, PAPER, colour } from "../colours.js";
import { textWidth } from "../surface.js";

const [MARGIN, BENDS, SIZE] = [8, 12, 12]; // px; points of an edge's curve
const DASHED = [3, 4];

/** @typedef {import("../surface.js").Spot} Spot */

/**
 * places: the corner of each node that is shown; size: [width, height] of a node; line: the nodes of the chosen
 * hypothesis; sum: the text of a node's total; named: that of its token.
 *
 * @param {SearchNode[]} nodes @param {Spot[]} places @param {Pair<number>} size @param {Set<number>} line
 * @param {{ sum: (id: number) => string, named: (id: number) => string }} texts
 * @returns {Figure}
 */
export function treeFigure(nodes, places, [wide, high], line, { sum, named }) {
  const shown = nodes.map((_, id) => id).filter((id) => places[id]);
  const [right, low] = [0, 1].map((side) => Math.max(...shown.map((id) => places[id][side])));
  /** @type {(id: number) => Spot} */
  const corner = (id) => [places[id][0] + MARGIN, places[id][1] + MARGIN];
  return { width: right + wide + 2 * MARGIN, height: low + high + 2 * MARGIN, draw: (surface) => {
    const ink = INK[surface.theme];
    for (const id of shown) {
      const { parent, fate } = nodes[id];
      if (parent < 0 || !places[parent]) continue;
      const on = line.has(id);
      surface.line(curve(corner(parent), corner(id), wide, high), colour(on ? 0.8 : 0.35, surface.theme), on ? 3 : 1.5, fate === "lost" ? DASHED : []);
    }
    for (const id of shown) {
      const [x, y] = corner(id);
      surface.rect(x, y, wide, high, PAPER[surface.theme]);
      /** @type {Spot[]} */
      const edge = [[x, y], [x + wide, y], [x + wide, y + high], [x, y + high], [x, y]];
      surface.line(edge, colour(line.has(id) ? 0.8 : 0.35, surface.theme), nodes[id].fate === "finished" ? 2.5 : 1, nodes[id].fate === "lost" ? DASHED : []);
      const total = sum(id);
      surface.text(cut(named(id), wide - textWidth(total, SIZE - 1) - 18), x + 6, y + high / 2 + 4, { size: SIZE, fill: ink });
      surface.text(total, x + wide - 6, y + high / 2 + 4, { size: SIZE - 1, align: "right", fill: ink });
    }
  } };
}

/** From the right of one node to the left of another. @param {Spot} from @param {Spot} to @param {number} wide @param {number} high @returns {Spot[]} */
function curve([px, py], [x, y], wide, high) {
  return Array.from({ length: BENDS + 1 }, (_, i) => {
    const t = i / BENDS;
    return [px + wide + (x - px - wide) * t, py + high / 2 + (y - py) * t * t * (3 - 2 * t)];
  });
}

/** @param {string} text @param {number} width */
function cut(text, width) {
  const letters = Array.from(text);
  while (letters.length > 1 && textWidth(letters.join(""), SIZE) > width) letters.splice(-2, 2, "…");
  return letters.join("");
}
