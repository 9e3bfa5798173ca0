"""What the code of the course prints, computed while the site is built."""

import contextlib
import io
from functools import cache

from jumok_lectures.course.chapters import FENCE, Chapter, find


@cache
def printed(chapter: Chapter) -> tuple[str, ...]:
    """What each cell prints, but for the last one, the exercises."""
    names: dict[str, object] = {}
    outputs = []
    for number, cell in enumerate(chapter.code("en")[:-1]):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(cell, f"{chapter.name}, cell {number}", "exec"), names)
        outputs.append(output.getvalue())
    return tuple(outputs)


def with_outputs(page: str, text: str) -> str:
    """The Markdown of a page, in which the code of a chapter is followed by what it prints."""
    number = page.removeprefix("course/")[:2]
    if not page.startswith("course/") or not number.isdigit():
        return text
    parts = FENCE.split(text)
    written = parts[0]
    outputs = [*printed(find(number)), ""]
    for code, output, below in zip(parts[1::2], outputs, parts[2::2], strict=True):
        written += f"```python\n{code}```\n"
        written += f"\n```{{code-block}} text\n:class: output\n\n{output}```\n" if output else ""
        written += below
    return written
