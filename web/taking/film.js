/** What moves in a view as a film: a video that the browser makes while it plays. */

import { download, element } from "../dom.js";
import { still } from "../player.js";
import { INK, PAPER, theme } from "../colours.js";
import { textWidth } from "../surface.js";
import { nameOf } from "./names.js";
import { paintNode } from "./painter.js";

const FORMS = [["video/webm;codecs=vp9", "webm"], ["video/webm;codecs=vp8", "webm"], ["video/mp4", "mp4"]];
const [FRAMES, BITS, EACH] = [25, 4_000_000, 1300]; // a second; bits of a second; ms of a word
const [MARGIN, FOOT, SMALL, MOST] = [18, 22, 12, 1280]; // px: around the picture, below it, of the type there, and across

/** What this browser makes: its type, and the end of a file's name; undefined: no films. */
function formOfFilms() {
  return FORMS.find(([type]) => window.MediaRecorder?.isTypeSupported(type));
}

/**
 * Films a node while something plays in it, until it ends or `signal` stops it.
 *
 * `play(done)` plays from the beginning, and calls `done` at the end. `name`: below the picture.
 *
 * @param {NonNullable<Shown["film"]>} film @param {string} name @param {AbortSignal} signal
 * @returns {Promise<Blob>} the video
 */
function filmed({ node, play }, name, signal) {
  const [type] = /** @type {string[]} */ (formOfFilms());
  const canvas = document.createElement("canvas");
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false }));
  const { width, height } = node.getBoundingClientRect();
  const scale = Math.min(1.5, MOST / (width + 2 * MARGIN));
  const [wide, high] = [width + 2 * MARGIN, height + 2 * MARGIN + FOOT];
  // Video has an even number of pixels each way.
  [canvas.width, canvas.height] = [wide, high].map((size) => 2 * Math.round((size * scale) / 2));
  const frame = () => {
    context.resetTransform();
    context.scale(scale, scale);
    context.fillStyle = PAPER[theme()];
    context.fillRect(0, 0, wide, high);
    context.translate(MARGIN, MARGIN);
    paintNode(context, node);
    context.font = `${SMALL}px system-ui, sans-serif`;
    context.fillStyle = INK[theme()];
    context.fillText(name, width - textWidth(name, SMALL), height + MARGIN + FOOT - SMALL);
  };
  frame();
  const recorder = new MediaRecorder(canvas.captureStream(FRAMES), { mimeType: type, videoBitsPerSecond: BITS });
  /** @type {Blob[]} */
  const parts = [];
  recorder.ondataavailable = ({ data }) => parts.push(data);
  const ended = new Promise((done) => { recorder.onstop = () => done(new Blob(parts, { type: type.split(";")[0] })); });
  const ticking = setInterval(() => (node.isConnected ? frame() : stop()), 1000 / FRAMES); // another view ends it
  const stop = () => {
    clearInterval(ticking);
    if (recorder.state !== "inactive") recorder.stop();
  };
  signal.addEventListener("abort", stop, { once: true });
  recorder.start();
  play(stop);
  return ended;
}

/** The button that saves a view's film, in a list; empty where nothing moves, or no film can be made. @param {Taken} taken @param {Words} words @param {(text: string) => void} tell */
export function filmButtons({ trace, name, view: { film } }, words, tell) {
  if (!film || still() || !formOfFilms()) return [];
  /** @type {AbortController | null} */
  let filming = null;
  const button = element("button", { type: "button", id: "save-film", onclick: async () => {
    if (filming) {
      filming.abort();
      return;
    }
    filming = new AbortController();
    button.textContent = words.filmStop;
    tell(words.filming);
    const video = await filmed(film, `${trace.model} · jumok`, filming.signal);
    const file = `${nameOf(trace, name)}.${formOfFilms()?.[1]}`;
    download(file, video);
    tell(words.filmed(file));
    filming = null;
    button.textContent = words.saveFilm;
  } }, words.saveFilm);
  return [button];
}

/** A film of the words of a node, pointed at one after the other; null: it has none. @param {HTMLElement} node @returns {Shown["film"]} */
export function wordsFilm(node) {
  const words = [...node.querySelectorAll(".rows .word")];
  return words.length === 0 ? null : { node, play: (done) => {
    const left = [...words];
    const next = () => {
      const word = left.shift();
      if (word && node.isConnected) {
        word.dispatchEvent(new PointerEvent("pointerenter", { pointerType: "mouse" }));
        setTimeout(next, EACH);
      } else {
        node.dispatchEvent(new MouseEvent("mouseleave"));
        done();
      }
    };
    next();
  } };
}
