"""Verbs of the small world: what they go with, who does them, how, where and when.

A line of a table is

    english | korean[:irregular][/honoured] | objects | traits | manners | places

with the objects, manners and places as words: categories, GROUPS and lemmas of `lexicon.py`, keys
of `circumstances.MANNERS`, and English nouns of places. A verb without places is said without a
place.
"""

from dataclasses import dataclass
from functools import cached_property

from smallworld.english import VerbForms
from smallworld.korean import Stem
from smallworld.lexicon import lemmas_of

PERSON = "person's name"  # what an object "name" stands for among the lemmas

TRAITS = frozenset(
    (
        "many",  # several objects may be counted
        "gains",  # the object becomes the doer's, so it is not "my book" before
        "generic",  # the object is of a kind: "apples"
        "definite",  # the object is one that is known: "the street"
        "daily",  # it is done every day
        "tried",  # one can say that one has tried it, or has done it before
        "brief",  # it has no inside: one is not doing it, and does not begin to
        "chance",  # it befalls one: it is not wanted, planned or asked for
        "stative",  # a state: simple tenses only
        "years",  # it takes so long that years and seasons are said of it
        "skill",  # one knows how to do it
        "adult",  # children do not do it
    )
)


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb. `after` is the English word before its object (listen *to*); `honoured` is the stem
    that replaces this one when the subject is honoured (먹다, 드시다).

    objects: the lemmas of what it is done to, with PERSON for a person's name.
    beasts, prey: the lemmas of animals that do it, and of what they do it to.
    spans: the English units of time that it lasts.
    tools: the lemmas of what it is done with.
    """

    english: VerbForms
    stem: Stem
    after: str
    honoured: Stem | None
    objects: tuple[str, ...]
    traits: frozenset[str]
    manners: tuple[str, ...]
    places: tuple[str, ...]
    beasts: tuple[str, ...]
    prey: tuple[str, ...]
    spans: tuple[str, ...]
    tools: tuple[str, ...]

    @property
    def base(self) -> str:
        return self.english.base

    @property
    def unmarked(self) -> bool:
        """Whether the English past looks like the present: "they read"."""
        return self.english.past == self.english.base

    @cached_property
    def stative(self) -> bool:
        return "stative" in self.traits

    @cached_property
    def splits(self) -> bool:
        """Whether 안 would stand inside (청소하다: 청소 안 하다), so that it is not used."""
        plain = self.stem.plain
        noun_with_do = plain.endswith("하") and not plain.endswith(("아하", "어하"))
        return noun_with_do or plain in COMPOUNDS


COMPOUNDS = ("춤추", "소리치")
"""Verbs of a noun and a verb that do not end in 하다."""

# Who but people does it: "doer words > object words".
BEASTS = {
    "eat": "rabbit squirrel monkey pig goat mouse > carrot apple potato banana tomato",
    "drink": "dog cat horse cow camel goat puppy > water milk",
    "see": "animal bird > animal folk",
    "chase": "predator > prey",
    "catch": "predator eagle > prey",
    "cross": "animal > street road bridge river",
    "sleep": "animal",
    "run": "runner",
    "walk": "runner elephant camel cow bear turtle",
    "swim": "swimmer",
    "cry": "crier",
    "rest": "animal",
}
SPANS = {
    "sleep": "minute hour",
    "run": "minute hour",
    "walk": "minute hour",
    "swim": "minute hour",
    "cry": "minute",
    "dance": "minute hour",
    "work": "hour day month year",
    "rest": "minute hour day",
    "wait": "minute hour",
    "talk": "minute hour",
    "exercise": "minute hour",
    "travel": "day week month",
}
TOOLS = {
    "hit": "pie ball umbrella book hat",
    "cut": "knife",
    "peel": "knife",
    "write": "pen pencil",
    "draw": "pencil pen brush",
    "paint": "brush",
}

TRANSITIVE_TABLE = """
eat/ate/eaten | 먹/드시 | edible | many tried daily | quickly slowly alone together early late |
 restaurant kitchen park school hotel home
drink/drank/drunk | 마시/드시 | drink bottled | many tried daily | quickly slowly alone together |
 restaurant kitchen park office hotel home
buy/bought | 사 | edible drink book volume clothes goods flower vehicle robot instrument |
 many gains brief | again early |  market
sell/sold | 팔 | fruit vehicle clothes flower furniture book stamp robot | many brief adult | |
 market
read/read | 읽 | book text verse | many tried daily | quickly slowly quietly alone again together |
 library park school room garden office home
write/wrote/written | 쓰 | text postcard novel verse | many gains tried daily |
 quickly slowly quietly alone again | library room office school home
