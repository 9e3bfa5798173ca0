/** The texts of head cards for heads that attend to the cells of an image. */

/** @satisfies {Texts["en"]} */
const NEW_EN = {
  points: "Points at what the word names: the centre of its strongest cell lies in a gold box for more than half of the nouns (the pointing game, Zhang et al. 2016).",
  shift: "Attends from each cell to the cell at one fixed offset, in 90 % of the cells that have such a cell. Such a head does what one tap of a convolution does (Cordonnier et al. 2020).",
  near: "Gives more than half of its weight to the cell itself and its neighbours.",
  "one place": "Gives more than half of its weight to one fixed cell of the grid, for every query: an attention sink, for queries for which the head has no effect.",
};
/** @satisfies {Texts["en"]} */
const NEW_KO = {
  points: "단어가 가리키는 것에 주목합니다. 절반이 넘는 명사에서 가장 진한 칸의 가운데가 정답 상자 안에 있습니다(지목 평가(pointing game), Zhang et al. 2016).",
  shift: "어느 칸에서나 같은 방향으로 같은 거리만큼 떨어진 곳에 주목합니다. 그런 자리가 있는 칸의 90%에서 그렇습니다. 합성곱 커널의 원소 하나가 하는 일과 같습니다(Cordonnier et al. 2020).",
  near: "가중치의 절반이 넘는 몫을 제 칸과 이웃한 칸들에 줍니다.",
  "one place": "어느 쿼리에서나 가중치의 절반이 넘는 몫을 격자의 같은 칸 하나에 줍니다. 헤드가 할 일이 없을 때 주목하는 곳, 곧 싱크(sink)입니다.",
};

/**
 * @typedef {Some<{
 *   mapTables: { where: () => string, offsets: (beyond: number | undefined) => string },
 *   readings: { writes: (nouns: number) => string, reads: (nouns: number) => string },
 * }>} GridTexts
 */

/** @satisfies {GridTexts} */
export const GRID_EN = {
  newRoles: NEW_EN,
  gridRoles: {
    ...NEW_EN,
    same: "Gives more than half of its weight to the query's own cell.",
    broad: "Attends to nearly all cells equally: its entropy is above 90 % of its maximum.",
  },
  gridMeasures: {
    pointing: ["pointing", "How often the centre of its strongest cell lies in a gold box of the object that the word names, over all nouns of the captions (Zhang et al. 2016)."],
    in_box: ["weight in the box", "The share of a noun's weight inside the boxes."],
    even_in_box: ["… of even weight", "The share that the boxes would get from uniform attention: their share of the image."],
    near: ["weight nearby", "Attention weight on the query's own cell and its neighbours."],
    distance: ["distance", "The mean distance in cells between the query and what it attends to, by weight (Dosovitskiy et al. 2021)."],
    even_distance: ["… of even weight", "The distance for uniform attention."],
    beyond: ["further away", "How often its largest weight is more than 8 rows or columns away: outside the map."],
    residual_gate: ["learned gate", "The output of all heads of the layer is multiplied by this before it is added to the features: at 0 the layer has no effect."],
  },
  image: "image self-attention",
  pictures: {
    cross: "cross-attention", decoder: "decoder self-attention",
    helpOffsets: (most) => `The small chart of a head over the caption shows the distance of its largest weight from the query's own position: the middle is the position itself, the left is what comes before. All charts share one scale, and a bar of full height is ${most} %.`,
  },
  helpWhere: (most) => `The map of a head over the image shows where it attends on average. All such maps share one scale: the strongest cell is ${most} % of a head's weight.`,
  helpAway: (most) => `For image self-attention, a second map on the left shows the offset of the largest weight from the query cell, which is framed in the middle; up is up in the image. These maps share one scale, too: the strongest offset is ${most} % of all queries.`,
  maps: { where: "in the image", offsets: "from the query" },
  rowsDown: "row",
  mapTables: {
    where: () => "Where in the image it attends on average: rows and columns of the cells",
    offsets: (beyond) => `Offset of the largest weight from the query cell: rows down, columns across${beyond ? `; ${(100 * beyond).toFixed(1)} % further away` : ""}`,
  },
  readings: {
    writes: (nouns) => `Measured at the step that writes the word, over ${nouns.toLocaleString("en")} nouns.`,
    reads: (nouns) => `Measured at the next step, which reads the word, over ${nouns.toLocaleString("en")} nouns.`,
  },
  leftOut: "Measures that do not apply to heads over an image, and why:",
  reasons: {},
};

