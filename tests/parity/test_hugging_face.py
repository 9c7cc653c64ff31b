"""Against `transformers`: the same weights give the same numbers, read from its folders and written into ours.

Tiny models whose every weight is drawn anew, gains and biases too, so that nothing is hidden by a default.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer as Backend
from torch import Tensor, nn

import foreword
from foreword.assembly import loader
from foreword.assembly.build import model_for
from foreword.basics.messages import Fault
from foreword.exchange import hugging_face
from foreword.networks.base import Inputs, Model
from foreword.runs.moving import export_model
from foreword.tokens.kinds import ByteBPE, CharBPE, WordPiece
from foreword.tokens.tokenizer import Tokenizer
from foreword.tokens.vocabulary import Vocabulary

transformers = pytest.importorskip("transformers")
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()

TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-8}
CONTEXT = 24


@dataclass(frozen=True)
class Case:
    """One of their classes, and the same model as a recipe of ours."""

    cls: str
    auto: str
    config: Callable[..., Any]
    recipe: str
    settings: tuple[str, ...]
    vocabulary: int
    heads: tuple[str, ...] = ("tokens",)
    double: float = TOLERANCE[torch.float64]

    def tolerance(self, dtype: torch.dtype) -> float:
        return self.double if dtype == torch.float64 else TOLERANCE[dtype]

    @property
    def causal(self) -> bool:
        return self.recipe not in ("bert", "roberta", "modern-bert")

    def theirs(self, seed: int = 0, **more: Any) -> Any:
        torch.manual_seed(seed)
        return redrawn(getattr(transformers, self.cls)(self.config(**more)).eval())

    def ours(self, seed: int = 0, *settings: str) -> tuple[Any, Model]:
        torch.manual_seed(seed)
        recipe = loader.load(self.recipe, "", [*self.settings, *settings])
        model = model_for(recipe, Vocabulary(self.vocabulary, -1, ()))
        for name in set(model.heads) - set(self.heads):
            del model.heads[name]
        return recipe, redrawn(model.eval())

    def opened(self, folder: Path, dtype: torch.dtype = torch.float32) -> Any:
        """What transformers makes of a folder, with every tensor accounted for by its own loader."""
        model, report = getattr(transformers, self.cls).from_pretrained(folder, output_loading_info=True)
        unread = set(report["missing_keys"]) - {"pooler.dense.weight", "pooler.dense.bias"}  # BertModel's, never used
        assert not unread
        assert not report["unexpected_keys"]
        assert not report["mismatched_keys"]
        return model.to(dtype).eval()


def gpt2(**more: Any) -> Any:
    return transformers.GPT2Config(
        **{
            "n_embd": 32,
            "n_layer": 2,
            "n_head": 2,
            "vocab_size": 67,
            "n_positions": CONTEXT,
            "resid_pdrop": 0.0,
            "embd_pdrop": 0.0,
            "attn_pdrop": 0.0,
            "bos_token_id": 66,
            "eos_token_id": 66,
            **more,
        }
    )


def gpt1(**more: Any) -> Any:
    return transformers.OpenAIGPTConfig(
        **{
            "n_embd": 32,
            "n_layer": 2,
            "n_head": 2,
            "vocab_size": 71,
            "n_positions": CONTEXT,
            "resid_pdrop": 0.0,
            "embd_pdrop": 0.0,
            "attn_pdrop": 0.0,
            **more,
        }
    )


def gpt_neo(**more: Any) -> Any:
    return transformers.GPTNeoConfig(
        **{
            "hidden_size": 32,
            "num_layers": 2,
            "num_heads": 2,
            "vocab_size": 67,
            "max_position_embeddings": CONTEXT,
            "attention_types": [[["global", "local"], 1]],
            "window_size": 3,
            "bos_token_id": 66,
            "eos_token_id": 66,
            **more,
        }
    )


def bert(**more: Any) -> Any:
    return transformers.BertConfig(
        **{
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 56,
            "vocab_size": 83,
            "max_position_embeddings": CONTEXT,
            "type_vocab_size": 3,
            "hidden_dropout_prob": 0.0,
            "attention_probs_dropout_prob": 0.0,
            **more,
        }
    )


def roberta(**more: Any) -> Any:
    return transformers.RobertaConfig(
        **{**bert().to_diff_dict(), "max_position_embeddings": CONTEXT + 2, "layer_norm_eps": 1e-5, "pad_token_id": 1}
        | {"model_type": "roberta", **more}
    )


def electra(**more: Any) -> Any:
    return transformers.ElectraConfig(
        **{**bert().to_diff_dict(), "model_type": "electra", "embedding_size": 20, "pad_token_id": 0, **more}
    )


def modernbert(**more: Any) -> Any:
    ids = dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"), 1)
    return transformers.ModernBertConfig(
        **{
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 56,
            "vocab_size": 83,
            "max_position_embeddings": CONTEXT,
            "layer_types": ["full_attention", "sliding_attention"],
            "local_attention": 4,
            **ids,
            **more,
        }
    )


def nanochat(**more: Any) -> Any:
    return transformers.NanoChatConfig(
        **{
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 128,
            "vocab_size": 67,
            "max_position_embeddings": CONTEXT,
            "final_logit_softcapping": None,
            "tie_word_embeddings": True,
            "bos_token_id": 66,
            "eos_token_id": 66,
            "pad_token_id": 66,
            **more,
        }
    )


SMALL = (
    "network.layers=2",
    "network.width=32",
    "network.heads=2",
    f"network.context={CONTEXT}",
    "network.dropout={table=0.0, embeddings=0.0, attention=0.0, residual=0.0}",
)
MODERN = (*SMALL, "network.inner=56", "network.visible={kind='alternating', window=4, order=['dense', 'banded']}")
BERT = (*SMALL, "network.inner=56", "network.segments=3")
NEO = (*SMALL, "network.qkv_bias=false", "network.visible.window=3")
CASES = {
    "gpt2": Case("GPT2LMHeadModel", "AutoModelForCausalLM", gpt2, "gpt2", SMALL, 67),
    "openai-gpt": Case("OpenAIGPTLMHeadModel", "AutoModelForCausalLM", gpt1, "gpt1", SMALL, 71),
    "gpt_neo": Case(
        "GPTNeoForCausalLM", "AutoModelForCausalLM", gpt_neo, "gpt3", NEO, 67, double=1e-5
    ),  # their scores are computed in float32 whatever comes in
    "nanochat": Case(
        "NanoChatForCausalLM", "AutoModelForCausalLM", nanochat, "modern-gpt", SMALL, 67, double=1e-5
    ),  # their norms compute in float32 whatever comes in
    "bert": Case("BertForPreTraining", "AutoModelForPreTraining", bert, "bert", BERT, 83, ("tokens", "next_sentence")),
    "bert masked": Case(
        "BertForMaskedLM", "AutoModelForMaskedLM", bert, "bert", (*BERT, "objective.parts=[{kind='masked'}]"), 83
    ),
    "roberta": Case("RobertaForMaskedLM", "AutoModelForMaskedLM", roberta, "roberta", BERT, 83),
    "roberta trunk": Case("RobertaModel", "AutoModel", roberta, "roberta", BERT, 83, ()),
    "electra": Case(
        "ElectraForPreTraining",
        "AutoModelForPreTraining",
        electra,
        "bert",
        (*BERT, "network.embedding=20", "objective={kind='replaced_token'}"),
        83,
        ("replaced",),
    ),
    "electra generator": Case(
        "ElectraForMaskedLM",
        "AutoModelForMaskedLM",
        electra,
        "bert",
        (*BERT, "network.embedding=20", "objective={kind='masked'}"),
        83,
    ),
    "modernbert": Case(
        "ModernBertForMaskedLM", "AutoModelForMaskedLM", modernbert, "modern-bert", MODERN, 83, double=1e-5
    ),
    "bert trunk": Case("BertModel", "AutoModel", bert, "bert", (*BERT, "objective.parts=[{kind='masked'}]"), 83, ()),
}
CAUSAL = [name for name, case in CASES.items() if case.causal]
every_case = pytest.mark.parametrize("name", CASES)
every_causal = pytest.mark.parametrize("name", CAUSAL)
both_dtypes = pytest.mark.parametrize("dtype", TOLERANCE, ids=["float32", "float64"])


def redrawn(model: nn.Module) -> Any:
    """Every weight from N(0, 0.1), the gains of norms around 1."""
    with torch.no_grad():
        for module in model.modules():
            for name, weight in module.named_parameters(recurse=False):
                weight.normal_(0.0, 0.1)
                if isinstance(module, nn.LayerNorm) and name == "weight":
                    weight += 1.0
    return model


@dataclass(frozen=True)
class Rows:
    """A batch of unequal rows, padded on one side (or not at all)."""

    ids: Tensor
    real: Tensor
    segments: Tensor

    @staticmethod
    def draw(vocabulary: int, side: str, lengths: tuple[int, ...] = (13, 7, 1, 10), seed: int = 5) -> Rows:
        chance = torch.Generator().manual_seed(seed)
        longest = max(lengths)
        if side == "none":
            lengths = (longest,) * len(lengths)
        ids = torch.randint(0, vocabulary, (len(lengths), longest), generator=chance)  # padding is not zeros
        ids[ids == 1] = 2  # RoBERTa's padding, which it does not number
        places = torch.arange(longest)[None]
        wide = torch.tensor(lengths)[:, None]
        real = places >= longest - wide if side == "left" else places < wide
        return Rows(ids, real, torch.randint(0, 3, ids.shape, generator=chance))

    @property
    def positions(self) -> Tensor:
        return (self.real.cumsum(1) - 1).clamp(min=0)


def ask_theirs(model: Any, case: Case, rows: Rows) -> dict[str, Any]:
    more = {"position_ids": rows.positions} if case.causal else {"token_type_ids": rows.segments}
    more = {} if case.recipe == "modern-bert" else more
    found = model(input_ids=rows.ids, attention_mask=rows.real.long(), output_hidden_states=True, **more)
    return {
        "tokens": found.get("prediction_logits", found.get("logits")),
        "next_sentence": found.get("seq_relationship_logits"),
        "layers": found.hidden_states,
    }


def ask_ours(model: Model, case: Case, rows: Rows) -> dict[str, Any]:
    output = model.network(
        Inputs(rows.ids, None if rows.real.all() else rows.real, None if case.causal else rows.segments)
    )
    heads = model.heads
    return {
        "tokens": heads["tokens"].logits(output.last)
        if "tokens" in heads
        else heads["replaced"](output.last)
        if "replaced" in heads
        else None,
        "next_sentence": heads["next_sentence"](output.last) if "next_sentence" in heads else None,
        "layers": (*output.layers[:-1], output.last),
    }


def agree(ours: dict[str, Any], theirs: dict[str, Any], rows: Rows, tolerance: float) -> None:
    """At every token; what stands at padding means nothing."""
    assert (ours["tokens"] is None) == (theirs["tokens"] is None)
    if ours["tokens"] is not None:
        same(ours["tokens"][rows.real], theirs["tokens"][rows.real], tolerance)
    assert (ours["next_sentence"] is None) == (theirs["next_sentence"] is None)
    if ours["next_sentence"] is not None:
        same(ours["next_sentence"], theirs["next_sentence"], tolerance)
    assert len(ours["layers"]) == len(theirs["layers"]) == 3
    for mine, other in zip(ours["layers"], theirs["layers"]):
        same(mine[rows.real], other[rows.real], tolerance)


def same(ours: Any, theirs: Any, tolerance: float) -> None:
    torch.testing.assert_close(torch.as_tensor(ours), torch.as_tensor(theirs), atol=tolerance, rtol=0)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each case as transformers saves it."""
    found = {}
    for name, case in CASES.items():
        found[name] = tmp_path_factory.mktemp("theirs") / case.cls
        case.theirs().save_pretrained(found[name])
    return found


