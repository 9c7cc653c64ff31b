"""`foreword predict` with folders that `transformers` itself wrote: the same answers, labels from id2label, no passport."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from foreword.transfer.finetune import finetune
from foreword.transfer.predict import Predictor
from foreword.transfer.tuning import FinetuneSettings
from tests.cli.program import run
from tests.labelled import examples, folder, task, tokenizer
from tests.parity.test_hugging_face import redrawn

transformers = pytest.importorskip("transformers")
transformers.utils.logging.set_verbosity_error()
COLUMNS = {
    "classify": ("text",),
    "pair": ("sentence1", "sentence2"),
    "similarity": ("premise", "hypothesis"),
    "choice": ("context", "choices"),
    "span": ("question", "context"),
    "tag": ("words",),
}
CLASSES = {
    "bert": {
        "classify": "ForSequenceClassification",
        "pair": "ForSequenceClassification",
        "similarity": "ForSequenceClassification",
        "choice": "ForMultipleChoice",
        "span": "ForQuestionAnswering",
        "tag": "ForTokenClassification",
    },
    "gpt2": {
        "classify": "ForSequenceClassification",
        "pair": "ForSequenceClassification",
        "similarity": "ForSequenceClassification",
        "choice": "DoubleHeadsModel",
        "span": "ForQuestionAnswering",
        "tag": "ForTokenClassification",
    },
}
NAMES = {"bert": "Bert", "gpt2": "GPT2"}
LABELS = ("calm", "glad", "sad")


def theirs(family: str, kind: str, path: Path) -> tuple[Any, Any]:
    """A folder as their library writes it: config.json, weights and tokenizer, and nothing of ours."""
    tokenizer(family).save(path)
    said = json.loads((path / "tokenizer_config.json").read_text())
    said.pop("foreword")
    (path / "tokenizer_config.json").write_text(json.dumps(said))
    torch.manual_seed(0)
    shape = {
        "bert": {
            "num_hidden_layers": 2,
            "hidden_size": 32,
            "num_attention_heads": 2,
            "intermediate_size": 64,
            "max_position_embeddings": 48,
        },
        "gpt2": {
            "n_layer": 2,
            "n_embd": 32,
            "n_head": 2,
            "n_positions": 48,
            "pad_token_id": 0,
            "summary_proj_to_labels": True,
        },
    }
    more: dict[str, Any] = {"num_labels": 1} if kind in ("similarity", "choice") else {}
    if kind in ("classify", "pair", "tag"):
        more = {"id2label": dict(enumerate(LABELS)), "label2id": {label: number for number, label in enumerate(LABELS)}}
    config = getattr(transformers, f"{NAMES[family]}Config")(vocab_size=len(tokenizer(family)), **shape[family], **more)
    model = redrawn(getattr(transformers, f"{NAMES[family]}{CLASSES[family][kind]}")(config).eval())
    model.save_pretrained(path)
    return model, transformers.AutoTokenizer.from_pretrained(path)


def row(kind: str, one: Any) -> dict[str, Any]:
    texts = (
        (*one.texts, list(one.choices))
        if kind == "choice"
        else ([span.text for span in one.words],)
        if kind == "tag"
        else one.texts
    )
    return dict(zip(COLUMNS[kind], texts))


def logits(model: Any, given: dict[str, Any]) -> torch.Tensor:
    with torch.no_grad():
        return model(**given).logits[0]


def asked(reader: Any, *texts: str) -> dict[str, Any]:
    return dict(reader(*texts, return_tensors="pt"))


def answer(kind: str, family: str, model: Any, reader: Any, one: Any) -> Any:
    """What their model says of one example, asked the plain way."""
    if kind in ("classify", "pair"):
        return dict(zip(LABELS, logits(model, asked(reader, *one.texts)).softmax(-1).tolist()))
    if kind == "similarity":
        return float(logits(model, asked(reader, *one.texts))[0])
    if kind == "choice":
        given = [asked(reader, one.texts[0], choice) for choice in one.choices]
        with torch.no_grad():
            each = [model(**{name: value[None] for name, value in some.items()}) for some in given]
        return int(np.argmax([float(one.mc_logits if family == "gpt2" else one.logits) for one in each]))
    given = asked(reader, *one.texts) | {}
    offsets = reader(*one.texts, return_offsets_mapping=True)["offset_mapping"]
    if kind == "tag":
        said = logits(model, given).argmax(-1)
        places = [
            next(i for i, (start, end) in enumerate(offsets) if start < word.end and end > word.start)
            for word in one.words
        ]
        return [LABELS[int(said[place])] for place in places]
    with torch.no_grad():
        found = model(**given)
    second = [number == 1 for number in reader(*one.texts).sequence_ids()]
    table = (found.start_logits[0][:, None] + found.end_logits[0][None]).numpy()
    table[~np.outer(second, second)] = -np.inf
    table[np.tril_indices(len(table), -1)] = -np.inf
    start, end = np.unravel_index(table.argmax(), table.shape)
    return one.texts[1][offsets[start][0] : offsets[end][1]].strip()


@pytest.mark.parametrize("family", ["bert", "gpt2"])
@pytest.mark.parametrize("kind", COLUMNS)
def test_every_kind_is_answered_as_their_own_class_answers(kind: str, family: str, tmp_path: Path) -> None:
    model, reader = theirs(family, kind, tmp_path / "theirs")
    some = examples(kind, 10, seed=3)
    new = tmp_path / "new.jsonl"
    new.write_text("".join(json.dumps(row(kind, one)) + "\n" for one in some), encoding="utf-8")
    lines = [json.loads(line) for line in run("predict", tmp_path / "theirs", new, "--json").right().splitlines()]
    wanted = [answer(kind, family, model, reader, one) for one in some]
    for line, right in zip(lines, wanted, strict=True):
        if isinstance(right, dict):
            assert line["scores"] == pytest.approx(right, abs=1e-5)
            assert line["answer"] == max(right, key=lambda label: right[label])
        else:
            assert line["answer"] == (pytest.approx(right, abs=1e-5) if isinstance(right, float) else right)
    assert len({str(one) for one in wanted}) > 1, "one answer to everything would prove little"


def test_columns_that_do_not_fit_what_the_class_reads(tmp_path: Path) -> None:
    theirs("bert", "similarity", tmp_path / "theirs")
    new = tmp_path / "new.csv"
    new.write_text("id,txt\n1,a film\n", encoding="utf-8")
    said = run("predict", tmp_path / "theirs", new, "--out", tmp_path / "out.jsonl").fault()
    assert said == (
        f"{new}:1\n    the columns 'id', 'txt' do not say what is to be read. Did you mean text?\n"
        "    Name them in the first line: sentence1 and sentence2."
    )
    (tmp_path / "new.txt").write_text("a film\n", encoding="utf-8")
    assert (
        "similarity regression needs more than that"
        in run("predict", tmp_path / "theirs", tmp_path / "new.txt").fault()
    )
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_a_folder_of_ours_that_they_wrote_again(family: str, tmp_path: Path) -> None:
    """Specials that stand around texts are known by the tokens in the vocabulary, whoever wrote the tokenizer."""
    whole = task("pair", 32, 9, 9)
    made = finetune(
        folder(family, tmp_path / "base"),
        whole,
        tmp_path / "run",
        FinetuneSettings(epochs=1, batch_size=16, learning_rate=3e-3),
    )
    transformers.AutoModelForSequenceClassification.from_pretrained(made.model).save_pretrained(tmp_path / "again")
    transformers.AutoTokenizer.from_pretrained(made.model).save_pretrained(tmp_path / "again")
    said = json.loads((tmp_path / "again" / "tokenizer_config.json").read_text())
    said.pop("foreword", None)
    (tmp_path / "again" / "tokenizer_config.json").write_text(json.dumps(said))
    ours, theirs = (Predictor(path).predict(whole.test).answers for path in (made.path, tmp_path / "again"))
    for one, other in zip(ours, theirs, strict=True):
        assert one.scores == pytest.approx(other.scores, abs=1e-6)
