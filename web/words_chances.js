/** The texts of the sliders over predictions. */

/** @satisfies {TextsWith<{ chancesNote: (kind: "own" | "exact" | "range", count: number) => string }>} */
export const CHANCES = {
  en: {
    chanceSliders: { temperature: "Temperature", topK: "Top-k", topP: "Top-p" },
    allTokens: "all",
    draw: "Sample",
    drawn: (tokens) => `Drawn, each after what the model wrote before it: ${tokens}`,
    goOnFrom: (token) => `Continue from “${token}”`,
    chancesNote: (kind, count) => ({
      own: "These are the model's own probabilities.",
      exact: "Exact: they follow from the recorded probabilities.",
      range: `The page holds the ${count} most probable tokens of each step, and only sums of the rest. Where top-p goes beyond them, or where these sums are missing, a range is shown: it holds the probability. With a top-k of at most ${count} everything is exact, and can be drawn from.`,
    })[kind],
  },
  ko: {
    chanceSliders: { temperature: "온도", topK: "Top-k", topP: "Top-p" },
    allTokens: "전부",
    draw: "뽑기",
    drawn: (tokens) => `뽑은 토큰(단계마다 모델이 앞서 쓴 것 다음에서): ${tokens}`,
    goOnFrom: (token) => `“${token}”부터 이어 쓰기`,
    chancesNote: (kind, count) => ({
      own: "모델이 계산한 확률 그대로입니다.",
      exact: "기록된 확률로 정확히 계산한 값입니다.",
      range: `이 페이지에는 단계마다 확률이 가장 높은 토큰 ${count}개가 들어 있고, 나머지는 합만 들어 있습니다. Top-p가 그 너머까지 이르거나 합이 없으면 범위로 적었고, 실제 확률은 그 안에 있습니다. Top-k를 ${count} 이하로 두면 모두 정확하고, 뽑아 볼 수 있습니다.`,
    })[kind],
  },
};
