/** Attribution: all measures side by side, their agreement, and source against prefix. */

import { listed } from "../changes.js";
import { siteOf } from "../cursor.js";
import { choice, element, fading, table } from "../dom.js";
import { drawMap, layout } from "../heatmap.js";
import { cellBeside } from "../picture.js";
import { EFFECT, INK, MUTED, colour } from "../colours.js";
import { CanvasSurface, textWidth } from "../surface.js";
import { readable, total } from "../trace.js";
import { textOf } from "../words.js";
import { cellOfMaps, cellText, drawMeasureMaps, fixed, markedCell, mostOfPicture, signedPercent, sizeOfMaps, strongestCell } from "./mattered_maps.js";
import { pictureOrTable } from "./stacks.js";

const [BAR, LINE, APART, NUMBER] = [98, 24, 16, 26]; // px: longest bar, row, between columns, number
const TALL = 96; // px: the height of 100 % in the chart of shares
/** @type {ByName<number>} */
const SHADE = { product: 0.42 }; // of gradient × input beside the gradient
const BAR_SHADE = 0.66;
const PALE = 2; // the end of the scale of correlations: 1 has a middle shade, for it is no weight

/** Where the maps over an image begin, in px. @type {[left: number, top: number]} */
const MAPS_AT = [8, 46];

/**
 * What is shown: `values` and `shares` of each measure for each column, and where the columns are cells, the image.
 *
 * @typedef {{ unit: Unit, rows: string[], row: number, columns: string[], names: string[], values: number[][], facts: Attribution, both: boolean, left: boolean, titles: string[], shares: number[][], all: string[], sources: Source[] | null, edits: boolean, before: number, out: Set<number> }} FoundInAll
 * @typedef {FoundInAll & { grid: Grid, picture: RawPicture | null, most: number, cell: number | null }} FoundOnImage
 * @typedef {FoundOnImage | FoundInAll & { grid?: undefined, cell?: undefined }} Found
 * @typedef {[text: string, tokens: number[]]} Source
 */

/** @type {View} */
export function matteredView(trace, state, words, ask) {
  const whole = trace.page.baseline || trace;
  const known = trace.findings.attribution;
  const body = [];
  if (!known) {
    if (!trace.page.baseline && trace.page.once("attribution")) ask?.();
    body.push(element("p", { class: "muted" }, words.computing));
    return { help: words.matteredHelp, controls: [], body };
  }
  const found = gather(whole, known, state, words);
  const controls = [
    choice(words.unit, [["words", words.words], ["pieces", words.pieces]], found.unit,
      (unit) => state.set({ unit, word: "" })),
    ...(found.both ? [choice(words.over, [["source", words.sourceWords], ["prefix", words.prefixWords]],
      state.get("over"), (over) => state.set({ over }))] : []),
    pictureOrTable(state, words),
  ];
  const top = [
    chips(words.outputWord, found.rows, "written", (i) => i === found.row, (i) => state.set({ word: i, ...cursorOfRow(whole, found, i, state) })),
    ...(ask && found.sources ? [blanks(found, found.sources, state, words, ask)] : []),
    ...(ask && found.grid && found.edits && (found.cell !== null || found.out.size) ? [cellsOut(found, state, words, ask)] : []),
  ];
  if (state.get("as") === "table") body.push(...measuresTables(found, words));
  else body.push(...measuresPicture(found, state, words));
  /** @returns {Figure} */
  const figure = () => {
    const place = placesOf(found);
    return { ...place, draw: (surface) => drawMeasures(surface, found, place, words) };
  };
  return { help: words.matteredHelp, controls, top, body, figure, row: found.row };
}

/** @type {Needs} */
matteredView.needs = (trace, live) =>
  Boolean(trace.findings.attribution)
  || (live && (trace.writesText || trace.kind.writes === "label") && trace.sites.length > 0 && hasParts(trace.axes.picture));

/** Whether the input has words or cells; of an image as a single vector, no part belongs to a cell. @param {Axis | undefined} picture */
function hasParts(picture) {
  return !picture || picture.tokens.length > 1;
}

/**
 * What is shown: words or tokens, for the chosen one.
 *
 * @param {Trace} whole @param {NonNullable<Findings["attribution"]>} known @param {State} state @param {Words} words
 * @returns {Found}
 */
