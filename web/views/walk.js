/** The walk: one word's way through the model's vectors, one operation after the other. */

import { cursorOf, siteOf } from "../cursor.js";
import { choice, element, table } from "../dom.js";
import { remember } from "../state.js";
import { readable } from "../trace.js";
import { afterScene } from "../walk/after.js";
import { attentionScene } from "../walk/attention.js";
import { sentence } from "../walk/sentences.js";
import { heldCount, isHeld, momentsOf, pathOf, walkOf } from "../walk/steps.js";
import { asText, rampOf, written } from "../walk/strips.js";
import { number } from "../words_walk.js";
import { rowName, siteChoices } from "./board.js";

const SPEEDS = [["0.5", "0.5 ×"], ["1", "1 ×"], ["2", "2 ×"], ["4", "4 ×"]];
const BEFORE = new Set(["state", "input", "query", "keys", "products", "scale", "cap", "bias", "mask", "exp", "weights", "sum"]);

function still() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** The query and the head whose walk is shown, and the module. */
function chosen(trace, state) {
  const site = siteOf(trace, state);
  const { query, head } = cursorOf(trace, site, state);
  return { site, query, head };
}

/** The query that a live page asks the walk of: for requests. */
export function walkWanted(trace, state) {
  if (!trace.sites.length) return undefined;
  const { site, query } = chosen(trace, state);
  return { site: site.name, query };
}

export function walkView(trace, state, words, ask) {
  const { site, query, head } = chosen(trace, state);
  const controls = siteChoices(trace, state, words, { heads: false });
  const rows = site.rowTokens.map((_, i) => [String(i), `${i} ${rowName(trace, site, i, words)}`]);
  controls.push(choice(trace.axes[site.queries].grid ? words.walkCell : words.walkQuery, rows, String(query), (value) => state.set({ query: value, moment: 0 })));
  if (!site.array("query")) return { help: words.walkHelp, controls, body: [element("p", {}, words.noVectors)] };
  if (ask && trace.walk !== undefined && !isHeld(trace, site, query)) request(trace, site, query, ask);
  const walk = walkOf(trace, site, head, query);
  walk.additive = Boolean(site.array("energy"));
  return { help: words.walkHelp, controls, body: [
    ...notes(trace, site, query, walk, words),
    ...player(trace, site, walk, state, words),
    ...details(walk, words),
  ] };
}

/** Asks a live page's server for the vectors of a query, once; a module that has none is not asked for. */
function request(trace, site, query, ask) {
  const wanted = `${site.name} ${query}`;
  const known = !trace.walk || trace.walk.sites[site.name]?.queries.length;
  if (!known || trace.page.walkAsked === wanted) return;
  trace.page.walkAsked = wanted;
  ask();
}

walkView.needs = (trace) => trace.sites.some((site) => site.kind !== "given");

function notes(trace, site, query, walk, words) {
  const said = [];
  if (!walk.redone) said.push(words.walkKind(site.kind));
  const held = isHeld(trace, site, query);
  if (!trace.walk) said.push(words.walkNone);
  else if (!held && trace.walk.sites[site.name]) said.push(words.walkHeld(heldCount(trace, site), site.rows, trace.walk.limit >> 10));
  return said.map((text) => element("p", { class: "muted walk-missing" }, text));
}

/** What the sentences say about where we are. */
function placeOf(trace, site, walk, words) {
  const { query, head } = walk;
  const next = site.rowTokens[query + 1] ?? trace.steps[query]?.token;
  const layers = trace.of(site.part).map(({ layer }) => layer);
  const cross = site.part === "decoder" && trace.of("cross").length > 0;
  const onward = onwardOf(trace, site);
  return {
    writes: site.writes && next !== undefined, read: readable(site.rowTokens[query]), next: next === undefined ? "" : readable(next),
    label: Boolean(trace.axes[site.queries].grid), layer: site.layer + 1, head: head + 1, additive: walk.additive,
    cosine: site.kind.startsWith("cosine"), linear: walk.linear, cross, gaps: trace.kind.writes === "gaps", gate: trace.steps[query]?.gate ?? null,
    luong: walk.luong, direct: Boolean(walk.known) && !walk.additive, same: Boolean(walk.known) && !walk.additive && site.kind !== "bilinear",
    more: Boolean(onward), part: onward ? words[onward.part] : "", memory: site.part === "encoder" && trace.of("cross").length > 0,
    ...(onward ? { onwardLayer: onward.layer + 1 } : {}), last: site.layer === Math.max(...layers),
  };
}

