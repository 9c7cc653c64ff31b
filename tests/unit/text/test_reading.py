"""Files to documents: every format, every byte once, and a message for whatever is wrong."""

import gzip
import json
import os
import pickle
import random
from pathlib import Path

import pytest

from foreword.basics.messages import Fault
from foreword.text import reading
from foreword.text.reading import documents, files, fingerprint, total_bytes, units


def texts(paths, **settings) -> list[str]:
    return [document.text for document in documents([Path(path) for path in paths], **settings)]


def some_text(size: int, seed: int, breaks=("\n", "\n\n", " ", "\r\n\r\n", "\n \n\n")) -> str:
    chance = random.Random(seed)
    parts: list[str] = []
    length = 0
    while length < size:
        parts.append(chance.choice(["word", "naïve", "你好", "😀", "\u2028", "x" * 50]) + chance.choice(breaks))
        length += len(parts[-1].encode())
    return "".join(parts)


@pytest.fixture
def small_sizes(monkeypatch):
    """Pieces and windows small enough that small files are cut as large ones are."""
    monkeypatch.setattr(reading, "WHOLE", 200)
    monkeypatch.setattr(reading, "PIECE", 100)
    monkeypatch.setattr(reading, "WINDOW", 300)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("unit_bytes", [150, 777, 10_000])
