/** What the page of head cards says of heads that look at a picture's cells. */

const NEW_EN = {
  points: "Points at what the word names: the middle of its strongest cell lies in a gold box for more than half of the nouns (the pointing game, Zhang et al. 2016).",
  shift: "Looks from every cell in one direction, equally far: in 90 % of the cells that have such a place. Such a head does what one tap of a convolution does (Cordonnier et al. 2020).",
  near: "Gives more than half of its weight to the cell itself and its neighbours.",
  "one place": "Gives more than half of its weight to one and the same cell of the grid, whoever looks: a sink, where heads look that have nothing to say just then.",
};
const NEW_KO = {
  points: "단어가 가리키는 것을 봅니다. 절반이 넘는 명사에서 가장 진한 칸의 가운데가 정답 상자 안에 있습니다 (포인팅 게임(pointing game), Zhang et al. 2016).",
  shift: "어느 칸에서나 같은 방향으로 같은 거리만큼 떨어진 곳을 봅니다. 그런 자리가 있는 칸의 90 %에서 그렇습니다. 합성곱 커널의 원소 하나가 하는 일과 같습니다 (Cordonnier et al. 2020).",
  near: "가중치의 절반이 넘는 몫을 제 칸과 이웃한 칸들에 줍니다.",
  "one place": "누가 보든 가중치의 절반이 넘는 몫을 격자의 같은 칸 하나에 줍니다. 할 일이 없을 때 헤드가 보는 곳, 곧 싱크(sink)입니다.",
};

export const GRID_EN = {
  newRoles: NEW_EN,
  gridRoles: {
    ...NEW_EN,
    same: "Gives more than half of its weight to the cell that looks.",
    broad: "Looks at nearly all cells alike: its entropy is above 90 % of the most it could be.",
  },
  gridMeasures: {
    pointing: ["pointing", "How often the middle of its strongest cell lies in a gold box of what the word names, over all nouns of the captions (Zhang et al. 2016)."],
    in_box: ["weight in the box", "How much of a noun's weight lies inside the boxes."],
    even_in_box: ["… of even weight", "What the boxes would get if all cells were looked at alike: their share of the picture."],
    near: ["weight nearby", "What it gives to the cell that looks and to its neighbours."],
    distance: ["distance", "How far away, in cells, what it looks at lies: the mean by weight (Dosovitskiy et al. 2021)."],
    even_distance: ["… of even weight", "The distance of a head that looked at all cells alike."],
    beyond: ["further away", "How often its largest weight stands more than 8 rows or columns away: outside of the map."],
    residual_gate: ["learnt gate", "What all heads of the layer found is multiplied by this before it is added to the features: at 0 the layer does nothing."],
  },
  pictures: {
    cross: "caption at picture", decoder: "caption at itself", image: "cells at cells",
    helpOffsets: (most) => `The small chart of a head over the caption says how far from its own position the head's largest weight stands: in the middle is the position itself, on the left what comes before. All charts have one scale, and a bar of full height is ${most} %.`,
  },
  helpWhere: (most) => `The map of a head over the picture says where in it the head looks on average. All such maps have one scale: the darkest cell is ${most} % of a head's weight.`,
  helpAway: (most) => `Where cells look at cells, a second map on the left says how far from the cell that looks, framed in the middle, the largest weight stands; above it is what lies above. These too have one scale: the darkest offset is ${most} % of all looks.`,
  maps: { where: "in the picture", offsets: "from the cell" },
  rowsDown: "row",
  mapTables: {
    where: () => "Where in the picture it looks on average: rows and columns of the cells",
    offsets: (beyond) => `How far from the cell that looks its largest weight stands: rows down, columns across${beyond ? `; ${(100 * beyond).toFixed(1)} % further away` : ""}`,
  },
  readings: {
    writes: (nouns) => `Read at the step that writes the word, over ${nouns.toLocaleString("en")} nouns.`,
    reads: (nouns) => `Read at the step after it, which reads the word, over ${nouns.toLocaleString("en")} nouns.`,
  },
  leftOut: "What is not said of heads over a picture, and why:",
  reasons: {},
};

