"""Conjugation, particles and numbers against forms from Korean grammars, written by hand."""

import pytest

from smallworld import circumstances
from smallworld.korean import (
    Stem,
    adnominal,
    attach,
    copula,
    days,
    native_number,
    sino_number,
    with_particle,
)
from smallworld.predicates import finish

ENDINGS = ("-고", "-아요", "-(으)면", "-(으)ㄴ", "-(스)ㅂ니다", "-(느)ㄴ다", "-(으)시")

CONJUGATION = {
    ("먹", "verb", ""): "먹고 먹어요 먹으면 먹은 먹습니다 먹는다 먹으시",
    ("잡", "verb", ""): "잡고 잡아요 잡으면 잡은 잡습니다 잡는다 잡으시",
    ("가", "verb", ""): "가고 가요 가면 간 갑니다 간다 가시",
    ("오", "verb", ""): "오고 와요 오면 온 옵니다 온다 오시",
    ("배우", "verb", ""): "배우고 배워요 배우면 배운 배웁니다 배운다 배우시",
    ("마시", "verb", ""): "마시고 마셔요 마시면 마신 마십니다 마신다 마시시",
    ("쉬", "verb", ""): "쉬고 쉬어요 쉬면 쉰 쉽니다 쉰다 쉬시",
    ("보내", "verb", ""): "보내고 보내요 보내면 보낸 보냅니다 보낸다 보내시",
    ("되", "verb", ""): "되고 돼요 되면 된 됩니다 된다 되시",
    ("공부하", "verb", ""): "공부하고 공부해요 공부하면 공부한 공부합니다 공부한다 공부하시",
    ("살", "verb", ""): "살고 살아요 살면 산 삽니다 산다 사시",
    ("만들", "verb", ""): "만들고 만들어요 만들면 만든 만듭니다 만든다 만드시",
    ("쓰", "verb", ""): "쓰고 써요 쓰면 쓴 씁니다 쓴다 쓰시",
    ("모으", "verb", ""): "모으고 모아요 모으면 모은 모읍니다 모은다 모으시",
    ("따르", "verb", ""): "따르고 따라요 따르면 따른 따릅니다 따른다 따르시",
    ("돕", "verb", "ㅂ와"): "돕고 도와요 도우면 도운 돕습니다 돕는다 도우시",
    ("굽", "verb", "ㅂ"): "굽고 구워요 구우면 구운 굽습니다 굽는다 구우시",
    ("듣", "verb", "ㄷ"): "듣고 들어요 들으면 들은 듣습니다 듣는다 들으시",
    ("싣", "verb", "ㄷ"): "싣고 실어요 실으면 실은 싣습니다 싣는다 실으시",
    ("닫", "verb", ""): "닫고 닫아요 닫으면 닫은 닫습니다 닫는다 닫으시",
    ("짓", "verb", "ㅅ"): "짓고 지어요 지으면 지은 짓습니다 짓는다 지으시",
    ("씻", "verb", ""): "씻고 씻어요 씻으면 씻은 씻습니다 씻는다 씻으시",
    ("부르", "verb", "르"): "부르고 불러요 부르면 부른 부릅니다 부른다 부르시",
    ("고르", "verb", "르"): "고르고 골라요 고르면 고른 고릅니다 고른다 고르시",
    ("크", "adjective", ""): "크고 커요 크면 큰 큽니다 크다 크시",
    ("바쁘", "adjective", ""): "바쁘고 바빠요 바쁘면 바쁜 바쁩니다 바쁘다 바쁘시",
    ("아름답", "adjective", "ㅂ"): (
        "아름답고 아름다워요 아름다우면 아름다운 아름답습니다 아름답다 아름다우시"
    ),
    ("좁", "adjective", ""): "좁고 좁아요 좁으면 좁은 좁습니다 좁다 좁으시",
    ("빨갛", "adjective", "ㅎ"): "빨갛고 빨개요 빨가면 빨간 빨갛습니다 빨갛다 빨가시",
    ("하얗", "adjective", "ㅎ"): "하얗고 하얘요 하야면 하얀 하얗습니다 하얗다 하야시",
    ("좋", "adjective", ""): "좋고 좋아요 좋으면 좋은 좋습니다 좋다 좋으시",
    ("빠르", "adjective", "르"): "빠르고 빨라요 빠르면 빠른 빠릅니다 빠르다 빠르시",
    ("푸르", "adjective", "러"): "푸르고 푸르러요 푸르면 푸른 푸릅니다 푸르다 푸르시",
    ("길", "adjective", ""): "길고 길어요 길면 긴 깁니다 길다 기시",
    ("얇", "adjective", ""): "얇고 얇아요 얇으면 얇은 얇습니다 얇다 얇으시",
}


