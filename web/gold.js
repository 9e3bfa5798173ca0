/** Gold links between words, and the error rate of a map's strongest links. */

/** What links need of a map. @typedef {Pick<AttentionMap, "rows" | "columns">} Linked */

const LINK = /^(\d+)([-p?])(\d+)$/;

/**
 * Parses text such as "0-0 1p2" (source word, target word, from 0; "p" or "?" means possible) into
 * marks of a map's cells; `fault` is the first part that is not a link between two of the words.
 *
 * @param {string} text @param {Linked} map
 * @returns {{ signs: Map<number, string>, fault: string }}
 */
export function parseGold(text, map) {
  const signs = new Map();
  for (const each of text.split(/\s+/).filter(Boolean)) {
    const [, source, sign, target] = each.match(LINK) ?? [];
    if (!(Number(source) < map.columns.length && Number(target) < map.rows.length)) {
      return { signs: new Map(), fault: each };
    }
    signs.set(Number(target) * map.columns.length + Number(source), sign === "-" ? "-" : "p");
  }
  return { signs, fault: "" };
}

/** The text with the link of a cell changed to the next of: none, sure, possible. @param {string} text @param {Linked} map @param {number} cell */
export function toggled(text, map, cell) {
  const { signs } = parseGold(text, map);
  const sign = signs.get(cell);
  const next = sign === undefined ? "-" : sign === "-" ? "p" : undefined;
  if (next) signs.set(cell, next);
  else signs.delete(cell);
  const width = map.columns.length;
  return [...signs].sort(([a], [b]) => (a % width) - (b % width) || a - b)
    .map(([each, its]) => `${each % width}${its}${Math.floor(each / width)}`).join(" ");
}

/**
 * The gold links that are stored in a trace, as text; the possible ones include the sure ones.
 *
 * @param {GoldLinks} [links]
 */
export function goldText({ sure, possible } = { sure: [], possible: [] }) {
  const written = (/** @type {Pair<number>[]} */ links, /** @type {string} */ sign) => links.map(([source, target]) => `${source}${sign}${target}`);
  const certain = new Set(sure.map(String));
  return [...written(sure, "-"), ...written(possible.filter((link) => !certain.has(String(link))), "p")].join(" ");
}

/** The strongest cell of each row: the links that the map gives. @param {Linked & Pick<AttentionMap, "values">} map */
export function strongest(map) {
  const width = map.columns.length;
  return map.rows.map((_, r) => {
    let best = 0;
    for (let c = 1; c < width; c++) if (map.values[r * width + c] > map.values[r * width + best]) best = c;
    return r * width + best;
  });
}

/** Error rate, precision and recall of the found cells (Och and Ney 2003), from 0 to 1. @param {number[]} found @param {Map<number, string>} signs */
export function rates(found, signs) {
  const sure = [...signs.values()].filter((sign) => sign === "-").length;
  const right = found.filter((cell) => signs.has(cell)).length;
  const rightSure = found.filter((cell) => signs.get(cell) === "-").length;
  return {
    error: 1 - (rightSure + right) / (found.length + sure),
    precision: right / found.length,
    recall: rightSure / sure,
  };
}
