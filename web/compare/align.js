/** Which words of two lists belong together. */

/** The places of a word in both lists; null: it is not in this one. @typedef {[number | null, number | null]} WordPair */

/**
 * The places of two lists side by side, in order: [i, j], [i, null] for a word that only the first
 * list has, [null, j] for one that only the second has.
 *
 * With the fewest insertions, deletions and substitutions (Levenshtein 1966), and among these with
 * the most equal words.
 *
 * @param {string[]} one
 * @param {string[]} other
 * @returns {WordPair[]}
 */
export function aligned(one, other) {
  const [n, m] = [one.length, other.length];
  const edit = n + m + 1; // more than all equal words together
  const costs = new Int32Array((n + 1) * (m + 1));
  const at = (/** @type {number} */ i, /** @type {number} */ j) => i * (m + 1) + j;
  const both = (/** @type {number} */ i, /** @type {number} */ j) => costs[at(i + 1, j + 1)] + (one[i] === other[j] ? -1 : edit);
  for (let i = n; i >= 0; i--) {
    for (let j = m; j >= 0; j--) {
      if (i === n || j === m) costs[at(i, j)] = edit * (n - i + m - j);
      else costs[at(i, j)] = Math.min(both(i, j), edit + costs[at(i + 1, j)], edit + costs[at(i, j + 1)]);
    }
  }
  /** @type {WordPair[]} */
  const pairs = [];
  for (let [i, j] = [0, 0]; i < n || j < m;) {
    const cost = costs[at(i, j)];
    if (i < n && j < m && cost === both(i, j)) pairs.push([i++, j++]);
    else if (i < n && cost === edit + costs[at(i + 1, j)]) pairs.push([i++, null]);
    else pairs.push([null, j++]);
  }
  return pairs;
}

/**
 * Whether the words of a pair are "same", "swapped", "removed" or "added".
 *
 * @param {WordPair} pair
 * @param {string[]} one
 * @param {string[]} other
 */
export function fateOf([i, j], one, other) {
  if (j === null) return "removed";
  if (i === null) return "added";
  return one[i] === other[j] ? "same" : "swapped";
}
