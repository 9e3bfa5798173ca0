/** The texts of comparisons: A | B, before and after a change, and pinned states. */

/**
 * @typedef {(one: string, other: string, writes: boolean, alike: boolean) => string} Says
 * @typedef {{ same: Says, wrote: Says }} Sides
 *
 * @satisfies {TextsWith<{
 *   compareMinus: (names: string[]) => string,
 *   compareTitle: (names: string[]) => string,
 *   differenceScale: (names: string[]) => string,
 *   littleShared: (shared: number, count: number) => string,
 *   largestChange: (query: string, key: string, before: string, after: string, points: string, more: boolean, names: string[]) => string,
 *   compareSays: { sides: Sides, changed: Sides, tuned: Sides, edited: Sides, pinned: Sides },
 *   headChanged: (count: number, name: string, most: string, least: string) => string,
 * }>}
 */
export const COMPARE = {
  en: {
    compare: "A | B",
    compareHelp: "Two sentences, two models, or one model before and after a change. Words are aligned by edit distance, so that a word is at the same place in every map; a word that the other side lacks leaves a gap. The third map is the second less the first.",
    compareNames: { sides: ["A", "B"], changed: ["before", "after"], tuned: ["before", "after"], edited: ["before", "after"], pinned: ["pinned", "now"] },
    compareMinus: ([first, second]) => `${second} − ${first}`,
    compareTitle: ([first, second]) => `Maps: ${first}, ${second}, and their difference`,
    compareGaps: "“−” marks a word that only the first has, “+” one that only the second has, and “|” a word in the place of another. Hatched cells are gaps.",
    differenceScale: ([first, second]) => `orange: “${second}” is larger; blue: “${first}” is larger`,
    scaleBoth: "Both maps share a scale that ends at their largest weight.",
    giveSecond: "Enter a second sentence to compare with.",
    noCounterpart: (name) => `“${name}” has no attention of this kind.`,
    otherKind: "The pinned state shows another kind of attention: choose the same kind to compare.",
    noSuchCell: "one side has no such word",
    littleShared: (shared, count) => `The two share ${shared} of ${count} words read: there is nothing to subtract.`,
    nothingShared: "The two have no cell in common.",
    nothingChanged: "No weight in this map changed by as much as 0.05 points.",
    largestChange: (query, key, before, after, points, more, [first, second]) =>
      `The largest change in this map is ${query} → ${key}: ${before} % ${first === "A" ? "in A" : first}, ${after} % ${second === "B" ? "in B" : second}, ${points} points ${more ? "more" : "less"}.`,
    compareSays: {
      sides: {
        same: (text, _, writes) => `Both ${writes ? "wrote" : "gave"} “${text}”.`,
        wrote: (one, other, writes) => `A ${writes ? "wrote" : "gave"} “${one}”, and B “${other}”.`,
      },
      changed: {
        same: (text, _, writes) => `The changed model ${writes ? "wrote" : "gave"} “${text}” as before.`,
        wrote: (one, other, writes) => `Unchanged, the model ${writes ? "wrote" : "gave"} “${one}”; changed, it ${writes ? "wrote" : "gave"} “${other}”.`,
      },
      tuned: {
        same: (text, _, writes) => `Before and after training, the model ${writes ? "wrote" : "gave"} “${text}”.`,
        wrote: (one, other, writes) => `Before training, the model ${writes ? "wrote" : "gave"} “${one}”; after it, “${other}”.`,
      },
      edited: {
        same: (text, _, writes) => `Both sentences ${writes ? "were answered with" : "gave"} “${text}”.`,
        wrote: (one, other) => `The sentence that the page opened with gave “${one}”; this one gives “${other}”.`,
      },
      pinned: {
        same: (text, _, writes, alike) => `The pinned ${alike ? "state" : "sentence"} ${writes ? "wrote" : "gave"} “${text}”, as this one does.`,
        wrote: (one, other, writes, alike) => `The pinned ${alike ? "state" : "sentence"} ${writes ? "wrote" : "gave"} “${one}”; this one ${writes ? "writes" : "gives"} “${other}”.`,
      },
    },
    apartHeads: "How much each head changed",
    apartHeadsHelp: "The mean absolute difference of a head's weights over the cells that both have, in points (100 = all of the attention). The stronger the colour, the larger the change; a click shows the head.",
    apartPoints: "mean change (points)",
    apartByPlace: "Order by layer and head",
    apartBySize: "Order by change",
    headChanged: (count, name, most, least) => `Of ${count} heads, this one changed most: ${name}; its weights differ by ${most} points on average. The least changed differ by ${least}.`,
    noHeadChanged: "No head's weights changed by as much as 0.05 points on average.",
    pin: "Pin this state",
    pinHelp: "Whatever you do next is compared with this state.",
    unpin: "Unpin",
    pinned: (text) => `Pinned: “${text}”`,
    pinComing: "The pinned state is being computed again…",
    pinLost: (text, why) => `The pinned state of this link (“${text}”) cannot be restored here: ${why || "it needs the live page (jumok look), and this page is a file of another input."}`,
  },
  ko: {
    compare: "A | B",
    compareHelp: "두 문장이나 두 모델, 또는 한 모델을 바꾸기 전과 후를 견주어 봅니다. 편집 거리로 단어를 짝지으므로 같은 단어는 모든 지도에서 같은 자리에 있고, 한쪽에만 있는 단어의 자리는 다른 쪽에서 비어 있습니다. 셋째 지도는 둘째에서 첫째를 뺀 것입니다.",
    compareNames: { sides: ["A", "B"], changed: ["전", "후"], tuned: ["전", "후"], edited: ["전", "후"], pinned: ["고정", "지금"] },
    compareMinus: ([first, second]) => `${second} − ${first}`,
    compareTitle: ([first, second]) => `지도: ${first}, ${second}, 그 차이`,
    compareGaps: "“−”는 첫째에만 있는 단어, “+”는 둘째에만 있는 단어, “|”는 서로 바뀐 단어를 나타냅니다. 빗금 친 칸은 빈자리입니다.",
    differenceScale: ([first, second]) => `주황: ‘${second}’ 쪽이 더 큼, 파랑: ‘${first}’ 쪽이 더 큼`,
    scaleBoth: "두 지도의 눈금은 같으며, 둘 가운데 가장 큰 가중치에서 끝납니다.",
    giveSecond: "비교할 둘째 문장을 입력하세요.",
    noCounterpart: (name) => `‘${name}’에는 이런 어텐션이 없습니다.`,
    otherKind: "고정한 상태는 다른 종류의 어텐션입니다. 견주어 보려면 같은 종류를 고르세요.",
    noSuchCell: "한쪽에 이 단어가 없습니다",
    littleShared: (shared, count) => `읽은 단어 ${count}개 가운데 ${shared}개만 같아서, 뺄 것이 없습니다.`,
    nothingShared: "양쪽에 다 있는 칸이 없습니다.",
    nothingChanged: "이 지도에서 0.05%p 넘게 달라진 가중치가 없습니다.",
    largestChange: (query, key, before, after, points, more, [first, second]) =>
      `이 지도에서 가장 크게 달라진 칸은 ${query} → ${key}입니다. ${first} ${before}%, ${second} ${after}%로 ${points}%p ${more ? "늘었습니다" : "줄었습니다"}.`,
    compareSays: {
      sides: {
        same: (text) => `A와 B의 출력은 모두 “${text}”입니다.`,
        wrote: (one, other) => `A의 출력은 “${one}”, B의 출력은 “${other}”입니다.`,
      },
      changed: {
        same: (text) => `바꾼 뒤에도 모델의 출력은 그대로 “${text}”입니다.`,
        wrote: (one, other) => `모델의 출력은 바꾸기 전 “${one}”, 바꾼 뒤 “${other}”입니다.`,
      },
      tuned: {
        same: (text) => `더 학습하기 전과 후 모두 모델의 출력은 “${text}”입니다.`,
        wrote: (one, other) => `모델의 출력은 더 학습하기 전 “${one}”, 후 “${other}”입니다.`,
      },
      edited: {
        same: (text) => `두 문장의 출력은 모두 “${text}”입니다.`,
        wrote: (one, other) => `페이지를 열었을 때의 문장은 출력이 “${one}”, 지금 문장은 “${other}”입니다.`,
      },
      pinned: {
        same: (text, _, writes, alike) => `고정한 ${alike ? "상태" : "문장"}의 출력도 지금과 같이 “${text}”입니다.`,
        wrote: (one, other, writes, alike) => `고정한 ${alike ? "상태" : "문장"}의 출력은 “${one}”, 지금의 출력은 “${other}”입니다.`,
      },
    },
    apartHeads: "헤드마다 달라진 정도",
    apartHeadsHelp: "양쪽에 다 있는 칸에서 헤드의 가중치가 달라진 크기(절댓값)의 평균이며 단위는 %p입니다(어텐션 전체가 100). 색이 뚜렷할수록 많이 달라졌고, 누르면 그 헤드를 보여 줍니다.",
    apartPoints: "평균 변화(%p)",
    apartByPlace: "층과 헤드 순서로 보기",
    apartBySize: "달라진 순서로 보기",
    headChanged: (count, name, most, least) => `헤드 ${count}개 가운데 가장 많이 달라진 것은 ${name}입니다. 가중치가 평균 ${most}%p 다릅니다. 가장 적게 달라진 헤드는 ${least}%p입니다.`,
    noHeadChanged: "가중치가 평균 0.05%p 넘게 달라진 헤드가 없습니다.",
    pin: "이 상태 고정",
    pinHelp: "이다음에 하는 모든 것을 이 상태와 견주어 봅니다.",
    unpin: "고정 해제",
    pinned: (text) => `고정: “${text}”`,
    pinComing: "고정한 상태를 다시 계산하고 있습니다…",
    pinLost: (text, why) => `이 링크에 고정된 상태(“${text}”)를 여기서는 되살릴 수 없습니다. ${why || "실시간 페이지(jumok look)가 필요하며, 이 페이지는 다른 입력을 담은 파일입니다."}`,
  },
};
