"""The masked language model against Hugging Face's BERT with the same random weights."""

import math

import pytest
import torch

from jumok.config import MaskedConfig
from jumok.layers.block import Block
from jumok.models.masked import MaskedLanguageModel
from tests.parity.torch_weights import copy_linear, roughen

transformers = pytest.importorskip("transformers")

PIECES, DIM, HEADS, LAYERS, INNER, LENGTH = 30, 20, 5, 3, 28, 17


def bert() -> "transformers.BertForMaskedLM":
    config = transformers.BertConfig(
        vocab_size=PIECES + 1,
        hidden_size=DIM,
        num_attention_heads=HEADS,
        num_hidden_layers=LAYERS,
        intermediate_size=INNER,
        max_position_embeddings=LENGTH,
        layer_norm_eps=1e-5,
        hidden_act="gelu",
        attn_implementation="eager",
    )
    torch.manual_seed(1)
    return roughen(transformers.BertForMaskedLM(config)).eval()


def ours() -> MaskedLanguageModel:
    config = MaskedConfig(
        dim=DIM,
        heads=HEADS,
        layers=LAYERS,
        feedforward=INNER,
        norm="post",
        positions="learned",
        max_length=LENGTH,
        embedding_norm=True,
    )
    return MaskedLanguageModel(config, PIECES).eval()


@torch.no_grad()
def copy(theirs: "transformers.BertForMaskedLM", model: MaskedLanguageModel) -> None:
    """BERT's weights in ours.

    Ours multiplies embeddings by sqrt(dim), so the table is theirs divided by it, and the head's
    norm is multiplied by it: the logits are dot products with the same table. BERT adds a vector
    of the token's type to every embedding; where all are of type 0 it belongs to the positions.
    """
    embeddings, head = theirs.bert.embeddings, theirs.cls.predictions
    scale = math.sqrt(DIM)
    embedding = model.encoder.embedding
    embedding.table.copy_(embeddings.word_embeddings.weight / scale)
    of_type = embeddings.token_type_embeddings.weight[0]
    embedding.positions.encoding.table.copy_(embeddings.position_embeddings.weight + of_type)
    copy_linear(embedding.norm, embeddings.LayerNorm)
    for block, layer in zip(model.encoder.blocks, theirs.bert.encoder.layer, strict=True):
        copy_block(block, layer)
    copy_linear(model.head.dense, head.transform.dense)
    model.head.norm.weight.copy_(head.transform.LayerNorm.weight * scale)
    model.head.norm.bias.copy_(head.transform.LayerNorm.bias * scale)
    model.head.bias.copy_(head.bias)


def copy_block(block: Block, layer: "transformers.models.bert.modeling_bert.BertLayer") -> None:
    looks, found = layer.attention.self, layer.attention.output
    copy_linear(block.self_attention.query, looks.query)
    copy_linear(block.self_attention.key, looks.key)
    copy_linear(block.self_attention.value, looks.value)
    copy_linear(block.self_attention.output, found.dense)
    copy_linear(block.after_self.norm, found.LayerNorm)
    copy_linear(block.feedforward.inner, layer.intermediate.dense)
    copy_linear(block.feedforward.outer, layer.output.dense)
    copy_linear(block.after_feedforward.norm, layer.output.LayerNorm)


@torch.no_grad()
def test_logits_are_berts():
    theirs, model = bert(), ours()
    copy(theirs, model)
    tokens = torch.arange(3 * 13).view(3, 13) * 7 % PIECES
    tokens[1, 4] = model.mask
    allowed = torch.arange(13) < torch.tensor([[13], [11], [7]])
    expected = theirs(input_ids=tokens, attention_mask=allowed.long()).logits
    found = model(tokens, allowed)
    torch.testing.assert_close(found[allowed], expected[allowed], atol=1e-4, rtol=0)
