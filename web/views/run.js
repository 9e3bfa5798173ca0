/** The training run of the model: its curves, what it scored, and examples that it had not seen. */

import { choice, element, pointIn, table } from "../dom.js";
import { HUES, stacked } from "../curves.js";
import { INK } from "../colours.js";
import { CanvasSurface, textWidth } from "../surface.js";
import { pictureOrTable } from "./stacks.js";

const [HIGH, TOP, BOTTOM, RIGHT] = [250, 48, 42, 14]; // px of a panel, and of its margins
const MOST_WIDE = 505;

/**
 * @typedef {{ name: string, points: Point[], dots?: boolean }} Series
 * @typedef {{ title: string, series: Series[] }} Panel
 */

/** @type {Needs} */
runView.needs = (trace) => Boolean(trace.page.run);

/** @type {View} */
export function runView(trace, state, words) {
  const { run } = trace.page;
  if (!run) return { help: words.runHelp, controls: [], body: [] };
  const panels = panelsOf(run, words);
  const along = state.get("along") === "minutes" ? 1 : 0;
  const across = words[along ? "runMinutes" : "runSteps"];
  const wide = Math.min(MOST_WIDE, document.documentElement.clientWidth - 50);
  const figures = panels.map((panel) => panelFigure(panel, { along, across, wide }));
  const shown = state.get("as") === "table" ? panels.map((panel) => numbers(panel, words)) : [plots(run, panels, figures, along, words)];
  return {
    help: words.runHelp,
    controls: [choice(words.runAlong, [["steps", words.runSteps], ["minutes", words.runMinutes]], along ? "minutes" : "steps",
      (chosen) => state.set({ along: chosen })), pictureOrTable(state, words)],
    aboutBelow: true,
    body: [element("p", { class: "sentence", id: "sentence" }, leadOf(run, words)), ...shown, ...examples(run, words)],
    figure: stacked(figures),
  };
}

/**
 * What the run was, in its own numbers.
 *
 * @param {RawRun} run @param {Words} words
 */
function leadOf({ steps, minutes, best, validation, tested, parameters }, words) {
  /** @type {[string, number][]} */
  const values = [];
  for (const [name, points] of Object.entries(validation)) {
    const at = points.find(([step]) => step === best);
    if (at) values.push([name, at[2]]);
  }
  return [words.runLead(steps, minutes, best !== null && values.length ? { step: best, values } : null),
    ...(tested.length ? [words.runTested(tested[0][2], tested)] : []),
    ...(parameters ? [words.runSize(parameters)] : [])].join(" ");
}

/**
 * A panel for the loss, each score and the learning rate: its curves, as [step, minutes, value].
 *
 * @param {RawRun} run @param {Words} words
 * @returns {Panel[]}
 */
function panelsOf({ training, validation }, words) {
  /** @param {string} name @returns {Series[]} */
  const both = (name) => [{ name: words.runTraining, points: training[name] ?? [] }, { name: words.runValidation, points: validation[name] ?? [], dots: true }];
  return ["loss", ...Object.keys(validation).filter((name) => name !== "loss"), "learning_rate"]
    .map((name) => ({ title: words.runCurve(name), series: both(name).filter(({ points }) => points.length) }))
    .filter(({ series }) => series.length);
}

/**
 * Round numbers from 0 to at least `high`: steps of 1, 2 or 5 × 10^n.
 *
 * @param {number} high
 */
export function ticksTo(high) {
  const size = 10 ** Math.floor(Math.log10((high || 1) / 4));
  const step = ([1, 2, 5].find((factor) => (high || 1) / (factor * size) <= 5) ?? 10) * size;
  return Array.from({ length: Math.ceil((high || 1) / step - 1e-9) + 1 }, (_, i) => Number((i * step).toPrecision(6)));
}

/**
 * The curves of one panel over common axes, both from zero.
 *
 * @param {Panel} panel @param {{ along: 0 | 1, across: string, wide: number }} axis
 */
