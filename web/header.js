/** The line at the top of the page, and the input and the output where the picture does not show them. */

import { element } from "./dom.js";
import { fieldOver } from "./field_over.js";
import { faultParts, faultText } from "./faults.js";
import { icon } from "./icons.js";
import { sampler } from "./sampling.js";
import { visible } from "./trace.js";
import { barsOf } from "./views/choices.js";

const MOST_FILE_BYTES = 32 * 1024 ** 2; // the server accepts no larger file, and a page keeps none
const FIELD = { id: "text", autocomplete: "off", spellcheck: "false" };
const PARTS = /** @type {const} */ (["expected", "got", "do"]); // of an error
const SENT = "sent:"; // the prefix of the name of an image that was uploaded

/**
 * The head of the page. It is built once and its texts are updated in place: a field that is
 * rebuilt during typing would lose the Hangul syllable that is being composed.
 *
 * `onGiven` receives the input: `text`, and perhaps which `segment` of it is shown; or `picture`, which
 * is a path or the name of a file that was given.
 *
 * @typedef {{ text: string, segment?: number, picture?: undefined } | { text?: undefined, picture: string }} Given
 *
 * @param {Pick<OpenedPage, "kind" | "examples" | "samples" | "token"> & { live: boolean }} raw
 * @param {State} state @param {(given: Given) => void} onGiven @param {Receive} receive
 */
