"""FSDP2: the weights of slices, whoever has which rows, and nobody waits for anybody for ever."""

import gc
import json
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from torch.distributed.fsdp import FSDPModule
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.kills import RECIPE, killed, prepare, trained
from jumok.config import RecurrentConfig
from jumok.errors import ConfigError
from jumok.models.recurrent import RecurrentModel
from jumok.training import checkpoint
from jumok.training.learner import Learner, Update
from jumok.training.objectives import ConsistentTranslation, translation
from jumok.training.optimization.parameters import FlatParameters
from jumok.training.optimization.sharded import Shards, blocks_of, refuse_undivided
from jumok.training.ranks import SINGLE_PROCESS, Ranks
from jumok.training.run import decide
from jumok.training.task import Objective
from jumok.training.torch_ranks import TorchRanks
from tests.training.gloo_group import Group
from tests.training.tiny import VOCABULARY, batches, config, model

RATE, STEPS, SHARES = 1e-3, 20, 4
DROPPED = dict.fromkeys(("dropout", "attention_dropout", "word_dropout"), 0.2)
FROZEN = torch.tensor([5, 7, 30])

needs_proc = pytest.mark.skipif(not Path("/proc").exists(), reason="finds processes in /proc")

Named = dict[str, torch.Tensor]


@pytest.fixture(scope="module")
def two() -> Iterator[Group]:
    with Group(2) as group:
        yield group


def learner(
    ranks: Ranks,
    sizes: dict[str, Any],
    options: dict[str, Any],
    precision: torch.dtype = torch.float32,
    objective: Objective = translation,
    frozen: torch.Tensor | None = None,
) -> Learner:
    trained = model(**{**DROPPED, **sizes})
    trained.encoder.embedding.frozen = frozen
    return Learner(trained, objective, config(**options), 5, precision, SHARES, ranks=ranks)


def train(
    ranks: Ranks,
    sizes: dict[str, Any],
    options: dict[str, Any],
    steps: int = 4,
    micro: int = 3,
    **others: Any,
) -> tuple[Named, list[Update]]:
    """The averaged weights of the first process, and what each was told of every step."""
    learning = learner(ranks, sizes, options, **others)
    updates = []
    for step in range(1, steps + 1):
        updates.append(learning.update(batches(step, micro), step, RATE))
        if step % 2 == 0:
            learning.snapshot()
    return named(learning, ranks), updates


def named(learning: Learner, ranks: Ranks) -> Named:
    """The averaged weights of the first process; the others have none."""
    if ranks.index:
        return {}
    return {name: each.clone() for name, each in learning.weights().items()}


def assert_close(one: Named, other: Named, most: float = 1e-6) -> None:
    """In the mean square of each parameter, but for the keys' biases: they change no softmax, so
    their gradients are rounding errors alone, of which AdamW makes whole steps. For the same reason
    a single weight without effect may differ more.
    """
    assert one.keys() == other.keys()
    for name, each in one.items():
        if not name.endswith("key.bias"):
            assert float((each - other[name]).square().mean().sqrt()) <= most, name


CASES = {
    "clipped": (STEPS, {}, {"average": "ema", "clip": 0.1}, {}),
    "recomputed": (4, {"norm": "post"}, {"average": "last", "recompute": True}, {}),
    "untied": (4, {"tied": "none"}, {}, {"frozen": FROZEN}),
    "two readings": (4, {}, {}, {"objective": ConsistentTranslation(5.0)}),
    "experts": (4, {"experts": 5, "value_residual": True}, {}, {}),
}


@pytest.mark.parametrize(("steps", "sizes", "options", "others"), CASES.values(), ids=CASES)
def test_full_has_the_weights_of_slices(two, steps, sizes, options, others):
    """Three micro-batches of four shares: one process has two, the other one and a spare one."""
    expected, told = train(SINGLE_PROCESS, sizes, options, steps, **others)
    full = {**options, "sharding": "full"}
    (full_weights, its), (_, theirs) = two.work(partial(train, **others), sizes, full, steps)
    assert_close(expected, full_weights)
    assert its == theirs
    for one, other in zip(told, its, strict=True):
        assert one.loss == pytest.approx(other.loss, abs=1e-5)
        assert one.gradient_norm == pytest.approx(other.gradient_norm, rel=1e-4)
        assert (one.balance or 0.0) == pytest.approx(other.balance or 0.0, rel=1e-5)
        assert (one.tokens, one.source_tokens) == (other.tokens, other.source_tokens)
    if "frozen" in others:
        table = "encoder.embedding.table"
        at_first = model(**{**DROPPED, **sizes}).get_parameter(table)
        assert torch.equal(full_weights[table][FROZEN], at_first[FROZEN])


