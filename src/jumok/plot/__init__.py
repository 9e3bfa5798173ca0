"""Figures for papers: the views of the page as matplotlib draws them, and learning curves.

    figure = jumok.plot.alignment(trace)
    figure.savefig("alignment.pdf")

The numbers, words, colours and scale are those of the page: a weight of 0.3 has one shade in every
figure, and the panels of a figure share one colour bar. Layers and heads count from 0, as in a
Trace. Needs the extra "plot".
"""

from jumok.plot.attribution import mattered
from jumok.plot.bars import choices, row, switches
from jumok.plot.learning_curves import curves
from jumok.plot.maps import alignment, grid, head, pictures
from jumok.plot.paper import save
from jumok.plot.positions import positions

__all__ = [
    "alignment",
    "choices",
    "curves",
    "grid",
    "head",
    "mattered",
    "pictures",
    "positions",
    "row",
    "save",
    "switches",
]
