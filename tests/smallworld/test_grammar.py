# ruff: noqa: E501  (one case a line; a Korean letter counts as two columns)
"""One sentence for every construction, written by hand, and the phrases inside sentences.

A scripted writer picks what the test wishes for in place of drawing it, so that no expectation
hangs on a seed.
"""

from collections.abc import Sequence
from typing import TypeVar

import pytest

from jumok.smallworld.fragment import Fragment, index_pairs
from jumok.smallworld.grammar import CONSTRUCTIONS
from jumok.smallworld.predicates import Register
from jumok.smallworld.writer import NAME_LIST, PhraseWriter

Item = TypeVar("Item")


def said_of(item: object) -> str:
    """The English by which a test wishes for an item."""
    if isinstance(item, str):
        return item
    for attribute in ("construction", "positive", "base", "english", "__name__"):
        found = getattr(item, attribute, None)
        if found is not None:
            return said_of(found)
    if isinstance(item, tuple):
        return said_of(item[0])
    return str(item)


class Scripted(PhraseWriter):
    """Picks the first wish that is among the items and strikes it off, else the first item.

    A wish "+2" grants a phrase that costs two words; "no" and "yes" answer the next chance.
    """

    def __init__(self, wishes: Sequence[str]) -> None:
        super().__init__("", novel=False)
        self.wishes = list(wishes)
        self.random = lambda: 0.0

    def _granted(self, wish: str) -> bool:
        if wish in self.wishes:
            self.wishes.remove(wish)
            return True
        return False

    def pick(self, items: Sequence[Item]) -> Item:
        for wish in self.wishes:
            for item in items:
                if said_of(item) == wish:
                    self.wishes.remove(wish)
                    return item
        return items[0]

    def chance(self, probability: float) -> bool:
        answers = [wish for wish in self.wishes if wish in ("no", "yes")]
        return bool(answers) and self._granted(answers[0]) and answers[0] == "yes"

    def new_name(self) -> str:
        return self.pick(NAME_LIST)

    def affords(self, words: int) -> bool:
        return self._granted(f"+{words}")


WRITE = {each.name: each.write for each in CONSTRUCTIONS}


def written(
    construction: str, wishes: str, register: Register = Register.POLITE, room: int = 0
) -> Fragment:
    writer = Scripted(wishes.split("; "))
    writer.speak(register)
    writer.room = room
    sentence = WRITE[construction](writer)
    assert not writer.wishes, "nothing of this kind was asked for"
    return sentence


def pharaoh(sentence: Fragment) -> str:
    return " ".join(f"{i}-{j}" for i, j in index_pairs(sentence.links))