def test_master_weights_stay_float32_where_products_are_in_bfloat16(two):
    expected, _ = train(SINGLE_PROCESS, {}, {}, precision=torch.bfloat16)
    task = partial(train, precision=torch.bfloat16)
    (full_weights, its), (_, theirs) = two.work(task, {}, {"sharding": "full"})
    assert its == theirs
    assert_close(expected, full_weights, 1e-3)
    assert any(not torch.equal(each, each.bfloat16().float()) for each in full_weights.values())


def test_a_step_with_fewer_micro_batches_than_processes_ends(two):
    """The second process has none, and joins with the one of the first."""
    expected, told = train(SINGLE_PROCESS, {}, {}, micro=1)
    (full_weights, its), (_, theirs) = two.work(partial(train, micro=1), {}, {"sharding": "full"})
    assert_close(expected, full_weights)
    assert its == theirs
    assert [each.tokens for each in its] == [each.tokens for each in told]


def held(ranks: Ranks) -> tuple[int, int]:
    """Bytes of all tensors after a step, but for those of before and the tables of positions, which
    every process has; and those of the model's weights.
    """

    def storages() -> dict[int, int]:
        every = [each for each in gc.get_objects() if type(each) in (torch.Tensor, nn.Parameter)]
        stored = [each.untyped_storage() for each in every]
        return {each.data_ptr(): each.nbytes() for each in stored if each.nbytes()}

    given = batches(1)
    gc.collect()
    before = storages()
    learning = learner(ranks, {}, {"average": "ema", "sharding": "full"})
    learning.update(given, 1, RATE)
    gc.collect()
    new = sum(size for place, size in storages().items() if place not in before)
    whole = model()
    weights, tables = (
        sum(each.nbytes for each in every) for every in (whole.parameters(), whole.buffers())
    )
    assert learning.state()["master"].dtype == torch.float32
    return new - tables, weights


def continued(ranks: Ranks, folder: Path, first: int, last: int) -> tuple[Named, int]:
    """Steps from a checkpoint, if there is one, to the next; and the elements of the state."""
    learning = learner(ranks, {}, {"average": "ema", "sharding": "full"})
    if first > 1:
        saved, damage = checkpoint.load(folder, learning.ranges, ranks)
        assert damage is None
        learning.load_state(saved.tensors)
    for step in range(first, last + 1):
        learning.update(batches(step), step, RATE)
    state = learning.state()
    ranges = {name: its for name in state if (its := learning.ranges(name)) is not None}
    run = {"recipe": "tiny", "progress": {"step": last}}
    checkpoint.save(folder, checkpoint.Checkpoint(state, run, ranges), ranks)
    learning.snapshot()
    return named(learning, ranks), sum(each.numel() for each in state.values())


def test_each_process_has_its_part_and_any_number_of_them_goes_on(two, tmp_path):
    """Weights, gradients, two moments and the average: five numbers a weight, divided by the
    processes. Two, four, one and two of them continue from each other's checkpoints.
    """
    folder = tmp_path / "folder"
    (tmp_path / "unbroken").mkdir()
    folder.mkdir()
    unbroken = two.work(continued, tmp_path / "unbroken", 1, 8)[0][0]
    two.work(continued, folder, 1, 2)
    with Group(4) as four:
        for bytes_held, weights in four.work(held):
            assert bytes_held == pytest.approx(5 * weights / 4, rel=0.2)
        elements = [number for _, number in four.work(continued, folder, 3, 4)]
    _, alone = continued(SINGLE_PROCESS, folder, 5, 6)
    assert max(elements) < 1.3 * alone / 4
    assert_close(unbroken, two.work(continued, folder, 7, 8)[0][0])
    for bytes_held, weights in two.work(held):
        assert bytes_held == pytest.approx(5 * weights / 2, rel=0.2)


def counted(ranks: Ranks) -> Counter[str]:
    """The collectives of a step with two micro-batches in each process, by name."""
    learning = learner(ranks, {}, {"sharding": "full"})
    learning.update(batches(1, 4), 1, RATE)
    with Heard() as heard:
        learning.update(batches(2, 4), 2, RATE)
    return heard.counts


