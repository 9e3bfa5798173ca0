/** Chapter 03: a query is compared with three keys, and mixes three values by the weights. */

import { figure, label, part, shown, slider, softmax } from "./parts.js";

const NAMES = ["₁", "₂", "₃"];
const ANGLES = [90, 210, 330];
const MIDDLE = { x: 150, y: 150 };
const UNIT = 44;

const WORDS = {
  en: {
    caption: "Interactive figure: a query q, three keys k, three values v and the weighted sum z. The vectors are not those of the figure above. "
      + "Move the sliders to turn q and to change the length of k₂. Which key has the largest product, and which is the nearest?",
    query: "direction of q", key: "length of k₂",
    said: (/** @type {Found} */ it) =>
      `k${it.largest} has the largest product, and k${it.nearest} is the nearest key. `
      + `z = ${it.sum} = [${it.z}] lies between the values, closest to the one with the largest weight.`,
    products: "q·k", distances: "|k − q|", weights: "softmax(q·k)",
  },
  ko: {
    caption: "직접 바꾸어 보는 그림: 쿼리 q, 키 k 세 개, 값 v 세 개, 가중합 z. 위 그림의 벡터와는 다릅니다. "
      + "슬라이더를 움직여 q의 방향과 k₂의 길이를 바꾸어 보세요. 내적이 가장 큰 키는 어느 것이고, 가장 가까운 키는 어느 것일까요?",
    query: "q의 방향", key: "k₂의 길이",
    said: (/** @type {Found} */ it) =>
      `내적은 k${it.largest}에서 가장 크고, 가장 가까운 키는 k${it.nearest}입니다. `
      + `z = ${it.sum} = [${it.z}]는 값들 사이, 가중치가 가장 큰 값 가까이에 있습니다.`,
    products: "q·k", distances: "|k − q|", weights: "softmax(q·k)",
  },
};

/** @typedef {{ largest: string, nearest: string, sum: string, z: string }} Found */
/** @typedef {{ x: number, y: number }} Point */

/** @param {"en" | "ko"} language */
export function mixture(language) {
  const words = WORDS[language];
  const turn = slider(words.query, { min: 0, max: 360, step: 5, value: 45 }, (angle) => `${angle}°`);
  const stretch = slider(words.key, { min: 0.5, max: 3, step: 0.25, value: 1 }, (length) => shown(length));
  return figure(words.caption, [turn.control, stretch.control], 392, () => {
    const query = at(turn.input.valueAsNumber, 1.5);
    const values = ANGLES.map((angle) => at(angle, 2));
    const keys = ANGLES.map((angle, i) => at(angle, i === 1 ? stretch.input.valueAsNumber : 1));
    const products = keys.map((key) => key.x * query.x + key.y * query.y);
    const distances = keys.map((key) => Math.hypot(key.x - query.x, key.y - query.y));
    const weights = softmax(products);
    const z = { x: mixed(weights, values.map((each) => each.x)), y: mixed(weights, values.map((each) => each.y)) };
    const found = {
      largest: NAMES[products.indexOf(Math.max(...products))],
      nearest: NAMES[distances.indexOf(Math.min(...distances))],
      sum: weights.map((weight, i) => `${shown(weight)} v${NAMES[i]}`).join(" + "),
      z: `${shown(z.x)}, ${shown(z.y)}`,
    };
    const rows = { [words.products]: products, [words.distances]: distances, [words.weights]: weights };
    return { parts: [...plane(query, keys, values, weights, z), ...numbers(rows)], said: words.said(found) };
  });
}

/**
 * @param {number} angle in degrees, from the right
 * @param {number} length
 */
function at(angle, length) {
  const radians = (angle * Math.PI) / 180;
  return { x: length * Math.cos(radians), y: length * Math.sin(radians) };
}

/**
 * @param {number[]} weights
 * @param {number[]} numbers
 */
function mixed(weights, numbers) {
  return weights.reduce((sum, weight, i) => sum + weight * numbers[i], 0);
}

/** @param {Point} point */
function place({ x, y }) {
  return { x: MIDDLE.x + UNIT * x, y: MIDDLE.y - UNIT * y };
}

/**
 * @param {Point} query
 * @param {Point[]} keys
 * @param {Point[]} values
 * @param {number[]} weights
 * @param {Point} z
 */
function plane(query, keys, values, weights, z) {
  const corners = values.map(place);
  const parts = [part("polygon", { points: corners.map(({ x, y }) => `${x},${y}`).join(" "), class: "area" })];
  const end = place(z);
  for (const [i, { x, y }] of corners.entries()) {
    parts.push(
      part("line", { x1: end.x, y1: end.y, x2: x, y2: y, class: "pull", "stroke-width": 10 * weights[i] }),
      part("circle", { cx: x, cy: y, r: 6, class: "value" }),
      label(x + (i === 1 ? -14 : 14), y + (i === 0 ? 0 : 14), `v${NAMES[i]}`),
    );
  }
  for (const [i, key] of keys.entries()) parts.push(...arrow(key, `k${NAMES[i]}`, "key"));
  parts.push(...arrow(query, "q", "query"));
  parts.push(part("circle", { cx: end.x, cy: end.y, r: 7, class: "mixture" }), label(end.x - 15, end.y + 5, "z"));
  return parts;
}

/**
 * @param {Point} vector
 * @param {string} name
 * @param {string} kind
 */
function arrow(vector, name, kind) {
  const tip = place(vector);
  const angle = Math.atan2(-vector.y, vector.x);
  const side = (/** @type {number} */ turned) => `${tip.x - 9 * Math.cos(angle + turned)},${tip.y - 9 * Math.sin(angle + turned)}`;
  const beyond = { x: tip.x + 12 * Math.cos(angle), y: tip.y + 12 * Math.sin(angle) + 4 };
  return [
    part("line", { x1: MIDDLE.x, y1: MIDDLE.y, x2: tip.x, y2: tip.y, class: kind }),
    part("polygon", { points: `${tip.x},${tip.y} ${side(0.4)} ${side(-0.4)}`, class: `${kind} tip` }),
    label(beyond.x, beyond.y, name),
  ];
}

/** @param {Record<string, number[]>} rows */
function numbers(rows) {
  const parts = NAMES.map((name, i) => label(150 + 64 * i, 318, `k${name}`));
  for (const [row, [name, found]] of Object.entries(rows).entries()) {
    const y = 340 + 22 * row;
    parts.push(label(0, y, name, "start"), ...found.map((each, i) => label(150 + 64 * i, y, shown(each), "middle", "number")));
  }
  return parts;
}
