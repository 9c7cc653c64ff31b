"""Replies of a model to prompts that people answered, and whether choosing among several by a backward model helps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from foreword.basics.messages import Fault
from foreword.basics.seeds import chance, number_of
from foreword.generate.chat import ChatModel, Reply
from foreword.generate.rerank import ReplyRanking, TextModel
from foreword.generate.sample import Sampling
from foreword.report import Report, Section, Table
from foreword.runs.folder import RunFolder
from foreword.runs.opening import TrainedModel
from foreword.runs.place import model_place
from foreword.tasks import replies
from foreword.tasks.replies import PairedReplies, ReplyMetric
from foreword.text import reading
from foreword.tokens.store import TokenStore, is_store
from foreword.tokens.turns import SKIPPED, split_turns

TELLING = ("dull replies", "distinct-1", "distinct-2")
AT_ONCE = 8  # prompts answered together
FEWEST = 20  # prompts below which nothing is said about a difference
SAMPLING, CANDIDATES = Sampling(max_tokens=40, min_tokens=1, top_k=10, temperature=1.0), 16
Tell = Callable[[float], None]


def reader(path: str, precision: str = "float32", backward: bool = False) -> TextModel:
    """A model to talk with, or to rank with; a run that was trained to read the other way round is refused."""
    opened = TrainedModel.opened(path, precision)
    run = RunFolder(model_place(path).folder)
    reverse = getattr(run.recipe().objective, "reverse", None) if run.exists() else None
    if reverse is not None and reverse != backward:
        raise Fault(
            f"{path} reads turns {'backward: it ranks replies' if reverse else 'forward: it replies'}.",
            f"Talk with the forward model:  foreword chat FORWARD --mmi {path}"
            if reverse
            else "Train a backward model:  foreword train dialogpt-backward --data STORE",
        )
    return TextModel(opened.language_model, opened.tokenizer)


@dataclass(frozen=True)
class DialoguePrompt:
    """What was said, and how a person answered it."""

    turns: tuple[str, ...]
    reference: str


def prompts(data: Path, number: int, seed: int = 0, split: str = "", column: str = "text") -> list[DialoguePrompt]:
    """One prompt from each of `number` dialogues, spread over the data: everything before one of its replies."""
    every = [turns for turns in _dialogues(data, split, column) if len(turns) > 1]
    if not every:
        raise Fault(
            f"{data} has no dialogue of two turns.", "Turns are separated by tabs or __eou__, or are a list in jsonl."
        )
    chosen = [every[i * len(every) // number] for i in range(number)] if number < len(every) else every
    found = []
    for place, turns in enumerate(chosen):
        at = int(chance(number_of("prompt", seed), place).integers(1, len(turns)))
        found.append(DialoguePrompt(tuple(turns[:at]), turns[at]))
    return found


def _dialogues(data: Path, split: str, column: str) -> Iterator[Sequence[str]]:
    if not is_store(data):
        for document in reading.documents([data], "dialogues", column):
            assert document.dialogue is not None
            yield document.dialogue.turns
        return
    store = TokenStore.open(data, split or "test")
    if SKIPPED not in store.marks:
        raise Fault(
            f"{data} does not know where turns end: it was not made from dialogues.",
            "Give dialogues as text, or make a store:  foreword tokens TEXT --documents dialogues --out STORE",
        )
    end, decode = store.tokenizer.special("[end]"), store.tokenizer.decode
    for i in range(store.documents):
        yield [decode(turn).strip() for turn in split_turns(store.document(i), end)]


def answered(
    chat_model: ChatModel, asked: Sequence[DialoguePrompt], seed: int = 0, tell: Tell | None = None
) -> list[Reply]:
    """A reply to every prompt, whose random numbers do not depend on how many prompts there are."""
    found: list[Reply] = []
    for at in range(0, len(asked), AT_ONCE):
        how = replace(chat_model.sampling, seed=number_of("prompts", seed, at) >> 1)
        found += replace(chat_model, sampling=how).answers([prompt.turns for prompt in asked[at : at + AT_ONCE]])
        if tell:
            tell(min(at + AT_ONCE, len(asked)) / len(asked))
    return found


@dataclass(frozen=True)
class DialogueReport:
    """Replies by several systems, their metrics, and the differences that --mmi makes."""

    about: str
    metrics: list[ReplyMetric]
    replies: dict[str, list[str]]  # by system; "person" is how people answered
    differences: list[PairedReplies]  # MMI beside the first sample
    asked: list[DialoguePrompt]

    def value(self, system: str, metric: ReplyMetric) -> float:
        return metric.of(self.replies[system], self.replies["person"])

    def values(self) -> dict[str, object]:
        return {
            "about": self.about,
            "prompts": len(self.asked),
            "systems": {name: {one.name: self.value(name, one) for one in self.metrics} for name in self.replies},
            "mmi": {one.metric.name: [one.first, one.second, *one.difference.interval] for one in self.differences},
            "verdict": self.verdict(),
        }

    def verdict(self) -> str:
        """Does MMI help on this data?"""
        if not self.differences:
            return ""
        if len(self.asked) < FEWEST:
            return f"{len(self.asked)} prompts are too few to say whether MMI helps; give at least {FEWEST}."
        by_name = {one.metric.name: one for one in self.differences}
        telling = [by_name[name] for name in TELLING]
        signs = [one.sign for one in telling]
        found = {
            (False, True): "helps",
            (True, False): "hurts",
            (True, True): "helps in part and hurts in part",
            (False, False): "makes no difference that could be measured",
        }[min(signs) < 0, max(signs) > 0]
        near = ""
        for way, sign in (("nearer to", 1), ("further from", -1)):
            if those := [name for name in ("BLEU-4", "NIST-4") if by_name[name].sign == sign]:
                near = f" It is {way} what people said ({', '.join(those)})."
        return (
            f"MMI {found} on this data: " + "; ".join(map(str, telling)) + f". {len(self.asked)} prompts, the same "
            f"candidates with and without choosing, 95% intervals of a paired bootstrap.{near}"
        )

    def rows(self) -> Iterator[dict[str, object]]:
        """Every prompt, and what each system answered."""
        for place, prompt in enumerate(self.asked):
            yield {"turns": prompt.turns, **{name: said[place] for name, said in self.replies.items()}}

    def report(self) -> Report:
        rows = [
            {"": name, **{metric.name: metric.metric.shown(self.value(name, metric)) for metric in self.metrics}}
            for name in self.replies
        ]
        lead = [self.verdict()] if self.differences else []
        table = Table.of(rows, caption=self.about)
        return Report("Replies", lead, [Section("Replies to people's prompts", table)], self.values())


def dialogue_report(
    model: str,
    data: Path,
    mmi: str | None = None,
    number: int = 200,
    seed: int = 0,
    split: str = "",
    column: str = "text",
    precision: str = "float32",
    tell: Tell | None = None,
) -> DialogueReport:
    """Answer prompts of the data with a model, and with the same samples ranked by a backward one, and compare."""
    backward = reader(mmi, precision, backward=True) if mmi else None
    chat_model = ChatModel(reader(model, precision), SAMPLING, CANDIDATES if backward else 1, backward, ReplyRanking())
    asked = prompts(data, number, seed, split, column)
    return judged(model, data, chat_model, asked, answered(chat_model, asked, seed, tell), seed)


def judged(
    model: str,
    data: Path,
    chat_model: ChatModel,
    asked: list[DialoguePrompt],
    answers: list[Reply],
    seed: int = 0,
    dull: Sequence[str] = replies.DULL,
) -> DialogueReport:
    references = [prompt.reference for prompt in asked]
    said = {"first sample": [answer.first.text for answer in answers]}
    if chat_model.backward is not None:
        said |= {"likeliest": [answer.likeliest.text for answer in answers], "MMI": [answer.text for answer in answers]}
    metrics = replies.metrics(references, dull)

    compared = [
        replies.compared(one, said["first sample"], said["MMI"], references, seed) for one in metrics if "MMI" in said
    ]
    how, several = chat_model.sampling, f", {chat_model.candidates} candidates" if chat_model.backward else ""
    about = (
        f"{model}: replies to {len(asked)} prompts of {data}, top-k {how.top_k}, temperature {how.temperature:g}, "
        f"at most {how.max_tokens} tokens{several}"
    )
    return DialogueReport(about, metrics, {**said, "person": references}, compared, asked)