function gather(whole, known, state, words) {
  const unit = state.get("unit");
  const facts = known[unit];
  const both = Boolean(facts.own) && facts.read !== facts.own;
  const over = both && state.get("over") === "prefix" ? facts.own : facts.read;
  const axis = whole.axes[over];
  const rows = unit === "words" && facts.own ? whole.axes[facts.own].texts
    : whole.steps.map((step) => readable(step.token)); // a label is in no axis
  const row = Math.min(state.get("word") ?? rowOfCursor(whole, facts, unit, state), rows.length - 1);
  // Of the output, only the tokens that had been read by then count.
  const end = over === facts.own ? row + 1 : undefined;
  const names = Object.keys(facts.measures).filter((name) => facts.measures[name][over]);
  const pictured = Boolean(whole.axes[facts.read].grid);
  const mapped = over === facts.read ? axis.grid : null;
  const before = mapped ? axis.tokens.length - axis.texts.length : 0; // [CLS] has no place in the image
  const left = !mapped && names.some((name) => facts.rest?.[name]?.[over]);
  const columns = (unit === "words" || mapped ? axis.texts : axis.tokens.map(readable)).slice(0, end);
  const values = names.map((name) => facts.measures[name][over][row].slice(unit === "pieces" ? before : 0, end));
  if (left) {
    const others = [...new Set(axis.tokens.filter((_, i) => axis.words[i] === null))];
    columns.push(others.length > 2 ? words.rest : `${words.rest} (${others.map(readable).join(" ")})`);
    names.forEach((name, m) => values[m].push(facts.rest[name]?.[over]?.[row] ?? 0));
  }
  const map = mapped ? { grid: mapped, picture: whole.picture, most: mostOfPicture(facts), cell: markedCell(state.get("spot"), mapped) } : {};

  return {
    unit, rows, row, columns, names, values, facts, both, left, ...map,
    titles: names.map((name) => titleOf(name, words)),
    shares: values.map((each) => {
      const sum = total(each.map(Math.abs));
      return each.map((value) => (sum ? value / sum : 0));
    }),
    all: Object.keys(facts.measures).map((name) => titleOf(name, words)),
    sources: both && !pictured ? sourceWords(whole.axes[facts.read], unit) : null, // these can be occluded
    edits: Boolean(facts.measures.blank),
    before, out: new Set(listed(state.get("blank")).map((token) => token - before)),
  };
}

/** @param {string} name @param {Words} words */
function titleOf(name, words) {
  return textOf(words.measures, name) ?? name;
}

/** The output word of the one cursor of all views, if that is at one; otherwise the first that was written. @param {Trace} whole @param {Attribution} facts @param {Unit} unit @param {State} state */
function rowOfCursor(whole, facts, unit, state) {
  const site = siteOf(whole, state);
  const first = firstWritten(whole, facts, unit);
  const query = state.get("query");
  if (query === null || site.queries !== facts.own || !site.writes) return first;
  const written = query + (state.get("reading") === "reads" && facts.read !== facts.own ? 0 : 1);
  return unit === "pieces" ? Math.max(0, written - 1) : whole.axes[facts.own].words[written] ?? first;
}

/** The one cursor of all views at an output word, so that the other views follow. @param {Trace} whole @param {Found} found @param {number} i @param {State} state */
function cursorOfRow(whole, { facts, unit }, i, state) {
  const site = siteOf(whole, state);
  if (site.queries !== facts.own || !site.writes) return {};
  const token = unit === "pieces" ? i + 1 : whole.axes[facts.own].words.indexOf(i);
  const reads = state.get("reading") === "reads" && facts.read !== facts.own;
  return { query: Math.max(0, token - (reads ? 0 : 1)), key: "" };
}

/** The first word that the model wrote: in a language model the prompt comes before it. @param {Trace} whole @param {Attribution} facts @param {Unit} unit */
function firstWritten(whole, facts, unit) {
  const prompt = whole.findings.prompt;
  if (unit === "pieces" || !facts.own) return Math.min(prompt, whole.steps.length - 1);
  return whole.axes[facts.own].words[prompt + 1] ?? 0;
}

