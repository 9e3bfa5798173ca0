"""Length limits of models."""

from jumok.bundle.reading import Bundle
from jumok.config.section import ModelSection
from jumok.config.stack import StackConfig


def longest_of(config: ModelSection) -> int | None:
    """The maximum number of tokens that the positions allow besides START or END; None: no
    limit."""
    reach = config.reach if isinstance(config, StackConfig) else None
    return None if reach is None else reach - 1


def positions_end(bundle: Bundle) -> int | None:
    """The same for the model in a bundle."""
    return longest_of(bundle.section)


def longest_part(bundle: Bundle) -> int:
    """The maximum number of tokens that are translated at once."""
    return min(bundle.config.max_tokens, positions_end(bundle) or bundle.config.max_tokens)
