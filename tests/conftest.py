"""Fixtures for all tests: small real stores made once, and the shared data where it is there."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from foreword.assembly.recipe import Recipe
from foreword.tokens import KINDS
from foreword.tokens.build import build_store
from foreword.tokens.store import TokenStore
from foreword.tokens.units import UnitsSpec
from tests.tiny import dialogues, documents, store_kind

os.environ.setdefault("FOREWORD_DATA", str(Path(__file__).parents[2] / "shared" / "data"))  # where we keep data sets
if capability := os.environ.get(
    "ATEN_CPU_CAPABILITY"
):  # torch.compile's cache does not tell them apart, and then crashes
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(Path(tempfile.gettempdir()) / f"torchinductor-{capability}")
TOKENIZERS = {  # by the name of their store
    "byte": {"kind": "byte"},
    "byte_bpe": {"kind": "byte_bpe", "vocabulary": 512},
    "tagged": {"kind": "byte_bpe", "vocabulary": 512, "specials": "roberta"},
    "wordpiece": {"kind": "wordpiece", "vocabulary": 512, "lowercase": True},
    "spans": {"kind": "unigram", "vocabulary": 600, "spans": 8},
}


def pytest_configure() -> None:
    """A shell that starts tests in the background has them ignore Ctrl-C, and with them the programs they start and interrupt."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


THOROUGH = ("cli", "docs", "parity")  # folders that `make test` leaves to `make test-all`
left_out = pytest.StashKey[int]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tests = Path(__file__).parent
    for item in items:
        if item.path.relative_to(tests).parts[0] in THOROUGH or "data" in getattr(item, "fixturenames", ()):
            item.add_marker("thorough")


def pytest_deselected(items: list[pytest.Item]) -> None:
    config = items[0].config
    config.stash[left_out] = config.stash.get(left_out, 0) + sum("thorough" in item.keywords for item in items)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):  # one of several processes: the one that reports must hear it
        session.config.workeroutput["left out"] = session.config.stash.get(left_out, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node) -> None:
    node.config.stash[left_out] = getattr(node, "workeroutput", {}).get("left out", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if "not thorough" in config.option.markexpr:
        terminalreporter.write_line(
            f"Left out: {config.stash.get(left_out, 0):,} thorough tests here, and tests/{{{','.join(THOROUGH)}}} "
            "(make test-all); small trainings (make test-slow)."
        )


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", action="store_true", help="write tests/golden anew instead of comparing with it")


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of text files, one document each."""
    folder = tmp_path_factory.mktemp("corpus")
    for number, text in enumerate(documents()):
        (folder / f"{number:03d}.txt").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def stores(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Stores of the corpus, one for each of TOKENIZERS; and of its paragraphs and of dialogues, in byte_bpe."""
    folder = tmp_path_factory.mktemp("stores")
    for name, settings in TOKENIZERS.items():
        build_store(
            [corpus],
            folder / name,
            KINDS.find(settings["kind"])(**settings),
            fractions=(0.8, 0.1, 0.1),
            workers=1,
            units=UnitsSpec(phrases=0.5, minimum=3, entities=["auto"], capitals=True),
        )
    learned = TokenStore.open(folder / "byte_bpe").tokenizer
    build_store([corpus], folder / "paragraphs", learned, documents="paragraph", fractions=(0.8, 0.1, 0.1), workers=1)
    spoken = folder.parent / f"{folder.name}.jsonl"
    spoken.write_text("".join(json.dumps({"turns": turns}) + "\n" for turns in dialogues()), encoding="utf-8")
    build_store([spoken], folder / "dialogues", learned, documents="dialogues", fractions=(0.8, 0.1, 0.1), workers=1)
    return {path.name: path for path in folder.iterdir()}


@pytest.fixture(scope="session")
def store(stores: dict[str, Path]) -> Callable[..., TokenStore]:
    """store("byte", "valid"): an open split."""
    return lambda kind="byte_bpe", split="train": TokenStore.open(stores[kind], split)


@pytest.fixture(scope="session")
def store_of(store: Callable[..., TokenStore]) -> Callable[..., TokenStore]:
    """The store that suits a recipe's objective."""

    def find(recipe: Recipe, split: str = "train") -> TokenStore:
        return store(store_kind(recipe), split)

    return find


@pytest.fixture(scope="session")
def data() -> Path:
    """The shared data: published vocabularies and corpora."""
    folder = Path(os.environ["FOREWORD_DATA"])
    if not folder.is_dir():
        pytest.skip(f"the shared data is not in {folder}; say where it is with FOREWORD_DATA")
    return folder
