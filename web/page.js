/** The page of a trace: what stands in it is drawn; a notebook around it may hand it another. */

import { start } from "./main.js";

const shown = start(
  JSON.parse(document.getElementById("data").textContent), document.getElementById("page"));
window.addEventListener("message", (event) => {
  if (event.source === window.parent && event.data?.trace) shown.show(event.data.trace);
});
