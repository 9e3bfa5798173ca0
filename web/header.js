/** The text that went in and what came out; where a server stands behind the page, one can type. */

import { element } from "./dom.js";

const PAUSE = 40; // ms after the last key

/**
 * The head of the page. It is built once and its texts are changed in place: a field that is
 * rebuilt while somebody writes Hangul would lose the syllable in the making.
 */
export function header(raw, state, onTrace) {
  const live = Boolean(raw.token);
  const input = live
    ? element("input", { id: "text", value: raw.text, autocomplete: "off", spellcheck: "false" })
    : element("span", {});
  const parts = {
    title: element("span", {}),
    model: element("small", {}),
    in: element("dt", {}),
    out: element("dt", {}),
    output: element("dd", {}),
    fault: element("p", { class: "fault", role: "alert" }),
    language: element("button", { type: "button", id: "language" }),
  };
  parts.language.addEventListener("click", () =>
    state.set({ lang: state.get("lang") === "ko" ? "en" : "ko" }));
  if (live) listen(input, raw.token, onTrace, parts.fault);
  const node = element("header", {},
    element("h1", {}, parts.title, parts.model), parts.language,
    element("dl", {}, parts.in, element("dd", {}, input), parts.out, parts.output), parts.fault);
  const update = (trace, text) => {
    parts.title.textContent = text.title;
    parts.model.textContent = trace.model;
    parts.in.textContent = text.input;
    parts.out.textContent = text.output;
    parts.output.textContent = trace.output;
    parts.language.textContent = state.get("lang") === "ko" ? "English" : "한국어";
    parts.language.lang = state.get("lang") === "ko" ? "en" : "ko";
    if (live) input.setAttribute("aria-label", text.input);
    else input.textContent = trace.text;
  };
  return { node, update };
}

/** Asks the server while somebody types; an answer that is no longer wanted is given up. */
function listen(input, token, onTrace, fault) {
  let waiting;
  let timer;
  const ask = async () => {
    waiting?.abort();
    waiting = new AbortController();
    const mine = waiting;
    const headers = { "Content-Type": "application/json", "X-Token": token };
    const body = JSON.stringify({ text: input.value });
    try {
      const answer = await fetch("/trace", { method: "POST", headers, body, signal: mine.signal });
      const found = await answer.json();
      if (mine !== waiting || answer.status === 409) return;
      fault.textContent = found.error ?? "";
      if (!found.error) onTrace(found);
    } catch (error) {
      if (error.name !== "AbortError") fault.textContent = String(error.message);
    }
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, PAUSE);
  });
}
