/** Head switches: what each head was worth, and the model without those that one clicks off. */

import { element, table } from "../dom.js";
import { readable, total } from "../trace.js";

const NOTICED = 0.01; // nats: smaller changes show no sign

headsView.needs = (trace, live) => live || Object.keys(trace.notes.without ?? {}).length > 0;

export function headsView(trace, state, words, ask) {
  const without = trace.notes.without || {};
  const sites = trace.parts().flatMap((part) => trace.of(part)).filter((site) => without[site.name]);
  const sums = sites.flatMap((site) => without[site.name].map(total));
  const most = Math.max(NOTICED, ...sums.map((sum) => -sum));
  if (ask && !sitesKnown(without) && !trace.baseline && !trace.asked) {
    trace.asked = true; // once: an answer brings another trace
    ask();
  }
  const off = new Set(state.get("off").split(" ").filter(Boolean));
  const baseline = trace.baseline || trace;
  const body = [];
  if (ask && off.size && trace.forced) body.push(after(trace, baseline, words));
  body.push(element("div", { class: "switches" },
    ...sites.map((site) => row(site, without[site.name], most, off, state, words, ask))));
  const worst = sites.flatMap((site) => without[site.name].map((change, head) => {
    const at = change.reduce((low, value, i) => (value < change[low] ? i : low), 0);
    return { site, head, sum: total(change), at, hit: change[at] };
  })).sort((a, b) => a.sum - b.sum);
  const rows = worst.map(({ site, head, sum, at, hit }) => [
    `${words[site.part]} ${site.layer + 1}.${head + 1}`, sum.toFixed(3),
    readable(baseline.steps[at].token), hit.toFixed(3),
  ]);
  body.push(table([words.headsTable, words.change, words.hitMost, words.change], rows, words.alone));
  return { help: ask ? words.switchesHelp : words.switchesSaved, controls: [], body };
}

function sitesKnown(without) {
  return Object.keys(without).length > 0;
}

function row(site, changes, most, off, state, words, ask) {
  const buttons = changes.map((change, head) => {
    const name = `${site.name}:${head}`;
    const sum = total(change);
    const sign = Math.abs(sum) < NOTICED ? "" : sum.toFixed(2);
    const label = `${words.layer} ${site.layer + 1}, ${words.head} ${head + 1}: ${words.change} ${sum.toFixed(3)}`;
    const button = element("button", {
      type: "button", id: `switch-${name}`, title: label, "aria-label": label,
      "aria-pressed": String(!off.has(name)), disabled: !ask,
    }, String(head + 1), element("small", {}, sign));
    button.style.setProperty("--worth", Math.min(1, Math.max(0, -sum / most)));
    button.addEventListener("click", () => {
      if (off.has(name)) off.delete(name);
      else off.add(name);
      state.set({ off: [...off].join(" ") });
      ask();
    });
    return button;
  });
  return element("div", { role: "group", "aria-label": `${words[site.part]} ${site.layer + 1}` },
    element("span", {}, `${words[site.part]} ${site.layer + 1}`), ...buttons);
}

/** What the model writes without the heads, and how it takes what it had written with them. */
function after(trace, baseline, words) {
  const cells = baseline.steps.map((step, i) => {
    const change = trace.forced[i] - step.log_probability;
    return [readable(step.token), step.log_probability.toFixed(3), change.toFixed(3)];
  });
  cells.push([words.sum, "", total(cells.map((cell) => Number(cell[2]))).toFixed(3)]);
  return element("div", {},
    element("dl", {}, element("dt", {}, words.withAll), element("dd", {}, baseline.output),
      element("dt", {}, words.withoutThem), element("dd", { class: "changed" }, trace.output)),
    table([words.output, words.logp, words.change], cells, words.forced));
}

/** The heads that are off, as the server wants them. */
export function chosenOff(state) {
  const off = {};
  for (const name of state.get("off").split(" ").filter(Boolean)) {
    const at = name.lastIndexOf(":");
    (off[name.slice(0, at)] ??= []).push(Number(name.slice(at + 1)));
  }
  return off;
}
