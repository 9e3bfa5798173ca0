/** Chapter 15: the output is one weighted sum, from which words are taken away. */

import { bar, box, figure, label, part, shown, WIDTH } from "./parts.js";

const TEXT = ["the", "story", "is", "great"];
const WEIGHTS = [0.4, 0.1, 0.2, 0.3];
const VALUES = [0.5, 1.5, 0.2, 2];

const WORDS = {
  en: {
    caption: "Interactive figure: the weight of each word at the top, weight · value at the bottom. The output is the sum of weight · value. "
      + "Untick a word to remove it. Does the word with the largest weight raise the output most?",
    weights: "weight", products: "weight · value",
    all: "With all words the output is 0.99.",
    none: "Without any word there is no output.",
    said: (/** @type {string} */ output, /** @type {string} */ by, /** @type {boolean} */ falls) =>
      `The remaining weights are divided by their sum. The output is ${output}: it ${falls ? "falls" : "rises"} by ${by}.`,
  },
  ko: {
    caption: "직접 바꾸어 보는 그림: 단어마다 위는 가중치, 아래는 가중치 · 값입니다. 출력은 가중치 · 값의 합입니다. "
      + "체크를 풀어 단어를 빼 보세요. 가중치가 가장 큰 단어가 출력을 가장 많이 올릴까요?",
    weights: "가중치", products: "가중치 · 값",
    all: "모든 단어가 있으면 출력은 0.99입니다.",
    none: "남은 단어가 없어 출력도 없습니다.",
    said: (/** @type {string} */ output, /** @type {string} */ by, /** @type {boolean} */ falls) =>
      `남은 가중치를 그 합으로 나눕니다. 출력은 ${output}이고, ${by}만큼 ${falls ? "내려갑니다" : "올라갑니다"}.`,
  },
};

/** @param {"en" | "ko"} language */
export function occlusion(language) {
  const words = WORDS[language];
  const boxes = TEXT.map((word) => box(word, true));
  const row = document.createElement("div");
  row.append(...boxes.map((each) => each.control));
  return figure(words.caption, [row], 280, () => {
    const kept = WEIGHTS.map((weight, i) => (boxes[i].input.checked ? weight : 0));
    const sum = kept.reduce((a, b) => a + b);
    const weights = kept.map((weight) => (sum ? weight / sum : 0));
    const products = weights.map((weight, i) => weight * VALUES[i]);
    const parts = [...bars(words.weights, weights, 110, 80, boxes), ...bars(words.products, products, 250, 40, boxes)];
    if (!sum) return { parts, said: words.none };
    if (boxes.every((each) => each.input.checked)) return { parts, said: words.all };
    const output = products.reduce((a, b) => a + b);
    const fall = WEIGHTS.reduce((total, weight, i) => total + weight * VALUES[i], 0) - output;
    return { parts, said: words.said(shown(output, 3), shown(Math.abs(fall), 3), fall > 0) };
  });
}

/**
 * @param {string} title
 * @param {number[]} numbers
 * @param {number} line
 * @param {number} unit the height of 1
 * @param {{ input: HTMLInputElement }[]} boxes
 */
function bars(title, numbers, line, unit, boxes) {
  const parts = [label(0, line - 95, title, "start"), part("line", { x1: 0, y1: line, x2: WIDTH, y2: line, class: "axis" })];
  for (const [i, number] of numbers.entries()) {
    const kept = boxes[i].input.checked;
    parts.push(label(40 + 80 * i, line + 16, TEXT[i], "middle", kept ? "words" : "words gone"));
    if (kept) parts.push(...bar(40 + 80 * i, line, unit * number, shown(number)));
  }
  return parts;
}
