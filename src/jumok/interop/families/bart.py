"""BART and its kin, encoder-decoders with the tensors of fairseq.

| model        | norm | of the embedding | positions                | a target opens with     |
|--------------|------|------------------|--------------------------|-------------------------|
| BART         | post | yes              | learned, two rows before | </s>, then <s>          |
| mBART        | pre  | yes              | learned, two rows before | its language            |
| mBART-50     | pre  | yes              | learned, two rows before | </s>, then its language |
| M2M100, NLLB | pre  | no               | sinusoids, computed      | </s>, then its language |
| Pegasus      | pre  | no               | sinusoids, stored        | <pad>                   |
| Blenderbot   | pre  | no               | learned                  | <s>                     |

A source of mBART's first version is tokens </s> language: the model reads no END of its own after
them (`source_end`).

Source: Lewis et al. 2020; Liu et al. 2020; Fan et al. 2021; Zhang et al. 2020; Roller et al. 2021;
names of transformers.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from jumok.bundle.card import LanguageTokens
from jumok.bundle.huggingface import TOKENIZER
from jumok.bundle.reading import read_json_object
from jumok.config.transformer import TransformerConfig
from jumok.data.special_tokens import SPECIAL, START
from jumok.errors import BundleError, Location
from jumok.interop.families.fairseq import (
    SIDES,
    FairseqSettings,
    Token,
    layer_pairs,
    section_of,
    sinusoids,
)
from jumok.interop.family import ModelFamily, PairTokens
from jumok.interop.folded import Computed
from jumok.interop.rows import (
    LaterRows,
    OutputBias,
    Same,
    Table,
    TensorRow,
    VocabularyRows,
    layer_rows,
)
from jumok.interop.sentencepieces import NameRows, text_vocabulary
from jumok.interop.source import Source
from jumok.interop.tokenizers import (
    DESCRIPTION,
    VOCABULARY,
    described_value,
    extra_tokens,
    known_id,
    names_of,
    read_tokenizer,
    with_ids,
)
from jumok.interop.vocabulary import Vocabulary, order_of

_TAG = re.compile("__([a-z]{2,3})__|([a-z]{3}_[A-Z][a-z]{3})|([a-z]{2}_[A-Z]{2})")
"""The tokens of languages of M2M100, NLLB, mBART."""
LANGUAGES = (
    *("ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI", "fr_XX", "gu_IN", "hi_IN"),
    *("it_IT", "ja_XX", "kk_KZ", "ko_KR", "lt_LT", "lv_LV", "my_MM", "ne_NP", "nl_XX", "ro_RO"),
    *("ru_RU", "si_LK", "tr_TR", "vi_VN", "zh_CN"),
)
"""Those of mBART's first version, in the order of their rows (Liu et al. 2020)."""


class BartSettings(FairseqSettings):
    """The keys of a BART's config.json."""

    bos_token_id: Token = 0
    normalize_before: Literal[False] = False
    normalize_embedding: Literal[True] = True
    add_final_layer_norm: Literal[False] = False
    static_position_embeddings: Literal[False] = False


class PreNormSettings(FairseqSettings):
    """The keys of those whose layers begin with a norm."""

    normalize_before: Literal[True] = True
    add_final_layer_norm: Literal[True] = True


class MBartSettings(PreNormSettings):
    """The keys of an mBART's config.json."""

    normalize_embedding: Literal[True] = True
    static_position_embeddings: Literal[False] = False

    @property
    def source_end(self) -> bool:
        """False: sources end with their language (version 1), which is no special token; it is
        also what a target opens with.
        """
        start = self.decoder_start_token_id
        return start is not None and start < len(SPECIAL)


class PegasusSettings(PreNormSettings):
    """The keys of a Pegasus's config.json."""

    normalize_embedding: Literal[False] = False
    static_position_embeddings: Literal[True] = True


class BlenderbotSettings(PreNormSettings):
    """The keys of a Blenderbot's config.json."""

    normalize_embedding: Literal[False] = False
    static_position_embeddings: Literal[False] = False
    layernorm_variant: Literal["prelayernorm"] = "prelayernorm"
    extra_layer_norm: Literal[False] = False


