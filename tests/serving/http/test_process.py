"""The process: its options, its start, and its end."""

import os
import signal
import sys
import threading
import time
from contextlib import nullcontext
from types import SimpleNamespace

import httpx
import pytest
from typer.testing import CliRunner

from jumok.cli.main import app
from jumok.decoding import DecodingOptions
from jumok.engine.structures import library
from jumok.errors import ConfigError, MissingExtraError
from jumok.serving.http.access import check_address, read_key_file
from jumok.serving.http.engine import EngineBroken
from jumok.serving.http.models import Serving, split_name
from jumok.serving.http.server import EXIT_BROKEN, listen, serve_forever
from jumok.serving.http.settings import ServeSettings
from jumok.systems.language_model import LanguageModel
from jumok.systems.translation.translator import Translator
from tests.serving.http.process import SECONDS, serving

LONG = " ".join(["the cat sat on the mat, and the dog barked."] * 6)


def refused(*arguments: str) -> ConfigError:
    error = CliRunner().invoke(app, ["serve", *arguments]).exception
    assert isinstance(error, ConfigError)
    return error


def test_running_requests_are_answered_after_sigterm(tiny_bundle, tmp_path):
    with serving(tmp_path, f"m={tiny_bundle}", "--grace", "0") as server:
        answers: list[int] = []

        def ask() -> None:
            body = {"text": LONG, "beam": 20}
            answers.append(
                httpx.post(f"{server.url}/v1/translate", json=body, timeout=SECONDS).status_code
            )

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for each in threads:
            each.start()
        until = time.monotonic() + SECONDS
        while (
            'jumok_queue_requests{model="m"} 6.0'
            not in httpx.get(f"{server.url}/metrics", timeout=SECONDS).text
            and time.monotonic() < until
        ):
            time.sleep(0.005)
        server.process.send_signal(signal.SIGTERM)
        for each in threads:
            each.join(SECONDS)
        assert answers == [200] * 6
        assert server.process.wait(SECONDS) == 0
        assert "Traceback" not in server.errors


def test_after_sigterm_it_is_not_ready_but_still_answers(tiny_bundle, tmp_path):
    with (
        serving(tmp_path, f"m={tiny_bundle}", "--grace", "60") as server,
        server.client() as client,
    ):
        server.process.send_signal(signal.SIGTERM)
        until = time.monotonic() + SECONDS
        while client.get("/health/ready").status_code == 200 and time.monotonic() < until:
            time.sleep(0.01)
        answer = client.get("/health/ready")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert client.get("/health/live").status_code == 200
        assert client.post("/v1/translate", json={"text": "a"}).status_code == 200
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(SECONDS) == 0


@pytest.mark.parametrize("seconds", [0.0, 0.5, 1.5])
def test_ctrl_c_ends_processes_that_have_not_started_yet(tiny_bundle, tmp_path, seconds):
    command = [f"m={tiny_bundle}", "--processes", "2"]
    with serving(tmp_path, *command, ready=False) as server:
        time.sleep(seconds)
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(SECONDS) == 0
        assert "Traceback" not in server.errors


def test_other_machines_need_a_key_or_open(tmp_path):
    with pytest.raises(ConfigError, match="other machines can reach this address"):
        check_address("0.0.0.0", (), is_open=False)
    for host in ("127.0.0.1", "127.8.8.8", "::1", "localhost"):
        check_address(host, (), is_open=False)
    check_address("0.0.0.0", (b"digest",), is_open=False)
    check_address("example.org", (), is_open=True)
    assert "--host 0.0.0.0" in str(refused(str(tmp_path), "--host", "0.0.0.0"))


@pytest.mark.parametrize(
    ("mode", "text", "message"),
    [
        (0o644, "key", "other users of this machine can read or change the key file"),
        (0o620, "key", "permissions 620"),
        (0o600, "\n# nothing\n", "the key file has no key"),
        (0o600, None, "the key file cannot be read"),
    ],
)
def test_key_files_that_are_refused(tmp_path, mode, text, message):
    file = tmp_path / "keys"
    if text is not None:
        file.write_text(text)
        file.chmod(mode)
    with pytest.raises(ConfigError, match=message):
        read_key_file(file)
    assert message in str(refused(str(tmp_path), "--key-file", str(file)))


def test_models_are_named_on_the_command_line(tiny_bundle, tmp_path):
    assert split_name("ko=runs/a/model") == ("ko", "runs/a/model")
    assert split_name("runs/a=b/model") == ("", "runs/a=b/model")
    assert split_name("runs/a/model") == ("", "runs/a/model")
    error = refused(str(tiny_bundle), str(tiny_bundle))
    assert "two models have one name" in str(error)


def test_limits_that_contradict_each_other_are_refused(tiny_bundle):
    error = refused(str(tiny_bundle), "--queue-tokens", "10", "--max-tokens", "11")
    assert "such a request would never be accepted" in str(error)


