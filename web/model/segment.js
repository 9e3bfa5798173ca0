/** How SentencePiece cuts a normalised text into pieces: as its C++ does, ties included. */

/**
 * The pieces' ids and scores (`most` and `least` of the normal ones), the user-defined ones, and the length of the longest.
 *
 * @typedef {{ ids: Map<string, number>, scores: Float32Array, defined: Set<number>, longest: number, unknown: number, most: number, least: number }} PieceTable
 * @typedef {{ text: string, frozen?: boolean }} Sign
 * @typedef {[piece: string, id: number]} Cut
 */

/** The length in bytes of a character, in UTF-8. */
const bytesOf = (/** @type {string} */ letter) => {
  const code = /** @type {number} */ (letter.codePointAt(0));
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
};

/**
 * The most probable segmentation (Viterbi). Scores are float32, as they are there: sums are rounded after
 * every piece. Returns [piece, id] pairs, with `unknown` for characters that no piece covers.
 *
 * Source: Kudo 2018; unigram_model.cc, EncodeOptimized.
 *
 * @param {string[]} letters @param {PieceTable} table
 */
export function byUnigrams(letters, table) {
  const { ids, scores, most, least, longest, defined, unknown } = table;
  const unseen = Math.fround(least - 10);
  const best = Array.from({ length: letters.length + 1 }, () => ({ from: -1, score: 0, id: -1 }));
  /** @param {number} end @param {number} from @param {number} score @param {number} id */
  const reach = (end, from, score, id) => {
    const node = best[end];
    if (node.from === -1 || score > node.score) Object.assign(node, { from, score, id });
  };
  for (let start = 0; start < letters.length; start++) {
    const before = best[start].score;
    let single = false;
    let piece = "";
    let bytes = 0;
    for (let end = start; end < Math.min(letters.length, start + longest); end++) {
      piece += letters[end];
      bytes += bytesOf(letters[end]);
      const id = ids.get(piece);
      if (id === undefined) continue;
      const score = defined.has(id) ? Math.fround(Math.fround(bytes * most) - 0.1) : scores[id];
      reach(end + 1, start, Math.fround(score + before), id);
      single ||= end === start;
    }
    if (!single) reach(start + 1, start, Math.fround(unseen + before), unknown);
  }
  /** @type {Cut[]} */
  const found = [];
  for (let end = letters.length; end > 0; end = best[end].from)
    found.unshift([letters.slice(best[end].from, end).join(""), best[end].id]);
  return found;
}

/**
 * Merges the neighbours whose piece has the highest score, of equals the first, until none can be merged.
 * `symbols`: characters, and whole user-defined symbols, which are never merged (`frozen`).
 *
 * Source: Sennrich et al. 2016; bpe_model.cc.
 *
 * @param {Sign[]} symbols @param {PieceTable} table @returns {Cut[]}
 */
export function byMerging(symbols, table) {
  const { ids, scores, unknown } = table;
  const parts = symbols.slice();
  const scoreOf = (/** @type {number} */ left) => {
    const [one, other] = [parts[left], parts[left + 1]];
    if (!other || one.frozen || other.frozen) return null;
    const id = ids.get(one.text + other.text);
    return id === undefined ? null : scores[id];
  };
  const merges = parts.map((_, left) => scoreOf(left));
  for (;;) {
    let best = -1;
    merges.forEach((score, left) => {
      if (score !== null && (best < 0 || score > /** @type {number} */ (merges[best]))) best = left;
    });
    if (best < 0) return parts.map(({ text }) => [text, ids.get(text) ?? unknown]);
    parts.splice(best, 2, { text: parts[best].text + parts[best + 1].text });
    merges.splice(best, 2, scoreOf(best));
    if (best > 0) merges[best - 1] = scoreOf(best - 1);
  }
}

/** Every character is a piece. @param {Sign[]} symbols @param {PieceTable} table @returns {Cut[]} */
export function byCharacters(symbols, table) {
  return symbols.map(({ text }) => [text, table.ids.get(text) ?? table.unknown]);
}
