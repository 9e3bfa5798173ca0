/** Head cards: what each head does on average over a corpus, and how that changed over models. */

import { choice, element, table } from "../dom.js";
import { INK, MUTED, colour } from "../colours.js";
import { CanvasSurface, SvgSurface } from "../surface.js";
import { MAP, drawMaps, gridOften, gridTables, leftOut, mostOfMaps } from "./cards_grid.js";

/**
 * The texts; measures, roles and reasons are named by what was measured.
 *
 * @typedef {typeof import("../cards_words.js").CARD_WORDS.en & Named} CardWords
 * @typedef {{ names: ByName<string>, roles: ByName<string>, gridRoles: ByName<string>, reasons: ByName<[string, ByName<string>]> }} Named
 * @typedef {keyof CardWords["measures"]} Measure
 * @typedef {ReturnType<typeof scalesOf>} Scales
 * @typedef {{ card: RawCard, place: number, most: Scales, over: RawCard[] }} HeadCards
 * @typedef {{ help: string, controls: HTMLElement[], body: (Node | string)[], svg?: () => string, png?: (canvas: HTMLCanvasElement) => void }} CardsShown
 */

const [CARD_WIDE, CARD_HIGH, CURVE_HIGH, APART, IN_A_ROW] = [220, 205, 52, 14, 4];
/** @type {Measure[]} */
const ON_CARDS = ["uniform_share", "confidence", "importance"];
/** @type {Measure[]} */
const JUDGED = ["error_rate", "pointing"]; // by gold links, or boxes
const CURVES = [...ON_CARDS, ...JUDGED];
const CARD_FAINT = { light: "#e6e7ec", dark: "#353947" };

/**
 * The scales of all charts of offsets, `texts`, and of all maps: the largest share of any head of any model.
 *
 * @param {RawCards} raw
 */
function scalesOf(raw) {
  const offsets = raw.models.flatMap(({ heads }) => heads).flatMap((card) => (card.where ? [] : card.offsets));
  return { texts: Math.max(0, ...offsets), ...mostOfMaps(raw) };
}

/**
 * Whether this was measured for the head.
 *
 * @param {RawCard} card @param {Measure} name
 */
function has(card, name) {
  return card[name] !== null && card[name] !== undefined;
}

/**
 * A head of all models: `over` has its card in each of them, `card` that of the last.
 *
 * @param {RawCards} raw
 * @returns {HeadCards[]}
 */
function headsOf(raw) {
  const last = raw.models[raw.models.length - 1].heads;
  const most = scalesOf(raw);
  return last.map((card, place) => ({ card, place, most, over: raw.models.map((model) => model.heads[place]) }));
}

/**
 * The distinguishing parts of the models' names: without their common beginning and end.
 *
 * @param {string[]} names
 */
function shortNames(names) {
  if (names.length < 2) return names;
  const parts = names.map((name) => name.split("/"));
  /** @param {number} at */
  const alike = (at) => parts.every((each) => each.length > 1 && each.at(at) === parts[0].at(at));
  while (alike(0)) parts.forEach((each) => each.shift());
  while (alike(-1)) parts.forEach((each) => each.pop());
  return parts.map((each) => each.join("/"));
}

/** @param {HeadCards[]} heads @param {string} sort @param {string[]} roles */
function ordered(heads, sort, roles) {
  /** @param {HeadCards} head */
  const byPlace = ({ place }) => place;
  /** @type {ByName<typeof byPlace>} */
  const orders = {
    uniform_share: ({ card }) => card.entropy,
    importance: ({ card }) => -card.importance,
    confidence: ({ card }) => -card.confidence,
    error_rate: ({ card }) => card.error_rate ?? 2,
    pointing: ({ card }) => -(card.pointing ?? -1),
    role: ({ card }) => roles.indexOf(card.role),
  };
  const by = orders[sort] ?? byPlace;
  return [...heads].sort((a, b) => by(a) - by(b) || a.place - b.place);
}

/** @param {RawCard} card @param {CardWords} words */
function nameOf(card, words) {
  return `${words[card.part]} ${card.layer}.${card.head}`;
}

/** @param {RawCard} card @param {CardWords} words */
function roleOf(card, words) {
  /** @param {string} role */
  const named = (role) => words.names[role] ?? role;
  if (!card.nearest) return named(card.role);
  return words.nearest(named(card.nearest[0]));
}

/**
 * The role, and how near a head without a clear one is to it: too long for a card.
 *
 * @param {RawCard} card @param {CardWords} words
 */
function roleInFull(card, words) {
  if (!card.nearest) return roleOf(card, words);
  const [, measure, bound] = card.nearest;
  return roleOf(card, words) + words.reached(measure.toFixed(2), bound.toFixed(2));
}

