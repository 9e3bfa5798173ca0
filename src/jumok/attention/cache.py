"""What attention keeps of the positions so far, so that a step computes only its own."""

from jumok.shapes import Float, Int, Tensor


class KeyValueCache:
    """Grows by one position a step, in place; its capacity is doubled when it is full.

    In memory positions come first: those in use are adjacent, and only they are copied when a beam
    changes its rows.
    """

    def __init__(self) -> None:
        self._key: Float[Tensor, "room batch heads dim"] | None = None
        self._value: Float[Tensor, "room batch heads value_dim"] | None = None
        self.length = 0

    def append(
        self,
        key: Float[Tensor, "batch heads new dim"],
        value: Float[Tensor, "batch heads new value_dim"],
    ) -> tuple[Float[Tensor, "batch heads key dim"], Float[Tensor, "batch heads key value_dim"]]:
        """Adds positions; returns all keys and values so far, as views."""
        (batch, heads, new, dim), width = key.shape, value.shape[3]
        start, self.length = self.length, self.length + new
        self._key = _enlarged(self._key, start, self.length, key, (batch, heads, dim))
        self._value = _enlarged(self._value, start, self.length, value, (batch, heads, width))
        for room, states in ((self._key, key), (self._value, value)):
            room[start : self.length] = states.permute(2, 0, 1, 3)
        return _by_rows(self._key[: self.length]), _by_rows(self._value[: self.length])

    def reorder(self, rows: Int[Tensor, " rows"]) -> None:
        """Replaces row i by the old row rows[i]."""
        if self._key is not None and self._value is not None:
            self._key = _reordered(self._key, rows, self.length)
            self._value = _reordered(self._value, rows, self.length)


class LinearState:
    """The state of linear attention, whose size does not grow: the sums S and z over all positions.

    Attributes:
        kept: all keys and values, as long as every position is observed; otherwise None.
    """

    def __init__(self) -> None:
        self.length = 0
        self.products: Float[Tensor, "batch kv_heads dim value_dim"] | None = None
        self.features: Float[Tensor, "batch kv_heads dim"] | None = None
        self.kept: KeyValueCache | None = None

    def reorder(self, rows: Int[Tensor, " rows"]) -> None:
        """Replaces row i by the old row rows[i]."""
        if self.products is not None and self.features is not None:
            self.products = self.products.index_select(0, rows)
            self.features = self.features.index_select(0, rows)
        if self.kept is not None:
            self.kept.reorder(rows)


def _by_rows(
    room: Float[Tensor, "length batch heads dim"],
) -> Float[Tensor, "batch heads length dim"]:
    """The positions of a cache's tensor in the axes that attention reads; a view."""
    return room.permute(1, 2, 0, 3)


def _enlarged(
    room: Tensor | None, start: int, end: int, like: Tensor, shape: tuple[int, int, int]
) -> Tensor:
    """The tensor itself if `end` positions fit, otherwise a larger one with the first `start`."""
    if room is not None and end <= room.shape[0]:
        return room
    larger = like.new_empty(max(32, 2 * end), *shape)
    if room is not None:
        larger[:start] = room[:start]
    return larger


def _reordered(room: Tensor, rows: Tensor, length: int) -> Tensor:
    larger = room.new_empty(room.shape[0], rows.shape[0], *room.shape[2:])
    larger[:length] = room[:length].index_select(1, rows)
    return larger