@pytest.fixture
def copied(folders: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy of a case's folder, to spoil."""
    return lambda name: Path(shutil.copytree(folders[name], tmp_path / name.replace(" ", "-")))


def respelled(folder: Path, change: Callable[[dict[str, Tensor]], Any]) -> Path:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / "model.safetensors")
    return folder


def reconfigured(folder: Path, **values: Any) -> Path:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **values}))
    return folder


def fault(folder: Path) -> str:
    with pytest.raises(Fault) as caught:
        foreword.load(folder)
    assert caught.value.code == 2
    return str(caught.value)


# --- their folders, read by us ---------------------------------------------------------------------------------------

# BERT numbers positions from the left edge: it is padded on the right
SIDES = [
    (name, side) for name, case in CASES.items() for side in ("none", "left", "right") if case.causal or side != "left"
]


@pytest.mark.parametrize(("name", "side"), SIDES)
@both_dtypes
@torch.no_grad()
def test_a_folder_of_transformers_gives_its_numbers(folders, name, dtype, side) -> None:
    case = CASES[name]
    rows = Rows.draw(case.vocabulary, side)
    model = hugging_face.read(folders[name]).model.to(dtype)
    theirs = case.theirs().to(dtype)
    agree(ask_ours(model, case, rows), ask_theirs(theirs, case, rows), rows, case.tolerance(dtype))


