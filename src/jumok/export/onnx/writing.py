"""The graphs of each kind of model, written and compared with it in ONNX Runtime."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from jumok.bundle.reading import Bundle
from jumok.bundle.weights import load_model
from jumok.config.captioner import CaptionerConfig
from jumok.config.pictures import ImageClassifierConfig
from jumok.data.special_tokens import END
from jumok.export.comparing import LINES, GreedyWriter
from jumok.export.format import ExportOptions
from jumok.export.huggingface.tokenizer_files import template_of, tokenizer_of
from jumok.export.onnx import checking
from jumok.export.onnx.graphs import (
    causal_graph,
    decoder_graph,
    encoder_graph,
    picture_graph,
    reader_graph,
)
from jumok.export.onnx.preparing import prepare
from jumok.export.onnx.quantizing import quantize
from jumok.export.onnx.recurrent_graphs import reading_graph, step_graph
from jumok.export.onnx.tracing import ROWS, Graph, write_graph
from jumok.interop.checking import TEXTS
from jumok.models.captioner import CaptionerModel
from jumok.models.causal import CausalLanguageModel
from jumok.models.classifier import TextClassifier
from jumok.models.encoder_decoder import Transformer
from jumok.models.image_classifier import ImageClassifier
from jumok.models.masked import MaskedLanguageModel
from jumok.models.recurrent import RecurrentModel
from jumok.models.recurrent_decoder import RecurrentDecoder
from jumok.systems.captioner import picture_reader_of


def write_graphs(bundle: Bundle, folder: Path, options: ExportOptions) -> str:
    """Writes the graphs into a folder; what was compared, in words.

    Raises:
        BundleError: the graphs compute other numbers.
        MissingExtraError: a package is not installed.
    """
    model = load_model(bundle)
    if isinstance(model, ImageClassifier):
        return _write_labels(model, bundle, folder)
    if isinstance(model, MaskedLanguageModel | TextClassifier):
        return _write_reader(model, bundle, folder, options)
    writer = GreedyWriter(bundle)
    compared = _write_writer(model, writer, folder, options)
    if options.precision == "fp32":
        return compared
    del model  # which was prepared for tracing
    return f"{compared} in fp32; {quantize(folder, writer, options)}"


def _trace(
    model: nn.Module, bundle: Bundle, graphs: Callable[[], Sequence[Graph]], to: Path
) -> None:
    prepare(model, bundle.section)
    for graph in graphs():
        write_graph(graph, to / f"{graph.name}.onnx")


def _write_labels(model: ImageClassifier, bundle: Bundle, folder: Path) -> str:
    section = bundle.section
    assert isinstance(section, ImageClassifierConfig)
    height, width, colours = section.input_shape[:3]
    pixels = _images((colours, height, width), "uint8", LINES)
    with torch.inference_mode():
        logits = [each.numpy() for each in model(pixels)]
    _trace(model, bundle, lambda: [picture_graph(model, pixels[:ROWS])], folder)
    expected = checking.Expected(list(pixels), [], logits)
    return checking.compare_pictures(folder, pixels, expected)


def _write_reader(
    model: MaskedLanguageModel | TextClassifier,
    bundle: Bundle,
    folder: Path,
    options: ExportOptions,
) -> str:
    texts = list(dict.fromkeys((*options.examples, *TEXTS)))[:LINES]
    most, tokenizer = bundle.config.max_tokens, tokenizer_of(bundle)
    read = _surrounded(bundle, [tokenizer.encode(text)[:most] for text in texts])
    expected = checking.numbers_of(model, read)
    _trace(model, bundle, lambda: [reader_graph(model)], folder)
    return checking.compare_reading(folder, expected)


def _write_writer(
    model: nn.Module, writer: GreedyWriter, folder: Path, options: ExportOptions
) -> str:
    bundle = writer.bundle
    section = bundle.section
    if isinstance(section, CaptionerConfig):
        reader = picture_reader_of(section)
        read: Any = list(_images(reader.shape, reader.kind, LINES))
        inputs: Any = read
    else:
        inputs = writer.inputs(options.examples)
        continues = isinstance(model, CausalLanguageModel)
        read = _surrounded(bundle, inputs) if continues else [[*ids, END] for ids in inputs]
    expected = checking.expected_of(writer, inputs, read)
    _trace(model, bundle, lambda: _graphs_of(model, read), folder)
    compare = checking.compare_pair
    if isinstance(model, CausalLanguageModel):
        compare = checking.compare_continuations
    return compare(folder, expected, writer, inputs)


def _graphs_of(model: nn.Module, read: Sequence[Any]) -> list[Graph]:
    """The graphs of a model that writes.

    Args:
        read: inputs; images for a captioner.
    """
    if isinstance(model, CausalLanguageModel):
        return [causal_graph(model)]
    if isinstance(model, Transformer):
        return [encoder_graph(model), decoder_graph(model.decoder, padded=True)]
    if isinstance(model, RecurrentModel):
        one = model.one_vector
        step = step_graph(model.decoder, padded=not one, positions=1 if one else None)
        return [reading_graph(model), step]
    assert isinstance(model, CaptionerModel)
    example = torch.stack(read[:ROWS])  # type: ignore[arg-type]
    if not isinstance(model.decoder, RecurrentDecoder):
        return [picture_graph(model, example), decoder_graph(model.decoder, padded=False)]
    with torch.inference_mode():
        cells = model.encode(example).states.shape[1]
    step = step_graph(model.decoder, padded=False, positions=cells)
    return [picture_graph(model, example), step]


def _images(shape: tuple[int, ...], kind: str, count: int) -> Tensor:
    """Images of noise."""
    drawn = torch.Generator().manual_seed(1)
    if kind == "uint8":
        return torch.randint(256, (count, *shape), dtype=torch.uint8, generator=drawn)
    return torch.randn(count, *shape, generator=drawn)


def _surrounded(bundle: Bundle, inputs: Sequence[Sequence[int]]) -> list[list[int]]:
    """The ids of texts as the model reads them."""
    template = template_of(bundle)
    at = template.index(None)
    before, after = (
        [each for each in part if each is not None] for part in (template[:at], template[at:])
    )
    return [[*before, *ids, *after] for ids in inputs]
