"""Links of every reading against those of people."""

from pathlib import Path

import pytest
import torch

from jumok.alignment.extract import attention_at_setting
from jumok.alignment.setting import AlignmentSetting
from jumok.alignment.words import GoldLinks, links, merge_words
from jumok.data.pairs.corpus import Corpus
from jumok.errors import DataError
from jumok.evaluation.alignment import score_links
from jumok.evaluation.alignment_settings import SettingTable, read_aligned
from jumok.systems.translation.pairs import MAX_TOKENS, align_pairs, encode_pairs
from jumok.systems.translation.translator import Translator
from smallworld.corpus import write

ROWS = ["the cat sat\t고양이가 앉았고\t0-0 2p1\n", "\t나는\t\n", "a dog\t개가\t1-0\n"]


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    file = tmp_path / "gold.tsv"
    file.write_text("".join(ROWS), encoding="utf-8")
    return Corpus(file=file)


def test_links_come_from_a_column_or_from_a_file(corpus: Corpus, tmp_path: Path) -> None:
    pairs = list(read_aligned(corpus, links=2))
    assert [pair.line for pair in pairs] == [1, 2, 3]
    sure, possible = frozenset({(0, 0)}), frozenset({(0, 0), (2, 1)})
    assert pairs[0].gold == GoldLinks(sure, possible)
    file = tmp_path / "gold"
    file.write_text("0-0 2p1\n\n1-0\n", encoding="utf-8")
    assert list(read_aligned(corpus, gold=file)) == pairs
    assert {pair.gold for pair in read_aligned(corpus)} == {None}


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("0-0\n\n", "as many lines of links", 3),
        ("0-0\n\n1-0\n\n", "as many lines of links", 4),
        ("0-0\n\n2-0\n", "word that is not there", 3),
        ("0-0 x\n\n", "not a link", 1),
    ],
)
def test_links_that_do_not_fit_are_refused_with_their_line(
    corpus: Corpus, tmp_path: Path, text: str, message: str, line: int
) -> None:
    file = tmp_path / "gold"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message) as caught:
        list(read_aligned(corpus, gold=file))
    assert f"{file}, line {line}" in str(caught.value)


def test_table_scores_each_reading_as_if_it_were_alone(tiny_bundle: Path) -> None:
    translator = Translator.load(tiny_bundle, device="cpu")
    (model,) = translator.models
    sources = ["the cat sat on the mat", "", "a dog barked", "I am"]
    targets = ["고양이가 매트 위에 앉았고", "나는", "개가 짖었다.", "나는 학생입니다."]
    gold = [{(1, 0), (2, 3)}, set(), {(1, 0), (2, 1)}, {(0, 0)}]
    known = [GoldLinks(frozenset(each), frozenset(each)) for each in gold]
    table = SettingTable(translator)
    for part in (slice(0, 2), slice(2, 4)):  # in two goes
        table.add(encode_pairs(translator, sources[part], targets[part]), known[part])
    scores = table.scores()
    assert len(scores) == 3 * 4 * 2 * 2
    tokenizer = translator.tokenizer
    for reading in (
        AlignmentSetting(0, False),
        AlignmentSetting(2, True, 1),
        AlignmentSetting(1, True, None, True),
    ):
        found = []
        for source, target in zip(sources, targets, strict=True):
            read, write = tokenizer.encode(source), tokenizer.encode(target)
            if not read:
                found.append([])
                continue
            memory = model.encode(torch.tensor([[*read, 3]]))
            looked = attention_at_setting(model, memory, torch.tensor([[2, *write]]), reading)
            words = merge_words(
                looked[0, :, : len(read)].numpy(), tokenizer.words(read), tokenizer.words(write)
            )
            found.append(links(words))
        assert scores[reading] == score_links(found, known)


def test_sentences_that_nobody_reads_count_as_left_out(tiny_bundle: Path) -> None:
    """One sure link of two is missed before a sentence has been read: recall is at most 1/2."""
    translator = Translator.load(tiny_bundle, device="cpu")
    table = SettingTable(translator)
    sure = GoldLinks(frozenset({(0, 0)}), frozenset({(0, 0)}))
    table.add(encode_pairs(translator, ["the " * 2 * MAX_TOKENS], ["나는"]), [sure])
    table.add(encode_pairs(translator, ["I"], ["나는"]), [sure])
    for scores in table.scores().values():  # one word on each side: all readings agree
        assert (scores.precision, scores.recall) == (1.0, 0.5)
        assert scores.error_rate == pytest.approx(1 - 2 / 3)


def test_nothing_to_compare_is_said(tiny_bundle: Path) -> None:
    translator = Translator.load(tiny_bundle, device="cpu")
    table = SettingTable(translator)
    table.add(encode_pairs(translator, [""], [""]), [GoldLinks(frozenset(), frozenset())])
    with pytest.raises(DataError, match="nothing to compare"):
        table.scores()


def test_long_and_empty_pairs_have_no_links_and_keep_their_place(tiny_bundle: Path) -> None:
    translator = Translator.load(tiny_bundle, device="cpu")
    pairs = encode_pairs(
        translator, ["I", "", "the cat", "the " * 2 * MAX_TOKENS], ["나는", "나는", "", "나는"]
    )
    assert pairs.long == {3}
    assert align_pairs(translator, translator.aligner, pairs) == [((0, 0),), (), (), ()]


def test_pairs_in_a_batch_are_aligned_as_alone(tiny_bundle: Path) -> None:
    translator = Translator.load(tiny_bundle, device="cpu")
    sources = ["the cat sat on the mat", "a dog", "I am a student."]
    targets = ["고양이가 매트 위에 앉았고", "개가 짖었다.", "나는 학생입니다."]
    pairs = encode_pairs(translator, sources, targets)
    together = align_pairs(translator, translator.aligner, pairs)
    for source, target, found in zip(sources, targets, together, strict=True):
        assert found == translator.attention(source, target).alignment


def test_gold_of_the_small_world_fits_its_words_and_scores_itself(
    tiny_bundle: Path, tmp_path: Path
) -> None:
    """Its own links are without error; those of one reading are what counting by hand gives."""
    write(tmp_path, {"test": 20}, seed=3)
    files = Corpus(source=tmp_path / "test.en", target=tmp_path / "test.ko")
    pairs = list(read_aligned(files, gold=tmp_path / "test.align"))
    gold = [pair.gold for pair in pairs if pair.gold is not None]
    assert len(gold) == 20
    assert score_links([known.sure for known in gold], gold).error_rate == 0.0
    translator = Translator.load(tiny_bundle, device="cpu")
    encoded = encode_pairs(
        translator, [pair.source for pair in pairs], [pair.target for pair in pairs]
    )
    table = SettingTable(translator)
    table.add(encoded, gold, batch_size=7)
    (reading,) = translator.aligner.readings
    assert reading is not None
    found = align_pairs(translator, translator.aligner, encoded, batch_size=20)
    links_found = sum(map(len, found))
    right = sum(
        link in known.sure for links, known in zip(found, gold, strict=True) for link in links
    )
    expected = 1 - 2 * right / (links_found + sum(len(known.sure) for known in gold))
    assert table.scores()[reading].error_rate == pytest.approx(expected)
