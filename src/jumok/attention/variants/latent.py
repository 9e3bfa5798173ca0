"""Latent attention: keys and values of all heads are made of one short vector for each position.

    c = norm(W_c x),  k_h = [W_h^K c, R x],  v_h = W_h^V c

Only the latent c is cached, and one rotated key R x, which the heads share: rotary positions cannot
be part of what a later matrix makes of c. Queries may be compressed, too. A step of decoding never
expands the cache:

    q . (W^K c) = (W^K^T q) . c  and  sum_i w_i W^V c_i = W^V (sum_i w_i c_i)

so the heads compare with the latents themselves, as if all shared one key (`absorbed`); many
queries are computed in the expanded form, its readable twin.

Source: DeepSeek-AI 2024 (DeepSeek-V2), section 2.1 and appendix C.
"""

import torch
from torch import nn

from jumok.attention.core import split_heads
from jumok.attention.interfaces import HeadParts
from jumok.attention.masks import AttentionMask
from jumok.attention.multihead import MultiHeadAttention
from jumok.attention.role import Role
from jumok.attention.variants.value_residual import FirstValues
from jumok.errors import ConfigError
from jumok.kernels.linear import Linear
from jumok.kernels.noise import Noise
from jumok.shapes import Float, States, Tensor
from jumok.specs import AttentionSizes

ABSORBED_UP_TO = 4
"""Queries up to which the cache is not expanded."""


class LatentAttention(MultiHeadAttention):
    """Multi-head attention whose keys and values come from a latent vector.

    Args:
        sizes: with `latent_dim`; of each head's query and key, the last `rotary_dim` elements are
            what `parts.process_queries` and `process_keys` change, and keys share them.
    """

    def __init__(
        self, sizes: AttentionSizes, parts: HeadParts, noise: Noise, dropout: float, role: Role
    ) -> None:
        latent, fixed = sizes.latent_dim, sizes.head_dim - sizes.rotary_dim
        if parts.process_keys and not sizes.rotary_dim:
            raise ConfigError(
                "these positions change the keys of heads, of which no part is set aside for it.",
                do="give rotary_dim, which is that part of head_dim",
            )
        super().__init__(
            sizes.dim, sizes.heads, sizes.head_dim, sizes.value_dim, noise, dropout,
            None, (sizes.bias, sizes.output_bias), parts, role,
        )  # fmt: skip
        self.widths = fixed, sizes.rotary_dim
        compressed = sizes.query_latent_dim
        self.compress_query: nn.Module = nn.Identity()
        if compressed:
            self.compress_query = nn.Sequential(
                Linear(sizes.dim, compressed, sizes.bias), nn.RMSNorm(compressed, sizes.epsilon)
            )
        # No biases: what is absorbed into other matrices is a matrix.
        self.query = Linear(compressed or sizes.dim, sizes.heads * sizes.head_dim, bias=False)
        self.compress = Linear(sizes.dim, latent + sizes.rotary_dim, sizes.bias)
        self.norm = nn.RMSNorm(latent, sizes.epsilon)
        self.key = Linear(latent, sizes.heads * fixed, bias=False)
        self.value = Linear(latent, sizes.heads * sizes.value_dim, bias=False)

    @classmethod
    def of(
        cls, sizes: AttentionSizes, parts: HeadParts, noise: Noise, dropout: float, role: Role
    ) -> "LatentAttention":
        return cls(sizes, parts, noise, dropout, role)

    def keys_values(
        self,
        memory: States,
        position: int = 0,
        first: FirstValues | None = None,  # noqa: ARG002 - there are no values yet
    ) -> tuple[Float[Tensor, "batch 1 length latent"], Float[Tensor, "batch 1 length rotary"]]:
        """What is cached: the latents, and the shared part of the keys."""
        made = self.compress(memory)[:, None]
        latent, shared = made.split((made.shape[-1] - self.widths[1], self.widths[1]), dim=-1)
        for process in self.process_keys:
            shared = process(shared, position)
        return self.norm(latent), shared

    def attend(
        self,
        queries: Float[Tensor, "batch query dim"],
        key: Float[Tensor, "batch 1 key latent"],
        value: Float[Tensor, "batch 1 key rotary"],
        allowed: AttentionMask | None = None,
        position: int = 0,
    ) -> Float[Tensor, "batch query dim"]:
        """The output for each query.

        Args:
            key, value: what `keys_values` returns: latents, and the shared part of the keys.
        """
        query = split_heads(self.query(self.compress_query(queries)), self.heads)
        fixed, turned = query.split(self.widths, dim=-1)
        for process in self.process_queries:
            turned = process(turned, position)
        few = queries.shape[1] <= ABSORBED_UP_TO and not self.observers and self.edit is None
        form = self.absorbed if few else self.expanded
        outputs = form(fixed, turned, key, value, allowed, position)
        return self.project_output(outputs, queries)

    def expanded(
        self,
        fixed: Float[Tensor, "batch heads query fixed"],
        turned: Float[Tensor, "batch heads query rotary"],
        latent: Float[Tensor, "batch 1 key latent"],
        shared: Float[Tensor, "batch 1 key rotary"],
        allowed: AttentionMask | None,
        position: int,
    ) -> Float[Tensor, "batch heads query value_dim"]:
        """With the keys and values of every head, as the formula has them."""
        key = split_heads(self.key(latent[:, 0]), self.heads)
        key = torch.cat((key, shared.expand(-1, self.heads, -1, -1)), dim=-1)
        value = split_heads(self.value(latent[:, 0]), self.heads)
        query = torch.cat((fixed, turned), dim=-1)
        return self.weighted_sum(query, key, value, allowed, position)

    def absorbed(
        self,
        fixed: Float[Tensor, "batch heads query fixed"],
        turned: Float[Tensor, "batch heads query rotary"],
        latent: Float[Tensor, "batch 1 key latent"],
        shared: Float[Tensor, "batch 1 key rotary"],
        allowed: AttentionMask | None,
        position: int,
    ) -> Float[Tensor, "batch heads query value_dim"]:
        """With the latents as one key and one value for all heads."""
        asked = fixed @ self.key.weight.unflatten(0, (self.heads, -1))
        query, key = torch.cat((asked, turned), dim=-1), torch.cat((latent, shared), dim=-1)
        outputs = self.weighted_sum(query, key, latent, allowed, position)
        return outputs @ self.value.weight.unflatten(0, (self.heads, -1)).transpose(1, 2)
