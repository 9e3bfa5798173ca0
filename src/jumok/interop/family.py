"""What a family of models is: its table, and what its config and its tokenizer are here."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from jumok.alignment.setting import AlignmentSetting
from jumok.bundle.card import ChatFormat, LanguageTokens, Pair
from jumok.config.section import ModelSection
from jumok.data.tokenizer import Tokenizer, tokenizer_of
from jumok.errors import Location
from jumok.interop.conversations import chat_format
from jumok.interop.rows import Table
from jumok.interop.settings import Settings
from jumok.interop.source import Source
from jumok.interop.vocabulary import Vocabulary

PairTokens = tuple[dict[str, LanguageTokens], tuple[Pair, ...]]
"""The tokens of each language, and the pairs of them; () : any two."""


@dataclass(frozen=True)
class ModelFamily:
    """Models whose folders are read.

    Attributes:
        name: as people call it.
        kinds: of the sources that are read.
        task: of the bundle (`jumok/kinds.py`).
        settings: the keys of config.json.
        section: (settings, names of tensors) -> our section [model].
        table: (settings, names of tensors) -> the tensors.
        vocabulary: (source, settings) -> the rows of tables, and the tokenizer; NO_TEXT where the
            model has no texts.
        longest: (settings) -> the most tokens of a text.
        theirs: (section) -> the class of transformers that computes the same; None: the original
            is other code, with which nothing is compared at import.
        documents: of a language model, what one document is (`BundleConfig`).
        changes: what the bundle does otherwise than the folder, in words.
        languages: of source and target; "" where not known.
        language_tokens: (plan of an import) -> of a model of several languages, the tokens of each,
            and the pairs that it translates (`BundleConfig`); of one that opens all texts with a
            token, those of the language "".
        tokenizer: reads the tokenizer.
        chat: (plan of an import) -> how a language model reads conversations.
        labels: (settings) -> those of a classifier.
        alignment: (settings) -> the head of a translator that was trained to align.
        needs: packages that transformers needs to read such a source.
        untold: (settings) -> keys of config.json that it does not find there.
    """

    name: str
    kinds: tuple[str, ...]
    task: str
    settings: type[Settings]
    section: Callable[[Any, Collection[str]], ModelSection]
    table: Callable[[Any, Collection[str]], Table]
    vocabulary: Callable[[Source, Any], Vocabulary]
    longest: Callable[[Any], int]
    theirs: Callable[[Any], str] | None
    documents: str = ""
    changes: tuple[str, ...] = ()
    languages: Callable[[Source], tuple[str, str]] = lambda _: ("", "")
    language_tokens: Callable[[Any], PairTokens] = lambda _: ({}, ())
    tokenizer: Callable[[bytes, Location], Tokenizer] = tokenizer_of
    chat: Callable[[Any], ChatFormat | None] = lambda _: None
    labels: Callable[[Any], tuple[str, ...]] = lambda _: ()
    alignment: Callable[[Any], AlignmentSetting | None] = lambda _: None
    needs: tuple[str, ...] = ()
    untold: Callable[[Any], dict[str, Any]] = lambda _: {}


def causal_family(
    name: str,
    kind: str,
    settings: type[Settings],
    section: Callable[[Any, Collection[str]], ModelSection],
    table: Callable[[Any, Collection[str]], Table],
    vocabulary: Callable[[Source, Any], Vocabulary],
    longest: Callable[[Any], int] = lambda settings: settings.max_position_embeddings,
    changes: tuple[str, ...] = (),
    needs: tuple[str, ...] = (),
) -> ModelFamily:
    """Language models, whose vocabulary is a `causal_vocabulary`."""
    begins = "every text begins with the token of a text's begin, or else of its end"
    return ModelFamily(
        name=name,
        kinds=(kind,),
        task="language-model",
        settings=settings,
        section=section,
        table=table,
        vocabulary=vocabulary,
        longest=longest,
        documents="file",
        chat=chat_format,
        changes=(begins, *changes),
        theirs=lambda _: "AutoModelForCausalLM",
        needs=needs,
    )
