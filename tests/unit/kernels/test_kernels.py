"""C is compiled once, anew when its text or a header changes, and its absence is told, not suffered."""

import ctypes
import shutil

import numpy as np
import pytest
import torch

from foreword.basics.messages import Fault, RunFailed
from foreword.kernels import build, decode, matvec, tokenize, word_vectors
from foreword.training.hardware import Hardware
from tests.widths import needs_compiler


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.delenv("FOREWORD_KERNELS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CC", raising=False)
    (tmp_path / "answer.h").write_text("#define ANSWER 42\n")
    (tmp_path / "answer.c").write_text('#include "answer.h"\nint answer(void) { return ANSWER; }\n')
    return tmp_path / "answer.c"


@needs_compiler
def test_it_is_compiled_once_and_again_when_it_changes(source):
    first = build.build(source)
    made = first.stat().st_mtime_ns
    assert build.library(source, {"answer": ">i"}, "slower").answer() == 42
    assert build.build(source) == first
    assert first.stat().st_mtime_ns == made
    source.with_suffix(".h").write_text("#define ANSWER 43\n")
    assert build.library(source, {"answer": ">i"}, "slower").answer() == 43
    source.write_text("int answer(void) { return 44; }\n")
    assert build.library(source, {"answer": ">i"}, "slower").answer() == 44
    assert len(list(first.parent.iterdir())) == 3


@needs_compiler
def test_flags_that_the_compiler_refuses_are_passed_over(source):
    path = build.build(source, build.FLAGS, (("-no-such-flag",), ()))
    assert path.is_file()


@needs_compiler
def test_c_that_does_not_compile_is_told(source, capsys):
    source.write_text("int answer(void) { return nothing; }\n")
    assert build.library(source, {"answer": ">i"}, "answers are slower") is None
    assert capsys.readouterr().err.startswith("answers are slower: ")
    assert not list((source.parent / "cache").rglob("*.partial"))


def test_no_compiler_is_told_and_what_to_do(source, capsys, monkeypatch):
    monkeypatch.setenv("CC", "/no/such/compiler")
    assert build.library(source, {"answer": ">i"}, "answers are slower") is None
    assert "Install a C compiler" in capsys.readouterr().err
    monkeypatch.delenv("CC")
    monkeypatch.setattr(build.shutil, "which", lambda name: None)
    assert build.library(source, {"answer": ">i"}, "answers are slower") is None
    assert "answers are slower: no C compiler is here." in capsys.readouterr().err


def test_they_can_be_turned_off(source, monkeypatch, capsys):
    monkeypatch.setenv("FOREWORD_KERNELS", "off")
    assert build.library(source, {"answer": ">i"}, "answers are slower") is None
    assert not capsys.readouterr().err, "who turned them off knows it"
    assert str(Hardware()).endswith(", without kernels (FOREWORD_KERNELS=off)")
    monkeypatch.setenv("FOREWORD_KERNELS", "of")
    with pytest.raises(Fault, match="FOREWORD_KERNELS=of: it can be on or off"):
        build.off()
    monkeypatch.setenv("FOREWORD_KERNELS", "on")
    assert "kernels" not in str(Hardware())


SCARCE = """
#include <stdlib.h>
long left;                                      /* so many allocations succeed */
static void *scarce(void *old, size_t size) { return left-- > 0 ? realloc(old, size) : 0; }
static void *aligned(size_t size) { return left-- > 0 ? aligned_alloc(64, (size + 63) / 64 * 64) : 0; }
static void *zeros(size_t size) { return left-- > 0 ? calloc(1, size) : 0; }
#define aligned_alloc(line, size) aligned(size)
#define realloc(old, size) scarce(old, size)
#define malloc(size) scarce(0, size)
#define calloc(number, size) zeros((number) * (size))
"""


@pytest.fixture
def scarce(tmp_path):
    """The kernels of a module, and a way to say how many allocations succeed."""

    def make(module):
        for header in module.SOURCE.parent.glob("*.h"):
            shutil.copy(header, tmp_path)
        (tmp_path / "scarce.c").write_text(SCARCE + module.SOURCE.read_text())
        library = build.typed(ctypes.CDLL(str(build.build(tmp_path / "scarce.c"))), module.SIGNATURES)

        def allow(number):
            ctypes.c_long.in_dll(library, "left").value = number

        return library, allow

    return make


