/** The page's own types, by the names that comments use. */

type State = import("./state.js").State;
type Values = import("./state.js").Values;
type Changes = import("./state.js").Changes;
type Trace = import("./trace.js").Trace;
type Site = import("./trace.js").Site;
type Packed = import("./arrays.js").Packed;
type OnPage = import("./on_page.js").OnPage;
type Words = import("./words.js").Words;
type Surface = import("./surface.js").CanvasSurface | import("./surface.js").SvgSurface;
type Theme = "light" | "dark";
type Language = "en" | "ko";

/** A head from 0, or all of a module together. */
type Head = "mean" | "max" | number;

/** What views know of the state: of the present one, of the one the page opened with, of a pinned one. */
interface Chosen {
  get<N extends keyof Values>(name: N): Values[N];
}

/** A text of the page, or what makes one of other texts; `Function`: of numbers and the like, which `TextsWith` names. */
type PageText = string | number | boolean | ((...texts: string[]) => string) | Function | PageText[] | { [name: string]: PageText };
/** Texts among which are these. */
type Some<T> = T & { [name: string]: PageText };
type TextsWith<T> = ByLanguage<Some<T>>;
type Texts = TextsWith<unknown>;

type Listeners = { [N in keyof HTMLElementEventMap as `on${N}`]?: (event: HTMLElementEventMap[N]) => void };

/** What `element` in dom.js sets. */
interface Attributes extends Listeners {
  [name: string]: string | number | boolean | null | undefined | ((event: never) => void);
}

/** One of the views: see docs/adding.md. */
type View = (trace: Trace, state: State, words: Words, ask?: Ask) => Shown;
/** Whether a view has something to show; views without it always have. `live`: a server can change the model. `asks`: something answers texts. */
type Needs = (trace: Trace, live: boolean, asks: boolean) => boolean;
type ViewOfTab = View & { needs?: Needs };

type ViewName = import("./views/catalog.js").ViewName;
type Taken = import("./taking/menu.js").Taken;

/** What a view shows. */
interface Shown {
  /** What it is, with the controls closed. */
  help: string;
  controls: HTMLElement[];
  body: (Node | string)[];
  /** Whether the path, the help and the controls come last. */
  aboutBelow?: boolean;
  /** What the picture of the view shows of the text, so that the header need not. */
  pictured?: { read: boolean; written: boolean; line: HTMLElement | null };
  /** What moves in it, to be filmed. */
  film?: { node: HTMLElement; play: (done: () => void) => void } | null;
  /** Between the controls and what is compared. */
  top?: (Node | string)[];
  /** To save and to copy. */
  figure?: Figure | (() => Figure) | null;
  /** The word whose attribution is shown, for the Python code. */
  row?: number;
}

/** A picture on any surface. */
interface Figure {
  width: number;
  height: number;
  draw: (surface: Surface) => void;
}

/** Asks for another trace: of another text, with a forced prefix, of another image. */
type Ask = (text?: string, prefix?: number[], picture?: string, begun?: string[]) => void;

/** A question to a server, or to a model in the page. */
interface Question {
  text: string;
  picture?: string;
  segment?: number | null;
  prefix?: number[];
  against?: string;
  [more: string]: unknown;
}

interface Waiting {
  signal?: AbortSignal;
  say?: (written: string) => void;
}

/** An error: the name of the page's text for it, or what the server says. */
type Fault = string | { known?: string; numbers?: number[]; place?: string; what?: string; expected?: string; got?: string; do?: string };

interface RawAnswer extends RawTrace {
  other?: RawTrace;
  /** The log-probabilities of the unchanged model's output in the changed model. */
  forced?: number[];
  milliseconds?: number;
  weights?: number;
  precision?: string;
  /** How many tokens there are, where the views show fewer. */
  all?: number;
  error?: undefined;
}

/** What a page opens with: what Python wrote, or what a model in the page answered. `samples`: it can draw texts. */
type OpenedPage = RawPage & RawAnswer & { title?: string; samples?: boolean };

type Answer = (question: Question, waiting?: Waiting) => Promise<RawAnswer | { error: Fault }>;

interface Pinned {
  key: string;
  trace?: Trace;
  view?: Chosen;
  text?: string;
  /** Why there is no trace; true: nothing here can compute it. */
  lost?: Fault | true;
}

/** A map by words or tokens: `board` in trace.js. */
interface AttentionMap {
  rows: string[];
  columns: string[];
  values: Float32Array;
  /** The rows and columns of the matrix behind each row and column. */
  places: { rows: number[][]; columns: number[][] };
  /** For each row the weight of tokens that are not words, whose columns are `left`. */
  rest: ArrayLike<number>;
  left: number[];
  sunk: boolean;
  /** Whether the last column is that of the rest. */
  rested?: boolean;
}

