/** Input and output; with a server, the input can be changed. */

import { element } from "./dom.js";
import { faultParts, faultText } from "./faults.js";
import { visible } from "./trace.js";
import { wayIn } from "./way_in.js";

const MOST_FILE_BYTES = 32 * 1024 ** 2; // the server accepts no larger file
const SENT = "sent:"; // the prefix of the name of an image that was uploaded

/**
 * The head of the page. It is built once and its texts are updated in place: a field that is
 * rebuilt during typing would lose the Hangul syllable that is being composed.
 *
 * `onGiven` receives the input: `text`, and perhaps which `segment` of it is shown; or `picture`, which
 * is a path or the server's name of an uploaded file.
 */
export function header(raw, state, onGiven) {
  const { live = false } = raw;
  let texts = {};
  const pictures = live && raw.kind.reads === "picture";
  const input = live
    ? element("input", { id: "text", value: state.get("text"), autocomplete: "off", spellcheck: "false" })
    : element("span", {});
  const parts = {
    title: element("span", {}),
    model: element("small", {}),
    changes: element("small", { class: "changes" }),
    in: element("dt", {}),
    examples: element("div", { class: "examples", role: "group", hidden: !live || !raw.examples?.length }),
    out: element("dt", {}),
    output: element("dd", {}),
    segments: element("p", { class: "examples", role: "group", id: "segments", hidden: true }),
    fault: element("div", { class: "fault", role: "alert" }),
    cost: element("p", { class: "cost muted", hidden: true }),
    seen: element("img", { class: "seen", alt: "", hidden: true }),
    way: wayIn(raw.run?.commands ?? []),
    language: element("button", { type: "button", id: "language" }),
  };
  parts.language.addEventListener("click", () =>
    state.set({ lang: state.get("lang") === "ko" ? "en" : "ko" }));
  // Every key sends a request at once, which cancels the one before it.
  if (live && !pictures) input.addEventListener("input", () => onGiven({ text: input.value }));
  if (pictures) input.addEventListener("change", () => onGiven({ picture: input.value.trim() }));
  for (const example of live ? raw.examples ?? [] : [])
    parts.examples.append(element("button", { type: "button", onclick: () => {
      input.value = example;
      onGiven({ text: example });
    } }, example));
  let wrong = null;
  const fault = (found) => {
    wrong = found;
    parts.fault.replaceChildren(...(found ? faultNodes(found, texts) : []));
  };
  const file = pictures && fileButton(raw.token, (picture) => onGiven({ picture }), fault);
  const node = element("header", {},
    element("h1", {}, parts.title, parts.model, parts.changes), parts.language,
    element("dl", {}, parts.in, element("dd", { class: pictures ? "given" : null }, input, ...(pictures ? file.nodes : []), parts.seen, parts.examples),
      parts.out, parts.output), parts.segments, parts.cost, parts.way.node, parts.fault);
  const update = (trace, text) => {
    const spoken = texts;
    texts = text;
    if (spoken !== text && wrong) fault(wrong); // the language may have changed
    parts.seen.hidden = !trace.picture;
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
    parts.out.hidden = parts.output.hidden = !trace.steps.length && (trace.sites.length > 0 || !trace.output); // there is no output
    parts.segments.hidden = !(trace.segments > 1);
    parts.segments.replaceChildren(...(trace.segments > 1 ? segmentNodes(trace, text, live ? onGiven : null) : []));
    parts.cost.hidden = trace.milliseconds === undefined;
    if (!parts.cost.hidden) parts.cost.textContent = text.inPage(trace.weights, trace.precision, trace.milliseconds);
    parts.way.update(text);
    parts.language.textContent = state.get("lang") === "ko" ? "English" : "한국어";
    parts.language.lang = state.get("lang") === "ko" ? "en" : "ko";
    if (live) input.setAttribute("aria-label", pictures ? text.picturePath : text.input);
    else input.textContent = visible(trace.text);
    if (!pictures) return;
    file.name(text);
    if (document.activeElement === input) return;
    const path = state.get("picture");
    input.value = path && !path.startsWith(SENT) ? path : trace.text;
  };
  return { node, update, fault };
}

/** Which segment of the text the views show, and buttons for the others where they can be asked for. */
function segmentNodes({ text, segment, segments }, words, onGiven) {
  const buttons = onGiven ? Array.from({ length: segments }, (_, i) => element("button", {
    type: "button", "aria-pressed": String(i === segment), onclick: () => onGiven({ text, segment: i }),
  }, String(i + 1))) : [];
  return [element("span", { class: "muted" }, words.segments(segment + 1, segments)), ...buttons];
}

/** The error in the page's language, where it has a text for it; otherwise the parts that the server sent. */
function faultNodes(found, texts) {
  const { known, rest, own } = faultParts(found, texts);
  const said = element("p", { class: known === "faultEmpty" ? "muted" : null }, faultText(found, texts));
  if (own) return [said];
  return [said, element("dl", {}, ...["expected", "got", "do"].filter((name) => rest[name])
    .flatMap((name) => [element("dt", {}, texts[`fault_${name}`]), element("dd", {}, rest[name])]))];
}

/** A button that opens a file dialog and uploads the file; the browser's own field would use the browser's language. */
function fileButton(token, onSent, onFault) {
  const input = element("input", { type: "file", accept: "image/*", hidden: true, id: "file" });
  const button = element("button", { type: "button", id: "choose-file", onclick: () => input.click() });
  input.addEventListener("change", async () => {
    const [file] = input.files;
    input.value = ""; // so that the same file can be chosen again
    if (!file) return;
    if (file.size > MOST_FILE_BYTES) {
      onFault("faultFileTooLarge");
      return;
    }
    try {
      const headers = { "Content-Type": "application/octet-stream", "X-Token": token, "X-Name": encodeURIComponent(file.name) };
      const found = await (await fetch("file", { method: "POST", headers, body: file })).json();
      if (found.error) onFault(found.error);
      else onSent(found.picture);
    } catch (error) {
      onFault("faultGone"); // fetch fails if there is no server
    }
  });
  const name = (text) => {
    button.textContent = text.chooseFile;
  };
  return { nodes: [button, input], name };
}

/** What a live page's server answers. */
export function serverAt(token) {
  const headers = { "Content-Type": "application/json", "X-Token": token };
  return async (question, signal) =>
    (await fetch("trace", { method: "POST", headers, body: JSON.stringify(question), signal })).json();
}

/** Sends requests; if an answer is no longer needed the connection is closed, and the server stops computing. */
export function asker(answer, onTrace, onFault) {
  let waiting;
  return async (question) => {
    waiting?.abort();
    waiting = new AbortController();
    const mine = waiting;
    try {
      const found = await answer(question, mine.signal);
      if (mine !== waiting) return;
      if (found.error) onFault(found.error);
      else onTrace(found, question);
    } catch (error) {
      if (error.name !== "AbortError") onFault("faultGone"); // fetch fails if there is no server
    }
  };
}

