"""A family as a table: tensors there, tensors here, and what turns one into the other and back."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from jumok.errors import BundleError, Location
from jumok.interop.containers import Container, TensorShape
from jumok.interop.vocabulary import COPIED_BIAS, Vocabulary

TensorList = list[Tensor]


class Transform(Protocol):
    """Turns the tensors of a row into ours, and back without a loss."""

    def read(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList: ...

    def write(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList: ...


class Same:
    """As they are."""

    def read(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        return tensors

    def write(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        return tensors


class Transposed:
    """Matrices as (inputs outputs) there."""

    def read(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        return [tensor.t() for tensor in tensors]

    write = read


class Flattened:
    """Vectors as matrices of one row there."""

    def read(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        return [tensor.flatten() for tensor in tensors]

    def write(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        return [tensor[None] for tensor in tensors]


@dataclass(frozen=True)
class Split:
    """One tensor there is several of equal height here, one below another."""

    parts: int

    def read(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        (whole,) = tensors
        return list(whole.chunk(self.parts))

    def write(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        return [torch.cat(tensors)]


@dataclass(frozen=True)
class HalvesToTurns:
    """Along these axes sines are the first half there and cosines the second; here they take
    turns.
    """

    axes: tuple[int, ...] = (-1,)

    def read(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        return [self._moved(tensor, (2, -1)) for tensor in tensors]

    def write(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        return [self._moved(tensor, (-1, 2)) for tensor in tensors]

    def _moved(self, tensor: Tensor, shape: tuple[int, int]) -> Tensor:
        for axis in self.axes:
            split = tensor.movedim(axis, -1).unflatten(-1, shape)
            tensor = split.transpose(-1, -2).flatten(-2).movedim(-1, axis)
        return tensor


@dataclass(frozen=True)
class HeadsToTurns:
    """Rows of a head that rotary positions turn together are half of `turned` apart there, and
    neighbours here; the others of its `head_dim` rows stay.

    Attributes:
        tensors: how many it is for, from the first on.
    """

    head_dim: int
    turned: int
    tensors: int = 1

    def read(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        return self._moved(tensors, (2, -1))

    def write(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        return self._moved(tensors, (-1, 2))

    def _moved(self, tensors: TensorList, shape: tuple[int, int]) -> TensorList:
        moved = []
        for tensor in tensors[: self.tensors]:
            turned, rest = tensor.unflatten(0, (-1, self.head_dim)).tensor_split([self.turned], 1)
            turned = turned.unflatten(1, shape).transpose(1, 2).flatten(1, 2)
            moved.append(torch.cat((turned, rest), dim=1).flatten(0, 1))
        return [*moved, *tensors[self.tensors :]]


@dataclass(frozen=True)
class SplitHeads:
    """One tensor there is several here: of each head those of the first, then of the second ..."""

    heads: int
    parts: int

    def read(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        (whole,) = tensors
        heads = whole.unflatten(0, (self.heads, self.parts, -1))
        return [part.flatten(0, 1) for part in heads.unbind(1)]

    def write(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        heads = [tensor.unflatten(0, (self.heads, -1)) for tensor in tensors]
        return [torch.stack(heads, dim=1).flatten(0, 2)]


@dataclass(frozen=True)
class VocabularyRows:
    """A table of tokens, in our order.

    Attributes:
        of_source: it is that of sources.
    """

    of_source: bool = False

    def read(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:
        vocabulary = vocabulary.read if self.of_source else vocabulary
        ours = [tensor[list(vocabulary.order)] for tensor in tensors]
        for table in ours:
            table[list(vocabulary.empty)] = 0.0
        return ours

    def write(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:
        vocabulary = vocabulary.read if self.of_source else vocabulary
        here = vocabulary.here()
        rows = [here[row] for row in range(vocabulary.rows)]
        return [tensor[rows] for tensor in tensors]


@dataclass(frozen=True)
class OutputBias:
    """The bias of each token's logit, in our order; copies of tokens are never predicted.

    Attributes:
        shape: of the tensor there; None: there is none, and it is 0.
    """

    shape: tuple[int, ...] | None = (-1,)

    def read(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:
        stored = tensors[0].flatten() if tensors else torch.zeros(vocabulary.rows)
        bias = stored[list(vocabulary.order)].clone()
        bias[list(vocabulary.copied)] += COPIED_BIAS
        return [bias]

    def write(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:
        (bias,) = tensors
        here = vocabulary.predicted()
        stored = bias[[here[row] for row in range(vocabulary.rows)]]
        if self.shape is not None:
            return [stored.reshape(self.shape)]
        if stored.any():
            raise BundleError(
                "this family has no output bias, and the model was trained to have one.",
                got=f"up to {float(stored.abs().max()):.3g}",
            )
        return []


@dataclass(frozen=True)
class WithFirstRow:
    """The first row of the second table is added to each row of the first: the token type of
    BERT's first sentence, the only one that is read. Written, it is zero.
    """

    rows: int

    def read(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        places, kinds = tensors
        return [places + kinds[0]]

    def write(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        (places,) = tensors
        return [places, places.new_zeros(self.rows, places.shape[1])]


@dataclass(frozen=True)
class LaterRows:
    """The rows of a table after the first ones, which are not read. Written, these are zero."""

    before: int

    def read(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        return [tensor[self.before :] for tensor in tensors]

    def write(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        return [F.pad(tensor, (0, 0, self.before, 0)) for tensor in tensors]


@dataclass(frozen=True)
class TensorRow:
    """A row of the table.

    Attributes:
        there: names of tensors. {n} is the number of a layer, {next} that of the next one.
        here: names of ours.
        how: what is done one after another, from there to here.
        layers: how many layers it is for; None: it is no row of layers.
    """

    there: tuple[str, ...]
    here: tuple[str, ...]
    how: tuple[Transform, ...] = (Same(),)
    layers: int | None = None

    def spread(self) -> Iterator["TensorRow"]:
        """A row for each layer."""
        if self.layers is None:
            yield self
            return
        for number in range(self.layers):
            there, here = (
                tuple(name.format(n=number, next=number + 1) for name in names)
                for names in (self.there, self.here)
            )
            yield TensorRow(there, here, self.how)

    def read(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:
        """Ours."""
        for each in self.how:
            tensors = each.read(tensors, vocabulary)
        return tensors

    def write(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:
        """Those there."""
        for each in reversed(self.how):
            tensors = each.write(tensors, vocabulary)
        return tensors


def layer_rows(
    there: str,
    here: str,
    *how: Transform,
    layers: int | None = None,
    parts: Sequence[str] = ("weight", "bias"),
) -> Iterator[TensorRow]:
    """The rows of a linear layer or of a norm: its weight and its bias."""
    for part in parts:
        yield TensorRow((f"{there}.{part}",), (f"{here}.{part}",), how or (Same(),), layers)


@dataclass(frozen=True)
class Table:
    """All tensors of a model of a family.

    Attributes:
        aliases: names there of which a file may have any, or all with equal tensors.
        unused: beginnings of the names of tensors that jumok has no use for.
    """

    rows: tuple[TensorRow, ...]
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unused: tuple[str, ...] = ()

    def spread(self) -> Iterator[TensorRow]:
        """The rows, each for one layer."""
        for row in self.rows:
            yield from row.spread()

    def check(
        self, stored: Container, vocabulary: Vocabulary, expected: Mapping[str, TensorShape]
    ) -> None:
        """Checks that the stored tensors are those of the table; none is loaded.

        Args:
            expected: the shapes of ours.

        Raises:
            BundleError: a tensor is missing, is there twice or too much, or has another shape.
        """
        names, rows = self._named(stored), list(self.spread())
        wanted = dict.fromkeys(name for row in rows for name in row.there)
        for name in wanted:
            if name not in names:
                raise _unfit(stored, "a tensor is missing.", name)
        for name in names:
            if name not in wanted:
                raise _unfit(stored, "there is a tensor that this family does not have.", name)
        given = [name for row in rows for name in row.here]
        assert sorted(given) == sorted(expected), "the table gives other tensors than the model has"
        for row in rows:
            if row.there:
                ours = [torch.empty(expected[name], device="meta") for name in row.here]
                right = row.write(ours, vocabulary)
                for name, other in zip(row.there, right, strict=True):
                    if stored.shapes[names[name]] != tuple(other.shape):
                        raise _unfit(
                            stored, "a tensor has another shape than config.json gives it.", name,
                            got=_size_words(stored.shapes[names[name]]),
                            expected=_size_words(other.shape),
                        )  # fmt: skip

    def read(self, stored: Container, vocabulary: Vocabulary) -> Iterator[tuple[str, Tensor]]:
        """Our tensors in float32, one row of the table after another; the largest first, while
        little else is in memory. The table has to be checked.

        Raises:
            BundleError: a tensor cannot be read, is not of finite floats, or differs from what it
                is tied to.
        """
        names = self._named(stored)
        self._check_tied(stored)

        def numbers(row: TensorRow) -> int:
            return sum(torch.Size(stored.shapes[names[name]]).numel() for name in row.there)

        for row in sorted(self.spread(), key=numbers, reverse=True):
            tensors = [stored.load(names[name]) for name in row.there]
            for name, tensor in zip(row.there, tensors, strict=True):
                if not tensor.is_floating_point():
                    raise _unfit(stored, "a tensor is not of floats.", name, got=str(tensor.dtype))
                if not tensor.isfinite().all():
                    raise _unfit(stored, "a tensor has numbers that are NaN or infinite.", name)
            found = row.read([tensor.float() for tensor in tensors], vocabulary)
            yield from zip(row.here, (tensor.contiguous() for tensor in found), strict=True)

    def left_out(self, stored: Container) -> list[str]:
        """The tensors that are not used."""
        return [name for name in stored.shapes if name.startswith(self.unused)]

    def write(self, ours: Mapping[str, Tensor], vocabulary: Vocabulary) -> dict[str, Tensor]:
        """The tensors there."""
        theirs: dict[str, Tensor] = {}
        for row in self.spread():
            written = row.write([ours[name] for name in row.here], vocabulary)
            theirs |= dict(zip(row.there, written, strict=True))
        return theirs

    def _named(self, stored: Container) -> dict[str, str]:
        """For each name of the table the one in the file; tied tensors may have any of several."""
        names = {name: name for name in stored.shapes if not name.startswith(self.unused)}
        for name, present in self._tied(stored):
            for each in present:
                del names[each]
            names[name] = present[0]
        return names

    def _tied(self, stored: Container) -> Iterator[tuple[str, list[str]]]:
        """Names of the table, and those that the file has of them."""
        for name, others in self.aliases.items():
            present = [each for each in (name, *others) if each in stored.shapes]
            if present:
                yield name, present

    def _check_tied(self, stored: Container) -> None:
        for _, (first, *others) in self._tied(stored):
            for each in others:
                if not torch.equal(stored.load(each), stored.load(first)):
                    raise _unfit(stored, "tensors differ that are one tensor in this family.", each)


def _size_words(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape)) or "one number"


def _unfit(
    stored: Container, what: str, name: str, *, got: str | None = None, expected: str | None = None
) -> BundleError:
    return BundleError(
        what,
        expected=expected,
        got=name if got is None else f"{name}: {got}",
        do="get an undamaged copy; a newer kind of this family is not read",
        place=Location(stored.files.get(name, stored.folder)),
    )
