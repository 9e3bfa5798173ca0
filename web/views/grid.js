/** All layers and heads as small maps on one scale. */

import { choice, element, table } from "../dom.js";
import { paint, palette, theme } from "../surface.js";

const SIDE = 92;

export function gridView(trace, state, words) {
  const part = trace.parts().includes(state.get("part")) ? state.get("part") : trace.parts()[0];
  const heads = trace.of(part).flatMap((site) =>
    Array.from({ length: site.heads }, (_, head) => ({ site, head })));
  const order = state.get("sort");
  // The measures are a pass over every weight: they wait until somebody wants them.
  if (order !== "place" || state.get("as") === "table") {
    for (const each of heads) Object.assign(each, each.site.measures(each.head));
  }
  if (order !== "place") heads.sort((a, b) => a[order] - b[order]);
  if (order === "confidence") heads.reverse();
  const controls = [
    choice(words.part, trace.parts().map((each) => [each, words[each]]), part,
      (value) => state.set({ part: value, layer: "" })),
    choice(words.sort, [["place", words.place], ["entropy", words.entropy], ["confidence", words.confidence]],
      order, (sort) => state.set({ sort })),
    choice(words.as, [["picture", words.picture], ["table", words.table]], state.get("as"),
      (as) => state.set({ as })),
  ];
  const name = ({ site, head }) => `${site.layer + 1}.${head + 1}`;
  if (state.get("as") === "table") {
    const rows = heads.map((each) => [name(each), each.entropy.toFixed(3), each.confidence.toFixed(3)]);
    return { help: words.gridHelp, controls,
      body: [table([`${words.layer}.${words.head}`, words.entropy, words.confidence], rows, words.grid)] };
  }
  const columns = order === "place" ? Math.max(...trace.of(part).map((site) => site.heads)) : 8;
  const buttons = heads.map((each) => thumbnail(each, name(each), words, () =>
    state.set({ view: "board", part, layer: each.site.layer, head: each.head })));
  const grid = element("div", { class: "grid" }, ...buttons);
  grid.style.setProperty("--columns", columns);
  return { help: words.gridHelp, controls, body: [element("div", { class: "scroll" }, grid)] };
}

function thumbnail({ site, head, entropy, confidence }, name, words, onClick) {
  const measured = entropy === undefined ? ""
    : `; ${words.entropy} ${entropy.toFixed(2)}, ${words.confidence} ${confidence.toFixed(2)}`;
  const canvas = element("canvas", { "aria-hidden": "true" });
  const size = site.rows * site.columns;
  const shades = site.array("weights").shades(head * size, (head + 1) * size);
  paint(canvas, site.columns, site.rows, shades, palette(theme()));
  canvas.style.width = `${SIDE}px`;
  canvas.style.height = `${Math.round(SIDE * Math.min(site.rows / site.columns, 1.6))}px`;
  const label = `${words.layerNumber(site.layer + 1)}, ${words.head} ${head + 1}${measured}`;
  return element("button", { type: "button", "aria-label": label, title: label, onclick: onClick },
    canvas, element("span", {}, name));
}