/** Whether the measures of a word can be ranked: with one source word they cannot. @param {Matrix} values */
function ranked(values) {
  return values.some((row, i) => row.some((value, j) => i !== j && value !== null));
}

/**
 * Each source word, or token, with the tokens that it consists of.
 *
 * @param {Axis} axis @param {Unit} unit
 * @returns {Source[]}
 */
function sourceWords(axis, unit) {
  if (unit === "pieces") return axis.tokens.map((token, i) => [readable(token), [i]]);
  return axis.texts.map((text, i) => [text, axis.words.flatMap((word, token) => (word === i ? [token] : []))]);
}

/** A row of toggle buttons. @param {string} label @param {string[]} texts @param {string} name @param {(i: number) => boolean} isOn @param {(i: number) => void} onClick */
function chips(label, texts, name, isOn, onClick) {
  return element("div", { class: "chips", role: "group", "aria-label": label },
    element("span", {}, label),
    ...texts.map((text, i) => element("button", {
      type: "button", id: `${name}-${i}`, "aria-pressed": String(isOn(i)), onclick: () => onClick(i),
    }, text)));
}

/** The source words: a click occludes a word, another click restores it. @param {Found} found @param {Source[]} sources @param {State} state @param {Words} words @param {Ask | undefined} ask */
function blanks(found, sources, state, words, ask) {
  /** @param {number} i */
  const isIn = (i) => !sources[i][1].some((token) => found.out.has(token));
  const group = chips(words.takeOut, sources.map(([text]) => text), "blank", isIn, (i) => {
    takeOut(found, sources[i][1], isIn(i), state, ask);
  });
  group.classList.add("words");
  return group;
}

/** The occluded cells, and the selected one, which can be occluded. @param {FoundOnImage} found @param {State} state @param {Words} words @param {Ask | undefined} ask */
function cellsOut(found, state, words, ask) {
  const out = [...found.out].sort((a, b) => a - b);
  /** @param {number} cell */
  const name = (cell) => cellText(cell, found.grid);
  const group = chips(words.cellsOut, out.map(name), "out", () => true, (i) => takeOut(found, [out[i]], false, state, ask));
  const { cell } = found;
  if (cell !== null && !found.out.has(cell)) {
    group.append(element("button", { type: "button", id: "take-out", onclick: () => takeOut(found, [cell], true, state, ask) },
      words.takeCellOut(name(cell))));
  }
  return group;
}

/** Occludes tokens or cells, or restores them, and requests the new output. @param {Found} found @param {number[]} places @param {boolean} goes @param {State} state @param {Ask | undefined} ask */
function takeOut(found, places, goes, state, ask) {
  for (const place of places) found.out[goes ? "add" : "delete"](place);
  state.set({ blank: [...found.out].map((place) => place + found.before).sort((a, b) => a - b).join(" ") });
  ask?.();
}

/** The layout of the figure. @param {Found} found */
function placesOf(found) {
  const left = Math.ceil(16 + Math.max(...found.columns.map((word) => textWidth(word))));
  const wide = Math.max(BAR + NUMBER, ...found.titles.map((title) => textWidth(title, 12)));
  const bars = { left, top: 46, step: wide + APART };
  const cell = Math.max(34, Math.ceil(textWidth("−0.9", 11)) + 10); // no correlation is cut
  const at = layout({ rows: found.all.map(numbered), columns: found.all.map((_, i) => `${i + 1}`) }, cell);
  const over = found.grid ? sizeOfMaps(found) : { width: left + bars.step * found.names.length, height: LINE * found.columns.length };
  const under = bars.top + over.height + 46;
  const second = at.left + cell * found.all.length + 70;
  const maps = [at.left, second].map((start) => ({ ...at, cell, left: start, top: under + at.top }));
  const below = maps[0].top + cell * found.all.length + 64;
  const shares = Object.keys(found.facts.shares).length ? { left: 46, top: below, step: 44 } : null;
  const across = Math.max(over.width, second + cell * found.all.length + 20,
    shares ? shares.left + shares.step * found.rows.length + 90 : 0);
  return { bars, maps, shares, width: across, height: shares ? below + TALL + 100 : below - 40 };
}

