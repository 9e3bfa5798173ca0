"""The plan of a run: what it needs on a number of cards, before it is started.

    seconds of an update = FLOP / (cards x peak x share of the peak) + optimizer + exchange

Nothing overlaps in this formula, so it is rather too slow than too fast.
"""

import math
from dataclasses import dataclass

from jumok.config import Config
from jumok.config.families import (
    CaptionConfig,
    ImageClassificationConfig,
    LanguageModelConfig,
    MaskedLanguageModelConfig,
    TextClassificationConfig,
    TranslationConfig,
)
from jumok.errors import ConfigError
from jumok.planning.cards import Accelerator
from jumok.planning.memory import FRAMEWORK, USABLE, CardMemory, ModelCounts, memory_of, state_of
from jumok.planning.network import Cluster, Sending, exchange
from jumok.planning.products import ModelPart, TextLengths, model_parts, readings_of

USUAL_LENGTH = 25
"""Tokens of a sentence, if nothing is known: about the mean of news."""
USUAL_CAPTION = 12
BYTES_VOCABULARY = 260
"""Bytes, and four special tokens."""
ADAM_BYTES = 36
"""Reading and writing master weights, both moments and averages; reading the gradient."""
PROCESS = 0.3e9
"""Bytes of a process on processors, without the model."""


@dataclass(frozen=True)
class Assumptions:
    """What is neither in the recipe nor on a data sheet.

    Attributes:
        share: of the peak that training reaches.
        vocabulary: of the tokenizer.
        price: of a card and hour; None: no cost is computed.
    """

    share: float
    lengths: TextLengths
    vocabulary: int
    price: float | None = None


@dataclass(frozen=True)
class ModelNumbers:
    """A model by arithmetic.

    Attributes:
        parameters: in its matrices; biases and norms are left out.
        flop: forward and backward, for one target.
        unit: the name of a target: "tokens", "images".
    """

    parameters: int
    parts: tuple[ModelPart, ...]
    flop: float
    unit: str


@dataclass(frozen=True)
class Plan:
    """A run on so many cards.

    Attributes:
        targets: a card and update.
        computing, optimizer: seconds of an update.
        sent: the exchange of an update.
        update: seconds of an update.
        busy: the share of the time in which products are computed, 0 to 1.
        enough: targets a card and update at which `busy` would be 0.9.
        steps, hours: of the whole run, without validation and preparation.
        cost: of all cards; None: there is no price.
        memory: of one card, or of one process on processors.
        capacity: bytes that it may have.
        micro_batch: targets of a micro-batch.
        fits: the micro-batch that would fit; below 1 none does.
    """

    cards: int
    nodes: int
    targets: float
    computing: float
    optimizer: float
    sent: Sending
    update: float
    busy: float
    enough: float
    steps: float
    hours: float
    cost: float | None
    memory: CardMemory
    capacity: float
    micro_batch: float
    fits: float


def usual_lengths(config: Config) -> TextLengths:
    """The lengths of texts that are assumed where nothing is known.

    Language models read windows of their context; other texts have USUAL_LENGTH tokens, unless the
    recipe allows fewer.
    """
    if isinstance(config, LanguageModelConfig):
        return TextLengths(0.0, float(config.context))
    if isinstance(config, ImageClassificationConfig):
        return TextLengths(1.0, 1.0)
    if isinstance(config, CaptionConfig):
        return TextLengths(0.0, float(min(USUAL_CAPTION, config.data.max_tokens)))
    if isinstance(config, TranslationConfig | MaskedLanguageModelConfig | TextClassificationConfig):
        most = float(min(USUAL_LENGTH, config.data.max_tokens))
        return TextLengths(most, most)
    return TextLengths(float(USUAL_LENGTH), float(USUAL_LENGTH))


def vocabulary_of(config: Config) -> int:
    """The size that the recipe asks for; of characters it is an upper limit."""
    if isinstance(config, LanguageModelConfig) and config.tokenizer.kind == "byte":
        return BYTES_VOCABULARY
    if isinstance(
        config,
        TranslationConfig
        | CaptionConfig
        | LanguageModelConfig
        | MaskedLanguageModelConfig
        | TextClassificationConfig,
    ):
        return config.tokenizer.size
    return 0