/** A map as heatmap.js draws it. */
interface DrawnMap {
  rows: string[];
  columns: string[];
  values: Float32Array;
  /** The texts in the cells, in place of their numbers. */
  texts?: string[];
  diverging?: boolean;
  /** The end of the scale; otherwise 1. */
  most?: number;
  /** Names that the columns leave room for, if not their own. */
  headed?: string[];
  rested?: boolean;
  marks?: { signs: Map<number, string>; found: number[] };
}

interface Place {
  left: number;
  top: number;
  cell: number;
  wide: number;
  width: number;
  height: number;
}

interface Search {
  nodes: SearchNode[];
  leaves: number[];
  row: (id: number) => Float32Array | null;
}

interface SearchNode {
  parent: number;
  token: number;
  piece: string;
  log_probability: number;
  total: number;
  fate: Fate;
}

interface Attribution extends Omit<RawAttribution, "measures"> {
  measures: Record<string, Record<string, number[][]>>;
}

interface Findings extends Omit<RawFindings, "search" | "attribution"> {
  search?: Search;
  attribution?: { words: Attribution; pieces: Attribution };
}

/** How far a head is from that of another trace: the mean over the cells that both have. */
interface HeadApart {
  site: Site;
  head: number;
  mean: number;
}

/** The element of a saved page's data, where the loader puts what it has unpacked. */
interface Held extends HTMLElement {
  arrays?: Uint8Array[];
  /** Until it is done, some arrays are missing; null: none are. */
  whole?: Promise<void> | null;
}

/** Takes a file; promises the name by which it is asked about, or what is wrong with it. */
type Receive = (file: File) => Promise<{ picture: string; error?: undefined } | { error: Fault }>;

type Vector = Float32Array | Float64Array;
type Walked = ReturnType<typeof import("./walk/steps.js").walkOf>;

/** A head, with the measures of its map where they were computed. */
interface MeasuredHead {
  site: Site;
  head: number;
  entropy?: number;
  confidence?: number;
}

/** Values by names, of which a name may be none. */
type ByName<T> = { [name: string]: T | undefined };
/** Numbers on the scale of a map. */
type Scaled = Pick<DrawnMap, "columns" | "rested" | "diverging" | "most"> & { values: ArrayLike<number> };
/** Rows and columns of the cells of an image. */
type Grid = Pair<number>;
type Box = [left: number, top: number, width: number, height: number];
interface HTMLElementEventMap {
  /** Moves the cursor of a map: heatmap.js. */
  place: CustomEvent<[row: number, column: number]>;
}

/** Of the overview, comparisons and tours. */

type Cursor = ReturnType<typeof import("./cursor.js").cursorIn>;
type Facts = ReturnType<typeof import("./overview/facts.js").factsOf>;
type Side = ReturnType<typeof import("./compare/difference.js").sideOf>;
type WordPair = import("./compare/align.js").WordPair;

/** A drop of a log-probability in nats, and the probability before it. */
interface Drop {
  nats: number;
  before: number;
}

/** The drop of a word's probability without another word. */
interface Occluded extends Drop {
  kind: "occluded";
  /** Of each of its tokens on average. */
  mean: number;
  /** The word, if it is not the one of the row. */
  of: string | null;
}

/** The drop of the output's probability without a head. */
interface Ablated extends Drop {
  kind: "ablated";
  of: string;
}

/** What the two kinds of stages of the overview have in common: lines of words, and an image. */
interface Stage {
  cursor: Cursor;
  labels: { keys: string; rows: string; image: string };
  onPick: (row: number | null, column: number | null) => void;
  onShow: (row: number | null, column: number | null) => void;
}

interface Compared {
  /** Of both sides. */
  names: string[];
  /** Chooses the words. */
  kind: keyof Words["compareSays"];
  /** Undefined where the two have nothing to compare. */
  sides?: [Side, Side];
}

type Faced = Compared & { sides: [Side, Side] };

interface HeadAt {
  site: Site;
  head: number;
}

/** What tours and games are about: the page as it was drawn last. */
interface Drawn {
  trace: Trace;
  words: Words;
  names: ViewName[];
}

/** Opens a link of a tour: `turned` adds the moment before to the history. */
type Open = (values: Record<string, string>, turned: boolean) => void;

/** A question of a game. */
interface Riddle {
  ask: (words: Words) => string;
  /** Shown until it is answered. */
  figure?: (words: Words) => HTMLElement;
  options: { id: number; text: string | ((words: Words) => string) }[];
  right: Set<number>;
  /** The state in which the view shows the answer. */
  reveal: Changes;
  says: (words: Words, guess: number) => string;
}

/** The sentences of the walk. */
type WalkSays = import("./walk/sentences.js").Says;
