/** Assembles the page: the input, the tabs, the controls of a view, and the view. */

import { UNCHANGED, after, changed, changes, isOf } from "./changes.js";
import { besideView } from "./compare/beside.js";
import { pinRow, pinboard } from "./compare/pin.js";
import { byId, element, refill } from "./dom.js";
import { siteOf } from "./cursor.js";
import { goldText } from "./gold.js";
import { asker, header, receiverAt, serverAt } from "./header.js";
import { writingOf } from "./sampling.js";
import { OnPage } from "./on_page.js";
import { State, remember } from "./state.js";
import { pathOf } from "./path.js";
import { questionTabs, showChosenTabs } from "./questions.js";
import { definitions, explained, markTerms, showTooltips, termIn, withTerm } from "./terms.js";
import { sharpest } from "./maps.js";
import { Trace } from "./trace.js";
import { words } from "./words.js";
import { shareMenu } from "./taking/menu.js";
import { projector } from "./taking/projector.js";
import { dress, themeButton, whenSystemTurns } from "./theme.js";
import { guide } from "./tours/guide.js";
import { VIEWS } from "./views/catalog.js";
import { walkWanted } from "./views/walk.js";
import { wayIn } from "./way_in.js";

/**
 * @typedef {Question & { picture: string, prefix: number[], begun: string[] }} Asked
 * @typedef {import("./terms.js").Term} Term
 */

/**
 * The views that apply to this trace; a view lists what it `needs`.
 *
 * @param {Trace} trace @param {boolean} live @param {boolean} [asks]
 */
function viewsOf(trace, live, asks = live) {
  return /** @type {ViewName[]} */ (Object.keys(VIEWS)).filter((name) => VIEWS[name].needs?.(trace, live, asks) ?? true);
}

/** What the first trace says about a model; later ones contain it only on request. @param {Pick<RawPage, "findings" | "other" | "before">} raw */
function knownOf({ findings, other, before }) {
  const { stacks = {}, positions = {} } = findings.layers ?? {};
  // An RNN has no positions; the view would only say so.
  const placed = Object.values(positions).some(({ kind }) => kind && !kind.startsWith("recurrent"));
  const recurrent = Object.values(stacks).some(({ read }) => read === "recurrent");
  return { layered: Object.keys(stacks).length > 0, placed, recurrent, beside: Boolean(other || before), tuned: Boolean(before) };
}

/**
 * The initial state: the model's alignment setting, or the sharpest head of its first trace.
 *
 * @param {Pick<RawPage, "text" | "other" | "lang">} raw @param {Trace} trace @param {boolean} live
 * @returns {Changes}
 */
export function defaultsOf(raw, trace, live) {
  if (!trace.sites.length) return { lang: languageOf(raw), text: raw.text };
  const { setting, own_rows: ownRows, gold } = trace.findings;
  const at = setting?.at_input ?? ownRows ? "reads" : "writes";
  // If both sides have a single word, tokens show more: the letters, if it is spelt. An empty output has only tokens.
  const counts = Object.values(trace.axes).map((axis) => axis.texts.length);
  const unit = counts.includes(0) || counts.every((count) => count < 2) ? "pieces" : "words";
  return {
    view: viewsOf(trace, live)[0],
    part: trace.parts()[0],
    layer: setting?.layer ?? null,
    head: setting?.head ?? (setting ? "mean" : headToOpen(trace, unit, at)),
    reading: at,
    unit,
    text: raw.text,
    gold: goldText(gold),
    against: raw.other && raw.other.text !== raw.text ? raw.other.text : "",
    lang: languageOf(raw),
  };
}

/** @param {Pick<RawPage, "lang">} raw */
function languageOf(raw) {
  return raw.lang ?? (navigator.language.startsWith("ko") ? "ko" : "en");
}

/**
 * `answer`: what a page with a model in it answers requests by; otherwise a live page's server does.
 * `receive`: takes a file, as `header` wants it. `whole`: of a large saved page a promise of its other arrays: until then only the first picture is drawn.
 *
 * @param {OpenedPage} raw
 * @param {HTMLElement} root
 * @param {object} [parts]
 * @param {Answer} [parts.answer]
 * @param {Receive} [parts.receive]
 * @param {Promise<void> | null} [parts.whole]
 */
