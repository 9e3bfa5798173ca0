/** The numbers that the page has from a trace, in every form that they travel in: JSON in, JSON out. */

import { readFileSync } from "node:fs";

import { holdParts } from "../../web/arrays.js";
import { Trace } from "../../web/trace.js";

const { trace: raw, parts, names } = JSON.parse(readFileSync(0, "utf-8"));
holdParts(parts.map((part) => Uint8Array.from(part)));
const trace = new Trace(raw);

const numbers = (site, name) => {
  const array = site.array(name);
  if (!array) return null;
  if (name !== "allowed") return [...array.values];
  return Array.from({ length: site.rows * site.columns }, (_, i) => Number(array.is(i)));
};
const sites = trace.sites.map((site) => Object.fromEntries(names.map((name) => [name, numbers(site, name)])));
process.stdout.write(JSON.stringify({ sites, attribution: trace.findings.attribution }));