/** The attention module that this one's result goes into. */
function onwardOf(trace, site) {
  const cross = site.part === "decoder" ? trace.of("cross").find(({ layer }) => layer === site.layer) : undefined;
  if (cross) return cross;
  const part = site.part === "cross" && trace.of("decoder").length ? "decoder" : site.part;
  return trace.of(part).find(({ layer }) => layer === site.layer + 1);
}

/** The sign of an operation on the path. */
function symbolOf(op, trace, walk, words) {
  if (op === "products" && walk.additive) return "v · tanh";
  if (op === "next") return words.walkWrites[trace.kind.writes] ?? words.walkSymbols.next;
  return words.walkSymbols[op];
}

/** The path, the sentence, the buttons and the picture; what moves is drawn without rebuilding the page. */
function player(trace, site, walk, state, words) {
  const moments = momentsOf(walk, site);
  const place = placeOf(trace, site, walk, words);
  const said = element("p", { class: "said walk-said" });
  const onSay = (name, at, value) => { said.textContent = `${name}, ${words.dimension} ${at + 1}: ${number(value)}`; };
  const first = attentionScene(trace, site, walk, words, onSay);
  const second = moments.some(({ op }) => !BEFORE.has(op)) ? afterScene(walk, words, onSay) : null;
  const stage = element("div", { id: "walk", class: "walk", tabindex: "0", role: "group", "aria-label": words.walkStage },
    first.node, ...(second ? [second.node] : []));
  const legends = [first, second].filter(Boolean).map(({ scales }) => rampOf(scales, words));
  const text = element("p", { id: "walk-says", class: "walk-says", "aria-live": "polite" });
  const chips = pathOf(moments).map((op) => element("button", { type: "button", "data-op": op, id: `walk-op-${op}`,
    onclick: () => go(moments.findIndex((moment) => moment.op === op), true) }, ...written(symbolOf(op, trace, walk, words))));
  const path = element("div", { class: "walk-path", role: "group", "aria-label": words.walkPath }, ...chips);
  const onward = onwardOf(trace, site);
  const on = onward ? element("button", { type: "button", id: "walk-on", class: "walk-on", onclick: () =>
    state.set({ part: onward.part, layer: onward.layer, moment: 0 }) }, words.walkOn(`${words[onward.part]}, ${words.layerNumber(onward.layer + 1)}`)) : null;
  let at = Math.min(state.get("moment"), moments.length - 1);
  let [playing, began] = [false, 0];

  const draw = (share) => {
    const now = moments[at];
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
  const tell = () => {
    const now = moments[at];
    text.replaceChildren(...written(sentence(words, walk, now, { ...place, layer: now.op === "end" && place.onwardLayer ? place.onwardLayer : place.layer })));
    chips.forEach((chip) => {
      const current = chip.dataset.op === now.op;
      chip.classList.toggle("done", moments.findIndex(({ op }) => op === chip.dataset.op) < at);
      if (current) chip.setAttribute("aria-current", "step");
      else chip.removeAttribute("aria-current");
    });
    slider.value = String(at);
    slider.setAttribute("aria-valuetext", words.walkMoment(at + 1, moments.length));
    counter.textContent = `${at + 1} / ${moments.length}`;
    back.disabled = at === 0;
    next.disabled = at === moments.length - 1;
    if (on) on.hidden = at < moments.length - 1;
    said.textContent = "";
    state.keep({ moment: at });
    if (!playing) remember(state.fragment);
  };
  const speed = () => Number(state.get("speed"));
  let frame = 0;
  const run = (time) => {
    if (!stage.isConnected) return;
    const now = moments[at];
    const passed = (time - began) * speed();
    draw(Math.min(passed / now.sweep, 1));
    if (passed < now.sweep) frame = requestAnimationFrame(run);
    else if (playing && passed < now.sweep + now.hold) frame = requestAnimationFrame(run);
    else if (playing && at < moments.length - 1) go(at + 1, true);
    else if (playing) pause();
  };
  /** To a moment; `moving`: it is drawn as it happens, unless less motion is wanted. */
  function go(to, moving) {
    at = Math.min(Math.max(to, 0), moments.length - 1);
    cancelAnimationFrame(frame);
    tell();
    if (!moving || still()) return draw(1);
    began = performance.now();
    frame = requestAnimationFrame(run);
    return undefined;
  }
  function pause() {
    playing = false;
    text.setAttribute("aria-live", "polite");
    showPlay();
    remember(state.fragment);
  }
  function toggle() {
    if (still()) return;
    if (playing) {
      cancelAnimationFrame(frame);
      pause();
      draw(1);
      return;
    }
    playing = true;
    text.setAttribute("aria-live", "off"); // a screen reader would not keep up
    showPlay();
    go(at === moments.length - 1 ? 0 : at, true);
  }
  const step = (by) => {
    if (playing) pause();
    go(at + by, by > 0);
  };
  const button = (id, sign, label, onclick) => element("button", { type: "button", id, "aria-label": label, title: label, onclick }, sign);
  const play = button("walk-play", "", words.walkPlay, toggle);
  const back = button("walk-back", "◂", words.walkBack, () => step(-1));
  const next = button("walk-next", "▸", words.walkNext, () => step(1));
  function showPlay() {
    play.textContent = playing ? "❚❚" : "▶";
    play.setAttribute("aria-label", playing ? words.walkPause : words.walkPlay);
    play.title = playing ? words.walkPause : words.walkPlay;
  }
  showPlay();
  const counter = element("span", { class: "muted walk-count" });
  const slider = element("input", { type: "range", id: "walk-at", min: "0", max: String(moments.length - 1), step: "1", "aria-label": words.walkAt,
    oninput: () => {
      if (playing) pause();
      go(Number(slider.value), false);
    } });
  const faster = choice(words.walkSpeed, SPEEDS, state.get("speed"),
    (value) => { state.keep({ speed: value }); remember(state.fragment); });
  faster.querySelector("select").id = "walk-speed";
  const bar = element("div", { class: "walk-bar-of-buttons" }, ...(still() ? [] : [play]), button("walk-first", "|◂", words.walkFirst, () => step(-at)), back, next, slider, counter, ...(still() ? [] : [faster]));
  stage.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1, Home: -at, End: moments.length - 1 - at }[event.key];
    if (by === undefined && event.key !== " ") return;
    event.preventDefault();
    if (event.key === " ") toggle();
    else step(by);
  });
  tell();
  draw(1);
  return [path, text, bar, ...(still() ? [element("p", { class: "muted walk-still" }, words.walkStill)] : []), stage,
    ...(on ? [element("p", {}, on)] : []), ...legends, said];
}

