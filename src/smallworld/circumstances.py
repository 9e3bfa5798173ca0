"""Phrases of time, manner, place, means and company."""

from functools import cache

from smallworld.english import article, number_name
from smallworld.fragment import Fragment, fragment
from smallworld.korean import days, native_number, sino_number, with_particle
from smallworld.lexicon import ALL_NOUNS, CITIES, FAR_CITIES, HOME_CITIES, NAMES, NOUNS, nouns_of

Phrases = tuple[Fragment, ...]


def _times(text: str) -> Phrases:
    lines = (line.split(" = ") for line in text.strip().splitlines())
    return tuple(fragment(english, korean) for english, korean in lines)


RECENTLY = _times("""
yesterday = 어제
last night = 어젯밤에
this morning = 오늘 아침에
last week = 지난주에
""")
LONG_AGO = _times("""
last month = 지난달에
last year = 작년에
last summer = 지난여름에
last winter = 지난겨울에
""")
SHORTLY = _times("""
tomorrow = 내일
soon = 곧
tonight = 오늘 밤에
tomorrow morning = 내일 아침에
next week = 다음 주에
""")
LATER = _times("""
next month = 다음 달에
next year = 내년에
next summer = 내년 여름에
""")
HABIT_TIMES = _times("""
every day = 매일
every morning = 매일 아침
every evening = 매일 저녁
every week = 매주
these days = 요즘
on weekends = 주말에
""")
NOW = _times("now = 지금")
BEFORE = fragment("before", "전에")
FREQUENCIES = _times("""
always = 항상
often = 자주
sometimes = 가끔
usually = 보통
""")
MANNERS = {
    each.english: each
    for each in _times("""
quickly = 빨리
slowly = 천천히
carefully = 조심스럽게
happily = 즐겁게
quietly = 조용히
hard = 열심히
again = 다시
early = 일찍
late = 늦게
alone = 혼자
together = 같이
""")
}
COLLECTIVE = "together"
DAYS = _times("""
on Monday = 월요일에
on Tuesday = 화요일에
on Wednesday = 수요일에
on Thursday = 목요일에
on Friday = 금요일에
on Saturday = 토요일에
on Sunday = 일요일에
today = 오늘
in the morning = 아침에
in the afternoon = 오후에
in the evening = 저녁에
at night = 밤에
at noon = 정오에
this week = 이번 주에
""")
SEASONS = _times("""
in spring = 봄에
in summer = 여름에
in autumn = 가을에
in winter = 겨울에
this year = 올해
""")


def _clock() -> Phrases:
    times = []
    for hour in range(1, 13):
        english, korean = number_name(hour), native_number(hour)
        times.append(fragment(f"at {english} o'clock", f"{korean} 시에", (0, 1), (1, 0), (2, 1)))
        times.append(
            fragment(f"at half past {english}", f"{korean} 시 반에", (0, 2), (1, 2), (2, 1), (3, 0))
        )
        for minutes in (10, 20, 40, 50):
            times.append(
                fragment(
                    f"at {english} {number_name(minutes)}",
                    f"{korean} 시 {sino_number(minutes)} 분에",
                    *((0, 3), (1, 0), (1, 1), (2, 2), (2, 3)),
                )
            )
    return tuple(times)


CLOCK = _clock()

# English unit -> its Korean, how it is counted, and the numbers said of it.
UNITS_OF_TIME = {
    "minute": ("분", sino_number, (5, 10, 15, 20, 30, 40, 50)),
    "hour": ("시간", native_number, (2, 3, 4, 5)),
    "day": ("일", sino_number, (2, 3, 4, 5, 7, 10, 15)),
    "week": ("주", sino_number, (2, 3, 4)),
    "month": ("달", native_number, (2, 3, 4, 5, 6, 10)),
    "year": ("년", sino_number, (2, 3, 4, 5, 10, 20)),
}


@cache
def span(unit: str, number: int, ago: bool) -> Fragment:
    """A span of time: "for three hours" (세 시간 동안), "two days ago" (이틀 전에)."""
    korean, numeral, _ = UNITS_OF_TIME[unit]
    said = days(number) if unit == "day" else f"{numeral(number)} {korean}"
    words = f"{number_name(number)} {unit}s"
    end, last = ("전에" if ago else "동안"), said.count(" ")
    counted = ((0, 0), (1, last))
    if ago:
        return fragment(f"{words} ago", f"{said} {end}", *counted, (2, last + 1))
    later = ((i + 1, j) for i, j in counted)
    return fragment(f"for {words}", f"{said} {end}", (0, last + 1), *later)


# Lemma of a place -> its English words without the preposition "to", and its Korean.
SITES = (
    {noun.english: ("at the", noun.english, noun.korean) for noun in NOUNS["place"]}
    | {noun.english: ("in the", noun.english, noun.korean) for noun in nouns_of("room region")}
    | {english: ("in", english, korean) for english, korean in CITIES.items()}
    | {"home": ("at", "home", "집")}
)


