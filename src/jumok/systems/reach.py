"""How long a text a model can read or write at once."""

from jumok.bundle.reading import Bundle
from jumok.config.section import ModelSection
from jumok.config.stack import StackConfig
from jumok.models.catalog import model_config


def longest_of(config: ModelSection) -> int | None:
    """The most pieces that the positions leave room for beside START or END; None: any."""
    reach = config.reach if isinstance(config, StackConfig) else None
    return None if reach is None else reach - 1


def positions_end(bundle: Bundle) -> int | None:
    """The same of the model in a bundle."""
    return longest_of(model_config(bundle.config.model))


def longest_part(bundle: Bundle) -> int:
    """The most pieces that are translated at once."""
    return min(bundle.config.max_tokens, positions_end(bundle) or bundle.config.max_tokens)
