/** Functions that create elements: text is always inserted as text, never as markup. */

/**
 * An element. `on...`: a listener; true: an attribute without a value; false, null: none.
 *
 * @template {keyof HTMLElementTagNameMap} N
 * @param {N} name
 * @param {Attributes} attributes
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[N]}
 */
export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(key.slice(2), /** @type {EventListener} */ (value));
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value !== null) node.setAttribute(key, String(value));
  }
  node.append(...children);
  return node;
}

/**
 * Gives a node other children. By their ids, the focus, the text of a field that has it, and what is open stay.
 *
 * @param {HTMLElement} node
 * @param {...(Node | string)} children
 */
export function refill(node, ...children) {
  const focused = node.contains(document.activeElement) ? document.activeElement : null;
  const open = [...node.querySelectorAll("details[open][id]")].map(({ id }) => id);
  node.replaceChildren(...children);
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  if (!focused?.id) return;
  const same = document.getElementById(focused.id);
  if (same instanceof HTMLInputElement && focused instanceof HTMLInputElement) same.value = focused.value;
  same?.focus({ preventScroll: true });
}

/**
 * Listeners that show what a click would choose: for a mouse and a keyboard; a finger clicks at once, and must not miss.
 *
 * @param {() => void} act
 */
export function preview(act) {
  let finger = false;
  return {
    onpointerenter: (/** @type {PointerEvent} */ event) => event.pointerType === "mouse" && act(),
    onpointerdown: (/** @type {PointerEvent} */ event) => { finger = event.pointerType === "touch"; },
    onfocus: () => finger || act(),
    onblur: () => { finger = false; },
  };
}

/**
 * A text in which a number and its percent sign, or two of them with an arrow, stay on one line: the parts to append.
 *
 * @param {string} text
 */
export function unbroken(text) {
  return text.split(/([\d.,]+ ?%(?: → [\d.,]+ ?%)?)/).map((part, i) => (i % 2 ? element("span", { class: "unbroken" }, part) : part));
}

/**
 * A select element with a label.
 *
 * @param {string} label
 * @param {readonly (readonly string[])[]} options of each its value and its text
 * @param {string} chosen
 * @param {(value: string) => void} onChoose
 */
export function choice(label, options, chosen, onChoose) {
  const select = element("select", { "aria-label": label, onchange: () => onChoose(select.value) });
  for (const [value, text] of options) {
    select.append(element("option", { value, selected: value === chosen }, text));
  }
  return element("label", {}, element("span", {}, label), select);
}

/**
 * A text field with a label; its value is reported on Enter, or when the field loses focus.
 *
 * @param {string} label
 * @param {string} value
 * @param {(text: string) => void} onText
 */
export function field(label, value, onText) {
  const input = element("input", {
    value, "aria-label": label, autocomplete: "off", spellcheck: "false",
    onchange: () => onText(input.value.trim()),
    onkeydown: (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault(); // the form is rebuilt, so there is nothing left to submit
      input.dispatchEvent(new Event("change"));
    },
  });
  return element("label", { class: "wide" }, element("span", {}, label), input);
}

/**
 * A table whose first column names the rows.
 *
 * @param {string[]} headings
 * @param {(string | number)[][]} rows
 * @param {string} caption
 * @param {(row: number) => boolean | "chosen"} marked whether a row is marked, or "chosen" if it is the chosen one
 */
export function table(headings, rows, caption, marked = () => false) {
  const head = element("tr", {}, ...headings.map((each) => element("th", { scope: "col" }, each)));
  const attributes = (/** @type {boolean | "chosen"} */ mark) => (mark ? { class: "marked", "aria-current": mark === "chosen" && "true" } : {});
  const body = rows.map((row, r) =>
    element("tr", attributes(marked(r)), ...row.map((cell, i) =>
      i === 0 ? element("th", { scope: "row" }, String(cell)) : element("td", {}, String(cell)))));
  return fading(element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    element("table", {}, element("caption", {}, caption),
      element("thead", {}, head), element("tbody", {}, ...body))));
}

/**
 * Where in an element the pointer is, in the pixels that the element is laid out in.
 *
 * Not `offsetX`: if the style enlarges the page (`zoom`), browsers differ in what that counts.
 *
 * @param {MouseEvent} event
 * @param {HTMLElement} node
 */
export function pointIn(event, node) {
  const box = node.getBoundingClientRect();
  return [((event.clientX - box.left) * node.offsetWidth) / (box.width || 1), ((event.clientY - box.top) * node.offsetHeight) / (box.height || 1)];
}

/** What the arrow keys change of a row and a column. @type {ByName<[down: number, across: number]>} */
export const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/**
 * Lets the edge of a node fade where more of it lies behind: a scroll bar is not always to be seen.
 *
 * @template {HTMLElement} N
 * @param {N} node
 */
export function fading(node) {
  const mark = () => {
    node.classList.toggle("more-after", node.scrollLeft + node.clientWidth < node.scrollWidth - 1);
    node.classList.toggle("more-before", node.scrollLeft > 1);
  };
  node.addEventListener("scroll", mark, { passive: true });
  new ResizeObserver(mark).observe(node);
  return node;
}

/**
 * Downloads a file.
 *
 * @param {string} name
 * @param {Blob} blob
 */
export function download(name, blob) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/**
 * The element with this id, which is in every page.
 *
 * @param {string} id
 */
export function byId(id) {
  const node = document.getElementById(id);
  if (!node) throw new Error(`the page has no element #${id}`);
  return node;
}

/**
 * What draws on a canvas: every browser has it.
 *
 * @param {HTMLCanvasElement} canvas
 */
export function contextOf(canvas) {
  return /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
}
