"""`jumok smallworld`: the embedded English-Korean corpus as files."""

from pathlib import Path
from typing import Annotated

import typer

Folder = Annotated[Path, typer.Argument(help="Where the files go; made if missing.")]
Pairs = Annotated[int, typer.Option(min=1, help="Training pairs.")]
Held = Annotated[int, typer.Option(min=0, help="Pairs of each of the other splits.")]
Seed = Annotated[int, typer.Option(help="Equal seeds write equal files.")]
Shortest = Annotated[int, typer.Option(help="English words at least.")]
Longest = Annotated[int, typer.Option(help="English words at most.")]


def smallworld(
    folder: Folder,
    pairs: Pairs = 60_000,
    held_out: Held = 1_000,
    seed: Seed = 1,
    minimum_words: Shortest = 3,
    maximum_words: Longest = 16,
) -> None:
    """Write the embedded corpus: NAME.en, NAME.ko and NAME.align for every split.

    Splits share no sentence. "longer" begins one word above --maximum-words;
    "unseen-combination" joins verbs with objects that training never joins.

      jumok smallworld corpus --pairs 100000
    """
    from jumok.smallworld import SPLITS, write

    sizes = {split: held_out for split in SPLITS if held_out} | {"train": pairs}
    write(folder, sizes, seed, minimum_words, maximum_words)
    for file in sorted(folder.glob("*.en")):
        typer.echo(f"{file.with_suffix('')}.en .ko .align")
