"""The walk through models of others: its numbers are computed again by transformers.

Grouped heads that are rotated (Llama), biases of relative positions (T5), patches (ViT).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from PIL import Image
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

import jumok
from jumok.data.tokenizer import START
from jumok.decoding import DecodingOptions
from jumok.inspection.trace import Trace
from jumok.interop.importing import Imported, read_model, write_imported
from tests.browser.walking import ONLY, Walk, near
from tests.interop.folders import WRITTEN
from tests.interop.folders_images import write_vit
from tests.systems.pictures import write_noise

pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

SHORT = DecodingOptions(beam=1, maximum_length=3)


@pytest.fixture
def traced(tmp_path) -> Callable[..., tuple[Trace, Any, Imported]]:
    """The trace of a folder's model, the system, and how it was imported."""

    def trace(folder: Path, given: str, target: str | None = None) -> tuple[Trace, Any, Imported]:
        imported = read_model(folder)
        system = jumok.load(write_imported(imported, tmp_path / "bundle"), device="cpu")
        return jumok.trace(system, given, target, options=SHORT, extras=ONLY), system, imported

    return trace


def layers_of(module: Any, run: Callable[[], object]) -> dict[str, torch.Tensor]:
    """What the layers of an attention give, by their names there."""
    found: dict[str, torch.Tensor] = {}

    def keep(name: str) -> Callable[..., None]:
        return lambda _, __, made: found.update({name: made[0]})

    hooks = [child.register_forward_hook(keep(name)) for name, child in module.named_children()]
    with torch.no_grad():
        run()
    for hook in hooks:
        hook.remove()
    return found


def heads(states: torch.Tensor, width: int, share: int = 1) -> torch.Tensor:
    """(length heads*width) -> (heads length width), each as often as heads share it."""
    return states.unflatten(1, (-1, width)).transpose(0, 1).repeat_interleave(share, 0)


def check(
    walk: Walk,
    vectors: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    scale: float,
    bias: torch.Tensor | float,
    at: tuple[int, int],
) -> None:
    """Products, scores, weights of the keys that have a row of their own, and the weighted sum.

    Args:
        vectors: queries, keys and values, (heads length width).
        at: head and query.
    """
    query, key, value = vectors
    products = query @ key.transpose(1, 2)
    scores = products * scale + bias
    weights = scores.softmax(dim=2)
    columns = walk.columns("mixed")
    rows = walk.page.locator('.walk-key[data-key]:not([data-key="others"])').all()
    places = [int(row.get_attribute("data-key") or "") for row in rows]
    assert len(places) >= 5
    for name, wanted in (("product", products), ("score", scores), ("weight", weights)):
        near(columns[name][: len(places)], wanted[at][places])
    near(walk.vectors()["z"], (weights @ value)[at])


def test_grouped_heads_that_are_rotated(opened, traced, tmp_path):
    folder = WRITTEN["llama"](tmp_path / "theirs")
    trace, system, imported = traced(folder, "the cat sat on")
    ids = [START, *system.tokenizer.encode("the cat sat on"), *trace.findings.written]
    assert len(ids) == len(trace.axes[trace.sites[0].queries].tokens)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval().model
    read = torch.tensor([[imported.vocabulary.order[id] for id in ids]])
    found = layers_of(model.layers[1].self_attn, lambda: model(read))
    query, key, value = (
        heads(found[name], 14, share)[None]
        for name, share in (("q_proj", 1), ("k_proj", 3), ("v_proj", 3))
    )
    turn = model.rotary_emb(query, torch.arange(len(ids))[None])
    query, key = apply_rotary_pos_emb(query, key, *turn)
    hidden = torch.full((len(ids), len(ids)), -torch.inf).triu(1)
    walk = Walk(opened(trace), layer=1, head=4, query=4)
    check(walk, (query[0], key[0], value[0]), 14**-0.5, hidden, (4, 4))
    assert "rotated by its position" in walk.says("query")
    assert "shared by 3 heads, 4 to 6." in walk.says("keys")
    korean = Walk(opened(trace, "ko-KR"), layer=1, head=4, query=4)
    assert "헤드 3개(4~6)가 함께 씁니다." in korean.says("keys")


def test_biases_of_relative_positions(opened, traced, tmp_path):
    folder = WRITTEN["t5"](tmp_path / "theirs")
    trace, system, imported = traced(folder, "the cat sat", "the")
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval().encoder
    first, second, _ = (block.layer[0].SelfAttention for block in model.block)
    read = [*(imported.vocabulary.order[id] for id in system.tokenizer.encode("the cat sat")), 1]
    found = layers_of(second, lambda: model(torch.tensor([read])))
    query, key, value = (heads(found[name], 11) for name in "qkv")
    bias = first.compute_bias(len(read), len(read))[0].detach()  # which all layers share
    walk = Walk(opened(trace), part="encoder", layer=1, head=3, query=4)
    check(walk, (query, key, value), 1.0, bias, (3, 4))
    assert "A bias for the distance" in walk.says("bias")


def test_patches_of_an_image(opened, traced, tmp_path):
    folder, noise = write_vit(tmp_path / "theirs"), write_noise(tmp_path / "noise.png")
    trace, _, _ = traced(folder, str(noise))
    model = transformers.ViTForImageClassification.from_pretrained(folder).eval()
    reads = transformers.AutoImageProcessor.from_pretrained(folder)
    pixels = reads(Image.open(noise).convert("RGB"), return_tensors="pt")["pixel_values"]
    found = layers_of(model.vit.layers[1].attention, lambda: model(pixels))
    query, key, value = (heads(found[name], 7) for name in ("q_proj", "k_proj", "v_proj"))
    walk = Walk(opened(trace), layer=1, head=2, query=4)
    check(walk, (query, key, value), 7**-0.5, 0.0, (2, 4))
