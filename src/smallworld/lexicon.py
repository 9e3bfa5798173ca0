"""Nouns, names and adjectives of the small world: one English lemma, one Korean lemma.

Every noun belongs to one category. Adjectives name the categories that they describe, and verbs
(`verbs.py`) those of their objects, so that people read books, drink tea and never drink a chair.
"""

from dataclasses import dataclass

from smallworld.english import Grades, with_s
from smallworld.korean import Stem


@dataclass(frozen=True, eq=False)
class Noun:
    """A common noun. `counter` is its Korean counting word; `measure` the English one of a mass
    noun ("cup"), whose plural and article do not exist; `honoured` nouns take 께서 and -시-.

    again: the English pronouns that may take the noun up again: "it", "he", "she".
    """

    english: str
    plural: str
    korean: str
    category: str
    counter: str
    measure: str | None = None
    honoured: bool = False
    again: tuple[str, ...] = ("it",)


@dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective and the noun categories that it describes.

    scale, worth: adjectives of one scale exclude each other (big, small); worth is 1 for what one
        likes to hear, -1 for the opposite, 0 for neither.
    resultant: whether Korean says the present state by the past (낡았어요, "is old").
    attributive: whether it stands before a noun only.
    """

    english: Grades
    stem: Stem
    categories: tuple[str, ...]
    scale: str
    worth: int
    resultant: bool
    attributive: bool


# "category counter: english[/plural] korean, ..."; a category with "= measure" holds mass nouns.
NOUN_TABLE = """
job 명: doctor 의사, student 학생, nurse 간호사, singer 가수, painter 화가,
 farmer 농부, baker 제빵사, cook 요리사, writer 작가, reporter 기자, soldier 군인, lawyer 변호사,
 scientist 과학자, engineer 기술자, dancer 무용수, driver 운전사, judge 판사, actor 배우,
 poet 시인, pilot 조종사, fisherman/fishermen 어부, hunter 사냥꾼
folk 명: child/children 아이, woman/women 여자, man/men 남자, boy 소년, girl 소녀, customer 손님,
 tourist 관광객
court 명: king 왕, queen 여왕, prince 왕자
friend 명: friend 친구, neighbor 이웃
kin 명: brother 남동생, sister 여동생, son 아들, daughter 딸, cousin 사촌
relative 명: uncle 삼촌, aunt 이모
elder 분: mother 어머니, father 아버지, grandmother 할머니, grandfather 할아버지
master 분: teacher 선생님, professor 교수님, pastor 목사님
animal 마리: animal 동물, dog 개, cat 고양이, horse 말, cow 소, pig 돼지, rabbit 토끼,
 tiger 호랑이, lion 사자, bear 곰, fox 여우, monkey 원숭이, elephant 코끼리, mouse/mice 쥐,
 camel 낙타, duck 오리, chicken 닭, frog 개구리, snake 뱀, wolf/wolves 늑대, squirrel 다람쥐,
 turtle 거북이, goat 염소, puppy 강아지
bird 마리: bird 새, eagle 독수리, butterfly 나비, crow 까마귀
fruit 개: apple 사과, banana 바나나, orange 오렌지, potato/potatoes 감자, tomato/tomatoes 토마토,
 carrot 당근, onion 양파, peach 복숭아, strawberry 딸기, cucumber 오이, lemon 레몬, watermelon 수박
snack 개: egg 달걀, cookie 과자, sandwich 샌드위치, pie 파이
dish 그릇 = bowl: rice 밥, soup 국, salad 샐러드, porridge 죽
baked 조각 = piece: bread 빵, cake 케이크, pizza 피자, cheese 치즈
drink 잔 = cup: water 물, milk 우유, coffee 커피, tea 차, juice 주스
bottled 병 = bottle: beer 맥주, wine 포도주
book 권: book 책, magazine 잡지, novel 소설, textbook 교과서
volume 권: dictionary 사전, notebook 공책
text 통: letter 편지, email 이메일
verse 편: poem 시
sheet 장: photo 사진, ticket 표, postcard 엽서, map 지도, stamp 우표
film 편: movie 영화, drama 드라마
song 곡: song 노래
sound 개 = bit: music 음악, jazz 재즈, news 뉴스
vehicle 대: car 자동차, bus/buses 버스, taxi 택시, truck 트럭, bicycle 자전거,
 motorcycle 오토바이
