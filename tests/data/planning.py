"""Streams of micro-batches that are planned together, and collated one by one."""

import torch


def assert_each_can_be_collated_alone(one, other, updates: int = 3) -> None:
    """In any order, by whoever needs it: the two streams are alike."""
    for _ in range(updates):
        together, planned = next(one), other.planned()
        alone = [each.collate() for each in reversed(planned)][::-1]
        assert len(planned) == len(together)
        for batch, same in zip(together, alone, strict=True):
            for name, held in vars(batch).items():
                found = vars(same)[name]
                equal = torch.equal if isinstance(held, torch.Tensor) else type(held).__eq__
                assert equal(held, found), name
        assert one.cursor == other.cursor
