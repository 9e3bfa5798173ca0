"""A checkpoint is whole or not there, in however many slices it is."""

import json
import os
from pathlib import Path

import pytest
import torch

from jumok.errors import BundleError, TrainingError
from jumok.training import checkpoint
from jumok.training.checkpoint import CURRENT, DAMAGED, PREVIOUS, SLICES, Checkpoint
from tests.training.crew import Crew, Member

ROW = 96


def run(step: int, recipe: str = "mine") -> dict:
    return {"recipe": recipe, "progress": {"step": step}, "cursor": {"epoch": 2, "best": None}}


def sample(step: int) -> Checkpoint:
    tensors = {
        "master": torch.arange(7.0) + step,
        "weights": torch.full((3, 5), step, dtype=torch.bfloat16),
        "count": torch.tensor(step),
        "none": torch.empty(0),
    }
    return Checkpoint(tensors, run(step))


def ranges(ranks: Member, name: str) -> list[tuple[int, int]] | None:
    """Each rank owns a part of the first 32 elements, and one of the others: "momentum" only of the
    first ones.
    """
    if name == "steps":
        return None
    one, others = 32 // ranks.count, 64 // ranks.count
    first = ranks.index * one, (ranks.index + 1) * one
    second = 32 + ranks.index * others, 32 + (ranks.index + 1) * others
    return [first] if name == "momentum" else [first, second]


def own(ranks: Member, step: int, recipe: str = "mine") -> Checkpoint:
    """Its slice of rows that count up."""
    held = {name: ranges(ranks, name) for name in ("master", "momentum")}
    row = torch.arange(float(ROW)) + 1000 * step
    tensors = {
        name: torch.cat([row[start:end] for start, end in some]) for name, some in held.items()
    }
    return Checkpoint(tensors | {"steps": torch.tensor(step)}, run(step, recipe), held)


def save_by(count: int, folder: Path, step: int, recipe: str = "mine") -> None:
    Crew(count).work(lambda ranks: checkpoint.save(folder, own(ranks, step, recipe), ranks))


def load_by(count: int, folder: Path) -> list[tuple[Checkpoint, str | None]]:
    return Crew(count).work(
        lambda ranks: checkpoint.load(folder, lambda name: ranges(ranks, name), ranks)
    )


def assert_step(results: list[tuple[Checkpoint, str | None]], step: int) -> None:
    for index, (loaded, _) in enumerate(results):
        expected = own(Member(Crew(len(results)), index), step)
        assert loaded.run == expected.run
        assert loaded.tensors.keys() == expected.tensors.keys()
        for name, tensor in expected.tensors.items():
            assert torch.equal(loaded.tensors[name], tensor), name


def test_what_is_saved_comes_back_bit_by_bit(tmp_path):
    checkpoint.save(tmp_path, sample(11))
    loaded, message = checkpoint.load(tmp_path)
    assert message is None
    assert loaded.run == sample(11).run
    assert set(loaded.tensors) == set(sample(11).tensors)
    for name, tensor in sample(11).tensors.items():
        assert loaded.tensors[name].dtype == tensor.dtype
        assert torch.equal(loaded.tensors[name], tensor)


@pytest.mark.parametrize("writers", [1, 2, 4])
def test_any_number_of_ranks_reads_what_another_one_wrote(tmp_path, writers):
    save_by(writers, tmp_path, 3)
    assert len(list(tmp_path.glob(SLICES))) == writers
    for readers in (1, 2, 4, 8):
        results = load_by(readers, tmp_path)
        assert_step(results, 3)
        assert {message for _, message in results} == {None}
    whole = checkpoint.read(tmp_path / CURRENT).tensors
    assert torch.equal(whole["master"], torch.arange(float(ROW)) + 3000)
    assert torch.equal(whole["momentum"], torch.arange(32.0) + 3000)


def test_the_checkpoint_before_is_kept_and_those_before_it_go(tmp_path):
    for step, count in ((1, 4), (2, 2), (3, 1)):
        save_by(count, tmp_path, step)
    assert checkpoint.read(tmp_path / CURRENT).run["progress"]["step"] == 3
    assert checkpoint.read(tmp_path / PREVIOUS).run["progress"]["step"] == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "checkpoint-000002-1-of-2.safetensors",
        "checkpoint-000002-2-of-2.safetensors",
        "checkpoint-000003-1-of-1.safetensors",
        CURRENT,
        PREVIOUS,
    ]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("file", [CURRENT, "checkpoint-000002-1-of-1.safetensors"])
