"""What masks say: by hand, their ranges against their matrices, and what kernels are told."""

import pytest
import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from jumok.attention import fused, varlen
from jumok.attention.core import attend, attend_with_weights
from jumok.attention.masks import AttentionMask, Documents, mask_of_keys

CPU = torch.device("cpu")


def rows_of(drawn: torch.Tensor) -> list[str]:
    return ["".join(str(int(sign)) for sign in row) for row in drawn.tolist()]


@pytest.mark.parametrize(
    ("queries", "keys", "rows"),
    [
        (1, 1, ["1"]),
        (1, 3, ["111"]),  # torch's is_causal=True would see the first key alone
        (2, 3, ["110", "111"]),
        (3, 3, ["100", "110", "111"]),
        (3, 2, ["00", "10", "11"]),
    ],
)
def test_causal_mask_is_aligned_to_the_end_of_the_keys(queries, keys, rows):
    drawn = AttentionMask(causal=True).draw(queries, keys, CPU)
    assert drawn.shape == (1, 1, queries, keys)
    assert rows_of(drawn[0, 0]) == rows


@pytest.mark.parametrize(
    ("mask", "queries", "keys", "rows"),
    [
        (AttentionMask(causal=True, window=2), 4, 4, ["1000", "1100", "0110", "0011"]),
        (AttentionMask(window=2), 4, 4, ["1100", "1110", "0111", "0011"]),
        (AttentionMask(window=1), 3, 3, ["100", "010", "001"]),
        (AttentionMask(causal=True, window=3), 2, 5, ["01110", "00111"]),
        (AttentionMask(causal=True, window=9).within(2), 1, 4, ["0011"]),
        (AttentionMask(causal=True, window=2).within(9), 1, 4, ["0011"]),
        (mask_of_keys(torch.tensor([[True, True, False]])), 2, 3, ["110"]),
    ],
)
def test_masks_by_hand(mask, queries, keys, rows):
    assert rows_of(mask.draw(queries, keys, CPU)[0, 0]) == rows


NUMBERS = torch.tensor([[0, 0, 1, 1, 1, 2, 2], [3, 4, 4, 4, 4, 4, 5]])
OFFSETS = torch.tensor([0, 2, 5, 7, 8, 13, 14, 14, 14], dtype=torch.int32)
SOURCES = torch.tensor([[0, 1, 1, 2], [3, 3, 4, 4]])
SOURCE_OFFSETS = torch.tensor([0, 1, 3, 4, 6, 8, 8, 8, 8], dtype=torch.int32)


def test_documents_by_hand():
    packed = Documents(NUMBERS)
    assert rows_of(AttentionMask(causal=True, documents=packed).draw(7, 7, CPU)[0, 0]) == [
        "1000000", "1100000", "0010000", "0011000", "0011100", "0000010", "0000011",
    ]  # fmt: skip
    assert packed.indexes().tolist() == [[0, 1, 0, 1, 2, 0, 1], [0, 0, 1, 2, 3, 4, 0]]
    between = AttentionMask(documents=packed, key_documents=Documents(SOURCES, SOURCE_OFFSETS))
    assert rows_of(between.draw(7, 4, CPU)[1, 0]) == [
        "1100", "0011", "0011", "0011", "0011", "0011", "0000",
    ]  # fmt: skip


def test_documents_of_a_repeated_batch_are_documents_of_their_own():
    twice = Documents(NUMBERS, OFFSETS, 5).repeated(2)
    assert twice.numbers.tolist() == [*NUMBERS.tolist(), *(NUMBERS + 8).tolist()]
    assert twice.offsets.tolist() == [*OFFSETS[:-1].tolist(), *(OFFSETS + 14).tolist()]
    assert twice.offsets.dtype == torch.int32


