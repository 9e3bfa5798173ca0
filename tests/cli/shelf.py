"""The models and files that the commands of the documents name: small ones of the same kinds."""

import gzip
import random
import shutil
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import numpy as np
from PIL import Image

from smallworld.corpus import pairs, write
from tests.cli.calls import call
from tests.data.painted import COLOURS, paint, write_idx
from tests.interop import students
from tests.interop.folders import write_bert
from tests.interop.folders_images import write_vit
from tests.interop.gguf_files import write_gguf
from tests.systems.untrained import write_classifier
from tests.systems.worded import french_pairs

RECIPE = """
name = "tiny"
[data]
source_language = "en"
target_language = "ko"
validation_pairs = 10
[[data.train]]
source = "corpus.en"
target = "corpus.ko"
[tokenizer]
size = 500
byte_fallback = false
character_coverage = 0.98
[model]
dim = 16
heads = 2
encoder_layers = 3
decoder_layers = 3
feedforward = 32
[training]
steps = 2
tokens_per_batch = 512
tokens_per_micro_batch = 256
precision = "fp32"
threads = 1
schedule = { warmup = 1 }
[validation]
every = 2
decode_pairs = 2
metric = "loss"
"""
SHORT = {
    "": "training.steps=2 validation.every=1 training.threads=1 training.precision=fp32 "
    "training.log_every=1 training.checkpoint_every=2 training.schedule.warmup=1",
    "smallworld-mlm": "data.smallworld.pairs=300 data.smallworld.validation_pairs=5 "
    "data.smallworld.test_pairs=5 tokenizer.size=700 tokenizer.character_coverage=0.98",
    "smallworld-en-ko": "data.smallworld.pairs=500 data.smallworld.validation_pairs=5 "
    "data.smallworld.test_pairs=5 tokenizer.size=1000 tokenizer.character_coverage=0.98 "
    "validation.decode_pairs=2",
    "scenes": "data.scenes.pictures=40 data.scenes.validation_pictures=2 "
    "data.scenes.test_pictures=2 validation.decode_pictures=1",
    "mnist-attention": "data.validation_pictures=20",
}
"""By how the name of a recipe begins: keys that make its training one of seconds."""
TMX = '<?xml version="1.0"?><tmx version="1.4"><header srclang="en"/><body>{}</body></tmx>'
UNIT = '<tu><tuv xml:lang="en"><seg>{}</seg></tuv><tuv xml:lang="{}"><seg>{}</seg></tuv></tu>'


def shorter(recipe: str) -> list[str]:
    """Options that make a training of a recipe short."""
    keys = [
        each for name, keys in SHORT.items() if recipe.startswith(name) for each in keys.split()
    ]
    return [word for key in keys for word in ("--set", key)]


def write_shelf(folder: Path) -> None:
    """Everything that the pages name; `folder` is the working folder, and $JUMOK_DATA is in it."""
    write_data(folder / "data")
    write_texts(folder)
    write_pictures(folder)
    write_models(folder)


def write_data(folder: Path) -> None:
    """What the recipes read below $JUMOK_DATA."""
    (folder / "lm").mkdir(parents=True)
    speech = "".join(f"ROMEO:\n{each.source}\n\n" for each in islice(pairs("train"), 2000))
    (folder / "lm" / "tinyshakespeare.txt").write_text(speech, "utf-8")
    (folder / "mnist").mkdir()
    draw = np.random.default_rng(1)
    for part, count in (("train", 200), ("t10k", 20)):
        digits = draw.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        write_idx(folder / "mnist" / f"{part}-images-idx3-ubyte.gz", digits)
        write_idx(folder / "mnist" / f"{part}-labels-idx1-ubyte.gz", np.arange(count) % 10)
    for file in (folder / "mnist").glob("t10k*"):  # in the working folder, too
        shutil.copy(file, folder.parent)


def write_corpora(folder: Path) -> None:
    """The corpora that measurements read below $JUMOK_DATA, of sentences of the small world.

    A name in each makes a vocabulary of 8,000 pieces possible.
    """
    draw = random.Random(1)
    names = ("".join(draw.choices("abdegiklmnoprstuvz", k=7)).title() for _ in range(10_000))
    made = (
        (f"{name}: {each.source}", f"{name}: {each.target}")
        for name, each in zip(names, pairs("train"), strict=False)
    )
    parts = {"train": 4_000, "val": 50, "test_2016_flickr": 200}
    for part, count in parts.items():
        sources, targets = zip(*islice(made, count), strict=True)
        for language, lines in (("en", sources), ("de", targets), ("fr", targets)):
            _write_rows(folder / "multi30k" / f"{part}.{language}", lines, part == "train")
    known = [f"{source}\t{target}" for source, target in islice(made, 600)]
    _write_rows(folder / "enko" / "mixed_test.tsv", [f"tatoeba\t{row}" for row in known])
    marked = [f"{part}\t{row}" for part in ("pydocs", "tatoeba", "gnome_help") for row in known]
    _write_rows(folder / "enko" / "train.tsv", marked, compressed=True)
    french = zip(names, french_pairs() * 16, strict=False)
    plain = [f"{name}: {source}\t{name}: {target}" for name, (source, target) in french]
    _write_rows(folder / "tatoeba" / "eng-fra.tsv", plain, compressed=True)
    gold = [f"{row}\t0-0 1p1" for row in plain[:20]]
    _write_rows(folder / "align_gold" / "hansards_en-fr_447.tsv", gold)


