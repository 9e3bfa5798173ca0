"""Models of other trainers: the logits of their own code, the tables both ways, what is refused."""

import importlib.util
import json
import random
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from typer.testing import CliRunner

import jumok
from jumok.cli.main import app
from jumok.data.tokenizer import END, PAD
from jumok.errors import BundleError
from jumok.interop.containers import Container
from jumok.interop.importing import Imported, read_model, shapes_of, write_imported
from tests.interop.folders_trainers import MADE, weights_of, write
from tests.interop.peers import g2p
from tests.interop.test_bad_folders import Bomb


@pytest.fixture(params=MADE)
def both(request, tmp_path) -> tuple[str, Path, Imported]:
    folder = write(tmp_path / "theirs", request.param)
    return request.param, folder, read_model(folder)


def ours(ids: list[list[int]], here: dict[int, int]) -> Tensor:
    return torch.tensor([[here[id] for id in row] for row in ids])


def ended(read: Tensor) -> Tensor:
    """The sources with END after them."""
    with_room = F.pad(read, (0, 1), value=PAD)
    places = (read != PAD).sum(1, keepdim=True)
    return with_room.scatter(1, places, END)


@torch.no_grad()
def logits_here(imported: Imported, read: list[list[int]], written: list[list[int]]) -> Tensor:
    """Of ids there, for our ids."""
    model, vocabulary = imported.model, imported.vocabulary
    tokens = ours(read, vocabulary.read.here())
    if not getattr(imported.section, "source_end", True):
        tokens = ended(tokens)
    return model.decoder(model.encode(tokens, tokens != PAD), ours(written, vocabulary.here()))


def test_logits_are_those_of_the_trainer(both):
    name, _, imported = both
    made, predicted = MADE[name], imported.vocabulary.predicted()
    logits = logits_here(imported, made["read"], made["written"])
    found = logits[..., [predicted[row] for row in range(imported.vocabulary.rows)]]
    torch.testing.assert_close(found, torch.tensor(made["logits"]), atol=1e-5, rtol=0)
    others = [id for id in range(imported.tokenizer.size) if id not in predicted.values()]
    if others:
        assert float(logits[..., others].max()) < float(found.min()) - 50


def test_in_out_and_in_again_gives_the_same_bits(both):
    _, folder, imported = both
    table, stored = imported.table, imported.stored
    mine = {name: each.detach() for name, each in imported.model.named_parameters()}
    written = table.write(mine, imported.vocabulary)
    for name, tensor in written.items():
        last_bit = 2**-22 * name.endswith("lut.weight")  # a table that is scaled may lose it
        torch.testing.assert_close(tensor, stored.load(name), rtol=last_bit, atol=0.0)
    again = Container(
        folder, {name: tuple(each.shape) for name, each in written.items()},
        dict.fromkeys(written, folder), written.__getitem__,
    )  # fmt: skip
    table.check(again, imported.vocabulary, shapes_of(imported.model))
    for name, tensor in table.read(again, imported.vocabulary):
        assert torch.equal(tensor, mine[name]), name


def test_each_tensor_is_needed_once_in_its_shape(both):
    _, folder, imported = both
    table, vocabulary, stored = imported.table, imported.vocabulary, imported.stored
    tensors = {name: stored.load(name) for name in stored.shapes}

    def error(changed: dict[str, Tensor]) -> str:
        shapes = {name: tuple(each.shape) for name, each in changed.items()}
        container = Container(folder, shapes, dict.fromkeys(changed, folder), changed.__getitem__)
        with pytest.raises(BundleError) as caught:
            table.check(container, vocabulary, shapes_of(imported.model))
        return str(caught.value)

    tied = {each for name, others in table.aliases.items() for each in (name, *others)}
    for name, tensor in tensors.items():
        rest = {key: each for key, each in tensors.items() if key != name}
        if name in table.left_out(stored) or name in tied:
            continue
        assert name in error(rest)
        assert f"{name}.copy" in error(tensors | {f"{name}.copy": tensor})
        assert name in error(tensors | {name: torch.cat([tensor, tensor])})
        if tensor.ndim == 2 and tensor.shape[0] != tensor.shape[1]:
            assert name in error(tensors | {name: tensor.t()})


def test_engine_and_torch_write_the_same(both, tmp_path):
    _, _, imported = both
    folder = write_imported(imported, tmp_path / "bundle")
    lines = ["the cat sat on the mat", "that", "고양이가 매트", "Café"]
    options = jumok.DecodingOptions(beam=4, maximum_length=13)
    found = [
        jumok.load(folder, engine=engine, kind=jumok.Translator).translate(lines, options)
        for engine in ("native", "torch")
    ]
    assert [each.text for each in found[0]] == [each.text for each in found[1]]


