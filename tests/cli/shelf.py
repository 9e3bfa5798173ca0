"""The models and files that the commands of the documents name: small ones of the same kinds."""

import gzip
import random
import shutil
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import docx
import numpy as np
from PIL import Image

from smallworld.corpus import pairs, write
from tests.cli.calls import call
from tests.data.painted import COLOURS, pack, paint, write_idx
from tests.documented import ROOT
from tests.documents.test_formats import HTML, MARKDOWN, PLAIN, PO, SRT, XLIFF
from tests.interop import students
from tests.interop.folders import TEXT, write_bert, write_gpt2, write_marian
from tests.interop.folders_encdec import write_nllb
from tests.interop.folders_images import write_vit
from tests.interop.folders_tagged import write_tagged_marian
from tests.interop.gguf_files import write_gguf
from tests.interop.test_conversations import with_template
from tests.systems.untrained import write_classifier, write_masked
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
    "cifar10-attention": "data.validation_pictures=6",
    "chatbot-rnn": "data.validation_pairs=10 validation.decode_pairs=2 tokenizer.size=700",
    "enko": "validation.decode_pairs=2 tokenizer.size=1000 model.dim=32",
    "multi30k": "validation.decode_pairs=2 tokenizer.size=1000 model.dim=32",
    "nsmc-pretrained": "data.max_tokens=38",
    "tatoeba": "data.validation_pairs=10 validation.decode_pairs=2 tokenizer.size=1000 "
    "model.dim=32",
    "translit": "data.validation_pairs=10 data.test_pairs=10 validation.decode_pairs=2",
}
"""By how the name of a recipe begins: keys that make its training one of seconds."""
TMX = '<?xml version="1.0"?><tmx version="1.4"><header srclang="en"/><body>{}</body></tmx>'
UNIT = '<tu><tuv xml:lang="en"><seg>{}</seg></tuv><tuv xml:lang="{}"><seg>{}</seg></tuv></tu>'


def shorter(recipe: str) -> list[str]:
    """Options that make a training of a recipe short."""
    keys = [
        each
        for name, keys in SHORT.items()
        if Path(recipe).stem.startswith(name)
        for each in keys.split()
    ]
    return [word for key in keys for word in ("--set", key)]


def write_shelf(folder: Path) -> None:
    """Everything that the pages name; `folder` is the working folder, and $JUMOK_DATA is in it."""
    write_data(folder / "data")
    write_corpora(folder / "data")
    write_labelled(folder / "data")
    write_texts(folder)
    write_documents(folder)
    write_pictures(folder)
    write_models(folder)
    write_imports(folder)
    shutil.copytree(ROOT / "recipes", folder / "recipes")
    (folder / "bin").mkdir()
    (folder / "bin" / "sbatch").write_text("#!/bin/sh\necho 7\n", "utf-8")  # a job of Slurm
    (folder / "bin" / "sbatch").chmod(0o755)


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
    names = ("".join(draw.choices("abdegiklmnoprstuvz", k=7)).title() for _ in range(20_000))
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
    french = zip(names, french_pairs() * 64, strict=False)
    plain = [f"{name}: {source}\t{name}: {target}" for name, (source, target) in french]
    _write_rows(folder / "tatoeba" / "eng-fra.tsv", plain, compressed=True)
    gold = [f"{row}\t0-1 1-0 2p2" for row in plain[:20]]
    _write_rows(folder / "align_gold" / "hansards_en-fr_447.tsv", gold)


