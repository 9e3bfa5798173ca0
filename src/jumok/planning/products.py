"""The products of matrices in a training step, part by part.

A product of an (m k) and a (k n) matrix takes 2 m k n FLOP. The backward pass takes twice those of
the forward pass: one product for the gradient of each factor. Sums, norms, activations and
softmaxes are not counted. Masked scores are, but for those beyond a window: T^2 in a row of T
tokens.

Source: Chowdhery et al. 2022 (PaLM), appendix B, has the same definition for decoders.
"""

from dataclasses import dataclass, replace
from functools import singledispatch

from jumok.config import Config
from jumok.config.captioner import CaptionerConfig, CnnConfig, GivenConfig, RnnDecoderConfig
from jumok.config.causal import CausalConfig
from jumok.config.eye import EyeConfig
from jumok.config.families import CaptionConfig, MaskedLanguageModelConfig
from jumok.config.masked import EncoderConfig, MaskedConfig, TextClassifierConfig
from jumok.config.pictures import ImageClassifierConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.config.section import ModelSection
from jumok.config.stack import StackConfig
from jumok.config.training import TrainingConfig, TranslationTrainingConfig
from jumok.config.transformer import TransformerConfig
from jumok.config.vit import VitConfig
from jumok.errors import ConfigError
from jumok.models import tensors
from jumok.models.size import TABLES
from jumok.planning import blocks
from jumok.specs import matrices

LABELS = 10
"""Labels of a classifier, which only the data knows; their number hardly matters."""


@dataclass(frozen=True)
class ModelPart:
    """A part of a model.

    Attributes:
        weights: the numbers in its matrices; biases and the gains of norms are left out.
        forward, backward: FLOP of its products and of their gradients, for one target.
        again: FLOP of the products that are computed a second time, for the backward pass.
    """

    name: str
    weights: int
    forward: float
    backward: float
    again: float = 0.0

    @property
    def both(self) -> float:
        return self.forward + self.backward + self.again


@dataclass(frozen=True)
class TextLengths:
    """The mean numbers of tokens, END included, of a text and of its source.

    A classifier and a masked language model read `target` tokens; images count as one.
    """

    source: float
    target: float

    @property
    def ratio(self) -> float:
        return self.source / self.target


def model_parts(config: Config, vocabulary: int, lengths: TextLengths) -> list[ModelPart]:
    """The parts of a recipe's model with their products for one target.

    A target is what `training.tokens_per_batch` counts: a target token, of a masked language model
    and a text classifier a token, of an image classifier an image.

    Raises:
        ConfigError: the kind of model or one of its parts is a plugin's, its sizes are in another
            model, or it has no blocks that could be computed again.
    """
    if type(config.model) not in _parts_by_section.registry:
        known = [kind for kind in _parts_by_section.registry if issubclass(kind, ModelSection)]
        raise ConfigError(
            "the products of this kind of model are not known.",
            expected=", ".join(str(kind.model_fields["kind"].default) for kind in known),
            got=config.model.kind,
        )
    if isinstance(config.model, TextClassifierConfig) and config.model.pretrained is not None:
        raise ConfigError(
            "the sizes of this model are those of a pretrained one, which a plan does not read.",
            got=f"model.pretrained = {config.model.pretrained}",
            do="plan the recipe with its sizes: model.dim, model.layers, ...",
        )
    _check_parts(config.model)
    parts = _parts_by_section(config.model, config, vocabulary, lengths)
    if not config.training.recompute:
        return [replace(part, again=0.0) for part in parts]
    if not any(part.again for part in parts):
        raise ConfigError(
            "training.recompute computes blocks again, and this model has none.",
            got="training.recompute = true",
            do="leave it out; a lower training.tokens_per_micro_batch needs less memory, too",
        )
    return parts


@singledispatch
def _parts_by_section(
    model: object, config: Config, vocabulary: int, lengths: TextLengths
) -> list[ModelPart]:
    raise NotImplementedError


def _check_parts(model: ModelSection) -> None:
    """Raises a ConfigError if a part has no record, as a plugin's may not."""
    for key, name, spec in model.parts():
        if spec is None:
            raise ConfigError(
                "the products of this part are not known.",
                got=f"{key} = {name}",
                do="give its record where it is registered: "
                "jumok.register(ROLE, NAME, PART, spec=...)",
            )


def readings_of(training: TrainingConfig) -> int:
    """How often each target is computed in a step: twice with R-Drop."""
    doubled = isinstance(training, TranslationTrainingConfig) and training.consistency
    return 2 if doubled else 1


def _plain_part(name: str, weights: int, forward: float) -> ModelPart:
    return ModelPart(name, weights, forward, 2.0 * forward)


def _block_part(name: str, weights: int, forward: float) -> ModelPart:
    """A part of blocks, which are computed again if the recipe says so."""
    return ModelPart(name, weights, forward, 2.0 * forward, forward)