def _write_rows(file: Path, rows: Iterable[str], compressed: bool = False) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{row}\n" for row in rows).encode()
    if compressed:
        file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(text, mtime=0))
    else:
        file.write_bytes(text)


def write_texts(folder: Path) -> None:
    """Parallel texts of the small world, under all the names that the pages use."""
    known = [(each.source, each.target) for each in islice(pairs("train"), 400)]
    names = {
        "corpus": ("en", "ko"), "new": ("en", "fr"), "old": ("en", "fr"), "dev": ("en", "de"),
        "test": ("en", "de"), "val": ("en", "de"), "a": ("en", "ko"),
    }  # fmt: skip
    for name, languages in names.items():
        rows = known if name == "corpus" else known[:40]
        for side, language in enumerate(languages):
            lines = "".join(f"{row[side]}\n" for row in rows)
            (folder / f"{name}.{language}").write_text(lines, "utf-8")
    table = "".join(f"{source}\t{target}\n" for source, target in known[:20])
    for name in ("dev", "news", "talks"):
        (folder / f"{name}.tsv").write_text(table, "utf-8")
    units = (UNIT.format(source, "fr", target) for source, target in known[:40])
    (folder / "new.tmx").write_text(TMX.format("".join(units)), "utf-8")
    (folder / "new.txt").write_text("".join(f"{source}\n" for source, _ in known), "utf-8")
    (folder / "sentences.txt").write_text("I am a student.\nThe cat saw a dog.\n", "utf-8")
    (folder / "gaps.txt").write_text("나는 ___ 봤다.\n", "utf-8")
    for name in ("RECIPE", "recipe.toml"):
        (folder / name).write_text(RECIPE, "utf-8")


def write_pictures(folder: Path) -> None:
    paint(folder / "new-photos", 8)
    pixels = np.random.default_rng(3).integers(0, 255, (60, 80, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(folder / "photo.png")
    Image.fromarray(pixels).save(folder / "photo.jpg")
    Image.fromarray(pixels[:28, :28, 0]).save(folder / "digit.png")


def train(*words: str) -> None:
    done = call("train", *words)
    assert done.exit_code == 0, done.output


def write_models(folder: Path) -> None:
    """In `folder`, which is the working folder; a model is trained for two steps, if at all."""
    train("RECIPE", "--name", "first")
    train("RECIPE", "--name", "general", "--set", "data.target_language=fr")
    train("RECIPE", "--name", "other", "--set", "seed=2")
    train("--from", "runs/first/model", "recipe.toml", "--name", "tuned", *shorter("recipe"))
    for recipe in ("scenes", "mnist-attention", "shakespeare"):
        train(recipe, *shorter(recipe))
    write_classifier(folder / "runs" / "photos" / "model", labels=tuple(COLOURS))
    copies = {
        "scenes": ("CAPTIONER",),
        "first": ("MODEL", "demo/smallworld-en-ko/model"),
        "other": ("OTHER_MODEL",),
        "tuned": ("TUNED",),
    }
    shutil.copy(folder / "runs" / "first" / "model" / "tokenizer.model", folder)
    for run, places in copies.items():
        for place in places:
            shutil.copytree(folder / "runs" / run / "model", folder / place)
    write_vit(folder / "other-vit", image_size=154)  # 14 x 14 patches
    students.write(folder / "firefox-enpt", "student in integers")
    for name, output in (("other-vit", "vit"), ("firefox-enpt", "runs/mine/model")):
        imported = call("import", name, "--output", output)
        assert imported.exit_code == 0, (imported.output, imported.exception)
    shutil.copytree(folder / "runs" / "first", folder / "runs" / "MODEL")


def write_measured(folder: Path) -> None:
    """What measurements read besides; `folder` is the working folder."""
    write_corpora(folder / "data")
    write(folder / "demo" / "smallworld-en-ko" / "smallworld", {"test": 20})
    write_bert(folder / "all-MiniLM-L6-v2", whole=False)
    write_gguf(folder / "gguf", max_position_embeddings=300).rename(folder / "FILE.gguf")
    for words in (
        ("import", "FILE.gguf", "--output", "BUNDLE"),
        (
            "quantize",
            "BUNDLE",
            "--to",
            "int8",
            "--output",
            "INT8",
            "--data",
            "sentences.txt",
            "--force",
            "small",
        ),
    ):
        made = call(*words)
        assert made.exit_code == 0, (made.output, made.exception)
