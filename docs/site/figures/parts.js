/** What the moving figures are made of: a frame, sliders, drawings, and the softmax. */

/** The width of all drawings, that of a phone's page. */
export const WIDTH = 320;

/**
 * The weights of some scores.
 *
 * @param {number[]} scores
 */
export function softmax(scores) {
  const largest = Math.max(...scores);
  const powers = scores.map((each) => Math.exp(each - largest));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((each) => each / sum);
}

/**
 * A number as text, with a true minus sign.
 *
 * @param {number} number
 * @param {number} digits after the point
 */
export function shown(number, digits = 2) {
  const text = number.toFixed(digits);
  return /^-0\.?0*$/.test(text) ? text.slice(1) : text.replace("-", "−");
}

/**
 * A part of a drawing.
 *
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 * @param {...(Node | string)} children
 */
export function part(name, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  node.append(...children);
  return node;
}

/**
 * Words in a drawing; `end`, `start` or `middle` lies at `x`.
 *
 * @param {number} x
 * @param {number} y
 * @param {string} words
 */
export function label(x, y, words, anchor = "middle", kind = "words") {
  return part("text", { x, y, "text-anchor": anchor, class: kind }, words);
}

/**
 * A bar that stands on a line, its number above (below, if it is negative), and its name.
 *
 * @param {number} x the middle
 * @param {number} line
 * @param {number} height in pixels
 * @param {string} number
 * @param {string} kind
 */
export function bar(x, line, height, number, kind = "bar") {
  const box = { x: x - 20, y: Math.min(line, line - height), width: 40, height: Math.abs(height) };
  return [part("rect", { ...box, class: kind }), label(x, height < 0 ? line - height + 14 : line - height - 5, number, "middle", "number")];
}

/**
 * A figure that is drawn again when one of its controls changes.
 *
 * @param {string} about its caption
 * @param {HTMLElement[]} controls
 * @param {number} height
 * @param {() => { parts: Node[], said: string }} draw what is drawn, and the sentence below it
 */
export function figure(about, controls, height, draw) {
  const drawing = part("svg", { viewBox: `0 0 ${WIDTH} ${height}`, "aria-hidden": "true" });
  const sentence = document.createElement("p");
  sentence.setAttribute("aria-live", "polite");
  const frame = document.createElement("figure");
  frame.className = "moving";
  const show = () => {
    const { parts, said } = draw();
    drawing.replaceChildren(...parts);
    sentence.textContent = said;
  };
  const caption = document.createElement("figcaption");
  caption.textContent = about;
  frame.append(caption, ...controls, drawing, sentence);
  frame.addEventListener("input", show);
  show();
  return frame;
}

/**
 * A slider, with its label and its value in words.
 *
 * @param {string} name
 * @param {{ min: number, max: number, step: number, value: number }} range
 * @param {(value: number) => string} written
 */
export function slider(name, range, written) {
  const input = document.createElement("input");
  Object.assign(input, { type: "range", ...range });
  const value = document.createElement("output");
  const write = () => {
    value.textContent = written(input.valueAsNumber);
    input.setAttribute("aria-valuetext", value.textContent);
  };
  input.addEventListener("input", write);
  write();
  return { input, control: labelled(name, input, value) };
}

/**
 * A box to tick.
 *
 * @param {string} name
 * @param {boolean} checked
 */
export function box(name, checked) {
  const input = document.createElement("input");
  Object.assign(input, { type: "checkbox", checked });
  return { input, control: labelled(name, input) };
}

/**
 * @param {string} name
 * @param {...HTMLElement} parts
 */
function labelled(name, ...parts) {
  const node = document.createElement("label");
  const words = document.createElement("span");
  words.textContent = name;
  node.append(words, ...parts);
  return node;
}
