/** Which tours a page offers: those whose needs its model meets, and whose links open views that it has. */

import { maskOf } from "./facts.js";

/** What a tour may need, each as a test of a trace. */
const NEEDS = {
  reads: (wanted, { kind }) => listed(wanted).includes(kind.reads),
  writes: (wanted, { kind }) => listed(wanted).includes(kind.writes),
  parts: (wanted, trace) => listed(wanted).every((part) => trace.of(part).length),
  heads: (wanted, trace, { parts }) => headsIn(trace, parts) >= wanted,
  output: (wanted, trace) => !wanted || trace.steps.length > 0,
  mask: (wanted, trace) => !wanted || trace.of("decoder").some((site) => maskOf(site)),
  scores: (wanted, trace, { parts }) => !wanted || sitesOf(trace, parts).every((site) => site.scale !== null && site.kind !== "linear" && site.array("query")),
  recurrent: (wanted, { page }) => !wanted || page.known.recurrent,
};

function listed(wanted) {
  return [wanted].flat();
}

function sitesOf(trace, parts) {
  return parts ? listed(parts).flatMap((part) => trace.of(part)) : trace.sites;
}

function headsIn(trace, parts) {
  return sitesOf(trace, parts).reduce((count, site) => count + site.heads, 0);
}

export function meetsNeeds({ needs }, trace) {
  return Object.entries(needs).every(([name, wanted]) => NEEDS[name](wanted, trace, needs));
}

/** The views of a tour's links that the page does not have. */
export function missingViews({ steps }, names) {
  return [...new Set(steps.map(({ link }) => new URLSearchParams(link).get("view") ?? "overview"))].filter((view) => !names.includes(view));
}
