/** The page of `jumok serve`: a box to translate in, with what the model knows of its answer. */

import { byId, choice, element, field } from "./dom.js";
import { dress, whenSystemTurns } from "./theme.js";
import { BOX_WORDS, SENTENCES } from "./translate_words.js";

const PAUSE = 350; // milliseconds without a key, after which the text is translated
const UNSURE = 0.5; // words below this probability are underlined
const BUSY = new Set([429, 503]);

/**
 * A model, and all that are served: `box` in serving/http/app.py.
 *
 * @typedef {{ id: string, name: string, source: string, target: string, languages: Record<string, string>, pairs: Pair<string>[], layers: number, calibrated: string }} Model
 * @typedef {{ models: Model[], others: string[], key: boolean }} Served
 *
 * A translation with what was asked about it: `translation_facts` in serving/http/api/explaining.py. A link is from a
 * word of the text to one of the translation, with its weight.
 *
 * @typedef {{ piece: string, log_probability: number | null } & ({ start: number, end: number } | { start: null, end: null })} Token
 * @typedef {[of: number, to: number, weight: number | null]} Link
 * @typedef {{ text: string, notes: string[], unknown_words?: string[], missing_terms?: string[], confidence: number | null, tokens: Token[], source_tokens: Token[],
 *   alignment?: Link[], attention: { matrix: number[][] }, alternatives: { text: string }[] }} Translated
 * @typedef {Translated & { source: string }} Line
 */

/** @type {Served} */
const data = JSON.parse(byId("data").textContent ?? "");
const page = byId("page");
/**
 * `answers`: of each line of the text, null of an empty one; `layer`: null is the last one.
 *
 * @type {{ language: string, model: string, from: string, to: string, text: string, terms: string, answers: (Line | null)[], layer: number | null, key: string, said: string, timer: number, asked: AbortController | null }}
 */
const state = {
  language: (navigator.language || "en").startsWith("ko") ? "ko" : "en",
  model: data.models[0]?.id ?? "", from: "", to: "", text: "", terms: "", answers: [], layer: null, key: "", said: "", timer: 0, asked: null,
};
const words = () => BOX_WORDS[state.language === "ko" ? "ko" : "en"];
const model = () => data.models.find((each) => each.id === state.model) ?? data.models[0];
/** The chosen pair of a model of several: any two of its languages, or its pairs. */
const between = () => {
  const { languages, pairs, source, target } = model();
  const codes = Object.keys(languages);
  if (!codes.length) return { source, target, sources: [], targets: [] };
  const sources = pairs.length ? [...new Set(pairs.map(([read]) => read))] : codes;
  const read = sources.includes(state.from) ? state.from : sources[0];
  const targets = pairs.length ? pairs.filter((pair) => pair[0] === read).map((pair) => pair[1]) : codes.filter((code) => code !== read);
  return { source: read, target: targets.includes(state.to) ? state.to : targets[0], sources, targets };
};
/** Made by `frame`, if there is a model. */
const parts = /** @type {{ input: HTMLTextAreaElement, terms: HTMLTextAreaElement, attention: HTMLDetailsElement } & Record<"written" | "source" | "sure" | "notes" | "said" | "others" | "examples" | "inside", HTMLElement>} */ ({});
/** A language in the page's own language; its code where the browser does not know it. @param {string} code */
const languageName = (code) => {
  try {
    return code ? new Intl.DisplayNames([state.language], { type: "language", fallback: "code" }).of(code) ?? code : "";
  } catch {
    return code; // it is not a code of the standard
  }
};

