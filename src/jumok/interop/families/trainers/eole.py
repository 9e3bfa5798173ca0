"""Transformers that Eole trained, the successor of OpenNMT-py (Klein et al. 2017)."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

import torch
from pydantic import BaseModel, Field, model_validator

from jumok.config.section import Count, Share
from jumok.config.transformer import TransformerConfig
from jumok.interop.families.blocks import LayerNames
from jumok.interop.families.trainers.segmented import SUBWORDS, Segmenters, Transforms, segmented
from jumok.interop.families.trainers.tables import TIED, WordTables
from jumok.interop.family import ModelFamily
from jumok.interop.folded import AlwaysThis, Computed
from jumok.interop.layouts.eole import VOCABULARY, read_words
from jumok.interop.rows import HeadsToTurns, Table, TensorRow, layer_rows
from jumok.interop.settings import Nothing, Settings, SettingsPart
from jumok.interop.source import Source
from jumok.interop.vocabulary import Vocabulary

LONGEST = 512
"""Tokens of a text: the files do not say what their models were trained for."""

Zero = Literal[0]
Off = Literal[False]
PositionName = Literal["SinusoidalInterleaved", "Learned", "Rotary"]
POSITIONS = {"SinusoidalInterleaved": "sinusoidal", "Learned": "learned", "Rotary": "rotary"}


class EoleRope(SettingsPart):
    """Rotary positions as they were first described; no scaling for longer texts."""

    without_effect = frozenset(
        {"scaling_factor", "low_freq_factor", "high_freq_factor", "rotary_theta_local"}
        | {"original_max_position_embeddings", "tmax_index"}
    )

    rotary_interleave: bool = True
    rotary_theta: Annotated[float, Field(gt=1.0)] = 10000
    rotary_dim: Zero = 0
    scaling_type: Nothing = None
    alpha: Nothing = None
    xdrope_section: Nothing = None
    interleave_local: Zero = 0
    rotary_dim_global: Zero = 0
    partial_rotary_factor: Zero = 0
    multidimensional_rope: Off = False


class EoleSide(SettingsPart):
    """An encoder or a decoder."""

    without_effect = frozenset(
        {"src_word_vec_size", "tgt_word_vec_size", "max_position_embeddings", "lambda_coverage"}
        | {"aan_useffn", "alignment_layer", "alignment_heads", "full_context_alignment"}
        | {"lambda_align", "global_attention", "global_attention_function", "LM_type"}
        | {"moe_transformer_ff", "moe_softmax_after", "moe_renormalize", "num_experts_per_tok"}
        | {"first_k_dense_replace", "mtp_lambda", "mtp_emb_norm", "dim_per_head", "rnn_type"}
        | {"linear_conv_kernel_dim", "linear_key_head_dim", "linear_value_head_dim"}
        | {"add_final_linear_bias"}  # the tensors say it: encoders do not always follow it
        | {"linear_num_key_heads", "linear_num_value_heads", "cnn_kernel_width"}
    )

    encoder_type: Literal["transformer"] = "transformer"
    decoder_type: Literal["transformer"] = "transformer"
    layers: Count = 2
    hidden_size: Count = 512
    heads: Count = 8
    transformer_ff: Count = 2048
    mlp_activation_fn: Literal[
        "relu", "gelu", "gelu-tanh", "silu", "gated-silu", "gated-gelu", "gated-gelu-tanh"
    ] = "relu"
    layer_norm: Literal["standard", "standardFP32", "rms"] = "standard"
    norm_eps: float = 1e-5
    heads_kv: Count | None = None
    head_dim: Count | None = None
    add_qkvbias: bool = False
    add_key_bias: bool | None = None
    add_ffnbias: bool = False
    position_encoding_type: PositionName = "SinusoidalInterleaved"
    n_positions: Count | None = None
    rope_config: EoleRope | None = None
    encoder_layer_style: Literal["standard"] = "standard"
    final_encoder_layer_norm: Literal[True] = True
    with_cross_attn: bool = True
    coverage_attn: Off = False
    sliding_window: Zero = 0
    relative_positions_buckets: Zero = 0
    shared_layer_norm: Off = False
    ffn_layernorm: Off = False
    parallel_residual: Off = False
    query_norm: Off = False
    key_norm: Off = False
    value_norm: Off = False
    qk_norm_post_rope: Off = False
    q_gating: Off = False
    attn_scaling: Nothing = None
    num_experts: Zero = 0
    num_shared_experts: Zero = 0
    shared_expert_gate: Off = False
    num_mtp_heads: Zero = 0
    layer_types: Nothing = None
    global_head_dim: Nothing = None
    global_heads_kv: Nothing = None

    @model_validator(mode="after")
    def _keys_fit(self) -> Self:
        if self.add_key_bias not in (None, self.add_qkvbias):
            raise ValueError("add_key_bias has to be add_qkvbias")
        if self.position_encoding_type == "Learned" and self.n_positions is None:
            raise ValueError("learned positions need n_positions")
        return self

    @property
    def rope(self) -> EoleRope:
        return self.rope_config or EoleRope.model_validate({})

    @property
    def width(self) -> int:
        """That of a head."""
        return self.head_dim or self.hidden_size // self.heads

    @property
    def gated(self) -> bool:
        return self.mlp_activation_fn.startswith("gated-")


class EoleEmbeddings(SettingsPart):
    """Those of both sides."""

    without_effect = frozenset(
        {"position_encoding", "position_encoding_type", "n_positions", "token_type_vocab_size"}
        | {"freeze_word_vecs_enc", "freeze_word_vecs_dec"}
    )

    embedding_type: Literal["standard"] = "standard"
    word_vec_size: int = -1
    src_word_vec_size: int = 512
    tgt_word_vec_size: int = 512
    position_shift: Zero | None = 0
    normalize: Off | None = False
    embedding_layer_norm: Off = False


class EoleTraining(BaseModel):
    """What is taken of the settings of training."""

    dropout: Annotated[list[Share], Field(min_length=1)] = [0.3]
    attention_dropout: Annotated[list[Share], Field(min_length=1)] = [0.1]


class EoleSettings(Settings):
    """The settings of a model in config.json, and what else is needed of it."""

    without_effect: ClassVar[frozenset[str]] = frozenset(
        {"architecture", "eole_version", "huggingface_model", "input_feed", "adapter_bias"}
        | {"projector_activation_fn", "spatial_merge_size", "estimator_type", "left_pad"}
        | {"word_vec_size", "rnn_type", "bridge", "position_encoding"}
    )

    encoder: EoleSide
    decoder: EoleSide
    embeddings: EoleEmbeddings
    share_embeddings: bool = False
    share_decoder_embeddings: bool = False
    generator_function: Literal["softmax"] = "softmax"
    generator_bias: bool = True
    add_estimator: Off = False
    training: EoleTraining
    transforms: Transforms = Field(default_factory=list)
    transforms_configs: Segmenters = Field(default_factory=lambda: Segmenters.model_validate({}))
    one_vocabulary: bool

    @model_validator(mode="before")
    @classmethod
    def _of_both_sides(cls, values: Any) -> Any:
        """What is said of the whole model holds for each side that does not say otherwise."""
        if not isinstance(values, dict):
            return values
        sides, rest = EoleSide.model_fields.keys() | EoleSide.without_effect, dict(values)
        common = {key: rest.pop(key) for key in values if key in sides}
        size = values.get("word_vec_size")
        words = {} if size in (None, -1) else {"word_vec_size": size}
        for name, own in (("encoder", common), ("decoder", common), ("embeddings", words)):
            if isinstance(rest.get(name, {}), dict):
                rest[name] = own | rest.get(name, {})
        if isinstance(rest["embeddings"], dict):  # which says it for both sides
            both = {"position_encoding_type", "n_positions"} & rest["embeddings"].keys()
            for name in ("encoder", "decoder"):
                if isinstance(rest[name], dict):
                    rest[name] |= {key: rest["embeddings"][key] for key in both}
        return rest

    @model_validator(mode="after")
    def _sides_fit(self) -> Self:
        one, other = (
            each.model_dump(exclude={"layers", "with_cross_attn"})
            for each in (self.encoder, self.decoder)
        )
        for key, value in one.items():
            if value != other[key]:
                raise ValueError(f"{key} = {value} of the encoder and {other[key]} of the decoder")
        words = self.embeddings
        sizes = {words.src_word_vec_size, words.tgt_word_vec_size}
        if ({words.word_vec_size} if words.word_vec_size > 0 else sizes) != {one["hidden_size"]}:
            raise ValueError("the sizes of embeddings have to be hidden_size")
        if self.share_embeddings and not self.one_vocabulary:
            raise ValueError("share_embeddings needs one vocabulary")
        return self


OUTPUT_BIAS = ".final_linear.bias"


def has_biases(settings: EoleSettings, names: Collection[str]) -> bool:
    """Whether layers have biases here: one key is for the outputs of attention, and for both layers
    after it.
    """
    return settings.encoder.add_ffnbias or any(name.endswith(OUTPUT_BIAS) for name in names)


def section(settings: EoleSettings, names: Collection[str]) -> TransformerConfig:
    """The same sizes as a section [model]."""
    side, dropout = settings.encoder, settings.training.dropout[-1]
    return TransformerConfig.model_validate(
        {
            "dim": side.hidden_size,
            "heads": side.heads,
            "kv_heads": side.heads_kv,
            "head_dim": side.head_dim,
            "encoder_layers": side.layers,
            "decoder_layers": settings.decoder.layers,
            "feedforward": side.transformer_ff,
            "feedforward_kind": "gated" if side.gated else "plain",
            "activation": side.mlp_activation_fn.removeprefix("gated-").replace("-", "_"),
            "bias": has_biases(settings, names),
            "projection_bias": side.add_qkvbias,
            "norm": "pre",
            "norm_kind": "rms" if side.layer_norm == "rms" else "layer",
            "norm_epsilon": side.norm_eps,
            "positions": POSITIONS[side.position_encoding_type],
            "rotary_base": side.rope.rotary_theta,
            "max_length": side.n_positions or LONGEST,
            "embedding_scale": side.position_encoding_type == "SinusoidalInterleaved",
            "output_bias": True,
            "tied": TIED[settings.share_embeddings, settings.share_decoder_embeddings],
            "source_end": False,
            "dropout": dropout,
            "attention_dropout": settings.training.attention_dropout[-1],
            "feedforward_dropout": dropout,
        }
    )


@dataclass(frozen=True)
class TensorNames:
    """What a version of the trainer calls its tensors.

    Attributes:
        layers, positions: of each side.
        gated: the layer that a gate is multiplied with.
        scalars: numbers of the decoder's layers that are 1, which some files have.
    """

    tables: WordTables
    layers: Mapping[str, LayerNames]
    positions: Mapping[str, str]
    gated: str
    scalars: str = ""

    def table(self, settings: EoleSettings, names: Collection[str]) -> Table:
        """The tensors of a file with tensors of these names."""
        aliases = self.tables.aliases(settings.share_embeddings, settings.share_decoder_embeddings)
        rows = [
            *self.tables.rows(aliases, stored=settings.generator_bias, biased=True),
            *self._stack_rows(settings, names),
        ]
        if self.scalars and self.scalars.format(n=0) in names:
            one = (AlwaysThis("layer_scalar", torch.ones(1)),)
            rows.append(TensorRow((self.scalars,), (), one, settings.decoder.layers))
        computed = tuple(f"{name}.pe" for name in self.positions.values())
        return Table(tuple(rows), aliases, computed)

    def _stack_rows(self, settings: EoleSettings, names: Collection[str]) -> Iterator[TensorRow]:
        """The rows of both sides' positions and blocks."""
        biased = has_biases(settings, names)
        for name, side in (("encoder", settings.encoder), ("decoder", settings.decoder)):
            own = self.layers[name]
            stored = f"{own.layers}.0.self_attn{OUTPUT_BIAS}" in names
            if side.position_encoding_type == "Learned":
                ours = f"{name}.embedding.positions.encoding.table"
                yield TensorRow((f"{self.positions[name]}.weight",), (ours,))
            for there, here, count in own.pairs(name, side.layers, "pre"):
                if here.endswith("feedforward.inner") and side.gated:
                    gate = here.removesuffix("inner") + "gate"
                    yield from _layer(side, there, gate, count, stored=stored, biased=biased)
                    there = there.removesuffix(own.inner) + self.gated
                yield from _layer(side, there, here, count, stored=stored, biased=biased)


