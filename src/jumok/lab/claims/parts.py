"""The parts of a Transformer: heads, mask, residual, norm, layers."""

from jumok.lab.entry import Lab, Quote
from jumok.lab.text import Text

PARTS = (
    Lab(
        "heads",
        Text(
            "How many heads",
            "헤드는 몇 개가 좋은가",
        ),
        Text(
            "With the same number of parameters, several heads capture more than one head does; "
            "full-size heads cost more.",
            "매개변수 수가 같아도 헤드가 여러 개이면 하나일 때보다 더 많은 것을 봅니다. 헤드의 "
            "너비를 모델과 같게 하면 비용이 더 듭니다.",
        ),
        (
            Quote(
                "001",
                259,
                "여러 개의 head에서 병렬로 어텐션을 수행하여 다른 관점으로 정보(연관성)를 "
                "수집하기 위해",
            ),
            Quote(
                "002",
                24,
                "Language를 이해하기 위해서는 1개 이상의 attention matrix/weighted sum이 필요하다.",
            ),
            Quote(
                "002",
                25,
                "현재는 fixed된 양의 parameter/resource를 여러 attention head에 분산시킨다.",
            ),
        ),
        Text(
            "Two, four and eight heads of the same total width do not, on average, lower the loss "
            "of one head, or by less than the interval over the seeds.",
            "전체 너비가 같을 때 헤드 2개, 4개, 8개가 평균적으로 헤드 1개보다 손실을 낮추지 "
            "못하거나, 낮춘 정도가 시드 간 신뢰 구간보다 작으면 성립하지 않습니다.",
        ),
        180,
    ),
    Lab(
        "cheating",
        Text(
            "Training without the look-ahead mask",
            "룩어헤드 마스크 없이 학습하기",
        ),
        Text(
            "Without the mask the training loss falls and generation fails; with it, the "
            "parallel pass and the stepwise pass are the same.",
            "마스크가 없으면 학습 손실은 떨어지지만 생성에 실패합니다. 마스크가 있으면 한꺼번에 "
            "계산해도 한 단계씩 계산해도 결과가 같습니다.",
        ),
        (
            Quote(
                "002",
                81,
                "이렇게 cheating을 방지하게 위해 decoder에서는 Masked Self-Attention을 사용한다.",
            ),
            Quote(
                "001",
                346,
                "애초에 문장 전체를 입력 받기 때문에 미래 시점의 단어까지 참고하 게 됨",
            ),
        ),
        Text(
            "Without the mask the loss under teacher forcing stays above half of that with it, "
            "or generation keeps half of its BLEU, or the parallel and the stepwise pass differ "
            "by more than 1e-4.",
            "마스크 없이 정답 단어를 주며(teacher forcing) 잰 손실이 마스크가 있을 때의 절반보다 "
            "크거나, 스스로 쓸 때의 BLEU가 절반 이상 남거나, 한꺼번에 계산한 로짓과 한 단계씩 "
            "계산한 로짓이 1e-4 넘게 다르면 성립하지 않습니다.",
        ),
        40,
    ),
    Lab(
        "residual",
        Text(
            "Residual connections",
            "잔차 연결",
        ),
        Text(
            "With x + F(x) only the residual is left to learn, and training converges faster.",
            "x + F(x)에서는 잔차만 학습하면 되므로 더 빨리 수렴합니다.",
        ),
        (
            Quote(
                "001",
                317,
                "입력 받으면서 잔여된 부분만 학습하기 때문에 전반적인 학습 난이도가 낮아 초기 "
                "모델 수렴 속도 높아짐",
            ),
            Quote(
                "000",
                213,
                "정보를 낮은 계층에서 중간 계층을 건너뛰고 높은 계층으로 직접 보내는 연결",
            ),
        ),
        Text(
            "With residual connections the model needs three quarters of the steps or more to "
            "reach the loss at which the model without them ends, or ends at a loss that is less "
            "than 5 % lower.",
            "잔차 연결이 없는 모델의 마지막 손실에 이르는 데 잔차 연결이 있는 모델도 3/4 이상의 "
            "단계가 필요하거나, 마지막 손실이 5%도 낮지 않으면 성립하지 않습니다.",
        ),
        70,
    ),
    Lab(
        "norm",
        Text(
            "Layer normalization",
            "층 정규화",
        ),
        Text(
            "Layer normalization gives its values mean 0 and deviation 1 and helps training; the "
            "notes put it after the residual connection.",
            "층 정규화는 값의 평균을 0, 표준편차를 1로 만들고 학습을 돕습니다. 강의에서는 잔차 "
            "연결 뒤에 둡니다.",
        ),
        (
            Quote(
                "000",
                221,
                "한 계층에 속하는 값들을 정규화(평균이 0, 표준편차가 1이 되도록 만드는 변환)하는 "
                "것.",
            ),
            Quote(
                "001",
                322,
                "잔차 연결을 거쳐 층 정규화 과정을 거친다.",
            ),
        ),
        Text(
            "At the highest of four learning rates a norm, before or after, lowers the loss of "
            "no norm by 1 nat or less; or, each at its best rate, by 5 % or less; or a "
            "normalised vector's mean or deviation is off by 0.001 or more.",
            "네 학습률 가운데 가장 높은 학습률에서 정규화(앞이나 뒤)가 손실을 1nat 넘게 낮추지 "
            "못하거나, 각자 가장 좋은 학습률에서 5% 넘게 낮추지 못하거나, 정규화한 벡터의 "
            "평균이나 표준편차가 0.001 이상 벗어나면 성립하지 않습니다.",
        ),
        140,
    ),
    Lab(
        "copies",
        Text(
            "The same structure, not the same weights",
            "같은 구조, 다른 가중치",
        ),
        Text(
            "Encoder layers have the same structure and do not share their weights; what needs "
            "several layers is a question that takes several looks.",
            "인코더의 층들은 구조가 같지만 가중치를 공유하지 않습니다. 층이 여럿 필요한 것은 "
            "여러 번 보아야 풀리는 문제입니다.",
        ),
        (
            Quote(
                "001",
                22,
                "인코더들은 모두 똑같은 구조를 가지고 있지만, weight를 공유하지는 "
                "않는다.(디코더도 마찬가지)",
            ),
        ),
        Text(
            "One layer follows one arrow, or two layers (with weights of their own, or shared) "
            "two arrows, in 90 % of the questions or less; or on two arrows a second layer adds "
            "nothing.",
            "한 층이 화살표 하나를, 또는 두 층(가중치가 따로이든 같든)이 화살표 두 개를 90% 넘게 "
            "따라가지 못하거나, 화살표가 두 개일 때 둘째 층의 이득이 없으면 성립하지 않습니다.",
        ),
        60,
    ),
)