def test_a_port_that_is_taken_is_said(served, tiny_bundle):
    error = refused(str(tiny_bundle), "--port", served.url.rpartition(":")[2])
    assert "cannot listen at this address" in str(error)


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    for name in ("processes", "server"):
        monkeypatch.delitem(sys.modules, f"jumok.serving.http.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    error = CliRunner().invoke(app, ["serve", "model"]).exception
    assert isinstance(error, MissingExtraError)
    assert "needs the extra 'serve'" in str(error)


def test_an_error_at_the_start_is_raised(monkeypatch):
    """uvicorn only logs it, at a level that is not shown."""

    def fail(*_: object) -> None:
        raise RuntimeError("no signals here")

    monkeypatch.setattr("jumok.serving.http.server.handle_signals", fail)
    with pytest.raises(RuntimeError, match="no signals here"):
        serve_forever(Serving({}, ServeSettings(), threads=0), listen("127.0.0.1", 0))


@pytest.mark.parametrize(
    ("error", "code"), [(OSError("no file is left"), None), (EngineBroken("m failed"), EXIT_BROKEN)]
)
def test_stderr_tells_why_a_model_ended_the_server(capsys, error, code):
    def load(*_: object, **__: object) -> None:
        raise error

    config = SimpleNamespace(source_language="", target_language="")
    model = SimpleNamespace(parts=[SimpleNamespace(config=config)], load=load, stamp=())
    serving = Serving({"m": model}, ServeSettings(), threads=0)
    with nullcontext() if code else pytest.raises(OSError, match="no file is left"):
        assert serve_forever(serving, listen("127.0.0.1", 0)) == code
        assert capsys.readouterr().err == "error: m failed\n"


@pytest.fixture
def no_torch(tmp_path) -> dict[str, str]:
    """The variables of a process that cannot import torch."""
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    (blocked / "torch.py").write_text("raise ImportError('there is no torch here')\n")
    path = filter(None, (str(blocked), os.environ.get("PYTHONPATH")))
    return {"PYTHONPATH": os.pathsep.join(path)}


@pytest.mark.skipif(library() is None, reason="needs a C compiler")
def test_a_translator_is_served_where_torch_cannot_be_imported(folders, tmp_path, no_torch):
    text = "the cat sat on the mat."
    here = Translator.load(folders["en-ko"], device="cpu", engine="torch")
    kept = "the {name} sat"
    (expected,), (forced,) = here.translate([text]), here.translate([kept], nbest=3)
    with (
        serving(tmp_path, f"m={folders['en-ko']}", variables=no_torch) as server,
        server.client() as client,
    ):
        assert client.get("/").status_code == 200
        asked = {"text": text, "return": ["tokens", "alignment", "confidence", "attention"]}
        (answer,) = client.post("/v1/translate", json=asked).json()["answers"]
        assert answer["text"] == expected.text
        assert [link[:2] for link in answer["alignment"]] == list(map(list, expected.alignment))
        form = {"q": text, "source": "en", "target": "ko"}
        assert client.post("/translate", data=form).json()["translatedText"] == expected.text
        # a string to be kept, which the translation lacks, and further translations
        found = client.post("/v1/translate", json={"text": kept, "alternatives": 2}).json()
        (answer,) = found["answers"]
        assert found["engine"]["name"] == "native"
        assert [answer["text"], *(each["text"] for each in answer["alternatives"])] == [
            forced.text, *(each.text for each in forced.alternatives)
        ]  # fmt: skip
        assert "{name}" in forced.text
        assert forced.forced + forced.inserted == ("{name}",)


@pytest.mark.skipif(library() is None, reason="needs a C compiler")
def test_a_language_model_is_served_where_torch_cannot_be_imported(folders, tmp_path, no_torch):
    here = LanguageModel.load(folders["letters"], device="cpu")
    options = DecodingOptions(beam=1, sample=True, top_p=0.9, seed=5)
    expected = "".join(here.generate("the cat", options, max_tokens=12))
    with (
        serving(tmp_path, f"m={folders['letters']}", variables=no_torch) as server,
        server.client() as client,
    ):
        asked = {"prompt": "the cat", "max_tokens": 12, "top_p": 0.9, "seed": 5, "logprobs": 2}
        answer = client.post("/v1/completions", json=asked).json()
        assert answer["choices"][0]["text"] == expected
        assert answer["choices"][0]["logprobs"]["tokens"]
        streamed = client.post("/v1/completions", json={**asked, "stream": True}).text
        assert streamed.endswith("data: [DONE]\n\n")
        (scored,) = client.post("/v1/score", json={"text": "the cat"}).json()["answers"]
        assert scored["perplexity"] == pytest.approx(
            here.score(["the cat"])[0].perplexity, rel=1e-4
        )
