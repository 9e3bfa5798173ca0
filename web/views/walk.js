/** The walk: one word's way through the model's vectors, one operation after the other. */

import { cursorOf, siteOf } from "../cursor.js";
import { choice, element, table } from "../dom.js";
import { player, still } from "../player.js";
import { remember } from "../state.js";
import { readable } from "../trace.js";
import { afterScene } from "../walk/after.js";
import { attentionScene } from "../walk/attention.js";
import { sentence } from "../walk/sentences.js";
import { heldCount, isHeld, momentsOf, stageOf, stagesOf, walkOf } from "../walk/steps.js";
import { asText, rampOf, written } from "../walk/strips.js";
import { number } from "../words_walk.js";
import { rowName, siteChoices } from "./board.js";

const BEAT = 1000; // ms that an operation takes where the walk plays by itself
const BEFORE = new Set(["state", "input", "query", "keys", "products", "scale", "cap", "bias", "mask", "exp", "weights", "sum"]);

/**
 * The query and the head whose walk is shown, and the module.
 *
 * @param {Trace} trace @param {State} state
 */
function chosen(trace, state) {
  const site = siteOf(trace, state);
  const { query, head } = cursorOf(trace, site, state);
  return { site, query, head };
}

/**
 * The query that a live page asks the walk of: for requests.
 *
 * @param {Trace} trace @param {State} state
 */
export function walkWanted(trace, state) {
  if (!trace.sites.length) return undefined;
  const { site, query } = chosen(trace, state);
  return { site: site.name, query };
}

/** @type {View} */
export function walkView(trace, state, words, ask) {
  const { site, query, head } = chosen(trace, state);
  const controls = siteChoices(trace, state, words, { heads: false });
  const rows = site.rowTokens.map((_, i) => [String(i), `${i} ${rowName(trace, site, i, words)}`]);
  controls.push(choice(trace.axes[site.queries].grid ? words.walkCell : words.walkQuery, rows, String(query), (value) => state.set({ query: value, moment: "" })));
  if (!site.array("query")) return { help: words.walkHelp, controls, body: [element("p", {}, words.noVectors)] };
  if (ask && trace.walk !== undefined && !isHeld(trace, site, query)) request(trace, site, query, ask);
  const walk = walkOf(trace, site, head, query);
  const { body, film } = scenes(trace, site, walk, state, words);
  return { help: words.walkHelp, controls, film, body: [...notes(trace, site, query, walk, words), ...body, ...details(walk, words)] };
}

/**
 * Asks a live page's server for the vectors of a query, once; a module that has none is not asked for.
 *
 * @param {Trace} trace @param {Site} site @param {number} query @param {Ask | undefined} ask
 */
function request(trace, site, query, ask) {
  const wanted = `${site.name} ${query}`;
  const known = !trace.walk || trace.walk.sites[site.name]?.queries.length;
  if (!known || trace.page.walkAsked === wanted) return;
  trace.page.walkAsked = wanted;
  ask?.();
}

/** @type {Needs} */
walkView.needs = (trace) => trace.sites.some((site) => site.kind !== "given");

/** @param {Trace} trace @param {Site} site @param {number} query @param {Walked} walk @param {Words} words */
function notes(trace, site, query, walk, words) {
  const said = [];
  if (!walk.redone) said.push(words.walkKind(site.kind));
  const held = isHeld(trace, site, query);
  if (!trace.walk) said.push(words.walkNone);
  else if (!held && trace.walk.sites[site.name]) said.push(words.walkHeld(heldCount(trace, site), site.rows, trace.walk.limit >> 10));
  return said.map((text) => element("p", { class: "muted walk-missing" }, text));
}

/**
 * What the sentences say about where we are.
 *
 * @param {Trace} trace @param {Site} site @param {Walked} walk @param {Words} words
 */