def _sites(case: str, preposition: str | None) -> dict[str, Fragment]:
    """Every site with a particle; preposition: in place of "at" and "in" ("to the park")."""
    built = {}
    for lemma, (before, english, korean) in SITES.items():
        at, *the = before.split()
        said = (preposition or at, *the, english)
        if lemma == "home" and preposition == "to":
            said = ("home",)
        built[lemma] = fragment(" ".join(said), with_particle(korean, case))
    return built


ACTING_AT = _sites("acting at", None)
BEING_AT = _sites("at", None)
GOING_TO = _sites("at", "to")
RETURNING_TO = _sites("towards", "to")
COMING_FROM = _sites("from", "from")
UP_TO = _sites("until", "to")
HAUNTS = tuple(SITES[noun.english][1] for noun in NOUNS["place"] if noun.english != "palace")
"""Where people go and are found on any day."""
BASES = ("home", "home", "school", "office", "hotel", "village", "farm", "hospital", *HOME_CITIES)
"""What people return to."""


def some(sites: dict[str, Fragment], lemmas: tuple[str, ...]) -> Phrases:
    """The phrases of those places; "REGION" stands for all cities."""
    wide = tuple(CITIES) if "REGION" in lemmas else ()
    return tuple(sites[lemma] for lemma in (*lemmas, *wide) if lemma != "REGION")


REGIONS_AT = some(BEING_AT, tuple(CITIES))
REGIONS_BEING = tuple(
    fragment(f"in {name}", with_particle(korean, "topic")) for name, korean in CITIES.items()
)
REGIONS = some(ACTING_AT, tuple(CITIES))

POSITIONS = {
    "on": "위에",
    "under": "아래에",
    "in": "안에",
    "behind": "뒤에",
    "beside": "옆에",
    "in front of": "앞에",
}


@cache
def placed(preposition: str, words: str) -> Phrases:
    """ "on the table" (탁자 위에), for every noun that words name."""
    width = len(preposition.split())
    pairs = (*((i, 1) for i in range(width)), (width, 0), (width + 1, 0))
    korean = POSITIONS[preposition]
    return tuple(
        fragment(f"{preposition} the {noun.english}", f"{noun.korean} {korean}", *pairs)
        for noun in nouns_of(words)
    )


def _where(*pairs: tuple[str, str], sites: tuple[str, ...]) -> Phrases:
    positions = (where for preposition, words in pairs for where in placed(preposition, words))
    return (*positions, *some(BEING_AT, sites))


SMALL = _where(
    ("on", "table desk chair bed sofa"),
    ("in", "box bag basket"),
    ("under", "table desk chair bed"),
    sites=("room", "kitchen", "office", "classroom", "home"),
)
FOOD = _where(
    ("on", "table"),
    ("in", "basket bag box bowl"),
    sites=("kitchen", "market", "restaurant", "home"),
)
LARGE = _where(
    ("beside", "desk bed sofa window"),
    ("in front of", "window door"),
    sites=("room", "office", "classroom", "library"),
)
OUTDOORS = _where(
    ("under", "tree"),
    ("behind", "tree building"),
    ("beside", "tree building"),
    ("in front of", "building"),
    sites=("park", "yard", "farm", "zoo", "forest", "garden"),
)
STREETS = _where(
    ("in front of", "building hospital school church bank hotel"),
    ("behind", "building school hotel"),
    sites=("station", "airport", "park", "yard"),
)
PEOPLES = _where(sites=(*HAUNTS, "kitchen", "garden", "office", "classroom", "yard"))
# Category -> where its nouns are.
FOUND_AT = (
    dict.fromkeys(("thing", "trifle", "tool", "book", "volume", "sheet", "text"), SMALL)
    | dict.fromkeys(("fruit", "snack"), FOOD)
    | dict.fromkeys(("container", "furniture"), LARGE)
    | dict.fromkeys(("animal", "bird"), OUTDOORS)
    | dict.fromkeys(("vehicle",), STREETS)
    | dict.fromkeys(("job", "folk"), PEOPLES)
    | {"flower": _where(("on", "table desk"), sites=("garden", "yard", "park", "room"))}
)


def _by(words: str) -> Phrases:
    return tuple(
        fragment(f"by {noun.english}", with_particle(noun.korean, "by")) for noun in nouns_of(words)
    )


BY_ROAD = _by("car bus taxi bicycle")
BY_LAND = _by("car bus train")
BY_AIR = _by("airplane")


def means(lemma: str) -> Phrases:
    """What one takes to get there."""
    if lemma in FAR_CITIES or lemma == "Korea":
        return BY_AIR
    return BY_LAND if lemma in HOME_CITIES else BY_ROAD


@cache
def with_tool(lemma: str) -> Fragment:
    """What something is done with: "with a knife" (칼로)."""
    korean = with_particle(ALL_NOUNS[lemma].korean, "by")
    return fragment(f"with {article(lemma)} {lemma}", korean)


WITH_FRIEND = tuple(
    fragment(f"with {english}", f"{with_particle(korean, 'with')} 같이", (0, 1), (1, 0))
    for english, korean in NAMES.items()
)
