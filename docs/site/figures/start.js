/** Puts a figure that moves beside the still one of a chapter, which remains for print. */

import { heads } from "./heads.js";
import { mixture } from "./mixture.js";
import { occlusion } from "./occlusion.js";
import { scale } from "./scale.js";

/** By the stills that they stand for. */
const FIGURES = { "03.svg": mixture, "05.svg": scale, "09.svg": heads, "15.svg": occlusion };

for (const [name, moving] of Object.entries(FIGURES)) {
  for (const still of document.querySelectorAll(`img[src$="/${name}"]`)) {
    const place = still.closest("p") ?? still;
    place.classList.add("still");
    place.after(moving(document.documentElement.lang === "ko" ? "ko" : "en"));
  }
}
