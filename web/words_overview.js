/** The texts of the overview: its generated sentences, and the questions that the views answer. */

const SPOTS_EN = [["the upper left", "the top", "the upper right"], ["the left", "the middle", "the right"],
  ["the lower left", "the bottom", "the lower right"]];
const SPOTS_KO = [["왼쪽 위", "위쪽", "오른쪽 위"], ["왼쪽", "가운데", "오른쪽"], ["왼쪽 아래", "아래쪽", "오른쪽 아래"]];

/** Ninths of an image by name, with the row and the column of the cell. @param {string[][]} names @param {number} cell @param {Pair<number>} grid */
function spot(names, cell, [rows, columns]) {
  const [row, column] = [Math.floor(cell / columns), cell % columns];
  const third = (/** @type {number} */ at, /** @type {number} */ count) => Math.min(2, Math.floor((3 * (at + 0.5)) / count));
  return [names[third(row, rows)][third(column, columns)], row + 1, column + 1];
}

/**
 * @satisfies {TextsWith<{
 *   spot: (cell: number, grid: Pair<number>) => string,
 *   sentence: Some<{
 *     even: (share: string, own: number) => string,
 *     occluded: (key: string, of: string | null, change: string) => string,
 *     fewer: (number: number) => string,
 *     more: (number: number) => string,
 *     timesLess: (number: number, over: boolean) => string,
 *     timesMore: (number: number, over: boolean) => string,
 *   }>,
 * }>}
 */
