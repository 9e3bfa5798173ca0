"""A trace as one HTML file that needs no network: the interactive page.

The page's source is in `web/`, as plain modules, which are joined here. A saved page cannot load
anything: its Content-Security-Policy allows only its own script and style, by their digests. Tokens
are passed as JSON and inserted as text only.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from importlib.metadata import version
from urllib.parse import urljoin

from jumok.decoding import DecodingOptions
from jumok.environment import Language
from jumok.inspection.findings import TraceFindings
from jumok.inspection.page.arrays import (
    PART_BYTES,
    WHOLE_BYTES,
    ArrayForm,
    PageArray,
    Parts,
    as_bits,
    exact,
    inline,
    inlined,
    rounded,
    shares,
    size_of,
    weights_apart,
)
from jumok.inspection.page.bundle import bundle
from jumok.inspection.page.packing import (
    WalkFocus,
    bare,
    compressed,
    opened_site,
    packed_findings,
    packed_walk,
)
from jumok.inspection.page.run_report import RunReport
from jumok.inspection.page.source import source_folder
from jumok.inspection.page.tours import Tour, built_in, unmet
from jumok.inspection.trace import ARRAYS, Array, Site, Trace, site_head
from jumok.kinds import page_facts

FEW, MANY = 100_000, 1_000_000
"""The most weights of a trace that are sent as float32, and as 16 bits, which no number on the page
shows a difference of; more are sent as bytes, 1/255 apart."""

FEW_IN_VECTORS = 250_000
"""The most numbers of queries, keys and values that are sent as float32; of more, each has 16 bits
(`rounded`)."""

PREVIEW = "preview.png"
"""The picture beside a page, for previews of links to it."""

VECTOR_NAMES = ("query", "key", "value")

STYLES = ("base", "page", "overview", "findings", "views", "walk", "flow", "tours")
"""The files of `web/style/` that a page of `jumok look` has."""


SCHEMES = '<meta name="color-scheme" content="light dark">'
"""So that a page is not white in the dark until its style is unpacked."""


@dataclass(frozen=True)
class PageHead:
    """What search engines and previews of links show of a page.

    Attributes:
        address: where the page will be, and beside it its picture, PREVIEW; "": not known. Those
            who preview links take a picture only from a whole address.
    """

    title: str
    description: str
    address: str = ""

    def html(self) -> str:
        """The title, and the elements meta."""
        named = {"og:title": self.title, "og:description": self.description, "og:type": "website"}
        if self.address:
            named |= {"og:url": self.address, "og:image": urljoin(self.address, PREVIEW)}
        card = "summary_large_image" if self.address else "summary"
        metas = [("name", "description", self.description), ("name", "twitter:card", card)]
        metas += [("property", name, value) for name, value in named.items()]
        return f"<title>{escape(self.title)}</title>\n" + "\n".join(
            f'<meta {kind}="{name}" content="{escape(value)}">' for kind, name, value in metas
        )


@dataclass(frozen=True)
class PageOrigin:
    """What `jumok look` was given: from it the page makes the Python code that repeats it.

    Attributes:
        models: the folders of the model, or of an ensemble, as they were named.
        given: the path of an image, or of a saved trace. None: a text, which the trace has.
        options: how the model searched; None: as it does by default.
        beside: the folder of the model on the other side; None: the same model, or no other side.
    """

    models: Sequence[str]
    given: str | None = None
    saved: bool = False
    target: str | None = None
    options: DecodingOptions | None = None
    beside: str | None = None

    def payload(self) -> dict[str, object]:
        """The same as plain JSON, with the options as Python code."""
        return {
            "models": list(self.models),
            "given": self.given,
            "saved": self.saved,
            "target": self.target,
            "options": None if self.options is None else _options_code(self.options),
            "beside": self.beside,
        }


def _options_code(options: DecodingOptions) -> str:
    """The options as Python code, those that differ from the usual ones."""
    differing = [f"{name}={value!r}" for name, value in options.differing.items()]
    return f"jumok.DecodingOptions({', '.join(differing)})"


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
    lang: Language | None = None,
) -> str:
    """The HTML of the page, with the trace inside.

    Args:
        token: that of the server which the page may ask for other texts. None: the page is a
            file, and sends no requests.
        run: the training run of the model, which gets a view; None: it is not known.
        tour: the page opens with it; None: with none. Those that come with jumok are in its list.
        origin: how the trace was made, for the Python code that the page's reader copies.
        lang: the language that the page opens in; None: the browser's.
    """
    data = content(trace) | {"token": token}
    if other is not None:
        data["other"] = content(other)
    if before:
        data["before"] = True
    if examples:
        data["examples"] = list(examples)
    if run is not None:
        data["run"] = run.payload()
    if origin is not None:
        data["made"] = origin.payload()
    if lang is not None:
        data["lang"] = lang
    data |= guided(trace, tour)
    if token is not None:
        return document("page.js", data, asks=True)
    parts = Parts()
    return document("page.js", _in_parts(data, trace, parts), packed=parts)


def _in_parts(data: dict[str, object], trace: Trace, parts: Parts) -> dict[str, object]:
    """The data with their arrays in parts; what the page opens with is in the first one."""
    sites = data["sites"]
    assert isinstance(sites, list)
    apart = size_of(data) > WHOLE_BYTES
    first = trace.sites.index(opened_site(trace)) if trace.sites else 0
    taken = {number: parts.take(site) for number, site in enumerate(sites) if number == first}
    packed: dict[str, object] = {"findings": parts.take(data["findings"])}
    for number, site in enumerate(sites):
        if apart and number not in taken:
            parts.begin(0 if len(taken) == 1 else PART_BYTES)
        if number not in taken:
            taken[number] = parts.take(site)
    packed["sites"] = [taken[number] for number in range(len(sites))]
    return {name: packed.get(name) or parts.take(each) for name, each in data.items()}


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
    styles: Sequence[str] = STYLES,
    blobs: Mapping[str, bytes] | None = None,
    packed: Parts | None = None,
    head: PageHead | None = None,
) -> str:
    """An HTML page with a script of `web/`, the style, and its data as JSON.

    Args:
        styles: names of files of `web/style/`.
        blobs: bytes that the page holds besides, in base64, by the ids of their elements; among
            them may be WebAssembly, which the page may then run.
        asks: a server sends the page, and answers it: its script keeps the comments of the source.
        packed: the arrays of the data, for a file that is kept: it is compressed. None: the page
            stays readable.
        head: None: the page is not to be found by others.
    """
    script = bundle(entry) if asks else bare(bundle(entry))
    style = "".join(
        (source_folder() / "style" / f"{each}.css").read_text("utf-8") for each in styles
    )
    runs = " 'wasm-unsafe-eval'" if blobs else ""
    loader = "" if packed is None else (source_folder() / "loader.js").read_text(encoding="utf-8")
    allowed = " ".join(f"'{_sha256(each)}'" for each in (loader, script) if each)
    policy = (
        f"default-src 'none'; script-src {allowed}{runs}; "
        f"style-src '{_sha256(style)}'; img-src data: blob:; base-uri 'none'; form-action 'none'"
        + ("; connect-src 'self'" if asks else "")
    )
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=inline)
    coded = {name: base64.b64encode(each).decode("ascii") for name, each in (blobs or {}).items()}
    held = "".join(
        f'<script type="application/octet-stream" id="{name}">{each}</script>\n'
        for name, each in coded.items()
    )
    started = (
        f"<script>{script}</script>" if packed is None else _started(loader, script, style, packed)
    )
    mark = "" if packed is None else f' data-parts="{len(packed.held)}"'
    inside = _inert(text) if packed is None else compressed(text.encode())
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{'<title>jumok</title>' if head is None else head.html()}\n"
        f"{f'<style>{style}</style>' if packed is None else SCHEMES}\n</head>\n<body>\n"
        '<main id="page"></main>\n'
        f'<script type="application/json" id="data"{mark}>{inside}</script>\n'
        f"{held}{started}\n</body>\n</html>\n"
    )


def _started(loader: str, script: str, style: str, parts: Parts) -> str:
    """All that is compressed, and the loader after what the first picture needs of it."""
    first, *others = [
        f'<script type="text/plain" id="arrays-{number}">{compressed(bytes(each))}</script>\n'
        for number, each in enumerate(parts.held)
    ]
    texts = "".join(
        f'<script type="text/plain" id="{name}">{compressed(text.encode())}</script>\n'
        for name, text in (("style", style), ("code", script))
    )
    return f"{first}{texts}<script>{loader}</script>\n{''.join(others)}"


def _inert(text: str) -> str:
    """JSON in which "</script>" inside a token does not end the element."""
    return text.replace("<", "\\u003c")


def payload(trace: Trace, walk: WalkFocus | None = None) -> dict[str, object]:
    """The content of the page as plain JSON, with its arrays in base64."""
    return {name: inlined(each) for name, each in content(trace, walk).items()}


def content(trace: Trace, walk: WalkFocus | None = None) -> dict[str, object]:
    """The data of the page: the head of the trace, and its arrays.

    The page shows one sentence, and the hypotheses of a search that are in its findings.
    """
    count = sum(site.weights.size for site in trace.sites)
    form: ArrayForm = "f32" if count <= FEW else "u16" if count <= MANY else "u8"
    vectors = [getattr(site, name) for site in trace.sites for name in VECTOR_NAMES]
    few = sum(each.size for each in vectors if each is not None) <= FEW_IN_VECTORS
    sites = [site_head(site) | {"arrays": _arrays(site, form, few)} for site in trace.sites]
    return replace(trace, tree=None, findings=TraceFindings()).head() | {
        "findings": packed_findings(trace.findings),
        "sites": sites,
        "kind": page_facts(trace.task, pictures=trace.picture is not None),
        "version": _jumok_version(),
        "walk": packed_walk(trace, walk),
    }


@cache
def _jumok_version() -> str:
    return version("jumok")


def _arrays(site: Site, form: ArrayForm, few: bool) -> dict[str, object]:
    arrays = dict(_each_array(site, form, few))
    if form == "u16" and "query" in arrays and "key" in arrays:
        apart = weights_apart(site, arrays["query"], arrays["key"])
        arrays["weights"] = arrays["weights"] if apart is None else apart
    return dict(arrays)


def _each_array(site: Site, form: ArrayForm, few: bool) -> Iterator[tuple[str, PageArray]]:
    for name in ARRAYS:
        array: Array | None = getattr(site, name)
        if array is None or name == "scores":  # which no view shows
            continue
        if name == "allowed":
            yield name, as_bits(array)
        elif name == "weights":
            yield name, shares(array, form)
        elif (name == "norms" and form != "f32") or (name in VECTOR_NAMES and not few):
            yield name, rounded(array)
        else:
            yield name, exact(array)


def _sha256(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"
