"""What training does about the memory and the number formats of its device."""

import json
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest
import torch

from jumok.config import Config
from jumok.config.causal import CausalConfig
from jumok.config.families import TranslationConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.data.texts.windows import TextBatch
from jumok.errors import ConfigError, TrainingError
from jumok.layers.block import Block
from jumok.models.causal import CausalLanguageModel
from jumok.models.recurrent import RecurrentModel
from jumok.training import folder, precision
from jumok.training.devices.memory import memory_explained, recompute
from jumok.training.learner import Learner
from jumok.training.objectives import next_token, translation
from tests.training.tiny import assert_same_bits, batches, config, model, saved

DROPPED = {"dropout": 0.3, "attention_dropout": 0.2, "word_dropout": 0.1}
GPU = torch.device("cuda", 0)


def trained(
    precision: torch.dtype, **options: object
) -> tuple[list[float], dict[str, torch.Tensor]]:
    """The losses of three updates, and the state after them."""
    learning = Learner(model(**DROPPED), translation, config("ema", **options), 5, precision)
    losses = [learning.update(batches(step), step, 3e-3).loss for step in (1, 2, 3)]
    return losses, saved(learning)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_blocks_computed_again_learn_the_same_bits(dtype, monkeypatch):
    calls = []
    forward = Block.forward
    monkeypatch.setattr(Block, "forward", lambda *given: (calls.append(1), forward(*given))[1])
    (losses, state), once = trained(dtype), len(calls)
    calls.clear()
    others, other = trained(dtype, recompute=True)
    assert len(calls) == 2 * once
    assert others == losses
    assert_same_bits(state, other)


def test_a_language_model_computed_again_has_the_same_gradients():
    tokens = torch.tensor([[2, 9, 29, 11, 3]])
    batch = TextBatch(tokens, tokens.roll(-1, 1), None, 5)
    sizes = CausalConfig(dim=48, heads=3, layers=2, feedforward=32, **DROPPED)
    gradients = []
    for again in (False, True):
        torch.manual_seed(1)
        trained = CausalLanguageModel(sizes, 31).train()
        if again:
            recompute(trained)
        trained.noise.rekey(5)
        next_token(trained, batch, 0.0).backward()
        gradients.append([each.grad for each in trained.parameters()])
    assert all(torch.equal(one, other) for one, other in zip(*gradients, strict=True))


def test_a_model_without_blocks_cannot_compute_them_again():
    with pytest.raises(
        ConfigError, match="computes blocks again, and this model has none"
    ) as error:
        recompute(RecurrentModel(RecurrentConfig(dim=16, embedding=16), 31))
    assert "leave it out; a lower training.tokens_per_micro_batch" in str(error.value)


MESSAGE = (
    "CUDA out of memory. Tried to allocate 3.05 GiB. GPU 0 has a total capacity of 15.77 GiB of "
    "which 1.20 GiB is free. Including non-PyTorch memory, this process has 14.5 GiB in use."
)


def test_a_full_memory_says_what_to_lower_and_by_how_much():
    def full(*_: object) -> torch.Tensor:
        raise torch.OutOfMemoryError(MESSAGE)

    learning = Learner(model(), full, config(tokens_per_micro_batch=3000), 5, torch.float32)
    with pytest.raises(TrainingError) as error:
        learning.update(batches(1), 1, 1e-3)
    text = str(error.value)
    assert "the memory of the GPU (cpu) is not enough for a micro-batch." in text
    assert "Tried to allocate 3.05 GiB. GPU 0 has a total capacity of 15.77 GiB" in text
    assert "--set training.tokens_per_micro_batch=1500 (now 3000)" in text
    assert "or --set training.recompute=true" in text
    with (
        pytest.raises(TrainingError) as error,
        memory_explained(config(recompute=True), GPU),
    ):
        full()
    assert "training.recompute" not in str(error.value)
    assert "--set training.tokens_per_micro_batch=512 (now 1024)" in str(error.value)


def test_a_card_without_bfloat16_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (7, 5))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "Tesla T4")
    with pytest.raises(ConfigError, match="does not multiply bfloat16") as error:
        precision.choose_precision("bf16", GPU)
    assert "compute capability 8.0 (Ampere) or newer" in str(error.value)
    assert "Tesla T4, 7.5" in str(error.value)
    assert "--set training.precision=fp32" in str(error.value)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (9, 0))
    assert precision.choose_precision("bf16", GPU).dtype == torch.bfloat16