transport 대: train 기차, airplane 비행기, boat 보트
machine 대: computer 컴퓨터, phone 전화기, camera 카메라, television 텔레비전, radiator 난방기
robot 대: machine 기계, robot 로봇
instrument 대: piano 피아노, guitar 기타, violin 바이올린, harp 하프
clothes 벌: coat 외투, suit 양복, dress/dresses 원피스, sweater 스웨터, skirt 치마, shirt 셔츠
furniture 개: chair 의자, desk 책상, table 탁자, bed 침대, sofa 소파, lamp 전등
container 개: box 상자, bag 가방, basket 바구니, bottle 병, bowl 그릇, jar 항아리
thing 개: cup 컵, ball 공, clock 시계, umbrella 우산, mirror 거울, doll 인형, gift 선물,
 ring 반지, hat 모자, spoon 숟가락
trifle 개: key 열쇠, stone 돌, button 단추
tool 자루: pencil 연필, pen 펜, brush 붓, knife/knives 칼, shovel 삽
opening 개: door 문, window 창문
flower 송이: flower 꽃, rose 장미, tulip 튤립, lily 백합
tree 그루: tree 나무, pine 소나무, willow 버드나무
building 채: house 집, cottage 오두막
tower 개: tower 탑
way 개: street 길, road 도로, bridge 다리, river 강
studies 과목 = kind: math 수학, history 역사, science 과학, English 영어, Korean 한국어, art 미술,
 law 법
place 곳: library 도서관, park 공원, market 시장, hospital 병원, museum 박물관, station 역,
 restaurant 식당, bakery 빵집, bank 은행, church 교회, airport 공항, bookstore 서점, theater 극장,
 school 학교, zoo 동물원, beach 바닷가, palace 궁전, hotel 호텔, farm 농장, company 회사
