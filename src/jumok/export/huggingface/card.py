"""The model card of a folder of transformers, and the lines that load it."""

import json

from jumok.bundle.card import card_text
from jumok.bundle.reading import Bundle
from jumok.config.captioner import CaptionerConfig
from jumok.config.masked import MaskedConfig, TextClassifierConfig
from jumok.config.pictures import ImageClassifierConfig
from jumok.config.section import ModelSection
from jumok.config.transformer import TransformerConfig
from jumok.export.format import ExportOptions

TAGS = {
    "translation": "translation",
    "language-model": "text-generation",
    "masked-lm": "fill-mask",
    "text-classification": "text-classification",
    "image-classification": "image-classification",
    "captioning": "image-to-text",
}
_LOAD = """from transformers import AutoTokenizer, {auto}

tokenizer = AutoTokenizer.from_pretrained("FOLDER")
model = {auto}.from_pretrained("FOLDER")
inputs = tokenizer({text}, return_tensors="pt")
"""
_LOAD_IMAGE = """from PIL import Image
from transformers import AutoImageProcessor, {classes}

images = AutoImageProcessor.from_pretrained("FOLDER")
{tokenizer}model = {auto}.from_pretrained("FOLDER")
inputs = images(Image.open("photo.jpg").convert("RGB"), return_tensors="pt")
"""
_LOAD_TOKENIZER = """tokenizer = AutoTokenizer.from_pretrained("FOLDER")
"""
_NAMES = """print(model.config.id2label[int(model(**inputs).logits.argmax())])
"""
_WRITES = """output = model.generate({given}, num_beams=1, max_new_tokens=60)
print(tokenizer.decode(output[0], skip_special_tokens=True))
"""
_READS = """print(model(**inputs)[0].shape)
"""


def readme(bundle: Bundle, architecture: str, auto: str, options: ExportOptions) -> str:
    """The card: what a hub reads at the top, what jumok's own card says, and how to load it.

    Args:
        auto: the class of transformers that loads it.
    """
    config, card = bundle.config, bundle.card
    licence = card.provenance.licence if card.provenance else None
    languages = list(filter(None, (config.source_language, config.target_language)))
    head = [
        "---",
        f"license: {licence.key if licence else 'unknown'}",
        *([f"language: {json.dumps(languages)}"] if languages else []),
        f"pipeline_tag: {TAGS[config.task]}",
        "library_name: transformers",
        "---",
        "",
    ]
    example = options.examples[0] if options.examples else "The cat sat on the mat."
    lines = ["", "## Load it", "", f"It is a {architecture}.", "", "```python"]
    code = _loading_lines(bundle.section, auto, example)
    return "\n".join([*head, card_text(config, card), *lines, code + "```", ""])


def _loading_lines(section: ModelSection, auto: str, example: str) -> str:
    """A program that loads the folder and uses the model once."""
    if isinstance(section, ImageClassifierConfig):
        return _LOAD_IMAGE.format(auto=auto, classes=auto, tokenizer="") + _NAMES
    if isinstance(section, CaptionerConfig):
        classes = f"AutoTokenizer, {auto}"
        load = _LOAD_IMAGE.format(auto=auto, classes=classes, tokenizer=_LOAD_TOKENIZER)
        return load + _WRITES.format(given="**inputs")
    start = _LOAD.format(auto=auto, text=json.dumps(example, ensure_ascii=False))
    if isinstance(section, TextClassifierConfig):
        return start + _NAMES
    if isinstance(section, MaskedConfig):
        return start + _READS
    given = "**inputs" if isinstance(section, TransformerConfig) else "inputs.input_ids"
    return start + _WRITES.format(given=given)