export function start(raw, root, { answer = raw.token ? serverAt(raw.token) : undefined, receive = receiverAt(raw.token ?? ""), whole = null } = {}) {
  let partial = Boolean(whole);
  let trace = new Trace(raw);
  const live = Boolean(raw.token);
  const pictures = raw.kind.reads === "picture";
  let known = knownOf(raw);
  const { run } = raw; // belongs to the model, not to a trace
  trace.page = new OnPage({ known, run });
  const toured = raw.tour ? { tour: raw.tour, step: "1" } : {};
  const state = new State(location.hash, { ...defaultsOf(raw, trace, live), ...toured }, (turned) => {
    remember(state.fragment, turned);
    render();
  });
  /** Shows the moment of an address; `open` reads it into the state. */
  const follow = (/** @type {() => void} */ open) => {
    const asked = /** @type {const} */ (["text", "segment", "picture", "off", "blank", "set"]);
    const before = asked.map((name) => state.get(name)).join("\n");
    open();
    render();
    // After Back, or with a link, the text or a change may be different: its numbers are requested.
    if (again && asked.map((name) => state.get(name)).join("\n") !== before) again(state.get("text"), [], state.get("picture"));
  };
  window.addEventListener("hashchange", () => follow(() => state.read(location.hash)));
  const tours = guide({ tours: raw.tours, live }, state, (values, turned) => follow(() => {
    state.read(new URLSearchParams(values).toString());
    remember(state.fragment, turned);
  }));
  whenSystemTurns(() => render());
  const board = pinboard(trace, state, answer, () => render());
  const opened = trace.sites.length ? trace : undefined;
  trace.page.opened = opened;
  let shown = ""; // the current image; "" is the one that the page opened with
  const ask = answer && asker(answer, (found, /** @type {Asked} */ { text, picture, prefix, begun }) => {
    const { findings, page: { baseline, unforced } } = trace;
    const same = pictures ? picture === shown : text === trace.text && found.segment === trace.segment;
    const whole = same ? baseline || trace : undefined;
    if (pictures) {
      shown = picture;
      state.keep({ picture });
      remember(state.fragment);
    }
    const other = changed(state);
    const first = !trace.sites.length; // the page was opened without an input
    if (first) known = knownOf({ ...found, before: raw.before });
    trace = new Trace(found);
    if (first) {
      const typed = text;
      state.rebase({ ...defaultsOf(found, trace, live), ...toured, text: "" }, location.hash);
      state.keep({ text: typed });
    }
    trace.page = new OnPage({ known, run, opened });
    if (prefix.length) Object.assign(trace.page, { begun: { tokens: prefix, pieces: begun }, unforced: unforced ?? whole });
    // In a modified model, the effects of heads and words remain those of the original model.
    if (other && whole) {
      const { ablation, attribution } = findings;
      Object.assign(trace.page, { baseline: whole, change: JSON.stringify(changes(state)) });
      Object.assign(trace.findings, { ablation, attribution });
    }
    top.fault(null);
    render();
  }, (fault) => top.fault(fault), (text) => top.say(text));
  /** @type {Ask | undefined} */
  const again = ask && ((text = trace.text, prefix = [], picture = shown, begun = []) => {
    const segment = state.get("segment"); // null: the first with a word
    const same = pictures ? picture === shown : text === trace.text && (segment ?? trace.segment) === trace.segment;
    const written = same ? (trace.page.baseline || trace).findings.written : null;
    const view = state.get("view");
    const wanted = {
      worth: view === "heads", words: view === "mattered" || trace.page.wishing, tree: view === "theatre", layers: view === "layers" || !trace.sites.length,
      walk: view === "walk" ? walkWanted(trace, state) : undefined, both: view === "compare", against: view === "layers" || view === "compare" ? state.get("against") : "",
    };
    trace.page.wishing = false;
    ask({ text, segment, picture, written, prefix, begun, ...changes(state), ...wanted, ...(raw.samples ? { writing: writingOf(state) } : {}) });
  });
  const top = header({ ...raw, live: Boolean(answer) }, state, (given) => {
    if (changed(state) || state.get("node") !== null) state.set({ ...UNCHANGED, node: "" });
    const { text } = given;
    if (text !== undefined) state.keep({ text, segment: given.segment ?? "", gold: "" }); // links belong to the words of one sentence
    if (text?.trim() === "") top.fault("faultEmpty"); // the user is about to type
    else again?.(text, [], given.picture);
    remember(state.fragment); // after the question, which it would keep waiting for some milliseconds
  }, receive);
  const project = projector(state);
  const themed = themeButton(state);
  const share = shareMenu();
  const undo = () => {
    state.set(UNCHANGED);
    again?.();
  };
  const rest = element("div");
  const skip = element("a", { class: "skip", href: "#panel", onclick: (event) => {
    event.preventDefault(); // the address holds the state
    /** @type {HTMLElement} */ (rest.querySelector("#panel .word[tabindex='0'], #panel canvas[tabindex='0']") ?? byId("panel")).focus();
  } });
  top.tools.prepend(share.node, tours.button, project.button, themed.button);
  root.replaceChildren(skip, top.node, tours.node, rest);
  showTooltips();
  // Tables that are filled when they are opened.
  rest.addEventListener("toggle", (event) => queueMicrotask(() => markTerms(/** @type {HTMLElement} */ (event.target), document.documentElement.lang)), true);

  /** Whether a view needs no more than the first arrays, while the others are still being unpacked. */
  function isEarly(/** @type {ViewName} */ name) {
    return name === "overview" && !state.get("tour") && !state.get("game") && siteOf(trace, state).here;
  }

  function render() {
    const inPanel = Boolean(document.activeElement?.closest("#panel"));
    const [x, y] = [scrollX, scrollY];
    const text = words(state.get("lang"), trace.kind);
    const pinned = board.current();
    trace.page.pinned = pinned;
    const names = viewsOf(trace, live, Boolean(ask));
    const name = names.find((each) => each === state.get("view")) ?? names[0];
    trace.page.partial = partial;
    rest.inert = partial;
    if (partial && !isEarly(name)) return;
    document.documentElement.lang = state.get("lang");
    document.title = `${raw.title ?? text.title}: ${trace.text}`; // a page that others find has a title of its own
    dress(state.get("theme"));
    project.update(text);
    themed.update(text);
    skip.textContent = text.skip;
    top.update(trace, text);
    if (!partial) tours.update(trace, text, names); // which reads all heads
    root.dataset.guessing = tours.guessing(); // what would give the answer away
    rest.hidden = tours.guessing() !== "";
    share.node.hidden = rest.hidden || !trace.sites.length;
    if (!trace.sites.length) {
      top.place(trace);
      rest.replaceChildren(element("p", { class: "muted" }, trace.steps.length ? text.noAttention : pictures ? (live ? text.givePicture : text.chooseFirst) : trace.output ? text.unread : text.faultEmpty));
      return;
    }
    // A model in the page can be asked about texts, but not changed.
    const view = VIEWS[name](trace, state, text, live || name === "compare" ? again : undefined);
    view.controls.forEach((control, i) => {
      control.querySelector("select, input")?.setAttribute("id", `control-${name}-${i}`);
    });
    /** @type {ReturnType<typeof besideView>} */
    const beside = name === "compare" ? { says: [], body: [] } : besideView(trace, state, text);
    const named = known.placed ? text : { ...text, layers: text.layersOnly, tabShows: { ...text.tabShows, layers: text.tabShows.layersOnly } };
    const lang = document.documentElement.lang;
    const tabs = questionTabs(names, name, state, named);
    const path = pathOf(trace, name, names, state, text);
    const about = [element("p", { class: "help" }, ...explained(view.help, lang)), ...moreOf(view.controls, trace, state, text)];
    refill(rest,
      ...tabs.rows,
      element("section", { role: "tabpanel", id: "panel", tabindex: "-1", "aria-labelledby": tabs.labelledBy },
        ...pinRow(pinned, board, text), ...(view.aboutBelow ? [] : [...path, ...about]),
        ...(view.top ?? []), ...beside.says, ...(isOf(trace, state) ? [after(trace, text, undo)] : []),
        ...(beside.early ? beside.body : []), ...view.body, ...(beside.early ? [] : beside.body), ...(view.aboutBelow ? [...path, ...about] : []),
        ...wayIn(run?.commands ?? [], text, name === "run")),
      definitions(lang),
    );
    top.place(trace, rest.hidden ? undefined : view.pictured);
    share.update({ trace, state, name, view, made: raw.made, live, pin: pinned ? null : () => board.pin(trace, shown) }, text);
    markTerms(byId("panel"), lang);
    showChosenTabs(tabs.rows);
    scrollTo(x, y);
    if (inPanel && document.activeElement === document.body) byId("panel").focus({ preventScroll: true });
  }
  render();
  whole?.then(() => {
    partial = false;
    render();
  });
  const gone = pictures ? state.get("picture") !== "" : state.get("text") !== raw.text || state.get("segment") !== null;
  if (again && gone) again(state.get("text"), [], state.get("picture"));
  return {
    /** Draws another trace, perhaps of another model, with everything that was chosen. @param {OpenedPage} found */
    show(found) {
      trace = new Trace(found);
      known = knownOf(found);
      trace.page = new OnPage({ known, opened: trace });
      tours.offer(found.tours);
      state.rebase(defaultsOf(found, trace, live), state.fragment);
      render();
    },
  };
}

