"""Writes what the documents and the tests have of the options, from the options themselves.

    python docs/options.py

The table of the options of decoding in cli.md and cli.ko.md (src/jumok/cli/korean.toml), and
tests/cli/options.txt, the names of all options: a change of them is to be seen.
"""

from pathlib import Path

import typer

from jumok.cli.language import table as korean_texts
from jumok.cli.main import app
from jumok.decoding.options import (
    FOR_CAPTIONS,
    FOR_CONTINUATION,
    FOR_TRANSLATION,
    DecodingOptions,
)
from jumok.options import OptionField, options_of

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- options of decoding: docs/options.py -->\n", "<!-- end -->\n"
HEADS = {
    "docs/cli.md": "| option | values | default | meaning |\n|---|---|---|---|\n",
    "docs/cli.ko.md": "| 옵션 | 값 | 기본값 | 뜻 |\n|---|---|---|---|\n",
}
KINDS = {"translate": FOR_TRANSLATION, "caption": FOR_CAPTIONS, "generate": FOR_CONTINUATION}


def cells(known: OptionField, korean: bool) -> str:
    """The cells of an option but for its meaning."""
    usual = known.default
    others = {name: getattr(options, known.name) for name, options in KINDS.items()}
    default = ("없음" if korean else "none") if usual == () else str(usual)
    default += "".join(f"; {name}: {value}" for name, value in others.items() if value != usual)
    values = ("텍스트" if korean else "text") if known.range == known.name else known.range
    if korean:
        values = values.replace(", or ", " 또는 ").replace(" or ", " 또는 ")
    return f"| `{known.name}` | {values} | {default} |"


def table(file: str, text: str) -> str:
    """The document with the table as it is now."""
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    korean = korean_texts()["options"]
    rows = ""
    for known in options_of(DecodingOptions).values():
        in_korean = file != "docs/cli.md"
        meaning = korean[known.option.help] if in_korean else known.option.help
        rows += f"{cells(known, in_korean)} {meaning} |\n"
    return f"{before}{BEGIN}{HEADS[file]}{rows}{END}{after}"


def names() -> str:
    """The arguments and options of every command, one command a line."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    lines = (
        f"{name}: {' '.join(option for each in command.params for option in each.opts)}\n"
        for name, command in sorted(commands.items())
    )
    return "".join(lines)


def files() -> dict[str, str]:
    """What each file is to have."""
    tables = {name: table(name, (ROOT / name).read_text("utf-8")) for name in HEADS}
    return {**tables, "tests/cli/options.txt": names()}


if __name__ == "__main__":
    for name, text in files().items():
        (ROOT / name).write_text(text, "utf-8")
