"""Buckets of length, and what the report makes of their BLEU."""

from jumok.lab.experiments import bottleneck


def test_sentences_fall_into_the_bucket_of_their_words() -> None:
    sources = ["a b c", "a b c d e f g", "a b c d", "a b c d e f g h i j k l", "a b"]
    assert bottleneck.bucketed(sources) == [[0, 2], [], [1], [], [3]]


def test_bleu_is_that_of_the_bucket_alone() -> None:
    texts = ["나는 학생이다 그렇다", "틀린 말만 한다"]
    found = bottleneck.bleu_by_length(texts, ["나는 학생이다 그렇다", "나는 간다 집에"], [[0], [1]])
    assert found[0] > 99.9
    assert found[1] < 20.0


def test_the_claim_needs_the_fixed_vector_to_lose_more_than_both() -> None:
    sizes, losses = dict.fromkeys(bottleneck.NAMES, 1), dict.fromkeys(bottleneck.NAMES, 1.0)
    flat, steep = [90.0, 90.0, 90.0, 90.0, 88.0], [90.0, 80.0, 60.0, 40.0, 20.0]
    curves = {"fixed": [steep], "attention": [flat], "transformer": [flat]}
    found = bottleneck.report(curves, sizes, losses)
    assert found.outcome == "holds"
    assert "loses 70.0 BLEU, the RNN with attention 2.0" in found.sentence.en
    assert "positions beyond 8 words are new, 2.0; on the longest sentences they reach 20.0" in (
        found.sentence.en
    )
    curves["transformer"] = [[98.0, 90.0, 80.0, 60.0, 28.0]]  # above it, but loses as much
    assert bottleneck.report(curves, sizes, losses).outcome == "partly"
    curves["attention"] = [[30.0, 30.0, 25.0, 20.0, 15.0]]  # loses less, but ends below it
    assert bottleneck.report(curves, sizes, losses).outcome == "fails"
    curves["fixed"] = [flat]
    assert bottleneck.report(curves, sizes, losses).outcome == "fails"
