"""Prompts are the same for the same seed, every system answers the same ones, and the verdict says what was measured."""

import json
from pathlib import Path

import pytest

from foreword.basics.messages import Fault
from foreword.evaluate.dialogue import DialoguePrompt, DialogueReport, judged, prompts
from foreword.generate.chat import Reply, ReplyCandidate
from foreword.generate.rerank import ReplyRanking
from foreword.tasks import replies
from foreword.tasks.metrics import Mean, PairedDifference
from foreword.tasks.replies import PairedReplies, ReplyMetric


@pytest.fixture
def dialogues(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps([f"turn {k} of {i}" for k in range(1 + i % 5)]) + "\n" for i in range(50)))
    return path


def test_a_prompt_is_all_before_a_reply_of_its_dialogue(dialogues):
    found = prompts(dialogues, 20)
    assert len(found) == 20
    for one in found:
        k, i = (int(word) for word in one.reference.split()[1::2])
        assert one.turns == tuple(f"turn {before} of {i}" for before in range(k))
        assert k > 0
    assert len({one.reference.split()[3] for one in found}) == 20, "one of each dialogue"
    assert len(prompts(dialogues, 1000)) == 40, "ten have a single turn"
    assert prompts(dialogues, 20) == found
    assert prompts(dialogues, 20, seed=1) != found


def test_a_store_gives_the_same_turns_as_its_text(store):
    found = prompts(store("dialogues").folder, 1000, split="train")
    assert len(found) == store("dialogues").documents
    assert all(turn.startswith("what is") for one in found for turn in one.turns[::2])


def test_plain_stores_and_files_without_dialogues_are_refused(store, tmp_path):
    with pytest.raises(Fault, match="--documents dialogues"):
        prompts(store().folder, 5)
    (tmp_path / "a.jsonl").write_text('["alone"]\n')
    with pytest.raises(Fault, match="no dialogue of two turns"):
        prompts(tmp_path / "a.jsonl", 5)


class Judge:
    """As much of a ChatModel as a report asks for."""

    backward, candidates = object(), 2
    ranking = ReplyRanking()
    sampling = type("How", (), {"top_k": 10, "temperature": 1.0, "max_tokens": 24})


def answer(first, chosen):
    drawn = [ReplyCandidate(first, 1, 3, -1.0, -9.0, -9.0), ReplyCandidate(chosen, 2, 3, -5.0, -2.0, -2.0)]
    return Reply(tuple(drawn[::-1]), 1)


def test_all_systems_answer_the_same_prompts_with_the_same_candidates():
    asked = [DialoguePrompt((f"what about {i}?",), f"number {i} is fine") for i in range(30)]
    report = judged("m", Path("d"), Judge, asked, [answer("I don't know.", f"number {i} is good") for i in range(30)])
    assert report.replies["first sample"] == report.replies["likeliest"] == ["I don't know."] * 30
    assert report.replies["MMI"][7] == "number 7 is good"
    assert report.replies["person"][7] == "number 7 is fine"
    values = report.values()
    assert values["systems"]["first sample"]["dull replies"] == 1.0
    assert values["mmi"]["dull replies"] == [1.0, 0.0, -1.0, -1.0]
    assert report.verdict().startswith("MMI helps on this data: dull replies 100.0% -> 0.0%")
    assert list(report.rows())[3]["MMI"] == "number 3 is good"


METRICS = {
    name: ReplyMetric(name, Mean(), lambda a, b: 0, better)
    for name, better in (("dull replies", -1), ("distinct-1", 1), ("distinct-2", 1), ("BLEU-4", 1), ("NIST-4", 1))
}


def paired(metric, interval):
    return PairedReplies(metric, 0, 0, PairedDifference(metric.metric, 0, interval))


@pytest.mark.parametrize(
    ("signs", "words"),
    [
        ({"dull replies": (-0.2, -0.1)}, "MMI helps on"),
        ({"dull replies": (0.1, 0.2)}, "MMI hurts on"),
        ({}, "MMI makes no difference"),
        ({"distinct-1": (-0.2, -0.1), "distinct-2": (0.1, 0.2)}, "MMI helps in part and hurts in part"),
        ({"distinct-1": (0.1, 0.2), "BLEU-4": (-2, -1)}, "further from what people said (BLEU-4)"),
        ({"NIST-4": (1, 2)}, "nearer to what people said (NIST-4)"),
    ],
)
def test_the_verdict_follows_the_intervals(signs, words):
    differences = [paired(metric, signs.get(name, (-0.1, 0.1))) for name, metric in METRICS.items()]
    report = DialogueReport("", [], {"person": []}, differences, [DialoguePrompt(("a",), "b")] * 30)
    assert words in report.verdict()


def test_few_prompts_give_no_verdict():
    differences = [paired(metric, (-0.2, -0.1)) for metric in METRICS.values()]
    report = DialogueReport("", replies.metrics(["a"]), {}, differences, [DialoguePrompt(("a",), "b")] * 5)
    assert "too few" in report.verdict()
