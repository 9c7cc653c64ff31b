"""Everything a user can get wrong: what is said, word for word, the exit code, and nothing half-written left behind."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.cli.program import TINY, Program, run


def files(folder: Path) -> set[str]:
    """Every file, and every folder of unfinished work."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() or ".partial" in path.name}


@pytest.fixture
def untouched(tmp_path):
    """The folder as it is now must be the folder as it is after a fault."""

    class Check:
        def __enter__(self) -> None:
            self.before = files(tmp_path)

        def __exit__(self, kind: object, *_: object) -> None:
            if kind is None:
                assert files(tmp_path) == self.before

    return Check()


# --- text ------------------------------------------------------------------------------------------------------------

UNREADABLE = [
    ("empty.txt", b"", "{path}: there is no text in it, the file is empty.\n    Give a file that holds text."),
    ("blank.txt", b"  \n\n \t\n", "there is no text to learn a tokenizer from."),
    (
        "latin.txt",
        b"good line\nh\xe9las\n",
        "{path}\n    byte 11 (0xE9) is not valid UTF-8.\n    Convert the file first:  iconv -f latin1 -t "
        "utf-8 latin.txt > new.txt    (name the encoding it really has)",
    ),
    ("broken.jsonl", b'{"text": "one"}\n{"text": \n', None),
    (
        "other.jsonl",
        b'{"body": "one"}\n',
        "{path}:1\n    there is no column 'text'.\n    The columns there are: body. Choose one:  --column NAME",
    ),
    (
        "one.txt",
        b"one line and no more\n",
        "documents: 1; none fell into the {splits}.\n    Cut the text into more documents (--documents "
        "paragraph, or more text), or give other --splits.",
    ),
    ("cut.jsonl.gz", b"\x1f\x8b\x08\x00garbage", None),
    ("cut.jsonl.zst", b"\x28\xb5\x2f\xfdgarbage", None),
    ("cut.parquet", b"PAR1garbage", None),
    (
        "page.pdf",
        b"%PDF-1.4",
        "{path} is not a kind of file that is read.\n    Files with these endings are: .txt, .md, .jsonl, .jsonl.gz, "
        ".jsonl.zst, .csv, .parquet.",
    ),
]
# a single line can be evaluated; whatever else cannot be read, every verb must say so
CASES = [
    (verb, *case)
    for verb in ("tokens", "train", "evaluate", "demo")
    for case in UNREADABLE
    if (verb, case[0]) != ("evaluate", "one.txt")
]


@pytest.mark.parametrize(("verb", "name", "content", "words"), CASES)
def test_text_that_cannot_be_read(tmp_path, made, untouched, monkeypatch, name, content, words, verb) -> None:
    if (verb, name) in (("evaluate", "blank.txt"), ("demo", "blank.txt"), ("demo", "one.txt"), ("demo", "other.jsonl")):
        words = None  # said in other words: these two do not learn a tokenizer first, or gather first
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / name
    path.write_bytes(content)
    (tmp_path / "cache/foreword/stores").mkdir(parents=True)
    command = {
        "tokens": ["tokens", path, "--out", tmp_path / "store"],
        "train": ["train", "gpt2", *TINY, "--data", path, "--out", tmp_path / "run"],
        "evaluate": ["evaluate", made("gpt2"), "--data", path],
        "demo": ["demo", "--data", path, "--out", tmp_path / "demo", "--budget", "2"],
    }[verb]
    with untouched:
        said = run(*command).fault()
    if words is None:
        assert str(path) in said
    else:
        words = words.replace("{path}", str(path))
        start, _, end = words.partition("{splits}")
        told = said.split("\n", 1)[1] if verb == "train" and said.startswith(f"{path} is text: ") else said
        told = told.split("\n", 1)[1] if verb == "demo" and told.startswith("gathering text") else told
        assert told.startswith(start)
        assert told.endswith(end)


