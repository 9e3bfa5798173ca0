"""Scores of word vectors: analogies, and similarity compared with human ratings.

There are two kinds of files, which are recognised by their contents:

    analogies   ": section", then lines like "Athens Greece Baghdad Iraq"; the last word is sought
    similarity  two words and a human score in each line, separated by spaces

A question counts if all its words have vectors; the score includes the number of such questions.

Source: Mikolov et al. 2013 (analogies by vector offset); Spearman 1904 (rank correlation).
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from jumok.bundle.card import Score
from jumok.data.files.reading import read_lines
from jumok.errors import DataError, Location
from jumok.inspection.heads.ranks import spearman
from jumok.systems.words import WordSpace

ANALOGIES, LIKENESS = "analogies", "Spearman"


@dataclass(frozen=True)
class Questions:
    """The questions of a file.

    Attributes:
        words: a line's words: four for analogies, two for similarity.
        sections: the section of each analogy.
        human: the human score of each pair.
    """

    file: Path
    words: list[list[str]]
    sections: list[str]
    human: list[float]


def score_words(space: WordSpace, file: Path) -> list[Score]:
    """The percentage of analogies solved, by section and in all, or 100 times Spearman's rho.

    `on` is the number of questions whose words all have vectors; the value is NaN for too few.

    Raises:
        DataError: a file of neither kind, with the line.
    """
    questions = read_questions(file)
    return _analogies(space, questions) if questions.sections else [_likeness(space, questions)]


def read_questions(file: Path) -> Questions:
    """Analogies or pairs with human scores."""
    questions = Questions(file, [], [], [])
    section = None
    for number, line in enumerate(read_lines(file), start=1):
        fields = line.split()
        if not fields:
            continue
        if fields[0] == ":" and not questions.human:
            section = " ".join(fields[1:])
        elif section is not None and len(fields) == 4:
            questions.words.append(fields)
            questions.sections.append(section)
        elif (
            section is None
            and len(fields) == 3
            and (score := _float_or_none(fields[2])) is not None
        ):
            questions.words.append(fields[:2])
            questions.human.append(score)
        else:
            raise DataError(
                "this line is not a question about words.",
                expected="four words under a line such as ': family'"
                if section is not None
                else "two words and a number, or ': family' and four words a line",
                got=repr(line[:60]),
                place=Location(file, number),
            )
    if not questions.words:
        raise DataError("there is no question in this file.", place=Location(file))
    return questions


def _analogies(space: WordSpace, questions: Questions) -> list[Score]:
    rows = [[space.row(word) for word in line] for line in questions.words]
    asked = [index for index, line in enumerate(rows) if None not in line]
    known = torch.tensor([rows[index] for index in asked], dtype=torch.long).view(-1, 4)
    # "Athens Greece Baghdad Iraq" asks Greece - Athens + Baghdad
    right = (space.solve(known[:, [1, 0, 2]]) == known[:, 3]).tolist()
    solved: dict[str, list[bool]] = defaultdict(list)
    for index, one in zip(asked, right, strict=True):
        solved[questions.sections[index]].append(one)
    return [
        _percent_right(section, solved[section], questions.sections.count(section))
        for section in dict.fromkeys(questions.sections)
    ] + [_percent_right(ANALOGIES, right, len(rows))]


def _percent_right(name: str, right: Sequence[bool], asked: int) -> Score:
    value = 100 * sum(right) / len(right) if right else float("nan")
    signature = "percent right by 3CosAdd, given words left out"
    return Score(name, value, signature=signature, on=_on(len(right), asked))


def _likeness(space: WordSpace, questions: Questions) -> Score:
    rows = [tuple(space.row(word) for word in pair) for pair in questions.words]
    cosines, human = [], []
    for (first, second), score in zip(rows, questions.human, strict=True):
        if first is not None and second is not None:
            cosines.append(float(space.directions[first] @ space.directions[second]))
            human.append(score)
    value = 100 * spearman(np.array(cosines), np.array(human))
    name = f"{LIKENESS}, {questions.file.stem}"
    return Score(
        name, value, signature="100 rho of cosines and scores", on=_on(len(human), len(rows))
    )


def _on(known: int, asked: int) -> str:
    return f"{known:,} of {asked:,} ({known / asked:.1%})"


def _float_or_none(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
