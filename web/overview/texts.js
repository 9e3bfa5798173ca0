/** Which of the texts a picture shows: they are not said again. */

import { visible } from "../trace.js";

/** Without spaces, which words do not keep. @param {string} text */
function letters(text) {
  return visible(text).replace(/\s+/g, "");
}

/**
 * How many words at the beginning of a line are the text, letter by letter; 0: it does not begin with it.
 * `continued`: the last of them may go on.
 *
 * @param {string} text @param {string[]} line @param {boolean} continued
 */
export function wordsOf(text, line, continued) {
  const wanted = letters(text);
  let read = "";
  for (let i = 0; wanted.startsWith(read) && i < line.length; i++) {
    read += letters(line[i]);
    if (continued ? read.startsWith(wanted) : read === wanted) return i + 1;
  }
  return 0;
}

/** Whether a line, where ⏎ stands for a line break, ends with the text that was written. @param {string[]} line @param {string} text */
export function endsWith(line, text) {
  return letters(line.join("").replaceAll("⏎", "\n")).endsWith(letters(text));
}
