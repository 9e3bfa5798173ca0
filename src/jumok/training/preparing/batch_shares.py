"""Batches of new data and of that from which a model comes, which together are a step."""

from jumok.config import Config
from jumok.config.families import LanguageModelConfig
from jumok.config.training import TrainingConfig
from jumok.errors import ConfigError


def batch_shares(
    config: Config, earlier: Config | None, mix: float
) -> tuple[Config, Config | None]:
    """Both recipes with their share of a batch; the earlier one keeps its data and validation."""
    if earlier is None:
        return config, None
    training = config.training
    unit = config.context if isinstance(config, LanguageModelConfig) else 1
    whole = training.tokens_per_batch // unit * unit
    part = round(mix * whole / unit) * unit
    if mix and not unit <= part <= whole - unit:
        raise ConfigError(
            f"start.mix = {mix} of a batch of {whole} is less than one window or example.",
            do="set a larger training.tokens_per_batch, or another start.mix",
        )
    sections: dict[str, object] = {"model": config.model}
    if "vectors" in type(earlier).model_fields:
        sections["vectors"] = None  # the model's embeddings are trained already
    if part:
        sections["training"] = _batches_of(earlier, part)
        config = config.model_copy(update={"training": _batches_of(config, whole - part)})
    return config, earlier.model_copy(update=sections)


def _batches_of(config: Config, tokens: int) -> TrainingConfig:
    """[training] with smaller batches, which are not divided evenly: both together are a step."""
    return config.training.model_copy(update={"tokens_per_batch": tokens, "shares": 1})
