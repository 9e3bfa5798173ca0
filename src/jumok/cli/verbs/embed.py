"""`jumok embed`: texts and words as vectors, their nearest neighbours, and word benchmarks."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jumok.cli.options import (
    LARGEST_COUNT,
    ChosenLanguages,
    EngineMachine,
    Output,
    Text,
    use_threads,
)
from jumok.cli.output.cells import JSON, as_csv, form_of
from jumok.cli.output.streams import check_output, input_lines, open_output
from jumok.cli.screen import console, counted, plain_table
from jumok.data.files.atomic import atomic_file
from jumok.errors import BundleError, ConfigError, Location
from jumok.options import option

if TYPE_CHECKING:
    from jumok.shapes import Tensor
    from jumok.systems.embedding import Embedder
    from jumok.systems.words import Neighbour

ASK, DIGITS, AHEAD = "Questions about words", 6, 16

VECTOR_SUFFIXES = (".npy", ".csv", ".txt", *JSON)
"""What --output writes."""


@dataclass(frozen=True)
class WordQuestions:
    """Questions about words and texts."""

    nearest: str | None = option(
        None,
        "Print the nearest neighbours of this word; with --corpus, of this text.",
        panel=ASK,
    )
    analogy: tuple[str, str, str] | None = option(
        None, "Solve an analogy: king man woman = king - man + woman.", panel=ASK
    )
    evaluate: list[Path] | None = option(
        None,
        "Evaluate the word vectors on this file of analogies or word similarities. Repeatable.",
        panel=ASK,
    )
    corpus: Path | None = option(
        None, "With --nearest: search the lines of this file instead of words.", panel=ASK
    )
    top: int = option(
        10, "Number of neighbours to print.", minimum=1, maximum=LARGEST_COUNT, panel=ASK
    )

    @property
    def any(self) -> bool:
        """Whether there is one."""
        return bool(self.evaluate or self.analogy or self.nearest)


def embed(
    model: Annotated[
        Path,
        typer.Argument(help="Bundle, or a vector file: word2vec, GloVe or fastText."),
    ],
    file: Text = None,
    words: Annotated[
        bool, typer.Option("--words", help="Also print a contextual vector for each word.")
    ] = False,
    *,
    asked: Annotated[WordQuestions, WordQuestions()],
    languages: Annotated[ChosenLanguages, ChosenLanguages()],
    written: Annotated[Output, Output()],
    machine: Annotated[EngineMachine, EngineMachine()],
) -> None:
    """Turn texts into vectors: a JSON object per line, or a matrix (.npy, .csv).

    The vector of a sentence is the mean of the encoder's output; the vector
    of a word is the mean over its tokens. --nearest, --analogy and --evaluate
    use word vectors without context: the embeddings of the model, or a file
    of pretrained vectors.

      jumok embed MODEL texts.txt --output vectors.npy

      jumok embed glove.txt --analogy king man woman
    """
    output, as_json, batch = written.output, written.as_json, machine.batch
    _check_asked(asked, file, output, words)
    embedder = _load_embedder(model, machine, languages)
    if asked.evaluate:
        _evaluate(embedder, asked.evaluate, as_json)
    if asked.analogy is not None:
        _print_neighbours(embedder.word_space().analogy(*asked.analogy, asked.top), as_json)
    if asked.nearest is not None and asked.corpus is not None:
        lines = _nearest_lines(embedder, asked.nearest, asked.corpus, asked.top, batch)
        _print_neighbours(lines, as_json)
    elif asked.nearest is not None:
        _print_neighbours(embedder.word_space().nearest(asked.nearest, asked.top), as_json)
    if file is not None or not asked.any:
        _write_vectors(embedder, counted(input_lines(file)), words, batch, output)


def _check_asked(asked: WordQuestions, file: Path | None, output: Path | None, words: bool) -> None:
    """Raises ConfigError if an option would have no effect; otherwise as `check_output`."""
    if asked.corpus is not None and asked.nearest is None:
        raise ConfigError("--corpus needs --nearest.", do="add --nearest TEXT")
    if output is not None and file is None and asked.any:
        raise ConfigError("--output needs a file of texts.", do="name a file of texts, too")
    suffix = _suffix(output)
    form_of(output, as_json=suffix in JSON, writes=VECTOR_SUFFIXES)
    check_output(output, file)
    if words and suffix in (".npy", ".csv"):
        raise ConfigError(
            "a matrix has no room for the names of words.",
            got=f"--words with --output NAME{suffix}",
            do="name a file that ends in .jsonl",
        )


def _suffix(output: Path | None) -> str:
    return "" if output is None else output.suffix.lower()


def _load_embedder(model: Path, machine: EngineMachine, languages: ChosenLanguages) -> "Embedder":
    use_threads(machine.threads)
    # A missing path with a suffix is meant as a file, one without as a bundle: the errors differ.
    from jumok.systems.embedding import Embedder, GivenVectors

    if model.is_file() or (model.suffix and not model.is_dir()):
        from jumok.data.files.vectors import read_vectors

        return GivenVectors(read_vectors(model))
    from jumok.systems.catalog import load

    system = load(
        model, device=machine.device, precision=machine.precision, engine=machine.engine,
        threads=machine.threads,
    )  # fmt: skip
    if not isinstance(system, Embedder):
        raise BundleError(
            "this model cannot embed texts.",
            place=Location(model),
            do="give one with an encoder of text: a translator or a masked language model",
        )
    return languages.chosen(system)


def _write_vectors(
    embedder: "Embedder", lines: Iterable[str], words: bool, batch: int, output: Path | None
) -> None:
    """Writes a JSON object a line; or one matrix, shape (lines, width), as .npy or .csv."""
    vectors_of = _sentence_vectors(embedder, lines, batch)
    if output is not None and _suffix(output) == ".npy":
        rows = [vector.numpy() for _, vector in vectors_of]
        width = embedder.sentence_vectors([""]).shape[1]  # a file without lines gives no row
        with atomic_file(output) as part, part.open("wb") as file:
            import numpy as np

            np.save(file, np.array(rows, np.float32).reshape(-1, width))
        return
    with open_output(output) as stream:
        if _suffix(output) == ".csv":
            width = embedder.sentence_vectors([""]).shape[1]
            stream.write(as_csv(("text", *range(1, width + 1))))
            stream.writelines(
                as_csv((text, *_first_numbers(vector))) for text, vector in vectors_of
            )
            return
        for text, vector in vectors_of:
            row: dict[str, object] = {"text": text, "vector": _first_numbers(vector)}
            if words:
                names, vectors = embedder.word_vectors(text)
                row |= {"words": names, "vectors": list(map(_first_numbers, vectors))}
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")


def _nearest_lines(
    embedder: "Embedder", text: str, corpus: Path, top: int, batch: int
) -> "list[Neighbour]":
    import torch

    (wanted,) = torch.nn.functional.normalize(embedder.sentence_vectors([text]), dim=1)
    likeness = {
        line: float(torch.nn.functional.normalize(vector, dim=0) @ wanted)
        for line, vector in _sentence_vectors(embedder, counted(input_lines(corpus)), batch)
        if line.strip()
    }
    best = sorted(likeness, key=likeness.__getitem__, reverse=True)[:top]
    from jumok.systems.words import Neighbour

    return [Neighbour(line, likeness[line]) for line in best]


def _sentence_vectors(
    embedder: "Embedder", lines: Iterable[str], batch: int
) -> Iterator[tuple[str, "Tensor"]]:
    stream = iter(lines)
    while chunk := list(islice(stream, AHEAD * batch)):
        yield from zip(chunk, embedder.sentence_vectors(chunk, batch), strict=True)


def _first_numbers(vector: "Tensor") -> list[float]:
    return [round(number, DIGITS) for number in vector.tolist()]


def _evaluate(embedder: "Embedder", files: list[Path], as_json: bool) -> None:
    space = embedder.word_space()
    from jumok.evaluation.words import score_words

    scores = [score for file in files for score in score_words(space, file)]
    if as_json:
        known = [asdict(each) | {"value": each.value if each.known else None} for each in scores]
        typer.echo(json.dumps(known, indent=2))
        return
    table = plain_table("", "score", "with vectors", left=("", "with vectors"))
    for score in scores:
        table.add_row(score.name, f"{score.value:.2f}" if score.known else "-", score.on)
    console().print(table)
    for signature in dict.fromkeys(score.signature for score in scores):
        console().print(signature)


def _print_neighbours(neighbours: "list[Neighbour]", as_json: bool) -> None:
    if as_json:
        listed = [neighbour._asdict() for neighbour in neighbours]
        typer.echo(json.dumps(listed, ensure_ascii=False, indent=2))
        return
    for neighbour in neighbours:
        console().print(f"{neighbour.cosine:.3f}  {neighbour.text}", soft_wrap=True)
