"""N lines in, N lines out, whatever is in them; and what comes with each."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import jumok
from jumok.alignment.extract import attention_at_setting
from jumok.alignment.setting import AlignmentSetting
from jumok.alignment.words import merge_words
from jumok.bundle.reading import read_bundle
from jumok.bundle.weights import load_model
from jumok.bundle.writing import write_bundle
from jumok.data.tokenizer import END, START, Tokenizer
from jumok.decoding import DecodingOptions
from jumok.errors import BundleError, ConfigError, DataError, ModelError
from jumok.systems.translation.segments import cut_lines
from jumok.systems.translation.translator import Translator
from tests.conftest import TINY_TEXT

SHORT = DecodingOptions(beam=2, maximum_length=7)

AWFUL = [
    "I am a student.",
    "",
    "   \t ",
    "\x00\x01\x1b[31m\x7f",
    "one\rtwo\u2028three\x85four\u2029five\x0bsix",
    "🙂🙃👩‍👩‍👧‍👦" * 30,
    "שלום עולם \u200fمرحبا بالعالم",
    "</s> <s> <pad> <unk> ▁",
    "\ufeff\u200b\u00ad",
    "a" * 3000,
    "." * 3000,
    "나는 학생입니다." * 100,
]


@pytest.fixture(scope="module")
def translator(tiny_bundle: Path) -> Translator:
    return Translator.load(tiny_bundle)


def rewritten(tiny_bundle: Path, folder: Path, **sizes: object) -> Path:
    """The tiny bundle with other sizes and fresh weights."""
    from jumok.config import TransformerConfig
    from jumok.models.catalog import DataSizes, build

    bundle = read_bundle(tiny_bundle)
    model = TransformerConfig.model_validate(bundle.config.model | sizes)
    torch.manual_seed(2)
    weights = build(model, DataSizes(vocabulary=350)).state_dict()
    config = replace(bundle.config, model=model.model_dump())
    tokenizer = Tokenizer.load(tiny_bundle / "tokenizer.model")
    return write_bundle(folder, weights, config, tokenizer, bundle.card)


def test_awful_lines_come_out_as_many_and_in_order(translator: Translator) -> None:
    found = translator.translate(AWFUL, SHORT)
    assert len(found) == len(AWFUL)
    for line, translation in zip(AWFUL, found, strict=True):
        assert len(translation.text.splitlines()) <= 1
        alone = translator.translate([line], SHORT)[0]
        assert alone.text == translation.text
        assert alone.score == pytest.approx(translation.score, abs=1e-3)


def test_lines_without_a_word_stay_empty(translator: Translator) -> None:
    for translation in translator.translate(["", " \t ", "\x00\u2028"], SHORT):
        assert translation.text == ""
        assert translation.alignment == ()
        assert translation.tokens == translation.source_tokens == ()


def test_no_line_at_all_is_no_translation(translator: Translator) -> None:
    assert translator.translate([], SHORT) == []


def test_line_of_10_000_words_is_read_to_its_end(translator: Translator) -> None:
    line = " ".join(f"w{number}" for number in range(10_000))
    (found,) = translator.translate([line], replace(SHORT, beam=1, maximum_length=3))
    # No piece reaches across a space, so the parts together have the pieces of the whole.
    tokenizer = translator.tokenizer
    assert found.source_tokens == tuple(tokenizer.pieces(tokenizer.encode(line)))
    last_source = max(source for source, _ in found.alignment)
    assert last_source > 9_900
    assert max(target for _, target in found.alignment) < len(found.text.split(" "))


def test_parts_are_joined_in_the_target_s_way(tiny_bundle: Path) -> None:
    line = "the cat sat on the mat. " * 20
    model = load_model(read_bundle(tiny_bundle))
    tokenizer = Tokenizer.load(tiny_bundle / "tokenizer.model")
    spaced, chinese = (
        Translator([model], tokenizer, max_tokens=61, target_language=code).translate([line], SHORT)
        for code in ("ko", "zh")
    )
    assert spaced[0].text.replace(" ", "") == chinese[0].text.replace(" ", "")
    assert len(spaced[0].text) > len(chinese[0].text)


def test_order_and_batching_change_nothing(translator: Translator) -> None:
    lines = ["I am a student.", "the cat", "나는", "the dog barked, and the cat sat on the mat."]
    together = [one.text for one in translator.translate(lines, SHORT)]
    reverse = [one.text for one in translator.translate(lines[::-1], SHORT)]
    by_one = [one.text for one in translator.translate(lines, SHORT, batch_size=1)]
    stream = [one.text for one in translator.translate_lines(lines, SHORT, batch_size=1, ahead=2)]
    assert together == reverse[::-1] == by_one == stream


def test_stream_reads_no_further_than_it_must(translator: Translator) -> None:
    taken = []

    def lines() -> object:
        for number in range(100):
            taken.append(number)
            yield "the cat"

    first = next(translator.translate_lines(lines(), SHORT, batch_size=3, ahead=2))
    assert first.text == translator.translate(["the cat"], SHORT)[0].text
    assert len(taken) == 6


def test_scores_are_those_of_the_translation_itself(translator: Translator) -> None:
    (found,) = translator.translate(["the cat sat"], replace(SHORT, beam=1, maximum_length=40))
    assert found.log_probability == pytest.approx(math.fsum(found.token_log_probabilities))
    model, tokenizer = translator.models[0], translator.tokenizer
    id_of = {piece: id for id, piece in enumerate(tokenizer.pieces(range(tokenizer.size)))}
    ids = [id_of[piece] for piece in found.tokens]
    memory = model.encode(torch.tensor([[*tokenizer.encode("the cat sat"), END]]))
    logits = model.decoder.forward(memory, torch.tensor([[START, *ids]]))[0]
    wanted = logits.detach().log_softmax(-1)
    for step, (piece, value) in enumerate(zip(ids, found.token_log_probabilities, strict=False)):
        assert float(wanted[step, piece]) == pytest.approx(value, abs=1e-4)


def test_scoring_given_pairs_adds_end(translator: Translator) -> None:
    sources, targets = ["the cat", "I am", "나는 학생"], ["고양이", "", "a student."]
    scored = translator.score(sources, targets, batch_size=2)
    model, tokenizer = translator.models[0], translator.tokenizer
    for source, target, one in zip(sources, targets, scored, strict=True):
        ids = tokenizer.encode(target)
        memory = model.encode(torch.tensor([[*tokenizer.encode(source), END]]))
        logits = model.decoder.forward(memory, torch.tensor([[START, *ids]]))
        logits = logits.detach()[0].log_softmax(-1)
        by_hand = sum(float(logits[step, piece]) for step, piece in enumerate([*ids, END]))
        assert one.log_probability == pytest.approx(by_hand, abs=1e-4)
        assert len(one.token_log_probabilities) == len(ids) + 1


def test_alternatives_are_ranked_and_differ(translator: Translator) -> None:
    (found,) = translator.translate(["the cat sat"], SHORT, beam=4, nbest=3)
    ranked = [found, *found.alternatives]
    assert len(ranked) == 3
    assert len({one.tokens for one in ranked}) == 3
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)
    assert all(one.alignment is not None for one in ranked)


def test_samples_are_the_same_for_the_same_seed(translator: Translator) -> None:
    sampling = replace(SHORT, sample=True, top_k=20, seed=11)
    texts = ["the cat sat", "I am a student."]
    one, again = (translator.translate(texts, sampling) for _ in range(2))
    other = translator.translate(texts, replace(sampling, seed=12))
    assert [x.text for x in one] == [x.text for x in again]
    assert [x.text for x in one] != [x.text for x in other]


def test_prefix_is_how_the_first_part_begins(translator: Translator) -> None:
    long = "the cat sat on the mat. " * 20
    found = translator.translate(["the cat", "I am", long], SHORT, prefixes=["나는", "", "고양이"])
    assert found[0].text.startswith("나는")
    assert found[2].text.startswith("고양이")
    assert found[2].text.count("고양이") == 1
    assert found[1].text == translator.translate(["I am"], SHORT)[0].text


def test_alignment_links_every_target_word_to_a_source_word(translator: Translator) -> None:
    source = "the cat sat on the mat"
    (found,) = translator.translate([source], replace(SHORT, maximum_length=20))
    words = len(found.text.split())
    assert sorted(target for _, target in found.alignment) == list(range(words))
    assert all(0 <= source_word < 6 for source_word, _ in found.alignment)
    assert translator.translate([source], SHORT, alignments=False)[0].alignment is None


def test_alignment_is_read_where_the_bundle_says(tiny_bundle: Path, tmp_path: Path) -> None:
    bundle = read_bundle(tiny_bundle)
    model, tokenizer = load_model(bundle), Tokenizer.load(tiny_bundle / "tokenizer.model")
    config = replace(bundle.config, alignment_layer=2, alignment_at_input=True)
    told = write_bundle(tmp_path / "told", model.state_dict(), config, tokenizer, bundle.card)
    source, target = tokenizer.encode("the cat sat"), tokenizer.encode("나는 학생입니다.")
    memory, tokens = model.encode(torch.tensor([[*source, END]])), torch.tensor([[START, *target]])
    for folder, reading in (
        (tiny_bundle, AlignmentSetting(1, False)),
        (told, AlignmentSetting(2, True)),
    ):
        seen = jumok.load(folder).attention("the cat sat", "나는 학생입니다.")
        (rows,) = attention_at_setting(model, memory, tokens, reading)
        words = tokenizer.words(source), tokenizer.words(target)
        merged = torch.from_numpy(merge_words(rows[:, : len(source)].numpy(), *words))
        torch.testing.assert_close(seen.weights, merged)
        assert seen.source_words == ("the", "cat", "sat")
        assert seen.target_words == ("나는", "학생입니다.")
        assert sorted(target for _, target in seen.alignment) == [0, 1]


def test_alignments_of_parts_point_into_the_whole_line(translator: Translator) -> None:
    line = " ".join(["the cat sat on the mat."] * 30)
    (found,) = translator.translate([line], SHORT)
    last_part = cut_lines([line], translator.tokenizer, translator.max_tokens)[-1]
    assert max(source for source, _ in found.alignment) >= last_part.first_word > 100
    words = len(found.text.split())
    assert sorted(target for _, target in found.alignment) == list(range(words))


def test_ensemble_of_one_model_twice_is_that_model(
    tiny_bundle: Path, translator: Translator
) -> None:
    twice = jumok.load(tiny_bundle, tiny_bundle)
    lines = ["the cat sat", "I am a student.", "나는"]
    for one, two in zip(
        translator.translate(lines, SHORT), twice.translate(lines, SHORT), strict=True
    ):
        assert one.text == two.text
        assert one.score == pytest.approx(two.score, abs=1e-4)
        assert one.alignment == two.alignment


def test_ensemble_averages_probabilities(tiny_bundle: Path, tmp_path: Path) -> None:
    other = rewritten(tiny_bundle, tmp_path / "other")
    pair = (["the cat"], ["고양이"])
    one, two, both = (
        jumok.load(*folders).score(*pair)[0]
        for folders in ([tiny_bundle], [other], [tiny_bundle, other])
    )
    for a, b, mean in zip(
        one.token_log_probabilities,
        two.token_log_probabilities,
        both.token_log_probabilities,
        strict=True,
    ):
        assert math.exp(mean) == pytest.approx((math.exp(a) + math.exp(b)) / 2, rel=1e-4)


def test_ensemble_of_different_tokenizers_is_refused(tiny_bundle: Path, tmp_path: Path) -> None:
    other = shutil.copytree(tiny_bundle, tmp_path / "other")
    tokenizer = Tokenizer.train([*TINY_TEXT, "quite another text"], "bpe", 350)
    tokenizer.save(other / "tokenizer.model")
    config = json.loads((other / "config.json").read_text())
    config["tokenizer_sha256"] = tokenizer.hash
    (other / "config.json").write_text(json.dumps(config))
    with pytest.raises(BundleError, match="the models of an ensemble need one tokenizer"):
        jumok.load(tiny_bundle, other)
    models, smaller = jumok.load(other).models, Tokenizer.train(TINY_TEXT, "bpe", 340)
    with pytest.raises(ModelError) as caught:
        Translator(models, smaller, max_tokens=9)
    assert "the tokenizer is not this model's" in str(caught.value)
    assert "expected: 350 subwords" in str(caught.value)
    assert "got:      340 subwords" in str(caught.value)


def test_coverage_penalty_reads_the_attention(translator: Translator) -> None:
    plain, covered = (
        translator.translate(["the cat sat on the mat"], replace(SHORT, coverage_penalty=beta))[0]
        for beta in (0.0, 5.0)
    )
    assert covered.score < plain.score


def test_learned_positions_set_the_longest_target(tiny_bundle: Path, tmp_path: Path) -> None:
    folder = rewritten(tiny_bundle, tmp_path / "learned", positions="learned", max_length=31)
    short = jumok.load(folder)
    (found,) = short.translate(["the cat sat on the mat. " * 20], beam=1)
    assert found.text.count("\n") == 0
    with pytest.raises(DataError) as caught:
        short.score(["a", "the cat sat on the mat. " * 20], ["a", "b"])
    assert "line 2 is longer than the model can read at once" in str(caught.value)
    assert "expected: at most 30 tokens" in str(caught.value)


def test_different_counts_of_sources_and_targets_are_refused(translator: Translator) -> None:
    with pytest.raises(DataError, match="every source needs its target"):
        translator.score(["a"], [])
    with pytest.raises(ModelError, match="every line needs its own prefix"):
        translator.translate(["a"], SHORT, prefixes=[])


def test_attention_without_a_word_is_refused(translator: Translator) -> None:
    with pytest.raises(DataError, match="attention needs a word on both sides"):
        translator.attention("", "a")


def test_more_translations_than_the_beam_holds_are_refused(translator: Translator) -> None:
    with pytest.raises(ConfigError, match="a beam cannot return more hypotheses than it holds"):
        translator.translate(["a"], beam=2, nbest=3)


def test_unknown_device_is_refused(tiny_bundle: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        jumok.load(tiny_bundle, device="gpx")
    assert "this device cannot be used" in str(caught.value)
    assert "auto, cpu, cuda or cuda:0" in str(caught.value)


def test_no_model_is_refused() -> None:
    with pytest.raises(BundleError, match="there is no model to load"):
        jumok.load()