@pytest.mark.parametrize(("stem", "forms"), CONJUGATION.items(), ids=lambda each: str(each)[:9])
def test_attach_conjugates_every_class(stem: tuple[str, str, str], forms: str) -> None:
    assert [attach(Stem.of(*stem), ending) for ending in ENDINGS] == forms.split()


def test_the_past_and_the_honorific_are_stems_again() -> None:
    listen = Stem.of("듣", "verb", "ㄷ")
    assert attach(listen.past(), "-(스)ㅂ니다") == "들었습니다"
    assert attach(listen.past(), "-(느)ㄴ다고") == "들었다고"
    assert attach(listen.honorific().past(), "-아요") == "들으셨어요"
    assert finish(listen.honorific(), "-아요") == "들으세요"
    assert attach(listen.honorific(), "-(느)ㄴ다") == "들으신다"


def test_adnominal_is_neun_for_verbs_and_eun_for_adjectives() -> None:
    assert adnominal(Stem.of("만들")) == "만드는"
    assert adnominal(Stem.of("맛있", "existence")) == "맛있는"
    assert adnominal(Stem.of("무겁", "adjective", "ㅂ")) == "무거운"
    assert adnominal(Stem.of("친절하", "adjective").honorific()) == "친절하신"


def test_finish_knows_the_copula_after_a_consonant_and_after_a_vowel() -> None:
    student, doctor = copula("학생"), copula("의사")
    assert [finish(student, each) for each in ("-아요", "-아", "-(느)ㄴ다", "-(느)ㄴ다고")] == [
        "학생이에요",
        "학생이야",
        "학생이다",
        "학생이라고",
    ]
    assert [finish(doctor, each) for each in ("-아요", "-아", "-(느)ㄴ다", "-(느)ㄴ다고")] == [
        "의사예요",
        "의사야",
        "의사다",
        "의사라고",
    ]
    assert finish(student.past(), "-아요") == "학생이었어요"
    assert finish(doctor.past(), "-(스)ㅂ니다") == "의사였습니다"
    assert finish(doctor.honorific(), "-아요") == "의사세요"
    assert finish(student.honorific(), "-(스)ㅂ니다") == "학생이십니다"


def test_with_particle_follows_the_final_consonant() -> None:
    cases = ("topic", "subject", "object", "and", "or", "by", "vocative")
    assert [with_particle("책", case) for case in cases] == [
        "책은", "책이", "책을", "책과", "책이나", "책으로", "책아"
    ]  # fmt: skip
    assert [with_particle("차", case) for case in cases] == [
        "차는", "차가", "차를", "차와", "차나", "차로", "차야"
    ]  # fmt: skip


def test_with_particle_takes_final_rieul_as_a_vowel_for_by_alone() -> None:
    assert with_particle("연필", "by") == "연필로"
    assert with_particle("연필", "object") == "연필을"


def test_numbers_are_native_before_native_counters_and_sino_korean_otherwise() -> None:
    assert [native_number(n) for n in (1, 2, 3, 4, 5, 11, 20, 21, 99)] == [
        "한", "두", "세", "네", "다섯", "열한", "스무", "스물한", "아흔아홉"
    ]  # fmt: skip
    assert [sino_number(n) for n in (1, 10, 11, 30, 47, 105, 1988)] == [
        "일", "십", "십일", "삼십", "사십칠", "백오", "천구백팔십팔"
    ]  # fmt: skip


def test_days_are_counted_by_words_of_their_own_up_to_ten() -> None:
    assert [days(n) for n in (1, 2, 3, 4, 5, 7, 10, 15)] == [
        "하루", "이틀", "사흘", "나흘", "닷새", "이레", "열흘", "십오 일"
    ]  # fmt: skip
    assert circumstances.span("day", 2, ago=False).korean == "이틀 동안"
    assert circumstances.span("day", 15, ago=True).korean == "십오 일 전에"
