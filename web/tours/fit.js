/** Which tours a page offers: those whose needs its model meets, and whose links open views that it has. */

import { maskOf } from "./facts.js";

/** What a tour may need, each as a test of a trace. @type {Record<keyof TourNeeds, (needs: TourNeeds, trace: Trace) => boolean>} */
const NEEDS = {
  reads: ({ reads = [] }, { kind }) => reads.includes(kind.reads),
  writes: ({ writes = [] }, { kind }) => writes.includes(kind.writes),
  parts: ({ parts = [] }, trace) => parts.every((part) => trace.of(part).length),
  heads: ({ heads = 0, parts }, trace) => sitesOf(trace, parts).reduce((count, site) => count + site.heads, 0) >= heads,
  output: (_, trace) => trace.steps.length > 0,
  mask: (_, trace) => trace.of("decoder").some((site) => maskOf(site)),
  scores: ({ parts }, trace) => sitesOf(trace, parts).every((site) => site.scale !== null && site.kind !== "linear" && site.array("query")),
  recurrent: (_, { page }) => page.known.recurrent,
};

/** @param {Trace} trace @param {Part[]} [parts] */
function sitesOf(trace, parts) {
  return parts ? parts.flatMap((part) => trace.of(part)) : trace.sites;
}

/** @param {Tour} tour @param {Trace} trace */
export function meetsNeeds({ needs }, trace) {
  return /** @type {(keyof TourNeeds)[]} */ (Object.keys(needs)).every((name) => NEEDS[name](needs, trace));
}

/** The views of a tour's links that the page does not have. @param {Tour} tour @param {ViewName[]} names */
export function missingViews({ steps }, names) {
  return [...new Set(steps.map(({ link }) => /** @type {ViewName} */ (new URLSearchParams(link).get("view") ?? "overview")))].filter((view) => !names.includes(view));
}
