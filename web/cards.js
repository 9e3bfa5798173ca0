/** The page of head cards. All its data is in the page; it sends no requests. */

import { CARD_WORDS } from "./cards_words.js";
import { byId, download, element, refill } from "./dom.js";
import { State } from "./state.js";
import { fileName } from "./taking/names.js";
import { dress, whenSystemTurns } from "./theme.js";
import { cardsView } from "./views/cards.js";

/** @typedef {import("./views/cards.js").CardWords} CardWords */

/** @param {RawCards} raw @param {HTMLElement} root */
function showCards(raw, root) {
  const defaults = { part: "all", lang: navigator.language.startsWith("ko") ? "ko" : "en" };
  const state = new State(location.hash, defaults, () => {
    history.replaceState(null, "", `#${state.fragment}`);
    render();
  });
  window.addEventListener("hashchange", () => {
    state.read(location.hash);
    render();
  });
  whenSystemTurns(() => render());

  function render() {
    dress(state.get("theme"));
    const lang = state.get("lang");
    /** @type {CardWords} */
    const words = CARD_WORDS[lang === "ko" ? "ko" : "en"];
    document.documentElement.lang = lang;
    document.title = words.title;
    const view = cardsView(raw, state, words);
    view.controls.forEach((control, i) => {
      control.querySelector("select")?.setAttribute("id", `control-${i}`);
    });
    const language = element("button", {
      type: "button", id: "language", lang: lang === "ko" ? "en" : "ko",
      onclick: () => state.set({ lang: lang === "ko" ? "en" : "ko" }),
    }, lang === "ko" ? "English" : "한국어");
    const names = raw.models.map(({ name }) => name).join(" → ");
    refill(root,
      element("header", {}, element("h1", {}, words.title, element("small", {}, names)), language,
        element("p", { class: "help" }, words.over[raw.unit](raw.count.toLocaleString(lang), raw.data))),
      element("section", { id: "panel", class: "alone" }, element("p", { class: "help" }, view.help),
        element("form", { class: "controls" }, ...view.controls, ...saveButtons(view, fileName(names, "heads", raw.data), words)), ...view.body),
    );
  }
  render();
}

/** @param {import("./views/cards.js").CardsShown} shown @param {string} name @param {CardWords} words */
function saveButtons({ svg, png }, name, words) {
  if (!svg || !png) return [];
  /** @param {string} kind @param {() => void} make */
  const save = (kind, make) =>
    element("button", { type: "button", id: `save-${kind}`, onclick: make }, words.save(kind.toUpperCase()));
  return [
    save("svg", () => download(`${name}.svg`, new Blob([svg()], { type: "image/svg+xml" }))),
    save("png", () => {
      const canvas = element("canvas");
      png(canvas);
      canvas.toBlob((blob) => blob && download(`${name}.png`, blob));
    }),
  ];
}

showCards(JSON.parse(byId("data").textContent ?? ""), byId("page"));