def test_a_path_that_is_not_there(tmp_path, made, untouched) -> None:
    gone = tmp_path / "gone.jsonl"
    where = "Give a run (runs/NAME), one of its saved steps (runs/NAME@STEP), its model folder, or a Hugging Face directory."
    with untouched:
        assert run("tokens", gone, "--out", tmp_path / "store").fault() == f"{gone} is not there."
        assert run("train", "gpt2", *TINY, "--data", gone, "--out", tmp_path / "run").fault() == f"{gone} is not there."
        assert run("preview", "gpt2", "--data", gone).fault() == f"{gone} is not there."
        assert run("demo", "--data", gone, "--out", tmp_path / "demo").fault() == f"{gone} is not there."
        for verb in ("evaluate", "generate"):
            assert run(verb, gone).fault() == f"{gone} is not there.\n    {where}"
        assert run("import", gone, "--out", tmp_path / "x").fault() == f"{gone} is not there.\n    {where}"
        assert run("export", gone, "--out", tmp_path / "x").fault() == f"{gone} is not there.\n    {where}"
        assert run("evaluate", made("gpt2"), "--data", gone).fault() == (
            f"{gone} is not there.\n    Give the text to evaluate on:  --data STORE or --data TEXT"
        )
        assert run("check", gone.with_suffix(".toml")).fault() == f"{gone.with_suffix('.toml')} is not there."


def test_a_near_name_is_suggested(tmp_path) -> None:
    (tmp_path / "corpus.txt").write_text("text")
    assert run("tokens", tmp_path / "corpsu.txt", "--out", tmp_path / "store").fault() == (
        f"{tmp_path / 'corpsu.txt'} is not there. Did you mean corpus.txt?"
    )


def test_all_missing_paths_are_told_at_once(tmp_path) -> None:
    said = run("tokens", tmp_path / "1", tmp_path / "2", "--out", tmp_path / "store").fault()
    assert said == f"{tmp_path / '1'} is not there.\n{tmp_path / '2'} is not there."


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--splits", "0.5/0.5"], "--splits 0.5/0.5: three shares are written 0.9/0.05/0.05."),
        (["--splits", "a/b/c"], "--splits a/b/c: three shares are written 0.9/0.05/0.05."),
        (["--splits", "0.5/0.5/0.5"], "--splits 0.5/0.5/0.5: the shares must add up to 1, with some to train on."),
        (["--splits", "0/0.5/0.5"], "--splits 0/0.5/0.5: the shares must add up to 1, with some to train on."),
        (["--splits", "1.5/-0.3/-0.2"], "--splits 1.5/-0.3/-0.2: the shares must add up to 1, with some to train on."),
        (
            ["--tokenizer", "byte_bp"],
            "'byte_bp' is neither a kind of tokenizer nor a folder that has one. Did you mean byte_bpe?\n"
            "    Kinds: ascii, byte, byte_bpe, char_bpe, unicode, unigram, word, wordpiece, words.",
        ),
        (["--tokenizer", "byte", "--vocabulary", "300"], "a byte tokenizer has no vocabulary."),
        (
            ["--vocabulary", "100"],
            "a vocabulary of 100 is too small for byte_bpe: the bytes and an end need 257.\n"
            "    The smallest that works on this text is 257.",
        ),
        (
            ["--documents", "paragraf"],
            "'paragraf' is no rule for cutting text into documents. Did you mean paragraph?\n"
            "    The rules: auto, file, line, paragraph, dialogues.",
        ),
        (
            ["--marks", "sentence_ends"],
            "'sentence_ends' is not a mark. Did you mean sentence_end?\n    The marks: sentence_end, word_start.",
        ),
    ],
)
def test_options_of_tokens_that_mean_nothing(tmp_path, text, untouched, words, said) -> None:
    with untouched:
        assert run("tokens", text, "--out", tmp_path / "store", *words).fault() == said


def test_a_store_of_other_text_is_not_replaced(tmp_path, text, untouched) -> None:
    (tmp_path / "mine.jsonl").write_bytes(text.read_bytes())
    run("tokens", text, "--out", tmp_path / "store", "--tokenizer", "byte").right()
    with untouched:
        said = run("tokens", tmp_path / "mine.jsonl", "--out", tmp_path / "store", "--vocabulary", 300).fault()
    assert said == (
        f"{tmp_path / 'store'} is a token store made from other files or with other settings (byte-257).\n"
        "    Remove it, or give another --out."
    )


# --- stores and models -----------------------------------------------------------------------------------------------


