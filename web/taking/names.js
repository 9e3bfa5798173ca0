/** Names of downloaded files: what they show, in characters that every system allows. */

const LONGEST = 72; // characters, so that 3 bytes for each and the suffix stay below 255

/** The parts, joined; letters and digits of any script are kept. @param {...string} parts */
export function fileName(...parts) {
  const safe = parts.filter(Boolean).join("-").normalize("NFC").replace(/[^\p{L}\p{M}\p{N}._-]+/gu, "-").replace(/([-.])\1+/g, "$1");
  return Array.from(safe).slice(0, LONGEST).join("").replace(/^[-.]+|[-.]+$/g, "") || "jumok";
}

/**
 * The name for a view of a trace: the model, the view, and the sentence or the two of a comparison.
 *
 * @param {Trace} trace @param {string} view
 */
export function nameOf(trace, view) {
  const other = view === "compare" && trace.other && trace.other.text !== trace.text ? trace.other.text : "";
  return fileName(trace.model, view, trace.text, other);
}
