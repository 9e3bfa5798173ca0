/** The beam search tree: kept, finished and pruned hypotheses, and what each of them attended to. */

import { choice, element, fading, table } from "../dom.js";
import { heatmap } from "../heatmap.js";
import { drawLook } from "../picture.js";
import { treeFigure } from "../taking/tree_figure.js";
import { readable, spelled } from "../trace.js";

const [ACROSS, DOWN, WIDE, HIGH] = [132, 34, 112, 27];

/**
 * The nodes step by step, best first.
 *
 * @param {SearchNode[]} nodes
 */
function steps(nodes) {
  /** @type {number[]} */
  const depth = [];
  /** @type {number[][]} */
  const columns = [];
  nodes.forEach((node, id) => {
    depth[id] = node.parent < 0 ? 0 : depth[node.parent] + 1;
    (columns[depth[id]] ??= []).push(id);
  });
  for (const column of columns) column.sort((a, b) => nodes[b].total - nodes[a].total);
  return columns;
}

/** @param {SearchNode[]} nodes @param {number} id */
function path(nodes, id) {
  const ids = [];
  for (let at = id; at >= 0; at = nodes[at].parent) ids.unshift(at);
  return ids;
}

/** Only models that write from left to right use beam search; of weights from elsewhere none is recorded. @type {Needs} */
theatreView.needs = (trace, live, asks) => trace.writesText && (live || !asks || Boolean(trace.findings.search))
  && trace.sites.some((site) => site.kind !== "given");

/** @type {View} */
export function theatreView(trace, state, words, ask) {
  const { search } = trace.findings;
  if (ask && !search) {
    if (trace.page.once("tree")) ask();
    return { help: words.theatreHelp, controls: [], body: [] };
  }
  if (!search?.nodes.length) return { help: words.theatreHelp, controls: [], body: [element("p", {}, words.noSearch)] };
  const { nodes, leaves } = search;
  const hideLost = state.get("lost") === "hide";
  const columns = steps(nodes).map((ids) =>
    (hideLost ? ids.filter((id) => nodes[id].fate !== "lost") : ids));
  const best = whatWasWritten(trace, nodes, leaves);
  const chosen = Math.min(state.get("node") ?? best, nodes.length - 1);
  const controls = [choice(words.losers, [["show", words.show], ["hide", words.hide]],
    hideLost ? "hide" : "show", (lost) => state.set({ lost }))];
  const line = path(nodes, chosen);
  const body = [
    ...(trace.page.begun && ask ? [begun(trace.text, trace.page.begun.pieces, words, ask)] : []),
    tree(nodes, columns, new Set(line), chosen, state, words),
    hypothesis(nodes, line, words),
  ];
  const map = mapOf(trace, search, line);
  if (map) body.push(looked(trace, map, words));
  if (ask && nodes[chosen].fate !== "finished") {
    body.splice(body.length - (map ? 2 : 1), 0, element("p", {}, element("button", {
      type: "button", id: "go-on", onclick: () => {
        state.set({ node: "" });
        ask(trace.text, [...(trace.page.begun?.tokens ?? []), ...line.map((id) => nodes[id].token)], undefined,
          [...(trace.page.begun?.pieces ?? []), ...line.map((id) => nodes[id].piece)]);
      },
    }, words.goOn)));
  }
  const figure = () => treeFigure(nodes, placesOf(columns), [WIDE, HIGH], new Set(line), {
    sum: (id) => (nodes[id].total - given(nodes)).toFixed(2), named: (id) => readable(nodes[id].piece) });
  return { help: words.theatreHelp, controls, body, figure };
}

/**
 * The corner of every node that is shown, by its number.
 *
 * @param {number[][]} columns
 */
function placesOf(columns) {
  /** @type {[x: number, y: number][]} */
  const places = [];
  columns.forEach((ids, step) => ids.forEach((id, rank) => {
    places[id] = [step * ACROSS, rank * DOWN];
  }));
  return places;
}

/**
 * The log-probability of the prefix of this tree: every total includes it, but it was not searched.
 *
 * @param {SearchNode[]} nodes
 */
function given(nodes) {
  return nodes[0].total - nodes[0].log_probability;
}

/**
 * Mean log-probability of a token: the final ranking at a length penalty of 1.
 *
 * @param {SearchNode[]} nodes @param {number} id
 */
function score(nodes, id) {
  return (nodes[id].total - given(nodes)) / path(nodes, id).length;
}

/**
 * The leaf that spells the output; if none does, the best finished one, or the best of the rest.
 *
 * @param {Trace} trace @param {SearchNode[]} nodes @param {number[]} leaves
 */
function whatWasWritten(trace, nodes, leaves) {
  const ended = leaves.filter((id) => nodes[id].fate === "finished");
  const written = trace.findings.written.slice(trace.page.begun?.tokens.length ?? 0).join(" ");
  /** @param {number} id */
  const spells = (id) => path(nodes, id).map((at) => nodes[at].token).join(" ");
  /** @param {number} id */
  const end = (id) => (nodes[id].fate === "finished" ? [`${written} ${nodes[id].token}`.trim(), written] : [written]);
  const same = leaves.find((id) => end(id).includes(spells(id)));
  const known = ended.length ? ended : leaves;
  return same ?? known.reduce((a, b) => (score(nodes, b) > score(nodes, a) ? b : a), known[0] ?? 0);
}

/**
 * The forced prefix of the search, and a button to start without it.
 *
 * @param {string} text @param {string[]} pieces @param {Words} words @param {Ask} ask
 */
