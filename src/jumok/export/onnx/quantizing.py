"""Graphs with 8-bit integers, by ONNX Runtime's own quantiser, and what the model loses by them.

Weights are unsigned, with a scale for each column; inputs are rounded while it computes. Products
of unsigned numbers cannot overflow on processors without 8-bit dot products.
"""

import logging
import math
from pathlib import Path

import numpy as np

from jumok.config.causal import CausalConfig
from jumok.data.special_tokens import END, START
from jumok.errors import optional_import
from jumok.export.comparing import GreedyWriter, Rows, loss_of_engines
from jumok.export.format import ExportOptions
from jumok.export.onnx.running import Session, SessionPair
from jumok.systems.loading import longest_of

BATCH = 32
"""Lines that are written at once."""
SUFFIX = "_quantized"
"""What transformers.js adds to the names of graphs with 8-bit integers."""


class OnnxEngine:
    """The graphs of a translator or a language model in ONNX Runtime.

    Args:
        suffix: what the names of the graphs end with.
    """

    def __init__(self, folder: Path, writer: GreedyWriter, suffix: str = "") -> None:
        self._writer = writer
        self._reach = longest_of(writer.bundle.section)
        self._continues = isinstance(writer.bundle.section, CausalConfig)
        self._graphs = (
            Session(folder / f"model{suffix}.onnx")
            if self._continues
            else SessionPair(folder, suffix)
        )

    def written(self, rows: Rows, longest: int) -> list[list[int]]:
        """What is written greedily for each source, or after each prompt, without END.

        Args:
            longest: of an output, in tokens; the opening of a target included.
        """
        outputs: list[list[int]] = []
        for at in range(0, len(rows), BATCH):
            batch, graphs = rows[at : at + BATCH], self._graphs
            if isinstance(graphs, Session):
                outputs += graphs.continued([[START, *row] for row in batch], longest)
                continue
            opening = self._writer.opening
            most = min(longest, self._reach or longest) - len(opening)
            outputs += graphs.written([[*row, END] for row in batch], [START, *opening], most)
        return outputs

    def perplexity(self, rows: Rows) -> float:
        """Of these texts, END included."""
        graph, total, count = self._graphs, 0.0, 0
        assert isinstance(graph, Session)
        for row in rows:
            whole = np.array([[START, *row, END]])
            read = whole[:, :-1]
            past = graph.nothing(1)
            logits = graph(input_ids=read, attention_mask=np.ones_like(read), **past)["logits"][0]
            highest = logits.max(1)
            sums = highest + np.log(np.exp(logits - highest[:, None]).sum(1))
            total += float((sums - logits[np.arange(len(logits)), whole[0, 1:]]).sum())
            count += len(logits)
        return math.exp(total / max(1, count))


def quantize(folder: Path, writer: GreedyWriter, options: ExportOptions) -> str:
    """Replaces the graphs of a folder by those with 8-bit integers; what is lost, in words.

    Raises:
        ConfigError: the model loses too much.
    """
    with optional_import("writing ONNX", "onnx"):
        from onnxruntime.quantization import QuantType, quantize_dynamic
    whole = sorted(folder.glob("*.onnx"))
    logging.getLogger().addFilter(_is_no_advice)
    for file in whole:
        quantize_dynamic(
            file,
            file.with_stem(file.stem + SUFFIX),
            per_channel=True,
            weight_type=QuantType.QUInt8,
            extra_options={"EnableSubgraph": True},
        )
    logging.getLogger().removeFilter(_is_no_advice)
    both = OnnxEngine(folder, writer), OnnxEngine(folder, writer, SUFFIX)
    lost = loss_of_engines(writer, both, options)
    for file in whole:
        for part in (file, file.with_name(f"{file.name}.data")):
            part.unlink(missing_ok=True)
    return lost


def _is_no_advice(record: logging.LogRecord) -> bool:
    """Without the quantiser's advice to optimise the graphs before."""
    return "pre-processing" not in record.getMessage()
