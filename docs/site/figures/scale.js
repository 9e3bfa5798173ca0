/** Chapter 05: the softmax of the same five keys as the width grows, undivided and divided by √d_k. */

import { bar, figure, label, part, shown, slider, softmax, WIDTH } from "./parts.js";

const SCORES = [-1.2, -0.6, 0, 0.6, 1.2];
const HEIGHT = 90;

const WORDS = {
  en: {
    caption: "Interactive figure: the weights of the five dot products at one width d_k, undivided at the top, divided by √d_k at the bottom. "
      + "Move the slider to change d_k. What happens to the weights as the vectors become wider?",
    said: (/** @type {Said} */ it) =>
      `At d_k = ${it.width} the products are −${it.largest} to ${it.largest}. The largest weight is ${it.plain[0]}, and the gradient of `
      + `its score, w (1 − w), is ${it.plain[1]}. After division by √${it.width} = ${it.root} they are ${it.even[0]} and ${it.even[1]}.`,
  },
  ko: {
    caption: "직접 바꾸어 보는 그림: 너비 d_k 하나에서 내적 다섯 개의 가중치. 위는 나누기 전, 아래는 √d_k로 나눈 뒤입니다. "
      + "슬라이더를 움직여 d_k를 바꾸어 보세요. 벡터가 넓어지면 가중치는 어떻게 될까요?",
    said: (/** @type {Said} */ it) =>
      `d_k = ${it.width}이면 내적은 −${it.largest}에서 ${it.largest}까지입니다. 가장 큰 가중치는 ${it.plain[0]}이고, 그 점수의 `
      + `기울기 w (1 − w)는 ${it.plain[1]}입니다. 나눈 뒤에는(√${it.width} = ${it.root}) 각각 ${it.even[0]}, ${it.even[1]}입니다.`,
  },
};

/** @typedef {{ width: number, root: string, largest: string, plain: string[], even: string[] }} Said */

/** @param {"en" | "ko"} language */
export function scale(language) {
  const words = WORDS[language];
  const { input, control } = slider("d_k", { min: 0, max: 10, step: 1, value: 6 }, (power) => String(2 ** power));
  return figure(words.caption, [control], 310, () => {
    const width = 2 ** input.valueAsNumber;
    const root = width ** 0.5;
    const plain = softmax(SCORES.map((each) => each * root));
    const even = softmax(SCORES);
    const numbers = (/** @type {number[]} */ weights) => {
      const most = Math.max(...weights);
      return [shown(most), shown(most * (1 - most), 4)];
    };
    const largest = shown(1.2 * root, 1);
    const said = words.said({ width, root: shown(root, 1), largest, plain: numbers(plain), even: numbers(even) });
    return { parts: [...bars("softmax(q·k)", plain, 125), ...bars("softmax(q·k / √d_k)", even, 285)], said };
  });
}

/**
 * @param {string} title
 * @param {number[]} weights
 * @param {number} line
 */
function bars(title, weights, line) {
  const parts = [label(0, line - HEIGHT - 20, title, "start"), part("line", { x1: 0, y1: line, x2: WIDTH, y2: line, class: "axis" })];
  for (const [i, weight] of weights.entries()) {
    const x = 32 + 64 * i;
    parts.push(...bar(x, line, HEIGHT * weight, shown(weight)), label(x, line + 16, `k${"₁₂₃₄₅"[i]}`));
  }
  return parts;
}
