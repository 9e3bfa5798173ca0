"""GPT-2: a language model with learned positions.

Source: Radford et al. 2019; names of transformers.
"""

from collections.abc import Collection, Iterator
from typing import ClassVar, Literal

from pydantic import Field

from jumok.config.causal import CausalConfig
from jumok.config.section import Count, Share
from jumok.interop.activations import ActivationName, activation_here
from jumok.interop.family import causal_family
from jumok.interop.rows import (
    OutputBias,
    Same,
    Split,
    Table,
    TensorRow,
    Transposed,
    VocabularyRows,
    layer_rows,
)
from jumok.interop.settings import Settings
from jumok.interop.source import Source
from jumok.interop.tokenizers import Marks, causal_vocabulary, read_tokenizer
from jumok.interop.vocabulary import Vocabulary


class Gpt2Settings(Settings):
    """The keys of a GPT-2's config.json."""

    without_effect: ClassVar[frozenset[str]] = frozenset(
        {"n_ctx", "reorder_and_upcast_attn", "summary_activation", "summary_first_dropout"}
        | {"summary_proj_to_labels", "summary_type", "summary_use_proj"}
    )

    n_positions: Count
    n_embd: Count
    n_layer: Count
    n_head: Count
    n_inner: Count | None = None
    activation_function: ActivationName = "gelu_new"
    resid_pdrop: Share = 0.1
    embd_pdrop: Share = 0.1
    attn_pdrop: Share = 0.1
    layer_norm_epsilon: float = Field(1e-5, gt=0.0, lt=1.0)
    scale_attn_weights: Literal[True] = True
    scale_attn_by_inverse_layer_idx: Literal[False] = False
    bos_token_id: int | None = None
    eos_token_id: int = Field(ge=0)
    pad_token_id: int | None = None
    tie_word_embeddings: bool = True


def section(settings: Gpt2Settings, _: Collection[str]) -> CausalConfig:
    """The same sizes as a section [model]."""
    tied = settings.tie_word_embeddings
    return CausalConfig.model_validate({**writer_keys(settings), "tied": tied})


def writer_keys(settings: Gpt2Settings) -> dict[str, object]:
    """The same sizes as the keys of a stack that writes."""
    return {
        "dim": settings.n_embd,
        "heads": settings.n_head,
        "layers": settings.n_layer,
        "feedforward": settings.n_inner or 4 * settings.n_embd,
        "activation": activation_here(settings.activation_function),
        "norm_epsilon": settings.layer_norm_epsilon,
        "positions": "learned",
        "max_length": settings.n_positions,
        "embedding_scale": False,
        "output_bias": True,
        "dropout": settings.resid_pdrop,
        "attention_dropout": settings.attn_pdrop,
    }


def table(settings: Gpt2Settings, tensors: Collection[str]) -> Table:
    """The tensors of a file with tensors of these names."""
    start = "transformer." if any(name.startswith("transformer.") for name in tensors) else ""
    tied = {f"{start}wte.weight": ("lm_head.weight",)} if settings.tie_word_embeddings else {}
    return Table(tuple(decoder_rows(start, settings)), tied, masks(start, settings))


def masks(start: str, settings: Gpt2Settings, *parts: str) -> tuple[str, ...]:
    """The stored masks of attention, which older files have."""
    return tuple(
        f"{start}h.{n}.{part}.{what}"
        for n in range(settings.n_layer)
        for part in ("attn", *parts)
        for what in ("bias", "masked_bias")
    )


def decoder_rows(start: str, settings: Gpt2Settings, *, cross: bool = False) -> Iterator[TensorRow]:
    """The tensors whose names begin so; of a decoder with a Memory if `cross`."""
    layers, block = settings.n_layer, "decoder.blocks.{n}"
    theirs = f"{start}h.{{n}}"
    yield TensorRow((f"{start}wte.weight",), ("decoder.embedding.table",), (VocabularyRows(),))
    yield TensorRow((f"{start}wpe.weight",), ("decoder.embedding.positions.encoding.table",))
    if not settings.tie_word_embeddings:
        yield TensorRow(("lm_head.weight",), ("decoder.output.weight",), (VocabularyRows(),))
    yield TensorRow((), ("decoder.output.bias",), (OutputBias(None),))
    for part, turned in (("weight", (Transposed(),)), ("bias", ())):
        fused = tuple(f"{block}.self_attention.{name}.{part}" for name in ("query", "key", "value"))
        yield TensorRow((f"{theirs}.attn.c_attn.{part}",), fused, (*turned, Split(3)), layers)
        if cross:
            fused = tuple(f"{block}.cross_attention.{name}.{part}" for name in ("key", "value"))
            there = f"{theirs}.crossattention.c_attn.{part}"
            yield TensorRow((there,), fused, (*turned, Split(2)), layers)
        for name, ours in (LAYER | CROSS if cross else LAYER).items():
            here = f"{block}.{ours}.{part}"
            yield TensorRow((f"{theirs}.{name}.{part}",), (here,), turned or (Same(),), layers)
    # A norm there is before what reads it, and here after what is added before.
    yield from layer_rows(f"{start}h.0.ln_1", "decoder.first_norm")
    between = {"ln_2": "after_self"}
    if cross:
        between = {"ln_cross_attn": "after_self", "ln_2": "after_cross"}
    for norm, here in between.items():
        yield from layer_rows(f"{theirs}.{norm}", f"{block}.{here}.norm", layers=layers)
    after = "after_feedforward.norm"
    yield from layer_rows(f"{start}h.{{next}}.ln_1", f"{block}.{after}", layers=layers - 1)
    yield from layer_rows(f"{start}ln_f", f"decoder.blocks.{layers - 1}.{after}")


LAYER = {
    "attn.c_proj": "self_attention.output",
    "mlp.c_fc": "feedforward.inner",
    "mlp.c_proj": "feedforward.outer",
}
"""The parts of a layer, and of a block."""
CROSS = {
    "crossattention.q_attn": "cross_attention.query",
    "crossattention.c_proj": "cross_attention.output",
}
"""Those that a decoder with a Memory has beside them."""


def vocabulary(source: Source, settings: Gpt2Settings) -> Vocabulary:
    """Usually the only special token is START and END, and also PAD and UNKNOWN, which no text
    has.
    """
    marks = Marks(settings.bos_token_id, settings.eos_token_id, settings.pad_token_id)
    described = read_tokenizer(source.folder, "BPE")
    return causal_vocabulary(described, marks, settings.vocab_size, source.config_file)


GPT2 = causal_family(
    "GPT-2", "gpt2", Gpt2Settings, section, table, vocabulary, lambda settings: settings.n_positions
)
