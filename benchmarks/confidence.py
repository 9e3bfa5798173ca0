"""Whether a translator knows when it does not know: AUROC of its confidence on a mixed set.

    python -m benchmarks.confidence runs/smallworld-en-ko/model --clean TEST.en TEST.ko \
      --other TATOEBA.en --foreign FRENCH.fr

The set: test sentences; the same with two letters of one word swapped, and with markup; sentences
of another topic; sentences of another language. A translation is right if its chrF2 against the
reference is 70 or more; those of another language, and of another topic without references, are
wrong. The area under the curve is the probability that a right translation scores higher than a
wrong one.

It is compared with scores that need no reference either (Fomicheva et al. 2020, "Unsupervised
quality estimation for neural machine translation"): the mean log-probability of the tokens (TP),
the least of them, their standard deviation (Sent-Std), the mean entropy of the distributions
(Softmax-Ent), and the mean and the variance of TP over passes with dropout (D-TP, D-Var).
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch

from jumok.data.pairs.batches import collate
from jumok.data.pairs.noise import swapped
from jumok.evaluation.calibration import (
    area_under_curve,
    calibration_error,
    reliability_bins,
    right_translations,
)
from jumok.systems.translation.result import Translation
from jumok.systems.translation.translator import Translator
from jumok.training.objectives import decoder_states, real_states

MARKUPS = ("[b]{}[/b]", "'''{}'''", ":ref:`{}`", "~~{}~~", "\\textbf{{{}}}", "<<{}>>")
ROWS = 32


@dataclass(frozen=True)
class Part:
    """Some texts of one kind, with references; None: no translation is right."""

    name: str
    sources: list[str]
    references: list[str] | None


def main() -> None:
    """Translate the set, and print the area under the curve of each score."""
    arguments = _arguments()
    translator = Translator.load(arguments.model, device="cpu", threads=1)
    parts = list(parts_of(arguments))
    translations = [
        translator.translate(part.sources, alignments=False, beam=arguments.beam) for part in parts
    ]
    right = np.concatenate([_right(*each) for each in zip(parts, translations, strict=True)])
    every = [each for of_part in translations for each in of_part]
    scores = scores_of(translator, every, arguments.passes)
    ends = np.cumsum([len(part.sources) for part in parts])
    spans = [slice(end - len(part.sources), end) for end, part in zip(ends, parts, strict=True)]
    for part, span in zip(parts, spans, strict=True):
        print(f"{part.name}: {span.stop - span.start} texts, {right[span].mean():.1%} right")
    print("| score | all |", " | ".join(part.name for part in parts), "|")
    for name, values in scores.items():
        cells = [
            area_under_curve(values, right),
            area_under_curve(values[spans[0]], right[spans[0]]),
        ]
        for span in spans[1:]:
            both = np.r_[spans[0], span]
            cells.append(area_under_curve(values[both], right[both]))
        print(f"| {name} |", " | ".join(f"{cell:.3f}" for cell in cells), "|")
    ours = scores["confidence"]
    for name, span in [
        ("all", slice(None)),
        *((p.name, s) for p, s in zip(parts, spans, strict=True)),
    ]:
        error = calibration_error(reliability_bins(ours[span], right[span]))
        print(f"{name}: mean confidence {ours[span].mean():.3f}, calibration error {error:.3f}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--clean", nargs=2, type=Path, required=True)
    parser.add_argument("--other", nargs="+", type=Path, required=True)
    parser.add_argument("--foreign", nargs="+", type=Path, required=True)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--passes", type=int, default=30)
    return parser.parse_args()


def parts_of(arguments: argparse.Namespace) -> list[Part]:
    random, count = Random(1), arguments.count
    sources, references = (_lines(file, count) for file in arguments.clean)
    other = [_lines(file, count // 2) for file in arguments.other]
    foreign = [line for file in arguments.foreign for line in _lines(file, count // 4)]
    typos = [swapped(text, random) for text in sources]
    return [
        Part("clean", sources, references),
        Part("one typo", typos, references),
        Part(
            "markup",
            [marked(text, random) for text in sources][: count // 2],
            references[: count // 2],
        ),
        Part("other topic", other[0], other[1] if len(other) > 1 else None),
        Part("foreign", foreign, None),
    ]


def _lines(file: Path, count: int) -> list[str]:
    with file.open(encoding="utf-8") as stream:
        return [line.rstrip("\n") for line in islice(stream, count)]


def marked(text: str, random: Random) -> str:
    words = text.split(" ")
    place = random.randrange(len(words))
    words[place] = random.choice(MARKUPS).format(words[place])
    return " ".join(words)


def _right(
    part: Part, translations: Sequence[Translation]
) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    if part.references is None:
        return np.zeros(len(translations), bool)
    texts = [each.text for each in translations]
    return np.array(right_translations(texts, part.references, exact=False)[0])


def scores_of(
    translator: Translator, translations: Sequence[Translation], passes: int
) -> "dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]":
    """The scores of translations; a higher one says that it is right."""
    values = [np.array(each.token_log_probabilities or (-50.0,)) for each in translations]
    model, ids = translator.models[0], translator.tokenizer.ids
    sources = [ids(each.source_tokens) or [0] for each in translations]
    targets = [ids(each.tokens) or [0] for each in translations]
    entropy = forced(model, sources, targets, entropies=True)
    model.train()
    torch.manual_seed(0)
    dropped = [forced(model, sources, targets) for _ in range(passes)]
    model.eval()
    return {
        "confidence": np.array(
            [0.0 if each.confidence is None else each.confidence for each in translations]
        ),
        "TP": np.array([each.mean() for each in values]),
        "least": np.array([each.min() for each in values]),
        "Sent-Std": -np.array([each.std() for each in values]),
        "Softmax-Ent": -entropy,
        "D-TP": np.mean(dropped, axis=0),
        "D-Var": -np.var(dropped, axis=0),
    }


@torch.no_grad()
def forced(
    model: Any,  # an EncoderDecoder
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    entropies: bool = False,
) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """The mean log-probability of each target's tokens, or the mean entropy."""
    found = np.zeros(len(sources))
    order = sorted(range(len(sources)), key=lambda row: len(targets[row]))
    for start in range(0, len(order), ROWS):
        rows = order[start : start + ROWS]
        batch = collate([sources[row] for row in rows], [targets[row] for row in rows])
        states = real_states(decoder_states(model, batch), batch.places)
        chances = model.decoder.output(states).float().log_softmax(-1)
        written = batch.target_output.flatten().index_select(0, batch.places)
        each = (
            -(chances.exp() * chances).sum(-1)
            if entropies
            else chances.gather(1, written[:, None])[:, 0]
        )
        of = torch.div(batch.places, batch.target_output.shape[1], rounding_mode="floor")
        sums = torch.zeros(len(rows)).index_add_(0, of, each)
        counts = torch.zeros(len(rows)).index_add_(0, of, torch.ones(len(each)))
        found[rows] = (sums / counts).numpy()
    return found


if __name__ == "__main__":
    main()
