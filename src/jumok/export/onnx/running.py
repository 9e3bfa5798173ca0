"""Exported graphs in ONNX Runtime, with their caches."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jumok.data.special_tokens import END, PAD, START
from jumok.errors import optional_import

Ids = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float32]
FORBIDDEN = [PAD, START]


class Session:
    """One graph.

    Attributes:
        inputs, outputs: their names.
        pasts: the inputs that are caches or states, with the sizes of an empty one: 0 in place of
            a batch or a length.
        steps: whether it reads one token at a time.
    """

    def __init__(self, file: Path) -> None:
        with optional_import("running ONNX", "onnx"):
            import onnxruntime
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 3
        settings.enable_cpu_mem_arena = settings.enable_mem_pattern = False  # which only grow
        self._session = onnxruntime.InferenceSession(
            file, settings, providers=["CPUExecutionProvider"]
        )
        inputs = self._session.get_inputs()
        self.inputs = [each.name for each in inputs]
        self.outputs = [each.name for each in self._session.get_outputs()]
        self.pasts = {
            each.name: [size if isinstance(size, int) else 0 for size in each.shape]
            for each in inputs
            if each.name.startswith("past")
        }
        self.steps = any(each.name == "input_ids" and each.shape[1] == 1 for each in inputs)

    def __call__(self, **given: npt.NDArray[Any]) -> dict[str, Any]:
        """Its outputs by their names."""
        return dict(zip(self.outputs, self._session.run(None, given), strict=True))

    def nothing(self, batch: int) -> dict[str, Numbers]:
        """The cache before the first step."""
        return {name: np.zeros([batch, *size[1:]], np.float32) for name, size in self.pasts.items()}

    def later(self, made: dict[str, Any]) -> dict[str, Numbers]:
        """The cache after a step."""
        return {name: made[present_of(name)] for name in self.pasts}

    def continued(self, rows: Sequence[Sequence[int]], most: int) -> list[list[int]]:
        """What a language model writes greedily after the rows, without END."""
        ids, real = padded(rows, left=True)
        return greedy(self, ids, most, self.nothing(len(ids)), {}, real)


def present_of(past: str) -> str:
    """The output that is this input at the next step."""
    return f"present.{past.partition('.')[2]}"


class SessionPair:
    """An encoder and its decoder."""

    def __init__(self, folder: Path, suffix: str = "") -> None:
        self.encoder = Session(folder / f"encoder_model{suffix}.onnx")
        self.decoder = Session(folder / f"decoder_model_merged{suffix}.onnx")

    def begin(self, rows: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Numbers]]:
        """What the decoder is given at every step, and its first cache or state.

        Args:
            rows: token ids, END included; or images.
        """
        decoder, names = self.decoder, self.encoder.inputs
        source = padded(rows) if len(names) > 1 else (np.stack(rows),)
        named = dict(zip(names, source, strict=True))
        made = self.encoder(**named)
        states = made["last_hidden_state"]
        given = made | {"encoder_hidden_states": states, "encoder_attention_mask": source[-1]}
        has_first = all(present_of(name) in made for name in decoder.pasts)
        past = decoder.later(made) if has_first else decoder.nothing(len(states))
        return {name: given[name] for name in decoder.inputs if name in given}, past

    def written(self, rows: Sequence[Any], begin: Sequence[int], most: int) -> list[list[int]]:
        """What is written greedily for the rows, without these first tokens, and without END."""
        given, past = self.begin(rows)
        first = np.tile(np.array(begin), (len(rows), 1))
        return greedy(self.decoder, first, most, past, given)


def padded(rows: Sequence[Sequence[int]], *, left: bool = False) -> tuple[Ids, Ids]:
    """Rows of token ids as a matrix, and 1 where a token is real."""
    longest = max(map(len, rows))
    ids, real = np.full((len(rows), longest), PAD), np.zeros((len(rows), longest), np.int64)
    for number, row in enumerate(rows):
        at = slice(longest - len(row), longest) if left else slice(len(row))
        ids[number, at], real[number, at] = row, 1
    return ids, real


def greedy(
    decoder: Session,
    first: Ids,
    most: int,
    past: dict[str, Numbers],
    given: dict[str, Any],
    mask: Ids | None = None,
) -> list[list[int]]:
    """What is written after the first tokens, without END, by steps with a cache.

    Args:
        first: (batch, length).
        past: the first cache or state.
        given: the inputs that are the same at every step.
        mask: 1 where the first tokens are real, for a language model; None: the decoder takes no
            mask.
    """
    if decoder.steps:
        for column in first.T[:-1]:
            past = decoder.later(decoder(input_ids=column[:, None], **past, **given))
        first = first[:, -1:]
    read = first
    written: list[list[int]] = [[] for _ in first]
    over = np.zeros(len(first), bool)
    for _ in range(most):
        now = given if mask is None else given | {"attention_mask": mask}
        made = decoder(input_ids=read, **past, **now)
        past = decoder.later(made)
        logits = made["logits"][:, -1]
        logits[:, FORBIDDEN] = -np.inf
        best = logits.argmax(1)
        over |= best == END
        for row in np.nonzero(~over)[0]:
            written[row].append(int(best[row]))
        if over.all():
            break
        read = best[:, None]
        if mask is not None:
            mask = np.concatenate((mask, np.ones((len(mask), 1), np.int64)), 1)
    return written
