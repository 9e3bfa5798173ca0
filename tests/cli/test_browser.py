"""When a browser is opened, and what is said if there is none."""

import sys
import webbrowser
from pathlib import Path

import pytest

from jumok.cli import screen
from jumok.cli.verbs import demo


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that a browser was asked to open, on a machine that has one."""
    addresses: list[str] = []
    for name in ("CI", "SSH_CONNECTION", "SSH_TTY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(webbrowser, "get", lambda: webbrowser.GenericBrowser("true"))
    monkeypatch.setattr(webbrowser, "open", lambda url: bool(addresses.append(url) or True))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    return addresses


def test_the_file_is_opened_by_its_whole_path(opened, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    screen.open_page(Path("my page.html"))
    assert opened == [f"{tmp_path.as_uri()}/my%20page.html"]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["CI", "SSH_CONNECTION", "SSH_TTY"])
def test_over_ssh_and_in_ci_nothing_opens_and_that_is_said(opened, monkeypatch, capsys, name):
    monkeypatch.setenv(name, "1")
    screen.open_page(Path("page.html"))
    assert opened == []
    assert "no browser can be opened from here; open page.html yourself" in capsys.readouterr().err


def test_a_machine_without_a_browser_is_no_error(opened, monkeypatch, capsys) -> None:
    def none() -> None:
        raise webbrowser.Error

    monkeypatch.setattr(webbrowser, "get", none)
    screen.open_page(Path("page.html"))
    assert opened == []
    assert "open page.html yourself" in capsys.readouterr().err


@pytest.mark.parametrize("terminal", [True, False])
def test_the_demo_offers_to_open_its_page_to_a_person(opened, monkeypatch, capsys, terminal):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "argv", ["jumok"])
    demo.show_what_to_open(
        Path("demo/report.html"), Path("demo/a/model"), ["jumok info demo"], None
    )
    *_, last = capsys.readouterr().out.splitlines()
    offer, command = "jumok demo --open opens the page by itself.", "  jumok look demo/a/model"
    assert last == (offer if terminal else command)


def test_commands_of_the_demo_can_be_typed(monkeypatch, capsys) -> None:
    """Folders with spaces, and a program that was started as `python -m jumok`."""
    monkeypatch.setattr(sys, "argv", ["/a b/src/jumok/__main__.py"])
    monkeypatch.setattr(sys, "executable", "/a b/python")
    model = Path("my demo/a/model")
    here = "'/a b/python' -m jumok"
    assert demo.check_commands(model, Path("my demo/test")) == [
        f"{here} evaluate 'my demo/a/model' --source 'my demo/test.en' "
        "--reference 'my demo/test.ko'",
        f"{here} info 'my demo/a/model'",
    ]
    demo.show_what_to_open(Path("report.html"), model, [], None)
    assert f"  {here} look 'my demo/a/model'" in capsys.readouterr().out.splitlines()
