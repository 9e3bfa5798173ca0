"""Scenes on disk: an archive of PNG files, captions in both languages, and gold boxes.

A split's folder holds

- `images.zip`: PNG files, stored as they are (not packed twice); 000000.png, 000001.png, ...;
- `captions.en.tsv`, `captions.ko.tsv`: file, number from 0, caption; five rows an image;
- `boxes.jsonl`: one line an image. `things` are boxes with what is in them; `en` and `ko` are the
  nouns of each caption: [index of the word among the words between spaces, indices of the things].
"""

import json
from collections.abc import Iterator
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import IO
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from smallworld.scenes.captions import LANGUAGES, SceneCaption, captions
from smallworld.scenes.drawing import box, render
from smallworld.scenes.scene import scenes
from smallworld.scenes.world import Scene


def write(folder: Path, sizes: dict[str, int], seed: int = 1) -> dict[str, Path]:
    """Writes images for every split in `sizes`, each into a folder of its own.

    A folder is named after its split, with "-" for spaces. In validation, test and "unseen
    combination" every list of things occurs once.

    Returns:
        The folder of each split.

    Raises:
        ConfigError: a split has another name than `scene.SPLITS`; nothing is written.
        MissingExtraError: Pillow is not installed.
    """
    streams = {split: scenes(split, seed) for split in sizes}
    folders = {split: folder / split.replace(" ", "-") for split in sizes}
    for split, stream in streams.items():
        chosen = stream if split == "train" else _distinct(stream)
        _write_split(folders[split], islice(chosen, sizes[split]))
    return folders


def _distinct(stream: Iterator[Scene]) -> Iterator[Scene]:
    seen: set[str] = set()
    for scene in stream:
        if scene.inventory not in seen:
            seen.add(scene.inventory)
            yield scene


def _write_split(folder: Path, chosen: Iterator[Scene]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (
        ZipFile(folder / "images.zip", "w", ZIP_STORED) as archive,
        (folder / "captions.en.tsv").open("w", encoding="utf-8") as english,
        (folder / "captions.ko.tsv").open("w", encoding="utf-8") as korean,
        (folder / "boxes.jsonl").open("w", encoding="utf-8") as boxes,
    ):
        for number, scene in enumerate(chosen):
            name = f"{number:06}.png"
            # A ZipInfo of its own has no clock in it: equal seeds write equal archives.
            archive.writestr(ZipInfo(name), png(scene))
            said = {language: captions(scene, language) for language in LANGUAGES}
            _write_rows(english, name, said["en"])
            _write_rows(korean, name, said["ko"])
            record = {"file": name, **gold(scene, said)}
            boxes.write(json.dumps(record, ensure_ascii=False) + "\n")


def png(scene: Scene) -> bytes:
    """The scene drawn, as a PNG file."""
    stream = BytesIO()
    render(scene).save(stream, "PNG", compress_level=3)
    return stream.getvalue()


def gold(scene: Scene, said: dict[str, tuple[SceneCaption, ...]]) -> dict[str, object]:
    """The boxes of all things, and for each caption which word names which of them."""
    labels = [thing.label for thing in scene.things]
    things = [
        {"kind": thing.kind, "colour": thing.colour, "size": thing.size, "box": box(thing)}
        for thing in scene.things
    ]
    nouns = {
        language: [
            [
                [noun.word, [i for i, label in enumerate(labels) if label == noun.label]]
                for noun in caption.nouns
            ]
            for caption in each
        ]
        for language, each in said.items()
    }
    return {"layout": scene.layout, "things": things, **nouns}


def _write_rows(file: IO[str], name: str, each: tuple[SceneCaption, ...]) -> None:
    file.writelines(f"{name}\t{number}\t{caption.text}\n" for number, caption in enumerate(each))
