"""Every verb, end to end, on text that is on any machine."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from foreword.basics.version import VERSION
from foreword.exchange.hugging_face import FAMILIES
from foreword.runs.folder import RunFolder
from foreword.tokens.store import TokenStore
from tests.cli.program import LSTM, TINY, Program, run, write_as

# --- tokens ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["txt", "md", "jsonl", "jsonl.gz", "jsonl.zst", "csv", "parquet"])
def test_tokens_reads_every_format_to_the_same_store(tmp_path, texts, ending) -> None:
    data = write_as(ending, texts[:120], tmp_path)
    facts = json.loads(run("tokens", data, "--out", tmp_path / "store", "--tokenizer", "byte", "--json").right())
    assert sum(part["documents"] for part in facts["splits"].values()) == 120
    assert sum(part["bytes"] for part in facts["splits"].values()) == sum(len(one.encode()) for one in texts[:120])
    for split in ("train", "valid", "test"):
        store = TokenStore.open(tmp_path / "store", split)
        here = {store.tokenizer.decode(store.document(i)) for i in range(store.documents)}
        assert here <= set(texts[:120])


def test_tokens_tells_the_splits_on_stdout(tmp_path, text) -> None:
    said = run("tokens", text, "--out", tmp_path / "store", "--tokenizer", "byte")
    lines = said.right().splitlines()
    assert [line.split()[0] for line in lines] == ["train", "valid", "test", "store"]
    assert re.fullmatch(r"train +[\d,]+ documents +[\d,]+ bytes +[\d,]+ tokens  1\.00 bytes per token", lines[0])
    assert lines[3] == f"store in {tmp_path / 'store'}"


def test_tokens_given_again_finds_the_store(tmp_path, text) -> None:
    words = ["tokens", text, "--out", tmp_path / "store", "--tokenizer", "byte"]
    first = run(*words).right()
    said = run(*words)
    assert said.right() == first
    assert said.err.strip() == (
        f"{tmp_path / 'store'} is already there, made from the same files with the same settings: used as it is."
    )


@pytest.mark.parametrize("kind", ["byte_bpe", "wordpiece", "char_bpe", "unigram", "word", "unicode", "ascii", "byte"])
def test_tokens_makes_every_kind(tmp_path, text, kind) -> None:
    more = [] if kind in ("byte", "ascii", "unicode") else ["--vocabulary", 600]
    facts = json.loads(run("tokens", text, "--out", tmp_path / "store", "--tokenizer", kind, *more, "--json").right())
    assert TokenStore.open(tmp_path / "store").tokenizer.kind == kind
    if more:
        assert facts["tokenizer"]["size"] == 600


def test_tokens_takes_the_tokenizer_of_a_run(tmp_path, text, made) -> None:
    run("tokens", text, "--out", tmp_path / "store", "--tokenizer", made("gpt2")).right()
    assert TokenStore.open(tmp_path / "store").fingerprint == TokenStore.open(made("bpe")).fingerprint


def test_tokens_reads_chinese(tmp_path) -> None:
    (tmp_path / "zh.txt").write_text(
        "\n".join(f"今天天气很好，我们去公园看第{i}朵花。" for i in range(200)), encoding="utf-8"
    )
    run("tokens", tmp_path / "zh.txt", "--out", tmp_path / "store", "--documents", "line", "--vocabulary", 300).right()
    store = TokenStore.open(tmp_path / "store")
    assert store.tokenizer.decode(store.document(0)).startswith("今天天气很好")


# --- preview ---------------------------------------------------------------------------------------------------------


def test_preview_gpt2_shows_rows_and_counts_guesses(made) -> None:
    out = run("preview", "gpt2", "--data", made("bpe"), *TINY, "--rows", 2).right()
    assert out.startswith("gpt2: causal over windows of 32 tokens, 4 rows a batch; ")
    assert re.search(r"^row 0 of step 0$", out, re.M)
    assert re.search(r"^row 1 of step 0$", out, re.M)
    assert "row 2 of" not in out
    assert re.search(r"^ +[\d,]+  guesses$", out, re.M)


def test_preview_shows_another_batch_for_another_step(made) -> None:
    first, other = (run("preview", "gpt2", "--data", made("bpe"), *TINY, "--step", step).right() for step in (0, 3))
    assert "row 0 of step 3" in other
    assert first.split("row 1")[0].splitlines()[3:] != other.split("row 1")[0].splitlines()[3:]


def test_preview_bert_shows_what_is_hidden_and_how_often(made) -> None:
    out = run("preview", "bert", "--data", made("pieces"), *TINY).right()
    assert "together over sentence_pairs of 32 tokens" in out
    assert re.search(r"^the second text (FOLLOWS the first|is from ANOTHER DOCUMENT)$", out, re.M)
    assert re.search(r"^\d+ of \d+ tokens to guess \(\d+\.\d%\)$", out, re.M)
    assert re.search(r"\[CLS\] .*\{\S+ -> \[MASK\]\}.* \[SEP\] .* \[SEP\]", out)
    rows = dict(reversed(line.split(None, 1)) for line in out.split("rows:\n")[1].strip().splitlines())
    assert float(rows["of tokens: to guess"][:-1]) == pytest.approx(15, abs=1)
    assert float(rows["of guesses: shown as [mask]"][:-1]) == pytest.approx(80, abs=4)
    assert float(rows["of guesses: shown as another token"][:-1]) == pytest.approx(10, abs=3)
    assert float(rows["of guesses: shown as they are"][:-1]) == pytest.approx(10, abs=3)
    assert rows["special tokens to guess"] == "0"
    assert float(rows["of pairs: the second text follows the first"][:-1]) == pytest.approx(50, abs=8)


def test_preview_lstm_and_counts(made) -> None:
    assert (
        run("preview", "lstm", "--data", made("bpe"), *LSTM).right().startswith("lstm: causal over lanes of 16 tokens")
    )
    out = run("preview", "kneser-ney", "--data", made("bpe")).right()
    assert out.startswith("kneser-ney: causal over runs of 65536 tokens")
    assert "counted in order, for example: " in out


# --- train -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gpt2", "bert", "lstm", "kneser-ney"])
def test_train_leaves_a_whole_run(made, name) -> None:
    folder = made(name)
    assert {path.name for path in folder.iterdir()} == {
        "recipe.toml",
        "model",
        "checkpoints",
        "metrics.jsonl",
        "passport.json",
    }
    files = {path.name for path in (folder / "model").iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "README.md"} <= files
    passport = json.loads((folder / "passport.json").read_text())
    assert passport["finished"] is True
    assert passport["tokens"] > 0
    assert passport["command"][1:3] == ["train", name]
    assert [
        json.loads(line)["step"] for line in (folder / "metrics.jsonl").read_text().splitlines()
    ] or name == "kneser-ney"


def test_train_says_where_the_run_is_on_stdout_and_the_rest_on_stderr(tmp_path, made) -> None:
    said = run("train", "gpt2", *TINY, "--budget", 2, "--data", made("bpe"), "--out", tmp_path / "run")
    assert said.right() == f"{tmp_path / 'run'}\n"
    assert re.search(
        r"^gpt2 laptop: [\d,]+ parameters, byte-bpe-500, [\d,]+ tokens of training text, budget 2, on cpu \(\d+ threads?\), float32$",
        said.err,
        re.M,
    )
    assert f"model in {tmp_path / 'run' / 'model'}" in said.err


@pytest.mark.parametrize(
    ("budget", "steps"), [("5", 5), ("5steps", 5), ("600tok", 5), ("0.6ktok", 5), ("0.02epochs", None)]
)
def test_a_budget_is_steps_tokens_or_epochs(tmp_path, made, budget, steps) -> None:
    run("train", "gpt2", *TINY, "--budget", budget, "--data", made("bpe"), "--out", tmp_path / "run").right()
    store = TokenStore.open(made("bpe"))
    if steps is None:
        steps = math.ceil(0.02 * ((store.tokens - 1) // 32) / 4)
    assert json.loads((tmp_path / "run" / "passport.json").read_text())["step"] == steps


def test_a_budget_is_wall_clock(tmp_path, made) -> None:
    run("train", "gpt2", *TINY, "--budget", "0.3s", "--data", made("bpe"), "--out", tmp_path / "run").right()
    passport = json.loads((tmp_path / "run" / "passport.json").read_text())
    assert passport["step"] >= 1
    assert passport["seconds"] >= 0.3


def test_train_takes_raw_text_and_keeps_the_store_it_makes(tmp_path, text, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = [*TINY, "--set", "tokenizer.vocabulary=400", "--budget", 2, "--data", text]
    said = run("train", "gpt2", *words, "--out", tmp_path / "one")
    said.right()
    kept = list((tmp_path / "cache" / "foreword" / "stores").iterdir())
    assert len(kept) == 1
    assert f"{text} is text: making a store of it in {kept[0]}" in said.err
    again = run("train", "gpt2", *words, "--out", tmp_path / "two")
    again.right()
    assert f"{text} is text: using the store made of it before, {kept[0]}" in again.err
    assert (tmp_path / "one/model/model.safetensors").read_bytes() == (
        tmp_path / "two/model/model.safetensors"
    ).read_bytes()


def test_a_dry_run_trains_nothing(tmp_path, made) -> None:
    said = run("train", "gpt2", *TINY, "--data", made("bpe"), "--out", tmp_path / "run", "--dry-run")
    assert said.right() == "gpt2: the recipe is right.\n"
    assert not (tmp_path / "run").exists()


def test_a_finished_run_says_so_and_goes_on_with_a_larger_budget(tmp_path, made) -> None:
    words = ["train", "gpt2", *TINY, "--data", made("bpe"), "--out", tmp_path / "run"]
    run(*words, "--budget", 4).right()
    before = (tmp_path / "run/model/model.safetensors").read_bytes()
    said = run(*words, "--budget", 4)
    assert said.right() == f"{tmp_path / 'run'}\n"
    assert "this run is finished; nothing is left to do" in said.err
    assert (tmp_path / "run/model/model.safetensors").read_bytes() == before
    run(*words, "--budget", 6).right()
    assert json.loads((tmp_path / "run" / "passport.json").read_text())["step"] == 6


def test_a_run_is_repeated_from_its_own_recipe(tmp_path, made) -> None:
    run("train", made("gpt2"), "--data", made("bpe"), "--out", tmp_path / "again").right()
    assert (tmp_path / "again/model/model.safetensors").read_bytes() == (
        made("gpt2") / "model/model.safetensors"
    ).read_bytes()


def test_another_seed_gives_another_model(tmp_path, made) -> None:
    run("train", "gpt2", *TINY, "--budget", 8, "--seed", 5, "--data", made("bpe"), "--out", tmp_path / "run").right()
    assert (tmp_path / "run/model/model.safetensors").read_bytes() != (
        made("gpt2") / "model/model.safetensors"
    ).read_bytes()


def test_tensorboard_files_by_flag(tmp_path, made) -> None:
    pytest.importorskip("tensorboard")
    run(
        "train",
        "gpt2",
        *TINY,
        "--budget",
        4,
        "--data",
        made("bpe"),
        "--out",
        tmp_path / "run",
        "--set",
        "tensorboard=true",
    ).right()
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    assert {"train/loss", "valid/nll.tokens"} <= set(events.Tags()["scalars"])
    assert (tmp_path / "run" / "metrics.jsonl").is_file()


# --- evaluate --------------------------------------------------------------------------------------------------------


def test_evaluate_takes_the_run_s_own_test_documents(made) -> None:
    out = run("evaluate", made("gpt2")).right().splitlines()
    store = TokenStore.open(made("bpe"), "test")
    assert out[0] == f"{made('bpe')} (test): {store.documents} documents, {store.total_bytes:,} bytes"
    assert out[1].split() == ["model", "bits/byte", "bits/char", "word", "ppl", "token", "ppl", "tokens"]
    assert len(out[2].split()) == 6
    assert out[-1].startswith(
        "context: each document on its own; a token sees at least the 16 tokens before it (window 32, stride 16)"
    )


def test_evaluate_in_json_agrees_with_the_table(made) -> None:
    found = json.loads(run("evaluate", made("gpt2"), "bits", "--json").right())
    score = found["scores"][str(made("gpt2"))]
    shown = run("evaluate", made("gpt2")).right().splitlines()[2].split()
    assert float(shown[1]) == pytest.approx(score["bits_per_byte"], abs=1e-4)
    assert score["nats"] / math.log(2) / score["bytes"] == pytest.approx(score["bits_per_byte"])
    assert score["tokens"] == TokenStore.open(made("bpe"), "test").tokens - score["documents"]  # ends are not charged


def test_evaluate_text_is_evaluating_the_store_of_it(made, text) -> None:
    """The same documents, through a store or read as they are."""
    name = str(made("gpt2"))
    stored = json.loads(run("evaluate", name, "--split", "train", "--limit", 9000, "--json").right())["scores"][name]
    read = json.loads(run("evaluate", name, "--data", text, "--limit", 9000, "--json").right())["scores"][name]
    assert read["documents"] > 10
    assert read["bits_per_byte"] == pytest.approx(stored["bits_per_byte"], rel=0.1)
    whole = json.loads(run("evaluate", made("kneser-ney"), "--data", text, "--split", "all", "--json").right())
    assert whole["scores"][str(made("kneser-ney"))]["bytes"] == sum(
        TokenStore.open(made("bpe"), split).total_bytes for split in ("train", "valid", "test")
    )


def test_evaluate_several_and_their_mixture(made) -> None:
    found = json.loads(run("evaluate", made("gpt2"), made("kneser-ney"), made("lstm"), "--mix", "--json").right())
    bits = {name: score["bits_per_byte"] for name, score in found["scores"].items()}
    assert list(bits) == [*map(str, (made("gpt2"), made("kneser-ney"), made("lstm"))), "mixture"]
    assert bits["mixture"] <= min(bits.values()) + 0.02  # weights are fitted on other text
    assert sum(found["weights"].values()) == pytest.approx(1)
    assert len({score["bytes"] for score in found["scores"].values()}) == 1
    table = run("evaluate", made("gpt2"), made("kneser-ney"), "--mix").right()
    assert re.search(r"^mixture = 0\.\d{3} \S+gpt2 \+ [01]\.\d{3} \S+kneser-ney$", table, re.M)


def test_models_with_different_lossless_tokenizers_compare_on_text(made, text) -> None:
    found = json.loads(
        run("evaluate", made("gpt2"), made("byte-gpt2"), "--data", text, "--limit", 5000, "--json").right()
    )
    one, other = found["scores"].values()
    assert one["bytes"] == other["bytes"]
    assert one["tokens"] != other["tokens"]


def test_bert_is_labelled_and_gets_no_bits_per_byte(made) -> None:
    out = run("evaluate", made("bert")).right()
    assert (
        "PSEUDO-LIKELIHOOD: tokens guessed from both sides. Not a probability of the text; never compare it with one."
        in out
    )
    assert out.splitlines()[2].split()[1:4] == ["-", "-", "-"]
    score = json.loads(run("evaluate", made("bert"), "--json").right())["scores"][str(made("bert"))]
    assert score["kind"] == "pseudo-likelihood"
    assert score["bits_per_byte"] is None


def test_lossy_and_lossless_are_not_compared(made, text) -> None:
    said = run("evaluate", made("gpt2"), made("piece-bigram"), "--data", text, "--limit", 3000).fault()
    assert said == (
        f"these models cannot be compared in bits per byte: {made('gpt2')} pays for all of the text; {made('piece-bigram')} pays "
        "for a text that its tokenizer has cut down.\n    Evaluate them one at a time, or train them with the same lossless "
        "tokenizer (byte_bpe, byte)."
    )


def test_likelihood_and_pseudo_likelihood_are_not_compared(made, text) -> None:
    said = run("evaluate", made("piece-bigram"), made("bert"), "--data", text, "--limit", 3000).fault()
    assert said.startswith("these models cannot be compared in bits per byte: ")
    assert f"{made('bert')} pays for a text that its tokenizer has cut down, and guesses it from both sides." in said


def test_the_stride_changes_the_context_and_is_told(made) -> None:
    name = str(made("gpt2"))
    found = {
        stride: json.loads(run("evaluate", name, "--stride", stride, "--json").right())["scores"][name]
        for stride in (4, 32)
    }
    assert "window 32, stride 4" in found[4]["policy"]
    assert found[4]["tokens"] == found[32]["tokens"]
    assert found[4]["nats"] != found[32]["nats"]


# --- generate --------------------------------------------------------------------------------------------------------


def test_generate_continues_the_prompt(made) -> None:
    said = run("generate", made("gpt2"), "The class", "--max-tokens", 12)
    assert said.right().startswith("The class")
    assert len(said.out) > len("The class\n")
    assert said.err == ""
    assert run("generate", made("gpt2"), "The class", "--max-tokens", 12).out == said.out
    assert run("generate", made("gpt2"), "The class", "--max-tokens", 12, "--seed", 7).out != said.out


def test_generate_with_every_option(made) -> None:
    words = [
        "--max-tokens",
        20,
        "--min-tokens",
        4,
        "--temperature",
        0.7,
        "--top-k",
        20,
        "--top-p",
        0.9,
        "--repetition-penalty",
        1.2,
        "--stop",
        "zzz",
        "--stop",
        "qqq",
        "-n",
        3,
        "--seed",
        2,
        "--json",
    ]
    for name in ("gpt2", "lstm", "kneser-ney"):
        found = [json.loads(line) for line in run("generate", made(name), "The class", *words).right().splitlines()]
        assert len(found) == 3
        assert {one["prompt"] for one in found} == {"The class"}
        assert all(4 <= one["tokens"] <= 20 for one in found)
        assert all(one["reason"] in ("length", "end", "stop") for one in found)
        assert all(one["log_probability"] < 0 for one in found)


def test_generate_streams_what_it_would_give_at_once(made) -> None:
    """One prompt is written as it comes, several when they are done: the same text."""
    alone = run("generate", made("kneser-ney"), "The", "--max-tokens", 25, "--seed", 3).right()
    found = json.loads(run("generate", made("kneser-ney"), "The", "--max-tokens", 25, "--seed", 3, "--json").right())
    assert alone == f"The{found['text']}\n"


def test_generate_stops_before_a_stop_string(made) -> None:
    free = json.loads(run("generate", made("kneser-ney"), "The", "--max-tokens", 30, "--json").right())["text"]
    word = free[len(free) // 2 : len(free) // 2 + 3]
    found = json.loads(run("generate", made("kneser-ney"), "The", "--max-tokens", 30, "--stop", word, "--json").right())
    assert found["reason"] == "stop"
    assert found["text"] == free[: free.index(word)]


def test_generate_does_not_end_before_it_may(made) -> None:
    words = ["generate", made("kneser-ney"), "", "-n", 30, "--max-tokens", 40, "--json"]
    free = [json.loads(line) for line in run(*words).right().splitlines()]
    assert any(one["reason"] == "end" and one["tokens"] < 25 for one in free)
    bound = [json.loads(line) for line in run(*words, "--min-tokens", 25).right().splitlines()]
    assert all(one["tokens"] >= 25 for one in bound)


def test_generate_several_prompts_and_samples(made) -> None:
    out = run("generate", made("gpt2"), "One", "Another prompt", "你好，世界", "-n", 2, "--max-tokens", 5).right()
    assert re.findall(r"^--- (\d) of 6$", out, re.M) == list("123456")
    assert out.count("你好，世界") == 2


def test_generate_in_chinese_and_from_nothing(made) -> None:
    assert run("generate", made("gpt2"), "今天天气", "--max-tokens", 3).right().startswith("今天天气")
    assert run("generate", made("gpt2"), "--max-tokens", 5, "--min-tokens", 5).right() != "\n"


def test_greedy_does_not_depend_on_the_seed(made) -> None:
    one, other = (
        run("generate", made("gpt2"), "The", "--temperature", 0, "--max-tokens", 9, "--seed", seed).right()
        for seed in (1, 2)
    )
    assert one == other


def test_a_prompt_longer_than_the_context_is_said(made) -> None:
    said = run("generate", made("gpt2"), "The class of words " * 30, "--max-tokens", 3)
    said.right()
    assert re.fullmatch(r"the prompt has \d+ tokens; gpt2 looks back at most 32: only the last 32 count\.\n", said.err)


def test_bert_cannot_generate_and_says_what_it_can(made) -> None:
    said = run("generate", made("bert"), "The").fault()
    assert said == f"{made('bert')} (bert) cannot generate; it can fill, embed, logits."


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--temperature", -1, "temperature must be at least 0 (it says -1.0)."),
        ("--top-p", 0, "top_p must be more than 0 and at most 1 (it says 0.0)."),
        ("--top-k", -3, "top_k must be at least 0 (it says -3)."),
        ("--max-tokens", -1, "max_tokens must be at least 0 (it says -1)."),
        ("--repetition-penalty", 0, "repetition_penalty must be more than 0 (it says 0.0)."),
    ],
)
def test_settings_of_sampling_that_mean_nothing(made, option, value, words) -> None:
    said = run("generate", made("gpt2"), option, value, "--json").fault()
    assert said == words


# --- plan for several processes --------------------------------------------------------------------------------------

PAPER = ("plan", "gpt2", "--processes", 8, "--device-memory", "80GB", "--device-speed", "312TFLOPS")


def test_several_processes_are_planned_on_paper() -> None:
    said = run(*PAPER, "--interconnect", "400Gbit/s").right().splitlines()
    assert "shared   by 8 processes, 64 rows each, 80.0 GB each, 50.0 GB/s between them" in said
    assert [line.split()[0] for line in said if line.startswith(("DDP", "FSDP"))] == ["DDP", "FSDP"]
    found = json.loads(run(*PAPER, "--json").right())["distributed"]
    assert found["ways"]["ddp"]["memory"]["weights"] == pytest.approx(
        8 * found["ways"]["fsdp"]["memory"]["weights"], rel=0.01
    )
    assert found["ways"]["ddp"]["seconds"]["sending"] is None


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--device-memory", "80", "--device-memory 80: it is written in bytes, like 80GB or 24GiB."),
        ("--device-speed", "fast", "--device-speed fast: it is written in operations a second, like 312TFLOPS."),
        (
            "--interconnect",
            "100GB",
            "--interconnect 100GB: it is written in bytes or bits a second, like 100GB/s or 400Gbit/s.",
        ),
        (
            "--processes",
            "3",
            "training.batch_size 512 cannot be shared by 3 processes.\n"
            "    Give a multiple of 3:  --set training.batch_size=513",
        ),
    ],
)
def test_devices_that_mean_nothing(option, value, words) -> None:
    assert run(*PAPER, option, value).fault() == words


# --- average ---------------------------------------------------------------------------------------------------------


def test_saved_steps_are_averaged_and_the_mean_is_a_run(tmp_path, made) -> None:
    steps = tmp_path / "steps"
    saved = ["--set", 'training.save="2"', "--set", "training.keep=3"]
    run("train", "gpt2", *TINY, *saved, "--budget", 6, "--data", made("bpe"), "--out", steps).right()
    out = run("average", steps, "--last", 2, "--out", tmp_path / "mean").right()
    assert out == f"{tmp_path / 'mean'}: the mean of {steps}@4, {steps}@6\n"
    named = run("average", f"{steps}@4", f"{steps}@6", "--out", tmp_path / "named").right()
    assert named == out.replace("mean:", "named:")
    a, b = (str(tmp_path / name) for name in ("mean", "named"))
    found = json.loads(run("evaluate", a, b, "--json").right())["scores"]
    assert found[a]["nats"] == found[b]["nats"] > 0
    assert run("generate", tmp_path / "mean", "The", "--max-tokens", 5).right()
    assert run("average", steps, "--out", tmp_path / "x").fault() == (
        f"{steps} has 3 saved steps (2, 4, 6), not 5. It was trained with training.keep=3.\n"
        "    Train with --set training.keep=5; training.save says how often a step is saved. "
        "Or average those that are there:  --last 3"
    )
    assert run("average", f"{steps}@4", f"{steps}@6", "--last", 2, "--out", tmp_path / "x").fault() == (
        "--last is for one run without a step.\n    Leave it out: the models given are averaged."
    )
    assert run("average", made("kneser-ney"), "--out", tmp_path / "x").fault() == (
        f"{made('kneser-ney')} (kneser-ney) learns by counting: it has no saved steps to average."
    )
    assert run("average", steps / "nowhere", "--out", tmp_path / "x").fault().startswith(f"{steps / 'nowhere'} is not")
    assert not (tmp_path / "x").exists()


# --- import and export -----------------------------------------------------------------------------------------------


def test_out_to_hugging_face_and_back(tmp_path, made) -> None:
    assert run("export", made("gpt2"), "--out", tmp_path / "hf").right() == f"{tmp_path / 'hf'}\n"
    out = run("import", tmp_path / "hf", "--out", tmp_path / "back").right()
    assert re.fullmatch(r"hf: 16 tensors, [\d,]+ parameters; run in .*/back\n", out)
    name, back = str(made("gpt2")), str(tmp_path / "back")
    found = json.loads(run("evaluate", name, back, "--json").right())["scores"]
    assert found[name]["nats"] == found[back]["nats"]
    assert RunFolder(tmp_path / "back").recipe().network.width == 32


def test_bert_goes_out_and_back(tmp_path, made) -> None:
    run("export", made("bert"), "--to", "hf", "--out", tmp_path / "hf").right()
    run("import", tmp_path / "hf", "--out", tmp_path / "back").right()
    assert (tmp_path / "back/model/model.safetensors").read_bytes() == (
        made("bert") / "model/model.safetensors"
    ).read_bytes()


def test_import_says_what_it_can_import() -> None:
    said = " ".join(run("import", "--help").right().split())
    assert all(name in said for name in FAMILIES)


def test_counts_are_imported_as_a_run_too(tmp_path, made) -> None:
    said = run("import", made("kneser-ney"), "--out", tmp_path / "back")
    assert said.right() == f"kneser-ney: counts; run in {tmp_path / 'back'}\n"
    assert (
        run("generate", tmp_path / "back", "The", "--max-tokens", 5).right()
        == run("generate", made("kneser-ney"), "The", "--max-tokens", 5).right()
    )


def test_counts_are_exported_as_arpa(tmp_path, made) -> None:
    run("export", made("kneser-ney"), "--to", "arpa", "--out", tmp_path / "kn.arpa").right()
    content = (tmp_path / "kn.arpa").read_text(encoding="utf-8")
    assert content.startswith("\\data\\\nngram 1=")
    assert content.rstrip().endswith("\\end\\")


def test_what_cannot_be_exported(tmp_path, made) -> None:
    assert run("export", made("kneser-ney"), "--out", tmp_path / "x").fault() == (
        f"transformers has no class for kneser-ney.\n    It opens: {', '.join(FAMILIES)}. foreword.load opens all."
    )
    assert run("export", made("gpt2"), "--to", "arpa", "--out", tmp_path / "x").fault() == (
        "gpt2 is not a model of counts with back-off.\n"
        "    Models of smoothed n-grams, kneser-ney and katz for two, can be written as ARPA."
    )
    assert run("export", made("gpt2"), "--to", "arp", "--out", tmp_path / "x").fault() == (
        "'arp' is not a form to export to. Did you mean arpa? Forms: hf, hf-generator, arpa, word2vec, word2vec-text, glove."
    )
    assert not (tmp_path / "x").exists()


def test_nothing_is_overwritten(tmp_path, made) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for place in ("there", "file"):
        out = tmp_path / place
        assert (
            run("export", made("gpt2"), "--out", out).fault() == f"{out} is already there.\n    Choose another --out."
        )
        assert run("import", made("gpt2"), "--out", out).fault() == f"{out} is not empty.\n    Choose another --out."
        assert run("train", "gpt2", *TINY, "--data", made("bpe"), "--out", out).fault() == (
            f"{out} is not empty and not a run.\n    Choose another --out."
        )
        assert run("tokens", made("gpt2") / "recipe.toml", "--out", out).fault() == (
            f"{out} is already there and is not a token store.\n    Give another --out."
        )
    assert (tmp_path / "there" / "mine.txt").read_text() == (tmp_path / "file").read_text() == "mine"
    assert len(list((tmp_path / "there").iterdir())) == 1


# --- recipes ---------------------------------------------------------------------------------------------------------


def test_check_says_what_is_right() -> None:
    assert run("check", "gpt2", "bert", "kneser-ney").right() == (
        "gpt2: right (gpt2).\nbert: right (bert).\nkneser-ney: right (kneser-ney).\n"
    )


def test_show_tells_where_each_value_was_written() -> None:
    out = run("show", "gpt2", "--size", "laptop", "--set", "network.layers=3").right()
    line = {text.split(" = ")[0]: text for text in out.splitlines() if " = " in text}
    assert line["layers"].endswith("# --set network.layers=3")
    assert re.search(r"# foreword/recipes/2019-gpt2\.toml:\d+$", line["norm"])
    assert re.search(r"# foreword/recipes/2018-gpt1\.toml:\d+$", line["activation"])
    assert "# default" in out
    found = json.loads(run("show", "gpt2", "--json").right())
    assert found["network"]["context"] == 1024


def test_what_show_prints_is_a_recipe(tmp_path) -> None:
    for name in ("gpt2", "bert", "lstm", "mixture"):
        (tmp_path / "again.toml").write_text(run("show", name).right())
        assert run("show", tmp_path / "again.toml", "--json").right() == run("show", name, "--json").right()


def test_diff_tells_what_changed() -> None:
    out = run("diff", "gpt1", "gpt2").right()
    assert 'network.norm: "after" -> "before"' in out.splitlines()
    assert "network.context: 512 -> 1024" in out.splitlines()
    assert run("diff", "gpt2", "gpt2").right() == "no difference.\n"


def test_tree_shows_children_under_their_parents() -> None:
    lines = run("tree").right().splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("gpt1"))
    assert lines[place + 1].startswith("    gpt2")
    assert any(line.startswith("    kneser-ney") for line in lines)


def test_list_shows_everything_of_a_sort() -> None:
    assert {line.split()[0] for line in run("list").right().splitlines()} >= {"uniform", "gpt2", "bert", "kneser-ney"}
    found = json.loads(run("list", "recipes", "--json").right())
    assert next(one for one in found if one["name"] == "gpt2")["sizes"] == "laptop, small, medium, large, xl"
    for what, name in (
        ("networks", "causal_transformer"),
        ("objectives", "masked"),
        ("tokenizers", "byte_bpe"),
        ("cuts", "windows"),
        ("tasks", "bits"),
    ):
        assert name in {line.split()[0] for line in run("list", what).right().splitlines()}
    assert run("list", "network").fault() == (
        "there is no list of 'network'. Did you mean networks? Lists: recipes, tasks, studies, networks, objectives, tokenizers, cuts."
    )


# --- the real program ------------------------------------------------------------------------------------------------


def test_the_program_itself(tmp_path, made) -> None:
    """As a process: the version, a fault with code 2, data on stdout alone, and an ending pipe."""
    assert Program("--version").end().right() == f"foreword {VERSION}\n"
    wrong = Program("train", "bret", "--data", tmp_path).end()
    assert wrong.fault() == "no recipe is called 'bret'. Did you mean bert? `foreword list recipes` shows all."
    said = Program("generate", made("gpt2"), "The", "--max-tokens", 4, "--json").end()
    assert json.loads(said.right())["prompt"] == "The"
    assert said.err == ""


def test_a_wrong_command_ends_with_two(tmp_path) -> None:
    for words in (
        ["trian"],
        ["train"],
        ["generate"],
        ["tokens", "x"],
        ["list", "--wat"],
        ["generate", "x", "--top-k", "many"],
        ["train", "gpt2", "--data", "x", "--seed", "one"],
    ):
        said = run(*words)
        assert said.code == 2, words
        assert said.out == ""
        assert "Usage: " in said.err
    assert "--data TEXT, or --pairs train.en train.de" in run("train", "gpt2").fault()


def test_a_reader_that_goes_away_is_no_failure() -> None:
    reader = Program("list")
    reader.process.stdout.close()
    reader.process.wait()
    error = reader.process.stderr.read()
    assert "Traceback" not in error
    assert "Error" not in error


def test_from_python(made) -> None:
    import foreword

    lm = foreword.load(made("gpt2"))
    score = lm.score("The class statement.")
    assert score.bytes == 20
    assert sum(value for _, value in score.each) == pytest.approx(-score.nats, rel=1e-6)
    assert len(lm.generate("The", max_tokens=4, seed=1)) > 0
    assert lm.embed(["a sentence", "another"]).shape == (2, 32)
    assert lm.logits([1, 2, 3]).shape == (3, 500)
    assert len(foreword.load(made("bert")).fill("the [MASK] of a class", k=4)) == 4
    assert Path(lm.name) == made("gpt2")


# --- plan ------------------------------------------------------------------------------------------------------------


def test_a_plan_says_what_a_training_needs_and_trains_nothing(tmp_path, made) -> None:
    said = run("plan", "gpt2", *TINY, "--data", made("bpe"), "--budget", "64000tok").right()
    assert [line.split()[0] for line in said.splitlines() if not line.startswith(" ")] == [
        "gpt2",
        "memory",
        "fits",
        "work",
        "pace",
        "data",
        "budget",
        "time",
    ]
    found = json.loads(
        run("plan", "gpt2", *TINY, "--data", made("bpe"), "--budget", "64000tok", "--json", "--no-probe").right()
    )
    assert found["vocabulary"] == 500
    assert found["budget"]["tokens"] == 64000
    assert found["pace"] is found["budget"]["seconds"] is None
    [source] = found["budget"]["sources"].values()
    assert source["epochs"] == pytest.approx(64000 / source["tokens"])
    assert f"{found['parameters']:,} parameters" in said


def test_what_cannot_be_planned(tmp_path, made) -> None:
    assert run("plan", "kneser-ney").fault().startswith("kneser-ney counts; it has nothing to plan.")
    assert run("plan", "gpt2", "--data", tmp_path).fault() == (
        f"{tmp_path} is not a store: how many tokens it has is not known.\n    Make one:  foreword tokens {tmp_path} --out STORE"
    )
    assert run("plan", "gpt2", "--budget", "soon").fault().startswith("'soon' is not a budget.")
    assert run("plan", "gpt3", "--size", "176b").fault().startswith("gpt3 has no size '176b'. Did you mean 175b?")


def test_a_banded_model_with_biases_is_not_exported_and_one_without_is(tmp_path, made) -> None:
    for bias in ("true", "false"):
        run(
            "train",
            "gpt3",
            *TINY,
            "--set",
            "network.layers=2",
            "--set",
            f"network.qkv_bias={bias}",
            "--set",
            "network.visible.window=3",
            "--budget",
            2,
            "--data",
            made("bpe"),
            "--out",
            tmp_path / bias,
        ).right()
    assert (
        run("export", tmp_path / "true", "--out", tmp_path / "x")
        .fault()
        .startswith(
            "transformers has no class for gpt3. GPT-Neo, its class with banded layers, has no biases of queries, keys and values "
            "(network.qkv_bias=false)."
        )
    )
    run("export", tmp_path / "false", "--out", tmp_path / "x").right()
    assert json.loads((tmp_path / "x/config.json").read_text())["model_type"] == "gpt_neo"


def test_writing_is_set_beside_how_peoples_documents_go_on(made) -> None:
    said = run("evaluate", made("kneser-ney"), "writing", "--limit", 8, "--split", "train").right()
    assert "a detector takes" in said
    assert "distinct 1" in said
    assert "at least one run" in run("evaluate", "writing").err
