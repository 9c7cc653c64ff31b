"""OpenAI's own SDK against the server: what it reads, and the errors it raises."""

from __future__ import annotations

import asyncio

import numpy as np
import openai
import pytest

from tests.unit.serve.served_models import running


@pytest.fixture
def client(server):
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0, timeout=600) as found:
        yield found


def test_it_lists_completes_and_streams(client, name) -> None:
    assert name in [one.id for one in client.models.list()]
    assert client.models.retrieve(name).owned_by == "foreword"
    asked = {"model": name, "prompt": "The class", "max_tokens": 12, "seed": 5}
    whole = client.completions.create(**asked, logprobs=3)
    assert whole.usage.completion_tokens == len(whole.choices[0].logprobs.tokens) == 12
    pieces = list(client.completions.create(**asked, stream=True))
    assert "".join(piece.choices[0].text for piece in pieces) == whole.choices[0].text
    assert pieces[-1].choices[0].finish_reason == whole.choices[0].finish_reason


def test_it_embeds(client, models) -> None:
    """The SDK asks for base64 unless told otherwise."""
    found = client.embeddings.create(model="gpt2", input=["a sentence", "another"])
    assert np.allclose(
        [one.embedding for one in found.data], models["gpt2"].embed(["a sentence", "another"]), atol=1e-6
    )


def test_it_does_so_without_waiting(server, name) -> None:
    async def several() -> list[str]:
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="any", timeout=600) as client:

            async def one(seed: int) -> str:
                pieces = await client.completions.create(model=name, prompt="The", max_tokens=9, seed=seed, stream=True)
                return "".join([piece.choices[0].text async for piece in pieces])

            return await asyncio.gather(*map(one, range(6)))

    expected = [server.post("/v1/completions", model=name, prompt="The", max_tokens=9, seed=seed) for seed in range(6)]
    assert asyncio.run(several()) == [one["choices"][0]["text"] for one in expected]


def test_what_is_wrong_has_its_own_class(client, models) -> None:
    ask = client.completions.create
    with pytest.raises(openai.NotFoundError, match="no model is called"):
        ask(model="gpt22", prompt="x")
    with pytest.raises(openai.BadRequestError, match="reads at most 32 tokens") as caught:
        ask(model="gpt2", prompt=[5] * 40)
    assert caught.value.code == "context_length_exceeded"
    with pytest.raises(openai.BadRequestError, match="temperature"):
        ask(model="gpt2", prompt="x", temperature="warm")  # type: ignore[arg-type]
    with pytest.raises(openai.BadRequestError, match="not trained on dialogues"):
        client.chat.completions.create(model="lstm", messages=[{"role": "user", "content": "x"}])
    with running({"kneser-ney": models["kneser-ney"]}, api_key="secret") as locked:
        for key, fails in (("wrong", True), ("secret", False)):
            with openai.OpenAI(base_url=f"{locked.url}/v1", api_key=key, max_retries=0) as other:
                if not fails:
                    assert other.models.list().data
                    continue
                with pytest.raises(openai.AuthenticationError, match="missing or wrong"):
                    other.models.list()


def test_it_chats(store) -> None:
    from tests.unit.serve.served_models import loaded

    chat = loaded("dialogpt", store("dialogues"), store("dialogues", "valid"))
    with running({"chat": chat}) as server, openai.OpenAI(base_url=f"{server.url}/v1", api_key="any") as client:
        asked = {
            "model": "chat",
            "messages": [{"role": "user", "content": "what is class?"}],
            "seed": 2,
            "max_tokens": 9,
        }
        whole = client.chat.completions.create(**asked).choices[0]
        pieces = list(client.chat.completions.create(**asked, stream=True))
        text = "".join(piece.choices[0].delta.content or "" for piece in pieces)
        assert text.strip() == whole.message.content
        assert pieces[-1].choices[0].finish_reason == whole.finish_reason
