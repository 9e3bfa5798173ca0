/** Texts cut by hand, by the rules of SentencePiece; that they are its cuts, the browser's tests compare. */

import assert from "node:assert/strict";
import test from "node:test";

import { byCharacters, byMerging, byUnigrams } from "../../web/model/segment.js";
import { isWritable, normalize, strip, withSpaces, wordsOf } from "../../web/model/tokenizer.js";

/** @param {Record<string, number>} scores */
function tableOf(scores) {
  const pieces = Object.keys(scores);
  const values = Float32Array.from(Object.values(scores));
  return { ids: new Map(pieces.map((piece, id) => [piece, id])), scores: values, defined: new Set(), unknown: 99,
    longest: Math.max(...pieces.map((piece) => piece.length)), most: Math.max(...values), least: Math.min(...values) };
}

const cut = (pairs) => pairs.map(([piece]) => piece);
const symbols = (text) => [...text].map((each) => ({ text: each, frozen: false }));

test("unigrams: the segmentation whose scores have the largest sum", () => {
  const table = tableOf({ a: -1, b: -1, c: -1, ab: -1.5, bc: -2.5, abc: -3 });
  assert.deepEqual(cut(byUnigrams([..."abc"], table)), ["ab", "c"]); // -2.5, before abc -3 and a b c -3
  assert.deepEqual(byUnigrams([..."a?"], table).map(([, id]) => id), [0, 99]);
  assert.deepEqual(byUnigrams([], table), []);
});

test("merging: the neighbours with the highest score first, and of equals the first", () => {
  const table = tableOf({ a: -9, b: -9, c: -9, ab: -2, bc: -1, abc: -3 });
  assert.deepEqual(cut(byMerging(symbols("abc"), table)), ["abc"]); // bc, then a + bc
  assert.deepEqual(cut(byMerging(symbols("ab"), table)), ["ab"]);
  const equal = tableOf({ a: -9, aa: -1 });
  assert.deepEqual(cut(byMerging(symbols("aaa"), equal)), ["aa", "a"]);
});

test("a symbol of the user's is never merged", () => {
  const table = tableOf({ a: -9, b: -9, ab: -1 });
  assert.deepEqual(cut(byMerging([{ text: "a", frozen: true }, { text: "b", frozen: false }], table)), ["a", "b"]);
});

test("characters: every one is a piece, known or not", () => {
  assert.deepEqual(byCharacters(symbols("a?"), tableOf({ a: 0, b: 0 })), [["a", 0], ["?", 99]]);
});

test("words: the sign of the space begins one, alone it belongs to the next, and a line break is one", () => {
  assert.deepEqual(wordsOf(["▁a", "b", "▁c"]), [0, 0, 1]);
  assert.deepEqual(wordsOf(["▁", "a", "▁", "b"]), [0, 0, 1, 1]);
  assert.deepEqual(wordsOf(["a", "<newline>", "b"]), [0, 1, 2]);
  assert.deepEqual(wordsOf(["▁a", "▁"]), [0, 0]);
  assert.deepEqual(wordsOf([]), []);
});

test("texts are normalized, stripped and checked as in Python", () => {
  assert.equal(normalize("e\u0301\u00ad x\ty"), "é x y");
  assert.equal(strip("\u3000a b\n"), "a b");
  assert.equal(strip("\ufeffa"), "\ufeffa");
  assert.equal(withSpaces("a\u00a0b 1\u202f000"), "a b 1\u202f000");
  assert.deepEqual(["a", "😀", "\ud83d"].map(isWritable), [true, true, false]);
});
