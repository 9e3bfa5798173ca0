/** Numbers as the attribution writes them. */

import assert from "node:assert/strict";
import test from "node:test";

import { fixed, signedPercent } from "../../web/views/mattered_maps.js";

test("a number that is rounded to 0 has no sign", () => {
  assert.deepEqual([fixed(-0.04, 1), fixed(0.04, 1), fixed(-0.06, 1), fixed(-0, 2), fixed(-1.26, 1)], ["0.0", "0.0", "-0.1", "0.00", "-1.3"]);
  assert.deepEqual([signedPercent(-0.0004), signedPercent(-0.25)], ["0.0", "−25.0"]);
});
