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
    ko: ["절제(ablation)", "헤드의 출력을 0으로 두고, 출력의 로그 확률이 바뀐 만큼을 그 헤드의 효과로 봅니다."],
  },
  alignment: {
    en: ["alignment", "Which source word each target word translates, as links between word indices."],
    ko: ["정렬", "원문의 어느 단어가 번역문의 어느 단어에 대응하는지를 단어 번호의 짝으로 나타낸 것입니다."],
  },
  weight: {
    en: ["attention weight", "The softmax of a query's scores: one share of 1 for each key.", ["weight", "weights", "attention weights"]],
    ko: ["어텐션 가중치", "쿼리 하나의 점수들에 소프트맥스를 적용한 값입니다. 키마다 하나씩이고 합은 1입니다.", ["가중치"]],
  },
  attribution: {
    en: ["attribution", "How much each input token contributed to an output token, by attention, gradients or occlusion."],
    ko: ["기여도", "입력 토큰 각각이 출력 토큰에 기여한 정도입니다. 어텐션, 기울기, 가리기로 구합니다."],
  },
  beam: {
    en: ["beam", "The hypotheses that beam search keeps at each step; beam size 1 is greedy decoding.", ["beam search"]],
    ko: ["빔", "빔 탐색이 단계마다 남기는 가설들입니다. 빔 크기가 1이면 탐욕적 디코딩입니다.", ["빔 탐색"]],
  },
  context: {
    en: ["context vector", "The weighted sum of the values for one query; also called attention value.", ["weighted sum"]],
    ko: ["문맥 벡터", "쿼리 하나에 대한 값(value)의 가중합입니다. 어텐션 값이라고도 합니다.", ["가중합"]],
  },
  cross: {
    en: ["cross-attention", "Attention whose queries come from the decoder and whose keys and values come from the Memory."],
    ko: ["크로스 어텐션", "쿼리는 디코더에서, 키와 값은 메모리에서 오는 어텐션입니다."],
  },
  decoder: {
    en: ["decoder", "The part that writes the target token by token, from the Memory and the tokens written so far."],
    ko: ["디코더", "메모리와 지금까지 쓴 출력을 바탕으로 출력을 토큰 하나씩 쓰는 부분입니다."],
  },
  embedding: {
    en: ["embedding", "A token's vector from the model's table."],
    ko: ["임베딩", "모델의 표에 있는 토큰의 벡터입니다."],
  },
  encoder: {
    en: ["encoder", "The part that reads the input and writes the Memory, one vector per position."],
    ko: ["인코더", "입력을 읽고 위치마다 벡터 하나씩으로 된 메모리를 만드는 부분입니다."],
  },
  entropy: {
    en: ["entropy", "How widely a row of weights is spread, in nats: 0 if all is on one key, the logarithm of their number if it is even."],
    ko: ["엔트로피", "가중치 한 행이 얼마나 퍼져 있는지를 내트로 나타냅니다. 한 키에 몰리면 0, 고르면 키 개수의 로그입니다."],
  },
  gold: {
    en: ["gold alignment", "The reference links of human annotators, sure or possible.", ["gold links"]],
    ko: ["정답 정렬", "사람이 표시한 기준 링크입니다. 확실한 링크와 가능한 링크가 있습니다."],
  },
  gradient: {
    en: ["gradient", "The derivative of the loss, or of a log-probability, with respect to weights or inputs.", ["gradients"]],
    ko: ["기울기", "손실이나 로그 확률을 가중치나 입력으로 미분한 값입니다."],
  },
  head: {
    en: ["head", "One of several attentions in a layer, with its own projections of query, key and value.", ["heads"]],
    ko: ["헤드", "한 층에 있는 여러 어텐션 가운데 하나입니다. 쿼리, 키, 값의 투영을 따로 가집니다."],
  },
  hidden: {
    en: ["hidden state", "A model's vector for one position in one layer, or of one step of an RNN."],
    ko: ["은닉 상태", "한 층에서 위치 하나가 가지는 벡터, 또는 RNN의 한 단계의 벡터입니다."],
  },
  hypothesis: {
    en: ["hypothesis", "A target, finished or not, that the search considers, with its score.", ["hypotheses"]],
    ko: ["가설", "탐색에서 고려하는 출력과 그 점수입니다. 끝난 출력도, 아직 쓰는 중인 출력도 있습니다."],
  },
  key: {
    en: ["key", "The vector of a position that queries are compared with; the softmax over all keys gives the weights.", ["keys"]],
    ko: ["키", "쿼리와 비교하는 위치의 벡터입니다. 모든 키에 걸친 소프트맥스가 가중치입니다."],
  },
  layer: {
    en: ["layer", "One of the stages of equal structure that a model computes one after another, each with its own weights.", ["layers"]],
    ko: ["층", "모델이 차례로 계산하는, 구조가 같은 단계 가운데 하나입니다. 가중치는 따로 있습니다."],
  },
  lens: {
    en: ["logit lens", "The prediction that the output layer would make from the residual stream after each layer."],
    ko: ["로짓 렌즈", "층마다 잔차 스트림을 출력층에 바로 넣었을 때의 예측입니다."],
  },
  linear: {
    en: ["linear attention", "Attention by products of features without a softmax; decoding keeps a state of fixed size."],
    ko: ["선형 어텐션", "소프트맥스 없이 특징의 곱으로 계산하는 어텐션입니다. 디코딩할 때 상태의 크기가 일정합니다."],
  },
  mask: {
    en: ["mask", "The set of keys that a query may attend to (True permits); a masked token is one replaced by [MASK].", ["masked"]],
    ko: ["마스크", "쿼리가 주목할 수 있는 키를 정합니다(True가 허용). 마스크된 토큰은 [MASK]로 바뀐 토큰입니다."],
  },
  nat: {
    en: ["nat", "The unit of log-probability and entropy with the natural logarithm.", ["nats"]],
    ko: ["내트(nat)", "자연로그로 나타낸 로그 확률과 엔트로피의 단위입니다.", ["nat"]],
  },
  norm: {
    en: ["norm of the attended value", "The length of weight × value × output projection: the contribution of the key to the head's output."],
    ko: ["전달한 값(value)의 노름", "가중치 × 값 × 출력 투영의 길이입니다. 키 하나가 헤드의 출력에 보태는 양입니다.", ["노름"]],
  },
  occlusion: {
    en: ["occlusion", "An input token is replaced, or a patch of an image covered, and the drop of the output's log-probability measured.", ["occlude", "occluded"]],
    ko: ["가리기(occlusion)", "입력 토큰을 바꾸거나 이미지 일부를 덮고, 출력의 로그 확률이 줄어든 만큼을 잽니다.", ["가리기"]],
  },
  position: {
    en: ["position encoding", "The information about the order of the input: vectors added to the embeddings, rotations or biases.", ["positions"]],
    ko: ["위치 인코딩", "모델에 입력의 순서를 알려 주는 방법입니다. 임베딩에 더하는 벡터, 회전, 편향이 있습니다."],
  },
  prefix: {
    en: ["prefix", "The target tokens before the current one; with `--prefix`, those that are forced."],
    ko: ["접두부(prefix)", "지금 토큰보다 앞에 있는 출력 토큰들입니다. `--prefix`를 쓰면 미리 정해 둔 토큰입니다.", ["접두부"]],
  },
  query: {
    en: ["query", "The vector that is compared with the keys of all positions that it may attend to.", ["queries"]],
    ko: ["쿼리", "주목할 수 있는 모든 위치의 키와 비교하는 벡터입니다."],
  },
  rank: {
    en: ["rank correlation", "The agreement of two measures on the order of the words: 1 for the same order, 0 for chance, −1 for the reverse order."],
    ko: ["순위 상관", "두 측도가 단어들을 얼마나 같은 순서로 세우는지 나타냅니다. 언제나 같으면 1, 우연이면 0, 반대이면 −1입니다."],
  },
  residual: {
    en: ["residual stream", "The sum that runs through the blocks, to which each part adds its output."],
    ko: ["잔차 스트림", "블록들을 지나가는 합입니다. 블록의 각 부분이 출력을 여기에 더합니다."],
  },
  score: {
    en: ["score", "How well a query and a key match, before the softmax; for a hypothesis, the number that ranks it.", ["scores", "scaled score"]],
    ko: ["점수", "소프트맥스 전에 쿼리와 키가 얼마나 맞는지 나타내는 값입니다. 가설에서는 순위를 정하는 값입니다."],
  },
  self: {
    en: ["self-attention", "Attention whose queries, keys and values come from the same sequence."],
    ko: ["셀프 어텐션", "쿼리, 키, 값이 모두 같은 시퀀스에서 오는 어텐션입니다."],
  },
  setting: {
    en: ["alignment setting", "The place from which alignments are extracted: the layer, one head or the mean of all, and the step that writes a word or the step that reads it.", ["alignment step"]],
    ko: ["정렬 추출 설정", "정렬을 추출하는 곳입니다. 층, 헤드(또는 전체 평균), 그리고 단어를 쓰는 단계인지 읽는 단계인지를 정합니다.", ["정렬 추출 단계"]],
  },
  sink: {
    en: ["attention sink", "A learned score without a key, one per head, which takes the weight that no position gets.", ["sink"]],
    ko: ["어텐션 싱크", "헤드마다 하나씩 학습되는, 키 없는 점수입니다. 어느 위치에도 가지 않은 가중치를 받습니다.", ["싱크"]],
  },
  softmax: {
    en: ["softmax", "Turns scores into positive weights that sum to 1: e to the power of each, divided by the sum of all."],
    ko: ["소프트맥스(softmax)", "점수를 합이 1인 양의 가중치로 바꿉니다. e의 점수 제곱을 전체 합으로 나눕니다.", ["softmax"]],
  },
  step: {
    en: ["step", "In training, one update of the weights; in decoding, one token of every hypothesis.", ["steps"]],
    ko: ["단계", "학습에서는 가중치를 한 번 고치는 것, 디코딩에서는 모든 가설에 토큰을 하나씩 더하는 것입니다."],
  },
  token: {
    en: ["token", "The unit into which a tokenizer divides text, and which a model reads and writes; an entry of the vocabulary is a subword.", ["tokens"]],
    ko: ["토큰", "토크나이저가 텍스트를 나눈 단위이자 모델이 읽고 쓰는 단위입니다. 어휘의 항목은 서브워드라고 합니다."],
  },
  value: {
    en: ["value", "The vector that a key's position contributes to the weighted sum.", ["values"]],
    ko: ["값(value)", "키의 위치가 가중합에 보태는 벡터입니다.", ["값"]],
  },
};
