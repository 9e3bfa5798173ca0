/** The first half of the walk as a picture: query and keys, their products, the weights, the weighted sum. */

import { element } from "../dom.js";
import { drawLook } from "../picture.js";
import { total } from "../trace.js";
import { givenBy, weighted } from "./steps.js";
import { Strip, mostIn, put, written } from "./strips.js";
import { number } from "../words_walk.js";

/**
 * `Progress`: how far an operation is, from 0 to 1, for a key where there is one. `OnSay`: says a number of a vector.
 *
 * @typedef {import("./steps.js").Op} Op
 * @typedef {import("./steps.js").Key} Key
 * @typedef {import("./steps.js").Moment} Moment
 * @typedef {(op: Op, key?: Moment["key"]) => number} Progress
 * @typedef {(label: string, at: number, value: number) => void} OnSay
 * @typedef {Words["walkNames"]} Names
 */

const [STRIP, LONG, PICTURE] = [250, 640, 132]; // px

/**
 * Builds the picture; `draw(progress, now)` draws a moment of it.
 *
 * @param {Trace} trace @param {Site} site @param {Walked} walk @param {Words} words @param {OnSay} onSay
 */
export function attentionScene(trace, site, walk, words, onSay) {
  const names = words.walkNames;
  const narrow = document.documentElement.clientWidth < 700;
  /** @param {string} label @param {Vector} values @param {number} most */
  const strip = (label, values, most, wide = STRIP) =>
    new Strip(label, values.length, { most, wide: narrow ? 330 : wide, onSay });
  /** @type {import("./strips.js").Scale[]} */
  const scales = [];
  /** @param {string} name @param {...Vector} vectors */
  const scaleOf = (name, ...vectors) => {
    const most = mostIn(...vectors);
    scales.push({ name, most });
    return most;
  };
  const entries = entryOf(walk, names, strip, scaleOf);
  const compared = scaleOf("q, k", walk.q, ...walk.rows.map(({ k }) => k));
  const asked = strip(names.query, walk.q, compared);
  const termsMost = walk.redone ? scaleOf(walk.additive ? "v · tanh" : "q × k", ...walk.rows.map(({ terms }) => terms)) : 1;
  const restSum = total(walk.others.map(({ weight }) => weight));
  const given = walk.rows.map(givenBy);
  const left = weighted(walk.others, walk.z.length);
  const sumMost = scaleOf(`${names.value}, z`, walk.z, ...given);
  const rows = walk.rows.map((key, n) => keyRow(key, key, walk, {
    k: strip(`${names.key} ${key.name}`, key.k, compared),
    terms: walk.redone ? strip(`q × k ${key.name}`, key.terms, termsMost) : null,
    value: strip(`${names.value} ${key.name}`, key.v, sumMost), given: given[n],
  }));
  if (walk.others.length) {
    rows.push(keyRow("others", { name: words.walkOthers(walk.others.length), weight: restSum }, walk,
      { value: strip(`${names.value} …`, left, sumMost), given: left }));
  }
  const z = strip(names.sum, walk.z, sumMost);
  const head = element("div", { class: "walk-key walk-head" },
    .../** @type {const} */ (["name", "key", "product", "score", "power", "weight", "value"]).map((name) =>
      element("span", { "data-column": name }, name === "name" ? "" : columnName(name, walk, names))));
  const totals = element("span", { class: "walk-total" });
  const sum = element("div", { class: "walk-key walk-sum" }, element("span", {}, tag("z"), ` ${words.sum}`), totals, z.canvas);
  const table = element("div", { class: "walk-keys" },
    head, ...rows.map(({ node }) => node), sum);
  const picture = trace.axes[site.keys].grid ? pictureOf(trace, site, walk, words) : null;
  const query = element("div", { class: "walk-entry walk-query" }, element("span", {}, tag("q"), ` ${names.query}`), asked.canvas);
  const top = element("div", { class: "walk-top" }, element("div", {}, ...entries.map(({ node }) => node), query),
    ...(picture ? [picture.canvas] : []));
  /** @type {{ [N in Op]?: string }} */
  const columns = { products: "product", scale: "score", cap: "score", bias: "score", mask: "score", exp: "power", weights: "weight", sum: "value", keys: "key" };
  return {
    node: element("div", { class: "walk-attention" }, top, table),
    scales,
    draw(/** @type {Progress} */ progress, /** @type {Moment} */ now) {
      entries.forEach((entry) => entry.draw(progress));
      asked.draw(walk.q, progress("query"));
      rows.forEach((row) => row.draw(progress, now));
      /** @type {NodeListOf<HTMLElement>} */ (head.querySelectorAll("span")).forEach((each) => each.classList.toggle("now", each.dataset.column === columns[now.op]));
      query.classList.toggle("now", now.op === "query");
      sum.classList.toggle("now", now.op === "sum");
      const spent = rows.map(({ key, weight }) => progress("sum", key) * weight);
      const sofar = Float64Array.from(walk.z, (_, i) => total(rows.map((row) => progress("sum", row.key) * row.given[i])));
      if (total(spent) > 0) z.draw(sofar);
      else z.draw(walk.z, 0);
      put(totals, progress("weights") > 0 ? `${words.sum} ${number(total(walk.keys.map(({ weight }) => weight)) * 1)}` : "");
      picture?.draw(progress, now);
    },
  };
}

