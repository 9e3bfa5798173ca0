/** How a language model in the page writes on: the fields for it, and what they say. */

import { element } from "./dom.js";

/** What is in the address, and what it is when nothing is: the most probable tokens. */
export const USUAL_WRITING = { temperature: "0", top: "0", tokens: "24", seed: "1" };

const LIMITS = { temperature: ["0", "5", "0.1"], top: ["0", "1000", "1"], tokens: ["1", "500", "1"] };

/** As the model reads it: see model/language_model.js. A link may contain anything. */
export function writingOf(state) {
  const number = (name) => {
    const given = Number(state.get(name));
    const [least, most] = LIMITS[name] ?? [0, 2 ** 31];
    return Number.isFinite(given) ? Math.min(Math.max(given, Number(least)), Number(most)) : Number(USUAL_WRITING[name]);
  };
  const whole = (name) => Math.floor(number(name));
  return { temperature: number("temperature"), topK: whole("top"), tokens: whole("tokens"), seed: whole("seed") };
}

/** The fields, and a button that draws another text. `onChange`: the text is to be written again. */
export function sampler(state, onChange) {
  const names = {};
  const fields = Object.entries(LIMITS).map(([name, [min, max, step]]) => {
    names[name] = element("span", {});
    const input = element("input", { type: "number", id: name, min, max, step, value: state.get(name) });
    input.addEventListener("input", () => {
      if (!input.checkValidity() || input.value === "") return;
      state.keep({ [name]: input.value });
      update({});
      onChange();
    });
    return element("label", {}, names[name], " ", input);
  });
  const again = element("button", { type: "button", id: "again", onclick: () => {
    state.keep({ seed: writingOf(state).seed + 1 });
    onChange();
  } });
  const update = (text) => {
    for (const name of Object.keys(LIMITS)) if (text[name]) names[name].textContent = text[name];
    if (text.again) again.textContent = text.again;
    again.disabled = !(writingOf(state).temperature > 0);
  };
  return { node: element("div", { class: "sampling" }, ...fields, again), update };
}
