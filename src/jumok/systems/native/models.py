"""The models of bundles on the native engine, by the class of their [model] section.

Nothing here imports torch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain

from jumok.bundle.arrays import Arrays, read_stored
from jumok.bundle.described import check_alignment, check_size, check_tensors, section_of, unfit
from jumok.bundle.reading import Bundle
from jumok.config import TransformerConfig
from jumok.config.captioner import CaptionerConfig
from jumok.config.causal import CausalConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.config.section import ModelSection
from jumok.engine import captioner, recurrent, transformer
from jumok.engine.language import NativeCausal
from jumok.engine.native import NativeModel
from jumok.engine.packing import Kind
from jumok.engine.quantising import Quantised
from jumok.engine.recurrent import NativeRecurrent
from jumok.engine.served import missing_part
from jumok.engine.transformer import NativeTransformer
from jumok.models.recurrent_tensors import recurrent_tensors
from jumok.models.tensors import Tensors, causal_tensors_of, tensors_of
from jumok.narrowing import taking

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


@dataclass(frozen=True)
class NativeKind:
    """What the engine knows of models with one class of [model] section.

    Attributes:
        missing: what of a model the engine does not have; None if it serves the model.
        tensors: those of a model with this number of tokens; None if a part is not known.
        looks: the number of cross-attentions, which alignments may be extracted from.
        make: the model on the engine.
    """

    missing: Callable[[ModelSection], str | None]
    tensors: Callable[[ModelSection, int], Tensors | None]
    looks: Callable[[ModelSection], int]
    make: Callable[[ModelSection, StoredModel], NativeModel]


def _transformer(config: TransformerConfig, stored: StoredModel) -> NativeModel:
    return NativeTransformer(config, stored.weights, stored.kind, stored.integers)


def _recurrent(config: RecurrentConfig, stored: StoredModel) -> NativeModel:
    return NativeRecurrent(config, stored.weights, stored.kind, stored.integers)


NATIVE: dict[type[ModelSection], NativeKind] = {
    TransformerConfig: NativeKind(
        taking(TransformerConfig, transformer.missing),
        taking(TransformerConfig, tensors_of),
        taking(TransformerConfig, lambda config: config.decoder_layers),
        taking(TransformerConfig, _transformer),
    ),
    RecurrentConfig: NativeKind(
        taking(RecurrentConfig, recurrent.missing),
        taking(RecurrentConfig, recurrent_tensors),
        taking(RecurrentConfig, lambda config: int(config.attention != "none")),
        taking(RecurrentConfig, _recurrent),
    ),
}


MISSING: dict[type[ModelSection], Callable[[ModelSection], str | None]] = {
    CausalConfig: taking(CausalConfig, missing_part),
    CaptionerConfig: taking(CaptionerConfig, captioner.missing),
}
"""What the engine does not have of language models, and of the decoders of captioners."""


def lacking(bundle: Bundle) -> str | None:
    """What of the model in a bundle the engine does not have; None if it serves the model."""
    config = section_of(bundle)
    if type(config) in MISSING:
        return MISSING[type(config)](config)
    kind = NATIVE.get(type(config))
    if kind is None:
        return f"kind = {bundle.config.model.get('kind')!r}"
    lacks = kind.missing(config)
    if lacks is None and kind.tensors(config, 0) is None:
        return "parts that only torch knows"
    return lacks


def looks_of(bundle: Bundle) -> int:
    """The number of cross-attentions of a model that the engine serves."""
    config = section_of(bundle)
    return NATIVE[type(config)].looks(config)


def native_model(bundle: Bundle, kind: Kind) -> NativeModel:
    """The model of a bundle on the engine, which has to serve it.

    Args:
        kind: the number format of its weights.

    Raises:
        BundleError: the weights are damaged, or not those that config.json describes.
    """
    config = section_of(bundle)
    known = NATIVE[type(config)]
    expected = known.tensors(config, bundle.config.vocabulary_size)
    assert expected is not None
    return known.make(config, _stored(bundle, kind, expected, known.looks(config)))


def native_causal(bundle: Bundle, kind: Kind) -> NativeCausal:
    """The language model of a bundle on the engine, which has to serve it.

    Raises:
        BundleError: the weights are damaged, or not those that config.json describes.
        ModelError: the model has fewer positions than its context has tokens.
    """
    config = section_of(bundle)
    assert isinstance(config, CausalConfig)
    expected = causal_tensors_of(config, bundle.config.vocabulary_size)
    assert expected is not None
    stored = _stored(bundle, kind, expected, 0)
    return NativeCausal(config, stored.weights, bundle.config.max_tokens, kind, stored.integers)


def _stored(bundle: Bundle, kind: Kind, expected: Tensors, looks: int) -> StoredModel:
    """The weights of a bundle, which have to be these tensors.

    Args:
        looks: the number of cross-attentions.
    """
    check_size(bundle, section_of(bundle))
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
