"""The files of a folder of transformers that cut its texts."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jumok.bundle import huggingface, reading
from jumok.bundle.card import LanguageTokens
from jumok.bundle.reading import Bundle
from jumok.config.causal import CausalConfig
from jumok.config.masked import EncoderConfig
from jumok.data.json_tokenizer import JsonTokenizer
from jumok.data.pair_tokenizer import PairTokenizer
from jumok.data.special_tokens import END, PAD, START, UNKNOWN
from jumok.data.texts.tokenizer import TextTokenizer, load_text_tokenizer
from jumok.data.tokenizer import Tokenizer
from jumok.export.huggingface.tokenizer_json import tokenizer_json
from jumok.export.rows import ExportedRows
from jumok.interop.families.marian import SOURCE, TARGET, TARGET_VOCABULARY
from jumok.interop.tokenizers import DESCRIPTION, VOCABULARY
from jumok.systems.loading import load_tokenizer

MASK = "<mask>"


def tokenizer_file(bundle: Bundle) -> Path:
    """Where the bundle keeps its tokenizer."""
    return bundle.folder / reading.TOKENIZER


def tokenizer_of(bundle: Bundle) -> Tokenizer | TextTokenizer:
    """The bundle's tokenizer, of single lines or of whole texts."""
    if isinstance(bundle.section, CausalConfig):
        return load_text_tokenizer(tokenizer_file(bundle))
    return load_tokenizer(bundle)


def tokens_around(bundle: Bundle) -> LanguageTokens:
    """What opens and closes a source of the first pair, and opens its targets."""
    config = bundle.config
    source, target = (config.languages.get(code, LanguageTokens()) for code in config.every_pair[0])
    return LanguageTokens(source.source, target.asked, target.target, source.closing)


def template_of(bundle: Bundle) -> tuple[int | None, ...]:
    """The tokens around a text that a model reads; None is the text."""
    section = bundle.section
    if bundle.config.task in ("translation", "captioning"):
        around = tokens_around(bundle)
        last = (END,) if around.closing is None else (END, around.closing)
        return (None, *last) if around.source is None else (around.source, None, *last)
    return (START, None, END) if isinstance(section, EncoderConfig) else (START, None)


def write_tokenizer(
    folder: Path, bundle: Bundle, rows: ExportedRows, tokenizer: Tokenizer | TextTokenizer
) -> None:
    """Writes tokenizer.json, tokenizer_config.json, and those of a MarianTokenizer."""
    section, model = bundle.section, tokenizer_file(bundle).read_bytes()
    masked = isinstance(section, EncoderConfig)
    pieces = tokenizer.pieces(rows.kept()[: tokenizer.size])
    named = {"pad_token": PAD, "unk_token": UNKNOWN, "bos_token": START, "eos_token": END}
    if masked:
        named = {"pad_token": PAD, "unk_token": UNKNOWN, "cls_token": START, "sep_token": END}
    of_two = isinstance(tokenizer, PairTokenizer)
    if not of_two:
        mask = MASK if masked else None
        described = tokenizer_json(model, rows, template_of(bundle), mask)
        write_json(folder / huggingface.TOKENIZER, described)
        names = {each["id"]: each["content"] for each in described["added_tokens"]}
        special = {key: names.get(rows.order[id]) for key, id in named.items()}
    else:
        special = {key: pieces[rows.order[id]] for key, id in named.items()}
    values = {
        "tokenizer_class": "MarianTokenizer" if of_two else "PreTrainedTokenizerFast",
        "model_max_length": bundle.config.max_tokens + len(template_of(bundle)) - 1,
        "clean_up_tokenization_spaces": False,
        "padding_side": "right",
        "model_input_names": ["input_ids", "attention_mask"],
        **{key: name for key, name in special.items() if name is not None},
    }
    if masked:
        values["mask_token"] = MASK
    languages = bundle.config.every_pair[0]
    if bundle.config.task == "translation":
        several = any(bundle.config.languages)
        keys = ("src_lang", "tgt_lang") if several else ("source_lang", "target_lang")
        values |= dict(zip(keys, languages, strict=True))
        assert isinstance(tokenizer, Tokenizer)
        _write_marian(folder, tokenizer, {piece: row for row, piece in enumerate(pieces)})
    write_json(folder / DESCRIPTION, values)


def _write_marian(folder: Path, tokenizer: Tokenizer, ids: Mapping[str, int]) -> None:
    """The files of a MarianTokenizer, from which a model is imported with its own subwords."""
    if isinstance(tokenizer, JsonTokenizer):
        return
    source = target = tokenizer.model
    if isinstance(tokenizer, PairTokenizer):
        source, target = tokenizer.models
    (folder / SOURCE).write_bytes(source)
    (folder / TARGET).write_bytes(target)
    for name in (VOCABULARY, TARGET_VOCABULARY):  # two tables have the same subwords
        write_json(folder / name, ids)


def write_json(file: Path, value: Mapping[str, Any]) -> None:
    """Writes an object."""
    file.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
