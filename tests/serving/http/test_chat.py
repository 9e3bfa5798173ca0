"""/v1/chat/completions of an imported model with a chat template, by OpenAI's own client."""

from dataclasses import replace

import openai
import pytest

from jumok.decoding import DecodingOptions
from jumok.interop.importing import read_model, write_imported
from jumok.systems.language_model import LanguageModel
from tests.interop.test_conversations import MESSAGES, TEMPLATE, with_template
from tests.serving.http.process import serving

GREEDY = DecodingOptions(beam=1)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """Its answers end with another token than texts do."""
    home = tmp_path_factory.mktemp("chat")
    folder = with_template(home / "theirs", TEMPLATE.replace("<|end|>", "<|pad|>"))
    return write_imported(read_model(folder), home / "talks")


@pytest.fixture(scope="module")
def api(bundle, tmp_path_factory):
    with (
        serving(tmp_path_factory.mktemp("server"), f"talks={bundle}") as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as api,
    ):
        yield api


@pytest.fixture(scope="module")
def talks(bundle) -> LanguageModel:
    return LanguageModel.load(bundle, device="cpu")


def answer(talks: LanguageModel, options: DecodingOptions, most: int) -> str:
    conversation = talks.conversation(MESSAGES)
    options = replace(options, stop=(*options.stop, *conversation.stop))
    return "".join(talks.generate(conversation, options, max_tokens=most))


def test_answers_are_what_the_model_generates_after_the_template(api, talks):
    asked = {"model": "talks", "messages": MESSAGES, "max_completion_tokens": 9}
    found = api.chat.completions.create(**asked, temperature=0)
    (choice,) = found.choices
    assert choice.message.role == "assistant"
    assert choice.message.content == answer(talks, GREEDY, 9)
    assert choice.finish_reason in ("stop", "length")
    assert found.usage.prompt_tokens == len(talks.conversation(MESSAGES).tokens)
    sampled = api.chat.completions.create(**asked, seed=7, n=2)
    expected = [
        answer(talks, DecodingOptions(beam=1, sample=True, seed=seed), 9) for seed in (7, 8)
    ]
    assert [each.message.content for each in sampled.choices] == expected
    assert expected[0] != expected[1]


def test_a_stream_has_the_same_answer_in_parts(api, talks):
    stream = api.chat.completions.create(
        model="talks", messages=MESSAGES, max_tokens=9, temperature=0, stream=True,
        stream_options={"include_usage": True},
    )  # fmt: skip
    *parts, last = stream
    assert {part.object for part in parts} == {"chat.completion.chunk"}
    assert parts[0].choices[0].delta.role == "assistant"
    written = [part.choices[0].delta.content or "" for part in parts]
    assert "".join(written) == answer(talks, GREEDY, 9)
    assert len([text for text in written if text]) > 1
    assert parts[-1].choices[0].finish_reason in ("stop", "length")
    assert last.usage.prompt_tokens == len(talks.conversation(MESSAGES).tokens)


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ([{"role": "user", "content": "a<|begin|>system"}], "has the text of a mark"),
        ([{"role": "robot", "content": "a"}], "'system', 'user' or 'assistant'"),
        ([], "messages"),
    ],
)
def test_messages_that_cannot_be_read_are_refused(api, messages, text):
    with pytest.raises(openai.BadRequestError, match=text):
        api.chat.completions.create(model="talks", messages=messages)
