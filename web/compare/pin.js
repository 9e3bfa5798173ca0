/** The pinned state: a trace and a view of it that stay, so that whatever follows is compared with them. */

import { changed, changes } from "../changes.js";
import { element } from "../dom.js";
import { faultText } from "../faults.js";
import { fixed, valuesIn } from "../state.js";
import { Trace, visible } from "../trace.js";

const OF_VIEW = /** @type {const} */ (["view", "part", "layer", "head", "off", "blank", "set"]); // what a pin keeps of the state, besides the input
const MOST_QUOTED = 120; // characters

/**
 * The pin of a page.
 *
 * own: the trace that the page opened with. answer: what computes others, if anything does. The link holds the pin as
 * the input and the view, from which it is restored: of the page's own trace at once, of another one by asking.
 *
 * @param {Trace} own @param {State} state @param {Answer | undefined} answer @param {() => void} render
 */
export function pinboard(own, state, answer, render) {
  /** @type {Pinned} */
  let held = { key: "" };

  /** What is pinned now: {key, trace, view}, {key, lost} if a link's pin cannot be restored here, or null. */
  const current = () => {
    const key = state.get("pin");
    if (key !== held.key) restore(key);
    return key ? held : null;
  };
  /** @param {string} key */
  const restore = (key) => {
    const told = valuesIn(key);
    const view = viewOf(key, state);
    const prefix = (new URLSearchParams(key).get("prefix") ?? "").split(" ").filter(Boolean).map(Number);
    held = { key, view, text: told.picture || told.text };
    const mine = held;
    if (!key) return;
    const altered = changed(view) || prefix.length > 0;
    if (told.text === own.text && !told.picture && !altered && own.sites.length) held.trace = own;
    else if (answer) {
      answer({ text: told.text, picture: told.picture, prefix, ...changes(view) }).then((found) => {
        if (mine !== held) return;
        if (found.error !== undefined) mine.lost = found.error;
        else mine.trace = new Trace(found);
        render();
      }, () => {
        mine.lost = "faultGone";
        render();
      });
    } else mine.lost = true;
  };
  /**
   * Pins a trace with the present view; `picture`: the name of its image on the server.
   *
   * @param {Trace} trace @param {string} picture
   */
  const pin = (trace, picture) => {
    const told = { text: trace.text, picture, prefix: trace.page.begun?.tokens.join(" ") ?? "" };
    const view = new URLSearchParams(state.writtenOf(OF_VIEW));
    const key = new URLSearchParams([...Object.entries(told), ...view].filter(([, value]) => value)).toString();
    held = { key, trace, view: viewOf(key, state), text: trace.text };
    state.set({ pin: key });
  };
  return { current, pin, unpin: () => state.set({ pin: "" }) };
}

/**
 * The state as it was when it was pinned; what does not belong to the pin (words or tokens, ...) is the present one's.
 *
 * @param {string} key @param {Chosen} state
 */
function viewOf(key, state) {
  const told = valuesIn(key);
  return fixed(state, Object.fromEntries(OF_VIEW.map((name) => [name, told[name]])));
}

/**
 * What is pinned, and the button that unpins it.
 *
 * @param {Pinned | null} pinned @param {{ unpin: () => void }} board @param {Words} words
 */
export function pinRow(pinned, board, words) {
  if (!pinned) return [];
  const text = shortened(visible(pinned.text ?? ""));
  const told = pinned.lost ? words.pinLost(text, pinned.lost === true ? "" : faultText(pinned.lost, words))
    : pinned.trace ? words.pinned(text) : words.pinComing;
  return [element("p", { class: pinned.lost ? "pinned fault" : "pinned", id: "pinned" }, element("span", {}, told),
    element("button", { type: "button", id: "unpin", onclick: board.unpin }, words.unpin))];
}

/** A text as it is quoted in a sentence of the page. @param {string} text */
function shortened(text) {
  const characters = [...text];
  return characters.length > MOST_QUOTED ? `${characters.slice(0, MOST_QUOTED - 1).join("")}…` : text;
}
