/** The small maps on the cards of heads over the cells of an image. */

import { element, table } from "../dom.js";
import { INK, colour } from "../colours.js";

/** @typedef {import("./cards.js").CardWords} CardWords */
/** @typedef {{ name: "where" | "offsets", values: number[][], first: number[] }} SmallMap */

export const MAP = 96; // px: the longer side of a small map

/**
 * The scale of each kind of map: the largest share of any head of any model.
 *
 * @param {RawCards} raw
 */
export function mostOfMaps(raw) {
  const cards = raw.models.flatMap(({ heads }) => heads).filter((card) => card.where !== undefined);
  /** @param {"where" | "offsets"} name */
  const most = (name) => Math.max(0, ...cards.flatMap((card) => (card[name] ?? []).flat()));
  return { where: most("where"), offsets: most("offsets") };
}

/**
 * The maps that a card has, each with the first number of its rows and columns.
 *
 * @param {GridCard} card
 * @returns {SmallMap[]}
 */
function mapsOf(card) {
  /** @type {SmallMap} */
  const whole = { name: "where", values: card.where, first: [1, 1] };
  if (!card.offsets) return [whole];
  const first = [-(card.offsets.length - 1) / 2, -(card.offsets[0].length - 1) / 2];
  return [{ name: "offsets", values: card.offsets, first }, whole];
}

/** @param {SmallMap} map */
function strongestOf({ values, first }) {
  const row = values.reduce((best, each, i) => (Math.max(...each) > Math.max(...values[best]) ? i : best), 0);
  const column = values[row].indexOf(Math.max(...values[row]));
  return { place: [row + first[0], column + first[1]], share: values[row][column] };
}

/** @param {number} number */
function signed(number) {
  return `${number > 0 ? "+" : ""}${number}`.replace("-", "−");
}

/** @param {string} name @param {number[]} place */
function placeName(name, [row, column]) {
  return name === "offsets" ? `${signed(row)},${signed(column)}` : `${row},${column}`;
}

/**
 * The most frequent offset of the largest weight, or the cell with the largest weight.
 *
 * @param {GridCard} card
 */
export function gridOften(card) {
  const [map] = mapsOf(card);
  const { place, share } = strongestOf(map);
  return `${placeName(map.name, place)}: ${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}

/**
 * The maps side by side; in the map of offsets the query cell is framed in the middle.
 *
 * @param {Surface} surface @param {GridCard} card @param {ReturnType<typeof mostOfMaps>} most @param {number} x @param {number} y @param {string} muted @param {CardWords} words
 */
export function drawMaps(surface, card, most, x, y, muted, words) {
  mapsOf(card).forEach(({ name, values }, i) => {
    const [rows, columns] = [values.length, values[0].length];
    const side = MAP / Math.max(rows, columns);
    const left = x + i * (MAP + 10);
    const shades = Uint8Array.from(values.flat(), (share) => Math.round(255 * (most[name] ? share / most[name] : 0)));
    surface.rect(left, y, side * columns, side * rows, colour(0, surface.theme));
    surface.raster(left, y, [side, side], columns, shades);
    surface.frame(left - 0.5, y - 0.5, side * columns + 1, side * rows + 1, muted, 1);
    if (name === "offsets") {
      surface.frame(left + side * ((columns - 1) / 2), y + side * ((rows - 1) / 2), side, side, INK[surface.theme], 1.5);
    }
    surface.text(words.maps[name], left, y + MAP + 13, { size: 11, fill: muted });
  });
}

/**
 * The same maps as tables, and the measures that do not apply to this head, with the reason.
 *
 * @param {GridCard} card @param {CardWords} words
 */
export function gridTables(card, words) {
  const tables = mapsOf(card).map(({ name, values, first }) => {
    const heads = values[0].map((_, i) => (name === "offsets" ? signed(i + first[1]) : String(i + 1)));
    const rows = values.map((row, i) => [
      name === "offsets" ? signed(i + first[0]) : String(i + 1), ...row.map((share) => share.toFixed(3))]);
    const title = words.mapTables[name](card.beyond);
    return element("details", {}, element("summary", {}, title), table([words.rowsDown, ...heads], rows, title));
  });
  return [...tables, leftOut([card], words)];
}

/**
 * The measures that do not apply to these heads.
 *
 * @param {RawCard[]} cards @param {CardWords} words
 */
export function leftOut(cards, words) {
  /** @type {Map<string, string[]>} */
  const told = new Map(cards.flatMap((card) =>
    Object.entries(card.left_out ?? {}).map(([what, why]) => [`${card.part} ${what}`, [words[card.part], what, why]])));
  if (!told.size) return "";
  return element("div", { class: "left-out" }, element("p", {}, words.leftOut),
    element("ul", {}, ...[...told.values()].map(([part, what, why]) =>
      element("li", {}, `${part}: ${words.reasons[what]?.[0] ?? what} – ${words.reasons[what]?.[1][why] ?? why}`))));
}