function placeOf(trace, site, walk, words) {
  const { query, head } = walk;
  const next = site.rowTokens[query + 1] ?? trace.steps[query]?.token;
  const layers = trace.of(site.part).map(({ layer }) => layer);
  const cross = site.part === "decoder" && trace.of("cross").length > 0;
  const onward = onwardOf(trace, site);
  return {
    writes: site.writes && next !== undefined, read: readable(site.rowTokens[query]), next: next === undefined ? "" : readable(next),
    label: Boolean(trace.axes[site.queries].grid), layer: site.layer + 1, head: head + 1, additive: walk.additive, recurrence: walk.recurrence,
    cosine: site.kind.startsWith("cosine"), linear: walk.linear, cross, gaps: trace.kind.writes === "gaps", gate: trace.steps[query]?.gate ?? null,
    luong: walk.luong, direct: Boolean(walk.known) && !walk.additive, same: Boolean(walk.known) && !walk.additive && site.kind !== "bilinear",
    more: Boolean(onward), part: onward ? words[onward.part] : "", memory: site.part === "encoder" && trace.of("cross").length > 0,
    ...(onward ? { onwardLayer: onward.layer + 1 } : {}), last: site.layer === Math.max(...layers),
  };
}

/**
 * The attention module that this one's result goes into.
 *
 * @param {Trace} trace @param {Site} site
 */
function onwardOf(trace, site) {
  const cross = site.part === "decoder" ? trace.of("cross").find(({ layer }) => layer === site.layer) : undefined;
  if (cross) return cross;
  const part = site.part === "cross" && trace.of("decoder").length ? "decoder" : site.part;
  return trace.of(part).find(({ layer }) => layer === site.layer + 1);
}

/**
 * The path, the sentence, the picture and the buttons; what moves is drawn without rebuilding the page.
 *
 * @param {Trace} trace @param {Site} site @param {Walked} walk @param {State} state @param {Words} words
 */
