"""The pictures of docs/look.md: each is there, small, and made by the script."""

import itertools
import re
import shutil
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
pytest.importorskip("PIL.Image", reason="needs the package pillow")

from benchmarks import screenshots, site_pictures

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("look.md", "look.ko.md")


def named(page: str) -> set[str]:
    return set(re.findall(r"\]\(look/([\w-]+)\.png\)", (DOCS / page).read_text("utf-8")))


@pytest.mark.parametrize("page", PAGES)
def test_every_picture_is_there_and_small(page):
    sizes = {name: (DOCS / "look" / f"{name}.png").stat().st_size for name in named(page)}
    assert {name: size for name, size in sizes.items() if size > screenshots.MOST_BYTES} == {}


@pytest.mark.parametrize("page", PAGES)
def test_the_film_is_there_and_small(page):
    assert f"](look/{screenshots.FILM.name}.webp)" in (DOCS / page).read_text("utf-8")
    file = DOCS / "look" / f"{screenshots.FILM.name}.webp"
    assert 0 < file.stat().st_size <= screenshots.MOST_FILM


def test_both_pages_show_what_the_script_takes():
    groups = (
        *(screenshots.TRANSLATOR, screenshots.LAYERS, screenshots.RIVALS, screenshots.KOREANS),
        *(screenshots.CAPTIONER, screenshots.PIXELS, screenshots.TOURS),
    )
    taken = {shot.name for group in groups for shot in group}
    taken |= {"cards", "cards-run", "cards-picture", "figure"}
    english, korean = screenshots.REPORT.name, screenshots.REPORT_KO.name
    assert named("look.md") == taken - {"tour-ko", "alignment-ko"} | {english}
    assert named("look.ko.md") == taken - {"tour", "alignment"} | {korean}


@pytest.mark.parametrize("page", ["first-screens.md", "first-screens.ko.md"])
def test_the_first_screen_of_every_kind_is_there_before_and_after(page):
    links = re.findall(r"\]\((look/first/[^)]+)\)", (DOCS / page).read_text("utf-8"))
    ages = ("before", "after")
    assert links == [f"look/first/{kind}-{age}.webp" for kind in screenshots.FIRST for age in ages]
    for link in links:
        assert (DOCS / link).stat().st_size <= screenshots.MOST_BYTES
        with screenshots.Image.open(DOCS / link) as picture:
            assert picture.size == ((400, 800) if "phone" in link else (1280, 900))


@pytest.mark.parametrize("page", ["first-screens.md", "first-screens.ko.md"])
def test_the_site_is_there_on_both_screens_in_both_themes_and_languages(page):
    links = re.findall(r"\]\((look/site/[^)]+)\)", (DOCS / page).read_text("utf-8"))
    looks = itertools.product(site_pictures.SCREENS, ("light", "dark"), ("en", "ko"))
    assert links == [f"look/site/{'-'.join(look)}.webp" for look in looks]
    assert all((DOCS / link).stat().st_size <= screenshots.MOST_BYTES for link in links)


def test_a_first_screen_is_taken(tiny_bundle, tmp_path, monkeypatch):
    if shutil.which("chromium") is None:
        pytest.skip("needs the Debian package chromium")
    monkeypatch.setattr(screenshots, "FOLDER", tmp_path)
    monkeypatch.setattr("sys.argv", ["screenshots", "--first", f"phone={tiny_bundle}"])
    screenshots.main()
    with screenshots.Image.open(tmp_path / "first" / "phone-after.webp") as picture:
        assert picture.size == (400, 800)
        assert len(picture.convert("RGB").getcolors(400 * 800)) > 20  # words, not an empty page


def test_a_kind_that_nobody_knows_is_refused(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["screenshots", "--first", "poet=model"])
    with pytest.raises(SystemExit):
        screenshots.main()
    assert "poet is none of translator, phone, rnn" in capsys.readouterr().err


def test_too_large_a_picture_is_refused(tmp_path, monkeypatch):
    from PIL import Image

    file = tmp_path / "picture.png"
    Image.effect_noise((40, 40), 90).save(file)
    monkeypatch.setattr(screenshots, "MOST_BYTES", 100)
    with pytest.raises(SystemExit, match="at most 100"):
        screenshots.shrink(file, 256)
