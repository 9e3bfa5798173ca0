/** The panel of the games of prediction: a question, a guess, and then what the model did. */

import { element, refill, unbroken } from "../dom.js";
import { copied } from "../taking/clipboard.js";
import { imageQuestions } from "./image_questions.js";
import { headQuestions, lookQuestions, nextQuestions } from "./questions.js";

/**
 * Every game: its questions, the view that shows the answer, and what an open question hides. `likely`: whether there may be questions.
 *
 * @typedef {{ questions: (trace: Trace, state: State) => Riddle[], view: ViewName, hides: "view" | "output", likely: (trace: Trace, live: boolean, state: State) => unknown }} Game
 * @typedef {keyof Words["games"]} GameName
 * @type {Record<GameName, Game>}
 */
export const GAMES = {
  look: { questions: lookQuestions, view: "overview", hides: "view", likely: (trace) => trace.sites.some((site) => !trace.axes[site.keys].grid && site.columns > 2) },
  which: { questions: imageQuestions, view: "overview", hides: "view", likely: (trace, _, state) => imageQuestions(trace.page.baseline ?? trace, state).length > 0 },
  head: { questions: headQuestions, view: "heads", hides: "view",
    likely: (trace, live) => trace.sites.some((site) => site.heads > 1 && (live || trace.findings.ablation?.[site.name])) },
  next: { questions: nextQuestions, view: "beam", hides: "output", likely: (trace) => trace.steps.some(({ best }) => best.length > 1) },
};

/** @param {string} name @returns {name is GameName} */
export function isGame(name) {
  return Object.hasOwn(GAMES, name);
}

/**
 * The games that the page has the numbers for.
 *
 * @param {Trace} trace @param {State} state @param {ViewName[]} names @param {boolean} live
 */
export function offeredGames(trace, state, names, live) {
  return Object.keys(GAMES).filter(isGame).filter((name) => names.includes(GAMES[name].view) && GAMES[name].likely(trace, live, state));
}

/**
 * The panel of games; the score is kept here alone.
 *
 * Returns the node; `update(name)` for every drawing, "" where no game is running; `guessing`; `focus`.
 *
 * @param {{ now: Drawn, state: State, end: () => void }} page
 */
export function gamePanel({ now, state, end }) {
  const title = element("h2", { id: "game-title" });
  const count = element("span", { class: "muted tour-count" });
  const ask = element("p", { id: "game-ask" });
  const figure = element("div", { class: "game-figure" });
  const options = element("div", { class: "options", role: "group", "aria-labelledby": "game-ask" });
  const verdict = element("p", { id: "game-verdict", role: "status" });
  const score = element("span", { class: "muted", id: "game-score" });
  const next = element("button", { type: "button", id: "game-next", onclick: () => turn(played.at + 1) });
  const stop = element("button", { type: "button", id: "game-end", onclick: end });
  const result = element("button", { type: "button", id: "game-copy", hidden: true, onclick: copyResult });
  const post = element("pre", { id: "game-post", hidden: true, tabindex: "0", role: "region" });
  const node = element("section", { class: "tour", id: "game", "aria-labelledby": "game-title", hidden: true },
    element("div", { "aria-live": "polite" }, element("div", { class: "tour-head" }, title, count), ask), figure, options, verdict,
    element("div", { class: "tour-buttons" }, next, stop, result, score), post);
  /** @type {{ name: string, text: string | null, questions: Riddle[], at: number, guess: number | null, right: number, asked: number, marks: boolean[] }} */
  const played = { name: "", text: null, questions: [], at: 0, guess: null, right: 0, asked: 0, marks: [] };

  const running = () => /** @type {GameName} */ (played.name); // while its panel is open
  /** @param {GameName} name @param {string} text */
  const begin = (name, text) => {
    if (name !== played.name) Object.assign(played, { right: 0, asked: 0, marks: [] });
    Object.assign(played, { name, text, at: 0, guess: null, questions: GAMES[name].questions(now.trace.page.baseline ?? now.trace, state) });
  };
  /** @param {number} to */
  const turn = (to) => {
    Object.assign(played, { at: to, guess: null });
    state.set({ view: GAMES[running()].view });
    options.querySelector("button")?.focus();
  };
  /** @param {number} id */
  const guess = (id) => {
    const question = played.questions[played.at];
    played.guess = id;
    played.asked += 1;
    played.right += question.right.has(id) ? 1 : 0;
    played.marks.push(question.right.has(id));
    state.set({ view: GAMES[running()].view, ...question.reveal });
    (next.hidden ? stop : next).focus();
  };
  /** The score as a text to post: the marks, the game, and the model. @param {Drawn} drawn */
  const postOf = ({ words, trace }) =>
    [words.gamePost(played.right, played.asked, words.games[running()].title), played.marks.map((right) => (right ? "✓" : "✗")).join(""), `${trace.model} · jumok`].join("\n");
  async function copyResult() {
    post.textContent = postOf(now);
    const done = await copied(post.textContent, post);
    post.hidden = false; // also to be read, and copied by hand where the browser does not let the page
    result.textContent = done ? now.words.gameCopied : now.words.copyYourself;
  }
  const write = () => {
    const { words } = now;
    const question = played.questions[played.at];
    title.textContent = words.games[running()].title;
    stop.textContent = words.tourEnd;
    next.textContent = words.gameNext;
    score.textContent = played.asked ? words.gameScore(played.right, played.asked) : "";
    next.hidden = played.guess === null || played.at === played.questions.length - 1;
    count.textContent = question ? words.gameCount(played.at + 1, played.questions.length) : "";
    set(ask, question ? question.ask(words) : words.gameNothing);
    const given = played.guess;
    const answered = given !== null;
    const over = answered && played.at === played.questions.length - 1;
    result.hidden = !over;
    if (!over) post.hidden = true;
    if (post.hidden) result.textContent = words.gameCopy;
    post.setAttribute("aria-label", words.gameCopy);
    figure.replaceChildren(...(question?.figure && !answered ? [question.figure(words)] : [])); // then the view shows it
    set(verdict, answered ? `${question.right.has(given) ? words.gameRight : words.gameWrong} ${question.says(words, given)}` : "");
    refill(options, ...(question?.options ?? []).map(({ id, text }) => element("button", {
      type: "button", id: `option-${id}`, disabled: answered, class: answered && question.right.has(id) ? "right" : null,
      "aria-pressed": answered ? String(id === given) : null, onclick: () => guess(id),
    }, typeof text === "function" ? text(words) : text, ...(answered && question.right.has(id) ? [element("span", { "aria-hidden": "true" }, " ✓")] : []))));
  };
  /** @param {string} name */
  const update = (name) => {
    const known = isGame(name) && now.names.includes(GAMES[name].view);
    node.hidden = !known;
    if (!known) {
      played.name = "";
      return;
    }
    const text = `${now.trace.text}\n${(now.trace.page.baseline ?? now.trace).output}`;
    if (name !== played.name || text !== played.text || !played.questions.length) begin(name, text);
    write();
  };
  const guessing = () => (played.name && played.guess === null && played.questions.length ? GAMES[running()].hides : "");
  return { node, update, guessing, focus: () => (options.querySelector("button") ?? stop).focus() };
}

/** A live region says what is put into it: what is the same is not said again. @param {HTMLElement} node @param {string} text */
function set(node, text) {
  if (node.textContent !== text) node.replaceChildren(...unbroken(text));
}
