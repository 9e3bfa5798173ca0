"""The pictures of docs/look.md: every view of the page, of real models, in a headless Chromium.

    python -m benchmarks.screenshots --translator runs/multi30k-en-de/model \
        --rival runs/multi30k-rnn/model --korean runs/smallworld-en-ko/model \
        --corpus test.en test.ko test.align --captioner runs/scenes/model --photo scene.png \
        --captions runs/scenes/scenes/test/captions.en.tsv \
        --pixels runs/mnist-attention/model --digit digit.png \
        --run early/model --run later/model --run late/model --report demo/report.html

A model that is not given is left out, and its pictures stay as they were.

    python -m benchmarks.screenshots --first KIND=MODEL --first KIND=MODEL ... --of after

takes the first screens as docs/look/first/KIND-after.webp. With `src` of another checkout first in
PYTHONPATH they are those of its page.
"""

import argparse
import contextlib
import io
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, FloatRect, Page, ViewportSize

from benchmarks.chromium import chromium
from benchmarks.environments import OUR_COMMAND

FOLDER = Path(__file__).parents[1] / "docs" / "look"
WIDTH, MOST_BYTES = 1080, 60_000
ENGLISH = "A young girl in a red dress is playing with a dog on the beach."
OTHER = "An old man in a red hat is sitting on the beach."
QUIET = "--no-browser", "--device", "cpu"
WALKED = "The student saw a dog in the yard."
KOREAN = "The teacher gave five cups to Hyunwoo at eight o'clock."


@dataclass(frozen=True)
class Shot:
    """One picture.

    Attributes:
        name: of the file.
        fragment: the moment, as the address has it.
        height: the most of the page that is shown, in pixels.
        act: what a person does before.
        colours: of the picture; fewer are smaller, where no scale of weights is shown.
    """

    name: str
    fragment: str
    height: int = 860
    act: Callable[[Page], None] | None = None
    colours: int = 256


def switch_off(page: Page) -> None:
    """Clicks off the head without which the translation loses most."""
    page.locator(".switches button small").first.wait_for()
    losses = [small.inner_text() or "0" for small in page.locator(".switches small").all()]
    worst = min(range(len(losses)), key=lambda place: float(losses[place]))
    page.locator(".switches button").nth(worst).click()
    page.locator("dd.changed").wait_for()


def wait_for_measures(page: Page) -> None:
    """The measures are computed when they are first asked for."""
    page.locator("#panel canvas").first.wait_for()


def play(page: Page) -> None:
    """Lets what moves come to rest."""
    page.wait_for_timeout(300)


def stop_before_the_end(page: Page) -> None:
    """What plays by itself stops at the last word but one."""
    slider = page.locator("#flow-at")
    slider.fill(str(int(slider.get_attribute("max") or 0) - 1))
    slider.blur()


def wait_for_the_sentence(page: Page) -> None:
    """The effect in the overview's sentence is computed once the reader rests."""
    page.wait_for_function("document.querySelector('#sentence').textContent.includes('without')")


def open_tour(page: Page) -> None:
    """The short link of a step opens what the step is about a moment later."""
    page.locator("#tour-text").wait_for()
    play(page)


def guess(page: Page) -> None:
    """Goes to the third question and guesses its first word."""
    for _ in range(2):
        page.locator(".options button").first.click()
        page.locator("#game-next").click()
    page.locator(".options button").first.click()


