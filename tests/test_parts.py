"""The table of parts: every entry is there, names are checked, and others may add theirs."""

import subprocess
import sys

import pytest
import torch

from jumok import parts, plugins
from jumok.attention.interfaces import HeadProcess, OutputProcess, ScoreFunction
from jumok.attention.observe import Attention, observe
from jumok.config import TransformerConfig, parse_config
from jumok.config.causal import CausalConfig
from jumok.errors import ConfigError
from jumok.kernels.noise import Noise
from jumok.layers.dropout import Dropout
from jumok.layers.interfaces import FeedForward, Norm
from jumok.models.causal import CausalLanguageModel
from jumok.models.encoder_decoder import Transformer
from jumok.planning.activations import kept_numbers
from jumok.planning.products import TextLengths
from jumok.positions.interfaces import PositionSizes
from jumok.specs import ScoreSpec
from tests.planning.models import recipe

DIM, HEADS, HEAD_DIM, HIDDEN = 6, 2, 4, 5
ROLES = {
    "norm": (Norm, (DIM, 1e-5)),
    "feedforward": (FeedForward, (DIM, HIDDEN, "gelu", Dropout(0.0, Noise()), False)),
    "score": (ScoreFunction, (HEAD_DIM, HEAD_DIM, HEADS)),
    "head_process": (HeadProcess, (HEAD_DIM, 1e-5)),
    "output_process": (OutputProcess, (HEADS, HEAD_DIM, DIM)),
}
ENTRIES = [(role, name) for role in (*ROLES, "positions") for name in parts.names(role)]


@pytest.fixture(autouse=True)
def table(monkeypatch):
    """What a test registers is gone after it."""
    monkeypatch.setattr(parts, "PARTS", {role: dict(known) for role, known in parts.PARTS.items()})


def built(role: str, name: str):
    part = parts.builder_of(role, name)
    if role == "positions":
        return part.of(PositionSizes(DIM, HEADS, HEAD_DIM, 8))
    return part(*ROLES[role][1])


@pytest.mark.parametrize(("role", "name"), ENTRIES)
def test_every_entry_is_built_with_the_arguments_of_its_role(role, name):
    part = built(role, name)
    if role == "positions":
        assert part.enters in ("vectors", "heads", "scores")
    else:
        assert isinstance(part, ROLES[role][0])


@pytest.mark.parametrize("name", parts.names("score"))
def test_every_score_keeps_the_axes_before_the_last_two(name):
    """As RNNs call it, (batch length dim), and as Transformers do, (batch heads length dim)."""
    score = built("score", name)
    query, key = torch.randn(3, HEADS, 5, HEAD_DIM), torch.randn(3, HEADS, 7, HEAD_DIM)
    whole = score(score.queries(query), score.keys(key))
    assert whole.shape == (3, HEADS, 5, 7)
    single = parts.builder_of("score", name)(HEAD_DIM, HEAD_DIM, 1)
    flat = single(single.queries(query[:, 0]), single.keys(key[:, 0]))
    assert flat.shape == (3, 5, 7)


