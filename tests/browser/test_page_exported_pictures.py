"""A captioner in a page: offline, the pixels, the Memory and the caption of Python."""

import io
import re

import numpy as np
import pytest
import torch
from PIL import Image

from jumok.bundle.reading import read_bundle
from jumok.data.captions.store import pixel_reader
from jumok.data.files.images import read_image
from jumok.data.pictures.corpus import Shape
from jumok.decoding.native import rules_of
from jumok.engine.forced import WatchedAttention
from jumok.engine.structures import library
from jumok.engine.wasm import missing_compiler
from jumok.systems.in_page.captioner import WebCaptioner
from tests.systems.pictures import CNN, GATED, READER, STACK, write_captioner

pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
from playwright.sync_api import expect

pytestmark = [
    pytest.mark.skipif(library() is None, reason="needs a C compiler"),
    pytest.mark.skipif(missing_compiler() is not None, reason="needs zig"),
]

DEEP = {**CNN, "size": 24, "patch": 3, "channels": [10, 7], "blocks": 2}


def noise(height: int, width: int, channels: int = 3, seed: int = 5) -> np.ndarray:
    """An image with large areas and single pixels of all colours."""
    draw = np.random.default_rng(seed)
    coarse = draw.integers(0, 256, (3, 5, channels))
    rows, columns = np.arange(height) * 3 // height, np.arange(width) * 5 // width
    fine = draw.integers(-90, 90, (height, width, channels))
    return np.clip(coarse[rows][:, columns] + fine, 0, 255).astype(np.uint8)


