"""Which engine computes, and the loading of bundles onto the native one.

Nothing here imports torch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from jumok.bundle.arrays import Arrays, read_stored
from jumok.bundle.checks import check_alignment, check_config_size, check_tensors, unfit
from jumok.bundle.reading import Bundle
from jumok.config import TransformerConfig
from jumok.config.captioner import CaptionerConfig
from jumok.config.causal import CausalConfig
from jumok.config.masked import MaskedConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.config.section import ModelSection
from jumok.config.stack import StackConfig
from jumok.decoding import DecodingOptions
from jumok.engine import Precision, captioner, recurrent
from jumok.engine.blocks import missing_part
from jumok.engine.language import NativeCausal
from jumok.engine.native import NativeModel
from jumok.engine.quantising import Quantised
from jumok.engine.recurrent import NativeRecurrent
from jumok.engine.transformer import NativeTransformer
from jumok.errors import ConfigError, Location
from jumok.models.tensors import Tensors, causal_tensors_of, recurrent_tensors, tensors_of
from jumok.systems.device import EngineName, EnginePrecision, PrecisionName, has_gpu

if TYPE_CHECKING:
    from torch.nn import Module

LONGEST_TARGET = 4096
"""The longest target, in tokens, that the engine writes."""

USE_TORCH = "--engine torch"


class EngineChoice(NamedTuple):
    """Whether the native engine computes, and its or torch's number format."""

    native: bool
    precision: Precision

    @property
    def torch_precision(self) -> PrecisionName:
        """The number format of a model on torch, which is in float32 beside the engine."""
        return "bf16" if self.precision == "bf16" and not self.native else "fp32"


def choose_engine(
    bundles: Sequence[Bundle], device: str, precision: EnginePrecision, engine: EngineName
) -> EngineChoice:
    """What computes with these models.

    Args:
        device: as the user named it.
        engine: "auto": the native one where it serves the model, otherwise torch.

    Raises:
        ConfigError: the native engine is asked for, or needed for int8, and does not serve this.
    """
    native = engine != "torch"
    if not native and precision == "int8":
        raise ConfigError("int8 needs the native engine.", do="leave out --engine torch")
    if native and (refused := _refused(bundles, device)) is not None:
        if engine == "native" or precision == "int8":
            raise refused
        native = False
    if native and engine == "auto" and precision != "int8" and device == "auto" and has_gpu():
        native = False
    stored = {bundle.precision for bundle in bundles} if native else set[Precision]()
    usual: Precision = stored.pop() if len(stored) == 1 else "fp32"
    return EngineChoice(native, usual if precision == "auto" else precision)


def _refused(bundles: Sequence[Bundle], device: str) -> ConfigError | None:
    """Why the native engine cannot do this; None if it can."""
    if device not in ("auto", "cpu"):
        return ConfigError(
            "the native engine runs on the CPU.",
            got=f"--device {device}",
            do=f"cpu, or {USE_TORCH}",
        )
    for bundle in bundles:
        lacks = lacking(bundle.section)
        if lacks is not None:
            return ConfigError(
                "the native engine does not run this model.",
                got=lacks,
                do=USE_TORCH,
                place=Location(bundle.folder),
            )
    return None


def engine_serves(options: DecodingOptions) -> bool:
    """Whether the engine searches with these options."""
    return options.maximum_length <= LONGEST_TARGET


@dataclass(frozen=True)
class StoredModel:
    """What a model on the engine is made of.

    Attributes:
        weights: by their names, float32.
        kind: the number format in which the engine computes.
        integers: by their names, matrices that are already int8; of these `weights` has only the
            tables of embeddings.
    """

    weights: Arrays
    kind: Precision
    integers: Mapping[str, Quantised]


def lacking(config: ModelSection) -> str | None:
    """What of such a model the engine does not have; None if it serves the model."""
    if type(config) is RecurrentConfig:
        return recurrent.missing(config)
    if type(config) is CaptionerConfig:
        return captioner.missing(config)
    if type(config) in (TransformerConfig, CausalConfig, MaskedConfig):
        assert isinstance(config, StackConfig)
        return missing_part(config)
    return f"kind = {config.kind!r}"


def looks_of(config: ModelSection) -> int:
    """The number of cross-attentions of a model that the engine serves."""
    assert isinstance(config, TransformerConfig | RecurrentConfig)
    return config.decoder_layers if isinstance(config, TransformerConfig) else int(config.looks)


def weights_of(model: "Module") -> Arrays:
    """The weights of a model on the CPU, by name, for the engine."""
    return {name: tensor.float().numpy() for name, tensor in model.state_dict().items()}


def native_copy(config: ModelSection, weights: Arrays, kind: Precision) -> NativeModel:
    """A model on the engine, which has to serve it, with copies of these weights (float32, by
    name).
    """
    return _native(config, StoredModel(weights, kind, {}))


def _native(config: ModelSection, stored: StoredModel) -> NativeModel:
    if isinstance(config, TransformerConfig):
        return NativeTransformer(config, stored.weights, stored.kind, stored.integers)
    assert isinstance(config, RecurrentConfig)
    return NativeRecurrent(config, stored.weights, stored.kind, stored.integers)


def native_model(bundle: Bundle, kind: Precision) -> NativeModel:
    """The model of a bundle on the engine, which has to serve it.

    Raises:
        BundleError: the weights are damaged, or not those that config.json describes.
    """
    config, vocabulary = bundle.section, bundle.config.vocabulary_size
    if isinstance(config, TransformerConfig):
        expected = tensors_of(config, vocabulary)
    else:
        assert isinstance(config, RecurrentConfig)
        expected = recurrent_tensors(config, vocabulary)
    return _native(config, _stored_model(bundle, kind, expected, looks_of(config)))


def native_causal(bundle: Bundle, kind: Precision) -> NativeCausal:
    """As `native_model`, of a language model.

    Raises:
        ModelError: the model has fewer positions than its context has tokens.
    """
    config = bundle.section
    assert isinstance(config, CausalConfig)
    expected = causal_tensors_of(config, bundle.config.vocabulary_size)
    stored = _stored_model(bundle, kind, expected, 0)
    return NativeCausal(config, stored.weights, bundle.config.max_tokens, kind, stored.integers)


def _stored_model(
    bundle: Bundle, kind: Precision, expected: Tensors | None, looks: int
) -> StoredModel:
    """The weights of a bundle, which have to be these tensors; `looks` counts the
    cross-attentions.
    """
    assert expected is not None, "the engine serves only parts that say what they are"
    check_config_size(bundle, bundle.section)
    check_alignment(bundle, looks)
    check_tensors(bundle, expected.shapes)
    stored = read_stored(bundle)
    tables = {*chain.from_iterable(expected.tied), *filter(is_table, stored.integers)}
    # embeddings are looked up as floats, also where their table is a projection in int8
    weights = stored.floats | {
        name: each.floats() for name, each in stored.integers.items() if name in tables
    }
    integers = dict(stored.integers)
    for names in expected.tied:
        shared = next((weights[name] for name in names if name in weights), None)
        if shared is not None:
            weights |= dict.fromkeys(names, shared)
        whole = next((integers[name] for name in names if name in integers), None)
        if whole is not None:
            integers |= dict.fromkeys(names, whole)
    present = {*weights, *integers}
    if absent := [name for name in expected.shapes if name not in present]:
        raise unfit(bundle, f"no tensor for {absent[0]}")
    return StoredModel(weights, kind, integers)


def is_table(name: str) -> bool:
    """Whether this is the name of a table of embeddings."""
    return name.endswith("embedding.table")
