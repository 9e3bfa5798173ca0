/** An error as the page says it: in the reader's language where there is a text for it (words_faults.js). */

/** `own`: the page's text for this error, or false; `rest`: what else the server sent, by the names of its parts. @param {Fault} found @param {Words} texts */
export function faultParts(found, texts) {
  const { known = "", numbers = [], place, what, ...rest } = typeof found === "string" ? { known: found } : found;
  return { known, numbers, place, what, rest, own: known.startsWith("fault") && /** @type {Record<string, string | undefined | ((...numbers: number[]) => string)>} */ (/** @type {unknown} */ (texts))[known] };
}

/** The error in one sentence. @param {Fault} found @param {Words} texts */
export function faultText(found, texts) {
  const { known, numbers, place, what, own } = faultParts(found, texts);
  const text = typeof own === "function" ? own(...numbers) : own || texts.faultSays(what ?? known);
  return place ? `${place}: ${text}` : text;
}
