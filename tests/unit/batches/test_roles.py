"""Dialogues of ERNIE 1.0: roles by who speaks, half of them fake, and the role table in place of the sentence table."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from foreword.basics.messages import Fault
from foreword.batches.mixture import Mixture
from foreword.batches.roles import PairsAndDialogues, RoleCutter, fitted
from foreword.networks.base import Inputs
from foreword.objectives.layout import ROLES, marks_with_specials, with_specials
from foreword.objectives.next_sentence import FOLLOWS, NextSentence
from foreword.tokens.build import build_store
from foreword.tokens.store import TokenStore
from foreword.tokens.units import UnitsSpec
from tests.rows import paired
from tests.tiny import dialogues, drawn, tiny

SPEAKERS = {"QR": "ab", "QRQ": "aba", "QRR": "abb", "QQR": "aab"}


def made(folder, lines, tokenizer):
    path = folder / "said.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    units = UnitsSpec(phrases=0.5, entities=["auto"])
    out = folder / "store"
    build_store([path], out, tokenizer, documents="dialogues", fractions=(1, 0, 0), workers=1, units=units)
    return TokenStore.open(out)


@pytest.fixture(scope="module")
def talk(tmp_path_factory, store):
    """Dialogues between two, whose turns alternate."""
    return made(
        tmp_path_factory.mktemp("talk"), [{"turns": turns} for turns in dialogues()], store("wordpiece").tokenizer
    )


@pytest.mark.parametrize("roles", SPEAKERS)
def test_roles_are_who_speaks(roles, tmp_path, store):
    tokenizer = store("wordpiece").tokenizer
    turns = [{"text": f"word {n} of {name}", "speaker": name} for n, name in enumerate(SPEAKERS[roles])]
    text = made(tmp_path, [{"turns": turns}] * 2 + [{"turns": turns[::-1]}], tokenizer)
    row = RoleCutter(text, 60, 3, 0.0, 1, 0).rows(0, 0, 1)[0]
    expected = roles if row.roles[:2] != (0, 0) or roles == "QQR" else roles
    several = {tuple("QR".index(one) for one in expected), tuple(_turned(SPEAKERS[roles]))}
    assert row.roles in several
    ids, segments = with_specials(row, tokenizer)
    ends = np.flatnonzero(ids == tokenizer.special("[separator]"))
    assert [int(segments[end]) - ROLES for end in ends] == list(row.roles)
    assert segments[0] == ROLES  # [cls] is of the first turn


def _turned(speakers):
    back = speakers[::-1]
    return [int(one != back[0]) for one in back]


def test_half_of_the_dialogues_are_fake_and_their_strange_turn_is_from_another(talk):
    cutter = RoleCutter(talk, 60, 3, 0.5, 16, 3)
    rows = [row for step in range(400) for row in cutter.rows(step, 0, 16)]
    assert np.mean([not row.follows for row in rows]) == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(len(rows)))
    real = {tuple(np.concatenate([talk.read(*turn) for turn in piece]).tolist()) for piece in cutter.pieces}
    for row in rows[:600]:
        if row.follows:
            assert tuple(row.ids.tolist()) in real
    fakes = [row for row in rows if not row.follows]
    assert np.mean([tuple(row.ids.tolist()) in real for row in fakes]) < 0.1  # the same word may be asked twice
    assert all(row.roles in ((0, 1), (0, 1, 0), (0, 1, 1), (0, 0, 1)) for row in rows)


def test_turns_are_shortened_to_fit_the_longest_first():
    assert fitted([(0, 30), (30, 35), (35, 47)], 25) == [10, 5, 10]
    assert fitted([(0, 3), (3, 5)], 25) == [3, 2]


def test_rows_fit_the_context_and_their_marks_stay_beside_them(talk):
    cut = paired(PairsAndDialogues(length=24))
    cut = cut.sized(24, cut.size(), ("word", "entity"))
    for row in cut.over(talk, 32, 1).rows(0, 0, 32):
        ids, segments = with_specials(row, talk.tokenizer)
        assert len(ids) == len(segments) <= 24
        assert len(marks_with_specials(row, talk.tokenizer, "word")) == len(ids)
        assert marks_with_specials(row, talk.tokenizer, "word")[:2].all()


def test_a_mixture_of_text_and_dialogues_gives_both(talk, store):
    cut = paired(PairsAndDialogues(length=32))
    mixed = Mixture(["text", "talk"], [0.5, 0.5], [store("wordpiece"), talk])
    rows = mixed.over(cut, 64, 0).rows(0, 0, 64)
    batch = NextSentence().collate(rows, talk.tokenizer)
    assert {bool(row.roles) for row in rows} == {True, False}
    for row, segments, answer in zip(rows, batch.inputs.segments, batch.targets["next_sentence"]):
        assert (int(segments[0]) == ROLES) == bool(row.roles)
        assert (int(answer) == FOLLOWS) == row.follows


def test_roles_change_what_is_read_and_sentences_do_not(talk):
    """In a dialogue the table of roles stands in the place of that of sentences."""
    recipe = tiny("ernie1")
    model = drawn(recipe, talk.tokenizer)
    rows = recipe.batches.over(talk, 4, 0).rows(0, 0, 4)
    inputs = recipe.objective.collate(rows, talk.tokenizer).inputs
    before = model.network(inputs).last
    swapped = torch.where(inputs.segments >= ROLES, 2 * ROLES + 1 - inputs.segments, inputs.segments)
    assert (model.network(Inputs(inputs.ids, inputs.real, swapped)).last - before).abs().max() > 1e-2
    with torch.no_grad():
        model.network.embeddings.segments.weight[:ROLES] += 1.0
    torch.testing.assert_close(model.network(inputs).last, before)


def test_one_dialogue_has_no_other_to_borrow_from(tmp_path, store):
    text = made(tmp_path, [{"turns": ["one two", "three"]}], store("wordpiece").tokenizer)
    with pytest.raises(Fault, match="fewer than two dialogues"):
        RoleCutter(text, 60, 3, 0.5, 1, 0)