@every_case
@both_dtypes
def test_gradients_are_those_of_transformers(folders, name, dtype) -> None:
    case = CASES[name]
    rows = Rows.draw(case.vocabulary, "left" if case.causal else "right")
    ours, theirs = hugging_face.read(folders[name]).model.to(dtype), case.theirs().to(dtype)
    for answer in (ask_ours(ours, case, rows), ask_theirs(theirs, case, rows)):
        chance = torch.Generator().manual_seed(9)
        loss = torch.zeros((), dtype=dtype)
        for key in ("tokens", "next_sentence"):
            if answer[key] is not None:
                value = answer[key][rows.real] if key == "tokens" else answer[key]
                loss = loss + (value * torch.randn(value.shape, generator=chance).to(dtype)).sum()
        last = answer["layers"][-1][rows.real]
        (loss + (last * torch.randn(last.shape, generator=chance).to(dtype)).sum()).backward()
    mine = {key: weight.grad for key, weight in ours.named_parameters()}
    other = {plain(key): weight.grad for key, weight in theirs.named_parameters()}
    pairs = {
        "network.embeddings.tokens.weight": one_of(
            other, "wte", "tokens_embed", "embeddings.word_embeddings", "embed_tokens", "embeddings.tok_embeddings"
        ),
    }
    if name == "modernbert":
        pairs |= {
            "network.blocks.0.attention.out.weight": other["layers.0.attn.Wo.weight"],
            "network.blocks.1.feedforward.gate.weight": other["layers.1.mlp.Wi.weight"].chunk(2)[1],
        }
    elif name == "nanochat":
        pairs |= {
            "network.blocks.0.attention.project.weight": torch.cat(
                [other[f"layers.0.self_attn.{part}_proj.weight"] for part in "qkv"]
            ),
            "network.blocks.1.feedforward.out.weight": other["layers.1.mlp.fc2.weight"],
        }
    else:
        pairs["network.embeddings.positions.weight"] = one_of(
            other, "wpe", "positions_embed", "embeddings.position_embeddings"
        )
    if name == "gpt_neo":  # our queries are made by their matrix times the root of 16
        theirs_qkv = [other[f"h.0.attn.attention.{part}_proj.weight"] / scale for part, scale in zip("qkv", (4, 1, 1))]
        pairs |= {
            "network.blocks.0.attention.project.weight": torch.cat(theirs_qkv),
            "network.blocks.1.feedforward.out.weight": other["h.1.mlp.c_proj.weight"],
        }
    if name in ("gpt2", "openai-gpt"):
        pairs |= {
            "network.blocks.0.attention.project.weight": other["h.0.attn.c_attn.weight"].t(),
            "network.blocks.1.feedforward.out.weight": other["h.1.mlp.c_proj.weight"].t(),
            "network.blocks.1.second.norm.weight": other["h.1.ln_2.weight"],
        }
    if not case.causal and name != "modernbert":
        attention = "encoder.layer.0.attention.self"
        pairs |= {
            "network.blocks.0.attention.project.weight": torch.cat(
                [other[f"{attention}.{part}.weight"] for part in ("query", "key", "value")]
            ),
            "network.blocks.1.feedforward.out.weight": other["encoder.layer.1.output.dense.weight"],
            "network.blocks.1.second.norm.weight": other["encoder.layer.1.output.LayerNorm.weight"],
            "network.embeddings.segments.weight": other["embeddings.token_type_embeddings.weight"],
        }
    for key, theirs_grad in pairs.items():
        if name.startswith(("bert", "electra")) and key == "network.embeddings.tokens.weight":
            theirs_grad, mine[key] = theirs_grad[1:], mine[key][1:]  # their table passes nothing to row 0 (padding_idx)
        assert mine[key].abs().max() > 1e-3, f"{key} gets no gradient: nothing was compared"
        # gradients are some tens in size here, so the tolerance is of the largest
        same(mine[key], theirs_grad, case.tolerance(dtype) * max(1.0, float(theirs_grad.abs().max())))


def one_of(tensors: dict[str, Tensor], *names: str) -> Tensor:
    return next(tensors[f"{name}.weight"] for name in names if f"{name}.weight" in tensors)


@every_causal
@torch.no_grad()
def test_foreword_load_gives_logits_without_a_tokenizer(folders, name) -> None:
    case = CASES[name]
    ids = Rows.draw(case.vocabulary, "none").ids[0]
    opened = foreword.load(folders[name])
    same(opened.logits(ids.tolist()), case.theirs()(ids[None]).logits[0], 1e-4)
    with pytest.raises(Fault, match="has no tokenizer, only weights"):
        opened.score("text")


@every_causal
@torch.no_grad()
@pytest.mark.parametrize("chunk", [1, 3, 13])
def test_cached_logits_are_those_of_one_pass_of_transformers(folders, name, chunk) -> None:
    """With left padding, the prompt fed in pieces."""
    case = CASES[name]
    rows = Rows.draw(case.vocabulary, "left")
    model, theirs = hugging_face.read(folders[name]).model, ask_theirs(case.theirs(), case, rows)["tokens"]
    state, found = None, []
    for at in range(0, rows.ids.size(1), chunk):
        output = model.network(Inputs(rows.ids[:, at : at + chunk], rows.real[:, at : at + chunk]), state)
        state = output.state
        found.append(model.heads["tokens"].logits(output.last))
    same(torch.cat(found, 1)[rows.real], theirs[rows.real], 1e-4)


@every_causal
@torch.no_grad()
def test_greedy_generation_is_that_of_transformers(folders, name) -> None:
    case = CASES[name]
    chance = np.random.default_rng(3)
    prompts = [chance.integers(0, case.vocabulary - 1, length) for length in (6, 3, 1)]
    theirs = case.theirs()
    model = hugging_face.read(folders[name]).model.language_model(Vocabulary(case.vocabulary, -1, ()))
    log_probs, state = model.begin(prompts)  # rows of unequal length, together
    chosen = []
    for _ in range(12):
        chosen.append(log_probs.argmax(-1))
        log_probs, state = model.advance(chosen[-1].numpy(), state)
    ours = torch.stack(chosen, 1).tolist()
    assert len({token for row in ours for token in row}) > 2, "the models say one word: nothing was compared"
    for prompt, row in zip(prompts, ours):
        ids = torch.from_numpy(prompt)[None]
        out = theirs.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=12,
            do_sample=False,
            eos_token_id=None,
            pad_token_id=0,
        )
        assert row == out[0, ids.size(1) :].tolist()


# --- our models, read by them ----------------------------------------------------------------------------------------


@every_case
@both_dtypes
@torch.no_grad()
def test_a_model_of_ours_opens_in_transformers(tmp_path, name, dtype) -> None:
    case = CASES[name]
    recipe, model = case.ours(seed=4)
    hugging_face.write(tmp_path, recipe, model, None)
    rows = Rows.draw(case.vocabulary, "right")
    expected = ask_ours(model.to(dtype), case, rows)
    agree(expected, ask_theirs(case.opened(tmp_path, dtype), case, rows), rows, case.tolerance(dtype))
    auto = getattr(transformers, case.auto).from_pretrained(tmp_path).to(dtype).eval()
    assert type(auto).__name__ == case.cls
    agree(expected, ask_theirs(auto, case, rows), rows, case.tolerance(dtype))


