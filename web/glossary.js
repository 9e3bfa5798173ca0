/**
 * The terms of the page: one word for each thing, and one sentence, in English and in Korean.
 *
 * The English and the terms are those of docs/glossary.md, which a test compares. `also`: other forms that texts
 * use. Every tooltip is made from this file.
 */

/**
 * Of each term its form, its sentence, and other forms.
 *
 * @satisfies {Record<string, ByLanguage<[term: string, sentence: string, also?: string[]]>>}
 */
export const GLOSSARY = {
  ablation: {
    en: ["ablation", "A head's output is set to zero, and the change of the output's log-probability is its effect.", ["ablate", "ablated", "ablating"]],
    ko: ["절제(ablation)", "헤드 하나의 출력을 0으로 만들었을 때 출력의 로그 확률이 달라진 정도가 그 헤드의 영향입니다."],
  },
  alignment: {
    en: ["alignment", "Which source word each target word translates, as links between word indices."],
    ko: ["정렬", "번역문의 단어마다 원문의 어느 단어를 옮긴 것인지를 단어 번호의 짝으로 나타낸 것입니다."],
  },
  weight: {
    en: ["attention weight", "The softmax of a query's scores: one share of 1 for each key.", ["weight", "weights", "attention weights"]],
    ko: ["어텐션 가중치", "쿼리의 점수에 softmax를 취한 값으로, 합이 1이 되게 키마다 나누어 가집니다.", ["가중치"]],
  },
  attribution: {
    en: ["attribution", "How much each input token contributed to an output token, by attention, gradients or occlusion."],
    ko: ["기여도", "입력 토큰 하나하나가 출력 토큰에 이바지한 정도를 어텐션, 기울기, 가리기로 잰 것입니다."],
  },
  beam: {
    en: ["beam", "The hypotheses that beam search keeps at each step; beam size 1 is greedy decoding.", ["beam search"]],
    ko: ["빔", "빔 탐색이 단계마다 남겨 두는 가설들입니다. 빔 크기가 1이면 탐욕적 디코딩입니다.", ["빔 탐색"]],
  },
  context: {
    en: ["context vector", "The weighted sum of the values for one query; also called attention value.", ["weighted sum"]],
    ko: ["문맥 벡터", "쿼리 하나에 대해 값(value)들을 가중치로 더한 벡터입니다. 어텐션 값이라고도 합니다.", ["가중합"]],
  },
  cross: {
    en: ["cross-attention", "Attention whose queries come from the decoder and whose keys and values come from the Memory."],
    ko: ["크로스 어텐션", "쿼리는 디코더에서, 키와 값은 메모리(인코더의 출력)에서 오는 어텐션입니다."],
  },
  decoder: {
    en: ["decoder", "The part that writes the target token by token, from the Memory and from what it has written."],
    ko: ["디코더", "메모리와 지금까지 쓴 것을 보고 목표 문장을 토큰 하나씩 쓰는 부분입니다."],
  },
  embedding: {
    en: ["embedding", "A token's vector from the model's table."],
    ko: ["임베딩", "모델의 표에 있는 토큰의 벡터입니다."],
  },
  encoder: {
    en: ["encoder", "The part that reads the input and writes the Memory, one vector per position."],
    ko: ["인코더", "입력을 읽고 위치마다 벡터 하나씩 메모리를 만드는 부분입니다."],
  },
  entropy: {
    en: ["entropy", "How widely a row of weights is spread, in nats: 0 if all is on one key, the logarithm of their number if it is even."],
    ko: ["엔트로피", "한 행의 가중치가 퍼진 정도(nat)로, 한 키에 모이면 0이고 고르게 퍼지면 키 개수의 로그입니다."],
  },
  gold: {
    en: ["gold alignment", "The reference links of human annotators, sure or possible.", ["gold links"]],
    ko: ["정답 정렬", "사람이 표시한 기준 정렬로, 확실한 것과 가능한 것이 있습니다."],
  },
  gradient: {
    en: ["gradient", "The derivative of the loss, or of a log-probability, with respect to weights or inputs.", ["gradients"]],
    ko: ["기울기", "손실이나 로그 확률을 가중치나 입력으로 미분한 값입니다."],
  },
  head: {
    en: ["head", "One of several attentions in a layer, with its own projections of query, key and value.", ["heads"]],
    ko: ["헤드", "한 층 안에 있는 여러 어텐션 가운데 하나로, 쿼리·키·값의 사영을 따로 가집니다."],
  },
  hidden: {
    en: ["hidden state", "A model's vector for one position in one layer, or of one step of an RNN."],
    ko: ["은닉 상태", "한 층의 한 위치, 또는 RNN의 한 단계에서 모델이 가진 벡터입니다."],
  },
  hypothesis: {
    en: ["hypothesis", "A target, finished or not, that the search considers, with its score.", ["hypotheses"]],
    ko: ["가설", "탐색이 따져 보는 출력 문장과 그 점수로, 아직 끝나지 않은 것도 있습니다."],
  },
  key: {
    en: ["key", "The vector of a position that queries are compared with; the softmax over all keys gives the weights.", ["keys"]],
    ko: ["키", "쿼리와 비교되는 위치의 벡터입니다. 모든 키에 대한 softmax가 가중치입니다."],
  },
  layer: {
    en: ["layer", "One of the stages of equal structure that a model computes one after another, each with its own weights.", ["layers"]],
    ko: ["층", "모델이 차례로 계산하는 같은 모양의 단계로, 층마다 가중치가 따로 있습니다."],
  },
  lens: {
    en: ["logit lens", "The prediction that the output layer would make from the residual stream after each layer."],
    ko: ["로짓 렌즈", "층마다 그때의 잔차 스트림을 출력층에 넣으면 나올 예측입니다."],
  },
  linear: {
    en: ["linear attention", "Attention by products of features without a softmax; decoding keeps a state of fixed size."],
    ko: ["선형 어텐션", "softmax 없이 특징의 곱으로 하는 어텐션으로, 디코딩할 때 상태의 크기가 늘지 않습니다."],
  },
  mask: {
    en: ["mask", "The set of keys that a query may attend to (True permits); a masked token is one replaced by [MASK].", ["masked"]],
    ko: ["마스크", "쿼리가 어느 키에 주목해도 되는지를 정합니다. 마스크된 토큰은 [MASK]로 바뀐 토큰입니다."],
  },
  nat: {
    en: ["nat", "The unit of log-probability and entropy with the natural logarithm.", ["nats"]],
    ko: ["내트(nat)", "자연로그를 쓸 때 로그 확률과 엔트로피의 단위입니다.", ["nat"]],
  },
  norm: {
    en: ["norm of the attended value", "The length of weight × value × output projection: what the key contributes to the head's output."],
    ko: ["전달한 값(value)의 노름", "가중치 × 값 × 출력 사영의 길이, 곧 그 키가 헤드의 출력에 더하는 크기입니다.", ["노름"]],
  },
  occlusion: {
    en: ["occlusion", "An input token is replaced, or a patch of an image covered, and the drop of the output's log-probability measured.", ["occlude", "occluded"]],
    ko: ["가리기(occlusion)", "입력 토큰을 바꾸거나 이미지의 일부를 덮고 출력의 로그 확률이 얼마나 줄어드는지 잽니다.", ["가리기"]],
  },
  position: {
    en: ["position encoding", "The information about the order of the input: vectors added to the embeddings, rotations or biases.", ["positions"]],
    ko: ["위치 인코딩", "모델이 입력의 순서를 아는 방법으로, 임베딩에 더하는 벡터나 회전, 편향이 있습니다."],
  },
  prefix: {
    en: ["prefix", "The target tokens before the current one; with `--prefix`, those that are forced."],
    ko: ["접두부(prefix)", "지금 쓰는 토큰보다 앞선 출력 토큰들입니다.", ["접두부"]],
  },
  query: {
    en: ["query", "The vector that is compared with the keys of all positions that it may attend to.", ["queries"]],
    ko: ["쿼리", "주목할 수 있는 모든 위치의 키와 비교되는 벡터입니다."],
  },
  rank: {
    en: ["rank correlation", "The agreement of two measures on the order of the words: 1 for the same order, 0 for chance, −1 for the reverse order."],
    ko: ["순위 상관", "두 방법이 단어들을 같은 순서로 세우는 정도로, 늘 같으면 1, 우연과 같으면 0, 거꾸로면 −1입니다."],
  },
  residual: {
    en: ["residual stream", "The sum that runs through the blocks, to which each part adds its output."],
    ko: ["잔차 스트림", "블록들을 지나며 부분마다 자기 출력을 더해 가는 합입니다."],
  },
  score: {
    en: ["score", "How well a query and a key match, before the softmax; for a hypothesis, the number that ranks it.", ["scores", "scaled score"]],
    ko: ["점수", "softmax 전에 쿼리와 키가 얼마나 맞는지를 나타냅니다. 가설의 점수는 가설의 순위를 정하는 수입니다."],
  },
  self: {
    en: ["self-attention", "Attention whose queries, keys and values come from the same sequence."],
    ko: ["셀프 어텐션", "쿼리와 키와 값이 모두 같은 열에서 오는 어텐션입니다."],
  },
  setting: {
    en: ["alignment setting", "The place from which alignments are extracted: the layer, one head or the mean of all, and the step that writes a word or the step that reads it.", ["alignment step"]],
    ko: ["정렬 추출 설정", "정렬을 어디에서 뽑는지, 곧 층과 헤드(또는 전체 평균), 그리고 단어를 쓰는 단계인지 읽는 단계인지입니다.", ["정렬 추출 단계"]],
  },
  sink: {
    en: ["attention sink", "A learned score without a key, one per head, which takes the weight that no position gets.", ["sink"]],
    ko: ["어텐션 싱크", "키 없이 학습된 점수로 헤드마다 하나이며, 어느 위치도 받지 않은 가중치를 받습니다.", ["싱크"]],
  },
  softmax: {
    en: ["softmax", "Turns scores into positive weights that sum to 1: e to the power of each, divided by the sum of all."],
    ko: ["소프트맥스(softmax)", "점수를 합이 1인 양의 가중치로 바꿉니다. e의 거듭제곱을 구해 모두의 합으로 나눕니다.", ["softmax"]],
  },
  step: {
    en: ["step", "In training, one update of the weights; in decoding, one token of every hypothesis.", ["steps"]],
    ko: ["단계", "학습에서는 가중치를 한 번 고치는 것, 디코딩에서는 가설마다 토큰 하나를 쓰는 것입니다."],
  },
  token: {
    en: ["token", "The unit into which a tokenizer divides text, and which a model reads and writes; an entry of the vocabulary is a subword.", ["tokens"]],
    ko: ["토큰", "토크나이저가 텍스트를 자른 단위로, 모델이 읽고 쓰는 것입니다. 어휘에 든 것은 서브워드입니다."],
  },
  value: {
    en: ["value", "The vector that a key's position contributes to the weighted sum.", ["values"]],
    ko: ["값(value)", "키의 위치가 가중합에 내놓는 벡터입니다.", ["값"]],
  },
};
