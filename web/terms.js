/** Tooltips for the field's terms: each is a button that a pointer, the keyboard and a finger reach. */

import { element } from "./dom.js";
import { GLOSSARY } from "./glossary.js";

// Korean terms are followed by a particle; other letters would make another word of them.
const PARTICLES = "은|는|이|가|을|를|과|와|의|에|로|으로|도|만|마다|까지|들|끼리|입니다|이고|이며|인|일";
const MARKED = ".help, th[scope=col], figcaption, caption, p.muted, .part-name, .chips > span, .cell-facts";
const FAR = 8; // px between a term and its tooltip

/** @typedef {keyof typeof GLOSSARY} Term */

const TERMS = /** @type {[Term, ByLanguage<[term: string, sentence: string, also?: string[]]>][]} */ (Object.entries(GLOSSARY));

/** @type {Record<string, { ids: Map<string, Term>, found: RegExp }>} */
const patterns = {};

/** @param {Language} lang */
function patternOf(lang) {
  patterns[lang] ??= (() => {
    const forms = TERMS.flatMap(([id, { [lang]: [term, , also = []] }]) => [term, ...also].map((form) => /** @type {const} */ ([form, id])));
    forms.sort(([a], [b]) => b.length - a.length);
    const any = forms.map(([form]) => form.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
    const end = lang === "ko" ? `(?=$|[^\\p{L}\\p{N}]|(?:${PARTICLES}))` : "(?![\\p{L}\\p{N}-])";
    return { ids: new Map(forms.map(([form, id]) => [form.toLowerCase(), id])), found: new RegExp(`(?<![\\p{L}\\p{N}-]|arrow |화살표 )(?:${any})${end}`, "giu") };
  })();
  return patterns[lang];
}

/**
 * The id of the first term in a text; undefined if there is none.
 *
 * @param {string} text @param {string} lang
 */
export function termIn(text, lang) {
  const { ids, found } = patternOf(known(lang));
  const [first] = text.match(found) ?? [];
  return first ? ids.get(first.toLowerCase()) : undefined;
}

/**
 * @param {string} lang
 * @returns {Language}
 */
function known(lang) {
  return lang === "ko" ? "ko" : "en";
}

/**
 * A text with the first occurrence of every term as a button with a tooltip.
 *
 * @param {string} text @param {string} lang
 */
export function explained(text, lang) {
  const { ids, found } = patternOf(known(lang));
  const seen = new Set();
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(found)) {
    const id = ids.get(match[0].toLowerCase());
    if (!id || seen.has(id)) continue;
    seen.add(id);
    nodes.push(text.slice(end, match.index), termButton(id, match[0]));
    end = match.index + match[0].length;
  }
  return [...nodes, text.slice(end)];
}

/** @param {string} id @param {string} text */
function termButton(id, text) {
  return element("button", { type: "button", class: "term", "data-term": id, "aria-describedby": `term-${id}` }, text);
}

/**
 * A control, followed by a button that explains the term of its label.
 *
 * @param {HTMLElement} control @param {Term | undefined} id @param {Words} words @param {string} lang
 */
export function withTerm(control, id, words, lang) {
  if (!id) return control;
  const [name] = GLOSSARY[id][known(lang)];
  return element("div", { class: "control" }, control, element("button", {
    type: "button", class: "term ask", "data-term": id, "aria-describedby": `term-${id}`, "aria-label": words.whatIs(name),
  }, "?"));
}

/**
 * Turns the terms of a view's headings and captions into buttons.
 *
 * @param {ParentNode} root @param {string} lang
 */
export function markTerms(root, lang) {
  for (const node of root.querySelectorAll(MARKED)) {
    for (const text of [...node.childNodes]) {
      if (!(text instanceof Text) || !termIn(text.data, lang)) continue;
      text.replaceWith(...explained(text.data, lang));
    }
  }
}

/**
 * The definitions, which the buttons are described by.
 *
 * @param {string} lang
 */
export function definitions(lang) {
  return element("div", { hidden: true }, ...Object.entries(GLOSSARY).map(([id, { [known(lang)]: [, sentence] }]) =>
    element("span", { id: `term-${id}` }, sentence)));
}

/** Shows the tooltip of what is pointed at or focused; Escape hides it, and the pointer may move onto it. */
export function showTooltips() {
  const box = element("div", { class: "tooltip", hidden: true, "aria-hidden": "true" });
  document.body.append(box);
  const hide = () => {
    box.hidden = true;
  };
  const show = (/** @type {HTMLElement | null} */ term) => {
    if (!term) return;
    const sentence = document.getElementById(`term-${term.dataset.term}`)?.textContent;
    if (!sentence) return;
    box.textContent = sentence;
    box.hidden = false;
    const at = term.getBoundingClientRect();
    const size = box.getBoundingClientRect();
    const width = document.documentElement.clientWidth;
    box.style.left = `${scrollX + Math.max(FAR, Math.min(at.left, width - size.width - FAR))}px`;
    const below = at.bottom + FAR + size.height <= innerHeight;
    box.style.top = `${scrollY + (below ? at.bottom + FAR / 2 : at.top - size.height - FAR / 2)}px`;
  };
  /** @returns {HTMLElement | null} */
  const of = (/** @type {Event} */ event) => (event.target instanceof Element ? event.target.closest("[data-term]") : null);
  document.addEventListener("mouseover", (event) => {
    if (of(event)) show(of(event));
    else if (!box.contains(/** @type {Node} */ (event.target)) && !document.activeElement?.matches("[data-term]")) hide();
  });
  document.addEventListener("focusin", (event) => (of(event) ? show(of(event)) : hide()));
  document.addEventListener("focusout", hide);
  document.addEventListener("click", (event) => {
    if (of(event)?.matches(".term")) show(of(event));
  });
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
}
