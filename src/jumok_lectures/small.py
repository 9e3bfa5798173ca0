"""A small translator, trained in seconds: what most of the lectures' claims are tried on.

All labs share the sentences, the tokenizer and the batches (a folder in the
cache), so that two models differ in nothing but what the lab is about.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from jumok.config import DataConfig, TranslationTrainingConfig
from jumok.config.data import CorpusConfig, TokenizerConfig
from jumok.config.families import TranslationConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.config.transformer import TransformerConfig
from jumok.data.pairs.batches import Batch, collate, validation_batches
from jumok.data.tokenizer import Tokenizer
from jumok.evaluation.text import score_text
from jumok.models.catalog import DataSizes, build
from jumok.models.encoder_decoder import Transformer
from jumok.models.memory import SequenceToSequence
from jumok.systems.translation.segments import MODEL_ALONE
from jumok.systems.translation.translator import Translator
from jumok.training.objectives import mean_loss, translation
from jumok.training.precision import choose_precision, one_thread
from jumok.training.preparing.pairs import PreparedPairs, prepare_translation, update_stream
from jumok.training.task import Objective
from jumok_lectures import world
from jumok_lectures.findings import Setting
from jumok_lectures.fitting import alone, curve, learn, short

PIECES = TokenizerConfig(size=600, byte_fallback=False)
SIZES: Mapping[str, object] = {
    "dim": 64,
    "heads": 4,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "feedforward": 128,
    "dropout": 0.0,
}
LONGER = 3  # times the steps of the short form
SHARES = 2  # of a step; the same on every machine

ModelChange = Callable[[Transformer], None]
CorpusMaker = Callable[[Path], Path]


@dataclass(frozen=True)
class Small:
    """What to train.

    Attributes:
        model: keys of a recipe's [model], over SIZES; of an RNN where they name its kind.
        change: what is done to the untrained model: layers shared, norms taken out ...
        objective: what to make small.
        corpus: writes train and validation, .en and .TARGET, into a folder of the cache.
        target: the language that is written.
        tokenizer: of the corpus.
        steps: of about `tokens` target tokens each.
    """

    model: Mapping[str, object] = field(default_factory=dict)
    change: ModelChange | None = None
    objective: Objective = translation
    corpus: CorpusMaker = world.write
    target: str = "ko"
    tokenizer: TokenizerConfig = PIECES
    steps: int = 300
    tokens: int = 512
    learning_rate: float = 1e-2


@dataclass(frozen=True)
class Trained:
    """A model and how it came there.

    Attributes:
        model: with averaged weights, in float32, in evaluation mode.
        losses: nats a target token, one a step.
        validation_loss: the same on unseen sentences.
    """

    model: SequenceToSequence
    tokenizer: Tokenizer
    losses: list[float]
    validation_loss: float

    @property
    def transformer(self) -> Transformer:
        """The model, where it is a Transformer."""
        assert isinstance(self.model, Transformer)
        return self.model

    @property
    def parameters(self) -> int:
        """Shared ones count once."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    def curve(self, width: int = 20) -> list[tuple[float, float]]:
        """(step, mean loss of the `width` steps up to it)."""
        return curve(self.losses, width)

    def steps_to(self, loss: float, width: int = 20) -> int | None:
        """The first step whose mean over the `width` before is below; None: it never was."""
        return next((int(step) for step, mean in self.curve(width) if mean < loss), None)

    @torch.no_grad()
    def loss_on(self, sources: Sequence[str], references: Sequence[str]) -> float:
        """Nats a target token of these pairs."""
        sides = [self.tokenizer.encode_batch(side) for side in (sources, references)]
        pairs = list(zip(*sides, strict=True))
        batches = [
            collate(*zip(*pairs[first : first + 32], strict=True))
            for first in range(0, len(pairs), 32)
        ]
        with one_thread():
            return mean_loss(translation, self.model, batches)

    def translate(self, sources: Sequence[str]) -> list[str]:
        """Greedy translations, each word from those written before."""
        model = copy.deepcopy(self.model)
        model.eval().to(torch.float32)
        translator = Translator(
            [model], self.tokenizer, max_tokens=64, target_language="ko", longest_target=100
        )
        with one_thread():
            translations = translator.translate(sources, beam=1, alignments=False, **MODEL_ALONE)
        return [each.text for each in translations]

    def bleu(self, sources: Sequence[str], references: Sequence[str]) -> float:
        """BLEU of greedy translations, Korean cut into characters."""
        texts = self.translate(sources)
        (score,) = score_text(
            texts, references, target_language="ko", metrics=("bleu",), resamples=0
        )
        return score.value


