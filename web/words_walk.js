/** The texts of the walk, in English and Korean: each operation with its symbol and one sentence. */

/**
 * @typedef {Some<{
 *   playerMoment: (at: number, count: number) => string,
 *   walkLegend: (scales: import("./walk/strips.js").Scale[]) => string,
 *   walkHeld: (count: number, rows: number, limit: number) => string,
 *   walkOthers: (count: number) => string,
 *   walkSays: import("./walk/sentences.js").Says,
 * }>} WalkTexts
 */

export const number = (/** @type {number} */ value, digits = 3) => (Number.isFinite(value) ? value.toFixed(digits).replace("-", "−") : "−∞");

/** A number that is added: its sign is the operation's. */
const plus = (/** @type {number} */ value) => `${value < 0 ? "−" : "+"} ${number(Math.abs(value))}`;

/** A number with its particle, which depends on how its last digit is read: 영 일 이 삼 사 오 육 칠 팔 구. @param {number} value @param {"을" | "은" | "로"} particle */
function with_(value, particle) {
  const said = number(value);
  const digit = Number(said.at(-1));
  const final = "1101001110"[digit] === "1";
  if (particle === "로") return `${said}${final && ![1, 7, 8].includes(digit) ? "으로" : "로"}`;
  return `${said}${{ 을: final ? "을" : "를", 은: final ? "은" : "는" }[particle]}`;
}

