/** What `src/jumok/systems/in_page/` writes of a model into the page that runs it. */

/** Bytes beside the facts, by the ids of elements. */
interface Blobs {
  wasm: BufferSource;
  model: Uint8Array;
  charsmap?: Uint8Array | null;
}

/** Where numbers begin in the image, and how many there are. */
type StoredNumbers = [place: number, count: number];

interface StoredLayer {
  layer: number;
  inputs: number;
  outputs: number;
}

interface StoredConvolution extends StoredLayer {
  kernel: number;
  stride: number;
}

interface StoredNorm {
  groups: number;
  gain: StoredNumbers;
  bias: StoredNumbers;
}

interface StoredConvolutions {
  stem: StoredConvolution;
  stages: {
    halving: { norm: StoredNorm; convolution: StoredConvolution } | null;
    blocks: { firstNorm: StoredNorm; first: StoredConvolution; secondNorm: StoredNorm; second: StoredConvolution }[];
    after: (StoredAttention | StoredMixing)[];
  }[];
  norm: StoredNorm;
}

interface StoredAttention {
  name: string;
  layer: number;
  heads: number;
  gate: number;
  query: StoredLayer;
  key: StoredLayer;
  value: StoredLayer;
  output: StoredLayer;
}

interface StoredMixing {
  gate: number;
  inner: StoredLayer;
  outer: StoredLayer;
  query?: undefined;
}

interface ModelSizes {
  dim: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  valueDim: number;
  vocabulary: number;
  encoderLayers: number;
  decoderLayers: number;
  crossLayers: number;
  recurrent: boolean;
}

/** A model without blocks of the engine has no sizes. */
interface EngineFacts extends Partial<ModelSizes> {
  addresses: number[];
  model: number;
  tables: { layer: number; rows: number; columns: number; factor: number; fields: number[] }[];
}

interface SearchRules {
  beam: number;
  start: number;
  end: number;
  minimum: number;
  longest: number;
  enough: number;
  forbidden: number[];
  penalties: number[];
}

interface PiecesFacts {
  segmentation: "unigram" | "bpe" | "char";
  pieces: string[];
  scores: number[];
  types: number[];
  byteFallback: boolean;
  dummyPrefix: boolean;
  removeExtra: boolean;
  unknown: string;
}

interface BytesFacts {
  kind: "bytes";
  pieces: string[];
  first: number;
}

/** `windows`: of each layer; recurrent layers have none. `names`: the modules', where they are others. */
interface AttentionFacts {
  score: string;
  recomputed: boolean;
  scale: number;
  windows?: { encoder?: number[]; decoder?: number[] };
  names?: { encoder?: string; decoder?: string; cross?: string };
}

interface EdgesRule {
  before: string;
  numberAlone: string;
  after: string;
  longestAfter: number;
  longWord: string;
  marked: string;
  symbols: string;
  joiners: string;
  most: number;
  pairs: Record<string, string>;
  code: string[];
}

interface PictureShape {
  height: number;
  width: number;
  colours: number;
}

interface ReaderFacts extends ModelSizes, Omit<AttentionFacts, "names"> {
  model: number;
  table: number;
  width: number;
  names: string;
}

interface CellsFacts {
  project: StoredLayer;
  positions: StoredNumbers;
  squeeze?: undefined;
  inner?: undefined;
  outer?: undefined;
}

interface OneVectorFacts {
  project?: undefined;
  positions?: undefined;
  squeeze: StoredLayer;
  inner: StoredLayer;
  outer: StoredLayer;
}

/** An image becomes states of its cells, or one vector; then they are normed, or attend to each other. */
type EncoderFacts = { shape: PictureShape; grid: Pair<number>; convolutions: StoredConvolutions; dim: number }
  & (CellsFacts | OneVectorFacts)
  & ({ reader: null; readerNorm: Pair<StoredNumbers> } | { reader: ReaderFacts; readerNorm?: undefined });

interface ModelFacts {
  task: string;
  /** Of no input. */
  trace: RawTrace;
  examples: string[];
  weights: number;
  precision: string;
  tours: Tour[];
  engine: EngineFacts;
}

interface TranslatorFacts extends ModelFacts, AttentionFacts {
  maxTokens: number;
  tokenizer: PiecesFacts;
  edges: EdgesRule;
  profile: string | null;
  rules: Omit<SearchRules, "longest"> & { ratio: number; extra: number; most: number };
}

interface LanguageModelFacts extends ModelFacts, AttentionFacts {
  context: number;
  tokenizer: BytesFacts | ({ kind: "lines" } & PiecesFacts);
  rules: SearchRules;
}

interface CaptionerFacts extends ModelFacts, AttentionFacts {
  tokenizer: PiecesFacts;
  rules: SearchRules;
  encoder: EncoderFacts;
}

interface TextClassifierFacts extends ModelFacts, AttentionFacts {
  maxTokens: number;
  labels: string[];
  pooling: string;
  tokenizer: PiecesFacts;
  output: StoredLayer;
}

interface ImageClassifierFacts extends ModelFacts {
  recomputed: boolean;
  shape: PictureShape;
  labels: string[];
  convolutions: StoredConvolutions;
  output: StoredLayer;
}