class Heard(TorchDispatchMode):
    """Counts what is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, function, types, given=(), named=None):
        namespace, _, name = function.name().partition("::")
        if namespace == "c10d":
            self.counts[name] += 1
        return function(*given, **(named or {}))


def test_a_block_is_gathered_twice_a_micro_batch_and_its_gradients_are_summed_once(two):
    """Three blocks and the rest, which stays together for the backward pass; two micro-batches."""
    for counts in two.work(counted):
        assert counts["_allgather_base_"] == 2 * (3 + 1 + 3)
        assert counts["_reduce_scatter_base_"] == 2 * (3 + 1)


def old_torch(ranks: TorchRanks) -> str:
    """What is said where torch lacks a method."""
    method = FSDPModule.set_reduce_scatter_unused_params
    del FSDPModule.set_reduce_scatter_unused_params
    try:
        learner(ranks, {}, {"sharding": "full"})
    except ConfigError as error:
        return str(error)
    finally:
        FSDPModule.set_reduce_scatter_unused_params = method
    return ""


def test_an_old_torch_is_refused(two):
    for said in two.work(old_torch):
        assert 'training.sharding = "full" needs a newer torch' in said
        assert "expected: torch 2.13 or newer" in said
        assert "--set training.sharding=slices" in said


def refusal(of: nn.Module, count: int = 2, **options: Any) -> str:
    with pytest.raises(ConfigError) as error:
        refuse_undivided(of, blocks_of(of), FlatParameters(of), config(**options), count)
    assert "--set training.sharding=slices" in str(error.value)
    return str(error.value)


def test_what_cannot_be_divided_is_refused():
    said = refusal(model(), optimizer="muon")
    assert "gives each process some rows of every matrix, and Muon needs whole ones" in said
    assert "--set training.optimizer=adamw" in said
    recurrent = RecurrentModel(RecurrentConfig(dim=8, embedding=8), VOCABULARY)
    assert "block by block, and this one has none" in refusal(recurrent)
    assert "a row for the last of 64 processes" in refusal(model(), 64)
    shared = model()
    shared.decoder.blocks[0].after_self = shared.decoder.blocks[1].after_self
    said = refusal(shared)
    assert "cannot divide a weight that several blocks share" in said
    assert "decoder.blocks.0.after_self.norm.bias, decoder.blocks.0.after_self.norm.weight" in said
    scalar = model()
    scalar.factor = nn.Parameter(torch.tensor(1.0))
    assert "factor, which is one number" in refusal(scalar)


def test_one_process_is_told_that_it_has_nothing_to_divide():
    said: list[str] = []
    decide(config(sharding="full"), torch.device("cpu"), said.append)
    assert 'training.sharding = "full": one process has nothing to divide' in said[-1]


class Uneven(nn.Module):
    """Seven rows of three, and two numbers, which the second of three processes does not have."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.arange(21.0).view(7, 3))
        self.bias = nn.Parameter(torch.tensor([50.0, 51.0]))


def test_rows_are_ranges_of_the_row():
    """torch.chunk gives three processes 3, 3 and 1 of seven rows, and 1, 1 and none of two."""
    layout = FlatParameters(Uneven())
    shards = Shards(layout, 3)
    padded = 32  # the next cache line after 21 numbers
    assert shards.names == ["table", "bias"]
    assert shards.ranges(0) == [(0, 9), (padded, padded + 1)]
    assert shards.ranges(1) == [(9, 18), (padded + 1, layout.size)]
    assert shards.ranges(2) == [(18, padded), (padded + 2, padded + 2)]
    assert shards.shapes(2) == [torch.Size([1, 3]), torch.Size([0])]
    row = layout.flatten(Uneven())
    assert shards.cut(row, 1)[1].tolist() == [51.0]
    for index in range(3):
        parts = shards.cut(row, index)
        joined = shards.joined(parts, index)
        assert all(map(torch.equal, parts, shards.split(joined, index)))
        at = 0
        for start, end in shards.ranges(index):
            assert torch.equal(joined[at : at + end - start], row[start:end])
            at += end - start


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    prepare(tmp_path)
    recipe = RECIPE.replace('optimizer = "muon"', 'optimizer = "adamw"\nsharding = "full"')
    (tmp_path / "tiny.toml").write_text(recipe)
    return tmp_path


def steps_of(folder: Path, runs: str) -> list[dict[str, Any]]:
    lines = (folder / runs / "tiny" / "log.jsonl").read_text().splitlines()
    return [line for line in map(json.loads, lines) if line["kind"] == "step"]


@pytest.mark.nightly
@needs_proc
def test_a_run_goes_on_in_any_number_of_processes(folder):
    """Killed in four and in two, and finished in two: the same data and model as a run that nothing
    ended, and as one of slices.
    """
    trained(folder, "two", "--processes", "2")
    trained(folder, "slices", "--set", "training.sharding=slices")
    killed(folder, steps=24, kills=2, seed=1, say=lambda text: None)
    whole = steps_of(folder, "two")
    for runs in ("killed", "slices"):
        for one, other in zip(whole, steps_of(folder, runs), strict=True):
            assert (one["step"], one["tokens"]) == (other["step"], other["tokens"])
            assert one["loss"] == pytest.approx(other["loss"], abs=1e-4)
        home, others = folder / "two" / "tiny" / "model", folder / runs / "tiny" / "model"
        assert {each.name for each in home.iterdir()} == {each.name for each in others.iterdir()}
        one, other = (load_file(each / "model.safetensors") for each in (home, others))
        assert_close(one, other)
        assert {each.dtype for each in one.values()} == {each.dtype for each in other.values()}
