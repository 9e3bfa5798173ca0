/** The page of an exported model: it answers by itself, and shows what `jumok look` shows. */

import { bytesOf } from "./arrays.js";
import { byId, element } from "./dom.js";
import { start } from "./main.js";
import { MODELS } from "./model/kinds.js";
import { HEADLINES } from "./words_exported.js";
import { writingOf } from "./sampling.js";
import { State } from "./state.js";

const root = byId("page");
/** @type {ModelFacts & { task: keyof typeof MODELS }} */
const facts = JSON.parse(byId("data").textContent ?? "");

/** The bytes that the page holds under this name; the text is given up, which is the larger. @param {string} name */
function held(name) {
  const node = document.getElementById(name);
  const bytes = node && bytesOf(node.textContent);
  node?.remove();
  return bytes;
}

/** Goes to the field of the input, or asks for a file. */
function begin() {
  const field = document.getElementById("text");
  if (field) field.focus();
  else document.getElementById("choose-file")?.click();
}

/** What this page is, above everything else: it follows the page's language. */
function headline() {
  const heading = element("h1", { class: "headline" });
  const under = element("p", { class: "muted under" });
  const say = () => {
    const { headlines, kept } = HEADLINES[document.documentElement.lang] ?? HEADLINES.en;
    const [what, act] = headlines[facts.task];
    heading.replaceChildren(what, " ", element("button", { type: "button", onclick: begin }, act));
    under.textContent = kept;
  };
  say();
  new MutationObserver(say).observe(document.documentElement, { attributeFilter: ["lang"] });
  return element("div", { class: "public" }, heading, under);
}

const korean = navigator.language.startsWith("ko");

async function open() {
  /** @type {{ load(facts: ModelFacts, blobs: Blobs): Promise<InstanceType<(typeof MODELS)[keyof typeof MODELS]>> }} */
  const kind = MODELS[facts.task];
  const model = await kind.load(facts, /** @type {Blobs} */ ({ wasm: held("wasm"), model: held("model"), charsmap: held("charsmap") }));
  const known = { weights: facts.weights, precision: facts.precision };
  const writing = writingOf(new State(location.hash, {})); // for what is asked without the fields: the pin of a link
  /** @type {Answer} */
  const answer = async (question, waiting) => ({ ...(await model.answer({ writing, ...question }, waiting)), ...known });
  const [first = ""] = facts.examples;
  /** @type {RawAnswer | { error: Fault }} */
  const opened = first ? await answer({ text: first }) : facts.trace;
  const shown = opened.error !== undefined ? facts.trace : opened;
  start({ ...shown, ...known, title: document.title, examples: facts.examples, tours: facts.tours, samples: facts.task === "language-model" }, root, { answer, receive: "receive" in model ? (file) => model.receive(file) : undefined });
  root.prepend(headline());
}

open().catch((error) => {
  const says = korean ? "이 브라우저에서는 모델을 실행할 수 없습니다" : "This browser cannot run the model";
  root.replaceChildren(element("p", { role: "alert" }, `${says}: ${error.message}`));
  throw error;
});