def _stack_parts(
    name: str, config: StackConfig, layers: int, length: float, positions: float, *, causal: bool
) -> list[ModelPart]:
    """Blocks of self-attention over texts of `length` tokens, with `positions` for each target."""
    keys = blocks.keys_seen(config, layers, length, causal=causal)
    attention = positions * sum(blocks.self_attention_flop(config, seen) for seen in keys)
    inner = layers * positions * blocks.feedforward_flop(config)
    weights = [matrices(part(config)) for part in (tensors.self_attention, tensors.feedforward)]
    return [
        _block_part(f"{name}: attention", layers * weights[0], attention),
        _block_part(f"{name}: feed-forward", layers * weights[1], inner),
    ]


def _cross_part(config: StackConfig, layers: int, keys: float, positions: float) -> ModelPart:
    """Attention of a decoder to the Memory, which has `positions` for each target."""
    forward = layers * blocks.cross_attention_flop(config, keys, positions)
    weights = layers * matrices(tensors.cross_attention(config))
    return _block_part("decoder: cross-attention", weights, forward)


def _logits(vocabulary: int, width: int, tables: int, share: float = 1.0) -> ModelPart:
    """The tables of embeddings, of which the last one is a product."""
    weights = tables * vocabulary * width
    return _plain_part("embeddings and logits", weights, share * 2.0 * vocabulary * width)


def _learned(config: StackConfig) -> list[ModelPart]:
    parts = []
    if config.positions == "learned":
        parts.append(ModelPart("positions", config.max_length * config.dim, 0.0, 0.0))
    if config.positions_join == "concatenate":
        parts.append(_plain_part("positions", 2 * config.dim**2, 4.0 * config.dim**2))
    return parts


@_parts_by_section.register
def _transformer_parts(
    model: TransformerConfig, _: Config, vocabulary: int, lengths: TextLengths
) -> list[ModelPart]:
    source, target, ratio = lengths.source, lengths.target, lengths.ratio
    return [
        *_stack_parts("encoder", model, model.encoder_layers, source, ratio, causal=False),
        *_stack_parts("decoder", model.decoder, model.decoder_layers, target, 1.0, causal=True),
        _cross_part(model, model.decoder_layers, source, ratio),
        _logits(vocabulary, model.dim, TABLES[model.tied]),
        *2 * _learned(model),
    ]


@_parts_by_section.register
def _causal_parts(
    model: CausalConfig, _: Config, vocabulary: int, lengths: TextLengths
) -> list[ModelPart]:
    blocks = _stack_parts("blocks", model, model.layers, lengths.target, 1.0, causal=True)
    return [*blocks, _logits(vocabulary, model.dim, 1 if model.tied else 2), *_learned(model)]


@_parts_by_section.register
def _masked_parts(
    model: MaskedConfig, config: Config, vocabulary: int, lengths: TextLengths
) -> list[ModelPart]:
    assert isinstance(config, MaskedLanguageModelConfig)
    share = config.masking.share
    head = _plain_part("prediction head", model.dim**2, share * 2.0 * model.dim**2)
    return [
        *_encoder_parts(model, lengths),
        head,
        _logits(vocabulary + 1, model.dim, 1, share),  # the mask is a token
        *_learned(model),
    ]


@_parts_by_section.register
def _text_classifier_parts(
    model: TextClassifierConfig, _: Config, vocabulary: int, lengths: TextLengths
) -> list[ModelPart]:
    labels = LABELS * model.dim
    return [
        *_encoder_parts(model, lengths),
        _plain_part("labels", labels, 2.0 * labels / lengths.target),
        ModelPart("embeddings", (vocabulary + 1) * model.dim, 0.0, 0.0),  # the mask is a token
        *_learned(model),
    ]


def _encoder_parts(model: EncoderConfig, lengths: TextLengths) -> list[ModelPart]:
    return _stack_parts("blocks", model, model.layers, lengths.target, 1.0, causal=False)


@_parts_by_section.register
def _recurrent_parts(
    model: RecurrentConfig, _: Config, vocabulary: int, lengths: TextLengths
) -> list[ModelPart]:
    encoder, ratio = matrices(tensors.readers(model)), lengths.ratio
    return [
        _plain_part("encoder: cells", encoder, ratio * 2.0 * encoder),
        *_rnn_decoder_parts(model, lengths.source, lengths.target, ratio),
        _logits(vocabulary, model.embedding, TABLES[model.tied]),
    ]


def _rnn_decoder_parts(
    model: RecurrentConfig, source: float, target: float, ratio: float
) -> list[ModelPart]:
    names = "cells", "first", "readout", "attention.score.query", "attention.score.key"
    shapes = tensors.writer(model)
    cells, first, readout, queries, keys = (matrices(shapes, f"decoder.{each}") for each in names)
    parts = [
        _plain_part("decoder: cells", cells + first, 2.0 * (cells + first / target)),
        _plain_part("decoder: readout", readout, 2.0 * readout),
    ]
    if not model.looks:
        return parts
    # A score that is no product is computed element by element; the sum of values is one.
    products = (1 + model.score.product) * source * model.dim
    forward = 2.0 * (queries + ratio * keys + products)
    return [*parts, _plain_part("decoder: cross-attention", queries + keys, forward)]