/** By what is left out: its name, and the reasons. @type {Record<string, [string, Record<string, string>]>} */
const REASONS_KO = {
  "first, last, previous, next": ["첫 위치, 끝 위치, 앞, 뒤", { "cells have no sequential order": "칸에는 앞뒤 순서가 없습니다" }],
  "punctuation, rarest": ["문장 부호, 드문 토큰", { "cells are not tokens of text": "칸은 텍스트의 토큰이 아닙니다" }],
  "offsets, distance": ["상대 위치, 거리", { "a word has no position in the image to measure a distance from": "단어는 이미지 속에 거리를 잴 위치가 없습니다" }],
  pointing: ["지목(포인팅)", {
    "the model writes no words that could point at anything": "무언가를 가리킬 단어를 쓰지 않는 모델입니다",
    "no boxes of the things that the words name were given (boxes.jsonl)": "단어가 가리키는 것의 정답 상자가 주어지지 않았습니다(boxes.jsonl)",
  }],
};

/** @satisfies {GridTexts} */
export const GRID_KO = {
  newRoles: NEW_KO,
  gridRoles: {
    ...NEW_KO,
    same: "가중치의 절반이 넘는 몫을 제 칸에 줍니다.",
    broad: "거의 모든 칸에 똑같이 주목합니다. 엔트로피가 가능한 최댓값의 90%를 넘습니다.",
  },
  gridMeasures: {
    pointing: ["지목(포인팅)", "캡션의 모든 명사 가운데 가장 진한 칸의 가운데가 그 단어가 가리키는 것의 정답 상자 안에 있는 비율(Zhang et al. 2016)."],
    in_box: ["상자 안의 가중치", "명사의 가중치 가운데 상자 안에 있는 비율."],
    even_in_box: ["… 고르게 볼 때", "모든 칸에 똑같이 주목했다면 상자가 받았을 비율. 이미지에서 상자가 차지하는 넓이와 같습니다."],
    near: ["주변에 준 가중치", "쿼리 칸과 이웃한 칸들에 주는 가중치."],
    distance: ["거리", "주목하는 곳이 쿼리에서 몇 칸 떨어져 있는지 가중치로 평균한 값(Dosovitskiy et al. 2021)."],
    even_distance: ["… 고르게 볼 때", "모든 칸에 똑같이 주목하는 헤드의 거리."],
    beyond: ["더 먼 곳", "가장 큰 가중치가 여덟 행이나 여덟 열보다 멀어 지도 밖에 있는 비율."],
    residual_gate: ["학습된 게이트", "이 층 헤드들의 출력에 이 값을 곱한 다음 특징(feature)에 더합니다. 0이면 이 층은 아무 일도 하지 않습니다."],
  },
  image: "이미지 셀프 어텐션",
  pictures: {
    cross: "크로스 어텐션", decoder: "디코더 셀프 어텐션",
    helpOffsets: (most) => `캡션에 주목하는 헤드의 작은 막대그래프는 가장 큰 가중치가 제 위치에서 얼마나 떨어져 있는지 보여 줍니다. 가운데가 제 위치이고 왼쪽이 앞쪽입니다. 모든 그래프의 눈금은 같고 가장 높은 막대가 ${most}%입니다.`,
  },
  helpWhere: (most) => `이미지에 주목하는 헤드의 지도는 그 헤드가 평균적으로 이미지의 어디에 주목하는지 나타냅니다. 이런 지도의 눈금은 모두 같고, 가장 진한 칸이 헤드 가중치의 ${most}%입니다.`,
  helpAway: (most) => `이미지 셀프 어텐션에는 왼쪽에 지도가 하나 더 있습니다. 가장 큰 가중치가 쿼리 칸에서 얼마나 떨어져 있는지 나타냅니다. 테두리 친 가운데가 쿼리 칸이고, 지도의 위쪽이 이미지의 위쪽입니다. 이 지도들의 눈금도 모두 같고, 가장 진한 상대 위치가 모든 쿼리의 ${most}%입니다.`,
  maps: { where: "이미지에서", offsets: "쿼리 칸에서" },
  rowsDown: "행",
  mapTables: {
    where: () => "평균적으로 이미지의 어디에 주목하는가: 칸의 행과 열",
    offsets: (beyond) => `가장 큰 가중치가 쿼리 칸에서 얼마나 떨어져 있는가: 아래로 행, 오른쪽으로 열${beyond ? `, 더 먼 곳 ${(100 * beyond).toFixed(1)}%` : ""}`,
  },
  readings: {
    writes: (nouns) => `단어를 쓰는 단계의 가중치로, 명사 ${nouns.toLocaleString("ko")}개에 대해 잰 값입니다.`,
    reads: (nouns) => `단어를 입력으로 받는 다음 단계의 가중치로, 명사 ${nouns.toLocaleString("ko")}개에 대해 잰 값입니다.`,
  },
  leftOut: "이미지에 주목하는 헤드에서 뺀 측정값과 그 까닭:",
  reasons: REASONS_KO,
};
