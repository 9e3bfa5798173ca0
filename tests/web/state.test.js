/** Values of links: what is nothing that there is leaves a field as the page opened. */

import assert from "node:assert/strict";
import test from "node:test";

import { headChosen } from "../../web/cursor.js";
import { State, fixed, valuesIn } from "../../web/state.js";

const OPENED = { view: "board", part: "decoder", layer: 1, head: 2, unit: "pieces", reading: "reads", lang: "ko", text: "a cat" };

const BAD = [
  "head=four", "head=-1", "head=1.5", "head=", "head=Infinity", "head=0x1", "head=99999999999",
  "layer=last", "layer=-2", "query=NaN", "key=1e3", "part=nowhere", "unit=letters", "reading=aloud", "as=film", "value=score",
  "scale=1", "sort=__proto__", "lang=fr", "speed=fast", "moment=soon", "moment=", "click=twice", "projector=yes", "temperature=hot",
  "tokens=", "nothing=1", "constructor=1", "__proto__=1", "&&&=", "%",
];

for (const link of BAD) {
  test(`#${link} changes nothing`, () => {
    const state = new State(`#${link}`, OPENED);
    assert.deepEqual(state.values, state.base);
    assert.equal(state.fragment, "");
  });
}

test("every field that a link may have is read as it was written", () => {
  const link = "view=row&part=cross&layer=0&head=0&value=norms&reading=writes&unit=words&as=table&scale=largest&query=3&key=0"
    + "&text=%EA%B3%A0%EC%96%91%EC%9D%B4+%26+co";
  const state = new State(link, OPENED);
  assert.deepEqual(["layer", "head", "query", "key"].map((name) => state.get(name)), [0, 0, 3, 0]);
  assert.equal(state.get("text"), "고양이 & co");
  const again = new State(state.fragment, OPENED);
  assert.deepEqual(again.values, state.values);
  assert.deepEqual(valuesIn(state.whole), state.values);
});

test("the mean of all heads is not the first head", () => {
  const site = /** @type {Site} */ ({ heads: 4 });
  const chosen = ["mean", "max", "0", "3", "4", "x"].map((head) => headChosen(site, new State(`head=${head}`, {})));
  assert.deepEqual(chosen, ["mean", "max", 0, 3, 3, "mean"]);
});

test("an empty value of a link chooses none, where none can be chosen", () => {
  const state = new State("layer=&query=&text=", OPENED);
  assert.equal(state.get("layer"), null);
  assert.equal(state.get("query"), null);
  assert.equal(state.get("text"), "");
  assert.equal(new State(state.fragment, OPENED).get("layer"), null);
});

test("numbers of sampling stay within their limits", () => {
  const state = new State("temperature=9&top=-3&tokens=2.9&seed=7", {});
  assert.deepEqual(["temperature", "top", "tokens", "seed"].map((name) => state.get(name)), [5, 0, 2, 7]);
});

test("what changes is told, and whether another view was opened", () => {
  const told = [];
  const state = new State("", OPENED, (turned) => told.push(turned));
  state.set({ head: "1" });
  state.keep({ layer: 0 });
  state.set({ view: "row", query: 2 });
  state.set({ head: "nothing" });
  assert.deepEqual(told, [false, true, false]);
  assert.deepEqual([state.get("head"), state.get("layer"), state.get("query")], [1, 0, 2]);
  assert.equal(state.fragment, "view=row&layer=0&head=1&query=2");
  assert.deepEqual([state.opened.get("head"), state.opened.get("layer"), state.opened.get("query")], [2, 1, null]);
});

test("a fixed state follows the other in what is not fixed", () => {
  const state = new State("", OPENED);
  const pinned = fixed(state, { head: "mean", query: null });
  state.keep({ head: 0, query: 1, unit: "words" });
  assert.deepEqual(["head", "query", "unit"].map((name) => pinned.get(name)), ["mean", null, "words"]);
});
