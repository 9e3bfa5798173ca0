"""A trace as one HTML file that needs no network: the interactive page.

The page's source is in `web/`, as plain modules, which are joined here. A saved page cannot load
anything: its Content-Security-Policy allows only its own script and style, by their digests. Tokens
are passed as JSON and inserted as text only.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np

from jumok.inspection.findings import findings_json
from jumok.inspection.page.origin import PageOrigin
from jumok.inspection.page.packing import Form, bare, compressed, packed_search, shares
from jumok.inspection.page.run_report import RunReport
from jumok.inspection.page.source import source_folder
from jumok.inspection.page.tours import Tour, built_in, unmet
from jumok.inspection.page.walk import WalkFocus, packed_walk
from jumok.inspection.trace import ARRAYS, Array, Site, Trace, site_head
from jumok.kinds import page_facts

FEW, MANY = 100_000, 1_000_000
"""The most weights of a trace that are sent as float32, and as 16 bits, which no number on the page
shows a difference of; more are sent as bytes, 1/255 apart."""

MOST_PACKED = 8_000_000
"""The longest data that are compressed: unpacking longer ones would delay the first picture."""

IMPORT = re.compile(r"^import (?P<names>\{[^}]*\}) from \"(?P<path>[^\"]+)\";\n", re.MULTILINE)
EXPORT = re.compile(
    r"^export (?P<what>(?:async )?(?:function|class|const|let) (?P<name>\w+))", re.MULTILINE
)


def page(
    trace: Trace,
    token: str | None = None,
    other: Trace | None = None,
    examples: Sequence[str] = (),
    *,
    run: RunReport | None = None,
    before: bool = False,
    tour: Tour | None = None,
    origin: PageOrigin | None = None,
) -> str:
    """The HTML of the page, with the trace inside.

    Args:
        other: a second trace, shown next to the first; None: only one.
        token: that of the server which the page may ask for other texts. None: the page is a
            file, and sends no requests.
        examples: texts that a live page offers.
        run: the training run of the model, which gets a view; None: it is not known.
        before: the second trace is of the same model before it was trained further.
        tour: the page opens with it; None: with none. Those that come with jumok are in its list.
        origin: how the trace was made, for the Python code that the page's reader copies.
    """
    data = payload(trace) | {"token": token}
    if other is not None:
        data["other"] = payload(other)
    if before:
        data["before"] = True
    if examples:
        data["examples"] = list(examples)
    if run is not None:
        data["run"] = run.payload()
    if origin is not None:
        data["made"] = origin.payload()
    data |= guided(trace, tour)
    return document("page.js", data, asks=token is not None, packed=token is None)


def guided(trace: Trace, tour: Tour | None = None) -> dict[str, object]:
    """What the page holds of tours: those that fit, and the name of the one that it opens with."""
    fitting = [each for each in built_in() if not trace.sites or unmet(each, trace) is None]
    if tour is None:
        return {"tours": [each.payload() for each in fitting]}
    others = [each.payload() for each in fitting if each.name != tour.name]
    return {"tours": [tour.payload(), *others], "tour": tour.name}


def document(
    entry: str,
    data: Mapping[str, object],
    *,
    asks: bool = False,
    styles: Sequence[str] = ("style.css", "tours.css"),
    blobs: Mapping[str, bytes] | None = None,
    packed: bool = False,
) -> str:
    """An HTML page with a script of `web/`, the style, and its data as JSON.

    Args:
        entry: the module that starts it.
        asks: whether it may send requests to its server.
        styles: the style sheets of `web/`.
        blobs: bytes that the page holds besides, in base64, by the ids of their elements; among
            them may be WebAssembly, which the page may then run.
        packed: whether the script and the data are compressed, as in a file that is kept. A page
            that a server sends stays readable.
    """
    script = bare(bundle(entry)) if packed else bundle(entry)
    style = "".join((source_folder() / each).read_text(encoding="utf-8") for each in styles)
    runs = " 'wasm-unsafe-eval'" if blobs else ""
    loader = (source_folder() / "loader.js").read_text(encoding="utf-8") if packed else ""
    allowed = " ".join(f"'{_digest(each)}'" for each in (loader, script) if each)
    policy = (
        f"default-src 'none'; script-src {allowed}{runs}; "
        f"style-src '{_digest(style)}'; img-src data: blob:; base-uri 'none'; form-action 'none'"
        + ("; connect-src 'self'" if asks else "")
    )
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    small = packed and len(text) <= MOST_PACKED
    inside, mark = (compressed(text), ' data-packed="gzip"') if small else (_inert(text), "")
    code = f'<script type="text/plain" id="code">{compressed(script)}</script>\n' if packed else ""
    started = f"{code}<script>{loader if packed else script}</script>"
    coded = {name: base64.b64encode(each).decode("ascii") for name, each in (blobs or {}).items()}
    held = "".join(
        f'<script type="application/octet-stream" id="{name}">{each}</script>\n'
        for name, each in coded.items()
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>jumok</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<main id="page"></main>\n'
        f'<script type="application/json" id="data"{mark}>{inside}</script>\n'
        f"{held}{started}\n</body>\n</html>\n"
    )


def _inert(text: str) -> str:
    """JSON in which "</script>" inside a token does not end the element."""
    return text.replace("<", "\\u003c")


def payload(trace: Trace, walk: WalkFocus | None = None) -> dict[str, object]:
    """The data of the page: the head of the trace, and its arrays in base64.

    The page shows one sentence, and the hypotheses of a search that are in its findings.

    Args:
        walk: the query whose walk is wanted first.
    """
    count = sum(site.weights.size for site in trace.sites)
    form: Form = "f32" if count <= FEW else "u16" if count <= MANY else "u8"
    search = trace.findings.search
    findings = replace(trace.findings, search=None)
    head = replace(trace, tree=None, findings=findings).head()
    if search is not None:
        head["findings"] = findings_json(findings) | {"search": packed_search(search)}
    sites = [site_head(site) | {"arrays": dict(_packed(site, form))} for site in trace.sites]
    kind = page_facts(trace.task, pictures=trace.picture is not None)
    walked = {"walk": packed_walk(trace, walk)}
    return head | {"sites": sites, "kind": kind, "version": _version()} | walked


@cache
def _version() -> str:
    return version("jumok")


def _packed(site: Site, form: Form) -> Iterator[tuple[str, dict[str, object]]]:
    for name in ARRAYS:
        array: Array | None = getattr(site, name)
        if array is None:
            continue
        if name == "allowed":
            bits = base64.b64encode(np.packbits(array.astype(np.bool_)).tobytes()).decode("ascii")
            yield name, {"shape": list(array.shape), "type": "bits", "data": bits}
            continue
        # Norms have no upper bound, and vectors are kept exact for recomputing the weights.
        kind = form if name == "weights" else "f32"
        values = array.astype("<f4") if kind == "f32" else shares(array, kind)
        data = base64.b64encode(values.tobytes()).decode("ascii")
        yield name, {"shape": list(array.shape), "type": kind, "data": data}


@cache
def bundle(entry: str = "page.js") -> str:
    """All modules that `entry` needs as one script, each after the modules that it imports."""
    parts: dict[Path, str] = {}
    _add(source_folder() / entry, parts)
    return '"use strict";\n(() => {\n' + "\n".join(parts.values()) + "})();\n"


def _add(module: Path, parts: dict[Path, str]) -> None:
    """Adds the imports of `module` to `parts`, then the module as a function with its own scope."""
    if module in parts:
        return
    text = module.read_text(encoding="utf-8")
    for found in IMPORT.finditer(text):
        _add((module.parent / found["path"]).resolve(), parts)
    numbers = {path: number for number, path in enumerate(parts)}

    def taken(found: re.Match[str]) -> str:
        number = numbers[(module.parent / found["path"]).resolve()]
        return f"const {found['names']} = module{number};\n"

    given = ", ".join(found["name"] for found in EXPORT.finditer(text))
    text = EXPORT.sub(r"\g<what>", IMPORT.sub(taken, text))
    parts[module] = f"const module{len(parts)} = (() => {{\n{text}return {{ {given} }};\n}})();\n"


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"
