/** The current state of the view, stored in the URL fragment, so that a link restores it. */

/**
 * A field: what it is at first, what a text of a link says (undefined: nothing that there is), and how it is written.
 *
 * @template T
 * @typedef {{ initial: T, read: (text: string) => T | undefined, write: (value: T) => string }} Field
 */

/**
 * One of these names, the first of them at first.
 *
 * @template {string} T
 * @param {...T} names
 * @returns {Field<T>}
 */
function oneOf(...names) {
  return { initial: names[0], read: (text) => names.find((name) => name === text), write: (value) => value };
}

/**
 * Any text: what it may be depends on the model, and is looked up where it is used.
 *
 * @param {string} [initial]
 * @returns {Field<string>}
 */
function text(initial = "") {
  return { initial, read: (given) => given, write: (value) => value };
}

/**
 * A position, a number of something, from 0; null: none is chosen.
 *
 * @returns {Field<number | null>}
 */
function place() {
  return {
    initial: null,
    read: (given) => (given === "" ? null : natural(given)),
    write: (value) => (value === null ? "" : String(value)),
  };
}

/** @param {string} given */
function natural(given) {
  return /^\d{1,9}$/.test(given) ? Number(given) : undefined;
}

/** @type {Field<Head>} */
const HEAD = {
  initial: "mean",
  read: (given) => (given === "mean" || given === "max" ? given : natural(given)),
  write: String,
};

/** The limits of amounts, and their steps; a number beyond them becomes the nearest. */
export const LIMITS = {
  temperature: [0, 5, 0.1], top: [0, 1000, 1], tokens: [1, 500, 1], seed: [0, 2 ** 31, 1],
  heat: [0.1, 2, 0.1], few: [0, 1000, 1], nucleus: [0.05, 1, 0.05],
};

/**
 * @param {number} initial
 * @param {number[]} limits
 * @returns {Field<number>}
 */
function amount(initial, [least, most, step]) {
  const whole = step === 1;
  return {
    initial,
    read: (given) => {
      const number = given.trim() === "" ? NaN : Number(given);
      if (!Number.isFinite(number)) return undefined;
      const inside = Math.min(Math.max(number, least), most);
      return whole ? Math.floor(inside) : inside;
    },
    write: String,
  };
}

const FIELDS = {
  view: text("overview"),
  part: oneOf("cross", "encoder", "decoder", "image", "all"),
  layer: place(),
  head: HEAD,
  value: oneOf("weights", "norms"),
  reading: oneOf("", "writes", "reads"),
  unit: oneOf("words", "pieces"),
  as: oneOf("picture", "table"),
  scale: oneOf("", "one", "largest"),
  sort: oneOf("place", "role", "entropy", "confidence", "uniform_share", "importance", "error_rate", "pointing"),
  query: place(),
  key: place(),
  from: oneOf("", "mean", "max"),
  gold: text(),
  click: oneOf("row", "link"),
  over: oneOf("source", "prefix"),
  off: text(),
  blank: text(),
  set: text(),
  node: place(),
  lost: oneOf("hide", "show"),
  spot: place(),
  smooth: oneOf("smooth", "cells"),
  card: place(),
  curve: text("uniform_share"),
  text: text(),
  segment: place(),
  picture: text(),
  against: text(),
  apart: oneOf("change", "place"),
  pin: text(),
  show: oneOf("lens", "apart", "places"),
  stack: text(),
  of: oneOf("best", "written"),
  cell: text(),
  word: place(),
  other: place(),
  moment: place(),
  speed: oneOf("1", "0.5", "2", "4"),
  along: oneOf("steps", "minutes"),
  heat: amount(1, LIMITS.heat),
  few: amount(0, LIMITS.few),
  nucleus: amount(1, LIMITS.nucleus),
  tour: text(),
  step: place(),
  game: text(),
  projector: oneOf("", "on"),
  theme: oneOf("", "light", "dark"),
  lang: oneOf("", "en", "ko"),
  temperature: amount(0, LIMITS.temperature),
  top: amount(0, LIMITS.top),
  tokens: amount(24, LIMITS.tokens),
  seed: amount(1, LIMITS.seed),
};

/**
 * @typedef {{ [N in keyof typeof FIELDS]: (typeof FIELDS)[N]["initial"] }} Values
 * @typedef {keyof Values} Name
 * @typedef {{ [N in Name]?: Values[N] | string | number | null }} Changes values, or their texts
 */

