"""`jumok smallworld`: the built-in English-Korean corpus, or captioned images, as files."""

from pathlib import Path
from typing import Annotated

import typer

from jumok.cli.output.streams import check_folder
from jumok.cli.screen import counted

MOST_SENTENCES = 10**8


def smallworld(
    folder: Annotated[Path, typer.Argument(help="Output folder; created if missing.")],
    pairs: Annotated[
        int, typer.Option(min=1, max=MOST_SENTENCES, help="Number of training pairs.")
    ] = 60_000,
    scenes: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MOST_SENTENCES,
            help="Number of training images with captions, written instead of sentence pairs.",
        ),
    ] = None,
    held_out: Annotated[
        int,
        typer.Option(
            min=0,
            max=MOST_SENTENCES,
            help="Number of sentence pairs or images in each other split.",
        ),
    ] = 1_000,
    seed: Annotated[int, typer.Option(help="Random seed; the same seed gives the same files.")] = 1,
    minimum_words: Annotated[
        int, typer.Option(help="Minimum number of English words in a sentence.")
    ] = 3,
    maximum_words: Annotated[
        int, typer.Option(help="Maximum number of English words in a sentence.")
    ] = 16,
) -> None:
    """Write the built-in corpus: NAME.en, NAME.ko and NAME.align for each split.

    No sentence is in two splits. The sentences of "longer" have more words
    than --maximum-words. "unseen-combination" combines verbs and objects that
    never occur together in training.

    With --scenes, writes images instead of sentence pairs: for each split a
    folder with images.zip, captions.en.tsv, captions.ko.tsv and boxes.jsonl.
    Each image has five captions in each language. No set of objects is in two
    splits. "unseen-combination" combines colours and kinds of objects that
    never occur together in training.

      jumok smallworld corpus --pairs 100000
      jumok smallworld scenes --scenes 8000
    """
    check_folder(folder)
    if scenes is not None:
        _write_scenes(folder, scenes, held_out, seed)
        return
    from smallworld import SPLITS, write

    sizes = {split: held_out for split in SPLITS if held_out} | {"train": pairs}
    write(folder, sizes, seed, minimum_words, maximum_words, counted)
    for file in sorted(folder.glob("*.en")):
        typer.echo(f"{file.with_suffix('')}.en .ko .align")


def _write_scenes(folder: Path, pictures: int, held_out: int, seed: int) -> None:
    from smallworld.scenes import SPLITS, write

    sizes = {split: held_out for split in SPLITS if held_out} | {"train": pictures}
    for path in write(folder, sizes, seed).values():
        typer.echo(f"{path}: images.zip captions.en.tsv captions.ko.tsv boxes.jsonl")
