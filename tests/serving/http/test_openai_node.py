"""OpenAI's client for JavaScript, as its users install it, against a real server."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from jumok.decoding import DecodingOptions
from jumok.systems.language_model import LanguageModel

PACKAGE = "openai@6"
SECONDS = 120

SCRIPT = """
import OpenAI from "openai";

const api = new OpenAI({ baseURL: process.argv[2], apiKey: "none", maxRetries: 0 });
const asked = { model: "letters", prompt: "the cat", max_tokens: 8, temperature: 0 };
const whole = await api.completions.create({ ...asked, logprobs: 1 });
let streamed = "";
for await (const chunk of await api.completions.create({ ...asked, stream: true })) {
  streamed += chunk.choices[0].text;
}
const models = [];
for await (const model of api.models.list()) models.push(model.id);
const vectors = await api.embeddings.create({ model: "en-ko", input: ["the cat", "a dog"] });
let refused;
try {
  const messages = [{ role: "user", content: "a" }];
  await api.chat.completions.create({ model: "letters", messages });
} catch (error) {
  refused = [error.constructor.name, error.status, error.param];
}
console.log(JSON.stringify({
  text: whole.choices[0].text, tokens: whole.choices[0].logprobs.tokens.length, streamed, models,
  vectors: vectors.data.map((each) => [each.embedding.length, typeof each.embedding[0]]), refused,
}));
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of npm with the client in it."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("needs node and npm")
    home = tmp_path_factory.mktemp("node")
    (home / "package.json").write_text('{"private": true, "type": "module"}')
    options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    try:
        run = subprocess.run(
            [npm, "install", PACKAGE, *options], cwd=home, capture_output=True, text=True,
            timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm install {PACKAGE} took over {SECONDS} seconds")
    if run.returncode:
        pytest.skip(f"npm cannot install {PACKAGE}: {run.stderr[:200]}")
    (home / "client.js").write_text(SCRIPT)
    return home


def test_the_client_for_javascript_works_unchanged(folder, served, folders):
    run = subprocess.run(
        ["node", "client.js", f"{served.url}/v1"], cwd=folder, capture_output=True, text=True,
        timeout=SECONDS, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    letters = LanguageModel.load(folders["letters"], device="cpu")
    expected = "".join(letters.generate("the cat", DecodingOptions(beam=1), max_tokens=8))
    assert found["text"] == found["streamed"] == expected
    assert found["tokens"] == 8
    assert set(found["models"]) == set(folders)
    assert found["vectors"] == [[24, "number"]] * 2
    assert found["refused"] == ["BadRequestError", 400, "messages"]