def test_a_cut_checkpoint_falls_back_to_the_one_before(tmp_path, share, file):
    checkpoint.save(tmp_path, sample(1))
    checkpoint.save(tmp_path, sample(2))
    whole = (tmp_path / file).read_bytes()
    (tmp_path / file).write_bytes(whole[: int(len(whole) * share)])
    loaded, message = checkpoint.load(tmp_path)
    assert loaded.run == run(1)
    assert message == (
        f"{tmp_path / file}: the checkpoint is truncated or damaged. "
        "Continuing from checkpoint.previous.json."
    )
    assert (tmp_path / DAMAGED).exists()
    checkpoint.save(tmp_path, sample(2))
    assert checkpoint.read(tmp_path / PREVIOUS).run == run(1)


def missing(path: Path) -> str:
    path.unlink()
    return "a slice of the checkpoint is missing."


def cut(path: Path) -> str:
    path.write_bytes(path.read_bytes()[:-5])
    return "the checkpoint is truncated or damaged."


def flipped(path: Path) -> str:
    damaged = bytearray(path.read_bytes())
    damaged[-3] ^= 1
    path.write_bytes(damaged)
    return "the checkpoint is truncated or damaged."


def of_another_run(path: Path) -> str:
    other = path.parent / "other"
    other.mkdir()
    save_by(4, other, 2, "another")
    os.replace(other / path.name, path)
    return "a slice does not belong to the checkpoint."


def of_another_step(path: Path) -> str:
    path.write_bytes((path.parent / path.name.replace("000002", "000001")).read_bytes())
    return "a slice does not belong to the checkpoint."


HARMS = {
    missing: "put it back: all processes need the same folder",
    cut: "resume from an older copy, or start a new run",
    flipped: "got:      the checksum of 'momentum' does not match",
    of_another_run: "got:      a slice of a run with a different recipe",
    of_another_step: "got:      a slice of step 1",
}


@pytest.mark.parametrize(
    ("harm", "text"),
    HARMS.items(),
    ids=["missing", "cut", "flipped", "another run", "another step"],
)
def test_a_slice_that_one_rank_finds_harmed_is_used_by_none(tmp_path, harm, text):
    """Each of them continues from the checkpoint before, or all say which file is amiss."""
    save_by(4, tmp_path, 1)
    save_by(4, tmp_path, 2)
    path = tmp_path / "checkpoint-000002-3-of-4.safetensors"
    what = harm(path)
    with pytest.raises(BundleError) as caught:
        checkpoint.read(tmp_path / CURRENT)
    assert f"{path}: {what}" in str(caught.value)
    assert HARMS[harm] in str(caught.value)
    (tmp_path / PREVIOUS).rename(tmp_path / "kept")
    with pytest.raises(BundleError, match="do: ") as caught:
        load_by(2, tmp_path)
    assert f"{path}: {what}" in str(caught.value)
    (tmp_path / "kept").rename(tmp_path / PREVIOUS)
    results = load_by(2, tmp_path)
    assert_step(results, 1)
    assert {message for _, message in results} == {
        f"{path}: {what} Continuing from checkpoint.previous.json."
    }


def test_a_kill_between_the_two_renames_loses_nothing(tmp_path):
    checkpoint.save(tmp_path, sample(1))
    os.replace(tmp_path / CURRENT, tmp_path / PREVIOUS)
    assert checkpoint.exists(tmp_path)
    assert checkpoint.load(tmp_path)[0].run == run(1)


def test_slices_without_an_index_are_removed_and_none_if_an_index_cannot_be_read(tmp_path):
    save_by(2, tmp_path, 1)
    save_by(2, tmp_path, 2)
    lost = tmp_path / "checkpoint-000003-1-of-2.safetensors"
    lost.write_text("the process was killed before the index")
    (tmp_path / PREVIOUS).write_text("{")
    checkpoint.remove_unused(tmp_path)
    assert lost.exists()
    (tmp_path / PREVIOUS).unlink()
    checkpoint.remove_unused(tmp_path)
    assert len(list(tmp_path.glob(SLICES))) == 2
    assert_step(load_by(1, tmp_path), 2)


