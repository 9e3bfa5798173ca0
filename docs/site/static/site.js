/** What the theme leaves out for readers who use a keyboard or a screen reader. */

const NAMES = document.documentElement.lang === "ko"
  ? { ".sidebar-drawer": "문서 목록", ".toc-drawer": "이 문서의 차례" }
  : { ".sidebar-drawer": "All pages", ".toc-drawer": "On this page" };

for (const [place, name] of Object.entries(NAMES)) {
  for (const found of document.querySelectorAll(place)) found.setAttribute("aria-label", name);
}
for (const caption of document.querySelectorAll(".caption[role=heading]")) {
  caption.setAttribute("aria-level", "2");
}
// What scrolls sideways can be scrolled by the arrow keys.
const WIDE = 'pre, .table-wrapper, p:has(> img[src$=".svg"])';
for (const wide of document.querySelectorAll(WIDE)) wide.tabIndex = 0;
// A table's corner is no heading.
for (const head of document.querySelectorAll("th")) {
  if (head.textContent.trim() === "") head.replaceWith(document.createElement("td"));
}
