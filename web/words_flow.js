/** The texts of the whole model as a picture, in English and Korean. */

/**
 * @typedef {(part: string, layer: number, query: string, key: string, share: string) => string} Reads
 *
 * @satisfies {TextsWith<{
 *   flowLegend: (effects: boolean) => string,
 *   flowSays: Some<{ read: Reads, own: Reads, write: (word: string, layer: number, key: string, share: string) => string }>,
 * }>}
 */
export const FLOW = {
  en: {
    flow: "The whole model",
    flowHelp: "Words flow through the layers: a band is as thick as the attention weight (mean of the heads). A block opens its attention map, a word shows its way.",
    flowStage: "The whole model: the arrow keys step from word to word, the space bar plays",
    flowPicture: "Lanes of words from left to right through the layers, and bands between them",
    flowBlock: { encoder: "encoder", decoder: "decoder", image: "self-attention", cross: "cross-attention", fed: "feed-forward", recurrent: "recurrent encoder" },
    flowMemory: "Memory",
    flowWord: (word) => `The way of “${word}”`,
    flowLegend: (effects) => `Thickness: attention weight, mean of the heads; weights below 4 % are not drawn.${effects ? " Orange bars: the effect of ablating each head, on one scale." : ""}`,
    flowNumbers: "The numbers of this moment as a table",
    flowSays: {
      read: (part, layer, query, key, share) => `Reading: ${part}, layer ${layer}. The largest weight is that of ${query} on ${key}, ${share}.`,
      own: (part, layer, query, key, share) => `${part[0].toUpperCase()}${part.slice(1)}, layer ${layer}: ${query} attends most to ${key}, ${share}.`,
      write: (word, layer, key, share) => `“${word}” is being written. In layer ${layer} it attends most to ${key}, ${share}`,
      self: (key, share) => `; of what is there already, most to ${key}, ${share}`,
      probability: (share) => `. Its probability is ${share}.`,
      end: ".",
      label: (token, share) => `From all of it follows the label “${token}” with a probability of ${share}.`,
      gap: (word, token, share) => `At “${word}” the most probable token is “${token}”, ${share}.`,
      noGap: (word) => `Nothing is predicted at “${word}”: it is no gap.`,
    },
  },
  ko: {
    flow: "모델 전체",
    flowHelp: "단어가 층을 지나 흐릅니다. 띠의 굵기가 어텐션 가중치(헤드 평균)입니다. 블록을 누르면 그 어텐션 지도가, 단어를 누르면 그 단어의 길이 보입니다.",
    flowStage: "모델 전체. 화살표 키로 단어를 옮기고 스페이스 바로 재생합니다",
    flowPicture: "왼쪽에서 오른쪽으로 층을 지나는 단어들의 선과 그 사이의 띠",
    flowBlock: { encoder: "인코더", decoder: "디코더", image: "셀프 어텐션", cross: "크로스 어텐션", fed: "피드포워드", recurrent: "순환 인코더" },
    flowMemory: "메모리",
    flowWord: (word) => `“${word}”의 길`,
    flowLegend: (effects) => `굵기: 어텐션 가중치(헤드 평균). 4% 미만은 그리지 않습니다.${effects ? " 주황 막대: 헤드마다 절제했을 때의 영향. 눈금은 모두 같습니다." : ""}`,
    flowNumbers: "이 순간의 수치를 표로 보기",
    flowSays: {
      read: (part, layer, query, key, share) => `읽는 중: ${part} ${layer}층. 가장 큰 가중치는 ${query} → ${key} ${share}입니다.`,
      own: (part, layer, query, key, share) => `${part} ${layer}층: ${query} — 가장 많이 주목한 곳은 ${key}(${share})입니다.`,
      write: (word, layer, key, share) => `“${word}” — 이 단어를 쓰고 있습니다. ${layer}층에서 ${key}에 가장 많이 주목합니다(${share})`,
      self: (key, share) => `. 이미 있는 것 가운데서는 ${key}(${share})입니다`,
      probability: (share) => `. 확률은 ${share}입니다.`,
      end: ".",
      label: (token, share) => `이 모두에서 나온 레이블은 “${token}”, 확률은 ${share}입니다.`,
      gap: (word, token, share) => `“${word}” 자리에서 가장 확률이 높은 토큰은 “${token}”(${share})입니다.`,
      noGap: (word) => `“${word}” 자리는 빈칸이 아니므로 예측하지 않습니다.`,
    },
  },
};
