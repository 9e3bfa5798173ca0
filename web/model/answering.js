/** How a model in the page answers: it shows what it has written so far, and stops when nobody waits any more. */

const SHOWN_EVERY = 40; // milliseconds

/** Why an input cannot be read; `known` names the message in the page's words. */
export class Refused extends Error {
  /** @param {string} known @param {...number} numbers */
  constructor(known, ...numbers) {
    super(known);
    this.fault = { known, numbers };
  }
}

/**
 * Between two steps: shows what is written, where the last picture is older than SHOWN_EVERY, and lets the browser draw
 * it. `say` receives a text; `signal`: throws where the answer is no longer needed.
 *
 * @param {Waiting} [waiting]
 */
export function pacer({ say = () => {}, signal } = {}) {
  let shown = performance.now();
  return async (/** @type {() => string} */ written) => {
    if (performance.now() - shown < SHOWN_EVERY) return;
    say(written());
    await new Promise((go) => { setTimeout(go); });
    signal?.throwIfAborted();
    shown = performance.now();
  };
}

/** @typedef {ReturnType<typeof pacer>} Pace */

/** What is wrong, as the page takes it. @returns {Fault} */
export function faultOf(/** @type {unknown} */ error) {
  if (error instanceof Refused) return error.fault;
  return { what: error instanceof Error ? error.message : String(error) };
}

/**
 * The answer to a request of the page: what `look` finds, beside that for a second text where one is given.
 *
 * @template T
 * @param {(given: T) => RawAnswer | Promise<RawAnswer>} look
 * @param {{ text: T, against?: T }} question
 * @returns {ReturnType<Answer>}
 */
export async function answered(look, { text, against }) {
  try {
    return { ...(await look(text)), ...(against ? { other: await look(against) } : {}) };
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    if (error instanceof RangeError) return { error: { known: "faultMemory", numbers: [] } };
    return { error: faultOf(error) };
  }
}