def file_of(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> WebCaptioner:
    folder = write_captioner(tmp_path_factory.mktemp("exported") / "model")
    return WebCaptioner(read_bundle(folder), "int8")


def test_pixels_are_those_of_python(asked, exported):
    """Smaller, larger and equal sizes, in either direction; grey, a palette, EXIF, transparency."""
    page = asked(exported)
    turned = Image.Exif()
    turned[0x0112] = 6  # a quarter to the right
    pictures = [
        *(Image.fromarray(noise(*size)) for size in ((41, 23), (7, 5), (3, 97), (13, 13))),
        Image.fromarray(noise(31, 29, 1)[:, :, 0]),
        Image.fromarray(noise(31, 29)).quantize(11),
    ]
    files = [file_of(each) for each in pictures]
    files.append(file_of(Image.fromarray(noise(19, 31)), exif=turned))
    whole = noise(19, 31, 4)
    whole[:, :, 3] = np.where(whole[:, :, 3] > 99, 255, 0)
    files.append(file_of(Image.fromarray(whole)))
    for number, content in enumerate(files):
        for shape in (Shape(13, 13, 3), Shape(8, 50, 3), Shape(37, 4, 3), Shape(28, 28, 1)):
            expected = shape.fit(read_image(content, "given"))
            shown = np.array(page("resized", [list(content), vars(shape)]))
            np.testing.assert_array_equal(
                shown.reshape(expected.shape), expected, f"image {number}, {shape}"
            )


def test_what_is_half_transparent_and_what_jpeg_has_lost_differs_little(asked, exported):
    page = asked(exported)
    smooth = Image.fromarray(noise(6, 7)).resize((120, 90), Image.Resampling.BICUBIC)
    for content in (
        file_of(Image.fromarray(noise(19, 31, 4))),
        file_of(smooth, "JPEG", quality=90),
    ):
        shape = Shape(13, 13, 3)
        expected = shape.fit(read_image(content, "given"))
        shown = np.array(page("resized", [list(content), vars(shape)])).reshape(expected.shape)
        assert np.abs(shown - expected.astype(int)).mean() <= 1


CASES = [
    {},
    {"encoder": DEEP, "reader": READER},
    {"encoder": DEEP, "decoder": GATED},
    {"memory": "one", "decoder": STACK | {"norm": "post", "positions": "learned"}},
    {"memory": "one", "decoder": {**GATED, "attention": "dot", "gate": False}},
]


@pytest.mark.parametrize("changes", CASES, ids=str)
def test_the_page_writes_the_caption_of_the_engine(asked, tmp_path, changes):
    model = WebCaptioner(read_bundle(write_captioner(tmp_path / "model", **changes)), "fp32")
    page, cells = asked(model), model.config.encoder.grid
    content = file_of(Image.fromarray(noise(29, 37)))
    name = page("received", list(content))["picture"]
    pixels = pixel_reader(model.config.encoder.size).read(content, "given")
    with torch.inference_mode():
        states = model.model.encode(torch.from_numpy(pixels)[None]).states[0].numpy()
    memory = np.array(page("remembered", name), np.float32).reshape(states.shape)
    np.testing.assert_allclose(memory, states, atol=2e-5)
    found = page("looked", {"picture": name})
    decoder = [site for site in found["sites"] if site["part"] != "image"]
    watched = [WatchedAttention(site["part"], site["layer"]) for site in decoder]
    rules = rules_of(model.options, [len(memory)])
    (best,) = model.engine.search([memory], rules, watched)
    assert found["findings"]["written"] == list(best.tokens)
    assert found["output"] == model.tokenizer.decode(best.tokens).strip()
    known = best.log_probabilities  # without END's, where the caption was cut
    logs = [step["log_probability"] for step in found["steps"]][: len(known)]
    np.testing.assert_allclose(logs, known, atol=1e-4)
    for site, weights in zip(decoder, best.attention, strict=True):
        shown = np.array(site["weights"], np.float32).reshape(site["shape"])
        np.testing.assert_allclose(shown, weights, atol=1e-5)
    reading = [site for site in found["sites"] if site["part"] == "image"]
    assert len(reading) == changes.get("reader", {}).get("layers", 0)
    assert [each["name"] for each in reading] == [
        f"reader.blocks.{layer}.self_attention" for layer in range(len(reading))
    ]
    grid = [1, 1] if changes.get("memory") == "one" else list(cells)
    assert found["axes"]["picture"]["grid"] == grid


def test_cells_attend_to_each_other_as_in_python(asked, tmp_path):
    from jumok.tracing.catalog import load_family
    from jumok.tracing.request import Analyses

    folder = write_captioner(tmp_path / "model", encoder=DEEP, reader=READER)
    file = tmp_path / "given.png"
    file.write_bytes(content := file_of(Image.fromarray(noise(29, 37))))
    page = asked(WebCaptioner(read_bundle(folder), "fp32"))
    found = page("looked", {"picture": page("received", list(content))["picture"]})
    extras = Analyses(attribution=False, ablation=False)
    traced = load_family(folder, device="cpu").trace(str(file), extras=extras)
    sites = {each.name: each for each in traced.sites}
    assert {each["name"] for each in found["sites"]} == {*sites}
    for shown in found["sites"]:
        site = sites[shown["name"]]
        for name in ("kind", "part", "layer", "queries", "keys"):
            assert shown[name] == getattr(site, name)
        assert shown["scale"] == pytest.approx(site.scale)
        if shown["part"] == "image":
            weights = np.array(shown["weights"]).reshape(site.weights.shape)
            np.testing.assert_allclose(weights, site.weights, atol=1e-5)
    assert found["picture"]["width"] == traced.picture.width == 24
    assert found["text"] == traced.text == "given.png"


def test_a_photograph_is_chosen_or_dropped(reading, exported, tmp_path):
    reader = reading(exported.page("a model"))
    page = reader.page
    page.get_by_text("Choose a photograph").wait_for()
    file = tmp_path / "one.png"
    file.write_bytes(file_of(Image.fromarray(noise(29, 37))))
    page.set_input_files("#file", file)
    expect(page).to_have_title(re.compile("one.png$"), timeout=60_000)
    first = page.locator("img.seen").get_attribute("src")
    assert "weights in int8" in page.locator(".cost").inner_text()
    dropped = file_of(Image.fromarray(noise(17, 37, seed=9)))
    page.evaluate(
        """(bytes) => {
          const files = new DataTransfer();
          files.items.add(new File([Uint8Array.from(bytes)], "two.png"));
          document.dispatchEvent(new DragEvent("drop", { dataTransfer: files, cancelable: true }));
        }""",
        list(dropped),
    )
    expect(page).to_have_title(re.compile("two.png$"), timeout=60_000)
    assert page.locator("img.seen").get_attribute("src") != first
    file.write_text("no image")
    page.set_input_files("#file", file)
    page.get_by_role("alert").get_by_text("This file is not an image").wait_for()
    for _ in reader.views():
        assert reader.serious() == []
