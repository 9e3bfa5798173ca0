"""Every lab by name: what it tries, and where its file is. Nothing is imported before it runs."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from jumok.errors import ConfigError
from jumok.lab.findings import Findings, Setting
from jumok.lab.text import Text


@dataclass(frozen=True)
class Lab:
    """One experiment.

    Attributes:
        lectures: the notes that make the claim.
        seconds: processor time of the short form, as measured on one Zen 4 core.
    """

    name: str
    title: Text
    claim: Text
    lectures: str
    seconds: int

    def run(self, setting: Setting) -> Findings:
        """Runs lab/NAME.py."""
        run: Callable[[Setting], Findings] = import_module(f"jumok.lab.{self.name}").run
        return run(setting)


LABS = (
    Lab(
        "scale",
        Text("Why scores are divided by √d_k", "점수를 왜 √d_k로 나누는가"),
        Text(
            "Dot products grow with d_k; divided by √d_k they leave softmax soft and its "
            "gradient alive.",
            "내적은 d_k가 클수록 커진다. √d_k로 나누면 softmax가 부드럽고 기울기가 살아 있다.",
        ),
        "000, 001, 002",
        2,
    ),
    Lab(
        "order",
        Text("Attention sees a set", "어텐션은 집합을 본다"),
        Text(
            "Permute the words and the outputs of self-attention permute with them; with "
            "positions they do not.",
            "단어의 순서를 바꾸면 셀프 어텐션의 출력도 똑같이 바뀔 뿐이다. 위치를 넣으면 그렇지 "
            "않다.",
        ),
        "002, 004",
        2,
    ),
    Lab(
        "errata",
        Text("Where the notes slip or disagree", "강의 노트가 틀리거나 엇갈리는 곳"),
        Text(
            "Six statements of the notes, each run in the form that is written and in the form "
            "that is right.",
            "노트의 여섯 문장을 적힌 대로, 그리고 옳은 꼴로 각각 돌려 본다.",
        ),
        "000, 001, 002, 004",
        3,
    ),
)


def find(name: str) -> Lab:
    """The lab of this name.

    Raises:
        ConfigError: there is none; the nearest is named.
    """
    names = [lab.name for lab in LABS]
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        raise ConfigError(
            "there is no such lab.",
            expected=", ".join(names),
            got=name,
            do=f"did you mean {near[0]!r}?" if near else "`jumok lab` lists them",
        )
    return LABS[names.index(name)]
