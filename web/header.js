/** Input and output; with a server, the input can be changed. */

import { element } from "./dom.js";
import { faultParts, faultText } from "./faults.js";
import { sampler } from "./sampling.js";
import { visible } from "./trace.js";
import { wayIn } from "./way_in.js";

const MOST_FILE_BYTES = 32 * 1024 ** 2; // the server accepts no larger file, and a page keeps none
const SENT = "sent:"; // the prefix of the name of an image that was uploaded

/**
 * The head of the page. It is built once and its texts are updated in place: a field that is
 * rebuilt during typing would lose the Hangul syllable that is being composed.
 *
 * `onGiven` receives the input: `text`, and perhaps which `segment` of it is shown; or `picture`, which
 * is a path or the name of a file that was given. `receive`: takes a file, and promises its name.
 */
export function header(raw, state, onGiven, receive) {
  const { live = false } = raw;
  let texts = {};
  const pictures = live && raw.kind.reads === "picture";
  const input = live
    ? textField(raw.kind.writes === "continuation", state.get("text"))
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
  const sampling = raw.samples && sampler(state, () => onGiven({ text: input.value }));
  let wrong = null;
  const fault = (found) => {
    wrong = found;
    parts.fault.replaceChildren(...(found ? faultNodes(found, texts) : []));
  };
  const file = pictures && fileButton(receive, (picture) => onGiven({ picture }), fault);
  input.hidden = pictures && !raw.token; // only a server reads paths
  const node = element("header", {},
    element("h1", {}, parts.title, parts.model, parts.changes), parts.language,
    element("dl", {}, parts.in, element("dd", { class: pictures ? "given" : null }, input, ...(pictures ? file.nodes : []), ...(sampling ? [sampling.node] : []), parts.seen, parts.examples),
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
    if (trace.all > trace.steps.length) parts.cost.append(` ${text.viewsShow(trace.steps.length, trace.all)}`);
    if (sampling) sampling.update(text);
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
  /** Shows what is written so far. */
  const say = (written) => {
    parts.output.textContent = visible(written);
    parts.out.hidden = parts.output.hidden = false;
  };
  return { node, update, fault, say };
}

/** The field of the input: of a text that is continued line breaks are a part. */
function textField(lines, value) {
  const usual = { id: "text", autocomplete: "off", spellcheck: "false" };
  return lines ? element("textarea", { ...usual, rows: "2" }, value) : element("input", { ...usual, value });
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

/** What a live page's server makes of a file. */
export function receiverAt(token) {
  return async (file) => {
    const headers = { "Content-Type": "application/octet-stream", "X-Token": token, "X-Name": encodeURIComponent(file.name) };
    return (await fetch("file", { method: "POST", headers, body: file })).json();
  };
}

/**
 * A button that opens a file dialog, and hands the file over; the browser's own field would use the browser's language.
 * A file may be dropped on the page, too.
 */
function fileButton(receive, onSent, onFault) {
  const input = element("input", { type: "file", accept: "image/*", hidden: true, id: "file" });
  const button = element("button", { type: "button", id: "choose-file", onclick: () => input.click() });
  input.addEventListener("change", () => {
    const [file] = input.files;
    take(file);
    input.value = ""; // so that the same file can be chosen again
  });
  const take = async (file) => {
    if (!file) return;
    if (file.size > MOST_FILE_BYTES) {
      onFault("faultFileTooLarge");
      return;
    }
    try {
      const found = await receive(file);
      if (found.error) onFault(found.error);
      else onSent(found.picture);
    } catch {
      onFault("faultGone"); // fetch fails if there is no server
    }
  };
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    take(event.dataTransfer.files[0]);
  });
  const name = (text) => {
    button.textContent = text.chooseFile;
  };
  return { nodes: [button, input], name };
}

/** What a live page's server answers. */
export function serverAt(token) {
  const headers = { "Content-Type": "application/json", "X-Token": token };
  return async (question, { signal } = {}) =>
    (await fetch("trace", { method: "POST", headers, body: JSON.stringify(question), signal })).json();
}

/** Sends requests; if an answer is no longer needed, it is not computed any further. `say` receives what is written so far. */
export function asker(answer, onTrace, onFault, say) {
  let waiting;
  return async (question) => {
    waiting?.abort();
    waiting = new AbortController();
    const mine = waiting;
    try {
      const found = await answer(question, { signal: mine.signal, say: (text) => mine === waiting && say(text) });
      if (mine !== waiting) return;
      if (found.error) onFault(found.error);
      else onTrace(found, question);
    } catch (error) {
      if (error.name !== "AbortError") onFault("faultGone"); // fetch fails if there is no server
    }
  };
}