see/saw/seen | 보 | film photo animal bird flower name | many tried brief | again together alone | 
find/found | 찾 | belongings puppy cat | many brief | quickly again |
open | 열 | opening box bag bottle jar | brief | quickly slowly carefully quietly again |
close | 닫 | opening box | brief | quickly slowly carefully quietly again |
make/made | 만들 | chair desk table soup salad porridge bread cake pizza cheese movie box basket
 bag dress skirt doll robot pie cookie sandwich | many gains tried | quickly carefully together |
 kitchen home
draw/drew/drawn | 그리 | tree flower animal bird map house | many gains tried daily skill |
 quickly slowly carefully again together | park garden school room beach
sing/sang/sung | 부르:르 | song | many tried daily skill | quietly happily together again |
 church park school theater beach
listen | 듣:ㄷ | song sound | daily | quietly alone together again | room park office home
meet/met | 만나 | name friend kin relative job folk master | many tried brief |
 again alone early late | park station restaurant library airport theater market
help | 돕:ㅂ와 | name friend kin folk job | daily | quietly happily again |
teach/taught | 가르치 | studies | tried daily adult years | happily together again | school church
learn | 배우 | studies song | tried daily years | quickly hard happily together again | school
study | 공부하 | studies | tried daily | hard quietly alone together |
 library school room classroom home
like | 좋아하 | edible film song animal bird flower studies clothes robot sound name |
 stative generic |
hate | 싫어하 | edible film mouse snake dog cat studies | stative generic |
love | 사랑하 | name kin relative elder | stative |
remember | 기억하 | name song film verse | stative |
wash | 씻 | fruit bowl cup spoon bottle | many | quickly carefully together again | kitchen home
sweep/swept | 쓸 | room kitchen yard classroom office | daily |
 quickly carefully alone together again |
carry | 나르:르 | chair desk table bed sofa container | many | quickly slowly carefully together
 again |
push | 밀 | car bicycle truck chair desk table bed sofa door box | |
 slowly carefully again together |
pull | 당기 | chair table door | | slowly carefully again |
throw/threw/thrown | 던지 | ball stone | brief | slowly again | park yard beach school
catch/caught | 잡 | ball frog butterfly mouse rabbit chicken | many brief | quickly alone again |
 park yard garden farm
kick | 차 | ball stone | | again together alone | park yard school beach
hide/hid/hidden | 숨기 | gift ring doll letter key ball cookie book photo | brief |
 quickly carefully quietly again |
break/broke/broken | 깨 | cup bottle mirror jar window bowl | chance | again | kitchen home
repair | 고치 | vehicle machine robot chair desk clock umbrella | skill | quickly carefully again
 alone together | home
ride/rode/ridden | 타 | bicycle bus taxi horse boat motorcycle train airplane |
 tried | again alone together |
drive/drove/driven | 운전하 | car bus taxi truck | tried daily skill adult |
 slowly carefully alone |
wear/wore/worn | 입 | clothes | | again |
choose/chose/chosen | 고르:르 | clothes book present flower cake | many gains brief |
 quickly carefully together again | market
build/built | 짓:ㅅ | house cottage school church hotel palace | gains adult years |
 quickly slowly carefully together again |
pick | 줍:ㅂ | stone button key ring | many gains brief | quickly again | park beach yard
bake | 굽:ㅂ | bread cake cookie pizza potato pie | many gains tried daily skill |
 carefully together again early | bakery kitchen home
pour | 따르 | drink bottled | brief | slowly carefully again |
cut/cut | 자르:르 | baked apple onion carrot cucumber watermelon tree pie | brief |
 slowly carefully again | kitchen
touch | 만지 | pet doll ring stone ball mirror robot | tried brief | carefully again |
collect | 모으 | stamp photo postcard doll stone button | generic tried years | happily together |
cross | 건너 | street road bridge river | definite | quickly slowly carefully together again alone |
hit/hit | 때리 | name | brief chance | |
lock | 잠그 | door window | brief | carefully again |
boil | 끓이 | water tea soup milk | | again | kitchen
load | 싣:ㄷ | chair desk table box bicycle | many brief | quickly carefully together again |
hang/hung | 걸 | clothes clock mirror photo map | brief | carefully again |
raise | 기르:르 | livestock flower | many tried years | happily together | farm home
invite | 초대하 | name friend kin relative job | many brief | again together |
visit | 방문하 | museum palace village zoo church farm library school | tried brief years |
 again alone together |
borrow | 빌리 | book volume umbrella pen pencil bicycle car | many gains brief | again |
lose/lost | 잃어버리 | belongings | chance | again | park station market beach airport
prepare | 준비하 | gift soup salad pizza cake sandwich | many | carefully together early |
 kitchen home
play | 연주하 | instrument | tried daily skill | slowly quietly happily together again |
 theater church school park room
