"""What mattered of a picture: slopes, cells blanked and pixels painted over, one after another."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

import jumok
from jumok.bundle.reading import read_bundle
from jumok.bundle.weights import load_model
from jumok.data.tokenizer import END, START
from jumok.inspection.gradients_and_occlusion import (
    gradients,
    occlude_patches,
    occlude_words,
    written_log_probabilities,
    written_over,
)
from jumok.inspection.heads.ranks import spearman
from jumok.inspection.trace import Trace
from jumok.models.captioner import CaptionerModel as Model
from jumok.models.memory import Memory
from jumok.systems.captioner import Captioner
from jumok.tracing.request import NOTHING, carry_on
from tests.systems.pictures import GIVEN, write_captioner, write_noise, write_pictures

RNN = {"kind": "rnn", "cell": "gru", "dim": 12, "embedding": 7, "attention": "additive"}
TEXT = "the cat sat"
KINDS = pytest.mark.parametrize("changes", [{}, {"decoder": RNN}], ids=["transformer", "rnn"])


def loaded(folder: Path, changes: dict[str, object]) -> Captioner:
    return Captioner.load(write_captioner(folder, **changes), device="cpu")


def asked(captioner: Captioner) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """A picture of noise, START and pieces, and the pieces and END."""
    pieces = captioner.tokenizer.encode(TEXT)
    torch.manual_seed(3)
    picture = torch.randint(0, 255, (1, 3, 8, 8), dtype=torch.uint8)
    return picture, torch.tensor([[START, *pieces]]), torch.tensor([*pieces, END])


def by_hand(captioner: Captioner, cells: torch.Tensor) -> torch.Tensor:
    """The log-probabilities of what was written, from the cells on, in double precision."""
    _, target, written = asked(captioner)
    model = captioner.model
    memory = model.reader(model.writer.project(cells) + model.writer.positions(cells))
    with torch.no_grad():
        logits = model.decoder(Memory(memory), target)[0]
    return logits.log_softmax(-1).gather(1, written[:, None])[:, 0]


def covered(
    model: Model, target: torch.Tensor, written: torch.Tensor, pixels: torch.Tensor
) -> torch.Tensor:
    return written_log_probabilities(model, model.encode(pixels), target, written)


@KINDS
def test_slopes_are_those_of_small_steps_of_a_cell(tmp_path, changes):
    captioner = loaded(tmp_path / "m", changes)
    # As it is stored: what is laid out for inference knows no double precision.
    stored = load_model(read_bundle(tmp_path / "m"), "cpu")
    assert isinstance(stored, Model)
    captioner._model = stored.double().eval()
    found = gradients(written_over(captioner.model, *asked(captioner)))["picture"]
    with torch.no_grad():
        cells = captioner.model.see(asked(captioner)[0])
        for cell in (0, 5, 15):
            gradient = []
            for channel in range(cells.shape[2]):
                step = torch.zeros_like(cells)
                step[0, cell, channel] = 1e-4
                ahead, behind = (by_hand(captioner, cells + way * step) for way in (1, -1))
                gradient.append((ahead - behind) / 2e-4)
            slope = torch.stack(gradient, dim=1)  # (written channels)
            near = {"atol": 1e-3, "rtol": 1e-2}
            torch.testing.assert_close(
                found.product[:, cell], (slope @ cells[0, cell]).float(), **near
            )
            torch.testing.assert_close(found.length[:, cell], slope.norm(dim=1).float(), **near)


@KINDS
def test_a_blanked_cell_is_zeros_where_its_vector_was(tmp_path, changes):
    captioner = loaded(tmp_path / "m", changes)
    with torch.no_grad():
        text = written_over(captioner.model, *asked(captioner))
        found = occlude_words(text, {"picture": [[cell] for cell in range(16)]})["picture"]
        cells = captioner.model.see(asked(captioner)[0])
        whole = by_hand(captioner, cells)
        for cell in range(16):
            gone = cells.clone()
            gone[0, cell] = 0.0
            torch.testing.assert_close(
                found[:, cell], whole - by_hand(captioner, gone), atol=1e-5, rtol=0
            )


@KINDS
def test_a_painted_cell_has_the_most_usual_colour(tmp_path, changes, monkeypatch):
    captioner = loaded(tmp_path / "m", changes)
    picture, target, written = asked(captioner)
    model = captioner.model
    heeded = []
    monkeypatch.setattr("jumok.inspection.gradients_and_occlusion.OCCLUDED_ROWS", 5)
    score = partial(covered, model, target, written)
    found = occlude_patches(score, picture, (4, 4), lambda: heeded.append(True))
    assert len(heeded) == 4, "16 cells, five at once"
    ground = np.sort(picture[0].flatten(1).numpy(), axis=1)[:, 31]  # the lower middle of 64
    with torch.no_grad():

        def worth(pixels):
            logits = model.decoder(model.encode(pixels), target)[0]
            return logits.log_softmax(-1).gather(1, written[:, None])[:, 0]

        for cell in range(16):
            row, column = divmod(cell, 4)
            painted = picture.clone()
            for colour in range(3):
                painted[0, colour, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2] = int(
                    ground[colour]
                )
            change = worth(picture) - worth(painted)
            torch.testing.assert_close(found[:, cell], change, atol=1e-5, rtol=0)


def traced(folder: Path, changes: dict[str, object]) -> tuple[Captioner, Path, Trace]:
    captioner, file = loaded(folder / "m", changes), write_noise(folder / "noise.png")
    return captioner, file, jumok.trace(captioner, file, TEXT)


@KINDS
def test_a_caption_says_what_mattered_by_cells(tmp_path, changes):
    captioner, file, trace = traced(tmp_path, changes)
    facts = trace.findings.attribution
    names = ["weights", "norms", "product", "slope", "blank", "patch"]
    if not changes:
        names[2:2] = ["rollout", "flow"]
    pieces, words = facts["pieces"], facts["words"]
    assert (words.read, words.own, list(words.measures)) == ("picture", "target", names)
    count, of_words = len(trace.steps), len(trace.axes["target"].texts)
    for name in names:
        assert np.shape(pieces.measures[name]["picture"]) == (count, 16)
        assert np.shape(words.measures[name]["picture"]) == (of_words, 16)
    assert "target" not in words.measures["patch"], "only the picture has pixels"
    site = max((s for s in trace.sites if s.part == "cross"), key=lambda each: each.layer)
    np.testing.assert_allclose(
        pieces.measures["weights"]["picture"], site.weights.mean(0)[:count], rtol=1e-4
    )
    pixels = captioner.read(file)[None]
    ids = captioner.tokenizer.encode(TEXT)
    target, written = torch.tensor([[START, *ids]]), torch.tensor([*ids, END])
    score = partial(covered, captioner.model, target, written)
    painted = occlude_patches(score, pixels, (4, 4), carry_on)
    np.testing.assert_allclose(pieces.measures["patch"]["picture"], painted, rtol=1e-3, atol=1e-5)
    of_piece = trace.axes["target"].words
    for word in range(of_words):
        steps = [token - 1 for token, each in enumerate(of_piece) if each == word]
        for name in names:
            mean = np.mean([pieces.measures[name]["picture"][step] for step in steps], axis=0)
            np.testing.assert_allclose(
                words.measures[name]["picture"][word], mean, rtol=1e-3, atol=1e-5
            )
    first, last = (np.abs(words.measures[name]["picture"][1]) for name in ("weights", "patch"))
    assert words.ranks[1][0][-1] == pytest.approx(spearman(first, last), abs=1e-3)


def test_the_share_of_the_picture_is_of_all_that_was_read(tmp_path):
    _, _, trace = traced(tmp_path, {})
    pieces = trace.findings.attribution["pieces"]
    for name in ("product", "slope", "blank"):
        measure = pieces.measures[name]
        seen, before = (np.abs(measure[axis]).sum(axis=1) for axis in ("picture", "target"))
        np.testing.assert_allclose(pieces.shares[name], seen / (seen + before), rtol=1e-3)
    assert set(pieces.shares) == {"product", "slope", "blank"}


def test_features_cannot_be_painted_over(tmp_path):
    captioner = loaded(tmp_path / "m", {"encoder": GIVEN})
    file = tmp_path / "a.npy"
    np.save(file, np.random.default_rng(3).normal(size=(6, 5)).astype(np.float32))
    facts = jumok.trace(captioner, file, TEXT).findings.attribution["words"]
    assert "patch" not in facts.measures
    assert np.shape(facts.measures["blank"]["picture"]) == (3, 6)


def test_one_vector_has_no_cells_that_could_matter(tmp_path):
    captioner = loaded(tmp_path / "m", {"memory": "one"})
    (file,) = write_pictures(tmp_path / "pictures", 1)
    assert jumok.trace(captioner, file, TEXT).findings.attribution is None


def test_nothing_is_asked_where_nobody_wants_to_know(tmp_path):
    captioner = loaded(tmp_path / "m", {})
    (file,) = write_pictures(tmp_path / "pictures", 1)
    assert jumok.trace(captioner, file, TEXT, extras=NOTHING).findings.attribution is None
