"""Ablated heads of imported models are those of transformers, and of TransformerLens."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

from jumok.attention.observe import sites
from jumok.data.tokenizer import START
from jumok.inspection.hooks.intervene import switched_off
from jumok.interop.importing import Imported, read_model
from tests.interop.folders import write_gpt2, write_marian
from tests.interop.test_numbers import REAL, begun, numbers

PLACES = {
    "encoder": ("model.encoder.layers.{}.self_attn.out_proj", "encoder_blocks.{}.attn.o"),
    "decoder": ("model.decoder.layers.{}.self_attn.out_proj", "decoder_blocks.{}.self_attn.o"),
    "cross": ("model.decoder.layers.{}.encoder_attn.out_proj", "decoder_blocks.{}.cross_attn.o"),
    "": ("transformer.h.{}.attn.c_proj", "blocks.{}.attn.o"),
}
"""Of a part of a model, the layer that mixes heads: in transformers, and in TransformerLens."""


@pytest.fixture(scope="module", params=["gpt2", "marian"])
def both(request, tmp_path_factory) -> tuple[Imported, Any]:
    folder: Path = tmp_path_factory.mktemp("ablated") / "theirs"
    if request.param == "gpt2":
        write_gpt2(folder)
        kind: Any = transformers.GPT2LMHeadModel
    else:  # TransformerLens knows Marian with as many layers on both sides
        write_marian(folder, decoder_layers=3)
        kind = transformers.MarianMTModel
    theirs = kind.from_pretrained(folder, attn_implementation="eager")
    return read_model(folder), theirs.eval()


def without_head(states: Tensor, head: int, heads: int) -> Tensor:
    """The outputs of heads, side by side, with zeros in the place of one."""
    changed = states.flatten(2).unflatten(-1, (heads, -1)).clone()
    changed[:, :, head] = 0
    return changed.reshape(states.shape)


def read(theirs: Any, ids: Tensor) -> dict[str, Tensor]:
    if not theirs.config.is_encoder_decoder:
        return {"input_ids": ids}
    start = theirs.config.decoder_start_token_id
    return {
        "input_ids": ids,
        "attention_mask": REAL.long(),
        "decoder_input_ids": begun(ids, start),
    }


@contextmanager
def hooked(theirs: Any, place: str, head: int, heads: int) -> Iterator[None]:
    def cut(_: Any, given: tuple[Tensor]) -> tuple[Tensor]:
        return (without_head(given[0], head, heads),)

    hook = theirs.get_submodule(place).register_forward_pre_hook(cut)
    yield
    hook.remove()


def places(imported: Imported) -> Iterator[tuple[str, int, str, int]]:
    """Each head: our site, its number, and where it is there."""
    for site, attention in sites(imported.model).items():
        role = attention.role
        part = role.part if imported.family.name == "Marian" else ""
        for head in range(attention.heads):
            yield site, head, part, role.layer


def given(imported: Imported) -> tuple[Tensor, Tensor]:
    order = torch.tensor(imported.vocabulary.order)
    ids = torch.randint(4, len(order), (3, 13), generator=torch.Generator().manual_seed(11))
    ids[:, 0] = START
    return ids, order[ids]


@torch.no_grad()
def ablated_here(imported: Imported, site: str, head: int, ids: Tensor) -> Tensor:
    heads = {name: each.heads for name, each in sites(imported.model).items()}
    with switched_off(imported.model, {site: [head]}, heads):
        return numbers(imported, ids)


@torch.no_grad()
def test_every_head_beside_transformers(both):
    imported, theirs = both
    ids, other = given(imported)
    whole = theirs(**read(theirs, other)).logits
    for site, head, part, layer in places(imported):
        heads = sites(imported.model)[site].heads
        with hooked(theirs, PLACES[part][0].format(layer), head, heads):
            expected = theirs(**read(theirs, other)).logits
        assert (expected - whole).abs().max() > 1e-3
        mine = ablated_here(imported, site, head, ids)
        torch.testing.assert_close(mine, expected, atol=1e-5, rtol=0)


@torch.no_grad()
def test_every_head_beside_transformer_lens(both):
    reason = "TransformerLens is not installed: pip install transformer-lens"
    bridges = pytest.importorskip("transformer_lens.model_bridge", reason=reason)
    imported, theirs = both
    folder = imported.source.folder
    kind = transformers.PreTrainedTokenizerFast
    tokenizer = (
        kind(tokenizer_file=str(folder / "tokenizer.json"))
        if imported.family.name == "GPT-2"
        else transformers.AutoTokenizer.from_pretrained(folder)
    )
    bridge = bridges.TransformerBridge.boot_transformers(
        str(folder), hf_model=theirs, tokenizer=tokenizer
    )
    ids, other = given(imported)
    more = read(theirs, other)
    more.pop("input_ids")
    for site, head, part, layer in places(imported):
        heads = sites(imported.model)[site].heads
        place = f"{PLACES[part][1].format(layer)}.hook_in"
        assert place in bridge.hook_dict, sorted(bridge.hook_dict)

        def cut(states: Tensor, hook: Any, head: int = head, heads: int = heads) -> Tensor:
            return without_head(states, head, heads)

        expected = bridge.run_with_hooks(
            other, fwd_hooks=[(place, cut)], return_type="logits", **more
        )
        mine = ablated_here(imported, site, head, ids)
        torch.testing.assert_close(mine, expected, atol=1e-5, rtol=0)
