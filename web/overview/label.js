/** What made the label of a text: its words, coloured by how much less probable the label is without each. */

import { element, preview, unbroken } from "../dom.js";
import { largest } from "../trace.js";
import { chanceOf, percentOf } from "./facts.js";
import { changeText } from "./sentence.js";

const FAINTEST = 0.02; // of the strongest effect: smaller ones have no colour

/**
 * The sentence and the line of words; null: the trace has no label, or no occlusion of its words.
 *
 * The colour is the drop of the label's log-probability by occlusion, up to the largest one of either sign.
 */
export function labelStage(trace, words) {
  const facts = trace.findings.attribution?.words;
  if (trace.baseline || trace.kind.writes !== "label" || !facts || trace.axes[facts.read].grid) return null;
  const [drops] = facts.measures.blank[facts.read];
  const { texts } = trace.axes[facts.read];
  const effects = drops.map((nats) => ({ nats, before: chanceOf(trace, [0]) }));
  const most = Math.max(...drops.map(Math.abs)) || 1;
  const top = largest(drops);
  const said = element("p", { class: "sentence", id: "label-sentence", "aria-live": "polite" });
  const say = (word) => said.replaceChildren(...unbroken(sentence(trace, texts, effects, word, top, words)));
  const node = element("div", { class: "label-stage" },
    element("div", { class: "line made", role: "group", "aria-label": words.madeLabel }, ...texts.map((text, i) => wordOf(text, i, effects[i], most, say, words))),
    element("p", { class: "muted" }, words.madeLabelScale));
  node.addEventListener("mouseleave", () => say(top));
  node.addEventListener("focusout", (event) => {
    if (!node.contains(event.relatedTarget)) say(top);
  });
  say(top);
  return { said, node };
}

function sentence(trace, texts, effects, word, top, words) {
  const change = changeText(effects[word], words.sentence);
  const chance = words.sentence.share(percentOf(effects[word].before));
  // Where every word lowers the label's probability, it depends on none.
  const say = word === top && effects[top].nats > 0 ? words.labelMost : words.labelWord;
  return say(trace.output, chance, texts[word], change);
}

function wordOf(text, i, effect, most, say, words) {
  const share = effect.nats / most;
  const kind = share >= FAINTEST ? " for" : share <= -FAINTEST ? " against" : "";
  const node = element("button", { type: "button", id: `made-${i}`, class: `word${kind}`, "aria-label": words.labelName(text, changeText(effect, words.sentence)),
    ...preview(() => say(i)), onclick: () => say(i) }, element("span", {}, text));
  if (kind === " for") node.style.setProperty("--share", share.toFixed(3));
  return node;
}
