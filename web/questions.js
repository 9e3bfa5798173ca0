/** The views by the question that each answers: a row of questions, and below it the views of the chosen one. */

import { byId, element, fading } from "./dom.js";
import { termIn } from "./terms.js";
import { QUESTIONS } from "./views/catalog.js";

/**
 * The two rows of tabs.
 *
 * Returns the rows, and the id of the tab that names the panel.
 */
export function questionTabs(names, shown, state, text, lang) {
  const views = Object.fromEntries(Object.entries(QUESTIONS)
    .map(([question, own]) => [question, Object.keys(own).filter((name) => names.includes(name))])
    .filter(([, own]) => own.length));
  const question = Object.keys(views).find((each) => views[each].includes(shown)) ?? "";
  const asked = Object.keys(views).map((each) => ({ id: `question-${each}`, on: each === question,
    text: text[`question_${each}`], open: () => each !== question && state.set({ view: views[each][0] }) }));
  const own = views[question].map((name) => ({ id: `tab-${name}`, on: name === shown, text: text[name], term: termIn(text[name], lang),
    open: () => state.set({ view: name }) }));
  return {
    rows: [row(asked, text.questions, "questions"), row(own, text.viewsOf(text[`question_${question}`]), "views")],
    labelledBy: `tab-${shown}`,
  };
}

function row(tabs, label, kind) {
  const open = (tab) => {
    tab.open();
    byId(tab.id).focus();
  };
  const buttons = tabs.map((tab, i) => element("button", {
    type: "button",
    role: "tab",
    id: tab.id,
    "aria-selected": String(tab.on),
    "aria-controls": "panel",
    ...(tab.term ? { "data-term": tab.term, "aria-describedby": `term-${tab.term}` } : {}),
    tabindex: tab.on ? "0" : "-1",
    onclick: tab.open,
    onkeydown: (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      const end = { Home: 0, End: tabs.length - 1 }[event.key];
      if (!step && end === undefined) return;
      event.preventDefault();
      open(tabs[end ?? (i + step + tabs.length) % tabs.length]);
    },
  }, tab.text));
  return fading(element("nav", { role: "tablist", class: kind, "aria-label": label }, ...buttons));
}
