/** The colours of the page: those of the system, until the reader chooses. */

import { element } from "./dom.js";
import { icon } from "./icons.js";

const SYSTEM = matchMedia("(prefers-color-scheme: dark)");
/** @type {(string | undefined)[]} */
const THEMES = ["light", "dark"];

/** Dresses the page; `chosen`: "light" or "dark", anything else is the system's choice. @param {string} [chosen] */
export function dress(chosen) {
  document.documentElement.dataset.theme = THEMES.includes(chosen) ? chosen : SYSTEM.matches ? "dark" : "light";
}

/** Calls `redraw` whenever the system turns light or dark. @param {() => void} redraw */
export function whenSystemTurns(redraw) {
  SYSTEM.addEventListener("change", () => redraw());
}

/**
 * The button that turns the page light or dark; a link keeps it.
 *
 * @param {State} state
 */
export function themeButton(state) {
  const button = element("button", { type: "button", id: "theme", onclick: () =>
    state.set({ theme: document.documentElement.dataset.theme === "dark" ? "light" : "dark" }) }, icon("theme"));
  const update = (/** @type {Words} */ text) => {
    button.title = text.theme;
    button.setAttribute("aria-label", text.theme);
  };
  return { button, update };
}
