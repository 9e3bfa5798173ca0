/** What a reader takes away from a view: a link to it, its figure with a caption, the code that draws it, and files. */

import { download, element } from "../dom.js";
import { icon } from "../icons.js";
import { captionOf } from "./caption.js";
import { copied, copiedImage } from "./clipboard.js";
import { captioned, canvasOf, figureOf, pngOf, svgOf } from "./figures.js";
import { filmButtons } from "./film.js";
import { linkKind, permalink } from "./link.js";
import { nameOf } from "./names.js";
import { isDrawn, pythonOf } from "./python.js";

/**
 * The menu: its `node`, built once, and `update(shown, words)` for every drawing of the page.
 *
 * shown: { trace, state, name, view, made, live, pin }: what is shown, how the page was made (or undefined), whether a
 * server answers, and what pins the present state (or null).
 */
export function shareMenu() {
  const said = element("p", { role: "status", id: "taken" });
  const code = element("pre", { id: "taken-text", tabindex: "0", role: "region", hidden: true });
  const name = element("span", { class: "name" });
  const buttons = element("div", { role: "group" });
  const summary = element("summary", { class: "button", id: "share-open" }, icon("share"), " ", name);
  const node = element("details", { class: "share", id: "share" }, summary, element("div", {}, buttons, said, code));
  const tell = (text, shownText = "") => {
    said.textContent = text;
    code.textContent = shownText;
    code.hidden = !shownText;
  };
  node.addEventListener("toggle", () => node.open || tell(""));
  document.addEventListener("pointerdown", (event) => { if (!node.contains(/** @type {Node} */ (event.target))) node.open = false; });
  node.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    node.open = false;
    summary.focus();
  });
  const update = (shown, words) => {
    name.textContent = words.shareMenu;
    summary.title = words.taking;
    for (const each of [buttons, code]) each.setAttribute("aria-label", words.taking);
    const pin = () => {
      node.open = false;
      shown.pin();
      summary.focus();
    };
    buttons.replaceChildren(...takingButtons(shown, words, tell, code), ...(shown.pin ? [button("pin", words.pin, pin, words.pinHelp)] : []));
  };
  return { node, update };
}

const button = (id, text, onclick, title = null) => element("button", { type: "button", id, onclick, title }, text);

function takingButtons(shown, words, tell, code) {
  const copy = async (text, told, keep) => {
    tell("", text);
    const done = await copied(text, code);
    tell(done ? told : words.copyYourself, done && !keep ? "" : text);
    if (!done) getSelection()?.selectAllChildren(code);
  };
  const { trace, state, name, view, made, live } = shown;
  const kind = linkKind(live);
  return [
    ...(kind ? [button("copy-link", words.copyLink, () => copy(permalink(state), words.copiedLink[kind], false))] : []),
    ...(view.figure ? [button("copy-figure", words.copyFigure, () => copyFigure(shown, words, tell))] : []),
    ...(isDrawn(trace, name, state) ? [button("copy-python", words.copyPython, () =>
      copy(pythonOf(trace, name, state, { made, row: view.row }, words), words.copiedPython, true))] : []),
    ...(view.figure ? saveButtons(shown, words) : []),
    ...filmButtons(shown, words, tell),
  ];
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
  const save = (kind, onclick) => button(`save-${kind}`, words.save(kind.toUpperCase()), onclick);
  return [
    save("svg", () => download(`${nameOf(trace, name)}.svg`, new Blob([svgOf(figureOf(view))], { type: "image/svg+xml" }))),
    save("png", () => canvasOf(figureOf(view)).toBlob((blob) => blob && download(`${nameOf(trace, name)}.png`, blob))),
  ];
}
