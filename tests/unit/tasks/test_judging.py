"""Metrics equal scikit-learn, scipy and the published rules, also where predictions are empty, constant or broken."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sklearn

from foreword.basics.messages import Fault
from foreword.tasks.entities import entities, in_iob1, to_iob2
from foreword.tasks.example import Example, Span
from foreword.tasks.judging import METRICS, scored
from foreword.tasks.labelled_task import load
from foreword.tasks.metrics import Spearman
from foreword.tasks.text_match import character_exact, character_f1, pieces

LABELS = ("a", "b", "c")
DICE = np.random.default_rng(0)


def examples(labels, **given) -> list[Example]:
    return [
        Example(str(n), ("x",), label, **{name: values[n] for name, values in given.items()})
        for n, label in enumerate(labels)
    ]


def score(name: str, golds, guesses, labels=LABELS, interval: bool = False, **given) -> float:
    return scored((name,), labels, examples(golds, **given), guesses, interval=interval)[0].value


# --- classes ------------------------------------------------------------------------------------------------------------

ONE = ["a"] * 20
MANY = DICE.choice(LABELS, 200).tolist()
CASES = {
    "random": (MANY, DICE.choice(LABELS, 200).tolist()),
    "right": (MANY, MANY),
    "all one class": (MANY, ["b"] * 200),
    "gold one class": (["a"] * 200, MANY),
    "both one class": (ONE, ONE),
    "both one class, wrong": (ONE, ["b"] * 20),
    "a class never guessed": (MANY, ["a" if one == "c" else one for one in MANY]),
    "a class not there": (["a", "b"] * 5, ["b", "b"] * 5),
}


@pytest.mark.parametrize("case", CASES)
def test_classes_as_scikit_learn(case):
    gold, guess = CASES[case]
    assert score("accuracy", gold, guess) == pytest.approx(sklearn.accuracy_score(gold, guess))
    assert score("macro_f1", gold, guess) == pytest.approx(
        sklearn.f1_score(gold, guess, average="macro", zero_division=0)
    )
    assert score("matthews", gold, guess) == pytest.approx(sklearn.matthews_corrcoef(gold, guess))


@pytest.mark.parametrize("guess", [["a", "b", "b", "a"], ["a"] * 4, ["b"] * 4])
def test_binary_f1_is_of_the_second_label(guess):
    gold = ["a", "b", "a", "b"]
    expected = sklearn.f1_score(gold, guess, pos_label="b", zero_division=0)
    assert score("f1", gold, guess, ("a", "b")) == pytest.approx(expected)


def test_a_guess_that_is_no_label_is_wrong():
    for name in ("accuracy", "macro_f1", "f1", "matthews"):
        assert score(name, ["a", "b"], ["", None], ("a", "b")) <= 0
        assert score(name, ["a", "b"], ["a", "b"], ("a", "b")) == 1


# --- numbers ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["random", "ties", "far from 0", "minus"])
def test_numbers_as_scipy(case):
    gold = DICE.normal(size=300)
    guess = {
        "random": gold + DICE.normal(size=300),
        "ties": np.round(gold),
        "far from 0": gold * 1e-3 + 1e6,
        "minus": -gold,
    }[case]
    assert score("pearson", gold.tolist(), guess.tolist()) == pytest.approx(stats.pearsonr(guess, gold)[0], abs=1e-7)
    assert score("spearman", gold.tolist(), guess.tolist()) == pytest.approx(stats.spearmanr(guess, gold)[0], abs=1e-9)


def test_a_constant_guess_is_worth_nothing():
    assert score("pearson", [1.0, 2.0, 3.0], [0.3] * 3) == 0
    assert score("spearman", [1.0, 2.0, 3.0], [0.3] * 3) == 0


def test_intervals_of_correlations_are_those_of_scipy():
    gold = DICE.normal(size=400)
    guess = gold + DICE.normal(size=400)
    for name, theirs in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
        low, high = scored((name,), (), examples(gold.tolist()), guess.tolist())[0].interval
        wanted = stats.bootstrap(
            (gold, guess),
            lambda a, b, theirs=theirs: theirs(a, b)[0],
            paired=True,
            vectorized=False,
            n_resamples=500,
            method="percentile",
            rng=1,
        ).confidence_interval
        assert (low, high) == pytest.approx((wanted.low, wanted.high), abs=0.02)
    assert isinstance(METRICS["spearman"](()).metric, Spearman)


def test_a_share_has_wilson_s_interval():
    low, high = scored(("accuracy",), LABELS, examples(["a"] * 10), ["a"] * 10)[0].interval
    wanted = stats.binomtest(10, 10).proportion_ci(method="wilson")
    assert (low, high) == pytest.approx((wanted.low, wanted.high))


# --- answers ------------------------------------------------------------------------------------------------------------


def answered(*texts: str) -> list[Example]:
    return [Example("0", ("?", "context"), tuple(Span(-1, -1, text) for text in texts))]


@pytest.mark.parametrize(
    ("right", "guess", "exact", "f1"),
    [
        (("the Denver Broncos",), "Denver broncos!", 1, 1),
        (("Denver Broncos", "Broncos"), "a Broncos team", 0, 2 / 3),
        (("Denver",), "", 0, 0),
        ((), "", 1, 1),
        ((), "something", 0, 0),
        (("the",), "a", 1, 1),
        (("10 to 12",), "12 to 12", 0, 2 / 3),
    ],
)
def test_answers_by_squad_s_rule(right, guess, exact, f1):
    """By hand: small letters, no articles, no punctuation; overlap as bags of words; no answer is an empty one."""
    got = scored(("span_exact", "span_f1"), (), answered(*right), [guess], interval=False)
    assert [one.value for one in got] == pytest.approx([exact, f1])


LEFT_OUT = list("-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』")


def oracle(words):
    """CMRC's published evaluation, from its description: pieces, the longest common run of pieces, precision and recall."""

    def cut(answer):
        found, other = [], ""
        for sign in answer.lower().strip():
            if sign in LEFT_OUT:
                continue
            if re.match(r"[\u4e00-\u9fa5]", sign):
                found += words(other) + [sign]
                other = ""
            else:
                other += sign
        return found + words(other)

    def f1(guess, answer):
        a, b = cut(answer), cut(guess)
        runs = [
            (j - i)
            for i in range(len(a))
            for j in range(i + 1, len(a) + 1)
            if any(a[i:j] == b[k : k + j - i] for k in range(len(b)))
        ]
        if not runs:
            return 0.0
        precision, recall = max(runs) / len(b), max(runs) / len(a)
        return 2 * precision * recall / (precision + recall)

    return f1


