"""Transformers that JoeyNMT trained (Kreutzer et al. 2019), with one vocabulary or two."""

from collections.abc import Collection, Iterator
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from jumok.config.section import Count, Share
from jumok.config.transformer import TransformerConfig
from jumok.data.pair_tokenizer import PairTokenizer, pair_file
from jumok.errors import BundleError, Location
from jumok.interop.activations import activation_here
from jumok.interop.families.blocks import LayerNames
from jumok.interop.families.trainers.segmented import model_file
from jumok.interop.families.trainers.tables import TIED, Aliases, WordTables
from jumok.interop.family import ModelFamily
from jumok.interop.layouts.joeynmt import KIND, read_words
from jumok.interop.rows import Table, TensorRow, layer_rows
from jumok.interop.sentencepieces import of_these_words
from jumok.interop.settings import Settings
from jumok.interop.source import Source
from jumok.interop.vocabulary import Vocabulary, of_words

LONGEST = 512
"""Tokens of a text: the files do not say what their models were trained for."""


class JoeyPart(BaseModel):
    """Settings of a part; any other is refused."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class JoeyEmbeddings(JoeyPart):
    """Those of one side."""

    embedding_dim: Count
    scale: bool = False
    dropout: Share | None = None
    freeze: bool = False
    load_pretrained: str | None = None


class JoeySide(JoeyPart):
    """An encoder or a decoder. What its norm is when it is not said depends on the version."""

    type: Literal["transformer"]
    num_layers: Count
    num_heads: Count
    hidden_size: Count
    ff_size: Count
    embeddings: JoeyEmbeddings
    layer_norm: Literal["pre", "post"]
    activation: Literal["relu", "gelu", "swish"] = "relu"
    alpha: Annotated[float, Field(ge=1.0, le=1.0)] = 1.0
    dropout: Share = 0.1
    freeze: bool = False

    @property
    def sizes(self) -> tuple[object, ...]:
        """What jumok has once for both sides."""
        same = self.num_heads, self.hidden_size, self.ff_size, self.layer_norm, self.activation
        return *same, self.embeddings.scale, self.embeddings.embedding_dim


class JoeyTokenizer(JoeyPart):
    """Where the SentencePiece model was, and how it was trained and sampled from."""

    model_file: str
    pretokenizer: Literal["none"] = "none"
    nbest_size: int = 5
    alpha: float = 0.0
    model_type: str = ""
    vocab_size: int = 0
    character_coverage: float = 1.0
    num_threads: int = 1


class JoeyTexts(JoeyPart):
    """The texts of one side."""

    lang: str = ""
    level: Literal["bpe"]
    tokenizer_type: Literal["sentencepiece"] = "sentencepiece"
    bpe_type: Literal["sentencepiece"] = "sentencepiece"
    tokenizer_cfg: JoeyTokenizer
    lowercase: Literal[False] = False
    normalize: Literal[False] = False
    max_length: int = -1
    min_length: int = -1
    voc_limit: int = 0
    voc_min_freq: int = 0
    voc_file: str | None = None


class JoeySymbols(JoeyPart):
    """The special tokens, which are at the beginning of both vocabularies."""

    pad_id: int = Field(1, ge=0)
    unk_id: int = Field(0, ge=0)
    bos_id: int = Field(2, ge=0)
    eos_id: int = Field(3, ge=0)
    pad_token: str = "<pad>"
    unk_token: str = "<unk>"
    bos_token: str = "<s>"
    eos_token: str = "</s>"
    sep_id: Literal[None] = None
    sep_token: Literal[None] = None
    lang_tags: Annotated[list[str], Field(max_length=0)] = Field(default_factory=list)


class JoeyData(JoeyPart):
    """The texts of both sides."""

    src: JoeyTexts
    trg: JoeyTexts
    special_symbols: JoeySymbols = Field(default_factory=lambda: JoeySymbols.model_validate({}))


class JoeyModel(Settings):
    """The settings of a model in config.yaml, and of data, of any architecture."""

    without_effect: ClassVar[frozenset[str]] = frozenset(
        {"initializer", "init_weight", "init_gain", "embed_initializer", "embed_init_weight"}
        | {"embed_init_gain", "bias_initializer", "bias_init_weight", "init_rnn_orthogonal"}
        | {"lstm_forget_gate"}
    )

    data: JoeyData
    tied_embeddings: bool = False
    tied_softmax: bool = False
    one_vocabulary: bool


class JoeySettings(JoeyModel):
    """Those of a Transformer."""

    encoder: JoeySide
    decoder: JoeySide

    @model_validator(mode="after")
    def _sides_fit(self) -> Self:
        if self.encoder.sizes != self.decoder.sizes:
            raise ValueError(
                "encoder and decoder have to have the same width, heads, ff_size, layer_norm, "
                "activation and scale"
            )
        if self.encoder.embeddings.embedding_dim != self.encoder.hidden_size:
            raise ValueError("embedding_dim has to be hidden_size")
        if self.tied_embeddings and not self.one_vocabulary:
            raise ValueError("tied_embeddings needs src_vocab.txt and trg_vocab.txt to be the same")
        return self


def section(settings: JoeySettings, _: Collection[str]) -> TransformerConfig:
    """The same sizes as a section [model]."""
    side = settings.encoder
    return TransformerConfig.model_validate(
        {
            "dim": side.hidden_size,
            "heads": side.num_heads,
            "encoder_layers": side.num_layers,
            "decoder_layers": settings.decoder.num_layers,
            "feedforward": side.ff_size,
            "activation": activation_here(side.activation),
            "norm": side.layer_norm,
            "norm_epsilon": 1e-6,
            "embedding_scale": side.embeddings.scale,
            "output_bias": not settings.one_vocabulary,
            "tied": TIED[settings.tied_embeddings, settings.tied_softmax],
            "dropout": side.dropout,
            "attention_dropout": side.dropout,
            "feedforward_dropout": side.dropout,
        }
    )


TABLES = WordTables("src_embed.lut.weight", "trg_embed.lut.weight", "decoder.output_layer.weight")
PROJECTIONS = {"q_layer": "query", "k_layer": "key", "v_layer": "value", "output_layer": "output"}
INNER, OUTER = "feed_forward.pwff_layer.0", "feed_forward.pwff_layer.3"
NAMES = {
    "encoder": LayerNames(
        "encoder.layers",
        {"src_src_att": "self"},
        PROJECTIONS,
        INNER,
        OUTER,
        ("layer_norm", "feed_forward.layer_norm"),
        "encoder.layer_norm",
    ),
    "decoder": LayerNames(
        "decoder.layers",
        {"trg_trg_att": "self", "src_trg_att": "cross"},
        PROJECTIONS,
        INNER,
        OUTER,
        ("x_layer_norm", "dec_layer_norm", "feed_forward.layer_norm"),
        "decoder.layer_norm",
    ),
}


def table(settings: JoeySettings, _: Collection[str]) -> Table:
    """The tensors of a checkpoint with tensors of these names."""
    aliases = TABLES.aliases(settings.tied_embeddings, settings.tied_softmax)
    return Table(tuple(_rows(settings, aliases)), aliases, ("encoder.pe.", "decoder.pe."))


def _rows(settings: JoeySettings, aliases: Aliases) -> Iterator[TensorRow]:
    yield from TABLES.rows(aliases, stored=False, biased=not settings.one_vocabulary)
    for name, side in (("encoder", settings.encoder), ("decoder", settings.decoder)):
        for there, here, count in NAMES[name].pairs(name, side.num_layers, side.layer_norm):
            yield from layer_rows(there, here, layers=count)


def vocabulary(source: Source, settings: JoeyModel) -> Vocabulary:
    """Subwords of two SentencePiece models, or of one that is there twice."""
    folder, symbols, data = source.folder, settings.data.special_symbols, settings.data
    words = {side: read_words(folder, side) for side in ("src", "trg")}
    special = symbols.pad_id, symbols.unk_id, symbols.bos_id, symbols.eos_id
    names = symbols.pad_token, symbols.unk_token, symbols.bos_token, symbols.eos_token
    for side, listed in words.items():
        found = tuple(listed[id] if id < len(listed) else "nothing" for id in special)
        if found != names:
            raise BundleError(
                "the special tokens are not where special_symbols says.",
                expected=", ".join(
                    f"{name} = {id}" for name, id in zip(names, special, strict=True)
                ),
                got=f"{', '.join(found)} in the vocabulary of {side}",
                place=Location(source.config_file),
            )
    models = [
        of_these_words(model_file(source, texts.tokenizer_cfg.model_file), words[side])
        for side, texts in (("src", data.src), ("trg", data.trg))
    ]
    return of_words(
        words["src"], words["trg"], special, lambda names: pair_file(models[0], models[1], names)
    )


def languages(source: Source) -> tuple[str, str]:
    """The codes that config.yaml names; "" where it does not."""
    data = JoeyData.model_validate(source.config["data"])
    return data.src.lang, data.trg.lang


JOEYNMT = ModelFamily(
    name="JoeyNMT",
    kinds=(KIND,),
    task="translation",
    settings=JoeySettings,
    section=section,
    table=table,
    vocabulary=vocabulary,
    longest=lambda _: LONGEST,
    languages=languages,
    tokenizer=PairTokenizer,
    theirs=None,
)