def write_labelled(folder: Path) -> None:
    """The further corpora of recipes: with labels, or of words."""
    known = list(islice(pairs("test"), 200))
    rows = [f"{each.source}\t{each.target}" for each in known]
    _write_rows(folder / "enko" / "mixed_valid.tsv", [f"tatoeba\t{row}" for row in rows[:20]])
    asked = [f"{each.target}\t{each.target}\t0" for each in known]
    _write_rows(folder / "ko_chatbot" / "qa.tsv", asked, compressed=True)
    loans = [f"{each.source}\t{each.target}" for each in known]
    _write_rows(folder / "translit_en-ko" / "nikl_loanwords.tsv", loans)
    reviews = [f"{at}\t{each.target}\t{at % 2}" for at, each in enumerate(known)]
    for part in ("train", "valid", "test"):
        table = ["id\tdocument\tlabel", *reviews]
        _write_rows(folder / "nsmc" / f"{part}.tsv", table, compressed=True)
    for part in ("train_small", "test_small"):
        shutil.rmtree(pack(paint(folder / "cifar10" / part, 8)).with_suffix(""))


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
    for name in ("corpus", "new", "old", "dev", "val", "a", "general"):
        sources, targets = zip(*(known if name == "corpus" else known[:40]), strict=True)
        for language in ("en", "ko", "de", "fr", "pt"):
            _write_rows(folder / f"{name}.{language}", sources if language == "en" else targets)
    _write_rows(folder / "SOURCE", [source for source, _ in known[:40]])
    _write_rows(folder / "REFERENCE", [target for _, target in known[:40]])
    write(folder / "corpus", {"train": 400, "test": 40})
    write(folder / "demo" / "smallworld-en-ko" / "smallworld", {"test": 20})
    for language in ("en", "ko", "de", "fr", "pt", "align"):
        file = folder / "corpus" / f"test.{language}"
        shutil.copy(file if file.exists() else file.with_suffix(".ko"), folder / file.name)
    shutil.copy(folder / "data" / "align_gold" / "hansards_en-fr_447.tsv", folder)
    table = "".join(f"{source}\t{target}\n" for source, target in known[:20])
    for name in ("dev", "news", "talks"):
        (folder / f"{name}.tsv").write_text(table, "utf-8")
    units = (UNIT.format(source, "fr", target) for source, target in known[:40])
    (folder / "new.tmx").write_text(TMX.format("".join(units)), "utf-8")
    (folder / "new.txt").write_text("".join(f"{source}\n" for source, _ in known), "utf-8")
    (folder / "sentences.txt").write_text("I am a student.\nThe cat saw a dog.\n", "utf-8")
    (folder / "gaps.txt").write_text("나는 ___ 봤다.\n", "utf-8")
    (folder / "terms.tsv").write_text("cat\t고양이\n", "utf-8")
    (folder / "FILE").write_text("the cat sat. I am {name}.\n\nACME-12 <b>the cat</b>\n", "utf-8")
    (folder / "lines.txt").write_text("the cat\nthe dog sat\n", "utf-8")
    (folder / "lines.en").write_text("the cat\nthe dog sat\n", "utf-8")
    (folder / "mine.txt").write_text("\n".join(TEXT * 40), "utf-8")
    norm = "import jumok, torch\njumok.register('norm', 'mine', torch.nn.LayerNorm)\n"
    (folder / "my_norm.py").write_text(norm, "utf-8")
    vectors = "king 1 1 0\nman 1 0 0\nwoman 0 0 1\nqueen 0 1 1\n"
    for name in ("VECTORS", "vectors.txt"):
        (folder / name).write_text(vectors, "utf-8")
    (folder / "analogies.txt").write_text(": family\nman woman king queen\n", "utf-8")
    for name in ("RECIPE", "recipe.toml"):
        (folder / name).write_text(RECIPE, "utf-8")


def write_documents(folder: Path) -> None:
    """Documents, and pairs in the formats of other programs."""
    texts = {
        "page.html": HTML,
        "README.md": MARKDOWN,
        "film.srt": SRT,
        "app.po": f'{PO}\nmsgid "Save"\nmsgstr "저장"\n',
        "app.xlf": XLIFF,
        "book.txt": PLAIN * 20,
        "a.txt": PLAIN,
        "notes/page.html": HTML,
    }
    for name, text in texts.items():
        _write_rows(folder / name, [text])
    for name in ("letter.docx", "b.docx"):
        document = docx.Document()
        document.add_paragraph("the cat")
        document.save(str(folder / name))
    known = [(each.source, each.target) for each in islice(pairs("train"), 60)]
    units = "".join(UNIT.format(source, "ko", target) for source, target in known)
    empty = '<tu><tuv xml:lang="en"><seg>the cat</seg></tuv></tu>'  # is filled
    (folder / "memory.tmx").write_text(TMX.format(units + empty), "utf-8")
    for name, sign in (("pairs.csv", ","), ("pairs.tsv", "\t")):
        rows = [("en", "ko"), *((f'"{source}"', f'"{target}"') for source, target in known)]
        _write_rows(folder / name, [sign.join(row) for row in rows])


