/** A | B: two sentences, two models, or the model before and after a change, with aligned words and their difference. */

import { siteOf } from "../cursor.js";
import { choice, element, field } from "../dom.js";
import { siteChoices } from "../views/board.js";
import { pairShown } from "./beside.js";
import { counterpart, sideOf } from "./difference.js";
import { comparison } from "./maps.js";

/** @type {Needs} */
compareView.needs = (trace, _, asks) => Boolean(trace.other || trace.page.pinned || trace.page.baseline || trace.page.unforced) || (asks && !trace.picture);

/** @type {View} */
export function compareView(trace, state, words, ask) {
  /** @type {(name: "unit" | "as") => (value: string) => void} */
  const pick = (name) => (value) => state.set({ [name]: value });
  const controls = [
    ...siteChoices(trace, state, words),
    choice(words.unit, [["words", words.words], ["pieces", words.pieces]], state.get("unit"), pick("unit")),
    choice(words.as, [["picture", words.picture], ["table", words.table]], state.get("as"), pick("as")),
  ];
  if (ask && !trace.picture) {
    controls.push(field(words.second, state.get("against"), (against) => {
      state.set({ against });
      ask();
    }));
  }
  const help = words.compareHelp;
  const first = trace.page.once("both");
  if (ask && !trace.other && first && (state.get("against") || trace.page.known.beside)) ask();
  const pair = pairShown(trace, state, words) ?? againstOther(trace, state, words);
  if (!pair) return { help, controls, body: [element("p", {}, words.giveSecond)] };
  const { sides } = pair;
  if (!sides) return { help, controls, body: [element("p", {}, words.noCounterpart(pair.names[pair.kind === "sides" ? 1 : 0]))] };
  const found = comparison({ ...pair, sides }, state, words);
  if (found.control) controls.push(found.control);
  return { help, controls, body: [...found.says, ...found.body], figure: found.figure };
}

/**
 * The second sentence or model; where there is none, the sentence that the page opened with, if it is another one.
 *
 * @param {Trace} trace @param {Chosen} state @param {Words} words
 * @returns {Compared | null}
 */
function againstOther(trace, state, words) {
  const site = siteOf(trace, state);
  const now = sideOf(trace, state, site);
  if (trace.other) {
    const like = counterpart(trace.other, site);
    const tuned = trace.page.known.tuned;
    const names = tuned ? words.compareNames.tuned : words.compareNames.sides;
    const other = like && sideOf(trace.other, state, like);
    return { names, kind: tuned ? "tuned" : "sides", sides: other && (tuned ? [other, now] : [now, other]) };
  }
  const { opened } = trace.page;
  if (!opened || opened.text === trace.text) return null;
  const like = counterpart(opened, site);
  return { names: words.compareNames.edited, kind: "edited", sides: like && [sideOf(opened, state, like), now] };
}
