"""What lies beside a model in the folder of CTranslate2: its tokenizer, and the lines that load
both.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

from jumok.bundle.card import LanguageTokens
from jumok.bundle.reading import TOKENIZER, Bundle
from jumok.config.causal import CausalConfig
from jumok.data.pair_tokenizer import PairTokenizer
from jumok.data.texts.tokenizer import ByteTokenizer, load_text_tokenizer
from jumok.data.tokenizer import END, Tokenizer
from jumok.export.format import ExportOptions
from jumok.export.tokens import token_names
from jumok.systems.loading import load_tokenizer, longest_of

WRITTEN = 256
"""Tokens that CTranslate2 writes at most, if no limit is given."""
LIMITS = """It reads at most 1,024 tokens of a text (`max_input_length`), and never writes an empty
text without `min_decoding_length=0`.
"""
"""Of translators: the methods of language models have no such options."""
SUPPRESSED = 'suppress_sequences=[["{}"], ["{}"]]'
PIECES = """import sentencepiece

tokenizer = sentencepiece.SentencePieceProcessor(model_file="tokenizer.model")
"""
JSON = """from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file("tokenizer.json")
"""
PAIR = """import sentencepiece

source, target = (
    sentencepiece.SentencePieceProcessor(model_file=f"{side}.model")
    for side in ("source", "target")
)
"""
BYTES = """import json

with open("vocabulary.json", encoding="utf-8") as file:
    names = json.load(file)
"""


def write_tokenizer(bundle: Bundle, folder: Path) -> None:
    """The files of the library that the tokenizer is of; none if it has bytes."""
    stored = (bundle.folder / TOKENIZER).read_bytes()
    if isinstance(bundle.section, CausalConfig) and _is_bytes(bundle):
        return
    tokenizer = load_tokenizer(bundle)
    if isinstance(tokenizer, PairTokenizer):
        for name, model in zip(("source", "target"), tokenizer.models, strict=True):
            (folder / f"{name}.model").write_bytes(model)
    elif stored.startswith(b"{"):
        (folder / "tokenizer.json").write_bytes(stored)
    else:
        shutil.copyfile(bundle.folder / TOKENIZER, folder / TOKENIZER)


def readme(bundle: Bundle, options: ExportOptions) -> str:
    """README.md: how the model is loaded in Python."""
    text = (options.examples or ("text",))[0]
    lines = _continuing(bundle, text) if isinstance(bundle.section, CausalConfig) else None
    return f"""# {options.title}

A model of jumok for CTranslate2 ({options.precision}). In this folder:

```python
{lines or _translating(bundle, text)}```

CTranslate2 may write the tokens for padding and the beginning, if they are not suppressed as above.
{"" if lines else LIMITS}"""


def _is_bytes(bundle: Bundle) -> bool:
    return isinstance(load_text_tokenizer(bundle.folder / TOKENIZER), ByteTokenizer)


def _translating(bundle: Bundle, text: str) -> str:
    tokenizer = load_tokenizer(bundle)
    names = token_names(tokenizer)
    encode, decode, loaded = _calls(tokenizer)
    before, closing, after = _language_names(bundle, names)
    prefix = f", target_prefix=[{after!r}]" if after else ""
    written = f"[{len(after)}:]" if after else ""
    reach = longest_of(bundle.section)
    most = f", max_decoding_length={reach - len(after)}" if reach and reach < WRITTEN else ""
    return f"""import ctranslate2
{loaded}translator = ctranslate2.Translator(".")
tokens = {before}{encode.format(repr(text))}{closing}
result = translator.translate_batch(
    [tokens], beam_size=5, {SUPPRESSED.format(names[0], names[2])}{prefix}{most}
)[0]
print({decode.format(f"result.hypotheses[0]{written}")})
"""


def _calls(tokenizer: Tokenizer) -> tuple[str, str, str]:
    """What encodes a text, what decodes tokens, and the lines that load both."""
    if isinstance(tokenizer, PairTokenizer):
        return "source.encode({}, out_type=str)", "target.decode({})", PAIR
    if tokenizer.model.startswith(b"{"):
        return (
            "tokenizer.encode({}, add_special_tokens=False).tokens",
            "tokenizer.decode([tokenizer.token_to_id(token) for token in {}])",
            JSON,
        )
    return "tokenizer.encode({}, out_type=str)", "tokenizer.decode({})", PIECES


def _language_names(bundle: Bundle, names: Sequence[str]) -> tuple[str, str, list[str]]:
    """What is put before and after the tokens of a source of the first pair, and the tokens that
    open its target.
    """
    config = bundle.config
    if not config.languages:
        return "", "", []
    source, target = (config.languages.get(code, LanguageTokens()) for code in config.every_pair[0])
    before = [names[id] for id in (source.source, target.asked) if id is not None]
    closing = [] if source.closing is None else [names[END], names[source.closing]]
    after = [names[id] for id in (target.target,) if id is not None]
    return f"{before} + " if before else "", f" + {closing}" if closing else "", after


def _continuing(bundle: Bundle, text: str) -> str:
    tokenizer = load_text_tokenizer(bundle.folder / TOKENIZER)
    names = token_names(tokenizer)
    if isinstance(tokenizer, ByteTokenizer):
        encode, decode, loaded = (
            "[names[4 + byte] for byte in {}.encode()]",
            'bytes(names.index(token) - 4 for token in {}).decode(errors="replace")',
            BYTES,
        )
    else:
        encode, decode, loaded = _calls(load_tokenizer(bundle))
    return f"""import ctranslate2
{loaded}generator = ctranslate2.Generator(".")
tokens = [{names[2]!r}] + {encode.format(repr(text))}
result = generator.generate_batch(
    [tokens], max_length=32, {SUPPRESSED.format(names[0], names[2])}, include_prompt_in_result=False
)[0]
print({decode.format("result.sequences[0]")})
"""
