"""One word a thing, and the field's word: what docs/glossary.md replaces is nowhere to be read.

Looked through are the texts of the command line, errors and other messages, docstrings, comments,
the documents, the recipes (whose comments are the manual) and the page's texts in both languages.
Code in documents is left out, and so are the lexicons of the small world, which are data.
"""

import ast
import functools
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer

from jumok import errors
from jumok.cli.main import app

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
GLOSSARY = ROOT / "docs" / "glossary.md"
SHOWN = ("help", "error", "text", "document", "recipe", "page")
FORMAL = ("help", "error", "docstring", "comment")
EVERYWHERE = ("help", "error", "text", "document", "recipe", "page", "docstring", "comment")
LEXICONS = "src/smallworld/"
# The words of the notes.
QUOTES = ("src/jumok_lectures/sentences/claims.toml", "docs/lab.", "docs/lectures.")


@dataclass(frozen=True)
class Rule:
    """What is not written, what is written instead, and in which kinds of text.

    A blank in `pattern` is any white space, so that a phrase is found across a line's end.
    """

    pattern: str
    better: str
    kinds: tuple[str, ...] = EVERYWHERE
    not_in: tuple[str, ...] = ()

    @functools.cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern.replace(" ", r"\s+"), re.MULTILINE)


LOOKERS = (
    "words?|tokens?|nouns?|quer(?:y|ies)|keys?|heads?|cells?|pixels?|models?|decoders?|encoders?"
    "|captioners?|translators?|attentions?|rows?|positions?|they|it|each|who|whom|which"
)

