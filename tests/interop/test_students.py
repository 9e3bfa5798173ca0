"""Marian's own files: the numbers beside a computation of their own, and files that lie."""

import struct
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from jumok.attention.observe import observe
from jumok.cli.main import app
from jumok.data.tokenizer import END, START
from jumok.errors import BundleError, JumokError
from jumok.interop.containers import Container
from jumok.interop.importing import read_model, shapes_of, write_imported
from tests.interop import students
from tests.interop.students import KINDS, Reference

FILE = "model.enpt.bin"


@pytest.fixture(scope="module", params=KINDS)
def both(request, tmp_path_factory):
    folder = students.write(tmp_path_factory.mktemp("students") / "theirs", request.param)
    imported = read_model(folder)
    settings = students.USUAL | students.SIZES | KINDS[request.param]
    stored = imported.stored
    tensors = {name: stored.load(name).clone().requires_grad_() for name in stored.shapes}
    return imported, Reference(tensors, settings)


def rows_of(imported, ids):
    return [imported.vocabulary.order[id] for id in ids]


def padded_batch() -> tuple[list[list[int]], torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(3)
    texts = [torch.randint(4, 99, (length,), generator=draw).tolist() for length in (13, 11, 5)]
    ids = torch.tensor([[*text, END] + [0] * (13 - len(text)) for text in texts])
    return texts, ids, ids != 0


def numbers(imported):
    """Logits of the rows there, of a padded batch that is written as it is read."""
    texts, ids, real = padded_batch()
    begun = torch.cat([torch.full((3, 1), START), ids[:, :-1]], 1)
    logits = imported.model.decoder(imported.model.encode(ids, real), begun)
    here = imported.vocabulary.predicted()
    return texts, logits[..., [here[row] for row in range(imported.vocabulary.rows)]]


def test_logits_attention_and_gradients_are_theirs(both):
    imported, theirs = both
    seen: list[torch.Tensor] = []

    def watch(_, attention):
        if attention.kind != "ssru":
            seen.append(attention.weights)

    with observe(imported.model, watch):
        texts, mine = numbers(imported)
    total = torch.zeros(())
    for row, text in enumerate(texts):
        ids = rows_of(imported, text)
        logits = theirs.logits([*ids, rows_of(imported, [END])[0]], ids)
        torch.testing.assert_close(mine[row, : len(ids) + 1], logits, atol=1e-5, rtol=0)
        for ours, other in zip(seen, theirs.attention, strict=True):
            whole = ours[row, :, : other.shape[1], : other.shape[2]]
            torch.testing.assert_close(whole, other, atol=1e-5, rtol=0)
        total = total + logits.tanh().sum()
    (sum(mine[row, : len(text) + 1].tanh().sum() for row, text in enumerate(texts))).backward()
    total.backward()
    gradients = {name: each.grad for name, each in imported.model.named_parameters()}
    checked = 0
    for row in imported.table.spread():
        if row.here[0] in ("encoder.embedding.table", "decoder.output.bias"):
            continue  # START and PAD are rows of their own here
        turned = row.read([theirs.tensors[name].grad for name in row.there], imported.vocabulary)
        for name, expected in zip(row.here, turned, strict=True):
            torch.testing.assert_close(gradients[name], expected, atol=1e-4, rtol=1e-4)
            checked += 1
    assert checked > 80


def test_in_out_and_in_again_gives_the_same_bits(both):
    imported, _ = both
    mine = {name: each.detach() for name, each in imported.model.named_parameters()}
    written = imported.table.write(mine, imported.vocabulary)
    for name in imported.stored.shapes:
        assert torch.equal(written[name], imported.stored.load(name)), name
    file = dict.fromkeys(written, Path(FILE))
    shapes = {name: tuple(each.shape) for name, each in written.items()}
    again = Container(Path(), shapes, file, written.__getitem__)
    imported.table.check(again, imported.vocabulary, shapes_of(imported.model))
    for name, tensor in imported.table.read(again, imported.vocabulary):
        assert torch.equal(tensor, mine[name]), name


def refused(path: Path) -> str:
    """The error; nothing is written."""
    output = path.parent / "bundle"
    done = CliRunner().invoke(app, ["import", str(path), "--output", str(output)])
    assert isinstance(done.exception, JumokError), done.output
    assert not output.exists()
    return str(done.exception)


@pytest.mark.parametrize("kind", ["student", "student in integers", "pre-norm"])
@pytest.mark.parametrize("file", [FILE, "model.npz"])
def test_each_tensor_is_needed_once_in_its_shape(kind, file, tmp_path):
    """Dropped, doubled, transposed, of other sizes, renamed, not a number."""
    settings = students.USUAL | students.SIZES | KINDS[kind]
    tensors, yaml = students.tensors_of(settings), students.yaml_of(settings)
    integers = "integers" in kind
    if integers and file.endswith(".npz"):
        pytest.skip("numpy's archives hold floats")
    folder = students.write(tmp_path / "theirs", kind, file)

    def error(changed) -> str:
        content = (
            students.archive(changed, yaml)
            if file.endswith(".npz")
            else students.binary(changed, yaml, integers=integers)
        )
        (folder / file).write_bytes(content)
        with pytest.raises(BundleError) as caught:
            read_model(folder)
        return str(caught.value)

    for name, tensor in tensors.items():
        rest = {key: each for key, each in tensors.items() if key != name}
        assert name in error(rest), name
        assert f"{name}.copy" in error(tensors | {f"{name}.copy": tensor.clone()})
        assert f"other.{name}" in error(rest | {name: tensor, f"other.{name}": tensor})
        assert name in error(tensors | {name: torch.cat([tensor, tensor])})
        if not integers:
            assert name in error(tensors | {name: tensor * float("nan")})
        if tensor.shape[0] != tensor.shape[1]:
            assert name in error(tensors | {name: tensor.t().contiguous()})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"transformer-decoder-autoreg": "average-attention"},
            "transformer-decoder-autoreg = aver",
        ),
        ({"dec-cell": "gru"}, "dec-cell = gru: of recurrent decoders only ssru is read"),
        ({"type": "amun"}, "this is a model of Marian (amun), a family that jumok does not import"),
        ({"transformer-postprocess": "dhn"}, "transformer-postprocess = dhn"),
        ({"transformer-preprocess": "n"}, "norms have to be after each layer"),
        ({"tied-embeddings-all": False}, "tied-embeddings-all = False"),
        ({"transformer-ffn-activation": "gelu"}, "transformer-ffn-activation = gelu"),
        ({"dim-vocabs": [97, 89]}, "one vocabulary has one size"),
        ({"dim-emb": 10**9}, "about"),
        ({"transformer-heads": 3}, "dim = 26 cannot be split among heads = 3"),
        ({"a-new-key": 1}, "a-new-key = 1: not known"),
        ({"enc-depth": [[1]]}, "a setting that is no value and no list of them: enc-depth"),
        ({"transformer-guided-alignment-layer": 7}, "transformer-guided-alignment-layer = 7"),
    ],
)
def test_a_setting_that_is_not_followed_is_named(changes, said, tmp_path):
    folder = students.write(tmp_path / "theirs")
    settings = students.USUAL | students.SIZES | KINDS["student"]
    tensors = students.tensors_of(settings)
    (folder / FILE).write_bytes(students.binary(tensors, students.yaml_of(settings | changes)))
    assert said in refused(folder)


