"""OpenAI's routes, by its own client."""

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import openai
import pytest
import torch

from jumok.decoding import DecodingOptions
from jumok.systems.language_model import LanguageModel
from jumok.systems.masked_model import MaskedModel

SAMPLED = DecodingOptions(beam=1, sample=True, seed=7)


@pytest.fixture
def api(served):
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as api:
        yield api


@pytest.fixture(scope="module")
def letters(folders) -> LanguageModel:
    return LanguageModel.load(folders["letters"], device="cpu")


def test_completions_are_what_the_model_generates(api, letters):
    answer = api.completions.create(model="letters", prompt="the cat", max_tokens=20, seed=7)
    assert answer.choices[0].text == "".join(letters.generate("the cat", SAMPLED, max_tokens=20))
    assert answer.choices[0].finish_reason in ("stop", "length")
    assert answer.usage.prompt_tokens == 7
    assert answer.usage.total_tokens == 7 + answer.usage.completion_tokens
    greedy = DecodingOptions(beam=1)
    answer = api.completions.create(
        model="letters", prompt=[[101, 102], [104, 105]], max_tokens=5, temperature=0, echo=True
    )
    expected = [
        each + "".join(letters.generate(each, greedy, max_tokens=5)) for each in ["ab", "de"]
    ]
    assert [choice.text for choice in answer.choices] == expected


def test_penalties_and_min_p_are_the_models(api, letters):
    given = {"frequency_penalty": 1.5, "presence_penalty": 0.5}
    answer = api.completions.create(
        model="letters", prompt="the cat", max_tokens=20, seed=7, extra_body={"min_p": 0.2}, **given
    )
    options = replace(SAMPLED, min_p=0.2, **given)
    assert answer.choices[0].text == "".join(letters.generate("the cat", options, max_tokens=20))
    greedy = DecodingOptions(beam=1, **given)
    answer = api.completions.create(
        model="letters", prompt="the cat", max_tokens=20, temperature=0, **given
    )
    assert answer.choices[0].text == "".join(letters.generate("the cat", greedy, max_tokens=20))
    plain = DecodingOptions(beam=1)
    assert answer.choices[0].text != "".join(letters.generate("the cat", plain, max_tokens=20))


def test_streams_say_the_same_in_parts(api, letters):
    stream = api.completions.create(
        model="letters", prompt="the cat", max_tokens=20, seed=7, n=2, stream=True,
        stream_options={"include_usage": True},
    )  # fmt: skip
    texts, ends, chunks = ["", ""], [None, None], list(stream)
    for chunk in chunks:
        for choice in chunk.choices:
            texts[choice.index] += choice.text
            ends[choice.index] = choice.finish_reason or ends[choice.index]
    second = DecodingOptions(beam=1, sample=True, seed=8)
    assert texts == [
        "".join(letters.generate("the cat", options, max_tokens=20))
        for options in (SAMPLED, second)
    ]
    assert None not in ends
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens > 2


def test_requests_at_the_same_time_get_their_own_texts(api, letters):
    """Streams and answers at once; several prompts, several texts of each, other options."""
    given = [
        {
            "prompt": ["the cat"[:length], "a dog" * length], "n": 2, "seed": length,
            "max_tokens": 10 + 9 * length, "temperature": 0.0 if length % 3 == 0 else 0.8,
            "stream": length % 2 == 0,
        }
        for length in range(1, 7)
    ]  # fmt: skip

    def ask(body: dict) -> list[str]:
        answer = api.completions.create(model="letters", **body)
        texts = [""] * 4
        for each in answer if body["stream"] else [answer]:
            for choice in each.choices:
                texts[choice.index] += choice.text
        return texts

    with ThreadPoolExecutor(len(given)) as pool:
        found = list(pool.map(ask, given))
    for body, texts in zip(given, found, strict=True):
        options = [DecodingOptions(beam=1)] * 2
        if body["temperature"]:
            options = [replace(SAMPLED, temperature=0.8, seed=body["seed"] + n) for n in (0, 1)]
        assert texts == [
            "".join(letters.generate(prompt, each, max_tokens=body["max_tokens"]))
            for prompt in body["prompt"]
            for each in options
        ]