LINKS = "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7p7 8-7 9-8 10-9 11-10 12-11 13p11 14-12"
TRANSLATOR = (
    Shot("overview", "", 760, wait_for_the_sentence),
    Shot("alignment", "view=board"),
    Shot("alignment-gold", f"view=board&click=link&gold={LINKS.replace(' ', '+')}", 1100),
    Shot("row", "view=row&query=6&key=6&head=1"),
    Shot("grid", "view=grid&part=cross"),
    Shot("switches", "view=heads", 900, switch_off, 128),
    Shot("mattered", "view=mattered&word=4", 900, wait_for_measures, 128),
    Shot("search-tree", "view=theatre&lost=show", 700, None, 128),
    Shot("choices", "view=beam", 700, None, 128),
)
LAYERS = (Shot("layers", "view=layers", 900, play),)
RIVALS = (Shot("versus", "view=compare", 900, play),)
KOREANS = (
    Shot("alignment-ko", "view=board&lang=ko"),
    Shot("flow", "view=flow", 940, stop_before_the_end),
    Shot("walk", "view=walk&layer=0&query=1&head=3&moment=23", 1090),
)
FILM = Shot("walk-film", "view=walk&layer=0&query=1&head=3", 1100)
ENDS = "layer=0", "layer=1", 2  # of the last layer, the film has the last moments
FRAME, MARGIN, STAY, MOST_FILM = 640, 14, 700, 400_000  # px of width and around it, ms, bytes
CAPTIONER = (
    Shot("pictures", "view=scrubber&query=5&smooth=cells", 880, play, 96),
    Shot("mattered-picture", "view=mattered&word=5", 1080, wait_for_measures, 64),
)
TOUR = "tour=translating-head&step=3"
TOURS = (
    Shot("tour", TOUR, 830, open_tour),
    Shot("tour-ko", f"{TOUR}&lang=ko", 830, open_tour),
    Shot("game", "game=look", 830, guess),
)
CARDS = "part=cross&curve=confidence"
SCREEN: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 400, "height": 800}
FIRST = {
    **dict.fromkeys(("translator", "phone"), KOREAN),
    "rnn": ENGLISH,
    "language-model": "To be, or not to be",
    "masked-model": "영수가 집에서 ___ 마셨어요.",
    "text-classifier": "정말 지루하고 재미없는 영화였다.",
    **dict.fromkeys(("captioner", "image-classifier", "exported", "serve"), ""),
}
"""By the kind of page: the sentence that its model is given; of images, a file is given."""
REPORT, REPORT_KO = Shot("report", "", 690), Shot("report-ko", "lang=ko", 690)
PIXELS = (Shot("pixels", "view=scrubber&query=24&smooth=cells", 900, play),)


