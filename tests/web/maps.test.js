/** Maps by words, the cursor in them, and how gold links agree with them, in numbers that can be added up by hand. */

import assert from "node:assert/strict";
import test from "node:test";

import { cursorOf, siteOf, strongestHead } from "../../web/cursor.js";
import { goldText, parseGold, rates, strongest, toggled } from "../../web/gold.js";
import { State } from "../../web/state.js";
import { board, withRest } from "../../web/maps.js";
import { Trace, readable, spelled, visible } from "../../web/trace.js";

const bytes = (values) => new Uint8Array(Float32Array.from(values).buffer);

/** Three source tokens (END is no word), two written words of which the second has two tokens; two heads. */
function traceOf(weights, heads = 2) {
  const axes = {
    source: { tokens: ["▁a", "▁cat", "</s>"], words: [0, 1, null], texts: ["a", "cat"], grid: null, parents: null },
    target: { tokens: ["<s>", "▁고", "▁양", "이"], words: [null, 0, 1, 1], texts: ["고", "양이"], grid: null, parents: null },
  };
  const site = { name: "cross.0", kind: "scaled-dot", part: "cross", layer: 0, queries: "target", keys: "source", scale: 1, residual_gate: null,
    arrays: { weights: { shape: [heads, 4, 3], type: "f32", data: bytes(weights) } } };
  return new Trace({ text: "a cat", output: "고 양이", axes, sites: [site], steps: [], findings: { written: [], prompt: 0, gaps: [], own_rows: false },
    kind: { reads: "text", writes: "text", texts: {} }, changes: [] });
}

const FIRST = [0.5, 0.25, 0.25, 0.125, 0.75, 0.125, 0.25, 0.5, 0.25, 1, 0, 0];
const SECOND = [0, 1, 0, 0, 0, 1, 0.5, 0.25, 0.25, 0, 0, 1];
const trace = traceOf([...FIRST, ...SECOND]);
const [site] = trace.sites;

test("mean and largest of all heads", () => {
  assert.deepEqual([...site.matrix("mean", "weights")].slice(0, 3), [0.25, 0.625, 0.125]);
  assert.deepEqual([...site.matrix("max", "weights")].slice(0, 3), [0.5, 1, 0.25]);
  assert.deepEqual([...site.matrix(1, "weights")], SECOND);
});

test("a word's row is the mean over the steps that write its tokens, its column the sum over its tokens", () => {
  const map = board(trace, site, site.matrix(0, "weights"), "words", "writes");
  assert.deepEqual(map.rows, ["고", "양이"]);
  assert.deepEqual([...map.values], [0.5, 0.25, (0.125 + 0.25) / 2, (0.75 + 0.5) / 2]);
  assert.deepEqual([...map.rest], [0.25, (0.125 + 0.25) / 2]);
  assert.deepEqual(map.places, { rows: [[0], [1, 2]], columns: [[0], [1]] });
  const whole = withRest(map, "END");
  assert.deepEqual(whole.columns, ["a", "cat", "END"]);
  assert.deepEqual([...whole.values].slice(0, 3), [0.5, 0.25, 0.25]);
  const reads = board(trace, site, site.matrix(0, "weights"), "words", "reads");
  assert.deepEqual([...reads.values].slice(0, 2), [0.125, 0.75]);
});

test("by tokens the map is the matrix, and its last row writes END", () => {
  const map = board(trace, site, site.matrix(0, "weights"), "pieces", "writes");
  assert.deepEqual(map.rows, ["고", "양", "이", "⏎"]);
  assert.deepEqual([...map.values], FIRST);
});

test("the cursor is at what the state names, at the strongest head if none is chosen, and inside", () => {
  const at = (link) => {
    const state = new State(link, { reading: "writes", unit: "words" });
    const { row, column, head, query, key, shown } = cursorOf(trace, siteOf(trace, state), state);
    return [shown, row, column, head, query, key];
  };
  // Of all heads: 고 is written at step 0, where the second head gives "cat" 1.
  assert.deepEqual(at("query=0"), ["mean", 0, 1, 1, 0, 1]);
  assert.deepEqual(at("query=0&head=0"), [0, 0, 0, 0, 0, 0]);
  assert.deepEqual(at("query=99&head=99"), [1, -1, 0, 1, 3, 0]); // the last token, which writes END, is in no row
  assert.deepEqual(at("query=2&key=0&head=1"), [1, 1, 0, 1, 2, 0]);
  assert.equal(strongestHead(site, [0], [0]), 0);
});

test("the opening row has the largest weight", () => {
  const state = new State("head=0", { reading: "writes", unit: "words" });
  const { row, column, weight } = cursorOf(trace, site, state);
  assert.deepEqual([row, column, weight], [1, 1, 0.625]);
});

test("gold links are parsed, toggled and scored", () => {
  const map = { rows: ["고", "양이"], columns: ["a", "cat"], values: Float32Array.from([0.1, 0.9, 0.8, 0.2]) };
  assert.deepEqual([...parseGold("0-0 1p1", map).signs], [[0, "-"], [3, "p"]]);
  assert.equal(parseGold("0-0 2-0", map).fault, "2-0");
  const texts = ["", "0-1", "0p1", ""];
  texts.slice(1).forEach((text, i) => assert.equal(toggled(texts[i], map, 2), text));
  assert.deepEqual(strongest(map), [1, 2]);
  // Och and Ney 2003: found {1, 2}, sure {1}, possible {1, 2}: 1 - (1 + 2) / (2 + 1) = 0.
  assert.deepEqual(rates([1, 2], new Map([[1, "-"], [2, "p"]])), { error: 0, precision: 1, recall: 1 });
  assert.equal(goldText({ sure: [[0, 1]], possible: [[0, 1], [1, 1]] }), "0-1 1p1");
});

test("tokens are readable, and signs that turn text around are visible", () => {
  assert.deepEqual(["▁cat", "at", "▁", "<newline>"].map(readable), ["cat", "at", "·", "⏎"]);
  assert.equal(spelled(["▁a", "▁c", "at"]), "a cat");
  assert.equal(visible("a\u202eb\u0007"), "aU+202Eb␇");
});