@dataclass(frozen=True)
class FairseqLayout:
    """What these models differ in.

    Attributes:
        before: rows of the tables of positions that no position has; None: they are not stored.
        bias: whether there is an output bias.
    """

    norm: Literal["pre", "post"]
    embedding_norm: bool = False
    before: int | None = 0
    bias: bool = True

    def section(self, settings: FairseqSettings, _: Collection[str]) -> TransformerConfig:
        """The same sizes as a section [model]."""
        return section_of(
            settings,
            norm=self.norm,
            positions="learned",
            embedding_norm=self.embedding_norm,
            source_end=settings.source_end,
        )

    def table(self, settings: FairseqSettings, _: Collection[str]) -> Table:
        """The tensors of a file with tensors of these names."""
        shared = "model.shared.weight"
        tied = *(f"model.{side}.embed_tokens.weight" for side in SIDES), "lm_head.weight"
        computed = tuple(f"model.{side}.embed_positions." for side in SIDES)
        unused = computed if self.before is None else ()
        return Table(tuple(self._rows(settings, shared)), {shared: tied}, unused)

    def _rows(self, settings: FairseqSettings, shared: str) -> Iterator[TensorRow]:
        yield TensorRow((shared,), ("encoder.embedding.table",), (VocabularyRows(),))
        bias = ("final_logits_bias",) if self.bias else ()
        yield TensorRow(bias, ("decoder.output.bias",), (OutputBias((1, -1) if bias else None),))
        layers = {"encoder": settings.encoder_layers, "decoder": settings.decoder_layers}
        for side in SIDES:
            yield self._positions(settings, side)
            if self.embedding_norm:
                theirs = f"model.{side}.layernorm_embedding"
                yield from layer_rows(theirs, f"{side}.embedding.norm")
        for there, here, count in layer_pairs(layers, self.norm):
            yield from layer_rows(there, here, layers=count)

    def _positions(self, settings: FairseqSettings, side: str) -> TensorRow:
        ours = (f"{side}.embedding.positions.encoding.table",)
        if self.before is None:
            table = sinusoids(settings.max_position_embeddings, settings.d_model)
            return TensorRow((), ours, (Computed(table),))
        how = LaterRows(self.before) if self.before else Same()
        return TensorRow((f"model.{side}.embed_positions.weight",), ours, (how,))


def of_bytes(source: Source, settings: FairseqSettings) -> Vocabulary:
    """A BPE over bytes, as GPT-2 has it; <s> is a token as any other."""
    described = read_tokenizer(source.folder, "BPE", "Unigram")
    names = names_of(described, settings.vocab_size, source.folder)
    ids = {name: id for id, name in names.items()}
    unknown = known_id(source.folder / TOKENIZER, ids, "<unk>")
    start, end = settings.decoder_start_token_id, settings.eos_token_id
    first = settings.pad_token_id, unknown, end if start is None else start, end
    copied = names[first[START]] != SPECIAL[START]
    order = order_of(*first, settings.vocab_size, copied=copied)
    file = with_ids(described, order, names, SPECIAL)
    return Vocabulary(order, (START,) if copied else (), settings.vocab_size, file)


def of_subwords(source: Source, settings: FairseqSettings, *, rule: NameRows) -> Vocabulary:
    """A SentencePiece model; targets of mBART open with their language."""
    start = settings.decoder_start_token_id
    first: int | str = _described_target(source) if start is None else start
    special = settings.pad_token_id, first, settings.eos_token_id
    return text_vocabulary(source, settings.vocab_size, special, rule)


def of_mbart(source: Source, settings: MBartSettings) -> Vocabulary:
    """A SentencePiece model; in version 1 the languages need not be named."""
    usual = () if settings.source_end else LANGUAGES
    return of_subwords(source, settings, rule=partial(after_fairseq, usual=usual))


def _described_target(source: Source) -> str:
    """The language that targets open with, where config.json does not say."""
    target = described_value(source.folder, "tgt_lang", None)
    if not isinstance(target, str):
        raise BundleError(
            "the folder does not say which language targets open with.",
            expected="decoder_start_token_id in config.json, the id of a language; or tgt_lang in "
            f"{DESCRIPTION}",
            got="neither",
            do="write one of them: ko_KR, or its id",
            place=Location(source.config_file),
        )
    return target


def after_fairseq(
    folder: Path, subwords: Sequence[str], usual: Sequence[str] = ()
) -> Mapping[int, str]:
    """fairseq's four special tokens, the subwords, the languages, <mask>.

    Args:
        usual: the languages where the folder names none.
    """
    languages = [each for each in extra_tokens(folder) if each != "<mask>"] or usual
    names = ["<s>", "<pad>", "</s>", "<unk>", *subwords[3:], *languages, "<mask>"]
    return dict(enumerate(names))


def by_vocabulary(folder: Path, subwords: Sequence[str]) -> Mapping[int, str]:
    """Those of vocab.json, then the languages; NLLB has no vocab.json."""
    if not (folder / VOCABULARY).is_file():
        return after_fairseq(folder, subwords)
    known = read_json_object(folder / VOCABULARY)
    names = {id: piece for piece, id in known.items() if isinstance(id, int)}
    return names | dict(enumerate(extra_tokens(folder), start=len(names)))


