/** What the present state is compared with: a pinned one, or the model before it was changed. */

import { isOf } from "../changes.js";
import { siteOf } from "../cursor.js";
import { element } from "../dom.js";
import { counterpart, sideOf } from "./difference.js";
import { comparison } from "./maps.js";

/**
 * The pair of the pin or of a change; null: there is neither. `sides` is undefined where the two have nothing to compare.
 *
 * @param {Trace} trace @param {Chosen} state @param {Words} words
 * @returns {Compared | null}
 */
export function pairShown(trace, state, words) {
  const now = sideOf(trace, state);
  const { pinned } = trace.page;
  if (pinned?.trace && pinned.view) {
    const before = sideOf(pinned.trace, pinned.view, siteOf(pinned.trace, pinned.view));
    return { names: words.compareNames.pinned, kind: "pinned", sides: before.site.part === now.site.part ? [before, now] : undefined };
  }
  const before = isOf(trace, state) ? trace.page.baseline : trace.page.unforced;
  if (!before) return null;
  const like = counterpart(before, now.site);
  return { names: words.compareNames.changed, kind: "changed", sides: like && [sideOf(before, state, like), now] };
}

/**
 * The same for any view but that of comparisons: the sentences, and the maps; `early`: these belong above the view.
 *
 * @param {Trace} trace @param {State} state @param {Words} words
 * @returns {{ says: HTMLElement[], body: HTMLElement[], early?: boolean }}
 */
export function besideView(trace, state, words) {
  const pair = pairShown(trace, state, words);
  if (!pair) return { says: [], body: [] };
  const { sides } = pair;
  if (!sides) return { says: [element("p", { class: "compare-says" }, words.otherKind)], body: [] };
  const { says, body } = comparison({ ...pair, sides }, state, words);
  return { says, early: pair.kind === "changed", body: [element("details", { id: "compared", open: true }, element("summary", {}, words.compareTitle(pair.names)), ...body)] };
}
