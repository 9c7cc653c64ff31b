"""The documentation runs: every command and every line of Python in docs/ and README.md, as a reader would give it.

Each page gets an empty folder of its own with some text in `my-text/`. Budgets are cut to two steps before running, so
that a page can name the time a reader should give and the test still takes seconds.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from pydoc_data.topics import topics
from types import ModuleType

import pytest

from foreword.assembly import catalogue
from foreword.cli.main import app
from foreword.text.splits import split_of

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LINEAGE = DOCS / "lineage"
PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
INFO = {"sh", "sh no-run", "python", "text", "toml"}
NOT_RUN = (
    "make ",
    "foreword demo",
    "foreword serve",
    "pip ",
    "torchrun --nnodes",
    "srun ",
    "    ",
    "#",
)  # what a `no-run` block may hold: setting up, the demo, many machines
HOSTS = {
    "arxiv.org",
    "aclanthology.org",
    "doi.org",
    "github.com",
    "huggingface.co",
    "127.0.0.1:8000",
}  # the last: `serve`
DOCUMENTS = {"train": 44, "valid": 4, "test": 3}  # of each split, whatever Python's help says this year
_FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_BUDGET = re.compile(
    r"(--budget[ =])(?!\d+s )\S+|^(budget = ).*$", re.MULTILINE
)  # seconds in the middle of a command stay


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    info: str
    text: str

    @property
    def place(self) -> str:
        return f"{named(self.page)}:{self.line}"


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        yield Block(page, text.count("\n", 0, match.start()) + 2, match.group(1).strip(), match.group(2))


def runs(page: Path) -> bool:
    return page.parent != LINEAGE and any(block.info in ("sh", "python") for block in blocks(page))


def quick(text: str) -> str:
    """The same with budgets of two steps."""
    return _BUDGET.sub(lambda found: f"{found.group(1)}2" if found.group(1) else f'{found.group(2)}"2"', text)


def write_texts(folder: Path) -> None:
    """Some 50 kB of Python's own help, a file per document, with all three splits among them."""
    folder.mkdir()
    left = dict(DOCUMENTS)
    for name in sorted(topics):
        for longest in (1500, 700, 600, 500):  # the text decides its split: another end, another split
            text = topics[name][:longest].strip() + "\n"
            split = split_of(text)
            if len(text) > 300 and left[split] and (split == "train" or longest <= 700):
                left[split] -= 1
                (folder / f"{name.replace('/', '-')}.txt").write_text(text, encoding="utf-8")
                break
    assert not any(left.values()), f"Python's help has too few topics: {left} are missing"


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reader's folder: the text, a home of its own, the program on the path."""
    folder = tmp_path / "reader"
    folder.mkdir()
    write_texts(folder / "my-text")
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    for name, value in (("OMP_NUM_THREADS", "1"), ("HF_HUB_OFFLINE", "1"), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, value)
    return folder


@pytest.mark.parametrize("page", [page for page in PAGES if runs(page)], ids=named)
def test_every_block_of_a_page_runs(page: Path, reader: Path) -> None:
    before, names = set(sys.modules), {"__name__": "__main__"}
    try:
        for block in blocks(page):
            if block.info == "sh":
                script = quick(block.text)
                done = subprocess.run(
                    ["bash", "-euo", "pipefail", "-c", script], cwd=reader, capture_output=True, text=True, timeout=300
                )
                assert done.returncode == 0, f"{block.place}\n{script}\n{done.stdout}\n{done.stderr}"
            elif block.info == "python":
                code = "\n" * (block.line - 1) + quick(block.text)
                exec(compile(code, str(page), "exec"), names)
    finally:
        for name in set(sys.modules) - before:  # a page's own modules are not there for the next page
            if str(getattr(sys.modules[name], "__file__", "") or "").startswith(str(reader)):
                del sys.modules[name]


@pytest.mark.parametrize("page", sorted(LINEAGE.glob("*.md")), ids=named)
def test_the_command_of_every_system_is_right(page: Path, reader: Path) -> None:
    """Checked, not run: that every recipe trains is the contract tests' business."""
    given = [line for block in blocks(page) if block.info == "sh" for line in block.text.strip().split("\n")]
    assert given, f"{named(page)} does not say how to train it"
    for line in given:
        words = shlex.split(line)
        assert words[:2] == ["foreword", "train"], f"{named(page)}: only `foreword train` is checked here, not {line}"
        app([*words[1:], "--dry-run"], standalone_mode=False)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_block_says_what_it_is(page: Path) -> None:
    assert page.read_text(encoding="utf-8").count("```") == 2 * len(list(blocks(page))), (
        "a block is not closed, or is indented"
    )
    for block in blocks(page):
        assert block.info in INFO, f"{block.place}: {block.info!r} is not one of {sorted(INFO)}"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_only_setting_up_and_the_demo_are_not_run(page: Path) -> None:
    for block in blocks(page):
        if block.info == "sh no-run":
            wrong = [line for line in block.text.split("\n") if line and not line.startswith(NOT_RUN)]
            assert not wrong, f"{block.place}: {wrong[0]!r} could be run"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_lines_are_shorter_than_160_characters(page: Path) -> None:
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        assert len(line) < 160, f"{named(page)}:{number} has {len(line)}"


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{named(page)}: {target} is not there"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", there.read_text(encoding="utf-8")), re.MULTILINE)
            assert anchor in map(slug, headings), f"{named(page)}: {target} is no heading of that page"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_no_page_knows_the_machine_it_was_written_on(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    local = re.findall(
        r"(?<![\w.])/(?:work|tmp|home|root|Users|var|mnt|opt)/\S*|(?:--)?index-url\S*|\S*localhost\S*", text
    )
    assert not local, f"{named(page)}: {local[0]}"
    invalid = [host for host in re.findall(r"https?://([^/\s)>\"`]+)", text) if host not in HOSTS]
    assert not invalid, f"{named(page)}: {invalid[0]} is not among {sorted(HOSTS)}"


def test_every_recipe_has_its_page_and_is_listed() -> None:
    assert {page.stem for page in LINEAGE.glob("*.md")} == set(catalogue.built_in())
    for page in LINEAGE.glob("*.md"):
        by_hand = page.read_text(encoding="utf-8").split("<!-- end -->", 1)[-1]
        assert len(by_hand.split()) > 80, f"{named(page)} says nothing beyond its recipe"
        assert f"lineage/{page.name}" in (DOCS / "index.md").read_text(encoding="utf-8")


def test_every_page_can_be_reached_from_the_index() -> None:
    seen, waiting = set(), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page in seen:
            continue
        seen.add(page)
        for target in re.findall(r"\]\(([^)\s#]+\.md)", page.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                waiting.append((page.parent / target).resolve())
    assert set(DOCS.rglob("*.md")) <= seen, f"no way to {sorted(map(str, set(DOCS.rglob('*.md')) - seen))}"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_generated_parts_are_fresh(generate: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert generate.main(["--check"]) == 0, capsys.readouterr().out


def test_a_stale_part_is_found(generate: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = LINEAGE / "bigram.md"
    monkeypatch.setattr(generate, "DOCS", tmp_path / "docs")
    monkeypatch.setattr(generate, "pages", lambda: {tmp_path / "docs" / "a.md": page.read_text(encoding="utf-8")})
    assert generate.main(["--check"]) == 1
    assert not (tmp_path / "docs").exists(), "a check wrote something"
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0
