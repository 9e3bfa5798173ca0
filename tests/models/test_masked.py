"""The masked language model and the classifier: what padding may not change, and what is shared."""

import copy

import pytest
import torch

from jumok.config import MaskedConfig, TextClassifierConfig
from jumok.layers.residual import PreNorm
from jumok.models.classifier import TextClassifier
from jumok.models.masked import MaskedLanguageModel
from tests.parity.torch_weights import roughen

PIECES = 31
SIZES = {"dim": 16, "heads": 4, "layers": 2, "feedforward": 24, "max_length": 13, "dropout": 0.5}
VARIANTS = {
    "pre-norm": {},
    "bert": {"norm": "post", "embedding_norm": True},
    "rotary": {"positions": "rotary"},
    "alibi": {"positions": "alibi"},
    "fraction": {"positions": "fraction"},
    "concatenated": {"positions": "sinusoidal", "positions_join": "concatenate"},
    "none": {"positions": "none"},
    "other parts": {
        "norm_kind": "rms",
        "embedding_norm": True,
        "feedforward_kind": "gated",
        "kv_heads": 2,
        "score": "additive",
        "process_output": ["head-scale"],
    },
}


def masked(**options: object) -> MaskedLanguageModel:
    torch.manual_seed(1)
    config = MaskedConfig.model_validate({**SIZES, **options})
    return roughen(MaskedLanguageModel(config, PIECES)).eval()


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
@torch.no_grad()
def test_padding_changes_no_real_position(options):
    model = masked(**options)
    short = torch.tensor([[2, 9, model.mask, 11, 3]])
    padded = torch.cat([short, torch.zeros(1, 4, dtype=torch.long)], dim=1)
    batch = torch.cat([padded, torch.tensor([[2, 5, 6, 7, 8, 9, 10, 11, 3]])])
    allowed = batch != 0
    together = model(batch, allowed)
    torch.testing.assert_close(together[:1, :5], model(short), atol=1e-5, rtol=0)
    torch.testing.assert_close(together[1:], model(batch[1:]), atol=1e-5, rtol=0)


def test_all_norms_of_a_model_are_of_one_kind():
    model = masked(norm_kind="rms", norm_epsilon=0.5, embedding_norm=True)
    norms = [part for part in model.modules() if "Norm" in type(part).__name__]
    kinds = {type(part) for part in norms if not isinstance(part, PreNorm)}
    assert kinds == {torch.nn.RMSNorm}
    assert {part.eps for part in model.modules() if isinstance(part, torch.nn.RMSNorm)} == {0.5}


@pytest.mark.parametrize("pooling", ["mean", "first"])
@torch.no_grad()
def test_a_classifier_does_not_see_padding(pooling):
    torch.manual_seed(1)
    config = TextClassifierConfig.model_validate({**SIZES, "pooling": pooling})
    model = roughen(TextClassifier(config, PIECES, 3)).eval()
    short, long = [2, 9, 11, 3], [2, 5, 6, 7, 8, 9, 3]
    batch = torch.tensor([[*short, 0, 0, 0], long])
    together = model(batch, batch != 0)
    alone = torch.cat([model(torch.tensor([short])), model(torch.tensor([long]))])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=0)


def test_mask_is_the_row_after_the_last_piece():
    model = masked()
    assert model.mask == PIECES
    assert model.encoder.embedding.table.shape == (PIECES + 1, 16)
    assert model(torch.tensor([[2, model.mask, 3]])).shape == (1, 3, PIECES + 1)


def test_the_head_reads_from_the_embeddings_own_table_in_a_copy_too():
    model = copy.deepcopy(masked())
    assert model.head.output.weight is model.encoder.embedding.table
    names = [name for name, _ in model.named_parameters()]
    assert "head.output.weight" not in names
