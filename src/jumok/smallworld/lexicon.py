"""The words of the small world: one English lemma, one Korean lemma, and what goes with what.

Nouns belong to one category; verbs and adjectives name the categories that they go with, so that
people read books and drink tea, and nobody drinks a chair.
"""

from dataclasses import dataclass

from jumok.smallworld.english import Grades, VerbForms, with_s
from jumok.smallworld.korean import Stem


@dataclass(frozen=True, eq=False)
class Noun:
    """A common noun. `counter` is its Korean counting word; `measure` the English one of a mass
    noun ("cup"), whose plural and article do not exist; `honoured` nouns take 께서 and -시-."""

    english: str
    plural: str
    korean: str
    category: str
    counter: str
    measure: str | None = None
    honoured: bool = False


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb. `after` is the English word before its object (listen *to*); `objects` and
    `subjects` are categories, or "person" and "animal" for who acts; `honoured` is the stem that
    replaces this one when the subject is honoured (먹다, 드시다); `splits` says that 안 would stand
    inside (청소하다: 청소 안 하다), so the short negation is not used."""

    english: VerbForms
    stem: Stem
    objects: tuple[str, ...]
    subjects: str
    after: str
    stative: bool
    honoured: Stem | None

    @property
    def unmarked(self) -> bool:
        """Whether the English past looks like the present: "they read"."""
        return self.english.past == self.english.base

    @property
    def splits(self) -> bool:
        plain = self.stem.plain
        return len(plain) > 2 and plain.endswith("하") and not plain.endswith("아하")


@dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective and the noun categories that it describes."""

    english: Grades
    stem: Stem
    categories: tuple[str, ...]


# "category counter: english[/plural] korean, ..."; a category with "= measure" holds mass nouns.
NOUN_TABLE = """
job 명: doctor 의사, student 학생, friend 친구, nurse 간호사, singer 가수, painter 화가,
 farmer 농부, baker 제빵사, cook 요리사, writer 작가, reporter 기자, soldier 군인, lawyer 변호사,
 scientist 과학자,
 engineer 기술자, neighbor 이웃, child/children 아이, woman/women 여자, man/men 남자, boy 소년,
 girl 소녀, dancer 무용수, driver 운전사, customer 손님, judge 판사, actor 배우, poet 시인,
 pilot 조종사, tourist 관광객, fisherman/fishermen 어부, hunter 사냥꾼, king 왕, prince 왕자
kin 명: brother 남동생, sister 여동생, uncle 삼촌, aunt 이모, son 아들, daughter 딸, cousin 사촌
elder 분: mother 어머니, father 아버지, grandmother 할머니, grandfather 할아버지
master 분: teacher 선생님, professor 교수님, pastor 목사님
animal 마리: dog 개, cat 고양이, horse 말, cow 소, pig 돼지, rabbit 토끼, tiger 호랑이,
 lion 사자, bear 곰, fox 여우, monkey 원숭이, elephant 코끼리, mouse/mice 쥐, camel 낙타,
 duck 오리, chicken 닭, frog 개구리, snake 뱀, wolf/wolves 늑대, squirrel 다람쥐, turtle 거북이,
 goat 염소, puppy 강아지
bird 마리: bird 새, eagle 독수리, butterfly 나비, crow 까마귀
fruit 개: apple 사과, banana 바나나, orange 오렌지, potato/potatoes 감자, tomato/tomatoes 토마토,
 egg 달걀, cookie 과자, carrot 당근, onion 양파, peach 복숭아, strawberry 딸기, cucumber 오이,
 sandwich 샌드위치, lemon 레몬, watermelon 수박
dish 그릇 = bowl: rice 밥, soup 국, salad 샐러드, porridge 죽
baked 조각 = piece: bread 빵, cake 케이크, pizza 피자, cheese 치즈
drink 잔 = cup: water 물, milk 우유, coffee 커피, tea 차, juice 주스
bottled 병 = bottle: beer 맥주, wine 포도주, vinegar 식초
book 권: book 책, magazine 잡지, novel 소설, dictionary 사전, textbook 교과서, notebook 공책
text 통: letter 편지, email 이메일
sheet 장: photo 사진, ticket 표, postcard 엽서, map 지도
film 편: movie 영화, drama 드라마, poem 시
song 곡: song 노래
sound 개 = bit: music 음악, jazz 재즈, news 뉴스
vehicle 대: car 자동차, bus/buses 버스, taxi 택시, truck 트럭, bicycle 자전거, boat 보트,
 motorcycle 오토바이
machine 대: computer 컴퓨터, phone 전화기, camera 카메라, television 텔레비전, radiator 난방기
instrument 대: piano 피아노, guitar 기타, violin 바이올린, harp 하프
clothes 벌: coat 외투, suit 양복, dress/dresses 원피스, sweater 스웨터, skirt 치마, shirt 셔츠
furniture 개: chair 의자, desk 책상, table 탁자, bed 침대, sofa 소파, lamp 전등
container 개: box 상자, bag 가방, basket 바구니, bottle 병, bowl 그릇, jar 항아리
thing 개: cup 컵, ball 공, key 열쇠, clock 시계, umbrella 우산, mirror 거울, doll 인형, gift 선물,
 ring 반지, hat 모자, spoon 숟가락, stone 돌, button 단추
tool 자루: pencil 연필, pen 펜, brush 붓, knife/knives 칼, shovel 삽
opening 개: door 문, window 창문
flower 송이: flower 꽃, rose 장미, tulip 튤립, lily 백합
tree 그루: tree 나무, pine 소나무, willow 버드나무
building 채: house 집, cottage 오두막, tower 탑
studies 과목 = kind: math 수학, history 역사, science 과학, English 영어, Korean 한국어, art 미술,
 law 법
place 곳: library 도서관, park 공원, market 시장, hospital 병원, museum 박물관, station 역,
 restaurant 식당, bakery 빵집, bank 은행, church 교회, airport 공항, bookstore 서점, theater 극장,
 school 학교, zoo 동물원, beach 바닷가, palace 궁전, hotel 호텔, farm 농장, company 회사
room 곳: room 방, kitchen 부엌, garden 정원, office 사무실, classroom 교실, forest 숲, village 마을,
 city 도시, cave 동굴, yard 마당
"""

