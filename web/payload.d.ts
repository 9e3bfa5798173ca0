/**
 * What Python writes into a page, and what a model in the page answers: names and types of all fields.
 *
 * `src/jumok/inspection/page/document.py` writes a trace, of the classes in `inspection/trace.py` and
 * `inspection/findings.py`, whose documentation says what each field means. `tests/browser/test_page_payload.py` compares
 * what is written for every kind of model with these types.
 */

type Part = "cross" | "encoder" | "decoder" | "image";
type Unit = "words" | "pieces";
type Pair<T> = [T, T];
type ByLanguage<T> = { en: T; ko: T };

/** Of a model: `inspection/page/arrays.py`. Saved pages have `at` in place of `data`: part, start and length in it. */
interface RawArray {
  shape: number[];
  type: "f32" | "u16" | "u8" | "bits" | "s16" | "apart";
  data?: string | Uint8Array;
  at?: [number, number, number];
  powers?: string | Uint8Array | [number, number, number];
}

type Matrix = (number | null)[][];

interface RawTrace {
  model: string;
  fingerprint: string;
  changes: string[];
  task: string;
  level: "weights" | "qk" | "full";
  text: string;
  output: string;
  index: number;
  segment: number | null;
  segments: number;
  format: number;
  axes: Record<string, Axis>;
  picture: RawPicture | null;
  sites: RawSite[];
  steps: Step[];
  findings: RawFindings;
  tree: null;
  kind: Kind;
  /** A model in the page has none, and records no vectors for a walk. */
  version?: string;
  walk?: RawWalk | null;
}

interface Axis {
  tokens: string[];
  words: (number | null)[];
  texts: string[];
  grid: Pair<number> | null;
  parents: number[] | null;
}

interface RawPicture {
  width: number;
  height: number;
  url: string;
}

interface RawSite {
  name: string;
  kind: string;
  part: Part;
  layer: number;
  queries: string;
  keys: string;
  scale: number | null;
  residual_gate: number | null;
  arrays: RawArrays;
}

interface RawArrays {
  weights: RawArray;
  norms?: RawArray;
  bias?: RawArray;
  allowed?: RawArray;
  energy?: RawArray;
  query?: RawArray;
  key?: RawArray;
  value?: RawArray;
  sink?: RawArray;
  factors?: RawArray;
}

type ArrayName = keyof RawArrays;

interface Step {
  token: string;
  log_probability: number;
  best: [string, number][];
  /** What a model in the page answers has none, nor what they add up to. */
  ids?: number[];
  partitions?: number[];
  gate: number | null;
}

interface Kind {
  reads: "text" | "picture";
  writes: "text" | "continuation" | "gaps" | "label" | null;
  texts: { en?: Record<string, string>; ko?: Record<string, string> };
}

interface RawFindings {
  written: number[];
  prompt: number;
  gaps: number[];
  own_rows: boolean;
  setting?: Setting;
  search?: RawSearch;
  ablation?: Record<string, number[][]>;
  attribution?: { words: RawAttribution; pieces: RawAttribution };
  layers?: { stacks: Record<string, StackLayers>; positions: Record<string, StackPositions> };
  similarity?: Record<string, Similarity>;
  gold?: GoldLinks;
  own_output?: string;
  frequent: number[];
  unseen: number[];
}

interface Setting {
  layer: number;
  at_input: boolean;
  head?: number;
  norms: boolean;
}

interface GoldLinks {
  sure: Pair<number>[];
  possible: Pair<number>[];
}

/** A node: parent, token, piece, log-probability, total, fate. */
type RawNode = [number, number, string, number, number, Fate];
type Fate = "kept" | "finished" | "lost";

interface RawSearch {
  nodes: RawNode[];
  leaves: number[];
  rows: number[];
  maps?: RawArray;
}

interface RawAttribution {
  read: string;
  own: string;
  measures: Record<string, Record<string, Matrix | RawArray>>;
  ranks: Matrix[];
  mean_ranks: Matrix;
  shares: Record<string, (number | null)[]>;
  rest: Record<string, Record<string, (number | null)[]>>;
}

