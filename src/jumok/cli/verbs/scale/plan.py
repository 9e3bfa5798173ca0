"""`jumok plan`: what a run will need, by arithmetic, before it is started."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from jumok.cli.scale.plan_tables import as_json_object, say_plan, say_table
from jumok.cli.screen import console
from jumok.errors import ConfigError
from jumok.late import late_imports

with late_imports():
    from jumok import config as jumok_config
    from jumok.planning import advice, cards, network, products
    from jumok.planning import plan as planning

EACH = 8
"""Cards of a node, unless more is known."""
MOST_CARDS = 1 << 20

Recipe = Annotated[
    Path, typer.Argument(help="A recipe: its file (TOML), or its name in `jumok recipes`.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change a key of the recipe: model.dim=512. Repeatable."),
]
Gpus = Annotated[
    str, typer.Option("--gpus", help="Number of cards, or several for a table: 8,64,256,1024.")
]
CardName = Annotated[
    str, typer.Option("--card", help="v100, a100, h100, h200, l4, t4, rtx-4090, or cpu (cores).")
]
Nodes = Annotated[int | None, typer.Option(min=1, help="Nodes that share the cards equally.")]
Each = Annotated[
    int | None, typer.Option("--gpus-per-node", min=1, help="Cards of a node (default: 8).")
]
CardGigabytes = Annotated[
    float | None,
    typer.Option("--memory", min=0.1, help="Memory of a card in GB, of another version of it."),
]
Network = Annotated[
    float | None,
    typer.Option("--network", min=0.001, help="Network of a node in GB/s, in one direction."),
]
Share = Annotated[
    float | None,
    typer.Option(min=0.001, max=1.0, help="Share of the peak that products reach, up to 1."),
]
Length = Annotated[float | None, typer.Option(min=1.0, help="Mean tokens of a text, or target.")]
SourceLength = Annotated[float | None, typer.Option(min=1.0, help="Mean tokens of a source.")]
Vocabulary = Annotated[
    int | None, typer.Option(min=1, help="Size of the vocabulary, where the data decides it.")
]
Price = Annotated[
    float | None, typer.Option("--price-per-hour", min=0.0, help="Price of one card and hour.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def plan(
    recipe: Recipe,
    changes: Set = None,
    gpus: Gpus = "1",
    card: CardName = "h100",
    nodes: Nodes = None,
    each: Each = None,
    memory: CardGigabytes = None,
    bandwidth: Network = None,
    share: Share = None,
    length: Length = None,
    source_length: SourceLength = None,
    vocabulary: Vocabulary = None,
    price: Price = None,
    as_json: AsJson = False,
) -> None:
    """Compute what a run needs on a number of cards: memory, time, communication.

    Nothing is trained and no data is read. It is arithmetic from the recipe, the
    data sheets of the cards and assumptions, which are printed. It names what
    does not fit or would wait for the network, and what to change.

      jumok plan multi30k-en-de --gpus 1 --card l4

      jumok plan recipe.toml --gpus 8,64,256,1024 --card h100

      jumok plan recipe.toml --gpus 16 --card a100 --price-per-hour 2.50

      jumok plan recipe.toml --gpus 8 --card cpu [dim]- on eight cores[/dim]
    """
    variables = {"JUMOK_DATA": "data", "JUMOK_RUNS": "runs", **os.environ}  # no file is read
    config = jumok_config.load_config(recipe, changes or (), variables)
    chosen = cards.card_named(card, None if memory is None else memory * 1e9)
    sizes = shapes(counts_of(gpus), nodes, each, cores=chosen.name == "cpu")
    speed = None if bandwidth is None else bandwidth * 1e9
    clusters = [network.Cluster(chosen, *size, speed) for size in sizes]
    usual = planning.usual_lengths(config)
    assumed = planning.Assumptions(
        share=share or chosen.share,
        lengths=products.Lengths(source_length or usual.source, length or usual.target),
        vocabulary=vocabulary or planning.vocabulary_of(config),
        price=price,
    )
    model = planning.numbers_of(config, assumed.vocabulary, assumed.lengths)
    plans = [planning.plan(config, cluster, assumed) for cluster in clusters]
    warned = [advice.warnings_of(config, model, *one) for one in zip(clusters, plans, strict=True)]
    if as_json:
        found = as_json_object(config.name, model, chosen, assumed, plans, warned)
        typer.echo(json.dumps(found, indent=2))
    elif len(plans) == 1:
        say_plan(console(), config, model, clusters[0], assumed, plans[0], warned[0])
    else:
        say_table(console(), config, model, chosen, assumed, plans, warned)


def counts_of(text: str) -> list[int]:
    """The numbers of cards of --gpus.

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
    """The number of nodes, and of cards in each, for each number of cards.

    Args:
        cores: whether they are cores, which are all in one machine unless `nodes` says more.

    Raises:
        ConfigError: the cards cannot be divided among the nodes.
    """
    if nodes is not None and each is not None and [nodes * each] != list(counts):
        raise ConfigError(
            "--nodes and --gpus-per-node are another number of cards than --gpus.",
            expected=f"--gpus {nodes * each}",
            got=f"--gpus {','.join(map(str, counts))}",
            do="leave one of the three out",
        )
    found = []
    for count in counts:
        inside = each or (count // nodes if nodes else count if cores else min(EACH, count))
        inside = min(inside, count) or 1
        if count % inside or (nodes is not None and nodes * inside != count):
            raise ConfigError(
                "the cards cannot be divided equally among the nodes.",
                got=f"{count} cards" + (f" in {nodes} nodes" if nodes else f", {inside} in a node"),
                do="choose a multiple, or give --gpus-per-node",
            )
        found.append((count // inside, inside))
    return found
