/** What is called otherwise where the model does something else than translate. */

const OWN_EN = {
  decoder: "text at itself",
  encoder: "text at itself",
};
const OWN_KO = {
  decoder: "글이 스스로를",
  encoder: "글이 스스로를",
};

const SWITCHES_EN = {
  switchesHelp: "Click a head off: the model runs without it. The number is the change of the output's log-probability (nats) when that head alone is off.",
  switchesSaved: "The change of the output's log-probability (nats) when one head alone is off. In the live page (jumok look) heads can be clicked off together.",
};
const SWITCHES_KO = {
  switchesHelp: "헤드를 눌러 끄면 그 헤드 없이 다시 계산합니다. 숫자는 그 헤드 하나만 껐을 때 출력의 로그 확률 변화(nat)입니다.",
  switchesSaved: "헤드 하나만 껐을 때 출력의 로그 확률 변화(nat)입니다. 실시간 페이지(jumok look)에서는 여러 헤드를 함께 끌 수 있습니다.",
};

const MATTERED_EN = {
  matteredHelp: "Choose a word of the caption. Each map asks in another way which cells of the picture mattered for it: what is clear of grey mattered, framed cells spoke against the word. Attention says where the model looked, gradients what a small change of a cell would do, blank-out how much less probable the word gets when what the model had made of the cell is zeroed, and painted over when its pixels are. They often disagree: the tables of rank correlation say how far.",
  sourceWords: "the picture",
  over: "Maps of",
  barsTitle: (word) => `What mattered for “${word}”, shares of each measure`,
  mapsScale: (most) => `Wholly clear: ${most} %, the largest share of any measure for any word. Framed: against the word. Below each map its strongest cell (row,column).`,
  markHelp: "Click a cell, or walk with the arrow keys, to read its share of each measure",
  sharesTitle: "Share of the picture, against what was written before (%)",
  measure: "Measure",
  share: "share",
  cellName: "cell (row,column)",
  cellsOut: "Cells taken out (a click puts one back)",
  takeCellOut: (cell) => `Take ${cell} out`,
};
const MATTERED_KO = {
  matteredHelp: "캡션의 단어를 하나 고르세요. 지도마다 다른 방법으로 그림의 어느 칸이 그 단어에 중요했는지 따집니다. 회색이 걷힌 곳이 중요한 곳이고, 테두리 친 칸은 그 단어가 나오지 않는 쪽으로 작용했습니다. 어텐션은 모델이 본 곳, 기울기는 칸이 조금 바뀔 때의 변화, 지워 보기는 모델이 칸에서 읽어 낸 것을 0으로 만들 때, 칠해 보기는 칸의 픽셀을 덮어 칠할 때 단어의 확률이 얼마나 줄어드는지입니다. 방법끼리 어긋날 때가 많으며, 얼마나 어긋나는지는 순위 상관 표에 나옵니다.",
  sourceWords: "그림",
  over: "지도로 볼 것",
  barsTitle: (word) => `“${word}”에 중요했던 것, 방법마다의 비중`,
  mapsScale: (most) => `완전히 또렷한 곳은 ${most} %(모든 방법과 단어 가운데 가장 큰 비중), 테두리는 반대로 작용한 칸. 지도 아래는 가장 강한 칸(행,열).`,
  markHelp: "칸을 누르거나 화살표 키로 옮기면 그 칸의 비중을 방법마다 읽을 수 있습니다",
  sharesTitle: "앞서 쓴 것과 비교한 그림의 비중(%)",
  measure: "방법",
  share: "비중",
  cellName: "칸(행,열)",
  cellsOut: "뺀 칸(누르면 되돌림)",
  takeCellOut: (cell) => `${cell} 칸 빼기`,
};

