/** The texts that differ where the model does not write a text from a text, by what it reads and writes. */

/** @satisfies {Texts["en"]} */
const OWN_EN = {
  decoder: "self-attention (text → text)",
  encoder: "self-attention (text → text)",
};
/** @satisfies {Texts["en"]} */
const OWN_KO = {
  decoder: "텍스트 → 텍스트 (셀프 어텐션)",
  encoder: "텍스트 → 텍스트 (셀프 어텐션)",
};

/** @satisfies {Texts["en"]} */
const SWITCHES_EN = {
  switchesHelp: "Click a head to ablate it: the model runs without it. The number is the change of the output's log-probability (nats) when only that head is ablated.",
  switchesSaved: "The change of the output's log-probability (nats) when only that head is ablated. In the live page (jumok look) several heads can be ablated together.",
};
/** @satisfies {Texts["en"]} */
const SWITCHES_KO = {
  switchesHelp: "헤드를 눌러 절제하면 그 헤드 없이 다시 계산합니다. 숫자는 그 헤드 하나만 절제했을 때 출력의 로그 확률 변화(nat)입니다.",
  switchesSaved: "헤드 하나만 절제했을 때 출력의 로그 확률 변화(nat)입니다. 실시간 페이지(jumok look)에서는 여러 헤드를 함께 절제할 수 있습니다.",
};

/** @satisfies {Texts["en"]} */
const MATTERED_EN = {
  matteredHelp: "Select a word of the caption. Each map is a different measure of how much each cell of the image contributed to it: bright areas contributed, and framed cells made the word less probable. Attention shows where the model attended, gradients the effect of a small change of a cell, occlusion how much less probable the word becomes when the vector of the cell is set to zero, and pixel occlusion when the pixels of the cell are covered. The measures often disagree; the tables of rank correlation show how much.",
  sourceWords: "the image",
  over: "Maps over",
  barsTitle: (word) => `Attribution of “${word}”, shares of each measure`,
  mapsScale: (most) => `Full brightness: ${most} %, the largest share of all. Framed: makes the word less probable. Below: the strongest cell (row,column).`,
  markHelp: "Click a cell, or move with the arrow keys, to read its share of each measure",
  sharesTitle: "Share of the image, relative to the prefix (%)",
  measure: "Measure",
  share: "share",
  cellName: "cell (row,column)",
  cellsOut: "Occluded cells (click one to restore it)",
  takeCellOut: (cell) => `Occlude ${cell}`,
};
/** @satisfies {Texts["en"]} */
const MATTERED_KO = {
  matteredHelp: "캡션의 단어를 하나 고르세요. 지도마다 다른 척도로 이미지의 각 칸이 그 단어에 기여한 정도를 잽니다. 밝은 곳이 기여한 곳이고, 테두리 친 칸은 그 단어의 확률을 낮춘 곳입니다. 어텐션은 모델이 주목한 곳, 기울기는 칸이 조금 바뀔 때 확률의 변화, 가리기(occlusion)는 칸의 벡터를 0으로 만들 때, 픽셀 가리기는 칸의 픽셀을 덮을 때 단어의 확률이 얼마나 줄어드는지를 나타냅니다. 척도끼리 어긋날 때가 많으며, 얼마나 어긋나는지는 순위 상관 표에 나옵니다.",
  sourceWords: "이미지",
  over: "지도로 볼 것",
  barsTitle: (word) => `“${word}”에 대한 기여도, 척도마다의 비중`,
  mapsScale: (most) => `가장 밝은 곳이 ${most}%(모든 척도와 단어 가운데 가장 큰 비중)이고, 테두리 친 칸은 단어의 확률을 낮춘 칸입니다. 지도 아래에는 가장 밝은 칸(행,열)을 적었습니다.`,
  markHelp: "칸을 누르거나 화살표 키로 옮기면 그 칸의 비중을 척도마다 읽을 수 있습니다",
  sharesTitle: "접두부와 비교한 이미지의 비중(%)",
  measure: "척도",
  share: "비중",
  cellName: "칸(행,열)",
  cellsOut: "가린 칸(누르면 되돌림)",
  takeCellOut: (cell) => `${cell} 칸 가리기`,
};