function begun(text, pieces, words, ask) {
  return element("p", { class: "chips" }, element("span", {}, words.begunWith), element("b", { id: "begun" }, spelled(pieces)),
    element("button", { type: "button", id: "from-start", onclick: () => ask(text, [], undefined, []) }, words.fromStart));
}

/** @param {SearchNode[]} nodes @param {number[][]} columns @param {Set<number>} line @param {number} chosen @param {State} state @param {Words} words */
function tree(nodes, columns, line, chosen, state, words) {
  const place = placesOf(columns);
  const height = DOWN * Math.max(...columns.map((ids) => ids.length));
  const width = ACROSS * columns.length;
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("width", String(width));
  svg.setAttribute("height", String(height));
  svg.setAttribute("aria-hidden", "true");
  const box = element("div", { class: "tree" }, svg);
  box.style.width = `${width}px`;
  box.style.height = `${height}px`;
  for (const id of columns.flat()) {
    const [x, y] = place[id];
    const { parent, piece, log_probability: logp, fate } = nodes[id];
    const total = nodes[id].total - given(nodes);
    if (parent >= 0 && place[parent]) {
      const [px, py] = place[parent];
      const edge = document.createElementNS("http://www.w3.org/2000/svg", "path");
      edge.setAttribute("d", `M${px + WIDE} ${py + HIGH / 2}C${px + ACROSS} ${py + HIGH / 2} ${x - 20} ${y + HIGH / 2} ${x} ${y + HIGH / 2}`);
      edge.setAttribute("class", line.has(id) ? "on" : fate);
      svg.append(edge);
    }
    const label = `${readable(piece)}: ${words.logp} ${logp.toFixed(3)}, ${words.sum} ${total.toFixed(3)}, ${words[fate]}`;
    const button = element("button", {
      type: "button", id: `node-${id}`, class: `${fate}${line.has(id) ? " on" : ""}`,
      title: label, "aria-label": label, "aria-pressed": String(id === chosen),
      onclick: () => state.set({ node: id }),
      onkeydown: (event) => walk(event, id, nodes, columns, state),
    }, element("span", {}, readable(piece)), element("small", {}, total.toFixed(2)));
    button.style.left = `${x}px`;
    button.style.top = `${y}px`;
    box.append(button);
  }
  return fading(element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": words.theatre }, box));
}

/**
 * Left to the parent, right to the best child, up and down among the nodes of one step.
 *
 * @param {KeyboardEvent} event @param {number} id @param {SearchNode[]} nodes @param {number[][]} columns @param {State} state
 */
function walk(event, id, nodes, columns, state) {
  const column = columns.find((ids) => ids.includes(id)) ?? [];
  const rank = column.indexOf(id);
  const children = columns.flat().filter((other) => nodes[other].parent === id);
  /** @type {ByName<number>} */
  const beside = { ArrowLeft: nodes[id].parent, ArrowRight: children[0], ArrowUp: column[rank - 1], ArrowDown: column[rank + 1] };
  const to = beside[event.key];
  if (to === undefined || to < 0) return;
  event.preventDefault();
  state.set({ node: to });
  document.getElementById(`node-${to}`)?.focus();
}

/** @param {SearchNode[]} nodes @param {number[]} line @param {Words} words */
function hypothesis(nodes, line, words) {
  const rows = line.map((id, i) => [
    `${i + 1} ${readable(nodes[id].piece)}`, nodes[id].log_probability.toFixed(3),
    (nodes[id].total - given(nodes)).toFixed(3), words[nodes[id].fate],
  ]);
  const text = spelled(line.map((id) => nodes[id]).filter(({ fate }) => fate !== "finished").map(({ piece }) => piece));
  return element("details", { id: "hypothesis" }, element("summary", {}, text || readable(nodes[line[0]].piece)),
    table([words.step, words.logp, words.sum, ""], rows, words.theatre));
}

/**
 * The map of a hypothesis: over the source's words, or a small image for each token.
 *
 * @param {Trace} trace @param {DrawnMap} map @param {Words} words
 */
function looked(trace, map, words) {
  const { grid } = trace.axes[trace.of("cross")[0].keys];
  if (!grid) return heatmap(map, { label: words.cross });
  const most = Math.max(...map.values);
  return element("div", { class: "thumbs" }, ...map.rows.map((name, row) => {
    const weights = map.values.subarray(row * map.columns.length, (row + 1) * map.columns.length);
    const canvas = element("canvas", { role: "img", "aria-label": `${words.cross}: ${name}` });
    drawLook(canvas, { picture: trace.picture, grid, weights, most, smooth: true }, 84);
    return element("figure", {}, canvas, element("figcaption", {}, name));
  }));
}

/**
 * What the tokens of a hypothesis attended to; those that were pruned are not known.
 *
 * @param {Trace} trace @param {Search} search @param {number[]} line
 */
function mapOf(trace, { nodes, row }, line) {
  const known = line.flatMap((id) => {
    const weights = nodes[id].fate === "lost" ? null : row(id);
    return weights ? [{ id, weights }] : [];
  });
  if (!known.length) return null;
  const columns = trace.of("cross")[0].columnTokens.map(readable);
  return {
    rows: known.map(({ id }) => readable(nodes[id].piece)),
    columns,
    values: Float32Array.from(known.flatMap(({ weights }) => [...weights.subarray(0, columns.length)])),
  };
}
