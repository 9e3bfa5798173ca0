/** The views of the page, by the question that each answers, in the order of their tabs: docs/adding.md. */

import { compareView } from "../compare/view.js";
import { boardView } from "./board.js";
import { choicesView } from "./choices.js";
import { flowView } from "./flow.js";
import { gridView } from "./grid.js";
import { headsView } from "./heads.js";
import { layersView } from "./layers.js";
import { matteredView } from "./mattered.js";
import { overviewView } from "./overview.js";
import { rowView } from "./row.js";
import { runView } from "./run.js";
import { scrubberView } from "./scrubber.js";
import { theatreView } from "./theatre.js";
import { walkView } from "./walk.js";

/**
 * A view that the trace does not have is left out, and so is a question without views.
 *
 * @satisfies {Record<string, Record<string, ViewOfTab>>}
 */
export const QUESTIONS = {
  where: { overview: overviewView, scrubber: scrubberView, board: boardView, grid: gridView },
  why: { flow: flowView, row: rowView, walk: walkView },
  matters: { mattered: matteredView, heads: headsView },
  else: { beam: choicesView, theatre: theatreView },
  if: { layers: layersView, compare: compareView },
  learn: { run: runView },
};

/** @typedef {{ [Q in keyof typeof QUESTIONS]: keyof (typeof QUESTIONS)[Q] }[keyof typeof QUESTIONS]} ViewName */

/** All views by their names. @type {Record<ViewName, ViewOfTab>} */
export const VIEWS = Object.assign({}, ...Object.values(QUESTIONS));
