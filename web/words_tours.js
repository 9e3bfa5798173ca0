/** The texts of tours and games: their panels, and the sentences that are generated from the model's numbers. */

/**
 * An answer, with the change or the probability that is shown with it.
 *
 * @typedef {[answer: string | number, shown: string]} Answered
 *
 * @satisfies {TextsWith<{
 *   tourCount: (at: number, of: number) => string,
 *   tour: Some<{
 *     head: (head: string | number, layer: number, part: string) => string,
 *     agree: (same: number, of: number) => string,
 *     differs: (word: string, seen: string[], used: string[]) => string,
 *     mask: (counts: { rows: number, columns: number, forbidden: number, share: string, first: number, last: number }) => string,
 *     vectors: (count: number, size: number) => string,
 *   }>,
 *   gameCount: (at: number, of: number) => string,
 *   gameScore: (right: number, of: number) => string,
 *   gamePost: (right: number, of: number, title: string) => string,
 *   games: {
 *     look: PageText,
 *     which: Some<{ map: (places: string[]) => string }>,
 *     head: Some<{ says: (heads: Pair<Answered>, output: string) => string }>,
 *     next: Some<{ ask: Some<{ gaps: (before: string, gap: number) => string }>, says: (best: Answered, guess: Answered) => string }>,
 *   },
 * }>}
 */
