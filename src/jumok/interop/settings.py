"""config.json of others: each key is read, known to change nothing, or refused by its name."""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from jumok.config.section import Count
from jumok.errors import BundleError, Location
from jumok.interop.source import Source

Nothing = Literal[None]

WITHOUT_EFFECT = frozenset(
    {
        *("architectures", "model_type", "torch_dtype", "dtype", "transformers_version"),
        *("_name_or_path", "name_or_path", "use_cache", "id2label", "label2id", "problem_type"),
        *("return_dict", "output_hidden_states", "output_attentions", "torchscript"),
        *("finetuning_task", "task_specific_params", "tokenizer_class", "prefix", "num_labels"),
        *("use_bfloat16", "gradient_checkpointing", "chunk_size_feed_forward", "max_length"),
        *("tf_legacy_loss",),
        *("min_length", "do_sample", "early_stopping", "num_beams", "num_beam_groups"),
        *("diversity_penalty", "temperature", "top_k", "top_p", "typical_p", "length_penalty"),
        *("repetition_penalty", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size"),
        *("num_return_sequences", "output_scores", "return_dict_in_generate", "bad_words_ids"),
        *("forced_bos_token_id", "forced_eos_token_id", "remove_invalid_values", "sep_token_id"),
        *("exponential_decay_length_penalty", "suppress_tokens", "begin_suppress_tokens"),
        *("initializer_range", "init_std", "attn_implementation", "_attn_implementation"),
        *("classifier_dropout", "_commit_hash", "pad_token_id", "bos_token_id", "unk_token_id"),
    }
)
"""Keys of transformers that do not change what a model computes, or that other files repeat."""


class SettingsPart(BaseModel):
    """Keys that are read; a value that is not supported is refused, and so is another key that is
    not known to have no effect.
    """

    model_config = ConfigDict(extra="forbid", protected_namespaces=())
    without_effect: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def _with_an_effect(cls, values: object) -> object:
        if not isinstance(values, dict):
            return values
        ignored = cls.without_effect - cls.model_fields.keys()
        return {key: value for key, value in values.items() if key not in ignored}


class Settings(SettingsPart):
    """The keys of config.json of a whole model."""

    is_decoder: Literal[False] = False
    add_cross_attention: Literal[False] = False
    cross_attention_hidden_size: Nothing = None
    tie_encoder_decoder: Literal[False] = False
    pruned_heads: Annotated[dict[str, object], Field(max_length=0)] = Field(default_factory=dict)
    vocab_size: Count

    @model_validator(mode="before")
    @classmethod
    def _known_everywhere(cls, values: object) -> object:
        if not isinstance(values, dict):
            return values
        ignored = WITHOUT_EFFECT - cls.model_fields.keys()
        return {key: value for key, value in values.items() if key not in ignored}


AnySettings = TypeVar("AnySettings", bound=Settings)


def read_settings(source: Source, kind: type[AnySettings]) -> AnySettings:
    """The settings of a model.

    Raises:
        BundleError: a key is missing, is not known, or has a value that is not supported.
    """
    try:
        return kind.model_validate(dict(source.config))
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        raise BundleError(
            "a setting of this model is missing, or is not supported.",
            got="; ".join(
                _setting_fault(each["loc"], each["type"], each["msg"], source.config)
                for each in faults
            ),
            do="take another model: without this setting, the results would differ",
            place=Location(source.config_file),
        ) from None


def _setting_fault(place: Sequence[int | str], kind: str, message: str, values: object) -> str:
    if not place:  # it concerns several settings
        return message.removeprefix("Value error, ")
    key = ".".join(map(str, place))
    if kind == "missing":
        return f"no {key}"
    for part in place:
        values = values.get(part) if isinstance(values, Mapping) else values
    return f"{key} = {str(values)[:80]}: " + ("not known" if kind == "extra_forbidden" else message)