def refused(folder: Path) -> str:
    done = CliRunner().invoke(app, ["import", str(folder), "-o", str(folder.parent / "bundle")])
    assert isinstance(done.exception, BundleError), done.output
    assert not (folder.parent / "bundle").exists()
    return str(done.exception)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("model.encoder.num_heads", 6, "encoder and decoder have to have the same width"),
        ("model.encoder.type", "recurrent", "decoder.type = transformer"),
        ("model.encoder.a_new_key", 1, "encoder.a_new_key"),
        ("model.encoder.layer_norm", None, "encoder.layer_norm"),
        ("model.a_new_key", 1, "a_new_key = 1: not known"),
        ("data.src.level", "word", "data.src.level"),
        ("data.trg.tokenizer_type", "subword-nmt", "data.trg.tokenizer_type"),
        ("data.src.lowercase", True, "data.src.lowercase"),
        ("data.src.tokenizer_cfg.pretokenizer", "moses", "data.src.tokenizer_cfg.pretokenizer"),
        ("data.src.tokenizer_cfg.model_file", "x/other.model", "other.model, the subword"),
        ("data.special_symbols", {"pad_id": 4}, "the special tokens are not where"),
        ("model", 3, "no settings of model and data"),
    ],
)
def test_settings_of_joeynmt_that_are_not_followed(tmp_path, key, value, said):
    folder = write(tmp_path / "theirs", "joeynmt pre")
    config = json.loads((folder / "config.yaml").read_text())
    *way, last = key.split(".")
    inner = config
    for each in way:
        inner = inner[each]
    inner[last] = value
    (folder / "config.yaml").write_text(json.dumps(config))
    assert said in refused(folder)


def test_damaged_files_of_joeynmt(tmp_path):
    folder = write(tmp_path / "theirs", "joeynmt two")
    config, words = folder / "config.yaml", folder / "src_vocab.txt"
    good = config.read_text()
    bombs = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 20))
    for bad, said in (
        ("a: [", "no YAML"),
        ("[1]", "no names and values"),
        (f"a0: &a0 [x]\n{bombs}", "settings, or some that contain themselves"),
        ("a: &a [*a]", "settings, or some that contain themselves"),
        ("# " + "x" * 200_000, "more than"),
    ):
        config.write_text(bad)
        assert said in refused(folder), bad[:50]
    config.write_text(good)
    listed = words.read_text("utf-8")
    words.write_text(listed + "e\n", "utf-8")
    assert "a subword that is there twice" in refused(folder)
    words.write_text(listed + "another\n", "utf-8")
    assert "src_embed.lut.weight" in refused(folder)
    words.unlink()
    assert "a vocabulary is missing" in refused(folder)
    words.write_text(listed, "utf-8")
    checkpoint = folder / "best.ckpt"
    trap = tmp_path / "touched"
    state = {"model_state": weights_of(MADE["joeynmt two"])}
    torch.save(state | {"more": Bomb(trap)}, checkpoint)
    error = refused(folder)
    assert "this pickle holds more than weights" in error
    assert "pathlib" in error
    assert not trap.exists()
    checkpoint.rename(folder / "1.ckpt")
    torch.save(state, folder / "2.ckpt")
    assert "there are several checkpoints" in refused(folder)
    read_model(folder / "2.ckpt")


PUBLISHED = importlib.util.find_spec("g2p_en")


@pytest.mark.skipif(PUBLISHED is None, reason="needs the package g2p-en 2.1")
def test_the_published_g2p_en_writes_what_its_own_code_writes(tmp_path):
    code = g2p.original()
    imported = read_model(Path(PUBLISHED.origin).parent)
    folder = write_imported(imported, tmp_path / "bundle")
    dice = random.Random(3)
    parts = [
        "str",
        "ough",
        "a",
        "tion",
        "qu",
        "e",
        "i",
        "ble",
        "wh",
        "o",
        "ck",
        "ph",
        "y",
        "m",
        "'",
    ]
    words = ["".join(dice.choices(parts, k=dice.randint(1, 6))) for _ in range(2000)]
    options = jumok.DecodingOptions(beam=1, maximum_length=40)
    for engine in ("native", "torch"):
        translator = jumok.load(folder, engine=engine, kind=jumok.Translator)
        found = [each.text.split() for each in translator.translate(words, options, keep=False)]
        for word, phonemes in zip(words, found, strict=True):
            assert phonemes[:20] == code.predict(word), word
    predicted = imported.vocabulary.predicted()
    rows = [predicted[row] for row in range(imported.vocabulary.rows)]
    for _ in range(100):
        read = [*dice.choices(range(1, 29), k=dice.randint(0, 20)), 2]
        written = [2, *dice.choices(range(4, 74), k=11)]
        expected = torch.from_numpy(g2p.logits_of(code, code.variables, read, written))
        logits = logits_here(imported, [read], [written])[..., rows]
        torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-6)  # of up to 20


def test_damaged_files_of_g2p_en(tmp_path):
    folder = write(tmp_path / "theirs", "g2p small")
    file = folder / "checkpoint20.npz"
    arrays = dict(np.load(file))
    for changed, said in (
        ({"enc_emb": np.zeros((30, 16), np.float32)}, "letters = 30"),
        ({"dec_emb": np.zeros((74, 16, 1), np.float32)}, "dec_emb: an array of (74, 16, 1)"),
        ({"fc_b": np.zeros(74)}, "fc_b: numbers of type <f8"),
        ({"fc_b": np.full(74, np.nan, np.float32)}, "NaN"),
    ):
        np.savez(file, **(arrays | changed))
        assert said in refused(folder)