def _layer(
    side: EoleSide, there: str, here: str, count: int | None, *, stored: bool, biased: bool
) -> Iterator[TensorRow]:
    """A linear layer or a norm; biases that are not there, and that jumok has, are zeros.

    Args:
        stored: whether outputs of attention have a bias there.
        biased: whether layers have biases here.
    """
    part = here.rsplit(".", 1)[-1]
    if part.endswith("norm"):
        parts = ("weight",) if side.layer_norm == "rms" else ("weight", "bias")
        yield from layer_rows(there, here, layers=count, parts=parts)
        return
    of_heads = part in ("query", "key", "value")
    if part != "output":
        stored = side.add_qkvbias if of_heads else side.add_ffnbias
    turns = side.position_encoding_type == "Rotary" and not side.rope.rotary_interleave
    turned = turns and part in ("query", "key") and "self_attention" in here
    how = (HeadsToTurns(side.width, side.width),) if turned else ()
    yield from layer_rows(there, here, *how, layers=count, parts=("weight", "bias")[: 1 + stored])
    if biased and not stored and not of_heads:
        size = side.transformer_ff if part in ("inner", "gate") else side.hidden_size
        yield TensorRow((), (f"{here}.bias",), (Computed(torch.zeros(size)),), count)


PROJECTIONS = {
    "linear_query": "query",
    "linear_keys": "key",
    "linear_values": "value",
    "final_linear": "output",
}


