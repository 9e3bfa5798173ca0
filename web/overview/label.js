/** What made the label: words or cells of an image, coloured by how much less probable the label is without each. */

import { element, preview, unbroken } from "../dom.js";
import { cellUnder, drawLook } from "../picture.js";
import { largest } from "../maps.js";
import { chanceOf, changeOf, percentOf } from "./facts.js";
import { changeText } from "./sentence.js";

const FAINTEST = 0.02; // of the strongest effect: smaller ones have no colour

const SIDE = 280; // px: the longer side of the image

/**
 * The sentence, and the line of words or the image; null: the trace has no label, or no occlusion.
 *
 * The colour is the drop of the label's log-probability by occlusion, up to the largest one of either sign. An image stays
 * bright where covering its pixels makes the label less probable.
 *
 * @param {Trace} trace @param {Words} words
 */
export function labelStage(trace, words) {
  const facts = trace.findings.attribution?.words;
  const measured = (facts?.measures.patch ?? facts?.measures.blank)?.[facts.read];
  if (trace.page.baseline || trace.kind.writes !== "label" || !facts || !measured) return null;
  const [drops] = measured;
  const { texts, grid } = trace.axes[facts.read];
  const effects = drops.map((nats) => ({ nats, before: chanceOf(trace, [0]) }));
  const most = Math.max(...drops.map(Math.abs)) || 1;
  const top = largest(drops);
  const said = element("p", { class: "sentence", id: "label-sentence", "aria-live": "polite" });
  /** @param {number | null} word what is pointed at */
  const say = (word) => said.replaceChildren(...unbroken(sentence(trace, grid ? drops.map((_, cell) => words.spot(cell, grid)) : texts, effects, word, top, words)));
  const node = element("div", { class: "label-stage" },
    grid ? imageOf(trace, drops, grid, { top, say, words })
      : element("div", { class: "line made", role: "group", "aria-label": words.madeLabel }, ...texts.map((text, i) => wordOf(text, i, effects[i], most, say, words))),
    element("p", { class: "muted" }, grid ? words.madeLabelCells : words.madeLabelScale));
  node.addEventListener("mouseleave", () => say(null));
  node.addEventListener("focusout", (event) => {
    if (!node.contains(/** @type {Node | null} */ (event.relatedTarget))) say(null);
  });
  say(null);
  return { said, node };
}

/** @param {Trace} trace @param {string[]} texts @param {Drop[]} effects @param {number | null} word @param {number} top @param {Words} words */
function sentence(trace, texts, effects, word, top, words) {
  const change = changeText(effects[word ?? top], words.sentence);
  const chance = words.sentence.share(percentOf(effects[top].before));
  const [most, none, each] = trace.picture ? [words.labelCellMost, words.labelCellNone, words.labelCell] : [words.labelMost, words.labelNone, words.labelWord];
  if (word !== null) return each(trace.output, chance, texts[word], change);
  return effects[top].nats > 0 && changeOf(effects[top]).how !== "same" ? most(trace.output, chance, texts[top], change) : none(trace.output, chance);
}

/**
 * The image, as bright at each cell as the label depends on it; the mouse says the effect of a cell.
 *
 * @param {Trace} trace @param {number[]} drops @param {Grid} grid @param {{ top: number, say: (cell: number) => void, words: Words }} parts
 */
function imageOf(trace, drops, grid, { top, say, words }) {
  const weights = Float32Array.from(drops, (drop) => Math.max(0, drop));
  const canvas = element("canvas", { id: "label-image", role: "img", "aria-label": words.madeLabel });
  drawLook(canvas, { picture: trace.picture, grid, weights, most: weights[largest(weights)] || 1, smooth: true, marked: top }, SIDE);
  canvas.addEventListener("mousemove", (event) => say(cellUnder(event, canvas, grid)));
  return canvas;
}

/** @param {string} text @param {number} i @param {Drop} effect @param {number} most @param {(word: number) => void} say @param {Words} words */
function wordOf(text, i, effect, most, say, words) {
  const share = effect.nats / most;
  const seen = Math.abs(share) >= FAINTEST && changeOf(effect).how !== "same";
  const kind = !seen ? "" : share > 0 ? " for" : " against";
  const node = element("button", { type: "button", id: `made-${i}`, class: `word${kind}`, "aria-label": words.labelName(text, changeText(effect, words.sentence)),
    ...preview(() => say(i)), onclick: () => say(i) }, element("span", {}, text));
  if (kind === " for") node.style.setProperty("--share", share.toFixed(3));
  return node;
}