SENTENCES = """
action|past; read; book; Minsu; this|Minsu read this book|민수는 이 책을 읽었어요|0-0 1-3 2-1 3-2
description|library; clean; very 아주|the library is very clean|도서관은 아주 깨끗해요|0-0 1-0 2-2 3-1 4-2
identity|Yuna; nurse; yes|Yuna was a nurse|유나는 간호사였어요|0-0 1-1 2-1 3-1
existence|cup; thing; counted; yes; on the table|there are two cups on the table|탁자 위에 컵 두 개가 있어요|0-5 1-5 2-3 2-4 3-2 4-1 5-0 6-0
location|yes; elder; mother; in the kitchen|my mother is in the kitchen|우리 어머니께서는 부엌에 계세요|0-0 1-1 2-3 3-2 4-2 5-2
possession|pronoun; I; book; novel; yes; yes|I had two novels|저는 소설이 두 권 있었어요|0-0 1-4 2-2 2-3 3-1
comparison|cute; dog; cat; the; that|the dog is cuter than that cat|개는 그 고양이보다 더 귀여워요|0-0 1-0 2-4 3-3 3-4 4-2 5-1 6-2
superlative|yes; smart; Jiho; in Seoul|Jiho is the smartest in Seoul|지호는 서울에서 가장 똑똑해요|0-0 1-3 2-2 3-2 3-3 4-1 5-1
company|Sujin; Jimin; i; work|Sujin and Jimin work|수진과 지민은 일해요|0-0 1-0 2-1 3-2
alternatives|drink; tea; coffee; yes; yes; Emma|Emma drank tea and coffee|에마는 차와 커피를 마셨어요|0-0 1-3 2-1 3-1 4-2
focus|yes; Tom; i; dance; yes|only Tom danced|톰만 춤췄어요|0-0 1-0 2-1
becoming|Hyunwoo; singer; will|Hyunwoo will become a singer|현우는 가수가 될 거예요|0-0 1-3 2-2 3-1 4-1
journey|Anna; from Seoul; to Busan; walk|Anna walked from Seoul to Busan|안나는 서울에서 부산까지 걸었어요|0-0 1-3 2-1 3-1 4-2 5-2
weather|yes; in Paris; yesterday|it rained in Paris yesterday|어제 파리에 비가 왔어요|0-3 1-2 1-3 2-1 3-1 4-0
yes-no question|t; read; letter; the; past; yes|did you read the letter|편지를 읽었어요|0-1 1-1 2-1 3-0 4-0
is-it question|room; dark; the|is the room dark|방은 어두워요|0-1 1-0 2-0 3-1
what question|buy; past; Paul|what did Paul buy|폴은 무엇을 샀어요|0-1 1-2 2-0 3-2
who question|t; open; door; the; past|who opened the door|누가 문을 열었어요|0-0 1-2 2-1 3-1
where question|meet; friend; the; past; no; yes|where did you meet the friend|어디에서 친구를 만났어요|0-0 1-2 2-2 3-2 4-1 5-1
when or why question|t; sell; car; the; why; Mary|why did Mary sell the car|메리는 왜 자동차를 팔았어요|0-1 1-3 2-0 3-3 4-2 5-2
how many question|buy; apple; yes|how many apples did you buy|사과를 몇 개 샀어요|0-1 1-1 1-2 2-0 3-3 4-3 5-3
request|t; help; doctor; this|please help this doctor|이 의사를 도와 주세요|0-3 1-2 2-0 3-1
command|t; listen; song; the|listen to the song|노래를 들으세요|0-1 1-1 2-0 3-0
prohibition|t; touch; knife; the|do not touch the knife|칼을 만지지 마세요|0-2 1-2 2-1 3-0 4-0
proposal|t; bake; bread|let's bake bread|빵을 구웁시다|0-1 1-1 2-0
offer|t; build; house; a|shall we build a house|집을 지을까요|0-1 1-1 2-1 3-0 4-0
addition|past; t; carry; chair; the; Minsu; past; t; sweep; kitchen; the; Yuna|Minsu carried the chair, and Yuna swept the kitchen|민수는 의자를 날랐고 유나는 부엌을 쓸었어요|0-0 1-2 2-1 3-1 4-2 5-3 6-5 7-4 8-4
contrast|past; i; run; Jiho; past; i; walk; Mina|Jiho ran, but Mina walked|지호는 달렸지만 미나는 걸었어요|0-0 1-1 2-1 3-2 4-3
consequence|soup; hot; the; no; no; yes; t; drink; water; Minsu|the soup was hot, so Minsu drank water|국이 뜨거워서 민수는 물을 마셨어요|0-0 1-0 2-1 3-1 4-1 5-2 6-4 7-3
reason|past; t; break; cup; the; Minsu; past; i; cry; Yuna; no; no; no; no; yes|because Minsu broke the cup, Yuna cried|민수가 컵을 깼기 때문에 유나는 울었어요|0-3 1-0 2-2 3-1 4-1 5-4 6-5
condition|yes; _falling; t; wear; coat; a; Minsu|Minsu will wear a coat if it rains|비가 오면 민수는 외투를 입을 거예요|0-2 1-5 2-4 3-3 4-3 5-1 6-1 7-0 7-1
concession|yes; _sky; cloudy; m; go; to the park; no; Minsu; yes|even if it is cloudy, Minsu will go to the park|흐려도 민수는 공원에 갈 거예요|0-0 1-0 2-0 3-0 4-0 5-1 6-4 7-3 8-2 9-2 10-2
occasion|m; come; to the school; elder; i; sleep; job; child; pointer; a; no; no; yes|when my mother came to the school, a child slept|우리 어머니께서 학교에 오셨을 때 아이가 잤어요|0-4 1-0 2-1 3-3 4-2 5-2 6-2 7-5 8-5 9-6
before and after|before; m; go; to the bank; Minsu; t; eat; rice; Yuna|Yuna ate rice before Minsu went to the bank|민수가 은행에 가기 전에 유나는 밥을 먹었어요|0-4 1-6 2-5 3-3 4-0 5-2 6-1 7-1 8-1
saying|say; Minsu; past; t; buy; cheese; Yuna|Minsu said that Yuna bought cheese|민수는 유나가 치즈를 샀다고 말했어요|0-0 1-4 2-3 3-1 4-3 5-2
purpose|m; go; to the library; t; read; book; a; Minsu; yes; yesterday|Minsu went to the library to read a book yesterday|민수는 어제 책을 읽으러 도서관에 갔어요|0-0 1-5 2-4 3-4 4-4 5-3 6-3 7-2 8-2 9-1
meanwhile|t; eat; apple; the; t; listen; music; Minsu; yes|Minsu ate the apple while listening to music|민수는 음악을 들으면서 사과를 먹었어요|0-0 1-4 2-3 3-3 4-2 5-2 6-2 7-1
liking|t; draw; flower; the; pronoun; I|I like drawing the flower|저는 꽃을 그리는 것을 좋아해요|0-0 1-4 2-2 2-3 3-1 4-1
skill|t; play; piano; the; pronoun; she|she knows how to play the piano|그녀는 피아노를 연주할 줄 알아요|0-0 1-4 2-3 3-2 4-2 5-1 6-1
object relative|read; book; buy; name; Minsu; yes; pronoun; I; yes|I read the book that Minsu bought|저는 민수가 산 책을 읽었어요|0-0 1-4 2-3 3-3 4-2 5-1 6-2
subject relative|t; read; magazine; a; student; no; yes; i; laugh|the student who reads a magazine laughs|잡지를 읽는 학생은 웃어요|0-2 1-2 2-1 3-1 4-0 5-0 6-3
"""


