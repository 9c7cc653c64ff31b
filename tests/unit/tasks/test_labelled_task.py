"""Labelled tasks are read as published, cut fairly, and what is wrong with them is said at once."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from foreword.basics.messages import Fault
from foreword.tasks import LABELLED_KINDS
from foreword.tasks import task as tasks
from foreword.tasks.example import Example, Span
from foreword.tasks.judging import METRICS
from foreword.tasks.labelled_task import load, part, unlabelled
from foreword.tasks.user_files import rows_of

LEARNED = [name for name in tasks.known() if tasks.opened(name)[0].spec.learn]
# name: (all examples of the file that is parted, or of train and dev; test), as data/README.md counts them
COUNTS = {
    "sst2": (67_349, 872),
    "cola": (8_551, 1_043),
    "rte": (2_490, 277),
    "wnli": (635, 71),
    "stsb": (5_749, 1_500),
    "snli": (9_842, 9_824),
    "scitail": (1_304, 2_126),
    "qnli": (3_000, None),
    "qnli-ranking": (3_000, None),
    "mnli": (9_815, None),
    "breaking-nli": (8_193, None),
    "squad": (10_570, None),
    "hellaswag": (2_000, None),
    "cmrc2018": (3_219, None),
    "drcd": (1_594, None),
    "ocnli": (2_994, 2_950),  # 3,000 each, of which 6 and 50 have no gold label
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_those_published_with_the_data(data, name):
    task, (rest, test) = load(name), COUNTS[name]
    assert len(task.train) + len(task.dev) + (0 if test else len(task.test)) == rest
    assert test in (None, len(task.test))
    assert min(len(task.dev), len(task.test)) > 0.08 * (len(task.train) if test is None else 0)
    assert len(task.dev) > 0.05 * len(task.train)
    assert set(task.metrics) <= METRICS.keys()


def test_people_s_daily_has_a_tag_for_every_character(data):
    task = load("peopledaily")
    lines = [
        line
        for file in ("train_first1MB.txt", "dev_first0.4MB.txt")
        for line in (data / "zh/peopledaily-ner" / file).read_text(encoding="utf-8").split("\n")
        if line.strip()
    ]
    assert sum(len(example.words) for split in (task.train, task.dev, task.test) for example in split) == len(lines)
    assert task.labels == ("O", "B-LOC", "I-LOC", "B-ORG", "I-ORG", "B-PER", "I-PER")
    for example in task.test[:200]:
        assert len(example.label) == len(example.words)
        assert all(example.texts[0][word.start : word.end] == word.text for word in example.words)


@pytest.mark.parametrize(
    ("name", "file", "standing", "answers"),
    [
        ("squad", "squad/dev-v1.1.json", 34_726, 34_726),
        ("drcd", "zh/drcd/DRCD_dev_third.json", 3_188, 3_188),
        ("cmrc2018", "zh/cmrc2018/cmrc2018_dev.json", 9_457, 9_657),
    ],
)
def test_every_answer_stands_at_its_offset(data, name, file, standing, answers):
    """All of SQuAD and DRCD. Of CMRC 2018's answers 193 stand nowhere in their passage and 7 not where its file says."""
    published = [
        (answer, paragraph["context"])
        for article in json.loads((data / file).read_text(encoding="utf-8"))["data"]
        for paragraph in article["paragraphs"]
        for asked in paragraph["qas"]
        for answer in asked["answers"]
    ]
    assert len(published) == answers
    assert (
        sum(
            answer["answer_start"] >= 0 and context[answer["answer_start"] :].startswith(answer["text"])
            for answer, context in published
        )
        == standing
    )
    task = load(name)
    examples = [*task.train, *task.dev, *task.test]
    assert all(example.texts[1][span.start : span.end] == span.text for example in examples for span in example.placed)
    assert sum(bool(example.placed) for example in examples) >= len(examples) - 1
    assert {answer["text"] for answer, _ in published} == {span.text for example in examples for span in example.label}
    assert (sum(len(example.placed) < len(example.label) for example in examples) > 0) == (standing < answers)