@pytest.mark.parametrize("breaks", [("\n", "\n\n", " "), ("\n",), (" ",), ("\r\n\r\n", "\n \n\n", "\n"), ("",)])
def test_the_units_of_a_file_yield_every_byte_once(tmp_path, small_sizes, seed, unit_bytes, breaks):
    text = some_text(5000, seed, breaks)
    (tmp_path / "a.txt").write_bytes(text.encode())
    made = units([tmp_path / "a.txt"], unit_bytes=unit_bytes)
    assert len(made) == max(1, -(-len(text.encode()) // unit_bytes))
    path = tmp_path / "a.txt"
    assert "".join(piece for unit in made for piece in unit._texts(path)) == text
    # of the documents, those of white space alone are left out
    found = [document.text for unit in made for document in unit.documents()]
    assert "".join("".join(found).split()) == "".join(text.split())


@pytest.mark.parametrize("unit_bytes", [50, 333, 10_000])
def test_the_units_of_a_jsonl_file_yield_every_row_once(tmp_path, unit_bytes):
    rows = [some_text(60 + 7 * number, number) for number in range(40)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": row}, ensure_ascii=False) + "\n" for row in rows))
    made = units([tmp_path / "a.jsonl"], unit_bytes=unit_bytes)
    assert [document.text for unit in made for document in unit.documents()] == rows


def test_a_unit_that_begins_right_behind_a_newline_begins_there(tmp_path):
    (tmp_path / "a.txt").write_text("ten bytes\n" * 30)
    made = units([tmp_path / "a.txt"], documents="line", unit_bytes=100)
    assert [len(list(unit.documents())) for unit in made] == [10, 10, 10]


@pytest.mark.parametrize("unit_bytes", [10, 64, 10_000])
def test_lines_are_cut_at_newlines_only(tmp_path, unit_bytes):
    lines = ["one", "two\u2028still two", "three\x0bstill three", "", "  ", "four\x85", "fünf"]
    (tmp_path / "a.txt").write_bytes("\r\n".join(lines).encode())
    found = texts([tmp_path / "a.txt"], documents="line", unit_bytes=unit_bytes)
    assert found == [line for line in lines if line.strip()]


@pytest.mark.parametrize("unit_bytes", [12, 10_000])
def test_paragraphs_are_the_blocks_between_blank_lines(tmp_path, unit_bytes):
    (tmp_path / "a.txt").write_text("\n\none\nstill one\n\n\n \ntwo\n\nthree\nstill three")
    assert texts([tmp_path / "a.txt"], documents="paragraph", unit_bytes=unit_bytes) == [
        "one\nstill one",
        "two",
        "three\nstill three",
    ]


def test_a_small_file_is_one_document_and_a_large_one_is_cut_at_blank_lines(tmp_path):
    (tmp_path / "small.txt").write_text("a\n\n" * 1000)
    (tmp_path / "large.md").write_text(("a line of text\n" * 20 + "\n") * 400)
    assert texts([tmp_path / "small.txt"]) == ["a\n\n" * 1000]
    pieces = texts([tmp_path / "large.md"])
    assert 50 < len(pieces) <= reading.PIECES  # enough for three splits, however small the file
    assert all(piece.endswith("\n\n") and len(piece) >= reading.LEAST for piece in pieces[:-1])
    (tmp_path / "larger.txt").write_text(("a line of text\n" * 20 + "\n") * 14000)
    assert all(len(piece) >= reading.PIECE for piece in texts([tmp_path / "larger.txt"])[:-1])
    assert texts([tmp_path / "large.md"], documents="file") == ["".join(pieces)]


def test_every_format_gives_the_same_texts(tmp_path):
    zstandard, arrow = pytest.importorskip("zstandard"), pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    rows = ["first, with a comma", 'second "quoted"\nin two lines', "第三 😀\u2028"]
    lines = "".join(json.dumps({"id": 1, "text": row}) + "\n" for row in rows).encode()
    quoted = "id,text\n" + "".join('1,"{}"\n'.format(row.replace('"', '""')) for row in rows)
    (tmp_path / "a.jsonl").write_bytes(lines)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(lines, mtime=0))
    # a window of 256 MB, which the library refuses unless told otherwise; Reddit's dumps have 2 GB
    writer = zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters(window_log=28)
    ).compressobj()
    (tmp_path / "c.jsonl.zst").write_bytes(writer.compress(lines) + writer.flush())
    (tmp_path / "d.csv").write_text(quoted)
    parquet.write_table(arrow.table({"id": [1, 2, 3], "text": rows}), tmp_path / "e.parquet")
    for path in sorted(tmp_path.iterdir()):
        assert texts([path]) == rows, path.name
    assert texts([tmp_path]) == rows * 5


def test_a_zst_file_that_was_cut_short_is_a_fault_not_a_shorter_text(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    packed = zstandard.ZstdCompressor().compress(
        b"".join(b'{"text": "%d"}\n' % (i * 7919 % 100003) for i in range(50000))
    )
    for kept in (len(packed) // 2, len(packed) - 1, 12):
        (tmp_path / "a.jsonl.zst").write_bytes(packed[:kept])
        with pytest.raises(Fault, match=f"broken after .* bytes of text .{kept:,} of"):
            texts([tmp_path / "a.jsonl.zst"])


def test_folders_are_read_recursively_in_sorted_order_and_each_file_once(tmp_path):
    for name in ("b/2.txt", "a/z.txt", "b/10.txt", "c.md", ".hidden/x.txt", "notes.pdf"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    assert texts([tmp_path]) == ["c.md", "a/z.txt", "b/10.txt", "b/2.txt"]
    assert len(files([tmp_path, tmp_path / "c.md"])) == 4
    assert total_bytes([tmp_path / "b"]) == len("b/2.txt" + "b/10.txt")


def test_units_group_small_files_and_survive_pickling(tmp_path):
    for number in range(10):
        (tmp_path / f"{number}.txt").write_text("x" * 100)
    made = units([tmp_path], unit_bytes=250)
    assert [len(unit.files) for unit in made] == [2] * 5
    assert [document.text for document in pickle.loads(pickle.dumps(made[0])).documents()] == ["x" * 100] * 2


def test_another_column_can_be_chosen_and_content_stands_in_for_text(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"content": "one", "body": "two"}\n')
    assert texts([tmp_path / "a.jsonl"]) == ["one"]
    assert texts([tmp_path / "a.jsonl"], column="body") == ["two"]


def test_a_byte_order_mark_is_no_text(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfhello")
    assert texts([tmp_path / "a.txt"]) == ["hello"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.txt", b"", ["a.txt", "empty"]),
        ("a.txt", b" \n \n", ["no text", "a.txt"]),
        ("a.txt", b"caf\xe9 noir", ["a.txt", "byte 3 ", "0xE9", "iconv -f latin1 -t utf-8"]),
        ("a.txt", "hello".encode("utf-16"), ["byte 0 ", "iconv -f utf-16"]),
        ("a.jsonl", b'{"text": "x"}\n{"text": \n', ["a.jsonl:2", "not JSON"]),
        ("a.jsonl", b'{"text": "x"}\n\n[1]\n', ["a.jsonl:3", "list"]),
        ("a.jsonl", b'{"txet": "x", "id": 1}\n', ["a.jsonl:1", "Did you mean txet?", "txet, id", "--column"]),
        ("a.jsonl", b'{"text": 7}\n', ["a.jsonl:1", "int"]),
        ("a.jsonl", b'{"text": "x"}\n{"text": "\\ud800"}\n', ["a.jsonl:2", "surrogate"]),
        ("a.csv", b"id,body\n1,x\n", ["a.csv:1", "id, body"]),
        ("a.jsonl.gz", gzip.compress(b'{"text": "x"}\n' * 1000, mtime=0)[:-20], ["a.jsonl.gz", "broken"]),
        ("a.jsonl.gz", b"not gzip at all", ["a.jsonl.gz", "broken"]),
        ("a.jsonl.zst", b"not zstd at all", ["a.jsonl.zst", "broken"]),
        ("a.parquet", b"not parquet at all", ["a.parquet", "not a whole Parquet file"]),
        ("a.pdf", b"%PDF", ["a.pdf", ".txt"]),
    ],
)
def test_a_bad_file_is_a_fault_that_says_where_and_what(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(Fault) as caught:
        texts([tmp_path / name])
    assert caught.value.code == 2
    for word in words:
        assert word in str(caught.value)


def test_a_broken_line_in_a_later_unit_is_named_by_its_number_in_the_file(tmp_path):
    lines = ['{"text": "some words"}'] * 50
    lines[42] = "{"
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    with pytest.raises(Fault, match="a.jsonl:43"):
        texts([tmp_path / "a.jsonl"], unit_bytes=100)


def test_all_missing_paths_are_told_at_once(tmp_path):
    (tmp_path / "input.txt").write_text("x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(Fault) as caught:
        units([tmp_path / "inptu.txt", tmp_path / "nowhere.txt", tmp_path / "folder"])
    message = str(caught.value)
    assert "Did you mean input.txt?" in message
    assert "nowhere.txt is not there" in message
    assert "folder holds no file that can be read" in message
    assert ".parquet" in message


def test_a_missing_extra_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    (tmp_path / "a.jsonl.zst").write_bytes(b"x")
    with pytest.raises(Fault, match=r"pip install 'foreword\[data\]'"):
        texts([tmp_path / "a.jsonl.zst"])


def test_the_fingerprint_changes_with_names_sizes_and_times_but_not_with_the_place(tmp_path):
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "a.txt").write_text("x")
        os.utime(tmp_path / place / "a.txt", ns=(1, 1))
    first = fingerprint([tmp_path / "one"])
    assert first == fingerprint([tmp_path / "two"])
    os.utime(tmp_path / "one/a.txt", ns=(2, 2))
    assert fingerprint([tmp_path / "one"]) != first
    os.utime(tmp_path / "one/a.txt", ns=(1, 1))
    (tmp_path / "one/a.txt").rename(tmp_path / "one/b.txt")
    assert fingerprint([tmp_path / "one"]) != first
