"""`jumok evaluate` for translations: BLEU, chrF and TER against references."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from jumok.bundle.card import Score
from jumok.cli.columns import as_column, pairs_of
from jumok.cli.evaluation.leaks import leak_lines
from jumok.cli.screen import counted
from jumok.cli.translation import NoteCounter
from jumok.cli.verbs.evaluate import Evaluation, Judged
from jumok.decoding.options import FOR_TRANSLATION
from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.data.pairs.pair import Pair
    from jumok.systems.translation.translator import Translator


def evaluate_translation(asked: Evaluation) -> Judged:
    """BLEU, chrF and TER of translations, or their spelling, overall and per value of --by.

    Raises:
        ConfigError: a side is missing, or the tokenizer for BLEU is not known.
    """
    from jumok.evaluation.text import check_tokenizer, read_as, tokenizer_note

    if asked.tokenize is not None:
        check_tokenizer(asked.tokenize)  # before minutes of translating
    files = asked.source, asked.reference, asked.data, asked.columns, "--reference"
    corpus = pairs_of(*files, encoding=asked.encoding, delimiter=asked.delimiter)
    if asked.by is not None and asked.data is None:
        raise ConfigError("--by names a column of --data.", do="give --data, or leave it out")
    further = () if asked.by is None else (as_column(asked.by),)
    from jumok.data.pairs.corpus import read_pairs
    from jumok.systems.translation.segments import MODEL_ALONE

    pairs = list(read_pairs(replace(corpus, further=further)))
    parts = [part for pair in pairs for part in pair.further]
    translator: Translator = asked.load("translate")
    split, keep = asked.reading.split, asked.reading.kept
    translations = translator.translate_lines(
        (pair.source for pair in pairs),
        asked.search(FOR_TRANSLATION),
        alignments=False,
        batch_size=asked.machine.batch,
        split=split,
        keep=keep,
    )
    odd = NoteCounter("line")
    hypotheses = [translation.text for translation in odd.counted(counted(translations))]
    scores = _score_parts(asked, hypotheses, pairs, parts, translator.target_language)
    note = tokenizer_note(translator.target_language)
    notes = [note] if note and asked.tokenize is None and asked.metrics == "text" else []
    if others := translator.otherwise([pair.source for pair in pairs]):
        alone = {"split": split, "keep": keep} == MODEL_ALONE
        notes.append(
            f"{others:,} of {len(pairs):,} lines are cut by jumok translate, or copied in part: "
            + ("these scores are without" if alone else "--split length --no-keep is without")
        )
    notes += leak_lines(asked, [pair.source for pair in pairs])
    return Judged(
        read_as(scores, split, keep), hypotheses,
        f"{len(pairs):,} sentences, beam {asked.decoding.beam}", (*notes, *odd.lines()),
    )  # fmt: skip


def _score_parts(
    asked: Evaluation,
    hypotheses: Sequence[str],
    pairs: "Sequence[Pair]",
    parts: Sequence[str],
    language: str,
) -> Iterator[Score]:
    from jumok.evaluation.spelling import score_spelling
    from jumok.evaluation.text import score_text

    def score(rows: Sequence[int], on: str) -> Iterator[Score]:
        written = [hypotheses[row] for row in rows]
        references = [pairs[row].target for row in rows]
        if asked.metrics == "spelling":
            return (replace(each, on=on) for each in score_spelling(written, references))
        scores = score_text(
            written,
            references,
            target_language=language,
            tokenizer=asked.tokenize,
            lowercase=asked.lowercase,
        )
        return (replace(each, on=on) for each in scores)

    yield from score(range(len(pairs)), _file(asked).name)
    for part in dict.fromkeys(parts):
        rows = [row for row, of_row in enumerate(parts) if of_row == part]
        yield from score(rows, f"{part}: {len(rows):,}")


def _file(asked: Evaluation) -> Path:
    file = asked.data or asked.source
    assert file is not None
    return file
