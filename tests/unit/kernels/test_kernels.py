"""C is compiled once, anew when its text or a header changes, and its absence is told, not suffered."""

import shutil

import pytest

from foreword.kernels import build

needs_compiler = pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="NO C COMPILER IS HERE")


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CC", raising=False)
    (tmp_path / "answer.h").write_text("#define ANSWER 42\n")
    (tmp_path / "answer.c").write_text('#include "answer.h"\nint answer(void) { return ANSWER; }\n')
    return tmp_path / "answer.c"


@needs_compiler
def test_it_is_compiled_once_and_again_when_it_changes(source):
    first = build.build(source)
    made = first.stat().st_mtime_ns
    assert build.compiled(source, "slower").answer() == 42
    assert build.build(source) == first
    assert first.stat().st_mtime_ns == made
    source.with_suffix(".h").write_text("#define ANSWER 43\n")
    assert build.compiled(source, "slower").answer() == 43
    source.write_text("int answer(void) { return 44; }\n")
    assert build.compiled(source, "slower").answer() == 44
    assert len(list(first.parent.iterdir())) == 3


@needs_compiler
def test_flags_that_the_compiler_refuses_are_passed_over(source):
    path = build.build(source, build.FLAGS, (("-no-such-flag",), ()))
    assert path.is_file()


@needs_compiler
def test_c_that_does_not_compile_is_told(source, capsys):
    source.write_text("int answer(void) { return nothing; }\n")
    assert build.compiled(source, "answers are slower") is None
    assert capsys.readouterr().err.startswith("answers are slower: ")
    assert not list((source.parent / "cache").rglob("*.partial"))


def test_no_compiler_is_told_and_what_to_do(source, capsys, monkeypatch):
    monkeypatch.setenv("CC", "/no/such/compiler")
    assert build.compiled(source, "answers are slower") is None
    assert "Install a C compiler" in capsys.readouterr().err
    monkeypatch.delenv("CC")
    monkeypatch.setattr(build.shutil, "which", lambda name: None)
    assert build.compiled(source, "answers are slower") is None
    assert "answers are slower: no C compiler is here." in capsys.readouterr().err