def test_nothing_to_resume_from_says_what_to_do(tmp_path):
    assert not checkpoint.exists(tmp_path)
    with pytest.raises(BundleError, match="start from the beginning without --resume"):
        checkpoint.load(tmp_path)


def test_a_newer_format_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "CHECKPOINT_FORMAT", 4)
    checkpoint.save(tmp_path, sample(1))
    monkeypatch.setattr(checkpoint, "CHECKPOINT_FORMAT", 3)
    with pytest.raises(BundleError, match="of a newer format") as caught:
        checkpoint.load(tmp_path)
    assert "got:      format 4" in str(caught.value)


def test_the_one_file_of_older_versions_is_refused_and_not_overwritten(tmp_path):
    (tmp_path / "checkpoint.safetensors").write_bytes(b"of format 2")
    assert checkpoint.exists(tmp_path)
    with pytest.raises(BundleError, match="of an older format") as caught:
        checkpoint.load(tmp_path)
    assert "finish the run with the jumok version that started it" in str(caught.value)


@pytest.mark.parametrize("file", [CURRENT, "checkpoint-000007-1-of-1.safetensors"])
def test_every_changed_byte_is_noticed(tmp_path, file):
    """Of the numbers, of their names and shapes, and of where the run stands."""
    checkpoint.save(tmp_path, sample(7))
    whole = (tmp_path / file).read_bytes()
    for place in range(len(whole)):
        for bit in (0, 4):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << bit
            (tmp_path / file).write_bytes(damaged)
            try:
                read, _ = checkpoint.load(tmp_path)
            except BundleError:
                continue
            assert read.run == run(7), place  # a blank of the JSON that another blank took
            assert all(
                torch.equal(read.tensors[name], tensor)
                for name, tensor in sample(7).tensors.items()
            )


def test_a_changed_digit_of_where_the_run_stands_goes_back_to_the_checkpoint_before(tmp_path):
    checkpoint.save(tmp_path, sample(11))
    checkpoint.save(tmp_path, sample(22))
    index = json.loads((tmp_path / CURRENT).read_text())
    index["run"]["cursor"]["epoch"] = 3
    (tmp_path / CURRENT).write_text(json.dumps(index))
    loaded, message = checkpoint.load(tmp_path)
    assert loaded.run == run(11)
    assert "Continuing from checkpoint.previous" in str(message)


def test_a_full_disk_leaves_the_last_checkpoint_whole(small_disk):
    big = torch.arange(150_000.0)  # 0.6 MB: one fits, not two
    checkpoint.save(small_disk, Checkpoint({"master": big}, run(1)))
    before = sorted(path.name for path in small_disk.iterdir())
    with pytest.raises(TrainingError) as caught:
        checkpoint.save(small_disk, Checkpoint({"master": big}, run(2)))
    assert "the checkpoint could not be written" in str(caught.value)
    assert "No space left on device" in str(caught.value)
    assert "run again with --resume" in str(caught.value)
    assert sorted(path.name for path in small_disk.iterdir()) == before
    assert torch.equal(checkpoint.load(small_disk)[0].tensors["master"], big)


def test_a_slice_that_one_rank_cannot_write_ends_all_of_them(tmp_path):
    save_by(4, tmp_path, 1)
    (tmp_path / "checkpoint-000002-3-of-4.safetensors").mkdir()

    def save(ranks: Member) -> str:
        with pytest.raises(TrainingError, match="could not be written") as caught:
            checkpoint.save(tmp_path, own(ranks, 2), ranks)
        return str(caught.value)

    for text in Crew(4).work(save):
        assert "got:      rank 2: " in text
        assert "the checkpoint before this one is untouched" in text
    assert_step(load_by(2, tmp_path), 1)


def test_a_folder_that_is_gone_is_said(tmp_path):
    with pytest.raises(TrainingError, match="could not be written"):
        checkpoint.save(tmp_path / "gone", sample(1))
