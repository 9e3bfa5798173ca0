/** The commands that go on with the model, each on a button that copies it. */

import { element } from "./dom.js";
import { copied } from "./taking/clipboard.js";

/** `node` is hidden without commands; `update` sets its texts. */
export function wayIn(commands) {
  const name = element("span", { class: "muted" });
  const said = element("span", { class: "muted", role: "status" });
  let texts = {};
  const hints = {};
  const buttons = commands.map(([kind, command]) => {
    hints[kind] = element("span", { class: "muted" });
    const code = element("code", {}, command);
    return element("button", { type: "button", onclick: async () => {
      said.textContent = (await copied(command, code)) ? texts.copied : texts.notCopied;
    } }, hints[kind], " ", code);
  });
  const node = element("div", { class: "way-in", role: "group", hidden: !commands.length }, name, ...buttons, said);
  const update = (text) => {
    texts = text;
    name.textContent = text.wayIn;
    node.setAttribute("aria-label", text.wayIn);
    said.textContent = "";
    for (const [kind, hint] of Object.entries(hints)) hint.textContent = text[`way_${kind}`];
  };
  return { node, update };
}
