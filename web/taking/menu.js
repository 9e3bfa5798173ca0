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
 * What is shown, how the page was made, if that is known, whether a server answers, and what pins the present state.
 *
 * @typedef {{ trace: Trace, state: State, name: ViewName, view: Shown, made?: RawOrigin, live: boolean, pin: (() => void) | null }} Taken
 *
 * Says something, and shows a text that was taken.
 *
 * @typedef {(said: string, text?: string) => void} Tell
 */

/** The menu: its `node`, built once, and `update` for every drawing of the page. */
export function shareMenu() {
  const said = element("p", { role: "status", id: "taken" });
  const code = element("pre", { id: "taken-text", tabindex: "0", role: "region", hidden: true });
  const name = element("span", { class: "name" });
  const buttons = element("div", { role: "group" });
  const summary = element("summary", { class: "button", id: "share-open" }, icon("share"), " ", name);
  const node = element("details", { class: "share", id: "share" }, summary, element("div", {}, buttons, said, code));
  /** @type {Tell} */
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
  /** @param {Taken} shown @param {Words} words */
  const update = (shown, words) => {
    name.textContent = words.shareMenu;
    summary.title = words.taking;
    for (const each of [buttons, code]) each.setAttribute("aria-label", words.taking);
    const pin = () => {
      node.open = false;
      shown.pin?.();
      summary.focus();
    };
    buttons.replaceChildren(...takingButtons(shown, words, tell, code), ...(shown.pin ? [button("pin", words.pin, pin, words.pinHelp)] : []));
  };
  return { node, update };
}

/** @param {string} id @param {string} text @param {() => void} onclick @param {string | null} title */
const button = (id, text, onclick, title = null) => element("button", { type: "button", id, onclick, title }, text);

/** @param {Taken} shown @param {Words} words @param {Tell} tell @param {HTMLElement} code */
function takingButtons(shown, words, tell, code) {
  /** @type {(text: string, told: string, keep: boolean) => Promise<void>} */
  const copy = async (text, told, keep) => {
    tell("", text);
    const done = await copied(text, code);
    tell(done ? told : words.copyYourself, done && !keep ? "" : text);
    if (!done) getSelection()?.selectAllChildren(code);
  };
  const { trace, state, name, view, made, live } = shown;
  const { figure } = view;
  const kind = linkKind(live);
  return [
    ...(kind ? [button("copy-link", words.copyLink, () => copy(permalink(state), words.copiedLink[kind], false))] : []),
    ...(figure ? [button("copy-figure", words.copyFigure, () => copyFigure(shown, figureOf(figure), words, tell))] : []),
    ...(isDrawn(trace, name, state) ? [button("copy-python", words.copyPython, () =>
      copy(pythonOf(trace, name, state, { made, row: view.row }, words), words.copiedPython, true))] : []),
    ...(figure ? saveButtons(shown, () => figureOf(figure), words) : []),
    ...filmButtons(shown, words, tell),
  ];
}

/** Copies the figure with its caption, or downloads it where the browser does not let the page copy images. @param {Taken} taken @param {Figure} drawn @param {Words} words @param {Tell} tell */
async function copyFigure({ trace, state, name }, drawn, words, tell) {
  const paragraphs = captionOf(trace, name, state, words);
  const figure = captioned(drawn, paragraphs);
  const done = await copiedImage(svgOf(figure), pngOf(figure));
  if (!done) download(`${nameOf(trace, name)}.png`, await pngOf(figure));
  tell(done ? words.copiedFigure : words.figureSaved, paragraphs.join("\n"));
}

/** @param {Taken} taken @param {() => Figure} drawn @param {Words} words */
function saveButtons({ trace, name }, drawn, words) {
  const save = (/** @type {string} */ kind, /** @type {() => void} */ onclick) => button(`save-${kind}`, words.save(kind.toUpperCase()), onclick);
  return [
    save("svg", () => download(`${nameOf(trace, name)}.svg`, new Blob([svgOf(drawn())], { type: "image/svg+xml" }))),
    save("png", () => canvasOf(drawn()).toBlob((blob) => blob && download(`${nameOf(trace, name)}.png`, blob))),
  ];
}