/** @satisfies {Texts["en"]} */
const LABELLED_EN = {
  ...MATTERED_EN,
  outputWord: "Label",
  matteredHelp: "Each map is a different measure of how much each cell of the image contributed to the label: bright areas contributed, and framed cells made the label less probable. Attention is that of the last layer; rollout and flow follow the weights of all layers down to the cells; gradients give the effect of a small change of a cell, occlusion how much less probable the label becomes when the vector of the cell is set to zero, and pixel occlusion when the pixels of the cell are covered. The measures often disagree; the tables of rank correlation show how much.",
};
/** @satisfies {Texts["en"]} */
const LABELLED_KO = {
  ...MATTERED_KO,
  outputWord: "레이블",
  matteredHelp: "지도마다 다른 척도로 이미지의 각 칸이 레이블에 기여한 정도를 잽니다. 밝은 곳이 기여한 곳이고, 테두리 친 칸은 레이블의 확률을 낮춘 곳입니다. 어텐션은 마지막 층의 어텐션이고, 롤아웃과 흐름은 모든 층의 어텐션 가중치를 칸까지 따라 내려갑니다. 기울기는 칸이 조금 바뀔 때 확률의 변화, 가리기(occlusion)는 칸의 벡터를 0으로 만들 때, 픽셀 가리기는 칸의 픽셀을 덮을 때 레이블의 확률이 얼마나 줄어드는지를 나타냅니다. 척도끼리 어긋날 때가 많으며, 얼마나 어긋나는지는 순위 상관 표에 나옵니다.",
};

const LABELLED_TEXT_EN = "Each column is a different measure of how much each word contributed to the label. Bars are percentages; a hollow bar made the label less probable. Attention is that of the last layer, gathered as the label's vector is; gradients give the effect of a small change of the word, occlusion how much less probable the label becomes without it. The measures often disagree; the rank correlation shows how much: 1 is the same order, 0 is chance.";
const LABELLED_TEXT_KO = "열마다 다른 척도로 각 단어가 레이블에 기여한 정도를 잽니다. 막대는 백분율이고, 속이 빈 막대는 레이블의 확률을 낮추었다는 뜻입니다. 어텐션은 마지막 층의 어텐션을 레이블의 벡터와 같은 방식으로 모은 것이고, 기울기는 단어가 조금 바뀔 때 확률의 변화, 가리기(occlusion)는 그 단어가 없으면 레이블의 확률이 얼마나 줄어드는지를 나타냅니다. 척도끼리 어긋날 때가 많은데, 순위 상관이 그 정도를 보여 줍니다. 1이면 순서가 같고 0이면 우연과 같습니다.";

