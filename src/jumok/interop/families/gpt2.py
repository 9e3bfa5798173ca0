"""GPT-2: a language model with learned positions.

Source: Radford et al. 2019; names of transformers.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from jumok.config.causal import CausalConfig
from jumok.config.section import Count, Share
from jumok.interop.family import ModelFamily
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
from jumok.interop.tokenizers import names_of, read_tokenizer, with_ids
from jumok.interop.vocabulary import Vocabulary

ACTIVATIONS = {"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "swish": "silu"}
"""The names there that are others here."""
SPECIAL = "<|pad|>", "<|unknown|>", "<|start|>", "<|endoftext|>"


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
    activation_function: Literal[
        "gelu_new", "gelu_pytorch_tanh", "gelu", "relu", "silu", "swish"
    ] = "gelu_new"
    resid_pdrop: Share = 0.1
    embd_pdrop: Share = 0.1
    attn_pdrop: Share = 0.1
    layer_norm_epsilon: float = Field(1e-5, gt=0.0, lt=1.0)
    scale_attn_weights: Literal[True] = True
    scale_attn_by_inverse_layer_idx: Literal[False] = False
    eos_token_id: int = Field(ge=0)
    tie_word_embeddings: bool = True


def section(settings: Gpt2Settings, _: Collection[str]) -> CausalConfig:
    """The same sizes as a section [model]."""
    activation = settings.activation_function
    return CausalConfig.model_validate(
        {
            "dim": settings.n_embd,
            "heads": settings.n_head,
            "layers": settings.n_layer,
            "feedforward": settings.n_inner or 4 * settings.n_embd,
            "activation": ACTIVATIONS.get(activation, activation),
            "norm_epsilon": settings.layer_norm_epsilon,
            "positions": "learned",
            "max_length": settings.n_positions,
            "embedding_scale": False,
            "output_bias": True,
            "tied": settings.tie_word_embeddings,
            "dropout": settings.resid_pdrop,
            "attention_dropout": settings.attn_pdrop,
        }
    )


def table(settings: Gpt2Settings, tensors: Collection[str]) -> Table:
    """The tensors of a file with tensors of these names."""
    start = "transformer." if any(name.startswith("transformer.") for name in tensors) else ""
    layers = range(settings.n_layer)
    masks = [f"{start}h.{n}.attn.{what}" for n in layers for what in ("bias", "masked_bias")]
    tied = {f"{start}wte.weight": ("lm_head.weight",)} if settings.tie_word_embeddings else {}
    return Table(tuple(_rows(start, settings)), tied, tuple(masks))


def _rows(start: str, settings: Gpt2Settings) -> Iterator[TensorRow]:
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
        for name, ours in LAYER.items():
            here = f"{block}.{ours}.{part}"
            yield TensorRow((f"{theirs}.{name}.{part}",), (here,), turned or (Same(),), layers)
    # A norm there is before what reads it, and here after what is added before.
    yield from layer_rows(f"{start}h.0.ln_1", "decoder.first_norm")
    yield from layer_rows(f"{theirs}.ln_2", f"{block}.after_self.norm", layers=layers)
    after = "after_feedforward.norm"
    yield from layer_rows(f"{start}h.{{next}}.ln_1", f"{block}.{after}", layers=layers - 1)
    yield from layer_rows(f"{start}ln_f", f"decoder.blocks.{layers - 1}.{after}")


LAYER = {
    "attn.c_proj": "self_attention.output",
    "mlp.c_fc": "feedforward.inner",
    "mlp.c_proj": "feedforward.outer",
}
"""The parts of a layer, and of a block."""


def vocabulary(folder: Path, settings: Gpt2Settings) -> Vocabulary:
    """The only special token is START and END, and also PAD and UNKNOWN, which no text has."""
    described, end = read_tokenizer(folder, "BPE"), settings.eos_token_id
    names = names_of(described, settings.vocab_size, folder)
    others = [id for id in range(settings.vocab_size) if id != end]
    order = (end, end, end, end, *others)
    file = with_ids(described, order, names, SPECIAL)
    return Vocabulary(order, (0, 1, 2), settings.vocab_size, file)


GPT2 = ModelFamily(
    name="GPT-2",
    model_type="gpt2",
    task="language-model",
    settings=Gpt2Settings,
    section=section,
    table=table,
    vocabulary=vocabulary,
    longest=lambda settings: settings.n_positions,
    documents="file",
    changes=("every text begins with <|endoftext|>, as documents did in training",),
    theirs=lambda _: "AutoModelForCausalLM",
)
