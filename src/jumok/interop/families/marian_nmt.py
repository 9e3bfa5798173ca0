"""Transformers as Marian itself stores them, and the students of Bergamot (Firefox's translators),
whose decoder has a recurrence in the place of self-attention.

Source: Junczys-Dowmunt et al. 2018; Kim et al. 2019; names of marian-dev, src/models/transformer.h.
"""

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

import sentencepiece
from pydantic import AfterValidator, ConfigDict, Field, model_validator

from jumok.alignment.setting import AlignmentSetting
from jumok.config.section import Count
from jumok.config.transformer import TransformerConfig
from jumok.data.pair_tokenizer import PairTokenizer, pair_file
from jumok.data.special_tokens import SPECIAL
from jumok.errors import BundleError, Location
from jumok.interop.activations import activation_here
from jumok.interop.family import ModelFamily
from jumok.interop.layouts.marian import KIND
from jumok.interop.rows import (
    Flattened,
    HalvesToTurns,
    OutputBias,
    Table,
    TensorRow,
    Transform,
    Transposed,
    VocabularyRows,
)
from jumok.interop.settings import Settings
from jumok.interop.source import Source
from jumok.interop.vocabulary import Vocabulary

_PAIR = re.compile(r"\.([a-z]{2})([a-z]{2})\.")
LONGEST = 512
"""Tokens of a text: the files do not say what their models were trained for."""


def _letters(*known: str) -> AfterValidator:
    """Operations, without "d": dropout has a key of its own here."""

    def check(value: str) -> str:
        if value.replace("d", "") not in known:
            raise ValueError("other operations, or in another order, than post-norm or pre-norm")
        return value.replace("d", "")

    return AfterValidator(check)


class MarianNmtSettings(Settings):
    """The keys of special:model.yml."""

    model_config = ConfigDict(extra="forbid", alias_generator=lambda name: name.replace("_", "-"))
    without_effect: ClassVar[frozenset[str]] = frozenset(
        {
            *("bert-train-type-embeddings", "bert-type-vocab-size", "dim-rnn", "version"),
            *("dec-cell-base-depth", "dec-cell-high-depth", "enc-cell", "enc-cell-depth"),
            *("enc-type", "transformer-aan-activation", "transformer-aan-depth"),
            *("transformer-aan-nogate", "transformer-dim-aan", "lemma-dependency"),
            *("ulr-dim-emb", "ulr-trainable-transformation", "factors-combine"),
            *("tied-embeddings", "tied-embeddings-src", "original-type", "char-conv-filters-num"),
            *("char-conv-filters-widths", "char-highway", "char-stride", "output-approx-knn"),
            *("transformer-depth-scaling", "factors-dim-emb", "factor-predictor"),
            *("transformer-flat", "num-devices", "input-reorder", "max-length"),
        }
    )

    type: Literal["transformer"]
    dim_vocabs: tuple[Count, Count]
    dim_emb: Count
    enc_depth: Count
    dec_depth: Count
    transformer_heads: Count
    transformer_dim_ffn: Count
    transformer_decoder_dim_ffn: int = 0
    transformer_ffn_depth: Literal[2] = 2
    transformer_decoder_ffn_depth: Literal[0, 2] = 0
    transformer_ffn_activation: Literal["relu", "swish"]
    transformer_preprocess: Annotated[str, _letters("", "n")] = ""
    transformer_postprocess: Annotated[str, _letters("an", "a")] = "an"
    transformer_postprocess_emb: Annotated[str, _letters("")] = ""
    transformer_postprocess_top: Annotated[str, _letters("", "n")] = ""
    transformer_decoder_autoreg: Literal["self-attention", "rnn"] = "self-attention"
    dec_cell: str = "gru"
    transformer_rnn_projection: Literal[False] = False
    transformer_guided_alignment_layer: Literal["last"] | Count = "last"
    transformer_tied_layers: Annotated[list[int], Field(max_length=0)] = Field(default_factory=list)
    transformer_no_projection: Literal[False] = False
    transformer_no_bias: Literal[False] = False
    transformer_no_affine: Literal[False] = False
    transformer_pool: Literal[False] = False
    transformer_train_position_embeddings: Literal[False] = False
    transformer_train_positions: Literal[False] = False
    transformer_disable_position_embeddings: Literal[False] = False
    tied_embeddings_all: Literal[True]
    output_omit_bias: Literal[False] = False
    lemma_dim_emb: Literal[0] = 0
    layer_normalization: Literal[False] = False
    right_left: Literal[False] = False
    skip: Literal[False] = False
    ulr: Literal[False] = False
    input_types: Annotated[list[str], Field(max_length=0)] = Field(default_factory=list)
    embedding_fix_src: bool = False
    embedding_fix_trg: bool = False
    vocab_size: Count = 1

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        source, target = self.dim_vocabs
        if source != target:
            raise ValueError(f"dim-vocabs = {source}, {target}: one vocabulary has one size")
        if self.recurrent and self.dec_cell != "ssru":
            raise ValueError(f"dec-cell = {self.dec_cell}: of recurrent decoders only ssru is read")
        if self.transformer_decoder_dim_ffn not in (0, self.transformer_dim_ffn):
            raise ValueError("transformer-decoder-dim-ffn has to be that of the encoder")
        pre = self.transformer_preprocess, self.transformer_postprocess
        if (*pre, self.transformer_postprocess_top) not in (("", "an", ""), ("n", "a", "n")):
            raise ValueError("norms have to be after each layer, or before each and at the top")
        layer = self.transformer_guided_alignment_layer
        if layer != "last" and layer > self.dec_depth:
            raise ValueError(f"transformer-guided-alignment-layer = {layer}: no such layer")
        self.vocab_size = source
        return self

    @property
    def recurrent(self) -> bool:
        """Whether the decoder has a recurrence in the place of self-attention."""
        return self.transformer_decoder_autoreg == "rnn"

    @property
    def pre_norm(self) -> bool:
        return self.transformer_preprocess == "n"


