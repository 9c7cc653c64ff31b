"""A conversation: whole turns of history, candidates among the likeliest tokens, each text once, ended by [end]."""

from dataclasses import replace

import numpy as np
import pytest

from foreword.basics.messages import Fault
from foreword.generate.batch import generate
from foreword.generate.chat import ChatModel, Conversation
from foreword.generate.rerank import ReplyRanking, TextModel
from foreword.generate.sample import Sampling
from foreword.tokens.turns import join_turns, split_turns
from tests.tiny import drawn, tiny

HOW = Sampling(max_tokens=12, min_tokens=1, top_k=5)


def reader(name, store, seed=0):
    tokenizer = store("dialogues").tokenizer
    model = drawn(tiny(name, "network.context=48"), tokenizer, seed)
    return TextModel(model.language_model(tokenizer.vocabulary()), tokenizer)


@pytest.fixture(scope="module")
def chat_model(store):
    return ChatModel(reader("dialogpt", store), HOW, 12, reader("dialogpt-backward", store, 1))


class Scripted:
    """A language model that says what it is told: the same distribution after every token, and notes what it was asked."""

    context = 48

    def __init__(self, tokenizer, likely):
        self.vocabulary, self.begun = tokenizer.vocabulary(), []
        shares = np.full(len(tokenizer), 1e-9)
        for token, share in likely.items():
            shares[token] = share
        self.logs = np.log(shares / shares.sum())

    def begin(self, prompts):
        self.begun += [list(prompt) for prompt in prompts]
        return np.tile(self.logs, (len(prompts), 1)), None

    def advance(self, tokens, state):
        return np.tile(self.logs, (len(tokens), 1)), None

    def select(self, state, rows):
        return None

    def score(self, sequences, starts):
        return [self.logs[np.asarray(ids)[start:]] for ids, start in zip(sequences, starts)]


def test_every_token_of_every_candidate_is_among_the_k_likeliest(chat_model):
    """Replayed one token at a time through the model itself."""
    turns = ["what is it?", "it is.", "so what is that?"]
    answer = chat_model.answers([turns])[0]
    prompt, seen, _ = chat_model.prompt(turns)
    assert seen == 3
    assert len(answer.candidates) > 1
    end = chat_model.forward.tokenizer.special("[end]")
    samples = generate(chat_model.forward.model, chat_model.forward.tokenizer, [prompt] * 12, HOW)
    assert {one.text.strip() for one in samples} - {""} == {one.text for one in answer.candidates}
    for one in samples:
        log_probs, state = chat_model.forward.model.begin([prompt])
        for place, token in enumerate([*one.ids, *([end] if one.reason == "end" else [])]):
            row = np.asarray(log_probs)[0].copy()
            if place < HOW.min_tokens:
                row[end] = -np.inf
            assert token in np.argsort(-row)[: HOW.top_k]
            log_probs, state = chat_model.forward.model.advance(np.array([token]), state)


def test_candidates_are_different_and_counted(store):
    tokenizer = store("dialogues").tokenizer
    a, b, end = tokenizer.encode("a")[0], tokenizer.encode("b")[0], tokenizer.special("[end]")
    model = Scripted(tokenizer, {a: 0.4, b: 0.2, end: 0.4})
    answer = ChatModel(TextModel(model, tokenizer), Sampling(max_tokens=2, min_tokens=1), 40).answers([["hi"]])[0]
    texts = [one.text for one in answer.candidates]
    assert len(set(texts)) == len(texts) <= 6
    assert sum(one.times for one in answer.candidates) == 40
    assert set(texts) <= {"a", "b", "aa", "ab", "ba", "bb"}, "[end] closes a reply and is no part of it"
    assert answer.first.number == 1
    assert answer.text == answer.first.text, "without a backward model the first sample is given"
    for one in answer.candidates:  # a reply that ended pays for its end too; one that was cut does not
        expected = sum(model.logs[token] for token in tokenizer.encode(one.text)) + (
            model.logs[end] if len(one.text) == 1 else 0
        )
        assert one.forward == pytest.approx(expected)


def test_the_best_is_given_and_scores_are_what_they_say(chat_model):
    answer = chat_model.answers([["what is it?"]])[0]
    assert [one.score for one in answer.candidates] == sorted((one.score for one in answer.candidates), reverse=True)
    assert all(one.score == one.backward for one in answer.candidates)
    likely = replace(chat_model, ranking=ReplyRanking(balance=1.0)).answers([["what is it?"]])[0]
    assert likely.text == answer.likeliest.text
    assert {one.text for one in likely.candidates} == {one.text for one in answer.candidates}, (
        "the same candidates, ranked otherwise"
    )


