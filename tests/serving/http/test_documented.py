"""Every command of docs/serving.md is run as it stands there; in Korean they are the same."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.serving.http.process import SECONDS, serving

DOCS = Path(__file__).parents[3] / "docs"
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="the commands are curl's")


def commands(name: str) -> list[str]:
    blocks = re.findall(r"```bash\n(.*?)```", (DOCS / name).read_text("utf-8"), re.DOTALL)
    return "".join(blocks).splitlines()


def test_both_languages_give_the_same_commands():
    assert commands("serving.md") == commands("serving.ko.md")


@pytest.fixture
def home(tmp_path, folders) -> Path:
    """A folder with the models under the names that the page gives them."""
    for name, folder in (("first", folders["en-ko"]), ("letters", folders["letters"])):
        shutil.copytree(folder, tmp_path / "runs" / name / "model")
    return tmp_path


@needs_curl
def test_every_command_of_the_page_works(home, monkeypatch):
    monkeypatch.chdir(home)
    ports: dict[str, str] = {}
    servers, answered = [], 0
    try:
        for command in commands("serving.md"):
            if command.startswith("jumok serve "):
                arguments, _, port = command.removeprefix("jumok serve ").partition(" --port ")
                server = serving(home / f"server{port}", *arguments.split(), ready=False)
                servers.append(server)
                started = server.__enter__()
                started.url = re.sub(r"0\.0\.0\.0", "127.0.0.1", started.url)
                started.wait_until_ready()
                ports[port] = started.url.rpartition(":")[2]
                continue
            for documented, real in ports.items():
                command = command.replace(f"localhost:{documented}", f"127.0.0.1:{real}")
            run = subprocess.run(
                command.replace("curl ", "curl -sS --fail-with-body "),
                shell=True, cwd=home, capture_output=True, text=True, timeout=SECONDS, check=False,
            )  # fmt: skip
            assert run.returncode == 0, (command, run.stdout, run.stderr)
            answered += command.startswith("curl")
            assert not command.startswith("curl") or run.stdout[:1] in ("{", "[", "d")
    finally:
        for server in servers:
            server.__exit__(None, None, None)
    assert (len(ports), answered) == (2, 15)
