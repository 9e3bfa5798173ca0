"""Averaged weights, which are validated and exported instead of the last, noisy ones.

Source: Polyak and Juditsky 1992 (averaging); Junczys-Dowmunt et al. 2016 (last-k in translation).
"""

from jumok.config import AverageConfig
from jumok.shapes import Float, Tensor


class Average:
    """Averages the weights according to `config`.

    ema: after step t, a <- d a + (1 - d) w with d = min(decay, (1 + t) / (10 + t)), so that the
    first
    weights are soon forgotten. last: the mean of the last k snapshots, one at every validation.
    none: the weights themselves.
    """

    def __init__(self, config: AverageConfig, weights: Float[Tensor, " size"]) -> None:
        self._config = config
        self._ema = weights.clone() if config.kind == "ema" else None
        self._last: list[Tensor] = []

    def follow(
        self, weights: Float[Tensor, " size"], step: int, window: slice = slice(None)
    ) -> None:
        """Called after every step, counted from 1, for each window of the weights."""
        if self._ema is not None:
            decay = min(self._config.decay, (1 + step) / (10 + step))
            self._ema[window].lerp_(weights[window], 1.0 - decay)

    def snapshot(self, weights: Float[Tensor, " size"]) -> None:
        if self._config.kind == "last":
            self._last = [*self._last, weights.clone()][-self._config.last :]

    def weights(self, weights: Float[Tensor, " size"]) -> Float[Tensor, " size"]:
        """The average; `weights` itself while there is none."""
        if self._ema is not None:
            return self._ema
        if self._last:
            # One after another: each element is added up alike, whatever the row is a part of.
            total = self._last[0].clone()
            for snapshot in self._last[1:]:
                total += snapshot
            return total / len(self._last)
        return weights

    def state(self) -> dict[str, Tensor]:
        kept = {f"average.last.{i}": snapshot for i, snapshot in enumerate(self._last)}
        return kept if self._ema is None else {"average.ema": self._ema}

    def load_state(self, state: dict[str, Tensor]) -> None:
        if self._ema is not None:
            self._ema.copy_(state["average.ema"])
        count = sum(name.startswith("average.last.") for name in state)
        self._last = [state[f"average.last.{i}"].clone() for i in range(count)]
