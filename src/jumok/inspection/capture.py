"""Watching every attention of a model in one parallel pass over a sentence and its translation.

The parallel pass gives the same states as decoding step by step does (a test of every model holds
that), so this is what happened while the translation was written, read off at one go.
"""

import re
from collections.abc import Iterator, Sequence

import torch
from torch import nn

from jumok.attention.observe import Attention, observe
from jumok.inspection.trace import Array, Level, Part, Site
from jumok.models.memory import SequenceToSequence
from jumok.shapes import Float, Int, Tensor

Axes = dict[Part, tuple[str, str]]
AXES: Axes = {
    "encoder": ("source", "source"),
    "decoder": ("target", "target"),
    "cross": ("target", "source"),
}


@torch.inference_mode()
def capture(
    model: SequenceToSequence,
    source: Int[Tensor, "1 source"],
    target: Int[Tensor, "1 target"],
    level: Level = "weights",
) -> tuple[tuple[Site, ...], Float[Tensor, "target vocabulary"]]:
    """Every attention site of the model, and the log-probabilities after every prefix.

    Args:
        source: pieces and END.
        target: START and pieces.
    """
    seen: list[tuple[str, Attention]] = []
    with observe(model, lambda site, attention: seen.append((site, attention))):
        memory = model.encode(source)
        logits = model.decoder(memory, target)
    sites = tuple(_sites(model, seen, level))
    return sites, logits[0].float().log_softmax(dim=-1)


@torch.inference_mode()
def heads_of(model: SequenceToSequence, source: Int[Tensor, "1 source"]) -> dict[str, int]:
    """How many heads each attention site has, found by looking at it work."""
    heads: dict[str, int] = {}

    def count(site: str, attention: Attention) -> None:
        heads[site] = attention.weights.shape[1]

    with observe(model, count):
        model.decoder(model.encode(source), source[:, :1])
    return heads


def _sites(model: nn.Module, seen: Sequence[tuple[str, Attention]], level: Level) -> Iterator[Site]:
    """The sites in the order they were used; one that was used step by step is put together."""
    calls: dict[str, list[Attention]] = {}
    for name, attention in seen:
        calls.setdefault(name, []).append(attention)
    for name, attentions in calls.items():
        weights = torch.cat([each.weights[0] for each in attentions], dim=1)
        last = attentions[-1]
        part = part_of(name)
        queries, keys = AXES[part]
        vectors: dict[str, Tensor] = {}
        if level == "qk":
            query = torch.cat([each.query[0] for each in attentions], dim=1)
            vectors = {"query": query, "key": last.key[0], "value": last.value[0]}
        norms = contribution_norms(weights, last.value[0], output_weight(model, name, last.value))
        yield Site(
            name=name,
            kind=last.kind,
            part=part,
            layer=layer_of(name),
            queries=queries,
            keys=keys,
            weights=_numpy(weights),
            norms=_numpy(norms),
            bias=None if last.bias is None else _numpy(last.bias[0].expand_as(weights)),
            energy=None if last.energy is None else _numpy(last.energy),
            scale=last.scale,
            **{vector: _numpy(tensor) for vector, tensor in vectors.items()},
        )


def contribution_norms(
    weights: Float[Tensor, "heads query key"],
    value: Float[Tensor, "heads key value_dim"],
    output: Float[Tensor, "dim heads_value_dim"] | None,
) -> Float[Tensor, "query key"]:
    """The length of what each key gave to each query: | sum over heads of weight value W_O |.

    A key that is looked at much and says nothing gives little; weights alone do not show that.

    Args:
        output: the output projection's weight; None: what was found is passed on as it is.

    Source: Kobayashi et al. 2020, Attention is not only a weight, section 3.
    """
    heads, _, value_dim = value.shape
    given = value
    if output is not None:
        per_head = output.view(output.shape[0], heads, value_dim)
        given = torch.einsum("hkv,dhv->hkd", value, per_head.to(value))
    return torch.einsum("hqk,hkd->qkd", weights, given).norm(dim=-1)


def given_norms(
    weights: Float[Tensor, "batch heads query key"],
    value: Float[Tensor, "batch heads key value_dim"],
    output: Float[Tensor, "dim heads_value_dim"] | None,
) -> tuple[Float[Tensor, "batch query key"], Float[Tensor, "batch heads query key"]]:
    """`contribution_norms` of a whole batch, of all heads together and of each head alone.

    No vector is made for each pair of query and key: with u = value W_O, the length is
    sqrt(sum over heads h and g of weight_h weight_g (u_h . u_g)), and the products of the heads
    are the same for all queries. In float32, whatever the model computes in.
    """
    weights, given = weights.float(), value.float().transpose(1, 2)  # (batch key heads value_dim)
    if output is not None:
        per_head = output.float().view(output.shape[0], value.shape[1], -1)
        given = torch.einsum("bkhv,dhv->bkhd", given, per_head)
    products = given @ given.transpose(2, 3)
    looked = weights.permute(0, 3, 2, 1)  # (batch key query heads)
    squares = ((looked @ products) * looked).sum(dim=3).transpose(1, 2)
    lengths = products.diagonal(dim1=2, dim2=3).clamp(min=0).sqrt()  # (batch key heads)
    apart = weights * lengths.transpose(1, 2)[:, :, None]
    return squares.clamp(min=0).sqrt(), apart


def output_weight(
    model: nn.Module, site: str, value: Float[Tensor, "batch heads key value_dim"]
) -> Float[Tensor, "dim heads_value_dim"] | None:
    """The output projection of an attention module, where it has one.

    Layers laid out for inference do not show their weights: what they make of the unit vectors
    tells them.
    """
    projection = dict(model.get_submodule(site).named_children()).get("output")
    if projection is None:
        return None
    width = value.shape[1] * value.shape[3]
    unit = torch.eye(width, dtype=value.dtype, device=value.device)
    weight: Tensor = projection(unit) - projection(torch.zeros_like(unit))
    return weight.T


def part_of(site: str) -> Part:
    """Who looks at what, by the module's path."""
    if site.startswith("encoder"):
        return "encoder"
    return "decoder" if "self_attention" in site else "cross"


def layer_of(site: str) -> int:
    """The number in the module's path; 0 where there is but one layer."""
    number = re.search(r"\.(\d+)\.", site)
    return int(number[1]) if number else 0


def _numpy(tensor: Tensor) -> Array:
    array: Array = tensor.float().cpu().numpy()
    return array
