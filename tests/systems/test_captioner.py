"""Captions of pictures: in order, one as many, with looks that add up, and bad files named."""

import numpy as np
import pytest
import torch

import jumok
from jumok.alignment.setting import AlignmentSetting
from jumok.decoding import DecodingOptions
from jumok.errors import BundleError, DataError, ModelError
from jumok.systems.captioner import Captioner
from tests.systems.pictures import GIVEN, write_captioner, write_pictures


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_captioner(tmp_path_factory.mktemp("bundle") / "captioner")


@pytest.fixture(scope="module")
def captioner(folder):
    return Captioner.load(folder, device="cpu")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_pictures(tmp_path_factory.mktemp("pictures"))


def test_a_captioning_bundle_is_loaded_as_a_captioner(folder):
    loaded = jumok.load(folder, device="cpu")
    assert isinstance(loaded, Captioner)
    assert (loaded.language, loaded.max_tokens, loaded.reading) == (
        "en",
        11,
        AlignmentSetting(0, False),
    )


def test_pictures_are_captioned_in_order_whatever_the_batch(captioner, files):
    together = captioner.caption(files)
    assert [captioner.caption([file])[0].text for file in files] == [c.text for c in together]
    assert captioner.caption(files, batch_size=2)[2].text == together[2].text
    assert all(len(caption.tokens) <= 11 for caption in together)


def test_files_arrays_and_tensors_of_one_picture_are_one(captioner, files):
    read = captioner.read(files[1])
    (by_file,), (by_array,) = captioner.caption([str(files[1])]), captioner.caption([read.numpy()])
    assert by_file.text == by_array.text
    assert read.shape == (3, 8, 8)


def test_n_best_are_sorted_and_scored(captioner, files):
    (best,) = captioner.caption(files[:1], beam=4, nbest=3)
    scores = [best.score, *(other.score for other in best.alternatives)]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 3
    assert best.log_probability == pytest.approx(sum(best.token_log_probabilities))


def test_looks_have_a_map_a_word_and_their_shares_sum_to_one(captioner, files):
    for caption in captioner.caption(files, beam=1, looks=True):
        assert caption.looks is not None
        # Bytes of a broken character decode to words that no piece announces: then there is no map.
        words = tuple(word for word in caption.text.split(" ") if word)
        assert caption.looks.words in (words, ())
        assert caption.looks.weights.shape == (len(caption.looks.words), 4, 4)
        sums = caption.looks.weights.sum((1, 2))
        torch.testing.assert_close(sums, torch.ones_like(sums))


def test_cells_lie_in_the_picture_as_shares_of_its_sides(captioner, files):
    looks = captioner.look(files[:1], ["the cat"])[0]
    assert looks.words == ("the", "cat")
    assert looks.box(0, 0) == (0.0, 0.0, 0.25, 0.25)
    assert looks.box(1, 3) == (0.75, 0.25, 1.0, 0.5)


def test_looks_at_a_given_caption_are_those_of_writing_it(captioner, files):
    (caption,) = captioner.caption(files[:1], beam=1, looks=True)
    (forced,) = captioner.look(files[:1], [caption.text])
    assert caption.looks is not None
    if captioner.tokenizer.pieces(captioner.tokenizer.encode(caption.text)) == list(caption.tokens):
        torch.testing.assert_close(forced.weights, caption.looks.weights)


def test_looks_can_be_read_in_several_places_at_once(captioner, files):
    readings = [captioner.reading, AlignmentSetting(1, at_input=True)]
    here, there = captioner.look_at(readings, files, ["the cat sat"] * len(files))
    expected = captioner.look(files, ["the cat sat"] * len(files))
    for seen, other, alone in zip(here, there, expected, strict=True):
        assert torch.equal(seen.weights, alone.weights)
        assert not torch.allclose(seen.weights, other.weights)


def test_a_bad_picture_is_named_and_the_others_are_captioned(captioner, files, tmp_path):
    bad = tmp_path / "bad.jpg"
    bad.write_bytes(b"hello")
    missing = tmp_path / "none.jpg"
    found = list(captioner.caption_files([files[0], bad, missing, files[2]], batch_size=3))
    assert isinstance(found[1], DataError)
    assert str(found[1]).startswith(f"{bad}: the file is not an image.")
    assert isinstance(found[2], DataError)
    assert str(found[2]).startswith(f"{missing}: there is no such file.")
    texts = [caption.text for caption in captioner.caption([files[0], files[2]])]
    assert [found[0].text, found[3].text] == texts


def test_equal_seeds_draw_equal_captions(captioner, files):
    drawn = [
        [c.text for c in captioner.caption(files, DecodingOptions(sample=True, seed=seed))]
        for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


def test_the_greatest_seed_draws_every_batch(captioner, files):
    options = DecodingOptions(sample=True, seed=2**64 - 1)
    assert len(captioner.caption(files, options, batch_size=2)) == 3
    assert len(list(captioner.caption_files(files, options, batch_size=2))) == 3


def test_pictures_without_their_captions_are_refused(captioner, files):
    with pytest.raises(DataError, match="every image needs its caption"):
        captioner.look(files, ["the cat"])


def test_several_models_are_refused(folder):
    with pytest.raises(BundleError, match="an image is captioned by one model"):
        jumok.load(folder, folder)


def test_one_vector_is_not_looked_at(tmp_path, files):
    captioner = Captioner.load(write_captioner(tmp_path / "one", memory="one"), device="cpu")
    assert captioner.caption(files[:1], looks=True)[0].looks is None
    with pytest.raises(ModelError, match="the whole image as one vector"):
        captioner.look(files[:1], ["the cat"])


def test_given_features_are_read_from_their_files(tmp_path):
    captioner = Captioner.load(write_captioner(tmp_path / "given", encoder=GIVEN), device="cpu")
    file = tmp_path / "a.npy"
    np.save(file, np.linspace(-1, 1, 30, dtype=np.float32).reshape(2, 3, 5))
    assert captioner.reads_features
    (caption,) = captioner.caption([file], looks=True)
    assert caption.looks is not None
    assert caption.looks.weights.shape[1:] == (2, 3)