@pytest.mark.parametrize(
    ("guess", "answer"),
    [
        ("光荣和ω-force", "光荣"),
        ("光荣", "光荣和ω-force"),
        ("", "光荣"),
        ("。", "光荣"),
        ("光荣", "。"),
        ("《战国无双3》", "战国无双 3"),
        ("2010年", "2010年是"),
        ("和光荣", "光荣和"),
        ("NBA 2K", "nba 2k game"),
        ("39764.0", "39764.0元"),
        ("武田信玄，石田三成", "武田信玄等人石田三成"),
        ("…", "……"),
    ],
)
def test_answers_by_cmrc_s_rule(guess, answer):
    tokenizer = pytest.importorskip("nltk.tokenize.destructive").NLTKWordTokenizer()
    assert character_f1(guess, [answer]) == pytest.approx(oracle(tokenizer.tokenize)(guess, answer))
    bare = ["".join(sign for sign in one.lower().strip() if sign not in LEFT_OUT) for one in (guess, answer)]
    assert character_exact(guess, [answer]) == float(bare[0] == bare[1])


def test_runs_are_found_wherever_they_stand():
    for _ in range(300):
        guess, answer = ("".join(DICE.choice(list("甲乙丙"), DICE.integers(1, 8))) for _ in range(2))
        assert character_f1(guess, [answer]) == pytest.approx(oracle(str.split)(guess, answer)), (guess, answer)