def test_the_time_of_writing_is_told(client):
    def times(tokens: int) -> dict[str, float]:
        body = {"prompt": ["a", "b c"], "max_tokens": tokens, "temperature": 0}
        told = client.post("/v1/completions", json=body).headers["server-timing"]
        return {name: float(each) for name, each in re.findall(r"(\w+);dur=([\d.]+)", told)}

    short, long = times(1), times(400)
    assert list(short) == ["queue", "encode", "decode", "compute"]
    for found in (short, long):
        assert found["compute"] == pytest.approx(found["encode"] + found["decode"], abs=0.02)
    assert long["decode"] > 2 * short["decode"]


def test_a_stream_ends_with_done(client):
    body = {"prompt": "a", "max_tokens": 2, "stream": True}
    answer = client.post("/v1/completions", json=body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    *events, done, rest = answer.text.split("\n\n")
    assert (done, rest) == ("data: [DONE]", "")
    assert all(json.loads(event.removeprefix("data: "))["choices"] for event in events)


def test_a_text_ends_before_its_stop(api, letters):
    whole = "".join(letters.generate("the cat", SAMPLED, max_tokens=20))
    stop = whole[4:6]
    answer = api.completions.create(
        model="letters", prompt="the cat", max_tokens=20, seed=7, stop=[stop, "never there"]
    )
    assert answer.choices[0].text == whole[: whole.index(stop)]
    assert answer.choices[0].finish_reason == "stop"


@pytest.mark.parametrize("encoding", ["float", "base64", None])
def test_embeddings_are_the_models_vectors(api, folders, encoding):
    texts = ["the cat sat", "the dog"]
    given = {} if encoding is None else {"encoding_format": encoding}
    answer = api.embeddings.create(model="gaps", input=texts, **given)
    expected = MaskedModel.load(folders["gaps"], device="cpu").sentence_vectors(texts)
    found = [each.embedding for each in answer.data]
    if encoding == "base64":
        assert isinstance(found[0], str)
        return
    torch.testing.assert_close(torch.tensor(found), expected)


def test_models_are_listed(api, folders):
    assert [each.id for each in api.models.list()] == list(folders)
    assert api.models.retrieve("gaps").owned_by == "jumok"
    with pytest.raises(openai.NotFoundError, match="There is no model of this name"):
        api.models.retrieve("nothing")


def test_chat_is_refused_with_the_reason(api):
    with pytest.raises(openai.BadRequestError, match="no chat template") as error:
        api.chat.completions.create(model="letters", messages=[{"role": "user", "content": "a"}])
    assert error.value.param == "messages"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"logprobs": 2, "echo": True}, "logprobs with echo is not supported"),
        ({"logprobs": 6}, "less than or equal to 5"),
        ({"suffix": "a"}, "suffix is not supported"),
        ({"presence_penalty": 2.5}, "less than or equal to 2"),
        ({"frequency_penalty": -2.5}, "greater than or equal to -2"),
        ({"extra_body": {"min_p": 1.5}}, "less than or equal to 1"),
        ({"logit_bias": {"5": 1}}, "logit_bias is not supported"),
        ({"stop": list("abcde")}, "at most 4 texts"),
        ({"n": 11}, "At most 10 texts are written for a prompt, and 11 were asked for."),
        ({"max_tokens": 10**6}, "at most 16384 tokens, and this one has about 1000002"),
        ({"prompt": [300]}, "Ids of tokens are numbers from 0 to 259"),
        ({"prompt": [2]}, "These ids are not how"),
        ({"temperature": -1.0}, "greater than or equal to 0"),
        ({"extra_body": {"surprise": 1}}, "The field surprise is not known"),
        ({"model": "en-ko"}, "en-ko cannot complete prompts: its task is translation"),
    ],
)
def test_what_is_not_supported_is_refused(api, given, text):
    with pytest.raises(openai.BadRequestError, match=text) as error:
        api.completions.create(**{"model": "letters", "prompt": "a", **given})
    assert error.value.body["type"] == "invalid_request_error"


