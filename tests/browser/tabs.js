/**
 * Opens the view with this name, or of this id, in whatever question it is; without one, walks through all questions.
 *
 * `root` is the document's element. Gives the ids of the views that it came by. A tab that something lies over is an error, as it is of a mouse.
 */
(root, wanted) => {
  const tabs = (row) => [...root.querySelectorAll(`.${row} [role=tab]`)];
  const over = (tab) => {
    const { left, top, width, height } = tab.getBoundingClientRect();
    return document.elementFromPoint(left + width / 2, top + height / 2);
  };
  const press = (tab) => {
    const reached = ["nearest", "center", "start", "end"].some((block) => {
      tab.scrollIntoView({ block, inline: "nearest", behavior: "instant" });
      return tab.contains(over(tab));
    });
    if (!reached) throw new Error(`${tab.id} cannot be clicked: ${over(tab)?.outerHTML} is there`);
    tab.focus();
    tab.click();
  };
  const nameOf = (tab) => tab.id.replace("tab-", "");
  const found = [];
  for (const question of [null, ...tabs("questions").map((tab) => tab.id)]) {
    if (question) press(document.getElementById(question));
    const views = tabs("views");
    const there = wanted && views.find((tab) => nameOf(tab) === wanted || tab.innerText.startsWith(wanted));
    if (there) {
      press(there);
      return [wanted];
    }
    if (question) found.push(...views.map(nameOf));
  }
  return found;
}
