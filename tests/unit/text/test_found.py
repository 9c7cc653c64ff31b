"""Docstrings as text: of a small made-up package, and of a small part of what is installed."""

import sys
from pathlib import Path

from foreword.text.found import docstrings, found_documents

SOURCE = '''"""The module says something."""
x = """not a docstring"""
class A:
    """The class says something."""
    if True:
        def f(self):
            """The function
            says something in two lines.
            """
async def g():
    def h():
        "The inner one."
'''


def test_docstrings_come_in_order_with_nothing_between_but_a_blank_line(tmp_path):
    (tmp_path / "a.py").write_text(SOURCE)
    assert docstrings(tmp_path / "a.py") == (
        "The module says something.\n\nThe class says something.\n\n"
        "The function\nsays something in two lines.\n\nThe inner one."
    )


def test_a_file_that_is_not_python_has_none(tmp_path):
    (tmp_path / "a.py").write_text("def {{ template }}")
    assert docstrings(tmp_path / "a.py") == ""
    assert docstrings(tmp_path / "missing.py") == ""


def small_library(folder: Path) -> None:
    says = {"b/two.py": "two " * 100, "a.py": "one " * 100, "test/t.py": "never " * 100, "c.py": "little"}
    for name, text in says.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f'"""{text}"""\n')


def test_found_text_is_sorted_long_enough_and_never_imported(tmp_path, monkeypatch):
    small_library(tmp_path / "lib")
    small_library(tmp_path / "path/pretend")
    (tmp_path / "path/pretend/__init__.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path / "lib"))
    monkeypatch.syspath_prepend(str(tmp_path / "path"))
    found = list(found_documents(packages=("pretend", "no_such_package_anywhere"), workers=1))
    topics = [document for document in found if document.source.startswith("python/topics/")]
    assert len(topics) > 40
    assert found[: len(topics)] == sorted(topics, key=lambda document: document.source)
    assert [document.source for document in found[len(topics) :]] == [
        "python/a.py",
        "python/b/two.py",
        "pretend/a.py",
        "pretend/b/two.py",
    ]
    assert found[len(topics)].text == ("one " * 100).strip()
    assert "pretend" not in sys.modules


def test_the_process_pool_finds_the_same(tmp_path, monkeypatch):
    small_library(tmp_path / "lib")
    for number in range(150):  # more than one group of files
        (tmp_path / "lib" / f"m{number:03d}.py").write_text(f'"""{"word " * 50} {number}"""\n')
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path / "lib"))
    alone = list(found_documents(packages=(), workers=1))
    assert len(alone) > 150
    assert list(found_documents(packages=(), workers=2)) == alone