export const TOURS = {
  en: {
    tours: "Tours",
    toursTitle: "Tours",
    gamesTitle: "Guess first, then see",
    tourCount: (at, of) => `${at} of ${of}`,
    tourBack: "Back",
    tourNext: "Next",
    tourEnd: "End",
    tourMissing: (views) => `This tour needs views that this page does not have: ${views}.`,
    tour: {
      head: (head, layer, part) => `${typeof head === "number" ? `head ${head}` : head} of layer ${layer} in the ${part}`,
      mean: "the mean of all heads",
      max: "the largest weights of all heads",
      strongest: (head, output, change) => `The output depends most on ${head}: without it, “${output}” is ${change}.`,
      weakest: (head, output, change) => `The output depends least on ${head}: without it, “${output}” is ${change}.`,
      switched: (after, before) => (after === before ? `With the ablation, the output is still “${before}”.` : `With the ablation, the output is “${after}” instead of “${before}”.`),
      saved: "This is a saved page, in which nothing is computed again: in a live page (jumok look MODEL) a click ablates a head.",
      agree: (same, of) => `For ${same} of ${of} words, the word with the largest attention weight is also the one whose occlusion costs most.`,
      same: (word, key, share, change) => `For every word of this text the two agree. “${word}” gave “${key}” ${share} of its attention; without “${key}” it is ${change}.`,
      differs: (word, [seen, share, without], [used, change]) => `They differ most for “${word}”: it gave “${seen}” ${share} of its attention, and without “${seen}” it is ${without}; without “${used}” it is ${change}.`,
      mask: ({ rows, columns, forbidden, share, first, last }) => `The mask forbids ${forbidden} of the ${rows} × ${columns} pairs of query and key here (${share}): the first query may attend to ${keys(first)}, the last one to ${keys(last)}.`,
      vectors: (count, size) => `Here the decoder can attend to ${count} vectors of ${size} numbers (${(count * size).toLocaleString("en")} in all), and each step makes one context vector of ${size} numbers from them.`,
    },
    gameCount: (at, of) => `question ${at} of ${of}`,
    gameNext: "Next question",
    gameScore: (right, of) => `${right} of ${of} right`,
    gameCopy: "Copy the result",
    gameCopied: "Copied",
    gamePost: (right, of, title) => `${right} of ${of} – ${title}`,
    gameRight: "Right.",
    gameWrong: "Not this one.",
    gameNothing: "There is nothing to guess in this text.",
    games: {
      look: {
        title: "Which word did it attend to?",
        about: "Guess the word with the largest attention weight, then see the bands.",
        ask: {
          writes: (word) => `When “${word}” was written, which word did the model attend to most?`,
          reads: (word) => `While reading “${word}”, which word did the model attend to most?`,
          self: (word) => `Which word did “${word}” attend to most?`,
        },
      },
      which: {
        title: "Which word was it?",
        about: "See where the model attended, guess the word that it was writing, then see.",
        ask: "The image is bright where the model attended. Which word of the caption was it writing?",
        map: (places) => `The image as this word attended to it. Strongest: ${places.join("; ")}.`,
        shared: (word, percent) => `The map of “${word}” has ${percent} of its weight in the same places.`,
      },
      head: {
        title: "What if this head is ablated?",
        about: "Guess which head the output depends on most, then see every effect.",
        ask: (module, output) => `${module}: without which one of these heads would “${output}” become least probable?`,
        says: ([[best, change], [guess, other]], output) => `Without head ${best}, “${output}” is ${change}${best === guess ? "." : `; without head ${guess}, it is ${other}.`}`,
      },
      next: {
        title: "What does the model predict?",
        about: "Guess the most probable token, label or gap, then see the probabilities.",
        ask: {
          text: (before) => (before ? `After “${before}”: which token is the most probable next one for the model?` : "Which token is the most probable first one for the model?"),
          gaps: (_, gap) => `Which token is the most probable one for the model in gap ${gap} of the input?`,
          label: () => "Which label is the most probable one for the model?",
        },
        says: ([best, chance], [guess, other]) => `The most probable one is “${best}” (${chance})${best === guess && chance === other ? "." : `; “${guess}” has ${other}.`}`,
      },
    },
  },
  ko: {
    tours: "둘러보기",
    toursTitle: "둘러보기",
    gamesTitle: "먼저 맞혀 보고 확인하기",
    tourCount: (at, of) => `${of}단계 중 ${at}단계`,
    tourBack: "이전",
    tourNext: "다음",
    tourEnd: "끝내기",
    tourMissing: (views) => `이 둘러보기에 필요한 화면이 이 페이지에는 없습니다: ${views}.`,
    tour: {
      head: (head, layer, part) => `${part} ${layer}층의 ${typeof head === "number" ? `헤드 ${head}` : head}`,
      mean: "모든 헤드의 평균",
      max: "모든 헤드의 최댓값",
      strongest: (head, output, change) => `출력에 영향이 가장 큰 헤드는 ${head}입니다. 이 헤드가 없으면 “${output}”의 ${change}`,
      weakest: (head, output, change) => `영향이 가장 작은 헤드는 ${head}입니다. 이 헤드가 없으면 “${output}”의 ${change}`,
      switched: (after, before) => (after === before ? `헤드를 절제해도 출력은 그대로입니다: “${before}”.` : `헤드를 절제하면 출력이 바뀝니다: “${before}” → “${after}”.`),
      saved: "이 페이지는 저장된 파일이어서 다시 계산하지 않습니다. 실시간 페이지(jumok look MODEL)에서는 헤드를 눌러 절제할 수 있습니다.",
      agree: (same, of) => `단어 ${of}개 가운데 ${same}개에서, 가장 많이 주목한 단어가 가렸을 때 영향이 가장 큰 단어이기도 합니다.`,
      same: (word, key, share, change) => `이 텍스트에서는 모든 단어에서 둘이 일치합니다. “${word}” — 이 단어는 “${key}”에 ${tight(share)}만큼 주목했습니다. “${key}” 없이는 이 단어의 ${change}`,
      differs: (word, [seen, share, without], [used, change]) => `둘이 가장 크게 다른 단어는 “${word}”입니다. “${seen}”에 ${tight(share)}만큼 주목했는데, “${seen}” 없이는 ${without} “${used}” 없이는 ${change}`,
      mask: ({ rows, columns, forbidden, share, first, last }) => `여기서 마스크는 쿼리와 키의 쌍 ${rows} × ${columns}개 가운데 ${forbidden}개(${tight(share)})를 막습니다. 첫 쿼리는 키 ${first}개에, 마지막 쿼리는 키 ${last}개에 주목할 수 있습니다.`,
      vectors: (count, size) => `여기서 디코더는 수 ${size}개로 된 벡터 ${count}개(모두 ${(count * size).toLocaleString("ko")}개의 수)에 주목할 수 있고, 단계마다 그것으로 수 ${size}개짜리 문맥 벡터 하나를 만듭니다.`,
    },
    gameCount: (at, of) => `${of}문제 중 ${at}번`,
    gameNext: "다음 문제",
    gameScore: (right, of) => `${of}문제 중 ${right}문제를 맞혔습니다`,
    gameCopy: "결과 복사",
    gameCopied: "복사했습니다",
    gamePost: (right, of, title) => `${of}문제 중 ${right}문제 – ${title}`,
    gameRight: "맞았습니다.",
    gameWrong: "아닙니다.",
    gameNothing: "이 텍스트에는 맞힐 문제가 없습니다.",
    games: {
      look: {
        title: "어느 단어에 주목했을까?",
        about: "가중치가 가장 큰 단어를 맞힌 다음, 띠로 확인합니다.",
        ask: {
          writes: (word) => `“${word}” — 모델은 이 단어를 쓸 때 어느 단어에 가장 많이 주목했을까요?`,
          reads: (word) => `“${word}” — 모델은 이 단어를 읽을 때 어느 단어에 가장 많이 주목했을까요?`,
          self: (word) => `“${word}” — 이 단어는 어느 단어에 가장 많이 주목했을까요?`,
        },
      },
      which: {
        title: "어느 단어를 쓸 때였을까?",
        about: "모델이 주목한 곳을 보고 어느 단어를 쓸 때였는지 맞힌 다음, 확인합니다.",
        ask: "모델이 주목한 곳이 밝습니다. 캡션의 어느 단어를 쓸 때였을까요?",
        map: (places) => `이 단어를 쓸 때 모델이 주목한 곳. 가장 강한 곳: ${places.join("; ")}.`,
        shared: (word, percent) => `“${word}” — 이 단어를 쓸 때의 지도와는 가중치의 ${tight(percent)}만큼 겹칩니다.`,
      },
      head: {
        title: "이 헤드를 절제하면?",
        about: "출력에 영향이 가장 큰 헤드를 맞힌 다음, 모든 헤드의 영향을 봅니다.",
        ask: (module, output) => `${module}: 이 가운데 어느 헤드가 없을 때 “${output}”의 확률이 가장 낮아질까요?`,
        says: ([[best, change], [guess, other]], output) => `헤드 ${best} 없이는 “${output}”의 ${change}${best === guess ? "" : ` 헤드 ${guess} 없이는 ${other}`}`,
      },
      next: {
        title: "모델은 무엇을 예측할까?",
        about: "확률이 가장 높은 토큰이나 레이블을 맞힌 다음, 확률을 봅니다.",
        ask: {
          text: (before) => (before ? `“${before}” 다음에 올 토큰으로 모델이 가장 높은 확률을 준 것은 무엇일까요?` : "첫 토큰으로 모델이 가장 높은 확률을 준 것은 무엇일까요?"),
          gaps: (_, gap) => `입력의 빈칸 ${gap}에 모델이 가장 높은 확률을 준 토큰은 무엇일까요?`,
          label: () => "모델이 가장 높은 확률을 준 레이블은 무엇일까요?",
        },
        says: ([best, chance], [guess, other]) => `확률이 가장 높은 것은 “${best}”(${tight(chance)})입니다.${best === guess && chance === other ? "" : ` “${guess}”의 확률은 ${tight(other)}입니다.`}`,
      },
    },
  },
};

/** @param {number} count */
function keys(count) {
  return count === 1 ? "1 key" : `${count} keys`;
}

/** A percentage as it is written in Korean. @param {string} percent */
function tight(percent) {
  return percent.replace(" ", "");
}