@_parts_by_section.register
def _captioner_parts(
    model: CaptionerConfig, config: Config, vocabulary: int, lengths: TextLengths
) -> list[ModelPart]:
    assert isinstance(config, CaptionConfig)
    encoder, decoder, dim = model.encoder, model.decoder, model.decoder.dim
    images = 1.0 / (lengths.target * config.data.captions_per_picture)
    cells, grid = encoder.grid[0] * encoder.grid[1], model.memory == "grid"
    parts = []
    if isinstance(encoder, CnnConfig):
        side = encoder.size // encoder.patch
        parts += _convolution_parts(encoder.channels, encoder.blocks, 3, encoder.patch, side, side)
    elif not isinstance(encoder, GivenConfig):
        parts += _encoder_of_images(encoder)
    if grid:
        written = encoder.width * dim
        parts.append(_plain_part("cells to states", written, 2.0 * written * cells))
        reader, layers = model.reader.stack(dim), model.reader.layers
        parts += _stack_parts("cells", reader, layers, cells, cells, causal=False)
    else:
        share = max(1, dim // 4)
        joined = share * cells * 2 * dim + 2 * dim * dim
        squeezed = encoder.width * share
        forward = 2.0 * (squeezed * cells + joined)
        parts.append(_plain_part("cells to one vector", squeezed + joined, forward))
    parts = [
        replace(
            each,
            forward=images * each.forward,
            backward=images * each.backward,
            again=images * each.again,
        )
        for each in parts
        if each.weights
    ]
    keys = cells if grid else 1
    if isinstance(decoder, RnnDecoderConfig):
        recurrent = decoder.recurrent(looks=grid)
        written_by = _rnn_decoder_parts(recurrent, keys, lengths.target, keys / lengths.target)
        return [*parts, *written_by, _logits(vocabulary, decoder.embedding, 1)]
    return [
        *parts,
        *_stack_parts("decoder", decoder, decoder.layers, lengths.target, 1.0, causal=True),
        _cross_part(decoder, decoder.layers, keys, images * keys),
        _logits(vocabulary, dim, 1),
        *_learned(decoder),
    ]


def _encoder_of_images(encoder: EyeConfig | VitConfig) -> list[ModelPart]:
    """What is trained of it, over one image; frozen stages are computed once, before training."""
    if isinstance(encoder, VitConfig):
        cut = 3 * encoder.patch**2 * encoder.dim
        forward = 2.0 * cut * encoder.grid[0] * encoder.grid[1]
        patches = ModelPart("patches", cut, forward, forward)  # pixels need no gradient
        states, layers = encoder.states, encoder.layers
        return [patches, *_stack_parts("image", encoder, layers, states, states, causal=False)]
    tuned = encoder.tuned_stages
    if not tuned:
        return []
    weights = encoder.weights_by_stage[-tuned - 1 :]
    _, rows, columns = encoder.frozen_shape
    # stages at the end have the rows and columns of the first tuned one, or fewer
    forward = 2.0 * rows * columns * sum(weights)
    return [_plain_part(f"encoder: last {tuned} stages", sum(weights), forward)]


def _convolution_parts(
    channels: tuple[int, ...], blocks: int, colours: int, patch: int, rows: int, columns: int
) -> list[ModelPart]:
    """The convolutions over one image, of which the first stage has these rows and columns."""
    stem = colours * (2 * patch + 1) ** 2 * channels[0]
    forward = 2.0 * rows * columns * stem
    parts = [ModelPart("convolutions: first", stem, forward, forward)]  # pixels need no gradient
    inner = None
    for number, width in enumerate(channels, 1):
        weights = blocks * 18 * width**2
        if inner is not None:
            rows, columns = -(-rows // 2), -(-columns // 2)
            weights += 9 * inner * width
        parts.append(
            _plain_part(f"convolutions: stage {number}", weights, 2.0 * rows * columns * weights)
        )
        inner = width
    return parts


@_parts_by_section.register
def _image_classifier_parts(model: ImageClassifierConfig, *_: object) -> list[ModelPart]:
    if model.encoder is not None:
        labels = LABELS * model.encoder.width
        return [*_encoder_of_images(model.encoder), _plain_part("labels", labels, 2.0 * labels)]
    rows, columns = -(-model.height // model.patch), -(-model.width // model.patch)
    parts = _convolution_parts(
        model.channels, model.blocks, model.colours, model.patch, rows, columns
    )
    for stage, width in enumerate(model.channels, 1):
        cells = rows * columns
        if stage in model.attention_after:
            forward = cells * (8.0 * width**2 + 4.0 * cells * width)
            parts.append(_plain_part(f"attention after stage {stage}", 4 * width**2, forward))
        if stage in model.mixing_after:
            forward = 8.0 * cells * width**2
            parts.append(_plain_part(f"mixing after stage {stage}", 4 * width**2, forward))
        rows, columns = -(-rows // 2), -(-columns // 2)
    labels = LABELS * model.channels[-1]
    return [*parts, _plain_part("labels", labels, 2.0 * labels)]
