/** The link to this very moment. */

/**
 * Names everything that the page shows, so that it stays so where the page opens with something else.
 *
 * @param {State} state
 */
export function permalink(state) {
  return `${location.href.replace(/#.*$/s, "")}#${state.whole}`;
}

/** Where a link leads: to this "file", to the page's "server" while that runs, or to a page of the "web"; null: the page has no address. @param {boolean} live */
export function linkKind(live) {
  if (location.protocol === "about:" || location.protocol === "blob:") return null;
  if (location.protocol === "file:") return "file";
  return live ? "server" : "web";
}
