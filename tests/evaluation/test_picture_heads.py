"""Head cards of captioners and of classifiers of pictures, against one picture at a time."""

from pathlib import Path

import numpy as np
import pytest
import torch

from jumok.alignment.setting import AlignmentSetting
from jumok.attention.observe import observe, sites
from jumok.data.captions.boxes import Boxes, GroundedNoun
from jumok.data.captions.corpus import Captioned
from jumok.data.files.images import ImageSource
from jumok.data.tokenizer import END, START
from jumok.errors import ConfigError, DataError
from jumok.evaluation.captioner import picture_sizes
from jumok.evaluation.heads.pictures import (
    LabelledPicture,
    PictureCorpus,
    caption_head_cards_over,
    picture_head_cards_over,
)
from jumok.evaluation.pointing import Gold, NounAttention, score_pointing
from jumok.inspection.heads.cards import GridCard, HeadCard
from jumok.systems.captioner import Captioner
from jumok.systems.image_classifier import ImageClassification
from tests.systems.pictures import READER, write_captioner, write_pictures
from tests.systems.untrained import write_classifier

CAPTIONS = [("the cat sat on the mat", "a dog"), ("I am the cat",), ("the dog", "the mat", "a cat")]
RNN = {"kind": "rnn", "cell": "gru", "dim": 12, "embedding": 7, "attention": "additive"}


@pytest.fixture
def pictures(tmp_path) -> tuple[list[Captioned], ImageSource]:
    files = write_pictures(tmp_path / "pictures", 3)
    captioned = [
        Captioned(file.name, captions, 1) for file, captions in zip(files, CAPTIONS, strict=True)
    ]
    return captioned, ImageSource(tmp_path / "pictures")


def slopes(model, losses) -> dict[tuple[str, int], float]:
    """By small steps of every gate: the mean of | dL / dgate |."""
    found = {}
    for name, module in sites(model).items():
        for head in range(module.heads):
            steps = []
            for step in (-1e-2, 1e-2):
                module.gate = torch.ones(module.heads)
                module.gate[head] += step
                with torch.no_grad():
                    steps.append(torch.stack([loss() for loss in losses]))
                module.gate = None
            found[name, head] = float((steps[1] - steps[0]).abs().mean() / 2e-2)
    return found


every_captioner = pytest.mark.parametrize(
    "changes", [{}, {"decoder": RNN}, {"reader": READER}], ids=["transformer", "rnn", "reader"]
)


def seen_alone(model, runs) -> dict[str, list[torch.Tensor]]:
    """By site the weights (heads query key) of each run."""
    seen: dict[str, list[torch.Tensor]] = {}
    for run in runs:
        calls: list[tuple[str, torch.Tensor]] = []

        def keep(site, attention, calls=calls):
            calls.append((site, attention.weights[0]))

        with observe(model, keep), torch.no_grad():
            run()
        for site in dict(calls):
            parts = [weights for name, weights in calls if name == site]
            seen.setdefault(site, []).append(torch.cat(parts, dim=1))
    return seen


@every_captioner
def test_a_captioners_heads_are_those_of_its_captions(tmp_path, pictures, changes):
    captioned, files = pictures
    captioner = Captioner.load(write_captioner(tmp_path / "model", **changes), device="cpu")
    model = captioner.model
    cards = caption_head_cards_over(
        captioner, PictureCorpus(lambda: captioned, files), batch_size=2
    )
    written = [
        (captioner.read(Path(files.path) / each.file), captioner.tokenizer.encode(text)[:11])
        for each in captioned
        for text in each.captions
    ]

    def logits(pixels, ids):
        return model.decoder(model.encode(pixels[None]), torch.tensor([[START, *ids]]))[0]

    def loss(pixels, ids):
        def of_text():
            wanted = torch.tensor([*ids, END])[:, None]
            return -logits(pixels, ids).log_softmax(1).gather(1, wanted).mean()

        return of_text

    runs = [lambda each=each: logits(*each) for each in written]
    seen, importance = seen_alone(model, runs), slopes(model, [loss(*each) for each in written])
    assert [(card.site, card.head) for card in cards] == [
        (site, head) for site, module in sites(model).items() for head in range(module.heads)
    ]
    for card in cards:
        maps = [weights[card.head] for weights in seen[card.site]]
        entropies = torch.cat([torch.special.entr(each).sum(1) for each in maps])
        assert card.entropy == pytest.approx(float(entropies.mean()), abs=1e-5)
        slope = importance[card.site, card.head]
        assert card.raw_importance == pytest.approx(slope, rel=0.05, abs=2e-5)
        of_cells = card.site.startswith("reader.")
        assert isinstance(card, GridCard) == (of_cells or card.site in model.cross_sites)
        if isinstance(card, HeadCard):
            assert card.part == "decoder"
            continue
        rows = torch.cat(maps)
        assert (card.part, card.grid) == ("image" if of_cells else "cross", (4, 4))
        assert card.confidence == pytest.approx(float(rows.amax(1).mean()), abs=1e-5)
        np.testing.assert_allclose(card.where, rows.mean(0).view(4, 4), atol=1e-6)
        assert card.pointing is None


