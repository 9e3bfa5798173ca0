"""`jumok smallworld`: the built-in English-Korean corpus, or captioned images, as files."""

from pathlib import Path
from typing import Annotated

import typer

from jumok.cli.output.streams import check_folder
from jumok.cli.screen import counted

MOST_SENTENCES = 10**8


def smallworld(
    folder: Annotated[Path, typer.Argument(help="Output folder; made if missing.")],
    pairs: Annotated[
        int, typer.Option(min=1, max=MOST_SENTENCES, help="Number of training pairs.")
    ] = 60_000,
    scenes: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MOST_SENTENCES,
            help="Write this many training images with captions instead of pairs.",
        ),
    ] = None,
    held_out: Annotated[
        int,
        typer.Option(
            min=0,
            max=MOST_SENTENCES,
            help="Number of pairs or images in each of the other splits.",
        ),
    ] = 1_000,
    seed: Annotated[int, typer.Option(help="Random seed; equal seeds write equal files.")] = 1,
    minimum_words: Annotated[
        int, typer.Option(help="Minimum number of English words in a sentence.")
    ] = 3,
    maximum_words: Annotated[
        int, typer.Option(help="Maximum number of English words in a sentence.")
    ] = 16,
) -> None:
    """Write the built-in corpus: NAME.en, NAME.ko and NAME.align for every split.

    No sentence is in two splits. Sentences of "longer" have more words than
    --maximum-words; "unseen-combination" combines verbs and objects that are
    never combined in training.

    With --scenes, it writes images instead: for every split a folder with
    images.zip, captions.en.tsv, captions.ko.tsv and boxes.jsonl, with five
    captions of each image in each language. No two splits contain the same
    set of objects; "unseen-combination" combines colours and kinds of
    objects that are never combined in training.

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
