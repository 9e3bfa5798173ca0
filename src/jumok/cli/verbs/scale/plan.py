"""`jumok plan`: the needs of a run, computed before it starts."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from jumok.cli.options import AsOneObject, Recipe
from jumok.cli.plan_tables import as_json_object, say_plan, say_table
from jumok.cli.screen import console
from jumok.errors import ConfigError
from jumok.options import option

if TYPE_CHECKING:
    from jumok.planning.network import Cluster

CARDS_OF_A_NODE = 8
MOST_CARDS = 1 << 20


@dataclass(frozen=True)
class CardArgs:
    """The cards, their nodes and their price."""

    gpus: str = option("1", "Number of GPUs; several numbers give a table: 8,64,256,1024.")
    card: str = option(
        "h100",
        "GPU type: v100, a100, h100, h200, l4, t4, rtx-4090; cpu = CPU cores instead of GPUs.",
    )
    nodes: int | None = option(None, "Number of nodes, with equally many GPUs each.", minimum=1)
    gpus_per_node: int | None = option(None, "GPUs per node (default: 8).", minimum=1)
    memory: float | None = option(
        None, "Memory per GPU in GB, if it is another version of this type.", minimum=0.1
    )
    network: float | None = option(
        None, "Network bandwidth per node in GB/s, in one direction.", minimum=0.001
    )
    price_per_hour: float | None = option(None, "Price of one GPU for one hour.", minimum=0)

    def clusters(self) -> "list[Cluster]":
        """The clusters, one for each number of cards."""
        from jumok.planning.cards import card_named
        from jumok.planning.network import Cluster

        card = card_named(self.card, None if self.memory is None else self.memory * 1e9)
        cores = card.name == "cpu"
        sizes = shapes(counts_of(self.gpus), self.nodes, self.gpus_per_node, cores=cores)
        speed = None if self.network is None else self.network * 1e9
        return [Cluster(card, *size, speed) for size in sizes]


@dataclass(frozen=True)
class AssumedNumbers:
    """What is assumed where nothing is known."""

    share: float | None = option(
        None,
        "Share of the peak speed that matrix products reach, up to 1.",
        minimum=0.001,
        maximum=1,
    )
    length: float | None = option(None, "Mean tokens per text, or per target.", minimum=1)
    source_length: float | None = option(None, "Mean tokens per source.", minimum=1)
    vocabulary: int | None = option(
        None, "Vocabulary size, for recipes in which the data determine it.", minimum=1
    )


def plan(
    recipe: Recipe,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Change a key of the recipe, such as model.dim=512. Repeatable."
        ),
    ] = None,
    as_json: AsOneObject = False,
    *,
    cards: Annotated[CardArgs, CardArgs()],
    given: Annotated[AssumedNumbers, AssumedNumbers()],
) -> None:
    """Compute the memory, time and communication of a run on a number of GPUs.

    Neither trains nor reads data. The computation uses the recipe, the data
    sheets of the GPUs, and assumptions, which are printed. If the memory is
    too small or the network too slow, reports this with a remedy.

      jumok plan multi30k-en-de --gpus 1 --card l4

      jumok plan recipe.toml --gpus 8,64,256,1024 --card h100

      jumok plan recipe.toml --gpus 16 --card a100 --price-per-hour 2.50

      jumok plan recipe.toml --gpus 8 --card cpu
    """
    from jumok.config import load_config
    from jumok.planning import plan as planning
    from jumok.planning.advice import warnings_of
    from jumok.planning.products import TextLengths

    variables = {"JUMOK_DATA": "data", "JUMOK_RUNS": "runs", **os.environ}  # no file is read
    config = load_config(recipe, changes or (), variables)
    clusters = cards.clusters()
    chosen, usual = clusters[0].card, planning.usual_lengths(config)
    assumed = planning.Assumptions(
        share=given.share or chosen.share,
        lengths=TextLengths(given.source_length or usual.source, given.length or usual.target),
        vocabulary=given.vocabulary or planning.vocabulary_of(config),
        price=cards.price_per_hour,
    )
    model = planning.numbers_of(config, assumed.vocabulary, assumed.lengths)
    plans = [planning.plan(config, cluster, assumed) for cluster in clusters]
    warned = [warnings_of(config, model, *one) for one in zip(clusters, plans, strict=True)]
    if as_json:
        report = as_json_object(config.name, model, chosen, assumed, plans, warned)
        typer.echo(json.dumps(report, indent=2))
    elif len(plans) == 1:
        say_plan(console(), config, model, clusters[0], assumed, plans[0], warned[0])
    else:
        say_table(console(), config, model, chosen, assumed, plans, warned)


def counts_of(text: str) -> list[int]:
    """The numbers of GPUs of --gpus.

    Raises:
        ConfigError: it is not a list of numbers.
    """
    parts = [part.strip() for part in text.split(",")]
    right = all(part.isascii() and part.isdigit() and len(part) < 8 for part in parts)
    counts = [int(part) for part in parts] if right else []
    if not counts or not all(1 <= count <= MOST_CARDS for count in counts):
        raise ConfigError(
            "--gpus is not a number of cards.",
            expected=f"a number from 1 to {MOST_CARDS:,}, or several: 8,64,256",
            got=text,
        )
    return counts


def shapes(
    counts: Sequence[int], nodes: int | None, each: int | None, *, cores: bool
) -> list[tuple[int, int]]:
    """The number of nodes, and of GPUs in each, for each number of GPUs.

    Args:
        cores: they are CPU cores, which are all in one machine unless `nodes` says more.

    Raises:
        ConfigError: the GPUs cannot be divided among the nodes.
    """
    if nodes is not None and each is not None and [nodes * each] != list(counts):
        raise ConfigError(
            "--nodes and --gpus-per-node are another number of cards than --gpus.",
            expected=f"--gpus {nodes * each}",
            got=f"--gpus {','.join(map(str, counts))}",
            do="leave one of the three out",
        )
    layouts = []
    for count in counts:
        inside = each or (
            count // nodes if nodes else count if cores else min(CARDS_OF_A_NODE, count)
        )
        inside = min(inside, count) or 1
        if count % inside or (nodes is not None and nodes * inside != count):
            raise ConfigError(
                "the cards cannot be divided equally among the nodes.",
                got=f"{count} cards" + (f" in {nodes} nodes" if nodes else f", {inside} in a node"),
                do="choose a multiple, or give --gpus-per-node",
            )
        layouts.append((count // inside, inside))
    return layouts
