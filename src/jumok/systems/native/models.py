"""The models of bundles on the native engine, by the class of their [model] section.

Nothing here imports torch.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from jumok.bundle.arrays import read_stored
from jumok.bundle.described import check_alignment, check_tensors, section_of, unfit
from jumok.bundle.reading import Bundle
from jumok.config import TransformerConfig
from jumok.config.captioner import CaptionerConfig
from jumok.config.causal import CausalConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.config.section import ModelSection
from jumok.engine import captioner, recurrent
from jumok.engine.language import NativeCausal
from jumok.engine.native import NativeModel
from jumok.engine.packing import Kind
from jumok.engine.parts import missing_part
from jumok.engine.recurrent import NativeRecurrent
from jumok.engine.tensors import TABLES, TensorError, Tensors
from jumok.engine.transformer import NativeTransformer
from jumok.narrowing import taking

FURTHEST = 4096
"""The longest target, in tokens, that the engine writes."""


@dataclass(frozen=True)
class NativeKind:
    """What the engine knows of models with one class of [model] section.

    Attributes:
        missing: what of a model the engine does not have; None if it serves the model.
        looks: the number of cross-attentions, which alignments may be extracted from.
        make: the model on the engine.
    """

    missing: Callable[[ModelSection], str | None]
    looks: Callable[[ModelSection], int]
    make: Callable[[ModelSection, Tensors, Kind], NativeModel]


NATIVE: dict[type[ModelSection], NativeKind] = {
    TransformerConfig: NativeKind(
        taking(TransformerConfig, missing_part),
        taking(TransformerConfig, lambda config: config.decoder_layers),
        taking(TransformerConfig, NativeTransformer),
    ),
    RecurrentConfig: NativeKind(
        taking(RecurrentConfig, recurrent.missing),
        taking(RecurrentConfig, lambda config: int(config.looks)),
        taking(RecurrentConfig, NativeRecurrent),
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
    return f"kind = {bundle.config.model.get('kind')!r}" if kind is None else kind.missing(config)


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
    check_alignment(bundle, known.looks(config))
    with _tensors_of(bundle) as tensors:
        return known.make(config, tensors, kind)


def native_causal(bundle: Bundle, kind: Kind) -> NativeCausal:
    """The language model of a bundle on the engine, which has to serve it.

    Raises:
        BundleError: the weights are damaged, or not those that config.json describes.
        ModelError: the model has fewer positions than its context has tokens.
    """
    config = section_of(bundle)
    assert isinstance(config, CausalConfig)
    check_alignment(bundle, 0)
    with _tensors_of(bundle) as tensors:
        return NativeCausal(config, tensors, bundle.config.max_tokens, kind)


@contextmanager
def _tensors_of(bundle: Bundle) -> Iterator[Tensors]:
    """The weights of a bundle, all of which a model has to take inside the block."""
    stored = read_stored(bundle)
    tensors = Tensors(stored.floats, stored.integers)
    try:
        yield tensors
    except TensorError as error:
        raise unfit(bundle, str(error.got)) from error
    check_tensors(bundle, tensors.taken)
    size = bundle.config.vocabulary_size
    if (rows := tensors.taken[TABLES[1]][0]) != size:
        raise unfit(bundle, f"{TABLES[1]} of {rows:,} rows, not {size:,}")