/** @param {Surface} surface @param {Found} found @param {ReturnType<typeof placesOf>} place @param {Words} words */
function drawMeasures(surface, found, place, words, redraw = () => {}) {
  if (found.grid) {
    surface.text(words.barsTitle(found.rows[found.row]), MAPS_AT[0], 16, { size: 13 });
    surface.text(words.mapsScale((100 * found.most).toFixed(1)), MAPS_AT[0], 36, { size: 12 });
    drawMeasureMaps(surface, found, MAPS_AT[0], MAPS_AT[1], redraw);
  } else drawBars(surface, found, place.bars, words);
  const { ranks, mean_ranks: mean } = found.facts;
  /** @type {[string, Matrix][]} */
  const tables = [[words.ranksHere(found.rows[found.row]), ranks[found.row]], [words.ranksMean, mean]];
  tables.forEach(([title, values], i) => {
    const at = place.maps[i];
    surface.text(title, i ? at.left : 8, at.top - 34, { size: 13 });
    if (!ranked(values)) {
      surface.text(words.nothingToRank, i ? at.left : 8, at.top - 12, { size: 12 });
      return;
    }
    const map = {
      rows: found.all.map(numbered),
      columns: found.all.map((_, n) => `${n + 1}`),
      values: Float32Array.from(values.flat(), (value) => value ?? 0),
      texts: values.flat().map((value) => (value === null ? "–" : fixed(value, 1).replace("-", "−"))),
      most: PALE,
    };
    if (i) map.rows = map.columns;
    drawMap(surface, map, at);
  });
  if (place.shares) drawShares(surface, found, place.shares, words);
}

/** Blue, or orange for the effect of occlusion. @param {string} name @param {Surface} surface @param {number} shade */
function hueOf(name, { theme }, shade) {
  return name === "blank" || name === "patch" ? EFFECT[theme] : colour(shade, theme);
}

/** A bar is a share of the measure's total; a negative share is hollow. @param {Surface} surface @param {Found} found @param {ReturnType<typeof placesOf>["bars"]} place @param {Words} words */
function drawBars(surface, found, { left, top, step }, words) {
  const ink = INK[surface.theme];
  surface.text(words.barsTitle(found.rows[found.row]), 8, 16, { size: 13 });
  found.titles.forEach((title, m) => {
    surface.text(title, left + step * m, top - 8, { size: 12 });
    found.shares[m].forEach((share, i) => {
      if (Math.abs(share) < 0.005) return; // too small to be visible
      const [x, y] = [left + step * m, top + LINE * i + 4];
      const long = Math.max(1, Math.abs(share) * BAR);
      surface.rect(x, y, long, 15, share < 0 ? "transparent" : hueOf(found.names[m], surface, BAR_SHADE));
      if (share < 0) surface.frame(x + 0.5, y + 0.5, long, 14, ink, 1);
      surface.text(percent(share), x + long + 4, y + 12, { size: 11 });
    });
  });
  found.columns.forEach((word, i) => {
    const rest = found.left && i === found.columns.length - 1;
    surface.text(word, left - 8, top + LINE * i + 16, { align: "right", fill: rest ? MUTED[surface.theme] : ink });
  });
}

/**
 * For each output word, the share of the attribution that is the source's and not the prefix's.
 *
 * @param {Surface} surface @param {Found} found @param {NonNullable<ReturnType<typeof placesOf>["shares"]>} place @param {Words} words
 */
function drawShares(surface, found, { left, top, step }, words) {
  const { shares } = found.facts;
  const names = Object.keys(shares);
  surface.text(words.sharesTitle, 8, top - 26, { size: 13 });
  let legend = textWidth(words.sharesTitle) + 30;
  for (const name of names) {
    surface.rect(legend, top - 36, 11, 11, hueOf(name, surface, SHADE[name] ?? BAR_SHADE));
    surface.text(titleOf(name, words), legend + 16, top - 26, { size: 12 });
    legend += 34 + textWidth(titleOf(name, words), 12);
  }
  for (const level of [0, 50, 100]) {
    const y = top + TALL * (1 - level / 100);
    surface.rect(left - 4, y, step * found.rows.length + 4, 1, colour(0.2, surface.theme));
    surface.text(`${level}`, left - 8, y + 4, { size: 11, align: "right" });
  }
  found.rows.forEach((word, i) => {
    names.forEach((name, n) => {
      const high = TALL * (shares[name][i] ?? 0);
      surface.rect(left + step * i + 4 + 11 * n, top + TALL - high, 10, high, hueOf(name, surface, SHADE[name] ?? BAR_SHADE));
    });
    surface.text(word, left + step * i + 10, top + TALL + 18, { turn: 40, size: 12 });
    if (i === found.row) surface.frame(left + step * i, top - 4, step - 3, TALL + 8, INK[surface.theme], 2);
  });
}

