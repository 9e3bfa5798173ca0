"""The state of linear attention between steps of decoding, whose size does not grow."""

from jumok.attention.cache import KeyValueCache
from jumok.shapes import Float, Int, Tensor


class LinearState:
    """The sums over the positions so far: S (batch kv_heads dim value_dim) and z.

    Attributes:
        length: the number of positions.
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
