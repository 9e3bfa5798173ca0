"""The tables of docs/export.md and docs/reliability.md: formats that support a kind of model, and
the areas of a benchmark.
"""

import re
from pathlib import Path

import pytest

from jumok.bundle.reading import read_bundle
from jumok.export.catalog import FORMATS
from tests.export.models import OF_IMAGES, OTHERS, SECTIONS, write_model

ROOT = Path(__file__).parents[2]
BROKEN = "killed commands and failing writes"
"""The row of `benchmarks.broken`, which prints no table."""
KINDS = (
    "translator",
    "RNN translator",
    "language model, (learned|rotary)",
    "language model, gated feed-forward(, scaled|, norms|$)",
    "language model, gated feed-forward, biases",
    "language model, gated feed-forward, sliding window",
    "masked language model",
    "text classifier",
    "image classifier, CNN",
    "image classifier, (ViT|DeiT)",
    "captioner, CNN",
    "captioner, (ViT|DeiT)",
)
"""The models of each row of the table of supported models, by their names in tests/export."""
WORDS = {
    "export.md": {"yes": True, "some": None, "–": False},
    "export.ko.md": {"지원": True, "일부": None, "–": False},
}
"""The cells of that table; None: the models of the row differ, or others than these do."""


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the tables whose head begins with `heading`."""
    found, inside = [], False
    for line in (ROOT / "docs" / page).read_text("utf-8").splitlines():
        if not line.startswith("|"):
            inside = False
        elif line.startswith(f"| {heading} |"):
            inside = True
        elif inside and not line.startswith("|--"):
            found.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


@pytest.fixture(scope="module")
def supported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bool]]:
    """By the name of a model, whether each format supports it."""
    room, found = tmp_path_factory.mktemp("models"), {}
    for number, (name, section) in enumerate((SECTIONS | OF_IMAGES | OTHERS).items()):
        bundle = read_bundle(write_model(room / str(number), section))
        found[name] = {key: each.obstacle(bundle) is None for key, each in FORMATS.items()}
    return found


@pytest.mark.parametrize(("page", "first"), [("export.md", "model"), ("export.ko.md", "모델")])
def test_the_supported_models(supported, page, first):
    formats = ["web", "huggingface", "ctranslate2", "gguf", "onnx"]
    written = rows(page, " | ".join([first, *(f"`{each}`" for each in formats)]))
    left = set(supported)
    for (_, *cells), kind in zip(written, KINDS, strict=True):
        models = [name for name in supported if re.match(kind, name)]
        assert models
        left -= {*models}
        for format, cell in zip(formats, cells, strict=True):
            if WORDS[page][cell] is not None:
                assert {supported[name][format] for name in models} == {WORDS[page][cell]}
    assert not left


def test_the_areas_of_attacks():
    sources = ("attack.py", "attacks.py")
    code = "".join((ROOT / "benchmarks" / name).read_text("utf-8") for name in sources)
    areas = [area for area, *_ in rows("reliability.md", "area")]
    assert len(areas) == 17
    assert [area for area in areas if f'"{area}"' not in code and not area.startswith(BROKEN)] == []
