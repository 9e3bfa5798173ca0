/** Projector mode: everything larger, and what a lecture does not need out of the way. */

import { element } from "../dom.js";
import { icon } from "../icons.js";
import { magnify } from "../surface.js";

const KEY = "F9"; // no letter: those belong to whoever types, and to screen readers

/** @param {State} state */
const on = (state) => state.get("projector") === "on";

/**
 * Adds the mode to a page: a button, and one key.
 *
 * Returns the button, and `update`, which is called before the page is drawn.
 *
 * @param {State} state
 */
export function projector(state) {
  const toggle = () => state.set({ projector: on(state) ? "" : "on" });
  const button = element("button", { type: "button", id: "projector", "aria-keyshortcuts": KEY, onclick: toggle }, icon("projector"));
  document.addEventListener("keydown", (event) => {
    if (event.key !== KEY || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    toggle();
  });
  const update = (/** @type {Words} */ text) => {
    document.documentElement.classList.toggle("projector", on(state));
    magnify(on(state) ? Number(getComputedStyle(document.documentElement).getPropertyValue("--larger")) : 1);
    button.setAttribute("aria-label", text.projector);
    button.title = text.projectorKey(KEY);
    button.setAttribute("aria-pressed", String(on(state)));
  };
  return { button, update };
}
