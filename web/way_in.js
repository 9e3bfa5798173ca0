/** How to use the model: the commands that go on with it, each on a button that copies it. */

import { element } from "./dom.js";
import { copied } from "./taking/clipboard.js";

/**
 * `open`: whether the commands are seen at once. Nothing without commands.
 *
 * @param {RawRun["commands"]} commands @param {Words} words @param {boolean} open
 */
export function wayIn(commands, words, open) {
  if (!commands.length) return [];
  const said = element("span", { class: "muted", role: "status" });
  const buttons = commands.map(([kind, command]) => {
    const code = element("code", {}, command);
    return element("button", { type: "button", onclick: async () => {
      said.textContent = (await copied(command, code)) ? words.copied : words.notCopied;
    } }, element("span", { class: "muted" }, words[`way_${kind}`]), " ", code);
  });
  return [element("details", { class: "use", id: "use", open }, element("summary", {}, words.wayIn), element("div", { role: "group", "aria-label": words.wayIn }, element("span", { class: "muted" }, words.wayHow), ...buttons, said))];
}
