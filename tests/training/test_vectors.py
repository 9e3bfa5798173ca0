"""Embeddings that begin as rows vectors: which rows, how long, and what is said of it."""

from itertools import product

import pytest
import torch

from jumok.bundle.reading import read_bundle
from jumok.config.data import VectorsConfig
from jumok.data.tokenizer import SPACE, Tokenizer
from jumok.errors import ConfigError, DataError
from jumok.layers.embedding import Embedding
from jumok.systems.translation.translator import Translator
from jumok.training.preparing.vectors import pretrained_rows
from jumok.training.run import train
from jumok.training.task import prepare_task
from tests.training.test_masked import make
from tests.training.tiny import model

pytest.importorskip("gensim")


@pytest.fixture
def tokenizer(tiny_bundle):
    return Tokenizer.load(tiny_bundle / "tokenizer.model")


def written(folder, words, width=48):
    """A vector of 3 and zeros, of 2 ones and zeros, of ...: every one of another length."""
    file = folder / "vectors.txt"
    rows = [" ".join([word, *["3"] * (i + 1), *["0"] * (width - i - 1)]) for i, word in words]
    file.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return file


def test_whole_words_get_their_vectors_by_one_scale(tokenizer, tmp_path):
    file = written(tmp_path, enumerate(["the", "cat", "nowhere"]))
    rows = pretrained_rows(VectorsConfig(path=file), tokenizer)
    pieces = tokenizer.pieces(rows.ids.tolist())
    assert sorted(pieces) == [f"{SPACE}cat", f"{SPACE}the"]
    lengths = {
        piece[1:]: float(row.norm()) for piece, row in zip(pieces, rows.vectors, strict=True)
    }
    # 3 and 3 r2: 1 long on average, one as many times longer than the other as before
    assert sum(lengths.values()) / 2 == pytest.approx(1)
    assert lengths["cat"] / lengths["the"] == pytest.approx(2**0.5)


def test_coverage_is_counted_over_the_vocabularys_words(tokenizer, tmp_path):
    file = written(tmp_path, enumerate(["the", "cat"]))
    rows = pretrained_rows(VectorsConfig(path=file, frozen=True), tokenizer)
    whole = [p for p in tokenizer.pieces(range(350)) if p.startswith(SPACE) and p != SPACE]
    assert rows.words == len(whole)
    expected = f"2 of the vocabulary's {len(whole)} whole words ({2 / len(whole):.1%})"
    assert rows.coverage == f"vectors: {expected} from vectors.txt, frozen"


@pytest.mark.parametrize("frozen", [False, True])
def test_every_table_begins_with_them(tokenizer, tmp_path, frozen):
    file = written(tmp_path, enumerate(["the", "I"]))
    rows = pretrained_rows(VectorsConfig(path=file, frozen=frozen), tokenizer)
    low = rows.ids % 31  # the tiny model has 31 entries
    rows = type(rows)(rows.config, low, rows.vectors, rows.words)
    begun, random = model(tied="target"), model(tied="target")
    rows.initialize(begun)
    tables = [m for m in begun.modules() if isinstance(m, Embedding)]
    assert len(tables) == 2
    for part in tables:
        torch.testing.assert_close(part.table[low], rows.vectors)
        assert (part.frozen is not None) == frozen
    untouched = [row for row in range(31) if row not in low.tolist()]
    expected = random.encoder.embedding.table[untouched]
    assert torch.equal(begun.encoder.embedding.table[untouched], expected)


def test_vectors_of_another_width_are_refused(tokenizer, tmp_path):
    file = written(tmp_path, enumerate(["the"]), width=50)
    with pytest.raises(ConfigError) as caught:
        pretrained_rows(VectorsConfig(path=file), tokenizer).initialize(model())
    assert "vectors.txt: the vectors are not as wide as the model's embeddings." in str(
        caught.value
    )
    assert "expected: 48 numbers per word" in str(caught.value)
    assert "set model.dim (of a recurrent model: model.embedding) to 50" in str(caught.value)


def test_vectors_of_another_language_are_refused(tokenizer, tmp_path):
    file = written(tmp_path, enumerate(["nowhere"]))
    with pytest.raises(ConfigError, match="no word of the vocabulary has a vector in this file"):
        pretrained_rows(VectorsConfig(path=file), tokenizer)


def test_a_run_ships_the_frozen_rows_as_they_were_given(tmp_path, make_config, recorder):
    file = written(tmp_path, enumerate(["one", "two", "three"]), width=16)
    screen = recorder()
    settings = (f"vectors.path={file}", "vectors.frozen=true")
    result = train(make_config(*settings), tmp_path, screen)
    assert any("whole words" in line and "vectors.txt, frozen" in line for line in screen.said)
    assert any("vectors.txt, frozen" in note for note in read_bundle(result.model).card.notes)
    translator = Translator.load(result.model)
    rows = pretrained_rows(VectorsConfig(path=file), translator.tokenizer)
    table = translator.models[0].encoder.embedding.table
    assert torch.equal(table[rows.ids], rows.vectors)


def test_a_damaged_file_stops_the_run_before_it_starts(tmp_path, make_config, recorder):
    file = tmp_path / "vectors.txt"
    file.write_text("one 1 2\ntwo 1\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2: this row has a different number of columns"):
        train(make_config(f"vectors.path={file}"), tmp_path, recorder())


@pytest.mark.parametrize("kind", ["masked-lm", "text-classifier"])
def test_other_models_of_text_begin_with_them_too(kind, tmp_path):
    rows = tmp_path / "rows.tsv"
    texts = product(["one", "two", "three"], repeat=4)
    rows.write_text("".join(f"{' '.join(text)}\t{text[0]}\n" for text in texts), encoding="utf-8")
    file = written(tmp_path, enumerate(["one", "two", "three"]), width=16)
    sizes = {"kind": kind, "dim": 16, "heads": 2, "layers": 1}
    columns = {} if kind == "masked-lm" else {"text_column": 0, "label_column": 1}
    settings = (f"vectors.path={file}", "vectors.frozen=true", "tokenizer.kind=bpe")
    config = make(rows, sizes, columns, (*settings, "tokenizer.size=20"))
    task = prepare_task(config, tmp_path, tmp_path / "cache", lambda line: None)
    table = task.build().encoder.embedding
    assert len(table.frozen) >= 1
    lengths = table.table.detach()[table.frozen].norm(dim=1)
    assert float(lengths.mean()) == pytest.approx(1)
    assert "vectors.txt, frozen" in list(task.describe(task.build()))[-1]


def test_a_classifier_begins_with_one_thing(tmp_path):
    rows, sizes = tmp_path / "rows.tsv", {"kind": "text-classifier", "pretrained": "somewhere"}
    with pytest.raises(ConfigError, match="both initialize the embeddings"):
        make(rows, sizes, {"text_column": 0, "label_column": 1}, ["vectors.path=a.txt"])
