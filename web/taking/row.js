/** What a reader takes away from a view: a link to it, its figure with a caption, the code that draws it, and files. */

import { download, element } from "../dom.js";
import { captionOf } from "./caption.js";
import { copied, copiedImage } from "./clipboard.js";
import { captioned, canvasOf, figureOf, pngOf, svgOf } from "./figures.js";
import { filmButtons } from "./film.js";
import { linkKind, permalink } from "./link.js";
import { nameOf } from "./names.js";
import { isDrawn, pythonOf } from "./python.js";

/**
 * The buttons, in one row.
 *
 * shown: { trace, state, name, view, made, live }: what is shown, how the page was made (or undefined), and whether a
 * server answers.
 */
export function takingRow(shown, words) {
  const said = element("p", { role: "status", id: "taken" });
  const code = element("pre", { id: "taken-text", tabindex: "0", role: "region", "aria-label": words.taking, hidden: true });
  const tell = (text, shownText = "") => {
    said.textContent = text;
    code.textContent = shownText;
    code.hidden = !shownText;
  };
  const copy = async (text, told, keep) => {
    tell("", text);
    const done = await copied(text, code);
    tell(done ? told : words.copyYourself, done && !keep ? "" : text);
    if (!done) getSelection().selectAllChildren(code);
  };
  const button = (id, text, onclick) => element("button", { type: "button", id, onclick }, text);
  const { trace, state, name, view, made, live } = shown;
  const kind = linkKind(live);
  const buttons = [
    ...(kind ? [button("copy-link", words.copyLink, () => copy(permalink(state), words.copiedLink[kind], false))] : []),
    ...(view.figure ? [button("copy-figure", words.copyFigure, () => copyFigure(shown, words, tell))] : []),
    ...(isDrawn(trace, name, state) ? [button("copy-python", words.copyPython, () =>
      copy(pythonOf(trace, name, state, { made, row: view.row }, words), words.copiedPython, true))] : []),
    ...(view.figure ? saveButtons(shown, words) : []),
    ...filmButtons(shown, words, tell),
  ];
  return buttons.length ? [element("div", { class: "savers taking", role: "group", "aria-label": words.taking }, ...buttons), said, code] : [];
}

/** Copies the figure with its caption, or downloads it where the browser does not let the page copy images. */
async function copyFigure({ trace, state, name, view }, words, tell) {
  const paragraphs = captionOf(trace, name, state, words);
  const figure = captioned(figureOf(view), paragraphs);
  const done = await copiedImage(svgOf(figure), pngOf(figure));
  if (!done) download(`${nameOf(trace, name)}.png`, await pngOf(figure));
  tell(done ? words.copiedFigure : words.figureSaved, paragraphs.join("\n"));
}

function saveButtons({ trace, name, view }, words) {
  const save = (kind, onclick) => element("button", { type: "button", id: `save-${kind}`, onclick }, words.save(kind.toUpperCase()));
  return [
    save("svg", () => download(`${nameOf(trace, name)}.svg`, new Blob([svgOf(figureOf(view))], { type: "image/svg+xml" }))),
    save("png", () => canvasOf(figureOf(view)).toBlob((blob) => download(`${nameOf(trace, name)}.png`, blob))),
  ];
}
