"""A kind of model as a plugin: it puts the spaces into a text that was written without them.

docs/extending.md describes it, and tests/extending/test_kind.py trains it. A text is read without
its spaces; the model predicts for each character whether a space follows. Every text is its own
answer, so the corpus needs no labels.

    plugins = ["spacing.py"]
    model.kind = "spacing"
"""

from collections.abc import Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import nn

import jumok
from jumok.bundle.card import BundleConfig, Score
from jumok.bundle.writing import write_bundle
from jumok.cli.verbs.evaluate import Judged
from jumok.config.data import TokenizerConfig
from jumok.config.families import Config
from jumok.config.masked import EncoderConfig
from jumok.config.texts import TextsConfig
from jumok.config.training import LossValidationConfig
from jumok.data.pairs.batches import Updates, fill, framed, gather
from jumok.data.texts.batches import MaskedBatch, every_text, text_sampler
from jumok.data.texts.corpus import TextCorpus, read_examples
from jumok.data.tokenizer import END, SPACE, START
from jumok.kernels.linear import Linear
from jumok.kernels.noise import Noise
from jumok.layers.embedding import embedding_table
from jumok.models.catalog import DataSizes, build
from jumok.models.masked import text_encoder
from jumok.plugins import digests_of
from jumok.systems.base import System, loaded_from
from jumok.systems.given import texts_in
from jumok.systems.loading import load_one, load_tokenizer
from jumok.tracing.adapters import reader_adapter
from jumok.tracing.forced import ForcedPass, Tracer
from jumok.tracing.request import check_length
from jumok.training.preparing import texts
from jumok.training.preparing.vocabulary import learn_tokenizer
from jumok.training.task import Scores, card_of, finite, model_line

CHOICES = ("no space", "space")


# The recipe: its sections, each of which may have keys of its own.
class SpacingModelConfig(EncoderConfig):
    kind: Literal["spacing"] = "spacing"


class SpacingConfig(Config):
    data: TextsConfig
    tokenizer: TokenizerConfig = TokenizerConfig(kind="char", size=2000, byte_fallback=False)
    model: SpacingModelConfig = SpacingModelConfig()
    validation: LossValidationConfig = LossValidationConfig()


# The model. `noise` is where its dropout masks come from, and the loop sets its seeds.
class SpacingModel(nn.Module):
    def __init__(self, config, pieces):
        super().__init__()
        self.noise = Noise()
        table = embedding_table(pieces, config.dim)
        self.encoder = text_encoder(config, table, self.noise)
        self.output = Linear(config.dim, len(CHOICES))

    def forward(self, tokens, allowed=None):  # (batch length) -> (batch length 2)
        return self.output(self.encoder(tokens, allowed))


def build_model(config, sizes):
    return SpacingModel(config, sizes.vocabulary)


# The data: texts as batches. `chosen` are the characters, `answers` what follows each.
def without_spaces(ids, space):
    """The characters of a text, and for each whether a space follows."""
    letters = [place for place, token in enumerate(ids) if token != space]
    follows = [int(place + 1 < len(ids) and ids[place + 1] == space) for place in letters]
    return [ids[place] for place in letters], follows


def batch_of(rows, space) -> MaskedBatch:
    pairs = [without_spaces(row, space) for row in rows]
    ids, lengths = fill([letters for letters, _ in pairs])
    tokens, allowed = framed(ids, lengths)  # START before, END after each text
    chosen = torch.zeros_like(tokens, dtype=torch.bool)
    for row, length in enumerate(lengths):
        chosen[row, 1 : 1 + length] = True
    answers = torch.tensor([follows for _, row in pairs for follows in row])
    return MaskedBatch(tokens, allowed, chosen, answers, int(lengths.sum()) + 2 * len(rows))


def stored_batch(store, numbers, space) -> MaskedBatch:
    ids, lengths = gather(store.texts, numbers)
    rows = [row[:length].tolist() for row, length in zip(ids, lengths, strict=True)]
    return batch_of(rows, space)


class SpacingUpdates(Updates[MaskedBatch]):
    def __init__(self, store, sampler, space):
        super().__init__(sampler)
        self._store, self._space = store, space

    def _work(self, corpus, rows):
        del corpus  # there is one
        return int(self._store.texts.lengths()[rows].sum())

    def _batch(self, place, corpus, rows):
        del place, corpus  # nothing is drawn at random
        return stored_batch(self._store, rows, self._space)


# The training task (jumok.training.task.Task).
def space_loss(model, batch, smoothing):
    logits = model(batch.tokens, batch.allowed)[batch.chosen].float()
    return F.cross_entropy(logits, batch.answers, label_smoothing=smoothing, reduction="sum")