@every_case
@torch.no_grad()
def test_what_we_write_we_read_to_the_same_numbers(tmp_path, name) -> None:
    case = CASES[name]
    recipe, model = case.ours(seed=4)
    hugging_face.write(tmp_path, recipe, model, None)
    again = hugging_face.read(tmp_path)
    assert set(again.model.heads) == set(case.heads)
    for key, tensor in model.weights().items():
        assert torch.equal(tensor, again.model.weights()[key]), key


def test_a_large_model_is_written_in_numbered_files_that_both_open(tmp_path, monkeypatch) -> None:
    case = CASES["gpt2"]
    recipe, model = case.ours(3)
    monkeypatch.setattr(hugging_face, "LARGEST", 20_000)
    hugging_face.write(tmp_path / "model", recipe, model, None)
    files = sorted(path.name for path in (tmp_path / "model").glob("*.safetensors"))
    assert len(files) > 2
    assert files[0] == f"model-00001-of-{len(files):05d}.safetensors"
    again = hugging_face.read(tmp_path / "model").model
    assert all(torch.equal(weight, again.weights()[name]) for name, weight in model.weights().items())
    theirs = case.opened(tmp_path / "model")
    ids = torch.arange(12).view(1, 12)
    with torch.no_grad():
        logits = model.heads["tokens"].logits(model.network(Inputs(ids)).last)
        assert torch.allclose(theirs(ids).logits, logits, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "value", "theirs", "field"),
    [
        ("gpt2", "gelu_erf", "gelu", "activation_function"),
        ("gpt2", "relu", "relu", "activation_function"),
        ("openai-gpt", "relu", "relu", "afn"),
        ("bert", "gelu_tanh", "gelu_new", "hidden_act"),
        ("nanochat", "relu", "relu", "hidden_act"),
    ],
)
@torch.no_grad()
def test_every_activation_goes_both_ways(tmp_path, name, value, theirs, field) -> None:
    case = CASES[name]
    more = [f"head.activation={value}"] if name == "bert" else []
    recipe, model = case.ours(1, f"network.activation={value}", *more)
    hugging_face.write(tmp_path, recipe, model, None)
    assert json.loads((tmp_path / "config.json").read_text())[field] == theirs
    rows = Rows.draw(case.vocabulary, "right")
    expected = ask_theirs(case.opened(tmp_path), case, rows)
    agree(ask_ours(model, case, rows), expected, rows, 1e-4)
    agree(ask_ours(hugging_face.read(tmp_path).model, case, rows), expected, rows, 1e-4)


@pytest.mark.parametrize(
    "setting", ["head.kind='softmax'", "head.tied=false", "head.activation='relu'", "head.norm_epsilon=0.5"]
)
def test_a_bert_that_transformers_cannot_hold_is_written_in_our_own_layout(tmp_path, setting) -> None:
    """Their class has one head; another head must not be written as if it were that one."""
    tokenizer = WordPiece(vocabulary=120).train(iter([WORDS]))
    recipe = loader.load("bert", "", [*BERT, setting])
    model = redrawn(model_for(recipe, tokenizer.vocabulary()).eval())
    hugging_face.write(tmp_path, recipe, model, tokenizer)
    assert json.loads((tmp_path / "config.json").read_text())["model_type"] == "foreword"
    again = hugging_face.read(tmp_path).model
    rows = Rows.draw(60, "right")
    with torch.no_grad():
        same(ask_ours(again, CASES["bert"], rows)["tokens"], ask_ours(model, CASES["bert"], rows)["tokens"], 0.0)


@torch.no_grad()
def test_inner_width_and_epsilon_are_read(tmp_path) -> None:
    case = CASES["gpt2"]
    theirs = case.theirs(n_inner=40, layer_norm_epsilon=0.1)
    theirs.save_pretrained(tmp_path)
    rows = Rows.draw(67, "right")
    agree(ask_ours(hugging_face.read(tmp_path).model, case, rows), ask_theirs(theirs, case, rows), rows, 1e-4)


# --- banded layers ---------------------------------------------------------------------------------------------------


class _InDouble:
    """torch, but what is called float32 is float64: their scores without their rounding."""

    float32 = torch.float64

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


@pytest.mark.parametrize("order", [["global", "local"], ["local"], ["global"], ["local", "global", "global"]])
@torch.no_grad()
def test_bands_are_those_of_gpt_neo_to_the_last_digits(tmp_path, monkeypatch, order) -> None:
    """Three layers, in any order; heads of 12, whose root is no power of two."""
    monkeypatch.setattr("transformers.models.gpt_neo.modeling_gpt_neo.torch", _InDouble())
    case = CASES["gpt_neo"]
    theirs = case.theirs(
        num_layers=3, attention_types=[[(order * 3)[:3], 1]], window_size=4, hidden_size=36, num_heads=3
    )
    theirs.save_pretrained(tmp_path / "theirs")
    read = hugging_face.read(tmp_path / "theirs")
    hugging_face.write(tmp_path / "ours", read.recipe, read.model, None)
    back = case.opened(tmp_path / "ours", torch.float64)
    rows = Rows.draw(67, "left", (20, 7, 1, 10))
    mine, real = ask_ours(read.model.double(), case, rows), rows.real
    for model, near in ((theirs.double(), 1e-6), (back, 1e-6)):  # float32 weights times a root are not exact
        for ours, other in zip(mine["layers"], ask_theirs(model, case, rows)["layers"]):
            same(ours[real], other[real], near)
    if order == ["local"]:
        assert read.recipe.network.visible.order == ("banded",)


@torch.no_grad()
def test_bands_are_those_of_gpt_neo_in_float64(folders, monkeypatch) -> None:
    """Heads of 16: nothing is rounded on the way."""
    monkeypatch.setattr("transformers.models.gpt_neo.modeling_gpt_neo.torch", _InDouble())
    case = CASES["gpt_neo"]
    for side in ("none", "left", "right"):
        rows = Rows.draw(case.vocabulary, side)
        model = hugging_face.read(folders["gpt_neo"]).model.double()
        agree(ask_ours(model, case, rows), ask_theirs(case.theirs().double(), case, rows), rows, 1e-8)


@pytest.mark.parametrize("window", [1, 3])
@torch.no_grad()
def test_an_edit_reaches_as_far_as_the_window_in_both(tmp_path, window) -> None:
    """One banded layer, window 3: a token at 4 is seen by 4, 5 and 6, and by nobody else."""
    case = CASES["gpt_neo"]
    theirs = case.theirs(num_layers=1, attention_types=[[["local"], 1]], window_size=window)
    theirs.save_pretrained(tmp_path)
    ours = hugging_face.read(tmp_path).model
    ids = Rows.draw(67, "none").ids[:1]
    other = ids.clone()
    other[0, 4] = (other[0, 4] + 1) % 67
    for answers in (
        [ours.network(Inputs(x)).last for x in (ids, other)],
        [theirs.transformer(x).last_hidden_state for x in (ids, other)],
    ):
        changed = (answers[0] - answers[1]).abs().amax(-1)[0] > 0
        assert changed.nonzero()[:, 0].tolist() == list(range(4, 4 + window))