export const TASKS = {
  en: {
    captioning: {
      ...SWITCHES_EN,
      cross: "caption at picture",
      image: "cells at cells",
      decoder: "caption at itself",
      ...MATTERED_EN,
      boardHelp: "Each row is a word of the caption, each column a cell of the picture (row,column); the more a cell stands out from the page, the more the word looked there.",
    },
    "language-model": {
      ...OWN_EN, ...SWITCHES_EN,
      output: "Goes on",
      readsWrites: (read, next) => `reads ${read} → next ${next}`,
      theatreHelp: "Every continuation that the search weighed, step by step, the best above; the numbers are log-probabilities of what follows the prompt. Choose one to read it in full; the arrow keys walk through the tree.",
      boardHelp: "Each row is a word of the text; the more a cell stands out from the page, the more that word looked at the word above it while the next one was chosen. No word sees what comes after it.",
      beamHelp: "What the model expected at each token of the text, and how probable it was: the prompt's tokens, then those that it wrote.",
    },
    "masked-lm": {
      ...OWN_EN, ...SWITCHES_EN,
      beam: "Gaps",
      output: "Filled",
      boardHelp: "Each row is a word of the text; the more a cell stands out from the page, the more that word looked at the word above it, before or after it.",
      beamHelp: "What might stand in each gap, and how probable it is.",
      after: (token) => `at ${token}`,
      lensHelp: "What the model would say if it stopped after each layer, from the top (nothing but the embedding) to the bottom (its real answer). Columns are what was read; cells show the likeliest token in its place, the stronger the colour the more probable, from 0 to 1. Click a cell for its five likeliest.",
    },
    "text-classification": {
      ...OWN_EN, ...SWITCHES_EN,
      beam: "Labels",
      output: "Label",
      boardHelp: "Each row is a word of the text; the more a cell stands out from the page, the more that word looked at the word above it.",
      beamHelp: "How probable each label is.",
    },
    "image-classification": {
      ...SWITCHES_EN,
      image: "cells at cells",
      beam: "Labels",
      output: "Label",
      words: "cells",
      boardHelp: "Each row is a cell of the picture (row,column), and so is each column; the more it stands out from the page, the more the one looked at the other.",
      beamHelp: "How probable each label is.",
    },
  },
  ko: {
    captioning: {
      ...SWITCHES_KO,
      cross: "캡션이 그림을",
      image: "칸이 칸을",
      decoder: "캡션이 스스로를",
      ...MATTERED_KO,
      boardHelp: "행은 캡션의 단어이고 열은 그림의 칸(행,열)입니다. 색이 뚜렷할수록 그 단어가 그 칸을 더 많이 보았다는 뜻입니다.",
    },
    "language-model": {
      ...OWN_KO, ...SWITCHES_KO,
      output: "이어 쓴 글",
      readsWrites: (read, next) => `${read} 읽음 → 다음 ${next}`,
      theatreHelp: "탐색에서 따져 본 모든 이어 쓰기를 단계별로 보여 줍니다. 위에 있을수록 좋은 가설이고, 숫자는 주어진 글 다음에 이어지는 부분의 로그 확률입니다. 하나를 고르면 전체를 읽을 수 있습니다. 화살표 키로 트리를 따라갈 수 있습니다.",
      boardHelp: "행은 글의 단어입니다. 칸의 색이 뚜렷할수록 다음 단어를 고를 때 그 단어가 위에 적힌 단어를 더 많이 보았다는 뜻입니다. 어느 단어도 뒤에 오는 단어를 보지 못합니다.",
      beamHelp: "글의 토큰마다 모델이 무엇을 예측했고 그 확률이 얼마였는지 보여 줍니다. 주어진 글의 토큰이 먼저, 모델이 이어 쓴 토큰이 그다음에 나옵니다.",
    },
    "masked-lm": {
      ...OWN_KO, ...SWITCHES_KO,
      beam: "빈칸",
      output: "채운 글",
      boardHelp: "행은 글의 단어입니다. 칸의 색이 뚜렷할수록 그 단어가 위에 적힌 단어를 더 많이 보았다는 뜻이고, 앞의 단어도 뒤의 단어도 볼 수 있습니다.",
      beamHelp: "빈칸마다 무엇이 들어갈 만하고 그 확률이 얼마인지 보여 줍니다.",
      after: (token) => `${token} 자리`,
      lensHelp: "층마다 그 층에서 멈춘다면 모델이 무엇을 예측할지 보여 줍니다. 맨 위는 임베딩만 있을 때이고, 맨 아래는 실제 답입니다. 열은 읽은 토큰이고, 칸에는 그 자리에 가장 그럴듯한 토큰이 적혀 있으며 확률이 높을수록 진합니다(0에서 1까지). 칸을 누르면 확률이 높은 다섯 개가 나옵니다.",
    },
    "text-classification": {
      ...OWN_KO, ...SWITCHES_KO,
      beam: "레이블",
      output: "레이블",
      boardHelp: "행은 글의 단어입니다. 칸의 색이 뚜렷할수록 그 단어가 위에 적힌 단어를 더 많이 보았다는 뜻입니다.",
      beamHelp: "레이블마다 확률이 얼마인지 보여 줍니다.",
    },
    "image-classification": {
      ...SWITCHES_KO,
      image: "칸이 칸을",
      beam: "레이블",
      output: "레이블",
      words: "칸",
      boardHelp: "행도 열도 그림의 칸(행,열)입니다. 색이 뚜렷할수록 행의 칸이 열의 칸을 더 많이 보았다는 뜻입니다.",
      beamHelp: "레이블마다 확률이 얼마인지 보여 줍니다.",
    },
  },
};
