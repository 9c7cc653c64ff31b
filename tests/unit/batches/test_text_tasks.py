"""ERNIE 2.0's tasks: labels as a naive scan of the documents finds them, and a schedule in which every task has its steps."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
import torch

from foreword.basics.messages import Fault
from foreword.batches.elsewhere import ELSEWHERE, Elsewhere
from foreword.batches.labelled_pairs import LabelledPairs
from foreword.batches.reordering import Reordering, classes, decode, encode, first_alike
from foreword.batches.row import Row
from foreword.batches.sentences import FAR, NEAR, NEXT, Discourse, Distance, Sentences
from foreword.batches.text_tasks import TextTaskCutter
from foreword.objectives.base import NOTHING
from foreword.tokens import KINDS
from foreword.tokens.page import Page
from foreword.tokens.units import Units, encode_marked
from tests.rows import paired
from tests.tiny import drawn, tiny

LENGTH = 48


def cutter(cut, text, seed=3):
    return paired(cut).over(text, 16, seed)


def rows_of(made, steps=40):
    return [row for step in range(steps) for row in made.rows(step, 0, 16)]


@pytest.mark.parametrize(("most", "number"), [(1, 1), (2, 3), (3, 9), (4, 33)])
def test_every_class_of_an_order_is_its_own_inverse(most, number):
    assert classes(most) == number
    orders = [decode(label) for label in range(number)]
    assert [encode(order) for order in orders] == list(range(number))
    assert len(set(orders)) == number
    assert [len(order) for order in orders] == sorted(len(order) for order in orders)


@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_a_shuffled_paragraph_is_put_right_by_its_label(most, store):
    text = store("wordpiece")
    made = cutter(Reordering(length=LENGTH, pieces=most), text)
    whole = {tuple(text.read(*span).tolist()) for span in made.spans}
    pieces, right = Counter(), 0
    for row in rows_of(made):
        order = decode(row.label)
        pieces[len(order)] += 1
        # whoever knows where the pieces begin restores the text; try every cut
        if len(order) == 1:
            right += tuple(row.ids.tolist()) in whole
        else:
            right += any(tuple(one.tolist()) in whole for one in restored(row.ids, order))
    assert right == 640
    assert all(abs(pieces[count] - 640 / most) < 5 * np.sqrt(640 / most) for count in range(1, most + 1))


def restored(ids, order):
    """The text for every way to cut the row into as many pieces as the order has."""
    for cuts in combinations(range(1, len(ids)), len(order) - 1):
        parts = np.split(ids, cuts)
        yield np.concatenate([parts[order.index(one)] for one in range(len(order))])


def test_equal_pieces_have_the_first_order_that_reads_the_same():
    same, other = np.array([1, 2]), np.array([3])
    assert first_alike([same, other, same.copy()], (2, 1, 0)) == (0, 1, 2)
    assert first_alike([same, other], (1, 0)) == (1, 0)


def test_distances_are_what_counting_sentences_gives(store):
    text = store("wordpiece")
    made = cutter(Distance(length=LENGTH), text)
    found = Counter()
    for epoch in range(3):
        for own in range(made.count):
            first, second, label = made.pair(epoch, own)
            owners = made.all.owners
            true = FAR if owners[first] != owners[second] else NEXT if abs(first - second) == 1 else NEAR
            assert label == true
            found[label] += 1
    number = sum(found.values())
    assert all(abs(found[label] - number / 3) < 5 * np.sqrt(number * 2 / 9) for label in (NEXT, NEAR, FAR))


def test_sentences_are_every_token_of_every_document_once(store):
    text = store("wordpiece")
    every = Sentences(text)
    ids = np.concatenate([text.read(*span) for span in every.spans])
    assert np.array_equal(ids, np.concatenate([text.document(i) for i in range(text.documents)]))
    assert (np.diff(every.owners) >= 0).all()


def test_a_token_is_elsewhere_if_its_document_has_it_outside_of_the_row(store):
    text = store("wordpiece")
    made = cutter(Elsewhere(length=LENGTH), text)
    yes = 0
    for _, _, own in made.places(0, 0, 64):
        start, stop, begin, last = made.spans[own]
        row = made._row(0, own)
        document = text.read(begin, last).tolist()
        naive = [one in document[: start - begin] + document[stop - begin :] for one in row.ids.tolist()]
        assert row.marks[ELSEWHERE].tolist() == naive
        yes += sum(naive)
        for at, (one, there) in enumerate(zip(row.ids.tolist(), naive)):  # without its other occurrences it flips
            if there:
                others = [x for x in document[: start - begin] + document[stop - begin :] if x != one]
                assert one not in others, at
    assert 0 < yes < 64 * LENGTH


def test_capitals_are_what_a_scan_of_the_text_finds():
    text = "The NASA launch, in May; iPhone users saw Ümlaut and 中国 Apple."
    tokenizer = KINDS.find("wordpiece")(vocabulary=120).learn(iter([text] * 3))
    encoded = encode_marked(tokenizer, Page.of([text]), ("word", "capital"), Units(("word", "capital"), "plain"))
    pieces = tokenizer.pieces(encoded.ids)
    assert all(piece == piece.lower() for piece in pieces)  # nothing in the input tells
    words, flags = [], []
    for piece, flag in zip(pieces, encoded.flags.tolist()):
        if flag & 1:
            words.append(piece)
            flags.append(flag >> 1)
        else:
            words[-1] += piece.removeprefix("##")
            assert flag >> 1 == flags[-1]
    capital = {word for word, flag in zip(words, flags) if flag}
    assert capital == {"the", "nasa", "may", "umlaut", "apple"}


def test_a_connective_is_taken_away_and_is_the_class(store):
    text = store("wordpiece")
    words = ["if", "the", "this"]
    made = cutter(Discourse(length=LENGTH, connectives=words), text)
    heads = [tuple(text.tokenizer.encode(word)) for word in words]
    naive = 0
    every = Sentences(text)
    for second in range(1, len(every)):
        ids = tuple(text.read(*every.spans[second]).tolist())
        if every.owners[second] == every.owners[second - 1]:
            naive += any(ids[: len(head)] == head and len(ids) > len(head) for head in heads)
    assert len(made.pairs) == naive > 10
    second, skip, label = made.pairs[0]
    assert tuple(text.read(made.spans[second][0], made.spans[second][0] + skip).tolist()) == heads[label]
    with pytest.raises(Fault, match="no sentence that begins with one of the connectives"):
        cutter(Discourse(length=LENGTH, connectives=["xylophone"]), text)


def test_clicks_have_three_classes_and_unknown_labels_are_named(tmp_path, store):
    path = tmp_path / "clicks.tsv"
    path.write_text("".join(f"query {n}\ttitle {n}\t{'clicked' if n % 2 else 'shown'}\n" for n in range(40)))
    made = cutter(LabelledPairs(length=LENGTH, file=str(path), unrelated=True), store("wordpiece"))
    labels = Counter(row.label for row in rows_of(made, 60))
    assert all(abs(labels[label] - 320) < 5 * np.sqrt(960 * 2 / 9) for label in range(3))
    for row in rows_of(made, 3):
        number = [text[-1] for text in (row.ids, row.second)]
        assert (number[0] != number[1]) == (row.label == 2) or row.label == 2
    path.write_text("a\tb\tclicked\na\tb\tcliked\n")
    with pytest.raises(Fault, match="'cliked' is not known. Did you mean clicked"):
        cutter(LabelledPairs(length=LENGTH, file=str(path)), store("wordpiece"))


class Counted:
    """A cutter whose rows are their numbers."""

    epoch = 5.0

    def rows(self, step, first, stop):
        return [Row(np.array([step]), step * 4 + at, 0) for at in range(first, stop)]


STEPS = [[5], [3, 7], [2, 2, 9]]


def test_every_task_has_its_steps_and_stays():
    made = TextTaskCutter({name: Counted() for name in "abc"}, STEPS, 4, 1)
    taken = [made.batch(step) for step in range(28)]
    for stage, (start, stop) in enumerate([(0, 5), (5, 15), (15, 28)]):
        counts = Counter(name for name, _ in taken[start:stop])
        assert [counts[name] for name in "abc"] == [*STEPS[stage], *[0] * (2 - stage)]
    for name in "abc":  # every batch of a task once
        assert sorted(number for one, number in taken if one == name) == list(range(sum(n == name for n, _ in taken)))
    assert taken[15:28] != [made.batch(step) for step in range(28, 41)]  # on and on in another order
    after = Counter(name for name, _ in (made.batch(step) for step in range(28, 41)))
    assert after == {"a": 2, "b": 2, "c": 9}
    assert len({made.batch(step) for step in range(54)}) == 54
    again = TextTaskCutter({name: Counted() for name in "abc"}, STEPS, 4, 1)
    assert [again.batch(step) for step in range(17, 28)] == taken[17:28]  # resumed in the middle of a stage


def test_only_the_head_of_a_batch_learns_from_it(store):
    recipe, text = tiny("ernie2"), store("wordpiece")
    made = recipe.batches.over(text, 8, 0)
    assert set(made.by_task()) == set(recipe.objective.names)
    model = drawn(recipe, text.tokenizer)
    for number, one in enumerate(made.by_task().values()):
        batch = recipe.objective.collate(one.rows(0, 0, 8), text.tokenizer)
        assert batch.inputs.tasks.tolist() == [number] * 8
        model.zero_grad()
        charges = recipe.objective.loss(model, batch).charges
        alone = recipe.objective.tasks[number].loss(model, batch).charges
        assert {name: one.total.item() for name, one in charges.items()} == {
            name: one.total.item() for name, one in alone.items()
        }
        sum(charge.total for charge in charges.values()).backward()
        for name, head in model.heads.items():
            learned = any(weight.grad is not None and bool(weight.grad.any()) for weight in head.parameters())
            assert learned == (name in batch.targets) or name == "tokens"  # the table of tokens is the network's
        rows = model.network.embeddings.tasks.weight.grad.any(1)
        assert rows.nonzero().flatten().tolist() == [number]


def test_without_its_table_of_tasks_it_is_bert(store):
    recipe, bert = tiny("ernie2"), tiny("bert")
    text = store("wordpiece")
    ours, theirs = drawn(recipe, text.tokenizer), drawn(bert, text.tokenizer)
    with torch.no_grad():
        ours.network.embeddings.tasks.weight.zero_()
    found = theirs.network.load_state_dict(
        {key: value for key, value in ours.network.state_dict().items() if "tasks" not in key}
    )
    assert not found.missing_keys
    rows = recipe.batches.over(text, 8, 0).rows(0, 0, 8)
    inputs = recipe.objective.collate(rows, text.tokenizer).inputs
    assert torch.equal(ours.network(inputs).last, theirs.network(inputs).last)


def test_token_labels_leave_specials_out(store):
    recipe, text = tiny("ernie2"), store("wordpiece")
    one = recipe.batches.over(text, 8, 0).by_task()["capital"]
    batch = recipe.objective.collate(one.rows(0, 0, 8), text.tokenizer)
    targets = batch.targets["capital"]
    assert (targets[:, 0] == NOTHING).all()
    specials = torch.tensor([text.tokenizer.special(name) for name in text.tokenizer.specials])
    assert (targets[torch.isin(batch.inputs.ids, specials)] == NOTHING).all()
    assert 0 < (targets == 1).sum() < (targets == 0).sum()