export function header(raw, state, onGiven, receive) {
  const { live } = raw;
  /** @type {Words | null} */
  let texts = null;
  const pictures = live && raw.kind.reads === "picture";
  const lines = raw.kind.writes === "continuation";
  const field = pictures ? element("input", { ...FIELD, value: state.get("text") }) : element("textarea", { ...FIELD, rows: "1" }, state.get("text"));
  const input = live ? field : element("span", {});
  const parts = {
    title: element("span", { class: "title" }),
    model: element("small", {}),
    changes: element("small", { class: "changes" }),
    in: element("dt", {}),
    examples: element("div", { class: "examples", role: "group", hidden: !live || !raw.examples?.length }),
    out: element("dt", {}),
    output: element("dd", {}),
    labels: element("div", { class: "labels" }),
    segments: element("p", { class: "examples", role: "group", id: "segments", hidden: true }),
    fault: element("div", { class: "fault", role: "alert" }),
    cost: element("p", { class: "cost muted", hidden: true }),
    seen: element("img", { class: "seen", alt: "", hidden: true }),
    tools: element("div", { class: "tools" }),
    edit: element("button", { type: "button", id: "edit", tabindex: "-1", onclick: () => input.focus() }, icon("edit")),
    language: element("button", { type: "button", id: "language" }),
  };
  parts.language.addEventListener("click", () =>
    state.set({ lang: state.get("lang") === "ko" ? "en" : "ko" }));
  if (live && !pictures) listen(field, lines, { onText: (text) => onGiven({ text }), leave: () => over.leave() });
  if (pictures) field.addEventListener("change", () => onGiven({ picture: field.value.trim() }));
  for (const example of live ? raw.examples ?? [] : [])
    parts.examples.append(element("button", { type: "button", onclick: () => {
      field.value = example;
      onGiven({ text: example });
      over.leave();
    } }, example));
  const sampling = raw.samples && sampler(state, () => onGiven({ text: field.value }));
  /** @type {Fault | null} */
  let wrong = null;
  const fault = (/** @type {Fault | null} */ found) => {
    wrong = found;
    parts.fault.replaceChildren(...(found && texts ? faultNodes(found, texts) : []));
  };
  const file = pictures && fileButton(receive, (picture) => onGiven({ picture }), fault);
  input.hidden = pictures && !raw.token; // only a server reads paths
  const given = element("dd", { class: "given" }, input, ...(file ? file.nodes : []), parts.seen, parts.examples);
  const list = element("dl", {}, parts.in, given, parts.out, parts.output);
  const over = fieldOver(given, input, parts.edit);
  parts.tools.append(parts.language);
  const node = element("header", {}, element("h1", {}, parts.title, parts.model, parts.changes), parts.cost,
    parts.tools, list, parts.labels, ...(sampling ? [sampling.node] : []), parts.segments, parts.fault);
  /** @param {Trace} trace @param {Words} text */
  const update = (trace, text) => {
    const spoken = texts;
    texts = text;
    if (spoken !== text && wrong) fault(wrong); // the language may have changed
    if (trace.picture && parts.seen.src !== trace.picture.url) parts.seen.src = trace.picture.url;
    parts.seen.alt = trace.picture ? trace.text : "";
    parts.title.textContent = text.title;
    parts.model.textContent = trace.model;
    parts.changes.hidden = !trace.changes.length;
    parts.changes.textContent = text.changedModel(trace.changes.join("; "));
    parts.in.textContent = text.input;
    parts.examples.setAttribute("aria-label", text.examples);
    parts.out.textContent = text.output;
    parts.output.textContent = visible(trace.output);
    parts.labels.hidden = !live || trace.kind.writes !== "label" || !trace.steps.length;
    parts.labels.replaceChildren(...(parts.labels.hidden ? [] : [barsOf(trace.steps[0], text)]));
    parts.segments.hidden = !(trace.segments > 1);
    parts.segments.replaceChildren(...(trace.segments > 1 ? segmentNodes(trace, text, live ? onGiven : null) : []));
    const { weights, precision, milliseconds } = trace; // all three of a model in the page
    parts.cost.hidden = milliseconds === undefined;
    if (weights && precision && milliseconds !== undefined) parts.cost.textContent = text.inPage(weights, precision, milliseconds);
    if (trace.all !== undefined && trace.all > trace.steps.length) parts.cost.append(` ${text.viewsShow(trace.steps.length, trace.all)}`);
    if (sampling) sampling.update(text);
    parts.edit.title = text.edit;
    parts.edit.setAttribute("aria-label", text.edit);
    parts.language.textContent = state.get("lang") === "ko" ? "English" : "한국어";
    parts.language.lang = state.get("lang") === "ko" ? "en" : "ko";
    if (live) input.setAttribute("aria-label", pictures ? text.picturePath : text.input);
    else input.textContent = visible(trace.text);
    if (!file) return;
    file.name(text);
    if (document.activeElement === field) return;
    const path = state.get("picture");
    field.value = path && !path.startsWith(SENT) ? path : trace.text;
  };
  /**
   * Leaves out the texts that the picture shows, `read` and `written`. `line`: its line of words that is the input;
   * where it can be changed, its field lies over them.
   *
   * @param {Trace} trace
   * @param {Partial<NonNullable<Shown["pictured"]>>} [pictured]
   */
  const place = (trace, { read = false, written = false, line = null } = {}) => {
    const inPicture = live && !pictures && line !== null;
    list.classList.toggle("in-picture", inPicture);
    parts.in.hidden = read && (inPicture || !live);
    given.hidden = read && !live;
    parts.seen.hidden = read || !trace.picture;
    const none = !trace.steps.length && (trace.sites.length > 0 || !trace.output);
    parts.out.hidden = parts.output.hidden = written || none || !parts.labels.hidden; // its bars name the label
    over.use(inPicture ? line : null);
  };
  /** Shows what is written so far. */
  const say = (/** @type {string} */ written) => {
    parts.output.textContent = visible(written);
    parts.out.hidden = parts.output.hidden = false;
  };
  return { node, tools: parts.tools, update, place, fault, say };
}

/**
 * Every key sends a request at once, which cancels the one before it. Line breaks belong to texts that are continued only.
 *
 * @param {HTMLElement & { value: string }} input @param {boolean} lines
 * @param {{ onText: (text: string) => void, leave: () => void }} on
 */
function listen(input, lines, { onText, leave }) {
  input.addEventListener("input", () => {
    if (!lines && input.value.includes("\n")) input.value = input.value.replace(/\s*\n\s*/g, " ");
    onText(input.value);
  });
  input.addEventListener("keydown", (event) => {
    if (event.isComposing || !(event.key === "Escape" || (event.key === "Enter" && !lines))) return;
    event.preventDefault();
    leave();
  });
}

