"""What a model loses in the formats of others, and what an export costs: a row for each format.

    OMP_NUM_THREADS=1 python -m benchmarks.exports runs/NAME/model [FORMAT ...]

The lines are those held out of the model's run, at most 1,000, written greedily by jumok on torch
and by the format's own program; a line that differs is a tie if the logarithms of the probabilities
of the two tokens where they part are less than TIE apart. BLEU is that of their program's lines,
less that of ours. Seconds and memory are those of the command `jumok export`, each in a process
of its own, where Python may keep its compiled files.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.process import one_thread_environment, peak_of
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
HEADINGS = "format", "precision", "equal lines", "ties", "BLEU", "MB", "seconds", "memory, MB"

Runner = Callable[[Path, GreedyWriter, Rows, ExportPrecision], list[list[int]]]


def in_ctranslate2(
    folder: Path, writer: GreedyWriter, rows: Rows, precision: ExportPrecision
) -> list[list[int]]:
    """Greedily, by its engine."""
    from jumok.export.ctranslate2 import CTranslate2Engine
    from jumok.export.tokens import token_names

    return CTranslate2Engine(folder, writer, token_names(writer.tokenizer), precision).written(
        rows, LONGEST
    )


def in_onnx(
    folder: Path, writer: GreedyWriter, rows: Rows, precision: ExportPrecision
) -> list[list[int]]:
    """Greedily, in ONNX Runtime."""
    from jumok.export.onnx.quantizing import SUFFIX, OnnxEngine

    engine = OnnxEngine(folder / GRAPHS, writer, "" if precision == "fp32" else SUFFIX)
    return engine.written(rows, LONGEST)


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
            ids, attention_mask=real, do_sample=False, num_beams=1, max_new_tokens=LONGEST
        )
        for tokens in made[:, ids.shape[1] if continues else 1 :].tolist():
            own = tokens[: tokens.index(end)] if end in tokens else tokens
            written.append([kept[row] for row in own][len(writer.opening) :])
    return written


RUNNERS: dict[str, Runner] = {
    "huggingface": in_transformers,
    "ctranslate2": in_ctranslate2,
    "onnx": in_onnx,
}
"""By the names of formats: what their programs write for the ids of lines."""


class Cost(NamedTuple):
    """Of one export."""

    megabytes: float
    seconds: float
    memory: float


def export(model: Path, name: str, precision: ExportPrecision, output: Path) -> Cost | None:
    """Runs the command; None: it wrote nothing, and said why."""
    command = [sys.executable, "-m", "jumok", "export", str(model), "--to", name]
    begun = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--output", str(output), "--precision", precision],
        env=one_thread_environment(),
    )
    peak = 0
    while process.poll() is None:
        peak = max(peak, peak_of(Path(f"/proc/{process.pid}")))
        time.sleep(0.02)
    seconds = time.perf_counter() - begun
    if process.returncode:
        return None
    files = [output, *output.rglob("*")] if output.is_dir() else [output]
    size = sum(each.stat().st_size for each in files if each.is_file())
    return Cost(size / 1e6, seconds, peak / 1e6)


def bleu(bundle: Bundle, texts: Sequence[str], references: Sequence[str]) -> float:
    """Of these lines."""
    language = bundle.config.target_language
    (score,) = score_text(
        texts, references, target_language=language, metrics=("bleu",), resamples=0
    )
    return score.value


def main() -> None:
    """Prints the table."""
    model = Path(sys.argv[1])
    bundle = read_bundle(model)
    writer = GreedyWriter(bundle)
    sources, references = zip(*held_out(bundle), strict=True)
    rows = [writer.tokenizer.encode(text) for text in sources]
    ours = writer.written(rows, LONGEST)
    whole = bleu(bundle, [writer.decoded(each) for each in ours], references)
    print(f"{len(rows):,} lines, BLEU {whole:.2f} here; a tie is less than {TIE} apart")
    print("|", " | ".join(HEADINGS), "|")
    print("|---|---|" + "--:|" * (len(HEADINGS) - 2))
    for name in sys.argv[2:] or FORMATS:
        format = FORMATS[name]
        if format.obstacle(bundle) is not None:
            continue
        for precision in format.precisions:
            with TemporaryDirectory() as room:
                output = Path(room) / (format.file or name)
                cost = export(model, name, precision, output)
                if cost is None:
                    continue
                cells: tuple[object, ...] = ("", "", "")
                if name in RUNNERS:
                    theirs = RUNNERS[name](output, writer, rows, precision)
                    cells = compared(bundle, writer, (rows, ours, theirs), references, whole)
            row = (name, precision, *map(str, cells), *(f"{each:.1f}" for each in cost))
            print("|", " | ".join(row), "|", flush=True)


def compared(
    bundle: Bundle,
    writer: GreedyWriter,
    lines: tuple[Rows, Rows, Rows],
    references: Sequence[str],
    whole: float,
) -> tuple[object, ...]:
    """Equal lines, ties, and the difference of BLEU."""
    equal = ties = 0
    for row, mine, other in zip(*lines, strict=True):
        if list(mine) == list(other):
            equal += 1
            continue
        at, tokens = first_difference(mine, other)
        ties += abs(writer.lead(row, mine[:at], tokens)) < TIE
    texts = [writer.decoded(each) for each in lines[2]]
    return equal, ties, f"{bleu(bundle, texts, references) - whole:+.2f}"


if __name__ == "__main__":
    main()
