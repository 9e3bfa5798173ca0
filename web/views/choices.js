/** The most probable tokens at each step. */

import { element } from "../dom.js";
import { barsFigure } from "../taking/bars_figure.js";
import { readable } from "../trace.js";

const ACROSS = 4; // steps beside one another in the figure

choicesView.needs = (trace) => trace.steps.length > 0;

export function choicesView(trace, state, words) {
  const cards = trace.steps.map((step, i) =>
    barsOf(step, {}, element("caption", {}, `${i + 1}. ${readable(step.token)} (${step.log_probability.toFixed(3)})`)));
  return { help: words.beamHelp, controls: [], body: [element("div", { class: "steps" }, ...cards)], figure: () => figureOf(trace) };
}

/** The most probable tokens, or labels, of a step; the written one may not be among them: then it is listed below them. */
export function barsOf(step, attributes, ...caption) {
  const written = step.best.some(([token]) => token === step.token) ? [] : [[step.token, step.log_probability]];
  const rows = [...step.best, ...written].map(([token, logp]) => {
    const bar = element("i", { "aria-hidden": "true" });
    bar.style.width = `${100 * Math.exp(logp)}%`;
    return element("tr", { class: token === step.token ? "written" : "" },
      element("th", { scope: "row" }, readable(token)),
      element("td", {}, bar),
      element("td", {}, `${(100 * Math.exp(logp)).toFixed(1)} %`));
  });
  return element("table", { class: "step", ...attributes }, ...caption, element("tbody", {}, ...rows));
}

/** The same as bars; the written token is darker. */
function figureOf(trace) {
  const panels = trace.steps.map((step, i) => ({
    title: `${i + 1}. ${readable(step.token)}`,
    names: step.best.map(([token]) => readable(token)),
    values: step.best.map(([, logp]) => Math.exp(logp)),
    strong: (at) => step.best[at][0] === step.token,
    form: (value) => `${(100 * value).toFixed(1)} %`,
  }));
  return barsFigure(panels, { across: ACROSS, most: 1 });
}