def numbers_of(config: Config, vocabulary: int, lengths: TextLengths) -> ModelNumbers:
    """The model of a recipe.

    Raises:
        ConfigError: its products are not known, it is trained further, or not in slices.
    """
    if config.start is not None:
        raise ConfigError(
            "the sizes of a model that is trained further are in its bundle.",
            got=f"start.model = {config.start.model}",
            do="plan the recipe that it was trained with: recipe.toml in the folder of its run",
        )
    if config.training.sharding == "full":
        raise ConfigError(
            "jumok plan computes the memory and the exchange of slices.",
            got='training.sharding = "full"',
            do="--set training.sharding=slices; a card of N then needs an N-th of the products' "
            "weights and gradients instead of all, and sends them once more in every micro-batch",
        )
    parts = tuple(model_parts(config, vocabulary, lengths))
    flop = readings_of(config.training) * sum(part.both for part in parts)
    unit = "images" if isinstance(config, ImageClassificationConfig) else "tokens"
    return ModelNumbers(sum(part.weights for part in parts), parts, flop, unit)


def plan(config: Config, cluster: Cluster, assumed: Assumptions) -> Plan:
    """The plan of a recipe on these cards.

    Raises:
        ConfigError: see `numbers_of`.
    """
    model = numbers_of(config, assumed.vocabulary, assumed.lengths)
    training, card = config.training, cluster.card
    size = bytes_of(config, card)
    rate = assumed.share * card.peak("fp32" if size == 4 else "bf16")
    processes = _processes_of(cluster)
    targets = training.tokens_per_batch / cluster.count
    computing = targets * model.flop / rate
    bandwidth = card.bandwidth * cluster.count / processes.count
    optimizer = model.parameters * (ADAM_BYTES + 3 * size) / processes.count / bandwidth
    shares = _shares(config, cluster, processes)
    sent = exchange(model.parameters, size, shares, processes)
    update = computing + optimizer + sent.seconds
    by_steps = math.inf if training.step_limit is None else float(training.step_limit)
    by_minutes = math.inf if training.minutes is None else 60.0 * training.minutes / update
    steps = min(by_steps, by_minutes)
    memory, micro_batch = _memory_of_process(config, model, cluster, processes, assumed)
    capacity = USABLE * card.memory * (cluster.count / processes.count)
    room = capacity - (memory.total - memory.activations)
    hours = steps * update / 3600.0
    return Plan(
        cards=cluster.count,
        nodes=cluster.nodes,
        targets=targets,
        computing=computing,
        optimizer=optimizer,
        sent=sent,
        update=update,
        busy=computing / update,
        enough=9.0 * (optimizer + sent.seconds) * rate / model.flop,
        steps=steps,
        hours=hours,
        cost=None if assumed.price is None else assumed.price * cluster.count * hours,
        memory=memory,
        capacity=capacity,
        micro_batch=micro_batch,
        fits=room / memory.target,
    )


def bytes_of(config: Config, card: Accelerator) -> int:
    """Bytes of a number in products: 2 in bfloat16."""
    return 4 if config.training.precision == "fp32" or card.bf16 is None else 2


def on_processors(cluster: Cluster) -> bool:
    """Whether cores are counted instead of cards."""
    return cluster.card.name == "cpu"


def _processes_of(cluster: Cluster) -> Cluster:
    """One process for each card, or for all cores of a machine."""
    if not on_processors(cluster):
        return cluster
    network = cluster.network or cluster.card.network * cluster.each
    return Cluster(cluster.card, cluster.nodes, 1, network)


def _shares(config: Config, cluster: Cluster, processes: Cluster) -> int:
    """The gradients that one process computes apart and sums: one for each thread, at most."""
    training = config.training
    if not on_processors(cluster):
        return 1
    return max(1, training.processor_shares // processes.count)


def _memory_of_process(
    config: Config,
    model: ModelNumbers,
    cluster: Cluster,
    processes: Cluster,
    assumed: Assumptions,
) -> tuple[CardMemory, float]:
    """The memory of one process, and the targets of its micro-batches."""
    training, size = config.training, bytes_of(config, cluster.card)
    threads = cluster.count // processes.count
    micro_batch = min(
        float(training.tokens_per_micro_batch), training.tokens_per_batch / cluster.count
    )
    shares = _shares(config, cluster, processes)
    if on_processors(cluster):
        micro_batch = float(training.tokens_per_micro_batch)
    logits = next((part for part in model.parts if part.name == "embeddings and logits"), None)
    # The logits' FLOP say their width: 2 vocabulary width.
    width = 0
    if logits is not None and assumed.vocabulary:
        width = round(logits.forward / (2.0 * assumed.vocabulary))
    turned = model.parameters - (logits.weights if logits is not None else 0)
    numbers = ModelCounts(model.parameters, turned, (assumed.vocabulary, width))
    memory = memory_of(
        config,
        numbers,
        assumed.lengths,
        state_of(training, numbers, size, processes.count, shares),
        size=size,
        micro_batch=micro_batch,
        at_once=min(threads, shares),
        on_cpu=on_processors(cluster),
        framework=PROCESS if on_processors(cluster) else FRAMEWORK,
    )
    return memory, micro_batch
