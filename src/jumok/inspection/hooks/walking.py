"""Recording a walk: the vectors around every attention module while a model runs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import numpy as np
import torch
from torch import nn

from jumok.attention.convolution import PixelAttention
from jumok.attention.multihead import MultiHeadAttention
from jumok.attention.observe import Observable
from jumok.attention.overrides import hooked
from jumok.attention.variants.soft_cap import SoftCapScore
from jumok.inspection.findings import SiteWalk, Walk
from jumok.inspection.lens import RecurrentInputs
from jumok.inspection.sites import numpy_of
from jumok.inspection.trace import Array, Site
from jumok.layers.block import Block
from jumok.layers.residual import PostNorm
from jumok.models.recurrent_decoder import AttentionDecoder
from jumok.shapes import Float, Tensor

OUTPUT_LAYERS = ("decoder.output", "head", "output")
"""Where models have what makes the logits; the first that a model has."""

SAME = 1e-4
"""The largest difference, relative to the largest number, between vectors that are the same."""


class WalkRecorder:
    """What was heard so far: by site and name the vectors of the batch's first row."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._kept: dict[str, dict[str, list[Tensor]]] = {}
        self._normalizers: list[Tensor] = []
        self._entries = 0

    def keep(self, site: str, **vectors: Tensor) -> None:
        """Keeps vectors of a site by name, each (positions width) for the next queries."""
        for name, each in vectors.items():
            self._kept.setdefault(site, {}).setdefault(name, []).append(each.detach())

    def keep_logits(self, logits: Float[Tensor, "*positions entries"]) -> None:
        """Keeps what turns these logits into log-probabilities."""
        rows = logits.detach().float().flatten(0, -2)
        self._entries = rows.shape[1]
        self._normalizers.append(rows.logsumexp(dim=1))

    def walk(self, sites: Sequence[Site]) -> Walk:
        """The walk through these sites."""
        walks = {}
        for site in sites:
            lists = self._kept.get(site.name, {})
            arrays = {name: numpy_of(torch.cat(each)) for name, each in lists.items()}
            if "mixed" in arrays and _is_weighted_sum(arrays["mixed"], site):
                del arrays["mixed"]
            walks[site.name] = self._described(site.name, arrays)
        logits = numpy_of(torch.cat(self._normalizers)) if self._normalizers else None
        return Walk(walks, logits, self._entries)

    def _described(self, site: str, arrays: Mapping[str, Array]) -> SiteWalk:
        module = self._model.get_submodule(site)
        block = self._model.get_submodule(site.rpartition(".")[0])
        after = block.after_self if isinstance(block, Block) else None
        processes: tuple[str, ...] = ()
        score, biased, sharing = None, True, 1
        if isinstance(module, MultiHeadAttention):
            biased = module.output.bias is not None
            processes = tuple(type(each).__name__ for each in module.process_queries)
            score, sharing = module.score, module.heads // module.kv_heads
        capped = score if isinstance(score, SoftCapScore) else None
        return SiteWalk(
            arrays,
            norm="" if after is None else type(after.norm).__name__,
            post=isinstance(after, PostNorm),
            biased=biased,
            processes=processes,
            sharing=sharing,
            cap=None if capped is None else capped.cap,
            scale=None if capped is None else capped.score.scale,
        )


def _is_weighted_sum(mixed: Array, site: Site) -> bool:
    """Whether the input of the output projection is what weights and values give."""
    if site.value is None:
        return False
    sums = (site.weights @ site.value).transpose(1, 0, 2).reshape(len(mixed), -1)
    if sums.shape != mixed.shape:
        return False
    return float(np.abs(sums - mixed).max()) <= SAME * max(1.0, float(np.abs(mixed).max()))


@contextmanager
def watch_walk(model: nn.Module) -> Iterator[WalkRecorder]:
    """Records the vectors around every attention module inside the block.

    Recurrent decoders are run again for theirs (`add_recurrent`).
    """
    recorder = WalkRecorder(model)
    modules = dict(model.named_modules())
    with ExitStack() as watching:
        listen = _Listening(watching)
        for path, module in modules.items():
            if isinstance(module, Block):
                _listen_to_block(path, module, recorder, listen)
            elif isinstance(module, PixelAttention):
                _listen_to_pixels(path, module, recorder, listen)
        for path in OUTPUT_LAYERS:
            if path in modules:
                listen(modules[path], after=recorder.keep_logits)
                break
        yield recorder


