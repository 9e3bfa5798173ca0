/**
 * What of a text the model reads: its words, without the signs at its edges. The rule is that of
 * systems/translation/kept/edges.py, which gives the page its patterns.
 */

const LETTER = /\p{L}/u;

/** @typedef {[start: number, end: number]} Span */

/**
 * A translation before these signs: an ellipsis takes the place of a full stop.
 *
 * @param {string} text @param {string} after
 */
export const betweenEdges = (text, after) => (/^(?:\.{3}|…)/u.test(after) ? text.replace(/[.。]+$/u, "") : text);

/** The function from a normalised text to the span that is read, or null: nothing of it is. @param {EdgesRule} rule */
export function edgesOf(rule) {
  const { before, numberAlone, after, longestAfter, longWord, marked, symbols, joiners, most, pairs, code } = rule;
  const opening = new RegExp(before, "uy");
  const alone = new RegExp(numberAlone, "u");
  const signs = new RegExp(`(?:[\\s${symbols}][${joiners}]*)*`, "uy");
  const ending = new RegExp(`[\\s${symbols}${joiners}]$`, "u");
  const between = new RegExp(marked, "u");
  const note = new RegExp(after, "gu");
  const long = new RegExp(longWord, "u");
  const patterns = code.map((pattern) => new RegExp(pattern, "gu"));

  /** Whether there is a letter outside of strings that are kept. @param {string} text */
  function hasOwnWord(text) {
    const taken = new Uint8Array(text.length);
    for (const pattern of patterns)
      for (const { 0: found, index } of text.matchAll(pattern))
        if (!taken.subarray(index, index + found.length).includes(1)) taken.fill(1, index, index + found.length);
    return [...text.matchAll(/\p{L}/gu)].some(({ index }) => !taken[index]);
  }

  /** @param {string} text @param {number} start @param {number} end @returns {Span} */
  function within(text, start, end) {
    const head = text.slice(0, end);
    if (between.test(head.slice(start))) {
      let marks = 0;
      while (text[start + marks] === text[start]) marks += 1;
      return [start + marks, end - marks];
    }
    opening.lastIndex = start;
    const mark = opening.exec(head);
    let first = mark && !alone.test(mark[0]) ? start + mark[0].length : start;
    signs.lastIndex = first;
    first += (signs.exec(head)?.[0].length ?? 0);
    let last = end;
    for (let found; last > first && (found = ending.exec(text.slice(first, last)));) last -= found[0].length;
    note.lastIndex = Math.max(first, last - longestAfter);
    const behind = note.exec(text.slice(0, last));
    if (behind && behind.index > first) last = behind.index;
    const inside = text.slice(first + 1, last - 1);
    const closing = pairs[text[first]] ?? "";
    const closed = last - first > 2 && closing.includes(text[last - 1]) && !inside.includes(text[first]);
    return closed && ![...closing].some((sign) => inside.includes(sign)) ? [first + 1, last - 1] : [first, last];
  }

  return (/** @type {string} */ text) => {
    if (long.test(text.trim()) || !hasOwnWord(text)) return null;
    /** @type {Span} */
    let span = [0, text.length];
    for (let i = 0; i < most; i++) {
      const next = within(text, ...span);
      if (next.join() === span.join()) break;
      span = next;
    }
    return LETTER.test(text.slice(...span)) ? span : null;
  };
}
