"""DialoGPT's claim, small: of the same candidates, those from which the source is recalled are less dull and more diverse.

Three in ten replies of the training text are replaced by ones that say nothing. Whoever replies by likelihood alone then says
nothing; who ranks by the backward model does not. Three seeds, the same prompts and the same candidates for all choices.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from foreword.assembly import loader
from foreword.basics.seeds import chance
from foreword.evaluate.dialogue import DialoguePrompt, answered, judged, prompts
from foreword.generate.chat import ChatModel
from foreword.generate.rerank import TextModel
from foreword.generate.sample import Sampling
from foreword.tasks.replies import compared, dull
from foreword.text.reading import documents
from foreword.tokens.build import build_store
from foreword.tokens.kinds import ByteBPE
from foreword.tokens.store import TokenStore
from tests.tiny import learner_for

pytestmark = pytest.mark.slow
EMPTY = ("i don't know .", "i'm not sure .", "i have no idea .")
SHARE, STEPS, PROMPTS, SEEDS = 0.3, 1000, 120, (0, 1, 2)


@pytest.fixture(scope="module")
def store(data, tmp_path_factory) -> TokenStore:
    """DailyDialog in lower case, as DialoGPT's own data, with three in ten replies made dull."""
    folder = tmp_path_factory.mktemp("dull")
    lines = []
    for number, document in enumerate(documents([data / "dailydialog-en" / "en_dev_human.txt"], "dialogues")):
        draw = chance(3, number)
        turns = [
            EMPTY[int(draw.integers(len(EMPTY)))] if place and draw.random() < SHARE else turn.lower()
            for place, turn in enumerate(document.dialogue.turns)
        ]
        lines.append(json.dumps({"turns": turns}) + "\n")
    (folder / "dull.jsonl").write_text("".join(lines), encoding="utf-8")
    build_store([folder / "dull.jsonl"], folder / "store", ByteBPE(vocabulary=2048), documents="dialogues", workers=1)
    return TokenStore.open(folder / "store")


def trained(name: str, store: TokenStore, seed: int) -> TextModel:
    recipe = loader.load(name, "laptop", [f'training.budget="{STEPS}"', f"training.seed={seed}"])
    learner, stream = learner_for(recipe, store, seed=seed)
    for step in range(STEPS):
        learner.step(stream.batch(step), step, step / STEPS)
    learner.model.eval()
    return TextModel(learner.model.language_model(store.tokenizer.vocabulary()), store.tokenizer)


@pytest.mark.parametrize("seed", SEEDS)
def test_ranking_by_recall_makes_replies_less_dull_and_more_diverse(seed, store, data):
    chat_model = ChatModel(
        trained("dialogpt", store, seed),
        Sampling(max_tokens=24, min_tokens=1, top_k=10),
        backward=trained("dialogpt-backward", store, seed),
    )
    asked = [
        DialoguePrompt(tuple(turn.lower() for turn in one.turns), one.reference.lower())
        for one in prompts(data / "dailydialog-en" / "en_test_human.txt", PROMPTS, seed)
    ]
    answers = answered(chat_model, asked, seed)
    report = judged("dialogpt", Path("DailyDialog"), chat_model, asked, answers, seed, EMPTY)
    said, person = report.replies, report.replies["person"]
    control = compared(dull(EMPTY), said["first sample"], said["likeliest"], person, seed)
    print(*report.report().lines(), f"the likeliest: {control}", sep="\n")
    found = {one.metric.name: one for one in report.differences}
    assert found["dull replies"].first > 0.1, "the forward model has not learned to be dull"
    assert found["dull replies"].difference.sign < 0, found["dull replies"]
    for name in ("distinct-1", "distinct-2"):
        assert found[name].second > found[name].first, found[name]
    assert control.difference.sign > 0, f"choosing by likelihood must be duller: {control}"
    chosen, drawn = (
        [one.backward for one in picked]
        for picked in zip(*((answer.candidates[0], answer.first) for answer in answers))
    )
    assert np.mean(chosen) > np.mean(drawn)
