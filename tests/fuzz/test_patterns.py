"""Short files that need exponential time if a pattern can divide them in many ways."""

import subprocess
import sys

import pytest

CASES = {
    "comments": "from jumok.data.files.formats import kind_of_bytes\n"
    "assert kind_of_bytes(b'<!-- a -->' * 800 + b'x') is None\n"
    "assert kind_of_bytes(b'<!-- a -->' * 80 + b'<html>') == 'html'",
    "comments of a catalog": "from jumok.data.files.formats import kind_of_bytes\n"
    "assert kind_of_bytes(b'\\n#' * 4000) is None",
    "a link that does not close": "from jumok.documents.catalog import translate_document\n"
    "page = b'[foo]: /url\\n\\n[foo](' + b'\"' * 4000\n"
    "assert translate_document(page, list, 'markdown') == page",
}


@pytest.mark.parametrize("code", CASES.values(), ids=CASES)
def test_short_files_are_read_at_once(code: str) -> None:
    # Exponential time would be centuries: a process that can be killed finds it.
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