const percent = (/** @type {number} */ share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;

/** @satisfies {WalkTexts} */
const EN = {
  walk: "The walk",
  walkHelp: "One word on its way through the model, with the model's own numbers. Play it, or move with the buttons or the arrow keys.",
  walkStill: "Your system asks for less motion, so nothing moves by itself: use the steps.",
  walkQuery: "Word", walkCell: "Cell",
  player: "Play and step", playerFirst: "To the beginning", playerBack: "Step back", playerPlay: "Play", playerPause: "Pause", playerNext: "Step forward",
  playerSpeed: "Speed", playerAt: "Moment", playerMoment: (at, count) => `${at} of ${count}`,
  walkPath: "Stages", walkStage: "The vectors of this moment: the arrow keys step, the space bar plays",
  walkLegend: (scales) => `negative, zero, positive; the ends of the colours are ${scales.map(({ name, most }) => `±${number(most, 2)} for ${name}`).join(", ")}`,
  walkTable: "All keys as a table", walkVectors: "All vectors as numbers",
  walkHeld: (count, rows, limit) => `This page holds the whole way for ${count} of ${rows} positions of this layer, because it keeps at most ${limit} KiB of vectors. For this position it shows the attention only; the live page (jumok look) shows all of it.`,
  walkNone: "This trace has no vectors around the attention: the walk shows the attention only. The live page (jumok look MODEL TEXT) shows all of it.",
  walkKind: (kind) => `The scores of this module (${kind}) cannot be recomputed from the vectors, so the walk begins with the recorded weights.`,
  walkOn: (name) => `Continue in ${name}`,
  walkOthers: (count) => `${count} others`,
  walkCells: "the keys in the image: the larger the weight, the brighter",
  walkNames: { state: "state", input: "x", query: "query", output: "attention adds", residual: "sum", norm: "norm", mixed: "all heads",
    hidden: "hidden units", fed: "feed-forward adds", fedSum: "sum", fedNormed: "norm", sum: "z", context: "context", product: "q · k", score: "score", power: "e^(score − max)",
    weight: "weight", value: "weight × value", key: "key", cell: "new state", known: "state, context, word", knownLuong: "state, context", shown: "output h", logit: "logit", probability: "probability",
    before: "state before", length: "length" },
  walkStages: { state: "state", query: "query", keys: "keys", scores: "scores", softmax: "softmax", weights: "weights", sum: "weighted sum", cell: "new state",
    output: "output", norm: "norm", feed: "feed-forward", logits: "logits", next: "prediction", end: "onward" },
  walkSays: {
    state: ({ writes, read, next, label, width, layer, recurrent }) => recurrent
      ? `“${read}” is being read, and “${next}” will be written. So far the decoder remembers the sentence as its state s: ${width} numbers.`
      : writes
        ? `“${read}” has been read, and the model is about to write “${next}”. What it knows so far enters here, in layer ${layer}, as the state s: ${width} numbers.`
        : `${label ? "The cell" : "The token"} “${read}” enters layer ${layer} as its state s: ${width} numbers.`,
    input: ({ mean, spread, rms }) => rms === null
      ? `Before it is compared, the state is normalized: minus its mean ${number(mean)}, divided by its standard deviation ${number(spread)}, then the learned scale and shift. The result is x.`
      : `Before it is compared, the state is normalized: divided by its root mean square ${number(rms)}, then multiplied by the learned scale. The result is x.`,
    query: ({ read, width, dim, head, heads, biased, rotary, additive, cosine, linear, known, direct, recurrence }) => recurrence
      ? `The forget gate of “${read}”: a learned matrix and a sigmoid turn x into ${dim} numbers from 0 to 1. The state keeps this share of each dimension.`
      : direct
      ? `The state itself is the query of “${read}”: ${dim} numbers, without a matrix.`
      : `The query of “${read}” asks what it needs: ${known ? `x times the learned matrix ${additive ? "W" : "W_Q"}${biased ? ", plus a bias," : ""} turns ${width} numbers into ${dim}` : `${dim} numbers`}${heads > 1 ? `, those of head ${head}` : ""}.${rotary ? " Then it is rotated by its position." : ""}${cosine ? " It is brought to one length, so that only its direction counts." : ""}${linear ? " All are made positive (elu + 1)." : ""}`,
    keys: ({ count, additive, same, recurrence, shared }) => recurrence
      ? "What lets a word into the state is one minus its own forget gate."
      : same
      ? `The ${count} states of the Memory are themselves the keys.`
      : `Each of the ${count} positions offers a key, made in the same way with ${additive ? "the matrix U" : "the matrix W_K"}: what can be found there.${shared ? ` These keys are shared by ${shared.sharing} heads, ${shared.first} to ${shared.last}.` : ""}`,
    products: ({ name, product, dim, additive, cosine }) => additive
      ? `“${name}”: query and key are added, bent by tanh and weighted by v; the ${dim} numbers sum up to ${number(product)}.`
      : `“${name}”: the query times its key, number by number; the ${dim} products sum up to ${number(product)}${product > 0 ? ": they point the same way" : ": they point away from each other"}${cosine ? ", the cosine divided by the temperature" : ""}.`,
    productsOthers: ({ count, least, most }) => `The same for the ${count} other keys: their sums lie between ${number(least)} and ${number(most)}.`,
    scale: ({ scale, root, name, product, scaled }) => `${root ? `Every sum is divided by √${root} = ${number(Math.sqrt(root))}` : `Every sum is multiplied by ${number(scale)}`}, so that it does not grow with the width: for “${name}” ${number(product)} becomes ${number(scaled)}.`,
    cap: ({ cap, name, scaled, capped }) => `The soft cap keeps every score within ±${cap}: ${cap} · tanh(score / ${cap}) makes ${number(scaled)} of “${name}” into ${number(capped)}.`,
    bias: ({ name, capped, bias, score }) => `A bias for the distance is added: for “${name}” ${number(capped)} ${plus(bias)} = ${number(score)}.`,
    mask: ({ hidden, count }) => hidden
      ? `The mask hides ${hidden} of the ${count} keys, which this query may not see: their score becomes −∞.`
      : `The mask hides nothing here: this query may attend to all ${count} keys.`,
    exp: ({ top, sum, sink }) => `Softmax, first half: e to the power of each score minus the largest, ${number(top)}. The largest becomes 1, the others less; they sum up to ${number(sum)}${sink ? ", the head's sink included" : ""}.`,
    weights: ({ name, power, sum, weight, redone, linear }) => !redone
      ? `The recorded weights: “${name}” gets the most, ${number(weight)}, which is ${percent(weight)}.`
      : linear
        ? `No softmax here: each product is divided by the sum of all. “${name}” gets ${number(power)} / ${number(sum)} = ${number(weight)}, which is ${percent(weight)}.`
        : `Softmax, second half: each is divided by the sum. “${name}” gets ${number(power)} / ${number(sum)} = ${number(weight)}, which is ${percent(weight)} of the attention.`,
    sum: ({ name, weight, sofar, recurrence }) => recurrence
      ? `The input of “${name}” is added to the state z, each dimension times its own weight: what let the word in, times all forget gates since. Their mean is ${number(weight)}; so far ${percent(sofar)}, and the rest is the empty state's.`
      : `${number(weight)} × the value of “${name}” is added to the result z. So far ${percent(sofar)} of the attention is spent.`,
    sumOthers: ({ count, weight, sofar }) => `The ${count} other keys share ${number(weight)} of the weight; their values are added, too. Now ${percent(sofar)} of the attention is spent.`,
    result: ({ name, weight, count, width }) => `Of ${count} keys “${name}” has the largest weight, ${number(weight)} (${percent(weight)}). The values, each times its weight, add up to the result z: ${width} numbers.`,
    mixed: ({ heads, head, width }) => heads > 1
      ? `What all ${heads} heads found lies side by side, ${width} numbers; head ${head}, whose way this was, is framed.`
      : `What the attention found: ${width} numbers.`,
    output: ({ width, length, biased, recurrence }) => recurrence
      ? `What is negative in the state becomes 0 (ReLU): what the recurrence adds, ${width} numbers, a vector of length ${number(length)}.`
      : `The output matrix W_O${biased ? " and its bias mix" : " mixes"} the heads into ${width} numbers: what the attention adds, a vector of length ${number(length)}.`,
    residual: ({ a, b, c, gate }) => gate === null
      ? `It is added to the state, number by number. The first: ${number(a)} ${plus(b)} = ${number(c)}. Nothing is lost: the old state is still in the sum.`
      : `It is multiplied by the learned gate ${number(gate)} and added. The first number: ${number(a)} + ${number(gate)} × ${number(b)} = ${number(c)}.`,
    norm: ({ mean, spread, rms, name, layer, cross }) => `${norm(mean, spread, rms, name)}${cross ? ` This is what the cross-attention of layer ${layer} reads.` : ""}`,
    hidden: ({ width, active }) => `The feed-forward layer looks for ${width} patterns in it: ${active} of its ${width} hidden units are above 0.`,
    fed: ({ width, length }) => `A second matrix turns the active units back into ${width} numbers: what the feed-forward layer adds, a vector of length ${number(length)}.`,
    fedSum: ({ a, b, c }) => `It is added, too. The first number: ${number(a)} ${plus(b)} = ${number(c)}.`,
    fedNormed: ({ mean, spread, rms, name }) => norm(mean, spread, rms, name),
    cell: ({ word, width, gate, luong }) => luong
      ? `The state s of this step, ${width} numbers, is what asked; z is the context that it found.`
      : `The context z${gate === null ? "" : `, times its gate ${number(gate)},`} and the word that is read (${word} numbers) go into the recurrent cell, which makes the new state: ${width} numbers.`,
    known: ({ width, parts }) => `State, context${parts > 2 ? " and word" : ""} lie side by side: ${width} numbers from which the next word is predicted.`,
    shown: ({ width }) => `One more layer with tanh makes ${width} numbers of them: h, each between −1 and 1.`,
    logits: ({ count, token, logit, pooled, gaps }) => `${pooled ? "All positions together, after the rest of the network, give one vector; it" : gaps ? "After one more layer, the vector" : "The vector"} is multiplied with the output vector of each of the ${count.toLocaleString("en")} ${pooled ? "labels" : "entries of the vocabulary"}. The largest of these logits is that of “${token}”, ${number(logit)}.`,
    next: ({ token, logit, logZ, probability, written, writtenProbability }) => `Softmax once more: p(“${token}”) = e^(${number(logit)} − ${number(logZ)}) = ${number(probability)}, where ${number(logZ)} is the logarithm of the sum over all.${written === null ? "" : ` The output has “${written}” here, with ${number(writtenProbability)}.`}`,
    end: ({ part, layer, more, memory }) => more ? `The vector goes into ${part} of layer ${layer}.` : memory
      ? "This was the last layer: the vector becomes a row of the Memory, which the decoder's cross-attention reads." : "This is what the model makes of it here; nothing is predicted from it directly.",
  },
};

/** @param {number} mean @param {number} spread @param {number | null} rms @param {string} name */
function norm(mean, spread, rms, name) {
  if (rms !== null) return `It is normalized: divided by its root mean square ${number(rms)}, then multiplied by the learned scale.`;
  if (name && name !== "LayerNorm") return `It is normalized (${name}).`;
  return `It is normalized: minus its mean ${number(mean)}, divided by its standard deviation ${number(spread)}, then the learned scale and shift.`;
}

/** @satisfies {WalkTexts} */
const KO = {
  walk: "따라가기",
  walkHelp: "단어 하나가 모델을 지나가는 길을 모델의 실제 숫자로 따라갑니다. 재생하거나, 버튼이나 화살표 키로 한 단계씩 넘기세요.",
  walkStill: "시스템에서 움직임 줄이기를 켜 두었으므로 저절로 움직이지 않습니다. 단계 버튼을 쓰세요.",
  walkQuery: "단어", walkCell: "칸",
  player: "재생과 단계", playerFirst: "처음으로", playerBack: "한 단계 뒤로", playerPlay: "재생", playerPause: "일시 정지", playerNext: "한 단계 앞으로",
  playerSpeed: "속도", playerAt: "순간", playerMoment: (at, count) => `${count}단계 중 ${at}`,
  walkPath: "단계", walkStage: "이 순간의 벡터. 화살표 키로 넘기고 스페이스 바로 재생합니다",
  walkLegend: (scales) => `음수, 0, 양수. 색의 양 끝은 ${scales.map(({ name, most }) => `${name} ±${number(most, 2)}`).join(", ")}입니다`,
  walkTable: "모든 키를 표로 보기", walkVectors: "모든 벡터를 숫자로 보기",
  walkHeld: (count, rows, limit) => `이 페이지에는 벡터를 ${limit} KiB까지만 담으므로 이 층에서는 ${rows}개 위치 중 ${count}개만 전체 길이 들어 있습니다. 이 위치에서는 어텐션만 보여 줍니다. 실시간 페이지(jumok look)에서는 모두 볼 수 있습니다.`,
  walkNone: "이 트레이스에는 어텐션 앞뒤의 벡터가 없어서 어텐션만 보여 줍니다. 실시간 페이지(jumok look MODEL TEXT)에서는 모두 볼 수 있습니다.",
  walkKind: (kind) => `이 모듈의 점수(${kind})는 벡터로 다시 계산할 수 없으므로 기록된 가중치부터 시작합니다.`,
  walkOn: (name) => `이어서 보기: ${name}`,
  walkOthers: (count) => `나머지 ${count}개`,
  walkCells: "이미지 안의 키. 가중치가 클수록 밝습니다",
  walkNames: { state: "상태", input: "x", query: "쿼리", output: "어텐션이 더하는 것", residual: "합", norm: "정규화", mixed: "모든 헤드",
    hidden: "은닉 유닛", fed: "피드포워드가 더하는 것", fedSum: "합", fedNormed: "정규화", sum: "z", context: "문맥", product: "q · k", score: "점수", power: "e^(점수 − 최대)",
    weight: "가중치", value: "가중치 × 값(value)", key: "키", cell: "새 상태", known: "상태, 문맥, 단어", knownLuong: "상태, 문맥", shown: "출력 h", logit: "로짓", probability: "확률",
    before: "앞의 상태", length: "길이" },
  walkStages: { state: "상태", query: "쿼리", keys: "키", scores: "점수", softmax: "소프트맥스", weights: "가중치", sum: "가중합", cell: "새 상태",
    output: "출력", norm: "정규화", feed: "피드포워드", logits: "로짓", next: "예측", end: "다음" },
  walkSays: {
    state: ({ writes, read, next, label, width, layer, recurrent }) => recurrent
      ? `“${read}” 토큰을 읽는 중이고 다음에 쓸 것은 “${next}”입니다. 디코더는 지금까지의 문장을 상태 s, 곧 숫자 ${width}개로 기억합니다.`
      : writes
        ? `“${read}” 토큰까지 읽었고 이제 “${next}” 토큰을 쓰려고 합니다. 지금까지 아는 것이 ${layer}층에 상태 s로 들어옵니다. 숫자 ${width}개입니다.`
        : `${label ? "칸" : "토큰"} “${read}”의 상태 s가 ${layer}층에 들어옵니다. 숫자 ${width}개입니다.`,
    input: ({ mean, spread, rms }) => rms === null
      ? `비교하기 전에 상태를 정규화합니다. 평균 ${with_(mean, "을")} 빼고 표준편차 ${with_(spread, "로")} 나눈 다음, 학습된 배율과 이동을 적용한 것이 x입니다.`
      : `비교하기 전에 상태를 정규화합니다. 제곱평균제곱근 ${with_(rms, "로")} 나누고 학습된 배율을 곱한 것이 x입니다.`,
    query: ({ read, width, dim, head, heads, biased, rotary, additive, cosine, linear, known, direct, recurrence }) => recurrence
      ? `“${read}”의 망각 게이트: x에 학습된 행렬을 곱하고 시그모이드를 거치면 0에서 1 사이의 숫자 ${dim}개가 됩니다. 상태의 차원마다 이만큼이 남습니다.`
      : direct
      ? `상태가 그대로 “${read}”의 쿼리입니다. 행렬 없이 숫자 ${dim}개입니다.`
      : `“${read}”의 쿼리는 무엇이 필요한지 묻습니다. ${known ? `x에 학습된 행렬 ${additive ? "W" : "W_Q"}를 곱하${biased ? "고 편향을 더하" : ""}면 숫자 ${width}개가 ${dim}개가 됩니다` : `숫자 ${dim}개입니다`}${heads > 1 ? `(헤드 ${head})` : ""}.${rotary ? " 그다음 위치만큼 회전합니다." : ""}${cosine ? " 길이를 하나로 맞추어 방향만 남깁니다." : ""}${linear ? " 모두 양수로 만듭니다(elu + 1)." : ""}`,
    keys: ({ count, additive, same, recurrence, shared }) => recurrence
      ? "단어가 상태에 들어가는 정도는 1에서 자신의 망각 게이트를 뺀 값입니다."
      : same
      ? `메모리(Memory)의 상태 ${count}개가 그대로 키입니다.`
      : `${count}개 위치가 저마다 키를 내놓습니다. ${additive ? "행렬 U" : "행렬 W_K"}로 같은 방식으로 만들며, 그곳에 무엇이 있는지 알려 줍니다.${shared ? ` 이 키는 헤드 ${shared.sharing}개(${shared.first}~${shared.last})가 함께 씁니다.` : ""}`,
    products: ({ name, product, dim, additive, cosine }) => additive
      ? `“${name}”: 쿼리와 키를 더하고 tanh를 거쳐 v로 가중합니다. 숫자 ${dim}개의 합은 ${number(product)}입니다.`
      : `“${name}”: 쿼리와 키를 성분끼리 곱합니다. 곱 ${dim}개의 합은 ${number(product)}, ${product > 0 ? "두 벡터의 방향이 비슷합니다" : "두 벡터의 방향이 서로 다릅니다"}.${cosine ? " 코사인을 온도로 나눈 값입니다." : ""}`,
    productsOthers: ({ count, least, most }) => `나머지 키 ${count}개도 같습니다. 합은 ${number(least)}에서 ${number(most)} 사이입니다.`,
    scale: ({ scale, root, name, product, scaled }) => `${root ? `모든 합을 √${root} = ${with_(Math.sqrt(root), "로")} 나눕니다` : `모든 합에 ${with_(scale, "을")} 곱합니다`}. 차원이 늘어도 점수가 커지지 않게 하기 위해서입니다. “${name}”의 ${number(product)} → ${number(scaled)}.`,
    cap: ({ cap, name, scaled, capped }) => `소프트 캡은 점수를 ±${cap} 안에 둡니다. ${cap} · tanh(점수 / ${cap})에 따라 “${name}”의 ${number(scaled)} → ${number(capped)}.`,
    bias: ({ name, capped, bias, score }) => `거리에 따른 편향을 더합니다. “${name}”: ${number(capped)} ${plus(bias)} = ${number(score)}.`,
    mask: ({ hidden, count }) => hidden
      ? `마스크는 키 ${count}개 중 이 쿼리가 볼 수 없는 ${hidden}개를 가립니다. 그 점수는 −∞가 됩니다.`
      : `여기서는 마스크가 아무것도 가리지 않습니다. 이 쿼리는 키 ${count}개 모두에 주목할 수 있습니다.`,
    exp: ({ top, sum, sink }) => `softmax의 앞부분: e의 (점수 − 가장 큰 점수 ${number(top)}) 제곱을 구합니다. 가장 큰 것은 1, 나머지는 그보다 작고, 합은 ${number(sum)}입니다${sink ? "(헤드의 싱크 포함)" : ""}.`,
    weights: ({ name, power, sum, weight, redone, linear }) => !redone
      ? `기록된 가중치입니다. “${name}”의 가중치가 ${number(weight)}, 곧 ${percent(weight)}로 가장 큽니다.`
      : linear
        ? `여기에는 softmax가 없습니다. 곱을 모두의 합으로 나눕니다. “${name}”: ${number(power)} / ${number(sum)} = ${number(weight)}, 곧 ${percent(weight)}.`
        : `softmax의 뒷부분: 각각을 합으로 나눕니다. “${name}”: ${number(power)} / ${number(sum)} = ${number(weight)}, 곧 ${percent(weight)}입니다.`,
    sum: ({ name, weight, sofar, recurrence }) => recurrence
      ? `“${name}”의 입력을 상태 z에 더합니다. 차원마다 가중치가 다르며, 단어가 들어온 정도에 그 뒤의 망각 게이트를 모두 곱한 값입니다. 가중치의 평균은 ${number(weight)}, 지금까지의 합은 ${percent(sofar)}이고 나머지는 빈 상태의 몫입니다.`
      : `“${name}”의 값(value)에 ${with_(weight, "을")} 곱해 결과 z에 더합니다. 지금까지 더한 가중치의 합은 ${percent(sofar)}입니다.`,
    sumOthers: ({ count, weight, sofar }) => `나머지 키 ${count}개의 가중치는 모두 ${number(weight)}입니다. 그 값(value)들도 더합니다. 지금까지 더한 가중치의 합은 ${percent(sofar)}입니다.`,
    result: ({ name, weight, count, width }) => `키 ${count}개 중 “${name}”의 가중치가 ${number(weight)}(${percent(weight)})로 가장 큽니다. 값(value)마다 가중치를 곱해 모두 더한 것이 결과 z, 곧 숫자 ${width}개입니다.`,
    mixed: ({ heads, head, width }) => heads > 1
      ? `헤드 ${heads}개의 출력을 이어 붙이면 숫자 ${width}개입니다. 지금까지 따라온 헤드 ${head}에 테두리가 있습니다.`
      : `어텐션의 출력, 숫자 ${width}개입니다.`,
    output: ({ width, length, biased, recurrence }) => recurrence
      ? `상태에서 음수인 것은 0이 됩니다(ReLU). 순환 층이 더하는 숫자 ${width}개이며, 벡터의 길이는 ${number(length)}입니다.`
      : `출력 행렬 W_O${biased ? "와 편향으로" : "로"} 헤드들을 섞어 숫자 ${width}개로 만듭니다. 어텐션이 더하는 벡터이며 길이는 ${number(length)}입니다.`,
    residual: ({ a, b, c, gate }) => gate === null
      ? `이것을 상태에 성분끼리 더합니다. 첫째 성분: ${number(a)} ${plus(b)} = ${number(c)}. 앞의 상태는 합 속에 그대로 남습니다.`
      : `학습된 게이트 ${with_(gate, "을")} 곱해 더합니다. 첫째 성분: ${number(a)} + ${number(gate)} × ${number(b)} = ${number(c)}.`,
    norm: ({ mean, spread, rms, name, layer, cross }) => `${normKo(mean, spread, rms, name)}${cross ? ` ${layer}층의 크로스 어텐션이 이것을 읽습니다.` : ""}`,
    hidden: ({ width, active }) => `피드포워드 층은 여기서 패턴 ${width}가지를 찾습니다. 은닉 유닛 ${width}개 중 ${active}개가 0보다 큽니다.`,
    fed: ({ width, length }) => `둘째 행렬이 이것을 다시 숫자 ${width}개로 만듭니다. 피드포워드 층이 더하는 벡터이며 길이는 ${number(length)}입니다.`,
    fedSum: ({ a, b, c }) => `이것도 더합니다. 첫째 성분: ${number(a)} ${plus(b)} = ${number(c)}.`,
    fedNormed: ({ mean, spread, rms, name }) => normKo(mean, spread, rms, name),
    cell: ({ word, width, gate, luong }) => luong
      ? `이 단계의 상태 s(숫자 ${width}개)가 쿼리이고, z는 그 결과인 문맥 벡터입니다.`
      : `문맥 z${gate === null ? "" : `에 게이트 ${with_(gate, "을")} 곱한 것`}와 읽은 단어(숫자 ${word}개)가 순환 셀에 들어가 새 상태, 숫자 ${width}개가 됩니다.`,
    known: ({ width, parts }) => `상태, 문맥${parts > 2 ? ", 단어" : ""} 벡터를 나란히 놓습니다. 숫자 ${width}개에서 다음 단어를 예측합니다.`,
    shown: ({ width }) => `tanh가 있는 층 하나를 더 거치면 h, 곧 −1과 1 사이의 숫자 ${width}개가 됩니다.`,
    logits: ({ count, token, logit, pooled, gaps }) => `${pooled ? "남은 층을 지나 모든 위치를 모은 벡터 하나" : gaps ? "층 하나를 더 거친 벡터" : "이 벡터"}에 ${pooled ? "레이블" : "어휘"} ${count.toLocaleString("ko")}개의 출력 벡터를 저마다 곱합니다. 이 로짓 가운데 가장 큰 것은 “${token}”의 ${number(logit)}입니다.`,
    next: ({ token, logit, logZ, probability, written, writtenProbability }) => `다시 softmax: p(“${token}”) = e^(${number(logit)} − ${number(logZ)}) = ${number(probability)}. ${with_(logZ, "은")} 모든 로짓의 지수를 더한 값의 로그입니다.${written === null ? "" : ` 출력에 있는 것은 “${written}”, 확률 ${number(writtenProbability)}입니다.`}`,
    end: ({ part, layer, more, memory }) => more ? `이 벡터는 ${layer}층의 ${part}에 들어갑니다.` : memory
      ? "마지막 층이었습니다. 이 벡터는 메모리(Memory)의 한 행이 되어 디코더의 크로스 어텐션이 읽습니다." : "여기서 모델이 만든 것은 이것입니다. 여기서 바로 예측하는 것은 없습니다.",
  },
};

/** @param {number} mean @param {number} spread @param {number | null} rms @param {string} name */
function normKo(mean, spread, rms, name) {
  if (rms !== null) return `정규화합니다. 제곱평균제곱근 ${with_(rms, "로")} 나누고 학습된 배율을 곱합니다.`;
  if (name && name !== "LayerNorm") return `정규화합니다(${name}).`;
  return `정규화합니다. 평균 ${with_(mean, "을")} 빼고 표준편차 ${with_(spread, "로")} 나눈 다음, 학습된 배율과 이동을 적용합니다.`;
}

export const WALK = { en: EN, ko: KO };