const NAMES = /** @type {Name[]} */ (Object.keys(FIELDS));

/**
 * @param {string} name
 * @returns {name is Name}
 */
function isName(name) {
  return Object.hasOwn(FIELDS, name);
}

/**
 * @template {Name} N
 * @param {N} name
 * @param {Values[N]} value
 */
function written(name, value) {
  return /** @type {Field<Values[N]>} */ (/** @type {unknown} */ (FIELDS[name])).write(value);
}

/**
 * The values with these changes: the only place where a text of a link, of a select element or of a tour becomes a value.
 * What is nothing that there is changes nothing.
 *
 * @param {Values} values
 * @param {Iterable<[string, unknown]>} changes
 * @returns {Values}
 */
function withChanges(values, changes) {
  const found = { ...values };
  for (const [name, given] of changes) {
    if (!isName(name)) continue;
    const value = FIELDS[name].read(given === null || given === undefined ? "" : String(given));
    if (value !== undefined) Object.assign(found, { [name]: value });
  }
  return found;
}

const INITIAL = /** @type {Values} */ (Object.fromEntries(NAMES.map((name) => [name, FIELDS[name].initial])));

/**
 * The values in a fragment, or in another text of its form, whatever else stands there.
 *
 * @param {string} fragment
 * @param {Values} [base]
 */
export function valuesIn(fragment, base = INITIAL) {
  return withChanges(base, new URLSearchParams(fragment.replace(/^#/, "")));
}

/**
 * A state in which these fields stay as they are; the others are those of the state itself.
 *
 * @param {Chosen} state
 * @param {Partial<Values>} values
 * @returns {Chosen}
 */
export function fixed(state, values) {
  return { get: (name) => (Object.hasOwn(values, name) ? /** @type {Values} */ (values)[name] : state.get(name)) };
}

export class State {
  /**
   * @param {string} fragment
   * @param {Changes} defaults
   * @param {(turned: boolean) => void} [onChange] turned: another view was opened
   */
  constructor(fragment, defaults, onChange = () => {}) {
    this.base = withChanges(INITIAL, Object.entries(defaults));
    this.values = this.base;
    this.onChange = onChange;
    this.read(fragment);
  }

  /**
   * Changes the defaults; values in the fragment take precedence.
   *
   * @param {Changes} defaults
   * @param {string} fragment
   */
  rebase(defaults, fragment) {
    this.base = withChanges(INITIAL, Object.entries(defaults));
    this.read(fragment);
  }

  /** @param {string} fragment */
  read(fragment) {
    this.values = valuesIn(fragment, this.base);
  }

  get fragment() {
    return this.writtenOf(NAMES.filter((name) => this.values[name] !== this.base[name]));
  }

  /** The state as the page was opened: what was chosen since does not count. @returns {Chosen} */
  get opened() {
    return fixed(this, this.base);
  }

  /** A fragment that does not depend on what a page opens with. */
  get whole() {
    const changed = NAMES.filter((name) => name !== "text" && (name === "view" || this.values[name] !== INITIAL[name]));
    return this.writtenOf([...changed, "text"]);
  }

  /** @param {readonly Name[]} names */
  writtenOf(names) {
    return new URLSearchParams(names.map((name) => [name, written(name, this.values[name])])).toString();
  }

  /**
   * @template {Name} N
   * @param {N} name
   * @returns {Values[N]}
   */
  get(name) {
    return this.values[name];
  }

  /**
   * As `set`, but without notifying: the view stays as it is.
   *
   * @param {Changes} changes
   */
  keep(changes) {
    this.values = withChanges(this.values, Object.entries(changes));
  }

  /** @param {Changes} changes */
  set(changes) {
    const before = this.values.view;
    this.keep(changes);
    this.onChange(this.values.view !== before);
  }
}

/**
 * Stores the current state in the address; a frame made from a text has no address to change.
 *
 * @param {string} fragment
 * @param {boolean} [turned] another view was opened, so the previous one is added to the history for Back
 */
export function remember(fragment, turned = false) {
  if (location.protocol === "about:") return;
  history[turned ? "pushState" : "replaceState"](null, "", `${location.search}#${fragment}`);
}
