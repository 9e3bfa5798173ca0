"""Hugging Face's models with jumok's sizes and batches, trained as its examples train them.

bfloat16 by autocast over float32 weights, fused AdamW, clipped gradients; a number is read once an
update, as jumok reads it.
"""

from collections.abc import Callable, Sequence
from importlib.util import find_spec

import torch
import torch.nn.functional as F
from torch import nn

from jumok.config import TransformerConfig
from jumok.config.causal import CausalConfig
from jumok.data.pairs.batches import Batch, on_device
from jumok.data.texts.windows import TextBatch
from jumok.training.task import MicroBatch

Update = Callable[[Sequence[MicroBatch]], float]


def marian(
    section: TransformerConfig, vocabulary: int, device: torch.device, *, compiled: bool
) -> Update:
    """Marian's encoder-decoder."""
    import transformers

    config = transformers.MarianConfig(
        vocab_size=vocabulary, d_model=section.dim, dropout=section.dropout,
        encoder_layers=section.encoder_layers, decoder_layers=section.decoder_layers,
        encoder_attention_heads=section.heads, decoder_attention_heads=section.heads,
        encoder_ffn_dim=section.feedforward, decoder_ffn_dim=section.feedforward,
        pad_token_id=0, decoder_start_token_id=2, eos_token_id=3, use_cache=False,
    )  # fmt: skip
    return trained(transformers.MarianMTModel(config), device, compiled)


def gpt2(section: CausalConfig, vocabulary: int, device: torch.device, *, compiled: bool) -> Update:
    """GPT-2."""
    import transformers

    config = transformers.GPT2Config(
        vocab_size=vocabulary, n_positions=section.max_length, n_embd=section.dim,
        n_layer=section.layers, n_head=section.heads, n_inner=section.feedforward,
        activation_function="gelu_pytorch_tanh", use_cache=False,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        bos_token_id=2, eos_token_id=3,
    )  # fmt: skip
    return trained(transformers.GPT2LMHeadModel(config), device, compiled)


def trained(model: nn.Module, device: torch.device, compiled: bool) -> Update:
    """An update of the model, from jumok's micro-batches."""
    model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.1, fused=True)
    model.train()
    if compiled:
        model.compile()

    def loss_of(batch: MicroBatch) -> torch.Tensor:
        there = on_device(batch, device)
        if isinstance(there, Batch):
            given = {"input_ids": there.source, "decoder_input_ids": there.target_input}
            targets = there.target_output
        else:
            assert isinstance(there, TextBatch)
            given, targets = {"input_ids": there.tokens}, there.following
        with torch.autocast(device.type, torch.bfloat16):
            logits = model(**given).logits.flatten(0, 1)
            loss: torch.Tensor = F.cross_entropy(logits, targets.flatten(), reduction="sum")
        return loss

    def update(batches: Sequence[MicroBatch]) -> float:
        tokens = sum(batch.targets for batch in batches)
        total = torch.zeros((), device=device)
        for batch in batches:
            loss = loss_of(batch) / tokens
            loss.backward()
            total += loss.detach()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return float(total)

    return update


PEERS: dict[str, dict[str, Callable[..., Update]]] = {"transformer": {}, "causal-lm": {}}
"""By the kind of model, what makes an update of a section, vocabulary, device and `compiled`."""
if find_spec("transformers") is not None:
    PEERS["transformer"]["Hugging Face Marian"] = marian
    PEERS["causal-lm"]["Hugging Face GPT-2"] = gpt2
