/** The Python code that computes the page's trace again and draws what a view shows. */

import { changed, changes } from "../changes.js";
import { cursorOf, headChosen, shareHead, siteOf, weightsMap } from "../cursor.js";
import { mostOf } from "../heatmap.js";
import { withRest } from "../maps.js";
import { currentMap, scaled, valueChosen } from "../views/board.js";
import { nameOf } from "./names.js";

const SENT = "sent:"; // the name of an image that was uploaded has no path
const TURNING = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
const FAINT = 0.5; // as in the overview

/** A text or a number as a literal of Python, which has JSON's escapes. @param {string | number} value */
export function literal(value) {
  return JSON.stringify(value).replace(TURNING, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * Whether jumok.plot draws what a view shows.
 *
 * @param {Trace} trace @param {ViewName} view @param {State} state
 */
export function isDrawn(trace, view, state) {
  return view in DRAWN && (WHEN[view]?.(trace, state) ?? true);
}

/**
 * The code.
 *
 * made: how the page was made (`PageOrigin`), if that is known; otherwise the code takes a variable `trace`.
 * row: the word whose attribution is shown.
 *
 * @param {Trace} trace @param {ViewName} view @param {State} state
 * @param {{ made?: RawOrigin, row?: number }} known @param {Words} words
 */
export function pythonOf(trace, view, state, { made, row }, words) {
  const drawn = DRAWN[view](trace, state, row);
  const head = ["import jumok", "", ...traceLines(trace, view, state, made, words)];
  if (view === "compare") head.push(...otherLines(trace, made));
  const name = nameOf(trace, view);
  const files = drawn.length > 1 ? drawn.map((_, i) => `${name}-${"ab"[i]}`) : [name];
  return [...head, ...drawn.flatMap((call, i) => [`figure = jumok.plot.${call}`, `jumok.plot.save(figure, ${literal(`${files[i]}.svg`)})`]), ""].join("\n");
}

/**
 * The lines that load the model and trace the input, with the changes of the page.
 *
 * @param {Trace} trace @param {ViewName} view @param {State} state @param {RawOrigin | undefined} made @param {Words} words
 */
function traceLines(trace, view, state, made, words) {
  if (!made) return [`# ${words.pythonTrace}`];
  const load = `model = jumok.load(${made.models.map(literal).join(", ")})`;
  const path = made.given ?? ""; // of an image or a saved trace
  const anew = trace.page.opened !== undefined && trace.page.opened !== trace; // the live page has traced it
  if (made.saved && !anew) return [load, `trace = jumok.load_trace(${literal(path)}, of=model)`];
  const picture = state.get("picture");
  const sent = picture.startsWith(SENT);
  const given = trace.picture ? (picture && !sent ? picture : sent ? trace.text : path) : trace.text;
  const options = [literal(given)];
  if (made.target !== null && !anew) options.push(`target=${literal(made.target)}`);
  if (made.options) options.push(`options=${made.options}`);
  if (state.get("segment") !== null && trace.segments > 1) options.push(`segment=${trace.segment}`);
  if (trace.page.begun?.tokens.length) options.push(`prefix=[${trace.page.begun.tokens.join(", ")}]`);
  const call = `trace = jumok.trace(model, ${options.join(", ")})`;
  const note = sent ? [`# ${literal(given)}: ${words.pythonPicture}`] : [];
  // In a modified model the effects of heads and words remain those of the original one.
  if (!changed(state) || view === "heads" || view === "mattered") return [load, ...note, call];
  return [load, ...note, `with jumok.changed(model, ${changeArguments(trace, state).join(", ")}):`, `    ${call}`];
}

/** @param {Trace} trace @param {State} state */
function changeArguments(trace, state) {
  const { off, blank, row } = changes(state);
  const found = [];
  const heads = Object.entries(off).map(([site, numbers]) => `${literal(site)}: [${numbers.join(", ")}]`);
  if (heads.length) found.push(`heads_off={${heads.join(", ")}}`);
  if (blank.length) found.push(`words_off=[${blank.join(", ")}]`);
  const site = row && trace.sites.find(({ name }) => name === row.site);
  if (site) {
    const name = `${site.part} ${site.layer + 1}${row.head === null ? "" : `.${row.head + 1}`}`;
    found.push(`weights={(${literal(name)}, ${row.query}): [${row.weights.map((weight) => weight.toFixed(1)).join(", ")}]}`);
  }
  return found;
}

/**
 * The trace of the other side: of another sentence, or of another model.
 *
 * @param {Trace} trace @param {RawOrigin} [made]
 */
function otherLines(trace, made) {
  if (!made?.beside) return [`other = jumok.trace(model, ${literal(trace.other?.text ?? "")})`];
  const target = trace.page.known.tuned ? ", trace.findings.written" : "";
  return [`other = jumok.trace(jumok.load(${literal(made.beside)}), ${literal(trace.other?.text ?? "")}${target})`];
}

/**
 * The arguments that name the module and the head of a map.
 *
 * @param {Site} site @param {Head} head
 */
function where(site, head) {
  return `part=${literal(site.part)}, layer=${site.layer}, head=${literal(head)}`;
}

/**
 * How the map is made of the matrix.
 *
 * @param {State} state
 */
function axesOf(state) {
  const reading = state.get("reading");
  return `unit=${literal(state.get("unit"))}${reading ? `, reading=${literal(reading)}` : ""}`;
}

/** @param {Trace} trace @param {State} state */
function ofBoard(trace, state) {
  const site = siteOf(trace, state);
  const value = valueChosen(site, state);
  const map = withRest(currentMap(trace, state), "");
  const options = [`value=${literal(value)}`, axesOf(state)];
  if (scaled(map, state).most !== undefined) options.push('scale="largest"');
  if (map.rested) options.push("rest=True");
  const call = `alignment(trace, ${where(site, headChosen(site, state))}, ${options.join(", ")}`;
  const sure = site.part === "cross" && state.get("unit") === "words" ? goldLinks(state.get("gold")) : "";
  return [`${call}${sure})`];
}

/** The sure links that were typed or clicked. @param {string} text */
function goldLinks(text) {
  const links = text.split(/\s+/).filter((link) => /^\d+-\d+$/.test(link)).map((link) => `(${link.replace("-", ", ")})`);
  return links.length ? `, gold=[${links.join(", ")}]` : "";
}

/** @param {Trace} trace @param {State} state */
function ofOverview(trace, state) {
  const site = siteOf(trace, state);
  const head = shareHead(site, state);
  const scale = mostOf(weightsMap(trace, site, state, head)) < FAINT ? ', scale="largest"' : "";
  return [`alignment(trace, ${where(site, head)}, ${axesOf(state)}${scale})`];
}

/** @param {Trace} trace @param {State} state */
function ofRow(trace, state) {
  const site = siteOf(trace, state);
  const { query, head } = cursorOf(trace, site, state);
  return [`row(trace, ${query}, ${where(site, head)})`];
}

/** @param {Trace} trace @param {State} state */
function ofGrid(trace, state) {
  const part = trace.parts().find((each) => each === state.get("part")) ?? trace.parts()[0];
  const most = Math.max(...trace.of(part).map((site) => site.matrix("max", "weights").reduce((a, b) => Math.max(a, b), 0)));
  const scale = (state.get("scale") || (most < FAINT ? "largest" : "one")) === "largest" ? ', scale="largest"' : "";
  return [`grid(trace, part=${literal(part)}${scale})`];
}

/** @param {Trace} trace @param {State} state */
function ofScrubber(trace, state) {
  const sites = trace.sites.filter((site) => trace.axes[site.keys].grid);
  const own = siteOf(trace, state);
  const site = sites.includes(own) ? own : sites[sites.length - 1];
  const head = headChosen(site, state);
  if (site.part !== "cross") return [`alignment(trace, ${where(site, head)}, unit="pieces", scale="largest")`];
  return [`pictures(trace, layer=${site.layer}, head=${literal(head)})`];
}

/**
 * Of the layers, jumok.plot draws the position encodings.
 *
 * @param {Trace} trace @param {State} state
 */
function stackOf(trace, state) {
  const { positions = {} } = trace.findings.layers ?? {};
  const chosen = state.get("stack") in positions ? state.get("stack") : Object.keys(positions)[0];
  return state.get("show") === "places" && positions[positions[chosen]?.same ?? chosen]?.picture ? chosen : null;
}

/**
 * Two maps: A and B.
 *
 * @param {Trace} trace @param {State} state
 */
function ofCompare(trace, state) {
  const site = siteOf(trace, state);
  const call = (/** @type {string} */ of) => `alignment(${of}, ${where(site, shareHead(site, state))}, ${axesOf(state)})`;
  return [call("trace"), call("other")];
}

/** The calls of jumok.plot that draw a view. @type {Record<string, (trace: Trace, state: State, row?: number) => string[]>} */
const DRAWN = {
  overview: ofOverview, board: ofBoard, row: ofRow, walk: ofRow, grid: ofGrid, scrubber: ofScrubber, compare: ofCompare,
  mattered: (_, state, row) => [`mattered(trace, ${row}, unit=${literal(state.get("unit"))})`],
  heads: () => ["switches(trace)"],
  beam: () => ["choices(trace)"],
  layers: (trace, state) => [`positions(trace, ${literal(stackOf(trace, state) ?? "")})`],
};

/** @param {Trace} trace @param {State} state */
function hasRow(trace, state) {
  const site = siteOf(trace, state);
  return Boolean(site.array("query")) && site.scale !== null;
}

/** When it draws them, if not always. @type {Partial<Record<ViewName, (trace: Trace, state: State) => boolean>>} */
const WHEN = {
  row: hasRow,
  walk: hasRow,
  layers: (trace, state) => stackOf(trace, state) !== null,
  mattered: (trace, state) => Boolean(trace.findings.attribution?.[state.get("unit")]),
  heads: (trace) => Object.keys(trace.findings.ablation ?? {}).length > 0,
  // A pinned state and the difference are not drawn.
  compare: (trace) => Boolean(trace.other) && !(trace.page.pinned || trace.page.baseline || trace.page.unforced),
};
