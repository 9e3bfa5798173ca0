/** How much each head changed between two traces: a strip of all heads, and a table. */

import { element, table } from "../dom.js";
import { colour, inkOn, palette, theme } from "../colours.js";
import { eachHead } from "./difference.js";

const NOTICED = 0.0005; // smaller means are not called a change
const LISTED = 40; // heads of the table

/**
 * The strip, which is filled after the first picture.
 *
 * @param {{ sides: [Side, Side] }} pair @param {State} state @param {Words} words
 */
export function changedHeads(pair, state, words) {
  const [first, second] = pair.sides;
  const node = element("div", { class: "apart", id: "apart" });
  eachHead(first.trace, second.trace, state, words.rest, (heads) => node.replaceChildren(...filled(heads, second, state, words)));
  return node;
}

/** @param {HeadApart[]} heads @param {Side} shown @param {State} state @param {Words} words */
function filled(heads, shown, state, words) {
  if (heads.length < 2) return [];
  const sorted = [...heads].sort((a, b) => b.mean - a.mean);
  const [top, last] = [sorted[0], sorted[sorted.length - 1]];
  const bySize = state.get("apart") !== "place";
  /** @param {HeadApart} it */
  const name = ({ site, head }) => `${words[site.part]}, ${words.layerNumber(site.layer + 1)}, ${words.pathHead(String(head + 1))}`;
  /** @param {HeadApart} it */
  const points = ({ mean }) => (100 * mean).toFixed(1);
  const said = top.mean < NOTICED ? words.noHeadChanged : words.headChanged(heads.length, name(top), points(top), points(last));
  const buttons = (bySize ? sorted : heads).map((each) => {
    const on = each.site === shown.site && each.head === shown.head;
    const share = top.mean < NOTICED ? 0 : each.mean / top.mean;
    const label = `${name(each)}: ${points(each)}`;
    const button = element("button", { type: "button", id: `apart-${each.site.name}-${each.head}`, "aria-label": label, title: label,
      "aria-pressed": String(on), tabindex: "-1", onclick: () => state.set({ part: each.site.part, layer: each.site.layer, head: each.head }) },
    `${each.site.layer + 1}.${each.head + 1}`, element("small", {}, points(each)));
    button.style.background = colour(share, theme());
    button.style.color = inkOn(palette(theme())[Math.round(255 * share)]);
    return button;
  });
  (buttons.find((button) => button.getAttribute("aria-pressed") === "true") ?? buttons[0]).setAttribute("tabindex", "0");
  const order = element("button", { type: "button", id: "apart-order", onclick: () => state.set({ apart: bySize ? "place" : "change" }) },
    bySize ? words.apartByPlace : words.apartBySize);
  const parts = bySize ? [group("", buttons)] : [...new Set(heads.map(({ site }) => site.part))].map((part) =>
    group(words[part], buttons.filter((_, i) => heads[i].site.part === part)));
  const rows = sorted.slice(0, LISTED).map((each) => [name(each), points(each)]);
  return [element("h2", {}, words.apartHeads), element("p", { class: "compare-says", id: "apart-says" }, said), element("p", { class: "muted" }, words.apartHeadsHelp, " ", order),
    element("div", { class: "apart-strip", role: "group", "aria-label": words.apartHeads, onkeydown: (event) => move(event, buttons) }, ...parts),
    element("details", { id: "apart-numbers" }, element("summary", {}, words.numbers), table([words.head, words.apartPoints], rows, words.apartHeads))];
}

/** @param {string} name @param {HTMLElement[]} buttons */
function group(name, buttons) {
  return element("div", {}, ...(name ? [element("span", { class: "muted" }, name)] : []), ...buttons);
}

/** The arrow keys, Home and End move through the heads in their order. @param {KeyboardEvent} event @param {HTMLElement[]} buttons */
function move(event, buttons) {
  const at = buttons.findIndex((button) => button === event.target);
  /** @type {ByName<number>} */
  const places = { ArrowLeft: at - 1, ArrowUp: at - 1, ArrowRight: at + 1, ArrowDown: at + 1, Home: 0, End: buttons.length - 1 };
  const to = places[event.key];
  if (at < 0 || to === undefined) return;
  event.preventDefault();
  const next = buttons[Math.min(Math.max(to, 0), buttons.length - 1)];
  buttons.forEach((button) => button.setAttribute("tabindex", button === next ? "0" : "-1"));
  next.focus();
}
