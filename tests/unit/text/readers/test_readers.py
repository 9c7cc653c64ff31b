"""Each reader on files made by hand: exact documents and counters; what is broken, locked or a bomb is said."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import zipfile
from pathlib import Path

import pytest

from foreword.basics.messages import Fault
from foreword.basics.shards import Workers
from foreword.text.corpus.build import build_corpus
from foreword.text.corpus.plan import extraction
from foreword.text.corpus.source import Source
from foreword.text.corpus.stage import Tally
from foreword.text.readers import mediawiki
from foreword.text.readers.charset import GUESSED, NONE, WRONG, decode_page
from foreword.text.readers.epub import Epub
from foreword.text.readers.html import Html
from foreword.text.readers.markup import markup_text
from foreword.text.readers.mbox import Mbox
from foreword.text.readers.mediawiki import MediaWiki
from foreword.text.readers.warc import Warc

BODY = (
    "<p>The mill stood on the bank of the river, and all of the children of the town knew the man who lived in it.</p>"
)
PAGE = f"""<html><head><title>Mill</title><script>document.write("EVIL")</script></head><body>
<nav><a href="/">Home</a> <a href="/about">About</a></nav><article><h1>The mill</h1>{BODY}
<p>He had come from the south when he was young, and he never spoke of the years before he came there.</p></article>
<script src="http://example.invalid/x.js"></script><footer>All rights reserved</footer></body></html>"""


def read(source: Source) -> tuple[list[str], Tally]:
    tally = Tally()
    return [one.text for unit in source.shards() for one in source.extract(unit, tally)], tally


# --- charsets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "declared", "text", "note"),
    [
        ("Müller".encode(), "utf-8", "Müller", ""),
        ("Müller".encode(), "iso-8859-1", "Müller", WRONG),  # the header lies
        ("Müller".encode("latin-1"), "iso-8859-1", "Müller", ""),
        ("Müller".encode("latin-1"), "utf-8", "Müller", WRONG),
        ("Müller".encode("latin-1"), "", "Müller", GUESSED),
        ("Müller".encode("latin-1"), "no-such-charset", "Müller", GUESSED),
        ("中文".encode("gb18030"), "gb2312", "中文", ""),
        (b'<meta charset="gbk">' + "中文".encode("gbk"), "", '<meta charset="gbk">中文', ""),
        ("中文".encode("utf-16"), "", "中文", ""),
        (b"\x81\xff", "", "", NONE),
        (b"plain", "base64", "plain", ""),
    ],
)
def test_a_page_is_decoded_by_what_it_is_and_not_by_what_it_says(
    content: bytes, declared: str, text: str, note: str
) -> None:
    assert decode_page(content, declared) == (text, note)


# --- HTML --------------------------------------------------------------------------------------------------------------


def test_html_gives_its_text_and_runs_nothing(tmp_path: Path) -> None:
    pytest.importorskip("trafilatura")
    (tmp_path / "a.html").write_text(PAGE)
    (tmp_path / "b.html").write_bytes(b"\x81\xff")
    (tmp_path / "c.html").write_bytes(b"x" * (2**20 + 1))
    (tmp_path / "d.html").write_text("<html></html>")
    texts, tally = read(Html(path=str(tmp_path), largest=1))
    assert len(texts) == 1
    assert "The mill stood on the bank" in texts[0]
    assert "He had come from the south" in texts[0]
    assert not any(word in texts[0] for word in ("EVIL", "Home", "rights"))
    assert tally.removed == {NONE: 1, "too large": 1, "no text found": 1}
    texts, tally = read(Html(path=str(tmp_path / "a.html"), second="justext"))
    assert sum(tally.changed.values()) == 1
    assert next(iter(tally.changed)) in ("extracted by trafilatura", "extracted by justext")


def test_simple_markup_keeps_blocks_apart_and_scripts_out() -> None:
    assert markup_text("<p>One <b>two</b></p><script>x()</script><ul><li>a &amp; b<li>c</ul>") == "One two\na & b\nc"


# --- WARC --------------------------------------------------------------------------------------------------------------


def record(kind: str, address: str, content: bytes) -> bytes:
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {address}\r\nWARC-Date: 2017-05-01T00:00:00Z\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content + b"\r\n\r\n"


def answer(body: bytes, status: str = "200 OK", kind: str = "text/html", more: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{more}\r\n".encode() + body


RECORDS = [
    record("warcinfo", "", b"software: by hand"),
    record("request", "http://a.example/1", b"GET / HTTP/1.1\r\n\r\n"),
    record("response", "http://a.example/1", answer(PAGE.encode())),
    record("response", "http://a.example/2", answer(PAGE.encode(), "404 Not Found")),
    record("response", "http://a.example/3", answer(b"%PDF", kind="application/pdf")),
    record("response", "http://a.example/4", answer(gzip.compress(PAGE.encode()), more="Content-Encoding: gzip\r\n")),
    record("response", "http://a.example/5", answer(gzip.compress(b" " * 2**21), more="Content-Encoding: gzip\r\n")),
    record("response", "http://a.example/6", answer(b"x", more="Content-Encoding: br\r\n")),
    record("response", "http://a.example/7", answer(hex(len(PAGE))[2:].encode() + b"\r\n" + PAGE.encode() + b"\r\n0\r\n\r\n", more="Transfer-Encoding: chunked\r\n")),
    record("response", "http://a.example/8", answer(b"x" * 2**21)),
    record("conversion", "http://a.example/9", "Text that was extracted elsewhere, 中文.".encode()),
]  # fmt: skip


@pytest.mark.parametrize("packed", [False, True])
def test_an_archive_of_our_own_making_gives_exact_survivors_and_counters(tmp_path: Path, packed: bool) -> None:
    pytest.importorskip("trafilatura")
    path = tmp_path / ("a.warc.gz" if packed else "a.warc")
    path.write_bytes(b"".join(gzip.compress(one) if packed else one for one in RECORDS))
    source, tally = Warc(path=str(path), largest=1), Tally()
    found = [one for unit in source.shards() for one in source.extract(unit, tally)]
    assert [one.address[-1] for one in found] == ["1", "4", "7", "9"]
    assert found[0].text == found[1].text == found[2].text
    assert found[3].text == "Text that was extracted elsewhere, 中文."
    assert found[0].date == "2017-05-01T00:00:00Z"
    assert tally.removed == {"status not 200": 1, "not HTML": 1, "too large": 2, "unknown content encoding": 1}
    (tmp_path / "links.txt").write_text("http://a.example/4\n")
    texts, tally = read(Warc(path=str(path), largest=1, addresses=str(tmp_path / "links.txt")))
    assert len(texts) == 1
    assert tally.removed == {"address not listed": 8}


@pytest.mark.parametrize("packed", [False, True])
def test_an_archive_that_was_cut_short_is_a_sentence(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "a.warc"
    whole = record("conversion", "http://a.example/", os.urandom(500).hex().encode())
    whole = gzip.compress(whole) if packed else whole
    path.write_bytes(whole * 2)
    assert len(read(Warc(path=str(path)))[0]) == 2
    path.write_bytes((whole * 2)[:-100])
    with pytest.raises(Fault, match=r"the archive is broken after [01] records: (?s:.*)cut short"):
        read(Warc(path=str(path)))
    path.write_bytes(b"no archive at all\n")
    with pytest.raises(Fault, match="broken after 0 records: it does not begin with WARC/"):
        read(Warc(path=str(path)))


# --- MediaWiki ---------------------------------------------------------------------------------------------------------


def wiki_page(title: str, text: str, ns: int = 0, more: str = "") -> str:
    return f"  <page>\n    <title>{title}</title>\n    <ns>{ns}</ns>{more}\n    <revision><timestamp>2011-01-02T03:04:05Z</timestamp><text>{text}</text></revision>\n  </page>\n"


DUMP = "<mediawiki>\n" + "".join(
    [
        wiki_page(
            "Mill",
            "{{Infobox|x=1}}'''A mill''' is a [[building|house]] by a [[river]].&lt;ref&gt;Book, p. 1&lt;/ref&gt;\n"
            "[[File:Mill.jpg|thumb|A mill]]\n{| class=x\n| cell\n|}\n\n== Use ==\nIt grinds &amp;amp; pumps.\n[[Category:Mills]]\n[[de:Mühle]]",
        ),
        wiki_page("Mills", "#REDIRECT [[Mill]]", more='<redirect title="Mill" />'),
        wiki_page("Talk:Mill", "I think so.", 1),
        wiki_page("磨坊", "'''磨坊'''是-{zh-hans:计算机; zh-hant:電腦}-的[[建筑]]。\n[[分类:建筑]]"),
        wiki_page("Empty", "{{only|a|template}}"),
    ]
) + "</mediawiki>\n"  # fmt: skip
ARTICLES = ["Mill\n\nA mill is a house by a river.\n\nUse\nIt grinds & pumps.", "磨坊\n\n磨坊是電腦的建筑。"]


@pytest.mark.parametrize("packed", [False, True])
def test_articles_of_a_dump_become_plain_text(tmp_path: Path, packed: bool) -> None:
    pytest.importorskip("mwparserfromhell")
    path = tmp_path / ("dump.xml.bz2" if packed else "dump.xml")
    path.write_bytes(bz2.compress(DUMP.encode()) if packed else DUMP.encode())
    texts, tally = read(MediaWiki(path=str(path)))
    assert texts == ARTICLES
    assert tally.removed == {"redirect": 1, "not an article": 1, "no text": 1}


@pytest.mark.parametrize("size", [1, 7, 100, 613])
def test_however_a_dump_is_cut_each_article_is_read_once(tmp_path: Path, monkeypatch, size: int) -> None:
    pytest.importorskip("mwparserfromhell")
    monkeypatch.setattr(mediawiki, "RANGE", size)
    monkeypatch.setattr(mediawiki, "BLOCK", 50)
    (tmp_path / "dump.xml").write_text(DUMP)
    texts, tally = read(MediaWiki(path=str(tmp_path / "dump.xml")))
    assert texts == ARTICLES
    assert sum(tally.removed.values()) == 3


def test_a_dump_that_was_cut_short_is_a_sentence(tmp_path: Path) -> None:
    pytest.importorskip("mwparserfromhell")
    whole = DUMP.encode()
    for name, content in (
        ("a.xml", whole[:-40]),
        ("b.xml", whole[: whole.rindex(b"</page>") + 8]),
        ("c.xml.bz2", bz2.compress(whole)[:-10]),
        ("d.xml.bz2", b"not bz2 at all"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(Fault, match=r"the dump is broken(?s:.*)cut short"):
            read(MediaWiki(path=str(tmp_path / name)))


def test_a_page_that_is_a_bomb_is_passed_by(tmp_path: Path) -> None:
    pytest.importorskip("mwparserfromhell")
    bomb = DUMP.replace(
        "</mediawiki>", wiki_page("Bomb", "x" * 3 * 2**20) + wiki_page("After", "Some words.") + "</mediawiki>"
    )
    (tmp_path / "dump.xml.bz2").write_bytes(bz2.compress(bomb.encode()))
    texts, tally = read(MediaWiki(path=str(tmp_path / "dump.xml.bz2"), largest=1))
    assert texts == [*ARTICLES, "After\n\nSome words."]
    assert tally.removed["too large"] == 1


@pytest.mark.thorough
def test_a_slice_of_wikipedia_has_as_many_articles_and_redirects_as_its_marks_say(tmp_path: Path) -> None:
    pytest.importorskip("mwparserfromhell")
    if "FOREWORD_DATA" not in os.environ:
        pytest.skip("FOREWORD_DATA is not set: no slice of Wikipedia")
    raw = (Path(os.environ["FOREWORD_DATA"]) / "enwiki-xml-slice/enwiki.xml").read_bytes()
    (tmp_path / "cut.xml").write_bytes(raw)
    with pytest.raises(Fault, match="in the middle of a page"):
        read(MediaWiki(path=str(tmp_path / "cut.xml")))
    whole = raw[: raw.rindex(b"</page>") + 7] + b"\n</mediawiki>\n"
    (tmp_path / "whole.xml").write_bytes(whole)
    texts, tally = read(MediaWiki(path=str(tmp_path / "whole.xml")))
    assert tally.removed == {"redirect": whole.count(b"<redirect")} == {"redirect": 62}
    assert len(texts) == whole.count(b"<page>") - 62 == 9
    assert texts[0].startswith("Anarchism\n\nAnarchism is a political philosophy that advocates")
    assert not any(mark in text for text in texts for mark in ("{{", "[[", "<ref"))


# --- mails, books, PDF -------------------------------------------------------------------------------------------------

MAILS = b"""From a@example.org Mon Jan  2 03:04:05 2012
From: a@example.org
Subject: =?utf-8?q?M=C3=BChle?=
Date: Mon, 02 Jan 2012 03:04:05 +0000
Content-Type: text/plain; charset=iso-8859-1