CASES = [tuple(line.split("|")) for line in SENTENCES.strip().splitlines()]


@pytest.mark.parametrize(
    ("construction", "wishes", "english", "korean", "links"), CASES, ids=[case[0] for case in CASES]
)
def test_every_construction_writes_the_sentence_expected_by_hand(
    construction: str, wishes: str, english: str, korean: str, links: str
) -> None:
    sentence = written(construction, wishes)
    assert (sentence.english, sentence.korean) == (english, korean)
    assert pharaoh(sentence) == links


def test_the_sentences_expected_by_hand_are_of_all_constructions() -> None:
    assert [case[0] for case in CASES] == list(WRITE)
    assert len(CASES) >= 25


FRAMES = """
present; read; this; Minsu|Minsu reads this book|민수는 이 책을 읽어요
future; read; this; Minsu|Minsu will read this book|민수는 이 책을 읽을 거예요
progressive; read; this; Minsu|Minsu is reading this book|민수는 이 책을 읽고 있어요
past progressive; read; this; Minsu|Minsu was reading this book|민수는 이 책을 읽고 있었어요
intention; read; this; Minsu|Minsu is going to read this book|민수는 이 책을 읽으려고 해요
want; read; this; Minsu|Minsu wants to read this book|민수는 이 책을 읽고 싶어 해요
want; read; this; pronoun; I|I want to read this book|저는 이 책을 읽고 싶어요
try; read; this; Minsu|Minsu tried reading this book|민수는 이 책을 읽어 봤어요
begin; read; this; Minsu|Minsu began to read this book|민수는 이 책을 읽기 시작했어요
can; read; this; Minsu|Minsu can read this book|민수는 이 책을 읽을 수 있어요
could; read; this; Minsu|Minsu could read this book|민수는 이 책을 읽을 수 있었어요
cannot; read; this; Minsu|Minsu cannot read this book|민수는 이 책을 읽을 수 없어요
must; read; this; Minsu|Minsu must read this book|민수는 이 책을 읽어야 해요
must not; read; this; Minsu|Minsu must not read this book|민수는 이 책을 읽으면 안 돼요
may; read; this; Minsu|Minsu may read this book|민수는 이 책을 읽어도 돼요
experience; read; this; Minsu|Minsu has read this book before|민수는 전에 이 책을 읽은 적이 있어요
past; read; this; Minsu; yes; no|Minsu did not read this book|민수는 이 책을 읽지 않았어요
past; read; this; Minsu; yes; yes|Minsu didn't read this book|민수는 이 책을 안 읽었어요
can; read; this; Minsu; yes|Minsu can't read this book|민수는 이 책을 못 읽어요
future; read; this; Minsu; yes; no|Minsu will not read this book|민수는 이 책을 읽지 않을 거예요
future; read; this; Minsu; yes; yes|Minsu won't read this book|민수는 이 책을 안 읽을 거예요
present; read; the; elder; mother|my mother reads the book|우리 어머니께서는 책을 읽으세요
past; t; eat; apple; the; elder; mother|my mother ate the apple|우리 어머니께서는 사과를 드셨어요
past; i; sleep; elder; grandfather|my grandfather slept|우리 할아버지께서는 주무셨어요
progressive; i; sleep; master; teacher|the teacher is sleeping|선생님께서는 주무시고 계세요
past; g; give; box; the; name; Yuna; Minsu|Minsu gave the box to Yuna|민수는 유나에게 상자를 줬어요
past; g; give; box; the; elder; mother; Minsu|Minsu gave the box to my mother|민수는 우리 어머니께 상자를 드렸어요
past; drink; tea; counted; Minsu|Minsu drank two cups of tea|민수는 차 두 잔을 마셨어요
past; buy; pencil; counted; Minsu|Minsu bought two pencils|민수는 연필 두 자루를 샀어요
past; m; go; to the station; +2; yes; by taxi; Minsu|Minsu went to the station by taxi|민수는 택시로 역에 갔어요
past; i; work; +3; +3; Minsu|Minsu worked at the library for two minutes|민수는 도서관에서 이 분 동안 일했어요
"""


