"""What a model with fewer bits loses: how often its predictions differ from those of the whole
model, and how much its scores may fall.

Both read the same tokens (teacher forcing): translators what the whole model writes by greedy
decoding, language models the given text.

Source: llama.cpp's `perplexity --kl-divergence` reports the same share as "Same top p"; that scores
such as BLEU hide changed answers, and that these should be counted: Dutta et al. 2024, "Accuracy is
Not All You Need", section 3.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

import torch
from torch import nn

from jumok.bundle.card import MeasuredQuality, Score
from jumok.bundle.reading import InputPrecision
from jumok.data.pairs.batches import source_batches
from jumok.data.tokenizer import END, START
from jumok.kernels.linear import Projection
from jumok.models.causal import CausalLanguageModel
from jumok.models.memory import SequenceToSequence, logits_of
from jumok.shapes import Bool, Float, Int, Tensor

TokenRows = Sequence[Sequence[int]]
Shorten = Callable[[Float[Tensor, "*axes inputs"]], Float[Tensor, "*axes inputs"]]

MOST_DROP = 0.3
"""Points of BLEU, chrF or accuracy."""
MOST_RISE = 0.01
"""The share by which the perplexity may rise."""
LEAST_EQUAL = 0.97
"""The share of tokens, or of a classifier's labels, that have to be equal."""

LOWER_IS_BETTER = ("loss", "perplexity", "bits per byte")


@dataclass(frozen=True)
class Agreement:
    """The number of predictions, and how many of them are equal."""

    tokens: int = 0
    equal: int = 0

    @property
    def share(self) -> float:
        """From 0 to 1; 1 without predictions."""
        return self.equal / self.tokens if self.tokens else 1.0

    def __add__(self, other: "Agreement") -> "Agreement":
        return Agreement(self.tokens + other.tokens, self.equal + other.equal)


def as_integers(
    states: Float[Tensor, "*axes inputs"], most: float
) -> Float[Tensor, "*axes inputs"]:
    """The inputs that the engine computes with as integers: from -`most` to `most`, as far as each
    row reaches.

    The products are those of the engine (`engine/matrix.h`) up to the rounding of float32.
    """
    peak = states.abs().amax(-1, keepdim=True)
    factor = torch.where(peak > 0, most / peak, 0.0)
    return (states * factor).round() * (peak / most)


def as_bfloat16(states: Float[Tensor, "*axes inputs"]) -> Float[Tensor, "*axes inputs"]:
    """The inputs that the engine computes with in bfloat16."""
    return states.bfloat16().float()


SHORTENED: dict[InputPrecision, Shorten] = {
    "fp32": lambda states: states,
    "int8": partial(as_integers, most=127.0),
    "int16": partial(as_integers, most=32767.0),
    "bf16": as_bfloat16,
}


@contextmanager
def computing_in(model: nn.Module, precision: InputPrecision) -> Iterator[None]:
    """While entered, linear layers that are called as modules round their inputs as the engine does
    in this precision; the weights have to be those of the bundle with fewer bits.

    Args:
        precision: of a bundle, `input_precision`; a KeyError for any other.
    """
    shorten = SHORTENED[precision]
    with ExitStack() as hooks:
        for module in model.modules():
            if isinstance(module, nn.Linear | Projection):
                handle = module.register_forward_pre_hook(lambda _, inputs: (shorten(*inputs),))
                hooks.callback(handle.remove)
        yield


@torch.no_grad()
def translation_agreement(
    models: tuple[SequenceToSequence, SequenceToSequence],
    sources: TokenRows,
    targets: TokenRows,
    batch_size: int,
) -> Agreement:
    """How many predictions of the two models are equal, END's included.

    Args:
        sources, targets: token ids, without START and END.
    """
    agreement = Agreement()
    for batch in source_batches(sources, sentences=batch_size):
        prefixes, real = padded_with_end([[START, *targets[row]] for row in batch.rows])
        first, second = (
            logits_of(model.decoder, model.encode(batch.tokens, batch.allowed), prefixes).argmax(2)
            for model in models
        )
        agreement += _compared(first, second, real)
    return agreement


@torch.no_grad()
def text_agreement(
    models: tuple[CausalLanguageModel, CausalLanguageModel],
    texts: TokenRows,
    context: int,
    batch_size: int,
) -> Agreement:
    """How many predictions of the next token are equal, with at most `context` tokens before it.

    Args:
        texts: token ids, with START and without END; long ones are read in windows that do not
            overlap.
    """
    windows = [
        text[first : first + context] for text in texts for first in range(0, len(text), context)
    ]
    agreement = Agreement()
    for first in range(0, len(windows), batch_size):
        tokens, real = padded_with_end(windows[first : first + batch_size])
        one, other = (model.decoder.logits(model.hidden(tokens)).argmax(2) for model in models)
        agreement += _compared(one, other, real)
    return agreement


def padded_with_end(
    rows: TokenRows,
) -> tuple[Int[Tensor, "batch longest"], Bool[Tensor, "batch longest"]]:
    """The rows, filled up with END, which affects nothing before it; True where a token is."""
    longest = max(map(len, rows))
    tokens = torch.tensor([[*row, *[END] * (longest - len(row))] for row in rows])
    lengths = torch.tensor([len(row) for row in rows])
    return tokens, torch.arange(longest) < lengths[:, None]


def _compared(
    one: Int[Tensor, "batch longest"],
    other: Int[Tensor, "batch longest"],
    real: Bool[Tensor, "batch longest"],
) -> Agreement:
    return Agreement(int(real.sum()), int(((one == other) & real).sum()))


def faults_of(quality: MeasuredQuality) -> Sequence[str]:
    """The limits that the model exceeds, with its figures; none: the model is good enough."""
    faults = list(score_faults(quality.before, quality.after))
    if quality.equal < LEAST_EQUAL:
        faults.append(
            f"{quality.equal:.2%} of {quality.tokens:,} {quality.unit} are equal (at least "
            f"{LEAST_EQUAL:.0%})"
        )
    return faults


def score_faults(before: Sequence[Score], after: Sequence[Score]) -> Iterator[str]:
    """The limits that the scores of the model with fewer bits exceed."""
    for old, new in zip(before, after, strict=True):
        if old.known and not new.known:
            yield f"{new.name} is not a number"
        if old.name == "perplexity" and new.value > old.value * (1 + MOST_RISE):
            yield (
                f"{old.name} rose by {new.value / old.value - 1:.1%}, from {old.value:.3f} to "
                f"{new.value:.3f} (at most {MOST_RISE:.0%})"
            )
        drop = old.value - new.value
        if old.name not in LOWER_IS_BETTER and drop > MOST_DROP:
            yield (
                f"{old.name} fell by {drop:.2f}, from {old.value:.2f} to {new.value:.2f} "
                f"(at most {MOST_DROP})"
            )
