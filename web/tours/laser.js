/** What a step of a tour points at: a ring closes around it once, and what plays in it plays. */

import { element } from "../dom.js";
import { still } from "../player.js";

/** By the view, the parts to point at: the first one that is there. @type {ByName<string[]>} */
const TARGETS = {
  overview: [".word.chosen", "#overview-image"],
  scrubber: ["#look"],
  board: ["#map"],
  row: ["#panel .marked", "#panel table"],
  grid: ["#panel .grid", "#panel table"],
  heads: ['.switches [aria-pressed="false"]', ".switches"],
  mattered: ["#panel .marked", "#panel canvas", "#panel table"],
  layers: ["#map"],
  beam: ["#panel .written"],
  theatre: [".tree .on", ".tree"],
  compare: ["#panel canvas"],
  run: ["#panel canvas"],
};
const AROUND = 5; // px between a part and its ring

/** Points at what a view is about; a map names the cell of its cursor. @param {string} view */
export function pointAt(view) {
  document.querySelectorAll(".laser").forEach((ring) => ring.remove());
  if (still()) return;
  document.querySelector("#walk, #flow")?.dispatchEvent(new Event("replay"));
  const targetOf = () => (TARGETS[view] ?? []).map((each) => /** @type {HTMLElement | SVGElement | null} */ (document.querySelector(each))).find((each) => each !== null);
  const first = targetOf();
  if (!first) return;
  first.scrollIntoView({ block: "nearest" });
  const ring = element("div", { class: "laser", "aria-hidden": "true", onanimationend: () => ring.remove() });
  document.body.append(ring);
  // It stays where its part is: what is computed meanwhile may move that.
  const follow = () => {
    const target = targetOf();
    if (!target) ring.remove();
    if (!target || !ring.isConnected) return;
    surround(ring, target);
    requestAnimationFrame(follow);
  };
  follow();
}

/**
 * Places a ring around a part, or around the cell that a map names in the pixels that it is laid out in.
 *
 * @param {HTMLElement} ring @param {HTMLElement | SVGElement} target
 */
function surround(ring, target) {
  const { left, top, width, height } = target.getBoundingClientRect();
  const [x, y, wide, high] = target.dataset.cell?.split(",").map(Number) ?? [0, 0, width, height];
  const place = { left: left + scrollX + x - AROUND, top: top + scrollY + y - AROUND, width: wide + 2 * AROUND, height: high + 2 * AROUND };
  for (const [name, px] of Object.entries(place)) ring.style.setProperty(name, `${px}px`);
}
