/**
 * The page inside a notebook: an anywidget. It is in a frame, so that its style and its names do not
 * conflict with those of the notebook, and it has an address of its own.
 */

const [LEAST, MOST] = [320, 1400]; // pixels of height

/**
 * What an anywidget is given.
 *
 * @typedef {{ get: ((name: "shell") => Pair<string>) & ((name: "trace") => object), on: (name: string, act: () => void) => void, off: (name: string, act: () => void) => void }} Model
 */

/** @param {{ model: Model, el: HTMLElement }} given */
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts allow-downloads");
  frame.setAttribute("title", "jumok");
  Object.assign(frame.style, { width: "100%", height: "760px", border: "0", display: "block" });
  const [before, after] = model.get("shell");
  // "</script>" inside a token must not end the element.
  frame.srcdoc = before + JSON.stringify(model.get("trace")).replace(/</g, "\\u003c") + after;
  let ready = false;
  let late = false;
  const redraw = () => {
    if (ready) frame.contentWindow?.postMessage({ trace: model.get("trace") }, "*");
    else late = true;
  };
  const hear = (/** @type {MessageEvent} */ event) => {
    if (event.source !== frame.contentWindow || !event.data?.height) return;
    frame.style.height = `${Math.min(MOST, Math.max(LEAST, event.data.height))}px`;
    ready = true; // it sends a message when it has been drawn
    if (late) redraw();
    late = false;
  };
  window.addEventListener("message", hear);
  model.on("change:trace", redraw);
  el.append(frame);
  return () => {
    window.removeEventListener("message", hear);
    model.off("change:trace", redraw);
  };
}

export default { render };