def test_a_folder_that_is_not_a_model(tmp_path, made, untouched) -> None:
    words = (
        f"{made('bpe')} is not a model: it has no config.json.\n"
        "    Give a run (runs/NAME), its model folder, or a Hugging Face directory."
    )
    with untouched:
        for command in (
            ["evaluate", made("bpe")],
            ["generate", made("bpe"), "The"],
            ["import", made("bpe"), "--out", tmp_path / "x"],
            ["export", made("bpe"), "--out", tmp_path / "x"],
        ):
            assert run(*command).fault() == words


def test_a_folder_of_another_type(tmp_path, untouched) -> None:
    folder = tmp_path / "llama"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))
    (folder / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    with untouched:
        for command in (
            ["evaluate", folder, "--data", tmp_path],
            ["generate", folder],
            ["import", folder, "--out", tmp_path / "x"],
        ):
            assert run(*command).fault() == (
                f"{folder} holds a model of type 'llama', which Foreword does not read.\n"
                "    Types it reads: gpt2, openai-gpt, gpt_neo, electra, bert, ernie, roberta, modernbert, nanochat, t5, marian, xlnet."
            )


def test_weights_that_are_cut_short(tmp_path, made) -> None:
    folder = Path(shutil.copytree(made("gpt2"), tmp_path / "run"))
    whole = (folder / "model/model.safetensors").read_bytes()
    for length in (0, 7, 300, len(whole) - 5):
        (folder / "model/model.safetensors").write_bytes(whole[:length])
        said = run("generate", folder, "The").fault()
        assert said.startswith(f"{folder / 'model/model.safetensors'} cannot be read: ")
        assert said.endswith("\n    It is cut short or damaged; copy it again.")


def test_a_config_that_is_cut_short(tmp_path, made) -> None:
    folder = Path(shutil.copytree(made("gpt2") / "model", tmp_path / "model"))
    (folder / "config.json").write_text('{"model_type": ')
    said = run("generate", folder, "The").fault()
    assert said.startswith(f"{folder / 'config.json'} is not valid JSON: ")
    (folder / "config.json").write_text(json.dumps({"model_type": "gpt2", "n_layer": "two"}))
    assert str(folder / "config.json") in run("generate", folder, "The").fault()


def test_a_tokenizer_that_is_damaged(tmp_path, made) -> None:
    folder = Path(shutil.copytree(made("gpt2") / "model", tmp_path / "model"))
    (folder / "tokenizer.json").write_text('{"version": "1.0"}')
    assert run("generate", folder, "The").fault().startswith(f"{folder / 'tokenizer.json'} is not a tokenizer: ")


def test_a_checkpoint_that_is_cut_short(tmp_path, made) -> None:
    words = ["train", "gpt2", *TINY, "--set", "training.save=2", "--data", made("bpe"), "--out", tmp_path / "run"]
    run(*words, "--budget", 6).right()
    newest = sorted((tmp_path / "run/checkpoints").iterdir())[-1]
    assert newest.name == "step-000000006"
    (newest / "state.safetensors").write_bytes((newest / "state.safetensors").read_bytes()[:999])
    again = run(*words, "--budget", 8)
    again.right()
    assert f"{newest / 'state.safetensors'} cannot be read: its checksum is not the one it was saved with." in again.err
    assert f"The run goes on from step-000000004; {newest.name} is removed." in again.err


def test_a_store_that_is_damaged(tmp_path, made, untouched) -> None:
    store = Path(shutil.copytree(made("bpe"), tmp_path / "store"))
    shard = next((store / "train").glob("*.ids.npy"))
    shard.write_bytes(shard.read_bytes()[:100])
    (store / "train/ends.npy").unlink()
    with untouched:
        said = run("train", "gpt2", *TINY, "--data", store, "--out", tmp_path / "run").fault()
        assert f"{store / 'train/ends.npy'} is not there." in said
        assert f"{shard} is cut short: 100 bytes of" in said
        (store / "store.json").write_text('{"format": 99}')
        assert run("train", "gpt2", *TINY, "--data", store, "--out", tmp_path / "run").fault() == (
            f"{store} is a token store of format 99; this Foreword reads format 1.\n"
            "    Make the store again, or use the Foreword that wrote it."
        )


def test_a_store_made_by_another_tokenizer(made) -> None:
    said = run("evaluate", made("gpt2"), "--data", made("pieces")).fault()
    prints = [
        json.loads((made(name) / "store.json").read_text())["tokenizer"]["fingerprint"][:4]
        for name in ("bpe", "pieces")
    ]
    assert said == (
        f"{made('gpt2')} was trained with tokenizer byte-bpe-500 ({prints[0]}...); the store {made('pieces')} was made with "
        f"wordpiece-500 ({prints[1]}...).\n    Make a matching store:  foreword tokens TEXT --tokenizer {made('gpt2')} --out "
        "STORE; or give the text itself:  --data TEXT"
    )


def test_a_store_whose_tokenizer_was_exchanged(tmp_path, made) -> None:
    store = Path(shutil.copytree(made("bpe"), tmp_path / "store"))
    shutil.copy(made("pieces") / "tokenizer.json", store)
    shutil.copy(made("pieces") / "tokenizer_config.json", store)
    said = run("train", "gpt2", *TINY, "--data", store, "--out", tmp_path / "run").fault()
    assert said.startswith(f"the tokenizer in {store} is wordpiece-500 (")
    assert said.endswith("Make the store again.")
    assert not (tmp_path / "run").exists()


def test_a_tokenizer_without_what_the_objective_needs(tmp_path, made, untouched) -> None:
    words = (
        f"{made('bpe')} was made with byte-bpe-500, which has no [cls], [separator], [mask]; the objective 'together' needs them.\n"
        "    Make a store that has them:  foreword tokens TEXT --tokenizer wordpiece --out STORE"
    )
    with untouched:
        assert run("train", "bert", *TINY, "--data", made("bpe"), "--out", tmp_path / "run").fault() == words
        assert run("preview", "bert", *TINY, "--data", made("bpe")).fault() == words


def test_a_context_longer_than_the_text(tmp_path, made, untouched) -> None:
    with untouched:
        said = run(
            "train", "gpt2", *TINY, "--set", "network.context=50000", "--data", made("bpe"), "--out", tmp_path / "run"
        ).fault()
    tokens = json.loads((made("bpe") / "store.json").read_text())["splits"]["train"]["tokens"]
    assert said == (
        f"{made('bpe')} (train) has {tokens:,} tokens, too few for one window of 50000 tokens.\n"
        "    Give more text, or make it smaller: --set batches.length=... --set training.batch_size=..."
    )


def test_a_corpus_smaller_than_one_window(tmp_path, untouched) -> None:
    (tmp_path / "small.jsonl").write_text("".join(json.dumps({"text": f"line {i}"}) + "\n" for i in range(40)))
    run(
        "tokens",
        tmp_path / "small.jsonl",
        "--out",
        tmp_path / "store",
        "--tokenizer",
        "byte",
        "--splits",
        "0.6/0.2/0.2",
    ).right()
    with untouched:
        for recipe, what in (("gpt2", "one window of 1024 tokens"), ("lstm", "20 lanes of 35 tokens")):
            said = run("train", recipe, "--data", tmp_path / "store", "--out", tmp_path / "run").fault()
            assert f"tokens, too few for {what}." in said


def test_the_folder_of_another_run_is_left_alone(tmp_path, made) -> None:
    folder = Path(shutil.copytree(made("gpt2"), tmp_path / "run"))
    words = ["train", "gpt2", *TINY, "--budget", 8]
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert run(*words, "--seed", 3, "--data", made("bpe"), "--out", folder).fault() == (
        f"{folder} holds another run. It differs in: training.seed: 0 -> 3.\n    Choose another --out, or remove that folder."
    )
    assert run(*words, "--data", made("bytes"), "--out", folder).fault() == (
        f"{folder} holds another run. It differs in: the text (another store, or the store was made again).\n"
        "    Choose another --out, or remove that folder."
    )
    said = run(
        "train", "lstm", "--set", "network.width=16", "--size", "laptop", "--data", made("bpe"), "--out", folder
    ).fault()
    assert said.startswith(f'{folder} holds another run. It differs in: name: "gpt2" -> "lstm"; ')
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_evaluate_says_what_it_lacks(tmp_path, made, text) -> None:
    assert run("evaluate", made("gpt2"), "--split", "tset").fault() == (
        f"{made('bpe')} has no split 'tset'. Did you mean test?\n    Those it has: train, valid, test."
    )
    assert run("evaluate", made("gpt2"), "--data", text, "--split", "tset").fault() == (
        "there is no split 'tset'. Did you mean test?\n    Text has: all, train, valid, test."
    )
    assert (
        run("evaluate", made("gpt2"), "--stride", 900).fault()
        == "a stride of 900 does not fit a context of 32.\n    Give 1 to 32."
    )
    assert run("evaluate", made("gpt2") / "model").fault() == (
        "there is no text to evaluate on.\n    Give it:  --data STORE or --data TEXT"
    )
    assert run("evaluate", made("gpt2"), made("kneser-ney"), "--data", text, "--mix", "--limit", 2000).fault() == (
        "a mixture needs validation text to fit its weights on.\n    Give a store:  --data STORE"
    )
    assert run("evaluate", "bits").code == 2


# --- recipes and settings --------------------------------------------------------------------------------------------


def test_three_faults_of_a_recipe_are_told_at_once_with_their_lines(tmp_path, made, untouched) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(
        'extends = "gpt2"\nname = "mine"\n\n[network]\nlayers = "six"\nwidht = 3\n\n[training]\nkind = "adam"\n'
    )
    words = (
        f"{mine}:5  network.layers\n"
        "    Input should be a valid integer, unable to parse string as an integer (it says 'six')\n"
        f"{mine}:6  network.widht\n"
        "    there is no setting 'widht' here. Did you mean width? Settings: tokens_from, ngrams, layers, depth, width, heads, context, embedding, embedding_scale, head_size, attention_scale, norm, norm_kind, "
        "qk_norm, bias, attention_bias, qkv_bias, positions, inner, activation, gated, feedforward, norm_epsilon, dropout, initial, visible, embedding_norm.\n"
        f"{mine}:9  training.kind\n"
        "    'adam' is not one of 'counting', 'gradient', 'online'."
    )
    with untouched:
        assert run("check", mine).fault() == words
        assert run("train", mine, "--data", made("bpe"), "--out", tmp_path / "run").fault() == words
        assert run("preview", mine, "--data", made("bpe")).fault() == words


def test_faults_of_several_recipes_are_told_at_once(tmp_path) -> None:
    one = tmp_path / "one.toml"
    one.write_text('extends = "gpt2"\nname = "one"\n[network]\nheads = 10\n[training]\nbudget = "5x"\n')
    said = run("check", one, "gpt22", "gpt2")
    assert said.code == 2
    assert said.err == (
        f"{one}:4  network.heads\n    width 768 does not divide into 10 heads. Heads that do: [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96]\n"
        f"{one}:6  training.budget\n    '5x' is not a budget.\n"
        "no recipe is called 'gpt22'. Did you mean gpt2? `foreword list recipes` shows all.\n"
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('extends = "gpt2"\nname = mine\n', "{path}:2\n    not valid TOML: Invalid value (at line 2, column 8)."),
        (
            'extends = "bret"\nname = "m"\n',
            "{path}:1  extends\n    no recipe is called 'bret'. Did you mean bert? `foreword list recipes` shows all.",
        ),
        ('extends = "{path}"\nname = "m"\n', "{path}\n    `extends` goes more than 3 deep (or round in a circle)."),
        ('name = "m"\n', None),
        (
            'extends = "gpt2"\nname = "m"\n[objective]\nkind = "masked"\n',
            "{path}:3  objective\n    objective.kind = 'masked' fills ['segments'], which network.kind = 'causal_transformer' does not read.",
        ),
        (
            'extends = "gpt2"\nname = "m"\n[batches]\nlength = 5000\n',
            "{path}:4  batches.length\n    rows of 5000 positions do not fit the network's context of 1024: length can be at most 1024.",
        ),
    ],
)
def test_recipes_that_cannot_be(tmp_path, content, words) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(content.replace("{path}", str(path)))
    said = run("check", path).fault()
    if words is not None:
        assert said.startswith(words.replace("{path}", str(path)))  # one fault may bring another with it
    else:
        assert all(section in said for section in ("network", "objective", "batches", "tokenizer", "training"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bret"], "no recipe is called 'bret'. Did you mean bert? `foreword list recipes` shows all."),
        (["gpt2", "--size", "huge"], "gpt2 has no size 'huge'. Sizes: laptop, small, medium, large, xl."),
        (
            ["gpt2", "--size", "lap"],
            "gpt2 has no size 'lap'. Did you mean laptop? Sizes: laptop, small, medium, large, xl.",
        ),
        (["gpt2", "--set", "layers"], "--set layers: a setting is written section.key=value."),
        (
            ["gpt2", "--set", "network.layers=six"],
            "--set network.layers=six  network.layers\n    Input should be a valid integer, unable to "
            "parse string as an integer (it says 'six')",
        ),
        (["gpt2", "--set", "netwrok.layers=6"], None),
        (
            ["gpt2", "--set", "training.batch_size=0"],
            "--set training.batch_size=0  training.batch_size\n    batch_size must be at least 1 (it says 0).",
        ),
        (
            ["gpt2", "--budget", "5x"],
            "'5x' is not a budget.\n    Say steps (500), tokens (2Mtok), epochs (3epochs), wall clock (90s, 10m, 2h) or work of cores (10core-m).",
        ),
        (["gpt2", "--budget", "0"], "'0' is not a budget: it must be more than nothing."),
    ],
)
def test_commands_that_cannot_be(tmp_path, made, untouched, words, said) -> None:
    with untouched:
        told = run("train", *words, "--data", made("bpe"), "--out", tmp_path / "run").fault()
    if said is not None:
        assert told == said
    else:
        assert "there is no setting 'netwrok' here. Did you mean network?" in told


