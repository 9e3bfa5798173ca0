/** The page of a trace: what stands in it is drawn; a notebook around it may hand it another. */

import { start } from "./main.js";

const root = document.getElementById("page");
const shown = start(JSON.parse(document.getElementById("data").textContent), root);

if (window.parent !== window) {
  window.addEventListener("message", (event) => {
    if (event.source === window.parent && event.data?.trace) shown.show(event.data.trace);
  });
  // The frame around it may grow with it.
  new ResizeObserver(() => window.parent.postMessage({ height: root.offsetHeight }, "*")).observe(root);
}