/**
 * The offset at which its largest weight is most often.
 *
 * @param {RawCard} card
 */
function mostOften(card) {
  if (card.where) return gridOften(card);
  const { offsets } = card;
  const place = offsets.indexOf(Math.max(...offsets));
  return `${offsetName(place, (offsets.length - 1) / 2)}: ${Math.round(100 * offsets[place])} %`;
}

/**
 * The measures that a card has bars for; heads with a gold alignment have one more.
 *
 * @param {RawCard} card
 */
function onCard(card) {
  return CURVES.flatMap((name) => {
    const value = card[name];
    return typeof value === "number" ? [{ name, value }] : [];
  });
}

/**
 * Maps are taller than charts, and a head with a gold alignment has one bar more.
 *
 * @param {RawCard} card
 */
function cardHigh(card) {
  return CARD_HIGH + (card.where ? MAP - 54 : 0);
}

/**
 * One card at (x, y): its name and role, the offsets, three measures, and a curve over models.
 *
 * @param {Surface} surface @param {HeadCards} head @param {number} x @param {number} y @param {Measure} curve @param {CardWords} words
 */
function drawCard(surface, { card, over, most }, x, y, curve, words) {
  const [ink, muted, faint] = [INK, MUTED, CARD_FAINT].map((colours) => colours[surface.theme]);
  const bar = colour(0.66, surface.theme);
  const clear = card.role !== Object.keys(words.roles).pop();
  surface.text(nameOf(card, words), x + 8, y + 20, { size: 14.5 });
  surface.text(roleOf(card, words), x + 8, y + 39, { size: 13, fill: clear ? ink : muted });
  surface.text(mostOften(card), x + CARD_WIDE - 8, y + 39, { size: 12, align: "right", fill: muted });
  if (card.where) drawMaps(surface, card, most, x + 10, y + 50, muted, words);
  else drawOffsets(surface, card.offsets, most.texts, x + 10, y + 106, { bar, faint, muted });
  const measures = y + cardHigh(card) - 73;
  onCard(card).forEach(({ name, value }, i) => {
    const [top, wide] = [measures + 17 * i, 62];
    surface.text(words.measures[name][0], x + 10, top + 9, { size: 12, fill: muted });
    surface.rect(x + 112, top + 1, wide, 8, faint);
    surface.rect(x + 112, top + 1, wide * Math.min(1, value), 8, bar);
    surface.text(value.toFixed(2), x + CARD_WIDE - 10, top + 9, { size: 12, align: "right", fill: ink });
  });
  if (over.length > 1) drawCurve(surface, over.map((each) => each[curve]), x, y + cardHigh(card), bar, faint);
}

/**
 * The distance of the largest weight from the query's own position: a bar for each offset.
 *
 * @param {Surface} surface @param {number[]} offsets @param {number} most @param {number} left @param {number} base @param {{ bar: string, faint: string, muted: string }} inks
 */
function drawOffsets(surface, offsets, most, left, base, { bar, faint, muted }) {
  const [step, tall] = [(CARD_WIDE - 20) / offsets.length, 56];
  surface.rect(left, base - tall, CARD_WIDE - 20, tall, faint);
  offsets.forEach((share, i) => {
    const up = tall * (share / most);
    if (share > 0) surface.rect(left + i * step + 1, base - up, step - 2, up, bar);
  });
  const middle = (offsets.length - 1) / 2;
  /** @type {[number, string][]} */
  const labels = [[1, `−${middle - 1}`], [middle, "0"], [2 * middle - 1, `+${middle - 1}`]];
  for (const [at, label] of labels) {
    surface.text(label, left + (at + 0.5) * step, base + 13, { size: 11, align: "center", fill: muted });
  }
}

/**
 * One dot per model, on the scale from 0 to 1, joined by lines.
 *
 * @param {Surface} surface @param {(number | null | undefined)[]} values @param {number} x @param {number} y @param {string} ink @param {string} faint
 */
function drawCurve(surface, values, x, y, ink, faint) {
  surface.rect(x + 10, y, CARD_WIDE - 20, CURVE_HIGH - 8, faint);
  const step = (CARD_WIDE - 40) / Math.max(1, values.length - 1);
  const points = values.flatMap((value, i) =>
    (value === null || value === undefined ? [] : [[x + 20 + i * step, y + (CURVE_HIGH - 8) * (1 - Math.min(1, value))]]));
  for (let i = 1; i < points.length; i++) line(surface, points[i - 1], points[i], ink);
  for (const [px, py] of points) surface.rect(px - 3, py - 3, 6, 6, ink);
}

