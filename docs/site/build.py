"""`make docs`: the documents as a site, English and Korean, that needs no network.

    python docs/site/build.py [FOLDER] [--model BUNDLE]

FOLDER (docs/_site) gets `en`, `ko` and an index.html that leads to the reader's language. Warnings
are errors. With --model, a translator of the kind that `jumok export --to web` takes, its page is
part of the site; without, the index says how to make it.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from generated import GENERATED
from pages import DOCS, stage
from sphinx.cmd.build import build_main

from jumok.inspection.page.bundle import bundle

HERE = Path(__file__).parent
GROUPS = {"en": "Generated reference", "ko": "자동으로 만든 참고 문서"}
FRONT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>jumok · 주목</title>
<script>location.replace(`${navigator.language.startsWith("ko") ? "ko" : "en"}/index.html`)</script>
<p><a href="en/index.html">English</a> · <a lang="ko" href="ko/index.html">한국어</a></p>
</html>
"""
DEMO = {
    "en": """# A translator in the browser

The model runs in your browser, so no text is sent. Type an English sentence, and point at a word of
the translation to see its attention. `jumok export MODEL --to web` makes such a page.
""",
    "ko": """# 브라우저에서 동작하는 번역기

모델이 브라우저에서 동작하므로 텍스트를 어디에도 보내지 않습니다. 영어 문장을 입력하고 번역문의
단어를 가리키면 그 단어의 어텐션이 보입니다. `jumok export MODEL --to web`으로 이런 페이지를 만들
수 있습니다.
""",
}
FRAME = """
```{raw} html
<iframe class="demo" title="jumok" src="../translator.html#lang=LANG"></iframe>
<p><a href="../translator.html#lang=LANG">translator.html</a></p>
```
"""
TRY = {
    "en": "[Try a translator on this site](translator.md). No installation, and no text is sent.",
    "ko": "[이 사이트에서 번역기를 써 보세요](translator.md). 설치할 것이 없고, 텍스트를 어디에도 "
    "보내지 않습니다.",
}


def build(language: str, folder: Path, demo: bool) -> None:
    """One language of the site, as pages below `folder`.

    Raises:
        SystemExit: Sphinx warned, and has printed why.
    """
    with tempfile.TemporaryDirectory() as name:
        source = Path(name)
        names = [*(["translator"] if demo else []), *GENERATED]
        stage(source, language, {GROUPS[language]: names})
        shutil.copytree(HERE / "locales", source / "locales")
        if demo:
            page = DEMO[language] + FRAME.replace("LANG", language)
            (source / "translator.md").write_text(page, "utf-8")
            index = source / "index.md"
            title, about, rest = index.read_text("utf-8").split("\n\n", 2)
            index.write_text("\n\n".join([title, about, TRY[language], rest]), "utf-8")
        for page_name, write in GENERATED.items():
            (source / f"{page_name}.md").write_text(write(language), "utf-8")
        scripts = source / "scripts"
        scripts.mkdir()
        (scripts / "figures.js").write_text(bundle(str(HERE / "figures/start.js")), "utf-8")
        options = ["-W", "--keep-going", "-q", "-b", "html", "-c", str(HERE)]
        options += ["-d", str(source / ".doctrees"), "-D", f"language={language}"]
        options += ["-D", f"html_static_path={HERE / 'static'},{scripts}"]
        options += ["-D", "html_search_language=ko"]  # Korean terms are in the English pages, too
        if code := build_main([*options, str(source), str(folder)]):
            raise SystemExit(code)


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DOCS / "_site")
    parser.add_argument("--model", type=Path)
    asked = parser.parse_args(given)
    shutil.rmtree(asked.folder, ignore_errors=True)
    asked.folder.mkdir(parents=True)
    if asked.model:
        out = asked.folder / "translator.html"
        command = [sys.executable, "-m", "jumok", "export", str(asked.model), "--to", "web"]
        subprocess.run([*command, "--output", str(out)], check=True)
    else:
        print("The site has no translator in a page: make docs MODEL=runs/first/model adds one.")
    for language in GROUPS:
        build(language, asked.folder / language, demo=bool(asked.model))
    (asked.folder / "index.html").write_text(FRONT, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