MASKS = {
    "causal": AttentionMask(causal=True),
    "causal window": AttentionMask(causal=True, window=3),
    "window": AttentionMask(window=3),
    "documents": AttentionMask(documents=Documents(NUMBERS)),
    "causal documents": AttentionMask(causal=True, documents=Documents(NUMBERS, OFFSETS, 5)),
    "documents, window": AttentionMask(window=2, documents=Documents(NUMBERS)),
    "folded": AttentionMask(causal=True, window=3).folded(6, 2),
}


@pytest.mark.parametrize("name", MASKS)
def test_ranges_are_those_of_the_matrix(name):
    mask = MASKS[name]
    for queries, keys in [(7, 7)] if mask.documents else [(7, 7), (3, 9), (1, 5), (6, 4)]:
        ranges = mask.ranges(queries * mask.copies, keys, CPU)
        there = torch.arange(keys)
        drawn = (ranges[..., :1] <= there) & (there < ranges[..., 1:])
        expected = mask.draw(queries * mask.copies, keys, CPU).expand_as(drawn[:, None])
        assert torch.equal(drawn[:, None], expected)


def test_ranges_of_a_source_are_those_of_the_matrix():
    mask = AttentionMask(
        documents=Documents(NUMBERS), key_documents=Documents(SOURCES, SOURCE_OFFSETS)
    )
    ranges, there = mask.ranges(7, 4, CPU), torch.arange(4)
    drawn = (ranges[..., :1] <= there) & (there < ranges[..., 1:])
    assert torch.equal(drawn[:, None], mask.draw(7, 4, CPU))


def vectors(queries: int, keys: int, heads: int = 2, dtype=torch.float32) -> list[torch.Tensor]:
    torch.manual_seed(1)
    sizes = (4, queries), (heads, keys), (heads, keys)
    return [torch.randn(2, *size, 16, dtype=dtype).requires_grad_() for size in sizes]


class Drawings(TorchDispatchMode):
    """Refuses every boolean matrix of queries and keys."""

    def __init__(self, queries: int, keys: int) -> None:
        super().__init__()
        self.shape = queries, keys

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        found = function(*arguments, **(named or {}))
        if isinstance(found, torch.Tensor) and found.dtype == torch.bool:
            assert found.shape[-2:] != self.shape, function
        return found


SAID = {**{name: MASKS[name] for name in MASKS if name != "folded"}, "none": None}


@pytest.mark.parametrize("name", SAID)
def test_the_kernel_draws_no_matrix(name):
    """Forwards and backwards; the twin's matrix would be noticed."""
    mask = SAID[name] and AttentionMask(  # with nothing drawn or measured before
        SAID[name].causal, SAID[name].window, documents=SAID[name].documents
    )
    inputs = vectors(7, 7, heads=4)
    with Drawings(7, 7):
        attend(*inputs, mask).sum().backward()
    if mask is not None:
        with pytest.raises(AssertionError), Drawings(7, 7):
            mask.draw(7, 7, CPU)


class Calls(TorchFunctionMode):
    """What torch's fused kernel is told."""

    def __init__(self) -> None:
        super().__init__()
        self.masks: list[object] = []

    def __torch_function__(self, function, types, arguments=(), named=None):
        named = named or {}
        if function is F.scaled_dot_product_attention:
            self.masks.append((type(named.get("attn_mask")).__name__, named.get("is_causal")))
        return function(*arguments, **named)


@pytest.mark.parametrize(
    ("queries", "mask", "told"),
    [
        (7, AttentionMask(causal=True), ("NoneType", True)),
        (1, AttentionMask(causal=True), ("NoneType", None)),
        (3, AttentionMask(causal=True), ("CausalBias", None)),
        (7, None, ("NoneType", None)),
    ],
)
def test_fused_kernels_are_told_of_look_ahead_masks(queries, mask, told):
    for heads in (2, 4):
        inputs = vectors(queries, 7, heads)
        with Calls() as calls:
            found = fused.attend(*inputs, mask)
        assert calls.masks[0] == told
        torch.testing.assert_close(found, attend(*inputs, mask), atol=1e-6, rtol=0)