def after_pretraining(folder: Path, subwords: Sequence[str]) -> Mapping[int, str]:  # noqa: ARG001
    """105 tokens of Pegasus's pretraining, then <unk> and the subwords."""
    first = ["<pad>", "</s>", "<mask_1>", "<mask_2>"]
    return dict(enumerate([*first, *(f"<unk_{n}>" for n in range(2, 103)), *subwords[2:]]))


def languages(source: Source) -> tuple[str, str]:
    """The codes that tokenizer_config.json names; "" where it does not."""
    names = (described_value(source.folder, key, "") for key in ("src_lang", "tgt_lang"))
    codes = [str(name or "").strip("_").split("_")[0] for name in names]
    return codes[0], codes[1]


def language_tokens(plan: Any) -> PairTokens:
    """Those that open a source and a target."""
    if plan.settings.decoder_start_token_id != plan.settings.eos_token_id:
        return {}, ()
    return {code: LanguageTokens(id, None, id) for code, id in _tags(plan).items()}, ()


def _tags(plan: Any) -> dict[str, int]:
    """The ids of the languages that the vocabulary has, by their codes."""
    pieces = plan.tokenizer.pieces(range(plan.tokenizer.size))
    tags = enumerate(map(_TAG.fullmatch, pieces))
    return {next(filter(None, tag.groups())): id for id, tag in tags if tag}


def closing_tokens(plan: Any) -> PairTokens:
    """Of mBART: as `language_tokens`, or in its first version those that close a source. There the
    language of all targets is their START, and sources may be in any other.
    """
    if plan.settings.source_end:
        return language_tokens(plan)
    tags, order = _tags(plan), plan.vocabulary.order
    target = next((code for code, id in tags.items() if order[id] == order[START]), None)
    if target is None:
        raise BundleError(
            "targets do not open with a language.",
            expected=f"the id of one of {', '.join(tags) or '(no languages)'}",
            got=f"decoder_start_token_id = {plan.settings.decoder_start_token_id}",
            do="name the languages in additional_special_tokens of tokenizer_config.json",
            place=Location(plan.source.config_file),
        )
    first = described_value(plan.source.folder, "src_lang", "")
    sources = sorted(tags.keys() - {target}, key=lambda code: (code != first, code))
    closing = {code: LanguageTokens(closing=id) for code, id in tags.items()}
    return closing, tuple((code, target) for code in sources)


def opened(plan: Any) -> PairTokens:
    """BART's sources and targets open with <s>, unless that is what targets start from."""
    if plan.settings.bos_token_id == plan.settings.decoder_start_token_id:
        return {}, ()
    start = plan.vocabulary.here()[plan.settings.bos_token_id]
    return {"": LanguageTokens(start, None, start)}, ()


def _family(
    name: str,
    kind: str,
    settings: type[FairseqSettings],
    layout: FairseqLayout,
    vocabulary: Callable[[Source, Any], Vocabulary],
    tokens: Callable[[Any], PairTokens] = lambda _: ({}, ()),
    changes: tuple[str, ...] = (),
) -> ModelFamily:
    return ModelFamily(
        name=name,
        kinds=(kind,),
        task="translation",
        settings=settings,
        section=layout.section,
        table=layout.table,
        vocabulary=vocabulary,
        longest=lambda settings: settings.max_position_embeddings - 1,
        languages=languages,
        language_tokens=tokens,
        changes=changes,
        theirs=lambda _: "AutoModelForSeq2SeqLM",
    )


BART = _family(
    "BART",
    "bart",
    BartSettings,
    FairseqLayout("post", embedding_norm=True, before=2),
    of_bytes,
    opened,
)
MBART = _family(
    "mBART",
    "mbart",
    MBartSettings,
    FairseqLayout("pre", embedding_norm=True, before=2),
    of_mbart,
    closing_tokens,
)
M2M100 = _family(
    "M2M100 or NLLB",
    "m2m_100",
    FairseqSettings,
    FairseqLayout("pre", before=None, bias=False),
    partial(of_subwords, rule=by_vocabulary),
    language_tokens,
    ("positions are a table, which learns when the model is trained further",),
)
PEGASUS = _family(
    "Pegasus",
    "pegasus",
    PegasusSettings,
    FairseqLayout("pre"),
    partial(of_subwords, rule=after_pretraining),
    language_tokens,  # of an M2M100 that was exported as one
)
BLENDERBOT = _family("Blenderbot", "blenderbot", BlenderbotSettings, FairseqLayout("pre"), of_bytes)