class SpacingTask:
    def __init__(self, config, prepared):
        self._config, self._prepared = config, prepared
        self.objective, self.unit = space_loss, "characters"
        (self._space,) = space_of(prepared.tokenizer)
        budgets = config.training.tokens_per_batch, config.training.tokens_per_micro_batch
        sampler = text_sampler(prepared.train, *budgets, config.seed)
        self.updates = SpacingUpdates(prepared.train, sampler, self._space)

    @classmethod
    def prepare(cls, config, home, cache, say):
        def tokenizer(lines):
            file = home / "tokenizer.model"
            return learn_tokenizer(config.tokenizer, lines, file, config.seed, say)

        return cls(config, texts.prepare_examples_of(config.data, tokenizer, cache, say))

    def build(self):
        return build(self._config.model, DataSizes(vocabulary=self._prepared.tokenizer.size))

    def describe(self, model):
        yield model_line(model, self._config.model.summary)
        yield f"data: {len(self._prepared.train):,} texts"

    def validate(self, model, dtype):
        del dtype  # nothing is decoded
        store = self._prepared.validation
        budget = self._config.training.tokens_per_micro_batch
        batches = [stored_batch(store, rows, self._space) for rows in every_text(store, budget)]
        device = next(model.parameters()).device
        with torch.no_grad():
            found = [
                model(
                    batch.tokens.to(device),
                    None if batch.allowed is None else batch.allowed.to(device),
                )[batch.chosen.to(device)].float()
                for batch in batches
            ]
        logits, answers = torch.cat(found).cpu(), torch.cat([each.answers for each in batches])
        loss = finite(float(F.cross_entropy(logits, answers)))
        return Scores(loss, scores_of(logits.argmax(1), answers, f"{len(store):,} texts"))

    def write(self, folder, weights, scores, facts):
        config, prepared = self._config, self._prepared
        bundle = BundleConfig(
            task="spacing",
            model=config.model.model_dump(),
            plugins=digests_of(config.plugins),
            vocabulary_size=prepared.tokenizer.size,
            max_tokens=config.data.max_tokens,
        )
        card = card_of(
            config.name,
            scores,
            facts,
            trained_on=(prepared.train.report.name,),
            examples=f"{len(prepared.train):,} texts",
            per="character",
        )
        write_bundle(folder, weights, bundle, prepared.tokenizer, card)


def space_of(tokenizer):
    """The id of the space."""
    return [id for id in range(tokenizer.size) if tokenizer.pieces([id]) == [SPACE]]


def scores_of(found, answers, on) -> tuple[Score, ...]:
    """F1 of the spaces, in percent."""
    both = int((found * answers).sum())
    return (Score("F1", 200.0 * both / max(int(found.sum() + answers.sum()), 1), on=on),)


# The system: what `jumok.load` returns. `answer` is what a server calls.
class Spacer(System):
    task = "spacing"

    def __init__(self, model, tokenizer, max_tokens):
        self._model, self.tokenizer, self.max_tokens = model, tokenizer, max_tokens
        (self._space,) = space_of(tokenizer)

    @classmethod
    def load(cls, *folders, device="auto", precision="fp32"):
        bundle, model = load_one(folders, SpacingModel, device, precision)
        system = cls(model, load_tokenizer(bundle), bundle.config.max_tokens)
        return loaded_from(system, [bundle], device, precision)

    @property
    def model(self):
        return self.expose(self._model)  # for code that may change it

    def _modules(self):
        return [self._model]

    def answer(self, given):
        return [{"text": text} for text in self.space(given)]

    def characters(self, text: str) -> list[int]:
        return without_spaces(self.tokenizer.encode(text), self._space)[0][: self.max_tokens]

    @torch.inference_mode()
    def space(self, given: Sequence[str]) -> list[str]:
        """The texts with their spaces; those that were there have no effect."""
        return [self._spaced(self.characters(text)) for text in texts_in(given)]

    def follows(self, ids, rows=1):
        """The logits after each character, (rows characters 2), for equal rows."""
        device = self._model.output.weight.device
        read = torch.tensor([[START, *ids, END]], device=device).expand(rows, -1)
        return self._model(read)[:, 1:-1].float()

    def _spaced(self, ids) -> str:
        if not ids:
            return ""
        written = []
        for id, space in zip(ids, self.follows(ids)[0].argmax(1).tolist(), strict=True):
            written += [id, self._space] if space else [id]
        return self.tokenizer.decode(written)


# What `jumok look` shows: a step is a character, its choices are a space or none.
def force_spacing(system, text, request):
    ids = system.characters(text)
    check_length(text, ids, system.max_tokens)
    if not isinstance(request.target, str | None):
        chosen = list(request.target)
    else:
        given = None if request.target is None else system.tokenizer.encode(request.target)
        chosen = None if given is None else without_spaces(given, system._space)[1]

    def run(rows):
        return system.follows(ids, rows).log_softmax(dim=-1)

    if chosen is None:
        chosen = run(1)[0].argmax(1).tolist()
    return ForcedPass(run, text, chosen, system.space([text])[0])


def adapter_of_spacing(system, name):
    names, labels = system.tokenizer, CHOICES
    return reader_adapter(system._model, system.task, name, names, labels)


SPACING = Tracer(adapter_of_spacing, force_spacing, recorded=False)


# What `jumok evaluate MODEL --data FILE --columns 0` does.
def evaluate_spacing(asked) -> Judged:
    column = asked.columns.split(",")[0]
    corpus = TextCorpus(asked.needs_data(), int(column) if column.isdecimal() else column)
    given = [each.text for each in read_examples(corpus) if each.text.strip()]
    system = asked.load("look")
    with torch.inference_mode():
        pairs = [
            (system.follows(letters)[0].argmax(1), torch.tensor(follows))
            for letters, follows in (
                without_spaces(ids[: system.max_tokens], system._space)
                for ids in system.tokenizer.encode_batch(given)
            )
        ]
    found, answers = (torch.cat(each) for each in zip(*pairs, strict=True))
    on = f"{len(given):,} texts"
    return Judged(scores_of(found.cpu(), answers, on), system.space(given), on)


jumok.register(
    "kind",
    "spacing",
    jumok.Kind(
        verb="look",
        reads="text",
        recipe=f"{__name__}:SpacingConfig",
        build=f"{__name__}:build_model",
        training=f"{__name__}:SpacingTask.prepare",
        system=f"{__name__}:Spacer",
        trace=f"{__name__}:SPACING",
        evaluate=f"{__name__}:evaluate_spacing",
        options=frozenset({"columns", "output"}),
    ),
)
