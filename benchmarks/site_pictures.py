"""Pictures of the site of `make docs`: a phone and a projector, both themes, both languages.

    python -m benchmarks.site_pictures [docs/_site]

Each picture has the first screens of four pages side by side. A page that is wider than its screen
is an error.
"""

import argparse
import io
import itertools
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser

from benchmarks.chromium import chromium
from benchmarks.screenshots import FOLDER, MOST_BYTES

PAGES = ("index", "course/03-weighted-sum", "lab", "translator")
SCREENS = {"phone": (360, 740), "projector": (1280, 720)}
WIDTH = 1080
"""Of a picture of four phones, and of two by two projectors, in pixels."""

QUALITY = 35


def screens(browser: Browser, site: Path, screen: str, theme: str, language: str) -> Image.Image:
    """The first screens of PAGES, scaled to a picture that is WIDTH wide.

    Raises:
        SystemExit: a page can be scrolled sideways.
    """
    wide, high = SCREENS[screen]
    context = browser.new_context(
        viewport={"width": wide, "height": high},
        color_scheme="dark" if theme == "dark" else "light",
    )
    page = context.new_page()
    columns = len(PAGES) if wide < high else 2
    size = WIDTH // columns, round(high * WIDTH / columns / wide)
    sheet = Image.new("RGB", (WIDTH, size[1] * -(-len(PAGES) // columns)))
    for number, name in enumerate(PAGES):
        page.goto(f"{(site / language / name).resolve().as_uri()}.html")
        page.wait_for_load_state("load")
        page.wait_for_timeout(1500)  # a model that is in the page answers
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            raise SystemExit(f"{name} is wider than a {screen}'s screen")
        shot = Image.open(io.BytesIO(page.screenshot())).resize(size)
        sheet.paste(shot, (number % columns * size[0], number // columns * size[1]))
    context.close()
    return sheet


def main() -> None:
    """Takes eight pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path, nargs="?", default=Path("docs/_site"))
    asked = parser.parse_args()
    folder = FOLDER / "site"
    folder.mkdir(exist_ok=True)
    with chromium() as browser:
        for screen, *look in itertools.product(SCREENS, ("light", "dark"), ("en", "ko")):
            file = folder / f"{screen}-{'-'.join(look)}.webp"
            screens(browser, asked.site, screen, *look).save(file, quality=QUALITY, method=6)
            if file.stat().st_size > MOST_BYTES:
                raise SystemExit(f"{file} has more than {MOST_BYTES:,} bytes")
            print(f"{file}: {file.stat().st_size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main()
