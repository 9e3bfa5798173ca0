"""The formats of `jumok export`."""

from jumok.export.argos import ARGOS
from jumok.export.bergamot import BERGAMOT
from jumok.export.ctranslate2 import CTRANSLATE2
from jumok.export.format import ExportFormat
from jumok.export.gguf.writing import GGUF
from jumok.export.huggingface.folder import HUGGING_FACE
from jumok.export.onnx.folder import ONNX
from jumok.export.web import WEB

FORMATS: dict[str, ExportFormat] = {
    each.name: each for each in (WEB, HUGGING_FACE, CTRANSLATE2, ARGOS, BERGAMOT, ONNX, GGUF)
}
