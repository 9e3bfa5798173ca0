"""Folders of fairseq: a checkpoint, and the words of both languages in dict.*.txt."""

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumok.errors import BundleError, Location
from jumok.interop.layouts.checkpoints import chosen
from jumok.interop.layouts.eole import Words
from jumok.interop.source import Source, SourceLayout

if TYPE_CHECKING:
    from jumok.interop.containers import Container

KIND, SUFFIX = "fairseq transformer", ".pt"
CHECKPOINTS = "checkpoint_best.pt", "checkpoint_last.pt", "model.pt"
WORDS = "dict.{}.txt"
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
ROWS = 1, 3, 2, 2
"""Those of PAD, UNKNOWN, START and END: targets begin with the end of what was before."""
OVERWRITTEN = " #fairseq:overwrite"

TAKEN = (
    *(f"{side}_{key}" for side in ("encoder", "decoder") for key in (
        "embed_dim", "ffn_embed_dim", "layers", "attention_heads", "normalize_before",
        "learned_pos",
    )),
    *("activation_fn", "dropout", "attention_dropout", "activation_dropout"),
    *("share_all_embeddings", "share_decoder_input_output_embed", "no_scale_embedding"),
    *("layernorm_embedding", "max_source_positions", "max_target_positions"),
)  # fmt: skip
"""Settings that are read."""
NEUTRAL: dict[str, tuple[Any, ...]] = {
    "adaptive_softmax_cutoff": (None,),
    "adaptive_input": (False,),
    "no_token_positional_embeddings": (False,),
    "no_cross_attention": (False,),
    "cross_self_attention": (False,),
    "no_decoder_final_norm": (False,),
    "char_inputs": (False,),
    "base_layers": (0, None),
    "encoder_layers_to_keep": (None,),
    "decoder_layers_to_keep": (None,),
}
"""Settings that have an effect with other values than these."""


def read(path: Path) -> Source:
    """The model in this checkpoint, or in that of a folder.

    Raises:
        BundleError: a file is missing or damaged, or asks for other classes than Namespace.
    """
    file = chosen(path, SUFFIX, CHECKPOINTS)
    stored = read_checkpoint(file)
    model, task = _settings(file, stored)
    languages = str(task.get("source_lang")), str(task.get("target_lang"))
    words = read_words(file.parent, languages)
    others = {
        key: model[key] for key, same in NEUTRAL.items() if model.get(key) not in (*same, None)
    }
    settings = {
        **{key: model[key] for key in TAKEN if key in model},
        **others,
        "one_vocabulary": words.source == words.target,
        "vocab_size": len(words.target),
        "languages": languages,
    }
    architecture = str(model.get("arch") or model.get("_name") or "")[:60]
    named = str(task.get("task") or task.get("_name") or "translation")[:60]
    plain = architecture.startswith("transformer") and "_lm" not in architecture
    kind = architecture if named == "translation" else named
    if plain and named == "translation" and "align" not in architecture:
        kind = "transformer"
    shown = f"a model of fairseq ({architecture}, {named})"
    return Source(path, f"fairseq {kind}", shown, settings, file, lambda: _weights(file))


def read_checkpoint(file: Path) -> dict[str, Any]:
    """What a checkpoint holds: at least "model"; raises as `read`."""
    from jumok.interop.containers import read_pickle

    stored = read_pickle(file, Namespace)
    if not isinstance(stored, dict) or not isinstance(stored.get("model"), dict):
        raise _damaged(file, "no weights (model)")
    return stored


def _settings(file: Path, stored: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Those of the model and of its task: `args`, or since 2020 `cfg` with a part for each."""
    args, parts = stored.get("args"), stored.get("cfg")
    if isinstance(args, Namespace):
        return vars(args), vars(args)
    found = parts if isinstance(parts, dict) else {}
    model, task = (
        vars(each) if isinstance(each, Namespace) else each
        for each in (found.get("model"), found.get("task"))
    )
    if not isinstance(model, dict) or not isinstance(task, dict):
        raise _damaged(file, "no settings (args or cfg)")
    return model, task


def read_words(folder: Path, languages: tuple[str, str]) -> Words:
    """The words of both languages; a BundleError if they are missing or damaged."""
    source, target = (
        _read_side(folder / WORDS.format(Path(language).name)) for language in languages
    )
    return Words(source, target, ROWS)


def _read_side(file: Path) -> list[str]:
    """Lines of a word and how often it is there, after the special tokens."""
    try:
        lines = file.read_bytes().decode().removesuffix("\n").split("\n")
    except OSError:
        raise BundleError(
            "a vocabulary is missing.",
            expected=f"{file.name}, the words of a language that the checkpoint names",
            do="copy it into the folder of the model",
            place=Location(file),
        ) from None
    except UnicodeDecodeError:
        raise _damaged(file, "text that is not UTF-8") from None
    words = list(SPECIAL)
    for number, line in enumerate(lines, start=1):
        word, space, count = line.removesuffix(OVERWRITTEN).rpartition(" ")
        if not space or not count.isdecimal() or not word:
            raise _damaged(file, f"line {number}: {line[:60]!r}, not a word and a number")
        words.append(word)
    if len(set(words)) < len(words):
        raise _damaged(file, "a word that is there twice")
    return words


def _weights(file: Path) -> "Container":
    from jumok.interop.containers import of_tensors

    return of_tensors(file, read_checkpoint(file)["model"])


def _damaged(file: Path, what: str) -> BundleError:
    return BundleError(
        "this model of fairseq is damaged.",
        got=what,
        do="copy the whole folder of the model again",
        place=Location(file),
    )


def _detects(path: Path) -> bool:
    if path.is_file():
        return path.suffix == SUFFIX and any(path.parent.glob(WORDS.format("*")))
    return path.is_dir() and all(
        any(path.glob(pattern)) for pattern in (f"*{SUFFIX}", WORDS.format("*"))
    )


FAIRSEQ_FOLDER = SourceLayout(
    f"a model of fairseq: {CHECKPOINTS[0]}, {WORDS.format('SOURCE')}, {WORDS.format('TARGET')}",
    _detects,
    read,
)