def test_pieces_are_those_of_the_published_rule_for_all_of_cmrc(data):
    """nltk's words inside Chinese answers and ours: the same but for a few quotation marks and currencies."""
    tokenizer = pytest.importorskip("nltk.tokenize.destructive").NLTKWordTokenizer()
    task = load("cmrc2018")
    answers = {span.text for split in (task.train, task.dev, task.test) for example in split for span in example.label}
    same = 0
    for answer in answers:
        bare = "".join(sign for sign in answer.lower().strip() if sign not in LEFT_OUT)
        theirs = [
            piece
            for run in re.findall(r"[\u4e00-\u9fa5]|[^\u4e00-\u9fa5]+", bare)
            for piece in ([run] if re.match(r"[\u4e00-\u9fa5]", run) else tokenizer.tokenize(run))
        ]
        same += theirs == pieces(answer)
    assert same / len(answers) > 0.99


def test_the_nearest_of_several_answers_counts():
    assert character_f1("光荣", ["战国", "光荣"]) == character_exact("光荣", ["战国", "光荣"]) == 1
    assert character_f1("", [""]) == 1
    assert character_f1("光", [""]) == 0


# --- names --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        ("B-PER I-PER O B-LOC", {("PER", 0, 2), ("LOC", 3, 4)}),  # BIO
        (
            "I-PER I-PER O I-LOC B-LOC",
            {("PER", 0, 2), ("LOC", 3, 4), ("LOC", 4, 5)},
        ),  # IOB1: B- only where two names meet
        ("B-PER E-PER S-LOC B-ORG I-ORG E-ORG", {("PER", 0, 2), ("LOC", 2, 3), ("ORG", 3, 6)}),  # BIOES
        ("B-PER L-PER U-LOC", {("PER", 0, 2), ("LOC", 2, 3)}),  # BILOU
        ("O O", set()),
        ("", set()),
        ("O I-PER", {("PER", 1, 2)}),  # an I- that nothing begins
        ("B-PER I-LOC I-LOC", {("PER", 0, 1), ("LOC", 1, 3)}),
        ("B-PER B-PER", {("PER", 0, 1), ("PER", 1, 2)}),
        ("B-PER B-LOC I-PER", {("PER", 0, 1), ("LOC", 1, 2), ("PER", 2, 3)}),  # nested: the inner one breaks the outer
        ("E-PER I-PER", {("PER", 0, 1), ("PER", 1, 2)}),
        ("S-PER E-PER", {("PER", 0, 1), ("PER", 1, 2)}),
        ("B-PER", {("PER", 0, 1)}),
        ("B-X-Y I-X-Y", {("X-Y", 0, 2)}),
        ("X-PER junk", set()),
        ("B I O", {("", 0, 2)}),
    ],
)
def test_names_from_tags(tags, found):
    assert entities(tags.split()) == found


def by_the_conll_rules(tags):
    """conlleval's start and end of a chunk, as a table of neighbours."""
    found, start, before = set(), None, ("O", "")
    for place, tag in enumerate([*tags, "O"]):
        mark, _, kind = tag.partition("-")
        a, b = before[0], mark
        ends = (
            (a, b) in {("B", "B"), ("B", "S"), ("B", "O"), ("I", "B"), ("I", "S"), ("I", "O")}
            or a in "ES"
            or (a != "O" and before[1] != kind)
        )
        starts = (
            b in "BS"
            or (a, b) in {("E", "E"), ("E", "I"), ("S", "E"), ("S", "I"), ("O", "E"), ("O", "I")}
            or (b != "O" and before[1] != kind)
        )
        if ends and start is not None:
            found.add((before[1], start, place))
            start = None
        if starts:
            start = place
        before = (mark, kind)
    return found


def test_names_from_random_tags_are_those_of_the_conll_evaluation():
    tags = ["O", *(f"{mark}-{kind}" for mark in "BIES" for kind in ("PER", "LOC"))]
    for _ in range(3000):
        sentence = DICE.choice(tags, DICE.integers(0, 9)).tolist()
        assert entities(sentence) == by_the_conll_rules(sentence), sentence


