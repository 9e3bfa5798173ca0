/** The page of a trace; a notebook that contains it can pass it another trace. */

import { holdParts } from "./arrays.js";
import { byId } from "./dom.js";
import { start } from "./main.js";

const root = byId("page");
const data = /** @type {Held} */ (byId("data"));
holdParts(data.arrays ?? []); // of a saved page, which the loader unpacks
const shown = start(JSON.parse(data.textContent ?? ""), root, { whole: data.whole });

if (window.parent !== window) {
  window.addEventListener("message", (event) => {
    if (event.source === window.parent && event.data?.trace) shown.show(event.data.trace);
  });
  // The surrounding frame may adapt its height.
  new ResizeObserver(() => window.parent.postMessage({ height: root.offsetHeight }, "*")).observe(root);
}