def gold_of(captioned: list[Captioned], files: ImageSource) -> Gold:
    """Every word is a noun, and its box a random part of the picture."""
    random = np.random.default_rng(5)
    known = {}
    for each, (height, width) in zip(
        captioned, picture_sizes((files, each.file) for each in captioned), strict=True
    ):
        boxes, nouns = [], []
        for text in each.captions:
            of_text = []
            for word in range(len(text.split(" "))):
                (left, right), (top, bottom) = (
                    sorted(random.choice(side + 1, 2, replace=False).tolist())
                    for side in (width, height)
                )
                of_text.append(GroundedNoun(word, (len(boxes),)))
                boxes.append((left, top, right, bottom))
            nouns.append(tuple(of_text))
        known[each.file] = Boxes(("thing",) * len(boxes), tuple(boxes), tuple(nouns))
    return Gold(known, captioned)


@every_captioner
def test_heads_point_as_the_captioner_says_when_it_is_asked_for_each(tmp_path, pictures, changes):
    """Against `Captioner.look` and `score_pointing`, which `jumok evaluate` uses, at every head."""
    captioned, files = pictures
    gold = gold_of(captioned, files)
    captioner = Captioner.load(write_captioner(tmp_path / "model", **changes), device="cpu")
    cards = caption_head_cards_over(captioner, PictureCorpus(lambda: captioned, files, gold), 3)
    read = {each.file: captioner.read(Path(files.path) / each.file) for each in captioned}
    sizes = {each.file: picture_sizes([(files, each.file)])[0] for each in captioned}
    cross = [card for card in cards if card.part == "cross"]
    assert all(card.pointing is None for card in cards if card.part == "image")
    assert len(cross) == sum(
        sites(captioner.model)[site].heads for site in captioner.model.cross_sites
    )
    for card in cross:
        both = []
        for at_input in (False, True):
            reading = AlignmentSetting(
                captioner.model.cross_sites.index(card.site), at_input, card.head
            )
            looks = []
            for each in captioned:
                for text in each.captions:
                    ((seen,),) = captioner.look_at([reading], [read[each.file]], [text])
                    looks += [
                        NounAttention(
                            seen.weights[noun.word].numpy(), noun.boxes, *sizes[each.file]
                        )
                        for noun in gold.nouns(each.file, text)
                    ]
            both.append([score.value / 100 for score in score_pointing(looks)])
        better = max(both, key=lambda scores: scores[0])
        assert card.nouns == len(looks) == 18
        assert [card.pointing, card.in_box, card.even_in_box] == pytest.approx(better, abs=1e-5)
        assert card.reading == ("writes" if both[0][0] >= both[1][0] else "reads")


def test_a_captioner_with_one_vector_has_nothing_to_look_at(tmp_path, pictures):
    captioned, files = pictures
    captioner = Captioner.load(write_captioner(tmp_path / "model", memory="one"), device="cpu")
    with pytest.raises(ConfigError, match="no attention over the image"):
        caption_head_cards_over(captioner, PictureCorpus(lambda: captioned, files))


def test_captions_without_a_word_have_no_cards(tmp_path, pictures):
    _, files = pictures
    captioner = Captioner.load(write_captioner(tmp_path / "model"), device="cpu")
    with pytest.raises(DataError, match="no caption with a word"):
        caption_head_cards_over(captioner, PictureCorpus(list, files))


def test_a_classifiers_heads_are_those_of_its_pictures(tmp_path):
    system = ImageClassification.load(write_classifier(tmp_path / "model"), device="cpu")
    (model,) = system.models
    (attention,) = sites(model).values()
    with torch.no_grad():
        attention.residual_gate.fill_(0.5)  # at 0 no head has any say
    random = np.random.default_rng(3)
    pixels = [random.integers(0, 255, (8, 10, 3), dtype=np.uint8) for _ in range(5)]
    labelled = [LabelledPicture(each, i % 3) for i, each in enumerate(pixels)]
    cards = picture_head_cards_over(system, iter(labelled), batch_size=2)
    tensors = [torch.from_numpy(each).permute(2, 0, 1)[None] for each in pixels]
    (site,) = sites(model)
    seen = seen_alone(model, [lambda each=each: model(each) for each in tensors])[site]
    losses = [
        lambda each=each, label=i % 3: -model(each).log_softmax(1)[0, label]
        for i, each in enumerate(tensors)
    ]
    importance = slopes(model, losses)
    for head, card in enumerate(cards):
        assert isinstance(card, GridCard)
        assert (card.part, card.site, card.head, card.residual_gate) == ("image", site, head, 0.5)
        rows, columns = card.grid
        weights = torch.stack([each[head] for each in seen])  # (pictures query key)
        assert rows * columns == weights.shape[1]
        assert card.entropy == pytest.approx(
            float(torch.special.entr(weights).sum(2).mean()), abs=1e-5
        )
        assert card.raw_importance == pytest.approx(importance[site, head], rel=0.05, abs=2e-5)
        far = counts = 0.0
        offsets = np.zeros((2 * rows - 1, 2 * columns - 1))
        for picture in weights.numpy():
            for own, row in enumerate(picture):
                away = np.array([
                    (key // columns - own // columns, key % columns - own % columns)
                    for key in range(len(row))
                ])  # fmt: skip
                far += float((row * np.hypot(*away.T)).sum())
                down, across = away[int(row.argmax())]
                offsets[down + rows - 1, across + columns - 1] += 1
                counts += 1
        assert card.distance == pytest.approx(far / counts, abs=1e-5)
        np.testing.assert_allclose(card.offsets, offsets / counts, atol=1e-9)


def test_no_picture_is_said(tmp_path):
    system = ImageClassification.load(write_classifier(tmp_path / "model"), device="cpu")
    with pytest.raises(DataError, match="there is no image"):
        picture_head_cards_over(system, [])
