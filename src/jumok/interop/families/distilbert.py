"""DistilBERT: BERT with half of its layers and without token types.

Source: Sanh et al. 2019; names of transformers.
"""

from typing import ClassVar, Literal

from pydantic import Field

from jumok.config.section import Count, Share
from jumok.interop.families.bert import (
    KINDS,
    SPECIAL,
    BertSettings,
    EncoderNames,
    original_class,
    section,
    vocabulary,
)
from jumok.interop.family import ModelFamily
from jumok.interop.settings import Settings

NAMES = EncoderNames(
    "distilbert",
    "transformer.layer",
    {
        "attention.q_lin": "self_attention.query",
        "attention.k_lin": "self_attention.key",
        "attention.v_lin": "self_attention.value",
        "attention.out_lin": "self_attention.output",
        "sa_layer_norm": "after_self.norm",
        "ffn.lin1": "feedforward.inner",
        "ffn.lin2": "feedforward.outer",
        "output_layer_norm": "after_feedforward.norm",
    },
    "vocab_transform",
    "vocab_layer_norm",
    "vocab_projector.bias",
    "vocab_projector",
    ("pre_classifier.", "classifier.", "qa_outputs."),
    types=False,
)


class DistilBertSettings(Settings):
    """The keys of a DistilBERT's config.json."""

    without_effect: ClassVar[frozenset[str]] = frozenset(
        {"qa_dropout", "seq_classif_dropout", "sinusoidal_pos_embds", "eos_token_id"}
    )

    dim: Count
    n_layers: Count
    n_heads: Count
    hidden_dim: Count
    activation: Literal["gelu"] = "gelu"
    dropout: Share = 0.1
    attention_dropout: Share = 0.1
    max_position_embeddings: Count
    tie_word_embeddings: Literal[True] = True
    tie_weights_: Literal[True] = Field(True)

    @property
    def as_bert(self) -> BertSettings:
        """The same under BERT's names."""
        return BertSettings(
            vocab_size=self.vocab_size,
            hidden_size=self.dim,
            num_hidden_layers=self.n_layers,
            num_attention_heads=self.n_heads,
            intermediate_size=self.hidden_dim,
            hidden_act=self.activation,
            layer_norm_eps=1e-12,
            hidden_dropout_prob=self.dropout,
            attention_probs_dropout_prob=self.attention_dropout,
            max_position_embeddings=self.max_position_embeddings,
        )


DISTILBERT = ModelFamily(
    name="DistilBERT",
    kinds=("distilbert",),
    task="masked-lm",
    settings=DistilBertSettings,
    section=lambda settings, tensors: section(
        settings.as_bert,
        head=NAMES.has_head(tensors),
        positions=settings.max_position_embeddings,
    ),
    table=lambda settings, tensors: NAMES.table(tensors, settings.n_layers),
    vocabulary=lambda source, settings: vocabulary(source, settings, KINDS, SPECIAL, "[MASK]"),
    longest=lambda settings: settings.max_position_embeddings - 2,
    theirs=original_class,
)