ENGLISH = [
    # Words for the field's words.
    Rule(r"\b[Pp]ieces?\b(?!:)", "token (of text), subword (of a vocabulary)", not_in=(LEXICONS,)),
    Rule(r"\b[Ss]lopes?\b", "gradient", not_in=("src/jumok/positions/",)),
    Rule(r"\b[Aa] bend\b|\bbends? between\b", "nonlinearity"),
    Rule(
        rf"\b(?i:{LOOKERS}) (?:(?:has|have|had|is|are|was|were|may|can|could|would|mostly|often"
        r"|all|only) )*look(?:s|ed|ing)? (?:at|back|mostly|only)\b",
        "attend to",
        FORMAL,
    ),
    Rule(r"\blooked[- ]at\b|\blooks of\b|\bunlooked\b", "attended to, attention weights", FORMAL),
    Rule(r"\bunlooked at\b", "unattended", SHOWN),
    Rule(r"\b[Ww]ho looks?\b|\b[Ww]ho mattered\b", "attention kind; attribution"),
    Rule(
        r"\b(?:source|target|text|side) at itself\b|\btarget at (?:the )?source\b",
        "self-attention; cross-attention",
    ),
    Rule(
        r"\b[Ww]hat (?:it|they|a head|each head) gave\b|\b[Bb]y what was given\b",
        "norm of the attended value",
    ),
    Rule(
        r"\bwhat (?:the|a|its|this|every|each) heads? (?:found|is worth|are worth)\b",
        "head output; ablation effect",
    ),
    Rule(
        r"\b(?:is|are|was|were|its|their) worth\b(?! (?:\d|it|a|an|the|\w+ing)\b)",
        "effect of ablation",
    ),
    Rule(r"\b[Mm]attered\b", "attribution", FORMAL),
    Rule(r"\b[Tt]heatres?\b", "beam search tree", not_in=(LEXICONS,)),
    Rule(
        r"\bread(?:s|ing)? (?:(?:word )?alignments )?off\b|"
        r"\b(?:where|which way|way) (?:alignments? )?(?:is|are) read\b",
        "extract alignments; alignment setting",
    ),
    Rule(r"\bwhich word is which\b", "word alignment"),
    Rule(
        r"\b[Ww]ords? (?:that (?:is|are|was|were) )?(?:taken out|blanked)\b|"
        r"\btaken out of (?:a |the )?texts?\b",
        "masked word",
    ),
    Rule(r"\btaken for(?! granted)\b", "predicted as"),
    Rule(
        r"\bthought of (?:it|them|each|a|the)\b|"
        r"\b(?:model|encoder|it) (?:says|would say)\b|\bsays? nothing\b",
        "predict, log-probability",
        not_in=(LEXICONS,),
    ),
    Rule(r"\blearnt before\b|\bsomebody (?:else )?(?:trained|learnt)\b", "pretrained"),
    Rule(r"\b[Ff]rom nothing\b", "from scratch"),
    Rule(r"\b[Bb]it by bit\b", "bit for bit, bit-identical"),
    Rule(r"\b[Ll]ikeliest that hold\b", "nucleus sampling"),
    Rule(
        r"\b[Dd]raw instead\b|\bdraws? equally\b|\bhow to draw\b|\b1 draws\b|\beach drawn\b",
        "sample",
    ),
    Rule(r"\b[Hh]eed\b", "cancellation check"),
    # Phrases for plain English.
    Rule(r"\b[Aa]new\b", "again, from scratch", not_in=(LEXICONS,)),
    Rule(r"\b[Mm]end(?:s|ed|ing)?\b", "fix, correct, repair"),
    Rule(r"\bcounts? for nothing\b", "has no effect"),
    Rule(
        r"\b(?:[Nn]obody|[Ss]omebody)\b", "name who it is, or use the passive", not_in=(LEXICONS,)
    ),
    Rule(
        r"\b[Bb]y people\b|\b[Pp]eople's\b|"
        r"\bpeople (?:wrote|drew|see)\b|\ba person (?:wrote|drew)\b",
        "reference, gold, human",
    ),
    Rule(
        r"\b(?:[Oo]nly|[Ww]ith|[Ee]very|[Aa]fter) so many\b(?! that)|^\s*So many\b", "the number, N"
    ),
    Rule(r"(?:\A|[.;:(] )[Ee]lse\b(?!\.)", "otherwise; (default: ...)"),
    Rule(r"\btold\b(?! apart|:)", "reported, given", not_in=(LEXICONS,)),
    Rule(
        r"\b(?:goes|go|going|went) on (?:from|with|as if|to|after|where)\b|"
        r"\b[Gg]oes on\b(?=[.,;:\"'])",
        "continue, resume",
        not_in=(LEXICONS,),
    ),
    Rule(r"\b[Ww]rit(?:e|es|ten) on\b(?! (?:disk|one|a|the|its|it|to))", "continue"),
    Rule(
        r"\b(?:[Ss]tands?|stood|standing)\b(?! (?:for|out)\b)(?!-)",
        "is, lies, follows, comes",
        not_in=(LEXICONS,),
    ),
    Rule(r"\b(?:cannot|can|could|to) be had\b", "available"),
    Rule(r"\b[Ww]hole or not at all\b|\bthere whole\b", "written atomically"),
    Rule(r"\b[Ss]hall\b", "will, is to", not_in=(LEXICONS,)),
    Rule(r"\bfound out\b", "determined"),
    Rule(r"\bheader lies\b|\bread as written\b", "does not match; check the spelling"),
    Rule(r"\bspeaks? (?:English|Korean|against)\b", "is in English; contradicts"),
    Rule(r"\b[Nn]ot know any more\b|\bthere is nothing to tell apart\b", "at least two labels"),
    Rule(r"(?:^|[.;:] )Of (?:a|an|the|what|each|every|row|words)\b", "begin with the subject"),
    Rule(r"\b(?:[Pp]ieces|[Tt]okens|[Ww]ords) at (?:least|most)\.", "Minimum, Maximum", SHOWN),
    Rule(r"^\s*Say (?:how|what|the|where|for)\b", "Show, Print, Describe", ("help",)),
    Rule(
        r"\bmay come again\b|\bby Java\b|\bever (?:more|fewer)\b",
        "repeatable; needs Java; step by step",
        not_in=(LEXICONS,),
    ),
    Rule(r"\bothers' numbers\b|\bhonest sentence\b", "other implementations"),
]
KOREAN = [
    Rule("밸류", "값(value)"),
    Rule("레이어 정규화|계층 정규화", "층 정규화", not_in=QUOTES),
    Rule("계층|레이어(?!\\))", "층", not_in=QUOTES),
    Rule("그래디언트|경사(?!하강| 하강)", "기울기"),
    Rule("조각", "토큰", not_in=(LEXICONS,)),
    Rule('스스로를|누가 보나|이 칸을|이 그림을"', "셀프 어텐션, 크로스 어텐션"),
    Rule("내가 이은|옳은 정렬|정답 짝", "정답 정렬"),
    Rule("그림 캡션|캡션이 그림을", "이미지 캡션"),
    Rule("% 달라|과 비교해 [+-]", "높습니다, 낮습니다"),
    Rule("적힌 대로", "강의 노트의 설명"),
    Rule("를 주목|을 주목", "-에 주목"),
    Rule("집합을 보|집합을 봅", "입력을 집합으로 다룬다"),
    Rule("글이 ", "텍스트"),
]
RULES = [*ENGLISH, *KOREAN]