paint | 칠하 | chair desk table house door box | tried skill | quickly slowly carefully together |
fold | 접 | map umbrella chair letter | | carefully again |
fold | 개 | clothes | many | quickly carefully together again | room home
count | 세 | egg ticket button book stamp stone | generic | slowly carefully again together |
peel | 깎 | apple potato peach carrot cucumber | many | quickly carefully slowly | kitchen
chase | 쫓 | dog cat chicken duck mouse rabbit | | quickly again | park yard farm
forget/forgot/forgotten | 잊 | song film name | stative |
"""

INTRANSITIVE_TABLE = """
sleep/slept | 자/주무시 | | daily | alone again | room hotel home
run/ran/run | 달리 | | daily tried | quickly slowly alone together again | park beach school yard
walk | 걷:ㄷ | | daily tried | quickly slowly quietly alone together again |
 park beach garden
swim/swam/swum | 수영하 | | daily tried skill | quickly slowly alone together again | beach
cry | 울 | | chance | quietly alone again | room yard church
laugh | 웃 | | daily | happily quietly again together | school theater restaurant room
dance | 춤추 | | daily tried skill | happily alone together again | theater park school room
work | 일하 | | daily tried | hard early late alone together again |
 office company hospital library restaurant bank farm airport hotel school
rest | 쉬 | | daily | quietly alone together again | park room hotel garden beach home
wait | 기다리 | | | quietly alone together again | station airport hospital restaurant park office
talk | 이야기하 | | daily | quietly happily together again | restaurant park office school garden
shout | 소리치 | | brief | again together | park beach station
exercise | 운동하 | | daily tried | hard early alone together again | park school yard beach home
travel | 여행하 | | tried years | happily alone together again | REGION
"""

GIVING_TABLE = """
give/gave/given | 주 | present book notebook pencil fruit cookie flower photo ticket map |
 many brief
send/sent | 보내 | text gift doll photo postcard flower book | many brief
show/showed/shown | 보여주 | photo map ticket book ring doll gift | many brief
lend/lent | 빌려주 | book volume umbrella tool bicycle car camera | many brief
"""
TO_THE_HONOURED = {"give": "드리", "send": "보내드리", "show": "보여드리", "lend": "빌려드리"}

MOTION_TABLE = """
go/went/gone | 가 | | daily |
come/came/come | 오 | | daily brief |
return | 돌아오 | | brief |
"""

AFTER = {"listen": "to", "pick": "up"}


def _words(text: str) -> tuple[str, ...]:
    return tuple(PERSON if each == "name" else each for each in lemmas_of(text))


def _verb(
    english: str,
    korean: str,
    objects: str = "",
    traits: str = "",
    manners: str = "",
    places: str = "",
) -> Verb:
    plain, _, honoured = korean.partition("/")
    plain, _, irregular = plain.partition(":")
    replacing = Stem(honoured, honoured, honoured[:-1] + "셔", "honorific") if honoured else None
    forms = VerbForms.of(english)
    doers, _, prey = BEASTS.get(forms.base, "").partition(">")
    assert set(traits.split()) <= TRAITS, f"a trait in {traits!r} is not in TRAITS"
    return Verb(
        forms,
        Stem.of(plain, "verb", irregular),
        AFTER.get(forms.base, ""),
        replacing,
        _words(objects),
        frozenset(traits.split()),
        tuple(manners.split()),
        tuple(places.split()),
        lemmas_of(doers),
        lemmas_of(prey),
        tuple(SPANS.get(forms.base, "").split()),
        tuple(TOOLS.get(forms.base, "").split()),
    )


def _table(text: str) -> tuple[Verb, ...]:
    lines = text.replace("\n ", " ").strip().splitlines()
    return tuple(_verb(*(part.strip() for part in line.split("|"))) for line in lines)


TRANSITIVE = _table(TRANSITIVE_TABLE)
INTRANSITIVE = _table(INTRANSITIVE_TABLE)
MOTION = _table(MOTION_TABLE)
# Each with its twin for a receiver who is honoured (할머니께 드리다).
GIVING = tuple(
    (verb, _verb("/".join((verb.base, verb.english.past, verb.english.participle)), twin))
    for verb, twin in zip(_table(GIVING_TABLE), TO_THE_HONOURED.values(), strict=True)
)

BECOME = _verb("become/became/become", "되")
SAY = _verb("say/said", "말하/말씀하시")
KNOW = _verb("know/knew/known", "알")
THINK = _verb("think/thought", "생각하")
VERB = {verb.base: verb for verb in reversed((*TRANSITIVE, *INTRANSITIVE, *MOTION))}
"""By English base; of two verbs with one base, the first."""
LIKE = VERB["like"]
