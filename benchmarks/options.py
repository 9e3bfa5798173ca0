"""What the command line says to every part."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """How to measure.

    Attributes:
        core: the core that measured programs are held to.
        seconds: CPU-seconds measured a training run.
        pairs: smallworld pairs in `prepare`.
        only: take what has a name that begins so; None takes everything.
        rounds: of `decode` and `start`; None: as many as each of them has.
    """

    core: int
    seconds: float
    pairs: int
    only: str | None
    rounds: int | None

    def wants(self, name: str) -> bool:
        """Whether `only` lets this name through."""
        return self.only is None or name.startswith(self.only)