NAME_TABLE = """
Minsu 민수, Yuna 유나, Jiho 지호, Sujin 수진, Mina 미나, Hyunwoo 현우, Seoyeon 서연, Junho 준호,
Jimin 지민, Taeho 태호, Eunji 은지, Minjun 민준, Boram 보람, Dongsu 동수, Anna 안나, Paul 폴,
Mary 메리, John 존, Emma 에마, David 데이비드, Daniel 다니엘, Tom 톰
"""
CITY_TABLE = """
Seoul 서울, Busan 부산, Paris 파리, London 런던, Tokyo 도쿄, Gyeongju 경주, Korea 한국,
France 프랑스, Japan 일본, China 중국, Canada 캐나다, Daegu 대구, Rome 로마, Berlin 베를린
"""


def _names(table: str) -> dict[str, str]:
    return dict(pair.split() for pair in table.split(","))


NAMES = _names(NAME_TABLE)
CITIES = _names(CITY_TABLE)

HONOURED_CATEGORIES = ("elder", "master")
PEOPLE = ("job", "kin", "elder", "master")
ANIMATE = (*PEOPLE, "animal", "bird")
EDIBLE = ("fruit", "dish", "baked")
DRINKABLE = ("drink", "bottled")
READABLE = ("book", "text")
PORTABLE = ("container", "thing", "tool", "book")


def _nouns() -> dict[str, tuple[Noun, ...]]:
    table: dict[str, tuple[Noun, ...]] = {}
    for line in NOUN_TABLE.strip().replace(",\n ", ", ").splitlines():
        head, entries = line.split(": ")
        category, counter, *measure = head.replace("= ", "").split()
        nouns = []
        for entry in entries.split(", "):
            english, korean = entry.split()
            singular, *plural = english.split("/")
            nouns.append(
                Noun(
                    singular,
                    plural[0] if plural else with_s(singular),
                    korean,
                    category,
                    counter,
                    measure[0] if measure else None,
                    category in HONOURED_CATEGORIES,
                )
            )
        table[category] = tuple(nouns)
    return table


NOUNS = _nouns()


def nouns_of(categories: tuple[str, ...]) -> tuple[Noun, ...]:
    """All nouns of the categories, in the order of the table."""
    return tuple(noun for category in categories for noun in NOUNS[category])


def _verb(
    english: str,
    korean: str,
    irregular: str = "",
    *,
    objects: tuple[str, ...] = (),
    subjects: str = "person",
    after: str = "",
    stative: bool = False,
    honoured: str | None = None,
) -> Verb:
    replacing = None
    if honoured is not None:
        replacing = Stem(honoured, honoured, honoured[:-1] + "셔", "honorific")
    stem = Stem.of(korean, "verb", irregular)
    forms = VerbForms.of(english)
    return Verb(forms, stem, objects, subjects, after, stative, replacing)


