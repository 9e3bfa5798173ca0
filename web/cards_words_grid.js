/** What the page of head cards says of heads that look at a picture's cells. */

const NEW_EN = {
  points: "Points at what the word names: the middle of its strongest cell lies in a gold box for more than half of the nouns (the pointing game, Zhang et al. 2016).",
  shift: "Looks from every cell in one direction, equally far: in 90 % of the cells that have such a place. Such a head does what one tap of a convolution does (Cordonnier et al. 2020).",
  near: "Gives more than half of its weight to the cell itself and its neighbours.",
  "one place": "Gives more than half of its weight to one and the same cell of the grid, whoever looks: a sink, where heads look that have nothing to say just then.",
};
const NEW_KO = {
  points: "낱말이 가리키는 것을 봅니다. 명사의 절반 넘게 가장 진한 칸의 가운데가 정답 상자 안에 있습니다 (Zhang et al. 2016의 가리키기 놀이).",
  shift: "어느 칸에서나 같은 방향으로 같은 만큼 떨어진 곳을 봅니다. 그런 자리가 있는 칸의 90 %에서 그렇습니다. 합성곱의 한 자리가 하는 일과 같습니다 (Cordonnier et al. 2020).",
  near: "가중치의 절반 넘게 제 칸과 바로 둘레의 칸에 줍니다.",
  "one place": "누가 보든 격자의 같은 칸 하나에 가중치의 절반 넘게 줍니다. 그때 할 말이 없는 헤드가 시선을 두는 곳입니다.",
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
  helpWhere: (most) => `The small map of a head over the picture says where it looks on average, over all words of all captions. All maps have one scale, and the darkest cell is ${most} % of a head's weight.`,
  helpAway: (away, most) => `Each card has two small maps. On the left: how far from the cell that looks, framed in the middle, the largest weight stands; above it is what lies above. On the right: where in the picture the head looks on average. Maps of a kind have one scale: the darkest offset is ${away} % of all looks, the darkest place ${most} % of a head's weight.`,
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
    same: "가중치의 절반 넘게 보는 칸 자신에게 줍니다.",
    broad: "거의 모든 칸을 똑같이 봅니다. 엔트로피가 가능한 최댓값의 90 %를 넘습니다.",
  },
  gridMeasures: {
    pointing: ["가리킴", "설명의 모든 명사 가운데 가장 진한 칸의 가운데가 그 낱말이 가리키는 것의 정답 상자 안에 있는 비율 (Zhang et al. 2016)."],
    in_box: ["상자 안의 가중치", "명사의 가중치 가운데 상자 안에 있는 몫."],
    even_in_box: ["… 고르게 볼 때", "모든 칸을 똑같이 보았다면 상자가 받았을 몫. 상자가 그림에서 차지하는 넓이입니다."],
    near: ["둘레에 준 가중치", "보는 칸과 바로 둘레의 칸에 주는 가중치."],
    distance: ["거리", "보는 것이 몇 칸 떨어져 있는지, 가중치로 낸 평균 (Dosovitskiy et al. 2021)."],
    even_distance: ["… 고르게 볼 때", "모든 칸을 똑같이 보는 헤드의 거리."],
    beyond: ["더 먼 곳", "가장 큰 가중치가 여덟 줄이나 여덟 칸보다 멀어 지도 밖에 있는 비율."],
    residual_gate: ["학습된 게이트", "이 층의 헤드들이 찾은 것에 이 값을 곱해 특징에 더합니다. 0이면 이 층은 아무 일도 하지 않습니다."],
  },
  pictures: {
    cross: "설명이 그림을", decoder: "설명이 스스로를", image: "칸이 칸을",
    helpOffsets: (most) => `설명을 보는 헤드의 작은 그림은 가장 큰 가중치가 제 위치에서 얼마나 떨어져 있는지 보여 줍니다. 가운데가 제 위치이고 왼쪽이 앞쪽입니다. 모든 그림의 눈금은 같고 가장 높은 막대가 ${most} %입니다.`,
  },
  helpWhere: (most) => `그림을 보는 헤드의 작은 지도는 모든 설명의 모든 낱말에 대해 평균적으로 어디를 보는지 나타냅니다. 모든 지도의 눈금은 같고 가장 진한 칸이 헤드 가중치의 ${most} %입니다.`,
  helpAway: (away, most) => `카드마다 작은 지도가 둘 있습니다. 왼쪽은 가장 큰 가중치가 보는 칸에서 얼마나 떨어져 있는지입니다. 테두리 친 가운데가 보는 칸이고, 그 위가 위쪽입니다. 오른쪽은 평균적으로 그림의 어디를 보는지입니다. 같은 종류의 지도는 눈금이 같습니다. 가장 진한 거리는 전체의 ${away} %, 가장 진한 자리는 헤드 가중치의 ${most} %입니다.`,
  maps: { where: "그림에서", offsets: "보는 칸에서" },
  rowsDown: "행",
  mapTables: {
    where: () => "평균적으로 그림의 어디를 보는지: 칸의 행과 열",
    offsets: (beyond) => `가장 큰 가중치가 보는 칸에서 얼마나 떨어져 있는지: 아래로 행, 오른쪽으로 열${beyond ? `, 더 먼 곳 ${(100 * beyond).toFixed(1)} %` : ""}`,
  },
  readings: {
    writes: (nouns) => `명사 ${nouns.toLocaleString("ko")}개를 그 낱말을 쓰는 단계에서 읽었습니다.`,
    reads: (nouns) => `명사 ${nouns.toLocaleString("ko")}개를 그 낱말을 읽는 다음 단계에서 읽었습니다.`,
  },
  leftOut: "그림을 보는 헤드에 대해 말하지 않는 것과 그 까닭:",
  reasons: {
    "first, last, previous, next": ["첫 위치, 끝 위치, 앞, 뒤", { "cells do not come one after another": "칸에는 차례가 없습니다" }],
    "punctuation, rarest": ["문장 부호, 드문 조각", { "cells are no pieces of text": "칸은 글의 조각이 아닙니다" }],
    "offsets, distance": ["거리", { "a word has no place in the picture from which a distance could be told": "낱말에는 거리를 잴 그림 속 자리가 없습니다" }],
    pointing: ["가리킴", {
      "no word is written that could point at anything": "무엇을 가리킬 낱말을 쓰지 않습니다",
      "nobody said where the things are that the words name (boxes.jsonl)": "낱말이 가리키는 것이 어디 있는지 알려 준 사람이 없습니다 (boxes.jsonl)",
    }],
  },
};
