"""Graphs of ONNX from modules, by torch's exporter."""

import logging
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from jumok.errors import BundleError, optional_import

OPSET = 18
BATCH = "batch_size"
"""The name of this axis is also read by transformers.js, which makes the first, empty cache."""
SOURCE = "encoder_sequence_length"
ROWS, READ = 2, 7
"""Sizes of the examples: batch, source."""


@dataclass(frozen=True)
class GraphInput:
    """One input.

    Attributes:
        example: whose axes that vary are neither 0 nor 1 long: the exporter would fix them.
        axes: the names of those that vary.
    """

    name: str
    example: Tensor
    axes: Mapping[int, str]


@dataclass(frozen=True)
class Graph:
    """What is traced.

    Attributes:
        name: that of its file, without the suffix.
        module: takes the inputs in their order, and gives the outputs.
        outputs: their names, and those of their axes that vary.
    """

    name: str
    module: nn.Module
    inputs: Sequence[GraphInput]
    outputs: Sequence[tuple[str, Mapping[int, str]]]


def tokens(batch: int, length: int) -> Tensor:
    """An example of token ids."""
    return torch.randint(4, (batch, length))


def write_graph(graph: Graph, file: Path) -> None:
    """Traces the module and writes its graph; beyond 2 GB the weights are in a file beside it.

    Raises:
        BundleError: an axis that should vary does not, in this model.
        MissingExtraError: a package is not installed.
    """
    with optional_import("writing ONNX", "onnx"):
        import onnx  # noqa: F401  # both are used by torch's exporter
        import onnxscript  # noqa: F401
    logging.getLogger("torch.onnx._internal.exporter._registration").setLevel(logging.ERROR)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = _converted(graph)
    described = program.model.graph
    for value, each in zip(described.inputs, graph.inputs, strict=True):
        _name_axes(value, each.axes)
    for value, (_, axes) in zip(described.outputs, graph.outputs, strict=True):
        _name_axes(value, axes)
    program.save(file)


def _converted(graph: Graph) -> "torch.onnx.ONNXProgram":
    """The graph of the module. Where ONNX has all of its operations, none is decomposed: that would
    trace it twice again, which takes as long as the rest.
    """
    plain = _plain(_traced(graph))
    if plain is not None:
        with suppress(torch.onnx.OnnxExporterError):
            return _in_onnx(plain, graph)
    return _in_onnx(_traced(graph), graph)


def _traced(graph: Graph) -> torch.export.ExportedProgram:
    varying = tuple(dict.fromkeys(each.axes, torch.export.Dim.DYNAMIC) for each in graph.inputs)
    inputs = tuple(each.example for each in graph.inputs)
    return torch.export.export(graph.module.eval(), inputs, dynamic_shapes=(varying,))


def _in_onnx(program: torch.export.ExportedProgram, graph: Graph) -> "torch.onnx.ONNXProgram":
    made = torch.onnx.export(
        program,
        dynamo=True,
        opset_version=OPSET,
        input_names=[each.name for each in graph.inputs],
        output_names=[name for name, _ in graph.outputs],
        verbose=False,
    )
    assert made is not None
    return made


def _plain(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram | None:
    """The program with operations that torch's exporter knows, which does not decompose it then;
    None: one of them writes in place.
    """
    aten = torch.ops.aten
    same = {
        aten.__and__.Tensor: aten.bitwise_and.Tensor,
        aten.detach_.default: aten.detach.default,
    }
    for node in program.graph.nodes:
        node.target = same.get(node.target, node.target)
        if node.target in (aten.to.dtype, aten.to.device):
            dtype = next(each for each in node.args if isinstance(each, torch.dtype))
            node.target = torch.ops.prims.convert_element_type.default
            node.args, node.kwargs = (node.args[0], dtype), {}
        schema = getattr(node.target, "_schema", None)
        if schema is not None and schema.is_mutable:
            return None
    program.run_decompositions = lambda *_: program
    return program


def _name_axes(value: Any, axes: Mapping[int, str]) -> None:
    shape = list(value.shape)
    for axis, name in axes.items():
        if isinstance(shape[axis], int):
            raise BundleError(
                "a graph of this model would read one size only.",
                got=f"{shape[axis]} for {name} of {value.name}",
                do="report it, with the model's config.json",
            )
        shape[axis] = name
    value.shape = type(value.shape)(shape)