/** @satisfies {Texts} */
export const TASKS = {
  en: {
    "picture-text": {
      ...SWITCHES_EN,
      cross: "cross-attention (caption → image)",
      image: "image self-attention (cells → cells)",
      decoder: "decoder self-attention (caption → caption)",
      ...MATTERED_EN,
      boardHelp: "Rows are words of the caption (queries), and columns are cells of the image (row,column), the keys. The stronger a cell's colour, the more the word attended to it.",
    },
    "text-continuation": {
      ...OWN_EN, ...SWITCHES_EN,
      output: "Continuation",
      readsWrites: (read, next) => `reads ${read} → next ${next}`,
      theatreHelp: "Every continuation that beam search considered, step by step, best first; the numbers are log-probabilities of what follows the prompt. Select one to read it in full; the arrow keys move through the tree.",
      boardHelp: "Rows and columns are words of the text. The stronger a cell's colour, the more attention the row's word pays to the column's word while the next word is predicted. No word attends to what comes after it.",
      beamHelp: "The model's predictions at each token of the text, and their probabilities: first the tokens of the prompt, then those that the model wrote.",
    },
    "text-gaps": {
      ...OWN_EN, ...SWITCHES_EN,
      beam: "Gaps",
      output: "Filled text",
      boardHelp: "Rows and columns are words of the text. The stronger a cell's colour, the more attention the row's word pays to the column's word, before or after it.",
      beamHelp: "The most probable tokens for each gap, and their probabilities.",
      after: (token) => `at ${token}`,
      lensHelp: "What the model would predict if it stopped after each layer, from the top (the embedding alone) to the bottom (its real output). Columns are the tokens that were read; each cell shows the most probable token at that position, with a stronger colour the more probable it is, from 0 to 1. Click a cell for its five most probable tokens.",
    },
    "text-label": {
      ...OWN_EN, ...SWITCHES_EN,
      beam: "Labels",
      output: "Label",
      outputWord: "Label",
      matteredHelp: LABELLED_TEXT_EN,
      boardHelp: "Rows and columns are words of the text. The stronger a cell's colour, the more attention the row's word pays to the column's word.",
      beamHelp: "The probability of each label.",
    },
    "picture-label": {
      ...SWITCHES_EN, ...LABELLED_EN,
      image: "image self-attention (cells → cells)",
      beam: "Labels",
      output: "Label",
      words: "cells",
      boardHelp: "Rows and columns are cells of the image (row,column). The stronger the colour, the more attention the row's cell pays to the column's cell.",
      beamHelp: "The probability of each label.",
    },
  },
  ko: {
    "picture-text": {
      ...SWITCHES_KO,
      cross: "캡션 → 이미지 (크로스 어텐션)",
      image: "칸 → 칸 (이미지 셀프 어텐션)",
      decoder: "캡션 → 캡션 (디코더 셀프 어텐션, 마스크)",
      ...MATTERED_KO,
      boardHelp: "행은 캡션의 단어(쿼리)이고 열은 이미지의 칸(행,열), 곧 키입니다. 색이 뚜렷할수록 그 단어가 그 칸에 더 많이 주목했다는 뜻입니다.",
    },
    "text-continuation": {
      ...OWN_KO, ...SWITCHES_KO,
      output: "이어 쓴 텍스트",
      readsWrites: (read, next) => `${read} 읽음 → 다음 ${next}`,
      theatreHelp: "빔 탐색에서 따져 본 모든 가설을 단계별로 보여 줍니다. 위에 있을수록 점수가 높고, 숫자는 프롬프트 다음에 이어지는 부분의 로그 확률입니다. 하나를 고르면 전체를 읽을 수 있습니다. 화살표 키로 트리를 따라갈 수 있습니다.",
      boardHelp: "행과 열은 텍스트의 단어입니다. 칸의 색이 뚜렷할수록 다음 단어를 예측할 때 행의 단어가 열의 단어에 더 많이 주목했다는 뜻입니다. 어느 단어도 뒤에 오는 단어에는 주목하지 못합니다.",
      beamHelp: "텍스트의 토큰마다 모델의 예측과 그 확률을 보여 줍니다. 프롬프트의 토큰이 먼저, 모델이 이어 쓴 토큰이 그다음에 나옵니다.",
    },
    "text-gaps": {
      ...OWN_KO, ...SWITCHES_KO,
      beam: "빈칸",
      output: "채운 텍스트",
      boardHelp: "행과 열은 텍스트의 단어입니다. 칸의 색이 뚜렷할수록 행의 단어가 열의 단어에 더 많이 주목했다는 뜻입니다. 앞의 단어에도 뒤의 단어에도 주목할 수 있습니다.",
      beamHelp: "빈칸마다 확률이 가장 높은 토큰들과 그 확률을 보여 줍니다.",
      after: (token) => `${token} 자리`,
      lensHelp: "층마다 그 층에서 멈춘다면 모델이 무엇을 예측할지 보여 줍니다. 맨 위는 임베딩만 있을 때이고, 맨 아래는 실제 출력입니다. 열은 읽은 토큰이고, 칸에는 그 자리에서 확률이 가장 높은 토큰이 적혀 있으며 확률이 높을수록 진합니다(0에서 1까지). 칸을 누르면 확률이 높은 다섯 개가 나옵니다.",
    },
    "text-label": {
      ...OWN_KO, ...SWITCHES_KO,
      beam: "레이블",
      output: "레이블",
      outputWord: "레이블",
      matteredHelp: LABELLED_TEXT_KO,
      boardHelp: "행과 열은 텍스트의 단어입니다. 칸의 색이 뚜렷할수록 행의 단어가 열의 단어에 더 많이 주목했다는 뜻입니다.",
      beamHelp: "레이블마다 확률을 보여 줍니다.",
    },
    "picture-label": {
      ...SWITCHES_KO, ...LABELLED_KO,
      image: "칸 → 칸 (이미지 셀프 어텐션)",
      beam: "레이블",
      output: "레이블",
      words: "칸",
      boardHelp: "행도 열도 이미지의 칸(행,열)입니다. 색이 뚜렷할수록 행의 칸이 열의 칸에 더 많이 주목했다는 뜻입니다.",
      beamHelp: "레이블마다 확률을 보여 줍니다.",
    },
  },
};

/**
 * What a task says otherwise is a text of words.js, too; these are the texts that only some tasks have.
 *
 * @typedef {{ image: string, mapsScale: (most: string) => string, markHelp: string, measure: string, share: string, cellName: string, cellsOut: string, takeCellOut: (cell: string) => string }} TaskWords
 */
