/** Puts a figure that moves below the still one of a chapter and its caption. */

import { heads } from "./heads.js";
import { mixture } from "./mixture.js";
import { occlusion } from "./occlusion.js";
import { scale } from "./scale.js";

/** By the stills that they follow. */
const FIGURES = { "03.svg": mixture, "05.svg": scale, "09.svg": heads, "15.svg": occlusion };

for (const [name, moving] of Object.entries(FIGURES)) {
  for (const still of document.querySelectorAll(`img[src$="/${name}"]`)) {
    const drawing = still.closest("p") ?? still;
    const caption = drawing.nextElementSibling?.querySelector(":scope > em:only-child");
    (caption?.parentElement ?? drawing).after(moving(document.documentElement.lang === "ko" ? "ko" : "en"));
  }
}
