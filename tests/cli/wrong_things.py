"""Everything of one kind that is wrong, by name: each is made in a folder, from a whole one where that is shorter."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file

Maker = Callable[[Path, Path], Path]  # (a whole thing of this kind, an empty folder) -> the wrong one


def written(text: str | bytes, name: str) -> Maker:
    def make(whole: Path, folder: Path) -> Path:
        path = folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return make


def changed(change: Callable[[Path], object]) -> Maker:
    """A copy of the whole folder, with something done to it."""

    def make(whole: Path, folder: Path) -> Path:
        copy = Path(shutil.copytree(whole, folder / "copy"))
        change(copy)
        return copy

    return make


def said(file: str, text: str) -> Maker:
    return changed(lambda folder: (folder / file).write_text(text))


def config(**settings: object) -> Maker:
    def change(folder: Path) -> None:
        known = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**known, **settings}))

    return changed(change)


def array(file: str, change: Callable[[np.ndarray], np.ndarray]) -> Maker:
    def of_all(folder: Path) -> None:
        for path in [path for split in ("train", "valid", "test") for path in (folder / split).glob(file)]:
            np.save(path, change(np.load(path)))

    return changed(of_all)


def index(places: Callable[[str], object]) -> Maker:
    """Weights in parts, whose index says of each tensor what `places` gives."""

    def change(folder: Path) -> None:
        names = load_file(folder / "model.safetensors").keys()
        (folder / "model.safetensors").rename(folder / "part.safetensors")
        content = {"weight_map": {name: places(name) for name in names}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(content))

    return changed(change)


def _without_numbers(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    broken = {name: torch.full_like(one, torch.nan) for name, one in tensors.items()}
    save_file(broken, folder / "model.safetensors", {"format": "pt"})


def _no_map(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text("{}")


def _of_zeros(folder: Path) -> None:
    for path in folder.glob("*/*.ids.npy"):
        path.write_bytes(b"\0" * path.stat().st_size)


GPT2 = 'extends = "gpt2"\n'
DEEP, DIGITS = "[" * 100_000 + "]" * 100_000, "9" * 5000

RECIPES: dict[str, Maker] = {
    name: written(text, "mine.toml")
    for name, text in {
        "extends a number": "extends = 5",
        "extends a list": "extends = [1]",
        "extends a path": 'extends = "../../x"',
        "sizes is a number": GPT2 + "sizes = 5",
        "a size is a number": GPT2 + "sizes.laptop = 5",
        "a section is a number": GPT2 + "network = 5",
        "a section of a size is a number": GPT2 + "sizes.laptop.network = 5",
        "a size like a path": GPT2 + '[sizes.laptop]\nlike = "../../x"',
        "named as a path": GPT2 + 'name = "../../x"',
        "without a name": GPT2 + 'name = ""',
        "deep lists": f"x = {DEEP}",
        "deep sections": "[" + "a." * 3000 + "b]\nx = 1",
        "a number of 5,000 digits": GPT2 + f"network.width = {DIGITS}",
        "a seed beyond 64 bits": GPT2 + f"training.seed = {2**70}",
        "a drop-out of 2": GPT2 + "network.dropout.attention = 2.0",
        "a drop-out that is no number": GPT2 + "network.dropout.attention = nan",
        "a width of a prime": GPT2 + "network.width = 1000000007",
        "a width of 23 digits": GPT2 + "network.width = 99999999999999999999977",
        "a width beyond any memory": GPT2 + "network.width = 1000000000",
        "a million layers": GPT2 + "network.layers = 1000000",
        "a context without end": GPT2 + "network.context = 1000000000000",
        "a billion rows": GPT2 + "training.batch_size = 1000000000",
        "rows of no length": GPT2 + "batches.length = -5",
        "a budget without end": GPT2 + 'training.budget = "1e999"',
        "epochs without end": GPT2 + 'training.budget = "1e400epochs"',
        "a learning rate that is no number": GPT2 + "training.optimizer.learning_rate = nan",
        "a negative learning rate": GPT2 + "training.optimizer.learning_rate = -1.0",
        "a negative clip": GPT2 + "training.clip = -1.0",
        "betas above 1": GPT2 + "training.optimizer.betas = [2.0, 3.0]",
        "a negative warm-up": GPT2 + "training.schedule.warmup = -5",
        "half a file": GPT2 + "[netw",
        "not UTF-8": b"name = '\xff'",
        "nothing": "",
    }.items()
}

CONFIGS: dict[str, Maker] = {
    "config is a list": said("config.json", "[]"),
    "config is a number": said("config.json", "5"),
    "config is nothing": said("config.json", "null"),
    "config is deep": said("config.json", DEEP),
    "config has 5,000 digits": said("config.json", '{"n": ' + DIGITS + "}"),
    "config is half": said("config.json", '{"model_type": '),
    "type is a list": config(model_type=["gpt2"]),
    "type of ours, without a recipe": config(model_type="foreword", foreword={"format": 1}),
    "type of ours, of a number": config(model_type="foreword", foreword=5),
    "type of ours, whose recipe is a number": config(model_type="foreword", foreword={"format": 1, "recipe": 5}),
    "positions without end": config(n_positions=10**12),
    "negative positions": config(n_positions=-1),
    "a billion layers": config(n_layer=10**9),
    "a billion wide": config(n_embd=10**9),
    "no heads": config(n_head=0),
    "heads in words": config(n_head="two"),
    "architectures is a number": config(architectures=5),
    "index without a map": changed(_no_map),
    "index of numbers": index(lambda name: 5),
    "index of the folder": index(lambda name: "."),
    "index of a file elsewhere": index(lambda name: "../copy/part.safetensors"),
    "index of a file that is gone": index(lambda name: "gone.safetensors"),
    "weights that are no numbers": changed(_without_numbers),
    "weights cut short": changed(lambda f: (f / "model.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{}")),
    "tokenizer is a list": said("tokenizer.json", "[]"),
    "tokenizer's config is a list": said("tokenizer_config.json", "[]"),
}

STORES: dict[str, Maker] = {
    "bytes doubled": array("bytes.npy", lambda sizes: sizes * 2),
    "ends in another order": array("ends.npy", lambda ends: ends[::-1].copy()),
    "counts negative": array("counts.npy", lambda counts: -counts),
    "ids beyond the vocabulary": array("*.ids.npy", lambda ids: np.full_like(ids, 60_000)),
    "ids of another type": array("*.ids.npy", lambda ids: ids.astype(np.float64)),
    "bytes pickled": array("bytes.npy", lambda sizes: np.array([{}] * max(8 * len(sizes), 1), dtype=object)),
    "headers of zeros": changed(_of_zeros),
    "store.json is a list": said("store.json", "[]"),
    "store.json without splits": said("store.json", '{"format": 1}'),
    "store.json is deep": said("store.json", DEEP),
}

ROWS = [f"word {number} {'good' if number % 2 else 'bad'},{'yes' if number % 2 else 'no'}" for number in range(60)]
LABELS: dict[str, Maker] = {
    name: written(text, "mine.csv")
    for name, text in {
        "semicolons": "text;label\n" + "\n".join(row.replace(",", ";") for row in ROWS),
        "tabs in a csv": "text\tlabel\n" + "\n".join(row.replace(",", "\t") for row in ROWS),
        "an unclosed quote": "\n".join(["text,label", *ROWS[:20], '"never closed,yes', *ROWS[20:]]),
        "another column": "text,colour\n" + "\n".join(ROWS),
        "rows of other lengths": "text,label\none,two,three\nfour\n",
        "not UTF-8": b"text,label\n\xff\xfe,yes\n",
        "nothing": "",
    }.items()
}

TEXTS: dict[str, Maker] = {
    "deep JSON": written('{"text": "one"}\n{"text": ' + DEEP + "}\n", "mine.jsonl"),
    "a number of 5,000 digits": written('{"text": "one", "n": ' + DIGITS + "}\n", "mine.jsonl"),
    "half a surrogate": written('{"text": "one \\ud800"}\n', "mine.jsonl"),
    "semicolons": written("id;text\n1;one\n", "mine.csv"),
    "an unclosed quote": written('id,text\n1,one\n2,"two\n3,three\n4,four\n', "mine.csv"),
    "broken gzip": written(b"\x1f\x8b\x08\x00garbage", "mine.jsonl.gz"),
    "broken parquet": written(b"PAR1garbage", "mine.parquet"),
    "nothing": written("", "mine.txt"),
}

BUDGETS = ("1e999", "1e400epochs", "-5", "nan", DIGITS)