def layer_names(side: str, layers: str, norms: tuple[str, ...], *mlp: str) -> LayerNames:
    """Those of one side.

    Args:
        layers: before a layer's number.
        mlp: the layers of the feed-forward layer.
    """
    parts = {"self_attn": "self"} | ({"context_attn": "cross"} if side == "decoder" else {})
    inner, outer = mlp
    return LayerNames(
        f"{side}.{layers}", parts, PROJECTIONS, inner, outer, norms, f"{side}.layer_norm"
    )


MLP = "mlp.gate_up_proj", "mlp.down_proj"
NORMS = "input_layernorm", "precontext_layernorm", "post_attention_layernorm"
NAMES = TensorNames(
    WordTables(
        "src_emb.embeddings.weight",
        "tgt_emb.embeddings.weight",
        "generator.weight",
        "generator.bias",
    ),
    {
        "encoder": layer_names("encoder", "transformer_layers", NORMS[::2], *MLP),
        "decoder": layer_names("decoder", "transformer_layers", NORMS, *MLP),
    },
    {"encoder": "src_emb.pe", "decoder": "tgt_emb.pe"},
    "mlp.up_proj",
    "decoder.transformer_layers.{n}.layer_scalar",
)


def vocabulary(source: Source, settings: EoleSettings) -> Vocabulary:
    """The words of vocab.json, and what texts are cut by."""
    words = read_words(source.folder / VOCABULARY)
    return segmented(source, words, settings.transforms, settings.transforms_configs)


UNREAD = "nothing attends to the end of a source, which was not read in training"

EOLE = ModelFamily(
    name="Eole",
    kinds=("eole transformer", "eole custom"),
    task="translation",
    settings=EoleSettings,
    section=section,
    table=NAMES.table,
    vocabulary=vocabulary,
    longest=lambda settings: min(LONGEST, settings.encoder.n_positions or LONGEST) - 1,
    theirs=None,
    changes=(UNREAD, SUBWORDS),
)