def test_the_forward_score_is_that_of_the_reply_and_its_end_after_the_prompt(chat_model):
    """As one pass over the whole text gives it."""
    tokenizer, (prompt, _, _) = chat_model.forward.tokenizer, chat_model.prompt(["what is it?"])
    samples = generate(chat_model.forward.model, tokenizer, [prompt] * 12, HOW)
    said = {one.text.strip(): one for one in reversed(samples)}
    for candidate in chat_model.answers([["what is it?"]])[0].candidates:
        ended = [tokenizer.special("[end]")] * (said[candidate.text].reason == "end")
        whole = np.concatenate([prompt, said[candidate.text].ids, ended]).astype(np.int64)
        expected = chat_model.forward.model.score([whole], [len(prompt)])[0]
        assert candidate.forward == pytest.approx(float(np.sum(expected)), abs=1e-3)


def test_several_conversations_at_once_are_answered_as_each_alone(chat_model):
    turns = [["what is it?"], ["a", "b", "what is that? what is it?"]]
    together = chat_model.answers(turns)
    for one, alone in zip(together, (chat_model.answers([each])[0] for each in turns)):
        assert [candidate.text for candidate in one.candidates] == [candidate.text for candidate in alone.candidates]
        assert [candidate.score for candidate in one.candidates] == pytest.approx(
            [candidate.score for candidate in alone.candidates], abs=1e-3
        )


def test_the_history_is_cut_between_turns_and_always_leaves_room_for_a_reply(store):
    tokenizer = store("dialogues").tokenizer
    end = tokenizer.special("[end]")
    model = Scripted(tokenizer, {end: 0.5, tokenizer.encode("a")[0]: 0.5})
    conversation = Conversation(ChatModel(TextModel(model, tokenizer), Sampling(max_tokens=8, min_tokens=1), 1))
    for number in range(12):
        conversation.reply(f"turn {number} is short")
        turns = split_turns(np.asarray(model.begun[-1]), end)
        assert len(model.begun[-1]) <= 48 - 8
        kept = [tokenizer.decode(turn) for turn in turns]
        said = conversation.turns[:-1]
        assert kept == said[-len(kept) :], "whole turns, the newest ones"
        assert conversation.answer.seen == len(kept)
        if len(kept) < len(said):  # one more would not have fitted
            assert len(join_turns([tokenizer.encode(turn) for turn in said[-len(kept) - 1 :]], tokenizer)) > 48 - 8
    assert conversation.answer.seen < len(conversation.turns)
    assert not conversation.answer.cut
    conversation.reply("word " * 60)
    assert conversation.answer.cut
    assert conversation.answer.seen == 1
    assert len(model.begun[-1]) <= 48 - 8
    limited = Conversation(
        ChatModel(TextModel(model, tokenizer), Sampling(max_tokens=8, min_tokens=1), 1, most_turns=1)
    )
    limited.reply("one")
    limited.reply("two")
    assert tokenizer.decode(model.begun[-1]) == "two"


def test_a_conversation_can_be_repeated_and_forgotten(chat_model):
    first, second = Conversation(chat_model), Conversation(chat_model)
    for said in ("what is it?", "what is it?"):
        assert first.reply(said).text == second.reply(said).text
    assert first.turns[0] == first.turns[2] == "what is it?"
    first.reset()
    assert first.turns == []
    assert first.why() == ["nothing has been said yet."]
    assert first.reply("what is it?").text == second.turns[1]
    with pytest.raises(Fault, match="empty turn"):
        first.reply("  ")


def test_why_shows_every_candidate_with_both_scores(chat_model):
    conversation = Conversation(chat_model)
    answer = conversation.reply("what is it?")
    lines = conversation.why()
    assert len(lines) == 2 + len(answer.candidates)
    assert lines[2].startswith(">")
    assert sum("(the first sample)" in line for line in lines) == 1
    for line, one in zip(lines[2:], answer.candidates):
        assert f"{one.forward:.2f}" in line
        assert f"{one.backward:.2f}" in line
        assert one.text in line


def test_a_reply_longer_than_the_context_is_refused(store):
    with pytest.raises(Fault, match="--max-tokens"):
        ChatModel(reader("dialogpt", store), Sampling(max_tokens=48))
    with pytest.raises(Fault, match="candidates"):
        ChatModel(reader("dialogpt", store), HOW, 0)
