"""For every family a tiny recipe on earlier data, and the same recipe on new data."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jumok.config import Config, parse_config
from jumok.training.start import parse
from tests.data.painted import paint

WORDS = ["one", "two", "three", "four", "five", "six", "seven"]

Values = dict[str, Any]

TRAINING: Values = {
    "steps": 4,
    "tokens_per_batch": 300,
    "tokens_per_micro_batch": 100,
    "learning_rate": 0.01,
    "precision": "fp32",
    "threads": 1,
    "log_every": 1,
    "checkpoint_every": 3,
    "schedule": {"warmup": 2},
    "average": {"decay": 0.8},
}
FURTHER: Values = {
    "steps": 4,
    "precision": "fp32",
    "threads": 1,
    "log_every": 1,
    "checkpoint_every": 3,
    "learning_rate": 0.01,
}
TOKENIZER = {"kind": "char", "size": 60, "byte_fallback": False}
WHOLE_WORDS = {"kind": "bpe", "size": 40, "byte_fallback": False}
"""Of whole words: a translation may have three times as many tokens as its source."""

STACK = {"dim": 16, "heads": 2, "feedforward": 32, "dropout": 0.1}


def rows(seed: int, count: int = 120) -> list[list[str]]:
    """Rows of number words; with another seed, other rows."""
    draw = random.Random(seed)
    return [[draw.choice(WORDS) for _ in range(draw.randint(2, 6))] for _ in range(count)]


def write(file: Path, lines: list[str]) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(file)


def translation(folder: Path, seed: int, **model: Any) -> Values:
    texts = [" ".join(row) for row in rows(seed)]
    backwards = [" ".join(reversed(row)) for row in rows(seed)]
    pair = {"source": write(folder / "a.en", texts), "target": write(folder / "a.ko", backwards)}
    data = {"train": [pair], "validation_pairs": 11, "source_language": "en"}
    sizes = {**STACK, "encoder_layers": 1, "decoder_layers": 1}
    return {
        "data": data,
        "tokenizer": WHOLE_WORDS,
        "model": model or sizes,
        "validation": {"decode_pairs": 3},
    }


def rnn(folder: Path, seed: int) -> Values:
    return translation(folder, seed, kind="rnn", dim=16, embedding=16, word_dropout=0.2)


def texts(folder: Path, seed: int) -> Values:
    lines = [" ".join(row) for row in rows(seed)]
    data = {"train": [{"file": write(folder / "a.txt", lines)}]}
    model = {"kind": "causal-lm", **STACK, "layers": 1, "max_length": 16}
    return {"data": data, "model": model}


def lines(folder: Path, seed: int) -> Values:
    values = texts(folder, seed)
    return {**values, "data": {**values["data"], "documents": "line"}}


def masked(folder: Path, seed: int) -> Values:
    some = [" ".join(row) for row in rows(seed)]
    corpus = {"file": write(folder / "a.txt", some)}
    data = {"train": [corpus], "validation_texts": 11, "max_tokens": 40}
    return {"data": data, "tokenizer": TOKENIZER, "model": {"kind": "masked-lm", **STACK}}


def labelled(folder: Path, seed: int, names: tuple[str, ...] = ("even", "odd")) -> Values:
    table = [f"{' '.join(row)}\t{names[len(row) % len(names)]}" for row in rows(seed)]
    corpus = {"file": write(folder / "a.tsv", table)}
    data = {"train": [corpus], "validation_texts": 11, "max_tokens": 40}
    model = {"kind": "text-classifier", **STACK, "layers": 1}
    return {"data": data, "tokenizer": TOKENIZER, "model": model}


def images(folder: Path, seed: int) -> Values:
    if not folder.exists():
        paint(folder, 8 + seed)
    data = {"train": [{"folder": str(folder)}], "validation_pictures": 6}
    data["augmentation"] = {"flip": True, "shift": 1}
    model = {"kind": "image-classifier", "height": 8, "width": 10, "channels": [8], "dropout": 0.1}
    training = {"tokens_per_batch": 24, "tokens_per_micro_batch": 12}
    return {"data": data, "model": model, "training": training}


def captions(folder: Path, seed: int) -> Values:
    scenes = {"pictures": 10 + seed, "validation_pictures": 3, "test_pictures": 2}
    encoder = {"kind": "cnn", "size": 16, "patch": 4, "channels": [8], "blocks": 1}
    decoder = {"kind": "transformer", "dim": 12, "heads": 2, "feedforward": 16, "layers": 1}
    return {
        "seed": seed,
        "data": {"language": "en", "max_tokens": 40, "scenes": scenes},
        "tokenizer": {"kind": "bpe", "size": 120, "byte_fallback": False},
        "model": {"kind": "captioner", "encoder": encoder, "decoder": decoder},
        "training": {"tokens_per_batch": 900, "tokens_per_micro_batch": 450},
        "validation": {"decode_pictures": 2},
    }


FAMILIES: dict[str, Callable[[Path, int], Values]] = {
    "transformer": translation,
    "rnn": rnn,
    "text": texts,
    "lines": lines,
    "masked": masked,
    "labelled": labelled,
    "images": images,
    "captions": captions,
}


def earlier(family: str, folder: Path, *overrides: str) -> Config:
    """The recipe of the model to start from."""
    values = FAMILIES[family](folder / "old", 1)
    training = TRAINING | values.get("training", {})
    shown = {"every": 4, "metric": "loss"} | values.get("validation", {})
    return parse_config(
        {"name": "old", **values, "training": training, "validation": shown}, overrides
    )


def further(
    family: str, folder: Path, model: Path, *overrides: str, runs: Path | None = None
) -> Config:
    """The recipe that trains it further, without what the model brings."""
    fresh = FAMILIES[family](folder / "new", 2)
    values = {
        "name": "new",
        "data": fresh["data"],
        "start": {"model": str(model)},
        "training": FURTHER,
        "validation": {"every": 2, "keep": "all"} | fresh.get("validation", {}),
    }
    return parse(values, overrides, runs=runs)
