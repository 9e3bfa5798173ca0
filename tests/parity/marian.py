"""Hugging Face's Marian with random weights, and the same weights in our Transformer.

Marian writes the sines of a position into the first half of a vector and the cosines into the
second; we write them by turns, as the paper does. So `ours[j] = theirs[order[j]]` for every
vector in the residual stream: its axes have other names, and all that reads or writes it is
renamed with it.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from transformers import MarianConfig, MarianMTModel

from jumok.config import TransformerConfig
from jumok.layers.block import Block
from jumok.models.encoder_decoder import Transformer

PAD, START, END, VOCABULARY = 0, 2, 3, 43


def random_marian(dim: int, heads: int, activation: str) -> MarianMTModel:
    config = MarianConfig(
        vocab_size=VOCABULARY,
        d_model=dim,
        encoder_layers=2,
        decoder_layers=3,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=29,
        decoder_ffn_dim=29,
        activation_function=activation,
        max_position_embeddings=37,
        scale_embedding=True,
        share_encoder_decoder_embeddings=True,
        pad_token_id=PAD,
        eos_token_id=END,
        forced_eos_token_id=None,
        bos_token_id=None,
        decoder_start_token_id=START,
    )
    torch.manual_seed(3)
    model = MarianMTModel(config).eval()
    with torch.no_grad():
        for layer in (*model.model.encoder.layers, *model.model.decoder.layers):
            for parameter in layer.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.1)
        words, last = model.model.shared.weight, model.model.decoder.layers[-1].final_layer_norm
        words.copy_(torch.randn_like(words) * dim**-0.5)
        # Embedding and output share a table, so a random model repeats its last word for ever,
        # unless what is added last turns it into another; and it hardly ever ends unless led to.
        last.weight.copy_(torch.randn_like(last.weight) * 1.5)
        last.bias.copy_(words[END] * 3)
    return model


def config_of(marian: MarianMTModel) -> TransformerConfig:
    theirs = marian.config
    return TransformerConfig(
        dim=theirs.d_model,
        heads=theirs.encoder_attention_heads,
        encoder_layers=theirs.encoder_layers,
        decoder_layers=theirs.decoder_layers,
        feedforward=theirs.encoder_ffn_dim,
        activation=theirs.activation_function,
        norm="post",
        positions="sinusoidal",
        tied="all",
    )


@torch.no_grad()
def same_weights(marian: MarianMTModel) -> Transformer:
    """Our Transformer with Marian's weights."""
    ours = Transformer(config_of(marian), VOCABULARY).eval()
    dim = marian.config.d_model
    order = torch.arange(dim).view(2, dim // 2).t().flatten()  # sine, cosine, sine, cosine ...
    ours.decoder.embedding.table.copy_(marian.model.shared.weight[:, order])
    stacks = (
        (ours.encoder.blocks, marian.model.encoder),
        (ours.decoder.blocks, marian.model.decoder),
    )
    copied = 1
    for blocks, stack in stacks:
        for block, layer in zip(blocks, stack.layers, strict=True):
            for mine, weight in _weights(block, layer, order):
                mine.copy_(weight)
                copied += 1
    assert copied == len(list(ours.parameters()))
    return ours


def _weights(block: Block, layer: nn.Module, order: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Our parameters, each with what belongs in it."""
    attentions = [(block.self_attention, layer.self_attn)]
    norms = [(block.after_self, layer.self_attn_layer_norm)]
    if block.cross_attention is not None:
        attentions.append((block.cross_attention, layer.encoder_attn))
        norms.append((block.after_cross, layer.encoder_attn_layer_norm))
    norms.append((block.after_feedforward, layer.final_layer_norm))
    readers = [(block.feedforward.inner, layer.fc1)]
    writers = [(block.feedforward.outer, layer.fc2)]
    for mine, theirs in attentions:
        readers += [(mine.query, theirs.q_proj), (mine.key, theirs.k_proj)]
        readers += [(mine.value, theirs.v_proj)]
        writers += [(mine.output, theirs.out_proj)]
    for mine, theirs in readers:
        yield mine.weight, theirs.weight[:, order]
        yield mine.bias, theirs.bias
    for mine, theirs in writers:
        yield mine.weight, theirs.weight[order]
        yield mine.bias, theirs.bias[order]
    for mine, theirs in norms:
        yield mine.norm.weight, theirs.weight[order]
        yield mine.norm.bias, theirs.bias[order]