@dataclass(frozen=True)
class SmallRun:
    """One training run: what, with which seed, and where the labs' files are.

    Attributes:
        longer: LONGER times the steps, as the long form of a lab wants it.
    """

    small: Small
    seed: int
    cache: Path
    longer: bool = False


def trained(smalls: Mapping[str, Small], setting: Setting) -> dict[str, list[Trained]]:
    """Each of them with every seed; what another lab has trained already is not trained again."""
    for small in smalls.values():
        small.corpus(setting.cache)  # once, and not by several processes at the same time
    tasks = [
        SmallRun(small, seed, setting.cache, setting.full)
        for small in smalls.values()
        for seed in setting.seeds
    ]
    made = iter(setting.workers.once(train, tasks))
    return {name: [next(made) for _ in setting.seeds] for name in smalls}


def train(task: SmallRun) -> Trained:
    """Trains as `jumok train` does, with its batches and its step; nothing is saved."""
    small, seed = task.small, task.seed
    steps = small.steps * (LONGER if task.longer else 1)
    home = small.corpus(task.cache)
    recipe = config(small, steps, seed, home)
    prepared = prepare_translation(recipe, home, task.cache / "ids", lambda _: None)
    precision = choose_precision(recipe.training.precision, torch.device("cpu")).dtype
    averaged, losses = learn(
        untrained(small, recipe, prepared, seed),
        small.objective,
        recipe.training,
        update_stream(recipe, prepared.train, prepared.tokenizers),
        seed,
        precision,
        shares=SHARES,
        threads=min(SHARES, torch.get_num_threads()),
    )
    with one_thread():
        batches = validation_batches(prepared.validation[0], 1024)
        loss = mean_loss(small.objective, averaged, batches)
    return Trained(alone(averaged), prepared.tokenizer, losses, loss)


def untrained(
    small: Small, recipe: TranslationConfig, prepared: PreparedPairs, seed: int
) -> SequenceToSequence:
    """The model before its first step; equal seeds give equal weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = build(recipe.model, DataSizes(vocabulary=prepared.tokenizer.size))
    assert isinstance(model, SequenceToSequence)
    if small.change is not None:
        assert isinstance(model, Transformer)
        small.change(model)
    return model


def first_batch(small: Small, seed: int, cache: Path) -> tuple[Transformer, Batch]:
    """An untrained model, and a batch to look at it with."""
    home = small.corpus(cache)
    recipe = config(small, small.steps, seed, home)
    prepared = prepare_translation(recipe, home, cache / "ids", lambda _: None)
    updates = update_stream(recipe, prepared.train, prepared.tokenizers)
    model = untrained(small, recipe, prepared, seed)
    assert isinstance(model, Transformer)
    return model, next(updates)[0]


def config(small: Small, steps: int, seed: int, home: Path) -> TranslationConfig:
    """The recipe of a small translator."""
    return TranslationConfig(
        name="small",
        seed=seed,
        data=DataConfig(
            train=(_corpus(home, "train", small.target),),
            validation=(_corpus(home, "validation", small.target),),
            source_language="en",
            target_language=small.target,
            max_tokens=64,
            max_ratio=20.0,  # a pronoun's sentence has an answer of one word
        ),
        tokenizer=small.tokenizer,
        model=section(small.model),
        training=short(
            TranslationTrainingConfig,
            steps,
            small.learning_rate,
            tokens_per_batch=small.tokens,
            tokens_per_micro_batch=small.tokens // 2,
            optimizer="muon",  # in 300 steps less than half of AdamW's loss
        ),
    )


def section(keys: Mapping[str, object]) -> TransformerConfig | RecurrentConfig:
    """The section [model]: an RNN's has none of a Transformer's usual sizes."""
    if keys.get("kind") == "rnn":
        return RecurrentConfig.model_validate(dict(keys))
    return TransformerConfig.model_validate({**SIZES, **keys})


def _corpus(home: Path, split: str, target: str) -> CorpusConfig:
    return CorpusConfig(source=home / f"{split}.en", target=home / f"{split}.{target}")
