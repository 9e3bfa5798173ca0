"""docs/adding.md: a view is added to a copy of the page, in three files, and a reader opens it."""

import shutil
import subprocess

from tests.browser.test_page_payload import ROOT, TSC
from tests.extending.test_adding import apply, copied, documented, section

__all__ = ["copied"]  # a fixture


def test_a_view_is_a_file_a_line_and_its_texts(copied, tmp_path, tiny_bundle, reading):
    text = section("A view of the page")
    web = tmp_path / "web"
    shutil.copytree(ROOT / "web", web)
    assert apply(text, copied) == 4
    documented(text, copied, MODEL=tiny_bundle)
    if TSC.exists():
        shutil.copy(ROOT / "tsconfig.json", tmp_path)
        command = [str(TSC), "--project", str(tmp_path)]
        checked = subprocess.run(command, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stdout
    saved = (tmp_path / "page.html").read_text("utf-8")
    for language, name in (("en-US", "Perplexity"), ("ko-KR", "혼란도")):
        page = reading(saved, language, "perplexity").page
        assert page.locator("#tab-perplexity").inner_text() == name
        assert page.locator("#panel tbody th").first.inner_text() == "<s>"  # of the translation
        keys = [float(text) for text in page.locator("#panel tbody td").all_inner_texts()]
        assert keys
        assert all(1 <= number <= 10 for number in keys)