@pytest.mark.parametrize(
    ("settings", "model_type"),
    [
        ((), "foreword"),
        (("network.qkv_bias=false",), "gpt_neo"),
        (("network.visible.kind='dense'",), "gpt2"),
        (("network.qkv_bias=false", "network.visible.kind='dense'"), "gpt_neo"),
        (("network.qkv_bias=false", "network.norm='after'"), "foreword"),
    ],
)
@torch.no_grad()
def test_a_gpt3_is_written_as_what_can_hold_it(tmp_path, settings, model_type) -> None:
    """GPT-Neo has no biases of queries, keys and values, GPT-2 no bands: neither may be written as if it had."""
    tokenizer = ByteBPE(vocabulary=320).train(iter([WORDS]))
    recipe = loader.load("gpt3", "", [*SMALL, "network.visible.window=3", *settings])
    model = redrawn(model_for(recipe, tokenizer.vocabulary()).eval())
    hugging_face.write(tmp_path, recipe, model, tokenizer)
    assert json.loads((tmp_path / "config.json").read_text())["model_type"] == model_type
    rows = Rows.draw(320, "right")
    expected = ask_ours(model, CASES["gpt2"], rows)["tokens"][rows.real]
    same(ask_ours(hugging_face.read(tmp_path).model, CASES["gpt2"], rows)["tokens"][rows.real], expected, 1e-5)
    if model_type != "foreword":
        opened = transformers.AutoModelForCausalLM.from_pretrained(tmp_path).eval()
        same(ask_theirs(opened, CASES["gpt2"], rows)["tokens"][rows.real], expected, 1e-4)


# --- tied and untied -------------------------------------------------------------------------------------------------


@every_causal
@torch.no_grad()
def test_an_untied_head_goes_both_ways(tmp_path, name) -> None:
    case = CASES[name]
    rows = Rows.draw(case.vocabulary, "right")
    theirs = case.theirs(tie_word_embeddings=False)
    theirs.save_pretrained(tmp_path / "theirs")
    read = hugging_face.read(tmp_path / "theirs")
    assert read.recipe.head.tied is False
    agree(ask_ours(read.model, case, rows), ask_theirs(theirs, case, rows), rows, 1e-4)

    recipe, model = case.ours(2, "head.tied=false")
    hugging_face.write(tmp_path / "ours", recipe, model, None)
    opened = case.opened(tmp_path / "ours")
    assert opened.config.tie_word_embeddings is False
    agree(ask_ours(model, case, rows), ask_theirs(opened, case, rows), rows, 1e-4)


@pytest.mark.parametrize(
    ("name", "copy", "original"),
    [
        ("gpt2", "lm_head.weight", "transformer.wte.weight"),
        ("openai-gpt", "lm_head.weight", "transformer.tokens_embed.weight"),
        ("bert", "cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"),
        ("bert", "cls.predictions.decoder.bias", "cls.predictions.bias"),
        ("roberta", "lm_head.decoder.weight", "roberta.embeddings.word_embeddings.weight"),
        ("roberta", "lm_head.decoder.bias", "lm_head.bias"),
    ],
)
def test_a_second_copy_of_a_tied_tensor_is_checked(copied, name, copy, original) -> None:
    folder = respelled(copied(name), lambda tensors: tensors.update({copy: tensors[original].clone()}))
    foreword.load(folder)  # older folders hold both
    respelled(folder, lambda tensors: tensors.update({copy: tensors[original] + 1}))
    said = fault(folder)
    assert f"{copy} should be the same as" in said
    assert "and is not" in said


# --- every tensor accounted for --------------------------------------------------------------------------------------

LAYER = {
    "gpt2": "transformer.h.1.mlp.c_fc.weight",
    "gpt_neo": "transformer.h.1.attn.attention.k_proj.weight",
    "nanochat": "model.layers.1.mlp.fc1.weight",
    "openai-gpt": "transformer.h.1.attn.c_proj.weight",
    "bert": "bert.encoder.layer.1.attention.self.key.weight",
    "bert masked": "cls.predictions.transform.LayerNorm.bias",
    "modernbert": "model.layers.1.attn.Wo.weight",
    "electra": "discriminator_predictions.dense_prediction.weight",
    "electra generator": "electra.embeddings_project.weight",
    "roberta": "lm_head.layer_norm.bias",
    "roberta trunk": "encoder.layer.1.output.dense.bias",
    "bert trunk": "embeddings.token_type_embeddings.weight",
}


def plain(name: str) -> str:
    return (
        name.removeprefix("transformer.")
        .removeprefix("roberta.")
        .removeprefix("electra.")
        .removeprefix("bert.")
        .removeprefix("model.")
    )


@every_case
def test_a_missing_tensor_is_named(copied, name) -> None:
    said = fault(respelled(copied(name), lambda tensors: tensors.pop(LAYER[name])))
    assert f"Not there: {plain(LAYER[name])}." in said
    assert "The weights and config.json must describe the same model." in said


@every_case
def test_an_extra_tensor_is_named(copied, name) -> None:
    folder = respelled(copied(name), lambda tensors: tensors.update({"adapter.down.weight": torch.zeros(2)}))
    count = len(load_file(folder / "model.safetensors"))
    said = fault(folder)
    assert "Without a place: adapter.down.weight." in said
    count -= 2 if name.endswith("trunk") else 0  # its pooler is set aside before: no head of ours reads it
    count += 2 if name == "modernbert" else 0  # two matrices of theirs are two of ours each
    assert f"has {count} tensors; {count - 1} found a place." in said


@every_case
def test_a_misshapen_tensor_is_named(copied, folders, name) -> None:
    def cut(tensors: dict[str, Tensor]) -> None:
        tensors[LAYER[name]] = tensors[LAYER[name]][..., :-1]

    folder = respelled(copied(name), cut)
    said = fault(folder)
    whole, less = (
        load_file(folders[name] / "model.safetensors")[LAYER[name]],
        load_file(folder / "model.safetensors")[LAYER[name]],
    )
    assert (
        f"Of another shape: {plain(LAYER[name])} is {list(less.shape)}, config.json says {list(whole.shape)}." in said
    )


def test_all_that_is_wrong_with_the_tensors_is_said_at_once(copied) -> None:
    def spoil(tensors: dict[str, Tensor]) -> None:
        del tensors["transformer.ln_f.bias"]
        tensors["extra"] = torch.zeros(1)
        tensors["transformer.wpe.weight"] = torch.zeros(3, 32)

    said = fault(respelled(copied("gpt2"), spoil))
    assert "Not there: ln_f.bias." in said
    assert "Without a place: extra." in said
    assert "Of another shape: wpe.weight is [3, 32], config.json says [24, 32]." in said


