"""Checkpoints of OpenNMT-py, version 3: a .pt that holds settings, words and weights."""

from argparse import Namespace
from collections.abc import Mapping
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumok.bundle.huggingface import CONFIG
from jumok.interop.layouts.checkpoints import chosen
from jumok.interop.layouts.eole import SPECIAL, Words, damaged, transforms_of, words_of
from jumok.interop.source import Source, SourceLayout

if TYPE_CHECKING:
    from jumok.interop.containers import Container

KIND, SUFFIX = "opennmt transformer", ".pt"

RENAMED = {
    "heads": "heads",
    "transformer_ff": "transformer_ff",
    "layer_norm": "layer_norm",
    "norm_eps": "norm_eps",
    "add_qkvbias": "add_qkvbias",
    "sliding_window": "sliding_window",
    "relative_positions_buckets": "relative_positions_buckets",
    "parallel_residual": "parallel_residual",
    "shared_layer_norm": "shared_layer_norm",
    "num_experts": "num_experts",
    "coverage_attn": "coverage_attn",
}
"""Settings of both sides, by their names in Eole, which follows OpenNMT-py."""

WHOLE = "share_embeddings", "share_decoder_embeddings", "generator_function"
NEUTRAL: dict[str, tuple[Any, ...]] = {
    "copy_attn": (False,),
    "n_src_feats": (0,),
    "self_attn_type": ("scaled-dot", "scaled-dot-flash"),
}
"""Settings that Eole does not have any more, and their values without an effect."""

ROPE = "rotary_interleave", "rotary_theta", "rotary_dim"
POSITIONS = {-1: "Rotary", -2: "Alibi"}
"""By max_relative_positions; other numbers, but for 0, are of relative positions."""

SUBWORDS = "src_subword_model", "tgt_subword_model", "src_vocab_threshold", "tgt_vocab_threshold"


def read(path: Path) -> Source:
    """The model in this checkpoint, or in the only one of a folder.

    Raises:
        BundleError: there are several, or it is damaged, or asks for other classes than Namespace.
    """
    file = chosen(path, SUFFIX)
    stored = read_checkpoint(file)
    options, words = vars(stored["opt"]), checkpoint_words(file, stored)
    kind = str(options.get("encoder_type", "rnn"))
    if stored["vocab"].get("data_task", "seq2seq") != "seq2seq":
        kind = str(stored["vocab"]["data_task"])[:40]
    biased = any(str(name).endswith("w_1.bias") for name in tensors(stored))
    settings = {
        **model_of(options, ffn_biased=biased),
        "training": {key: _listed(options[key]) for key in DROPOUTS if key in options},
        "transforms": transforms_of(options),
        "transforms_configs": {
            kind: {key: options[key] for key in SUBWORDS if options.get(key)}
            for kind in ("sentencepiece", "bpe")
        },
        "one_vocabulary": words.source == words.target,
        "vocab_size": len(words.target),
    }
    named = f"a model of OpenNMT-py ({kind})"
    return Source(path, f"opennmt {kind}", named, settings, file, lambda: _weights(file))


DROPOUTS = "dropout", "attention_dropout"


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def model_of(options: Mapping[str, Any], *, ffn_biased: bool) -> dict[str, Any]:
    """The settings of the model as Eole writes them.

    Args:
        ffn_biased: whether the feed-forward layers have biases, which older files do not say.
    """
    both = {new: options[key] for key, new in RENAMED.items() if key in options}
    activation, far = options.get("pos_ffn_activation_fn", "relu"), _number(options)
    absolute = str(options.get("position_encoding_type") or "SinusoidalInterleaved")
    both |= {
        "add_ffnbias": ffn_biased,
        # silu is a gate there, which its name does not say
        "mlp_activation_fn": "gated-silu" if activation == "silu" else activation,
        "heads_kv": options.get("num_kv") or None,
        "position_encoding_type": (
            absolute if options.get("position_encoding") else POSITIONS.get(far, "Relative")
        ),
        "rope_config": {key: options[key] for key in ROPE if key in options},
    }
    if not far and not options.get("position_encoding"):
        both["position_encoding_type"] = "none"
    sides = {
        f"{side}oder": both
        | {f"{side}oder_type": options.get(f"{side}oder_type", "rnn")}
        | {"layers": _of_side(options, side, "layers")}
        | {"hidden_size": _of_side(options, side, "hid_size")}
        for side in ("enc", "dec")
    }
    sizes = "word_vec_size", "src_word_vec_size", "tgt_word_vec_size"
    others = {key: options[key] for key in WHOLE if key in options}
    others |= {
        key: options[key] for key, same in NEUTRAL.items() if options.get(key, same[0]) not in same
    }
    return {**sides, "embeddings": {key: options[key] for key in sizes if key in options}, **others}


def _number(options: Mapping[str, Any]) -> int:
    value = options.get("max_relative_positions", 0)
    return value if isinstance(value, int) else 0


def _of_side(options: Mapping[str, Any], side: str, key: str) -> Any:
    """A size that may be given for both sides at once."""
    whole = options.get({"layers": "layers", "hid_size": "hidden_size"}[key], -1)
    return whole if isinstance(whole, int) and whole > 0 else options.get(f"{side}_{key}")


def read_checkpoint(file: Path) -> dict[str, Any]:
    """What a checkpoint holds: at least "opt" and "vocab"; raises as `read`."""
    from jumok.interop.containers import read_pickle

    stored = read_pickle(file, Namespace)
    if not isinstance(stored, dict) or not isinstance(stored.get("opt"), Namespace):
        raise damaged(file, "no settings (opt)")
    if not isinstance(stored.get("vocab"), dict):
        raise damaged(file, "no words (vocab); those of version 2 are objects, which are not read")
    return stored


def checkpoint_words(file: Path, stored: Mapping[str, Any]) -> Words:
    """Its words; a BundleError if they are damaged."""
    values = stored["vocab"]
    start = values.get("decoder_start_token", SPECIAL["bos_token"])
    return words_of(file, values, SPECIAL, start)


def tensors(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the model and of its generator, whose name is a number in older files."""
    model, generator = stored.get("model"), stored.get("generator")
    if not isinstance(model, dict) or not isinstance(generator, dict):
        return {}
    renamed = {f"generator.{str(key).removeprefix('0.')}": each for key, each in generator.items()}
    return model | renamed


def _weights(file: Path) -> "Container":
    from jumok.interop.containers import of_safetensors, of_tensors

    stored = read_checkpoint(file)
    beside = sorted(file.parent.glob(f"{escape(file.stem)}.[0-9][0-9].safetensors"))
    if "model" not in stored and beside:
        return of_safetensors(file.parent, beside)
    return of_tensors(file, tensors(stored))


def _detects(path: Path) -> bool:
    if path.is_file():
        return path.suffix == SUFFIX
    return path.is_dir() and not (path / CONFIG).exists() and any(path.glob(f"*{SUFFIX}"))


OPENNMT_FILE = SourceLayout("a checkpoint of OpenNMT-py 3: a .pt", _detects, read)