def test_entity_f1_counts_names_of_all_sentences_together():
    gold = [("B-PER", "I-PER", "O"), ("B-LOC", "O", "O"), ("O", "O", "O")]
    guess = [("B-PER", "I-PER", "B-LOC"), ("B-PER", "O", "O"), ("O", "O", "O")]
    assert score("entity_f1", gold, guess) == pytest.approx(2 * 1 / (3 + 2))
    assert score("entity_f1", gold, [("O",) * 3] * 3) == 0
    assert score("entity_f1", [("O",)], [("O",)]) == 1
    assert score("tag_accuracy", gold, guess) == pytest.approx(7 / 9)
    assert score("tag_accuracy", gold, [()] * 3) == 0, "a sentence without predictions is wrong, not left out"


# --- ranking ------------------------------------------------------------------------------------------------------------


def test_ranking_as_scikit_learn():
    groups, gold = [f"q{n // 5}" for n in range(100)], DICE.integers(0, 2, 100).astype(float)
    gold[::5] = 1
    guess = DICE.normal(size=100)
    theirs = [sklearn.average_precision_score(gold[i : i + 5], guess[i : i + 5]) for i in range(0, 100, 5)]
    first = [1 / (1 + int(np.argmax(gold[i : i + 5][np.argsort(-guess[i : i + 5])]))) for i in range(0, 100, 5)]
    assert score("map", gold.tolist(), guess.tolist(), group=groups) == pytest.approx(np.mean(theirs))
    assert score("mrr", gold.tolist(), guess.tolist(), group=groups) == pytest.approx(np.mean(first))


def test_equal_scores_earn_nothing_and_queries_without_answers_do_not_count():
    golds, groups = [1.0, 0.0, 0.0, 0.0], ["a", "a", "a", "b"]
    assert score("mrr", golds, [0.0] * 4, group=groups) == pytest.approx(1 / 3)
    assert score("map", golds, [0.0] * 4, group=groups) == pytest.approx(1 / 3)
    assert score("mrr", golds, [1.0, 0.0, 0.0, 9.0], group=groups) == 1
    assert scored(("mrr",), (), examples([0.0], group=["a"]), [1.0])[0].count == 0


def test_predictions_must_belong_to_examples():
    with pytest.raises(Fault, match="2 examples and 1 predictions"):
        scored(("accuracy",), LABELS, examples(["a", "b"]), ["a"])
    with pytest.raises(Fault, match="no example to score"):
        scored(("accuracy",), LABELS, [], [])


def test_every_metric_is_1_for_what_is_right():
    for name in METRICS:
        golds, guesses, given = ["a", "b"], ["a", "b"], {}
        if name in ("pearson", "spearman"):
            golds = guesses = [0.5, 1.5]
        elif name.startswith(("span", "character")):
            golds, guesses = [(Span(0, 3, "one"),), ()], ["one", ""]
        elif name.startswith(("entity", "tag")):
            golds = guesses = [("B-X", "O"), ("O", "O")]
        elif name in ("map", "mrr") or name.startswith("ndcg"):
            golds, guesses, given = [1.0, 0.0], [0.9, 0.1], {"group": ["q", "q"]}
        assert score(name, golds, guesses, ("a", "b"), interval=True, **given) == pytest.approx(1)


@pytest.mark.parametrize(
    ("tags", "iob1"),
    [
        ("I-PER B-PER O", True),
        ("I-PER I-PER O I-LOC", False),
        ("B-PER I-PER O I-LOC", False),
        ("I-LOC B-PER", False),
        ("B-PER I-PER", False),
        ("B-PER E-PER S-LOC", False),
        ("NN VB", False),
        ("I-PER B-PER I-PER O I-ORG", True),
    ],
)
def test_iob1_is_what_begins_names_with_i_and_separates_them_with_b(tags, iob1):
    """An I- that begins a name in a file whose others begin with B- is a mistake of that file, and stays."""
    said = tags.split()
    assert in_iob1([said]) == iob1
    assert entities(to_iob2(said)) == entities(said)
