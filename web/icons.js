/** Small drawings on buttons; their names are in the buttons' labels. */

const PATHS = {
  share: "M12 15V4M8 7.5 12 3.5l4 4M5 12v7.5h14V12",
  projector: "M3 4.5h18M4.5 4.5v11h15v-11M12 15.5v2M8.5 20.5l3.5-3 3.5 3",
  theme: "M12 3.5a8.5 8.5 0 1 0 0 17zM12 3.5a8.5 8.5 0 0 1 0 17",
  edit: "M4 20l1-4.5L16.5 4 20 7.5 8.5 19zM14 6.5 17.5 10",
};
const SVG = "http://www.w3.org/2000/svg";

/** @param {keyof typeof PATHS} name */
export function icon(name) {
  const node = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name]);
  for (const [key, value] of Object.entries({ class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" })) node.setAttribute(key, value);
  node.append(path);
  return node;
}
