"""Packages in Argos Translate's own code, and in LibreTranslate's, without a network.

Both are in the environment of benchmarks/requirements/libretranslate.txt, which
`benchmarks.environments.python_of("libretranslate")` makes.
"""

import json
import os
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.environments import FOLDER
from jumok.bundle.reading import read_bundle
from jumok.export.argos import ARGOS
from jumok.export.format import ExportOptions
from jumok.export.run import export_model
from tests.systems.lm import write_lm
from tests.systems.test_ordinary_module import transformer

pytest.importorskip("ctranslate2", reason="the extra argos is not installed")
pytest.importorskip("onnx", reason="the extra argos is not installed")

PYTHON = FOLDER / ".envs" / "libretranslate" / "bin" / "python"
peer = pytest.mark.skipif(not PYTHON.exists(), reason="no environment with LibreTranslate")
TEXTS = ["the cat sat on the mat", "a dog barked", "the cat and the dog sat"]
CUT = {
    "The cat sat. A dog barked! Did it? Yes.": 4,
    "Mr. Kim saw J. Smith at 3.5 km. He left.": 2,
    'He said "Go!" and left... then he "came." It rained.': 2,
    "고양이가 앉아 있다. 개가 짖는다.": 2,
    "猫坐在垫子上。「狗叫了。」好！": 3,
    "no mark": 1,
}
ALONE = """
import json, socket, sys

def refused(*_, **__):
    raise OSError("no network")

socket.create_connection = socket.getaddrinfo = refused
"""
ARGOS_LINES = """
from argostranslate import package, translate
from argostranslate.sbd import MiniSBDSentencizer

package.install_from_path(sys.argv[1])
texts, cut = json.load(sys.stdin)
(installed,) = package.get_installed_packages()
splitter = MiniSBDSentencizer(installed)
translated = [translate.translate(text, "en", "ko") for text in texts]
print("answer", json.dumps([translated, [splitter.split_sentences(text) for text in cut]]))
"""
LIBRE_LINES = """
import shutil

from argostranslate import package

package.install_from_path(sys.argv[1])
(first,) = package.get_installed_packages()
second = first.package_path.parent / "back"
shutil.copytree(first.package_path, second)
told = json.loads((second / "metadata.json").read_text())
told["from_code"], told["to_code"] = "ko", "en"
(second / "metadata.json").write_text(json.dumps(told))
texts, _ = json.load(sys.stdin)
from libretranslate.app import create_app
from libretranslate.main import get_args

sys.argv = sys.argv[:1]
args = get_args()
args.disable_files_translation = True
client = create_app(args).test_client()
asked = [client.post("/translate", json={"q": q, "source": "en", "target": "ko"}) for q in texts]
print("answer", json.dumps([[each.get_json().get("translatedText") for each in asked], []]))
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> tuple[Path, list[str]]:
    """A file, and what the engine of CTranslate2 writes greedily for the texts."""
    from jumok.export.comparing import GreedyWriter

    folder = tmp_path_factory.mktemp("argos")
    bundle = read_bundle(transformer(folder / "model"))
    config = replace(bundle.config, source_language="en", target_language="ko")
    bundle = replace(bundle, config=config)
    export_model(bundle, ARGOS, folder / "model.argosmodel", ExportOptions("fp32", "a model"))
    writer = GreedyWriter(bundle)
    rows = [writer.tokenizer.encode(text) for text in TEXTS]
    written = [writer.decoded(each) for each in writer.written(rows, 255)]
    return folder / "model.argosmodel", written


def answered(lines: str, file: Path, home: Path) -> tuple[list[str], list[list[str]]]:
    given = json.dumps([TEXTS, list(CUT)])
    variables = {"HOME": str(home), "PATH": os.environ["PATH"], "ARGOS_BEAM_SIZE": "1"}
    done = subprocess.run(
        [PYTHON, "-c", ALONE + lines, file],
        input=given, env=variables, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (answer,) = (line for line in done.stdout.splitlines() if line.startswith("answer "))
    translated, cut = json.loads(answer.removeprefix("answer "))
    return translated, cut


def test_a_package_is_one_file(package):
    with zipfile.ZipFile(package[0]) as file:
        names = {name.removeprefix("translate-en_ko-1_0/") for name in file.namelist()}
        metadata = json.loads(file.read("translate-en_ko-1_0/metadata.json"))
        assert "for Argos Translate" in file.read("translate-en_ko-1_0/README.md").decode()
    assert {"model/model.bin", "sentencepiece.model", "minisbd/rules.onnx"} < names
    assert metadata["from_name"] == "English"
    assert metadata["to_code"] == "ko"


@peer
def test_argos_translate_installs_it_and_translates(package, tmp_path):
    file, written = package
    translated, cut = answered(ARGOS_LINES, file, tmp_path)
    assert [len(each) for each in cut] == list(CUT.values()), cut
    assert [plain(each) for each in translated] == [plain(each) for each in written]


@peer
def test_libretranslate_serves_it(package, tmp_path):
    """Beside another: with fewer than two it asks its index for more, and retries for long."""
    file, written = package
    translated, _ = answered(LIBRE_LINES, file, tmp_path)
    assert [plain(each) for each in translated] == [plain(each) for each in written]


def plain(text: str) -> str:
    """Argos reads "_" as a space; LibreTranslate trims and capitalises as the source is."""
    return "".join(text.replace("_", " ").split()).lower()


def test_other_models_are_refused(tmp_path):
    assert "this model is for language-model" in str(
        ARGOS.obstacle(read_bundle(write_lm(tmp_path / "lm")))
    )
    bundle = read_bundle(transformer(tmp_path / "model"))
    assert "those of this model are not known" in str(ARGOS.obstacle(bundle))
    rotary = read_bundle(transformer(tmp_path / "alibi", positions="alibi"))
    assert 'positions = "sinusoidal"' in str(ARGOS.obstacle(rotary))
