"""Every word a lab says, in two languages."""

from collections.abc import Iterable
from dataclasses import dataclass

from jumok.environment import Language


@dataclass(frozen=True)
class Text:
    """The same words in English and in Korean."""

    en: str
    ko: str

    def of(self, language: Language) -> str:
        """The words in this language."""
        return self.ko if language == "ko" else self.en


def same(text: str) -> Text:
    """A name or a number, which is the same in both languages."""
    return Text(text, text)


def joined(texts: Iterable[Text], between: str = ", ") -> Text:
    """All of them, one after another."""
    every = list(texts)
    return Text(between.join(each.en for each in every), between.join(each.ko for each in every))


HOLDS = Text("The claim holds here.", "이 실험에서는 주장이 성립합니다.")
FAILS = Text("The claim does not hold here.", "이 실험에서는 주장이 성립하지 않습니다.")
PARTLY = Text("The claim holds in part.", "이 실험에서는 주장의 일부만 성립합니다.")
OPEN = Text(
    "These seeds do not decide whether the claim holds.",
    "이 시드로는 주장이 성립하는지 판단할 수 없습니다.",
)
