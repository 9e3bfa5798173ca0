"""What a model loses in the formats of others, and what an export costs: a table of docs/export.md.

    OMP_NUM_THREADS=1 python -m benchmarks.exports runs/NAME/model [FORMAT ...]

A translator writes the lines held out of its run, at most 1,000; a language model continues 1,000
places of its held-out text after PROMPT tokens. Both are written greedily, by jumok on torch and by
the format's own program. BLEU is that of their program's lines, less that of ours. Of the lines
that differ, "ties" are those that part where two tokens are equally probable.
Processor seconds and the peak of resident memory, with the pages of mapped files, are those of the
command `jumok export`, each in a process of its own, where Python may keep its compiled files.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.environments import OUR_COMMAND
from benchmarks.process import children_seconds, one_thread_environment, peak_of
from jumok.bundle.reading import Bundle, read_bundle
from jumok.cli.quality import held_out
from jumok.data.special_tokens import END, PAD, START
from jumok.evaluation.text import score_text
from jumok.export.catalog import FORMATS
from jumok.export.comparing import TIE, GreedyWriter, Rows, first_difference
from jumok.export.format import ExportPrecision
from jumok.export.onnx.folder import GRAPHS
from jumok.export.onnx.running import padded
from jumok.export.rows import rows_of

LONGEST, BATCH = 128, 32
"""Tokens of a line, and lines that transformers writes at once."""
PROMPT, CONTINUED, PROMPTS = 8, 24, 1_000
"""Tokens of a prompt and of what follows; and prompts."""
HEADINGS = (
    "`--to`", "precision", "equal lines", "ties", "BLEU", "MB", "processor seconds", "memory, MB",
)  # fmt: skip

Runner = Callable[[Path, GreedyWriter, Rows, ExportPrecision], list[list[int]]]


def longest(writer: GreedyWriter) -> int:
    """Tokens of a line."""
    return CONTINUED if writer.bundle.config.task == "language-model" else LONGEST


def in_ctranslate2(
    folder: Path, writer: GreedyWriter, rows: Rows, precision: ExportPrecision
) -> list[list[int]]:
    """Greedily, by its engine."""
    from jumok.export.ctranslate2 import CTranslate2Engine
    from jumok.export.tokens import token_names

    return CTranslate2Engine(folder, writer, token_names(writer.tokenizer), precision).written(
        rows, longest(writer)
    )


def in_onnx(
    folder: Path, writer: GreedyWriter, rows: Rows, precision: ExportPrecision
) -> list[list[int]]:
    """Greedily, in ONNX Runtime."""
    from jumok.export.onnx.quantizing import SUFFIX, OnnxEngine

    engine = OnnxEngine(folder / GRAPHS, writer, "" if precision == "fp32" else SUFFIX)
    return engine.written(rows, longest(writer))


def in_llama(
    file: Path, writer: GreedyWriter, rows: Rows, precision: ExportPrecision
) -> list[list[int]]:
    """Greedily, in llama.cpp."""
    from jumok.export.gguf.comparing import LlamaEngine
    from jumok.export.gguf.writing import rows_there

    del precision  # the file says it
    names = rows_there(writer.bundle, writer.model.state_dict())
    return LlamaEngine(file, names, PROMPT + CONTINUED + 1).written(rows, CONTINUED)


def in_transformers(
    folder: Path, writer: GreedyWriter, rows: Rows, precision: ExportPrecision
) -> list[list[int]]:
    """Greedily, by `generate` on batches; the tokens that open a target are written by it."""
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    names = rows_of(writer.model.state_dict(), writer.bundle.config.vocabulary_size)
    kept, pad, end = names.kept(), names.order[PAD], names.order[END]
    continues = writer.bundle.config.task == "language-model"
    auto = transformers.AutoModelForCausalLM if continues else transformers.AutoModelForSeq2SeqLM
    dtype = torch.float32 if precision == "fp32" else torch.bfloat16
    model = auto.from_pretrained(folder, local_files_only=True, dtype=dtype).eval()
    written = []
    for at in range(0, len(rows), BATCH):
        read = [[START, *row] if continues else [*row, END] for row in rows[at : at + BATCH]]
        ids, real = map(torch.from_numpy, padded(read, left=continues))
        ids = torch.tensor(names.order)[ids].where(real != 0, pad)
        made = model.generate(
            ids, attention_mask=real, do_sample=False, num_beams=1, max_new_tokens=longest(writer)
        )
        for tokens in made[:, ids.shape[1] if continues else 1 :].tolist():
            own = tokens[: tokens.index(end)] if end in tokens else tokens
            written.append([kept[row] for row in own][len(writer.opening) :])
    return written


RUNNERS: dict[str, Runner] = {
    "huggingface": in_transformers,
    "ctranslate2": in_ctranslate2,
    "onnx": in_onnx,
    "gguf": in_llama,
}
"""By the names of formats: what their programs write for the ids of lines."""


class Cost(NamedTuple):
    """Of one export; megabytes 0: it wrote nothing, and said why."""

    megabytes: float
    seconds: float
    memory: float

    @property
    def cells(self) -> list[str]:
        """Those of the table."""
        size = f"{self.megabytes:.1f}" if self.megabytes else "refused"
        return [size, f"{self.seconds:.0f}", f"{self.memory:.0f}"]


def export(model: Path, name: str, precision: ExportPrecision, output: Path) -> Cost:
    """Runs the command."""
    command = [*OUR_COMMAND, "export", str(model), "--to", name]
    command += ["--output", str(output), "--precision", precision]
    before, peak = children_seconds(), 0
    process = subprocess.Popen(command, env=one_thread_environment())
    while process.poll() is None:
        peak = max(peak, peak_of(Path(f"/proc/{process.pid}")))
        time.sleep(0.02)
    files = [output, *output.rglob("*")] if output.is_dir() else [output]
    size = sum(each.stat().st_size for each in files if each.is_file())
    return Cost(size / 1e6, children_seconds() - before, peak / 1e6)


class Lines:
    """What is written of the lines held out, here and there."""

    def __init__(self, bundle: Bundle) -> None:
        self.writer = GreedyWriter(bundle)
        self._references: list[str] = []
        encode, held = self.writer.tokenizer.encode, held_out(bundle)
        if bundle.config.task == "language-model":
            ids = [id for text, _ in held for id in encode(text)]
            starts = range(0, len(ids) - PROMPT, max(1, (len(ids) - PROMPT) // PROMPTS))[:PROMPTS]
            self.rows: Rows = [ids[start : start + PROMPT] for start in starts]
        else:
            self.rows = [encode(source) for source, _ in held]
            self._references = [reference for _, reference in held]
        self._ours = self.writer.written(self.rows, longest(self.writer))
        self._score = self._bleu(self._ours)

    def _bleu(self, written: Rows) -> float | None:
        if not self._references:
            return None
        (score,) = score_text(
            [self.writer.decoded(each) for each in written], self._references, metrics=("bleu",),
            target_language=self.writer.bundle.config.target_language, resamples=0,
        )  # fmt: skip
        return score.value

    def __str__(self) -> str:
        score = "" if self._score is None else f", BLEU {self._score:.2f} here"
        return f"{len(self.rows):,} lines, {sum(map(len, self._ours)):,} tokens{score}"

    def cells(self, theirs: Rows) -> list[str]:
        """Those of the table."""
        equal = ties = 0
        for row, mine, other in zip(self.rows, self._ours, theirs, strict=True):
            if mine == list(other):
                equal += 1
                continue
            at, tokens = first_difference(mine, other)
            ties += abs(self.writer.lead(row, mine[:at], tokens)) < TIE
        score = self._bleu(theirs)
        lost = "" if score is None or self._score is None else f"{score - self._score:+.2f}"
        return [f"{equal:,}", str(ties), lost]


def main() -> None:
    """Prints the table."""
    model = Path(sys.argv[1])
    bundle = read_bundle(model)
    lines = Lines(bundle)
    print(lines, file=sys.stderr)
    print("|", " | ".join(HEADINGS), "|")
    print("|---|---|" + "--:|" * (len(HEADINGS) - 2))
    for name in sys.argv[2:] or FORMATS:
        format = FORMATS[name]
        if format.obstacle(bundle) is not None:
            continue
        for precision in format.precisions:
            with TemporaryDirectory() as room:
                output = Path(room) / (format.file or name)
                cost, cells = export(model, name, precision, output), ["", "", ""]
                if cost.megabytes and name in RUNNERS:
                    theirs = RUNNERS[name](output, lines.writer, lines.rows, precision)
                    cells = lines.cells(theirs)
            print("|", " | ".join([name, precision, *cells, *cost.cells]), "|", flush=True)


if __name__ == "__main__":
    main()