function scenes(trace, site, walk, state, words) {
  const moments = momentsOf(walk, site);
  const place = placeOf(trace, site, walk, words);
  const said = element("p", { class: "said walk-said" });
  /** @param {string} name @param {number} at @param {number} value */
  const onSay = (name, at, value) => { said.textContent = `${name}, ${words.dimension} ${at + 1}: ${number(value)}`; };
  const first = attentionScene(trace, site, walk, words, onSay);
  const second = moments.some(({ op }) => !BEFORE.has(op)) ? afterScene(walk, words, onSay) : null;
  const stage = element("div", { id: "walk", class: "walk", tabindex: "0", role: "group", "aria-label": words.walkStage },
    first.node, ...(second ? [second.node] : []));
  const legends = [first, second].map((each) => each && rampOf(each.scales, words)).filter((each) => each !== null);
  const text = element("p", { id: "walk-says", class: "walk-says" });
  const chips = stagesOf(moments, walk).map((name) => element("button", { type: "button", id: `walk-stage-${name}`,
    onclick: () => plays.go(moments.findIndex(({ op }) => stageOf(op, walk) === name), true) }, words.walkStages[name]));
  const path = element("div", { class: "walk-path", role: "group", "aria-label": words.walkPath }, ...chips);
  const onward = onwardOf(trace, site);
  const on = onward ? element("button", { type: "button", id: "walk-on", class: "walk-on", onclick: () =>
    state.set({ part: onward.part, layer: onward.layer, moment: 0 }) }, words.walkOn(`${words[onward.part]}, ${words.layerNumber(onward.layer + 1)}`)) : null;
  // It opens at the result of the attention, where everything in the first picture has been computed.
  const result = moments.findLastIndex(({ op }) => op === "sum");
  const asked = state.get("moment") !== null;

  /** @param {number} at @param {number} share */
  const draw = (at, share) => {
    const now = moments[at];
    /** @type {import("../walk/attention.js").Progress} */
    const progress = (op, key = null) => {
      const index = moments.findIndex((moment) => moment.op === op && (key === null || moment.key === key));
      return index < 0 ? 0 : index < at ? 1 : index === at ? share : 0;
    };
    const early = BEFORE.has(now.op) || !second;
    first.node.hidden = !early;
    stage.dataset.phase = ["sum", "weights"].includes(now.op) ? "sum" : "scores";
    if (second) second.node.hidden = early;
    legends.forEach((legend, i) => { legend.hidden = early !== (i === 0); });
    (early ? first : second).draw(progress, now);
  };
  /** @param {number} at @param {import("../player.js").Now} shown */
  const tell = (at, { playing, showing, byHand }) => {
    // What plays by itself has a second for an operation: time for one sentence, about the key that gets the most.
    const opened = at === result && !asked && !byHand && !showing;
    const now = opened ? { op: "result", key: null } : (showing && moments.find(({ op, key }) => op === moments[at].op && key === walk.best)) || moments[at];
    const layer = now.op === "end" && place.onwardLayer ? place.onwardLayer : place.layer;
    text.setAttribute("aria-live", playing ? "off" : "polite"); // a screen reader would not keep up
    text.replaceChildren(...written(sentence(words, walk, now, { ...place, layer })));
    text.dataset.op = moments[at].op;
    const current = chips.findIndex(({ id }) => id === `walk-stage-${stageOf(moments[at].op, walk)}`);
    chips.forEach((chip, i) => {
      chip.classList.toggle("done", i < current);
      if (i === current) chip.setAttribute("aria-current", "step");
      else chip.removeAttribute("aria-current");
    });
    if (path.isConnected) path.scrollTo({ left: chips[current].offsetLeft - path.clientWidth / 2 });
    if (on) on.hidden = at < moments.length - 1;
    said.textContent = "";
    state.keep({ moment: at === result && !asked ? "" : at });
    if (!playing) remember(state.fragment);
  };
  /** @param {import("../walk/steps.js").Moment} moment */
  const pace = ({ op }) => {
    const beat = BEAT / moments.filter((moment) => moment.op === op).length;
    return [0.6 * beat, 0.4 * beat];
  };
  const plays = player({ name: "walk", stage, moments, state, words, draw, tell, shows: { to: result, pace, once: !asked },
    at: asked ? Math.min(state.get("moment") ?? 0, moments.length - 1) : result });
  const screen = element("div", {}, path, text, ...(still() ? [element("p", { class: "muted walk-still" }, words.walkStill)] : []), stage);
  return { film: plays.film(screen), body: [screen, plays.bar, ...(on ? [element("p", {}, on)] : []), ...legends, said] };
}

/**
 * Everything as text: a table of the keys, and every vector.
 *
 * @param {Walked} walk @param {Words} words
 */
function details(walk, words) {
  const names = words.walkNames;
  const keys = walk.keys.map((key) => [key.name, ...(walk.redone ? [number(key.product), number(key.score), number(key.power)] : []), number(key.weight)]);
  const headings = [names.key, ...(walk.redone ? [names.product, names.score, names.power] : []), names.weight];
  const all = element("details", { id: "walk-keys" }, element("summary", {}, words.walkTable), table(headings, keys, words.walkTable));
  const vectors = element("details", { id: "walk-vectors" }, element("summary", {}, words.walkVectors));
  vectors.addEventListener("toggle", () => {
    const named = { state: walk.state, input: walk.input, query: walk.q, z: walk.z, mixed: walk.mixed, output: walk.output, sum: walk.sum2, norm: walk.normed,
      hidden: walk.hidden, fed: walk.fed, fedSum: walk.fedSum, fedNormed: walk.fedNormed, after: walk.after, known: walk.known, shown: walk.shown };
    vectors.append(...Object.entries(named).flatMap(([name, values]) => (values ? [asText(name, values)] : [])));
    walk.keys.forEach(({ i, name, k, v }) => vectors.append(asText(`key ${i} ${name}`, k), asText(`value ${i} ${name}`, v)));
  }, { once: true });
  return [all, vectors];
}
