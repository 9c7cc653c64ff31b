"""What requests hold: OpenAI's fields, and a few of ours (top_k, min_tokens, repetition_penalty)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

SEEDS = 2**63 - 1
Text = Annotated[str, Field(max_length=1 << 20)]
Ids = Annotated[list[Annotated[int, Field(ge=0, lt=1 << 31, strict=True)]], Field(max_length=1 << 17)]
Stop = Annotated[str, Field(max_length=200)]
Prompts = (
    Text
    | Ids
    | Annotated[list[Text], Field(min_length=1, max_length=128)]
    | Annotated[list[Ids], Field(min_length=1, max_length=128)]
)


class Asked(BaseModel):
    """Unknown fields are refused: a mistyped one would be ignored in silence."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    model: Annotated[str, Field(max_length=500)]


class StreamOptions(BaseModel):
    model_config = ConfigDict(extra="ignore")

    include_usage: bool = False


class Sampled(Asked):
    """What completions and chat share."""

    max_tokens: Annotated[int, Field(ge=0, le=1 << 20)] | None = None
    min_tokens: Annotated[int, Field(ge=0, le=1 << 20)] = 0
    temperature: Annotated[float, Field(ge=0, le=100)] | None = 1.0
    top_p: Annotated[float, Field(gt=0, le=1)] | None = 1.0
    top_k: Annotated[int, Field(ge=0, le=1 << 31)] = 0
    repetition_penalty: Annotated[float, Field(gt=0, le=100)] = 1.0
    n: Annotated[int, Field(ge=1, le=128)] | None = 1
    stop: Stop | Annotated[list[Stop], Field(max_length=16)] | None = None
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    logit_bias: Annotated[dict[str, Annotated[float, Field(ge=-100, le=100)]], Field(max_length=1024)] | None = None
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    user: Text | None = None  # who asks; nothing is done with it
    frequency_penalty: Annotated[float, Field(ge=0, le=0)] | None = 0  # there is repetition_penalty instead
    presence_penalty: Annotated[float, Field(ge=0, le=0)] | None = 0

    @property
    def stops(self) -> tuple[str, ...]:
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())


class CompletionAsked(Sampled):
    prompt: Prompts = ""
    echo: bool | None = False
    logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    return_token_ids: bool = False  # the ids of what was written, beside its text
    best_of: Annotated[int, Field(ge=1, le=128)] | None = None

    @model_validator(mode="after")
    def _best(self) -> CompletionAsked:
        if self.best_of is not None and self.best_of < (self.n or 1):
            raise ValueError("best_of must be at least n")
        if self.best_of is not None and self.best_of > (self.n or 1) and self.stream:
            raise ValueError("best_of cannot be streamed: which text is the best is known at the end")
        return self


class TextPart(BaseModel):
    model_config = ConfigDict(extra="forbid")

    type: Literal["text"]
    text: Text


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid")

    role: Literal["system", "developer", "user", "assistant"]
    content: Text | Annotated[list[TextPart], Field(min_length=1, max_length=64)]
    name: Text | None = None

    @property
    def text(self) -> str:
        return self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)


class ChatAsked(Sampled):
    messages: Annotated[list[Message], Field(min_length=1, max_length=1000)]
    max_completion_tokens: Annotated[int, Field(ge=0, le=1 << 20)] | None = None
    min_tokens: Annotated[int, Field(ge=0, le=1 << 20)] = 1
    top_k: Annotated[int, Field(ge=0, le=1 << 31)] = 10
    logprobs: bool | None = False
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None


class EmbeddingsAsked(Asked):
    input: Prompts
    encoding_format: Literal["float", "base64"] = "float"
    pool: Literal["", "mean", "first", "last", "rarity"] = ""  # "": as the model was made
    user: Text | None = None


def as_texts(given: Any) -> list[Any]:
    """One prompt or several, as a list of prompts."""
    if isinstance(given, str) or (given and isinstance(given[0], int)) or not given:
        return [given]
    return list(given)


# ------------------------------------------------------------------------------------------------------- /v1/foreword

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")
Name = Annotated[str, Field(max_length=500)]
Several = Text | Annotated[list[Text], Field(min_length=1, max_length=128)]
Sequences = Annotated[list[Ids], Field(min_length=1, max_length=256)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]


class ScoreAsked(Asked):
    text: Several
    given: Text | None = None  # the source, for a model that writes from one
    alternatives: Annotated[int, Field(ge=0, le=50)] = 5  # of each token


class LogProbsAsked(Asked):
    sequences: Sequences
    starts: list[Annotated[int, Field(ge=0, le=1 << 20)]]


class NextAsked(Asked):
    sequences: Annotated[list[Ids], Field(min_length=1, max_length=64)]


class FillAsked(Asked):
    text: Text
    k: Annotated[int, Field(ge=1, le=1000)] = 5


class TranslateAsked(Asked):
    text: Text | Annotated[list[Text], Field(min_length=1, max_length=32)]
    beam: Annotated[int, Field(ge=1, le=16)] = 4
    length_penalty: Annotated[float, Field(ge=0, le=10)] = 0.6
    max_tokens: Annotated[int, Field(ge=1, le=512)] | None = 128


class LabelsAsked(Asked):
    texts: Annotated[
        list[Text | Annotated[list[Text], Field(min_length=2, max_length=2)]], Field(min_length=1, max_length=128)
    ]
    task: Name = ""  # of a run that was fine-tuned on several


class NeighboursAsked(Asked):
    word: Name
    k: Annotated[int, Field(ge=1, le=1000)] = 10


class SimilarityAsked(Asked):
    pairs: Annotated[list[tuple[Text, Text]], Field(min_length=1, max_length=128)]


class MixAsked(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    models: Annotated[dict[Name, Annotated[float, Field(ge=0, le=1e6)]], Field(min_length=1, max_length=16)]
    text: Text = ""  # to be scored
    prompt: Text = ""  # to be continued
    max_tokens: Annotated[int, Field(ge=0, le=4096)] = 0
    temperature: Annotated[float, Field(ge=0, le=100)] = 1.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    seed: Seed = 0


class CandidatesAsked(Asked):
    turns: Annotated[list[Text], Field(min_length=1, max_length=1000)]
    backward: Name = ""  # a served model that ranks
    n: Annotated[int, Field(ge=1, le=64)] = 16
    max_tokens: Annotated[int, Field(ge=1, le=1024)] | None = None  # 40, or fewer where the context is short
    temperature: Annotated[float, Field(ge=0, le=100)] = 1.0
    top_k: Annotated[int, Field(ge=0, le=1 << 31)] = 10
    balance: Annotated[float, Field(ge=0, le=1)] = 0.0
    length_bonus: Annotated[float, Field(ge=-1e6, le=1e6)] = 0.0
    seed: Seed = 0