The M\xfchle is old.
>From here it looks small.

From b@example.org Mon Jan  2 03:04:05 2012
Subject: Page
Content-Type: text/html; charset=utf-8

<p>Two</p><p>lines</p>

From c@example.org Mon Jan  2 03:04:05 2012
Subject: Picture
Content-Type: image/png
Content-Transfer-Encoding: base64

AAAA
"""


def test_mails_are_documents(tmp_path: Path) -> None:
    (tmp_path / "a.mbox").write_bytes(MAILS)
    texts, tally = read(Mbox(path=str(tmp_path)))
    assert texts == ["Mühle\n\nThe Mühle is old.\nFrom here it looks small.", "Page\n\nTwo\nlines"]
    assert tally.removed == {"no text": 1}


def book(chapters: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="OEBPS/b.opf"/></rootfiles></container>',
        )
        items = "".join(f'<item id="{name}" href="{name}.xhtml"/>' for name in sorted(chapters))
        spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
        file.writestr(
            "OEBPS/b.opf",
            f'<package xmlns="http://www.idpf.org/2007/opf"><manifest>{items}</manifest><spine>{spine}</spine></package>',
        )
        for name, text in chapters.items():
            file.writestr(f"OEBPS/{name}.xhtml", f"<html><body>{text}</body></html>")
    return out.getvalue()  # fmt: skip


def test_a_book_is_read_in_the_order_of_its_spine_and_a_bomb_is_not(tmp_path: Path) -> None:
    (tmp_path / "a.epub").write_bytes(book({"two": "<h1>First</h1><p>Once.</p>", "one": "<p>Then.</p>"}))
    (tmp_path / "b.epub").write_bytes(book({"one": " " * 2**22}))
    (tmp_path / "c.epub").write_bytes(b"PK no book")
    texts, tally = read(Epub(path=str(tmp_path), largest=1))
    assert texts == ["First\nOnce.\n\nThen."]
    assert tally.removed == {"too large": 1, "not a readable EPUB": 1}


def test_pdf_text_is_read_and_broken_files_are_counted(tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf")
    from foreword.text.readers.pdf import Pdf

    content = b"BT /F1 12 Tf 50 700 Td (The mill stood on the bank.) Tj ET"
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    raw, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(raw))
        raw += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    raw += b"xref\n0 6\n0000000000 65535 f \n%strailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (
        table,
        len(raw),
    )
    (tmp_path / "a.pdf").write_bytes(raw)
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.4 broken")
    locked = pypdf.PdfWriter(clone_from=tmp_path / "a.pdf")
    locked.encrypt("secret", algorithm="RC4-128")
    locked.write(tmp_path / "c.pdf")
    texts, tally = read(Pdf(path=str(tmp_path)))
    assert texts == ["The mill stood on the bank."]
    assert tally.removed == {"not a readable PDF": 1, "locked by a password": 1}


# --- which reader ------------------------------------------------------------------------------------------------------


def test_the_reader_is_chosen_by_ending_or_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.mbox").write_bytes(MAILS)
    content = build_corpus(extraction([tmp_path]), tmp_path / "out", Workers(1))
    assert (content["documents"], content["sources"][0]["kind"]) == (2, "mbox")
    (tmp_path / "b.epub").write_bytes(book({"one": "x"}))
    with pytest.raises(Fault, match=r"several kinds: epub, mbox(?s:.*)--kind NAME"):
        extraction([tmp_path])
    with pytest.raises(Fault, match="'epup' is not one of .* Did you mean epub"):
        extraction([tmp_path], "epup")
