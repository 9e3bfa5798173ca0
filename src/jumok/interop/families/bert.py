"""BERT and MiniLM: encoders of texts, with or without a prediction head.

Source: Devlin et al. 2019; names of transformers.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from jumok.bundle.huggingface import TOKENIZER
from jumok.config.masked import MaskedConfig
from jumok.config.section import Count, Share
from jumok.interop.family import ModelFamily
from jumok.interop.rows import (
    OutputBias,
    Table,
    TensorRow,
    VocabularyRows,
    WithFirstRow,
    layer_rows,
)
from jumok.interop.settings import Settings
from jumok.interop.tokenizers import (
    described_value,
    known_id,
    names_of,
    read_tokenizer,
    with_ids,
)
from jumok.interop.vocabulary import Vocabulary

LM_HEAD = "cls.predictions."
SPECIAL = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
MASK_TOKEN = "mask_token", "[MASK]"


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


def section(settings: BertSettings, tensors: Collection[str]) -> MaskedConfig:
    """The same sizes as a section [model]."""
    return MaskedConfig(
        head=any(name.startswith(LM_HEAD) for name in tensors),
        dim=settings.hidden_size,
        heads=settings.num_attention_heads,
        layers=settings.num_hidden_layers,
        feedforward=settings.intermediate_size,
        activation=settings.hidden_act,
        norm="post",
        norm_epsilon=settings.layer_norm_eps,
        positions="learned",
        max_length=settings.max_position_embeddings,
        embedding_norm=True,
        embedding_scale=False,
        dropout=settings.hidden_dropout_prob,
        attention_dropout=settings.attention_probs_dropout_prob,
    )


def table(settings: BertSettings, tensors: Collection[str]) -> Table:
    """The tensors of a file with tensors of these names."""
    start = "bert." if any(name.startswith("bert.") for name in tensors) else ""
    head = any(name.startswith(LM_HEAD) for name in tensors)
    words = f"{start}embeddings.word_embeddings.weight"
    rows = list(_rows(start, settings, words, head=head))
    older = {
        name: (name.replace(".weight", ".gamma").replace(".bias", ".beta"),)
        for each in Table(tuple(rows)).spread()
        for name in each.there
        if "LayerNorm" in name
    }
    tied = {
        words: (f"{LM_HEAD}decoder.weight",),
        f"{LM_HEAD}bias": (f"{LM_HEAD}decoder.bias",),
    }
    unused = f"{start}pooler.", f"{start}embeddings.position_ids"
    other_heads = "cls.seq_relationship.", "classifier.", "qa_outputs."
    return Table(tuple(rows), older | (tied if head else {}), (*unused, *other_heads))


def _rows(start: str, settings: BertSettings, words: str, *, head: bool) -> Iterator[TensorRow]:
    embedding, layers = f"{start}embeddings", settings.num_hidden_layers
    yield TensorRow((words,), ("encoder.embedding.table",), (VocabularyRows(),))
    yield TensorRow(
        (f"{embedding}.position_embeddings.weight", f"{embedding}.token_type_embeddings.weight"),
        ("encoder.embedding.positions.encoding.table",),
        (WithFirstRow(settings.type_vocab_size),),
    )
    yield from layer_rows(f"{embedding}.LayerNorm", "encoder.embedding.norm")
    for theirs, ours in LAYER.items():
        yield from layer_rows(
            f"{start}encoder.layer.{{n}}.{theirs}", f"encoder.blocks.{{n}}.{ours}", layers=layers
        )
    if head:
        yield from layer_rows(f"{LM_HEAD}transform.dense", "head.dense")
        yield from layer_rows(f"{LM_HEAD}transform.LayerNorm", "head.norm")
        yield TensorRow((f"{LM_HEAD}bias",), ("head.bias",), (OutputBias(),))


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


def vocabulary(folder: Path, settings: BertSettings) -> Vocabulary:
    """PAD, UNKNOWN, [CLS], [SEP], the others, and [MASK] last, which no text can spell."""
    described = read_tokenizer(folder, "WordPiece")
    names = names_of(described, settings.vocab_size, folder)
    ids = {piece: id for id, piece in names.items()}
    special = [described_value(folder, key, name) for key, name in SPECIAL.items()]
    first = [known_id(folder / TOKENIZER, ids, name) for name in special]
    mask = known_id(folder / TOKENIZER, ids, described_value(folder, *MASK_TOKEN))
    others = [id for id in range(settings.vocab_size) if id not in {*first, mask}]
    spelled = [*first, *others]
    file = with_ids(described, spelled, names, special)
    return Vocabulary((*spelled, mask), (), settings.vocab_size, file)


BERT = ModelFamily(
    name="BERT",
    model_type="bert",
    task="masked-lm",
    settings=BertSettings,
    section=section,
    table=table,
    vocabulary=vocabulary,
    longest=lambda settings: settings.max_position_embeddings - 2,
    changes=("the token type of second sentences is left out",),
    theirs=lambda model: "AutoModelForMaskedLM" if model.head else "AutoModel",
)
