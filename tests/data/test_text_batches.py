"""Batches of whole texts: framed, masked by the update's number, resumed."""

from pathlib import Path

import numpy as np
import torch

from jumok.data.report import CorpusReport
from jumok.data.texts.batches import (
    LabelledUpdates,
    MaskedUpdates,
    fixed_masked_batches,
    masked_batch,
    plain_batches,
    text_sampler,
)
from jumok.data.texts.corpus import TextCorpus, read_examples
from jumok.data.texts.examples import ExampleStore, prepare_examples
from jumok.data.texts.masking import Masking, word_starts
from jumok.data.tokenizer import END, PAD, START, Tokenizer
from tests.data.planning import assert_each_can_be_collated_alone
from tests.data.sentences import ENGLISH

LABELS = ("a", "b", "c")


def store(tmp_path: Path, tokenizer: Tokenizer) -> ExampleStore:
    rows = [
        (f"{index} {text[: 5 + index]}", LABELS[index % 3])
        for index, text in enumerate(ENGLISH * 4)
    ]
    file = tmp_path / "a.tsv"
    file.write_text("".join(f"{text}\t{label}\n" for text, label in rows))
    corpus = TextCorpus(file, 0, 1)
    return prepare_examples(
        read_examples(corpus),
        [corpus],
        tokenizer,
        tmp_path,
        40,
        labels=LABELS,
        report=CorpusReport("a"),
    )


def masking(tokenizer: Tokenizer) -> Masking:
    return Masking(0.3, 0.8, 0.1, True, word_starts(tokenizer))


def test_a_masked_batch_keeps_everything_but_the_chosen_pieces(tokenizer):
    ids = np.array([[9, 11, 13, 17, 19], [8, 12, PAD, PAD, PAD]])
    lengths, made = np.array([5, 2]), masking(tokenizer)
    batch = masked_batch(ids, lengths, made, np.random.default_rng(1))
    assert batch.tokens[:, 0].tolist() == [START, START]
    assert (batch.tokens[0, 6], batch.tokens[1, 3]) == (END, END)
    assert batch.tokens[1, 4:].tolist() == [PAD] * 3
    assert batch.allowed.sum(dim=1).tolist() == [7, 4]
    pieces = torch.from_numpy(np.pad(ids, ((0, 0), (1, 1))))
    assert torch.equal(batch.answers, pieces[batch.chosen])
    untouched = ~batch.chosen & (pieces != PAD)
    assert torch.equal(batch.tokens[untouched], pieces[untouched])
    assert (batch.targets, batch.sources, batch.work) == (len(batch.answers), 11, 14)
    assert batch.chosen.any(dim=1).all()


def test_every_update_takes_other_words_out_and_a_resumed_one_the_same(tmp_path, tokenizer):
    texts, made = store(tmp_path, tokenizer), masking(tokenizer)

    def stream() -> MaskedUpdates:
        return MaskedUpdates(texts, text_sampler(texts, 300, 100, 1), made, 1)

    first = stream()
    seen = [next(first) for _ in range(9)]
    second = stream()
    next(second)
    second.restore(_cursor_after(stream(), 5))
    for update in seen[5:]:
        again = next(second)
        assert all(
            torch.equal(one.tokens, other.tokens) and torch.equal(one.answers, other.answers)
            for one, other in zip(update, again, strict=True)
        )
    masks = [sum(int((b.tokens == made.mask_id).sum()) for b in update) for update in seen]
    assert len(set(masks)) > 1


def _cursor_after(stream: MaskedUpdates, updates: int):
    for _ in range(updates):
        next(stream)
    return stream.cursor


def test_validation_always_takes_the_same_words_out(tmp_path, tokenizer):
    texts = store(tmp_path, tokenizer)
    first, second = (list(fixed_masked_batches(texts, 100, masking(tokenizer))) for _ in range(2))
    assert sum(len(batch.tokens) for batch in first) == len(texts)
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one.tokens, other.tokens)


def test_labels_stay_with_their_texts(tmp_path, tokenizer):
    texts = store(tmp_path, tokenizer)
    known = {tuple(texts.texts[row].tolist()): int(texts.labels[row]) for row in range(len(texts))}
    stream = LabelledUpdates(texts, text_sampler(texts, 300, 100, 1))
    count = 0
    for _ in range(4):
        for batch in next(stream):
            for tokens, label in zip(batch.tokens, batch.labels, strict=True):
                pieces = tokens[(tokens != PAD) & (tokens != START) & (tokens != END)]
                assert known[tuple(pieces.tolist())] == label
                count += 1
    assert count > 20


def test_plain_batches_frame_every_text_and_name_its_place():
    ids = [[7], [8, 9, 10], [], [11, 12]]
    found = {}
    for tokens, allowed, rows in plain_batches(ids, 3):
        for index, row in enumerate(rows):
            real = tokens[index] if allowed is None else tokens[index][allowed[index]]
            found[row] = real.tolist()
    assert found == {row: [START, *each, END] for row, each in enumerate(ids)}


def test_each_masked_batch_is_collated_alone(tmp_path, tokenizer):
    texts, made = store(tmp_path, tokenizer), masking(tokenizer)
    assert_each_can_be_collated_alone(
        *(MaskedUpdates(texts, text_sampler(texts, 300, 100, 1), made, 1) for _ in range(2))
    )
