"""A checkpoint is whole or not there."""

import os

import pytest
import torch

from jumok.errors import BundleError, TrainingError
from jumok.training import checkpoint
from jumok.training.checkpoint import CURRENT, PREVIOUS, Checkpoint


def sample(step: int) -> Checkpoint:
    tensors = {
        "master": torch.arange(7.0) + step,
        "weights": torch.full((3, 5), step, dtype=torch.bfloat16),
        "count": torch.tensor(step),
    }
    return Checkpoint(tensors, {"step": step, "best": None, "cursor": {"epoch": 2}})


def test_what_is_saved_comes_back_bit_by_bit(tmp_path):
    checkpoint.save(tmp_path, sample(11))
    loaded, message = checkpoint.load(tmp_path)
    assert message is None
    assert loaded.run == sample(11).run
    assert set(loaded.tensors) == set(sample(11).tensors)
    for name, tensor in sample(11).tensors.items():
        assert loaded.tensors[name].dtype == tensor.dtype
        assert torch.equal(loaded.tensors[name], tensor)


def test_the_checkpoint_before_is_kept(tmp_path):
    for step in (1, 2, 3):
        checkpoint.save(tmp_path, sample(step))
    assert checkpoint.read(tmp_path / CURRENT).run["step"] == 3
    assert checkpoint.read(tmp_path / PREVIOUS).run["step"] == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [PREVIOUS, CURRENT]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_cut_checkpoint_falls_back_to_the_one_before(tmp_path, share):
    checkpoint.save(tmp_path, sample(1))
    checkpoint.save(tmp_path, sample(2))
    whole = (tmp_path / CURRENT).read_bytes()
    (tmp_path / CURRENT).write_bytes(whole[: int(len(whole) * share)])
    loaded, message = checkpoint.load(tmp_path)
    assert loaded.run["step"] == 1
    assert "the checkpoint is truncated or damaged. Continuing from checkpoint.previous" in str(
        message
    )
    checkpoint.save(tmp_path, sample(2))
    assert checkpoint.read(tmp_path / PREVIOUS).run["step"] == 1


def test_a_flipped_bit_is_noticed(tmp_path):
    checkpoint.save(tmp_path, sample(1))
    damaged = bytearray((tmp_path / CURRENT).read_bytes())
    damaged[-3] ^= 1
    (tmp_path / CURRENT).write_bytes(damaged)
    with pytest.raises(BundleError, match="truncated or damaged") as caught:
        checkpoint.load(tmp_path)
    assert "checksum" in str(caught.value)
    assert CURRENT in str(caught.value)


def test_a_kill_between_the_two_renames_loses_nothing(tmp_path):
    checkpoint.save(tmp_path, sample(1))
    os.replace(tmp_path / CURRENT, tmp_path / PREVIOUS)
    assert checkpoint.exists(tmp_path)
    assert checkpoint.load(tmp_path)[0].run["step"] == 1


def test_nothing_to_resume_from_says_what_to_do(tmp_path):
    assert not checkpoint.exists(tmp_path)
    with pytest.raises(BundleError, match="start from the beginning without --resume"):
        checkpoint.load(tmp_path)


def test_a_newer_format_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "FORMAT", 3)
    checkpoint.save(tmp_path, sample(1))
    monkeypatch.setattr(checkpoint, "FORMAT", 2)
    with pytest.raises(BundleError, match="of a newer format") as caught:
        checkpoint.load(tmp_path)
    assert "got:      format 3" in str(caught.value)


def test_an_older_format_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "FORMAT", 1)
    checkpoint.save(tmp_path, sample(1))
    monkeypatch.setattr(checkpoint, "FORMAT", 2)
    with pytest.raises(BundleError, match="of an older format") as caught:
        checkpoint.load(tmp_path)
    assert "finish the run with the jumok version that started it" in str(caught.value)


def test_every_changed_byte_is_noticed(tmp_path):
    """Of the numbers, of their names and shapes, and of where the run stands."""
    checkpoint.save(tmp_path, sample(7))
    whole = (tmp_path / CURRENT).read_bytes()
    for place in range(len(whole)):
        for bit in (0, 4):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << bit
            (tmp_path / CURRENT).write_bytes(damaged)
            try:
                read, _ = checkpoint.load(tmp_path)
            except BundleError:
                continue
            assert read.run == sample(7).run, place  # a blank of the JSON that another blank took
            assert all(
                torch.equal(read.tensors[name], tensor)
                for name, tensor in sample(7).tensors.items()
            )


def test_a_changed_digit_of_where_the_run_stands_goes_back_to_the_checkpoint_before(tmp_path):
    checkpoint.save(tmp_path, sample(11))
    checkpoint.save(tmp_path, sample(22))
    whole = (tmp_path / CURRENT).read_bytes()
    (tmp_path / CURRENT).write_bytes(whole.replace(b'\\"step\\": 22', b'\\"step\\": 23'))
    assert (tmp_path / CURRENT).read_bytes() != whole
    loaded, message = checkpoint.load(tmp_path)
    assert loaded.run["step"] == 11
    assert "Continuing from checkpoint.previous" in str(message)


def test_a_full_disk_leaves_the_last_checkpoint_whole(small_disk):
    big = Checkpoint({"master": torch.arange(150_000.0)}, {"step": 1})  # 0.6 MB: one fits, not two
    checkpoint.save(small_disk, big)
    with pytest.raises(TrainingError) as caught:
        checkpoint.save(small_disk, Checkpoint(big.tensors, {"step": 2}))
    assert "the checkpoint could not be written" in str(caught.value)
    assert "No space left on device" in str(caught.value)
    assert "run again with --resume" in str(caught.value)
    assert [path.name for path in small_disk.iterdir()] == [CURRENT]
    assert torch.equal(checkpoint.load(small_disk)[0].tensors["master"], big.tensors["master"])


def test_a_folder_that_is_gone_is_said(tmp_path):
    with pytest.raises(TrainingError, match="could not be written"):
        checkpoint.save(tmp_path / "gone", sample(1))