/**
 * Without an alignment setting: the sharpest head, because the mean of many is nearly uniform.
 *
 * @param {Trace} trace @param {Unit} unit @param {"reads" | "writes"} reading
 */
function headToOpen(trace, unit, reading) {
  const site = trace.of(trace.parts()[0]).at(-1);
  return site ? sharpest(trace, site, unit, reading) : "mean";
}

/**
 * The controls of a view, out of the way until they are wanted.
 *
 * @param {HTMLElement[]} controls @param {Trace} trace @param {State} state @param {Words} text
 */
function moreOf(controls, trace, state, text) {
  if (!controls.length) return [];
  const lang = document.documentElement.lang;
  const kind = siteOf(trace, state).part === "cross" ? "cross" : "self";
  /** @type {Record<string, Term | undefined>} */
  const terms = { [text.part]: kind, [text.value]: "norm", [text.unit]: "token" }; // labels that are not terms themselves
  const named = (/** @type {HTMLElement} */ control) => control.querySelector("span")?.textContent ?? "";
  return [element("details", { id: "more" }, element("summary", {}, text.more),
    element("form", { class: "controls", onsubmit: (event) => event.preventDefault() },
      ...controls.map((control) => withTerm(control, terms[named(control)] ?? termIn(named(control), lang), text, lang))))];
}