TRANSITIVE = (
    _verb("eat/ate/eaten", "먹", objects=EDIBLE, subjects="animal", honoured="드시"),
    _verb("drink/drank/drunk", "마시", objects=DRINKABLE, honoured="드시"),
    _verb(
        "buy/bought", "사", objects=(*EDIBLE, *DRINKABLE, *PORTABLE, "clothes", "flower", "vehicle")
    ),
    _verb(
        "sell/sold", "팔", objects=("fruit", "vehicle", "clothes", "flower", "furniture", "thing")
    ),
    _verb("read/read", "읽", objects=READABLE),
    _verb("write/wrote/written", "쓰", objects=("text", "postcard", "novel")),
    _verb("see/saw/seen", "보", objects=("film", "sheet", "animal", "job"), subjects="animal"),
    _verb("find/found", "찾", objects=(*PORTABLE, "sheet", "animal"), subjects="animal"),
    _verb("open", "열", objects=("opening", "container")),
    _verb("close", "닫", objects=("opening", "container")),
    _verb(
        "make/made", "만들", objects=("furniture", "dish", "baked", "film", "container", "clothes")
    ),
    _verb("draw/drew/drawn", "그리", objects=("tree", "flower", "animal", "map", "house")),
    _verb("sing/sang/sung", "부르", "르", objects=("song",)),
    _verb("listen", "듣", "ㄷ", objects=("song", "sound"), after="to"),
    _verb("meet/met", "만나", objects=("name", *PEOPLE)),
    _verb("help", "돕", "ㅂ와", objects=("name", "job", "kin")),
    _verb("teach/taught", "가르치", objects=("studies",)),
    _verb("learn", "배우", objects=("studies", "song")),
    _verb("study", "공부하", objects=("studies",)),
    _verb("like", "좋아하", objects=("fruit", "film", "animal", "flower", "name"), stative=True),
    _verb("hate", "싫어하", objects=("fruit", "film", "animal", "studies"), stative=True),
    _verb("love", "사랑하", objects=("name", "job", "kin"), stative=True),
    _verb("remember", "기억하", objects=("name", "song", "film", "job"), stative=True),
    _verb("wash", "씻", objects=("fruit", "bowl", "cup", "spoon")),
    _verb("sweep/swept", "쓸", objects=("kitchen", "yard", "classroom", "office", "cave")),
    _verb("carry", "나르", "르", objects=("furniture", "container")),
    _verb("push", "밀", objects=("vehicle", "furniture", "door")),
    _verb("pull", "당기", objects=("chair", "table", "door", "box")),
    _verb("throw/threw/thrown", "던지", objects=("ball", "stone", "hat", "bag")),
    _verb("catch/caught", "잡", objects=("ball", "animal", "bird"), subjects="animal"),
    _verb("kick", "차", objects=("ball", "stone", "box")),
    _verb("hide/hid/hidden", "숨기", objects=PORTABLE),
    _verb("break/broke/broken", "깨", objects=("cup", "bottle", "mirror", "jar", "window", "bowl")),
    _verb("repair", "고치", objects=("vehicle", "machine", "furniture", "clock")),
    _verb(
        "ride/rode/ridden", "타", objects=("bicycle", "bus", "taxi", "horse", "boat", "motorcycle")
    ),
    _verb("drive/drove/driven", "운전하", objects=("car", "bus", "taxi", "truck")),
    _verb("wear/wore/worn", "입", objects=("clothes",)),
    _verb("choose/chose/chosen", "고르", "르", objects=("clothes", "book", "thing", "flower")),
    _verb("build/built", "짓", "ㅅ", objects=("building", "school", "church", "hotel", "palace")),
    _verb("pick", "줍", "ㅂ", objects=("stone", "button", "key", "ring"), after="up"),
    _verb("bake", "굽", "ㅂ", objects=("bread", "cake", "cookie", "pizza", "potato")),
    _verb("pour", "따르", objects=DRINKABLE),
    _verb("cut/cut", "자르", "르", objects=("baked", "fruit", "tree")),
    _verb("touch", "만지", objects=(*PORTABLE, "animal"), subjects="animal"),
    _verb("collect", "모으", objects=("sheet", "doll", "stone", "button")),
    _verb("lock", "잠그", objects=("door", "window", "box")),
    _verb("boil", "끓이", objects=("water", "tea", "soup", "milk")),
    _verb("load", "싣", "ㄷ", objects=("furniture", "container", "bicycle")),
    _verb("hang/hung", "걸", objects=("clothes", "clock", "mirror", "photo", "map")),
    _verb(
        "raise", "기르", "르", objects=("dog", "cat", "rabbit", "chicken", "pig", "cow", "flower")
    ),
    _verb("invite", "초대하", objects=("name", *PEOPLE)),
    _verb("visit", "방문하", objects=("museum", "palace", "city", "village", "zoo")),
    _verb("borrow", "빌리", objects=("book", "umbrella", "pen", "pencil", "bicycle", "car")),
    _verb("lose/lost", "잃어버리", objects=PORTABLE),
    _verb("prepare", "준비하", objects=("gift", "dish", "baked")),
    _verb("play", "연주하", objects=("instrument",)),
    _verb("paint", "칠하", objects=("furniture", "building", "door", "box")),
    _verb("fold", "접", objects=("clothes", "map", "umbrella", "chair")),
    _verb("count", "세", objects=("camel", "egg", "ticket", "button", "book")),
    _verb("peel", "깎", objects=("apple", "potato", "peach", "carrot", "cucumber")),
    _verb("chase", "쫓", objects=("animal", "bird"), subjects="animal"),
    _verb("forget/forgot/forgotten", "잊", objects=("song", "film", "name", "gift"), stative=True),
)

