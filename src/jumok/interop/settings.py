"""config.json of others: each key is read, known to change nothing, or refused by its name."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from jumok.bundle.reading import CONFIG, read_json_object
from jumok.config.section import Count
from jumok.errors import BundleError, Location

Nothing = Literal[None]

WITHOUT_EFFECT = frozenset(
    {
        *("architectures", "model_type", "torch_dtype", "dtype", "transformers_version"),
        *("_name_or_path", "name_or_path", "use_cache", "id2label", "label2id", "problem_type"),
        *("return_dict", "output_hidden_states", "output_attentions", "torchscript"),
        *("finetuning_task", "task_specific_params", "tokenizer_class", "prefix", "num_labels"),
        *("use_bfloat16", "gradient_checkpointing", "chunk_size_feed_forward", "max_length"),
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


class Settings(BaseModel):
    """The keys of config.json that are read; a value that is not supported is refused."""

    model_config = ConfigDict(extra="forbid")
    without_effect: ClassVar[frozenset[str]] = frozenset()

    is_decoder: Literal[False] = False
    add_cross_attention: Literal[False] = False
    cross_attention_hidden_size: Nothing = None
    tie_encoder_decoder: Literal[False] = False
    pruned_heads: Annotated[dict[str, object], Field(max_length=0)] = Field(default_factory=dict)
    vocab_size: Count


AnySettings = TypeVar("AnySettings", bound=Settings)


def read_settings(folder: Path, kind: type[AnySettings]) -> AnySettings:
    """The settings in this folder.

    Raises:
        BundleError: a key is missing, is not known, or has a value that is not supported.
    """
    file = folder / CONFIG
    values = read_json_object(file)
    ignored = (WITHOUT_EFFECT | kind.without_effect) - kind.model_fields.keys()
    kept = {key: value for key, value in values.items() if key not in ignored}
    try:
        return kind.model_validate(kept)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        raise BundleError(
            "a setting of this model is missing, or is not supported.",
            got="; ".join(
                _setting_fault(".".join(map(str, each["loc"])), each["type"], each["msg"], kept)
                for each in faults
            ),
            do="take another model: with a setting that is not followed it would compute others",
            place=Location(file),
        ) from None


def _setting_fault(key: str, kind: str, message: str, values: dict[str, object]) -> str:
    if kind == "missing":
        return f"no {key}"
    value = str(values.get(key.split(".", maxsplit=1)[0]))[:80]
    return f"{key} = {value}: " + ("not known" if kind == "extra_forbidden" else message)