@dataclass(frozen=True)
class Text:
    """Words that somebody reads: of which kind, in which file, from which line."""

    kind: str
    file: str
    line: int
    words: str


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def help_texts() -> Iterator[Text]:
    command = typer.main.get_command(app)
    for name, verb in {"": command, **command.commands}.items():
        file = f"jumok {name} --help".replace("  ", " ")
        yield Text("help", file, 1, verb.help or "")
        for parameter in verb.params:
            yield Text(
                "help", f"{file} {parameter.opts[0]}", 1, getattr(parameter, "help", "") or ""
            )


def is_error(call: ast.AST) -> bool:
    """Whether this is `SomeError(...)` of jumok's."""
    if not isinstance(call, ast.Call):
        return False
    kind = getattr(errors, ast.unparse(call.func).split(".")[-1], None)
    return isinstance(kind, type) and issubclass(kind, errors.JumokError)


def literals(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Every string below `node`; what an f-string puts in is a blank."""
    if isinstance(node, ast.JoinedStr):
        parts = [each.value if isinstance(each, ast.Constant) else "_" for each in node.values]
        yield node.lineno, "".join(parts)
        inside = [each.value for each in node.values if isinstance(each, ast.FormattedValue)]
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield node.lineno, node.value
        return
    else:
        inside = list(ast.iter_child_nodes(node))
    for each in inside:
        yield from literals(each)


def docstrings(tree: ast.Module) -> dict[int, ast.Constant]:
    """The constants that are docstrings, of attributes too, by their identity."""
    found = {}
    for node in ast.walk(tree):
        for each in (
            getattr(node, "body", None) if isinstance(getattr(node, "body", None), list) else []
        ):
            if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
                found[id(each.value)] = each.value
    return found


def source_texts(path: Path) -> Iterator[Text]:
    """Docstrings, comments, errors and other messages of one module."""
    content = path.read_text("utf-8")
    tree, file = ast.parse(content), relative(path)
    described = docstrings(tree)
    for node in described.values():
        yield Text("docstring", file, node.lineno, str(node.value))
    raised = set()
    for call in ast.walk(tree):
        if is_error(call):
            for line, words in literals(call):
                raised.add((line, words))
                yield Text("error", file, line, words)
    spoken = {node.lineno: str(node.value) for node in described.values()}
    for line, words in literals(tree):
        if " " in words and (line, words) not in raised and spoken.get(line) != words:
            yield Text("text", file, line, words)
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type == tokenize.COMMENT:
            yield Text("comment", file, token.start[0], token.string.lstrip("# "))


def blanked(code: re.Match[str]) -> str:
    """As many lines, and nothing in them."""
    return "\n" * code[0].count("\n") or " ` "


def document_texts(path: Path) -> Iterator[Text]:
    words = re.sub(r"^```.*?^```|`[^`\n]+`", blanked, path.read_text("utf-8"), flags=re.M | re.S)
    if path == GLOSSARY:  # its fourth column names what is not written
        words = re.sub(r"\| not: .*$", "|", words, flags=re.M)
    yield Text("document", relative(path), 1, words)


def page_texts(path: Path) -> Iterator[Text]:
    """Every string of the page's texts; what a template puts in is a blank."""
    for line, code in enumerate(path.read_text("utf-8").splitlines(), 1):
        for string in re.findall(r'"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`', code):
            yield Text(
                "page", relative(path), line, re.sub(r"\$\{[^}]*\}", "_", max(string, key=len))
            )


def recipe_texts(path: Path) -> Iterator[Text]:
    for line, code in enumerate(path.read_text("utf-8").splitlines(), 1):
        if "#" in code:
            yield Text("recipe", relative(path), line, code.partition("#")[2].lstrip())


@functools.cache
def texts() -> tuple[Text, ...]:
    return tuple(read_texts())


def read_texts() -> Iterator[Text]:
    yield from help_texts()
    for path in sorted(SOURCE.rglob("*.py")):
        yield from source_texts(path)
    for path in sorted(SOURCE.rglob("*.toml")):  # of labs
        yield Text("text", relative(path), 1, path.read_text("utf-8").replace("\\\n", "\n"))
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    for path in sorted(path for path in documents if path.name != "CHANGELOG.md"):
        yield from document_texts(path)
    for path in sorted((ROOT / "web").glob("*words*.js")):
        yield from page_texts(path)
    for path in sorted((ROOT / "web").rglob("*.toml")):  # tours
        texts_alone = re.sub(r"^link = .*", "", path.read_text("utf-8"), flags=re.MULTILINE)
        yield Text("page", relative(path), 1, texts_alone)
    for path in sorted((ROOT / "recipes").rglob("*.toml")):
        yield from recipe_texts(path)


def faults(text: Text, rules: list[Rule] = RULES) -> Iterator[str]:
    for rule in rules:
        if text.kind in rule.kinds and not text.file.startswith(rule.not_in or ("\0",)):
            for found in rule.compiled.finditer(text.words):
                line = text.line + text.words.count("\n", 0, found.start())
                phrase = " ".join(found[0].split())
                yield f"{text.file}:{line}: {text.kind}: {phrase!r}; better: {rule.better}"


def test_every_text_uses_the_words_of_the_glossary():
    found = list(dict.fromkeys(fault for text in texts() for fault in faults(text)))
    assert not found, f"{len(found)} phrases\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("words", "kind", "count"),
    [
        ("So many pieces in a row are never written\ntwice", "help", 2),
        ("Draw instead of search; the beam is not used.", "help", 1),
        ("Which layer; else where alignments are read.", "help", 2),
        ("the token that each query looks at", "docstring", 1),
        ("What the model attended to", "page", 0),
        ("it stands\n    for a sum", "docstring", 0),
        ("where the number stands", "docstring", 1),
        ("can be told apart, and is reported", "error", 0),
        ("SentencePiece cuts text into tokens", "document", 0),
        ("쿼리와 모든 키의 내적, 밸류 벡터의 가중합", "page", 1),
    ],
)
def test_rules_find_the_dialect_and_no_more(words, kind, count):
    assert len(list(faults(Text(kind, "any.py", 1, words)))) == count


def test_texts_are_found_where_people_read_them():
    kinds = {text.kind for text in texts() if text.words.strip()}
    assert kinds == set(EVERYWHERE)


def test_glossary_names_every_term_once_in_both_languages():
    lines = [line for line in GLOSSARY.read_text("utf-8").splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines][2:]
    terms = [row[0] for row in rows]
    assert len(terms) >= 40
    assert len(set(terms)) == len(terms)
    assert terms == sorted(terms, key=str.lower)
    for term, korean, meaning, *_ in rows:
        assert re.search("[가-힣]|[A-Z]{2}", korean), term
        assert meaning.endswith("."), term