def section(settings: MarianNmtSettings, _: Collection[str]) -> TransformerConfig:
    """The same sizes as a section [model]."""
    return TransformerConfig.model_validate(
        {
            "dim": settings.dim_emb,
            "heads": settings.transformer_heads,
            "encoder_layers": settings.enc_depth,
            "decoder_layers": settings.dec_depth,
            "decoder_attention_kind": "ssru" if settings.recurrent else None,
            "feedforward": settings.transformer_dim_ffn,
            "activation": activation_here(settings.transformer_ffn_activation),
            "norm": "pre" if settings.pre_norm else "post",
            "norm_epsilon": 1e-6,
            "positions": "sinusoidal-inclusive",
            "max_length": LONGEST,
            "output_bias": True,
            "tied": "all",
            # Students learn from a teacher's millions of lines without dropout, and fail with it.
            "dropout": 0.0 if settings.recurrent else 0.1,
        }
    )


def table(settings: MarianNmtSettings, _: Collection[str]) -> Table:
    """The tensors of a file with tensors of these names."""
    return Table(tuple(_rows(settings)))


def _rows(settings: MarianNmtSettings) -> Iterator[TensorRow]:
    table = HalvesToTurns(), VocabularyRows()
    yield TensorRow(("Wemb",), ("encoder.embedding.table",), table)
    bias = OutputBias((1, -1))
    yield TensorRow(("decoder_ff_logit_out_b",), ("decoder.output.bias",), (bias,))
    first, pre = "rnn" if settings.recurrent else "self", settings.pre_norm
    for side, layers, parts in (
        ("encoder", settings.enc_depth, ("self", "ffn")),
        ("decoder", settings.dec_depth, (first, "context", "ffn")),
    ):
        for part in parts:
            yield from _part_rows(side, part, layers)
        norms = [
            (f"_{part}{'' if pre and part == 'rnn' else NORMED[part]}", f"after_{HERE[part]}.norm")
            for part in parts
        ]
        yield from (_pre_norms if pre else _post_norms)(side, norms, layers)


NORMED = {"self": "_Wo", "rnn": "_ffn", "context": "_Wo", "ffn": "_ffn"}
HERE = {"self": "self", "rnn": "self", "context": "cross", "ffn": "feedforward"}
"""The parts of a layer, and of a block."""

OF_HEADS = {"q": "query", "k": "key", "v": "value", "o": "output"}
OUTWARDS = {"output", "outer"}
"""Layers that write to the stream, whose axes take turns here."""


def _part_rows(side: str, part: str, layers: int) -> Iterator[TensorRow]:
    there, block = f"{side}_l{{next}}_{part}", f"{side}.blocks.{{n}}"
    if part == "rnn":
        both, ours = HalvesToTurns((0, 1)), f"{block}.self_attention"
        yield from _matrix(f"{there}_W", f"{ours}.input.weight", layers, both)
        yield from _matrix(f"{there}_Wf", f"{ours}.forget.weight", layers, both)
        yield _vector(f"{there}_bf", f"{ours}.forget.bias", layers, HalvesToTurns((0,)))
        return
    names, ours = OF_HEADS, f"{block}.{HERE[part]}_attention"
    if part == "ffn":
        names, ours = {"1": "inner", "2": "outer"}, f"{block}.feedforward"
    for letter, name in names.items():
        outwards = name in OUTWARDS
        turned = HalvesToTurns((0,) if outwards else (1,))
        yield from _matrix(f"{there}_W{letter}", f"{ours}.{name}.weight", layers, turned)
        how = (HalvesToTurns((0,)),) if outwards else ()
        yield _vector(f"{there}_b{letter}", f"{ours}.{name}.bias", layers, *how)


def _matrix(there: str, here: str, layers: int, turned: HalvesToTurns) -> Iterator[TensorRow]:
    yield TensorRow((there,), (here,), (Transposed(), turned), layers)


