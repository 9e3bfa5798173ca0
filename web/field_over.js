/** The field of the input, over the words of the picture that are the input. */

import { byId } from "./dom.js";

/**
 * given: the field's place in the page; input: the field; edit: a button for those who do not know that it is there.
 *
 * The field stays where it is in the document: one that is moved would lose the Hangul syllable that is being composed.
 * Returns `use(line)`, for the line of words, or null, and `leave()`, which goes from the field to these words.
 *
 * @param {HTMLElement} given @param {HTMLElement} input @param {HTMLElement} edit
 */
export function fieldOver(given, input, edit) {
  /** @type {HTMLElement | null} */
  let line = null;
  const observer = new ResizeObserver(() => follow());
  const follow = () => {
    /** @type {HTMLElement | null | undefined} */
    const word = line?.querySelector(".word");
    if (!line?.isConnected || !word) return;
    const style = getComputedStyle(word);
    const gutter = Number.parseFloat(getComputedStyle(line).paddingLeft);
    const [left, top] = placeOf(line);
    const right = byId("page").clientWidth - left - line.clientWidth; // no width: a page that is narrowed would keep it for a frame
    const shift = (Number.parseFloat(style.paddingBottom) - Number.parseFloat(style.paddingTop)) / 2; // the number's place below a word
    const first = word.offsetTop - line.offsetTop;
    Object.assign(given.style, {
      left: `${left + gutter}px`, top: `${top + first - shift}px`, right: `${right}px`, height: `${line.offsetHeight - first}px`,
    });
    Object.assign(input.style, { fontSize: style.fontSize, lineHeight: `${word.offsetHeight}px` });
  };
  const mark = () => line?.classList.toggle("editing", document.activeElement === input);
  const turn = () => {
    mark();
    line?.dispatchEvent(new Event("laid", { bubbles: true })); // its words are at other places
    follow();
  };
  input.addEventListener("focus", turn);
  input.addEventListener("blur", turn);
  const use = (/** @type {HTMLElement | null} */ other) => {
    observer.disconnect();
    line = other;
    if (!line) {
      given.removeAttribute("style");
      input.removeAttribute("style");
      return;
    }
    line.querySelector(".side")?.append(edit);
    line.addEventListener("click", (event) => event.target === event.currentTarget && input.focus());
    mark();
    observer.observe(line); // which follows before the next frame, and does not make the page lay itself out twice
    observer.observe(byId("page"));
  };
  const leave = () => {
    /** @type {HTMLElement | null | undefined} */
    const word = line?.querySelector(".word[tabindex='0']");
    if (word) word.focus();
    else input.blur();
  };
  return { use, leave };
}

/** Where a node is in the page, which may be enlarged: pixels of its own. @param {HTMLElement} node */
function placeOf(node) {
  let [left, top] = [0, 0];
  for (let at = /** @type {HTMLElement | null} */ (node); at && at.id !== "page"; at = /** @type {HTMLElement | null} */ (at.offsetParent)) {
    left += at.offsetLeft;
    top += at.offsetTop;
  }
  return [left, top];
}
