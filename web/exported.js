/** The page of an exported model: it translates by itself, and shows what `jumok look` shows. */

import { bytesOf } from "./arrays.js";
import { element } from "./dom.js";
import { start } from "./main.js";
import { Translator } from "./model/translator.js";

const root = document.getElementById("page");
const facts = JSON.parse(document.getElementById("data").textContent);

/** The bytes that the page holds under this name; the text is given up, which is the larger. */
function held(name) {
  const node = document.getElementById(name);
  const bytes = node && bytesOf(node.textContent);
  node?.remove();
  return bytes;
}

const korean = navigator.language.startsWith("ko");

async function open() {
  const translator = await Translator.load(facts, { wasm: held("wasm"), model: held("model"), charsmap: held("charsmap") });
  const [first = ""] = facts.examples;
  const opened = first ? translator.answer({ text: first }) : facts.trace;
  const known = { weights: facts.weights, precision: facts.precision };
  const shown = opened.error ? facts.trace : opened;
  const answer = async (question) => ({ ...translator.answer(question), ...known });
  start({ ...shown, ...known, examples: facts.examples, tours: facts.tours }, root, { answer });
}

open().catch((error) => {
  const says = korean ? "이 브라우저에서는 모델을 실행할 수 없습니다" : "This browser cannot run the model";
  root.replaceChildren(element("p", { role: "alert" }, `${says}: ${error.message}`));
  throw error;
});
