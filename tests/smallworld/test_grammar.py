# ruff: noqa: E501  (one case a line; a Korean letter counts as two columns)
"""One sentence for every construction, written by hand, and the phrases inside sentences.

A scripted writer picks what the test wishes for in place of drawing it, so that no expectation
hangs on a seed.
"""

from collections.abc import Sequence
from typing import TypeVar

import pytest

from smallworld import phrases
from smallworld.fragment import Fragment, index_pairs
from smallworld.grammar import CONSTRUCTIONS
from smallworld.phrases import called
from smallworld.predicates import Register
from smallworld.writer import NAME_LIST, PhraseWriter

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
existence|cup; thing; counted; no; on the table|there are two cups on the table|탁자 위에 컵 두 개가 있어요|0-5 1-5 2-3 2-4 3-2 4-1 5-0 6-0
location|yes; elder; mother; in the kitchen|my mother is in the kitchen|우리 어머니께서는 부엌에 계세요|0-0 1-1 2-3 3-2 4-2 5-2
possession|pronoun; I; book; novel; yes; yes|I had two novels|저는 소설이 두 권 있었어요|0-0 1-4 2-2 2-3 3-1
comparison|one kind; cute|this dog is cuter than that dog|이 개는 그 개보다 더 귀여워요|0-0 1-1 2-5 3-4 3-5 4-3 5-2 6-3
superlative|yes; smart; Jiho; at our school|Jiho is the smartest at our school|지호는 우리 학교에서 가장 똑똑해요|0-0 1-4 2-3 3-3 3-4 4-2 5-1 6-2
company|Sujin; Jimin; i; work|Sujin and Jimin worked|수진과 지민은 일했어요|0-0 1-0 2-1 3-2
alternatives|drink; tea; coffee; Emma; and|Emma drank tea and coffee|에마는 차와 커피를 마셨어요|0-0 1-3 2-1 3-1 4-2
focus|only {}; Tom; i; dance; no|only Tom danced|톰만 춤췄어요|0-0 1-0 2-1
becoming|Hyunwoo; singer; will|Hyunwoo will become a singer|현우는 가수가 될 거예요|0-0 1-3 2-2 3-1 4-1
journey|Anna; yes; Seoul; Busan; +2; by train|Anna went from Seoul to Busan by train|안나는 서울에서 부산까지 기차로 갔어요|0-0 1-4 2-1 3-1 4-2 5-2 6-3 7-3
weather|yes; rains; in Paris; yesterday|it rained in Paris yesterday|어제 파리에 비가 왔어요|0-3 1-2 1-3 2-1 3-1 4-0
yes-no question|t; read; letter; the; past; yes|did you read the letter|편지를 읽었어요|0-1 1-1 2-1 3-0 4-0
is-it question|room; dark; the|is the room dark|방은 어두워요|0-1 1-0 2-0 3-1
what question|buy; past; no; Paul|what did Paul buy|폴은 무엇을 샀어요|0-1 1-2 2-0 3-2
who question|t; open; door; the; past|who opened the door|누가 문을 열었어요|0-0 1-2 2-1 3-1
where question|no; meet; friend; past; yes|where did you meet my friend|어디에서 제 친구를 만났어요|0-0 1-3 2-3 3-3 4-1 5-2
when or why question|t; sell; car; the; why; no; Mary|why did Mary sell the car|메리는 왜 자동차를 팔았어요|0-1 1-3 2-0 3-3 4-2 5-2
how many question|buy; apple; yes|how many apples did you buy|사과를 몇 개 샀어요|0-1 1-1 1-2 2-0 3-3 4-3 5-3
request|t; help; doctor; this|please help this doctor|이 의사를 도와 주세요|0-3 1-2 2-0 3-1
command|t; listen; song; the|listen to the song|노래를 들으세요|0-1 1-1 2-0 3-0
prohibition|t; touch; ring; the|do not touch the ring|반지를 만지지 마세요|0-2 1-2 2-1 3-0 4-0
proposal|t; bake; bread|let's bake bread|우리 빵을 구워요|0-0 1-2 2-1
offer|t; make; chair; a|shall we make a chair|의자를 만들까요|0-1 1-1 2-1 3-0 4-0
addition|yes; room|the room is warm, and it is clean|방은 따뜻하고 깨끗해요|0-0 1-0 2-1 3-1 4-1 5-2 6-2 7-2
contrast|_side_by_side; yes; run; walk; yes; Jiho; yes; Mina|Jiho ran, but Mina walked|지호는 달렸지만 미나는 걸었어요|0-0 1-1 2-1 3-2 4-3
consequence|yes; hungry; eat; pronoun; she; no; no|she was hungry, so she ate the apple|그녀는 배고파서 사과를 먹었어요|0-0 1-1 2-1 3-1 4-3 5-3 6-2 7-2
reason|yes; rains; ride bus; Minsu; no|Minsu rode a bus because it rained|비가 왔기 때문에 민수는 버스를 탔어요|0-3 1-5 2-4 3-4 4-2 5-2 6-0 6-1 6-2
condition|yes; rains; wear coat; Minsu|Minsu will wear a coat if it rains|비가 오면 민수는 외투를 입을 거예요|0-2 1-5 2-4 3-3 4-3 5-1 6-1 7-0 7-1
concession|yes; is cloudy; go beach; Minsu; yes|even if it is cloudy, Minsu will go to the beach|흐려도 민수는 바닷가에 갈 거예요|0-0 1-0 2-0 3-0 4-0 5-1 6-4 7-3 8-2 9-2 10-2
occasion|come; elder; mother; yes; sleep; child; folk|the child was sleeping when my mother came to the library|우리 어머니께서 도서관에 오셨을 때 아이는 자고 있었어요|0-5 1-5 2-7 3-6 4-4 5-0 6-1 7-3 8-2 9-2 10-2
before and after|before; m; t; eat; rice; Yuna|Yuna went to the library before she ate rice|유나는 밥을 먹기 전에 도서관에 갔어요|0-0 1-5 2-4 3-4 4-4 5-3 6-3 7-2 8-1
saying|say; no; Minsu; past; t; buy; cheese; Yuna|Minsu said that Yuna bought cheese|민수는 유나가 치즈를 샀다고 말했어요|0-0 1-4 2-3 3-1 4-3 5-2
purpose|library; read; book; Minsu; past; go; +2; yesterday|Minsu went to the library to read the book yesterday|민수는 어제 책을 읽으러 도서관에 갔어요|0-0 1-5 2-4 3-4 4-4 5-3 6-3 7-2 8-2 9-1
meanwhile|listen; read; magazine; the; music; Minsu; yes|Minsu read the magazine while listening to music|민수는 음악을 들으면서 잡지를 읽었어요|0-0 1-4 2-3 3-3 4-2 5-2 6-2 7-1
liking|draw; flower; pronoun; I|I like drawing flowers|저는 꽃을 그리는 것을 좋아해요|0-0 1-4 2-2 2-3 3-1
skill|play; piano; pronoun; she|she knows how to play the piano|그녀는 피아노를 연주할 줄 알아요|0-0 1-4 2-3 3-2 4-2 5-1 6-1
object relative|read; book; buy; Minsu; Yuna|Yuna read the book that Minsu bought|유나는 민수가 산 책을 읽었어요|0-0 1-4 2-3 3-3 4-2 5-1 6-2
subject relative|read; magazine; a; woman; yes; singer|the woman who is reading a magazine is a singer|잡지를 읽고 있는 여자는 가수예요|0-3 1-3 2-2 3-2 4-1 5-0 6-0 7-4 8-4 9-4
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
present; read; Minsu|Minsu reads books|민수는 책을 읽어요
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
present; read; elder; mother|my mother reads books|우리 어머니께서는 책을 읽으세요
past; t; eat; apple; the; elder; mother|my mother ate the apple|우리 어머니께서는 사과를 드셨어요
past; i; sleep; elder; grandfather|my grandfather slept|우리 할아버지께서는 주무셨어요
progressive; i; sleep; master; teacher|the teacher is sleeping|선생님께서는 주무시고 계세요
past; g; give; the; name; Minsu; cup; name; Yuna|Minsu gave the cup to Yuna|민수는 유나에게 컵을 줬어요
past; g; give; the; name; Minsu; cup; elder; mother|Minsu gave the cup to my mother|민수는 우리 어머니께 컵을 드렸어요
past; drink; tea; counted; Minsu|Minsu drank two cups of tea|민수는 차 두 잔을 마셨어요
past; buy; pencil; counted; Minsu|Minsu bought two pencils|민수는 연필 두 자루를 샀어요
past; m; go; no; station; +2; yes; by taxi; Minsu|Minsu went to the station by taxi|민수는 택시로 역에 갔어요
past; i; work; +3; +3; Minsu|Minsu worked in the office for two hours|민수는 사무실에서 두 시간 동안 일했어요
could not; laugh; i; Minsu|Minsu could not laugh|민수는 웃지 못했어요
could; laugh; i; Minsu; yes|Minsu couldn't laugh|민수는 못 웃었어요
past; i; dance; yes; Minsu|Minsu did not dance|민수는 춤추지 않았어요
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
action|present; read; Minsu|민수는 책을 읽어요|민수는 책을 읽습니다|민수는 책을 읽어|민수는 책을 읽는다
action|future; i; walk; Minsu|민수는 걸을 거예요|민수는 걸을 것입니다|민수는 걸을 거야|민수는 걸을 것이다
identity|Minsu; doctor|민수는 의사예요|민수는 의사입니다|민수는 의사야|민수는 의사다
description|room; dark; the|방은 어두워요|방은 어둡습니다|방은 어두워|방은 어둡다
yes-no question|past; i; walk; yes|걸었어요|걸으셨습니까|걸었어
command|i; walk|걸으세요|걸어 주십시오|걸어
request|i; walk|걸어 주세요|걸어 주십시오|걸어 줘
prohibition|i; walk|걷지 마세요|걷지 말아 주십시오|걷지 마
command|i; sleep|주무세요|자 주십시오|자
proposal|i; walk|우리 걸어요|걸으시지요|걷자
offer|i; walk|걸을까요|걸을까요|걸을까
"""


@pytest.mark.parametrize("case", REGISTERS.strip().splitlines())
def test_a_register_changes_the_korean_as_its_speakers_do(case: str) -> None:
    construction, wishes, *expected = case.split("|")
    for register, korean in zip(Register, expected, strict=False):
        assert written(construction, wishes, register).korean == korean


LECTURES = """
consequence|yes; tired; cross; yes; yes; no; yes; street; no; yes; yes|the animal did not cross the street because it was too tired|동물은 너무 피곤해서 길을 건너지 않았어요|10-1
consequence|no; cross; yes; yes; no; street; wide; yes; no; yes; yes|the animal did not cross the street because it was too wide|동물은 길이 너무 넓어서 건너지 않았어요|8-1
consequence|yes; tired; cross; yes; yes; no; yes; street; no; no; yes|the animal didn't cross the street because it was too tired|동물은 너무 피곤해서 길을 안 건넜어요|9-1
consequence|no; cross; yes; yes; no; street; wide; yes; yes; yes|the animal could not cross the street because it was too wide|동물은 길이 너무 넓어서 건너지 못했어요|8-1
consequence|no; cross; yes; yes; no; street; wide; yes; no; yes; no|the street was too wide, so the animal did not cross it|길이 너무 넓어서 동물은 건너지 않았어요|11-0
identity|pronoun; I; student|I am a student|저는 학생이에요|0-0
action|hit; pronoun; he; yes; I; yes; pie|he hit me with a pie|그는 파이로 저를 때렸어요|3-1
action|present; like; pronoun; I; robot; adjective; thinking|I like thinking robots|저는 생각하는 로봇을 좋아해요|2-1
"""


@pytest.mark.parametrize("case", LECTURES.strip().splitlines())
def test_the_sentences_of_the_lecture_notes_are_of_the_grammar(case: str) -> None:
    """The last field is a link that must be: of "it" with the thing, where Korean names it, or with
    the end of the reason, where Korean leaves it out."""
    construction, wishes, english, korean, link = case.split("|")
    sentence = written(construction, wishes, room=9)
    assert (sentence.english, sentence.korean) == (english, korean)
    assert link in pharaoh(sentence).split()


def test_a_foreign_name_takes_no_vocative_particle_and_a_korean_one_its_own() -> None:
    assert [called(name) for name in ("Minsu", "Sujin", "John", "Emma", "David")] == [
        "민수야", "수진아", "존", "에마", "데이비드"
    ]  # fmt: skip


def test_among_friends_a_korean_name_ending_in_a_consonant_takes_i() -> None:
    said = [phrases.name(name, "topic", casual=True).fragment.korean for name in NAME_LIST]
    assert {"수진이는", "민수는", "톰은", "존은"} <= set(said)