@torch.no_grad()
def test_constants_are_left_aside(copied) -> None:
    triangle = torch.ones(1, 1, CONTEXT, CONTEXT).tril()
    more = {f"transformer.h.{i}.attn.bias": triangle.clone() for i in range(2)}
    more |= {f"transformer.h.{i}.attn.masked_bias": torch.tensor(-1e4) for i in range(2)}
    foreword.load(respelled(copied("gpt2"), lambda tensors: tensors.update(more)))
    gpt1_more = {"transformer.h.0.attn.bias": triangle.clone(), "transformer.position_ids": torch.arange(CONTEXT)}
    foreword.load(respelled(copied("openai-gpt"), lambda tensors: tensors.update(gpt1_more)))
    bert_more = {
        "bert.embeddings.position_ids": torch.arange(CONTEXT)[None],
        "bert.embeddings.token_type_ids": torch.zeros(1, CONTEXT),
    }
    foreword.load(respelled(copied("bert"), lambda tensors: tensors.update(bert_more)))


@torch.no_grad()
def test_the_constants_rule_does_not_swallow_weights(folders) -> None:
    """`attn.bias` is a constant; `attn.c_attn.bias` is learned and must be read."""
    for name in ("gpt2", "openai-gpt"):
        read = hugging_face.read(folders[name]).model.weights()
        theirs = load_file(folders[name] / "model.safetensors")
        assert torch.equal(read["network.blocks.0.attention.project.bias"], theirs["transformer.h.0.attn.c_attn.bias"])


def test_old_names_of_norms_are_understood(copied, folders) -> None:
    def old(tensors: dict[str, Tensor]) -> None:
        for key in [key for key in tensors if "LayerNorm" in key]:
            tensors[key.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")] = (
                tensors.pop(key)
            )

    folder = respelled(copied("bert"), old)
    assert any(key.endswith("gamma") for key in load_file(folder / "model.safetensors"))
    expected = hugging_face.read(folders["bert"]).model.weights()
    for key, tensor in hugging_face.read(folder).model.weights().items():
        assert torch.equal(tensor, expected[key]), key


@torch.no_grad()
def test_a_trunk_without_prefix_opens(tmp_path) -> None:
    """GPT2Model saves no `transformer.` before its names."""
    case = CASES["gpt2"]
    whole = case.theirs()
    whole.transformer.save_pretrained(tmp_path)
    assert "wte.weight" in load_file(tmp_path / "model.safetensors")
    rows = Rows.draw(67, "none")
    agree(ask_ours(hugging_face.read(tmp_path).model, case, rows), ask_theirs(whole, case, rows), rows, 1e-4)


@torch.no_grad()
def test_shards_open_and_a_missing_one_is_named(tmp_path) -> None:
    case = CASES["gpt2"]
    theirs = case.theirs()
    theirs.save_pretrained(tmp_path, max_shard_size="30KB")
    shards = sorted(tmp_path.glob("model-*.safetensors"))
    assert len(shards) > 2
    assert not (tmp_path / "model.safetensors").exists()
    rows = Rows.draw(67, "left")
    agree(ask_ours(hugging_face.read(tmp_path).model, case, rows), ask_theirs(theirs, case, rows), rows, 1e-4)
    shards[1].unlink()
    assert f"{shards[1]} is named by the index and is not there." in fault(tmp_path)


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "asked", "words"),
    [
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx = true"),
        ("gpt2", {"add_cross_attention": True}, "add_cross_attention = true"),
        ("gpt2", {"scale_attn_weights": False}, "scale_attn_weights = false"),
        ("gpt2", {"activation_function": "silu"}, "activation_function = 'silu'"),
        ("openai-gpt", {"afn": "swish"}, "afn = 'swish'"),
        ("gpt_neo", {"attention_types": [[["global", "strided"], 1]]}, "attention_types of strided"),
        ("gpt_neo", {"attention_types": [[["global", "local"], 2]]}, "attention_types for 4 of 2 layers"),
        ("gpt_neo", {"activation_function": "silu"}, "activation_function = 'silu'"),
        ("nanochat", {"final_logit_softcapping": 15.0}, "final_logit_softcapping = 15.0"),
        ("nanochat", {"attention_bias": True}, "attention_bias = true"),
        ("nanochat", {"num_key_value_heads": 1}, "num_key_value_heads = 1"),
        ("nanochat", {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4}}, "rope_type = 'yarn'"),
        ("nanochat", {"hidden_act": "silu"}, "hidden_act = 'silu'"),
        ("bert", {"position_embedding_type": "relative_key"}, "position_embedding_type = 'relative_key'"),
        ("bert", {"is_decoder": True}, "is_decoder = true"),
        ("bert", {"add_cross_attention": True}, "add_cross_attention = true"),
        ("bert", {"hidden_act": "silu"}, "hidden_act = 'silu'"),
        ("bert", {"tie_word_embeddings": False}, "tie_word_embeddings = false"),
    ],
)
def test_what_we_do_not_have_is_refused_by_name(copied, name, asked, words) -> None:
    folder = reconfigured(copied(name), **asked)
    assert fault(folder) == f"{folder / 'config.json'} asks for {words}, which Foreword does not have."


def test_weights_in_a_pickle_are_refused(copied) -> None:
    folder = copied("gpt2")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert fault(folder) == (
        f"{folder} has its weights in pytorch_model.bin, a pickle, which can run code when opened.\n"
        "    Convert it where you trust it: model.save_pretrained(folder) of transformers writes safetensors."
    )


@pytest.mark.parametrize("model_type", ["gptj", "llama", ""])
def test_another_type_of_model_is_refused(copied, model_type) -> None:
    folder = reconfigured(copied("gpt2"), model_type=model_type)
    assert fault(folder) == (
        f"{folder} holds a model of type {model_type!r}, which Foreword does not read.\n"
        "    Types it reads: gpt2, openai-gpt, gpt_neo, electra, bert, ernie, roberta, modernbert, nanochat, t5, marian, xlnet."
    )


def test_a_truncated_file_of_weights_is_refused(copied) -> None:
    folder = copied("bert")
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    said = fault(folder)
    assert said.startswith(f"{folder / 'model.safetensors'} cannot be read: ")
    assert said.endswith("It is cut short or damaged; copy it again.")


# --- tokenizers and text ---------------------------------------------------------------------------------------------

WORDS = (
    "The quick brown fox jumps over the lazy dog. A dog, a fox! Does the dog jump? The fox is quick and the dog is lazy; "
    "numbers 12 and 345, quotes 'like' \"these\". Every fox jumps.\n"
) * 20
TEXT = "The lazy fox jumps over a quick dog, 12 times! Quick?"
TOKENIZERS = {
    "gpt2": ByteBPE(vocabulary=320),
    "openai-gpt": CharBPE(vocabulary=150),
    "bert": WordPiece(vocabulary=150),
    "roberta": ByteBPE(vocabulary=320, specials="roberta"),
}


def trained(name: str, folder: Path) -> tuple[Tokenizer, Model]:
    case = CASES[name]
    tokenizer = TOKENIZERS[name].train(iter([WORDS]))
    recipe = loader.load(case.recipe, "", [*case.settings, "network.context=128"])
    torch.manual_seed(1)
    model = redrawn(model_for(recipe, tokenizer.vocabulary()).eval())
    hugging_face.write(folder, recipe, model, tokenizer)
    return tokenizer, model