@pytest.mark.filterwarnings("ignore:flex_attention called")  # not compiled, and on a CPU
@pytest.mark.parametrize("name", [name for name in MASKS if name != "folded"])
def test_flex_attention_is_given_the_same_mask(name):
    inputs = [each.detach() for each in vectors(7, 7)]
    for real in (None, torch.arange(7) < torch.tensor([[7], [6]])):
        said = MASKS[name]
        mask = AttentionMask(said.causal, said.window, real, said.documents)
        found = fused.by_flex(*inputs, mask, 0.3)
        expected = attend(*inputs, mask, scale=0.3)
        torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


def by_documents(query, key, value, mask):
    """What varlen_attn documents: each document on its own, the window aligned to its end."""
    (asks, finds), longest = fused.offsets_of(mask, query, key)
    flat = [each.transpose(1, 2).flatten(0, 1) for each in (query, key, value)]
    found = torch.zeros_like(flat[0])
    alone = AttentionMask(mask.causal, mask.window)
    for begin, end, first, last in zip(asks, asks[1:], finds, finds[1:], strict=False):
        assert end - begin <= longest[0]
        assert last - first <= longest[1]
        if end > begin and last > first:
            one = [flat[0][begin:end], *(each[first:last] for each in flat[1:])]
            one = [each.transpose(0, 1)[None] for each in one]
            drawn = alone.draw(int(end - begin), int(last - first), CPU)
            found[begin:end] = attend_with_weights(*one, drawn)[0][0].transpose(0, 1)
    return found.unflatten(0, (query.shape[0], -1)).transpose(1, 2)


@pytest.mark.parametrize(
    ("mask", "keys"),
    [
        (MASKS["causal documents"], 7),
        (AttentionMask(causal=True, window=2, documents=Documents(NUMBERS, OFFSETS, 5)), 7),
        (AttentionMask(window=2, documents=Documents(NUMBERS, OFFSETS, 5)), 7),
        (
            AttentionMask(
                documents=Documents(NUMBERS, OFFSETS, 5),
                key_documents=Documents(SOURCES, SOURCE_OFFSETS, 2),
            ),
            4,
        ),
        (AttentionMask(causal=True, window=3), 7),
        (AttentionMask(causal=True, window=3), 9),
        (AttentionMask(window=3), 7),
    ],
)
def test_the_offsets_of_documents_say_what_the_matrix_draws(mask, keys):
    inputs = vectors(7, keys, heads=4)
    expected = attend_with_weights(*inputs, mask.draw(7, keys, CPU))[0]
    torch.testing.assert_close(by_documents(*inputs, mask), expected, atol=1e-6, rtol=0)


@pytest.mark.skipif(not varlen.parameters(), reason="varlen_attn came with torch 2.10")
@pytest.mark.parametrize("heads", [2, 4])
def test_varlen_attn_takes_our_arguments(heads, monkeypatch):
    """Its kernel is for GPUs; its signature and the shapes are checked on the meta device."""
    inputs = [each.to("meta", torch.bfloat16) for each in vectors(7, 7, heads)]
    offsets = OFFSETS.to("meta")
    mask = AttentionMask(causal=True, window=3, documents=Documents(NUMBERS.to("meta"), offsets, 5))
    assert fused.attend(*inputs, mask).shape == (2, 4, 7, 16)

    told: dict[str, object] = {}

    def old(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, is_causal=False, return_aux=None):
        """The arguments of torch 2.10."""
        told.update(is_causal=is_causal, heads=key.shape[1])
        return torch.empty_like(query)

    monkeypatch.setattr("torch.nn.attention.varlen.varlen_attn", old)
    varlen.parameters.cache_clear()
    try:
        narrower = AttentionMask(causal=True, documents=mask.documents)
        assert fused.attend(*inputs, narrower).shape == (2, 4, 7, 16)
        assert told == {"is_causal": True, "heads": 4}
        assert not varlen.serves(inputs[0], inputs[2], (2, 0))
    finally:
        varlen.parameters.cache_clear()
