"""BERT and MiniLM: encoders of texts, with or without a prediction head.

Source: Devlin et al. 2019; names of transformers.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field

from jumok.bundle.huggingface import TOKENIZER
from jumok.config.masked import MaskedConfig
from jumok.config.section import Count, Share
from jumok.interop.family import ModelFamily
from jumok.interop.rows import (
    OutputBias,
    Same,
    Table,
    TensorRow,
    Transform,
    VocabularyRows,
    WithFirstRow,
    layer_rows,
)
from jumok.interop.settings import Settings
from jumok.interop.source import Source
from jumok.interop.tokenizers import (
    described_value,
    known_id,
    names_of,
    read_tokenizer,
    with_ids,
)
from jumok.interop.vocabulary import Vocabulary


@dataclass(frozen=True)
class EncoderNames:
    """What the tensors of an encoder of texts are called.

    Attributes:
        model: the beginning of all names, which a file of the encoder alone does not have.
        layer: the beginning of those of a layer.
        parts: those of a layer, with ours.
        dense, norm, bias, projection: those of the prediction head.
        unused: beginnings of others, of heads and of poolers.
        types: whether there is a table of token types.
        before: the norms before the two parts of a layer, and the last one, where they are
            pre-norm; the vectors of words then have none.
    """

    model: str
    layer: str
    parts: Mapping[str, str]
    dense: str
    norm: str
    bias: str
    projection: str
    unused: tuple[str, ...]
    types: bool = True
    before: tuple[str, str, str] | None = None

    def has_head(self, tensors: Collection[str]) -> bool:
        """Whether a file with tensors of these names has a prediction head."""
        return any(name.startswith(self.dense) for name in tensors)

    def table(self, tensors: Collection[str], layers: int, *places: Transform) -> Table:
        """The tensors of such a file.

        Args:
            places: how the table of positions is read, after it that of token types.
        """
        start = f"{self.model}." if any(name.startswith(self.model) for name in tensors) else ""
        words = f"{start}embeddings.word_embeddings.weight"
        rows = tuple(self._rows(start, words, layers, places, head=self.has_head(tensors)))
        aliases = {
            name: (name.replace(".weight", ".gamma").replace(".bias", ".beta"),)
            for each in Table(rows).spread()
            for name in each.there
            if "LayerNorm" in name
        }
        if self.has_head(tensors):
            aliases[words] = (f"{self.projection}.weight",)
            if self.bias != f"{self.projection}.bias":
                aliases[self.bias] = (f"{self.projection}.bias",)
        unused = f"{start}pooler.", f"{start}embeddings.position_ids", *self.unused
        return Table(rows, aliases, unused)

    def _rows(
        self, start: str, words: str, layers: int, places: tuple[Transform, ...], *, head: bool
    ) -> Iterator[TensorRow]:
        embedding = f"{start}embeddings"
        yield TensorRow((words,), ("encoder.embedding.table",), (VocabularyRows(),))
        tables = "position_embeddings", *(["token_type_embeddings"] * self.types)
        yield TensorRow(
            tuple(f"{embedding}.{table}.weight" for table in tables),
            ("encoder.embedding.positions.encoding.table",),
            places or (Same(),),
        )
        for theirs, ours in self.parts.items():
            there = f"{start}{self.layer}.{{n}}.{theirs}"
            yield from layer_rows(there, f"encoder.blocks.{{n}}.{ours}", layers=layers)
        if self.before is None:
            yield from layer_rows(f"{embedding}.LayerNorm", "encoder.embedding.norm")
        else:  # a norm there is before what reads it, and here after what is added before
            first, second, last = self.before
            block, after = "encoder.blocks", "after_feedforward.norm"
            names = {name: f"{start}{self.layer}.{name}" for name in ("0", "{n}", "{next}")}
            yield from layer_rows(f"{names['0']}.{first}", "encoder.first_norm")
            there = f"{names['{n}']}.{second}"
            yield from layer_rows(there, f"{block}.{{n}}.after_self.norm", layers=layers)
            there = f"{names['{next}']}.{first}"
            yield from layer_rows(there, f"{block}.{{n}}.{after}", layers=layers - 1)
            yield from layer_rows(f"{start}{last}", f"{block}.{layers - 1}.{after}")
        if head:
            yield from layer_rows(self.dense, "head.dense")
            yield from layer_rows(self.norm, "head.norm")
            yield TensorRow((self.bias,), ("head.bias",), (OutputBias(),))


LAYER = {
    "attention.self.query": "self_attention.query",
    "attention.self.key": "self_attention.key",
    "attention.self.value": "self_attention.value",
    "attention.output.dense": "self_attention.output",
    "attention.output.LayerNorm": "after_self.norm",
    "intermediate.dense": "feedforward.inner",
    "output.dense": "feedforward.outer",
    "output.LayerNorm": "after_feedforward.norm",
}
"""The parts of a layer, and of a block."""

NAMES = EncoderNames(
    "bert",
    "encoder.layer",
    LAYER,
    "cls.predictions.transform.dense",
    "cls.predictions.transform.LayerNorm",
    "cls.predictions.bias",
    "cls.predictions.decoder",
    ("cls.seq_relationship.", "classifier.", "qa_outputs."),
)
SPECIAL = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
MASK_TOKEN = "mask_token"
KINDS = "WordPiece", "Unigram", "BPE"
"""Those of tokenizers."""
DROPPED = "the token type of second sentences is left out"


class BertSettings(Settings):
    """The keys of a BERT's config.json."""

    without_effect: ClassVar[frozenset[str]] = frozenset(
        {"directionality", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers"}
        | {"pooler_size_per_head", "pooler_type", "eos_token_id", "decoder_start_token_id"}
    )

    hidden_size: Count
    num_hidden_layers: Count
    num_attention_heads: Count
    intermediate_size: Count
    hidden_act: Literal["gelu"]
    hidden_dropout_prob: Share = 0.1
    attention_probs_dropout_prob: Share = 0.1
    max_position_embeddings: Count
    type_vocab_size: Count = 2
    layer_norm_eps: float = Field(1e-12, gt=0.0, lt=1.0)
    position_embedding_type: Literal["absolute"] = "absolute"
    tie_word_embeddings: Literal[True] = True


def section(
    settings: BertSettings, *, head: bool, positions: int, norm: Literal["pre", "post"] = "post"
) -> MaskedConfig:
    """The same sizes as a section [model].

    Args:
        head: there is a prediction head.
        positions: how many there are.
        norm: of the layers; the vectors of words have one only if it is "post".
    """
    return MaskedConfig(
        head=head,
        dim=settings.hidden_size,
        heads=settings.num_attention_heads,
        layers=settings.num_hidden_layers,
        feedforward=settings.intermediate_size,
        activation=settings.hidden_act,
        norm=norm,
        norm_epsilon=settings.layer_norm_eps,
        positions="learned",
        max_length=positions,
        embedding_norm=norm == "post",
        embedding_scale=False,
        dropout=settings.hidden_dropout_prob,
        attention_dropout=settings.attention_probs_dropout_prob,
    )


def vocabulary(
    source: Source, settings: Settings, kinds: Sequence[str], special: Mapping[str, str], mask: str
) -> Vocabulary:
    """PAD, UNKNOWN, what is at the beginning and the end of texts, the others, and the mask last,
    which no text can spell.

    Args:
        kinds: of the tokenizer, the usual one first.
        special: the names of the first four, by their keys in the tokenizer's config.
        mask: the name of the mask.
    """
    folder = source.folder
    described = read_tokenizer(folder, *kinds)
    names = names_of(described, settings.vocab_size, folder)
    ids = {piece: id for id, piece in names.items()}
    named = [described_value(folder, key, name) for key, name in special.items()]
    first = [known_id(folder / TOKENIZER, ids, name) for name in named]
    masked = known_id(folder / TOKENIZER, ids, described_value(folder, MASK_TOKEN, mask))
    others = [id for id in range(settings.vocab_size) if id not in {*first, masked}]
    spelled = [*first, *others]
    file = with_ids(described, spelled, names, named)
    return Vocabulary((*spelled, masked), (), settings.vocab_size, file)


def original_class(model: MaskedConfig) -> str:
    """The class of transformers with the same output."""
    return "AutoModelForMaskedLM" if model.head else "AutoModel"


def bert_family(
    name: str, kind: str, names: EncoderNames, norm: Literal["pre", "post"] = "post"
) -> ModelFamily:
    """A family with BERT's settings and tokenizer.

    Args:
        kind: its model_type.
        norm: of the layers.
    """
    return ModelFamily(
        name=name,
        kinds=(kind,),
        task="masked-lm",
        settings=BertSettings,
        section=lambda settings, tensors: section(
            settings,
            head=names.has_head(tensors),
            positions=settings.max_position_embeddings,
            norm=norm,
        ),
        table=lambda settings, tensors: names.table(
            tensors, settings.num_hidden_layers, WithFirstRow(settings.type_vocab_size)
        ),
        vocabulary=lambda source, settings: vocabulary(source, settings, KINDS, SPECIAL, "[MASK]"),
        longest=lambda settings: settings.max_position_embeddings - 2,
        changes=(DROPPED,),
        theirs=original_class,
    )


BERT = bert_family("BERT", "bert", NAMES)