/** Everything as text: a table of the keys, and every vector. */
function details(walk, words) {
  const names = words.walkNames;
  const keys = walk.keys.map((key) => [key.name, ...(walk.redone ? [number(key.product), number(key.score), number(key.power)] : []), number(key.weight)]);
  const headings = [names.key, ...(walk.redone ? [names.product, names.score, names.power] : []), names.weight];
  const all = element("details", { id: "walk-keys" }, element("summary", {}, words.walkTable), table(headings, keys, words.walkTable));
  const vectors = element("details", { id: "walk-vectors" }, element("summary", {}, words.walkVectors));
  vectors.addEventListener("toggle", () => {
    const named = { state: walk.state, input: walk.input, query: walk.q, z: walk.z, mixed: walk.mixed, output: walk.output, sum: walk.sum2, norm: walk.normed,
      hidden: walk.hidden, fed: walk.fed, fedSum: walk.fedSum, fedNormed: walk.fedNormed, after: walk.after, known: walk.known, shown: walk.shown };
    vectors.append(...Object.entries(named).filter(([, values]) => values).map(([name, values]) => asText(name, values)));
    walk.keys.forEach(({ i, name, k, v }) => vectors.append(asText(`key ${i} ${name}`, k), asText(`value ${i} ${name}`, v)));
  }, { once: true });
  return [all, vectors];
}