@pytest.mark.parametrize("name", TOKENIZERS)
@torch.no_grad()
def test_text_to_logits_agrees_end_to_end(tmp_path, name) -> None:
    """AutoTokenizer and AutoModel on what we wrote, against foreword.load of the same folder."""
    case = CASES[name]
    tokenizer, _ = trained(name, tmp_path)
    read = transformers.AutoTokenizer.from_pretrained(tmp_path)
    given = read(TEXT, return_tensors="pt")
    ids = tokenizer.encode(TEXT)
    if not case.causal:
        ids = [tokenizer.special("[cls]"), *ids, tokenizer.special("[separator]")]
    assert given["input_ids"][0].tolist() == ids
    assert len(set(ids)) > 8
    opened = foreword.load(tmp_path)
    assert opened.tokenizer.fingerprint == tokenizer.fingerprint
    answer = getattr(transformers, case.auto).from_pretrained(tmp_path).eval()(**given)
    same(opened.logits(ids), answer.get("prediction_logits", answer.get("logits"))[0], 1e-4)


@torch.no_grad()
def test_a_pair_of_texts_gets_their_token_types(tmp_path) -> None:
    _, model = trained("bert", tmp_path)
    read = transformers.AutoTokenizer.from_pretrained(tmp_path)
    given = read("The quick fox.", "A lazy dog jumps.", return_tensors="pt")
    assert given["token_type_ids"][0].tolist() == sorted(given["token_type_ids"][0].tolist())
    assert given["token_type_ids"].sum() > 3
    plain = Backend.from_file(str(tmp_path / "tokenizer.json")).encode("The quick fox.", "A lazy dog jumps.")
    assert (plain.ids, plain.type_ids) == (given["input_ids"][0].tolist(), given["token_type_ids"][0].tolist())
    answer = transformers.AutoModelForPreTraining.from_pretrained(tmp_path).eval()(**given)
    output = model.network(Inputs(given["input_ids"], segments=given["token_type_ids"]))
    same(model.heads["tokens"].logits(output.last), answer.prediction_logits, 1e-4)
    same(model.heads["next_sentence"](output.last), answer.seq_relationship_logits, 1e-4)


@torch.no_grad()
def test_generated_text_is_that_of_transformers(tmp_path) -> None:
    trained("gpt2", tmp_path)
    read, model = (
        transformers.AutoTokenizer.from_pretrained(tmp_path),
        transformers.AutoModelForCausalLM.from_pretrained(tmp_path),
    )
    given = read("The quick", return_tensors="pt")
    out = model.generate(**given, max_new_tokens=15, do_sample=False)
    theirs = read.decode(out[0, given["input_ids"].size(1) :], skip_special_tokens=True)
    assert foreword.load(tmp_path).generate("The quick", max_tokens=15, temperature=0.0) == theirs


@torch.no_grad()
def test_fill_is_their_fill_mask(tmp_path) -> None:
    trained("bert", tmp_path)
    read, model = (
        transformers.AutoTokenizer.from_pretrained(tmp_path),
        transformers.AutoModelForPreTraining.from_pretrained(tmp_path).eval(),
    )
    given = read("the quick [MASK] jumps.", return_tensors="pt")
    place = (given["input_ids"][0] == read.mask_token_id).nonzero().item()
    theirs = model(**given).prediction_logits[0, place].softmax(-1).topk(3)
    ours = foreword.load(tmp_path).fill("the quick [MASK] jumps.", k=3)
    assert [guess.token for guess in ours] == read.convert_ids_to_tokens(theirs.indices.tolist())
    same([guess.probability for guess in ours], theirs.values, 1e-5)


# --- sizes and first weights -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("recipe", "size", "shape", "vocabulary", "count"),
    [
        ("gpt2", "", (12, 768, 12, 1024), 50257, 124_439_808),
        ("gpt2", "small", (12, 768, 12, 1024), 50257, 124_439_808),
        ("gpt2", "medium", (24, 1024, 16, 1024), 50257, 354_823_168),
        ("gpt2", "large", (36, 1280, 20, 1024), 50257, 774_030_080),
        ("gpt2", "xl", (48, 1600, 25, 1024), 50257, 1_557_611_200),
        ("gpt1", "", (12, 768, 12, 512), 40478, 116_534_784),
        ("gpt3", "small", (12, 768, 12, 2048), 50257, 125_226_240),
        ("gpt3", "medium", (24, 1024, 16, 2048), 50257, 355_871_744),
        ("gpt3", "large", (24, 1536, 16, 2048), 50257, 760_300_032),
        ("gpt3", "xl", (24, 2048, 16, 2048), 50257, 1_315_723_264),
        ("gpt3", "2.7b", (32, 2560, 32, 2048), 50257, 2_651_553_280),
        ("gpt3", "6.7b", (32, 4096, 32, 2048), 50257, 6_658_404_352),
        ("gpt3", "13b", (40, 5120, 40, 2048), 50257, 12_853_386_240),
        ("gpt3", "175b", (96, 12288, 96, 2048), 50257, 174_604_259_328),
    ],
)
def test_published_sizes(recipe, size, shape, vocabulary, count) -> None:
    chosen = loader.load(recipe, size)
    with torch.device("meta"):
        model = model_for(chosen, Vocabulary(vocabulary, -1, ()))
    assert model.parameter_count() == count
    layers, width, _, context = shape  # tables, twelve squares and thirteen vectors a layer, and GPT-2's last norm
    assert count == (vocabulary + context + 12 * layers * width + 13 * layers + 2 * (recipe != "gpt1")) * width
    # the number of heads changes no count
    assert (chosen.network.layers, chosen.network.width, chosen.network.heads, chosen.network.context) == shape


@pytest.mark.parametrize(
    ("size", "millions", "batch", "rate"),
    [
        ("small", 125, 0.5, 6e-4),
        ("medium", 350, 0.5, 3e-4),
        ("large", 760, 0.5, 2.5e-4),
        ("xl", 1300, 1, 2e-4),
        ("2.7b", 2700, 1, 1.6e-4),
        ("6.7b", 6700, 2, 1.2e-4),
        ("13b", 13000, 2, 1e-4),
        ("175b", 175000, 3.2, 0.6e-4),
    ],
)
def test_gpt3_is_the_table_of_its_paper(size, millions, batch, rate) -> None:
    """Table 2.1: names in millions of parameters, batches in millions of tokens, learning rates."""
    recipe = loader.load("gpt3", size)
    with torch.device("meta"):
        count = model_for(recipe, Vocabulary(50257, -1, ())).parameter_count()
    assert count == pytest.approx(millions * 1e6, rel=0.03)
    training = recipe.training
    assert training.batch_size * recipe.network.context == pytest.approx(batch * 1e6, rel=0.05)
    assert training.optimizer.learning_rate == rate
    assert (training.optimizer.betas, training.optimizer.epsilon, training.optimizer.weight_decay) == (
        (0.9, 0.95),
        1e-8,
        0.1,
    )
    assert recipe.network.visible.windows(4, 8) == [None, 256, None, 256]


