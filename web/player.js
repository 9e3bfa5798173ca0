/** Plays moments one after the other: buttons, keys, a slider, and once by itself when it is first seen. */

import { choice, element } from "./dom.js";
import { remember } from "./state.js";

const SPEEDS = [["0.5", "0.5 ×"], ["1", "1 ×"], ["2", "2 ×"], ["4", "4 ×"]];
const IN_SIGHT = 0.25; // the part of the picture, or of the screen, that is in sight before it moves by itself

/** @type {Set<string>} */
const seen = new Set(); // what has played by itself since the page was opened

/** Whether the reader's system asks for less motion. */
export function still() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/**
 * The ms in which a moment happens and stays.
 *
 * @typedef {{ sweep: number, hold: number }} Moment
 * @typedef {{ at: number, playing: boolean, showing: boolean, byHand: boolean, end: number, frame: number, began: number, passed: number, done: (() => void) | null }} Now
 */

/**
 * A player.
 *
 * name: of its buttons' ids. stage: what takes the keys, and has to be in sight while something moves. at: the moment
 * that it opens at. `shows`: until where it plays by itself, if `once`, when it is first seen, and [sweep, hold] there
 * and in films. `draw` draws a moment that has happened by a share; `tell` says it.
 *
 * Returns the bar of buttons; `go(to, moving)`; `redraw()`, where the picture has changed its size;
 * `film(node)`, what plays in a node from beginning to end, as films want it.
 *
 * @template {Moment} M
 * @param {{ name: string, stage: HTMLElement, moments: M[], at: number, shows: { to: number, once: boolean, pace: (moment: M) => number[] },
 *   state: State, words: Words, draw: (at: number, share: number) => void, tell: (at: number, now: Now) => void }} options
 */
export function player({ name, stage, moments, at: first, shows, state, words, draw, tell }) {
  const last = moments.length - 1;
  /** @type {Now} */
  const now = { at: first, playing: false, showing: false, byHand: false, end: last, frame: 0, began: 0, passed: 0, done: null };

  const speed = () => (now.showing ? 1 : Number(state.get("speed")));
  const pace = () => (now.showing ? shows.pace(moments[now.at]) : [moments[now.at].sweep, moments[now.at].hold]);
  const run = (/** @type {number} */ time) => {
    if (!stage.isConnected) return;
    now.passed = Math.max(0, time - now.began) * speed(); // a frame's time may be before the click that began it
    const [sweep, hold] = pace();
    draw(now.at, Math.min(now.passed / sweep, 1));
    if (now.passed < sweep || (now.playing && now.passed < sweep + hold)) now.frame = requestAnimationFrame(run);
    else if (now.playing && now.at < now.end) to(now.at + 1, true);
    else if (now.playing) {
      if (now.showing) now.at = first;
      pause();
    }
  };
  const move = (from = 0) => {
    now.began = performance.now() - from / speed();
    now.frame = requestAnimationFrame(run);
  };
  /** @param {number} at @param {boolean} moving */
  function to(at, moving) {
    now.at = Math.min(Math.max(at, 0), last);
    cancelAnimationFrame(now.frame);
    update();
    if (!moving || still()) draw(now.at, 1);
    else move();
  }
  /** @param {number} from @param {number} [end] @param {boolean} [showing] @param {Now["done"]} [done] */
  function play(from, end = last, showing = false, done = null) {
    Object.assign(now, { playing: true, showing, end, done });
    to(from, true);
  }
  function pause() {
    Object.assign(now, { playing: false, showing: false });
    cancelAnimationFrame(now.frame);
    draw(now.at, 1);
    update();
    remember(state.fragment);
    now.done?.();
    now.done = null;
  }
  /** By hand: what plays stops. @param {number} at @param {boolean} moving */
  function go(at, moving) {
    if (now.playing) pause();
    now.byHand = true;
    to(at, moving);
  }
  const toggle = () => {
    if (still()) return;
    if (now.playing) pause();
    else play(now.at === last ? 0 : now.at);
  };

  /** @type {(id: string, sign: string, label: string, onclick: () => void) => HTMLButtonElement} */
  const button = (id, sign, label, onclick) =>
    element("button", { type: "button", id: `${name}-${id}`, "aria-label": label, title: label, onclick }, sign);
  const start = button("play", "", words.playerPlay, toggle);
  const back = button("back", "◂", words.playerBack, () => go(now.at - 1, false));
  const next = button("next", "▸", words.playerNext, () => go(now.at + 1, true));
  const counter = element("span", { class: "muted player-count" });
  const slider = element("input", { type: "range", id: `${name}-at`, min: "0", max: String(last), step: "1",
    "aria-label": words.playerAt, oninput: () => go(Number(slider.value), false) });
  const faster = choice(words.playerSpeed, SPEEDS, state.get("speed"), (value) => {
    state.keep({ speed: value });
    remember(state.fragment);
  });
  faster.querySelector("select")?.setAttribute("id", `${name}-speed`);
  const bar = element("div", { class: "player", role: "group", "aria-label": words.player }, ...(still() ? [] : [start]),
    button("first", "|◂", words.playerFirst, () => go(0, false)), back, next, slider, counter, ...(still() ? [] : [faster]));

  function update() {
    start.textContent = now.playing ? "❚❚" : "▶";
    start.title = now.playing ? words.playerPause : words.playerPlay;
    start.setAttribute("aria-label", start.title);
    slider.value = String(now.at);
    slider.setAttribute("aria-valuetext", words.playerMoment(now.at + 1, moments.length));
    counter.textContent = `${now.at + 1} / ${moments.length}`;
    [back.disabled, next.disabled] = [now.at === 0, now.at === last];
    tell(now.at, now);
  }
  stage.addEventListener("keydown", (event) => {
    /** @type {number | undefined} */
    const by = { ArrowRight: 1, ArrowLeft: -1, Home: -now.at, End: last - now.at }[event.key];
    const space = event.key === " ";
    if (event.target !== stage || (by === undefined && !space)) return;
    event.preventDefault();
    if (by === undefined) toggle();
    else go(now.at + by, by === 1);
  });
  stage.addEventListener("replay", () => now.playing || to(now.at, true)); // of a tour, which points at the moment
  watch();
  update();
  draw(now.at, 1);
  const film = (/** @type {HTMLElement} */ node) => ({ node, play: (/** @type {() => void} */ done) => {
    if (now.playing) pause();
    play(0, last, true, done);
  } });
  return { bar, go, film, redraw: () => draw(now.at, now.playing ? Math.min(now.passed / pace()[0], 1) : 1) };

  /** Starts what plays by itself when the picture is first in sight; nothing plays out of sight. */
  function watch() {
    let held = false;
    new IntersectionObserver(([{ isIntersecting, intersectionRect, boundingClientRect, rootBounds }]) => {
      const whole = Math.min(boundingClientRect.height, rootBounds?.height ?? innerHeight);
      if (!isIntersecting && now.playing) {
        held = true;
        cancelAnimationFrame(now.frame);
      } else if (isIntersecting && held) {
        held = false;
        if (now.playing) move(now.passed);
      } else if (shows.once && intersectionRect.height >= IN_SIGHT * whole && !seen.has(name) && !still()) {
        seen.add(name);
        play(0, shows.to, true);
      }
    }, { threshold: [0, 0.05, 0.1, 0.15, 0.2, IN_SIGHT] }).observe(stage);
  }
}