room 곳: room 방, kitchen 부엌, garden 정원, office 사무실, classroom 교실, yard 마당
region 곳: forest 숲, village 마을, city 도시
"""

# Name tables are "english korean", with "=" before a man's name.
KOREAN_NAMES = """
=Minsu 민수, Yuna 유나, =Jiho 지호, Sujin 수진, Mina 미나, =Hyunwoo 현우, Seoyeon 서연, =Junho 준호,
Jimin 지민, =Taeho 태호, Eunji 은지, =Minjun 민준, Boram 보람, =Dongsu 동수
"""
FOREIGN_NAMES = """
Anna 안나, =Paul 폴, Mary 메리, =John 존, Emma 에마, =David 데이비드, =Daniel 다니엘, =Tom 톰
"""
HOME_CITY_TABLE = "Seoul 서울, Busan 부산, Gyeongju 경주, Daegu 대구"
FAR_CITY_TABLE = """
Paris 파리, London 런던, Tokyo 도쿄, France 프랑스, Japan 일본, China 중국, Canada 캐나다,
Rome 로마, Berlin 베를린
"""


def _names(table: str) -> dict[str, str]:
    return dict(pair.replace("=", "").split() for pair in table.split(","))


NATIVE = frozenset(_names(KOREAN_NAMES))
"""Names that take the vocative particle: 민수야, but 존."""
NAMES = _names(KOREAN_NAMES) | _names(FOREIGN_NAMES)
MEN = frozenset(
    pair.split()[0][1:]
    for pair in f"{KOREAN_NAMES}, {FOREIGN_NAMES}".split(",")
    if pair.strip().startswith("=")
)
HOME_CITIES, FAR_CITIES = _names(HOME_CITY_TABLE), _names(FAR_CITY_TABLE)
CITIES = HOME_CITIES | FAR_CITIES | {"Korea": "한국"}

HONOURED_CATEGORIES = ("elder", "master")
PEOPLE = ("job", "folk", "court", "friend", "kin", "relative", "elder", "master")
ANIMATE = (*PEOPLE, "animal", "bird")
MINORS = ("child", "boy", "girl", "son", "daughter")
HE = ("man", "boy", "brother", "son", "uncle", "father", "grandfather", "king", "prince",
      "fisherman")  # fmt: skip
SHE = ("woman", "girl", "sister", "daughter", "aunt", "mother", "grandmother", "queen")

# Nouns of one or more categories that verbs go with together.
GROUPS = {
    "edible": (
        *("apple", "banana", "orange", "potato", "tomato", "carrot", "peach", "strawberry"),
        *("cucumber", "watermelon", "egg", "cookie", "sandwich", "pie", "rice", "soup", "salad"),
        *("porridge", "bread", "cake", "pizza", "cheese"),
    ),
    "predator": ("dog", "cat", "fox", "wolf", "tiger", "lion"),
    "prey": ("mouse", "rabbit", "chicken", "duck", "squirrel", "frog", "bird"),
    "pet": ("dog", "cat", "rabbit", "puppy"),
    "livestock": ("dog", "cat", "rabbit", "chicken", "pig", "cow", "goat", "horse"),
    "runner": ("dog", "cat", "horse", "rabbit", "tiger", "lion", "fox", "wolf", "puppy", "goat"),
    "swimmer": ("duck", "frog", "turtle", "dog", "bear", "puppy"),
    "crier": ("cat", "puppy", "goat", "cow", "bird", "frog"),
    "belongings": (
        *("umbrella", "ring", "hat", "bag", "doll", "key", "book", "notebook", "pencil", "pen"),
        *("ticket", "photo", "camera", "phone"),
    ),
    "goods": (
        *("cup", "ball", "clock", "umbrella", "mirror", "doll", "gift", "ring", "hat", "spoon"),
        *("box", "bag", "basket", "pencil", "pen", "brush", "knife", "chair", "desk", "table"),
        *("bed", "sofa", "lamp", "stamp", "map", "ticket"),
    ),
    "present": ("cup", "clock", "umbrella", "mirror", "doll", "gift", "ring", "hat", "bag", "pen"),
    "seat": ("chair", "desk", "table", "bed", "sofa"),
    "bin": ("box", "bag", "basket"),
}


def _again(english: str, category: str) -> tuple[str, ...]:
    if category not in PEOPLE:
        return ("it",)
    return (*("he",) * (english not in SHE), *("she",) * (english not in HE))


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
                    _again(singular, category),
                )
            )
        table[category] = tuple(nouns)
    return table


NOUNS = _nouns()
ALL_NOUNS = {noun.english: noun for nouns in NOUNS.values() for noun in nouns}


def lemmas_of(words: str) -> tuple[str, ...]:
    """The English lemmas that words name: GROUPS and categories (which come first), or lemmas."""
    found: list[str] = []
    for word in words.split():
        found += GROUPS.get(word) or [noun.english for noun in NOUNS.get(word, ())] or [word]
    return tuple(dict.fromkeys(found))


def nouns_of(words: str) -> tuple[Noun, ...]:
    """The nouns that words name, as `lemmas_of`."""
    return tuple(ALL_NOUNS[lemma] for lemma in lemmas_of(words))


# "english korean[:irregular] scale worth | categories". Flags: * resultant, + attributive.
GOODS = "thing container furniture vehicle machine robot"
ADJECTIVE_TABLE = f"""
big/bigger/biggest 크 size 0 | {GOODS} animal building tree room place region fruit bird clothes
small/smaller/smallest 작 size 0 | {GOODS} animal building room fruit flower bird clothes
long/longer/longest 길 length 0 | film verse text clothes bridge river
short/shorter/shortest 짧 length 0 | film song verse text clothes
old/older/oldest 낡* age -1 | {GOODS} building clothes book volume instrument
beautiful 아름답:ㅂ looks 1 | flower song film tree place verse tower region
pretty/prettier/prettiest 예쁘 looks 1 | flower clothes thing bird
kind/kinder/kindest 친절하 manners 1 | job
smart/smarter/smartest 똑똑하 mind 1 | job animal
busy/busier/busiest 바쁘 time -1 | job
tired 피곤하 rest -1 | job
sleepy/sleepier/sleepiest 졸리 rest -1 |
scared 무섭:ㅂ fear -1 |
thirsty/thirstier/thirstiest 목마르:르 thirst -1 | animal
hungry/hungrier/hungriest 배고프 hunger -1 | job animal bird
full/fuller/fullest 배부르:르 hunger 1 |
happy/happier/happiest 행복하 mood 1 | job
sad/sadder/saddest 슬프 mood -1 | song film verse
sick/sicker/sickest 아프 health -1 | animal
fast/faster/fastest 빠르:르 speed 1 | vehicle transport
slow/slower/slowest 느리 speed -1 | vehicle transport
hot/hotter/hottest 뜨겁:ㅂ heat 0 | water milk coffee tea soup porridge
cold/colder/coldest 차갑:ㅂ heat 0 | drink bottled
warm/warmer/warmest 따뜻하 heat 1 | coat sweater room bread pizza milk tea soup porridge
expensive 비싸 price -1 | {GOODS} clothes instrument fruit bottled baked snack
cheap/cheaper/cheapest 싸 price 1 | {GOODS} clothes fruit bottled baked snack
heavy/heavier/heaviest 무겁:ㅂ weight -1 | {GOODS} instrument opening
light/lighter/lightest 가볍:ㅂ weight 1 | container clothes book volume
clean/cleaner/cleanest 깨끗하 dirt 1 | clothes room place container region
dirty/dirtier/dirtiest 더럽:ㅂ dirt -1 | clothes room container
delicious 맛있 taste 1 | fruit snack dish baked drink bottled
interesting 재미있 interest 1 | book film studies
boring 지루하 interest -1 | book film
famous 유명하 fame 1 | job film song place tower verse
important 중요하 weight 1 | text studies
difficult 어렵:ㅂ difficulty -1 | book studies song verse
easy/easier/easiest 쉽:ㅂ difficulty 1 | book studies song
good/better/best 좋 quality 1 | book film song vehicle machine instrument tool
bad/worse/worst 나쁘 quality -1 | film
thinking 생각하+ mind 0 | robot
red/redder/reddest 빨갛+:ㅎ colour 0 | cup ball umbrella hat vehicle clothes flower
blue/bluer/bluest 파랗+:ㅎ colour 0 | cup ball umbrella hat vehicle clothes bird
yellow/yellower/yellowest 노랗+:ㅎ colour 0 | cup ball umbrella hat vehicle clothes flower bird
white/whiter/whitest 하얗+:ㅎ colour 0 | cup ball umbrella hat vehicle clothes flower
black/blacker/blackest 까맣+:ㅎ colour 0 | cup ball umbrella hat vehicle clothes
green/greener/greenest 푸르+:러 colour 0 | tree
quiet/quieter/quietest 조용하 noise 1 | room place region
noisy/noisier/noisiest 시끄럽:ㅂ noise -1 | room place machine vehicle
bright/brighter/brightest 밝 brightness 1 | room
dark/darker/darkest 어둡:ㅂ brightness -1 | room street road
wide/wider/widest 넓 width 0 | room place way
narrow/narrower/narrowest 좁 width -1 | room street road bridge
high/higher/highest 높 height 0 | tower
dangerous 위험하 danger -1 | way region
safe/safer/safest 안전하 danger 1 | way region
sweet/sweeter/sweetest 달 taste 1 | peach strawberry watermelon apple baked
salty/saltier/saltiest 짜 taste -1 | soup pizza cheese
spicy/spicier/spiciest 맵:ㅂ taste -1 | soup pizza
rich/richer/richest 부유하 wealth 1 | job
poor/poorer/poorest 가난하 wealth -1 | job
brave/braver/bravest 용감하 courage 1 | job
lazy/lazier/laziest 게으르:르 diligence -1 | job animal
healthy/healthier/healthiest 건강하 health 1 | job animal
cute/cuter/cutest 귀엽:ㅂ looks 1 | pet squirrel bird
strange/stranger/strangest 이상하 quality -1 | film song animal robot
soft/softer/softest 부드럽:ㅂ touch 1 | clothes baked
"""


def _adjectives() -> tuple[Adjective, ...]:
    made = []
    for line in ADJECTIVE_TABLE.strip().splitlines():
        head, categories = line.split("|")
        english, korean, scale, worth = head.split()
        korean, _, irregular = korean.partition(":")
        plain = korean.rstrip("*+")
        existing = plain.endswith("있")
        kind = "existence" if existing else "verb" if english == "thinking" else "adjective"
        stem = Stem.of(plain, kind, irregular)
        made.append(
            Adjective(
                Grades.of(english),
                stem,
                tuple(categories.split()),
                scale,
                int(worth),
                "*" in korean,
                "+" in korean,
            )
        )
    return tuple(made)


ADJECTIVES = _adjectives()
ADJECTIVE = {each.english.positive: each for each in ADJECTIVES}
