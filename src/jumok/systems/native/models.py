"""Loading of bundles onto the native engine.

Nothing here imports torch.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from jumok.bundle.arrays import Arrays, read_stored
from jumok.bundle.described import check_alignment, check_size, check_tensors, unfit
from jumok.bundle.reading import Bundle
from jumok.config import TransformerConfig
from jumok.config.captioner import CaptionerConfig
from jumok.config.causal import CausalConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.config.section import ModelSection
from jumok.engine import captioner, recurrent
from jumok.engine.blocks import missing_part
from jumok.engine.language import NativeCausal
from jumok.engine.native import NativeModel
from jumok.engine.packing import Kind
from jumok.engine.quantising import Quantised
from jumok.engine.recurrent import NativeRecurrent
from jumok.engine.transformer import NativeTransformer
from jumok.models.tensors import Tensors, causal_tensors_of, recurrent_tensors, tensors_of

if TYPE_CHECKING:
    from torch.nn import Module

FURTHEST = 4096
"""The longest target, in tokens, that the engine writes."""


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
    kind: Kind
    integers: Mapping[str, Quantised]


def lacking(config: ModelSection) -> str | None:
    """What of such a model the engine does not have; None if it serves the model."""
    if type(config) is RecurrentConfig:
        return recurrent.missing(config)
    if type(config) is CaptionerConfig:
        return captioner.missing(config)
    if type(config) is TransformerConfig or type(config) is CausalConfig:
        return missing_part(config)
    return f"kind = {config.kind!r}"


def looks_of(config: ModelSection) -> int:
    """The number of cross-attentions of a model that the engine serves."""
    assert isinstance(config, TransformerConfig | RecurrentConfig)
    return config.decoder_layers if isinstance(config, TransformerConfig) else int(config.looks)


def weights_of(model: "Module") -> Arrays:
    """The weights of a model on the CPU, by name, for the engine."""
    return {name: tensor.float().numpy() for name, tensor in model.state_dict().items()}


def native_copy(config: ModelSection, weights: Arrays, kind: Kind) -> NativeModel:
    """A model on the engine, which has to serve it, with copies of these weights.

    Args:
        weights: by their names in a bundle, float32.
        kind: the number format in which it computes.
    """
    return _native(config, StoredModel(weights, kind, {}))


def _native(config: ModelSection, stored: StoredModel) -> NativeModel:
    if isinstance(config, TransformerConfig):
        return NativeTransformer(config, stored.weights, stored.kind, stored.integers)
    assert isinstance(config, RecurrentConfig)
    return NativeRecurrent(config, stored.weights, stored.kind, stored.integers)


def native_model(bundle: Bundle, kind: Kind) -> NativeModel:
    """The model of a bundle on the engine, which has to serve it.

    Args:
        kind: the number format of its weights.

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


def native_causal(bundle: Bundle, kind: Kind) -> NativeCausal:
    """The language model of a bundle on the engine, which has to serve it.

    Raises:
        BundleError: the weights are damaged, or not those that config.json describes.
        ModelError: the model has fewer positions than its context has tokens.
    """
    config = bundle.section
    assert isinstance(config, CausalConfig)
    expected = causal_tensors_of(config, bundle.config.vocabulary_size)
    stored = _stored_model(bundle, kind, expected, 0)
    return NativeCausal(config, stored.weights, bundle.config.max_tokens, kind, stored.integers)


def _stored_model(bundle: Bundle, kind: Kind, expected: Tensors | None, looks: int) -> StoredModel:
    """The weights of a bundle, which have to be these tensors.

    Args:
        looks: the number of cross-attentions.
    """
    assert expected is not None, "the engine serves only parts that say what they are"
    check_size(bundle, bundle.section)
    check_alignment(bundle, looks)
    check_tensors(bundle, expected.shapes)
    stored = read_stored(bundle)
    tables = {*chain.from_iterable(expected.tied), *filter(is_table, stored.integers)}
    # embeddings are looked up as floats, also where their table is a projection in int8
    weights = stored.floats | {
        name: each.floats() for name, each in stored.integers.items() if name in tables
    }
    for names in expected.tied:
        shared = next((weights[name] for name in names if name in weights), None)
        if shared is not None:
            weights |= dict.fromkeys(names, shared)
    present = {*weights, *stored.integers}
    if absent := [name for name in expected.shapes if name not in present]:
        raise unfit(bundle, f"no tensor for {absent[0]}")
    return StoredModel(weights, kind, stored.integers)


def is_table(name: str) -> bool:
    """Whether this is the name of a table of embeddings."""
    return name.endswith("embedding.table")