@pytest.mark.parametrize(
    ("name", "what"), [("squad", 1), ("cmrc2018", 1), ("qnli-ranking", 0), ("snli", 0), ("mnli", 0)]
)
def test_nothing_is_in_two_splits(data, name, what):
    """Contexts of questions, premises of pairs, candidates of a query: each in one of the splits that were cut."""
    task = load(name)
    cut = [
        {example.texts[what] for example in split}
        for split in (task.train, task.dev, *([task.test] if task.one_file else []))
    ]
    assert sum(map(len, cut)) == len(set.union(*cut))


# --- cutting -----------------------------------------------------------------------------------------------------------


def test_cutting_keeps_groups_and_does_not_depend_on_order():
    examples = [Example(str(number), (f"text {number}",)) for number in range(200)]
    groups = [str(number // 4) for number in range(200)]
    one = part(examples, groups, ("dev", "test"))
    other = part(examples[::-1], groups[::-1], ("dev", "test"))
    assert {split: {example.id for example in some} for split, some in one.items()} == {
        split: {example.id for example in some} for split, some in other.items()
    }
    assert [len(one[split]) for split in ("train", "dev", "test")] == [160, 20, 20]
    of = {example.id: split for split, some in one.items() for example in some}
    assert all(len({of[str(4 * group + place)] for place in range(4)}) == 1 for group in range(50))
    assert [example.id for example in one["train"]] == sorted((example.id for example in one["train"]), key=int)


def test_one_group_stays_train():
    only = part([Example("0", ("a",)), Example("1", ("a",))], ["a", "a"], ("dev", "test"))
    assert {split: len(some) for split, some in only.items()} == {"train": 2, "dev": 0, "test": 0}


# --- files of one's own -------------------------------------------------------------------------------------------------


def write(path: Path, rows: list[dict]) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        return path
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(
            file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",", lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(rows)
    return path


def thirty(**columns) -> list[dict]:
    return [{name: make(number) if callable(make) else make for name, make in columns.items()} for number in range(30)]


def text(number: int) -> str:
    return f"sentence, number {number}"


FILES = {
    "classify": (
        ".csv",
        thirty(text=text, label=lambda n: "abc"[n % 3]),
        "columns text and label, 3 different labels: single-text classification.",
    ),
    "pair": (
        ".tsv",
        thirty(premise=text, hypothesis="so", label=lambda n: n % 2),
        "columns premise, hypothesis and label, 2 different labels: pair classification.",
    ),
    "similarity": (
        ".csv",
        thirty(sentence1=text, sentence2="x", label=lambda n: n / 4),
        "columns sentence1, sentence2 and label, which is a number: similarity regression.",
    ),
    "choice": (
        ".jsonl",
        thirty(question=text, choices=["a", "b"], label=lambda n: n % 2),
        "columns question, choices and label: multiple choice.",
    ),
    "span": (
        ".jsonl",
        thirty(question="which?", context=text, answer=str),
        "columns question, context and answer: span extraction.",
    ),
    "tag": (
        ".csv",
        thirty(words=lambda n: f"w{n} in Rome", tags=lambda n: "O O B-LOC"),
        "columns words and tags, words with a tag each: token tagging.",
    ),
    "rank": (
        ".csv",
        thirty(query=lambda n: f"q{n // 3}", candidate=text, relevance=lambda n: int(n % 3 == 0)),
        "columns query, candidate and relevance, 10 different queries: relevance ranking.",
    ),
}


@pytest.mark.parametrize("kind", LABELLED_KINDS.names())
def test_the_kind_is_inferred_and_said(tmp_path, kind):
    ending, rows, said = FILES[kind]
    path = write(tmp_path / f"mine{ending}", rows)
    task = load(path)
    assert task.kind == kind
    assert task.notes[0] == said
    assert "is split" in task.notes[1]
    assert [len(task.train), len(task.dev), len(task.test)] == [24, 3, 3]
    assert load(path, kind=kind).train == task.train
    assert load(str(path)).name == "mine"
    assert " and " in LABELLED_KINDS.find(kind).columns_in_words()


def test_labels_are_what_their_kind_says(tmp_path):
    def first(kind: str) -> Example:
        ending, rows, _ = FILES[kind]
        task = load(write(tmp_path / f"mine{ending}", rows))
        return min((*task.train, *task.dev, *task.test), key=lambda example: int(example.id))

    assert first("classify").label == "a"
    assert first("classify").where.endswith("mine.csv:2")
    assert first("pair").texts == (text(0), "so")
    assert first("similarity").label == 0.0
    assert (first("choice").choices, first("choice").label) == (("a", "b"), 0)
    assert first("span").label == (Span(17, 18, "0"),)
    assert first("tag").label == ("O", "O", "B-LOC")
    assert first("tag").words[2] == Span(6, 10, "Rome")
    assert (first("rank").group, first("rank").label) == ("q0", 1.0)


def test_a_kind_that_is_told_is_believed(tmp_path):
    """Whole numbers are classes, and questions with sentences pairs, unless told otherwise."""
    path = write(tmp_path / "grades.csv", thirty(sentence1=text, sentence2="x", label=lambda n: n % 5))
    assert load(path).kind == "pair"
    assert load(path, kind="similarity").train[0].label in {0.0, 1.0, 2.0, 3.0, 4.0}
    path = write(tmp_path / "asked.csv", thirty(question=lambda n: f"q{n // 3}", sentence=text, label=lambda n: n % 2))
    assert load(path).kind == "pair"
    assert {example.group for example in load(path, kind="rank").train} <= {f"q{n}" for n in range(10)}


@pytest.mark.parametrize(
    ("answer", "spans"),
    [
        ([{"text": "is", "answer_start": 2}, {"text": "is", "start": 5}], (Span(2, 4, "is"), Span(5, 7, "is"))),
        ({"text": ["this"], "answer_start": [0]}, (Span(0, 4, "this"),)),
        ({"text": [], "answer_start": []}, ()),
        ("", ()),
        ([], ()),
        ("this", (Span(0, 4, "this"),)),
    ],
)
def test_answers_in_all_the_ways_people_write_them(tmp_path, answer, spans):
    path = write(
        tmp_path / "mine.jsonl",
        [{"question": f"{n}?", "context": "this is it" + " " * n, "answers": answer} for n in range(30)],
    )
    assert {example.label for example in load(path).train} == {spans}


def test_dev_and_test_may_be_files_and_new_text_has_no_label(tmp_path):
    train, dev, test = (
        write(tmp_path / f"{name}.csv", thirty(text=lambda n, name=name: f"{name} {n}", label=lambda n: n % 2))
        for name in ("train", "dev", "test")
    )
    task = load(train, dev=dev, test=test)
    assert [len(task.train), len(task.dev), len(task.test)] == [30, 30, 30]
    assert task.labels == ("0", "1")
    new = write(tmp_path / "new.csv", [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}])
    assert [(example.texts, example.label) for example in unlabelled(new, task.learn)] == [
        (("a",), None),
        (("b",), None),
    ]
    with pytest.raises(Fault, match=r"the rows have no column 'text'. Did you mean txt\? Columns: txt"):
        unlabelled(write(tmp_path / "bad.csv", [{"txt": "a"}]), task.learn)


# --- bad input ----------------------------------------------------------------------------------------------------------


def faults(path: Path, **given) -> str:
    with pytest.raises(Fault) as found:
        load(path, **given)
    assert found.value.code == 2
    return str(found.value)


def test_columns_that_say_nothing(tmp_path):
    said = faults(write(tmp_path / "mine.csv", thirty(txet=text, lable="a")))
    assert said.startswith(
        f"{tmp_path}/mine.csv:1\n    the columns 'txet', 'lable' do not say what is to be learned. Did you mean"
    )
    assert "text and label" in said
    assert "pair needs: sentence1, sentence2 and label" in faults(
        write(tmp_path / "b.csv", thirty(text=text, label="a")), kind="pair"
    )
    assert "no kind of task 'par'. Did you mean pair?" in faults(
        write(tmp_path / "c.csv", thirty(text=text, label="a")), kind="par"
    )


def test_all_wrong_rows_are_said_at_once_with_their_lines(tmp_path):
    rows = thirty(question="q", context="a short text", answer="short")
    rows[3]["answer"], rows[7]["answer"], rows[9]["question"] = "long", "t", " "
    said = faults(write(tmp_path / "mine.jsonl", rows))
    assert f"{tmp_path}/mine.jsonl:4\n    the answer 'long' stands in its text 0 times, and no start is given." in said
    assert "mine.jsonl:8\n    the answer 't' stands in its text 3 times" in said
    assert "mine.jsonl:10\n    {question} is empty in this row.\n    Write a text, or remove the row." in said


def test_a_span_that_is_not_where_it_is_said(tmp_path):
    rows = thirty(question="q", context="a short text", answers=[{"text": "short", "start": 3}])
    said = faults(write(tmp_path / "mine.jsonl", rows))
    assert "the answer 'short' does not stand at character 3 of its text; it stands at 2." in said
    assert "and 25 more rows like these." in said


def test_a_label_that_was_never_learned(tmp_path):
    train = write(tmp_path / "train.csv", thirty(text=text, label=lambda n: "yes" if n % 2 else "no"))
    dev = write(
        tmp_path / "dev.csv",
        [{"text": "a", "label": "yes"}, {"text": "b", "label": "yess"}, {"text": "c", "label": "maybe"}],
    )
    said = faults(train, dev=dev)
    assert (
        f"{dev}:3\n    the label 'yess' is in dev but in no training example. Did you mean yes?\n    Labels in train: no, yes."
        in said
    )
    assert f"{dev}:4\n    the label 'maybe'" in said


def test_one_class_only_and_too_little_to_cut(tmp_path):
    said = faults(write(tmp_path / "mine.csv", thirty(text=text, label="a")))
    assert "mine.csv\n    the training examples have only the label 'a': there is nothing to tell apart." in said
    said = faults(write(tmp_path / "two.csv", [{"text": "a", "label": "x"}, {"text": "b", "label": "x"}]))
    assert "there is no example for test." in said
    assert "only the label 'x'" in said


def test_an_empty_dev_set(tmp_path):
    train = write(tmp_path / "train.csv", thirty(text=text, label=lambda n: n % 2))
    (tmp_path / "dev.csv").write_text("text,label\n", encoding="utf-8")
    assert "dev.csv holds no example." in faults(train, dev=tmp_path / "dev.csv")
    (tmp_path / "dev.csv").write_text("text,klass\na,0\n", encoding="utf-8")
    assert "dev has no column 'label', which train has. Did you mean" not in (
        said := faults(train, dev=tmp_path / "dev.csv")
    )
    assert "dev has no column 'label', which train has. Columns: text, klass." in said


def test_a_row_with_a_column_too_few_and_a_label_missing(tmp_path):
    (tmp_path / "mine.csv").write_text("text,label\na,0\nb\n", encoding="utf-8")
    assert "mine.csv:3\n    this row has 1 columns, not the 2 of text, label." in faults(tmp_path / "mine.csv")
    rows = thirty(text=text, label=lambda n: "ab"[n % 2])
    rows[4]["label"] = ""
    assert "mine.csv:6\n    this row has no label." in faults(write(tmp_path / "mine.csv", rows))
    rows = thirty(words=lambda n: "a b", tags="O O")
    rows[2]["tags"] = "O"
    assert "mine.csv:4\n    2 words and 1 tags." in faults(write(tmp_path / "mine.csv", rows))


def test_what_is_asked_is_not_learned_and_the_other_way_round():
    with pytest.raises(Fault, match="lambada is a task to be asked, not one to learn"):
        load("lambada")
    with pytest.raises(Fault, match="rte is a task to be learned, not one to be asked"):
        tasks.load("rte")
    with pytest.raises(Fault, match=r"no task is called 'sst-2'. Did you mean sst2\?"):
        load("sst-2")


# --- published formats without data here --------------------------------------------------------------------------------


def squad2(path: Path) -> None:
    paragraphs = [
        {
            "context": f"It is {n} now.",
            "qas": [
                {
                    "id": f"{n}a",
                    "question": "What is it?",
                    "is_impossible": False,
                    "answers": [{"text": f"{n}", "answer_start": 6}],
                },
                {
                    "id": f"{n}b",
                    "question": "Who is it?",
                    "is_impossible": True,
                    "answers": [],
                    "plausible_answers": [{"text": "It", "answer_start": 0}],
                },
            ],
        }
        for n in range(10)
    ]
    path.write_text(
        json.dumps(
            {
                "version": "v2.0",
                "data": [{"title": f"Title_{n}", "paragraphs": [one]} for n, one in enumerate(paragraphs)],
            }
        ),
        encoding="utf-8",
    )


def lines(head: str, *rows: str):
    return lambda path: path.write_text("\n".join([head, *rows * 10] if head else rows * 10) + "\n", encoding="utf-8")


def race(folder: Path) -> None:
    folder.mkdir(parents=True)
    for number in range(10):
        (folder / f"{number}.txt").write_text(
            json.dumps(
                {
                    "article": f"Passage {number}.",
                    "questions": ["Which _ ?", "Why?"],
                    "options": [["a", "b", "c", "d"]] * 2,
                    "answers": ["B", "D"],
                    "id": f"{number}.txt",
                }
            ),
            encoding="utf-8",
        )


def varied(head: str, row: str):
    return lambda path: path.write_text(
        "\n".join([*([head] if head else []), *(row.replace("@", str(n)).replace("%", str(n % 2)) for n in range(20))])
        + "\n",
        encoding="utf-8",
    )


COLUMNS = "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\n\n" + "Peter NNP I-NP I-PER\n\n" * 20
PUBLISHED = {
    "mrpc": (
        ["glue/MRPC/msr_paraphrase_train.txt", "glue/MRPC/msr_paraphrase_test.txt"],
        varied("\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String", '%\t1\t2\tHe said "@".\tShe did.'),
        ('He said "0".', "She did."),
        "not_equivalent",
    ),
    "qqp": (
        ["glue/QQP/train.tsv", "glue/QQP/dev.tsv"],
        varied("id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate", "@\t1\t2\tWho is @?\tWho?\t%\n9\tbroken"),
        ("Who is 0?", "Who?"),
        "different",
    ),
    "ax": (
        ["glue/diagnostic/diagnostic-full.tsv"],
        varied(
            "Lexical Semantics\tPremise\tHypothesis\tLabel",
            "x\tIt is @.\tIt is.\tentailment\nx\tIt is @.\tIt is not.\tneutral",
        ),
        ("It is 19.", "It is."),
        "entailment",
    ),
    "swag": (
        ["swag/train.csv", "swag/val.csv"],
        varied(
            ",video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3,label",
            "@,v,1,s,He opens door @.,He,gold,goes.,runs.,eats.,sings.,%",
        ),
        ("He opens door 0.",),
        0,
    ),
    "race": (["RACE/train/high", "RACE/dev/high", "RACE/test/high"], race, ("Passage 0.", "Which _ ?"), 1),
    "squad2": (
        ["squad/train-v2.0.json", "squad/dev-v2.0.json"],
        squad2,
        ("What is it?", "It is 0 now."),
        (Span(6, 7, "0"),),
    ),
    "conll2003": (
        ["conll2003/train.txt", "conll2003/valid.txt", "conll2003/test.txt"],
        lambda path: path.write_text(COLUMNS, encoding="utf-8"),
        ("EU rejects",),
        ("I-ORG", "O"),
    ),
    "msra-ner": (
        ["zh/msra/train1.txt", "zh/msra/testright1.txt"],
        varied("", "中共中央/nt 致/o 中国@/ns"),
        ("中共中央致中国0",),
        ("B-NT", "I-NT", "I-NT", "I-NT", "O", "B-NS", "I-NS", "I-NS"),
    ),
    "chnsenticorp": (
        ["zh/chnsenticorp/train.tsv", "zh/chnsenticorp/dev.tsv", "zh/chnsenticorp/test.tsv"],
        varied("label\ttext_a", "%\t房间@很好"),
        ("房间0很好",),
        "negative",
    ),
    "lcqmc": (
        ["zh/lcqmc/train.tsv", "zh/lcqmc/dev.tsv", "zh/lcqmc/test.tsv"],
        varied("text_a\ttext_b\tlabel", "喜欢@\t爱@吗\t%"),
        ("喜欢0", "爱0吗"),
        "different",
    ),
    "thucnews": (
        ["zh/cnews/cnews.train.txt", "zh/cnews/cnews.val.txt", "zh/cnews/cnews.test.txt"],
        varied("", "体育%\t马晓旭@意外受伤"),
        ("马晓旭0意外受伤",),
        "体育0",
    ),
    "xnli-zh": (
        ["xnli/xnli.dev.tsv", "xnli/xnli.test.tsv"],
        lambda path: path.write_text(
            "language\tgold_label\tsentence1\tsentence2\n"
            + "".join(
                f"{language}\t{label}\t他说{n}\t她说\n"
                for n in range(20)
                for label in ("neutral", "contradiction")
                for language in ("ar", "zh")
            ),
            encoding="utf-8",
        ),
        ("他说0", "她说"),
        "neutral",
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_formats_are_read(tmp_path, name):
    files, make, texts, label = PUBLISHED[name]
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        make(tmp_path / file)
    task = load(name, tmp_path)
    first = task.test[0]
    assert (first.texts, first.label) == (texts, label)
    assert task.train
    assert task.dev
    if name == "squad2":
        assert task.test[1].label == ()
    if name == "swag":
        assert first.choices == ("He goes.", "He runs.", "He eats.", "He sings.")
    if name == "xnli-zh":
        assert len(task.test) == 40


COMMON = {
    "mrpc": (
        {"train.tsv": "MRPC", "dev.tsv": "MRPC"},
        varied("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", "%\t1\t2\tHe said @.\tShe did."),
        (16, 20),
    ),
    "qnli": (
        {"train.tsv": "QNLI", "dev.tsv": "QNLI"},
        varied("index\tquestion\tsentence\tlabel", "@\tWho is @?\tHe.\tentailment\n@\tWhy @?\tSo.\tnot_entailment"),
        (32, 40),
    ),
    "mnli": (
        {"train.tsv": "MNLI", "dev_matched.tsv": "MNLI"},
        varied(
            "index\tsentence1\tsentence2\tgold_label", "@\tA @.\tB.\tneutral\n@\tA @.\tB.\t-\n@\tC @.\tB.\tentailment"
        ),
        (32, 40),
    ),
    "conll2003": (
        {"eng.train": "conll2003", "eng.testa": "conll2003", "eng.testb": "conll2003"},
        lambda path: path.write_text(COLUMNS, encoding="utf-8"),
        (21, 21),
    ),
}


@pytest.mark.parametrize("name", COMMON)
def test_sets_are_found_under_their_common_names(tmp_path, name):
    """Below the data folder, or in the folder of the set itself: `--data glue_data` and `--data conll2003`."""
    files, make, counts = COMMON[name]
    where = tmp_path / ("conll2003" if name == "conll2003" else "glue_data")
    for file, folder in files.items():
        path = where / file if name == "conll2003" else where / folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        make(path)
    task = load(name, where)
    assert (len(task.train), len(task.test)) == pytest.approx(counts, abs=4)


def test_iob1_is_converted_before_labels_are_checked(tmp_path):
    """B- stands only between two names, and in dev for a type that has none in train."""
    (tmp_path / "a.conll").write_text(
        "EU I-ORG\nUN B-ORG\n\n" + "Peter I-PER\nBlackburn I-PER\nleft O\n\n" * 20, encoding="utf-8"
    )
    (tmp_path / "b.conll").write_text("Ann I-PER\nBen B-PER\n\n" * 9, encoding="utf-8")
    task = load(tmp_path / "a.conll", dev=tmp_path / "b.conll", test=tmp_path / "b.conll")
    assert {one.label for one in task.train} == {("B-ORG", "B-ORG"), ("B-PER", "I-PER", "O")}
    assert task.dev[0].label == ("B-PER", "B-PER")
    assert task.labels == ("O", "B-ORG", "B-PER", "I-PER")
    assert any("IOB1" in note for note in task.notes)


def test_a_file_of_no_known_kind_is_called_by_its_name(tmp_path):
    (tmp_path / "mine.xlsx").write_text("x", encoding="utf-8")
    assert f"{tmp_path}/mine.xlsx is of no kind that is read here." in faults(tmp_path / "mine.xlsx")
    assert f"{tmp_path}/gone.xlsx is not there." in faults(tmp_path / "gone.xlsx")
    assert f"{tmp_path} is not there" in faults(tmp_path) or "is of no kind" in faults(tmp_path)


def test_columns_without_a_first_line_are_named(tmp_path):
    (tmp_path / "mine.tsv").write_text("".join(f"{n % 2}\ta text {n}\n" for n in range(30)), encoding="utf-8")
    task = load(tmp_path / "mine.tsv", columns=("label", "text"))
    assert (task.kind, len(task.train) + len(task.dev) + len(task.test)) == ("classify", 30)
    (tmp_path / "mine.jsonl").write_text("{}\n", encoding="utf-8")
    assert "names its columns itself" in faults(tmp_path / "mine.jsonl", columns=("label", "text"))
    assert "--columns cannot be given with the task sst2" in faults("sst2", columns=("label",))


def test_every_task_to_learn_is_read_in_some_test():
    assert set(LEARNED) == COUNTS.keys() | PUBLISHED.keys() | {"peopledaily", "story-cloze", "pseudo-cloze"}


def test_endings_of_stories_are_learned_from_the_validation_stories(tmp_path):
    (tmp_path / "story-cloze").mkdir()
    head = ["InputStoryid", *(f"InputSentence{n}" for n in (1, 2, 3, 4))]
    head += ["RandomFifthSentenceQuiz1", "RandomFifthSentenceQuiz2", "AnswerRightEnding"]
    for split in ("valid", "test"):
        rows = [
            [f"{split}{n}", f"One {split} {n}.", "Two.", "Three.", "Four.", "Good.", "Bad.", str(1 + n % 2)]
            for n in range(30)
        ]
        lines = [",".join(row) for row in [head, *rows]]
        (tmp_path / f"story-cloze/{split}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    task = load("story-cloze", tmp_path)
    assert (task.kind, len(task.train) + len(task.dev), len(task.test)) == ("choice", 30, 30)
    assert task.test[1].texts == ("One test 1. Two. Three. Four.",)
    assert (task.test[1].choices, task.test[1].label) == (("Good.", "Bad."), 1)


def test_made_up_endings_come_with_both_kinds_of_wrong_ones(data):
    own, other = (load(f"pseudo-cloze/{kind}", data) for kind in ("same-text", "other-author"))
    for task in (own, other):
        assert task.kind == "choice"
        assert len(task.test) > 100
        assert {len(one.choices) for one in task.test} == {2}
        assert 0.4 < sum(one.label for one in task.test) / len(task.test) < 0.6
    assert own.test[0].texts == other.test[0].texts


def test_squad_s_json_and_columns_are_files_of_one_s_own_too(tmp_path):
    squad2(tmp_path / "mine.json")
    task = load(tmp_path / "mine.json")
    assert task.kind == "span"
    assert sum(example.label == () for example in (*task.train, *task.dev, *task.test)) == 10
    (tmp_path / "mine.conll").write_text(COLUMNS.replace("I-PER", "B-PER"), encoding="utf-8")
    assert len(rows_of(tmp_path / "mine.conll")) == 21
    (tmp_path / "bad.conll").write_text("EU B-ORG\nrejects\n", encoding="utf-8")
    assert "bad.conll:2\n    a word and its tag are expected here" in faults(tmp_path / "bad.conll")