def _vector(there: str, here: str, layers: int | None, *how: Transform) -> TensorRow:
    return TensorRow((there,), (here,), (Flattened(), *how), layers)


def _norm_rows(there: str, here: str, layers: int | None, suffix: str = "") -> Iterator[TensorRow]:
    for name, part in (("scale", "weight"), ("bias", "bias")):
        turned = HalvesToTurns((0,))
        yield _vector(f"{there}_ln_{name}{suffix}", f"{here}.{part}", layers, turned)


Norms = list[tuple[str, str]]
"""The names of a layer's norms there and here, in their order."""


def _post_norms(side: str, norms: Norms, layers: int) -> Iterator[TensorRow]:
    for there, here in norms:
        yield from _norm_rows(f"{side}_l{{next}}{there}", f"{side}.blocks.{{n}}.{here}", layers)


def _pre_norms(side: str, norms: Norms, layers: int) -> Iterator[TensorRow]:
    """A norm there is before what reads it, and here after what is added before."""
    names = [name for name, _ in norms]
    before = [f"{side}_l{layer}{name}" for layer in range(1, layers + 1) for name in names]
    after = [f"{side}.blocks.{n}.{here}" for n in range(layers) for _, here in norms]
    yield from _norm_rows(before[0], f"{side}.first_norm", None, "_pre")
    for there, here in zip(before[1:], after, strict=False):
        yield from _norm_rows(there, here, None, "_pre")
    yield from _norm_rows(f"{side}_top", after[-1], None)


def vocabulary(source: Source, settings: MarianNmtSettings) -> Vocabulary:
    """That of the file beside the model."""
    file = _vocabulary_file(source)
    return vocabulary_of(file.read_bytes(), settings.vocab_size, Location(file))


def vocabulary_of(model: bytes, rows: int, place: Location) -> Vocabulary:
    """The end, and the others; a text begins with a vector of zeros, which no token has there.

    Args:
        model: of SentencePiece.
        rows: of the table.

    Raises:
        BundleError: it is no such model, or has more subwords.
    """
    try:
        pieces = sentencepiece.SentencePieceProcessor(model_proto=model)
        names = pieces.id_to_piece(list(range(pieces.get_piece_size())))
    except (RuntimeError, UnicodeDecodeError):
        raise BundleError("this is not a SentencePiece model.", place=place) from None
    end, unknown = pieces.eos_id(), pieces.unk_id()
    if len(names) > rows or min(end, unknown) < 0:
        raise BundleError(
            "the vocabulary is not this model's.",
            expected=f"at most {rows:,} subwords, with </s> and <unk>",
            got=f"{len(names):,}, </s> = {end}, <unk> = {unknown}",
            place=place,
        )
    names += [f"[row {id}]" for id in range(len(names), rows)]
    first = unknown, unknown, unknown, end
    order = (*first, *(id for id in range(rows) if id not in first))
    listed = [*SPECIAL, *(names[id] for id in order[len(first) :])]
    return Vocabulary(order, (0, 2), rows, pair_file(model, model, listed), empty=(0, 2))


def _vocabulary_file(source: Source) -> Path:
    """The .spm beside the model; of several the one that names the same languages."""
    files = sorted(source.folder.glob("*.spm"))
    pair = _PAIR.search(source.config_file.name)
    if len(files) > 1 and pair is not None:
        files = [file for file in files if pair[0] in file.name]
    if len({file.read_bytes() for file in files}) == 1:
        return files[0]
    raise BundleError(
        "there are several vocabularies." if files else "the vocabulary is missing.",
        expected="one .spm beside the model, for both languages",
        got=", ".join(file.name for file in files[:5]) or "no .spm",
        do="put the vocabulary into the folder of the model",
        place=Location(source.folder),
    )


def languages(source: Source) -> tuple[str, str]:
    """The codes in the name of the model's file, as Firefox's have them; "" where it has none."""
    pair = _PAIR.search(source.config_file.name)
    return ("", "") if pair is None else (pair[1], pair[2])


def alignment(settings: MarianNmtSettings) -> AlignmentSetting | None:
    """Students learn their teacher's alignments with the first head of a layer; of other models
    the file does not say whether they did.
    """
    if not settings.recurrent:
        return None
    layer = settings.transformer_guided_alignment_layer
    return AlignmentSetting(settings.dec_depth - 1 if layer == "last" else int(layer) - 1, False, 0)


MARIAN_NMT = ModelFamily(
    name="Marian (its own files)",
    kinds=(f"{KIND} transformer",),
    task="translation",
    settings=MarianNmtSettings,
    section=section,
    table=table,
    vocabulary=vocabulary,
    longest=lambda _: LONGEST - 1,
    tokenizer=PairTokenizer,
    languages=languages,
    alignment=alignment,
    theirs=None,
    changes=(
        "a list of likely words (lex.*.bin) is not used: every subword may be written",
        "the scales of 8-bit inputs (QuantMultA) are left out: jumok measures each input",
    ),
)
