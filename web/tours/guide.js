/** The guide: the list of tours and games, and the panel of the one that is running, above the views. */

import { element, refill } from "../dom.js";
import { meetsNeeds, missingViews } from "./fit.js";
import { gamePanel, isGame, offeredGames } from "./games.js";
import { tourPanel } from "./tour.js";

/** @typedef {import("./games.js").GameName} GameName */

const KEPT = /** @type {const} */ (["lang", "text", "picture", "gold", "against", "pin"]); // what belongs to the reader, not to a step

/**
 * The guide of a page.
 *
 * at: `tours` that the page holds, and `live`, whether its server changes the model. state: the page's.
 * open(values, turned) goes to a link's values as Back does; `turned` adds the moment before to the history.
 *
 * Returns the nodes (`button` for the header, `node` for the page), `update` for every drawing of the page,
 * `offer(tours)`, where another model has other tours, and `guessing`: "view" or "output" while an open question hides these, otherwise "".
 *
 * @param {{ tours?: Tour[], live: boolean }} at @param {State} state @param {Open} open
 */
export function guide({ tours: held = [], live }, state, open) {
  const now = /** @type {Drawn} */ ({}); // until the first update
  let tours = held;
  const kept = () => Object.fromEntries(KEPT.filter((name) => state.get(name) !== state.base[name]).map((name) => [name, state.get(name)]));
  /** @type {Open} */
  const go = (values, turned) => open({ ...kept(), ...values }, turned);
  const end = () => {
    state.set({ tour: "", step: "", game: "" });
    button.focus();
  };
  const tour = tourPanel({ now, state, live, go, end });
  const game = gamePanel({ now, state, end });
  const list = element("div", { id: "tour-list", class: "tour-list", hidden: true });
  const button = element("button", { type: "button", id: "tours", "aria-expanded": "false", "aria-controls": "tour-list", onclick: () => toggle(list.hidden !== false) });
  const node = element("div", { class: "guide" }, list, tour.node, game.node);
  /** @param {boolean} shown */
  const toggle = (shown) => {
    list.hidden = !shown;
    button.setAttribute("aria-expanded", String(shown));
    if (shown) list.querySelector("button")?.focus();
  };
  const running = () => tours.find(({ name }) => name === state.get("tour"));
  /** @param {Tour | GameName} chosen */
  const start = (chosen) => {
    toggle(false);
    const toured = typeof chosen !== "string";
    if (toured) tour.start(chosen);
    else state.set({ game: chosen, tour: "", step: "" });
    (toured ? tour : game).focus();
  };
  document.addEventListener("keydown", (event) => escape(event), true);
  /** @param {KeyboardEvent} event */
  function escape(event) {
    if (event.key !== "Escape" || event.isComposing || document.querySelector(".tooltip:not([hidden]), #share[open]")) return;
    if (!list.hidden) {
      toggle(false);
      button.focus();
    } else if (running() || isGame(state.get("game"))) end();
  }
  /** @param {Trace} trace @param {Words} words @param {ViewName[]} names */
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
  /** @param {Tour[]} [others] */
  const offer = (others = []) => {
    tours = others;
  };
  return { button, node, update, offer, guessing: () => game.guessing() };
}

/**
 * The tours and the games, each a button with what it is about.
 *
 * @param {HTMLElement} list @param {Words} words @param {string} lang @param {Tour[]} tours @param {GameName[]} games @param {(chosen: Tour | GameName) => void} start
 */
function fill(list, words, lang, tours, games, start) {
  const language = lang === "ko" ? "ko" : "en";
  /** @param {string} id @param {string} title @param {string} text @param {Tour | GameName} chosen */
  const one = (id, title, text, chosen) => element("li", {}, element("button", { type: "button", id, onclick: () => start(chosen) },
    element("b", {}, title), element("span", { class: "muted" }, text)));
  /** @param {string} title @param {HTMLElement[]} items */
  const part = (title, items) => (items.length ? [element("h2", {}, title), element("ul", {}, ...items)] : []);
  refill(list,
    ...part(words.toursTitle, tours.map((tour) => one(`start-${tour.name}`, tour.title[language], tour.text[language], tour))),
    ...part(words.gamesTitle, games.map((name) => one(`start-game-${name}`, words.games[name].title, words.games[name].about, name))));
}
