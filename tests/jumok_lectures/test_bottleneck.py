"""Texts that differ in their length alone, and what the report makes of losses by length."""

from pathlib import Path

from jumok_lectures.experiments import bottleneck
from jumok_lectures.small import first_batch


def test_every_bucket_has_as_many_texts_of_its_length_and_none_is_known(tmp_path: Path) -> None:
    home = bottleneck.write(tmp_path, pool=300, training=100, bucket=20)
    found = bottleneck.buckets(tmp_path)
    for many, (english, korean) in enumerate(found, start=1):
        assert len(english) == len(korean) == 20
        assert {len(text.split()) for text in english} == {4 * many}
    known = (home / "train.en").read_text("utf-8").splitlines()
    assert {len(text.split()) for text in known} == {4, 8, 12, 16}
    assert not set(known) & {text for english, _ in found for text in english}


def test_the_claim_needs_the_fixed_vector_to_lose_more_than_both() -> None:
    flat, steep = [0.3, 0.3, 0.32, 0.35], [0.3, 0.8, 1.3, 1.8]
    curves = {name: [flat, [0.01 + each for each in flat]] for name in bottleneck.NAMES}
    sizes = dict.fromkeys(bottleneck.NAMES, 1)
    same = bottleneck.report(curves, sizes)
    assert same.outcome == "fails"
    assert "has no clearly higher loss at 16 words, and no clearly larger rise" in same.sentence.en
    curves |= {"fixed 32": [steep, steep], "fixed 128": [steep, steep]}
    found = bottleneck.report(curves, sizes)
    assert found.outcome == "holds"
    assert "has a clearly higher loss at 16 words, and a clearly larger rise" in found.sentence.en
    assert "rises by 1.50, 1.50, 0.05, 0.05 and 0.05" in found.sentence.en
    curves["fixed 512"] = [steep, steep]  # a wider vector does not help
    assert bottleneck.report(curves, sizes).outcome == "partly"


def test_the_texts_give_the_vocabulary_that_the_models_need(tmp_path: Path) -> None:
    _, batch = first_batch(bottleneck.variants()["transformer"], seed=1, cache=tmp_path)
    assert int(batch.source.max()) < bottleneck.PIECES.size > int(batch.target_output.max())
