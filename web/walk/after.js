/** The second half of the walk as a picture: from the heads' outputs to the next word. */

import { element } from "../dom.js";
import { readable } from "../trace.js";
import { tag } from "./attention.js";
import { lengthOf } from "./steps.js";
import { Strip, mostIn, put } from "./strips.js";
import { number } from "../words_walk.js";

/**
 * @typedef {import("./attention.js").Op} Op
 * @typedef {import("./attention.js").Moment} Moment
 * @typedef {import("./attention.js").Progress} Progress
 * @typedef {import("./attention.js").Names} Names
 */

/** The vectors in their order; those of a `group` have one scale. @param {Walked} walk @param {Names} names */
function vectorsOf(walk, names) {
  const width = walk.z.length;
  /** @type {[start: number, end: number] | null} */
  const framed = walk.heads > 1 && walk.mixed?.length === width * walk.heads ? [walk.head * width, (walk.head + 1) * width] : null;
  /** @type {{ op: Op, sign: string, name: string, values: Vector, group: string, framed?: typeof framed }[]} */
  const rows = [];
  /** @param {Op} op @param {string} sign @param {string} name @param {Vector | null} values @param {string} group */
  const add = (op, sign, name, values, group, more = {}) => values && rows.push({ op, sign, name, values, group, ...more });
  if (walk.known && walk.after) {
    const joined = walk.known.length === walk.after.length + walk.z.length ? names.knownLuong : names.known;
    add(walk.luong ? "known" : "cell", "s", walk.luong ? names.state : names.before, walk.state, "s");
    add(walk.luong ? "known" : "cell", "z", names.context, walk.z, "z");
    if (!walk.luong) add("cell", "sₜ", names.cell, walk.after, "s");
    add("known", "", joined, walk.known, joined);
    add("shown", "h", names.shown, walk.shown, "h");
    return rows;
  }
  add("mixed", "z", names.mixed, walk.mixed, "z", { framed });
  add("output", walk.recurrence ? "relu" : "W_O", names.output, walk.output, "W_O, FFN");
  if (walk.output) {
    add("residual", "+ s", names.state, walk.state, "s");
    add("residual", "=", names.residual, walk.sum2, "s");
  }
  add("norm", "", names.norm, walk.normed, names.norm);
  add("hidden", "", names.hidden, walk.hidden, names.hidden);
  add("fed", "+", names.fed, walk.fed, "W_O, FFN");
  add("fedSum", "=", names.fedSum, walk.fedSum, "s");
  add("fedNormed", "", names.fedNormed, walk.fedNormed, names.norm);
  return rows;
}

/** @param {Walked} walk @param {Words} words @param {import("./attention.js").OnSay} onSay */
export function afterScene(walk, words, onSay) {
  const names = words.walkNames;
  const narrow = document.documentElement.clientWidth < 700;
  const vectors = vectorsOf(walk, names);
  /** @type {Map<string, number>} */
  const groups = new Map();
  for (const { group, values } of vectors) groups.set(group, Math.max(groups.get(group) ?? 0, mostIn(values)));
  const rows = vectors.map(({ op, sign, name, values, group, framed }) => {
    const strip = new Strip(name, values.length, { most: groups.get(group) ?? 0, wide: narrow ? 330 : 620, framed, onSay });
    const note = element("span", { class: "walk-note" });
    const node = element("div", { class: "walk-vector", "data-op": op },
      element("span", { class: "walk-label" }, ...(sign ? [tag(sign), " "] : []), name), strip.canvas, note);
    return {
      node,
      draw(/** @type {Progress} */ progress, /** @type {Moment} */ now) {
        const share = progress(op);
        node.classList.toggle("now", now.op === op);
        node.classList.toggle("later", share === 0);
        strip.draw(values, share, now.op === op);
        put(note, share === 1 ? `${names.length} ${number(lengthOf(values), 2)}` : "");
      },
    };
  });
  const logits = walk.prediction ? logitsOf(walk.prediction, names) : null;
  return {
    node: element("div", { class: "walk-after" }, ...rows.map(({ node }) => node), ...(logits ? [logits.node] : [])),
    scales: [...groups].map(([name, most]) => ({ name, most })),
    draw(/** @type {Progress} */ progress, /** @type {Moment} */ now) {
      rows.forEach((row) => row.draw(progress, now));
      logits?.draw(progress, now);
    },
  };
}

/**
 * The most probable tokens: their logits, and what the softmax makes of them.
 *
 * @param {NonNullable<Walked["prediction"]>} prediction @param {Names} names
 */
function logitsOf({ entries, step }, names) {
  const rows = entries.map(({ token, logit, probability }) => {
    const fill = element("i", {});
    const bar = element("i", { class: "walk-bar" }, fill);
    const [said, share] = [element("span", { class: "walk-cell", "data-cell": "logit" }), element("span", { class: "walk-cell", "data-cell": "probability" })];
    const node = element("div", { class: `walk-entry-row${token === step.token ? " written" : ""}` },
      element("span", { class: "walk-name" }, readable(token)), said, element("span", { class: "walk-weight" }, bar, share));
    return { node, draw(/** @type {Progress} */ progress) {
      put(said, progress("logits") > 0 ? number(logit) : "");
      fill.style.width = `${(100 * progress("next") * probability).toFixed(2)}%`;
      put(share, progress("next") > 0 ? number(probability) : "");
    } };
  });
  const head = element("div", { class: "walk-entry-row walk-head" }, element("span", {}), element("span", {}, names.logit), element("span", {}, names.probability));
  const node = element("div", { class: "walk-entries" }, head, ...rows.map((row) => row.node));
  return { node, draw(/** @type {Progress} */ progress, /** @type {Moment} */ now) {
    node.classList.toggle("now", ["logits", "next"].includes(now.op));
    node.classList.toggle("later", progress("logits") === 0);
    rows.forEach((row) => row.draw(progress));
  } };
}