interface StackLayers {
  moved: number[][];
  read?: "pre" | "post" | "recurrent";
  best?: [string, number][][][];
  written?: number[][];
}

interface StackPositions {
  kind: "sinusoidal" | "learned" | "rotary" | "alibi" | "relative" | "index" | "fraction" | "binary" | "none" | "recurrent" | "recurrent-both" | "other";
  same?: string;
  picture?: RawArray;
  rows: "position" | "distance";
  columns: string;
  curves: Record<string, number[]>;
}

interface Similarity {
  axis: string;
  texts: string[];
  cosines: number[][][];
  different?: number[];
}

interface RawWalk {
  sites: Record<string, RawSiteWalk>;
  limit: number;
  normalizers: number[] | null;
  entries: number;
}

interface RawSiteWalk {
  norm: string;
  post: boolean;
  biased: boolean;
  processes: string[];
  sharing: number;
  cap: number | null;
  scale: number | null;
  queries: number[];
  arrays: Record<string, RawArray>;
}

/** What a page has besides its first trace. */
interface RawPage extends RawTrace {
  token?: string | null;
  other?: RawTrace;
  before?: true;
  examples?: string[];
  run?: RawRun;
  made?: RawOrigin;
  lang?: "en" | "ko";
  tours: Tour[];
  tour?: string;
}

interface RawOrigin {
  models: string[];
  given: string | null;
  saved: boolean;
  target: string | null;
  options: string | null;
  beside: string | null;
}

interface RawRun {
  name: string;
  steps: number;
  minutes: number;
  best: number | null;
  parameters: number;
  training: Record<string, Point[]>;
  validation: Record<string, Point[]>;
  tested: [string, number, string][];
  examples: string[][];
  commands: ["look" | "use" | "serve", string][];
}

/** Step, minutes, value. */
type Point = [number, number, number];

/** The page of head cards: `inspection/page/cards_page.py`. */
interface RawCards {
  data: string;
  count: number;
  unit: "sentences" | "pictures";
  furthest: number;
  models: { name: string; heads: RawCard[] }[];
}

/** What one head does, by `inspection/heads/cards.py`. */
type RawCard = TextCard | GridCard;

interface CardMeasures {
  site: string;
  layer: number;
  head: number;
  role: string;
  entropy: number;
  uniform_share: number;
  confidence: number;
  importance: number;
  raw_importance: number;
  confidence_with_end?: number;
  first?: number;
  last?: number;
  previous?: number;
  same?: number;
  next?: number;
  start?: number;
  end?: number;
  punctuation?: number;
  rarest?: number;
  most_previous?: number;
  most_same?: number;
  most_next?: number;
  precision?: number | null;
  error_rate?: number | null;
  near?: number;
  distance?: number;
  even_distance?: number;
  beyond?: number;
  residual_gate?: number;
  pointing?: number;
  in_box?: number;
  even_in_box?: number;
}

/** Over words or tokens. */
interface TextCard extends CardMeasures {
  part: Part;
  offsets: number[];
  nearest: [role: string, measure: number, bound: number] | null;
  where?: undefined;
  left_out?: undefined;
  reading?: undefined;
}

/** Over the cells of an image. */
interface GridCard extends CardMeasures {
  part: "cross" | "image";
  grid: Pair<number>;
  where: number[][];
  offsets?: number[][];
  left_out: Record<string, string>;
  nouns?: number;
  reading?: "writes" | "reads";
  nearest?: undefined;
}

interface TourNeeds {
  reads?: Kind["reads"][];
  writes?: Kind["writes"][];
  parts?: Part[];
  heads?: number;
  output?: true;
  mask?: true;
  scores?: true;
  recurrent?: true;
}

interface Tour {
  name: string;
  title: ByLanguage<string>;
  text: ByLanguage<string>;
  needs: TourNeeds;
  steps: { link: string; text: ByLanguage<string> }[];
}
