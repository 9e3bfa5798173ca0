/** Words of two lists side by side. */

import assert from "node:assert/strict";
import test from "node:test";

import { aligned, fateOf } from "../../web/compare/align.js";

/** @param {string} one @param {string} other */
function fates(one, other) {
  const [a, b] = [one.split(" ").filter(Boolean), other.split(" ").filter(Boolean)];
  const pairs = aligned(a, b);
  return pairs.map((pair) => ({ same: " ", swapped: "~", removed: "-", added: "+" })[fateOf(pair, a, b)] + (a[pair[0]] ?? b[pair[1]]));
}

test("what is equal stays, and the edits are the fewest", () => {
  assert.deepEqual(fates("the old dog ran", "the dog ran fast"), [" the", "-old", " dog", " ran", "+fast"]);
  assert.deepEqual(fates("a b c", "a x c"), [" a", "~b", " c"]);
  assert.deepEqual(fates("", "a b"), ["+a", "+b"]);
  assert.deepEqual(fates("a b", ""), ["-a", "-b"]);
  assert.deepEqual(fates("", ""), []);
});

test("of as few edits those with the most equal words", () => {
  // Two substitutions would leave no word equal; a deletion and an insertion leave one.
  assert.deepEqual(fates("a b", "b c"), ["-a", " b", "+c"]);
});

/** The number of edits by the recurrence of Levenshtein 1966, without anything clever. */
function distance(one, other) {
  if (!one.length || !other.length) return one.length + other.length;
  const [a, b] = [one.slice(1), other.slice(1)];
  return Math.min(distance(a, b) + Number(one[0] !== other[0]), distance(a, other) + 1, distance(one, b) + 1);
}

test("the edits are as many as the distance, and the order is kept", () => {
  const letters = (number) => Array.from({ length: 1 + (number % 5) }, (_, i) => "abc"[Math.floor(number / 3 ** i) % 3]);
  for (let number = 0; number < 200; number++) {
    const [one, other] = [letters(number), letters((number * 7919) % 243)];
    const pairs = aligned(one, other);
    assert.equal(pairs.filter((pair) => fateOf(pair, one, other) !== "same").length, distance(one, other));
    for (const side of [0, 1]) {
      const places = pairs.map((pair) => pair[side]).filter((place) => place !== null);
      assert.deepEqual(places, [one, other][side].map((_, i) => i));
    }
  }
});
