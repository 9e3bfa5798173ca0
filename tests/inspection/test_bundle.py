"""The modules of the page as one script, and what is refused because it would break in silence."""

from pathlib import Path

import pytest

from jumok.errors import ConfigError
from jumok.inspection.page import bundle as module
from jumok.inspection.page.bundle import bundle


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in the place of `web/`."""
    monkeypatch.setattr(module, "source_folder", lambda: tmp_path)
    bundle.cache_clear()
    yield tmp_path
    bundle.cache_clear()


def write(folder: Path, **modules: str) -> None:
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")


def test_a_module_comes_after_those_that_it_imports(folder):
    write(
        folder,
        page='import { one, Two } from "./a.js";\nexport const three = one + Two.length;\n',
        a='import { zero } from "./b.js";\nexport const one = zero + 1;\nexport class Two {}\n',
        b="export const zero = 0;\n",
    )
    script = bundle()
    assert script.index("zero = 0") < script.index("one = zero") < script.index("three = one")
    assert "const { one, Two } = module1;" in script
    assert "return { one, Two };" in script


@pytest.mark.parametrize(
    "statement",
    [
        "import {\n  one,\n} from './a.js';",
        'import {\n  one,\n} from "./a.js";',
        'import one from "./a.js";',
        'import * as a from "./a.js";',
        'import { one as two } from "./a.js";',
        'import "./a.js";',
        'import { one } from "a";',
        "export default one;",
        "export default function two() {}",
        "export { one };",
        'export * from "./a.js";',
        "export let one = 1;",
        "export const { one } = {};",
    ],
)
def test_another_form_of_import_or_export_is_an_error(folder, statement):
    write(folder, page=f"/** A page. */\n\n{statement}\n", a="export const one = 1;\n")
    with pytest.raises(ConfigError, match="an import or export of this form") as caught:
        bundle()
    assert str(caught.value).startswith(f"{folder / 'page.js'}, line 3: ")
    assert caught.value.got == statement.split("\n")[0]


def test_a_circle_is_an_error(folder):
    write(
        folder,
        page='import { one } from "./a.js";\n',
        a='// One.\nimport { two } from "./b.js";\nexport const one = () => two;\n',
        b='import { one } from "./a.js";\nexport const two = () => one;\n',
    )
    with pytest.raises(ConfigError) as caught:
        bundle()
    assert str(caught.value).splitlines() == [
        f"{folder / 'b.js'}, line 1: modules import each other in a circle.",
        "  got:      a.js -> b.js -> a.js",
        "  do:       move what both need into a module of its own",
    ]


def test_a_name_that_is_not_exported_and_a_missing_module_are_errors(folder):
    write(folder, page='import { ona } from "./a.js";\n', a="export const one = 1;\n")
    with pytest.raises(ConfigError, match=r"page\.js, line 1: a\.js does not export this name"):
        bundle()
    write(folder, page='\nimport { one } from "./b.js";\n')
    with pytest.raises(ConfigError, match=r"page\.js, line 2: there is no such module"):
        bundle()