/** Which segment of the text the views show, and buttons for the others where they can be asked for. @param {Trace} trace @param {Words} words @param {((given: Given) => void) | null} onGiven */
function segmentNodes({ text, segment, segments }, words, onGiven) {
  const buttons = onGiven ? Array.from({ length: segments }, (_, i) => element("button", {
    type: "button", "aria-pressed": String(i === segment), onclick: () => onGiven({ text, segment: i }),
  }, String(i + 1))) : [];
  return [element("span", { class: "muted" }, words.segments((segment ?? 0) + 1, segments)), ...buttons];
}

/** The error in the page's language, where it has a text for it; otherwise the parts that the server sent. @param {Fault} found @param {Words} texts */
function faultNodes(found, texts) {
  const { known, rest, own } = faultParts(found, texts);
  const said = element("p", { class: known === "faultEmpty" ? "muted" : null }, faultText(found, texts));
  if (own) return [said];
  return [said, element("dl", {}, ...PARTS.flatMap((name) => (rest[name] ? [element("dt", {}, texts[`fault_${name}`]), element("dd", {}, rest[name])] : [])))];
}

/** What a live page's server makes of a file. @param {string} token @returns {Receive} */
export function receiverAt(token) {
  return async (file) => {
    const headers = { "Content-Type": "application/octet-stream", "X-Token": token, "X-Name": encodeURIComponent(file.name) };
    return (await fetch("file", { method: "POST", headers, body: file })).json();
  };
}

/**
 * A button that opens a file dialog, and hands the file over; the browser's own field would use the browser's language.
 * A file may be dropped on the page, too.
 *
 * @param {Receive} receive @param {(picture: string) => void} onSent @param {(fault: Fault) => void} onFault
 */
function fileButton(receive, onSent, onFault) {
  const input = element("input", { type: "file", accept: "image/*", hidden: true, id: "file" });
  const button = element("button", { type: "button", id: "choose-file", onclick: () => input.click() });
  input.addEventListener("change", () => {
    take(input.files?.[0]);
    input.value = ""; // so that the same file can be chosen again
  });
  const take = async (/** @type {File | undefined} */ file) => {
    if (!file) return;
    if (file.size > MOST_FILE_BYTES) {
      onFault("faultFileTooLarge");
      return;
    }
    try {
      const found = await receive(file);
      if (found.error !== undefined) onFault(found.error);
      else onSent(found.picture);
    } catch {
      onFault("faultGone"); // fetch fails if there is no server
    }
  };
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    take(event.dataTransfer?.files[0]);
  });
  const name = (/** @type {Words} */ text) => {
    button.textContent = text.chooseFile;
  };
  return { nodes: [button, input], name };
}

/** What a live page's server answers. @param {string} token @returns {Answer} */
export function serverAt(token) {
  const headers = { "Content-Type": "application/json", "X-Token": token };
  return async (question, { signal } = {}) =>
    (await fetch("trace", { method: "POST", headers, body: JSON.stringify(question), signal })).json();
}

/**
 * Sends requests; if an answer is no longer needed, it is not computed any further. `say` receives what is written so far.
 *
 * @template {Question} Q
 * @param {Answer} answer @param {(found: RawAnswer, question: Q) => void} onTrace
 * @param {(fault: Fault) => void} onFault @param {(written: string) => void} say
 */
export function asker(answer, onTrace, onFault, say) {
  /** @type {AbortController | undefined} */
  let waiting;
  return async (/** @type {Q} */ question) => {
    waiting?.abort();
    waiting = new AbortController();
    const mine = waiting;
    try {
      const found = await answer(question, { signal: mine.signal, say: (text) => mine === waiting && say(text) });
      if (mine !== waiting) return;
      if (found.error !== undefined) onFault(found.error);
      else onTrace(found, question);
    } catch (error) {
      if (!(error instanceof DOMException && error.name === "AbortError")) onFault("faultGone"); // fetch fails if there is no server
    }
  };
}