# --- a run that fails ------------------------------------------------------------------------------------------------


def test_a_loss_that_is_not_a_number_ends_with_one(tmp_path, made) -> None:
    words = [
        "train",
        "gpt2",
        *TINY,
        "--budget",
        30,
        "--data",
        made("bpe"),
        "--out",
        tmp_path / "run",
        "--set",
        "training.clip=0",
        "--set",
        "training.optimizer.learning_rate=1e9",
        "--set",
        "training.schedule.warmup=0",
        "--set",
        "training.save=1",
    ]
    said = run(*words).fault(code=1)
    good = sorted((tmp_path / "run/checkpoints").iterdir())[-1]
    step = int(good.name.removeprefix("step-"))
    lines = said.splitlines()
    assert lines[-2].startswith(f"step {step + 1}: the loss is ")
    assert lines[-2].endswith(f"The last good weights are in {good}.")
    assert lines[-1].startswith("    Largest gradient: network.")
    assert "Usual causes: learning rate too high (" in lines[-1]
    assert load_file(good / "state.safetensors")


def test_an_exploding_loss_before_any_checkpoint(tmp_path, made) -> None:
    said = run(
        "train",
        "lstm",
        "--size",
        "laptop",
        "--set",
        "network.width=16",
        "--set",
        "training.clip=0",
        "--set",
        "training.optimizer.learning_rate=1e6",
        "--set",
        "training.schedule.warmup=0",
        "--budget",
        40,
        "--data",
        made("bpe"),
        "--out",
        tmp_path / "run",
    ).fault(code=1)
    assert "Nothing was saved before it." in said


