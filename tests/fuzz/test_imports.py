"""Damaged models of others: imported and equal to their original, or refused."""

import json
import shutil
from pathlib import Path
from random import Random

import pytest
import torch
from safetensors.torch import load_file

from jumok.interop.checking import has_original, read_compared
from jumok.interop.importing import write_imported
from tests.fuzz.mutating import budgets, changed, mutated, run
from tests.interop import folders_encdec, folders_llama, folders_trainers, students
from tests.interop.folders import WEIGHTS, sharded, write_bert, write_gpt2, write_marian
from tests.interop.folders_captioners import write_captioner
from tests.interop.gguf_files import write_gguf

SUFFIXES = (
    *(".json", ".yaml", ".txt", ".spm", ".model"),
    *(".safetensors", ".bin", ".npz", ".ckpt", ".pt", ".gguf"),
)


def in_shards(folder: Path) -> Path:
    sharded(folder)
    return folder


def pickled(folder: Path) -> Path:
    """Its weights as torch.save writes them."""
    torch.save(load_file(folder / WEIGHTS), folder / "pytorch_model.bin")
    (folder / WEIGHTS).unlink()
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("whole")
    return [
        write_bert(folder / "bert"),
        write_gpt2(folder / "gpt2"),
        write_marian(folder / "marian"),
        in_shards(write_bert(folder / "shards")),
        pickled(write_gpt2(folder / "pickle")),
        folders_llama.WRITTEN["llama 3"](folder / "llama"),
        folders_encdec.WRITTEN["t5"](folder / "t5"),
        write_captioner(folder / "captioner"),
        write_gguf(folder / "gguf").parent,
        students.write(folder / "student", "student in integers"),
        students.write(folder / "npz", "student", "model.enpt.npz"),
        folders_trainers.write(folder / "joeynmt", "joeynmt two"),
        folders_trainers.write(folder / "eole", "eole two"),
        folders_trainers.write(folder / "opennmt", "opennmt rotary"),
        folders_trainers.write(folder / "fairseq", "fairseq pre"),
    ]


def given(folder: Path) -> Path:
    """What is imported: the folder, or the file of numbers in it that holds all."""
    return next(folder.glob("*.gguf"), folder)


@budgets(60)
def test_damaged_models_of_others(whole: list[Path], tmp_path: Path, cases: int) -> None:
    for folder in whole:
        imported = read_compared(given(folder))
        assert imported.provenance.compared or not has_original(imported.family)
    copy, output = tmp_path / "model", tmp_path / "bundle"

    def case(random: Random) -> None:
        for folder in (copy, output):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(random.choice(whole), copy)
        damage(copy, random)
        write_imported(read_compared(given(copy)), output)

    assert run("import", cases, case)["error"] > 0, "some damage has to be noticed"
    assert {each.name for each in tmp_path.iterdir()} <= {"model", "bundle"}


def damage(folder: Path, random: Random) -> None:
    """Changes one file."""
    files = [file for file in sorted(folder.iterdir()) if file.suffix in SUFFIXES]
    settings = [file for file in files if file.name == "config.json"]
    file = random.choice([*files, *settings * 2])
    content = file.read_bytes()
    if file.suffix == ".json" and random.random() < 0.8:
        file.write_text(json.dumps(changed(json.loads(content), random)))
    elif file.suffix == ".safetensors" and random.random() < 0.6:
        length = int.from_bytes(content[:8], "little")
        header = changed(json.loads(content[8 : 8 + length]), random)
        text = json.dumps(header).encode()
        file.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])
    else:
        file.write_bytes(mutated(content, random))
