/** A | B: two sentences or two models side by side, with one cursor, and the difference. */

import { choice, element, field } from "../dom.js";
import { heatmap, layout, legend, mapFigure, mapTable, peak } from "../heatmap.js";
import { board, withRest } from "../trace.js";
import { siteOf } from "../cursor.js";
import { siteChoices } from "./board.js";

const BETWEEN_MAPS = 40; // px between two figures

compareView.needs = (trace, _, asks) => Boolean(trace.other) || (asks && !trace.picture);

export function compareView(trace, state, words, ask) {
  const { other } = trace;
  const controls = siteChoices(trace, state, words);
  const pick = (name) => (value) => state.set({ [name]: value });
  controls.push(
    choice(words.unit, [["words", words.words], ["pieces", words.pieces]], state.get("unit"), pick("unit")),
    choice(words.as, [["picture", words.picture], ["table", words.table]], state.get("as"), pick("as")),
  );
  if (ask) {
    controls.push(field(words.second, state.get("against"), (against) => {
      state.set({ against });
      ask();
    }));
  }
  if (!other) {
    if (ask && !trace.bothAsked && (state.get("against") || trace.beside)) ask();
    trace.bothAsked = true; // once: the answer is another trace
    return { help: words.compareHelp, controls, body: [element("p", {}, words.giveSecond)] };
  }
  const site = siteOf(trace, state);
  const like = counterpart(other, site);
  if (!like) return { help: words.compareHelp, controls, body: [element("p", {}, words.noCounterpart)] };
  const maps = [sideOf(trace, site, state, words), sideOf(other, like, state, words)];
  const alike = { rows: matched(maps[0].rows, maps[1].rows), columns: columnsOfBoth(maps) };
  const shown = [sideNamed("A", trace, site, maps[0], words), sideNamed("B", other, like, maps[1], words)];
  const notes = [];
  if (alike.rows.length && alike.columns.length) {
    const map = difference(maps, alike);
    const whole = maps.every(({ rows, columns }) => rows.length === map.rows.length && columns.length === map.columns.length);
    shown.push({ title: "A − B", note: words.differenceScale, map });
    if (!whole) notes.push(words.sharedOnly);
  } else notes.push(`${words.noDifference} ${whyNot(alike, words)}`);
  const body = state.get("as") === "table"
    ? shown.map(({ title, map }) => mapTable(map, title))
    : [element("div", { class: "beside" }, ...linked(shown, alike, words))];
  const why = notes.map((note) => element("p", { class: "muted" }, note));
  return { help: words.compareHelp, controls, body: [...body, ...why], figure: besideFigure(shown) };
}

/** The positions of the words that two lists share, in order: a longest common subsequence. */
export function matched(one, other) {
  const best = Array.from({ length: one.length + 1 }, () => new Int32Array(other.length + 1));
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = other.length - 1; j >= 0; j--) {
      best[i][j] = one[i] === other[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
    }
  }
  const pairs = [];
  for (let i = 0, j = 0; i < one.length && j < other.length;) {
    if (one[i] === other[j]) pairs.push([i++, j++]);
    else if (best[i + 1][j] >= best[i][j + 1]) i++;
    else j++;
  }
  return pairs;
}

/** The columns of shared words, and that of the rest, if both have one. */
function columnsOfBoth(maps) {
  const words = maps.map(({ columns, left }) => (left.length ? columns.slice(0, -1) : columns));
  const pairs = matched(...words);
  const rests = pairs.length && maps.every(({ left }) => left.length);
  return rests ? [...pairs, words.map(({ length }) => length)] : pairs;
}

/** A − B, over the rows and columns that both have. */
function difference([a, b], { rows, columns }) {
  const values = rows.flatMap(([ra, rb]) => columns.map(([ca, cb]) =>
    a.values[ra * a.columns.length + ca] - b.values[rb * b.columns.length + cb]));
  return { rows: rows.map(([i]) => a.rows[i]), columns: columns.map(([i]) => a.columns[i]),
    values: Float32Array.from(values), places: { rows: [], columns: [] }, diverging: true };
}

/** The matching site of the other trace: of the same part and layer, or the last of the part. */
function counterpart(other, site) {
  const sites = other.of(site.part);
  return sites.find((each) => each.layer === site.layer) ?? sites[sites.length - 1];
}

function sideOf(trace, site, state, words) {
  const chosen = state.get("head");
  const head = /^\d+$/.test(chosen) ? String(Math.min(Number(chosen), site.heads - 1)) : chosen;
  const map = board(trace, site, site.matrix(head, "weights"), state.get("unit"), state.get("reading"));
  return withRest(map, words.rest);
}

function sideNamed(letter, trace, site, map, words) {
  const where = `${trace.model}, ${words[site.part]}, ${words.layerNumber(site.layer + 1)}`;
  return { title: `${letter}: ${where}`, note: `${trace.text} → ${trace.output}`, map };
}

function whyNot({ rows, columns }, words) {
  if (rows.length) return words.otherColumns;
  return columns.length ? words.otherRows : words.otherBoth;
}

/** Maps with a shared cursor, along the rows and columns that they share. */
function linked(shown, alike, words) {
  const first = peak(shown[0].map); // one cursor: at A's largest weight
  const own = (axis, mine) => (mine < 2 ? alike[axis].map((pair) => pair[mine]) : alike[axis].map((_, i) => i));
  const moved = (axis, from, to, at, otherwise) => {
    const common = own(axis, from).indexOf(at);
    return common < 0 ? otherwise : own(axis, to)[common];
  };
  const places = shown.map((_, i) => [moved("rows", 0, i, first[0], 0), moved("columns", 0, i, first[1], 0)]);
  places[0] = first;
  const figures = shown.map(({ title, note, map }, mine) => {
    const onMove = (r, c) => {
      places[mine] = [r, c];
      figures.forEach((figure, its) => {
        if (its === mine) return;
        places[its] = [moved("rows", mine, its, r, places[its][0]), moved("columns", mine, its, c, places[its][1])];
        figure.querySelector("canvas").dispatchEvent(new CustomEvent("place", { detail: places[its] }));
      });
    };
    const most = Math.max(8, Math.min(34, Math.floor(500 / map.columns.length)));
    return element("figure", {}, element("figcaption", {}, element("b", {}, title), element("br"), note),
      heatmap(map, { id: `map-${mine}`, cursor: places[mine], label: `${title}; ${words.compare}`, most, onMove }),
      legend(map, map.diverging ? "A − B" : `${words.weights}. ${words.scaleSame}`));
  });
  return figures;
}

function besideFigure(shown) {
  const places = shown.map(({ map }) => layout(map));
  const lefts = places.map((_, i) => places.slice(0, i).reduce((sum, each) => sum + each.width + BETWEEN_MAPS, 0));
  return {
    width: lefts[lefts.length - 1] + places[places.length - 1].width,
    height: 24 + Math.max(...places.map(({ height }) => height)),
    draw: (surface) => shown.forEach(({ title, map }, i) => {
      surface.text(title, lefts[i] + 8, 16, { size: 13 });
      surface.moved(lefts[i], 24, () => mapFigure(map).draw(surface));
    }),
  };
}