def test_a_place_that_cannot_be_written(tmp_path, made, text) -> None:
    """A folder below a file: code 1, in words."""
    (tmp_path / "file").write_text("mine")
    for command in (
        ["tokens", text, "--tokenizer", "byte", "--out", tmp_path / "file/store"],
        ["train", "kneser-ney", "--data", made("bpe"), "--out", tmp_path / "file/run"],
        ["export", made("gpt2"), "--out", tmp_path / "file/hf"],
        ["import", made("gpt2"), "--out", tmp_path / "file/run"],
        ["demo", "--data", text, "--out", tmp_path / "file/demo", "--budget", 2],
    ):
        said = run(*command)
        assert said.code == 1, command
        assert "could not be " in said.err
        assert "Traceback" not in said.err
    assert (tmp_path / "file").read_text() == "mine"


def test_no_fault_prints_a_traceback(tmp_path, made) -> None:
    """The same through the real program, where an uncaught exception would show."""
    torch.save({}, tmp_path / "pytorch_model.bin")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    said = Program("evaluate", tmp_path, "--data", made("bpe")).end()
    assert said.fault() == (
        f"{tmp_path} has its weights in pytorch_model.bin, a pickle, which can run code when opened.\n"
        "    Convert it where you trust it: model.save_pretrained(folder) of transformers writes safetensors."
    )
