/** The guide: the list of tours and games, and the panel of the one that is running, above the views. */

import { element } from "../dom.js";
import { meetsNeeds, missingViews } from "./fit.js";
import { GAMES, gamePanel, offeredGames } from "./games.js";
import { tourPanel } from "./tour.js";

const KEPT = ["lang", "text", "picture", "gold", "against", "pin"]; // what belongs to the reader, not to a step

/**
 * The guide of a page.
 *
 * at: `tours` that the page holds, and `live`, whether its server changes the model. state: the page's.
 * open(values, turned) goes to a link's values as Back does; `turned` adds the moment before to the history.
 *
 * Returns the nodes (`button` for the header, `node` for the page), `update` for every drawing of the page,
 * `offer(tours)`, where another model has other tours, and `guessing`: "view" or "output" while an open question hides these, otherwise "".
 */
export function guide({ tours: held = [], live }, state, open) {
  const now = { trace: null, words: null, names: [] };
  let tours = held;
  const kept = () => Object.fromEntries(KEPT.map((name) => [name, state.get(name)]).filter(([name, value]) => value !== state.base[name]));
  const go = (values, turned = true) => open({ ...kept(), ...values }, turned);
  const end = () => {
    state.set({ tour: "", step: "", game: "" });
    button.focus();
  };
  const tour = tourPanel({ now, state, live, go, end });
  const game = gamePanel({ now, state, end });
  const list = element("div", { id: "tour-list", class: "tour-list", hidden: true });
  const button = element("button", { type: "button", id: "tours", "aria-expanded": "false", "aria-controls": "tour-list", onclick: () => toggle(list.hidden) });
  const node = element("div", { class: "guide" }, list, tour.node, game.node);
  const toggle = (shown) => {
    list.hidden = !shown;
    button.setAttribute("aria-expanded", String(shown));
    if (shown) list.querySelector("button")?.focus();
  };
  const running = () => tours.find(({ name }) => name === state.get("tour"));
  const start = (values) => {
    toggle(false);
    if (values.tour) tour.start(tours.find(({ name }) => name === values.tour));
    else state.set({ ...values, tour: "", step: "" });
    (values.tour ? tour : game).focus();
  };
  document.addEventListener("keydown", (event) => escape(event), true);
  function escape(event) {
    if (event.key !== "Escape" || event.isComposing || document.querySelector(".tooltip:not([hidden])")) return;
    if (!list.hidden) {
      toggle(false);
      button.focus();
    } else if (running() || GAMES[state.get("game")]) end();
  }
  const update = (trace, words, names) => {
    Object.assign(now, { trace, words, names });
    if (!trace.sites.length) {
      button.hidden = true;
      return;
    }
    const fitting = tours.filter((each) => meetsNeeds(each, trace) && !missingViews(each, names).length);
    const games = offeredGames(trace, state, names, live);
    button.hidden = !fitting.length && !games.length;
    button.textContent = words.tours;
    fill(list, words, state.get("lang"), fitting, games, start);
    tour.update(running());
    game.update(running() ? "" : state.get("game"));
  };
  const offer = (others = []) => {
    tours = others;
  };
  return { button, node, update, offer, guessing: () => game.guessing() };
}

/** The tours and the games, each a button with what it is about. */
function fill(list, words, lang, tours, games, start) {
  const open = list.contains(document.activeElement) ? document.activeElement?.id : "";
  const language = lang === "ko" ? "ko" : "en";
  const one = (id, title, text, values) => element("li", {}, element("button", { type: "button", id, onclick: () => start(values) },
    element("b", {}, title), element("span", { class: "muted" }, text)));
  const part = (title, items) => (items.length ? [element("h2", {}, title), element("ul", {}, ...items)] : []);
  list.replaceChildren(
    ...part(words.toursTitle, tours.map((tour) => one(`start-${tour.name}`, tour.title[language], tour.text[language], { tour: tour.name }))),
    ...part(words.gamesTitle, games.map((name) => one(`start-game-${name}`, words.games[name].title, words.games[name].about, { game: name }))));
  if (open) document.getElementById(open)?.focus();
}
