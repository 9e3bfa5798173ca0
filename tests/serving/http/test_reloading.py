"""Models that are replaced on disk while they are served."""

import json
import shutil
import signal
import threading
import time
from pathlib import Path

import httpx
import pytest

from jumok.bundle.card import Card
from jumok.bundle.reading import read_bundle
from jumok.bundle.writing import write_bundle
from jumok.data.tokenizer import Tokenizer
from jumok.engine.structures import library
from jumok.errors import BundleError
from jumok.serving.http.refusals import refusal_of
from jumok.systems.translation.translator import Translator
from tests.serving.http.process import SECONDS, ServedProcess, serving

TEXT = "the cat sat on the mat."
BODY = {"text": TEXT}

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no SIGHUP")


@pytest.fixture
def folder(tiny_bundle: Path, tmp_path: Path) -> Path:
    return shutil.copytree(tiny_bundle, tmp_path / "model")


def replaced(folder: Path) -> str:
    """Writes other weights in the bundle's place, as training does; what they make of the text."""
    from safetensors.torch import load_file

    bundle = read_bundle(folder)
    weights = load_file(folder / "model.safetensors")
    other = {name: -tensor if tensor.ndim > 1 else tensor for name, tensor in weights.items()}
    tokenizer = Tokenizer.load(folder / "tokenizer.model")
    write_bundle(folder, other, bundle.config, tokenizer, Card(name="other"))
    return Translator.load(folder, device="cpu").translate([TEXT])[0].text


def reload(server: ServedProcess) -> None:
    server.process.send_signal(signal.SIGHUP)


def reloads(server: ServedProcess, count: int) -> list[dict[str, object]]:
    """The lines in the log that tell of it, when there are so many."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        lines = [json.loads(line) for line in server.log.splitlines() if '"reload"' in line]
        if len(lines) >= count:
            return lines
        time.sleep(0.02)
    raise AssertionError(server.log + server.errors)


def wait_for(count: int, answers: list[str]) -> None:
    """Waits until there are so many answers."""
    until = time.monotonic() + SECONDS
    while len(answers) < count and time.monotonic() < until:
        time.sleep(0.01)


def answer(client: httpx.Client) -> str:
    (only,) = client.post("/v1/translate", json=BODY).json()["answers"]
    return str(only["text"])


def test_a_replaced_model_answers_from_sighup_on_and_no_request_is_lost(folder, tmp_path):
    first = Translator.load(folder, device="cpu").translate([TEXT])[0].text
    with serving(tmp_path, f"m={folder}") as server, server.client() as client:
        assert answer(client) == first
        second = replaced(folder)
        assert second != first
        assert answer(client) == first  # until the signal
        ended, statuses, texts = threading.Event(), set[int](), list[str]()

        def ask() -> None:
            with httpx.Client(base_url=server.url, timeout=SECONDS) as own:
                while not ended.is_set():
                    got = own.post("/v1/translate", json=BODY)
                    statuses.add(got.status_code)
                    texts.append(got.json()["answers"][0]["text"])

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for each in threads:
            each.start()
        wait_for(10, texts)
        reload(server)
        (line,) = reloads(server, 1)
        assert line["changed"] is True
        wait_for(len(texts) + 10, texts)
        ended.set()
        for each in threads:
            each.join(SECONDS)
        assert (statuses, set(texts)) == ({200}, {first, second})
        assert answer(client) == second
        card = client.get("/v1/models/m/card").json()
        assert (card["card"]["name"], card["fingerprint"]) == ("other", line["digest"])
        assert f'digest="{line["digest"]}"' in client.get("/metrics").text
        reload(server)
        assert reloads(server, 2)[1]["changed"] is False
        server.process.send_signal(signal.SIGTERM)
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(SECONDS)
        assert "Traceback" not in server.errors


def test_a_damaged_model_leaves_the_old_one(folder, tmp_path):
    first = Translator.load(folder, device="cpu").translate([TEXT])[0].text
    with serving(tmp_path, f"m={folder}") as server, server.client() as client:
        answer(client)
        weights = folder / "model.safetensors"
        whole = weights.read_bytes()
        weights.write_bytes(whole[:-100])
        reload(server)
        (line,) = reloads(server, 1)
        assert "the weights cannot be read" in line["error"]
        assert answer(client) == first
        shutil.rmtree(folder)
        reload(server)
        assert "there is no such bundle" in reloads(server, 2)[1]["error"]
        assert answer(client) == first
        assert client.get("/health/ready").status_code == 200


@pytest.mark.skipif(library() is None, reason="needs a C compiler")
def test_what_the_engine_leaves_to_torch_is_refused_and_not_computed_by_another_model(folder):
    translator = Translator.load(folder, device="cpu")
    replaced(folder)
    with pytest.raises(BundleError, match="changed after loading") as caught:
        _ = translator.on_torch
    refused = refusal_of(caught.value)
    assert (refused.status, refused.code, refused.retry_after) == (503, "model_changed", 1)


def test_every_process_loads_it(folder, tmp_path):
    with serving(tmp_path, f"m={folder}", "--processes", "2") as server:
        second = replaced(folder)
        reload(server)
        lines = reloads(server, 2)
        assert {line["event"] for line in lines} == {"reload"}  # no process had ended
        for _ in range(8):  # a new connection each
            with server.client() as client:
                assert answer(client) == second