YAML = [b"a: [" * 30_000, b"&a [" * 9 + b"]" * 9, b"- 1", b"a: !!python/object:os.system x"]


@pytest.mark.parametrize("yaml", [*YAML, b"x: " + b"y" * (1 << 17), b"\xff: 1"])
def test_settings_that_are_none(yaml, tmp_path):
    folder = students.write(tmp_path / "theirs")
    (folder / FILE).write_bytes(students.binary({}, yaml))
    assert f"{FILE}: this model of Marian is damaged" in refused(folder)
    (folder / FILE).unlink()
    (folder / "model.npz").write_bytes(students.archive({}, yaml))
    assert "model.npz: this model of Marian is damaged" in refused(folder)


def test_headers_that_lie(tmp_path):
    """Each number of the first header, and of the count, as large as it can be; and each cut."""
    folder = students.write(tmp_path / "theirs")
    content = (folder / FILE).read_bytes()
    for at in (8, 16, 24, 32, 40):
        for value in (2**64 - 1, 2**62, 2**40, 0):
            lying = content[:at] + struct.pack("<Q", value) + content[at + 8 :]
            (folder / FILE).write_bytes(lying)
            assert FILE in refused(folder), (at, value)
    for size in (8, 15, 1000, len(content) - 1):
        (folder / FILE).write_bytes(content[:size])
        assert f"{FILE}: this model of Marian is damaged" in refused(folder)
    (folder / FILE).write_bytes(content + b"more")
    assert "this model of Marian is damaged" in refused(folder)
    names = content.replace(b"Wemb\0", b"Wemc\0").replace(
        b"encoder_l1_self_Wq", b"encoder_l1_self_Wk", 1
    )
    (folder / FILE).write_bytes(names)
    assert "encoder_l1_self_Wk is there twice" in refused(folder)
    negative = content.replace(struct.pack("<2i", 97, 26), struct.pack("<2i", -97, -26))
    (folder / FILE).write_bytes(negative)
    assert "a shape of -97 x -26" in refused(folder)