class _Listening:
    """Sets hooks that end with the block."""

    def __init__(self, watching: ExitStack) -> None:
        self._watching = watching

    def __call__(
        self,
        module: nn.Module,
        before: Callable[..., None] | None = None,
        after: Callable[..., None] | None = None,
    ) -> None:
        self._watching.enter_context(hooked(module, before, after))


def _listen_to_block(path: str, block: Block, recorder: WalkRecorder, listen: _Listening) -> None:
    """The parts of a block follow one another: what one leaves, the next one reads."""
    modules = dict(block.named_children())
    named = (("self_attention", "after_self"), ("cross_attention", "after_cross"))
    parts = [
        (f"{path}.{name}", modules[name], modules[after])
        for name, after in named
        if isinstance(modules.get(name), Observable)
    ]
    if not parts:
        return
    first, last = parts[0][0], parts[-1][0]
    listen(block, before=lambda given: recorder.keep(first, state=given[0][0], input=given[1][0]))
    followers: list[str | None] = [*(site for site, _, _ in parts[1:]), None]
    for (site, attention, after), then in zip(parts, followers, strict=True):
        output = dict(attention.named_children()).get("output")
        if output is not None:
            listen(output, before=_keeping(recorder, site, "mixed"))
        listen(attention, after=_keeping(recorder, site, "output"))
        listen(after, after=_leaving(recorder, site, "normed", then))
    feedforward = modules["feedforward"]
    outer = dict(feedforward.named_children()).get("outer")
    if outer is not None:
        listen(outer, before=_keeping(recorder, last, "hidden"))
    listen(feedforward, after=_keeping(recorder, last, "fed"))
    listen(modules["after_feedforward"], after=_leaving(recorder, last, "fed_normed", None))


def _keeping(recorder: WalkRecorder, site: str, name: str) -> Callable[..., None]:
    """Keeps a module's first argument, or its result."""

    def keep(heard: Tensor | tuple[object, ...]) -> None:
        states = heard[0] if isinstance(heard, tuple) else heard
        assert isinstance(states, Tensor)
        recorder.keep(site, **{name: states[0]})

    return keep


def _leaving(
    recorder: WalkRecorder, site: str, name: str, then: str | None
) -> Callable[[tuple[Tensor, Tensor]], None]:
    """Keeps the norm after a part, and the state and the input of the part that follows."""

    def keep(left: tuple[Tensor, Tensor]) -> None:
        stream, normed = left
        recorder.keep(site, **{name: normed[0]})
        if then is not None:
            recorder.keep(then, state=stream[0], input=normed[0])

    return keep


def _listen_to_pixels(
    path: str, attention: PixelAttention, recorder: WalkRecorder, listen: _Listening
) -> None:
    """The cells of a feature map: each is a vector of channels."""

    def cells(grid: Float[Tensor, "1 channels height width"]) -> Tensor:
        return grid[0].flatten(1).T

    listen(
        attention,
        before=lambda given: recorder.keep(path, state=cells(given[0]), input=cells(given[0])),
    )
    listen(attention.output, before=lambda given: recorder.keep(path, mixed=cells(given[0])))
    listen(attention.output, after=lambda made: recorder.keep(path, output=cells(made)))


@torch.inference_mode()
def add_recurrent(
    recorder: WalkRecorder, model: nn.Module, given: Mapping[str, RecurrentInputs]
) -> None:
    """Adds the steps of recurrent decoders that attend, which are run again one by one.

    Args:
        given: see `jumok.inspection.lens.recurrent_inputs`.
    """
    for stack, (tokens, memory) in given.items():
        decoder = model.get_submodule(stack)
        if not isinstance(decoder, AttentionDecoder) or memory is None:
            continue
        site = f"{stack}.attention"
        words, state = decoder.embedding(tokens), decoder.start(memory)
        asked = hooked(decoder.attention, before=_keeping(recorder, site, "input"))
        read = hooked(decoder.readout, before=lambda args: recorder.keep(site, known=args[0]))  # noqa: B023
        with asked, read:
            for position in range(tokens.shape[1]):
                recorder.keep(site, state=state.seen, word=words[:, position])
                shown, state = decoder.advance(words[:, position], state)
                recorder.keep(site, after=state.seen, shown=shown)
