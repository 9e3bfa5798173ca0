/** The page of a trace; a notebook that contains it can pass it another trace. */

import { start } from "./main.js";

const root = document.getElementById("page");
const shown = start(JSON.parse(document.getElementById("data").textContent), root);

if (window.parent !== window) {
  window.addEventListener("message", (event) => {
    if (event.source === window.parent && event.data?.trace) shown.show(event.data.trace);
  });
  // The surrounding frame may adapt its height.
  new ResizeObserver(() => window.parent.postMessage({ height: root.offsetHeight }, "*")).observe(root);
}
