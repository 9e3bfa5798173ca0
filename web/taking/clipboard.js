/** Copying, where the browser permits it. */

/** Whether the browser let the page copy; otherwise the node's text is selected, for its reader to copy. @param {string} text @param {HTMLElement} node */
export async function copied(text, node) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection()?.selectAllChildren(node);
    return false;
  }
}

/** Copies an image, also as SVG if the browser takes it; whether it let the page do so. @param {string} svg @param {Promise<Blob>} png */
export async function copiedImage(svg, png) {
  try {
    // Safari wants the promise of the image, and not to be kept waiting for it.
    /** @type {Record<string, Blob | Promise<Blob>>} */
    const kinds = { "image/png": png };
    if (ClipboardItem.supports?.("image/svg+xml")) kinds["image/svg+xml"] = new Blob([svg], { type: "image/svg+xml" });
    await navigator.clipboard.write([new ClipboardItem(kinds)]);
    return true;
  } catch {
    return false;
  }
}
