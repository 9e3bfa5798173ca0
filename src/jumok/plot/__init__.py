"""Figures for papers with matplotlib: the views of the page, and learning curves.

    figure = jumok.plot.alignment(trace)
    figure.savefig("alignment.pdf")

Numbers, words, colours and scale are those of the page: a weight of 0.3 has the same shade in every
figure, and the panels of a figure share one colour bar. Layers and heads are counted from 0, as in
a Trace. Needs the extra "plot".
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
