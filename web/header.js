/** The text that went in and what came out; where a server stands behind the page, one can type. */

import { element } from "./dom.js";

/**
 * The head of the page. It is built once and its texts are changed in place: a field that is
 * rebuilt while somebody writes Hangul would lose the syllable in the making.
 */
export function header(raw, state, onText) {
  const live = Boolean(raw.token) && !raw.picture; // a picture is named when the page is opened
  const input = live
    ? element("input", { id: "text", value: state.get("text"), autocomplete: "off", spellcheck: "false" })
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
  // Every key asks at once: an answer that is being made for the one before is given up.
  if (live) input.addEventListener("input", () => onText(input.value));
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
  const fault = (text) => {
    parts.fault.textContent = text;
  };
  return { node, update, fault };
}

/** Asks the server; on an answer that is no longer wanted it hangs up, and the server stops computing. */
export function asker(token, onTrace, onFault) {
  let waiting;
  return async (question) => {
    waiting?.abort();
    waiting = new AbortController();
    const mine = waiting;
    const headers = { "Content-Type": "application/json", "X-Token": token };
    try {
      const answer = await fetch("/trace", {
        method: "POST", headers, body: JSON.stringify(question), signal: mine.signal,
      });
      const found = await answer.json();
      if (mine !== waiting) return;
      if (found.error) onFault(found.error);
      else onTrace(found, question.text);
    } catch (error) {
      if (error.name !== "AbortError") onFault(String(error.message));
    }
  };
}

