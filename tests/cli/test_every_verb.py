"""Every verb is given every kind of wrong thing: an exit code, a few sentences, no traceback, and nothing half-made.

A new verb is added to one of the tables below; the test that all verbs are listed says so.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from foreword.cli.main import VERBS
from tests.cli import wrong_things
from tests.cli.program import TINY, run
from tests.cli.test_bad_input import files

# X is the wrong thing, OUT a place for what would be made; MODEL, STORE, LABELS and TEXT are whole
RECIPES = {
    "check": "check X",
    "show": "show X",
    "diff": "diff gpt2 X",
    "plan": "plan X",
    "preview": "preview X --data STORE",
    "train": "train X --data STORE --out OUT",
}
MODELS = {
    "generate": "generate X The",
    "chat": "chat X",
    "evaluate": "evaluate X --data STORE",
    "import": "import X --out OUT",
    "export": "export X --out OUT",
    "train": "train gpt2 TINY --data STORE --from X --out OUT",
    "finetune": "finetune X LABELS --epochs 1 --out OUT",
    "predict": "predict X LABELS",
    "test": "test X LABELS",
    "average": "average X X --out OUT",
    "attention": "attention X The",
    "probe": "probe X LABELS --out OUT",
    "rescore": "rescore LISTS --lm X --weight 1 --bonus 0",
    "dialogue": "dialogue X --data TEXT",
    "translate": "translate X TEXT",
}
STORES = {
    "train": "train gpt2 TINY --data X --out OUT",
    "count": "train kneser-ney --data X --out OUT",
    "evaluate": "evaluate MODEL --data X",
    "check": "check X",
}
LABELLED = {
    "finetune": "finetune MODEL X --epochs 1 --out OUT",
    "probe": "probe MODEL X --out OUT",
    "advise": "advise TEXT --labels X --out OUT --budget 5s",
}
TEXTS = {
    "tokens": "tokens X --tokenizer byte --out OUT",
    "train": "train gpt2 TINY --data X --out OUT",
    "evaluate": "evaluate MODEL --data X",
}
BUDGETS = {
    "train": "train gpt2 TINY --data STORE --out OUT --budget X",
    "demo": "demo --data TEXT --out OUT --budget X",
    "advise": "advise TEXT --labels LABELS --out OUT --budget X",
}
# what these read is read by one of the above, or by nothing; study files, `serve` and the verbs of corpus have tests of their own
ELSEWHERE = {"marks", "study", "reproduce", "tree", "list", "cloze", "rank", "recl", "senses", "serve"}
PATIENCE = 60  # seconds after which it counts as a hang: twenty times what the slowest takes


def cases() -> Iterator[pytest.ParameterSet]:
    for kind, verbs in (
        ("RECIPES", RECIPES),
        ("CONFIGS", MODELS),
        ("STORES", STORES),
        ("LABELS", LABELLED),
        ("TEXTS", TEXTS),
    ):
        for verb, command in verbs.items():
            for name in getattr(wrong_things, kind):
                yield pytest.param(kind, command, name, id=f"{verb}-{name}")


@pytest.fixture
def whole(made, text, tmp_path_factory) -> dict[str, Path]:
    labels = tmp_path_factory.mktemp("labels") / "labels.csv"
    labels.write_text("text,label\n" + "\n".join(wrong_things.ROWS) + "\n")
    lists = labels.with_name("lists.jsonl")
    lists.write_text('{"ref": "one", "hyps": [{"text": "one", "score": -1.0}, {"text": "two", "score": -2.0}]}\n')
    return {"MODEL": made("gpt2"), "STORE": made("bpe"), "LABELS": labels, "LISTS": lists, "TEXT": text}


@pytest.fixture(autouse=True)
def _patience() -> Iterator[None]:
    """What hangs is a failure, and not the end of the tests."""

    def over(number: int, frame: object) -> None:
        raise TimeoutError(f"nothing was said for {PATIENCE} seconds")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(PATIENCE)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def words(command: str, places: dict[str, object]) -> list[object]:
    found: list[object] = []
    for word in command.split():
        found += TINY if word == "TINY" else [places.get(word, word)]
    return found


@pytest.mark.parametrize(("kind", "command", "name"), cases())
def test_a_wrong_thing_is_a_sentence(tmp_path, whole, kind, command, name) -> None:
    original = {"CONFIGS": whole["MODEL"] / "model", "STORES": whole["STORE"]}.get(kind, tmp_path)
    (tmp_path / "given").mkdir()
    wrong = getattr(wrong_things, kind)[name](original, tmp_path / "given")
    before = files(tmp_path)
    ended = run(*words(command, {**whole, "X": wrong, "OUT": tmp_path / "made"}))
    assert ended.code in (1, 2), ended
    assert ended.err.strip()
    assert "Traceback" not in ended.err
    assert len(ended.err) < 6000, "a sentence, not the file"
    if name not in LATE:
        assert files(tmp_path) == before


LATE = {"ids beyond the vocabulary"}  # found by who reads them: a run has begun by then


@pytest.mark.parametrize("budget", wrong_things.BUDGETS, ids=lambda said: said[:12])
@pytest.mark.parametrize("verb", BUDGETS)
def test_a_budget_without_end_is_none(tmp_path, whole, verb, budget) -> None:
    before = files(tmp_path)
    ended = run(*words(BUDGETS[verb], {**whole, "X": budget, "OUT": tmp_path / "made"}))
    assert ended.code == 2, ended
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    "option", [["-n", "-2"], ["-n", "0"], ["-n", "9" * 30], ["--temperature", "nan"], ["--seed", str(2**70)]], ids=str
)
def test_generate_refuses_numbers_that_mean_nothing(made, option) -> None:
    assert run("generate", made("gpt2"), "The", "--max-tokens", 2, *option).code == 2


def test_every_verb_is_listed() -> None:
    listed = set().union(RECIPES, MODELS, STORES, LABELLED, TEXTS, BUDGETS, ELSEWHERE) - {"count"}
    assert {verb for verb, _, _ in VERBS} == listed