def test_a_stream_whose_client_hangs_up_ends(client, served):
    def metric(name: str) -> float:
        lines = client.get("/metrics").text.splitlines()
        return sum(float(line.split(" ")[-1]) for line in lines if line.startswith(name))

    before = metric("jumok_cancelled_total")
    body = {"model": "letters", "prompt": "a", "max_tokens": 16_000, "temperature": 0}
    body["stream"] = True
    with client.stream("POST", "/v1/completions", json=body) as answer:
        assert next(answer.iter_lines()).startswith("data: {")
    until = time.monotonic() + 60
    # the engine may have written the whole text before, and only the sending of it is ended
    while metric("jumok_cancelled_total") == before and time.monotonic() < until:
        time.sleep(0.05)
    assert metric("jumok_cancelled_total") == before + 1
    assert metric("jumok_queue_requests") == metric("jumok_queue_tokens") == 0.0
    assert metric('jumok_tokens_total{direction="out"}') < 16_000


def test_log_probabilities_are_the_models(api, letters):
    """Against the model's own score of the whole text, by another path through the model."""
    answer = api.completions.create(
        model="letters", prompt="the cat", max_tokens=12, temperature=0, logprobs=3
    ).choices[0]
    found = answer.logprobs
    assert "".join(found.tokens) == answer.text
    assert found.text_offset == [len("".join(found.tokens[:place])) for place in range(12)]
    (scored,) = letters.score([f"the cat{answer.text}"])
    expected = scored.token_log_probabilities[7 : 7 + len(found.tokens)]
    assert found.token_logprobs == pytest.approx(expected, abs=1e-3)
    for token, value, top in zip(
        found.tokens, found.token_logprobs, found.top_logprobs, strict=True
    ):
        assert len(top) == 3
        assert top[token] == pytest.approx(value)  # greedy: the most probable one
        assert max(top.values()) == top[token]
    stopped = api.completions.create(
        model="letters", prompt="the cat", max_tokens=12, temperature=0, logprobs=0,
        stop=answer.text[4:6],
    ).choices[0]  # fmt: skip
    assert "".join(stopped.logprobs.tokens) == stopped.text


@pytest.mark.parametrize("stops", [None, 5], ids=["whole", "stopped"])
def test_log_probabilities_come_with_the_parts_of_a_stream(api, stops):
    """Two texts at a time: joined, the parts of each are the answer that comes at once."""
    given = {
        "model": "letters", "prompt": "the cat", "max_tokens": 25, "seed": 7, "n": 2, "logprobs": 2
    }  # fmt: skip
    if stops is not None:
        text = api.completions.create(**given).choices[1].text
        given["stop"] = text[stops : stops + 2]
    whole = [choice.logprobs for choice in api.completions.create(**given).choices]
    found = [[], []]
    for chunk in api.completions.create(**given, stream=True):
        for choice in chunk.choices:
            assert (choice.logprobs is None) == (choice.text == "")
            if choice.logprobs is not None:
                found[choice.index].append(choice.logprobs)
    for parts, expected in zip(found, whole, strict=True):
        assert len(parts) > 2
        for name in ("tokens", "token_logprobs", "top_logprobs", "text_offset"):
            joined = [each for part in parts for each in getattr(part, name)]
            assert joined == getattr(expected, name), name
        assert expected.text_offset == sorted(expected.text_offset)


def test_tokens_that_are_no_whole_character_keep_their_places(api):
    """Bytes: what they have together is one character, at one place in the text."""
    choice = api.completions.create(
        model="letters", prompt="가", max_tokens=40, seed=3, logprobs=0
    ).choices[0]
    told = choice.logprobs
    assert any(name.startswith("<0x") for name in told.tokens)
    assert max(told.text_offset) < len(choice.text)
    for name, offset in zip(told.tokens, told.text_offset, strict=True):
        if len(name) == 1:
            assert choice.text[offset] in (name, "\N{REPLACEMENT CHARACTER}")
