/** Chapter 09: two words of eight numbers are cut into heads, rightly and by a reshape alone. */

import { box, figure, label, part, slider } from "./parts.js";

const WORDS_IN = 2;
const DIM = 8;
const CELL = 30;
const LEFT = 52;
const GAP = 4;

const WORDS = {
  en: {
    caption: "Interactive figure: two words of eight components each, and the components that each head gets. Each head has a colour. "
      + "Move the slider to change the number of heads, and tick the box to omit the exchange of the axes. "
      + "Which components does each head get, and how many parameters does a layer have?",
    heads: "heads", wrong: "a reshape alone", word: "word", head: "head",
    said: (/** @type {Said} */ it) =>
      `(2, 8) becomes (${it.heads}, 2, ${it.width}). Head 1 has ${it.first}. ${it.wrong ? "Its rows no longer belong to the words: the model is wrong, but no error occurs. " : ""}`
      + `W_Q, W_K, W_V and W_O have ${it.parts} = 256 parameters.`,
  },
  ko: {
    caption: "직접 바꾸어 보는 그림: 성분이 여덟 개인 단어 두 개와, 헤드마다 받는 성분. 색은 헤드를 나타냅니다. "
      + "슬라이더를 움직여 헤드 수를 바꾸고, 체크박스로 축을 바꾸지 않은 결과도 보세요. "
      + "헤드마다 어떤 성분을 받고, 층의 매개변수는 몇 개일까요?",
    heads: "헤드 수", wrong: "reshape만 하기", word: "단어", head: "헤드",
    said: (/** @type {Said} */ it) =>
      `모양은 (2, 8)에서 (${it.heads}, 2, ${it.width})로 바뀝니다. 헤드 1의 행은 ${it.first}입니다. ${it.wrong ? "행이 더는 단어와 맞지 않습니다. 오류는 나지 않지만 모델은 틀립니다. " : ""}`
      + `W_Q, W_K, W_V, W_O의 매개변수는 ${it.parts} = 256개입니다.`,
  },
};

/** @typedef {{ heads: number, width: number, first: string, wrong: boolean, parts: string }} Said */

/**
 * The numbers of each head: its words, each its numbers.
 *
 * @param {number[][]} x
 * @param {number} heads
 * @param {boolean} wrong a reshape, without the axes being exchanged
 */
function split(x, heads, wrong) {
  const width = DIM / heads;
  const flat = x.flat();
  return Array.from({ length: heads }, (_, head) => x.map((word, row) => {
    const start = (head * WORDS_IN + row) * width;
    return wrong ? flat.slice(start, start + width) : word.slice(head * width, head * width + width);
  }));
}

/** @param {"en" | "ko"} language */
export function heads(language) {
  const words = WORDS[language];
  const { input, control } = slider(words.heads, { min: 0, max: 3, step: 1, value: 1 }, (power) => String(2 ** power));
  const wrong = box(words.wrong, false);
  const x = Array.from({ length: WORDS_IN }, (_, row) => Array.from({ length: DIM }, (_, i) => row * DIM + i + 1));
  return figure(words.caption, [control, wrong.control], 196, () => {
    const count = 2 ** input.valueAsNumber;
    const found = split(x, count, wrong.input.checked);
    const owner = new Map(found.flatMap((head, number) => head.flat().map((each) => [each, number])));
    const width = DIM / count;
    const parts = x.flatMap((word, row) => [
      label(LEFT - 8, 20 + CELL * row, `${words.word} ${row + 1}`, "end"),
      ...word.flatMap((each, i) => cell(LEFT + CELL * i, CELL * row, each, owner.get(each) ?? 0)),
    ]);
    for (const [number, head] of found.entries()) {
      const start = LEFT + number * (width * (CELL - GAP) + 2 * GAP);
      parts.push(label(start, 106, count > 2 ? String(number + 1) : `${words.head} ${number + 1}`, "start"));
      for (const [row, cells] of head.entries()) {
        parts.push(...cells.flatMap((each, i) => cell(start + (CELL - GAP) * i, 114 + CELL * row, each, number, CELL - GAP)));
      }
    }
    if (count > 2) parts.push(label(LEFT - 8, 106, words.head, "end"));
    const first = found[0].map((row) => `[${row.join(", ")}]`).join(language === "ko" ? ", " : " and ");
    const each = width * DIM;
    return { parts, said: words.said({ heads: count, width, first, wrong: wrong.input.checked, parts: `${count} · 3 · ${each} + 64` }) };
  });
}

/**
 * @param {number} x
 * @param {number} y
 * @param {number} number
 * @param {number} head
 */
function cell(x, y, number, head, width = CELL) {
  return [
    part("rect", { x, y, width, height: CELL, class: `cell head${head}` }),
    label(x + width / 2, y + 20, String(number), "middle", "number"),
  ];
}
