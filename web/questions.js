/** The views by the question that each answers: a row of questions, and below it the views of the chosen one. */

import { byId, element, fading } from "./dom.js";
import { QUESTIONS } from "./views/catalog.js";

const FADED = 48; // px at an edge behind which there are more tabs

/**
 * The two rows of tabs.
 *
 * Returns the rows, and the id of the tab that names the panel.
 *
 * @param {ViewName[]} names @param {ViewName} shown @param {State} state @param {Words} text
 */
export function questionTabs(names, shown, state, text) {
  const all = /** @type {[keyof typeof QUESTIONS, object][]} */ (Object.entries(QUESTIONS))
    .map(([question, views]) => ({ question, views: names.filter((name) => name in views) })).filter(({ views }) => views.length);
  const { question, views } = all.find((each) => each.views.includes(shown)) ?? all[0];
  const asked = all.map((each) => ({ id: `question-${each.question}`, on: each.question === question,
    text: text[`question_${each.question}`], open: () => each.question !== question && state.set({ view: each.views[0] }) }));
  const own = views.map((name) => ({ id: `tab-${name}`, on: name === shown, text: text[name], title: text.tabShows[name],
    open: () => state.set({ view: name }) }));
  return {
    rows: [row(asked, text.questions, "questions"), row(own, text.viewsOf(text[`question_${question}`]), "views")],
    labelledBy: `tab-${shown}`,
  };
}

/** Scrolls the rows to their chosen tabs. Not by `scrollIntoView`, which would make the Tab key begin there and not at the top. @param {HTMLElement[]} rows */
export function showChosenTabs(rows) {
  for (const nav of rows) {
    const chosen = /** @type {HTMLElement} */ (nav.querySelector("[aria-selected='true']"));
    const [left, right] = [chosen.offsetLeft, chosen.offsetLeft + chosen.offsetWidth];
    if (left < nav.scrollLeft) nav.scrollLeft = left - FADED;
    else if (right > nav.scrollLeft + nav.clientWidth) nav.scrollLeft = right - nav.clientWidth + FADED;
  }
}

/**
 * @param {{ id: string, on: boolean, text: string, title?: string, open: () => void }[]} tabs
 * @param {string} label @param {string} kind
 */
function row(tabs, label, kind) {
  const open = (/** @type {(typeof tabs)[0]} */ tab) => {
    tab.open();
    byId(tab.id).focus();
  };
  const buttons = tabs.map((tab, i) => element("button", {
    type: "button",
    role: "tab",
    id: tab.id,
    "aria-selected": String(tab.on),
    "aria-controls": "panel",
    title: tab.title ?? null,
    tabindex: tab.on ? "0" : "-1",
    onclick: tab.open,
    onkeydown: (event) => {
      /** @type {number | undefined} */
      const to = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: -1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      open(tabs[(to + tabs.length) % tabs.length]);
    },
  }, tab.text));
  return fading(element("nav", { role: "tablist", class: kind, "aria-label": label }, ...buttons));
}
