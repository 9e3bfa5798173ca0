"""Models of other trainers as their own code has them (`peers/`), in folders as it writes them."""

import json
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from tests.interop.folders_encdec import write_sentencepiece
from tests.interop.peers.weights import PAGES, constant, is_constant, numbers

Made = dict[str, Any]
"""What a peer tells of a model: settings, words, shapes of tensors, ids, logits."""


def weights_of(made: Made) -> dict[str, Tensor]:
    """Its tensors, those of tied names as one; buffers are zeros."""
    same = made["same"]
    found = {
        name: constant(name, shape) if is_constant(name, shape) else numbers(name, shape)
        for name, shape in made["tensors"].items()
        if name not in same
    }
    return {name: found[same.get(name, name)] for name in made["tensors"]}


def write_joeynmt(folder: Path, made: Made) -> Path:
    """JSON is YAML, too."""
    folder.mkdir(parents=True, exist_ok=True)
    data = {"train": "corpora/train"}
    for side, language, words in zip(("src", "trg"), ("en", "ko"), made["words"], strict=True):
        write_sentencepiece(folder / f"{side}.model")
        (folder / f"{side}_vocab.txt").write_text("".join(f"{word}\n" for word in words), "utf-8")
        cut = {"model_file": f"/corpora/{side}.model", "pretokenizer": "none"}
        data[side] = {"lang": language, "level": "bpe", "max_length": 100, "tokenizer_cfg": cut}
    config = {"name": "small", "model": made["settings"], "data": data, "training": {"epochs": 3}}
    (folder / "config.yaml").write_text(json.dumps(config))
    state = {"model_state": weights_of(made), "optimizer_state": {}, "stats_state": {"steps": 7}}
    torch.save(state, folder / "best.ckpt")
    return folder


def write_g2p(folder: Path, made: Made) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {name: tensor.numpy() for name, tensor in weights_of(made).items()}
    np.savez(folder / "checkpoint20.npz", **arrays)
    return folder


def write_eole(folder: Path, made: Made) -> Path:
    """As its training saves it: what changes texts is named, and its models lie beside."""
    folder.mkdir(parents=True, exist_ok=True)
    write_sentencepiece(folder / "both.model")
    cut = {"src_subword_model": "${MODEL_PATH}/both.model", "tgt_subword_alpha": 0.0}
    config = {
        "model": made["settings"], "training": {"dropout": [0.1], "train_steps": 7},
        "transforms": ["sentencepiece", "filtertoolong"], "data": {},
        "transforms_configs": {"sentencepiece": cut, "filtertoolong": {"src_seq_length": 99}},
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.json").write_text(json.dumps(made["vocab"], ensure_ascii=False), "utf-8")
    left_out = {"share_embeddings": "tgt_emb.embeddings", "share_decoder_embeddings": "generator"}
    tied = {f"{left_out[key]}.weight" for key in left_out.keys() & made["settings"].keys()}
    tensors = {name: each for name, each in weights_of(made).items() if name not in tied}
    save_file(tensors, folder / "model.00.safetensors")
    return folder


def write_opennmt(folder: Path, made: Made) -> Path:
    """Settings are a Namespace; the generator stands beside the model."""
    folder.mkdir(parents=True, exist_ok=True)
    write_sentencepiece(folder / "both.model")
    cut = {"transforms": ["sentencepiece"], "src_subword_model": "corpora/both.model"}
    options = Namespace(**made["settings"] | cut | {"dropout": [0.1]})
    model, generator = {}, {}
    for name, tensor in weights_of(made).items():
        key = name.removeprefix("generator.")
        (model if key == name else generator)[key] = tensor
    state = {"model": model, "generator": generator, "vocab": made["vocab"], "opt": options}
    torch.save(state | {"optim": {"steps": 7}}, folder / "model_step_7.pt")
    return folder


def write_fairseq(folder: Path, made: Made) -> Path:
    """With args, as before 2020, where sources and targets share all; otherwise with cfg."""
    folder.mkdir(parents=True, exist_ok=True)
    write_sentencepiece(folder / "spm.model")
    for language, words in zip(("en", "ko"), made["words"], strict=True):
        lines = "".join(f"{word} 7\n" for word in words[4:])
        (folder / f"dict.{language}.txt").write_text(lines, "utf-8")
    options = Namespace(**made["settings"])
    settings: Made = {"args": options, "cfg": None}
    if not made["settings"]["share_all_embeddings"]:
        task = {"_name": "translation", "source_lang": "en", "target_lang": "ko"}
        settings = {"args": None, "cfg": {"model": options, "task": task}}
    tensors = weights_of(made)
    for name, tensor in tensors.items():
        if name.endswith("embed_positions.weight"):
            tensor[:2] = 0.0  # of positions that no token has
    state = {"model": tensors, "extra_state": {"epoch": 7}}
    torch.save(state | settings, folder / "checkpoint_best.pt")
    return folder


WRITERS: Mapping[str, Callable[[Path, Made], Path]] = {
    "joeynmt": write_joeynmt,
    "joey_rnn": write_joeynmt,
    "eole": write_eole,
    "opennmt": write_opennmt,
    "fairseq": write_fairseq,
    "g2p": write_g2p,
}
MADE: dict[str, Made] = {
    f"{trainer} {name}": made
    for trainer in WRITERS
    for name, made in json.loads((PAGES / f"{trainer}.json").read_text("utf-8")).items()
}


def write(folder: Path, name: str) -> Path:
    """The folder of a model."""
    return WRITERS[name.split(maxsplit=1)[0]](folder, MADE[name])