@pytest.mark.parametrize(
    ("size", "config"),
    [
        ("base", {}),
        ("large", {"num_hidden_layers": 24, "hidden_size": 1024, "num_attention_heads": 16, "intermediate_size": 4096}),
    ],
)
@pytest.mark.parametrize(
    ("name", "cls", "vocabulary", "more"),
    [
        ("bert", "BertForPreTraining", 30522, {}),
        ("roberta", "RobertaForMaskedLM", 50265, {"max_position_embeddings": 514, "type_vocab_size": 1}),
    ],
)
def test_an_encoder_has_as_many_parameters_as_theirs(name, cls, vocabulary, more, size, config) -> None:
    recipe = loader.load(name, size)
    assert (recipe.network.heads, recipe.network.context) == (16 if size == "large" else 12, 512)
    made = getattr(transformers, cls)
    with torch.device("meta"):
        ours = model_for(recipe, Vocabulary(vocabulary, -1, ()))
        theirs = made(made.config_class(vocab_size=vocabulary, **more, **config))
    assert ours.parameter_count() == sum(weight.numel() for weight in theirs.parameters())


def _drawn(recipe: str, *settings: str) -> dict[str, Tensor]:
    torch.manual_seed(0)
    chosen = loader.load(
        recipe, "", ["network.layers=6", "network.width=192", "network.heads=6", "network.context=512", *settings]
    )
    return {name: weight.detach() for name, weight in model_for(chosen, Vocabulary(1000, -1, ())).weights().items()}


def test_gpt2_is_drawn_as_published() -> None:
    weights = _drawn("gpt2")
    for name, weight in weights.items():
        if "norm" in name:
            assert torch.equal(weight, torch.full_like(weight, float(name.endswith("weight")))), name
        elif name.endswith("bias"):
            assert not weight.any(), name
        else:
            residual = name.endswith(("attention.out.weight", "feedforward.out.weight"))
            expected = 0.02 / math.sqrt(2 * 6) if residual else 0.01 if "positions" in name else 0.02
            assert float(weight.std()) == pytest.approx(expected, rel=0.03), name
            assert float(weight.abs().max()) > 3 * expected, f"{name} is cut off: GPT-2's draw is not"
    assert sum(name.endswith("out.weight") for name in weights) == 12


def test_gpt1_is_drawn_as_published() -> None:
    for name, weight in _drawn("gpt1").items():
        if weight.dim() == 2:
            assert float(weight.std()) == pytest.approx(0.02, rel=0.03), name


def test_bert_is_drawn_within_two_deviations() -> None:
    weights = _drawn("bert")
    seen = 0
    for name, weight in weights.items():
        if weight.dim() != 2:
            continue
        assert float(weight.abs().max()) <= 0.04, f"{name} has a value beyond two deviations"
        if weight.numel() > 5000:
            seen += 1
            # what is left of a normal deviate of 0.02 cut at two deviations
            assert float(weight.std()) == pytest.approx(0.02 * 0.8796, rel=0.03), name
    assert seen > 25


@pytest.mark.parametrize(
    "cls",
    [
        "GPT2ForSequenceClassification",
        "BertForSequenceClassification",
        "BertForQuestionAnswering",
        "OpenAIGPTForSequenceClassification",
    ],
)
@pytest.mark.parametrize("known", [True, False])
def test_a_task_class_opens_with_its_trunk_and_a_class_we_lack_says_that_it_lost_its_head(cls, known, tmp_path, capsys):
    theirs = getattr(transformers, cls)
    small = (
        {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
        if cls.startswith("Bert")
        else {"n_embd": 32, "n_layer": 2, "n_head": 2}
    )
    model = theirs(theirs.config_class(vocab_size=60, pad_token_id=0, **small)).eval()
    model.save_pretrained(tmp_path / "model")
    if not known:
        config = json.loads((tmp_path / "model/config.json").read_text())
        (tmp_path / "model/config.json").write_text(json.dumps({**config, "architectures": ["GPT9ForMusic"]}))
    ours = foreword.load(tmp_path / "model")
    assert ("left aside" in capsys.readouterr().err) != known
    assert len(ours.model.heads) == known or not known
    ids = torch.randint(60, (1, 9))
    with torch.no_grad():
        expected = getattr(model, model.base_model_prefix)(ids).last_hidden_state
        assert torch.allclose(ours.model.network(foreword.Inputs(ids)).last, expected, atol=1e-5)


@pytest.mark.parametrize(("form", "cls"), [("hf", "ElectraForPreTraining"), ("hf-generator", "ElectraForMaskedLM")])
@torch.no_grad()
def test_each_half_of_electra_leaves_as_a_model_of_its_own(form, cls, tmp_path) -> None:
    """A run keeps both halves; what is exported has one, and gives the numbers it gave inside."""
    tokenizer = WordPiece(vocabulary=150).train(iter([WORDS]))
    recipe = loader.load("electra", "", [*SMALL, "network.embedding=20"])
    model = redrawn(model_for(recipe, tokenizer.vocabulary()).eval())
    hugging_face.write(tmp_path / "both", recipe, model, tokenizer)
    export_model(tmp_path / "both", form, tmp_path / "half")
    theirs, report = getattr(transformers, cls).from_pretrained(tmp_path / "half", output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    ids = Rows.draw(100, "none").ids
    half = model.network.discriminator if form == "hf" else model.network.generator
    last = half(Inputs(ids)).last
    expected = model.heads["replaced"](last) if form == "hf" else model.heads["tokens"].logits(last)
    same(theirs.eval()(ids).logits, expected, 1e-4)
    back = hugging_face.read(tmp_path / "half")
    same(back.model.network(Inputs(ids)).last, last, 1e-5)
    assert "generator" not in str(back.recipe.network)


@pytest.mark.parametrize(
    ("size", "count", "narrow"), [("small", 13_433_856, 64), ("base", 108_891_648, 256), ("large", 334_092_288, 256)]
)
def test_electra_has_the_published_sizes(size, count, narrow) -> None:
    """The paper rounds the discriminator's to 14M, 110M and 335M."""
    spec = loader.load("electra", size).network
    with torch.device("meta"):
        network = model_for(loader.load("electra", size), Vocabulary(30522, -1, ())).network
    assert sum(p.numel() for p in network.discriminator.parameters()) == count
    tables = (30522 + spec.context + 2 + 2) * spec.embedding  # tokens, positions, segments, a norm
    wider = (spec.embedding + 1) * spec.width if spec.embedding != spec.width else 0
    assert count == tables + wider + spec.layers * (12 * spec.width**2 + 13 * spec.width)
    assert (network.generator.width, spec.narrow().heads, spec.narrow().inner) == (narrow, narrow // 64, 4 * narrow)
