/** Head ablation: the effect of each head, and the model without the heads that are clicked. */

import { element, table } from "../dom.js";
import { barsFigure } from "../taking/bars_figure.js";
import { readable, total } from "../trace.js";

const NOTICED = 0.01; // nats: smaller changes are not shown

/** @type {Needs} */
headsView.needs = (trace, live) => trace.steps.length > 0 && (live || Object.keys(trace.findings.ablation ?? {}).length > 0);

/** @type {View} */
export function headsView(trace, state, words, ask) {
  const without = trace.findings.ablation ?? {};
  const sites = trace.parts().flatMap((part) => trace.of(part)).filter((site) => without[site.name]);
  const sums = sites.flatMap((site) => without[site.name].map(total));
  const most = Math.max(NOTICED, ...sums.map((sum) => -sum));
  if (ask && !sitesKnown(without) && !trace.page.baseline && trace.page.once("ablation")) ask();
  const off = new Set(state.get("off").split(" ").filter(Boolean));
  const baseline = trace.page.baseline || trace;
  const top = [element("div", { class: "switches" },
    ...sites.map((site) => row(site, without[site.name], most, off, state, words, ask)))];
  const worst = sites.flatMap((site) => without[site.name].map((change, head) => {
    const at = change.reduce((low, value, i) => (value < change[low] ? i : low), 0);
    return { site, head, sum: total(change), at, hit: change[at] };
  })).sort((a, b) => a.sum - b.sum);
  const rows = worst.map(({ site, head, sum, at, hit }) => [
    `${words[site.part]} ${site.layer + 1}.${head + 1}`, sum.toFixed(3),
    readable(baseline.steps[at].token), hit.toFixed(3),
  ]);
  const body = [table([words.headsTable, words.change, words.hitMost, words.changeThere], rows, words.alone)];
  const figure = worst.length ? () => figureOf(sites, without, words) : null;
  return { help: ask ? words.switchesHelp : words.switchesSaved, controls: [], top, body, figure };
}

/**
 * The change without each head, as bars.
 *
 * @param {Site[]} sites @param {Record<string, number[][]>} without @param {Words} words
 */
function figureOf(sites, without, words) {
  const names = sites.flatMap((site) => without[site.name].map((_, head) => `${words[site.part]} ${site.layer + 1}.${head + 1}`));
  return barsFigure([{ title: words.captionValue.heads, names, values: sites.flatMap((site) => without[site.name].map(total)),
    form: (value) => value.toFixed(3) }]);
}

/** @param {Record<string, number[][]>} without */
function sitesKnown(without) {
  return Object.keys(without).length > 0;
}

/** @param {Site} site @param {number[][]} changes @param {number} most @param {Set<string>} off @param {State} state @param {Words} words @param {Ask | undefined} ask */
function row(site, changes, most, off, state, words, ask) {
  const buttons = changes.map((change, head) => {
    const name = `${site.name}:${head}`;
    const sum = total(change);
    const sign = Math.abs(sum) < NOTICED ? "" : sum.toFixed(2);
    const label = `${words.layerNumber(site.layer + 1)}, ${words.head} ${head + 1}: ${words.change} ${sum.toFixed(3)}`;
    const button = element("button", {
      type: "button", id: `switch-${name}`, title: label, "aria-label": label,
      "aria-pressed": String(!off.has(name)), disabled: !ask,
    }, String(head + 1), element("small", {}, sign));
    button.style.setProperty("--worth", String(Math.min(1, Math.max(0, -sum / most))));
    button.addEventListener("click", () => {
      if (off.has(name)) off.delete(name);
      else off.add(name);
      state.set({ off: [...off].join(" ") });
      ask?.();
    });
    return button;
  });
  return element("div", { role: "group", "aria-label": `${words[site.part]} ${site.layer + 1}` },
    element("span", {}, `${words[site.part]} ${site.layer + 1}`), ...buttons);
}