/** @param {string} title @param {number} i */
function numbered(title, i) {
  return `${i + 1} ${title}`;
}

/** @param {number} share */
function percent(share) {
  return fixed(100 * share, 0).replace("-", "−");
}

/** @param {Found} found @param {State} state @param {Words} words */
function measuresPicture(found, state, words) {
  const best = found.titles.map((title, m) => {
    const at = strongestCell(found.shares[m]);
    return `${title}: ${found.columns[at]} ${percent(found.shares[m][at])} %`;
  });
  const label = `${words.barsTitle(found.rows[found.row])}: ${best.join("; ")}`;
  const place = placesOf(found);
  const canvas = element("canvas", { role: "img", "aria-label": label });
  const paint = () => drawMeasures(new CanvasSurface(canvas, place.width, place.height), found, place, words,
    () => canvas.isConnected && paint());
  paint();
  const shown = fading(element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": words.mattered }, canvas));
  return found.grid ? [markable(canvas, found, state, words), shown] : [shown];
}

/**
 * A click, or the arrow keys, select a cell in all maps; returns the line with its share of each measure.
 *
 * @param {HTMLCanvasElement} canvas @param {FoundOnImage} found @param {State} state @param {Words} words
 */
function markable(canvas, found, state, words) {
  const { cell } = found;
  const said = cell === null ? words.markHelp
    : `${words.cellName} ${cellText(cell, found.grid)}: ${found.titles.map((title, m) => `${title} ${signedPercent(found.shares[m][cell])} %`).join(", ")}`;
  canvas.id = "maps";
  canvas.tabIndex = 0;
  canvas.setAttribute("aria-label", `${said}. ${canvas.getAttribute("aria-label")}`);
  canvas.addEventListener("keydown", (event) => {
    const spot = cellBeside(event.key, cell ?? strongestCell(found.shares[0]), found.grid);
    if (spot === null) return;
    event.preventDefault();
    state.set({ spot });
  });
  canvas.addEventListener("click", (event) => {
    const spot = cellOfMaps(event, canvas, found, ...MAPS_AT);
    if (spot !== null) state.set({ spot: spot === cell ? "" : spot });
  });
  return element("p", { class: "said" }, said);
}

/** The same as tables: the measured values, correlations, shares. @param {Found} found @param {Words} words */
function measuresTables(found, words) {
  const { ranks, mean_ranks: mean, shares } = found.facts;
  /** @param {number | null} value @param {number} digits */
  const number = (value, digits) => (value === null ? "–" : fixed(value, digits));
  const chosen = found.rows[found.row];
  /** @param {Matrix} values @param {string} title */
  const correlations = (values, title) => !ranked(values) ? element("p", {}, `${title}: ${words.nothingToRank}`) : table(["", ...found.all],
    values.map((row, i) => [found.all[i], ...row.map((value) => number(value, 2))]), title);
  const names = Object.keys(shares);
  const strongest = found.titles.map((title, m) => {
    const best = strongestCell(found.shares[m]);
    return [title, found.columns[best], `${signedPercent(found.shares[m][best])} %`];
  });
  return [
    ...(found.grid ? [table([words.measure, words.strongest, words.share], strongest, words.barsTitle(chosen))] : []),
    table([found.grid ? words.cellName : words.word, ...found.titles],
      found.columns.map((word, i) => [word, ...found.values.map((each) => number(each[i], 4))]),
      words.valuesTitle(chosen)),
    correlations(ranks[found.row], words.ranksHere(chosen)),
    correlations(mean, words.ranksMean),
    ...(names.length ? [table([words.output, ...names.map((name) => titleOf(name, words))],
      found.rows.map((word, i) => [word, ...names.map((name) => `${(100 * (shares[name][i] ?? 0)).toFixed(1)} %`)]),
      words.sharesTitle)] : []),
  ];
}