INTRANSITIVE = (
    _verb("sleep/slept", "자", subjects="animal", honoured="주무시"),
    _verb("run/ran/run", "달리", subjects="animal"),
    _verb("walk", "걷", "ㄷ", subjects="animal"),
    _verb("swim/swam/swum", "수영하"),
    _verb("cry", "울", subjects="animal"),
    _verb("laugh", "웃"),
    _verb("dance", "춤추"),
    _verb("work", "일하"),
    _verb("rest", "쉬", subjects="animal"),
    _verb("wait", "기다리"),
    _verb("talk", "이야기하"),
    _verb("shout", "소리치"),
    _verb("exercise", "운동하"),
    _verb("stand/stood", "서", subjects="animal"),
    _verb("travel", "여행하"),
)

# Each with its twin for a receiver who is honoured (할머니께 드리다).
GIVING = (
    (
        _verb("give/gave/given", "주", objects=(*PORTABLE, "fruit", "flower", "sheet")),
        _verb("give/gave/given", "드리"),
    ),
    (
        _verb("send/sent", "보내", objects=("text", "thing", "flower", "sheet")),
        _verb("send/sent", "보내드리"),
    ),
    (
        _verb("show/showed/shown", "보여주", objects=("sheet", "book", "thing")),
        _verb("show/showed/shown", "보여드리"),
    ),
    (
        _verb("lend/lent", "빌려주", objects=("book", "umbrella", "tool", "vehicle")),
        _verb("lend/lent", "빌려드리"),
    ),
)

MOTION = (
    _verb("go/went/gone", "가", subjects="animal"),
    _verb("come/came/come", "오", subjects="animal"),
    _verb("return", "돌아오", subjects="animal"),
)

BECOME = _verb("become/became/become", "되")
SAY = _verb("say/said", "말하", honoured="말씀하시")
KNOW = _verb("know/knew/known", "알")
LIKE = next(verb for verb in TRANSITIVE if verb.english.base == "like")
THINK = _verb("think/thought", "생각하")


def _adjective(english: str, korean: str, categories: str, irregular: str = "") -> Adjective:
    kind = "existence" if korean.endswith("있") else "adjective"
    stem = Stem.of(korean, kind, irregular)
    return Adjective(Grades.of(english), stem, tuple(categories.split()))