export const OVERVIEW = {
  en: {
    overview: "Overview",
    question_where: "What did it attend to?",
    question_why: "How is it computed?",
    question_matters: "Does it matter?",
    question_else: "What else might it have said?",
    question_if: "What if …?",
    questions: "Questions",
    viewsOf: (question) => `Views: ${question}`,
    more: "More",
    path: "Where you are",
    pathModel: "whole model",
    pathHead: (head) => (head === "mean" || head === "max" ? head : `head ${head}`),
    whatIs: (term) => `What is ${term}?`,
    overviewHelp: "Point at a word, tap it, or move with the arrow keys: bands and colours show what it attended to.",
    overviewPictureHelp: "Point at a word, tap it, or move with the arrow keys: the image stays bright where the word attended.",
    overviewPixelsHelp: "Point at a place in the image, tap it, or move with the arrow keys: the image stays bright where that place attended.",
    readLine: "read",
    wroteLine: "written",
    wroteReadLine: "written, and read again",
    fromLine: "attends",
    toLine: "is attended to",
    imageLine: "image",
    numbers: "These numbers as a table",
    headStrip: "Heads",
    headStripHelp: "One small map for each head, layer by layer. Point at one to try it; a click keeps it.",
    headStripScale: (most) => `All share one scale: the strongest colour is ${most}.`,
    headStripSquares: "One square for each head, layer by layer: the stronger its colour, the sharper its attention.",
    headStripEffect: "The orange bar is the effect of ablating the head.",
    allShort: "all",
    effectNats: "effect of occlusion (nats)",
    spot: (cell, grid) => {
      const [name, row, column] = spot(SPOTS_EN, cell, grid);
      return `${name} of the image (row ${row}, column ${column})`;
    },
    sentence: {
      share: (percent) => percent,
      there: "that part",
      writes: (word, key, share) => `“${word}” was written while attending most to ${key} (${share} of the attention)`,
      reads: (word, key, share) => `While reading “${word}”, the model attended most to ${key} (${share} of the attention)`,
      self: (word, key, share) => `“${word}” attended most to ${key} (${share} of its attention)`,
      cells: (word, key, share) => `${word} attended most to ${key} (${share} of its attention)`,
      other: (word, key, share) => `${word} gave ${key} ${share} of its attention`,
      rest: (share, tokens) => `; ${share} went to no word (${tokens})`,
      even: (share, own) => `; if it attended to all${own ? " tokens" : ""} evenly, this would be ${share}${own > 1 ? ` (it is ${own} of them)` : ""}.`,
      occluded: (key, of, change) => `; without ${key}, ${of ? `the next word, “${of}”,` : "it"} is ${change}.`,
      ablated: (of, change) => `; without this head, “${of}” is ${change}.`,
      same: () => "about as probable as before",
      lower: (from, to) => `less probable (${from} → ${to})`,
      higher: (from, to) => `more probable (${from} → ${to})`,
      impossible: (from, to) => `nearly impossible (${from} → ${to})`,
      fewer: (number) => `${number} % less probable`,
      more: (number) => `${number} % more probable`,
      timesLess: (number, over) => `${over ? "over " : ""}${number.toLocaleString("en")} times less probable`,
      timesMore: (number, over) => `${over ? "over " : ""}${number.toLocaleString("en")} times more probable`,
      cellQuery: (name) => `The cell at ${name}`,
    },
  },
  ko: {
    overview: "한눈에 보기",
    question_where: "어디에 주목했나?",
    question_why: "어떻게 계산되나?",
    question_matters: "정말 영향을 주었나?",
    question_else: "다른 말도 할 수 있었나?",
    question_if: "바꾸면 어떻게 되나?",
    questions: "질문",
    viewsOf: (question) => `보기: ${question}`,
    more: "더 보기",
    path: "지금 보고 있는 곳",
    pathModel: "모델 전체",
    pathHead: (head) => (/^\d+$/.test(head) ? `헤드 ${head}` : head),
    whatIs: (term) => `‘${term}’의 뜻`,
    overviewHelp: "단어를 가리키거나 누르거나 화살표 키로 옮겨 보세요. 띠와 색이 그 단어가 어디에 주목했는지 보여 줍니다.",
    overviewPictureHelp: "단어를 가리키거나 누르거나 화살표 키로 옮겨 보세요. 그 단어가 주목한 곳만 밝게 남습니다.",
    overviewPixelsHelp: "이미지의 한 곳을 가리키거나 누르거나 화살표 키로 옮겨 보세요. 그 칸이 주목한 곳만 밝게 남습니다.",
    readLine: "입력",
    wroteLine: "출력",
    wroteReadLine: "다시 읽은 출력",
    fromLine: "주목하는 단어",
    toLine: "주목받는 단어",
    imageLine: "이미지",
    numbers: "이 수치를 표로 보기",
    headStrip: "헤드",
    headStripHelp: "헤드마다 작은 지도 하나를 층별로 늘어놓았습니다. 가리키면 미리 보이고 누르면 그 헤드로 바뀝니다.",
    headStripScale: (most) => `모두 같은 척도를 써서, 가장 진한 색이 ${most.replace(" ", "")}입니다.`,
    headStripSquares: "헤드마다 네모 하나를 층별로 늘어놓았습니다. 색이 뚜렷할수록 한곳에 모아서 주목합니다.",
    headStripEffect: "주황색 막대는 그 헤드를 껐을 때의 영향입니다.",
    allShort: "전체",
    effectNats: "가렸을 때의 영향(nat)",
    spot: (cell, grid) => {
      const [name, row, column] = spot(SPOTS_KO, cell, grid);
      return `이미지의 ${name}(${row}행 ${column}열)`;
    },
    sentence: {
      share: (percent) => percent.replace(" ", ""),
      there: "그 부분",
      writes: (word, key, share) => `“${word}” — 이 단어를 쓸 때 ${key}에 가장 많이 주목했습니다(어텐션의 ${share}).`,
      reads: (word, key, share) => `“${word}” — 이 단어를 읽을 때 ${key}에 가장 많이 주목했습니다(어텐션의 ${share}).`,
      self: (word, key, share) => `“${word}” — 이 단어는 ${key}에 가장 많이 주목했습니다(어텐션의 ${share}).`,
      cells: (word, key, share) => `${word} — 이 칸은 ${key}에 가장 많이 주목했습니다(어텐션의 ${share}).`,
      other: (word, key, share) => `${word} — 어텐션의 ${share}만큼 ${key}에 주목했습니다.`,
      rest: (share, tokens) => ` 단어가 아닌 토큰(${tokens})에는 ${share}만큼 주목했습니다.`,
      even: (share, own) => ` 모든 ${own ? "토큰" : "곳"}에 고르게 주목했다면 ${share}였을 것입니다${own > 1 ? `(이 단어는 토큰 ${own}개입니다)` : ""}.`,
      occluded: (key, of, change) => ` ${key} 없이는 ${of ? `다음 단어 “${of}”의` : "이 단어의"} ${change}`,
      ablated: (of, change) => ` 이 헤드 없이는 “${of}”의 ${change}`,
      same: () => "확률이 거의 그대로입니다.",
      lower: (from, to) => `확률이 줄어듭니다(${from} → ${to}).`,
      higher: (from, to) => `확률이 늘어납니다(${from} → ${to}).`,
      impossible: (from, to) => `확률이 0에 가까워집니다(${from} → ${to}).`,
      fewer: (number) => `확률이 ${number}% 줄어듭니다.`,
      more: (number) => `확률이 ${number}% 늘어납니다.`,
      timesLess: (number, over) => `확률이 ${number.toLocaleString("ko")}분의 1${over ? " 아래로" : "로"} 줄어듭니다.`,
      timesMore: (number, over) => `확률이 ${number.toLocaleString("ko")}배${over ? " 넘게" : "로"} 늘어납니다.`,
      cellQuery: (name) => name,
    },
  },
};
