/** How a language model in the page writes on: the fields for it, and what they say. */

import { element } from "./dom.js";
import { LIMITS } from "./state.js";

const FIELDS = /** @type {const} */ (["temperature", "top", "tokens"]);

/** As the model reads it: see model/language_model.js. @param {State} state */
export function writingOf(state) {
  return { temperature: state.get("temperature"), topK: state.get("top"), tokens: state.get("tokens"), seed: state.get("seed") };
}

/** The fields, and a button that draws another text. `onChange`: the text is to be written again. @param {State} state @param {() => void} onChange */
export function sampler(state, onChange) {
  const names = FIELDS.map((name) => ({ name, label: element("span", {}) }));
  const fields = names.map(({ name, label }) => {
    const [min, max, step] = LIMITS[name].map(String);
    const input = element("input", { type: "number", id: name, min, max, step, value: String(state.get(name)) });
    input.addEventListener("input", () => {
      if (!input.checkValidity() || input.value === "") return;
      state.keep({ [name]: input.value });
      update({});
      onChange();
    });
    return element("label", {}, label, " ", input);
  });
  const again = element("button", { type: "button", id: "again", onclick: () => {
    state.keep({ seed: state.get("seed") + 1 });
    onChange();
  } });
  const update = (/** @type {Partial<Words>} */ text) => {
    for (const { name, label } of names) if (text[name]) label.textContent = text[name];
    if (text.again) again.textContent = text.again;
    again.disabled = !(state.get("temperature") > 0);
  };
  return { node: element("div", { class: "sampling" }, ...fields, again), update };
}
