"""Keys and values of the positions already written, so that a step computes only its own."""

from jumok.shapes import Float, Int, Tensor


class KeyValueCache:
    """Grows by one position a step, in place; room is doubled when it runs out."""

    def __init__(self) -> None:
        self._key: Tensor | None = None
        self._value: Tensor | None = None
        self.length = 0

    def append(
        self,
        key: Float[Tensor, "batch heads new dim"],
        value: Float[Tensor, "batch heads new value_dim"],
    ) -> tuple[Float[Tensor, "batch heads key dim"], Float[Tensor, "batch heads key value_dim"]]:
        """Adds positions; gives all keys and values so far, as views."""
        end = self.length + key.shape[2]
        if self._key is None or self._value is None or end > self._key.shape[2]:
            self._key = self._enlarged(self._key, key, end)
            self._value = self._enlarged(self._value, value, end)
        self._key[:, :, self.length : end] = key
        self._value[:, :, self.length : end] = value
        self.length = end
        return self._key[:, :, :end], self._value[:, :, :end]

    def reorder(self, rows: Int[Tensor, " rows"]) -> None:
        """Row i becomes the old row rows[i]."""
        if self._key is not None and self._value is not None:
            self._key = self._key.index_select(0, rows)
            self._value = self._value.index_select(0, rows)

    def _enlarged(self, old: Tensor | None, new: Tensor, end: int) -> Tensor:
        batch, heads, _, dim = new.shape
        room = new.new_empty(batch, heads, max(32, 2 * end), dim)
        if old is not None:
            room[:, :, : self.length] = old[:, :, : self.length]
        return room