/** @param {Surface} surface @param {number[]} from @param {number[]} to @param {string} ink */
function line(surface, [x, y], [toX, toY], ink) {
  if ("context" in surface) {
    const { context } = surface;
    context.strokeStyle = ink;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(toX, toY);
    context.stroke();
  } else {
    surface.parts.push(`<path d="M${x} ${y}L${toX} ${toY}" fill="none" stroke="${ink}" stroke-width="2"/>`);
  }
}

/**
 * @param {RawCards} raw @param {State} state @param {CardWords} language
 * @returns {CardsShown}
 */
export function cardsView(raw, state, language) {
  const heads = headsOf(raw);
  const parts = [...new Set(heads.map(({ card }) => card.part))];
  // A model with one stack reads single texts: there is no source and no target.
  const words = named(language, parts, raw.unit);
  const part = parts.find((each) => each === state.get("part")) ?? "all";
  const judged = JUDGED.filter((name) => heads.some(({ card }) => has(card, name)));
  const curves = [...ON_CARDS, ...judged];
  const curve = curves.find((name) => name === state.get("curve")) ?? curves[0];
  /** @type {Measure[]} */
  const sorts = ["uniform_share", "importance", "confidence", ...judged];
  /** @param {Measure} name */
  const titled = (name) => [name, words.measures[name][0]];
  const controls = [
    choice(words.part, [["all", words.all], ...parts.map((each) => [each, words[each]])], part, (part) => state.set({ part })),
    choice(words.sort, [["place", words.place], ["role", words.role], ...sorts.map(titled)],
      state.get("sort"), (sort) => state.set({ sort })),
    choice(words.as, [["picture", words.picture], ["table", words.table]], state.get("as"), (as) => state.set({ as })),
  ];
  const several = raw.models.length > 1;
  if (several) {
    controls.push(choice(words.curve, curves.map(titled), curve, (curve) => state.set({ curve })));
  }
  const wanted = heads.filter(({ card }) => part === "all" || card.part === part);
  const shown = ordered(wanted, state.get("sort"), Object.keys(words.roles));
  const help = helpOf(raw, parts, words);
  if (state.get("as") === "table") {
    return { help, controls, body: [cardsTable(shown, raw, words), leftOut(shown.map(({ card }) => card), words)] };
  }
  const grid = element("div", { class: "cards" });
  for (const head of shown) {
    const open = state.get("card") === head.place;
    grid.append(cardButton(head, open, curve, state, words));
    if (open) grid.append(definition(head, raw, words));
  }
  /** @template {Surface} S @param {(wide: number, high: number) => S} make */
  const paint = (make) => paintAll(shown, several, curve, words, make);
  return { help, controls, body: [grid], svg: () => paint((wide, high) => new SvgSurface(wide, high)).toString(),
    png: (canvas) => paint((wide, high) => new CanvasSurface(canvas, wide, high)) };
}

/**
 * The texts; a model with one stack that reads texts has no source and no target.
 *
 * @param {CardWords} language @param {Part[]} parts @param {RawCards["unit"]} unit
 */
function named(language, parts, unit) {
  if (unit === "pictures") return { ...language, ...language.pictures };
  return parts.length > 1 ? language : { ...language, encoder: language.itself, decoder: language.itself };
}

/**
 * What the cards show, and on which scale.
 *
 * @param {RawCards} raw @param {Part[]} parts @param {CardWords} words
 */
function helpOf(raw, parts, words) {
  const most = scalesOf(raw);
  /** @param {number} share */
  const percent = (share) => (100 * share).toFixed(share < 0.1 ? 1 : 0);
  return [words.help,
    ...(most.texts ? [words.helpOffsets(percent(most.texts))] : []),
    ...(most.where ? [words.helpWhere(percent(most.where))] : []),
    ...(most.offsets ? [words.helpAway(percent(most.offsets))] : []),
    ...(parts.includes("cross") && raw.unit !== "pictures" ? [words.helpSource] : []),
    ...(raw.models.length > 1 ? [`${words.helpCurve} ${shortNames(raw.models.map(({ name }) => name)).join(" → ")}.`] : []),
  ].join(" ");
}

/**
 * All visible cards on one surface, as many in a row as the page has room for.
 *
 * @template {Surface} S
 * @param {HeadCards[]} shown @param {boolean} several @param {Measure} curve @param {CardWords} words @param {(wide: number, high: number) => S} make
 */
function paintAll(shown, several, curve, words, make) {
  const high = Math.max(...shown.map(({ card }) => cardHigh(card))) + (several ? CURVE_HIGH : 0) + APART;
  const surface = make(IN_A_ROW * (CARD_WIDE + APART), Math.ceil(shown.length / IN_A_ROW) * high);
  shown.forEach((head, i) =>
    drawCard(surface, head, (i % IN_A_ROW) * (CARD_WIDE + APART), Math.floor(i / IN_A_ROW) * high, curve, words));
  return surface;
}