export const GRID_KO = {
  newRoles: NEW_KO,
  gridRoles: {
    ...NEW_KO,
    same: "가중치의 절반이 넘는 몫을 제 칸에 줍니다.",
    broad: "거의 모든 칸을 똑같이 봅니다. 엔트로피가 가능한 최댓값의 90 %를 넘습니다.",
  },
  gridMeasures: {
    pointing: ["가리킴", "캡션의 모든 명사 가운데 가장 진한 칸의 가운데가 그 단어가 가리키는 것의 정답 상자 안에 있는 비율 (Zhang et al. 2016)."],
    in_box: ["상자 안의 가중치", "명사의 가중치 가운데 상자 안에 있는 비율."],
    even_in_box: ["… 고르게 볼 때", "모든 칸을 똑같이 보았다면 상자가 받았을 비율. 그림에서 상자가 차지하는 넓이와 같습니다."],
    near: ["주변에 준 가중치", "보는 칸과 이웃한 칸들에 주는 가중치."],
    distance: ["거리", "보는 곳이 몇 칸 떨어져 있는지 가중치로 평균한 값 (Dosovitskiy et al. 2021)."],
    even_distance: ["… 고르게 볼 때", "모든 칸을 똑같이 보는 헤드의 거리."],
    beyond: ["더 먼 곳", "가장 큰 가중치가 여덟 행이나 여덟 열보다 멀어 지도 밖에 있는 비율."],
    residual_gate: ["학습된 게이트", "이 층의 헤드들이 가져온 것에 이 값을 곱해 특징에 더합니다. 0이면 이 층은 아무 일도 하지 않습니다."],
  },
  pictures: {
    cross: "캡션이 그림을", decoder: "캡션이 스스로를", image: "칸이 칸을",
    helpOffsets: (most) => `캡션을 보는 헤드의 작은 막대그래프는 가장 큰 가중치가 제 위치에서 얼마나 떨어져 있는지 보여 줍니다. 가운데가 제 위치이고 왼쪽이 앞쪽입니다. 모든 그래프의 눈금은 같고 가장 높은 막대가 ${most} %입니다.`,
  },
  helpWhere: (most) => `그림을 보는 헤드의 지도는 그 헤드가 평균적으로 그림의 어디를 보는지 나타냅니다. 이런 지도의 눈금은 모두 같고, 가장 진한 칸이 헤드 가중치의 ${most} %입니다.`,
  helpAway: (most) => `칸이 칸을 볼 때에는 왼쪽에 지도가 하나 더 있습니다. 가장 큰 가중치가 보는 칸에서 얼마나 떨어져 있는지 나타냅니다. 테두리 친 가운데가 보는 칸이고, 지도의 위쪽이 그림의 위쪽입니다. 이 지도들의 눈금도 모두 같고, 가장 진한 상대 위치가 전체의 ${most} %입니다.`,
  maps: { where: "그림에서", offsets: "보는 칸에서" },
  rowsDown: "행",
  mapTables: {
    where: () => "평균적으로 그림의 어디를 보는가: 칸의 행과 열",
    offsets: (beyond) => `가장 큰 가중치가 보는 칸에서 얼마나 떨어져 있는가: 아래로 행, 오른쪽으로 열${beyond ? `, 더 먼 곳 ${(100 * beyond).toFixed(1)} %` : ""}`,
  },
  readings: {
    writes: (nouns) => `단어를 쓰는 단계의 가중치로, 명사 ${nouns.toLocaleString("ko")}개에 대해 잰 값입니다.`,
    reads: (nouns) => `단어를 입력으로 받는 다음 단계의 가중치로, 명사 ${nouns.toLocaleString("ko")}개에 대해 잰 값입니다.`,
  },
  leftOut: "그림을 보는 헤드에서 뺀 측정값과 그 까닭:",
  reasons: {
    "first, last, previous, next": ["첫 위치, 끝 위치, 앞, 뒤", { "cells have no order": "칸에는 앞뒤 순서가 없습니다" }],
    "punctuation, rarest": ["문장 부호, 드문 조각", { "cells are not text tokens": "칸은 글의 조각이 아닙니다" }],
    "offsets, distance": ["상대 위치, 거리", { "a word has no position in the image to measure a distance from": "단어는 그림 속에 거리를 잴 자리가 없습니다" }],
    pointing: ["가리킴", {
      "no words are written, so nothing is named": "무언가를 가리킬 단어를 쓰지 않는 모델입니다",
      "there are no gold boxes of the named objects (boxes.jsonl)": "단어가 가리키는 것의 위치가 주어지지 않았습니다(boxes.jsonl)",
    }],
  },
};
