"""Figures for papers: the views of the page as matplotlib draws them.

    figure = jumok.plot.alignment(trace)
    figure.savefig("alignment.pdf")

Same numbers, same words, same colours and the same scale as on the page: a weight of 0.3 has one
shade in every picture, and panels beside one another share one colour bar. Layers and heads count
from 0, as in a Trace. Needs the extra "plot".
"""

from jumok.plot.attribution import mattered
from jumok.plot.bars import choices, row, switches
from jumok.plot.maps import alignment, grid, head, pictures
from jumok.plot.paper import save

__all__ = [
    "alignment",
    "choices",
    "grid",
    "head",
    "mattered",
    "pictures",
    "row",
    "save",
    "switches",
]