def test_want_of_memory_while_decoding_is_survived(scarce, monkeypatch):
    library, allow = scarce(decode)
    monkeypatch.setattr(decode, "library", lambda: library)
    x, weight = torch.randn(2, 40), torch.randn(8, 40)
    q, k, v, lengths = torch.randn(2, 3, 1, 8), torch.randn(2, 3, 5, 8), torch.randn(2, 3, 5, 8), torch.tensor([5, 3])
    program = decode.Program(8)
    program.embed(weight, None, program.buffer("x", 40))
    program.result = program.buffer("x", 40)
    for enough in (0, 1):
        allow(enough)
        torch.testing.assert_close(matvec.linear(x, weight), x @ weight.t())
        allow(enough)
        torch.testing.assert_close(decode.attend(q, k, v, lengths), decode.attend_in_torch(q, k, v, lengths))
        allow(enough)
        if enough:
            assert torch.equal(
                program.run(np.array([3]), np.array([0]), torch.empty(0)[None, None, None, None, None]), weight[3:4]
            )
            continue
        with pytest.raises(RunFailed, match="no memory left"):
            program.run(np.array([3]), np.array([0]), torch.empty(1, 2, 1, 1, 1, 1))


def test_want_of_memory_while_learning_vectors_is_said_and_nothing_is_learned(scarce, monkeypatch):
    library, allow = scarce(word_vectors)
    monkeypatch.setattr(word_vectors, "library", lambda: library)
    vectors, outputs = word_vectors.padded(5, 4), word_vectors.padded(5, 4)
    vectors[:, :4] = 1
    places = np.arange(3, dtype=np.int32)
    text = word_vectors.WordSequence(places, np.zeros_like(places), np.full_like(places, 3))
    update = word_vectors.Update(word_vectors.NoiseDistribution(np.ones(5), 2), 0.1, 0, "each")
    allow(0)
    with pytest.raises(RunFailed, match="no memory left"):
        word_vectors.learn(vectors, outputs, text, update)
    assert not outputs.any()
    allow(1)
    word_vectors.learn(vectors, outputs, text, update)
    assert outputs.any()


def test_want_of_memory_while_encoding_is_survived(scarce, monkeypatch):
    library, allow = scarce(tokenize)
    letters, rules = np.arange(256, dtype=np.uint32), np.array([[97, 98, 256]], np.uint32)
    page, spans = b"ab cab" + bytes(32), np.array([[0, 6]])
    classes = np.zeros(0x110000, np.uint8)
    classes[32] = 3
    answers = []
    for enough in range(8):
        allow(enough)
        encoder = library.learn(tokenize.address(classes), tokenize.address(letters), tokenize.address(rules), 1)
        if encoder:
            ids, numbers = np.zeros(20, np.uint32), np.zeros(1, np.int64)
            answers.append(
                library.encode(
                    encoder, page, tokenize.address(spans), 1, tokenize.address(ids), tokenize.address(numbers)
                )
            )
            library.forget(encoder)
        else:
            answers.append(None)
    assert answers == [None] * 4 + [-1, -1, 4, 4], "no encoder, no ids, or all of them"


@needs_compiler
def test_what_others_can_write_is_not_loaded(source, monkeypatch):
    """A library runs: one that somebody else could have put there is compiled anew, elsewhere if the folder is not ours alone."""
    first = build.build(source)
    assert build.only_ours(first)
    assert build.only_ours(first.parent)
    first.write_bytes(b"planted")
    first.chmod(0o777)
    assert build.build(source) == first
    assert first.read_bytes() != b"planted"
    first.parent.chmod(0o777)
    other = build.build(source)
    assert other.parent != first.parent
    assert build.only_ours(other.parent)
    monkeypatch.setattr(build.os, "geteuid", lambda: 12345)
    assert not build.only_ours(other)