/** @param {HeadCards} head @param {boolean} open @param {Measure} curve @param {State} state @param {CardWords} words */
function cardButton(head, open, curve, state, words) {
  const { card, over, place } = head;
  const facts = onCard(card).map(({ name, value }) => `${words.measures[name][0]} ${value.toFixed(2)}`).join(", ");
  const canvas = element("canvas", { "aria-hidden": "true" });
  drawCard(new CanvasSurface(canvas, CARD_WIDE, cardHigh(card) + (over.length > 1 ? CURVE_HIGH : 0)), head, 0, 0, curve, words);
  const button = element("button", {
    type: "button", id: `card-${place}`, "aria-expanded": String(open),
    "aria-label": `${nameOf(card, words)}: ${roleInFull(card, words)}; ${facts}`,
    onclick: () => state.set({ card: open ? "" : place }),
    onkeydown: (event) => step(event, button),
  }, canvas);
  return button;
}

/** @type {ByName<number>} */
const STEP = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };

/** The arrow keys move from card to card. @param {KeyboardEvent} event @param {HTMLButtonElement} card */
function step(event, card) {
  const cards = [...card.parentElement?.querySelectorAll("button") ?? []];
  const to = STEP[event.key];
  const next = to && cards[cards.indexOf(card) + to];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

/**
 * The card in words: the role's rule, and every measure with its meaning.
 *
 * @param {HeadCards} head @param {RawCards} raw @param {CardWords} words
 */
function definition({ card, over }, raw, words) {
  const names = /** @type {Measure[]} */ (Object.keys(words.measures)).filter((name) => has(card, name));
  const rows = names.map((name) => {
    const [title, meaning] = words.measures[name];
    return [title, ...over.map((each) => each[name]?.toFixed(3) ?? ""), meaning];
  });
  rows.push([words.entropy, ...over.map((each) => each.entropy.toFixed(3)), ""]);
  const models = raw.models.length > 1 ? shortNames(raw.models.map(({ name }) => name)) : [words.inNumbers];
  const rule = (card.where && words.gridRoles[card.role]) || words.roles[card.role];
  const read = card.reading ? ` ${words.readings[card.reading](card.nouns ?? 0)}` : "";
  return element("div", { class: "definition", role: "region", "aria-label": nameOf(card, words) },
    element("h2", {}, `${nameOf(card, words)}: ${roleInFull(card, words)}`),
    element("p", {}, `${rule}${read}`),
    table([words.measured, ...models, words.meaning], rows, `${nameOf(card, words)}: ${words.measuredCaption}`),
    ...(card.where ? gridTables(card, words) : [offsetTable(card, words)]));
}

/** @param {TextCard} card @param {CardWords} words */
function offsetTable(card, words) {
  const middle = (card.offsets.length - 1) / 2;
  const offsets = card.offsets.map((share, i) => [offsetName(i, middle), share.toFixed(3)]);
  return element("details", {}, element("summary", {}, words.offsets),
    table([words.offset, words.inNumbers], offsets, words.offsets));
}

/** @param {number} place @param {number} middle */
function offsetName(place, middle) {
  if (place === 0) return `< −${middle - 1}`;
  if (place === 2 * middle) return `> +${middle - 1}`;
  return `${place > middle ? "+" : ""}${place - middle}`.replace("-", "−");
}

/** @type {Measure[]} */
const IN_TABLE = [...ON_CARDS, "precision", "error_rate", "pointing", "in_box", "even_in_box", "first", "last",
  "previous", "same", "next", "near", "distance", "even_distance", "punctuation", "rarest"];

/**
 * A row for each head, and the columns that have a value for at least one of them.
 *
 * @param {HeadCards[]} shown @param {RawCards} raw @param {CardWords} words
 */
function cardsTable(shown, raw, words) {
  const models = shortNames(raw.models.map(({ name }) => name));
  const several = models.length > 1;
  const names = IN_TABLE.filter((name) => shown.some(({ card }) => has(card, name)));
  const rows = shown.flatMap(({ over }) => over.map((card, i) => [
    nameOf(card, words), ...(several ? [models[i]] : []), roleInFull(card, words), card.entropy.toFixed(3),
    ...names.map((name) => card[name]?.toFixed(3) ?? ""),
  ]));
  return table([words.head, ...(several ? [words.model] : []), words.role, words.entropy, ...names.map((name) => words.measures[name][0])],
    rows, words.title);
}
