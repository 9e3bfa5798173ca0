"""What attention heads over an image's cells do, summed batch by batch over a corpus."""

from dataclasses import dataclass, field
from math import log
from typing import Literal

import torch

from jumok.data.tokenizer import PAD
from jumok.inspection.heads.cards import CellMap, Grid, GridCard, reach
from jumok.inspection.heads.measures import Mean
from jumok.shapes import Bool, Float, Int, Tensor


@dataclass
class GridMeter:
    """The sums of one attention module."""

    part: Literal["cross", "image"]
    grid: Grid
    residual_gate: float | None = None
    heads: int = 0
    means: dict[str, Mean] = field(default_factory=dict)
    where: Tensor | float = 0.0
    offsets: Tensor | float = 0.0
    looks: int = 0

    def look(
        self,
        weights: Float[Tensor, "batch heads query cell"],
        numbers: Int[Tensor, " query"],  # noqa: ARG002 - a word's position is not used here
        queries: Int[Tensor, "batch _"],
        keys: Int[Tensor, "batch _"],  # noqa: ARG002 - all cells are real
    ) -> None:
        """Adds the weights of a batch. States before the cells do not count.

        Args:
            queries: the queries' tokens; PAD does not count. One column: all of a row, or none.
        """
        self.heads, cells = weights.shape[1], self.grid[0] * self.grid[1]
        weights = weights[..., -cells:].float()
        if self.part == "image":
            weights = weights[:, :, -cells:]
        real = (queries != PAD).expand(-1, weights.shape[2])
        self._add("entropy", -torch.xlogy(weights, weights).sum(dim=3), real)
        self._add("confidence", weights.amax(dim=3), real)
        kept = weights * real[:, None, :, None]
        self.where = self.where + kept.sum(dim=(0, 2), dtype=torch.float64).cpu()
        self.looks += int(real.sum())
        if self.part == "image":
            self._away(weights, real)

    def _away(
        self, weights: Float[Tensor, "batch heads query cell"], real: Bool[Tensor, "batch query"]
    ) -> None:
        """Adds the distances and offsets from the query's cell."""
        apart = distances(self.grid).to(weights.device)
        self._add("distance", (weights * apart).sum(dim=3), real)
        # A neighbour's centre is one cell away, or the root of 2 diagonally.
        self._add("near", (weights * (apart < 1.5)).sum(dim=3), real)
        self._add("same", weights.diagonal(dim1=2, dim2=3), real)
        rows, columns = self.grid
        chosen = weights.argmax(dim=3)  # (batch heads query)
        own = torch.arange(weights.shape[2], device=weights.device)
        down = chosen // columns - own // columns + rows - 1
        across = chosen % columns - own % columns + columns - 1
        place = down * (2 * columns - 1) + across
        size = (2 * rows - 1) * (2 * columns - 1)
        of_head = [place[:, head][real].bincount(minlength=size) for head in range(self.heads)]
        self.offsets = self.offsets + torch.stack(of_head).cpu()

    def _add(self, name: str, values: Tensor, wanted: Tensor) -> None:
        self.means.setdefault(name, Mean()).add(values, wanted)

    def card(self, site: str, layer: int, head: int, raw: Float[Tensor, " heads"]) -> GridCard:
        """The card of one head.

        Args:
            raw: the importance of each head of the layer, in nats.
        """

        def mean(name: str) -> float:
            return self.means[name].of(head)

        assert isinstance(self.where, Tensor)
        rows, columns = self.grid
        image = self.part == "image"
        offsets, beyond = self._offsets(head) if image else (None, None)
        cells = rows * columns
        return GridCard(
            site=site,
            part=self.part,
            layer=layer,
            head=head,
            grid=self.grid,
            entropy=mean("entropy"),
            uniform_share=mean("entropy") / log(cells) if cells > 1 else 0.0,
            confidence=mean("confidence"),
            where=_map((self.where[head] / max(self.looks, 1)).view(rows, columns)),
            importance=float(raw[head] / raw.norm().clamp(min=1e-30)),
            raw_importance=float(raw[head]),
            same=mean("same") if image else None,
            near=mean("near") if image else None,
            distance=mean("distance") if image else None,
            even_distance=float(distances(self.grid).mean()) if image else None,
            offsets=offsets,
            beyond=beyond,
            residual_gate=self.residual_gate,
        )

    def _offsets(self, head: int) -> tuple[CellMap, float]:
        """The shares of the nearest offsets, and of all larger ones."""
        assert isinstance(self.offsets, Tensor)
        rows, columns = self.grid
        down, across = reach(self.grid)
        whole = self.offsets[head].double().view(2 * rows - 1, 2 * columns - 1)
        whole = whole / max(self.looks, 1)
        inner = whole[rows - 1 - down : rows + down, columns - 1 - across : columns + across]
        return _map(inner), float(whole.sum() - inner.sum())


def distances(grid: Grid) -> Float[Tensor, "cell cell"]:
    """The distances between the centres of the cells, in cells."""
    rows, columns = grid
    y, x = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    places = torch.stack([y.flatten(), x.flatten()], dim=1).double()
    # From differences: the usual expansion into products is not exact for equal positions.
    return (places[:, None] - places[None]).norm(dim=2).float()


def _map(values: Float[Tensor, "rows columns"]) -> CellMap:
    return tuple(map(tuple, values.tolist()))