function frame() {
  document.documentElement.lang = state.language;
  const own = words();
  document.title = `${own.title} · jumok`;
  const header = element("header", {},
    element("h1", {}, own.title, element("small", {}, titleOf(own))),
    choice(own.language, [["en", "English"], ["ko", "한국어"]], state.language, (chosen) => {
      state.language = chosen;
      frame();
    }));
  if (!data.models.length) {
    page.replaceChildren(header, element("p", {}, own.none), element("ul", {}, ...data.others.map((each) => element("li", {}, each))), programs());
    return;
  }
  const pair = between();
  /** @type {(label: string, codes: string[], code: string, name: "from" | "to") => HTMLElement} */
  const language = (label, codes, code, name) => choice(label, codes.map((each) => [each, languageName(each)]), code, (chosen) => {
    state[name] = chosen;
    frame();
    later(0);
  });
  parts.input = element("textarea", {
    id: "source", placeholder: own.placeholder, spellcheck: "false", lang: pair.source || null,
    oninput: () => later(PAUSE), // the text is kept, should another language be chosen meanwhile
    onkeydown: (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && later(0),
  });
  parts.input.value = state.text;
  parts.written = element("div", { class: "written", lang: pair.target || null, "aria-live": "polite" });
  parts.source = element("p", { class: "seen-source", lang: pair.source || null });
  parts.sure = element("span", { class: "muted" });
  parts.notes = element("p", { class: "noted", role: "status" });
  parts.said = element("p", { class: "fault", role: "status" });
  parts.others = element("div");
  parts.attention = element("details", {}, element("summary", {}, own.attention));
  parts.attention.addEventListener("toggle", () => parts.attention.open && attention());
  parts.terms = element("textarea", { "aria-label": own.terms, spellcheck: "false", oninput: () => { state.terms = parts.terms.value; later(PAUSE); } });
  parts.terms.value = state.terms;
  const copy = element("button", { onclick: async () => {
    await navigator.clipboard.writeText(plain());
    copy.textContent = own.copied;
    setTimeout(() => (copy.textContent = own.copy), 1500);
  } }, own.copy);
  page.replaceChildren(header,
    element("div", { class: "controls" },
      ...(data.models.length > 1 ? [choice(own.direction, data.models.map((each) => [each.id, each.name]), state.model, (chosen) => {
        state.model = chosen;
        frame();
        later(0);
      })] : []),
      ...(pair.sources.length ? [language(own.from, pair.sources, pair.source, "from"), language(own.to, pair.targets, pair.target, "to")] : []),
      ...(data.key ? [field(own.key, state.key, (given) => { state.key = given; later(0); })] : [])),
    parts.said,
    element("div", { class: "box" },
      element("div", { class: "side" },
        element("h2", {}, element("label", { for: "source" }, own.source), languageName(pair.source)), parts.input, ...examplesOf(pair.source),
        element("footer", {}, element("span"), element("button", { onclick: () => { parts.input.value = ""; later(0); parts.input.focus(); } }, own.clear))),
      element("div", { class: "side" },
        element("h2", {}, element("span", {}, own.target), languageName(pair.target)), parts.written, parts.source, parts.notes,
        element("footer", {}, parts.sure, copy))),
    parts.others, element("p", { class: "help hint" }, own.hint),
    element("details", { open: state.terms !== "" }, element("summary", {}, own.terms), element("p", { class: "help" }, own.termsHelp), parts.terms),
    parts.attention, inside(), programs());
  show();
}

/** What is served: the languages of the one model, or the program's name. @param {ReturnType<typeof words>} own */
function titleOf(own) {
  const [only, other] = data.models;
  if (!only || other || !only.source || !only.target) return "jumok";
  return `${own.pair(languageName(only.source), languageName(only.target))} · ${only.id} · jumok`;
}

/** Sentences to click, while there is no text: in the languages that the page has some for. @param {string} code */
function examplesOf(code) {
  const texts = SENTENCES[code.split("-")[0]] ?? [];
  parts.examples = element("div", { class: "examples", role: "group", "aria-label": words().examples }, ...texts.map((text) => element("button", {
    type: "button", lang: code, onclick: () => {
      parts.input.value = text;
      later(0);
      parts.input.focus();
    } }, text)));
  return [parts.examples];
}

/** The command that shows all layers and heads; the folder of the model is known on the server alone. */
function inside() {
  parts.inside = element("code", {});
  return element("details", {}, element("summary", {}, words().inside), element("p", { class: "help" }, words().insideHelp), element("pre", {}, parts.inside));
}

function programs() {
  const address = new URL(".", location.href).href.replace(/\/$/, ""); // a proxy may serve the page under a path
  const pair = data.models.length ? between() : { source: "", target: "" };
  return element("details", {}, element("summary", {}, words().api),
    element("pre", {}, `curl ${address}/translate -d q="..." -d source=${pair.source || "en"} -d target=${pair.target || "ko"}\ncurl ${address}/v1/models\n${address}/openapi.json`));
}

const plain = () => state.answers.map((each) => each?.text ?? "").join("\n");

/** @param {number} pause */
function later(pause) {
  state.text = parts.input.value;
  clearTimeout(state.timer);
  state.timer = setTimeout(translate, pause);
}

/** Each line is a text of its own, so that line breaks stay. */
async function translate() {
  state.asked?.abort(); // the server drops what nobody waits for
  const lines = state.text.split("\n");
  const given = lines.filter((line) => line.trim());
  if (!given.length) {
    Object.assign(state, { answers: [], said: "" });
    show();
    return;
  }
  const asked = (state.asked = new AbortController());
  say(words().working);
  const found = await ask({ text: given, glossary: glossary(), alternatives: 2, return: ["tokens", "alignment", "confidence", "alternatives"] }, asked.signal);
  if (!found || asked !== state.asked) return;
  let at = 0;
  state.answers = lines.map((line) => (line.trim() ? { ...found.answers[at++], source: line } : null));
  const missing = found.answers.flatMap((each) => each.missing_terms ?? []);
  state.said = missing.length ? words().missing(missing.join(", ")) : "";
  show();
}

/** The terms, one a line, "term = translation"; a line that is not finished is none. */
function glossary() {
  const pairs = state.terms.split("\n").map((line) => line.split("=").map((side) => side.trim()));
  return Object.fromEntries(pairs.filter(([term, translation, more]) => term && translation && more === undefined));
}

/** @param {Record<string, unknown>} body @param {AbortSignal} [signal] @returns {Promise<{ answers: Translated[] } | null>} */
async function ask(body, signal) {
  /** @type {Record<string, string>} */
  const headers = { "Content-Type": "application/json" };
  const { source, target, sources } = between();
  if (state.key) headers.Authorization = `Bearer ${state.key}`;
  try {
    const reply = await fetch("v1/translate", { method: "POST", headers, signal, body: JSON.stringify({ model: state.model, ...(sources.length ? { from: source, to: target } : {}), ...body }) });
    if (reply.ok) return await reply.json();
    if (BUSY.has(reply.status)) {
      const seconds = Number(reply.headers.get("Retry-After")) || 1;
      say(words().wait(seconds));
      later(seconds * 1000);
    } else say((await reply.json()).detail);
  } catch (error) {
    if (!(error instanceof DOMException && error.name === "AbortError")) say(words().lost);
  }
  return null;
}

/** @param {string} text */
function say(text) {
  state.said = text;
  parts.said.textContent = text;
}

function show() {
  say(state.said);
  parts.source.replaceChildren();
  parts.written.replaceChildren(...state.answers.map((each) => element("p", {}, ...(each ? line(each) : ["\u00a0"]))));
  const sure = state.answers.map((each) => each?.confidence ?? null).filter((each) => each !== null);
  parts.sure.textContent = sure.length 
    ? words().sure(Math.round(100 * Math.min(...sure))) + (model().calibrated ? "" : ` (${words().uncalibrated})`) : "";
  parts.sure.title = model().calibrated ? `${words().worth}: ${model().calibrated}` : words().own;
  const noted = new Set(state.answers.flatMap((each) => each?.notes ?? []));
  const unknown = [...new Set(state.answers.flatMap((each) => each?.unknown_words ?? []))];
  if (unknown.length) noted.delete("unknown-words"); // they are named
  parts.notes.textContent = [...(unknown.length ? [words().unknown(unknown.join(", "))] : []),
    ...Object.entries(words().notes).filter(([code]) => noted.has(code)).map(([, said]) => said)].join(" ");
  const single = state.answers.length === 1 ? state.answers[0] : null;
  parts.others.replaceChildren(...(single?.alternatives?.length
    ? [element("h2", { class: "muted" }, words().alternatives), element("ul", { class: "others" }, ...single.alternatives.map((each) => element("li", {}, each.text)))] : []));
  parts.attention.hidden = !single;
  parts.examples.hidden = state.text.trim() !== "";
  parts.inside.textContent = `jumok look MODEL '${(state.text.trim().split("\n")[0] || "...").replaceAll("'", "'\\''")}'`;
  if (parts.attention.open) attention();
}

/** The words of a translation; each shows the words of the text that it is aligned with. @param {Line} answer */
function line(answer) {
  const found = [];
  const spans = wordSpans(answer.text);
  for (const [place, { start, end, first, after }] of spans.entries()) {
    const own = answer.tokens.filter((each) => each.start !== null && each.end > first && each.start < after);
    const worst = Math.min(0, ...own.map((each) => each.log_probability ?? 0));
    const lit = (/** @type {Event} */ event) => light(answer, place, event.type !== "pointerleave" && event.type !== "blur");
    found.push(element("span", {
      tabindex: "0", class: Math.exp(worst) < UNSURE ? "unsure" : "",
      onpointerenter: lit, onpointerleave: lit, onfocus: lit, onblur: lit,
    }, answer.text.slice(start, end)), place + 1 < spans.length ? answer.text.slice(end, spans[place + 1].start) : "");
  }
  return found;
}

/** Where words are in a text, which plain spaces separate: places in it, and code points, which the server counts. @param {string} text */
function wordSpans(text) {
  const points = (/** @type {number} */ place) => [...text.slice(0, place)].length;
  return [...text.matchAll(/[^ ]+/gu)].map((each) => {
    const [start, end] = [each.index, each.index + each[0].length];
    return { start, end, first: points(start), after: points(end) };
  });
}

/** @param {Line} answer @param {number} place of a word @param {boolean} on */
function light(answer, place, on) {
  const links = (answer.alignment ?? []).filter(([, to]) => to === place);
  if (!on || !links.length) {
    parts.source.replaceChildren();
    return;
  }
  const spans = wordSpans(answer.source);
  parts.source.replaceChildren(...spans.flatMap(({ start, end }, number) => {
    const link = links.find(([of]) => of === number);
    const word = element("span", { class: link ? "lit" : "" }, answer.source.slice(start, end));
    if (link) word.style.setProperty("--weight", String(0.15 + 0.6 * (link[2] ?? 0.5)));
    return [word, " "];
  }));
}

async function attention() {
  const own = words();
  const [answer] = state.answers;
  if (!answer || state.answers.length !== 1) return;
  const asked = state.layer === null ? {} : { layer: state.layer };
  const found = await ask({ text: answer.source, glossary: glossary(), return: ["tokens", "attention"], attention: asked });
  if (!found) return;
  const [one] = found.answers;
  const columns = [...one.source_tokens.map((each) => each.piece), "END"];
  const cell = (/** @type {number} */ weight) => {
    const node = element("td", { title: weight.toFixed(3) });
    node.style.setProperty("--weight", String(weight));
    return node;
  };
  const layers = Array.from({ length: model().layers }, (_, number) => [String(number), `${number + 1} · ${own.mean}`]);
  const chosen = state.layer ?? model().layers - 1;
  parts.attention.replaceChildren(element("summary", {}, own.attention), element("p", { class: "help" }, own.attentionHelp),
    element("div", { class: "controls" }, choice(own.layer, layers, String(chosen), (layer) => { state.layer = Number(layer); attention(); })),
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": own.attention },
      element("table", { class: "matrix" },
        element("thead", {}, element("tr", {}, element("td"), ...columns.map((each) => element("th", { scope: "col" }, each)))),
        element("tbody", {}, ...one.tokens.map((each, row) =>
          element("tr", {}, element("th", { scope: "row" }, each.piece), ...one.attention.matrix[row].map(cell)))))));
}

dress();
whenSystemTurns(dress);
frame();
