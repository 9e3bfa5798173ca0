"""Every lab by name: its claim and its module, which is imported when it runs."""

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
        seconds: approximate processor time of the short form; docs/lab.md has the measurements.
        reads_encoders: whether it accepts a pretrained encoder.
    """

    name: str
    title: Text
    claim: Text
    lectures: str
    seconds: int
    reads_encoders: bool = False

    def run(self, setting: Setting) -> Findings:
        """Runs lab/NAME.py."""
        run: Callable[[Setting], Findings] = import_module(f"jumok.lab.experiments.{self.name}").run
        return run(setting)


LABS = (
    Lab(
        "scale",
        Text("Why scores are divided by √d_k", "점수를 왜 √d_k로 나누는가"),
        Text(
            "Dot products grow with d_k; dividing them by √d_k keeps softmax from saturating and "
            "its gradient from vanishing.",
            "d_k가 클수록 내적도 커집니다. √d_k로 나누면 softmax가 한 곳에 쏠리지 않고 기울기가 "
            "사라지지 않습니다.",
        ),
        "000, 001, 002",
        1,
    ),
    Lab(
        "order",
        Text(
            "Without positions, attention treats its input as a set",
            "위치 정보가 없는 어텐션은 입력을 집합으로 다룬다",
        ),
        Text(
            "If the words are permuted, the outputs of self-attention are permuted with them; with "
            "position encodings they are not.",
            "단어의 순서를 바꾸면 셀프 어텐션의 출력도 같은 순서로 바뀔 뿐입니다. 위치 정보를 "
            "넣으면 그렇지 않습니다.",
        ),
        "002, 004",
        1,
    ),
    Lab(
        "errata",
        Text("Errors and contradictions in the notes", "강의 노트가 틀렸거나 서로 어긋나는 곳"),
        Text(
            "Six statements of the notes, each computed as written and as corrected.",
            "강의 노트의 여섯 가지 설명을 그대로, 그리고 바로잡아 각각 계산합니다.",
        ),
        "000, 001, 002, 004",
        2,
    ),
    Lab(
        "heads",
        Text("How many heads", "헤드는 몇 개가 좋은가"),
        Text(
            "With the same number of parameters, several heads capture more than one head does; "
            "full-size heads cost more.",
            "매개변수 수가 같아도 헤드가 여러 개이면 하나일 때보다 더 많은 것을 봅니다. 헤드의 "
            "너비를 모델과 같게 하면 비용이 더 듭니다.",
        ),
        "001, 002",
        140,
    ),
    Lab(
        "cheating",
        Text("Training without the look-ahead mask", "룩어헤드 마스크 없이 학습하기"),
        Text(
            "Without the mask the training loss falls and generation fails; with it, the parallel "
            "pass and the stepwise pass are the same.",
            "마스크가 없으면 학습 손실은 떨어지지만 생성에 실패합니다. 마스크가 있으면 한꺼번에 "
            "계산해도 한 단계씩 계산해도 결과가 같습니다.",
        ),
        "001, 002",
        50,
    ),
    Lab(
        "residual",
        Text("Residual connections", "잔차 연결"),
        Text(
            "With x + F(x) only the residual is left to learn, and training converges faster.",
            "x + F(x)에서는 잔차만 학습하면 되므로 더 빨리 수렴합니다.",
        ),
        "000, 001",
        70,
    ),
    Lab(
        "norm",
        Text("Layer normalization", "층 정규화"),
        Text(
            "Layer normalization helps training; the notes put it after the residual connection.",
            "층 정규화는 학습을 돕습니다. 강의에서는 잔차 연결 뒤에 둡니다.",
        ),
        "000, 001",
        90,
    ),
    Lab(
        "copies",
        Text("The same structure, not the same weights", "같은 구조, 다른 가중치"),
        Text(
            "Encoder layers have the same structure and do not share their weights.",
            "인코더의 층들은 구조가 같지만 가중치를 공유하지 않습니다.",
        ),
        "001",
        70,
    ),
    Lab(
        "parallel",
        Text("No for-loop over the sequence", "시퀀스를 도는 for 문 없이"),
        Text(
            "An RNN computes its steps one after another; self-attention computes all positions at "
            "once, at a quadratic cost.",
            "RNN은 한 단계씩 차례로 계산합니다. 셀프 어텐션은 한꺼번에 계산하는 대신 비용이 길이의 "
            "제곱에 비례합니다.",
        ),
        "000, 002",
        9,
    ),
    Lab(
        "positions",
        Text("What a position encoding should be", "위치 인코딩의 조건"),
        Text(
            "A position encoding should be unique, consistent, bounded and deterministic; such "
            "encodings also work for sentences longer than any in training.",
            "위치 인코딩은 위치마다 고유하고, 거리가 일정하고, 값이 일정한 범위 안에 있고, "
            "결정적이어야 합니다. 그런 인코딩은 학습에 없던 긴 문장에서도 잘 작동합니다.",
        ),
        "001, 002, 004",
        110,
    ),
    Lab(
        "alignment",
        Text("What each word attended to", "각 단어가 본 곳"),
        Text(
            "Attention finds the corresponding words: near the diagonal in English-French, "
            "crossing in English-Korean.",
            "어텐션은 서로 대응하는 단어를 찾습니다. "
            "영어-프랑스어에서는 대각선에 가깝고 영어-한국어에서는 엇갈립니다.",
        ),
        "000, 004",
        40,
    ),
    Lab(
        "bottleneck",
        Text("One vector for a whole sentence", "문장 전체를 벡터 하나에 담기"),
        Text(
            "A fixed context vector loses more information the longer the sentence is; attention "
            "does not.",
            "고정된 문맥 벡터는 문장이 길수록 정보를 더 많이 잃습니다. 어텐션은 그렇지 않습니다.",
        ),
        "001, 004",
        120,
    ),
    Lab(
        "context",
        Text("One word, two sentences, two vectors", "한 단어, 두 문장, 두 벡터"),
        Text(
            "In an encoder a word gets a different vector in each sentence, and nearby vectors "
            "belong to similar sentences.",
            "인코더에서는 같은 단어라도 문장마다 벡터가 다르고, 벡터가 가까우면 문장도 비슷합니다.",
        ),
        "000, 001",
        20,
        reads_encoders=True,
    ),
    Lab(
        "coreference",
        Text("What “it” attends to", "“it”이 보는 단어"),
        Text(
            "“it” attends to what it refers to: the animal that was too tired.",
            "“it”의 어텐션은 “it”이 가리키는 것, 곧 너무 피곤했던 동물로 향합니다.",
        ),
        "001",
        20,
        reads_encoders=True,
    ),
    Lab(
        "looking",
        Text("Captions, and what each word attends to", "캡션, 그리고 각 단어가 보는 곳"),
        Text(
            "With attention over the grid, every word attends to the object that it names.",
            "격자에 어텐션을 적용하면 각 단어는 자기가 가리키는 것이 있는 곳을 봅니다.",
        ),
        "004",
        32,
    ),
    Lab(
        "convolution",
        Text("A convolutional network with attention", "어텐션이 있는 합성곱 신경망"),
        Text(
            "Attention over the pixels connects distant positions; convolutions of the same "
            "size do not.",
            "픽셀 사이의 어텐션은 떨어져 있는 것을 이어 주지만, 같은 크기의 합성곱은 그러지 "
            "못합니다.",
        ),
        "004",
        90,
    ),
)


def find(name: str) -> Lab:
    """The lab of this name.

    Raises:
        ConfigError: there is none; the nearest is named.
    """
    names = [lab.name for lab in LABS]
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.7)
        raise ConfigError(
            "there is no such lab.",
            expected=", ".join(names),
            got=name,
            do=f"did you mean {near[0]!r}?" if near else "`jumok lab` lists them",
        )
    return LABS[names.index(name)]
