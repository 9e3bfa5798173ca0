/** What the page knows around a trace: of which model it is, what it is compared with, what was asked for. */

/**
 * Of the model, from its first trace; later ones contain it only on request.
 *
 * @typedef {{ layered: boolean, placed: boolean, recurrent: boolean, beside: boolean, tuned: boolean }} Known
 */

/** @type {Known} */
const UNKNOWN = { layered: false, placed: false, recurrent: false, beside: false, tuned: false };

export class OnPage {
  /**
   * @param {object} [facts]
   * @param {Known} [facts.known]
   * @param {RawRun} [facts.run] the training run of the model
   * @param {Trace} [facts.opened] the trace that the page opened with
   */
  constructor({ known = UNKNOWN, run, opened } = {}) {
    this.known = known;
    this.run = run;
    this.opened = opened;
    /** The trace of the model without the page's changes, and these as JSON. @type {Trace | undefined} */
    this.baseline = undefined;
    this.change = "";
    /** The prefix that the output was forced to begin with. @type {{ tokens: number[], pieces: string[] } | undefined} */
    this.begun = undefined;
    /** The trace without it. @type {Trace | undefined} */
    this.unforced = undefined;
    /** @type {Pinned | null} */
    this.pinned = null;
    /** Whether arrays are still being unpacked. */
    this.partial = false;
    /** Whether the next request is to have attributions, whatever view is open. */
    this.wishing = false;
    /** The module and the query whose walk was asked for last. */
    this.walkAsked = "";
    /** @type {Set<string>} */
    this.asked = new Set();
  }

  /**
   * Whether this was not asked for yet; from now on it was. The answer is another trace.
   *
   * @param {string} what
   */
  once(what) {
    if (this.asked.has(what)) return false;
    this.asked.add(what);
    return true;
  }
}