@pytest.mark.parametrize("name", parts.names("score"))
def test_a_score_is_what_its_record_says(name):
    score, spec = built("score", name), parts.spec_of(ScoreSpec, name)
    assert spec.hidden is (score.energy is not None)
    assert spec.product is (score.scale is not None and not spec.hidden)
    query = score.queries(torch.randn(3, HEADS, 5, HEAD_DIM))
    key = score.keys(torch.randn(3, HEADS, 7, HEAD_DIM))
    if spec.product:
        expected = score.scale * torch.einsum("bhqd,bhkd->bhqk", query, key)
    elif spec.hidden:
        sums = query[..., :, None, :] + key[..., None, :, :]
        expected = torch.einsum("bhqkd,d->bhqk", sums.tanh(), score.energy)
    else:  # a number for each pair, whatever the others are
        pairs = [score(query[:, :, i : i + 1], key[:, :, j : j + 1])
                 for i in range(5) for j in range(7)]  # fmt: skip
        expected = torch.cat(pairs, -1).unflatten(-1, (5, 7)).squeeze(2)
    torch.testing.assert_close(score(query, key), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("norm_kind", "rsm", "there is no norm 'rsm'; did you mean 'rms'? There are: layer, rms"),
        ("feedforward_kind", "moe", "there is no feedforward 'moe'. There are: plain, gated"),
        ("score", "scaled-dots", "there is no score 'scaled-dots'; did you mean 'scaled-dot'?"),
        ("positions", "rotery", "there is no positions 'rotery'; did you mean 'rotary'?"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_and_with_all(key, value, said):
    recipe = {"name": "r", "model": {"kind": "causal-lm", key: value}, "data": {"train": []}}
    with pytest.raises(ConfigError) as caught:
        parse_config(recipe)
    assert f"model.{key}: {said}" in str(caught.value)


def test_an_unknown_name_or_role_is_not_resolved():
    with pytest.raises(ConfigError, match=r"there is no norm 'rns'; did you mean 'rms'\?"):
        parts.builder_of("norm", "rns")
    with pytest.raises(ConfigError, match="there is no such role of parts") as caught:
        parts.names("norms")
    assert "expected: norm, feedforward, score" in str(caught.value)


class Nothing(torch.nn.Module):
    """A feed-forward layer that adds nothing."""

    def __init__(self, *_given: object) -> None:
        super().__init__()

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(states)


def test_a_registered_part_is_accepted_by_recipes_and_built():
    with pytest.raises(ValueError, match="there is no feedforward 'nothing'"):
        TransformerConfig(feedforward_kind="nothing")
    parts.register("feedforward", "nothing", Nothing)
    config = CausalConfig(feedforward_kind="nothing", dim=16, layers=2)
    model = CausalLanguageModel(config, 11)
    assert all(isinstance(block.feedforward, Nothing) for block in model.decoder.blocks)


def test_a_name_is_registered_once_and_the_same_part_again_changes_nothing():
    parts.register("feedforward", "nothing", Nothing)
    parts.register("feedforward", "nothing", Nothing)
    with pytest.raises(ConfigError, match="the feedforward 'nothing' is taken by another part"):
        parts.register("feedforward", "nothing", torch.nn.Identity)
    with pytest.raises(ConfigError, match="the norm 'rms' is taken by another part"):
        parts.register("norm", "rms", torch.nn.LayerNorm)
    assert parts.builder_of("norm", "rms") is torch.nn.RMSNorm


def test_a_plugin_that_failed_may_be_mended_and_loaded_again(tmp_path, monkeypatch):
    monkeypatch.setattr(plugins, "LOADED", {})
    file = tmp_path / "my_norm.py"
    lines = 'import jumok, torch\njumok.register("norm", "mine", torch.nn.Identity)\n'
    file.write_text(f"{lines}1 / 0\n", "utf-8")
    with pytest.raises(ConfigError, match="the plugin raised an error"):
        plugins.load_plugin(file)
    assert "mine" not in parts.names("norm")
    file.write_text(f"{lines}class Mine(torch.nn.Identity): ...\n", "utf-8")
    plugins.load_plugin(file)
    assert parts.names("norm") == ["layer", "rms", "mine"]


class Distance(torch.nn.Module):
    """- |q - k|^2 / 2: neither a product nor additive."""

    kind = "distance"
    scale = None
    energy = None

    def __init__(self, *_sizes: int) -> None:
        super().__init__()

    def queries(self, states):
        return states

    def keys(self, memory):
        return memory

    def forward(self, query, key):
        return -0.5 * torch.cdist(query, key).square()


def test_a_score_of_another_kind_takes_the_generic_path_and_says_so():
    """softmax(-|q - k|^2 / 2) v, by hand; observers hear that it is no product."""
    parts.register("score", "distance", Distance)
    sizes = {"dim": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "feedforward": 8}
    model = Transformer(TransformerConfig(score="distance", **sizes), 11).eval()
    attention, states = model.encoder.blocks[0].self_attention, torch.randn(2, 5, 16)
    query, key, value = (
        layer(states).unflatten(2, (2, 8)).transpose(1, 2)
        for layer in (attention.query, attention.key, attention.value)
    )
    apart = query[:, :, :, None] - key[:, :, None]
    weights = torch.softmax(-apart.square().sum(-1) / 2, dim=-1)
    expected = attention.output((weights @ value).transpose(1, 2).flatten(2))
    seen: list[Attention] = []
    with observe(attention, lambda _, heard: seen.append(heard)):
        watched = attention(states, states)
    torch.testing.assert_close(watched, expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(attention(states, states), expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(seen[0].weights, weights, atol=1e-5, rtol=0)
    assert (seen[0].kind, seen[0].scale, seen[0].energy) == ("distance", None, None)


def test_a_plan_counts_a_hidden_vector_for_each_pair_where_the_score_has_one():
    """2 heads, 7 keys, 8 elements, beside what a softmax of any drawn scores keeps."""

    def kept(score: str) -> float:
        sizes = {"dim": 16, "heads": 2, "layers": 1}
        config = recipe({"kind": "masked-lm", "score": score} | sizes)
        return kept_numbers(config, TextLengths(7, 7), fused=False)

    for hidden in (False, True):
        parts.register("score", f"distance {hidden}", Distance, ScoreSpec(hidden=hidden))
    assert kept("distance False") == kept("dot")
    assert kept("distance True") == kept("dot") + 2 * 7 * 8


@pytest.mark.process
def test_names_in_recipes_are_checked_without_importing_any_model():
    code = (
        "import sys; from jumok.config.causal import CausalConfig; "
        'CausalConfig(score="additive", norm_kind="rms", process_heads=["qk-norm"]); '
        'sys.exit("torch" in sys.modules)'
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