/** @param {"key" | "product" | "score" | "power" | "weight" | "value"} name @param {Walked} walk @param {Names} names */
function columnName(name, walk, names) {
  if (name === "product" && walk.additive) return "v · tanh(q + k)";
  if (name === "power") return walk.linear ? "" : element("span", {}, ...written("e^(s − max)"));
  if (name === "key" && walk.redone && !walk.additive) return element("span", {}, tag("k"), ` ${names.key}, `, tag("q × k"));
  return names[name];
}

/** @param {string} sign */
export function tag(sign) {
  return element("i", { class: "walk-tag" }, ...written(sign));
}

/**
 * The state and x, above the keys.
 *
 * @param {Walked} walk
 * @param {Names} names
 * @param {(label: string, values: Vector, most: number, wide: number) => Strip} strip
 * @param {(name: string, values: Vector) => number} scaleOf
 */
function entryOf(walk, names, strip, scaleOf) {
  /** @type {[sign: string, name: string, op: Op, values: Vector | null][]} */
  const entries = [["s", names.state, "state", walk.state]];
  if (walk.facts?.norm && !walk.facts.post) entries.push(["x", names.input, "input", walk.input]);
  return entries.flatMap(([sign, name, op, values]) => {
    if (!values) return [];
    const drawn = strip(name, values, scaleOf(sign, values), LONG);
    const node = element("div", { class: "walk-entry" }, element("span", {}, tag(sign), name === sign ? "" : ` ${name}`), drawn.canvas);
    return { node, draw: (/** @type {Progress} */ progress) => drawn.draw(values, progress(op)) };
  });
}

/**
 * One key: its name, its vector above the products, the numbers, and its weighted value.
 *
 * @param {Key | "others"} key
 * @param {Pick<Key, "name" | "weight">} sum its own, or those of the others together
 * @param {Walked} walk
 * @param {{ k?: Strip, terms?: Strip | null, value: Strip, given: Float64Array }} strips
 */
function keyRow(key, sum, walk, { k, terms, value, given }) {
  const cell = (/** @type {string} */ name) => element("span", { class: "walk-cell", "data-cell": name });
  const one = key === "others" ? null : key;
  const [product, score, power] = ["product", "score", "power"].map(cell);
  const fill = element("i", {});
  const bar = element("i", { class: "walk-bar" }, fill);
  const weight = element("span", { class: "walk-cell", "data-cell": "weight" });
  const node = element("div", { class: `walk-key${one?.hidden ? " masked" : ""}${one ? "" : " others"}`, "data-key": one ? one.i : "others" },
    element("span", { class: "walk-name" }, sum.name),
    element("span", { class: "walk-pair" }, ...(k ? [k.canvas] : []), ...(terms ? [terms.canvas] : [])),
    product, score, power, element("span", { class: "walk-weight" }, bar, weight), value.canvas);
  return {
    node, key, given, weight: sum.weight,
    draw(/** @type {Progress} */ progress, /** @type {Moment} */ now) {
      node.classList.toggle("now", now.key === key);
      if (one) k?.draw(one.k, progress("keys"));
      if (one && terms) {
        const share = progress("products", key);
        terms.draw(one.terms, share, now.key === key);
        const done = Math.round(share * one.terms.length);
        put(product, done ? number(total(one.terms.subarray(0, done))) : "");
        /** @type {[Op, number][]} */
        const steps = [["mask", one.score], ["bias", one.capped + one.bias], ["cap", one.capped], ["scale", one.scaled]];
        const reached = steps.find(([op]) => progress(op) > 0);
        put(score, reached ? number(reached[1]) : "");
        put(power, !walk.linear && progress("exp") > 0 ? number(one.power) : "");
      }
      const share = progress("weights");
      fill.style.width = `${(100 * Math.max(0, share * sum.weight)).toFixed(2)}%`;
      put(weight, share > 0 ? number(sum.weight) : "");
      value.draw(given, progress("sum", key));
    },
  };
}

/**
 * The image with the weights of its cells: first all of it, then the brighter the larger the weight.
 *
 * @param {Trace} trace @param {Site} site @param {Walked} walk @param {Words} words
 */
function pictureOf(trace, site, walk, words) {
  const canvas = element("canvas", { class: "walk-picture", role: "img", "aria-label": words.walkCells });
  const grid = trace.gridOf(site.keys);
  const most = Math.max(...walk.keys.map(({ weight }) => weight), 1e-9);
  return {
    canvas,
    draw(/** @type {Progress} */ progress, /** @type {Moment} */ now) {
      const share = progress("weights");
      const weights = Float32Array.from(walk.keys, ({ weight }) => most * (1 - share) + weight * share);
      drawLook(canvas, { picture: trace.picture, grid, weights, most, smooth: false, marked: now.key === "others" ? undefined : now.key?.i }, PICTURE);
    },
  };
}
