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
    en: ["ablation", "Setting the output of a head to zero. The change in the log-probability of the model's output is the effect of the head.", ["ablate", "ablated", "ablating"]],
    ko: ["절제(ablation)", "헤드의 출력을 0으로 만드는 조작입니다. 이때 모델 출력의 로그 확률이 달라진 정도가 그 헤드의 영향입니다."],
  },
  alignment: {
    en: ["alignment", "Links between source words and their translations, as pairs of word indices."],
    ko: ["정렬", "원문의 단어와 그 번역을 이은 링크입니다. 단어 번호의 짝으로 나타냅니다."],
  },
  weight: {
    en: ["attention weight", "The share of a key in the softmax of a query's scores. The weights of all keys and of an attention sink sum to 1.", ["weight", "weights", "attention weights"]],
    ko: ["어텐션 가중치", "쿼리 하나의 점수에 소프트맥스를 적용했을 때 키 하나가 받는 몫입니다. 모든 키와 어텐션 싱크의 가중치를 더하면 1입니다.", ["가중치"]],
  },
  attribution: {
    en: ["attribution", "The contribution of each input token to an output token."],
    ko: ["기여도", "입력 토큰이 출력 토큰 하나에 기여한 정도입니다."],
  },
  beam: {
    en: ["beam", "The hypotheses that beam search keeps at each step. Beam size 1 is greedy decoding.", ["beam search"]],
    ko: ["빔", "빔 탐색이 단계마다 남기는 가설입니다. 빔 크기가 1이면 탐욕적 디코딩입니다.", ["빔 탐색"]],
  },
  context: {
    en: ["context vector", "The weighted sum of the values for one query, also called attention value.", ["weighted sum"]],
    ko: ["문맥 벡터", "쿼리 하나에 대한 값(value)의 가중합입니다. 어텐션 값이라고도 합니다.", ["가중합"]],
  },
  cross: {
    en: ["cross-attention", "Attention with queries from the decoder, and keys and values from the Memory."],
    ko: ["크로스 어텐션", "쿼리는 디코더에서, 키와 값은 메모리에서 오는 어텐션입니다."],
  },
  decoder: {
    en: ["decoder", "The part of a model that writes the target, token by token."],
    ko: ["디코더", "출력을 한 토큰씩 쓰는, 모델의 한 부분입니다."],
  },
  embedding: {
    en: ["embedding", "The learned vector of a token. Also the vector of a whole text."],
    ko: ["임베딩", "토큰 하나의 학습된 벡터입니다. 텍스트 전체의 벡터도 이렇게 부릅니다."],
  },
  encoder: {
    en: ["encoder", "The part of a model that reads the input and produces the Memory."],
    ko: ["인코더", "입력을 읽고 메모리를 만드는, 모델의 한 부분입니다."],
  },
  entropy: {
    en: ["entropy", "The spread of a row of weights, in nats: 0 if one key has all the weight, and largest if all weights are equal."],
    ko: ["엔트로피", "가중치 한 행이 퍼진 정도(내트)입니다. 한 키에 모두 몰리면 0이고, 모든 키에 고르면 가장 큽니다."],
  },
  gold: {
    en: ["gold alignment", "The reference alignment of a pair of sentences, with sure and possible links.", ["gold links"]],
    ko: ["정답 정렬", "문장 쌍의 기준이 되는 정렬입니다. 링크에는 확실한 것과 가능한 것이 있습니다."],
  },
  gradient: {
    en: ["gradient", "The derivative of the loss, or of a log-probability, with respect to weights or inputs.", ["gradients"]],
    ko: ["기울기", "손실이나 로그 확률을 가중치나 입력으로 미분한 값입니다."],
  },
  head: {
    en: ["head", "One of the parallel attention functions of a layer, with its own projection to queries. Several heads can share their projections to keys and values.", ["heads"]],
    ko: ["헤드", "한 층에서 나란히 계산하는 어텐션 가운데 하나입니다. 쿼리를 만드는 투영은 헤드마다 다릅니다. 키와 값을 만드는 투영은 여러 헤드가 함께 쓰기도 합니다."],
  },
  hidden: {
    en: ["hidden state", "The vector of one position in a layer, or of one step of a recurrent network (RNN)."],
    ko: ["은닉 상태", "한 층의 위치 하나, 또는 순환 신경망(RNN)의 한 단계를 나타내는 벡터입니다."],
  },
  hypothesis: {
    en: ["hypothesis", "A finished or unfinished target that a search considers, with its score.", ["hypotheses"]],
    ko: ["가설", "탐색이 고려하는, 다 썼거나 쓰는 중인 출력과 그 점수입니다."],
  },
  key: {
    en: ["key", "The vector of a position with which queries are compared.", ["keys"]],
    ko: ["키", "쿼리와 비교하는, 위치 하나의 벡터입니다."],
  },
  layer: {
    en: ["layer", "One of the successive stages of a model, usually with weights of its own.", ["layers"]],
    ko: ["층", "모델이 차례로 계산하는 단계 가운데 하나입니다. 가중치는 대개 층마다 다릅니다."],
  },
  lens: {
    en: ["logit lens", "The predictions of the output layer from the residual stream after each layer."],
    ko: ["로짓 렌즈", "층마다 잔차 스트림을 모델의 출력층에 바로 넣어 얻은 예측입니다."],
  },
  linear: {
    en: ["linear attention", "Attention with products of feature vectors instead of a softmax. In decoding, its state has a fixed size."],
    ko: ["선형 어텐션", "소프트맥스 대신 특징 벡터의 곱을 쓰는 어텐션입니다. 디코딩할 때 상태의 크기가 일정합니다."],
  },
  mask: {
    en: ["mask", "The keys that a query may attend to, marked with True. A masked token is a token replaced by [MASK].", ["masked"]],
    ko: ["마스크", "쿼리가 주목할 수 있는 키입니다. True이면 허용합니다. 마스크된 토큰은 [MASK]로 바뀐 토큰입니다."],
  },
  nat: {
    en: ["nat", "The unit of log-probability and entropy with natural logarithms.", ["nats"]],
    ko: ["내트(nat)", "자연로그를 쓸 때 로그 확률과 엔트로피의 단위입니다.", ["nat"]],
  },
  norm: {
    en: ["norm of the attended value", "The norm of attention weight × value × output projection: the size of the contribution of a key to the output of the head."],
    ko: ["전달한 값(value)의 노름", "어텐션 가중치 × 값 × 출력 투영의 노름입니다. 키 하나가 헤드의 출력에 기여하는 크기입니다.", ["노름"]],
  },
  occlusion: {
    en: ["occlusion", "Setting the vectors of an input word to zero, or covering a part of an image, to measure its contribution to the output.", ["occlude", "occluded"]],
    ko: ["가리기(occlusion)", "입력 단어의 벡터를 0으로 만들거나 이미지의 일부를 덮어 출력에 기여한 정도를 재는 방법입니다.", ["가리기"]],
  },
  position: {
    en: ["position encoding", "The information about the order of the input: vectors added to the embeddings, rotations or biases.", ["positions"]],
    ko: ["위치 인코딩", "입력의 순서를 나타내는 정보입니다. 임베딩에 더하는 벡터, 쿼리와 키의 회전, 점수에 더하는 편향이 있습니다."],
  },
  prefix: {
    en: ["prefix", "The target tokens before the current one. A forced prefix is given by the user."],
    ko: ["접두부(prefix)", "출력에서 현재 토큰보다 앞에 있는 토큰입니다. 사용자가 미리 정해 줄 수도 있습니다.", ["접두부"]],
  },
  query: {
    en: ["query", "The vector that is compared with the keys that the mask permits.", ["queries"]],
    ko: ["쿼리", "마스크가 허용한 키와 비교하는 벡터입니다."],
  },
  rank: {
    en: ["rank correlation", "The agreement of two rankings: 1 for the same order, 0 for chance, −1 for the reverse order."],
    ko: ["순위 상관", "두 순위가 일치하는 정도입니다. 순위가 같으면 1, 우연이면 0, 반대이면 −1입니다."],
  },
  residual: {
    en: ["residual stream", "The sum that passes through all blocks, to which each attention and feed-forward layer adds its output."],
    ko: ["잔차 스트림", "모든 블록을 지나가는 합입니다. 어텐션과 피드포워드가 저마다 출력을 여기에 더합니다."],
  },
  score: {
    en: ["score", "For a query and a key, the measure of their match before the softmax. For a hypothesis, the number that ranks it.", ["scores", "scaled score"]],
    ko: ["점수", "쿼리와 키가 잘 맞는 정도를 나타내는, 소프트맥스를 적용하기 전의 값입니다. 가설의 점수는 가설의 순위를 정합니다."],
  },
  self: {
    en: ["self-attention", "Attention whose queries, keys and values come from the same sequence."],
    ko: ["셀프 어텐션", "쿼리, 키, 값이 모두 같은 시퀀스에서 오는 어텐션입니다."],
  },
  setting: {
    en: ["alignment setting", "The layer, the head (or the mean of all heads) and the decoding step (writing or reading a word) from which alignments are extracted.", ["alignment step"]],
    ko: ["정렬 추출 설정", "정렬을 추출할 층, 헤드(또는 모든 헤드의 평균), 디코딩 단계(단어를 쓰는 단계나 읽는 단계)입니다.", ["정렬 추출 단계"]],
  },
  sink: {
    en: ["attention sink", "A learned score, one per head, that belongs to no key and absorbs part of the weight. Also a position with this role, often the first or the last.", ["sink"]],
    ko: ["어텐션 싱크", "헤드마다 하나씩 학습되는, 키가 없는 점수로서 가중치의 일부를 흡수합니다. 같은 구실을 하는 위치(흔히 첫 위치나 끝 위치)도 이렇게 부릅니다.", ["싱크"]],
  },
  softmax: {
    en: ["softmax", "A function from scores to positive weights that sum to 1, proportional to e to the power of each score."],
    ko: ["소프트맥스(softmax)", "점수를 합이 1인 양의 가중치로 바꾸는 함수입니다. 가중치는 e를 점수만큼 거듭제곱한 값에 비례합니다.", ["softmax"]],
  },
  step: {
    en: ["step", "In training, one update of the weights. In decoding, the addition of one token to every hypothesis.", ["steps"]],
    ko: ["단계", "학습에서는 가중치를 한 번 갱신하는 일, 디코딩에서는 모든 가설에 토큰을 하나씩 더하는 일입니다."],
  },
  token: {
    en: ["token", "The unit of text that a model reads and writes: a subword, a character, a byte or a special symbol such as END.", ["tokens"]],
    ko: ["토큰", "모델이 읽고 쓰는 텍스트의 단위입니다. 서브워드, 글자, 바이트, 또는 END 같은 특수 기호입니다."],
  },
  value: {
    en: ["value", "The vector that a position contributes to the weighted sum.", ["values"]],
    ko: ["값(value)", "위치 하나가 가중합에 보태는 벡터입니다.", ["값"]],
  },
};