def test_archives_that_lie(tmp_path):
    folder = students.write(tmp_path / "theirs", file="model.npz")
    content = (folder / "model.npz").read_bytes()
    for damaged in (students.compressed(content), content[: len(content) // 2], content[:-1]):
        (folder / "model.npz").write_bytes(damaged)
        assert "theirs" in refused(folder)
    pickled = {"Wemb": torch.zeros(2)}
    settings = students.yaml_of(students.USUAL | students.SIZES | KINDS["student"])
    objects = students.archive(pickled, settings).replace(b"'<f4'", b"'|O' ")
    (folder / "model.npz").write_bytes(objects)
    assert "model.npz: this model of Marian is damaged" in refused(folder)


def test_which_model_and_which_vocabulary(tmp_path):
    folder = students.write(tmp_path / "theirs")
    students.write(folder, file="model.pten.bin")
    (folder / "vocab.pten.spm").write_bytes(students.vocabulary(rows=89))
    error = refused(folder)
    assert "there are several models in this folder" in error
    assert "model.enpt.bin, model.pten.bin" in error
    imported = read_model(folder / "model.pten.bin")
    assert imported.family.languages(imported.source) == ("pt", "en")
    assert "[row 89]" in imported.tokenizer.pieces(range(imported.tokenizer.size))
    (folder / "model.pten.bin").unlink()
    (folder / "vocab.pten.spm").unlink()
    letters = [chr(0xAC00 + number) for number in range(120)]
    (folder / "vocab.enpt.spm").write_bytes(students.vocabulary(letters, rows=131))
    assert "the vocabulary is not this model's" in refused(folder)
    (folder / "vocab.enpt.spm").write_bytes(b"no model")
    assert "this is not a SentencePiece model" in refused(folder)
    (folder / "vocab.enpt.spm").unlink()
    assert "the vocabulary is missing" in refused(folder)


def test_a_student_translates_on_both_engines_and_aligns_by_its_head(tmp_path):
    """Greedily and with a beam; the bundle says where its alignments are."""
    folder = students.write(tmp_path / "theirs", "student in integers")
    bundle = write_imported(read_model(folder), tmp_path / "bundle")
    written = {}
    for engine in ("native", "torch"):
        for beam in ("1", "4"):
            command = ["translate", str(bundle), "--beam", beam, "--engine", engine]
            done = CliRunner().invoke(app, command, input="\n".join(students.SENTENCES))
            assert done.exit_code == 0, done.output
            written[engine, beam] = done.stdout
    assert written["native", "1"] == written["torch", "1"]
    assert written["native", "4"] == written["torch", "4"]
    shown = CliRunner().invoke(app, ["info", str(bundle)]).stdout
    assert "from decoder layer 2, head 1" in shown