GOODS = "thing container furniture vehicle machine"
ADJECTIVES = (
    _adjective("big/bigger/biggest", "크", f"{GOODS} animal building tree room place fruit bird"),
    _adjective("small/smaller/smallest", "작", f"{GOODS} animal building room fruit flower bird"),
    _adjective("long/longer/longest", "길", "film song tool text clothes"),
    _adjective("short/shorter/shortest", "짧", "film song tool text clothes"),
    _adjective("old/older/oldest", "낡", f"{GOODS} building clothes book instrument"),
    _adjective("beautiful", "아름답", "flower song film tree place", "ㅂ"),
    _adjective("pretty/prettier/prettiest", "예쁘", "flower clothes thing bird sheet"),
    _adjective("kind/kinder/kindest", "친절하", "job"),
    _adjective("smart/smarter/smartest", "똑똑하", "job animal"),
    _adjective("busy/busier/busiest", "바쁘", "job"),
    _adjective("tired", "피곤하", "job"),
    _adjective("hungry/hungrier/hungriest", "배고프", "job animal bird"),
    _adjective("happy/happier/happiest", "행복하", "job"),
    _adjective("sad/sadder/saddest", "슬프", "song film"),
    _adjective("sick/sicker/sickest", "아프", "job animal"),
    _adjective("fast/faster/fastest", "빠르", "vehicle animal", "르"),
    _adjective("slow/slower/slowest", "느리", "vehicle animal"),
    _adjective("hot/hotter/hottest", "뜨겁", "drink dish", "ㅂ"),
    _adjective("cold/colder/coldest", "차갑", "drink bottled dish", "ㅂ"),
    _adjective("warm/warmer/warmest", "따뜻하", "clothes room baked drink"),
    _adjective("expensive", "비싸", f"{GOODS} clothes instrument fruit bottled baked"),
    _adjective("cheap/cheaper/cheapest", "싸", f"{GOODS} clothes fruit bottled baked"),
    _adjective("heavy/heavier/heaviest", "무겁", f"{GOODS} instrument", "ㅂ"),
    _adjective("light/lighter/lightest", "가볍", "thing container clothes book", "ㅂ"),
    _adjective("clean/cleaner/cleanest", "깨끗하", "clothes room place thing container drink"),
    _adjective("dirty/dirtier/dirtiest", "더럽", "clothes room thing container", "ㅂ"),
    _adjective("delicious", "맛있", "fruit dish baked drink bottled"),
    _adjective("interesting", "재미있", "book film studies"),
    _adjective("boring", "지루하", "book film studies"),
    _adjective("famous", "유명하", "job film song place building"),
    _adjective("important", "중요하", "text book studies"),
    _adjective("difficult", "어렵", "book studies", "ㅂ"),
    _adjective("easy/easier/easiest", "쉽", "book studies song", "ㅂ"),
    _adjective("good/better/best", "좋", "book film song vehicle machine instrument tool"),
    _adjective("bad/worse/worst", "나쁘", "film song tool"),
    _adjective("red/redder/reddest", "빨갛", f"{GOODS} clothes flower", "ㅎ"),
    _adjective("blue/bluer/bluest", "파랗", f"{GOODS} clothes flower bird", "ㅎ"),
    _adjective("yellow/yellower/yellowest", "노랗", f"{GOODS} clothes flower bird", "ㅎ"),
    _adjective("white/whiter/whitest", "하얗", f"{GOODS} clothes flower animal bird", "ㅎ"),
    _adjective("black/blacker/blackest", "까맣", f"{GOODS} clothes animal bird", "ㅎ"),
    _adjective("green/greener/greenest", "푸르", "tree", "러"),
    _adjective("quiet/quieter/quietest", "조용하", "room place machine job"),
    _adjective("noisy/noisier/noisiest", "시끄럽", "room place machine vehicle", "ㅂ"),
    _adjective("bright/brighter/brightest", "밝", "room"),
    _adjective("dark/darker/darkest", "어둡", "room building", "ㅂ"),
    _adjective("wide/wider/widest", "넓", "room place"),
    _adjective("narrow/narrower/narrowest", "좁", "room"),
    _adjective("high/higher/highest", "높", "building tree"),
    _adjective("sweet/sweeter/sweetest", "달", "fruit baked drink"),
    _adjective("salty/saltier/saltiest", "짜", "dish baked"),
    _adjective("spicy/spicier/spiciest", "맵", "dish", "ㅂ"),
    _adjective("rich/richer/richest", "부유하", "job"),
    _adjective("poor/poorer/poorest", "가난하", "job"),
    _adjective("brave/braver/bravest", "용감하", "job animal"),
    _adjective("lazy/lazier/laziest", "게으르", "job animal", "르"),
    _adjective("healthy/healthier/healthiest", "건강하", "job animal"),
    _adjective("cute/cuter/cutest", "귀엽", "animal bird", "ㅂ"),
    _adjective("strange/stranger/strangest", "이상하", "film song animal bird building"),
    _adjective("soft/softer/softest", "부드럽", "clothes baked", "ㅂ"),
    _adjective("round/rounder/roundest", "둥글", "thing table"),
    _adjective("safe/safer/safest", "안전하", "place room vehicle"),
)
