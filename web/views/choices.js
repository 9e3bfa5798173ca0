/** The most probable tokens at each step. */

import { element } from "../dom.js";
import { readable } from "../trace.js";

choicesView.needs = (trace) => trace.steps.length > 0;

export function choicesView(trace, state, words) {
  const cards = trace.steps.map((step, i) => {
    // The written token may not be among the most probable ones: then it is listed below them.
    const written = step.best.some(([token]) => token === step.token) ? [] : [[step.token, step.log_probability]];
    const rows = [...step.best, ...written].map(([token, logp]) => {
      const bar = element("i", { "aria-hidden": "true" });
      bar.style.width = `${100 * Math.exp(logp)}%`;
      return element("tr", { class: token === step.token ? "written" : "" },
        element("th", { scope: "row" }, readable(token)),
        element("td", {}, bar),
        element("td", {}, `${(100 * Math.exp(logp)).toFixed(1)} %`));
    });
    const title = `${i + 1}. ${readable(step.token)} (${step.log_probability.toFixed(3)})`;
    return element("table", { class: "step" }, element("caption", {}, title),
      element("tbody", {}, ...rows));
  });
  return { help: words.beamHelp, controls: [], body: [element("div", { class: "steps" }, ...cards)] };
}