def test_a_run_from_before_a_key_resumes_where_the_key_has_no_value(tmp_path):
    def recipe(**more: object) -> Config:
        values = {"data": {"train": [{"source": "a.en", "target": "a.de"}]}, "name": "old"}
        values["data"] |= {"validation": values["data"]["train"]}
        return TranslationConfig.model_validate(values | {"training": more})

    decisions = folder.Decisions("fp32", 1)
    folder.write(tmp_path, recipe(), decisions)
    file = tmp_path / folder.CONFIG
    kept = json.loads(file.read_text())
    del kept["recipe"]["training"]["sharding"], kept["recipe"]["training"]["recompute"]
    del kept["recipe"]["model"]["window_layers"]
    file.write_text(json.dumps(kept))
    assert folder.read(tmp_path, recipe(recompute=True)) == decisions
    with pytest.raises(ConfigError, match="sharding was None and is now 'full'"):
        folder.read(tmp_path, recipe(sharding="full"))


FREEING = """
import torch
from pathlib import Path
from jumok.training.devices.memory import give_back_freed_memory

def resident():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

torch.set_num_threads(1)
torch.ones(7 << 20)  # 28 MiB come and go: from now on glibc keeps blocks of that size
before = resident()
earlier = [torch.ones(1 << 19) for _ in range(50)]
del earlier[::2]
gaps = resident() - before
give_back_freed_memory()
left = resident() - before
later = [torch.ones(1 << 19) for _ in range(50)]
del later[::2]
print(gaps, left, resident() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_gaps_between_tensors_that_stay_are_given_back():
    """Of 50 tensors of 2 MiB every other one is freed, before and after; 25 are 50 MiB.

    It depends on their alignment whether 25 of the later ones lie in the gaps of the earlier, so
    that 12 or 13 of these, 25 MiB, are gaps again; without the call it is 150 MiB.
    """
    command = [sys.executable, "-c", FREEING]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    gaps, left, after = (int(each) / 1024 for each in done.stdout.split())
    if gaps < 90:
        pytest.skip("another C library than glibc, which keeps no gaps")
    assert left == pytest.approx(50, abs=8)
    assert 100 - 12 < after < 125 + 12


CPU = torch.device("cpu")


@pytest.mark.parametrize(("wanted", "dtype"), [("bf16", torch.bfloat16), ("fp32", torch.float32)])
def test_the_recipe_has_the_last_word(wanted, dtype):
    chosen = precision.choose_precision(wanted, CPU)
    assert chosen.dtype == dtype
    assert "set in the recipe" in chosen.reason


@pytest.mark.parametrize(
    ("fp32", "bf16", "dtype", "words"),
    [
        (4.4, 1.0, torch.bfloat16, "matrix products 4.4x faster than float32"),
        (1.2, 1.0, torch.float32, "only 1.2x"),
        (1.0, 10.0, torch.float32, "only 0.1x"),
    ],
)
def test_auto_takes_bf16_where_it_multiplies_faster(monkeypatch, fp32, bf16, dtype, words):
    seconds = {torch.float32: fp32, torch.bfloat16: bf16}
    monkeypatch.setattr(precision, "product_seconds", lambda dtype, device, **_: seconds[dtype])
    precision.gain_of_bfloat16.cache_clear()
    chosen = precision.choose_precision("auto", CPU)
    assert chosen.dtype == dtype
    assert words in chosen.reason
    precision.gain_of_bfloat16.cache_clear()


def test_a_product_takes_some_time():
    assert 0.0 < precision.product_seconds(torch.float32, CPU, size=64) < 1.0


@pytest.mark.parametrize(("hopeless", "products"), [(0.5, 3), (1.5, 8)])
def test_a_hopeless_format_is_not_measured_to_the_end(monkeypatch, hopeless, products):
    clock = count(0.0)  # every product takes a second
    monkeypatch.setattr(precision.time, "thread_time", lambda: next(clock))
    assert precision.product_seconds(torch.float32, CPU, size=8, hopeless=hopeless) == 1.0
    assert next(clock) == 2 * products - 1, "the end of the first one, to warm up, is not read"


def test_it_is_measured_once(monkeypatch):
    measured = []

    def seconds(dtype, device, hopeless=0.0):
        del device, hopeless
        measured.append(dtype)
        return 1.0

    monkeypatch.setattr(precision, "product_seconds", seconds)
    precision.gain_of_bfloat16.cache_clear()
    for _ in range(2):
        precision.choose_precision("auto", CPU)
    precision.gain_of_bfloat16.cache_clear()
    assert measured == [torch.float32, torch.bfloat16]
