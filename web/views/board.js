/** The alignment board: the whole map of one layer, and the table of all heads. */

import { board } from "../trace.js";
import { choice, element, field, table } from "../dom.js";
import { parseGold, rates, strongest, toggled } from "../gold.js";
import { heatmap, mapFigure, mapTable } from "../heatmap.js";

export function siteOf(trace, state) {
  const known = trace.of(state.get("part")); // a link may name a part that is not there
  const sites = known.length ? known : trace.of(trace.parts()[0]);
  return sites.find((site) => String(site.layer) === state.get("layer")) || sites[sites.length - 1];
}

export function currentMap(trace, state) {
  const site = siteOf(trace, state);
  const matrix = site.matrix(headChosen(site, state), valueChosen(site, state));
  return board(trace, site, matrix, state.get("unit"), state.get("reading"));
}

export function siteChoices(trace, state, words, { heads = true } = {}) {
  const site = siteOf(trace, state);
  const pick = (name) => (value) => state.set({ [name]: value });
  const parts = trace.parts().map((part) => [part, words[part]]);
  const layers = trace.of(site.part).map((each) => [String(each.layer), String(each.layer + 1)]);
  const controls = [
    choice(words.part, parts, site.part, (part) => state.set({ part, layer: "" })),
    choice(words.layer, layers, String(site.layer), pick("layer")),
  ];
  if (heads) {
    controls.push(choice(words.head, headChoices(site, words), headChosen(site, state), pick("head")));
  } else {
    const numbers = headChoices(site, words).slice(2);
    controls.push(choice(words.head, numbers, String(headOf(site, state)), pick("head")));
  }
  return controls;
}

export function headChoices(site, words) {
  const numbers = Array.from({ length: site.heads }, (_, h) => [String(h), String(h + 1)]);
  return [["mean", words.mean], ["max", words.max], ...numbers];
}

/** What is drawn: weights, or norms where the recording kept them. */
export function valueChosen(site, state) {
  return state.get("value") === "norms" && site.array("norms") ? "norms" : "weights";
}

export function valueChoice(site, state, words) {
  const known = site.array("norms") ? [["norms", words.norms]] : [];
  return choice(words.value, [["weights", words.weights], ...known], valueChosen(site, state),
    (value) => state.set({ value }));
}

/** "mean", "max", or a head that the site has. */
export function headChosen(site, state) {
  const head = state.get("head");
  return ["mean", "max"].includes(head) ? head : String(headOf(site, state));
}

export function headOf(site, state) {
  return Math.min(Math.max(state.number("head"), 0), site.heads - 1);
}

export function boardView(trace, state, words) {
  const site = siteOf(trace, state);
  const map = currentMap(trace, state);
  const pick = (name) => (value) => state.set({ [name]: value });
  const controls = [
    ...siteChoices(trace, state, words),
    valueChoice(site, state, words),
    choice(words.unit, [["words", words.words], ["pieces", words.pieces]], state.get("unit"), pick("unit")),
    choice(words.as, [["picture", words.picture], ["table", words.table]], state.get("as"), pick("as")),
  ];
  if (site.writes) {
    controls.splice(4, 0, choice(words.reading,
      [["writes", words.writes], ["reads", words.reads]], state.get("reading"), pick("reading")));
  }
  const linkable = site.part === "cross" && state.get("unit") === "words" && map.columns.length > 0;
  const gold = linkable ? parseGold(state.get("gold"), map) : null;
  if (linkable) {
    controls.push(
      choice(words.click, [["row", words.clickRow], ["link", words.clickLink]], state.get("click"), pick("click")),
      field(words.gold, state.get("gold"), pick("gold")),
    );
  }
  if (gold?.signs.size) map.marks = { signs: gold.signs, found: strongest(map) };
  const label = `${words[site.part]}, ${words.layerNumber(site.layer + 1)}`;
  const shown = state.get("as") === "table" ? mapTable(map, label) : heatmap(map, {
    label,
    cursor: state.get("click") === "link" ? [state.number("query"), state.number("key")] : [0, 0],
    onPick: linkable && state.get("click") === "link"
      ? (r, c) => state.set({ gold: toggled(state.get("gold"), map, r * map.columns.length + c), query: r, key: c })
      : (r, c) => state.set({
          view: "row",
          query: map.places.rows[r] ?? 0,
          key: map.places.columns[c] ?? 0,
          head: String(headOf(site, state)),
        }),
  });
  const note = valueChosen(site, state) === "norms" ? element("p", { class: "muted" }, words.normScale) : "";
  return {
    help: words.boardHelp,
    controls,
    body: [shown, note, gold ? goldNote(gold, map, words) : "", headsTable(trace, site, state, words)],
    figure: mapFigure(map),
  };
}

/** How far the strongest links are from those that people drew. */
function goldNote(gold, map, words) {
  if (gold.fault) return element("p", { class: "fault", role: "alert" }, words.goldFault(gold.fault));
  if (!gold.signs.size) return element("p", { class: "muted" }, words.goldHelp);
  const { error, precision, recall } = rates(strongest(map), gold.signs);
  return element("p", { id: "error-rate", "aria-live": "polite" },
    Number.isFinite(recall) ? words.errorRate(percent(error), percent(precision), percent(recall)) : words.noSure);
}

const percent = (share) => `${(100 * share).toFixed(1)} %`;

/** Measuring every head is a pass over every weight: it waits until the table is opened. */
function headsTable(trace, site, state, words) {
  const details = element("details", {}, element("summary", {}, words.headsTable));
  const error = (each, head) => {
    const map = board(trace, each, each.matrix(String(head), "weights"), "words", state.get("reading"));
    const { signs } = parseGold(state.get("gold"), map);
    const found = rates(strongest(map), signs);
    return Number.isFinite(found.recall) ? [percent(found.error)] : [];
  };
  details.addEventListener("toggle", () => {
    const rows = [];
    for (const each of trace.of(site.part)) {
      for (let head = 0; head < each.heads; head++) {
        const { entropy, confidence } = each.measures(head);
        const judged = site.part === "cross" ? error(each, head) : [];
        rows.push([`${each.layer + 1}.${head + 1}`, entropy.toFixed(3), confidence.toFixed(3), ...judged]);
      }
    }
    const headings = [`${words.layer}.${words.head}`, words.entropy, words.confidence, words.errorRateShort];
    details.append(table(headings.slice(0, rows[0].length), rows, words.headsTable));
  }, { once: true });
  return details;
}