def write_pictures(folder: Path) -> None:
    for name in ("new-photos", "photos"):
        paint(folder / name, 8)
    down, along = np.mgrid[0:60, 0:80]  # smooth: a picture of noise is large in every format
    pixels = np.stack((4 * down, 3 * along, down + along), axis=-1).astype(np.uint8)
    Image.fromarray(pixels).save(folder / "photo.png")
    Image.fromarray(pixels).save(folder / "photo.jpg")
    Image.fromarray(pixels[:28, :28, 0]).save(folder / "digit.png")


def done(*words: str) -> None:
    result = call(*words)
    assert result.exit_code == 0, (words, result.output, result.exception)


def train(*words: str) -> None:
    done("train", *words)


def write_models(folder: Path) -> None:
    """In `folder`, which is the working folder; a model is trained for two steps, if at all."""
    train("RECIPE", "--name", "first")
    train("RECIPE", "--name", "general", "--set", "data.target_language=fr")
    train("RECIPE", "--name", "other", "--set", "seed=2")
    train("--from", "runs/first/model", "recipe.toml", "--name", "tuned", *shorter("recipe"))
    for recipe in ("scenes", "mnist-attention", "shakespeare"):
        train(recipe, *shorter(recipe))
    write_classifier(folder / "runs" / "photos" / "model", labels=tuple(COLOURS))
    write_masked(folder / "runs" / "nsmc-mlm" / "model")
    copies = {
        "scenes": ("CAPTIONER",),
        "first": ("MODEL", "demo/smallworld-en-ko/model", "runs/enko/model", "A", "B", "C"),
        "other": ("OTHER_MODEL",),
        "tuned": ("TUNED",),
    }
    shutil.copy(folder / "runs" / "first" / "model" / "tokenizer.model", folder)
    for run, places in copies.items():
        for place in places:
            shutil.copytree(folder / "runs" / run / "model", folder / place)
    for place in ("MODEL", "seed-1", "RECIPE-sweep/runs/1"):
        shutil.copytree(folder / "runs" / "first", folder / "runs" / place)
    done("quantize", "MODEL", "--to", "int8", "--output", "SMALL", "--check", "test.en", "test.ko")


def write_imports(folder: Path) -> None:
    """Models of other programs, and some of them imported."""
    write_vit(folder / "other-vit", image_size=154)  # 14 x 14 patches
    students.write(folder / "firefox-enpt", "student in integers")
    write_bert(folder / "all-MiniLM-L6-v2", whole=False)
    write_gpt2(folder / "gpt2")
    write_marian(folder / "opus-mt-en-de")
    write_tagged_marian(folder / "opus-mt-en-deu+fra")
    write_nllb(folder / "nllb")
    with_template(folder / "chat")
    write_gguf(folder / "gguf", max_position_embeddings=300).rename(folder / "FILE.gguf")
    imported = {
        "other-vit": "vit",
        "firefox-enpt": "runs/mine/model",
        "opus-mt-en-deu+fra": "SEVERAL",
        "nllb": "NLLB",
        "chat": "CHAT",
    }
    for name, output in imported.items():
        done("import", name, "--output", output)


def write_measured(folder: Path) -> None:
    """What measurements read besides; `folder` is the working folder."""
    done("import", "FILE.gguf", "--output", "BUNDLE")
    lines = ("--data", "sentences.txt", "--force", "small")
    done("quantize", "BUNDLE", "--to", "int8", "--output", "INT8", *lines)
