"""Keys and values that grow position by position."""

import torch

from jumok.attention.cache import KeyValueCache


def filled(length: int, batch: int = 2) -> tuple[KeyValueCache, torch.Tensor, torch.Tensor]:
    cache = KeyValueCache()
    key = torch.arange(float(batch * 3 * length * 5)).view(batch, 3, length, 5)
    value = torch.arange(float(batch * 3 * length * 7)).view(batch, 3, length, 7)
    for t in range(length):
        cache.append(key[:, :, t : t + 1], value[:, :, t : t + 1])
    return cache, key, value


def everything(cache: KeyValueCache, batch: int) -> tuple[torch.Tensor, torch.Tensor]:
    return cache.append(torch.empty(batch, 3, 0, 5), torch.empty(batch, 3, 0, 7))


def test_cache_gives_back_all_positions_in_order_however_often_it_grew():
    cache, key, value = filled(101)  # room for 32, then 66, then 134
    kept = everything(cache, 2)
    assert cache.length == 101
    assert torch.equal(kept[0], key)
    assert torch.equal(kept[1], value)


def test_cache_takes_several_positions_at_once():
    _, key, value = filled(41)
    cache = KeyValueCache()
    cache.append(key[:, :, :1], value[:, :, :1])
    cache.append(key[:, :, 1:38], value[:, :, 1:38])
    kept = cache.append(key[:, :, 38:], value[:, :, 38:])
    assert torch.equal(kept[0], key)
    assert torch.equal(kept[1], value)


def test_reorder_repeats_drops_and_moves_rows():
    cache, key, value = filled(37, batch=3)
    rows = torch.tensor([2, 0, 2, 2, 0])
    cache.reorder(rows)
    kept = everything(cache, 5)
    assert torch.equal(kept[0], key[rows])
    assert torch.equal(kept[1], value[rows])
    cache.reorder(torch.tensor([4]))
    assert torch.equal(everything(cache, 1)[1], value[:1])


def test_reorder_of_an_empty_cache_changes_nothing():
    cache = KeyValueCache()
    cache.reorder(torch.tensor([1, 0]))
    assert cache.length == 0