@contextlib.contextmanager
def served(model: Path, *given: str, verb: str = "look") -> Iterator[str]:
    """The address of the page that `jumok look` or `jumok serve` serves."""
    process = subprocess.Popen(
        [*OUR_COMMAND, verb, str(model), *given], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    try:
        lines = iter(process.stderr.readline, "")
        yield next(found[0] for line in lines if (found := re.search(r"http://127\S+", line)))
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def exported(model: Path) -> Iterator[str]:
    """The address of the page that `jumok export` writes."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        subprocess.run(
            [*OUR_COMMAND, "export", str(model), "--to", "web", "-o", str(page)], check=True
        )
        yield page.as_uri()


def opened(kind: str, model: Path, pictures: dict[str, str]) -> AbstractContextManager[str]:
    """The address of the page of a kind (`FIRST`)."""
    if kind == "exported":
        return exported(model)
    if kind == "serve":
        return served(model, "--port", "0", verb="serve")
    return served(model, pictures.get(kind) or FIRST[kind], *QUIET)


def shoot_first(browser: Browser, address: str, kind: str, age: str) -> None:
    """Takes the first screen of a page at rest, without scrolling.

    Args:
        age: "before" or "after".
    """
    context = browser.new_context(locale="en-US", viewport=PHONE if kind == "phone" else SCREEN)
    page = context.new_page()
    page.goto(address, wait_until="networkidle")
    seen, last = b"", page.screenshot()
    while seen != last:  # numbers that are computed later, bands that glide
        page.wait_for_timeout(1500)
        seen, last = last, page.screenshot()
    context.close()
    file = FOLDER / "first" / f"{kind}-{age}.webp"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(last)
    shrink(file, 256)
    print(f"{file}: {file.stat().st_size / 1000:.0f} kB", flush=True)


def shoot(browser: Browser, address: str, shots: tuple[Shot, ...]) -> None:
    """Takes the pictures of one page."""
    for shot in shots:
        context = browser.new_context(
            locale="en-US", viewport={"width": WIDTH, "height": shot.height}
        )
        page = context.new_page()
        page.goto(f"{address}#{shot.fragment}")
        page.locator("#panel").wait_for(state="attached")  # an open question hides it
        if shot.act is not None:
            shot.act(page)
        high = min(shot.height, round(box_of(page, "#page")["height"]))
        file = FOLDER / f"{shot.name}.png"
        page.mouse.move(0, 0)
        page.screenshot(path=file, clip={"x": 0, "y": 0, "width": WIDTH, "height": high})
        context.close()
        shrink(file, shot.colours)
        print(f"{file}: {file.stat().st_size / 1000:.0f} kB", flush=True)


def shrink(file: Path, colours: int) -> None:
    """Converts the image to a palette of its own colours: a third of the size, the same shades.

    Raises:
        SystemExit: it is still too large for the documentation.
    """
    with Image.open(file) as picture:
        few = picture.convert("RGB").quantize(colours, dither=Image.Dither.NONE)
    few.save(file, optimize=True, lossless=True, quality=100, method=6)  # of PNG, and of WebP
    if file.stat().st_size > MOST_BYTES:
        raise SystemExit(f"{file} has {file.stat().st_size:,} bytes; at most {MOST_BYTES:,}")


def film(browser: Browser, address: str, shot: Shot) -> None:
    """The walk as an animated image: its picture at every moment, and the last one for longer.

    Raises:
        SystemExit: it is too large for the documentation.
    """
    context = browser.new_context(locale="en-US", viewport={"width": WIDTH, "height": shot.height})
    page = context.new_page()
    frames: list[Image.Image] = []
    early, late, count = ENDS
    for fragment, first in ((shot.fragment, 0), (shot.fragment.replace(early, late), -count)):
        page.goto("about:blank")
        page.goto(f"{address}#{fragment}")
        page.locator("#walk").wait_for()
        end = int(page.locator("#walk-at").get_attribute("max") or 0) + 1
        for moment in range(first % end, end):
            page.locator("#walk-at").fill(str(moment))  # every moment as it ends
            frames.append(framed(page, frames[0].height if frames else 0))
    context.close()
    size = FRAME, round(FRAME * frames[0].height / frames[0].width)
    small = [frame.crop((0, 0, *frames[0].size)).resize(size) for frame in frames]
    file = FOLDER / f"{shot.name}.webp"
    times = [STAY] * (len(small) - 1) + [4 * STAY]
    small[0].save(
        file, save_all=True, append_images=small[1:], duration=times, loop=0, quality=40, method=6
    )
    print(f"{file}: {file.stat().st_size / 1000:.0f} kB", flush=True)
    if file.stat().st_size > MOST_FILM:
        raise SystemExit(f"{file} has more than {MOST_FILM:,} bytes")


def framed(page: Page, least: int) -> Image.Image:
    """The walk at its moment, from the path to the picture's end, `least` pixels high or more."""
    top, end = box_of(page, ".walk-path"), box_of(page, "#walk")
    high = max(end["y"] + end["height"] - top["y"], least - 2 * MARGIN)
    x, y, wide = top["x"] - MARGIN, top["y"] - MARGIN, top["width"] + 2 * MARGIN
    picture = page.screenshot(clip={"x": x, "y": y, "width": wide, "height": high + 2 * MARGIN})
    return Image.open(io.BytesIO(picture)).convert("RGB")


def box_of(page: Page, part: str) -> FloatRect:
    """Where a part of the page is, which has to be shown."""
    box = page.locator(part).bounding_box()
    assert box is not None
    return box


def shoot_cards(browser: Browser, shot: Shot, models: list[Path], corpus: list[str]) -> None:
    """The page of head cards, of one model or of several side by side.

    Args:
        corpus: the options that name it.
    """
    with tempfile.TemporaryDirectory() as folder:
        page, table = Path(folder) / "cards.html", Path(folder) / "table"
        command = [*OUR_COMMAND, "heads", *map(str, models), *corpus, "--sentences", "500"]
        subprocess.run([*command, "--save", str(page), "--output", str(table)], check=True)
        shoot(browser, page.as_uri(), (shot,))


def draw_figure(model: Path) -> None:
    """The alignment as `jumok look --figure` draws it."""
    file = FOLDER / "figure.png"
    figure = ["--figure", "alignment", "--to", str(file), "--device", "cpu"]
    subprocess.run([*OUR_COMMAND, "look", str(model), KOREAN, *figure], check=True)
    shrink(file, 256)


def kind_and_model(text: str) -> tuple[str, Path]:
    """A kind of `FIRST` and the folder of its model, from KIND=MODEL."""
    kind, model = text.split("=", 1)
    if kind not in FIRST:
        raise argparse.ArgumentTypeError(f"{kind} is none of {', '.join(FIRST)}")
    return kind, Path(model)


def arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("translator", "rival", "korean", "captioner", "photo", "pixels", "digit"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--report", type=Path, help="the page of `jumok demo`")
    parser.add_argument("--corpus", nargs=3)
    parser.add_argument("--captions")
    parser.add_argument("--run", type=Path, action="append", default=[])
    parser.add_argument(
        "--first", type=kind_and_model, action="append", default=[], metavar="KIND=MODEL"
    )
    parser.add_argument("--of", choices=("before", "after"), default="after", help="of --first")
    parser.add_argument("--only", help="names of pictures, with commas between them")
    return parser.parse_args()


def main() -> None:
    """Takes all pictures of the models that are given."""
    asked = arguments()
    FOLDER.mkdir(exist_ok=True)
    groups = (
        (asked.translator, ENGLISH, TRANSLATOR, ()),
        (asked.translator, ENGLISH, LAYERS, ("--against", OTHER)),
        (asked.translator if asked.rival else None, ENGLISH, RIVALS, ("--with", str(asked.rival))),
        (asked.korean, KOREAN, KOREANS[:1], ()),
        (asked.korean, WALKED, (*KOREANS[1:], *TOURS), ()),
        (asked.captioner, str(asked.photo), CAPTIONER, ()),
        (asked.pixels, str(asked.digit), PIXELS, ()),
    )
    pairs = list(chain(*zip(("--source", "--target", "--gold"), asked.corpus or (), strict=False)))
    captions = ["--data", asked.captions] if asked.captions else []
    cards = (
        (Shot("cards", CARDS, 900), [asked.korean] if asked.korean else [], pairs),
        (Shot("cards-run", CARDS, 900), asked.run, pairs),
        (
            Shot("cards-picture", "part=cross&sort=pointing", 900),
            [asked.captioner] if asked.captioner else [],
            captions,
        ),
    )
    wanted = asked.only.split(",") if asked.only else None
    with chromium() as browser:
        for model, given, shots, options in groups:
            chosen = tuple(shot for shot in shots if wanted is None or shot.name in wanted)
            if model is not None and chosen:
                with served(model, given, *options, *QUIET) as address:
                    shoot(browser, address, chosen)
        if asked.korean and (wanted is None or FILM.name in wanted):
            with served(asked.korean, WALKED, *QUIET) as address:
                film(browser, address, FILM)
        if asked.report:
            reports = (REPORT, REPORT_KO)
            chosen = tuple(shot for shot in reports if wanted is None or shot.name in wanted)
            shoot(browser, asked.report.resolve().as_uri(), chosen)
        for shot, models, corpus in cards:
            if models and corpus and (wanted is None or shot.name in wanted):
                shoot_cards(browser, shot, models, corpus)
        pictures = {"captioner": str(asked.photo), "image-classifier": str(asked.digit)}
        for kind, model in asked.first:
            with opened(kind, model, pictures) as address:
                shoot_first(browser, address, kind, asked.of)
    if asked.korean and (wanted is None or "figure" in wanted):
        draw_figure(asked.korean)


if __name__ == "__main__":
    main()
