/** The current state of the view, stored in the URL fragment, so that a link restores it. */

import { USUAL_WRITING } from "./sampling.js";

const DEFAULTS = {
  ...USUAL_WRITING,
  view: "overview",
  part: "cross",
  layer: "",
  head: "mean",
  value: "weights",
  reading: "",
  unit: "words",
  as: "picture",
  scale: "",
  sort: "place",
  query: "",
  key: "",
  from: "",
  gold: "",
  click: "row",
  over: "source",
  off: "",
  blank: "",
  set: "",
  node: "",
  lost: "hide",
  spot: "",
  smooth: "smooth",
  card: "",
  curve: "uniform_share",
  text: "",
  segment: "",
  picture: "",
  against: "",
  apart: "change",
  pin: "",
  show: "lens",
  stack: "",
  of: "best",
  cell: "",
  word: "",
  other: "",
  moment: "",
  speed: "1",
  along: "steps",
  heat: "1",
  few: "0",
  nucleus: "1",
  tour: "",
  step: "",
  game: "",
  projector: "",
  theme: "",
  lang: "",
};

export class State {
  constructor(fragment, defaults, onChange) {
    this.values = { ...DEFAULTS, ...defaults };
    this.base = { ...this.values };
    this.onChange = onChange;
    this.read(fragment);
  }

  /** Changes the defaults; values in the fragment take precedence. */
  rebase(defaults, fragment) {
    this.base = { ...DEFAULTS, ...defaults };
    this.read(fragment);
  }

  read(fragment) {
    this.values = { ...this.base };
    for (const [name, value] of new URLSearchParams(fragment.replace(/^#/, ""))) {
      if (name in DEFAULTS) this.values[name] = value;
    }
  }

  get fragment() {
    const changed = Object.entries(this.values).filter(([name, value]) => value !== this.base[name]);
    return new URLSearchParams(changed).toString();
  }

  /** A fragment that does not depend on what a page opens with. */
  get whole() {
    const { text, ...others } = this.values;
    const named = Object.entries(others).filter(([name, value]) => value !== DEFAULTS[name] || name === "view");
    return new URLSearchParams([...named, ["text", text]]).toString();
  }

  get(name) {
    return this.values[name];
  }

  number(name) {
    return Math.max(0, Number.parseInt(this.values[name], 10) || 0); // a link may contain anything
  }

  /** As `set`, but without notifying: the view stays as it is. */
  keep(changes) {
    for (const [name, value] of Object.entries(changes)) this.values[name] = String(value);
  }

  set(changes) {
    const before = this.values.view;
    for (const [name, value] of Object.entries(changes)) this.values[name] = String(value);
    this.onChange(this.values.view !== before);
  }
}

/**
 * Stores the current state in the address; a frame made from a text has no address to change.
 *
 * `turned`: another view was opened, so the previous one is added to the history for Back.
 */
export function remember(fragment, turned = false) {
  if (location.protocol === "about:") return;
  history[turned ? "pushState" : "replaceState"](null, "", `${location.search}#${fragment}`);
}

/** The state as the page was opened: what was chosen since does not count. */
export function openedState(state) {
  return { get: (name) => state.base[name], number: (name) => Math.max(0, Number.parseInt(state.base[name], 10) || 0) };
}
