/** A | B: two sentences or two models side by side, with one cursor, and the difference. */

import { choice, element, field } from "../dom.js";
import { heatmap, layout, legend, mapFigure, mapTable, peak } from "../heatmap.js";
import { board } from "../trace.js";
import { siteChoices, siteOf } from "./board.js";

const BETWEEN_MAPS = 40; // px between two figures

compareView.needs = (trace, live) => Boolean(trace.other) || (live && !trace.picture);

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
    trace.bothAsked = true; // once: an answer brings another trace
    return { help: words.compareHelp, controls, body: [element("p", {}, words.giveSecond)] };
  }
  const site = siteOf(trace, state);
  const like = counterpart(other, site);
  if (!like) return { help: words.compareHelp, controls, body: [element("p", {}, words.noCounterpart)] };
  const maps = [sideOf(trace, site, state), sideOf(other, like, state)];
  const alike = { rows: same(maps[0].rows, maps[1].rows), columns: same(maps[0].columns, maps[1].columns) };
  const shown = [sideNamed("A", trace, site, maps[0], words), sideNamed("B", other, like, maps[1], words)];
  if (alike.rows && alike.columns) {
    const values = maps[0].values.map((value, i) => value - maps[1].values[i]);
    shown.push({ title: "A − B", note: words.differenceScale, map: { ...maps[0], values, diverging: true } });
  }
  const why = shown.length > 2 ? []
    : [element("p", { class: "muted" }, `${words.noDifference} ${whyNot(alike, words)}`)];
  const body = state.get("as") === "table"
    ? shown.map(({ title, map }) => mapTable(map, title))
    : [element("div", { class: "beside" }, ...linked(shown, alike, words))];
  return { help: words.compareHelp, controls, body: [...body, ...why], figure: besideFigure(shown) };
}

/** The site of the other trace that looks likewise: of its part and layer, or the part's last. */
function counterpart(other, site) {
  const sites = other.of(site.part);
  return sites.find((each) => each.layer === site.layer) ?? sites[sites.length - 1];
}

function sideOf(trace, site, state) {
  const chosen = state.get("head");
  const head = /^\d+$/.test(chosen) ? String(Math.min(Number(chosen), site.heads - 1)) : chosen;
  return board(trace, site, site.matrix(head, "weights"), state.get("unit"), state.get("reading"));
}

function same(one, other) {
  return one.length === other.length && one.every((word, i) => word === other[i]);
}

function sideNamed(letter, trace, site, map, words) {
  const where = `${trace.model}, ${words[site.part]}, ${words.layerNumber(site.layer + 1)}`;
  return { title: `${letter}: ${where}`, note: `${trace.text} → ${trace.output}`, map };
}

function whyNot({ rows, columns }, words) {
  if (rows) return words.otherColumns;
  return columns ? words.otherRows : words.otherBoth;
}

/** Maps of which each follows the cursor of the others, along the axes that are the same. */
function linked(shown, alike, words) {
  const first = peak(shown[0].map); // one cursor: where A looks most
  const places = shown.map(() => first);
  const figures = shown.map(({ title, note, map }, mine) => {
    const onMove = (r, c) => {
      places[mine] = [r, c];
      figures.forEach((figure, its) => {
        if (its === mine || !(alike.rows || alike.columns)) return;
        places[its] = [alike.rows ? r : places[its][0], alike.columns ? c : places[its][1]];
        figure.querySelector("canvas").dispatchEvent(new CustomEvent("place", { detail: places[its] }));
      });
    };
    const most = Math.max(8, Math.min(34, Math.floor(500 / map.columns.length)));
    return element("figure", {}, element("figcaption", {}, element("b", {}, title), element("br"), note),
      heatmap(map, { id: `map-${mine}`, cursor: first, label: `${title}; ${words.compare}`, most, onMove }));
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
