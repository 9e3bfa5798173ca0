"""The line from which two files are no longer aligned.

Translations of long sentences are long (Gale and Church 1993): the lengths of aligned lines vary
together, those of shifted lines do not. With d more lines on one side, every path of shifts 0 <= 1
<= ... <= d down the files has a cost, and the cheapest path's first step is the line.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from jumok.data.files.reading import read_lines
from jumok.data.report import UTF8, CorpusReport
from jumok.errors import DataError, Location

VARIANCE = 6.8  # of the length of a translation, per character (Gale and Church 1993, section 3.1)
WORST = 9.0  # the cost of a pair is capped, so that one unusual line does not decide
LEAST_GAIN = 60.0  # the minimum gain of a shifted section
SHIFTS = 8  # beyond this many extra lines only the jump to all of them at once is tried

CharacterLengths = npt.NDArray[np.float64]


def explain_drift(source: Path, target: Path, encoding: str = UTF8) -> DataError:
    """The error for two files with different line counts; it names the line of the first shift."""
    sources, targets = _line_lengths(source, encoding), _line_lengths(target, encoding)
    shorter, longer = (source, target) if len(sources) < len(targets) else (target, source)
    shared = min(len(sources), len(targets))
    line = first_drift(sources, targets) + 1
    if line > shared:
        where = (
            f"they seem to be aligned until the end of {shorter.name}, and {longer.name} continues"
        )
    else:
        where = f"judging by their lengths, they seem to be misaligned from line {line:,}"
    return DataError(
        "the two sides do not have the same number of lines.",
        expected="one translation per line",
        got=f"{len(sources):,} lines in {source}, {len(targets):,} in {target}; {where}",
        do=f"check line {min(line, shared):,} of both files",
        place=Location(longer, line),
    )


def _line_lengths(file: Path, encoding: str) -> CharacterLengths:
    lines = read_lines(file, CorpusReport(file.name, encoding=encoding))
    return np.fromiter((len(line) for line in lines), dtype=np.float64)


def first_drift(source: CharacterLengths, target: CharacterLengths) -> int:
    """The index of the first line without a counterpart, given the lines' lengths in characters."""
    longer, shorter = (source, target) if len(source) > len(target) else (target, source)
    extra, size = len(longer) - len(shorter), len(shorter)
    if size == 0:
        return 0
    ratio = max(longer.mean(), 1.0) / max(shorter.mean(), 1.0)
    steps = sorted({*range(min(extra, SHIFTS) + 1), extra})
    # cost[k]: the cheapest way over the first k lines of the shorter file that ends at this shift;
    # step[k]: where that way left shift 0.
    cost = np.concatenate([[0.0], np.cumsum(_cost(longer[:size], shorter, ratio))])
    step = np.arange(size + 1)
    for shift in steps[1:]:
        here = np.concatenate(
            [[0.0], np.cumsum(_cost(longer[shift : shift + size], shorter, ratio))]
        )
        gain = cost - here
        best = np.minimum.accumulate(gain)
        entered = np.maximum.accumulate(np.where(gain <= best, np.arange(size + 1), 0))
        cost, step = here + best, step[entered]
    return int(step[-1])


def shifted_part(source: CharacterLengths, target: CharacterLengths) -> tuple[int, int, int] | None:
    """A section of the corpus in which the pairs are shifted against each other, by their lengths.

    It is the section and the shift that fit the lengths best, compared with no shift. None: no
    section gains LEAST_GAIN. (The most by chance in 335,000 pairs of three corpora is 21; one line
    lost and another inserted 100 lines later gives 118 and more.)

    Returns:
        the indices of its first and its last pair, and the shift to the right target in pairs.
    """
    if not len(source):
        return None
    ratio = max(source.mean(), 1.0) / max(target.mean(), 1.0)
    straight = _cost(source, target, ratio)
    best, section = LEAST_GAIN, None
    for shift in (*range(-SHIFTS, 0), *range(1, SHIFTS + 1)):
        first, last = max(0, -shift), len(source) - max(0, shift)
        if last <= first:
            continue
        moved = _cost(source[first:last], target[first + shift : last + shift], ratio)
        total = np.concatenate([[0.0], np.cumsum(straight[first:last] - moved)])
        gain = total - np.minimum.accumulate(total)
        end = int(gain.argmax())
        if gain[end] > best:
            best, start = float(gain[end]), int(total[: end + 1].argmin())
            section = first + start, first + end - 1, shift
    return section


def _cost(longer: CharacterLengths, shorter: CharacterLengths, ratio: float) -> CharacterLengths:
    """The squared deviation of each length from the length of its counterpart predicts, capped."""
    mean = (longer + shorter * ratio) / 2 + 1
    return np.minimum((longer - shorter * ratio) ** 2 / (mean * VARIANCE), WORST)
