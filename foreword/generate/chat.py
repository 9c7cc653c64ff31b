"""A conversation: what was said, how much of it the model can still see, several replies to choose from, and why this one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.seeds import number_of
from foreword.generate.batch import Continuation, generate
from foreword.generate.rerank import ReplyRanking, TextModel, backward_scores, last_that_fit
from foreword.generate.sample import Sampling
from foreword.tokens.turns import join_turns


@dataclass(frozen=True)
class ReplyCandidate:
    """A reply that could be given."""

    text: str
    number: int  # which sample it was, from 1
    tokens: int
    forward: float  # log P(reply | what was said before), its [end] with it
    backward: float | None = None  # log P(what was said before | reply); None: there is no backward model
    score: float = 0.0
    times: int = 1  # how many of the samples were this text


@dataclass(frozen=True)
class Reply:
    """A reply, and all that it was chosen from, the best first."""

    candidates: tuple[ReplyCandidate, ...]
    seen: int  # how many turns the model could see
    cut: bool = False  # the newest turn alone was too long: only its end was seen

    @property
    def text(self) -> str:
        return self.candidates[0].text

    @property
    def first(self) -> ReplyCandidate:
        """The first sample: what would have been said without choosing."""
        return min(self.candidates, key=lambda one: one.number)

    @property
    def likeliest(self) -> ReplyCandidate:
        return max(self.candidates, key=lambda one: one.forward)

    def best(self, ranking: ReplyRanking) -> ReplyCandidate:
        """What another ranking would choose of these."""
        return max(self.candidates, key=lambda one: ranking.score(one.forward, one.backward or 0.0, one.tokens))


@dataclass(frozen=True)
class ChatModel:
    """A model that replies. With a backward model it draws several replies and gives the best (see `rerank`)."""

    forward: TextModel
    sampling: Sampling = field(
        default_factory=lambda: Sampling(max_tokens=40, min_tokens=1, top_k=10)
    )  # k: Zhang et al., 4.2
    candidates: int = 16  # of the same section
    backward: TextModel | None = None
    ranking: ReplyRanking = field(default_factory=ReplyRanking)
    most_turns: int = 0  # of the history; 0: as many as fit

    def __post_init__(self) -> None:
        limit = self.forward.model.context
        if self.candidates < 1:
            raise Fault(f"candidates must be at least 1 (it says {self.candidates}).")
        for reader in filter(None, (self.forward, self.backward)):
            if not reader.tokenizer.has("[end]"):
                raise Fault(
                    f"the tokenizer {reader.tokenizer.name} has no end token: it cannot tell where a turn ends."
                )
        if limit is not None and limit - self.sampling.max_tokens < 8:
            raise Fault(
                f"a reply of {self.sampling.max_tokens} tokens leaves no room for what it answers: "
                f"the model looks back {limit} tokens.",
                f"Give --max-tokens {limit // 2} or fewer.",
            )

    def prompt(self, turns: Sequence[str]) -> tuple[np.ndarray, int, bool]:
        """(ids of the newest turns that leave room for a reply, how many turns, whether the only one was cut)."""
        begin = len(join_turns([], self.forward.tokenizer))
        limit = self.forward.model.context
        said = self.forward.encode(turns[-self.most_turns :] if self.most_turns else turns)
        kept = last_that_fit(said, None if limit is None else limit - begin - self.sampling.max_tokens)
        return join_turns(kept, self.forward.tokenizer), len(kept), len(kept[-1]) < len(said[-1])

    def answers(self, conversations: Sequence[Sequence[str]]) -> list[Reply]:
        """A reply to each conversation, all of them drawn together."""
        prompts = [self.prompt(turns) for turns in conversations]
        rows = [ids for ids, _, _ in prompts for _ in range(self.candidates)]
        made = generate(self.forward.model, self.forward.tokenizer, rows, self.sampling)
        found = []
        for at, (turns, (_, seen, cut)) in enumerate(zip(conversations, prompts)):
            drawn = self._distinct(made[at * self.candidates : (at + 1) * self.candidates])
            found.append(Reply(tuple(self._ranked(drawn, turns[-seen:])), seen, cut))
        return found

    def _distinct(self, samples: Sequence[Continuation]) -> list[ReplyCandidate]:
        """Every text once, in the order they were drawn."""
        numbers: dict[str, list[int]] = {}
        for number, one in enumerate(samples, 1):
            numbers.setdefault(one.text.strip(), []).append(number)
        if len(numbers) > 1:
            numbers.pop("", None)  # nothing is no reply
        firsts = [samples[same[0] - 1] for same in numbers.values()]
        # a reply that the model itself ended pays for its [end]; one that was cut off does not
        return [
            ReplyCandidate(text, same[0], len(one.ids), sum(one.log_probs), None, -same[0], len(same))
            for (text, same), one in zip(numbers.items(), firsts)
        ]

    def _ranked(self, candidates: list[ReplyCandidate], source: Sequence[str]) -> list[ReplyCandidate]:
        """The best first; without a backward model, in the order they were drawn."""
        if self.backward is not None:
            recalled = backward_scores(self.backward, source, [one.text for one in candidates])
            candidates = [
                replace(one, backward=back, score=self.ranking.score(one.forward, back, one.tokens))
                for one, back in zip(candidates, recalled)
            ]
        return sorted(candidates, key=lambda one: -one.score)


class Conversation:
    """Turns by a person and a model, in turn."""

    def __init__(self, chat_model: ChatModel):
        self.chat_model = chat_model
        self.turns: list[str] = []
        self.answer: Reply | None = None  # the last one

    def reply(self, said: str) -> Reply:
        said = said.strip()
        if not said:
            raise Fault("an empty turn cannot be answered.")
        turns = [*self.turns, said]
        # another chance for every turn, so that the same question twice need not have the same answer
        sampling = replace(
            self.chat_model.sampling, seed=number_of("turn", self.chat_model.sampling.seed, len(turns)) >> 1
        )
        self.answer = replace(self.chat_model, sampling=sampling).answers([turns])[0]
        self.turns = [*turns, *([self.answer.text] if self.answer.text else [])]
        return self.answer

    def reset(self) -> None:
        self.turns, self.answer = [], None

    def why(self) -> list[str]:
        """What the last reply was chosen from, a line each."""
        if self.answer is None:
            return ["nothing has been said yet."]
        found = self.answer.candidates
        ranked = found[0].backward is not None
        lines = [
            f"{len(found)} different repl{'ies' if len(found) > 1 else 'y'} of {self.chat_model.candidates} drawn, "
            f"{'ranked by ' + self._rule() if ranked else 'the first one given'}; "
            f"the model saw {self.answer.seen} turn{'s' if self.answer.seen > 1 else ''}"
        ]
        lines.append("    forward" + ("   backward      score" if ranked else "") + "   reply")
        for place, one in enumerate(found):
            back = f" {one.backward:10.2f} {one.score:10.2f}" if ranked else ""
            notes = "  (the first sample)" if ranked and one is self.answer.first else ""
            notes += f"  (x{one.times})" if one.times > 1 else ""
            lines.append(f"{'>' if place == 0 else ' '} {one.forward:9.2f}{back}   {one.text}{notes}")
        return lines

    def _rule(self) -> str:
        ranking = self.chat_model.ranking
        rule = (
            "how well what was said is recalled from it"
            if ranking.balance == 0
            else (f"{ranking.balance:g} forward + {1 - ranking.balance:g} backward")
        )
        return rule + (f" + {ranking.length_bonus:g} x length" if ranking.length_bonus else "")