@pytest.mark.parametrize("case", FRAMES.strip().splitlines())
def test_an_action_shows_frame_negation_honour_and_counters(case: str) -> None:
    wishes, english, korean = case.split("|")
    sentence = written("action", wishes)
    assert (sentence.english, sentence.korean) == (english, korean)


def test_a_time_and_a_place_come_after_the_subject_in_korean() -> None:
    wishes = "past; read; this; Minsu; +3; at the library; +2; yesterday"
    sentence = written("action", wishes, room=9)
    assert sentence.english == "Minsu read this book at the library yesterday"
    assert sentence.korean == "민수는 어제 도서관에서 이 책을 읽었어요"
    assert pharaoh(sentence) == "0-0 1-5 2-3 3-4 4-2 5-2 6-2 7-1"


REGISTERS = """
action|past; read; the; pronoun; I|저는 책을 읽었어요|저는 책을 읽었습니다|나는 책을 읽었어|나는 책을 읽었다
action|present; read; the; Minsu|민수는 책을 읽어요|민수는 책을 읽습니다|민수는 책을 읽어|민수는 책을 읽는다
action|future; i; walk; Minsu|민수는 걸을 거예요|민수는 걸을 것입니다|민수는 걸을 거야|민수는 걸을 것이다
identity|Minsu; doctor|민수는 의사예요|민수는 의사입니다|민수는 의사야|민수는 의사다
description|room; dark; the|방은 어두워요|방은 어둡습니다|방은 어두워|방은 어둡다
yes-no question|past; i; walk; yes|걸었어요|걸으셨습니까|걸었어
command|i; walk|걸으세요|걸으십시오|걸어
request|i; walk|걸어 주세요|걸어 주십시오|걸어 줘
prohibition|i; walk|걷지 마세요|걷지 마십시오|걷지 마
proposal|i; walk|걸읍시다|걸읍시다|걷자
offer|i; walk|걸을까요|걸을까요|걸을까
"""


@pytest.mark.parametrize("case", REGISTERS.strip().splitlines())
def test_a_register_changes_the_korean_as_its_speakers_do(case: str) -> None:
    construction, wishes, *expected = case.split("|")
    for register, korean in zip(Register, expected, strict=False):
        assert written(construction, wishes, register).korean == korean