function panelFigure({ title, series }, { along, across, wide }) {
  const all = series.flatMap(({ points }) => points);
  const end = Math.max(...all.map((point) => point[along])) || 1;
  const most = Math.max(...all.map(([, , value]) => value)) || 1;
  const ticks = ticksTo(most).filter((tick) => tick <= most); // the axis ends where the curves do
  const left = 10 + Math.max(...ticks.map((tick) => textWidth(String(tick), 12)));
  /** @param {number} x */
  const place = (x) => left + ((wide - left - RIGHT) * x) / end;
  /** @param {number} value */
  const rise = (value) => HIGH - BOTTOM - ((HIGH - BOTTOM - TOP) * value) / most;
  /** @param {Surface} surface @param {number} [moment] the place of the cursor's line */
  const draw = (surface, moment) => {
    const faint = surface.theme === "dark" ? "#4a4f60" : "#d4d6de";
    surface.text(title, 0, 14, { size: 13 });
    for (const tick of ticks) {
      surface.line([[left, rise(tick)], [wide - RIGHT, rise(tick)]], faint, 1);
      surface.text(String(tick), left - 6, rise(tick) + 4, { size: 12, align: "right" });
    }
    for (const tick of ticksTo(end).filter((each) => each <= end)) {
      const name = tick.toLocaleString("en");
      const x = Math.min(place(tick), wide - textWidth(name, 12) / 2 - 1); // whole, at the right edge too
      surface.text(name, x, HIGH - BOTTOM + 17, { size: 12, align: "center" });
    }
    surface.text(across, wide - RIGHT, HIGH - 6, { size: 12, align: "right" });
    let start = left;
    series.forEach(({ name, points, dots }, i) => {
      const hue = HUES[surface.theme][dots ? 1 : i];
      surface.line(points.map((point) => [place(point[along]), rise(point[2])]), hue, dots ? 2 : 1.5, dots ? [] : [5, 2]);
      if (dots && points.length < 60) for (const point of points) surface.rect(place(point[along]) - 2.5, rise(point[2]) - 2.5, 5, 5, hue);
      surface.line([[start, 31], [start + 24, 31]], hue, dots ? 2 : 1.5, dots ? [] : [5, 2]);
      surface.text(name, start + 30, 35, { size: 12 });
      start += 50 + textWidth(name, 12);
    });
    if (moment !== undefined) surface.line([[place(moment), TOP], [place(moment), HIGH - BOTTOM]], INK[surface.theme], 1, [2, 3]);
  };
  /** @param {number} x */
  const at = (x) => ((x - left) / (wide - left - RIGHT)) * end;
  return { width: wide, height: HIGH, draw, at };
}

/**
 * All panels, with a slider for one moment of the run, whose numbers are said below.
 *
 * @param {RawRun} run @param {Panel[]} panels @param {ReturnType<typeof panelFigure>[]} figures @param {0 | 1} along @param {Words} words
 */
function plots(run, panels, figures, along, words) {
  const moments = (run.validation.loss.length ? run.validation.loss : run.training.loss).map(([step, minutes]) => [step, minutes]);
  const said = element("p", { class: "said", role: "status" });
  const slider = element("input", { type: "range", min: "0", max: String(moments.length - 1), value: String(moments.length - 1), "aria-label": words.runMoment, id: "run-moment" });
  const canvases = panels.map(({ title, series }) => element("canvas", { role: "img", "aria-label":
    `${title}. ${series.map(({ name, points }) => `${name}: ${points[0][2]} … ${points[points.length - 1][2]}`).join("; ")}` }));
  const show = () => {
    const moment = moments[Number(slider.value)];
    figures.forEach((figure, i) => figure.draw(new CanvasSurface(canvases[i], figure.width, figure.height), moment?.[along]));
    if (!moment) return;
    /** @type {[string, number][]} */
    const values = [];
    for (const { title, series } of panels) {
      for (const { name, points } of series) values.push([series.length > 1 ? `${title}, ${name}` : title, nearest(points, moment[0])[2]]);
    }
    said.textContent = words.runAt(moment[0], moment[1], values);
    slider.setAttribute("aria-valuetext", said.textContent);
  };
  slider.addEventListener("input", show);
  canvases.forEach((canvas, i) => canvas.addEventListener("pointermove", (event) => {
    const x = figures[i].at(pointIn(event, canvases[i])[0]);
    slider.value = String(moments.reduce((best, moment, m) => (Math.abs(moment[along] - x) < Math.abs(moments[best][along] - x) ? m : best), 0));
    show();
  }));
  show();
  return element("div", {}, element("div", { class: "panels" }, ...canvases), slider, said);
}

/**
 * The point whose step is the nearest.
 *
 * @param {Point[]} points @param {number} step
 */
function nearest(points, step) {
  return points.reduce((best, point) => (Math.abs(point[0] - step) < Math.abs(best[0] - step) ? point : best));
}

/** @param {Panel} panel @param {Words} words */
function numbers({ title, series }, words) {
  const steps = [...new Set(series.flatMap(({ points }) => points.map(([step]) => step)))].sort((a, b) => a - b);
  const known = series.map(({ points }) => new Map(points.map((point) => [point[0], point])));
  return table([words.runSteps, words.runMinutes, ...series.map(({ name }) => name)], steps.map((step) => [
    step, known.flatMap((each) => each.get(step) ?? [])[1], ...known.map((each) => each.get(step)?.[2] ?? ""),
  ]), title);
}

/** @param {RawRun} run @param {Words} words */
function examples({ examples: found }, words) {
  if (!found.length) return [];
  const same = found.filter(([, output, reference]) => output === reference).length;
  const rows = found.map(([source, output, reference]) => [source, output, output === reference ? words.runSame : reference]);
  const node = table([words.input, words.output, words.runReference], rows, words.runExamples(same, found.length));
  node.classList.add("texts");
  return [node];
}
